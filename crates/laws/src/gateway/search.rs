//! The thesis's form's search for the capacity: Alg. 2, 3, 5 and 6 of [Jam10], of which the last two share it
//! afterwards.

use super::{CapacityBounds, Tuning};

/// The least rate of an epoch \[bits per epoch\]: a full packet, or a class could never be seen again.
const PACKET_BITS: f64 = 12_000.0;

/// How the capacity is sought.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "kebab-case"))]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub enum SearchMethod {
    /// Half way to a bound; the bounds close in.
    #[default]
    Binary,
    /// In steps of alpha and beta.
    Exponential,
}

/// The thesis's form's reaction when the set of active classes changes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "kebab-case"))]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub enum OnChange {
    /// The bounds become those of the currently active classes, and the search restarts.
    Restart,
    /// The bounds stay; PFRC decreases for a class that comes and increases for one that goes, ARC forgets the greatest rates.
    #[default]
    Step,
}

/// The first value of the thesis's form's search, which the thesis leaves open.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "kebab-case"))]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub enum FirstEstimate {
    /// Half way between the bounds.
    Middle,
    /// At the lower bound, where no class starves yet.
    #[default]
    Low,
}

/// The estimate and the bounds that the search has left itself \[bit/s\].
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub(super) struct Search {
    method: SearchMethod,
    first: FirstEstimate,
    alpha: f64,
    beta: f64,
    bounds: CapacityBounds,
    /// `C_est`
    pub(super) estimate: f64,
    least: f64,
}

impl Search {
    /// At its first estimate.
    pub(super) fn new(tuning: &Tuning, bounds: CapacityBounds) -> Self {
        let Tuning { search: method, first, alpha, beta, epoch, .. } = *tuning;
        let least = PACKET_BITS / epoch.as_secs_f64();
        let mut search = Self { method, first, alpha, beta, bounds, estimate: 0.0, least };
        search.restart(bounds);
        search
    }

    pub(super) fn restart(&mut self, bounds: CapacityBounds) {
        self.bounds = bounds;
        self.set(match self.first {
            FirstEstimate::Middle => f64::midpoint(bounds.low, bounds.high),
            FirstEstimate::Low => bounds.low,
        });
    }

    /// The links are others: the search goes on from its estimate, as far as it lies between their bounds.
    pub(super) fn move_to(&mut self, bounds: CapacityBounds) {
        self.bounds = bounds;
        self.set(self.estimate.clamp(bounds.low, bounds.high));
    }

    /// [Jam10] Alg. 2, Alg. 3, Alg. 5, Alg. 6: `inc`; `measured` is `M`.
    pub(super) fn increase(&mut self, measured: f64) {
        match self.method {
            SearchMethod::Exponential => self.set(self.alpha * measured),
            SearchMethod::Binary => {
                self.bounds.low = measured;
                self.set(f64::midpoint(measured, self.bounds.high));
            }
        }
    }

    /// [Jam10] Alg. 2, Alg. 3, Alg. 5, Alg. 6: `dec`.
    pub(super) fn decrease(&mut self, measured: f64) {
        match self.method {
            SearchMethod::Exponential => self.set(self.beta * measured),
            SearchMethod::Binary => {
                self.bounds.high = measured;
                self.set(f64::midpoint(self.bounds.low, measured));
            }
        }
    }

    fn set(&mut self, estimate: f64) {
        self.estimate = estimate.max(self.least);
        debug_assert!(self.estimate.is_finite(), "an estimate without bound");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gateway::ArcParams;
    use evenair_units::Rate;

    #[test]
    fn search_begins_at_the_configured_estimate() {
        use crate::Parameters;
        use crate::gateway::{ClassRole, GatewayLaw, GatewayRole};
        let class = ClassRole { link_rate: Some(Rate::from_kbps(900)), ..ClassRole::default() };
        let role = GatewayRole { classes: [class; 3].into() };
        let at_start = |first| ArcParams { first, ..ArcParams::jam10() }.begin(&role).at_start().total;
        assert_eq!(at_start(FirstEstimate::Middle), Some(Rate::from_kbps(600)), "of W/3 and W");
        assert_eq!(at_start(FirstEstimate::Low), Some(Rate::from_kbps(300)));
    }
}
