//! Utilities of a user's own, checked and made fit for the solvers.

use super::{Concave, Utility};
use libm::{exp, log};
use std::sync::Arc;

/// Rates below this share of the greatest count as none: there the utility goes on as a logarithm does, so that it has a price
/// for every rate, and a rate for every price.
const LEAST: f64 = 1e-6;
/// Concavity is checked at so many rates.
const LOOKS: u32 = 160;
/// The most that the derivative may be off against the utility's own differences, relative.
const OFF: f64 = 1e-4;

/// A utility between two rates, and on as a logarithm beyond them.
#[derive(Debug)]
struct Between {
    own: Arc<dyn Concave>,
    low: End,
    high: End,
}

/// A rate, its utility, and the derivative there.
#[derive(Clone, Copy, Debug)]
struct End {
    rate: f64,
    worth: f64,
    price: f64,
}

impl End {
    fn of(own: &dyn Concave, rate: f64) -> Self {
        Self { rate, worth: own.of(rate), price: own.price(rate) }
    }

    fn beyond(self, rate: f64) -> f64 {
        self.worth + self.price * self.rate * log(rate / self.rate)
    }

    fn price_beyond(self, rate: f64) -> f64 {
        self.price * self.rate / rate
    }
}

impl Concave for Between {
    fn of(&self, rate: f64) -> f64 {
        if rate < self.low.rate {
            self.low.beyond(rate)
        } else if rate > self.high.rate {
            self.high.beyond(rate)
        } else {
            self.own.of(rate)
        }
    }

    fn price(&self, rate: f64) -> f64 {
        if rate < self.low.rate {
            self.low.price_beyond(rate)
        } else if rate > self.high.rate {
            self.high.price_beyond(rate)
        } else {
            self.own.price(rate)
        }
    }
}

impl Utility {
    /// A utility of a user's own, of a flow that can have no more than a rate of `most`: from a millionth of that on it counts.
    ///
    /// # Errors
    /// Says between which rates it does not rise, is not strictly concave, or has a derivative that is not its own. The check
    /// takes 160 rates and cannot see between them.
    pub fn checked(own: Arc<dyn Concave>, most: f64) -> Result<Self, String> {
        if !(most > 0.0 && most.is_finite()) {
            return Err(format!("its flow can have a rate of {most}"));
        }
        let rate = |i: u32| {
            if i == LOOKS { most } else { most * exp(log(LEAST) * (1.0 - f64::from(i) / f64::from(LOOKS))) }
        };
        let mut before = End::of(&*own, rate(0));
        let low = before;
        before.check()?;
        for i in 1..=LOOKS {
            let next = End::of(&*own, rate(i));
            next.check()?;
            before.check_up_to(next)?;
            before = next;
        }
        Ok(Self::Given(Arc::new(Between { own, low, high: before })))
    }
}

impl End {
    fn check(self) -> Result<(), String> {
        let Self { rate, worth, price } = self;
        if !(worth.is_finite() && price.is_finite()) {
            return Err(format!(
                "at a rate of {rate:.4e} it is {worth}, and its derivative {price}: both must be finite"
            ));
        }
        if price <= 0.0 {
            return Err(format!(
                "at a rate of {rate:.4e} its derivative is {price:.3e}: it must rise up to all that the flow can have"
            ));
        }
        Ok(())
    }

    fn check_up_to(self, next: Self) -> Result<(), String> {
        let (a, b) = (self.rate, next.rate);
        if next.price >= self.price {
            return Err(format!(
                "between rates of {a:.4e} and {b:.4e} its derivative goes from {:.6e} to {:.6e}: it must fall (the utility be strictly concave); a utility of straight lines is a table of points",
                self.price, next.price
            ));
        }
        let (rises, least, most) = (next.worth - self.worth, next.price * (b - a), self.price * (b - a));
        // Differences of large numbers have few digits.
        let blur = OFF * most + 1e-13 * self.worth.abs().max(next.worth.abs());
        if rises < least - blur || rises > most + blur {
            return Err(format!(
                "between rates of {a:.4e} and {b:.4e} it rises by {rises:.4e}, and its derivative gives {least:.4e} to {most:.4e}"
            ));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A utility and its derivative, as two functions.
    struct Two<F, G>(F, G);

    impl<F, G> std::fmt::Debug for Two<F, G> {
        fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            f.write_str("two functions")
        }
    }

    impl<F: Fn(f64) -> f64 + Send + Sync, G: Fn(f64) -> f64 + Send + Sync> Concave for Two<F, G> {
        fn of(&self, rate: f64) -> f64 {
            self.0(rate)
        }
        fn price(&self, rate: f64) -> f64 {
            self.1(rate)
        }
    }

    fn checked(
        of: impl Fn(f64) -> f64 + Send + Sync + 'static,
        price: impl Fn(f64) -> f64 + Send + Sync + 'static,
    ) -> Result<Utility, String> {
        Utility::checked(Arc::new(Two(of, price)), 500.0)
    }

    #[test]
    fn utility_is_exact_in_range_and_smooth_beyond() {
        let utility = checked(|x| libm::log1p(x / 50.0), |x| 1.0 / (50.0 + x)).unwrap();
        assert!((utility.of(70.0) - libm::log1p(1.4)).abs() < 1e-15);
        for rate in [5e-4, 500.0] {
            let (before, after) = (rate * (1.0 - 1e-9), rate * (1.0 + 1e-9));
            assert!((utility.of(after) - utility.of(before)).abs() < 1e-7);
            assert!((utility.price(after) / utility.price(before) - 1.0).abs() < 1e-8);
        }
        for price in [1e-9, 1e-4, 1e-2, 1.0, 1e9] {
            assert!((utility.price(utility.rate(price)) / price - 1.0).abs() < 1e-9);
        }
    }

    #[test]
    fn invalid_utility_is_rejected() {
        let wrong = |result: Result<Utility, String>| result.unwrap_err();
        assert!(wrong(checked(|x| x * x, |x| 2.0 * x)).contains("must fall"));
        assert!(wrong(checked(|x| x, |_| 1.0)).contains("a table of points"));
        assert!(wrong(checked(|x| -x, |_| -1.0)).contains("it must rise"));
        assert!(wrong(checked(log, |x| 2.0 / x)).contains("its derivative gives"));
        assert!(wrong(checked(|x| log(x - 1.0), |x| 1.0 / (x - 1.0))).contains("both must be finite"));
        // It is concave up to 100 only.
        let kinked = |x: f64| if x < 100.0 { log(x) } else { log(100.0) + (x - 100.0) / 50.0 };
        let price = |x: f64| if x < 100.0 { 1.0 / x } else { 0.02 };
        assert!(wrong(checked(kinked, price)).contains("goes from 1.0"), "{}", wrong(checked(kinked, price)));
    }
}
