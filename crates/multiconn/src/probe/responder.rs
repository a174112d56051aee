//! The end that answers probes.

use super::{Datagram, Keys, Kind, Message, PER_SECOND, Window};
use evenair_units::{Duration, Instant};

/// The most probes answered at once: those that waited on the way.
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
    /// Unused answers, as the time that earns them, and when that was computed.
    saved: Duration,
    at: Instant,
    answered: u64,
}

impl Responder {
    /// Returns a responder; `keys` are those of the end that sends the probes.
    pub const fn new(keys: Keys, now: Instant) -> Self {
        Self { keys, came: Window::NONE, saved: SAVED_MAX, at: now, answered: 0 }
    }

    /// Processes a received datagram. Returns a reply if it is a probe of the session, the first of its
    /// number, and within the rate. The reply goes to the sender's address, and has the same length.
    pub fn answer(&mut self, now: Instant, datagram: &[u8]) -> Option<Datagram> {
        let probe = Message::read(&self.keys, Kind::Probe, datagram)?;
        if !self.came.take(probe.number) || !self.may(now) {
            return None;
        }
        self.answered += 1;
        let reply = Message { kind: Kind::Reply, came_ns: now.as_nanos(), ..probe };
        Some(reply.write(&self.keys))
    }

    /// Returns the number of probes answered.
    pub const fn answered(&self) -> u64 {
        self.answered
    }

    /// Returns whether one more may be answered.
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
