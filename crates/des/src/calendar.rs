//! Events by the slice of time that they are due in.

use crate::queue::Entry;
use evenair_units::Instant;
use std::collections::BinaryHeap;

/// A slice takes 2^15 ns at first, in which a network of a thousand busy stations has about ten events.
const SLICE_BITS: u32 = 15;
/// It takes 2^30 ns, a second, at most.
const WIDEST: u32 = 30;
/// After so many slices with events their width is looked at.
const LOOK: u32 = 64;
/// It is halved if they had so many events, and doubled if they had fewer than so many: ten thousand stations come to 2^12 ns.
const MANY: usize = 16 * LOOK as usize;
const FEW: usize = 4 * LOOK as usize;
/// Slices of a turn, 34 ms at first: time-outs and most back-offs of 802.11 end in it.
const SLICES: usize = 1024;

/// Events of later slices than those of the queue before it. Within a slice they have no order.
///
/// An event comes in and goes out by a few steps, however many wait: R. Brown, Calendar queues, CACM 31 (1988), here with a heap for
/// events after the present turn.
#[derive(Clone, Debug)]
pub(crate) struct Calendar<E> {
    /// A slice takes two to the power of this \[ns\].
    slice_bits: u32,
    /// The number of its first slice since the beginning of time.
    first: u64,
    /// By the number of the slice in its turn.
    slices: Box<[Vec<Entry<E>>]>,
    /// A bit for each slice that has events.
    taken: [u64; SLICES / 64],
    /// Events that were due after the present turn when they came.
    later: BinaryHeap<Entry<E>>,
    len: usize,
    /// Slices and events taken out since the width was last looked at.
    slices_taken: u32,
    events_taken: usize,
}

impl<E: Copy> Calendar<E> {
    /// An empty calendar that begins with the slice after this instant's.
    pub(crate) fn after(at: Instant) -> Self {
        Self {
            slice_bits: SLICE_BITS,
            first: (at.as_nanos() >> SLICE_BITS) + 1,
            slices: vec![Vec::new(); SLICES].into(),
            taken: [0; SLICES / 64],
            later: BinaryHeap::new(),
            len: 0,
            slices_taken: 0,
            events_taken: 0,
        }
    }

    /// From when on it takes events.
    pub(crate) const fn begins(&self) -> Instant {
        Instant::from_nanos(self.first.saturating_mul(1 << self.slice_bits))
    }

    const fn slice_of(&self, at: Instant) -> u64 {
        at.as_nanos() >> self.slice_bits
    }

    /// How many events it has.
    pub(crate) const fn len(&self) -> usize {
        self.len
    }

    /// Adds an event that is due when it begins, or later.
    pub(crate) fn add(&mut self, entry: Entry<E>) {
        let slice = self.slice_of(entry.place.at());
        debug_assert!(slice >= self.first, "an event before the calendar");
        self.len += 1;
        if slice - self.first < SLICES as u64 {
            let index = slice as usize % SLICES;
            self.slices[index].push(entry);
            self.taken[index / 64] |= 1 << (index % 64);
        } else {
            self.later.push(entry);
        }
    }

    /// Takes out the events of the first slice that has some, in no order; the calendar then begins after it.
    pub(crate) fn take_next(&mut self, into: &mut Vec<Entry<E>>) {
        let of_turn = self.next_taken();
        let of_later = self.later.peek().map(|entry| self.slice_of(entry.place.at()));
        let Some(slice) = of_turn.into_iter().chain(of_later).min() else { return };
        let before = into.len();
        if of_turn == Some(slice) {
            let index = slice as usize % SLICES;
            into.append(&mut self.slices[index]);
            self.taken[index / 64] &= !(1 << (index % 64));
        }
        let of_slice = |entry: &&Entry<E>| entry.place.at().as_nanos() >> self.slice_bits == slice;
        while let Some(entry) = self.later.peek().filter(of_slice) {
            into.push(*entry);
            self.later.pop();
        }
        let taken = into.len() - before;
        self.len -= taken;
        self.first = slice + 1;
        self.slices_taken += 1;
        self.events_taken += taken;
        if self.slices_taken >= LOOK {
            self.look_at_width();
        }
    }

    /// Makes slices narrower if they have many events, and wider if few.
    #[cold]
    fn look_at_width(&mut self) {
        let bits = match self.events_taken {
            ..FEW if self.slice_bits < WIDEST => self.slice_bits + 1,
            MANY.. if self.slice_bits > 0 => self.slice_bits - 1,
            _ => self.slice_bits,
        };
        let begins = self.begins();
        if !begins.as_nanos().is_multiple_of(1 << bits) {
            return; // a wider slice has begun already; the next one has not
        }
        (self.slices_taken, self.events_taken) = (0, 0);
        if bits == self.slice_bits {
            return;
        }
        let all: Vec<Entry<E>> = self.slices.iter_mut().flat_map(|slice| slice.drain(..)).collect();
        let later = std::mem::take(&mut self.later);
        (self.slice_bits, self.first) = (bits, begins.as_nanos() >> bits);
        (self.taken, self.len) = ([0; SLICES / 64], 0);
        all.into_iter().chain(later).for_each(|entry| self.add(entry));
    }

    /// The first slice of the turn that has events.
    fn next_taken(&self) -> Option<u64> {
        let start = self.first as usize % SLICES;
        let (word, bit) = (start / 64, start % 64);
        let words = self.taken.len();
        // The word in which the turn begins comes first without its lower bits, and last with them alone.
        (0..=words).find_map(|i| {
            let mask = match i {
                0 => u64::MAX << bit,
                _ if i == words => !(u64::MAX << bit),
                _ => u64::MAX,
            };
            let here = (word + i) % words;
            let taken = self.taken[here] & mask;
            let index = here * 64 + taken.trailing_zeros() as usize;
            (taken != 0).then(|| self.first + ((index + SLICES - start) % SLICES) as u64)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Phase, Queue};

    /// The width of slices after many events that are so far apart, of which some are always waiting.
    fn bits_of_slices(apart_ns: u64) -> u32 {
        let mut queue = Queue::new();
        let at = |number: u64| Instant::from_nanos(number * apart_ns);
        (0..1_000).for_each(|number| queue.push(at(number), Phase::Host, number));
        for number in 0..100_000 {
            assert_eq!(queue.pop(), Some((at(number), number)));
            queue.push(at(number + 1_000), Phase::Host, number + 1_000);
        }
        queue.calendar.expect("a thousand wait").slice_bits
    }

    #[test]
    fn slices_have_some_events() {
        let events = |apart_ns: u64| (1 << bits_of_slices(apart_ns)) / apart_ns;
        for apart_ns in [100, 400, 3_000, 50_000, 1_000_000] {
            assert!((4..=16).contains(&events(apart_ns)), "{} events {apart_ns} ns apart", events(apart_ns));
        }
    }
}
