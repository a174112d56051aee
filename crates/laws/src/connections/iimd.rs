//! Inverse increase, multiplicative decrease of the number of connections: E-MULTCP's control of a lossy path.
//!
//! # Law
//! Each interval τ: `n ← βn + α/n` if the queueing delay shows congestion, else `n ← n + α/n`; α = 1 − β
//! keeps `n ≥ 1`. On a path that is full at n* connections, `n` is a sawtooth between βn* and n*
//! ([`sawtooth`]).
//!
//! # Source
//! [CZ06] eq. (10), (11), (20), (21), section IV-C.
//!
//! # Symbols
//! `α` → [`IimdParams::increase`]; `β` → [`IimdParams::decrease`]; `γ` → [`IimdParams::threshold`]; `τ` →
//! [`IimdParams::interval`]; `c` = α/τ \[1/s\]; `n` → `connections`; `ave_rtt` → [`FlowView::round_trip_of_probes`].
//!
//! # Signals
//! The average round-trip time of each interval, of probe packets as in the paper, or of others ([`RoundTripSamples`]); the law
//! keeps the least that it has seen, and holds where an interval has none.
//!
//! # Deviations
//! The paper leaves open how a real number of connections becomes a whole one: rounded, at least one. It
//! keeps the least average for ever, and thinks of traceroute for changes of route: [`IimdParams::window`]
//! and [`IimdParams::route_changes`] are both off by default. The bound on `n` protects the host.
//!
//! # Example
//! ```
//! use evenair_laws::Parameters;
//! use evenair_laws::connections::{ConnectionLaw, IimdParams};
//! use evenair_laws::flow::{FlowRole, FlowView};
//! use evenair_units::{Bytes, Duration};
//! let seen = |ms| FlowView { round_trip_of_probes: Some(Duration::from_millis(ms)), ..FlowView::default() };
//! let mut law = IimdParams::cz06().begin(&FlowRole { payload: Bytes::new(1000) });
//! // Nothing queues: 1 + 0.25/1, and on from there. Seven intervals make two connections of one (1.97).
//! assert_eq!([168; 7].map(|ms| law.on_interval(&seen(ms))), [1, 1, 2, 2, 2, 2, 2]);
//! // A quarter above the least: what there is shrinks by β.
//! assert_eq!([210; 4].map(|ms| law.on_interval(&seen(ms))), [2, 1, 1, 1]);
//! ```

use super::delay::{Delay, DelayParams};
use super::{ConnectionLaw, Reason, RoundTripSamples, whole};
use crate::flow::{FlowRole, FlowView, Signal};
use crate::{BadParameter, Parameters, check, check_interval};
use alloc::vec::Vec;
use evenair_units::Duration;

/// Parameters of the law.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(default, deny_unknown_fields)
)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct IimdParams {
    /// α: how much is added, over the number that there is.
    #[cfg_attr(feature = "serde", serde(rename = "alpha"))]
    pub increase: f64,
    /// β: the factor of the number when the path is congested.
    #[cfg_attr(feature = "serde", serde(rename = "beta"))]
    pub decrease: f64,
    /// γ: the queueing delay that counts as congestion, over the least round-trip time.
    #[cfg_attr(feature = "serde", serde(rename = "gamma"))]
    pub threshold: f64,
    /// τ: how often the law runs.
    pub interval: Duration,
    /// Which round trips are averaged.
    pub samples: RoundTripSamples,
    /// How long the least average holds at most; for ever, if it is not given.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "Option::is_none"))]
    pub window: Option<Duration>,
    /// Measure the least average again when the host reports a change of route; without a `window` the host
    /// must be able to.
    pub route_changes: bool,
    /// The most connections that are kept.
    #[cfg_attr(feature = "serde", serde(rename = "max"))]
    pub connections_max: u32,
}

