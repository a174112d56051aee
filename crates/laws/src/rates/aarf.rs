//! AARF, adaptive automatic rate fallback: ARF that learns how long a mode lasts.
//!
//! # Law
//! As [ARF](super::arf), but each time the first frame in a faster mode fails, twice as many acknowledgements are needed for the next such
//! try, up to a maximum. Two failures in a row set the number back.
//!
//! # Source
//! M. Lacage, M. H. Manshaei and T. Turletti, "IEEE 802.11 rate adaptation: a practical approach", `MSWiM` 2004: twice, at most 50.
//!
//! # Symbols
//! The factor → [`AarfParams::factor`]; the maximum → [`AarfParams::successes_max`].
//!
//! # Signals
//! Whether each attempt was acknowledged.
//!
//! # Deviations
//! Those of ARF. The timer is never shorter than the acknowledgements that are needed.
//!
//! # Example
//! ```
//! use evenair_laws::Parameters;
//! use evenair_laws::rates::AarfParams;
//! assert_eq!(AarfParams::default().successes_max, 50);
//! assert!(AarfParams { factor: 0.5, ..AarfParams::default() }.validated().is_err());
//! ```

use super::RateRole;
use super::arf::{Arf, ArfParams, Growth};
use crate::{BadParameter, Parameters, check};

/// Parameters of the law.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(default, deny_unknown_fields)
)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct AarfParams {
    /// Acknowledged frames in a row after which the next mode up is tried, at first.
    pub successes: u32,
    /// Failures in a row after which the mode falls.
    pub failures: u32,
    /// Frames after which the next mode up is tried in any case.
    pub timer: u32,
    /// The factor by which the number of acknowledgements grows.
    pub factor: f64,
    /// The most acknowledgements that are needed.
    pub successes_max: u32,
}

impl Default for AarfParams {
    fn default() -> Self {
        let ArfParams { successes, failures, timer } = ArfParams::default();
        Self { successes, failures, timer, factor: 2.0, successes_max: 50 }
    }
}

impl AarfParams {
    const fn arf(&self) -> ArfParams {
        ArfParams { successes: self.successes, failures: self.failures, timer: self.timer }
    }
}

impl Parameters for AarfParams {
    type Surroundings = ();
    type Place = RateRole;
    type Law = Arf;

    fn validated(self) -> Result<Self, BadParameter> {
        self.arf().validated()?;
        check("factor", self.factor, (1.0..=1e3).contains(&self.factor), "1 to 1000")?;
        let enough = self.successes_max >= self.successes;
        check("successes_max", self.successes_max.into(), enough, "successes or more")?;
        Ok(self)
    }

    fn begin(&self, link: &RateRole) -> Arf {
        Arf::new(self.arf(), Growth { factor: self.factor, successes_max: self.successes_max }, link)
    }
}
