//! ARC: one bucket for all, its rate found by feedback.
//!
//! # Law
//! Each epoch: if `r_i/r_j < γ` and `r_i/rmax_i < θ` for any active classes i, j, less; else more.
//!
//! # Source
//! [Jam10] section 7.4, section 7.5.1 (J11), Alg. 1, Alg. 2, Alg. 3.
//!
//! # Symbols
//! `r_i` → served of a class per epoch \[bit/s\]; `rmax_i` → `greatest` \[bit/s\]; `γ`, `θ` → [`ArcParams::gamma`],
//! `theta`; `δ` → [`ArcParams::epoch`]; `α`, `β` → [`ArcParams::alpha`], [`ArcParams::beta`]; `C_est`, `C_low`,
//! `C_up` → `search` \[bit/s\].
//!
//! # Signals
//! Each class's service, and whether there was a packet of it; the corrected form also sees drops and backlogs.
//!
//! # Deviations
//! The thesis's form, where the thesis is silent or ambiguous:
//! - Alg. 1 requires all i, j, which never holds (i = j): "any", as in the text.
//! - Alg. 1 overwrites `rmax_i` before each increase, its text means the greatest so far ([`ArcParams::history`]).
//! - No first `C_est`: the lower bound, or half way between the bounds ([`ArcParams::first`]). Before
//!   anything is seen all classes count as active. No least rate: a full packet per epoch. Effect of a change
//!   of the active classes on the bounds: [`ArcParams::on_change`]. The defaults are as in
//!   [`pfrc`](super::pfrc).
//! - Section 7.7 takes the rates from the end hosts; here the gateway's queue measures them, as in section
//!   8.3.
//!
//! The corrected form (search: `feedback.rs`, judgement: `judgement.rs`):
//! - Rates are compared per weight.
//! - A class is limited, not starved, if its own queue overflowed or is not empty. A wait for tokens proves
//!   nothing where one bucket is for all: near classes empty it, and a far one's few packets wait, too.
//! - The bucket that is enough for a class of pages is unknown: a test distinguishes such a class from a
//!   starved one.
//!
//! # Example
//! ```
//! use evenair_laws::Parameters;
//! use evenair_laws::gateway::{ArcParams, ClassRole, GatewayLaw, GatewayRole};
//! use evenair_units::Rate;
//! let class = ClassRole { link_rate: Some(Rate::from_kbps(900)), ..ClassRole::default() };
//! let law = ArcParams::jam10().begin(&GatewayRole { classes: [class; 3].into() });
//! // W/3.
//! assert_eq!(law.at_start().total, Some(Rate::from_kbps(300)));
//! ```

use super::controller::{AnySearch, Controller, Verdict, allocation};
use super::judgement::Epoch;
use super::members::{Change, Members};
use super::search::Search;
use super::{
    Allocation, CapacityBounds, ClassView, FirstEstimate, Form, GatewayLaw, GatewayRole, GatewayView,
    NewClasses, OnChange, Reason, SearchMethod, Step, Tuning, rate, searching,
};
use crate::{BadParameter, Parameters};
use alloc::vec::Vec;
use evenair_units::{Duration, Rate};

/// The rate that the thesis's form compares a class's rate with: Alg. 1 and its text differ.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "kebab-case"))]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub enum RateHistory {
    /// Its greatest rate so far, as in the text of section 7.4.2.
    #[default]
    Maximum,
    /// Its last before an increase, as Alg. 1 is printed.
    Overwritten,
}

searching! {
    /// Parameters of the law.
    ArcParams {
        /// Below this share of the best class's rate a class may be starved.
        gamma: f64 = 0.9,
        /// Such a class is starved below this share of its greatest observed rate.
        theta,
        /// The rate that a class's rate is compared with (thesis's form).
        history: RateHistory = RateHistory::Maximum,
    }
}

impl ArcParams {
    /// [Jam10] section 7.6: δ = 10 s, γ = 0.9, θ = 0.95, binary search; α and β of section 7.7. The rest is ours.
    pub const fn jam10() -> Self {
        Self { form: Form::Thesis, ..Self::corrected() }
    }

