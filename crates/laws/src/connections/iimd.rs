//! Inverse increase, multiplicative decrease of the number of connections: E-MULTCP's control of a lossy path.
//!
//! # Law
//! Each interval τ: `n ← βn + α/n` if the queueing delay says that the path is congested, else `n ← n + α/n`; α = 1 − β keeps
//! `n ≥ 1`.
//!
//! # Source
//! [CZ06] eq. (10), (11), (20).
//!
//! # Symbols
//! `α` → [`IimdParams::increase`]; `β` → [`IimdParams::decrease`]; `γ` → [`IimdParams::threshold`]; `τ` →
//! [`IimdParams::interval`]; `c` = α/τ \[1/s\]; `n` → `connections`.
//!
//! # Signals
//! The average round-trip time of each interval; the law keeps the least that it has seen, and holds where an interval has none.
//!
//! # Deviations
//! The paper does not say how a real number of connections becomes a whole one: rounded, at least one.
//!
//! # Example
//! ```
//! use evenair_laws::Parameters;
//! use evenair_laws::connections::{ConnectionLaw, IimdParams};
//! use evenair_laws::flow::{FlowRole, FlowView};
//! use evenair_units::{Bytes, Duration};
//! let seen = |ms| FlowView { round_trip: Some(Duration::from_millis(ms)), ..FlowView::default() };
//! let mut law = IimdParams::cz06().begin(&FlowRole { payload: Bytes::new(1000) });
//! // Nothing queues: 1 + 0.25/1, and on from there. Seven intervals make two connections of one (1.97).
//! assert_eq!([168; 7].map(|ms| law.on_interval(&seen(ms))), [1, 1, 2, 2, 2, 2, 2]);
//! // A quarter above the least: what there is shrinks by β.
//! assert_eq!([210; 4].map(|ms| law.on_interval(&seen(ms))), [2, 1, 1, 1]);
//! ```

use super::{ConnectionLaw, whole};
use crate::flow::{FlowRole, FlowView};
use crate::{BadParameter, Parameters, check, check_time};
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
    /// β: what is left of the number when the path is congested.
    #[cfg_attr(feature = "serde", serde(rename = "beta"))]
    pub decrease: f64,
    /// γ: the queueing delay that counts as congestion, over the least round-trip time.
    #[cfg_attr(feature = "serde", serde(rename = "gamma"))]
    pub threshold: f64,
    /// τ: how often the law runs.
    pub interval: Duration,
}

impl IimdParams {
    /// [CZ06] section V-B: α = 0.25, β = 0.75, γ = 0.2, τ = 20 s.
    pub const fn cz06() -> Self {
        Self { increase: 0.25, decrease: 0.75, threshold: 0.2, interval: Duration::from_secs(20) }
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
        let Self { increase, decrease, threshold, interval } = self;
        check("beta", decrease, decrease > 0.0 && decrease < 1.0, "above 0 and below 1")?;
        check("alpha", increase, increase > 0.0 && increase <= 1.0, "above 0, 1 at most")?;
        check("gamma", threshold, threshold > 0.0 && threshold.is_finite(), "above 0")?;
        check_time("interval", interval)?;
        Ok(self)
    }

    /// One connection.
    fn begin(&self, _: &FlowRole) -> Iimd {
        Iimd { params: *self, connections: 1.0, least: None }
    }
}

/// The law's state at one flow.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Iimd {
    params: IimdParams,
    /// `n`, a real number.
    connections: f64,
    least: Option<Duration>,
}

impl Iimd {
    /// [CZ06] eq. (20), once per interval.
    fn step(&mut self, average: Duration) {
        let least = self.least.map_or(average, |least| least.min(average));
        self.least = Some(least);
        let queueing = average.saturating_sub(least);
        let congested = queueing > least.mul_f64(self.params.threshold);
        let kept = if congested { self.params.decrease } else { 1.0 };
        self.connections = kept * self.connections + self.params.increase / self.connections;
    }

    /// The path has changed: the least round-trip time is learnt anew ([CZ06] section IV-C).
    pub fn on_route_change(&mut self) {
        self.least = None;
    }
}

impl ConnectionLaw for Iimd {
    fn interval(&self) -> Duration {
        self.params.interval
    }

    fn on_interval(&mut self, flow: &FlowView) -> u32 {
        if let Some(average) = flow.round_trip {
            self.step(average);
        }
        whole(libm::round(self.connections), u32::MAX)
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::conformance::drift;
    use evenair_units::Bytes;

    const LEAST: Duration = Duration::from_millis(168);

    #[test]
    fn it_climbs_and_falls_as_fast_as_the_paper_says() {
        // [CZ06] section IV-C: up from N₂ to N₁ in τ/(2α)·(N₁² − N₂²) s, down in (τ/α)·ln(N₁/N₂) s.
        let mut law = IimdParams::cz06().begin(&FlowRole { payload: Bytes::new(1000) });
        law.step(LEAST);
        let mut intervals = 0.0;
        let from = law.connections;
        while law.connections < 5.0 {
            law.step(LEAST);
            intervals += 1.0;
        }
        let predicted = (law.connections * law.connections - from * from) / (2.0 * 0.25);
        // The steps are whole: the sum of squares (α/n)² is what the fluid leaves out.
        assert!((intervals / predicted - 1.0).abs() < 0.05, "{intervals} {predicted}");
    }

    #[test]
    fn the_mean_step_of_the_machine_is_the_drift() {
        for (average, bit) in [(LEAST, 0.0), (LEAST * 2, 1.0)] {
            let mut law = IimdParams::cz06().begin(&FlowRole { payload: Bytes::new(1000) });
            law.step(LEAST);
            // Per interval of 20 s; α = 1 − β: the decrease (β − 1)n is −αn.
            let per_interval = 20.0 * connections_drift(law.params.gain(), law.connections, bit);
            drift(&law, |law| law.connections, &[(1.0, &|law| law.step(average))], per_interval, 1e-12);
        }
    }
}
