//! A bound of what is sent: a token bucket, of a client's or a key's sessions, within that of the whole relay.
//!
//! Who finds no tokens books a piece, and is told from when on it may go out: so all who wait have their turn, and nobody asks twice.

use crate::frame::CHUNK_MAX;
use evenair_units::{Duration, Instant, Rate};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// What was not used is saved up to what goes out in this time, and a chunk at least: timers are that late on a busy machine.
const DEPTH: Duration = Duration::from_millis(50);
/// What is booked at a time goes out in about this time.
const PIECE: Duration = Duration::from_millis(20);
/// The least piece \[bytes\].
const PIECE_LEAST: u64 = 1 << 10;

/// The bounds of a bound: a piece takes a second at the least, and numbers of 64 bits hold what the greatest saves.
pub const RATES: std::ops::RangeInclusive<Rate> = Rate::from_kbps(8)..=Rate::from_kbps(100_000_000);

/// The bucket.
#[derive(Debug)]
pub struct Bucket {
    /// \[bit/s\]; 0 where there is no bound.
    bps: AtomicU64,
    level: Mutex<Level>,
    within: Option<Arc<Self>>,
}

/// What may go out, at an instant.
#[derive(Debug)]
struct Level {
    /// \[10⁻⁹ bit\]; below zero it is what is booked.
    nanobits: i64,
    at: Instant,
}

fn nanobits(bytes: u64) -> i64 {
    i64::try_from(bytes.saturating_mul(8_000_000_000)).unwrap_or(i64::MAX)
}

/// What goes out in a time \[10⁻⁹ bit\].
fn flows(bps: u64, time: Duration) -> i64 {
    i64::try_from(u128::from(bps) * u128::from(time.as_nanos())).unwrap_or(i64::MAX)
}

fn depth(bps: u64) -> i64 {
    flows(bps, DEPTH).max(nanobits(CHUNK_MAX as u64))
}

impl Bucket {
    /// Of a rate, or without a bound; full.
    pub fn new(rate: Option<Rate>) -> Arc<Self> {
        Arc::new(Self::of(rate, None))
    }

    /// The same, within another.
    pub fn within(rate: Option<Rate>, whole: &Arc<Self>) -> Arc<Self> {
        Arc::new(Self::of(rate, Some(Arc::clone(whole))))
    }

    fn of(rate: Option<Rate>, within: Option<Arc<Self>>) -> Self {
        let bps = rate.map_or(0, Rate::as_bps);
        let level = Mutex::new(Level { nanobits: depth(bps), at: Instant::ZERO });
        Self { bps: bps.into(), level, within }
    }

    /// From now on it is that.
    pub fn set_rate(&self, rate: Option<Rate>) {
        self.bps.store(rate.map_or(0, Rate::as_bps), Ordering::Relaxed);
    }

    fn bps(&self) -> Option<u64> {
        Some(self.bps.load(Ordering::Relaxed)).filter(|bps| *bps > 0)
    }

    /// What bounds it: its own rate, or that of what it is within.
    pub fn rate(&self) -> Option<Rate> {
        let whole = self.within.as_ref().and_then(|whole| whole.rate());
        self.bps().map(Rate::from_bps).into_iter().chain(whole).min()
    }

    /// How much is to be booked at a time, at most \[bytes\].
    pub fn piece(&self) -> u64 {
        let of = |rate: Rate| (flows(rate.as_bps(), PIECE) / nanobits(1)).cast_unsigned();
        self.rate().map_or(CHUNK_MAX as u64, |rate| of(rate).clamp(PIECE_LEAST, CHUNK_MAX as u64))
    }

    /// Books some bytes; gives from when on they may go out.
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

    /// Gives back what was booked and does not go out.
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

    /// Sends of several who ask by turns and wait as they are told: when, and how much.
    fn sends(bucket: &[Arc<Bucket>], asks: &[(usize, u64, u64)]) -> Vec<(Instant, u64)> {
        let mut now = Instant::from_nanos(1);
        let mut free_at = vec![now; bucket.len()];
        let mut sent = Vec::new();
        for (who, bytes, pause_us) in asks {
            let who = who % bucket.len();
            now += Duration::from_micros(*pause_us);
            // Who has booked asks again once that went out.
            if free_at[who] > now {
                continue;
            }
            free_at[who] = bucket[who].book(*bytes, now);
            sent.push((free_at[who], *bytes));
        }
        sent.sort();
        sent
    }

    /// Whether it is so of a rate, and a burst with so many bytes more.
    fn holds(sent: &[(Instant, u64)], rate: Rate, more: u64) {
        let burst = depth(rate.as_bps()).saturating_add(nanobits(more));
        for (i, (from, _)) in sent.iter().enumerate() {
            let mut sum = 0;
            for (until, bytes) in &sent[i..] {
                sum += bytes;
                let most = flows(rate.as_bps(), until.since(*from)).saturating_add(burst);
                // A booking's instant is a whole nanosecond.
                assert!(
                    nanobits(sum) <= most.saturating_add(rate.as_bps().cast_signed()),
                    "{sum} bytes at {rate}"
                );
            }
        }
    }

    proptest! {
        #[test]
        fn over_any_time_it_is_no_more_than_the_rate_and_a_burst(
            kbps in 8..100_000_u64,
            asks in prop::collection::vec((0..3_usize, 1..CHUNK_MAX as u64, 0..200_000_u64), 1..120),
        ) {
            let rate = Rate::from_kbps(kbps);
            let whole = Bucket::new(Some(rate));
            holds(&sends(&[Arc::clone(&whole)], &asks), rate, 0);
            let whole = Bucket::new(Some(rate));
            let each = [None, Some(Rate::from_kbps(kbps / 2 + 8)), None].map(|own| Bucket::within(own, &whole));
            // Who waits for his own tokens has had his turn at the whole already, each with one piece.
            holds(&sends(&each, &asks), rate, 3 * CHUNK_MAX as u64);
        }
    }

    #[test]
    fn who_waits_has_his_turn_and_who_gives_back_takes_nothing() {
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
    fn the_greatest_and_the_least_rate_are_counted_right() {
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
