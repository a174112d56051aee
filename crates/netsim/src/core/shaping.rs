//! Shapers: queues that keep packets in their node. Their rates follow a plan, or a gateway's law that reads their counts
//! once an epoch.

mod build;
mod busy;

pub(super) use build::Within;

use super::{Core, END, Event};
use crate::measure::GatewaySeries;
use crate::packet::Packet;
use crate::queue::{AnyDiscipline, ClassCounts, Shaper};
use crate::spec::{GatewayClass, GatewaySpec, Shares};
use build::turns;
use busy::Watch;
use evenair_laws::gateway::{
    Allocation, AnyGateway, ClassCounters, ClassRole, ClassView, Decision, GatewayLaw, GatewayRole, Meter,
    NewClasses, Reason, Step,
};
use evenair_units::{Bytes, Duration, Instant, Rate};
use evenair_wifi::PacketId;
use std::collections::VecDeque;
use std::fmt;

/// The interval at which a shaper's counts are noted without a law: [Jam10]'s epoch.
const EPOCH: Duration = Duration::from_secs(10);

/// The source of a shaper's rates.
#[derive(Clone, Debug)]
enum Control {
    /// From when on it has which.
    Plan(VecDeque<(Instant, Shares)>),
    Law(Box<AnyGateway>),
}

/// A shaper's host.
#[derive(Clone, Debug)]
pub(crate) struct ShaperHost {
    pub(crate) queue: u32,
    control: Control,
    /// The instant of the last reading of a gateway's classes, and their counts by then.
    meter: Meter,
    /// Its readings: kept, so that nothing is allocated where it looks often.
    counters: Vec<Option<ClassCounters>>,
    /// Of a gateway.
    record: Option<Box<Record>>,
    /// Of a gateway with a law: the classes with data outstanding beyond it.
    watch: Option<Box<Watch>>,
}

/// The notes on a gateway.
#[derive(Clone, Debug)]
pub(crate) struct Record {
    /// The node, and its classes of packets.
    pub(crate) node: u32,
    pub(crate) classes: Vec<GatewayClass>,
    /// The classes that are there, in order: those that its law knows.
    there: Vec<u32>,
    /// The rate that each class has.
    each: Vec<Rate>,
    /// A full packet, network-layer size.
    full_packet: Bytes,
    pub(crate) series: GatewaySeries,
}

impl Record {
    fn roles(&self) -> GatewayRole {
        let roles = self.there.iter().map(|&class| self.classes[class as usize].role);
        GatewayRole { classes: roles.collect() }
    }

    /// A law's allowance to the present classes; a removed class keeps its rate, for its packets that still wait.
    fn shares(&mut self, allocation: Allocation) -> Shares {
        let there: Vec<_> = self.there.iter().map(|&class| self.classes[class as usize].clone()).collect();
        let Shares { total, each } = Shares::of(allocation, &there);
        for (&class, rate) in self.there.iter().zip(each) {
            self.each[class as usize] = rate;
        }
        Shares { total, each: self.each.clone() }
    }

    /// The gateway has looked, or its classes have changed; `seen` are those that are there.
    fn note(
        &mut self,
        now: Instant,
        decision: Decision,
        shares: Option<&Shares>,
        seen: &[Option<ClassView>],
    ) {
        let Self { there, series, .. } = self;
        let class = decision.class.and_then(|place| there.get(place as usize)).copied();
        let seen =
            |class: u32| there.iter().position(|&of| of == class).and_then(|place| *seen.get(place)?);
        series.add(now, Decision { class, ..decision }, shares, seen);
    }

    /// A class comes, goes or changes; returns the change for the law.
    fn change(&mut self, class: u32, role: Option<ClassRole>) -> NewClasses {
        let before = self.there.clone();
        self.there.retain(|&there| there != class);
        if let Some(role) = role {
            self.classes[class as usize].role = role;
            let place = self.there.partition_point(|&there| there < class);
            self.there.insert(place, class);
        }
        let was = |class: &u32| before.iter().position(|there| there == class).map(|place| place as u32);
        NewClasses { role: self.roles(), was: self.there.iter().map(was).collect() }
    }
}

/// Why a class of a gateway cannot be changed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ClassRefused {
    /// There is no gateway.
    NoGateway,
    /// The gateway has no such class; so many it has.
    NoClass(u32),
    /// Its rates follow a plan, not a law.
    Planned,
    /// A weight that is not above zero.
    Weight(f64),
}

