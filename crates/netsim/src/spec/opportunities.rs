//! A wire's recorded rate: when it may send how much.

use evenair_units::{Bytes, Duration, Instant, Rate};
use std::fmt;

const NANOS_PER_MS: u64 = 1_000_000;

/// Instants at which a wire may send 1500 bytes each, over and over: a trace of mahimahi's form (Netravali et al., USENIX ATC 2015), with
/// IP's bytes. An unused instant is lost; a packet may take several, and several packets one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Opportunities {
    /// From the beginning of a round on, in order \[ms\]; the last is when the next round begins.
    at_ms: Vec<u64>,
}

/// Why instants are no trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoTrace {
    /// There are none.
    Empty,
    /// This one, by its place, is before the one before it.
    Back(usize),
    /// All are zero: it would last no time.
    NoTime,
}

impl fmt::Display for NoTrace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Empty => f.write_str("has no instant"),
            Self::Back(place) => write!(f, "has instants out of order: the one after the first {place}"),
            Self::NoTime => f.write_str("ends at 0 ms: it must last"),
        }
    }
}

impl std::error::Error for NoTrace {}

impl Opportunities {
    /// Bytes that may be sent at each.
    pub const BYTES: u32 = 1500;

    /// Those of a trace \[ms\].
    ///
    /// # Errors
    /// If there are none, if they are not in order, or if the last is at zero.
    pub fn new(at_ms: Vec<u64>) -> Result<Self, NoTrace> {
        if let Some(place) = at_ms.windows(2).position(|pair| pair[1] < pair[0]) {
            return Err(NoTrace::Back(place + 1));
        }
        match at_ms.last() {
            None => Err(NoTrace::Empty),
            Some(0) => Err(NoTrace::NoTime),
            Some(_) => Ok(Self { at_ms }),
        }
    }

    /// How long a round is.
    fn round(&self) -> Duration {
        Duration::from_millis(self.at_ms[self.at_ms.len() - 1])
    }

    /// The mean rate.
    pub fn rate(&self) -> Rate {
        let bits = u64::from(Self::BYTES) * 8 * self.at_ms.len() as u64;
        let ms = self.round().as_nanos() / NANOS_PER_MS;
        Rate::from_bps(u64::try_from(u128::from(bits) * 1000 / u128::from(ms)).unwrap_or(u64::MAX).max(1))
    }

    /// The first one after an instant: its number, counted through all rounds, and when it is.
    fn after(&self, now: Instant) -> (u64, Instant) {
        let round = self.round().as_nanos();
        let (rounds, into) = (now.as_nanos() / round, now.as_nanos() % round);
        let place = self.at_ms.partition_point(|at| at * NANOS_PER_MS <= into) as u64;
        let number = rounds * self.at_ms.len() as u64 + place;
        (number, self.at(number))
    }

    /// When one is, by its number.
    fn at(&self, number: u64) -> Instant {
        let (round, place) = (number / self.at_ms.len() as u64, number % self.at_ms.len() as u64);
        Instant::ZERO + self.round() * round + Duration::from_millis(self.at_ms[place as usize])
    }
}

/// How far a wire is in its trace.
#[derive(Clone, Debug)]
pub(crate) struct Pacer {
    trace: Opportunities,
    /// Where the last packet ended: the number of the opportunity, its instant, and its bytes that are left.
    last: (u64, Instant),
    left: u32,
}

impl Pacer {
    pub(crate) const fn new(trace: Opportunities) -> Self {
        Self { trace, last: (0, Instant::NEVER), left: 0 }
    }

    /// When the last bit of a packet is on the wire that begins to be sent now.
    pub(crate) fn sent_at(&mut self, now: Instant, size: Bytes) -> Instant {
        let mut size = size.count();
        let (mut number, mut at) = self.last;
        if at == now && size <= self.left {
            self.left -= size; // it goes with the packet before it
            return now;
        }
        if at == now {
            size -= self.left;
            number += 1;
            at = self.trace.at(number);
        } else {
            (number, at) = self.trace.after(now);
        }
        while size > Opportunities::BYTES {
            size -= Opportunities::BYTES;
            number += 1;
            at = self.trace.at(number);
        }
        (self.last, self.left) = ((number, at), Opportunities::BYTES - size);
        at
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn paced(at_ms: &[u64]) -> Pacer {
        Pacer::new(Opportunities::new(at_ms.to_vec()).unwrap())
    }

    fn ms(at: u64) -> Instant {
        Instant::ZERO + Duration::from_millis(at)
    }

    #[test]
    fn packets_leave_when_the_trace_lets_them() {
        // Rounds of 10 ms: 1, 4, 4, 10, 11, 14, 14, 20 ms and so on.
        let mut wire = paced(&[1, 4, 4, 10]);
        let mut send = |now, size| wire.sent_at(ms(now), Bytes::new(size)).as_nanos() / NANOS_PER_MS;
        assert_eq!(send(0, 1500), 1);
        assert_eq!(send(1, 1500), 4, "after the last, whose bytes are used up");
        assert_eq!(send(4, 1000), 4, "there are two at 4 ms");
        assert_eq!(send(4, 500), 4, "500 bytes are left of it");
        assert_eq!(send(4, 1), 10);
        assert_eq!(send(10, 2000), 11, "1499 bytes of this one, 501 of the next");
        assert_eq!(send(12, 1500), 14, "what is not used at its instant is lost");
        assert_eq!(send(15, 3000), 21, "two of them");
        assert_eq!(send(1_000_000, 1500), 1_000_001, "long after");
    }

    #[test]
    fn the_rate_is_the_mean_of_a_round() {
        let trace = Opportunities::new(vec![1, 4, 4, 10]).unwrap();
        assert_eq!(trace.rate(), Rate::from_bps(4 * 1500 * 8 * 100));
        assert_eq!(Opportunities::new(vec![0, 10]).unwrap().rate(), Rate::from_bps(2 * 1500 * 8 * 100));
    }

    #[test]
    fn what_is_no_trace_is_refused() {
        assert_eq!(Opportunities::new(vec![]), Err(NoTrace::Empty));
        assert_eq!(Opportunities::new(vec![1, 3, 2]), Err(NoTrace::Back(2)));
        assert_eq!(Opportunities::new(vec![0, 0]), Err(NoTrace::NoTime));
    }
}
