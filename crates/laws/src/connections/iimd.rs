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
//! [`IimdParams::interval`]; `c` = α/τ \[1/s\]; `n` → [`Iimd::connections`].
//!
//! # Signals
//! The average round-trip time of each interval; the law keeps the least that it has seen.
//!
//! # Deviations
//! The paper does not say how a real number of connections becomes a whole one: rounded, at least one.
//!
//! # Example
//! ```
//! use evenair_laws::connections::{Iimd, IimdParams};
//! use evenair_units::Duration;
//! let mut law = Iimd::new(IimdParams::cz06());
//! law.on_interval(Duration::from_millis(168)); // nothing queues: 1 + 0.25/1
//! assert!((law.connections() - 1.25).abs() < 1e-12);
//! law.on_interval(Duration::from_millis(210)); // a quarter above the least: 0.75·1.25 + 0.25/1.25
//! assert!((law.connections() - 1.1375).abs() < 1e-12);
//! ```

use crate::{BadParameter, check};
use evenair_units::Duration;

/// Parameters of the law.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct IimdParams {
    /// α: how much is added, over the number that there is.
    pub increase: f64,
    /// β: what is left of the number when the path is congested.
    pub decrease: f64,
    /// γ: the queueing delay that counts as congestion, over the least round-trip time.
    pub threshold: f64,
    /// τ: how often the law runs.
    pub interval: Duration,
}

impl IimdParams {
    /// [CZ06] section V-B: α = 0.25, β = 0.75, γ = 0.2, τ = 20 s.
    pub const fn cz06() -> Self {
        Self { increase: 0.25, decrease: 0.75, threshold: 0.2, interval: Duration::from_secs(20) }
    }

    /// Checks the parameters.
    ///
    /// # Errors
    /// Names the first one outside its range.
    pub fn validated(self) -> Result<Self, BadParameter> {
        let Self { increase, decrease, threshold, interval } = self;
        check("decrease", decrease, decrease > 0.0 && decrease < 1.0, "above 0 and below 1")?;
        check("increase", increase, increase > 0.0 && increase <= 1.0, "above 0, 1 at most")?;
        check("threshold", threshold, threshold > 0.0 && threshold.is_finite(), "above 0")?;
        check("interval", interval.as_secs_f64(), !interval.is_zero(), "longer than no time")?;
        Ok(self)
    }

    /// `c` of the fluid model \[1/s\].
    pub fn gain(&self) -> f64 {
        self.increase / self.interval.as_secs_f64()
    }
}

/// The law's state at one flow.
#[derive(Clone, Debug, PartialEq)]
pub struct Iimd {
    params: IimdParams,
    connections: f64,
    least: Option<Duration>,
}

impl Iimd {
    /// One connection.
    pub const fn new(params: IimdParams) -> Self {
        Self { params, connections: 1.0, least: None }
    }

    /// [CZ06] eq. (20), once per interval.
    pub fn on_interval(&mut self, average: Duration) {
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

    /// `n`, a real number.
    pub const fn connections(&self) -> f64 {
        self.connections
    }

    /// How many connections are kept.
    pub fn whole(&self) -> u32 {
        // The cast saturates.
        libm::round(self.connections).max(1.0) as u32
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
    use proptest::prelude::*;

    const LEAST: Duration = Duration::from_millis(168);

    #[test]
    fn it_climbs_and_falls_as_fast_as_the_paper_says() {
        // [CZ06] section IV-C: up from N₂ to N₁ in τ/(2α)·(N₁² − N₂²) s, down in (τ/α)·ln(N₁/N₂) s.
        let mut law = Iimd::new(IimdParams::cz06());
        law.on_interval(LEAST);
        let mut intervals = 0.0;
        let from = law.connections();
        while law.connections() < 5.0 {
            law.on_interval(LEAST);
            intervals += 1.0;
        }
        let predicted = (law.connections() * law.connections() - from * from) / (2.0 * 0.25);
        // The steps are whole: the sum of squares (α/n)² is what the fluid leaves out.
        assert!((intervals / predicted - 1.0).abs() < 0.05, "{intervals} {predicted}");
    }

    #[test]
    fn the_mean_step_of_the_machine_is_the_drift() {
        for (average, bit) in [(LEAST, 0.0), (LEAST * 2, 1.0)] {
            let mut law = Iimd::new(IimdParams::cz06());
            law.on_interval(LEAST);
            let before = law.connections();
            law.on_interval(average);
            // α = 1 − β: the decrease (β − 1)n is −αn.
            let step = (law.connections() - before) / 20.0;
            assert!((step - connections_drift(law.params.gain(), before, bit)).abs() < 1e-12);
        }
    }

    proptest! {
        #[test]
        fn there_is_always_at_least_one(averages in prop::collection::vec(1u64..2_000, 0..300)) {
            let mut law = Iimd::new(IimdParams::cz06());
            for average in averages {
                law.on_interval(Duration::from_millis(average));
                prop_assert!(law.connections() >= 1.0 && law.whole() >= 1);
            }
        }
    }
}
