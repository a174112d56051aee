//! Events by the slice of time that they are due in.

use crate::queue::Entry;
use evenair_units::Instant;
use std::collections::BinaryHeap;

/// A slice takes 2^12 ns: in a network of ten thousand busy stations it has about ten events.
const SLICE_BITS: u32 = 12;
/// Slices of a turn, 4.2 ms: time-outs and most back-offs of 802.11 end in it.
const SLICES: usize = 1024;

/// Events of later slices than those of the queue before it. Within a slice they have no order.
///
/// An event comes in and goes out by a few steps, however many wait: R. Brown, Calendar queues, CACM 31 (1988), here with one width of
/// slices, and a heap for events after the present turn.
#[derive(Clone, Debug)]
pub(crate) struct Calendar<E> {
    /// The number of its first slice since the beginning of time.
    first: u64,
    /// By the number of the slice in its turn.
    slices: Box<[Vec<Entry<E>>]>,
    /// A bit for each slice that has events.
    taken: [u64; SLICES / 64],
    /// Events that were due after the present turn when they came.
    later: BinaryHeap<Entry<E>>,
    len: usize,
}

impl<E: Copy> Calendar<E> {
    /// An empty calendar that begins with the slice after this instant's.
    pub(crate) fn after(at: Instant) -> Self {
        Self {
            first: slice_of(at) + 1,
            slices: vec![Vec::new(); SLICES].into(),
            taken: [0; SLICES / 64],
            later: BinaryHeap::new(),
            len: 0,
        }
    }

    /// From when on it takes events.
    pub(crate) const fn begins(&self) -> Instant {
        Instant::from_nanos(self.first.saturating_mul(1 << SLICE_BITS))
    }

    /// How many events it has.
    pub(crate) const fn len(&self) -> usize {
        self.len
    }

    /// Adds an event that is due when it begins, or later.
    pub(crate) fn add(&mut self, entry: Entry<E>) {
        let slice = slice_of(entry.place.at());
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
        let of_later = self.later.peek().map(|entry| slice_of(entry.place.at()));
        let Some(slice) = of_turn.into_iter().chain(of_later).min() else { return };
        let before = into.len();
        if of_turn == Some(slice) {
            let index = slice as usize % SLICES;
            into.append(&mut self.slices[index]);
            self.taken[index / 64] &= !(1 << (index % 64));
        }
        while let Some(entry) = self.later.peek().filter(|entry| slice_of(entry.place.at()) == slice) {
            into.push(*entry);
            self.later.pop();
        }
        self.len -= into.len() - before;
        self.first = slice + 1;
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

const fn slice_of(at: Instant) -> u64 {
    at.as_nanos() >> SLICE_BITS
}
