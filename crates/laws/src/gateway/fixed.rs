//! Rates as they were configured.
//!
//! # Law
//! `C`, for all together, or shared by weight: `b_i = C·w_i/Σw`; or each `b_i` as it stands.
//!
//! # Source
//! [Jam10] section 6.2.3 (J9): static limits, for all or for each flow, computed off-line.
//!
//! # Symbols
//! `C` → [`FixedRateParams::rate`]; `w_i` → [`ClassRole::weight`](super::ClassRole::weight); `b_i` →
//! [`FixedRateParams::rates`] \[bit/s\].
//!
//! # Signals
//! None.
//!
//! # Deviations
//! None.
//!
//! # Example
//! ```
//! use evenair_laws::Parameters;
//! use evenair_laws::gateway::{ClassRole, FixedRateParams, GatewayLaw, GatewayRole};
//! use evenair_units::Rate;
//! let classes = [1.0, 3.0].map(|weight| ClassRole { weight, ..ClassRole::default() });
//! let params = FixedRateParams { rate: Some(Rate::from_kbps(400)), shared: true, ..FixedRateParams::default() };
//! let law = params.begin(&GatewayRole { classes: classes.into() });
//! assert_eq!(law.at_start().each, [Rate::from_kbps(100), Rate::from_kbps(300)]);
//! ```

use super::{Allocation, Decision, GatewayLaw, GatewayRole, GatewayView, NewClasses, Reason, Step};
use crate::{BadParameter, Parameters, check};
use alloc::vec::Vec;
use evenair_units::{Duration, Rate};

/// Parameters of the law.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(default, deny_unknown_fields)
)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct FixedRateParams {
    /// For all classes together; no limit, where neither this nor `rates` is given.
    pub rate: Option<Rate>,
    /// Whether each class has a bucket of its own, with its share by weight.
    pub shared: bool,
    /// The classes' own, in their order, in the place of `rate`.
    pub rates: Vec<Rate>,
}

impl Parameters for FixedRateParams {
    type Surroundings = ();
    type Place = GatewayRole;
    type Law = FixedRate;

    fn validated(self) -> Result<Self, BadParameter> {
        let count = self.rates.len() as f64;
        check("rates", count, self.rates.is_empty() || self.rate.is_none(), "not beside \"rate\"")?;
        let zero = self.rates.iter().chain(&self.rate).any(|rate| rate.as_bps() == 0);
        check("rate", 0.0, !zero, "above 0")?;
        Ok(self)
    }

    fn begin(&self, role: &GatewayRole) -> FixedRate {
        let shared = self.rate.filter(|_| self.shared);
        let each = shared.map_or_else(|| self.rates.clone(), |capacity| role.split(capacity));
        let least = self.rates.iter().min().copied();
        FixedRate { total: self.rate.filter(|_| !self.shared), shared, least, each }
    }
}

impl GatewayRole {
    /// Each class's part of a total by weight, to the nearest bit: at least one, if there is any.
    pub fn split(&self, total: Rate) -> Vec<Rate> {
        let sum: f64 = self.classes.iter().map(|class| class.weight).sum();
        debug_assert!(self.classes.iter().all(|class| class.weight > 0.0), "a weight is above zero");
        let part = |weight: f64| libm::round(total.as_bps() as f64 * weight / sum) as u64;
        let least = total.as_bps().min(1);
        self.classes.iter().map(|class| Rate::from_bps(part(class.weight).max(least))).collect()
    }
}

/// The law's state at one gateway.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct FixedRate {
    total: Option<Rate>,
    /// The rate that the classes share.
    shared: Option<Rate>,
    /// Of the classes' own rates.
    least: Option<Rate>,
    each: Vec<Rate>,
}

impl GatewayLaw for FixedRate {
    /// The law has no input; the interval only sets how often the host runs it.
    fn interval(&self) -> Duration {
        Duration::from_secs(60)
    }

    fn at_start(&self) -> Allocation {
        Allocation { total: self.total, each: self.each.clone(), decision: Decision::default() }
    }

