//! A transmit queue has parts: a discipline that keeps waiting packets, a marking that refuses some of them, a buffer that it
//! may share with its node's other queues, and an outlet, the air or a wire. A packet in service is out of the discipline.

mod airtime;
mod bucket;
mod counts;
mod discipline;
mod fair;
mod fifo;
mod role;
mod shaper;
#[cfg(test)]
pub(crate) mod tests;
mod weighted;

pub use airtime::{AirtimeFair, AirtimeParams};
pub use bucket::TokenBucket;
pub(crate) use counts::{Delays, Dropped};
pub use discipline::{AnyDiscipline, Discipline, DisciplineParams, Mark, OwnDiscipline, Queued};
pub use fair::{Fair, FairParams, Hosts};
pub use fifo::Fifo;
pub use role::{Airtimes, DisciplineRole, FlowFacts, Flows};
pub use shaper::Shaper;
pub(crate) use shaper::{ClassCounts, Line, NO_CLASS};
pub use weighted::{Weighted, WeightedParams};

use crate::spec::Pacer;
use crate::times::Histogram;
use evenair_des::Stream;
use evenair_des::ahead::fetch;
use evenair_laws::backoff::{Access, AnyBackoff, BackoffLaw, LinkView};
use evenair_laws::marking::{AnyMarking, MarkingLaw, QueueView, Verdict};
use evenair_units::{Bytes, Duration, Instant, Probability, Volume};
use evenair_wifi::{LossProcess, Mode, PacketId};
use std::collections::VecDeque;

/// The outlet's state for a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Service {
    Nothing,
    /// A packet, and the hop that it makes.
    Packet(Queued, u32),
    /// Packets that may share a frame: how many, their bytes, and when the oldest came into the queue.
    Staged {
        packets: u32,
        bytes: u32,
        oldest: Instant,
    },
    /// A dummy packet ([Chen10] Alg. 1 line 18).
    Dummy,
}

/// Where a queue's packets go.
#[derive(Clone, Debug)]
pub(crate) enum Outlet {
    /// The air; the queue is the contender of its number.
    Air,
    Wire(Box<WireEnd>),
    /// The network layer of the same node: packets that may leave arrive at once.
    Within {
        /// Whether acknowledgements wait there as data do; else they go past it.
        answers: bool,
    },
}

/// The wired link behind a queue.
#[derive(Clone, Debug)]
pub(crate) struct WireEnd {
    pub(crate) delay: Duration,
    /// Delays that it will have, and from when on.
    pub(crate) changes: VecDeque<(Instant, Duration)>,
    /// When the packet that was sent last arrives.
    pub(crate) last_arrival: Instant,
    pub(crate) loss: Option<LossProcess>,
    /// When it may send, where that is recorded.
    pub(crate) trace: Option<Pacer>,
    /// Packets under way on it, the oldest first.
    pub(crate) in_flight: VecDeque<PacketId>,
}

/// Room for packets that wait: shared by the queues of a node, or of one wire alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Buffer {
    pub(crate) waiting: u32,
    pub(crate) limit: u32,
}

/// A transmit queue. Each packet touches the first four lines of the cache, and no more.
#[derive(Clone, Debug)]
#[repr(C, align(64))]
pub(crate) struct TransmitQueue {
    pub(crate) service: Service,
    pub(crate) outlet: Outlet,
    /// Which buffer its packets wait in.
    pub(crate) buffer: u32,
    pub(crate) node: u32,
    pub(crate) discipline: AnyDiscipline,
    /// The probability with which arrivals are dropped, from the last update of its back-off law.
    pub(crate) law_drops: Option<Probability>,
    pub(crate) marking: Option<Box<AnyMarking>>,
    /// The packets that came and were accepted.
    pub(crate) arrived: Volume,
    /// How long each packet waited since the warm-up, if that is kept.
    pub(crate) waits: Option<Histogram>,
    /// The instant at which it is asked again for a packet that it keeps back; never, if it is not.
    pub(crate) ready_at: Instant,
    /// The dummies that its back-off law has it send.
    pub(crate) dummy: Option<Bytes>,
    /// How its frames are modulated; of a wire, its rate.
    pub(crate) mode: Mode,
    /// Packets of sources that are never without, which have left or were dropped and are not made up for: the first is next.
    pub(crate) without_room: VecDeque<Queued>,
    /// The flows that its marking tells apart.
    pub(crate) flows: Flows,
    /// The packets that were accepted and given up.
    pub(crate) given_up: Volume,
    pub(crate) dropped: Dropped,
    /// Packets marked that would have been dropped.
    pub(crate) marked: u64,
    pub(crate) stream: Stream,
    /// None on a wire.
    pub(crate) law: Option<Box<BackoffHost>>,
    pub(crate) name: String,
    /// The next hop of dummy packets.
    pub(crate) next_hop: u32,
}