impl fmt::Display for ClassRefused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoGateway => f.write_str("the network has no gateway"),
            Self::NoClass(count) => {
                write!(f, "the gateway has no such class: they count from 0, below {count}")
            }
            Self::Planned => {
                f.write_str("the gateway's rates follow a plan: only a law's classes may change")
            }
            Self::Weight(weight) => write!(f, "a weight of {weight}: it must be above 0, and finite"),
        }
    }
}

impl std::error::Error for ClassRefused {}

impl ShaperHost {
    fn new(queue: u32, control: Control) -> Self {
        let meter = Meter::new(Instant::ZERO, Vec::new(), Duration::MAX);
        Self { queue, control, meter, counters: Vec::new(), record: None, watch: None }
    }

    fn keep_a_record(&mut self, gateway: &GatewaySpec, full_packet: Bytes) {
        let classes = gateway.classes.clone();
        let count = classes.len();
        let series = GatewaySeries::new(count);
        let nothing = vec![Some(ClassCounts::default().counters()); count];
        self.meter = Meter::new(Instant::ZERO, nothing, Duration::MAX);
        let (there, each) = ((0..count as u32).collect(), vec![Rate::default(); count]);
        let node = gateway.node;
        if matches!(self.control, Control::Law(_)) && !gateway.no_busy_time {
            self.watch = Some(Box::new(Watch::new(node, &classes)));
        }
        self.record = Some(Box::new(Record { node, classes, there, each, full_packet, series }));
    }

    /// It looks at the classes; gives the rates that they have from now on, if those change, and when it looks again.
    fn look(&mut self, now: Instant, counts: &[ClassCounts]) -> (Option<Shares>, Instant) {
        let there = self.record.as_ref().map_or(&[][..], |record| &record.there);
        self.counters.clear();
        if let Some(watch) = &mut self.watch {
            watch.forget(now);
        }
        let read = |&class: &u32| {
            let busy = self.watch.as_ref().and_then(|watch| watch.busy(now, class));
            let round_trips = self.watch.as_ref().map(|watch| watch.round_trips(class));
            Some(ClassCounters { busy, round_trips, ..counts[class as usize].counters() })
        };
        self.counters.extend(there.iter().map(read));
        let view = self.meter.look(now, &self.counters);
        let (shares, decision, next) = match &mut self.control {
            Control::Plan(plan) => {
                let mut due = None;
                while plan.front().is_some_and(|&(from, _)| from <= now) {
                    due = plan.pop_front().map(|(_, shares)| shares);
                }
                let step = if now == Instant::ZERO { Step::Start } else { Step::Hold };
                let decision = Decision { step, reason: Reason::Configured, class: None };
                let change = plan.front().map_or(Instant::NEVER, |&(from, _)| from);
                (due, decision, if self.record.is_some() { change.min(now + EPOCH) } else { change })
            }
            Control::Law(law) => {
                let allocation = if now == Instant::ZERO { law.at_start() } else { law.on_epoch(&view) };
                debug_assert!(!law.interval().is_zero(), "a law that runs without end at one instant");
                let decision = allocation.decision;
                let record = self.record.as_mut().expect("only a gateway has a law");
                (
                    Some(record.shares(allocation)),
                    decision,
                    now + law.interval().max(Duration::from_micros(1)),
                )
            }
        };
        if let Some(record) = &mut self.record {
            record.note(now, decision, shares.as_ref(), &view.classes);
        }
        (shares, next)
    }

    /// A class comes, goes or is another; gives the rates until the epoch ends, and each line's turns.
    fn change(
        &mut self,
        now: Instant,
        class: u32,
        role: Option<ClassRole>,
        counts: &[ClassCounts],
    ) -> Result<(Shares, Vec<Bytes>), ClassRefused> {
        let record = self.record.as_mut().ok_or(ClassRefused::NoGateway)?;
        let Control::Law(law) = &mut self.control else { return Err(ClassRefused::Planned) };
        if class as usize >= record.classes.len() {
            return Err(ClassRefused::NoClass(record.classes.len() as u32));
        }
        if let Some(ClassRole { weight, .. }) =
            role.filter(|role| !(role.weight > 0.0 && role.weight.is_finite()))
        {
            return Err(ClassRefused::Weight(weight));
        }
        let classes = record.change(class, role);
        self.meter.on_classes(&classes);
        let allocation = law.on_classes(&classes);
        let decision = allocation.decision;
        let shares = record.shares(allocation);
        // The counts are reported at the epoch's end.
        let waits =
            |&class: &u32| ClassView { backlog: counts[class as usize].backlog(), ..ClassView::default() };
        let seen: Vec<_> = record.there.iter().map(|class| Some(waits(class))).collect();
        record.note(now, decision, Some(&shares), &seen);
        Ok((shares, turns(&record.classes, record.full_packet)))
    }
}