impl IimdParams {
    /// [CZ06] section V-B: α = 0.25, β = 0.75, γ = 0.2, τ = 20 s; section IV-A: probes.
    pub const fn cz06() -> Self {
        Self {
            increase: 0.25,
            decrease: 0.75,
            threshold: 0.2,
            interval: Duration::from_secs(20),
            samples: RoundTripSamples::Probes,
            window: None,
            route_changes: false,
            connections_max: 1000,
        }
    }

    const fn delay(&self) -> DelayParams {
        let Self { threshold, samples, window, route_changes, .. } = *self;
        DelayParams { threshold, samples, window, route_changes }
    }

    /// `c` of the fluid model \[1/s\].
    pub fn gain(&self) -> f64 {
        self.increase / self.interval.as_secs_f64()
    }
}

impl Default for IimdParams {
    fn default() -> Self {
        Self::cz06()
    }
}

impl Parameters for IimdParams {
    type Surroundings = ();
    type Place = FlowRole;
    type Law = Iimd;

    fn validated(self) -> Result<Self, BadParameter> {
        let Self { increase, decrease, interval, connections_max, .. } = self;
        check("beta", decrease, decrease > 0.0 && decrease < 1.0, "above 0 and below 1")?;
        check("alpha", increase, increase > 0.0 && increase <= 1.0, "above 0, 1 at most")?;
        check_interval("interval", interval)?;
        check("max", f64::from(connections_max), connections_max >= 1, "at least 1")?;
        self.delay().check()?;
        Ok(self)
    }

    /// One connection.
    fn begin(&self, _: &FlowRole) -> Iimd {
        Iimd { params: *self, connections: 1.0, delay: Delay::new(self.delay()), reason: Reason::Begins }
    }
}

/// The law's state at one flow.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Iimd {
    params: IimdParams,
    /// `n`, a real number.
    connections: f64,
    delay: Delay,
    reason: Reason,
}

/// One step of `n`, [CZ06] eq. (20).
pub(super) fn step(connections: f64, congested: bool, increase: f64, decrease: f64) -> f64 {
    debug_assert!(connections >= 1.0, "fewer than one connection");
    let kept = if congested { decrease } else { 1.0 };
    (kept * connections + increase / connections).max(1.0)
}

impl ConnectionLaw for Iimd {
    fn interval(&self) -> Duration {
        self.params.interval
    }

    fn needs(&self) -> Vec<Signal> {
        self.delay.needs()
    }

    fn exact(&self) -> Option<f64> {
        Some(self.connections)
    }

    fn reason(&self) -> Reason {
        self.reason
    }

    fn on_interval(&mut self, flow: &FlowView) -> u32 {
        let IimdParams { increase, decrease, connections_max, .. } = self.params;
        let congested = self.delay.congested(flow);
        self.reason = match congested {
            None => Reason::Unsampled,
            Some(true) => Reason::Delayed,
            Some(false) => Reason::Uncongested,
        };
        if let Some(congested) = congested {
            let next = step(self.connections, congested, increase, decrease);
            self.connections = next.min(f64::from(connections_max));
        }
        whole(libm::round(self.connections), connections_max)
    }
}

/// The law's fluid face, [CZ06] eq. (10): `ṅ = c(1/n − n·I)`, `I` the congestion bit (11) or its smoothed form (13).
pub fn connections_drift(gain: f64, connections: f64, congestion: f64) -> f64 {
    gain * (1.0 / connections - connections * congestion)
}

/// The smoothed congestion bit, [CZ06] eq. (13): `tanh(βz/2)` of the path's price z.
pub fn smoothed_bit(beta: f64, price: f64) -> f64 {
    libm::tanh(beta * price / 2.0)
}

/// The results of [CZ06] section IV-C on a path that is full at n* connections, in closed form. Times are in seconds.
pub mod sawtooth {
    use super::IimdParams;

