//! The events that are due, and their order.
//!
//! Of one instant frames end first, then come answers and time-outs, then accesses; within these phases the order is that of asking.

use super::shape::{ColourSet as _, Shape, Table};
use evenair_des::{Phase, Queue};
use evenair_units::Instant;
use std::fmt::Debug;

/// Something that is due.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(unnameable_types, reason = "a matter of the air's own")]
pub enum Due {
    /// A countdown in the neighbourhood of this node may have reached zero.
    Access(u32),
    /// This node's frame ends.
    FrameEnd(u32),
    /// This node answers the frame it received a SIFS ago.
    Respond(u32),
    /// This node's acknowledgement is overdue.
    Timeout(u32),
    /// Reservations for this node's RTS, which nothing followed, are void, and its own for another's.
    Unreserve(u32),
    /// A frame reaches one of its far hearers.
    Arrival(u32),
    /// A frame has passed one of its far hearers.
    Landing(u32),
}

impl Due {
    /// The phase of an instant that this belongs to.
    #[inline]
    const fn phase(self) -> Phase {
        match self {
            Self::FrameEnd(_) | Self::Landing(_) => Phase::Reception,
            // After frames that end at this instant: a frame that begins where another ends does not overlap it.
            Self::Respond(_) | Self::Timeout(_) | Self::Unreserve(_) | Self::Arrival(_) => Phase::Timeout,
            Self::Access(_) => Phase::Access,
        }
    }
}

/// All that is due.
#[allow(unnameable_types, reason = "a matter of the air's own")]
pub trait Agenda: Clone + Debug {
    /// That of so many nodes, empty.
    fn of(nodes: usize) -> Self;

    /// Adds something; nothing, if it is never due. Of one kind a node has one entry that counts, the last.
    fn add(&mut self, at: Instant, due: Due);

    /// When the next is due; never, if nothing is.
    fn next_at(&self) -> Instant;

    /// Takes the next, if it is due at `until` or before.
    fn take_until(&mut self, until: Instant) -> Option<(Instant, Due)>;

    /// Takes one more access of this instant, at which one was taken last; gives its node.
    fn take_access_at(&mut self, now: Instant) -> Option<u32>;

    /// Keeps so many of the next in order, where it keeps none else: [`soon`](Self::soon) knows them.
    fn keep_in_order(&mut self, places: usize);

    /// That which is due so many places behind the next, and when, if it is known.
    fn soon(&self, places: usize) -> Option<(Instant, Due)>;

    /// How many were taken.
    fn taken(&self) -> u64;
}

impl Agenda for Queue<Due> {
    fn of(_nodes: usize) -> Self {
        Self::new()
    }

    #[inline]
    fn add(&mut self, at: Instant, due: Due) {
        self.push(at, due.phase(), due);
    }

    #[inline]
    fn next_at(&self) -> Instant {
        Self::next_at(self).unwrap_or(Instant::NEVER)
    }

    #[inline]
    fn take_until(&mut self, until: Instant) -> Option<(Instant, Due)> {
        self.pop_until(until)
    }

    #[inline]
    fn take_access_at(&mut self, now: Instant) -> Option<u32> {
        match self.peek() {
            Some((at, &Due::Access(node))) if at == now => {
                self.pop();
                Some(node)
            }
            _ => None,
        }
    }

    fn keep_in_order(&mut self, places: usize) {
        self.keep_in_line(places);
    }

    #[inline]
    fn soon(&self, places: usize) -> Option<(Instant, Due)> {
        Self::soon(self, places)
    }

    fn taken(&self) -> u64 {
        self.inserted() - self.len() as u64
    }
}

/// The agenda of a small network: of each kind the nodes with an entry.
#[derive(Clone, Debug)]
#[allow(unnameable_types, reason = "a matter of the air's own")]
pub struct Lists<S: Shape> {
    ends: List<S>,
    answers: List<S>,
    timeouts: List<S>,
    voids: List<S>,
    /// No countdown ends before.
    access: Instant,
    /// How many entries there ever were: the number of the last.
    added: u64,
    taken: u64,
}

/// The entries of a kind, one a node.
#[derive(Clone, Debug)]
struct List<S: Shape> {
    /// The nodes with an entry.
    nodes: S::Set,
    /// The instant of the first entry, and its node.
    least: Instant,
    first: usize,
    /// When each entry is due, and its number.
    at: S::Table<Instant>,
    number: S::Table<u64>,
}

