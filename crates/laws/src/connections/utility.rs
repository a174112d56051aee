//! The number of connections that an arbitrary utility wants.
//!
//! # Law
//! `n = k·√(U'(x)·T²·x²/2)`. With TCP Reno its fixed point is `k²·U'(x) = Σr`: the fixed point of problem MP
//! with `U` in the place of `−1/x`.
//!
//! # Source
//! [Chen10] eq. (5.29) (C7).
//!
//! # Symbols
//! `k` → [`UtilityParams::per_second`]; `U'(x)` → [`UtilityParams::marginal_utility`]; `T` → [`UtilityParams::samples`] \[s\]; `x` →
//! [`FlowView::goodput`] \[segments/s\]; `n`.
//!
//! # Signals
//! The flow's own rate, and its round-trip time by [`UtilityParams::samples`]: TCP's own smoothed one, as of (5.1).
//!
//! # Deviations
//! The thesis has `U = −1/x` give back `n = kT`; it gives `kT/√2`, and `U = −2/x` gives `kT`: the default
//! here, so that the two laws agree. Utilities are the α-fair ones, `U' = w·x^(−α)`. `n` is a whole number as
//! in (5.1), every 5 s; an interval in which nothing was delivered or measured holds it. As (5.1) it has no
//! drift: its fixed point is tested.
//!
//! # Example
//! ```
//! let n = evenair_laws::connections::for_utility(10.0, 2.0 / (300.0 * 300.0), 0.4, 300.0);
//! assert!((n - 10.0 * 0.4).abs() < 1e-12); // U = −2/x: n = kT
//! ```

use super::{ConnectionLaw, Reason, RoundTripSamples, whole};
use crate::flow::{FlowRole, FlowView, Signal};
use crate::{BadParameter, Parameters, check, check_interval};
use alloc::vec::Vec;
use evenair_units::{Bytes, Duration};

/// Parameters of the law.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(default, deny_unknown_fields)
)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct UtilityParams {
    /// k: connections per second of round-trip time, where the utility is −2/x \[1/s\].
    #[cfg_attr(feature = "serde", serde(rename = "k"))]
    pub per_second: f64,
    /// α of the α-fair utility: 1 is proportional fairness, 2 the default.
    #[cfg_attr(feature = "serde", serde(rename = "alpha"))]
    pub fairness: f64,
    /// The utility's weight.
    pub weight: f64,
    /// How often the number is evaluated.
    pub interval: Duration,
    /// The most connections that are kept.
    #[cfg_attr(feature = "serde", serde(rename = "max"))]
    pub connections_max: u32,
    /// Which round trips make T.
    pub samples: RoundTripSamples,
}

impl UtilityParams {
    /// [Chen10] chapter 6 with the utility that (5.1) has: k = 10, U = −2/x, every 5 s.
    pub const fn chen10() -> Self {
        Self {
            per_second: 10.0,
            fairness: 2.0,
            weight: 2.0,
            interval: Duration::from_secs(5),
            connections_max: 1000,
            samples: RoundTripSamples::Smoothed,
        }
    }

    /// `U'(x) = w·x^(−α)`, at a rate \[segments/s\].
    pub fn marginal_utility(&self, rate: f64) -> f64 {
        self.weight * libm::pow(rate, -self.fairness)
    }
}

impl Default for UtilityParams {
    fn default() -> Self {
        Self::chen10()
    }
}

impl Parameters for UtilityParams {
    type Surroundings = ();
    type Place = FlowRole;
    type Law = Utility;

    fn validated(self) -> Result<Self, BadParameter> {
        let Self { per_second, fairness, weight, interval, connections_max, .. } = self;
        check("k", per_second, per_second > 0.0 && per_second.is_finite(), "above 0, and finite")?;
        check("alpha", fairness, (0.0..=100.0).contains(&fairness), "from 0 to 100")?;
        check("weight", weight, weight > 0.0 && weight.is_finite(), "above 0, and finite")?;
        check_interval("interval", interval)?;
        check("max", f64::from(connections_max), connections_max >= 1, "at least 1")?;
        Ok(self)
    }

    /// A flow starts with one connection.
    fn begin(&self, flow: &FlowRole) -> Utility {
        Utility { params: *self, payload: flow.payload, connections: 1 }
    }
}

/// The law's state for one flow.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Utility {
    params: UtilityParams,
    payload: Bytes,
    connections: u32,
}

impl ConnectionLaw for Utility {
    fn interval(&self) -> Duration {
        self.params.interval
    }

    fn needs(&self) -> Vec<Signal> {
        [self.params.samples.signal()].into()
    }

