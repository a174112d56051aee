//! BBR's estimates of its path.

use evenair_units::{Duration, Instant};

/// The windowed maximum of measurements, from three candidates: the greatest, the greatest after it, and the
/// greatest after that. K. Nichols' estimator, which Linux's `minmax` is, too: exact but where more than
/// three would be needed.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub(super) struct GreatestLately {
    /// When, and how much.
    candidates: [(u32, f64); 3],
}

impl GreatestLately {
    pub(super) const fn greatest(&self) -> f64 {
        self.candidates[0].1
    }

    /// A measurement at `now`; those older than `keeps` are forgotten.
    pub(super) fn add(&mut self, now: u32, keeps: u32, value: f64) {
        let new = (now, value);
        let age = |candidate: (u32, f64)| now.saturating_sub(candidate.0);
        let known = &mut self.candidates;
        if value >= known[0].1 || age(known[2]) > keeps {
            *known = [new; 3];
            return;
        }
        if value >= known[1].1 {
            (known[1], known[2]) = (new, new);
        } else if value >= known[2].1 {
            known[2] = new;
        }
        let passed = age(known[0]);
        if passed > keeps {
            *known = [known[1], known[2], new];
            if age(known[0]) > keeps {
                *known = [known[1], known[2], new];
            }
        } else if known[1].0 == known[0].0 && passed > keeps / 4 {
            // A quarter, and a half, has passed without another candidate: this one will do.
            (known[1], known[2]) = (new, new);
        } else if known[2].0 == known[1].0 && passed > keeps / 2 {
            known[2] = new;
        }
    }
}

/// Windows of rounds over which clumps are remembered.
const ROUNDS: u32 = 5;
/// The most room for clumps: the segments that arrive in 100 ms.
const TIME_MAX: Duration = Duration::from_millis(100);
/// A clump's count starts again beyond this: Linux's 2²⁰ segments.
const COUNT_MAX: f64 = (1u32 << 20) as f64;

/// By how much acknowledgements ran ahead of the rate, at most, over five to ten round trips.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub(super) struct Aggregation {
    /// The most of these rounds, and of those before.
    extra: [f64; 2],
    rounds: u32,
    /// Segments acknowledged since when.
    since: Instant,
    count: f64,
}

impl Aggregation {
    pub(super) fn restart(&mut self, now: Instant) {
        (self.since, self.count) = (now, 0.0);
    }

    pub(super) fn count_round(&mut self) {
        self.rounds += 1;
        if self.rounds >= ROUNDS {
            self.rounds = 0;
            self.extra = [0.0, self.extra[0]];
        }
    }

    pub(super) fn add(&mut self, now: Instant, segments: u32, rate_pps: f64, window: f64) {
        let segments = f64::from(segments);
        let mut expected = libm::floor(rate_pps * now.since(self.since).as_secs_f64());
        if self.count <= expected || self.count + segments >= COUNT_MAX {
            self.restart(now);
            expected = 0.0;
        }
        self.count += segments;
        self.extra[0] = self.extra[0].max((self.count - expected).min(window));
    }

