//! One run of one network: the core, its attachments, and the measurement.

mod control;
mod sample;
#[cfg(test)]
mod tests;

pub use control::{FlowState, OutsideEnds};

use crate::attached::{Attached, Due};
use crate::core::{Core, News, Passed, Traced};
use crate::measure::{Counts, FlowCounts, FlowSeries, LinkSeries, Means, Meter, RunResult, Series};
use crate::packet::{Body, Entered, Foreign, LossCause, Packet, Way, Whose};
use crate::queue::{Delays, Outlet, TransmitQueue};
use crate::spec::{FlowSpec, NetworkSpec, RunSpec, TcpSpec};
use crate::times::Histogram;
use crate::trace::{FrameSink, Sent, Watchers};
use evenair_units::{Duration, Instant};
use evenair_wifi::FrameRecord;
use std::fmt;

/// Simulated time between two reports of progress: milliseconds of computing in the largest networks. The event loop has no part
/// in them.
const STRIDE: Duration = Duration::from_millis(100);

/// Points of time series that a watcher gets at once.
const PORTION: usize = 256;

/// The fate of a packet from outside, and when it was decided.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Emerged {
    /// When.
    pub at: Instant,
    /// The packet.
    pub packet: Foreign,
    /// Its fate.
    pub fate: Fate,
}

/// The fates of a packet from outside. Each gets one of these; a broadcast any number of `Heard` before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// It came out at its destination.
    Arrived,
    /// A node has heard it that was broadcast; others may, and it is over only then.
    Heard {
        /// Which node.
        node: u32,
    },
    /// It was broadcast, and no further node will receive it.
    Over,
    /// It was lost.
    Lost {
        /// The node that had it.
        node: u32,
        /// Why.
        cause: LossCause,
    },
}

/// Packets from outside have no way between these nodes; those of a flow must enter and leave at its ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NoRoute {
    /// Where it was to enter.
    pub from: u32,
    /// Where it was to leave.
    pub to: u32,
}

impl fmt::Display for NoRoute {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "no route leads from node {} to node {}", self.from, self.to)
    }
}

impl std::error::Error for NoRoute {}

/// A network during one run: run it whole, or step it from outside.
///
/// # Stepping
/// [`next_at`](Self::next_at) is the instant of the next event, exactly: before it nothing happens, and at it something may.
/// [`advance`](Self::advance) goes on to an instant, or to the next packet that comes out or is lost before; call it until it
/// gives none. [`inject`](Self::inject) puts a packet in, at an instant that is neither before the last event nor after
/// `next_at`. A network that is stepped takes the same path as in [`run`](Self::run), for any steps.
///
/// The caller gets each injected packet's end, arrival or loss ([`Fate`]), so that it can free the packet's bytes.
/// [`advance_watched`](Self::advance_watched) hands frames and time series to watchers, and does not keep them;
/// [`finish_at`](Self::finish_at) ends a run of any length.
#[derive(Clone, Debug)]
pub struct Network {
    core: Core<Due>,
    attached: Attached,
    meter: Meter,
    run: RunSpec,
    /// Names of the nodes.
    nodes: Vec<String>,
    /// Frames of the window that was asked for.
    frames: Vec<(FrameRecord, Option<Sent>)>,
}

impl Network {
    /// Runs a network and measures it.
    pub fn run(spec: &NetworkSpec, run: RunSpec) -> RunResult {
        Self::run_watched(spec, run, Watchers::default()).expect("nobody stops it")
    }

    /// The same with watchers, which change nothing but may end the run early; then there is no result.
    pub fn run_watched(spec: &NetworkSpec, run: RunSpec, mut watchers: Watchers<'_>) -> Option<RunResult> {
        let all = watchers.frames.is_some().then_some((Instant::ZERO, Instant::NEVER));
        let mut network = Self::start(spec, run, all.or(run.timeline));
        let (end, mut until) = (network.end(), Instant::ZERO);
        loop {
            until = (until + STRIDE).min(end);
            while let Some(news) = network.core.advance(until) {
                network.answer(&news, &mut watchers);
            }
            if watchers.progress.as_mut().is_some_and(|progress| progress(until).is_break()) {
                return None;
            }
            if until == end {
                return Some(network.finish_watched(end, &mut watchers));
            }
        }
    }

