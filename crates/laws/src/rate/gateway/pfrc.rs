//! PFRC: a bucket for each class, and one capacity that they share by weight, found by feedback.
//!
//! # Law
//! Each epoch: if `r_i/b_i < γ` for any active class, less; else more. Then `b_i = C·w_i/Σw`.
//!
//! # Source
//! [Jam10] section 8.1 (J13), Alg. 4, Alg. 5, Alg. 6.
//!
//! # Symbols
//! `r_i` → served of a class per epoch \[bit/s\]; `b_i` → `each` \[bit/s\]; `γ` → [`PfrcParams::gamma`]; `δ` →
//! [`PfrcParams::epoch`]; `α`, `β` → [`PfrcParams::alpha`], [`PfrcParams::beta`]; `C_est`, `C_low`, `C_up` → `search`
//! \[bit/s\]; `w_i` → [`ClassRole::weight`](super::ClassRole::weight).
//!
//! # Signals
//! What was served of each class, and whether there was a packet of it.
//!
//! # Deviations
//! The thesis gives no first `C_est` (half way between the bounds), none for who is not active (what it would begin with), and
//! no least rate (a full packet per epoch). Before anything is seen all classes count as active. Without bounds the gateway is
//! open for one epoch, and what it carried then is `C_up`.
//!
//! # Example
//! ```
//! use evenair_laws::Parameters;
//! use evenair_laws::rate::gateway::{ClassRole, GatewayLaw, GatewayRole, PfrcParams};
//! use evenair_units::Rate;
//! let class = ClassRole { link_rate: Some(Rate::from_kbps(900)), ..ClassRole::default() };
//! let law = PfrcParams::default().begin(&GatewayRole { classes: [class; 3].into() });
//! // Half way between W/3 and W, a third for each.
//! assert_eq!(law.at_start().each, [Rate::from_kbps(200); 3]);
//! ```

use super::search::{Activity, Search, bounds_of};
use super::{
    Allocation, CapacityBounds, Decision, GatewayLaw, GatewayRole, GatewayView, OnChange, Reason,
    SearchMethod, Step, rate,
};
use crate::{BadParameter, Parameters, check, check_time};
use alloc::vec::Vec;
use evenair_units::{Duration, Rate};

/// Parameters of the law.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(default, deny_unknown_fields)
)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct PfrcParams {
    /// How the capacity is sought.
    pub search: SearchMethod,
    /// Below this share of what it was given a class is starved.
    pub gamma: f64,
    /// What an exponential search increases by.
    pub alpha: f64,
    /// What an exponential search decreases by.
    pub beta: f64,
    /// How often the law runs.
    pub epoch: Duration,
    /// The least capacity, instead of that of section 7.5.2.
    pub capacity_low: Option<Rate>,
    /// The greatest capacity, instead of that of section 7.5.2.
    pub capacity_high: Option<Rate>,
    /// What a change of the active classes does.
    pub on_change: OnChange,
}

impl PfrcParams {
    /// [Jam10] section 8.2: δ = 10 s, γ = 0.7, binary search; α and β of section 8.3.
    pub const fn jam10() -> Self {
        Self {
            search: SearchMethod::Binary,
            gamma: 0.7,
            alpha: 1.1,
            beta: 0.9,
            epoch: Duration::from_secs(10),
            capacity_low: None,
            capacity_high: None,
            on_change: OnChange::Restart,
        }
    }
}

impl Default for PfrcParams {
    fn default() -> Self {
        Self::jam10()
    }
}

impl Parameters for PfrcParams {
    type Surroundings = ();
    type Place = GatewayRole;
    type Law = Pfrc;

    fn validated(self) -> Result<Self, BadParameter> {
        check("gamma", self.gamma, self.gamma > 0.0 && self.gamma <= 1.0, "above 0, at most 1")?;
        check("alpha", self.alpha, self.alpha > 1.0 && self.alpha <= 10.0, "above 1, at most 10")?;
        check("beta", self.beta, self.beta > 0.0 && self.beta < 1.0, "between 0 and 1")?;
        check_time("epoch", self.epoch)?;
        if let (Some(low), Some(high)) = (self.capacity_low, self.capacity_high) {
            check("capacity_low", low.as_bps() as f64, low < high, "below capacity_high")?;
        }
        Ok(self)
    }

