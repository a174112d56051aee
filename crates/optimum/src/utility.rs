//! Utility functions of a flow's rate.

mod own;
mod points;

pub use points::Points;

use libm::{exp, expm1, log, pow, sqrt, tanh};
use std::fmt;
use std::sync::Arc;

/// A strictly concave, increasing utility of a user's own.
pub trait Concave: fmt::Debug + Send + Sync {
    /// The utility of a rate.
    fn of(&self, rate: f64) -> f64;
    /// Its derivative: positive, falling from infinity towards zero.
    fn price(&self, rate: f64) -> f64;
}

/// A strictly concave utility.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Utility {
    /// `weight·x^(1−α)/(1−α)`; at α = 1 `weight·log x`. α = 1 is proportional fairness, α = 2 the utility of TCP
    /// Reno, and max-min fairness the limit of large α.
    AlphaFair {
        /// The weight.
        weight: f64,
        /// How much fairness counts, above 0.
        alpha: f64,
    },
    /// The utility of E-MULTCP ([CZ06] eq. (19)): `U'(x) = h⁻¹(weight/x²)`, `h(z) = (loss + z)·tanh(βz/2)`;
    /// the utility is zero at the rate with price one.
    LossyConnections {
        /// `2S²/T²`, in the square of the rates' unit.
        weight: f64,
        /// `Σε`: the channel's losses on the way.
        loss: f64,
        /// β of the smoothed congestion bit, [CZ06] eq. (13).
        beta: f64,
    },
    /// A user's own.
    Given(Arc<dyn Concave>),
    /// A table; straight lines between its points, so that it is not strictly concave: Clarabel solves for it.
    Points(Points),
}

impl Utility {
    /// `−weight/x`: α-fairness with α = 2, which `n = kT` connections of TCP Reno maximise ([Chen10] Theorem 2).
    ///
    /// The weight is 2k² for the fixed point of [Chen10] eq. (5.2) (its (5.19) lacks the 2, its (5.21) has it), with `k`
    /// in units of the capacity: `k/C`, `C` the segments per second of a link that is always on the air.
    pub const fn inverse(weight: f64) -> Self {
        Self::AlphaFair { weight, alpha: 2.0 }
    }

    /// `weight·log x`: proportional fairness.
    pub const fn log(weight: f64) -> Self {
        Self::AlphaFair { weight, alpha: 1.0 }
    }

    /// The fault of the parameters, if they have one.
    pub(crate) fn mistake(&self) -> Option<String> {
        let positive = |name: &str, x: f64| {
            (!(x > 0.0 && x.is_finite())).then(|| format!("{name} = {x}; it must be above 0 and finite"))
        };
        match *self {
            Self::AlphaFair { weight, alpha } => {
                positive("the weight", weight).or_else(|| positive("alpha", alpha))
            }
            Self::LossyConnections { weight, loss, beta } => {
                positive("the weight", weight).or_else(|| positive("beta", beta)).or_else(|| {
                    (!(0.0..1.0).contains(&loss)).then(|| format!("loss = {loss}; it must be in 0..1"))
                })
            }
            Self::Given(_) | Self::Points(_) => None,
        }
    }

    /// The utility of a rate.
    pub fn of(&self, rate: f64) -> f64 {
        match self {
            Self::AlphaFair { weight, alpha } if is(*alpha, 1.0) => weight * log(rate),
            Self::AlphaFair { weight, alpha } if is(*alpha, 2.0) => -weight / rate,
            Self::AlphaFair { weight, alpha } => weight * pow(rate, 1.0 - alpha) / (1.0 - alpha),
            Self::LossyConnections { .. } => {
                let from = self.rate(1.0);
                // In log x the integrand is smooth; Simpson's rule on 400 panels is good to ten digits.
                let (a, b) = (log(from), log(rate));
                let (panels, f) = (400, |t: f64| self.price(exp(t)) * exp(t));
                let h = (b - a) / f64::from(panels);
                let middle: f64 = (0..panels)
                    .map(|i| {
                        f(a + h * f64::from(i))
                            + 4.0 * f(a + h * (f64::from(i) + 0.5))
                            + f(a + h * f64::from(i + 1))
                    })
                    .sum();
                middle * h / 6.0
            }
            Self::Given(own) => own.of(rate),
            Self::Points(table) => table.of(rate),
        }
    }

    /// Its derivative, the price at which this rate is wanted.
    pub fn price(&self, rate: f64) -> f64 {
        match self {
            Self::AlphaFair { weight, alpha } if is(*alpha, 1.0) => weight / rate,
            Self::AlphaFair { weight, alpha } if is(*alpha, 2.0) => weight / (rate * rate),
            Self::AlphaFair { weight, alpha } => weight * pow(rate, -alpha),
            Self::LossyConnections { .. } => solve_decreasing(|price| self.rate(price), rate),
            Self::Given(own) => own.price(rate),
            Self::Points(table) => table.price(rate),
        }
    }

