//! A token bucket that bounds the sending rate of one client's or one key's sessions, within the bucket of
//! the whole relay.
//!
//! A caller without tokens reserves bytes and gets the time at which to send them, so callers are served in
//! order.

use crate::frame::CHUNK_MAX;
use evenair_units::{Duration, Instant, Rate};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// Unused tokens are saved up to this time's worth, and to one chunk at least: timers are that late on a busy
/// machine.
const DEPTH: Duration = Duration::from_millis(50);
/// A reservation is sent in about this time.
const PIECE: Duration = Duration::from_millis(20);
/// The smallest reservation \[bytes\].
const PIECE_LEAST: u64 = 1 << 10;

/// The permitted rates. At the lowest, the smallest reservation takes a second; at the highest, the bucket
/// still fits 64 bits.
pub const RATES: std::ops::RangeInclusive<Rate> = Rate::from_kbps(8)..=Rate::from_kbps(100_000_000);

/// A token bucket.
#[derive(Debug)]
pub struct Bucket {
    /// \[bit/s\]; 0 without a bound.
    bps: AtomicU64,
    level: Mutex<Level>,
    within: Option<Arc<Self>>,
}

/// The tokens at an instant.
#[derive(Debug)]
struct Level {
    /// \[10⁻⁹ bit\]; a negative value is the amount reserved in advance.
    nanobits: i64,
    at: Instant,
}

fn nanobits(bytes: u64) -> i64 {
    i64::try_from(bytes.saturating_mul(8_000_000_000)).unwrap_or(i64::MAX)
}

/// Returns the amount sent at a rate in a time \[10⁻⁹ bit\].
fn flows(bps: u64, time: Duration) -> i64 {
    i64::try_from(u128::from(bps) * u128::from(time.as_nanos())).unwrap_or(i64::MAX)
}

fn depth(bps: u64) -> i64 {
    flows(bps, DEPTH).max(nanobits(CHUNK_MAX as u64))
}

impl Bucket {
    /// Returns a full bucket of a rate, or one without a bound.
    pub fn new(rate: Option<Rate>) -> Arc<Self> {
        Arc::new(Self::of(rate, None))
    }

    /// Returns a full bucket within another.
    pub fn within(rate: Option<Rate>, whole: &Arc<Self>) -> Arc<Self> {
        Arc::new(Self::of(rate, Some(Arc::clone(whole))))
    }

    fn of(rate: Option<Rate>, within: Option<Arc<Self>>) -> Self {
        let bps = rate.map_or(0, Rate::as_bps);
        let level = Mutex::new(Level { nanobits: depth(bps), at: Instant::ZERO });
        Self { bps: bps.into(), level, within }
    }

    /// Replaces the rate.
    pub fn set_rate(&self, rate: Option<Rate>) {
        self.bps.store(rate.map_or(0, Rate::as_bps), Ordering::Relaxed);
    }

    fn bps(&self) -> Option<u64> {
        Some(self.bps.load(Ordering::Relaxed)).filter(|bps| *bps > 0)
    }

    /// Returns the bound: the lower of its own rate and that of the enclosing bucket.
    pub fn rate(&self) -> Option<Rate> {
        let whole = self.within.as_ref().and_then(|whole| whole.rate());
        self.bps().map(Rate::from_bps).into_iter().chain(whole).min()
    }

    /// Returns the most to reserve at a time \[bytes\].
    pub fn piece(&self) -> u64 {
        let of = |rate: Rate| (flows(rate.as_bps(), PIECE) / nanobits(1)).cast_unsigned();
        self.rate().map_or(CHUNK_MAX as u64, |rate| of(rate).clamp(PIECE_LEAST, CHUNK_MAX as u64))
    }

    /// Reserves bytes and returns the earliest time to send them.
    pub fn book(&self, bytes: u64, now: Instant) -> Instant {
        let whole = self.within.as_ref().map_or(now, |whole| whole.book(bytes, now));
        let Some(bps) = self.bps() else { return whole };
        let mut level = self.level.lock().unwrap_or_else(PoisonError::into_inner);
        let gained = flows(bps, now.since(level.at));
        level.at = level.at.max(now);
        level.nanobits =
            level.nanobits.saturating_add(gained).min(depth(bps)).saturating_sub(nanobits(bytes));
        let missing = level.nanobits.min(0).unsigned_abs();
        whole.max(now + Duration::from_nanos(missing.div_ceil(bps)))
    }