    fn tuning(&self) -> Tuning {
        self.tuned(self.gamma)
    }
}

impl Parameters for ArcParams {
    type Surroundings = ();
    type Place = GatewayRole;
    type Law = Arc;

    fn validated(self) -> Result<Self, BadParameter> {
        self.tuning().check()?;
        Ok(self)
    }

    fn begin(&self, role: &GatewayRole) -> Arc {
        let controller = Controller::new(self.tuning(), role);
        Arc { params: *self, controller, greatest: alloc::vec![0.0; role.classes.len()] }
    }
}

/// The law's state at one gateway.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Arc {
    params: ArcParams,
    controller: Controller,
    /// `rmax_i` of the thesis's form, zero before there is one \[bit/s\].
    greatest: Vec<f64>,
}

/// Whether the gateway was a class's bottleneck: its own queue was full, or is not empty. A wait for tokens
/// proves nothing where one bucket is for all.
const fn limited(seen: &ClassView) -> bool {
    seen.dropped.packets > 0 || seen.backlog.packets > 1
}

/// Each class's due: as much as the best, by weight.
fn due(members: &Members, view: &GatewayView) -> Vec<f64> {
    let per_weight = |class: usize| view.rate(class) / members.weight(class);
    let best = members.sharing().map(per_weight).fold(0.0, f64::max);
    (0..members.len()).map(|class| best * members.weight(class)).collect()
}

/// The thesis's form.
fn thesis(
    params: &ArcParams,
    search: &mut Search,
    (members, change, bounds): (&Members, Change, CapacityBounds),
    view: &GatewayView,
    greatest: &mut [f64],
) -> Verdict {
    if change.is_any() {
        // Section 7.5.1: the greatest rates are those of another set.
        greatest.fill(0.0);
        if change.is_first || params.on_change == OnChange::Restart {
            search.restart(bounds);
            return (Step::Start, change.reason(), change.class());
        }
    }
    // [Jam10] Alg. 1, with the text's "any".
    let best = members.sharing().map(|class| view.rate(class)).fold(0.0, f64::max);
    let is_starved = |&class: &usize| {
        let rate = view.rate(class);
        rate < params.gamma * best && rate < Tuning::theta(params.form, params.theta) * greatest[class]
    };
    let starved = members.sharing().find(is_starved);
    for class in members.sharing() {
        match params.history {
            RateHistory::Maximum => greatest[class] = greatest[class].max(view.rate(class)),
            RateHistory::Overwritten if starved.is_none() => greatest[class] = view.rate(class),
            RateHistory::Overwritten => (),
        }
    }
    let measured = members.measured(view);
    if let Some(class) = starved {
        search.decrease(measured);
        (Step::Decrease, Reason::Starved, Some(class as u32))
    } else {
        search.increase(measured);
        (Step::Increase, Reason::Satisfied, None)
    }
}

impl Arc {
    fn total(&self) -> Option<Rate> {
        self.controller.search.as_ref().map(|search| rate(search.estimate()))
    }
}

impl GatewayLaw for Arc {
    fn interval(&self) -> Duration {
        self.params.epoch
    }

    fn at_start(&self) -> Allocation {
        allocation(self.total(), &[], self.controller.at_start())
    }

    fn on_classes(&mut self, classes: &NewClasses) -> Allocation {
        self.greatest = classes.carry(&self.greatest, 0.0);
        let verdict = self.controller.on_classes(classes);
        allocation(self.total(), &[], verdict)
    }