    fn begin(&self, role: &GatewayRole) -> Pfrc {
        let bounds = bounds_of(role.classes.iter(), self.capacity_low, self.capacity_high);
        let search =
            bounds.map(|bounds| Search::new(self.search, (self.alpha, self.beta), self.epoch, bounds));
        let weights = role.classes.iter().map(|class| class.weight).collect();
        let links = role.classes.iter().map(|class| class.link_rate.map_or(0, Rate::as_bps)).collect();
        let activity = Activity::new(role.classes.len(), 1);
        let mut law = Pfrc { params: *self, weights, links, activity, search, each: Vec::new() };
        law.share();
        law
    }
}

/// The law's state at one gateway.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Pfrc {
    params: PfrcParams,
    weights: Vec<f64>,
    /// `W_j`, zero where it is not known \[bit/s\].
    links: Vec<u64>,
    activity: Activity,
    /// None before there are bounds.
    search: Option<Search>,
    /// `b_i` \[bit/s\].
    each: Vec<f64>,
}

impl Pfrc {
    /// Whether a class has a share of the capacity: all have, before anything is seen.
    fn counts(&self, class: usize) -> bool {
        !self.activity.any() || self.activity.is_active(class)
    }

    /// Each its share by weight.
    fn share(&mut self) {
        let Some(search) = &self.search else { return };
        let weights: f64 = self.active().map(|class| self.weights[class]).sum();
        let share = |class: usize| {
            let weight = self.weights[class];
            let newcomer = if self.counts(class) { 0.0 } else { weight };
            search.estimate * weight / (weights + newcomer)
        };
        self.each = (0..self.weights.len()).map(share).collect();
    }

    fn active(&self) -> impl Iterator<Item = usize> {
        (0..self.weights.len()).filter(|&class| self.counts(class))
    }

    fn bounds(&self) -> Option<CapacityBounds> {
        let known = self.active().map(|class| super::ClassRole {
            link_rate: (self.links[class] > 0).then(|| Rate::from_bps(self.links[class])),
            ..super::ClassRole::default()
        });
        let roles: Vec<_> = known.collect();
        bounds_of(roles.iter(), self.params.capacity_low, self.params.capacity_high)
    }

    fn allocation(&self, step: Step, reason: Reason, class: Option<u32>) -> Allocation {
        let each = self.each.iter().map(|&bps| rate(bps)).collect();
        Allocation { total: None, each, decision: Decision { step, reason, class } }
    }
}

impl GatewayLaw for Pfrc {
    fn interval(&self) -> Duration {
        self.params.epoch
    }

    fn at_start(&self) -> Allocation {
        self.allocation(Step::Start, Reason::Configured, None)
    }

