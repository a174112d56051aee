//! A token bucket: a limit by a rate and a depth.
//!
//! # Law
//! Tokens come at the rate until the bucket is full. A packet passes when there are tokens for all of its bytes, and takes
//! them: over any interval of length `t` no more than `rate·t + depth` passes. It is counted in whole bits times
//! nanoseconds per second, so that nothing is ever rounded away: not in the long run, and not where the rate changes. A depth may
//! follow the rate: the tokens of so long a time, at least a fixed number.
//!
//! # Source
//! [Jam10] section 6.2.3 and Fig 6.1; tc-tbf(8) of Linux, with `burst` as the depth.
//!
//! # Deviations
//! A packet larger than the bucket passes when that is full, and leaves a debt; Linux drops it.

use evenair_units::{Bytes, Duration, Instant, Rate};

/// Nanoseconds in a second: a bit is worth so many of the units that are counted.
const PER_BIT: i128 = 1_000_000_000;

/// A token bucket.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TokenBucket {
    rate: Rate,
    /// \[bit·ns/s\]
    depth: i128,
    /// The part of the depth that follows the rate, and the least depth.
    depth_time: Duration,
    depth_least: i128,
    /// Its content at `since`; less than nothing after a packet larger than it \[bit·ns/s\].
    level: i128,
    since: Instant,
}

/// The price of a packet \[bit·ns/s\].
fn cost(size: Bytes) -> i128 {
    i128::from(size.bits()) * PER_BIT
}

/// The depth of a bucket of that rate \[bit·ns/s\].
fn depth(rate: Rate, least: i128, time: Duration) -> i128 {
    i128::from(rate.as_bps()).saturating_mul(time.as_nanos().into()).max(least)
}

impl TokenBucket {
    /// A full bucket.
    pub fn new(rate: Rate, depth: Bytes) -> Self {
        Self::by_rate(rate, depth, Duration::ZERO)
    }

    /// A full bucket with the tokens of so long a time as its depth, and at least this.
    pub fn by_rate(rate: Rate, least: Bytes, depth_time: Duration) -> Self {
        let depth_least = cost(least);
        let depth = depth(rate, depth_least, depth_time);
        Self { rate, depth, depth_time, depth_least, level: depth, since: Instant::ZERO }
    }

    /// Its rate.
    pub fn rate(&self) -> Rate {
        self.rate
    }

    /// Tokens come at another rate from now on; those that are there stay, as far as it still holds them.
    pub fn set_rate(&mut self, now: Instant, rate: Rate) {
        self.fill(now);
        self.rate = rate;
        self.depth = depth(rate, self.depth_least, self.depth_time);
        self.level = self.level.min(self.depth);
    }

    /// From when on a packet of this size may pass, if nothing else does before: exactly then. It may be past; never, if the
    /// rate is zero and there is too little.
    pub fn ready_at(&self, size: Bytes) -> Instant {
        let missing = cost(size).min(self.depth) - self.level;
        if missing <= 0 {
            return self.since;
        }
        let (missing, rate) = (missing.unsigned_abs(), u128::from(self.rate.as_bps()));
        if rate == 0 {
            return Instant::NEVER;
        }
        // A wait beyond all time is one for ever.
        self.since + Duration::from_nanos(u64::try_from(missing.div_ceil(rate)).unwrap_or(u64::MAX))
    }

    /// A packet passes that may.
    pub fn take(&mut self, now: Instant, size: Bytes) {
        debug_assert!(self.ready_at(size) <= now, "a packet passes before its tokens have come");
        self.fill(now);
        self.level -= cost(size);
    }

    fn fill(&mut self, now: Instant) {
        let time = now.since(self.since).as_nanos();
        let room = (self.depth - self.level).unsigned_abs();
        let gain = (u128::from(self.rate.as_bps()) * u128::from(time)).min(room);
        self.level += gain.cast_signed(); // no more than the room
        self.since = self.since.max(now);
        debug_assert!(self.level <= self.depth, "a bucket runs over");
    }
}