    fn on_epoch(&mut self, view: &GatewayView) -> Allocation {
        let (params, greatest) = (&self.params, &mut self.greatest[..]);
        let verdict = self.controller.on_epoch(view, |search, members, change, bounds| match search {
            AnySearch::Thesis(search) => thesis(params, search, (members, change, bounds), view, greatest),
            AnySearch::Corrected(search) => {
                let due = due(members, view);
                search
                    .on_epoch(&Epoch { view, members, change, due: &due, limited, one_bucket: true }, bounds)
            }
        });
        allocation(self.total(), &[], verdict)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gateway::ClassRole;
    use evenair_units::{Instant, Volume};

    /// One epoch of ten seconds in which the classes were served so fast.
    fn epoch(law: &mut Arc, kbps: &[u64]) -> (Step, u64) {
        let seen = |&kbps: &u64| {
            let served = Volume { packets: kbps, bytes: kbps * 1_250 };
            ClassView { arrived: served, served, ..ClassView::default() }
        };
        let classes: Vec<_> = kbps.iter().map(seen).map(Some).collect();
        let view = GatewayView { now: Instant::ZERO, interval: Duration::from_secs(10), classes };
        let allocation = law.on_epoch(&view);
        (allocation.decision.step, allocation.total.map_or(0, Rate::as_bps) / 100)
    }

    fn law(params: &ArcParams) -> Arc {
        let class = ClassRole { link_rate: Some(Rate::from_kbps(900)), ..ClassRole::default() };
        params.begin(&GatewayRole { classes: [class; 2].into() })
    }

    /// W = 900 kb/s: bounds 300 and 900.
    #[test]
    fn unequal_rates_alone_are_no_unfairness() {
        let mut law = law(&ArcParams {
            first: FirstEstimate::Middle,
            on_change: OnChange::Restart,
            ..ArcParams::jam10()
        });
        assert_eq!(epoch(&mut law, &[100, 100]), (Step::Start, 6_000));
        // Unequal, and no history: C_low = 500, C = (500 + 900)/2.
        assert_eq!(epoch(&mut law, &[300, 200]), (Step::Increase, 7_000));
        // The second is bound by its own bottleneck: 195 is not below 0.95·200. C_low = 595.
        assert_eq!(epoch(&mut law, &[400, 195]), (Step::Increase, 7_475));
        // 180 is: C_up = 660, C = (595 + 660)/2.
        assert_eq!(epoch(&mut law, &[480, 180]), (Step::Decrease, 6_275));
        // Equal again, though below its best: no unfairness. C_low = 360, C = (360 + 660)/2.
        assert_eq!(epoch(&mut law, &[180, 180]), (Step::Increase, 5_100));
    }

    #[test]
    fn exponential_search_is_algorithm_2() {
        let mut law = law(&ArcParams { search: SearchMethod::Exponential, ..ArcParams::jam10() });
        epoch(&mut law, &[300, 300]);
        assert_eq!(epoch(&mut law, &[300, 300]), (Step::Increase, 6_600), "1.1·600");
        assert_eq!(epoch(&mut law, &[400, 200]), (Step::Decrease, 5_400), "0.9·600");
    }

    /// Section 7.5.1: a class that comes or goes makes all histories those of another set.
    #[test]
    fn a_change_forgets_the_greatest_rates() {
        let mut law = law(&ArcParams { on_change: OnChange::Step, ..ArcParams::jam10() });
        assert_eq!(epoch(&mut law, &[300, 0]).0, Step::Start, "there was nothing before");
        epoch(&mut law, &[600, 0]);
        assert_eq!(epoch(&mut law, &[300, 200]).0, Step::Increase, "nothing to compare with");
        assert_eq!(epoch(&mut law, &[300, 150]).0, Step::Decrease);
    }

    #[test]
    fn drop_or_queue_makes_gateway_bottleneck() {
        let packets = |packets| Volume { packets, bytes: packets * 1_000 };
        let limited = |dropped, backlog| {
            let (dropped, backlog) = (packets(dropped), packets(backlog));
            limited(&ClassView { dropped, backlog, ..ClassView::default() })
        };
        assert!(limited(1, 0) && limited(0, 2) && !limited(0, 1) && !limited(0, 0));
    }

    /// 300 kb/s of weight 1 are more than 400 of weight 2.
    #[test]
    fn each_is_due_as_much_as_the_best_by_weight() {
        let class = |weight| ClassRole { weight, ..ClassRole::default() };
        let members = Members::new(&GatewayRole { classes: [class(1.0), class(2.0)].into() }, 1, false);
        let served = |kbps: u64| ClassView {
            served: Volume { packets: kbps, bytes: kbps * 1_250 },
            ..ClassView::default()
        };
        let classes = [Some(served(300)), Some(served(400))].into();
        let view = GatewayView { now: Instant::ZERO, interval: Duration::from_secs(10), classes };
        assert_eq!(due(&members, &view), [300e3, 600e3]);
    }

    /// Other links, other bounds: the thesis's form goes on from its estimate, as far as it lies between them.
    #[test]
    fn search_goes_on_between_bounds_of_other_links() {
        let role = |kbps: Option<u64>| {
            let class = ClassRole { link_rate: kbps.map(Rate::from_kbps), ..ClassRole::default() };
            GatewayRole { classes: [class; 2].into() }
        };
        let classes = |kbps| NewClasses { role: role(kbps), was: [Some(0), Some(1)].into() };
        let total =
            |law: &mut Arc, kbps| law.on_classes(&classes(kbps)).total.map(|rate| rate.as_bps() / 1000);
        let middle = ArcParams { first: FirstEstimate::Middle, ..ArcParams::jam10() };
        let mut law = middle.begin(&role(Some(900)));
        assert_eq!(total(&mut law, Some(900)), Some(600), "nothing is other");
        assert_eq!(total(&mut law, Some(450)), Some(450));
        assert_eq!(total(&mut law, Some(3_000)), Some(1_000));
        // Without bounds it begins as soon as there are.
        let mut open = middle.begin(&role(None));
        assert_eq!((open.at_start().total, open.at_start().decision.reason), (None, Reason::Unbounded));
        assert_eq!(total(&mut open, Some(900)), Some(600));
        assert_eq!(open.at_start().decision.reason, Reason::Configured);
        let mut corrected = ArcParams::corrected().begin(&role(Some(900)));
        assert_eq!(total(&mut corrected, Some(3_000)), Some(500), "half of W/3");
    }

    /// [Jam10] Alg. 1 as printed: `rmax` is the rate of the last epoch that ended in an increase: 300, also after 280.
    #[test]
    fn overwritten_history_stays_in_decrease() {
        let history = RateHistory::Overwritten;
        let mut law = law(&ArcParams { history, on_change: OnChange::Restart, ..ArcParams::jam10() });
        epoch(&mut law, &[100, 100]);
        assert_eq!(epoch(&mut law, &[400, 300]).0, Step::Increase);
        // Less than 0.95·300, and than 0.9·400.
        assert_eq!([280, 284].map(|kbps| epoch(&mut law, &[400, kbps]).0), [Step::Decrease; 2]);
    }

    /// Alg. 1 requires less than γ of the best, and less than θ of the greatest, not as much.
    #[test]
    fn class_at_its_share_is_not_starved() {
        for (gamma, theta, kbps) in [(0.5, Some(0.95), 200), (0.9, Some(0.5), 150)] {
            for (less, step) in [(0, Step::Increase), (1, Step::Decrease)] {
                let params = ArcParams { gamma, theta, on_change: OnChange::Restart, ..ArcParams::jam10() };
                let mut law = law(&params);
                epoch(&mut law, &[100, 100]);
                epoch(&mut law, &[400, 300]);
                assert_eq!(epoch(&mut law, &[400, kbps - less]).0, step, "{gamma} {theta:?}");
            }
        }
    }

    #[test]
    fn same_classes_at_the_same_links_change_nothing() {
        let mut told = law(&ArcParams { on_change: OnChange::Restart, ..ArcParams::jam10() });
        for kbps in [[100, 100], [300, 200], [400, 195], [400, 180]] {
            epoch(&mut told, &kbps);
        }
        let mut untold = told.clone();
        let class = ClassRole { link_rate: Some(Rate::from_kbps(900)), ..ClassRole::default() };
        told.on_classes(&NewClasses {
            role: GatewayRole { classes: [class; 2].into() },
            was: [Some(0), Some(1)].into(),
        });
        assert_eq!(epoch(&mut told, &[300, 200]), epoch(&mut untold, &[300, 200]));
    }

    #[test]
    fn epoch_without_anyone_is_not_judged() {
        let mut law = law(&ArcParams::jam10());
        epoch(&mut law, &[300, 200]);
        let before = (0..10).map(|_| epoch(&mut law, &[0, 0])).last().unwrap();
        assert_eq!(before.0, Step::Hold);
        assert_eq!(epoch(&mut law, &[0, 0]), before);
    }
}