    /// Room in the window for them \[segments\].
    pub(super) fn room(&self, rate_pps: f64) -> f64 {
        self.extra[0].max(self.extra[1]).min(libm::floor(rate_pps * TIME_MAX.as_secs_f64()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_greatest_is_forgotten_after_its_time() {
        let mut greatest = GreatestLately::default();
        let mut seen = std::vec::Vec::new();
        for (now, value) in [5.0, 9.0, 7.0, 6.0, 4.0, 4.0, 4.0, 4.0].into_iter().enumerate() {
            greatest.add(now as u32, 4, value);
            seen.push(greatest.greatest());
        }
        // 9, measured at 1, holds until 5. The next candidate is 6, at 3: 7, a quarter of the time after 9, came too soon.
        assert_eq!(seen, [5.0, 9.0, 9.0, 9.0, 9.0, 9.0, 6.0, 6.0]);
    }

    /// `minmax_running_max` of Linux by hand: candidates of a window of eight, as (when, how much).
    #[test]
    fn candidates_are_those_of_linux() {
        let told = |values: &[(u32, f64)]| {
            let mut greatest = GreatestLately::default();
            values.iter().for_each(|&(now, value)| greatest.add(now, 8, value));
            greatest.candidates
        };
        let first = (0, 9.0);
        assert_eq!(told(&[first, (2, 5.0)]), [first; 3], "a quarter is over after it");
        assert_eq!(told(&[first, (3, 5.0)]), [first, (3, 5.0), (3, 5.0)]);
        assert_eq!(told(&[first, (3, 5.0), (4, 3.0)]), [first, (3, 5.0), (3, 5.0)], "so is a half");
        assert_eq!(told(&[first, (3, 5.0), (5, 3.0)]), [first, (3, 5.0), (5, 3.0)], "since the greatest");
        assert_eq!(told(&[first, (3, 5.0), (5, 3.0), (6, 4.0)]), [first, (3, 5.0), (6, 4.0)]);
        assert_eq!(told(&[first, (3, 5.0), (5, 3.0), (6, 6.0)]), [first, (6, 6.0), (6, 6.0)]);
        assert_eq!(told(&[first, (3, 5.0), (5, 5.0)]), [first, (5, 5.0), (5, 5.0)], "the later of equals");
        assert_eq!(told(&[first, (3, 5.0), (5, 3.0), (8, 1.0)]), [first, (3, 5.0), (5, 3.0)]);
        assert_eq!(told(&[first, (3, 5.0), (5, 3.0), (9, 1.0)]), [(3, 5.0), (5, 3.0), (9, 1.0)]);
        assert_eq!(told(&[first, (3, 5.0), (5, 3.0), (11, 1.0)]), [(3, 5.0), (5, 3.0), (11, 1.0)]);
        assert_eq!(told(&[first, (3, 5.0), (5, 3.0), (12, 1.0)]), [(5, 3.0), (12, 1.0), (12, 1.0)]);
        assert_eq!(told(&[first, (3, 5.0), (5, 3.0), (13, 1.0)]), [(5, 3.0), (13, 1.0), (13, 1.0)]);
        assert_eq!(told(&[first, (3, 5.0), (5, 3.0), (14, 1.0)]), [(14, 1.0); 3], "nothing is left");
        assert_eq!(told(&[first, (4, 9.0)]), [(4, 9.0); 3]);
    }

    /// Linux's `bbr_update_ack_aggregation`, at 100 segments/s.
    #[test]
    fn clump_ends_when_the_rate_has_caught_up() {
        let at = |ms| Instant::ZERO + Duration::from_millis(ms);
        let mut aggregation = Aggregation::default();
        for (ms, segments, count, extra) in
            [(10, 1, 1.0, 1.0), (20, 5, 5.0, 5.0), (30, 4, 9.0, 8.0), (120, 1, 1.0, 8.0)]
        {
            aggregation.add(at(ms), segments, 100.0, 50.0);
            let known = (aggregation.count, aggregation.extra[0]);
            assert!((known.0 - count).abs() + (known.1 - extra).abs() < 1e-12, "{ms} ms: {known:?}");
        }
        // The segments that arrive in 100 ms are room enough.
        assert!((aggregation.room(50.0) - 5.0).abs() < 1e-12 && (aggregation.room(90.0) - 8.0).abs() < 1e-12);
        // Five to ten round trips.
        (0..9).for_each(|_| aggregation.count_round());
        assert!((aggregation.room(100.0) - 8.0).abs() < 1e-12);
        aggregation.count_round();
        assert!(aggregation.room(100.0).abs() < 1e-12);
        let mut long = Aggregation::default();
        for (segments, count) in [(1_000_000, 1e6), (48_575, 1_048_575.0), (1, 1.0)] {
            long.add(at(1), segments, 0.0, 50.0);
            assert!((long.count - count).abs() < 1e-12, "up to 2²⁰: {}", long.count);
        }
    }

    #[test]
    fn clumps_are_arrivals_ahead_of_the_rate() {
        let mut aggregation = Aggregation::default();
        let at = |ms| Instant::ZERO + Duration::from_millis(ms);
        // 100 segments/s; eight come at once after 100 ms, where ten were due in 100 ms.
        aggregation.add(at(10), 1, 100.0, 50.0);
        aggregation.add(at(110), 8, 100.0, 50.0);
        assert!((aggregation.room(100.0) - 8.0).abs() < 1e-12, "{aggregation:?}");
        (0..10).for_each(|_| aggregation.count_round());
        assert!(aggregation.room(100.0).abs() < 1e-12, "ten rounds later they are forgotten");
    }
}
