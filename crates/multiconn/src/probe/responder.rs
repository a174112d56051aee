//! The end that sends probes back.

use super::{Datagram, Keys, Kind, Message, PER_SECOND, Window};
use evenair_units::{Duration, Instant};

/// So many may come at once: those that waited somewhere.
const BURST: u64 = 10;
/// The time that earns one answer.
const EACH: Duration = Duration::from_nanos(1_000_000_000 / PER_SECOND as u64);
/// The most that is saved up.
const SAVED_MAX: Duration = Duration::from_nanos(EACH.as_nanos() * BURST);

/// Answers the probes of one session.
#[derive(Debug)]
pub struct Responder {
    keys: Keys,
    came: Window,
    /// Answers that are left, as the time that earns them, and when that was counted.
    saved: Duration,
    at: Instant,
    answered: u64,
}

impl Responder {
    /// `keys` are those of the end that sends the probes.
    pub const fn new(keys: Keys, now: Instant) -> Self {
        Self { keys, came: Window::NONE, saved: SAVED_MAX, at: now, answered: 0 }
    }

    /// Something came; gives the reply, if it is a probe of the session's, the first of its number, and not too many. It goes where the
    /// datagram came from, and is as long.
    pub fn answer(&mut self, now: Instant, datagram: &[u8]) -> Option<Datagram> {
        let probe = Message::read(&self.keys, Kind::Probe, datagram)?;
        if !self.came.take(probe.number) || !self.may(now) {
            return None;
        }
        self.answered += 1;
        let reply = Message { kind: Kind::Reply, came_ns: now.as_nanos(), ..probe };
        Some(reply.write(&self.keys))
    }

    /// Probes answered so far.
    pub const fn answered(&self) -> u64 {
        self.answered
    }

    /// Whether one more may be answered.
    fn may(&mut self, now: Instant) -> bool {
        self.saved = (self.saved + now.since(self.at)).min(SAVED_MAX);
        self.at = self.at.max(now);
        let may = self.saved >= EACH;
        if may {
            self.saved = self.saved.saturating_sub(EACH);
        }
        may
    }
}
