//! Inverse increase, additive decrease of the number of connections: MULTFRC's control, from which E-MULTCP's came.
//!
//! # Law
//! Each interval τ: `n ← n − β` if the queueing delay shows congestion, else `n ← n + α/n`; at least one.
//!
//! # Source
//! [CZ06] sections III-A and IV-C, which name the law ("inversely increased if there is no congestion, and [...] additively
//! decreased otherwise") and give the law of the decrease by which E-MULTCP differs, (20).
//!
//! # Symbols
//! `α` → [`IiadParams::increase`]; `β` → [`IiadParams::decrease`]; `γ` → [`IiadParams::threshold`]; `τ` →
//! [`IiadParams::interval`]; `n` → `connections`.
//!
//! # Signals
//! Those of [`iimd`](super::iimd).
//!
//! # Deviations
//! The text gives neither formula nor values. The form is (20)'s with its decrease replaced; α, γ, τ are E-MULTCP's, so that the
//! two laws climb alike, and β is one connection. `n` does not fall below one, and is rounded.
//!
//! # Example
//! ```
//! use evenair_laws::Parameters;
//! use evenair_laws::connections::{ConnectionLaw, IiadParams};
//! use evenair_laws::flow::{FlowRole, FlowView};
//! use evenair_units::{Bytes, Duration};
//! let seen = |ms| FlowView { round_trip_of_probes: Some(Duration::from_millis(ms)), ..FlowView::default() };
//! let mut law = IiadParams::default().begin(&FlowRole { payload: Bytes::new(1000) });
//! // 1.25, 1.45, 1.62, 1.78, …, 2.69: on it goes as E-MULTCP, and down by one each.
//! assert_eq!([168; 12].map(|ms| law.on_interval(&seen(ms))), [1, 1, 2, 2, 2, 2, 2, 2, 2, 2, 3, 3]);
//! assert_eq!([210; 3].map(|ms| law.on_interval(&seen(ms))), [2, 1, 1]);
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
pub struct IiadParams {
    /// α: how much is added, over the number that there is.
    #[cfg_attr(feature = "serde", serde(rename = "alpha"))]
    pub increase: f64,
    /// β: how much is taken off when the path is congested.
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

impl Default for IiadParams {
    fn default() -> Self {
        Self {
            increase: 0.25,
            decrease: 1.0,
            threshold: 0.2,
            interval: Duration::from_secs(20),
            samples: RoundTripSamples::Probes,
            window: None,
            route_changes: false,
            connections_max: 1000,
        }
    }
}

impl IiadParams {
    const fn delay(&self) -> DelayParams {
        let Self { threshold, samples, window, route_changes, .. } = *self;
        DelayParams { threshold, samples, window, route_changes }
    }
}

impl Parameters for IiadParams {
    type Surroundings = ();
    type Place = FlowRole;
    type Law = Iiad;

    fn validated(self) -> Result<Self, BadParameter> {
        let Self { increase, decrease, interval, connections_max, .. } = self;
        check("alpha", increase, increase > 0.0 && increase <= 1.0, "above 0, 1 at most")?;
        check("beta", decrease, decrease > 0.0 && decrease.is_finite(), "above 0")?;
        check_interval("interval", interval)?;
        check("max", f64::from(connections_max), connections_max >= 1, "at least 1")?;
        self.delay().check()?;
        Ok(self)
    }

    /// One connection.
    fn begin(&self, _: &FlowRole) -> Iiad {
        Iiad { params: *self, connections: 1.0, delay: Delay::new(self.delay()), reason: Reason::Begins }
    }
}

/// The law's state at one flow.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Iiad {
    params: IiadParams,
    /// `n`, a real number.
    connections: f64,
    delay: Delay,
    reason: Reason,
}

impl ConnectionLaw for Iiad {
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
        let IiadParams { increase, decrease, connections_max, .. } = self.params;
        let congested = self.delay.congested(flow);
        self.reason = match congested {
            None => Reason::Unsampled,
            Some(true) => Reason::Delayed,
            Some(false) => Reason::Uncongested,
        };
        if let Some(congested) = congested {
            let change = if congested { -decrease } else { increase / self.connections };
            self.connections = (self.connections + change).clamp(1.0, f64::from(connections_max));
        }
        whole(libm::round(self.connections), connections_max)
    }
}

/// The law's fluid face: `ṅ = ((1 − I)·α/n − I·β)/τ`, `I` the congestion bit, above one connection.
pub fn connections_drift(params: &IiadParams, connections: f64, congestion: f64) -> f64 {
    let change = (1.0 - congestion) * params.increase / connections - congestion * params.decrease;
    change / params.interval.as_secs_f64()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::conformance::drift;
    use evenair_units::Bytes;

    const LEAST: Duration = Duration::from_millis(168);

    fn see(law: &mut Iiad, average: Duration) -> u32 {
        law.on_interval(&FlowView { round_trip_of_probes: Some(average), ..FlowView::default() })
    }

    fn climbed(intervals: u32) -> Iiad {
        let mut law = IiadParams::default().begin(&FlowRole { payload: Bytes::new(1000) });
        (0..intervals).for_each(|_| {
            see(&mut law, LEAST);
        });
        law
    }

    #[test]
    fn the_mean_step_of_the_machine_is_the_drift() {
        for (average, bit) in [(LEAST, 0.0), (LEAST * 2, 1.0)] {
            let law = climbed(20);
            let per_interval = 20.0 * connections_drift(&law.params, law.connections, bit);
            let step = |law: &mut Iiad| {
                see(law, average);
            };
            drift(&law, |law| law.connections, &[(1.0, &step)], per_interval, 1e-12);
        }
    }

    #[test]
    fn parameters_out_of_range_are_refused() {
        let refused = |change: &dyn Fn(&mut IiadParams)| {
            let mut params = IiadParams::default();
            change(&mut params);
            params.validated().err().map(|bad| bad.name)
        };
        for (value, is_wrong) in [(0.0, true), (0.01, false), (1.0, false), (1.01, true)] {
            assert_eq!(refused(&|p| p.increase = value), is_wrong.then_some("alpha"));
        }
        for (value, is_wrong) in [(0.0, true), (0.01, false), (9.0, false), (f64::INFINITY, true)] {
            assert_eq!(refused(&|p| p.decrease = value), is_wrong.then_some("beta"));
        }
        assert_eq!([0, 1].map(|most| refused(&|p| p.connections_max = most)), [Some("max"), None]);
    }

    #[test]
    fn iiad_falls_by_ones_e_multcp_by_quarters() {
        let mut law = climbed(200); // √(1 + 2·0.25·200) = 10.05
        assert!((law.connections - 10.05).abs() < 0.1, "{}", law.connections);
        let fall: Vec<u32> = (0..11).map(|_| see(&mut law, LEAST * 2)).collect();
        assert_eq!(fall, [9, 8, 7, 6, 5, 4, 3, 2, 1, 1, 1]);
    }

    /// `(0.5·0.25/4 − 0.5·0.5)/20 s`.
    #[test]
    fn half_congested_intervals_halve_both_steps() {
        let params = IiadParams { decrease: 0.5, ..IiadParams::default() };
        assert!((connections_drift(&params, 4.0, 0.5) - (0.03125 - 0.25) / 20.0).abs() < 1e-15);
    }
}
