//! Wired links: the cost of their capacity.

use libm::{exp, log, log1p};

/// A link that conflicts with no other.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Wire {
    /// Carries its capacity and not more.
    Capacity(f64),
    /// Carries everything, at the price of the share that a full DropTail queue refuses, `(y − C)⁺/y`
    /// ([Chen10] eq. (5.34), [CZ06] eq. (2)): a penalty in place of a bound, Kelly's relaxation.
    DropTail(f64),
    /// The same without the corner: `ln(1 + exp(β(y − C)/y))/β` ([CZ06] eq. (12)).
    Smoothed {
        /// The capacity.
        capacity: f64,
        /// How sharp the corner is.
        beta: f64,
    },
}

impl Wire {
    /// The capacity, in the unit of rates.
    pub const fn capacity(self) -> f64 {
        match self {
            Self::Capacity(capacity) | Self::DropTail(capacity) | Self::Smoothed { capacity, .. } => capacity,
        }
    }

    /// The price at a load; none for a link that is bounded instead of priced.
    pub fn price(self, load: f64) -> Option<f64> {
        match self {
            Self::Capacity(_) => None,
            Self::DropTail(capacity) => Some(if load > capacity { (load - capacity) / load } else { 0.0 }),
            Self::Smoothed { capacity, beta } => Some(soft_plus(beta * (1.0 - capacity / load)) / beta),
        }
    }

    /// The cost of the whole load: the integral of the price from zero ([Chen10] eq. (5.35), (5.39)).
    pub fn cost(self, load: f64) -> f64 {
        match self {
            Self::DropTail(capacity) if load > capacity => load - capacity - capacity * log(load / capacity),
            Self::Capacity(_) | Self::DropTail(_) => 0.0,
            Self::Smoothed { .. } => {
                // Simpson's rule, in panels that are fine where the corner is.
                let panels = 2000;
                let h = load / f64::from(panels);
                let f = |y: f64| if y > 0.0 { self.price(y).expect("priced") } else { 0.0 };
                let sum: f64 = (0..panels)
                    .map(|i| {
                        f(h * f64::from(i)) + 4.0 * f(h * (f64::from(i) + 0.5)) + f(h * f64::from(i + 1))
                    })
                    .sum();
                sum * h / 6.0
            }
        }
    }

    /// The least price that no load reaches.
    pub(crate) fn price_max(self) -> f64 {
        match self {
            Self::Capacity(_) => f64::INFINITY,
            Self::DropTail(_) => 1.0,
            Self::Smoothed { beta, .. } => soft_plus(beta) / beta,
        }
    }

    /// The load at a price, the greatest of them, and how fast it grows with the price.
    pub(crate) fn load(self, price: f64) -> (f64, f64) {
        match self {
            Self::Capacity(capacity) => (capacity, 0.0),
            Self::DropTail(capacity) => {
                let left = 1.0 - price;
                (capacity / left, capacity / (left * left))
            }
            Self::Smoothed { capacity, beta } => {
                // β(1 − C/y) = ln(e^{βp} − 1) = βp + ln(1 − e^{−βp})
                let grown = -libm::expm1(-beta * price);
                let left = 1.0 - price - log(grown) / beta;
                (capacity / left, capacity / (left * left) / grown)
            }
        }
    }

    /// `max_y price·y − cost(y)`.
    pub(crate) fn conjugate(self, price: f64) -> f64 {
        match self {
            Self::Capacity(capacity) => price * capacity,
            Self::DropTail(capacity) => -capacity * log1p(-price),
            Self::Smoothed { .. } => {
                let (load, _) = self.load(price);
                price * load - self.cost(load)
            }
        }
    }
}

/// `ln(1 + e^x)` without overflow.
fn soft_plus(x: f64) -> f64 {
    x.max(0.0) + log1p(exp(-x.abs()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn price_load_cost_and_conjugate_agree(
            capacity in 0.1f64..10.0, beta in 5.0f64..60.0, over in 1.01f64..3.0, smooth in any::<bool>(),
        ) {
            let wire = if smooth { Wire::Smoothed { capacity, beta } } else { Wire::DropTail(capacity) };
            let load = capacity * over;
            let price = wire.price(load).unwrap();
            let (back, slope) = wire.load(price);
            prop_assert!((back / load - 1.0).abs() < 1e-9 && price < wire.price_max());
            let h = 1e-6;
            let numeric = (wire.load(price + h).0 - wire.load(price - h).0) / (2.0 * h);
            prop_assert!((numeric / slope - 1.0).abs() < 1e-3, "{numeric} {slope}");
            let numeric = (wire.cost(load + h) - wire.cost(load - h)) / (2.0 * h);
            prop_assert!((numeric - price).abs() < 1e-5);
            prop_assert!((wire.conjugate(price) + wire.cost(load) - price * load).abs() < 1e-7 * load);
        }
    }

    #[test]
    fn the_smoothed_price_becomes_droptails() {
        // [CZ06]: g_j → p_j as β → ∞
        let smooth = Wire::Smoothed { capacity: 1.0, beta: 1e5 };
        for load in [0.5, 0.9, 1.1, 2.0] {
            let sharp = Wire::DropTail(1.0).price(load).unwrap();
            assert!((smooth.price(load).unwrap() - sharp).abs() < 1e-5);
        }
    }
}
