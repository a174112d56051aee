//! Shapers: queues whose packets stay in their node. Their rates follow a plan, or a gateway's law that looks at what they
//! counted once an epoch.

mod build;

pub(super) use build::Within;

use super::{Core, Event};
use crate::measure::GatewaySeries;
use crate::queue::{AnyDiscipline, ClassCounts, Shaper};
use crate::spec::{GatewayClass, GatewaySpec, Shares};
use evenair_laws::gateway::{AnyGateway, Decision, GatewayLaw, Meter, Reason, Step};
use evenair_units::{Duration, Instant};
use evenair_wifi::PacketId;
use std::collections::VecDeque;

/// How often what a shaper counted is noted that no law looks at: [Jam10]'s epoch.
const EPOCH: Duration = Duration::from_secs(10);

/// What sets a shaper's rates.
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
    /// When it last looked, and what had been counted by then of a gateway's classes.
    meter: Meter,
    /// Of a gateway.
    record: Option<Box<Record>>,
}

/// What is noted of a gateway.
#[derive(Clone, Debug)]
pub(crate) struct Record {
    /// The node, and what it tells apart.
    pub(crate) node: u32,
    pub(crate) classes: Vec<GatewayClass>,
    pub(crate) series: GatewaySeries,
}

impl ShaperHost {
    fn new(queue: u32, control: Control) -> Self {
        let meter = Meter::new(Instant::ZERO, Vec::new(), Duration::MAX);
        Self { queue, control, meter, record: None }
    }

    fn keep_a_record(&mut self, gateway: &GatewaySpec) {
        let classes = gateway.classes.clone();
        let series = GatewaySeries::new(classes.len());
        let nothing = vec![Some(ClassCounts::default().counters()); classes.len()];
        self.meter = Meter::new(Instant::ZERO, nothing, Duration::MAX);
        self.record = Some(Box::new(Record { node: gateway.node, classes, series }));
    }

    /// It looks at the classes; gives the rates that they have from now on, if those change, and when it looks again.
    fn look(&mut self, now: Instant, counts: &[ClassCounts]) -> (Option<Shares>, Instant) {
        let counters: Vec<_> = counts.iter().map(|class| Some(class.counters())).collect();
        let view = self.meter.look(now, &counters);
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
                let classes = self.record.as_ref().map_or(&[][..], |record| &record.classes);
                (
                    Some(Shares::of(allocation, classes)),
                    decision,
                    now + law.interval().max(Duration::from_micros(1)),
                )
            }
        };
        if let Some(record) = &mut self.record {
            record.series.add(decision, shares.as_ref(), &view);
        }
        (shares, next)
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

    /// What may leave the queue of a shaper is at the network layer at once.
    pub(super) fn let_through(&mut self, by: u32) {
        let mut any = false;
        while let Some(next) = self.dequeue(by) {
            any = true;
            let packet = self.pool.get_mut(next.packet);
            let hop = self.hops.get_mut(packet.hop);
            debug_assert_eq!(hop.queue, by, "a packet waited in the wrong queue");
            let waited = self.now - next.enqueued;
            hop.passed.waiting.add(waited);
            hop.passed.sojourn.add(waited);
            hop.passed.bytes += u64::from(next.size);
            packet.hop = hop.next();
            self.queues[by as usize].waits.iter_mut().for_each(|waits| waits.add(waited));
            self.arrive(next.packet);
        }
        self.serve_nothing(by);
        if any {
            self.make_room(by, None);
        }
    }

    /// A packet goes past a shaper that is not for its kind.
    #[cold]
    pub(super) fn pass_by(&mut self, id: PacketId) {
        let packet = self.pool.get_mut(id);
        packet.hop = self.hops.get(packet.hop).next();
        self.arrive(id);
    }

    /// What is noted of the gateway, and what its shaper has counted, if there is one.
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