    fn reason(&self) -> Reason {
        Reason::Followed
    }

    fn on_interval(&mut self, flow: &FlowView) -> u32 {
        let rate = flow.goodput().as_bps() as f64 / self.payload.bits() as f64;
        let round_trip = self.params.samples.of(flow).filter(|_| rate > 0.0 && rate.is_finite());
        if let Some(round_trip) = round_trip {
            let utility = self.params.marginal_utility(rate);
            let wanted = for_utility(self.params.per_second, utility, round_trip.as_secs_f64(), rate);
            self.connections = whole(wanted, self.params.connections_max);
        }
        self.connections
    }
}

/// [Chen10] eq. (5.29): the number of connections at a rate \[segments/s\], its marginal utility, and a round-trip time \[s\].
pub fn for_utility(k: f64, marginal_utility: f64, round_trip_s: f64, rate: f64) -> f64 {
    k * round_trip_s * rate * libm::sqrt(marginal_utility / 2.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::window::reno::aggregate_rate_drift;
    use evenair_units::Volume;

    #[test]
    fn the_fixed_point_is_the_utilitys() {
        // U = log x: at price q = k²·U'(x) = k²/x the drift of (5.2) vanishes.
        let (k, rate, round_trip_s) = (3.0, 40.0, 0.2);
        let n = for_utility(k, 1.0 / rate, round_trip_s, rate);
        let drift = aggregate_rate_drift(rate, n, round_trip_s, k * k / rate);
        assert!(drift.abs() < 1e-9, "{drift}");
    }

    #[test]
    fn the_thesis_own_case_is_a_root_of_two_off() {
        let n = for_utility(10.0, 1.0 / (300.0 * 300.0), 0.4, 300.0);
        assert!((n - 10.0 * 0.4 / core::f64::consts::SQRT_2).abs() < 1e-12);
    }

    #[test]
    fn parameters_out_of_range_are_refused() {
        let refused = |change: &dyn Fn(&mut UtilityParams)| {
            let mut params = UtilityParams::chen10();
            change(&mut params);
            params.validated().err().map(|bad| bad.name)
        };
        for (value, is_wrong) in [(0.0, true), (-1.0, true), (f64::INFINITY, true), (1e-9, false)] {
            assert_eq!(refused(&|p| p.per_second = value), is_wrong.then_some("k"));
            assert_eq!(refused(&|p| p.weight = value), is_wrong.then_some("weight"));
        }
        for (value, is_wrong) in [(0.0, false), (100.0, false), (-0.1, true), (100.1, true)] {
            assert_eq!(refused(&|p| p.fairness = value), is_wrong.then_some("alpha"));
        }
        assert_eq!([0, 1].map(|most| refused(&|p| p.connections_max = most)), [Some("max"), None]);
    }

    #[test]
    fn the_machine_is_the_rule_in_whole_connections() {
        // 300 segments/s of 1000 bytes for 5 s, T = 0.57 s: U = −2/x gives int(10·0.57) at any rate; U = log
        // x gives 10·0.57·√300/√2 = 69.8.
        let delivered = Volume { packets: 1500, bytes: 1_500_000 };
        let smoothed_round_trip = Some(Duration::from_millis(570));
        let interval = Duration::from_secs(5);
        let flow = FlowView { interval, smoothed_round_trip, delivered, ..FlowView::default() };
        let begin = |params: UtilityParams| params.begin(&FlowRole { payload: Bytes::new(1000) });
        let mut law = begin(UtilityParams::chen10());
        assert_eq!(law.on_interval(&flow), 5);
        assert_eq!(law.on_interval(&FlowView::default()), 5, "nothing measured, nothing changed");
        let log = UtilityParams { fairness: 1.0, weight: 1.0, ..UtilityParams::chen10() };
        assert_eq!(begin(log).on_interval(&flow), 69);
    }

    #[test]
    fn an_interval_without_goodput_changes_nothing() {
        let mut law = UtilityParams::chen10().begin(&FlowRole { payload: Bytes::new(1000) });
        let delivered = Volume { packets: 1000, bytes: 1_000_000 };
        let flow = FlowView {
            interval: Duration::from_secs(5),
            smoothed_round_trip: Some(Duration::from_millis(350)),
            delivered,
            ..FlowView::default()
        };
        // U = −2/x: [Chen10] eq. (5.29) is k·T at any rate.
        assert_eq!(law.on_interval(&flow), 3);
        assert_eq!(law.on_interval(&FlowView { delivered: Volume::default(), ..flow }), 3);
        assert_eq!(law.on_interval(&FlowView { interval: Duration::ZERO, ..flow }), 3);
    }
}
