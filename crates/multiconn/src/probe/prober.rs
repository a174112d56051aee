//! The end that sends probes: when one is due, and what came of it.

use super::{Datagram, Keys, Kind, Message, PER_SECOND};
use evenair_units::{Duration, Instant};
use std::collections::VecDeque;

/// A probe that is not back after so long is lost.
pub(super) const LOST_AFTER: Duration = Duration::from_secs(3);
/// The least time between two.
const SPACING_MIN: Duration = Duration::from_nanos(1_000_000_000 / PER_SECOND as u64);

/// A probe that came back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Returned {
    /// Its number: the first is 0.
    pub number: u64,
    /// When it was sent.
    pub sent: Instant,
    /// There and back.
    pub round_trip: Duration,
    /// When it came there, less when it was sent, each by the clock of its end: as it changes, so does the way there \[ns\].
    pub there_ns: i64,
}

/// The probes of one path.
#[derive(Debug)]
pub struct Prober {
    keys: Keys,
    /// The next one's number.
    next: u64,
    due: Instant,
    /// Those that are on their way, the oldest first: there are few.
    away: VecDeque<(u64, Instant)>,
    lost: u64,
}

impl Prober {
    /// The first probe is due at once.
    pub const fn new(keys: Keys, now: Instant) -> Self {
        Self { keys, next: 0, due: now, away: VecDeque::new(), lost: 0 }
    }

    /// When the next probe is due.
    pub const fn next_at(&self) -> Instant {
        self.due
    }

    /// The next one is due within one and a half times this, where it was to be later.
    pub fn hasten(&mut self, now: Instant, spacing: Duration) {
        self.due = self.due.min(now + spacing.mul_f64(1.5).max(SPACING_MIN));
    }

    /// The probe that is due, if one is. The next is due after half to one and a half of `spacing`, as `draw` (from 0 to 1) says: what is
    /// sent at even distances can fall in step with what it looks at. There are never more than [`PER_SECOND`].
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

    /// Something came; gives the probe that it answers, if it is a reply to one that is still awaited.
    pub fn handle(&mut self, now: Instant, datagram: &[u8]) -> Option<Returned> {
        let reply = Message::read(&self.keys, Kind::Reply, datagram)?;
        self.forget(now);
        let place = self.away.iter().position(|(number, _)| *number == reply.number)?;
        let (number, sent) = self.away.remove(place)?;
        let there_ns = reply.came_ns.wrapping_sub(sent.as_nanos()).cast_signed();
        Some(Returned { number, sent, round_trip: now.since(sent), there_ns })
    }

    /// Probes sent so far.
    pub const fn sent(&self) -> u64 {
        self.next
    }

    /// Probes that did not come back in time.
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
