//! Utility functions of a flow's rate.

/// A strictly concave utility, with the rate in units of a link's capacity.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Utility {
    /// `−weight/x`: α-fairness with α = 2, what `n = kT` connections of TCP Reno maximise ([Chen10] Theorem 2).
    ///
    /// The weight is 2k² for the fixed point of [Chen10] eq. (5.2) (its (5.19) lacks the 2, its (5.21) has it), with `k`
    /// in units of the capacity: `k/C`, `C` the segments per second of a link that is always on the air.
    Inverse {
        /// The weight.
        weight: f64,
    },
    /// `weight·log x`: proportional fairness.
    Log {
        /// The weight.
        weight: f64,
    },
}

impl Utility {
    /// The utility of a rate.
    pub fn of(self, rate: f64) -> f64 {
        match self {
            Self::Inverse { weight } => -weight / rate,
            Self::Log { weight } => weight * libm::log(rate),
        }
    }

    /// Its derivative, the price at which this rate is wanted.
    pub fn price(self, rate: f64) -> f64 {
        match self {
            Self::Inverse { weight } => weight / (rate * rate),
            Self::Log { weight } => weight / rate,
        }
    }

    /// The rate wanted at a price: the inverse of [`Self::price`].
    pub fn rate(self, price: f64) -> f64 {
        match self {
            Self::Inverse { weight } => libm::sqrt(weight / price),
            Self::Log { weight } => weight / price,
        }
    }

    /// How fast the wanted rate falls with the price, a positive number.
    pub(crate) fn slope(self, price: f64) -> f64 {
        match self {
            Self::Inverse { .. } => self.rate(price) / (2.0 * price),
            Self::Log { .. } => self.rate(price) / price,
        }
    }

    /// The utility times a positive number.
    #[must_use]
    pub fn scaled(self, factor: f64) -> Self {
        match self {
            Self::Inverse { weight } => Self::Inverse { weight: weight * factor },
            Self::Log { weight } => Self::Log { weight: weight * factor },
        }
    }

    /// `max_x U(x) − price·x`.
    pub(crate) fn conjugate(self, price: f64) -> f64 {
        let rate = self.rate(price);
        self.of(rate) - price * rate
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn rate_inverts_price(weight in 1e-3f64..1e3, rate in 1e-3f64..10.0, log in any::<bool>()) {
            let utility = if log { Utility::Log { weight } } else { Utility::Inverse { weight } };
            prop_assert!((utility.rate(utility.price(rate)) / rate - 1.0).abs() < 1e-12);
            let h = rate * 1e-6;
            let numeric = (utility.of(rate + h) - utility.of(rate - h)) / (2.0 * h);
            prop_assert!((numeric / utility.price(rate) - 1.0).abs() < 1e-6);
        }
    }
}