    /// How long `n` takes from `from` up to `to`: `τ/(2α)·(N₁² − N₂²)`.
    pub fn climb_s(params: &IimdParams, from: f64, to: f64) -> f64 {
        (to * to - from * from) / (2.0 * params.gain())
    }

    /// How long `n` takes from `from` down to `to`: `(τ/α)·ln(N₁/N₂)`.
    pub fn fall_s(params: &IimdParams, from: f64, to: f64) -> f64 {
        libm::log(from / to) / params.gain()
    }

    /// `T`, how long it is from peak to peak: the climb from βn* to n*.
    pub fn period_s(params: &IimdParams, peak: f64) -> f64 {
        climb_s(params, params.decrease * peak, peak)
    }

    /// `n(t)` of Fig 3, at a time since a peak: `√((t − kT)·2α/τ + (βn*)²)`.
    pub fn connections(params: &IimdParams, peak: f64, since_peak_s: f64) -> f64 {
        let tooth_s = libm::fmod(since_peak_s, period_s(params, peak));
        let least = params.decrease * peak;
        libm::sqrt(tooth_s * 2.0 * params.gain() + least * least)
    }

    /// How much of the path is used: the mean of `n` over n*, [CZ06] eq. (21).
    pub fn used(params: &IimdParams) -> f64 {
        let beta = params.decrease;
        2.0 / 3.0 * (1.0 + beta + beta * beta) / (1.0 + beta)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::conformance::drift;
    use crate::ranges::{POSITIVE, assert_range};
    use evenair_units::Bytes;
    use proptest::prelude::*;

    const LEAST: Duration = Duration::from_millis(168);

    fn begin() -> Iimd {
        IimdParams::cz06().begin(&FlowRole { payload: Bytes::new(1000) })
    }

    fn see(law: &mut Iimd, average: Duration) -> u32 {
        law.on_interval(&FlowView { round_trip_of_probes: Some(average), ..FlowView::default() })
    }

    /// Intervals until `n` has passed a number, and where it came from and to.
    fn until(law: &mut Iimd, average: Duration, passed: impl Fn(f64) -> bool) -> (f64, f64, f64) {
        let (from, mut intervals) = (law.connections, 0.0);
        while !passed(law.connections) {
            see(law, average);
            intervals += 1.0;
        }
        (intervals, from, law.connections)
    }

    #[test]
    fn number_climbs_and_falls_as_in_the_paper() {
        let params = IimdParams::cz06();
        let mut law = begin();
        see(&mut law, LEAST);
        let (intervals, from, to) = until(&mut law, LEAST, |n| n >= 5.0);
        let climb_s = sawtooth::climb_s(&params, from, to);
        // The steps are whole: the fluid form leaves out the sum of squares (α/n)².
        assert!((20.0 * intervals / climb_s - 1.0).abs() < 0.05, "{intervals} {climb_s}");
        // From 2 to 5 it is 840 s; section V-B's 650 s is the climb to 4.5, where 5 connections are opened.
        assert!((sawtooth::climb_s(&params, 2.0, 5.0) - 840.0).abs() < 1e-9);
        assert!((sawtooth::climb_s(&params, 2.0, 4.5) - 650.0).abs() < 1e-9);
        assert!((sawtooth::fall_s(&params, 5.0, 2.0) - 73.3).abs() < 0.01, "section V-B: 73 s");
        // The machine's decrease by a quarter each interval is a little faster than e^(−α): a fall of whole steps, and a bit.
        let (intervals, from, to) = until(&mut law, LEAST * 2, |n| n <= 2.0);
        let fall_s = sawtooth::fall_s(&params, from, to);
        assert!((20.0 * intervals / fall_s - 1.0).abs() < 0.1, "{intervals} {fall_s}");
    }

    #[test]
    fn the_use_of_the_sawtooth_is_0_88() {
        let params = IimdParams::cz06();
        assert!((sawtooth::used(&params) - 0.88).abs() < 0.005, "{}", sawtooth::used(&params));
        for (peak, decrease) in [(1.5, 0.75), (5.0, 0.75), (5.0, 0.5), (9.0, 0.9)] {
            let params = IimdParams { decrease, increase: 1.0 - decrease, ..params };
            let (steps, period_s) = (100_000, sawtooth::period_s(&params, peak));
            let at = |i: u32| (f64::from(i) + 0.5) / f64::from(steps) * period_s;
            let mean = (0..steps).map(|i| sawtooth::connections(&params, peak, 3.0 * period_s + at(i)));
            let mean = mean.sum::<f64>() / f64::from(steps);
            assert!((mean / peak - sawtooth::used(&params)).abs() < 1e-6, "{mean}");
        }
    }

    #[test]
    fn the_mean_step_of_the_machine_is_the_drift() {
        for (average, bit) in [(LEAST, 0.0), (LEAST * 2, 1.0)] {
            let mut law = begin();
            (0..8).for_each(|_| {
                see(&mut law, LEAST);
            });
            // Per interval of 20 s; α = 1 − β: the decrease (β − 1)n is −αn.
            let per_interval = 20.0 * connections_drift(law.params.gain(), law.connections, bit);
            let step = |law: &mut Iimd| {
                see(law, average);
            };
            drift(&law, |law| law.connections, &[(1.0, &step)], per_interval, 1e-12);
        }
    }

    #[test]
    fn each_parameter_has_its_range() {
        let params = IimdParams::cz06();
        let beta = |decrease| IimdParams { decrease, ..params };
        assert_range("beta", beta, &[1e-9, 0.999], &[0.0, -1.0, 1.0, f64::NAN]);
        let alpha = |increase| IimdParams { increase, ..params };
        assert_range("alpha", alpha, &[1e-9, 1.0], &[0.0, -1.0, 1.001, f64::NAN]);
        let (good, bad) = POSITIVE;
        assert_range("gamma", |threshold| IimdParams { threshold, ..params }, good, bad);
        assert_range("max", |connections_max| IimdParams { connections_max, ..params }, &[1], &[0]);
        let window = |ns| IimdParams { window: Some(Duration::from_nanos(ns)), ..params };
        assert_range("window", window, &[1], &[0]);
    }

    /// [CZ06] eq. (13): `(e^βz − 1)/(e^βz + 1)`, here of βz = 6.
    #[test]
    fn the_smoothed_bit_is_a_logistic_function() {
        let e = libm::exp(6.0);
        assert!((smoothed_bit(2.0, 3.0) - (e - 1.0) / (e + 1.0)).abs() < 1e-15);
        assert!(smoothed_bit(2.0, 0.0).abs() < 1e-15);
    }

    proptest! {
        /// With β ≥ 1/2 and α = 1 − β no decrease needs the bound at one.
        #[test]
        fn one_connection_is_always_left(decrease in 0.5f64..1.0, connections in 1.0f64..1e4) {
            let least = decrease * connections + (1.0 - decrease) / connections;
            prop_assert!(least >= 1.0 - 1e-12, "{}", least);
            prop_assert!(step(connections, true, 1.0 - decrease, decrease) >= 1.0);
        }

        #[test]
        fn n_stays_in_its_range(
            times in prop::collection::vec(prop::option::of(0u64..u64::MAX / 2), 1..200),
            most in 1u32..20,
        ) {
            let params = IimdParams { connections_max: most, ..IimdParams::cz06() };
            let mut law = params.begin(&FlowRole { payload: Bytes::new(1000) });
            for ns in times {
                let round_trip_of_probes = ns.map(Duration::from_nanos);
                let n = law.on_interval(&FlowView { round_trip_of_probes, ..FlowView::default() });
                prop_assert!((1..=most).contains(&n));
                prop_assert!((1.0..=f64::from(most)).contains(&law.connections));
            }
        }
    }
}
