//! A number between zero and one.

use core::fmt;

/// A probability in \[0, 1\].
#[derive(Clone, Copy, Debug, Default, PartialEq, PartialOrd)]
pub struct Probability(f64);

/// The value that was not a probability.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NotAProbability(pub f64);

impl fmt::Display for NotAProbability {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} is not a probability: it must lie between 0 and 1", self.0)
    }
}

impl core::error::Error for NotAProbability {}

impl Probability {
    /// It never happens.
    pub const ZERO: Self = Self(0.0);
    /// It always happens.
    pub const ONE: Self = Self(1.0);

    /// Accepts a value between zero and one.
    ///
    /// # Errors
    /// Names the value if it lies outside, or is not a number.
    #[inline]
    pub fn new(value: f64) -> Result<Self, NotAProbability> {
        if (0.0..=1.0).contains(&value) { Ok(Self(value)) } else { Err(NotAProbability(value)) }
    }

    /// The nearest probability: what is below zero or not a number becomes zero, what is above one becomes one.
    #[inline]
    pub const fn clamped(value: f64) -> Self {
        if value >= 1.0 {
            Self(1.0)
        } else if value > 0.0 {
            Self(value)
        } else {
            Self(0.0)
        }
    }

    /// The value.
    #[inline]
    pub const fn value(self) -> f64 {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_lies_outside_is_named() {
        assert_eq!(Probability::new(1.5), Err(NotAProbability(1.5)));
        assert!(Probability::new(f64::NAN).is_err());
        assert_eq!(Probability::clamped(f64::NAN), Probability::ZERO);
        assert_eq!(Probability::clamped(7.0), Probability::ONE);
    }
}
