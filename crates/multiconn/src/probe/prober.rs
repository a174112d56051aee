//! The sending end of probes: the times of sending, and the results.

use super::{Datagram, Keys, Kind, Message, PER_SECOND};
use evenair_units::{Duration, Instant};
use std::collections::VecDeque;

/// A probe that has not returned after this time is lost.
pub(super) const LOST_AFTER: Duration = Duration::from_secs(3);
/// The least time between two.
const SPACING_MIN: Duration = Duration::from_nanos(1_000_000_000 / PER_SECOND as u64);

/// A returned probe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Returned {
    /// Its number: the first is 0.
    pub number: u64,
    /// The time of sending.
    pub sent: Instant,
    /// The time there and back.
    pub round_trip: Duration,
    /// The time of arrival less that of sending, each by the clock of its end: its changes are those of the
    /// delay there \[ns\].
    pub there_ns: i64,
}

/// The probes of one path.
#[derive(Debug)]
pub struct Prober {
    keys: Keys,
    /// The next probe's number.
    next: u64,
    due: Instant,
    /// Probes under way, the oldest first: there are few.
    away: VecDeque<(u64, Instant)>,
    lost: u64,
}

impl Prober {
    /// Returns a prober with its first probe due at once.
    pub const fn new(keys: Keys, now: Instant) -> Self {
        Self { keys, next: 0, due: now, away: VecDeque::new(), lost: 0 }
    }

    /// Returns the time at which the next probe is due.
    pub const fn next_at(&self) -> Instant {
        self.due
    }

    /// Advances the next probe to at most one and a half times this spacing from now.
    pub fn hasten(&mut self, now: Instant, spacing: Duration) {
        self.due = self.due.min(now + spacing.mul_f64(1.5).max(SPACING_MIN));
    }

    /// Returns the due probe, if there is one. The next is due after half to one and a half of `spacing`, by
    /// `draw` (from 0 to 1): evenly spaced probes can synchronise with the traffic they measure. There are
    /// never more than [`PER_SECOND`].
    pub fn poll(&mut self, now: Instant, spacing: Duration, draw: f64) -> Option<Datagram> {
        if now < self.due {
            return None;
        }
        let spacing = spacing.mul_f64(0.5 + draw.clamp(0.0, 1.0));
        self.due = now + spacing.max(SPACING_MIN);
        self.forget(now);
        let number = self.next;
        self.next += 1;
        self.away.push_back((number, now));
        let probe = Message { kind: Kind::Probe, number, sent_ns: now.as_nanos(), came_ns: 0 };
        Some(probe.write(&self.keys))
    }

    /// Processes a received datagram; returns the probe that it answers, if it replies to one under way.
    pub fn handle(&mut self, now: Instant, datagram: &[u8]) -> Option<Returned> {
        let reply = Message::read(&self.keys, Kind::Reply, datagram)?;
        self.forget(now);
        let place = self.away.iter().position(|(number, _)| *number == reply.number)?;
        let (number, sent) = self.away.remove(place)?;
        let there_ns = reply.came_ns.wrapping_sub(sent.as_nanos()).cast_signed();
        Some(Returned { number, sent, round_trip: now.since(sent), there_ns })
    }

    /// Returns the number of probes sent.
    pub const fn sent(&self) -> u64 {
        self.next
    }

    /// Returns the number of probes that did not return in time.
    pub fn lost(&mut self, now: Instant) -> u64 {
        self.forget(now);
        self.lost
    }

    fn forget(&mut self, now: Instant) {
        while self.away.front().is_some_and(|(_, sent)| now.since(*sent) > LOST_AFTER) {
            self.away.pop_front();
            self.lost += 1;
        }
    }
}