/// A back-off law at work.
#[derive(Clone, Debug)]
pub(crate) struct BackoffHost {
    pub(crate) law: AnyBackoff,
    /// The instant of the last update, and the arrivals and departures by then.
    updated: Instant,
    arrived: Volume,
    served: Volume,
    /// The dummies sent since.
    dummies: Volume,
}

impl BackoffHost {
    /// A law that has seen nothing.
    pub(crate) fn new(law: AnyBackoff) -> Box<Self> {
        let none = Volume::default();
        Box::new(Self { law, updated: Instant::ZERO, arrived: none, served: none, dummies: none })
    }
}

impl TransmitQueue {
    /// The packets that wait or are in service.
    pub(crate) fn backlog(&self) -> Volume {
        let mut backlog = self.waiting();
        match self.service {
            Service::Packet(head, _) => backlog.add(head.size.into()),
            Service::Staged { packets, bytes, .. } => {
                backlog = plus(backlog, Volume { packets: packets.into(), bytes: bytes.into() });
            }
            Service::Nothing | Service::Dummy => (),
        }
        backlog
    }

    /// The first packet that waits, where packets wait in one line.
    pub(crate) fn first_waiting(&self) -> Option<&Queued> {
        if let AnyDiscipline::Fifo(fifo) = &self.discipline { fifo.first() } else { None }
    }

    /// Fetches what each packet touches into the cache.
    #[inline]
    pub(crate) fn fetch(&self) {
        fetch(&self.service);
        fetch(&self.discipline);
        fetch(&self.waits);
        fetch(&self.without_room);
    }

    fn waiting(&self) -> Volume {
        Volume { packets: self.discipline.packets().into(), bytes: self.discipline.bytes() }
    }

    /// Whether something may refuse an arrival or mark it: its back-off law, the marking, or the discipline.
    #[inline]
    pub(crate) const fn may_refuse(&self) -> bool {
        self.law_drops.is_some() || self.marking.is_some() || !self.discipline.is_plain()
    }

    /// Returns the probability with which an arrival is refused, from the back-off law, or from the marking and the
    /// discipline.
    pub(crate) fn refusal(&mut self, now: Instant, arrival: &Queued) -> Probability {
        if let Some(probability) = self.law_drops {
            return probability;
        }
        let by_discipline = self.discipline.refusal(now, arrival);
        if self.marking.is_none() {
            return by_discipline;
        }
        let view = self.view(arrival);
        let by_marking = self.marking.as_mut().expect("just seen").on_arrival(now, &view);
        if by_discipline == Probability::ZERO {
            return by_marking;
        }
        Probability::clamped(1.0 - (1.0 - by_marking.value()) * (1.0 - by_discipline.value()))
    }

    /// An arrival comes in.
    #[expect(clippy::inline_always, reason = "each packet passes here: six calls cost as much as their work")]
    #[inline(always)]
    pub(crate) fn accept(&mut self, now: Instant, arrival: Queued) {
        self.arrived.add(arrival.size.into());
        self.tell(now, &arrival, true);
        self.discipline.enqueue(now, arrival);
    }

    /// An arrival would be refused by a law and is marked: of the law's own it is told as of one refused, before it comes in.
    pub(crate) fn note_mark(&mut self, now: Instant, arrival: &Queued) {
        self.tell(now, arrival, false);
    }

    /// An arrival is refused.
    pub(crate) fn refuse(&mut self, now: Instant, arrival: &Queued) {
        self.discipline.refused(arrival);
        self.tell(now, arrival, false);
    }

    #[inline]
    fn tell(&mut self, now: Instant, arrival: &Queued, accepted: bool) {
        if self.marking.is_some() {
            self.tell_marking(now, arrival, accepted);
        }
    }

    #[inline(never)]
    fn tell_marking(&mut self, now: Instant, arrival: &Queued, accepted: bool) {
        let view = self.view(arrival);
        self.marking.as_mut().expect("just seen").after_arrival(now, &view, accepted);
    }

