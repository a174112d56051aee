//! The event queue.

use crate::calendar::Calendar;
use evenair_units::Instant;
use std::cmp::Ordering;
use std::collections::BinaryHeap;

/// The order among events of one instant. Within a phase the order of insertion decides.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum Phase {
    /// Ends of frames, and the receptions that they complete.
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

/// Where an event stands among all others: its instant, then its phase, then its insertion number, in one integer. Packed, so that it
/// and a small event take 24 bytes, not 32.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(Rust, packed(8))]
pub struct Place(u128);

impl Place {
    /// After all events.
    const LAST: Self = Self(u128::MAX);

    /// Before all events of an instant.
    const fn first_at(at: Instant) -> Self {
        Self((at.as_nanos() as u128) << 64)
    }

    /// When the event is due.
    #[inline]
    pub const fn at(self) -> Instant {
        Instant::from_nanos((self.0 >> 64) as u64)
    }
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Entry<E> {
    pub(crate) place: Place,
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

/// How many events stand in line before the heap. Events due soon are inserted and taken there; distant ones (timers,
/// most of which are moved before they are due) wait in the heap.
const LINE_MAX: usize = 32;
/// How many move from the heap into the line at once.
const REFILL: usize = 8;
/// So many events in the heap go into a calendar, and later ones after them: a walk through a larger heap costs more.
const HEAP_MAX: usize = 64;

/// Events ordered by time, then phase, then insertion.
///
/// Events are not cancelled: their owner recognises a stale one when it is popped, which costs less than finding it
/// in the heap.
///
/// The nearest events stand in a sorted line, the last of which is next; nothing in the heap comes before anything in the
/// line, which is empty only where all is. A short shift in one piece of memory costs less than the heap's walk. Where
/// thousands of events wait, as in large networks, those beyond the heap are in a calendar.
#[derive(Clone, Debug)]
pub struct Queue<E> {
    line: Vec<Entry<E>>,
    heap: BinaryHeap<Entry<E>>,
    pub(crate) calendar: Option<Box<Calendar<E>>>,
    /// No event before it is beyond the line, and none after it in the line: the heap's first place, or the calendar's.
    bound: Place,
    inserted: u64,
    /// More events come into the line when so few stand in it.
    low: usize,
    /// The line, while they come; empty at any other time.
    standing: Vec<Entry<E>>,
}

impl<E> Default for Queue<E> {
    fn default() -> Self {
        Self {
            line: Vec::with_capacity(LINE_MAX + 1),
            heap: BinaryHeap::new(),
            calendar: None,
            bound: Place::LAST,
            inserted: 0,
            low: 0,
            standing: Vec::new(),
        }
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
        let entry = Entry { place, event };
        if place > self.bound {
            self.wait(entry);
        } else if self.line.len() < LINE_MAX && self.line.last().is_none_or(|next| place < next.place) {
            self.line.push(entry); // it is the next
        } else {
            self.stand_in_line(entry);
        }
        debug_assert!(self.is_in_order(), "something beyond the line comes before its end");
    }

    #[inline(never)]
    fn stand_in_line(&mut self, entry: Entry<E>) {
        let mut index = self.line.len();
        self.line.push(entry);
        for before in (0..index).rev() {
            if self.line[before].place > entry.place {
                break;
            }
            self.line[before + 1] = self.line[before];
            index = before;
        }
        self.line[index] = entry;
        if self.line.len() > LINE_MAX {
            self.shorten_the_line();
        }
    }

    /// An event waits in the heap, or in the calendar.
    #[inline(never)]
    fn wait(&mut self, entry: Entry<E>) {
        let Some(calendar) = &mut self.calendar else {
            self.heap.push(entry);
            if self.heap.len() > HEAP_MAX {
                self.begin_calendar();
            }
            return;
        };
        if entry.place.at() < calendar.begins() {
            self.heap.push(entry);
            return;
        }
        calendar.add(entry);
        if self.line.is_empty() {
            self.refill();
        }
    }

    /// Events of later slices than the line's last move from the heap into a calendar.
    #[cold]
    fn begin_calendar(&mut self) {
        let last = self.line.first().map_or(Instant::ZERO, |entry| entry.place.at());
        let mut calendar = Box::new(Calendar::after(last));
        let is_near = |entry: &Entry<E>| entry.place.at() < calendar.begins();
        let (near, later): (Vec<_>, Vec<_>) = std::mem::take(&mut self.heap).into_iter().partition(is_near);
        later.into_iter().for_each(|entry| calendar.add(entry));
        (self.heap, self.calendar) = (near.into(), Some(calendar));
        self.note_bound();
    }

    #[cold]
    fn shorten_the_line(&mut self) {
        let over = self.line.len() - LINE_MAX / 2;
        self.heap.extend(self.line.drain(..over));
        self.note_bound();
    }

    /// The least place beyond the line has changed.
    fn note_bound(&mut self) {
        let calendar =
            self.calendar.as_ref().map_or(Place::LAST, |calendar| Place::first_at(calendar.begins()));
        self.bound = self.heap.peek().map_or(calendar, |first| first.place.min(calendar));
    }

    fn is_in_order(&self) -> bool {
        let line = self.line.first().map(|entry| entry.place);
        let heap = self.heap.peek().map(|entry| entry.place);
        let is_beyond = |bound: Place| line.is_none_or(|line| line < bound);
        self.line.is_sorted_by(|a, b| a.place > b.place)
            && heap.is_none_or(|heap| line.is_some() && is_beyond(heap))
            && is_beyond(self.bound)
    }

    /// Takes the next place in the order without queueing anything: for a host that keeps some events, such as those
    /// after a constant delay, in a line of its own.
    #[inline]
    pub fn place(&mut self, at: Instant, phase: Phase) -> Place {
        let order = (phase as u64) << SEQUENCE_BITS | self.inserted;
        self.inserted += 1;
        Place(u128::from(at.as_nanos()) << 64 | u128::from(order))
    }

    /// Takes the earliest event, if it is due at `until` or before.
    #[inline]
    pub fn pop_until(&mut self, until: Instant) -> Option<(Instant, E)> {
        let &Entry { place, event } = self.line.last()?;
        let at = place.at();
        if at > until {
            return None;
        }
        self.line.truncate(self.line.len() - 1);
        if self.line.len() <= self.low && !self.bound.at().is_never() {
            self.refill();
        }
        Some((at, event))
    }

    /// Takes the earliest event.
    #[inline]
    pub fn pop(&mut self) -> Option<(Instant, E)> {
        self.pop_until(Instant::NEVER)
    }

    /// The next events come into the line, behind those that stand there.
    #[cold]
    fn refill(&mut self) {
        std::mem::swap(&mut self.line, &mut self.standing);
        if let Some(calendar) = self.calendar.as_mut().filter(|_| self.heap.is_empty()) {
            calendar.take_next(&mut self.line);
            self.line.sort_unstable(); // the earliest last, by `Entry`'s order
        } else {
            let next = std::iter::from_fn(|| self.heap.pop());
            self.line.extend(next.take(REFILL));
            self.line.reverse();
        }
        self.line.append(&mut self.standing);
        if self.line.len() > LINE_MAX {
            return self.shorten_the_line();
        }
        self.note_bound();
    }

    /// When the earliest event is due.
    #[inline]
    pub fn next_at(&self) -> Option<Instant> {
        self.next_place().map(Place::at)
    }

    /// The earliest event, and when it is due.
    #[inline]
    pub fn peek(&self) -> Option<(Instant, &E)> {
        self.line.last().map(|next| (next.place.at(), &next.event))
    }

    /// Keeps so many events in line where there are as many, half a line at most, so that [`soon`](Self::soon) knows them.
    pub fn keep_in_line(&mut self, events: usize) {
        self.low = events.min(LINE_MAX / 2);
    }

    /// The event so many places behind the earliest, and when it is due, if it stands in line.
    #[inline]
    pub fn soon(&self, places: usize) -> Option<(Instant, E)> {
        self.line.iter().nth_back(places).map(|entry| (entry.place.at(), entry.event))
    }

    /// Where the earliest event stands.
    #[inline]
    pub fn next_place(&self) -> Option<Place> {
        self.line.last().map(|next| next.place)
    }

    /// How many events wait.
    pub fn len(&self) -> usize {
        self.line.len() + self.heap.len() + self.calendar.as_ref().map_or(0, |calendar| calendar.len())
    }

    /// Whether no event waits.
    pub fn is_empty(&self) -> bool {
        self.line.is_empty()
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
    fn phases_order_an_instant_insertions_a_phase() {
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

    /// The queue and a sorted set give the same events, through these pushes and, where there is none, pops.
    fn agrees_with_a_set(
        in_line: usize,
        steps: impl IntoIterator<Item = Option<u64>>,
    ) -> Result<(), TestCaseError> {
        let mut queue = Queue::new();
        queue.keep_in_line(in_line);
        let mut model = std::collections::BTreeSet::new();
        for (i, step) in steps.into_iter().enumerate() {
            if let Some(t) = step {
                queue.push(Instant::from_nanos(t), Phase::Host, i);
                model.insert((Instant::from_nanos(t), i));
            } else {
                prop_assert_eq!(queue.next_at(), model.first().map(|&(at, _)| at));
                let soon: Vec<_> = (0..).map_while(|places| queue.soon(places)).collect();
                prop_assert!(soon.iter().eq(model.iter().take(soon.len())), "others come soon");
                prop_assert_eq!(queue.pop(), model.pop_first());
                let known = (0..).map_while(|places| queue.soon(places)).count();
                prop_assert!(known >= in_line.min(model.len()), "{} of {} stand in line", known, model.len());
            }
            prop_assert_eq!((queue.len(), queue.is_empty()), (model.len(), model.is_empty()));
        }
        let rest: Vec<_> = std::iter::from_fn(|| queue.pop()).collect();
        prop_assert_eq!(rest, model.into_iter().collect::<Vec<_>>());
        Ok(())
    }

    proptest! {
        /// Each pop gives the earliest event, for any pushes and pops in between.
        #[test]
        fn pops_in_order(
            in_line in 0usize..14,
            steps in prop::collection::vec(prop::option::weighted(0.7, 0u64..5000), 1..600),
        ) {
            agrees_with_a_set(in_line, steps)?;
        }

        /// The same where thousands wait, near and far, at many instants or at few, until none is left.
        #[test]
        fn pops_a_calendar_in_order(
            in_line in 0usize..14,
            pushes in prop::collection::vec((0u32..36, any::<u64>()), 600..3000),
            pops in 0usize..4,
        ) {
            let at = |(bits, random): (u32, u64)| random >> (63 - bits);
            let before = pushes.iter().map(|&push| Some(at(push)));
            let later = pushes.iter().flat_map(|&push| {
                std::iter::once(Some(at(push))).chain(std::iter::repeat_n(None, pops))
            });
            let drained = std::iter::repeat_n(None, 2 * pushes.len());
            agrees_with_a_set(in_line, before.chain(later).chain(drained).chain(pushes.iter().map(|&push| Some(at(push)))))?;
        }
    }
}
