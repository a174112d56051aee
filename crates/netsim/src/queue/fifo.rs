//! First in, first out.

use super::{Discipline, Queued};
use evenair_units::Instant;
use std::collections::VecDeque;

/// One line for all packets.
#[derive(Clone, Debug, Default)]
pub struct Fifo {
    line: VecDeque<Queued>,
    bytes: u64,
}

impl Fifo {
    /// The first packet.
    pub(crate) fn first(&self) -> Option<&Queued> {
        self.line.front()
    }
}

impl Discipline for Fifo {
    #[inline]
    fn enqueue(&mut self, _: Instant, arrival: Queued) {
        self.bytes += u64::from(arrival.size);
        self.line.push_back(arrival);
    }

    #[inline]
    fn dequeue(&mut self, _: Instant, _: &mut Vec<Queued>) -> Option<Queued> {
        let first = self.line.pop_front()?;
        debug_assert!(self.bytes >= u64::from(first.size), "more bytes leave than came");
        self.bytes -= u64::from(first.size);
        Some(first)
    }

    /// Takes packets of the next hop in order, past those of others.
    #[inline]
    fn dequeue_for(&mut self, _: Instant, next_hop: u32, _: &mut Vec<Queued>) -> Option<Queued> {
        let place = self.line.iter().position(|packet| packet.next_hop == next_hop)?;
        let first = self.line.remove(place)?;
        self.bytes -= u64::from(first.size);
        Some(first)
    }

    #[inline]
    fn packets(&self) -> u32 {
        self.line.len() as u32
    }

    #[inline]
    fn bytes(&self) -> u64 {
        self.bytes
    }
}