    fn on_epoch(&mut self, view: &GatewayView<'_>) -> Allocation {
        let first = !self.activity.any();
        let change = self.activity.observe(view);
        let measured: f64 = self.active().map(|class| view.rate(class)).sum();
        if view.interval.is_zero() || !self.activity.any() {
            return self.allocation(Step::Hold, Reason::Idle, None);
        }
        let bounds = self.bounds();
        let Some(search) = &mut self.search else {
            let high = measured.max(1.0);
            let bounds = bounds.unwrap_or(CapacityBounds { low: high / 3.0, high });
            let factors = (self.params.alpha, self.params.beta);
            self.search = Some(Search::new(self.params.search, factors, self.params.epoch, bounds));
            self.share();
            return self.allocation(Step::Start, Reason::Joined, change.joined);
        };
        let changed = change.joined.or(change.left);
        let reason = if change.joined.is_some() { Reason::Joined } else { Reason::Left };
        let (step, reason, class) =
            if changed.is_some() && (first || self.params.on_change == OnChange::Restart) {
                search.restart(bounds.unwrap_or(search.bounds));
                (Step::Start, reason, changed)
            } else if changed.is_some() {
                // Section 8.1.3: decreaseRates when a flow comes, increaseRates when one goes.
                (if reason == Reason::Joined { Step::Decrease } else { Step::Increase }, reason, changed)
            } else {
                // [Jam10] Alg. 4.
                let starved = (0..self.weights.len())
                    .find(|&i| self.activity.is_active(i) && view.rate(i) < self.params.gamma * self.each[i]);
                match starved {
                    Some(class) => (Step::Decrease, Reason::Starved, Some(class as u32)),
                    None => (Step::Increase, Reason::Satisfied, None),
                }
            };
        match step {
            Step::Increase => search.increase(measured),
            Step::Decrease => search.decrease(measured),
            Step::Start | Step::Hold => (),
        }
        self.share();
        self.allocation(step, reason, class)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::backoff::Volume;
    use crate::rate::gateway::{ClassRole, ClassView};
    use evenair_units::Instant;

    fn role(weights: &[f64]) -> GatewayRole {
        let link_rate = Some(Rate::from_kbps(900));
        let class = |&weight| ClassRole { weight, link_rate, ..ClassRole::default() };
        GatewayRole { classes: weights.iter().map(class).collect() }
    }

    /// One epoch of ten seconds in which the classes were served so fast.
    fn epoch(law: &mut Pfrc, kbps: &[u64]) -> (Step, Vec<u64>) {
        let seen = |&kbps: &u64| {
            let served = Volume { packets: kbps, bytes: kbps * 1_250 };
            ClassView { arrived: served, served, ..ClassView::default() }
        };
        let classes: Vec<_> = kbps.iter().map(seen).collect();
        let view = GatewayView { now: Instant::ZERO, interval: Duration::from_secs(10), classes: &classes };
        let allocation = law.on_epoch(&view);
        (allocation.decision.step, allocation.each.iter().map(|rate| rate.as_bps()).collect())
    }

    /// W = 900 kb/s, two classes: bounds 300 and 900, first estimate 600.
    #[test]
    fn binary_search_is_algorithm_6() {
        let mut law = PfrcParams::jam10().begin(&role(&[1.0, 2.0]));
        assert_eq!(epoch(&mut law, &[150, 350]), (Step::Start, [200_000, 400_000].into()), "both came");
        // All got at least 0.7 of it: C_low = 600, C = (600 + 900)/2 = 750.
        assert_eq!(epoch(&mut law, &[200, 400]), (Step::Increase, [250_000, 500_000].into()));
        // 150 < 0.7·250: C_up = 630, C = (600 + 630)/2 = 615.
        assert_eq!(epoch(&mut law, &[150, 480]), (Step::Decrease, [205_000, 410_000].into()));
        // C_up has fallen for good: C = (600 + 630)/2 again.
        assert_eq!(epoch(&mut law, &[200, 400]), (Step::Increase, [205_000, 410_000].into()));
    }

    #[test]
    fn exponential_search_is_algorithm_5() {
        let params = PfrcParams { search: SearchMethod::Exponential, ..PfrcParams::jam10() };
        let mut law = params.begin(&role(&[1.0, 1.0]));
        epoch(&mut law, &[300, 300]);
        assert_eq!(epoch(&mut law, &[300, 300]), (Step::Increase, [330_000; 2].into()), "1.1·600");
        assert_eq!(epoch(&mut law, &[200, 300]), (Step::Decrease, [225_000; 2].into()), "0.9·500");
    }

    /// Section 8.1.3: decrease for who comes, increase for who goes; or all anew.
    #[test]
    fn who_comes_and_goes_takes_part() {
        let mut law = PfrcParams::jam10().begin(&role(&[1.0; 3]));
        epoch(&mut law, &[300, 300, 0]);
        epoch(&mut law, &[300, 300, 0]);
        assert_eq!(epoch(&mut law, &[300, 300, 10]), (Step::Start, [200_000; 3].into()));
        let params = PfrcParams { on_change: OnChange::Step, ..PfrcParams::jam10() };
        let mut law = params.begin(&role(&[1.0; 3]));
        epoch(&mut law, &[300, 300, 0]);
        assert_eq!(
            epoch(&mut law, &[300, 300, 10]),
            (Step::Decrease, [455_000.0 / 3.0; 3].map(|b| b as u64).into())
        );
        assert_eq!(epoch(&mut law, &[150, 150, 0]).0, Step::Increase);
    }
}