    /// Gives back reserved bytes that are not sent.
    pub fn give(&self, bytes: u64) {
        if let Some(bps) = self.bps() {
            let mut level = self.level.lock().unwrap_or_else(PoisonError::into_inner);
            level.nanobits = level.nanobits.saturating_add(nanobits(bytes)).min(depth(bps));
        }
        if let Some(whole) = &self.within {
            whole.give(bytes);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Simulates several senders that reserve by turns and wait for the returned times; returns when and how
    /// much each sends.
    fn sends(bucket: &[Arc<Bucket>], asks: &[(usize, u64, u64)]) -> Vec<(Instant, u64)> {
        let mut now = Instant::from_nanos(1);
        let mut free_at = vec![now; bucket.len()];
        let mut sent = Vec::new();
        for (who, bytes, pause_us) in asks {
            let who = who % bucket.len();
            now += Duration::from_micros(*pause_us);
            // A sender reserves again once its reservation is sent.
            if free_at[who] > now {
                continue;
            }
            free_at[who] = bucket[who].book(*bytes, now);
            sent.push((free_at[who], *bytes));
        }
        sent.sort();
        sent
    }

    /// Asserts that the bytes sent respect a rate, with a burst that may be this many bytes larger.
    fn holds(sent: &[(Instant, u64)], rate: Rate, more: u64) {
        let burst = depth(rate.as_bps()).saturating_add(nanobits(more));
        for (i, (from, _)) in sent.iter().enumerate() {
            let mut sum = 0;
            for (until, bytes) in &sent[i..] {
                sum += bytes;
                let most = flows(rate.as_bps(), until.since(*from)).saturating_add(burst);
                // A reservation's time is a whole nanosecond.
                assert!(
                    nanobits(sum) <= most.saturating_add(rate.as_bps().cast_signed()),
                    "{sum} bytes at {rate}"
                );
            }
        }
    }

    proptest! {
        #[test]
        fn bucket_passes_at_most_rate_and_burst(
            kbps in 8..100_000_u64,
            asks in prop::collection::vec((0..3_usize, 1..CHUNK_MAX as u64, 0..200_000_u64), 1..120),
        ) {
            let rate = Rate::from_kbps(kbps);
            let whole = Bucket::new(Some(rate));
            holds(&sends(&[Arc::clone(&whole)], &asks), rate, 0);
            let whole = Bucket::new(Some(rate));
            let each = [None, Some(Rate::from_kbps(kbps / 2 + 8)), None].map(|own| Bucket::within(own, &whole));
            // A sender that waits for its own tokens has its share of the whole reserved already, one piece
            // each.
            holds(&sends(&each, &asks), rate, 3 * CHUNK_MAX as u64);
        }
    }

    #[test]
    fn bucket_serves_in_order_and_refunds() {
        let rate = Rate::from_kbps(8000);
        let bucket = Bucket::new(Some(rate));
        let now = Instant::from_nanos(1);
        assert_eq!(bucket.book(50_000, now), now, "what goes out in 50 ms is there at once");
        let ms = |ms| now + Duration::from_millis(ms);
        assert_eq!(bucket.book(1000, now), ms(1));
        assert_eq!(bucket.book(3000, now), ms(4));
        bucket.give(3000);
        assert_eq!(bucket.book(1000, now), ms(2));
        assert_eq!((bucket.piece(), bucket.rate()), (CHUNK_MAX as u64, Some(rate)));
        bucket.set_rate(None);
        assert_eq!((bucket.book(1 << 30, now), bucket.rate()), (now, None));
        let slow = Bucket::within(Some(Rate::from_kbps(64)), &bucket);
        assert_eq!((slow.piece(), slow.rate()), (PIECE_LEAST, Some(Rate::from_kbps(64))));
    }

    #[test]
    fn greatest_and_least_rate_are_counted_right() {
        for rate in [*RATES.start(), *RATES.end()] {
            let bucket = Bucket::new(Some(rate));
            let now = Instant::from_nanos(1);
            let all = (depth(rate.as_bps()) / nanobits(1)).cast_unsigned();
            assert_eq!(bucket.book(all, now), now);
            let later = bucket.book(1 << 14, now).since(now);
            assert!((later.as_secs_f64() * rate.as_bps() as f64 / f64::from(8 << 14) - 1.0).abs() < 0.01);
        }
    }
}