    /// A network at the beginning of a run.
    pub fn new(spec: &NetworkSpec, run: RunSpec) -> Self {
        Self::start(spec, run, run.timeline)
    }

    fn start(spec: &NetworkSpec, run: RunSpec, record: Option<(Instant, Instant)>) -> Self {
        let (mut core, hops) = Core::new(spec, run.seed);
        let attached = Attached::new(spec, &run, &hops);
        if run.times {
            core.queues.iter_mut().for_each(|queue| queue.waits = Some(Histogram::default()));
        }
        let (flows, queues) = (hops.len(), core.queues.len());
        let flow_series = |flow: &FlowSpec| FlowSeries { flow: flow.name.clone(), ..FlowSeries::default() };
        let link_series =
            |queue: &TransmitQueue| LinkSeries { queue: queue.name.clone(), ..LinkSeries::default() };
        let meter = Meter {
            at_warmup: Counts::new(flows, queues),
            passed_at_warmup: vec![Passed::default(); core.hops.all().len()],
            classes_at_warmup: core.gateway().map(|(_, counts)| counts.to_vec()).unwrap_or_default(),
            at_sample: vec![FlowCounts::default(); flows],
            waiting_at_sample: vec![Delays::default(); core.hops.all().len()],
            means: Means::new(flows, queues),
            last_round_trip_s: vec![0.0; flows],
            series: Series {
                time_s: Vec::new(),
                flows: spec.flows.iter().map(flow_series).collect(),
                links: core.queues.iter().map(link_series).collect(),
            },
        };
        let mut network = Self { core, attached, meter, run, nodes: spec.nodes.clone(), frames: Vec::new() };
        network.schedule_start(spec, record);
        network
    }

    fn schedule_start(&mut self, spec: &NetworkSpec, record: Option<(Instant, Instant)>) {
        self.core.call_at(self.attached.warm_at, Due::Warm);
        self.attached.schedule_starts(&mut self.core);
        self.core.start_laws(spec, self.run.seed);
        self.core.start_shapers();
        if let Some(every) = self.run.sample_every {
            self.core.call_at(Instant::ZERO + every, Due::Sample);
        }
        if let Some(window) = record {
            self.core.record(window);
        }
        self.core.start_moving();
        self.core.start_dummies();
    }

    /// When the run is to end.
    pub fn end(&self) -> Instant {
        Instant::ZERO + self.run.warmup + self.run.duration
    }

    /// The instant of the last event or injection.
    pub fn now(&self) -> Instant {
        self.core.now()
    }

    /// When something happens next, if nothing is injected before; [`Instant::NEVER`] if nothing will.
    pub fn next_at(&self) -> Instant {
        self.core.next_at()
    }

    /// Handles all that happens at `until` and before, or until a packet from outside comes out or is lost; none if none has.
    pub fn advance(&mut self, until: Instant) -> Option<Emerged> {
        self.advance_watched(until, &mut Watchers::default())
    }

    /// The same with watchers: time series go to them in portions, and frames, from the call of
    /// [`see_all_frames`](Self::see_all_frames) on. Progress is the caller's own.
    pub fn advance_watched(&mut self, until: Instant, watchers: &mut Watchers<'_>) -> Option<Emerged> {
        while let Some(news) = self.core.advance(until) {
            let emerged = self.answer(&news, watchers);
            if emerged.is_some() {
                return emerged;
            }
        }
        None
    }

    /// Hands every frame to watchers from this call on. Only those of the window that the run asked for are kept.
    pub fn see_all_frames(&mut self) {
        self.core.record((Instant::ZERO, Instant::NEVER));
    }

