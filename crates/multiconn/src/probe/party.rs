//! One end of a session with all that it does with probes: it sends its own, and answers the other end's.

use super::{Datagram, End, Keys, Prober, Responder, Returned, SECRET};
use evenair_units::{Duration, Instant};

/// What came of a datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Heard {
    /// The other end's probe: this is to go back to where it came from.
    Answer(Datagram),
    /// A probe of one's own is back.
    Back(Returned),
    /// Nothing that one should know of.
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
    /// The end `own` of a session whose secret for probes is this.
    pub fn new(secret: &[u8; SECRET], own: End, now: Instant) -> Self {
        let other = match own {
            End::Caller => End::Called,
            End::Called => End::Caller,
        };
        let (own, other) = (Keys::new(secret, own), Keys::new(secret, other));
        let tags = [own.tag(), other.tag()];
        Self { prober: Prober::new(own, now), responder: Responder::new(other, now), tags }
    }

    /// The tags of what comes for it: of replies, and of the other end's probes.
    pub const fn tags(&self) -> [u64; 2] {
        self.tags
    }

    /// When [`Self::poll`] has something, if it is asked with this spacing.
    pub fn next_at(&mut self, now: Instant, spacing: Duration) -> Instant {
        self.prober.hasten(now, spacing);
        self.prober.next_at()
    }

    /// The probe that is due; see [`Prober::poll`].
    pub fn poll(&mut self, now: Instant, spacing: Duration, draw: f64) -> Option<Datagram> {
        self.prober.poll(now, spacing, draw)
    }

    /// Something came.
    pub fn handle(&mut self, now: Instant, datagram: &[u8]) -> Heard {
        if let Some(back) = self.prober.handle(now, datagram) {
            return Heard::Back(back);
        }
        self.responder.answer(now, datagram).map_or(Heard::Nothing, Heard::Answer)
    }

    /// Probes of its own that were sent, and those of them that are lost.
    pub fn sent_and_lost(&mut self, now: Instant) -> (u64, u64) {
        (self.prober.sent(), self.prober.lost(now))
    }
}