    /// Gives up a packet for the sake of one that finds the buffer full.
    pub(crate) fn evict(&mut self, now: Instant, arrival: &Queued) -> Option<Queued> {
        let evicted = self.discipline.evict(arrival)?;
        let behind = self.view(&evicted);
        if let Some(marking) = &mut self.marking {
            marking.on_removal(now, &behind);
        }
        Some(evicted)
    }

    /// The next packet to be sent, to a next hop if one is given, if one may leave now; those given up on the way to it are added
    /// to `culled`.
    #[expect(clippy::inline_always, reason = "each packet passes here: six calls cost as much as their work")]
    #[inline(always)]
    pub(crate) fn next(
        &mut self,
        now: Instant,
        next_hop: Option<u32>,
        culled: &mut Vec<Queued>,
    ) -> Option<Queued> {
        if self.marking.is_none() {
            return self.first(now, next_hop, culled);
        }
        self.next_marked(now, next_hop, culled)
    }

    #[expect(clippy::inline_always, reason = "each packet passes here: six calls cost as much as their work")]
    #[inline(always)]
    fn first(&mut self, now: Instant, next_hop: Option<u32>, culled: &mut Vec<Queued>) -> Option<Queued> {
        match next_hop {
            None => self.discipline.dequeue(now, culled),
            Some(next_hop) => self.discipline.dequeue_for(now, next_hop, culled),
        }
    }

    #[inline(never)]
    fn next_marked(
        &mut self,
        now: Instant,
        next_hop: Option<u32>,
        culled: &mut Vec<Queued>,
    ) -> Option<Queued> {
        loop {
            let already = culled.len();
            let first = self.first(now, next_hop, culled);
            for gone in &culled[already..] {
                let behind = self.view(gone);
                self.marking.as_mut().expect("asked for").on_removal(now, &behind);
            }
            let mut first = first?;
            let behind = self.view(&first);
            let marking = self.marking.as_mut().expect("asked for");
            if marking.on_departure(now, now - first.enqueued, &behind) == Verdict::Send || first.mark() {
                return Some(first);
            }
            culled.push(first);
        }
    }

    /// A marking law's view when this packet comes or has left.
    fn view(&self, packet: &Queued) -> QueueView {
        QueueView {
            waiting: self.waiting(),
            flow: self.flows.key(packet.flow),
            size: Bytes::new(packet.size),
        }
    }

    /// The back-off law, if there is one, sees its link; gives its new answer.
    pub(crate) fn update(&mut self, now: Instant) -> Option<Access> {
        let backlog = self.backlog();
        let head_of_line_delay = match self.service {
            Service::Nothing => Some(Duration::ZERO),
            Service::Packet(head, _) => Some(now - head.enqueued),
            Service::Staged { oldest, .. } => Some(now - oldest),
            Service::Dummy => (backlog.packets == 0).then_some(Duration::ZERO),
        };
        let gone = plus(self.given_up, backlog);
        let host = self.law.as_mut()?;
        let served = minus(self.arrived, gone);
        host.law.on_update(&LinkView {
            now,
            interval: now.since(host.updated),
            arrivals: minus(self.arrived, host.arrived),
            service: minus(served, host.served),
            dummies: std::mem::take(&mut host.dummies),
            backlog,
            head_of_line_delay,
            data_rate: self.mode.rate(),
        });
        (host.updated, host.arrived, host.served) = (now, self.arrived, served);
        self.ask_law();
        self.law.as_ref().map(|host| host.law.access())
    }

    /// A dummy packet has been sent.
    pub(crate) fn note_dummy(&mut self) {
        if let (Some(host), Some(size)) = (&mut self.law, self.dummy) {
            host.dummies.add(size.count().into());
        }
    }

    /// Notes its back-off law's answers on packets.
    pub(crate) fn ask_law(&mut self) {
        let law = self.law.as_ref().map(|host| &host.law);
        self.law_drops = law.and_then(BackoffLaw::drop_probability);
        self.dummy = law.and_then(BackoffLaw::dummy_packet);
    }

    pub(crate) fn aggressiveness(&self) -> Option<f64> {
        self.law.as_ref().and_then(|host| host.law.aggressiveness())
    }
}

fn plus(a: Volume, b: Volume) -> Volume {
    Volume { packets: a.packets + b.packets, bytes: a.bytes + b.bytes }
}

fn minus(now: Volume, then: Volume) -> Volume {
    debug_assert!(now.packets >= then.packets && now.bytes >= then.bytes, "a count went down");
    Volume { packets: now.packets - then.packets, bytes: now.bytes - then.bytes }
}