    /// The rate wanted at a price: the inverse of [`Self::price`].
    pub fn rate(&self, price: f64) -> f64 {
        match self {
            Self::AlphaFair { weight, alpha } if is(*alpha, 1.0) => weight / price,
            Self::AlphaFair { weight, alpha } if is(*alpha, 2.0) => sqrt(weight / price),
            Self::AlphaFair { weight, alpha } => pow(weight / price, 1.0 / alpha),
            Self::LossyConnections { weight, loss, beta } => {
                sqrt(weight / ((loss + price) * tanh(beta * price / 2.0)))
            }
            Self::Given(own) => solve_decreasing(|rate| own.price(rate), price),
            Self::Points(table) => table.rate(price),
        }
    }

    /// How fast the wanted rate falls with the price, a positive number.
    pub(crate) fn slope(&self, price: f64) -> f64 {
        match self {
            Self::AlphaFair { alpha, .. } => self.rate(price) / (alpha * price),
            Self::LossyConnections { loss, beta, .. } => {
                // d log h/dz = 1/(loss + z) + β/sinh(βz); x falls with the root of h.
                let sinh = 0.5 * (expm1(beta * price) - expm1(-beta * price));
                0.5 * self.rate(price) * (1.0 / (loss + price) + beta / sinh)
            }
            Self::Given(_) => {
                let h = price * 1e-5;
                (self.rate(price - h) - self.rate(price + h)) / (2.0 * h)
            }
            Self::Points(_) => 0.0,
        }
    }

    /// `max_x U(x) − price·x`.
    pub(crate) fn conjugate(&self, price: f64) -> f64 {
        let rate = self.rate(price);
        self.of(rate) - price * rate
    }

    /// How far a rate and a price are from belonging together, in the utility's unit.
    pub(crate) fn mismatch(&self, rate: f64, price: f64) -> f64 {
        match self {
            // At a point of the table any price between two slopes is right.
            Self::Points(_) => self.conjugate(price) - (self.of(rate) - price * rate),
            _ => (rate * (self.price(rate) - price)).abs(),
        }
    }
}

/// Whether α is 1 or 2, the usual values, to the last digit.
fn is(alpha: f64, one: f64) -> bool {
    (alpha - one).abs() < f64::EPSILON
}

/// Where a decreasing positive function of a positive number takes a value: bisection in the logarithm.
fn solve_decreasing(f: impl Fn(f64) -> f64, value: f64) -> f64 {
    let (mut low, mut high) = (1.0, 1.0);
    while f(low) < value && low > 1e-300 {
        low *= 1e-2;
    }
    while f(high) > value && high < 1e300 {
        high *= 1e2;
    }
    for _ in 0..200 {
        let middle = sqrt(low) * sqrt(high);
        if middle <= low || middle >= high {
            break;
        }
        if f(middle) > value { low = middle } else { high = middle }
    }
    sqrt(low) * sqrt(high)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[derive(Debug)]
    struct LogLessInverse;

    impl Concave for LogLessInverse {
        fn of(&self, rate: f64) -> f64 {
            log(rate) - rate.recip()
        }
        fn price(&self, rate: f64) -> f64 {
            rate.recip() + rate.powi(-2)
        }
    }

    fn utilities() -> impl Strategy<Value = Utility> {
        let alpha = prop::sample::select(vec![0.5, 1.0, 2.0, 3.0]);
        prop_oneof![
            (1e-3f64..1e3, alpha).prop_map(|(weight, alpha)| Utility::AlphaFair { weight, alpha }),
            (0.1f64..10.0, 0.0f64..0.1, 5.0f64..200.0)
                .prop_map(|(weight, loss, beta)| Utility::LossyConnections { weight, loss, beta }),
            Just(Utility::Given(Arc::new(LogLessInverse))),
        ]
    }

    proptest! {
        #[test]
        fn rate_price_and_slope_are_one_function(utility in utilities(), rate in 0.05f64..10.0) {
            let price = utility.price(rate);
            prop_assert!((utility.rate(price) / rate - 1.0).abs() < 1e-9);
            let h = rate * 1e-5;
            let numeric = (utility.of(rate + h) - utility.of(rate - h)) / (2.0 * h);
            prop_assert!((numeric / price - 1.0).abs() < 1e-4, "{numeric} {price}");
            let h = price * 1e-5;
            let numeric = (utility.rate(price - h) - utility.rate(price + h)) / (2.0 * h);
            prop_assert!((numeric / utility.slope(price) - 1.0).abs() < 1e-4);
            prop_assert!(utility.mistake().is_none());
        }
    }
}
