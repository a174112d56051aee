//! A transmit queue is parts: a discipline that keeps what waits, a marking that refuses some of it, a buffer that it may share
//! with its node's other queues, and an outlet, the air or a wire. What is in service is out of the discipline.

mod counts;
mod discipline;
mod fair;
mod fifo;
#[cfg(test)]
pub(crate) mod tests;

pub(crate) use counts::{Count, Delays, Dropped};
pub use discipline::{AnyDiscipline, Discipline, DisciplineParams, OwnDiscipline, OwnLaw, Queued};
pub use fair::{Fair, FairParams};
pub use fifo::Fifo;

use evenair_des::Stream;
use evenair_laws::backoff::{AdaptiveBackoff, LinkView};
use evenair_laws::marking::Proportional;
use evenair_units::{Duration, Instant, Probability, Rate};
use evenair_wifi::{LossProcess, PacketId};
use std::collections::VecDeque;

/// What the outlet has of a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Service {
    Nothing,
    /// A packet, and the hop that it makes.
    Packet(Queued, u32),
    /// A dummy packet ([Chen10] Alg. 1 line 18).
    Dummy,
}

/// Where a queue's packets go.
#[derive(Clone, Debug)]
pub(crate) enum Outlet {
    /// The air; the queue is the contender of its number.
    Air,
    Wire(Box<WireEnd>),
}

/// The wired link behind a queue.
#[derive(Clone, Debug)]
pub(crate) struct WireEnd {
    pub(crate) delay: Duration,
    pub(crate) loss: Option<LossProcess>,
    /// Packets under way on it, the oldest first.
    pub(crate) in_flight: VecDeque<PacketId>,
}

/// Room for packets that wait: shared by the queues of a node, or of one wire alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Buffer {
    pub(crate) waiting: u32,
    pub(crate) limit: u32,
}

#[derive(Clone, Debug)]
pub(crate) struct TransmitQueue {
    pub(crate) service: Service,
    pub(crate) discipline: AnyDiscipline,
    pub(crate) outlet: Outlet,
    /// Which buffer its packets wait in.
    pub(crate) buffer: u32,
    pub(crate) marking: Option<Proportional>,
    /// With what probability its back-off law drops arrivals, since it was last updated.
    pub(crate) law_drops: Probability,
    /// Packets that were offered to it, those that it refused among them.
    pub(crate) arrived: Count,
    pub(crate) dropped: Dropped,
    /// The instant at which it is asked again for a packet that it keeps back; never, if it is not.
    pub(crate) ready_at: Instant,
    pub(crate) stream: Stream,
    pub(crate) law: Option<Box<AdaptiveBackoff>>,
    pub(crate) name: String,
    pub(crate) node: u32,
    /// The next hop of dummy packets.
    pub(crate) next_hop: u32,
    /// Its rate.
    pub(crate) rate: Rate,
}

impl TransmitQueue {
    /// Packets that wait or are in service.
    pub(crate) fn backlog(&self) -> u32 {
        self.discipline.packets() + u32::from(matches!(self.service, Service::Packet(..)))
    }

    /// Their bytes.
    pub(crate) fn backlog_bytes(&self) -> u64 {
        let in_service = if let Service::Packet(head, _) = self.service { head.size } else { 0 };
        self.discipline.bytes() + u64::from(in_service)
    }

    /// With what probability an arrival is refused.
    #[inline]
    pub(crate) fn refusal(&mut self, now: Instant, arrival: &Queued) -> Probability {
        let marked = match self.marking {
            Some(marking) => marking.drop_probability(self.discipline.packets()),
            None => self.discipline.refusal(now, arrival),
        };
        if self.law.is_some() { self.law_drops } else { marked }
    }

    /// What a back-off law sees.
    pub(crate) fn view(&self) -> LinkView {
        LinkView {
            backlog_packets: self.backlog(),
            backlog_bytes: self.backlog_bytes(),
            data_rate: self.rate,
        }
    }

    pub(crate) fn aggressiveness(&self) -> Option<f64> {
        self.law.as_ref().map(|law| law.aggressiveness())
    }
}
