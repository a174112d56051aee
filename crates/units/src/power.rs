//! Signal power on a logarithmic scale.

use core::fmt;
use core::ops::{Add, Sub};

/// A power level \[dBm\].
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
pub struct Dbm(f64);

impl Dbm {
    /// Returns a power of `level` dBm.
    #[inline]
    pub const fn new(level: f64) -> Self {
        Self(level)
    }

    /// Returns the level \[dBm\].
    #[inline]
    pub const fn level(self) -> f64 {
        self.0
    }
}

/// Returns the ratio of `self` to the other \[dB\].
impl Sub for Dbm {
    type Output = f64;
    #[inline]
    fn sub(self, other: Self) -> f64 {
        self.0 - other.0
    }
}

/// Returns the power raised by a gain \[dB\].
impl Add<f64> for Dbm {
    type Output = Self;
    #[inline]
    fn add(self, gain_db: f64) -> Self {
        Self(self.0 + gain_db)
    }
}

impl fmt::Display for Dbm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} dBm", self.0)
    }
}