    /// A class that stays keeps its own rate, and a new one gets the least of the given rates; a shared rate
    /// is divided again.
    fn on_classes(&mut self, classes: &NewClasses) -> Allocation {
        if let Some(capacity) = self.shared {
            self.each = classes.role.split(capacity);
        } else if let Some(least) = self.least {
            self.each = classes.carry(&self.each, least);
        }
        let decision = Decision { step: Step::Hold, reason: Reason::Reconfigured, class: None };
        Allocation { decision, ..self.at_start() }
    }

    fn on_epoch(&mut self, _: &GatewayView) -> Allocation {
        let decision = Decision { step: Step::Hold, reason: Reason::Configured, class: None };
        Allocation { decision, ..self.at_start() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gateway::ClassRole;
    use alloc::string::ToString;
    use evenair_units::Instant;

    #[test]
    fn each_has_its_own_or_all_have_one() {
        let role = GatewayRole { classes: [ClassRole::default(); 2].into() };
        let rates: Vec<_> = [60, 40].map(Rate::from_kbps).into();
        let mut law = FixedRateParams { rates: rates.clone(), ..FixedRateParams::default() }.begin(&role);
        assert_eq!((law.at_start().total, law.at_start().each), (None, rates));
        let capacity = Some(Rate::from_kbps(320));
        law = FixedRateParams { rate: capacity, ..FixedRateParams::default() }.begin(&role);
        let view = GatewayView { now: Instant::ZERO, interval: Duration::ZERO, classes: Vec::new() };
        assert_eq!((law.on_epoch(&view).total, law.on_epoch(&view).each.len()), (capacity, 0));
        let none = FixedRateParams { rate: capacity, shared: true, ..FixedRateParams::default() };
        assert_eq!(none.begin(&GatewayRole::default()).at_start().each.len(), 0);
    }

    #[test]
    fn total_is_split_to_the_bit_and_closes_no_class() {
        let split = |total: u64, weights: &[f64]| -> Vec<u64> {
            let class = |&weight: &f64| ClassRole { weight, ..ClassRole::default() };
            let role = GatewayRole { classes: weights.iter().map(class).collect() };
            role.split(Rate::from_bps(total)).iter().map(|rate| rate.as_bps()).collect()
        };
        assert_eq!(split(1_000_000, &[1.0, 2.0]), [333_333, 666_667]);
        assert_eq!(split(10, &[1.0, 99.0]), [1, 10]);
        assert_eq!(split(0, &[1.0, 1.0]), [0, 0]);
    }

    #[test]
    fn one_rate_or_those_of_each_above_zero() {
        let [none, some] = [0, 60].map(Rate::from_kbps);
        let with = |(rate, rates): (Option<Rate>, &[Rate])| FixedRateParams {
            rate,
            rates: rates.into(),
            ..FixedRateParams::default()
        };
        let both = (Some(some), &[some][..]);
        crate::ranges::assert_range(
            "rates",
            with,
            &[(Some(some), &[]), (None, &[some]), (None, &[])],
            &[both],
        );
        crate::ranges::assert_range("rate", with, &[], &[(Some(none), &[]), (None, &[some, none])]);
    }

    #[test]
    fn new_class_gets_the_least_rate_or_a_part() {
        let classes = NewClasses {
            role: GatewayRole { classes: [ClassRole::default(); 2].into() },
            was: [Some(0), None].into(),
        };
        let role = GatewayRole { classes: [ClassRole::default(); 3].into() };
        let kbps = |all: &[u64]| -> Vec<_> { all.iter().map(|&kbps| Rate::from_kbps(kbps)).collect() };
        let own = FixedRateParams { rates: kbps(&[60, 40, 50]), ..FixedRateParams::default() };
        let mut own = own.begin(&role);
        assert!(!own.interval().is_zero());
        let given = own.on_classes(&classes);
        assert_eq!((given.each, given.decision.to_string()), (kbps(&[60, 40]), "hold: reconfigured".into()));
        let rate = Some(Rate::from_kbps(90));
        let mut shared = FixedRateParams { rate, shared: true, ..FixedRateParams::default() }.begin(&role);
        assert_eq!(shared.on_classes(&classes).each, kbps(&[45, 45]));
        let view = GatewayView { now: Instant::ZERO, interval: Duration::ZERO, classes: Vec::new() };
        assert_eq!(shared.on_epoch(&view).decision.to_string(), "hold: configured");
    }
}