impl<S: Shape> List<S> {
    fn of(nodes: usize) -> Self {
        let (at, number) = (Table::new(vec![Instant::NEVER; nodes]), Table::new(vec![0; nodes]));
        Self { nodes: S::Set::NONE, least: Instant::NEVER, first: 0, at, number }
    }

    /// Adds an entry, in the place of the node's last.
    #[inline]
    fn add(&mut self, at: Instant, node: usize, number: u64) {
        let is_first = self.first == node && self.nodes.has(node);
        self.nodes.insert(node);
        (self.at[node], self.number[node]) = (at, number);
        if at < self.least {
            (self.least, self.first) = (at, node);
        } else if is_first {
            self.find_first();
        }
    }

    /// Takes the first entry; gives its node.
    #[inline]
    fn take(&mut self) -> u32 {
        let node = self.first;
        self.nodes.remove(node);
        if self.nodes.is_empty() {
            self.least = Instant::NEVER;
        } else {
            self.find_first();
        }
        node as u32
    }

    #[inline]
    fn find_first(&mut self) {
        self.least = Instant::NEVER;
        for node in self.nodes {
            let at = self.at[node];
            if at < self.least || (at == self.least && self.number[node] < self.number[self.first]) {
                (self.least, self.first) = (at, node);
            }
        }
    }
}

impl<S: Shape> Lists<S> {
    /// When the first of answers, time-outs and voids is due.
    #[inline]
    fn between(&self) -> Instant {
        self.answers.least.min(self.timeouts.least).min(self.voids.least)
    }

    /// Takes the first of the answers, time-outs and voids, which is due at this instant.
    #[inline]
    fn take_between(&mut self, at: Instant) -> Due {
        if self.timeouts.least.min(self.voids.least) > at {
            return Due::Respond(self.answers.take());
        }
        self.take_earliest(at)
    }

    /// The same where several may be due: that which was added first.
    #[inline(never)]
    fn take_earliest(&mut self, at: Instant) -> Due {
        let number = |list: &List<S>| if list.least == at { list.number[list.first] } else { u64::MAX };
        let (answer, timeout, void) = (number(&self.answers), number(&self.timeouts), number(&self.voids));
        if answer < timeout.min(void) {
            Due::Respond(self.answers.take())
        } else if timeout < void {
            Due::Timeout(self.timeouts.take())
        } else {
            Due::Unreserve(self.voids.take())
        }
    }
}

impl<S: Shape> Agenda for Lists<S> {
    fn of(nodes: usize) -> Self {
        let none = || List::of(nodes);
        let (ends, answers, timeouts, voids) = (none(), none(), none(), none());
        Self { ends, answers, timeouts, voids, access: Instant::NEVER, added: 0, taken: 0 }
    }

    #[inline]
    fn add(&mut self, at: Instant, due: Due) {
        let (list, node) = match due {
            Due::Access(_) => return self.access = self.access.min(at),
            Due::FrameEnd(node) => (&mut self.ends, node),
            Due::Respond(node) => (&mut self.answers, node),
            Due::Timeout(node) => (&mut self.timeouts, node),
            Due::Unreserve(node) => (&mut self.voids, node),
            Due::Arrival(_) | Due::Landing(_) => unreachable!("a small network has no far hearer"),
        };
        let is_answer = matches!(due, Due::Respond(_));
        debug_assert!(!is_answer || !list.nodes.has(node as usize), "a node owes two answers at once");
        if !at.is_never() {
            self.added += 1;
            list.add(at, node as usize, self.added);
        }
    }

    #[inline]
    fn next_at(&self) -> Instant {
        self.ends.least.min(self.between()).min(self.access)
    }

    #[inline]
    fn take_until(&mut self, until: Instant) -> Option<(Instant, Due)> {
        let between = self.between();
        let at = self.ends.least.min(between).min(self.access);
        if at > until || at.is_never() {
            return None;
        }
        self.taken += 1;
        let due = if self.ends.least == at {
            Due::FrameEnd(self.ends.take())
        } else if between == at {
            self.take_between(at)
        } else {
            self.access = Instant::NEVER;
            Due::Access(0)
        };
        Some((at, due))
    }

    fn take_access_at(&mut self, _now: Instant) -> Option<u32> {
        None // there is one for all
    }

    fn keep_in_order(&mut self, _places: usize) {}

    fn soon(&self, _places: usize) -> Option<(Instant, Due)> {
        None
    }

    fn taken(&self) -> u64 {
        self.taken
    }
}
