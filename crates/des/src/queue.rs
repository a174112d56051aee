//! The event queue.

use evenair_units::Instant;
use std::cmp::Ordering;
use std::collections::BinaryHeap;

/// What happens first among events of one instant. Within a phase the order of insertion decides.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum Phase {
    /// Ends of frames, and what is received with them.
    Reception,
    /// Time-outs and responses that are due.
    Timeout,
    /// Countdowns that reach zero and start frames.
    Access,
    /// Everything above the medium: packets handed down, laws, measurement.
    Host,
}

/// Bits of the insertion number below the phase: enough for 10^16 events a run.
const SEQUENCE_BITS: u32 = 56;

/// Where an event stands among all others: its instant, then its phase, then its insertion number, in one integer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place(u128);

impl Place {
    /// When the event is due.
    #[inline]
    pub const fn at(self) -> Instant {
        Instant::from_nanos((self.0 >> 64) as u64)
    }
}

#[derive(Clone, Copy, Debug)]
struct Entry<E> {
    place: Place,
    event: E,
}

impl<E> PartialEq for Entry<E> {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl<E> Eq for Entry<E> {}

impl<E> PartialOrd for Entry<E> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<E> Ord for Entry<E> {
    /// Reversed, because the standard heap gives its greatest entry and we want the earliest.
    fn cmp(&self, other: &Self) -> Ordering {
        other.place.cmp(&self.place)
    }
}

/// Events ordered by time, then phase, then insertion.
///
/// Events are not cancelled: their owner recognises a stale one when it is popped, which costs less than finding it
/// in the heap.
#[derive(Clone, Debug)]
pub struct Queue<E> {
    heap: BinaryHeap<Entry<E>>,
    inserted: u64,
}

impl<E> Default for Queue<E> {
    fn default() -> Self {
        Self { heap: BinaryHeap::new(), inserted: 0 }
    }
}

impl<E: Copy> Queue<E> {
    /// An empty queue.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds an event. An instant of [`Instant::NEVER`] is not queued.
    #[inline]
    pub fn push(&mut self, at: Instant, phase: Phase, event: E) {
        if at.is_never() {
            return;
        }
        let place = self.place(at, phase);
        self.heap.push(Entry { place, event });
    }

    /// Takes the next place in the order without queueing anything: for a host that keeps some events, such as those
    /// after a constant delay, in a line of its own.
    #[inline]
    pub fn place(&mut self, at: Instant, phase: Phase) -> Place {
        let order = (phase as u64) << SEQUENCE_BITS | self.inserted;
        self.inserted += 1;
        Place(u128::from(at.as_nanos()) << 64 | u128::from(order))
    }

    /// Takes the earliest event.
    #[inline]
    pub fn pop(&mut self) -> Option<(Instant, E)> {
        self.heap.pop().map(|entry| (entry.place.at(), entry.event))
    }

    /// When the earliest event is due.
    #[inline]
    pub fn next_at(&self) -> Option<Instant> {
        self.next_place().map(Place::at)
    }

    /// Where the earliest event stands.
    #[inline]
    pub fn next_place(&self) -> Option<Place> {
        self.heap.peek().map(|entry| entry.place)
    }

    /// How many events wait.
    pub fn len(&self) -> usize {
        self.heap.len()
    }

    /// Whether no event waits.
    pub fn is_empty(&self) -> bool {
        self.heap.is_empty()
    }

    /// How many events were ever inserted.
    pub fn inserted(&self) -> u64 {
        self.inserted
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn phases_order_one_instant_and_insertion_orders_one_phase() {
        let mut queue = Queue::new();
        let t = Instant::from_nanos(5);
        queue.push(t, Phase::Host, 'd');
        queue.push(t, Phase::Access, 'b');
        queue.push(t, Phase::Access, 'c');
        queue.push(t, Phase::Reception, 'a');
        queue.push(Instant::ZERO, Phase::Host, '0');
        let order: String = std::iter::from_fn(|| queue.pop().map(|(_, e)| e)).collect();
        assert_eq!(order, "0abcd");
    }

    #[test]
    fn never_is_not_queued() {
        let mut queue = Queue::new();
        queue.push(Instant::NEVER, Phase::Host, ());
        assert!(queue.is_empty());
    }

    proptest! {
        #[test]
        fn pops_in_order(times in prop::collection::vec(0u64..50, 1..200)) {
            let mut queue = Queue::new();
            for (i, &t) in times.iter().enumerate() {
                queue.push(Instant::from_nanos(t), Phase::Host, i);
            }
            let popped: Vec<_> = std::iter::from_fn(|| queue.pop()).collect();
            prop_assert_eq!(popped.len(), times.len());
            prop_assert!(popped.windows(2).all(|w| (w[0].0, w[0].1) < (w[1].0, w[1].1)));
        }
    }
}