impl<T: Copy> Core<T> {
    /// Shapers get their first rates.
    pub(crate) fn start_shapers(&mut self) {
        for host in 0..self.shapers.len() as u32 {
            self.update_rates(host);
        }
    }

    /// A shaper's host looks at it, and may change its rates.
    pub(super) fn update_rates(&mut self, index: u32) {
        let host = &mut self.shapers[index as usize];
        let by = host.queue;
        let shaper = shaper_mut(&mut self.queues[by as usize].discipline);
        let (shares, next) = host.look(self.now, shaper.counts());
        if let Some(Shares { total, each }) = shares {
            shaper.set_rates(self.now, total, &each);
        }
        if !next.is_never() {
            self.call(next, Event::Shaping(index));
        }
        self.serve(by);
    }

    /// A class of the gateway comes, goes or is another.
    pub(crate) fn set_class(&mut self, class: u32, role: Option<ClassRole>) -> Result<(), ClassRefused> {
        let host = self.shapers.first_mut().ok_or(ClassRefused::NoGateway)?;
        let by = host.queue;
        let shaper = shaper_mut(&mut self.queues[by as usize].discipline);
        let (shares, turns) = host.change(self.now, class, role, shaper.counts())?;
        shaper.set_turns(&turns);
        shaper.set_rates(self.now, shares.total, &shares.each);
        self.serve(by);
        Ok(())
    }

    /// A packet that may leave the queue of a shaper is at the network layer at once.
    pub(super) fn let_through(&mut self, by: u32) {
        let mut any = false;
        while let Some(next) = self.dequeue(by, None) {
            any = true;
            let packet = self.pool.get_mut(next.packet);
            let hop = self.hops.get_mut(packet.hop);
            debug_assert_eq!(hop.queue, by, "a packet waited in the wrong queue");
            let waited = self.now - next.enqueued;
            hop.passed.waiting.add(waited);
            hop.passed.sojourn.add(waited);
            hop.passed.bytes += u64::from(next.size);
            packet.hop = hop.next();
            let packet = *packet;
            self.watch_passing(by, &packet);
            self.queues[by as usize].waits.iter_mut().for_each(|waits| waits.add(waited));
            self.arrive(next.packet);
        }
        self.serve_nothing(by);
        if any {
            self.make_room(by, None);
        }
    }

    /// The gateway sees a packet that it lets through.
    fn watch_passing(&mut self, by: u32, packet: &Packet) {
        if let Some(host) = self.shapers.first_mut()
            && host.queue == by
            && let Some(watch) = &mut host.watch
        {
            let class = shaper_mut(&mut self.queues[by as usize].discipline).class_of(packet.way.0);
            watch.on_passed(self.now, class, packet);
        }
    }

    /// The gateway sees arrivals at its node: acknowledgements of packets that it has let through.
    #[inline]
    pub(super) fn watch_arriving(&mut self, id: PacketId) {
        if !self.shapers.is_empty() {
            self.watch_answer(id);
        }
    }

    /// The same, where there are shapers.
    #[inline(never)]
    fn watch_answer(&mut self, id: PacketId) {
        let Some(watch) = self.shapers.first_mut().and_then(|host| host.watch.as_mut()) else { return };
        let packet = self.pool.get(id);
        // An acknowledgement that is at the end of its way has passed the gateway, or is there.
        let at = |hop: u32| self.queues[self.hops.get(hop).queue as usize].node;
        if packet.hop == END || at(packet.hop) == watch.node {
            watch.on_answer(self.now, &packet.body);
        }
    }

    /// A packet goes past a shaper that is not for its kind.
    #[cold]
    pub(super) fn pass_by(&mut self, id: PacketId) {
        let packet = self.pool.get_mut(id);
        packet.hop = self.hops.get(packet.hop).next();
        self.arrive(id);
    }

    /// The notes on the gateway, and its shaper's counts, if there is one.
    pub(crate) fn gateway(&self) -> Option<(&Record, &[ClassCounts])> {
        let host = self.shapers.first()?;
        let record = host.record.as_ref()?;
        let AnyDiscipline::Shaper(shaper) = &self.queues[host.queue as usize].discipline else {
            unreachable!("a shaper's queue")
        };
        Some((record, shaper.counts()))
    }
}

/// The shaper that a queue has.
fn shaper_mut(discipline: &mut AnyDiscipline) -> &mut Shaper {
    let AnyDiscipline::Shaper(shaper) = discipline else { unreachable!("a shaper's queue") };
    shaper
}