    /// Puts a packet into the network at its source.
    ///
    /// # Errors
    /// If it belongs to a flow and its way is no part of that flow's, or if it belongs to none and no
    /// [route](NetworkSpec::routes) leads to its destination.
    ///
    /// # Panics
    /// If `at` lies before the last event, or after [`next_at`](Self::next_at): the packet would come too late, or a due event
    /// would be skipped.
    pub fn inject(&mut self, at: Instant, packet: Foreign) -> Result<(), NoRoute> {
        self.core.move_to(at);
        let Foreign { from, to, size, .. } = packet;
        let (way, hop) = self.first_hop(&packet).ok_or(NoRoute { from, to })?;
        let leaves_early =
            self.core.hops.chain(hop).last().is_some_and(|hop| self.core.hops.all()[hop].to != to);
        let entered = Entered::new(packet, at, leaves_early);
        self.attached.outside.enter(size.count(), &entered);
        self.core.inject(way, hop, size.count(), Body::Foreign(entered));
        Ok(())
    }

    /// Where a packet from outside enters.
    fn first_hop(&self, packet: &Foreign) -> Option<(Way, u32)> {
        let &Foreign { from, to, whose, category, .. } = packet;
        match whose {
            Whose::Flow { flow, back } | Whose::Probe { flow, back } => self.place_of(flow, back, (from, to)),
            Whose::Nobody(number) => {
                let way = Way::foreign(self.attached.flows.len() as u32, number);
                self.core.hops.toward(from, to, category).map(|hop| (way, hop))
            }
        }
    }

    /// Where a flow's packet from outside enters, if these nodes are on its way, in this order.
    fn place_of(&self, flow: u32, back: bool, (from, to): (u32, u32)) -> Option<(Way, u32)> {
        let state = self.attached.flows.get(flow as usize).filter(|flow| flow.traffic.is_outside())?;
        let (way, first) = if back {
            (Way::backward(flow), state.hops.backward)
        } else {
            (Way::forward(flow), state.hops.forward)
        };
        let hops = &self.core.hops;
        let mut chain = hops.chain(first);
        let here = chain.find(|&hop| self.core.queues[hops.all()[hop].queue as usize].node == from)?;
        let leads_there = |hop: usize| hops.all()[hop].to == to;
        (from != to && (leads_there(here) || chain.any(leads_there))).then_some((way, here as u32))
    }

