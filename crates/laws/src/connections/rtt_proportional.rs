//! As many connections as the round-trip time is long: [Chen10]'s multi-connection TCP.
//!
//! # Law
//! `n = max(1, int(k·T))`, evaluated every 5 s.
//!
//! # Source
//! [Chen10] eq. (5.1), section 5.2, C6.
//!
//! # Symbols
//! `k` → [`RttProportionalParams::per_second`] \[connections/s\]; `T` → `round_trip` \[s\]; `n` →
//! [`RttProportional::connections`].
//!
//! # Signals
//! The mean of all round-trip samples of the flow's connections in the last interval; with no sample, the age of the
//! oldest segment that is not acknowledged, because a flow that starves gives none.
//!
//! # Deviations
//! Ours, both off by default: `hysteresis` keeps `n` while `k·T` lies within that distance of the whole numbers that
//! would give it; `smoothed` takes the mean of the new and the last `n` (the option of section 6.1.1). A bound on `n`
//! protects the host from a flow that is cut off for good.
//!
//! # Example
//! ```
//! use evenair_laws::connections::{RttProportional, RttProportionalParams};
//! use evenair_units::Duration;
//! let mut law = RttProportional::new(RttProportionalParams::chen10());
//! // [Chen10] section 6.1.7, user 2: T = 2·129/149 s, so k·T = 17.3
//! assert_eq!(law.on_interval(Duration::from_secs_f64(2.0 * 129.0 / 149.0)), 17);
//! ```

use crate::{BadParameter, check};
use evenair_units::Duration;

/// Parameters of the law.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RttProportionalParams {
    /// `k`: connections per second of round-trip time.
    pub per_second: f64,
    /// How often the number is evaluated.
    pub interval: Duration,
    /// How far beyond its whole number `k·T` must move before `n` follows.
    pub hysteresis: f64,
    /// Whether `n` is the mean of its new and its last value.
    pub smoothed: bool,
    /// The most connections that are kept.
    pub connections_max: u32,
}

impl RttProportionalParams {
    /// [Chen10] chapter 6: k = 10, every 5 s.
    pub const fn chen10() -> Self {
        Self {
            per_second: 10.0,
            interval: Duration::from_secs(5),
            hysteresis: 0.0,
            smoothed: false,
            connections_max: 1000,
        }
    }

    /// Checks the parameters.
    ///
    /// # Errors
    /// Names the first one outside its range.
    pub fn validated(self) -> Result<Self, BadParameter> {
        check(
            "k",
            self.per_second,
            self.per_second > 0.0 && self.per_second.is_finite(),
            "above 0, and finite",
        )?;
        check("interval", self.interval.as_secs_f64(), !self.interval.is_zero(), "longer than no time")?;
        check("hysteresis", self.hysteresis, self.hysteresis >= 0.0, "0 or more")?;
        check("max", f64::from(self.connections_max), self.connections_max >= 1, "at least 1")?;
        Ok(self)
    }
}

/// The law's state for one flow.
#[derive(Clone, Debug, PartialEq)]
pub struct RttProportional {
    params: RttProportionalParams,
    connections: u32,
}

impl RttProportional {
    /// A flow starts with one connection.
    pub const fn new(params: RttProportionalParams) -> Self {
        Self { params, connections: 1 }
    }

    /// The parameters.
    pub const fn params(&self) -> &RttProportionalParams {
        &self.params
    }

    /// `n`: how many connections there should be.
    pub const fn connections(&self) -> u32 {
        self.connections
    }

    /// One evaluation with the measured round-trip time; gives the new `n`.
    pub fn on_interval(&mut self, round_trip: Duration) -> u32 {
        let wanted = self.params.per_second * round_trip.as_secs_f64(); // [Chen10] eq. (5.1)
        let current = f64::from(self.connections);
        let inside =
            wanted >= current - self.params.hysteresis && wanted < current + 1.0 + self.params.hysteresis;
        if !(inside && self.params.hysteresis > 0.0) {
            let whole = (wanted as u32).clamp(1, self.params.connections_max);
            self.connections =
                if self.params.smoothed { (whole + self.connections).div_ceil(2) } else { whole };
        }
        self.connections
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn law(change: impl Fn(&mut RttProportionalParams)) -> RttProportional {
        let mut params = RttProportionalParams::chen10();
        change(&mut params);
        RttProportional::new(params)
    }

    #[test]
    fn the_numbers_of_section_6_1_7() {
        // kT = [3.4, 17.4, 8.0, 8.3] gives whole numbers below them.
        for (round_trip_s, n) in [(0.343, 3), (1.732, 17), (0.795, 7), (0.822, 8)] {
            assert_eq!(law(|_| ()).on_interval(Duration::from_secs_f64(round_trip_s)), n);
        }
    }

    #[test]
    fn there_is_always_one_connection() {
        assert_eq!(law(|_| ()).on_interval(Duration::ZERO), 1);
    }

    #[test]
    fn hysteresis_holds_a_number_that_hovers() {
        let mut law = law(|p| p.hysteresis = 0.5);
        assert_eq!(law.on_interval(Duration::from_millis(510)), 5);
        assert_eq!(law.on_interval(Duration::from_millis(620)), 5, "6.2 lies within 5..6 ± 0.5");
        assert_eq!(law.on_interval(Duration::from_millis(660)), 6);
    }

    #[test]
    fn smoothing_takes_the_mean() {
        let mut law = law(|p| p.smoothed = true);
        assert_eq!(law.on_interval(Duration::from_millis(910)), 5);
    }

    proptest! {
        #[test]
        fn n_stays_in_its_range(times in prop::collection::vec(0u64..u64::MAX, 1..50), hysteresis in 0.0f64..3.0) {
            let mut law = law(|p| p.hysteresis = hysteresis);
            for ns in times {
                let n = law.on_interval(Duration::from_nanos(ns));
                prop_assert!((1..=1000).contains(&n));
            }
        }
    }
}
