//! One end of a session: it sends its own probes, and answers the other end's.

use super::{Datagram, End, Keys, Prober, Responder, Returned, SECRET};
use evenair_units::{Duration, Instant};

/// The result of a received datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Heard {
    /// The other end's probe: the reply goes to the sender's address.
    Answer(Datagram),
    /// An own probe has returned.
    Back(Returned),
    /// Nothing to act on.
    Nothing,
}

/// Both halves of an end.
#[derive(Debug)]
pub struct Party {
    prober: Prober,
    responder: Responder,
    tags: [u64; 2],
}

impl Party {
    /// Returns the end `own` of a session with this secret for probes.
    pub fn new(secret: &[u8; SECRET], own: End, now: Instant) -> Self {
        let other = match own {
            End::Caller => End::Called,
            End::Called => End::Caller,
        };
        let (own, other) = (Keys::new(secret, own), Keys::new(secret, other));
        let tags = [own.tag(), other.tag()];
        Self { prober: Prober::new(own, now), responder: Responder::new(other, now), tags }
    }

    /// Returns the tags of its incoming datagrams: of replies, and of the other end's probes.
    pub const fn tags(&self) -> [u64; 2] {
        self.tags
    }

    /// Returns the time of the next probe from [`Self::poll`] with this spacing.
    pub fn next_at(&mut self, now: Instant, spacing: Duration) -> Instant {
        self.prober.hasten(now, spacing);
        self.prober.next_at()
    }

    /// Returns the due probe; see [`Prober::poll`].
    pub fn poll(&mut self, now: Instant, spacing: Duration, draw: f64) -> Option<Datagram> {
        self.prober.poll(now, spacing, draw)
    }

    /// Processes a received datagram.
    pub fn handle(&mut self, now: Instant, datagram: &[u8]) -> Heard {
        if let Some(back) = self.prober.handle(now, datagram) {
            return Heard::Back(back);
        }
        self.responder.answer(now, datagram).map_or(Heard::Nothing, Heard::Answer)
    }

    /// Returns the numbers of own probes sent, and of those lost.
    pub fn sent_and_lost(&mut self, now: Instant) -> (u64, u64) {
        (self.prober.sent(), self.prober.lost(now))
    }
}
