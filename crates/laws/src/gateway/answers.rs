//! Whether the host that data go to answers: for how long nothing has come back from it.
//!
//! # Law
//! Data that ask for an answer start a clock where none runs; any packet from the host stops it. After
//! [`UNHEARD`] the epoch is not judged for the host's class. After [`AWAY`] the host is away: its outstanding
//! data keep no class busy, and no rate of others is lowered for it.
//!
//! # Source
//! Ours. A sender repeats data to a host that has left for half a minute and longer, and the gateway sees the same as of a host that others
//! starve: data outstanding, and next to no rate.
//!
//! # Signals
//! Data let through that ask for an answer, and all packets from the host with any content. TCP's data ask
//! for one (RFC 9293 §3.8.6.3: within half a second). Other data ask for one only where their flow has been
//! answered before: one-way datagrams reveal nothing about the receiver, and any other answer of the receiver
//! stops the clock.
//!
//! # Why so many seconds
//! The clock must distinguish a host that left from one that is starved and waits for its sender's time-outs,
//! which double (RFC 6298 §5.5). A first time-out of one second (§2.4), the longest that is usual, has data
//! sent at 0, 1 and 3 s, Linux's of 200 ms at 0, 0.2, 0.6, 1.4 and 3 s: five seconds are three attempts in
//! vain at least, and the wait for the fourth. Ten seconds would be only one more attempt, and a share held
//! for nothing as long again. Within one second, on the other hand, a sender that does not wait for a
//! time-out has its answer: a longer silence at the end of an epoch may be either, and the next epoch
//! decides.
//!
//! # Deviations
//! A host that answers less than once in five seconds counts as away in between; it is judged again from its
//! next answer on.
//!
//! # Example
//! ```
//! use evenair_laws::gateway::Answers;
//! use evenair_units::{Duration, Instant};
//! let at = |s| Instant::ZERO + Duration::from_secs(s);
//! let mut answers = Answers::new(at(10));
//! answers.on_data(at(13));
//! assert_eq!(answers.unanswered(at(14)), Duration::from_secs(4));
//! assert_eq!((answers.is_away(at(14)), answers.is_away(at(15))), (false, true));
//! ```

use evenair_units::{Duration, Instant};

/// After this time without an answer an epoch is not judged for a class: RFC 6298 §2.4, the least time-out.
pub const UNHEARD: Duration = Duration::from_secs(1);
/// After so long without an answer a host is away.
pub const AWAY: Duration = Duration::from_secs(5);
/// A sender that repeats data does so at least this often: Linux's longest time-out (`TCP_RTO_MAX`).
const REPEATED: Duration = Duration::from_secs(120);

/// Data to a host that have had no answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Answers {
    first: Instant,
    last: Instant,
}

impl Answers {
    /// The first data since the host's last answer were let through.
    pub const fn new(now: Instant) -> Self {
        Self { first: now, last: now }
    }

    /// More data were let through.
    pub const fn on_data(&mut self, now: Instant) {
        self.last = now;
    }

    /// How long data have gone without an answer.
    pub fn unanswered(&self, now: Instant) -> Duration {
        now.since(self.first)
    }

    /// The instant from which the host is taken to be away, unless it answers before.
    pub fn away_from(&self) -> Instant {
        self.first + AWAY
    }

    /// Whether the host is away.
    pub fn is_away(&self, now: Instant) -> bool {
        now >= self.away_from()
    }

    /// Whether the sender has given up: data are repeated no more.
    pub fn is_over(&self, now: Instant) -> bool {
        now.since(self.last) >= REPEATED
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: u64) -> Instant {
        Instant::ZERO + Duration::from_secs(seconds)
    }

    /// Data from 10 s on are unanswered from then on, however many follow.
    #[test]
    fn host_without_answers_is_away_after_five_s() {
        let mut answers = Answers::new(at(10));
        answers.on_data(at(13));
        assert_eq!(answers.unanswered(at(14)), Duration::from_secs(4));
        assert_eq!(answers.away_from(), at(15));
        assert_eq!([10, 14, 15, 99].map(|now| answers.is_away(at(now))), [false, false, true, true]);
    }

    /// A sender of Linux' repeats data within 120 s of the last (`TCP_RTO_MAX`).
    #[test]
    fn sender_has_given_up_once_it_repeats_no_more() {
        let mut answers = Answers::new(at(10));
        assert_eq!([129, 130].map(|now| answers.is_over(at(now))), [false, true]);
        answers.on_data(at(20));
        assert_eq!([130, 139, 140].map(|now| answers.is_over(at(now))), [false, false, true]);
    }
}
