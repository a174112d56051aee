//! How long data take beyond the gateway: from when a segment was let through until it is acknowledged.
//!
//! # Law
//! Of each flow downstream over TCP one segment is timed, the first new one once none is. A retransmission
//! ends the timing without a sample, since its acknowledgement may belong to either copy.
//!
//! # Source
//! Karn and Partridge 1987, for timing at the sender; J11's gateway sees the same numbers pass.
//!
//! # Signals
//! Sequence numbers of data that were let through, and acknowledgements that come back.
//!
//! # Deviations
//! Delayed acknowledgements count as delay, as at a sender without timestamps. Uploads have no such sample:
//! without timestamps the segment that answers an acknowledgement is unknown.
//!
//! # Example
//! ```
//! use evenair_laws::gateway::{RoundTrip, RoundTrips};
//! use evenair_units::{Duration, Instant};
//! let at = |ms| Instant::ZERO + Duration::from_millis(ms);
//! let (mut all, mut flow) = (RoundTrips::default(), RoundTrip::default());
//! flow.on_sequence(at(0), 1_448);
//! flow.on_sequence(at(10), 2_896);
//! flow.on_acknowledgement(at(80), 2_896, &mut all);
//! assert_eq!((all.sum, all.count), (Duration::from_millis(80), 1));
//! ```

use evenair_units::{Duration, Instant};

/// The round trips of a class so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RoundTrips {
    /// All together.
    pub sum: Duration,
    /// How many.
    pub count: u64,
}

/// One flow that passes the gateway.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RoundTrip {
    /// Behind the last byte that was let through: a sequence number, which wraps.
    highest: Option<u32>,
    /// Behind the segment that is timed, and since when.
    timed: Option<(u32, Instant)>,
}

impl RoundTrip {
    /// Data that end before a sequence number were let through.
    pub fn on_sequence(&mut self, now: Instant, end: u32) {
        if self.highest.is_none_or(|highest| is_after(end, highest)) {
            self.highest = Some(end);
            self.timed.get_or_insert((end, now));
        } else {
            self.timed = None;
        }
    }

    /// All before a sequence number is acknowledged.
    pub fn on_acknowledgement(&mut self, now: Instant, number: u32, all: &mut RoundTrips) {
        if let Some((_, since)) = self.timed.take_if(|(end, _)| !is_after(*end, number)) {
            all.sum += now.since(since);
            all.count += 1;
        }
    }
}

/// Whether a sequence number is behind another (RFC 9293 §3.4).
const fn is_after(one: u32, other: u32) -> bool {
    one.wrapping_sub(other).cast_signed() > 0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> Instant {
        Instant::ZERO + Duration::from_millis(ms)
    }

    #[test]
    fn retransmission_is_no_sample_and_numbers_wrap() {
        let (mut all, mut flow) = (RoundTrips::default(), RoundTrip::default());
        flow.on_sequence(at(0), u32::MAX - 99);
        flow.on_sequence(at(300), u32::MAX - 99);
        flow.on_acknowledgement(at(400), u32::MAX - 99, &mut all);
        assert_eq!(all, RoundTrips::default());
        flow.on_sequence(at(500), 1_348);
        flow.on_acknowledgement(at(520), u32::MAX - 99, &mut all);
        flow.on_acknowledgement(at(560), 1_348, &mut all);
        assert_eq!(all, RoundTrips { sum: Duration::from_millis(60), count: 1 });
        flow.on_acknowledgement(at(600), 1_348, &mut all);
        assert_eq!(all.count, 1, "an acknowledgement once more");
    }
}