    /// One piece of news is answered; something has become of a packet from outside.
    #[expect(
        clippy::inline_always,
        reason = "a run drops what has become of the packet, for each piece of news"
    )]
    #[inline(always)]
    fn answer(&mut self, news: &News<Due>, watchers: &mut Watchers<'_>) -> Option<Emerged> {
        if !self.core.soon.is_empty() {
            self.attached.fetch(&self.core.soon);
            self.core.soon.clear();
        }
        match news {
            News::Arrived(packet) => {
                self.attached.deliver(&mut self.core, packet);
                self.emerged(packet, Fate::Arrived)
            }
            &News::Due(due) => {
                self.on_due(due, watchers);
                None
            }
            News::Heard { .. } | News::Over(_) | News::Lost { .. } | News::Room(_) | News::Frames => {
                self.answer_others(news, watchers)
            }
        }
    }

    /// Something that was asked for is due.
    #[inline]
    fn on_due(&mut self, due: Due, watchers: &mut Watchers<'_>) {
        match due {
            Due::Datagram(flow) => self.attached.on_datagram(&mut self.core, flow),
            Due::Warm | Due::Sample => self.measure(due, watchers),
            due => self.attached.on_due(&mut self.core, due),
        }
    }

    /// The measurement begins, or a point of the time series is due.
    #[inline(never)]
    fn measure(&mut self, due: Due, watchers: &mut Watchers<'_>) {
        if due == Due::Warm {
            return self.on_warm();
        }
        self.on_sample();
        self.tell_series(watchers, PORTION);
    }

    /// The rarer news.
    #[inline(never)]
    fn answer_others(&mut self, news: &News<Due>, watchers: &mut Watchers<'_>) -> Option<Emerged> {
        match news {
            News::Arrived(_) | News::Due(_) => unreachable!("answered before"),
            News::Heard { at, packet } => {
                self.attached.deliver(&mut self.core, packet);
                return self.emerged(packet, Fate::Heard { node: *at });
            }
            News::Over(packet) => return self.emerged(packet, Fate::Over),
            News::Lost { packet, at, cause } => {
                if let Body::Foreign(entered) = &packet.body {
                    self.attached.outside.lose(packet.size, entered);
                }
                return self.emerged(packet, Fate::Lost { node: *at, cause: *cause });
            }
            News::Room(way) => self.attached.on_room(&mut self.core, way.flow()),
            News::Frames => self.see_frames(watchers.frames.as_deref_mut()),
        }
        None
    }

    /// The fate of a packet, if it came from outside.
    fn emerged(&self, packet: &Packet, fate: Fate) -> Option<Emerged> {
        let Body::Foreign(entered) = &packet.body else { return None };
        Some(Emerged { at: self.core.now(), packet: entered.foreign(packet.size), fate })
    }

    /// Frames have ended: into the window that was asked for, and to a sink.
    fn see_frames(&mut self, mut sink: Option<&mut (dyn FrameSink + '_)>) {
        let overheard = self.core.take_overheard();
        if let Some(sink) = &mut sink {
            overheard.iter().for_each(|heard| sink.overheard(heard));
        }
        for (frame, traced) in self.core.take_frames() {
            let sent = self.sent(traced);
            if let Some(sink) = &mut sink {
                sink.frame(&frame, sent.as_ref());
            }
            if self.run.timeline.is_some_and(|(from, to)| frame.end > from && frame.start < to) {
                self.frames.push((frame, sent));
            }
        }
    }

    /// A packet as a sink sees it.
    fn sent(&self, traced: Traced) -> Option<Sent> {
        let (packet, mode) = traced?;
        let passed = self.passed_by(&packet);
        let (flow, ends, payload, agreed, category) = if let Body::Foreign(entered) = packet.body {
            let (Whose::Flow { flow, .. } | Whose::Probe { flow, .. } | Whose::Nobody(flow)) =
                entered.whose();
            (flow, entered.ends(), 0, None, entered.category())
        } else {
            let flow = &self.attached.flows[packet.way.flow() as usize];
            let (from, to) = (flow.source, flow.destination);
            let ends = if packet.way == Way::backward(packet.way.flow()) { (to, from) } else { (from, to) };
            (packet.way.flow(), ends, flow.unit_bytes(), flow.tcp().map(TcpSpec::agreed), flow.category)
        };
        let size = packet.size as u16;
        Some(Sent {
            flow,
            ends,
            passed,
            size,
            payload,
            agreed,
            rate: mode.rate(),
            category,
            body: packet.body,
        })
    }

    /// How many nodes have forwarded a packet.
    fn passed_by(&self, packet: &Packet) -> u8 {
        let hops = &self.core.hops;
        let first = if let Body::Foreign(entered) = &packet.body {
            self.first_hop(&entered.foreign(packet.size)).map(|(_, hop)| hop)
        } else {
            let hops = self.attached.flows[packet.way.flow() as usize].hops;
            let is_back = packet.way == Way::backward(packet.way.flow());
            Some(if is_back { hops.backward } else { hops.forward })
        };
        let is_between_nodes = |&hop: &usize| {
            !matches!(self.core.queues[hops.all()[hop].queue as usize].outlet, Outlet::Within { .. })
        };
        let left = |from: u32| hops.chain(from).filter(is_between_nodes).count();
        first.map_or(0, |first| left(first).saturating_sub(left(packet.hop)) as u8)
    }
}
