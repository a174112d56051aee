//! One run of one network: the core, what is attached to it, and the measurement.

mod control;
mod sample;
#[cfg(test)]
mod tests;

pub use control::FlowState;

use crate::attached::{Attached, Due};
use crate::core::{Core, News, Passed, Traced};
use crate::measure::{Counts, FlowCounts, FlowSeries, LinkSeries, Means, Meter, RunResult, Series};
use crate::packet::{Body, Foreign, Way};
use crate::queue::{Delays, TransmitQueue};
use crate::spec::{FlowSpec, NetworkSpec, RunSpec, TcpSpec};
use crate::times::Histogram;
use crate::trace::{Agreed, FrameSink, Sent, Watchers};
use evenair_tcp::Recovery;
use evenair_units::{Duration, Instant};
use evenair_wifi::FrameRecord;
use std::fmt;

/// Simulated time between two looks of whoever watches the progress of a run: milliseconds of computing in the largest networks. The
/// event loop knows nothing of them.
const STRIDE: Duration = Duration::from_millis(100);

/// Points of time series that whoever sees them is given at once.
const PORTION: usize = 256;

/// A packet from outside that has come out of the network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Emerged {
    /// When.
    pub at: Instant,
    /// At which node: the packet's destination, or each that heard a broadcast.
    pub node: u32,
    /// The packet.
    pub packet: Foreign,
}

/// Packets from outside have no way between these nodes.
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
/// [`advance`](Self::advance) goes on to an instant, or to the next packet that comes out before; call it until it gives none.
/// [`inject`](Self::inject) puts a packet in, at an instant that is neither before what has been handled nor after `next_at`.
/// A network that is stepped takes the path that it takes in [`run`](Self::run), whatever the steps.
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

    /// The same while somebody watches, who changes nothing of it but may end it early; then there is no result.
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
                network.tell_series(&mut watchers, 1);
                let mut result = network.finish();
                result.series = result.series.filter(|_| watchers.series.is_none());
                return Some(result);
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
        network.schedule_start(record);
        network
    }

    fn schedule_start(&mut self, record: Option<(Instant, Instant)>) {
        self.core.call_at(self.attached.warm_at, Due::Warm);
        self.attached.schedule_starts(&mut self.core);
        self.core.start_laws();
        self.core.start_shapers();
        if let Some(every) = self.run.sample_every {
            self.core.call_at(Instant::ZERO + every, Due::Sample);
        }
        if let Some(window) = record {
            self.core.record(window);
        }
        self.core.start_dummies();
    }

    /// When the run ends.
    pub fn end(&self) -> Instant {
        Instant::ZERO + self.run.warmup + self.run.duration
    }

    /// The instant of what was handled or injected last.
    pub fn now(&self) -> Instant {
        self.core.now()
    }

    /// When something happens next, if nothing is injected before; [`Instant::NEVER`] if nothing will.
    pub fn next_at(&self) -> Instant {
        self.core.next_at()
    }

    /// Handles all that happens at `until` and before, or until a packet from outside comes out; none if none has.
    pub fn advance(&mut self, until: Instant) -> Option<Emerged> {
        while let Some(news) = self.core.advance(until) {
            let emerged = self.answer(&news, &mut Watchers::default());
            if emerged.is_some() {
                return emerged;
            }
        }
        None
    }

    /// Puts a packet into the network at its source.
    ///
    /// # Errors
    /// If none of the specification's [`routes`](NetworkSpec::routes) leads to its destination from there.
    ///
    /// # Panics
    /// If `at` lies before what was handled last, or after [`next_at`](Self::next_at): the packet would come too late, or what is
    /// due before it would.
    pub fn inject(&mut self, at: Instant, packet: Foreign) -> Result<(), NoRoute> {
        self.core.move_to(at);
        let Foreign { from, to, size, flow, .. } = packet;
        let hop = self.core.hops.toward(from, to).ok_or(NoRoute { from, to })?;
        let way = Way::foreign(self.attached.flows.len() as u32, flow);
        self.core.inject(way, hop, size.count(), Body::Foreign(packet));
        Ok(())
    }

    /// One piece of news is answered; a packet from outside comes out.
    fn answer(&mut self, news: &News<Due>, watchers: &mut Watchers<'_>) -> Option<Emerged> {
        let emerged = match news {
            News::Arrived(packet) => {
                self.attached.deliver(&mut self.core, packet).map(|foreign| (foreign.to, foreign))
            }
            News::Heard { at, packet } => {
                self.attached.deliver(&mut self.core, packet).map(|foreign| (*at, foreign))
            }
            News::Room(way) => {
                self.attached.on_room(&mut self.core, way.flow());
                None
            }
            News::Due(Due::Warm) => {
                self.on_warm();
                None
            }
            News::Due(Due::Sample) => {
                self.on_sample();
                self.tell_series(watchers, PORTION);
                None
            }
            &News::Due(due) => {
                self.attached.on_due(&mut self.core, due);
                None
            }
            News::Frames => {
                self.see_frames(watchers.frames.as_deref_mut());
                None
            }
        };
        emerged.map(|(node, packet)| Emerged { at: self.core.now(), node, packet })
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

    /// What a sink sees of a packet.
    fn sent(&self, traced: Traced) -> Option<Sent> {
        let (packet, rate) = traced?;
        let (flow, ends, payload, agreed) = if let Body::Foreign(foreign) = packet.body {
            (foreign.flow, (foreign.from, foreign.to), 0, None)
        } else {
            let flow = &self.attached.flows[packet.way.flow() as usize];
            let (from, to) = (flow.source, flow.destination);
            let ends = if packet.way == Way::backward(packet.way.flow()) { (to, from) } else { (from, to) };
            (packet.way.flow(), ends, flow.unit_bytes(), flow.tcp().map(agreed))
        };
        Some(Sent { flow, ends, size: packet.size as u16, payload, agreed, rate, body: packet.body })
    }
}

fn agreed(tcp: &TcpSpec) -> Agreed {
    Agreed {
        headers: tcp.headers.count() as u16,
        window: tcp.sender.receiver_window,
        handshake: tcp.sender.handshake,
        sack: tcp.sender.recovery == Recovery::Sack,
        timestamps: tcp.sender.timestamps,
    }
}
