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
//! Each class's service, and whether there was a packet of it; the corrected form uses all of [`ClassView`].
//! Where the host does not count packets that waited for tokens, the form goes by drops and backlog, as ARC
//! does, and tests pages now and then.
//!
//! # Deviations
//! The thesis's form, where the thesis is silent:
//! - No first `C_est`: the lower bound, where no class starves yet, or half way between the bounds
//!   ([`PfrcParams::first`]). Nothing for a class that is not active: its rate at the start. No least rate: a
//!   full packet per epoch. Before anything is seen all classes count as active.
//! - Effect of a change of the active classes on the bounds: [`PfrcParams::on_change`]. Section 8.1.3's own
//!   words ("may be called") are `step`. For `restart` speak two other places: `C_up` is of the active nodes
//!   (7.5.2), and the transients are the binary search's (7.6.2). Half way and `restart` let random meshes
//!   rest where their farthest nodes starve (studies jam10/table-7-2, jam10/table-8-1). The thesis's own
//!   tables do not show that, so the other readings are the defaults.
//! - Alg. 6 overwrites `C_low` with `M`, and a class held at g drives each of N others to (`C_low` + g)/(N + 1). Section 8.2.4 never
//!   lets a rate fall below the `C_low`/N of section 7.5.2 (it prints W/(3N) for the upper bound, too: W/N). Both are taken: the search
//!   is the algorithm's, and the rates that it gives have that floor.
//! - Section 8.1.3 has flows that come and go, the operator has subscribers: a class that is removed while it
//!   is active counts as one that went. Other weights share the same `C_est`; other links move `C_low` and
//!   `C_up`, and `C_est` if it lies beyond them.
//!
//! The corrected form (search: `feedback.rs`, judgement: `judgement.rs`):
//! - A class below γ of its share is not starved if most of its packets had to wait for its own tokens: while
//!   it had something to send it had its rate, and its pauses are its own. That is so of pages. It may be
//!   starved where busy time shows data to send although it left tokens: an upload that the mesh starves
//!   comes in bursts.
//! - Nor is it if it gets θ of its rate observed when its bucket held it back, or when a lower rate for all
//!   brought it no more. That covers a low steady rate: the flow of Table 8.3, a voice.
//! - "Backlogged, dropping or held, else content" would not do: nothing of a flow that starves in the mesh piles up at the
//!   gateway, so that such a law takes it for content and goes on to the upper bound.
//! - Shares are such that the expected total is `C`: a class that wants less counts with its demand, and the
//!   others have more. Its bucket gets their rate, so that it may want more at any time. The rates may add up
//!   to more than `C` by that.
//! - `C` stays between the bounds, so that every rate is at least its share of [`PfrcParams::floor`] times
//!   `C_low` for any measurement: with collisions deep meshes carry less than W/3.
//! - A class that loses half as much as it gets at its own bucket, or more, gives no reason to increase; where only such ones
//!   want more, `C` stays where it is. Downstream UDP is one as soon as its rate is well beyond its share; its loss in the mesh is
//!   not to be seen.
//! - After a change `settle` epochs are not judged. Bounds open when a fifth of the active weight came or went, and upwards
//!   when they have been closed for `reopen`.
//!
//! # Example
//! ```
//! use evenair_laws::Parameters;
//! use evenair_laws::gateway::{ClassRole, GatewayLaw, GatewayRole, PfrcParams};
//! use evenair_units::Rate;
//! let class = ClassRole { link_rate: Some(Rate::from_kbps(900)), ..ClassRole::default() };
//! let law = PfrcParams::jam10().begin(&GatewayRole { classes: [class; 3].into() });
//! // W/3, a third for each.
//! assert_eq!(law.at_start().each, [Rate::from_kbps(100); 3]);
//! ```

use super::controller::{AnySearch, Controller, Verdict, allocation};
use super::judgement::Epoch;
use super::members::{Change, Members};
use super::search::Search;
use super::{
    Allocation, CapacityBounds, ClassView, FirstEstimate, Form, GatewayLaw, GatewayRole, GatewayView,
    NewClasses, OnChange, Reason, SearchMethod, Step, Tuning, searching,
};
use crate::{BadParameter, Parameters};
use alloc::vec::Vec;
use evenair_units::{Duration, Rate};

searching! {
    /// Parameters of the law.
    PfrcParams {
        /// Below this share of its given rate a class may be starved; 0.85 by default, and 0.7 in the
        /// thesis's form.
        gamma: Option<f64> = None,
        /// Below this share of its greatest observed rate a class may be starved (corrected form).
        theta,
    }
}

impl PfrcParams {
    /// [Jam10] section 8.2: δ = 10 s, γ = 0.7, binary search; α and β of section 8.3. The rest is ours.
    pub const fn jam10() -> Self {
        Self { form: Form::Thesis, ..Self::corrected() }
    }

    /// γ; [Jam10] section 8.2 has 0.7 in simulations, section 8.3 has 0.85 on a testbed.
    pub fn gamma(&self) -> f64 {
        self.form.usual(self.gamma, 0.7, 0.85)
    }

    pub(super) fn tuning(&self) -> Tuning {
        Tuning { per_subscriber: self.form == Form::Corrected, ..self.tuned(self.gamma()) }
    }
}

impl Parameters for PfrcParams {
    type Surroundings = ();
    type Place = GatewayRole;
    type Law = Pfrc;

    fn validated(self) -> Result<Self, BadParameter> {
        self.tuning().check()?;
        Ok(self)
    }

    fn begin(&self, role: &GatewayRole) -> Pfrc {
        let controller = Controller::new(self.tuning(), role);
        let mut law = Pfrc { params: *self, controller, each: Vec::new() };
        law.share();
        law
    }
}

/// The law's state at one gateway.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Pfrc {
    params: PfrcParams,
    controller: Controller,
    /// `b_i` \[bit/s\].
    each: Vec<f64>,
}

impl Pfrc {
    /// The least total rate \[bit/s\], for any `C_low` that Alg. 6 sets. [Jam10] section 8.2.4 has no rate fall
    /// below W/(3N) when all are equally weighted; Alg. 5 has no bounds.
    fn least(&self) -> f64 {
        let Controller { members, search, .. } = &self.controller;
        let is_thesis = matches!(search, Some(AnySearch::Thesis(_)));
        let as_first = |class: usize| members.weight(class).total_cmp(&members.weight(0)).is_eq();
        let is_equal = (1..members.len()).all(as_first);
        let has_floor = is_thesis && is_equal && self.params.search == SearchMethod::Binary;
        let bounds = members.bounds(&self.params.tuning()).filter(|_| has_floor);
        bounds.map_or(0.0, |bounds| bounds.low)
    }

    /// Each its share.
    fn share(&mut self) {
        let Controller { members, search: Some(search), .. } = &self.controller else { return };
        let demand = |class: usize| match search {
            AnySearch::Thesis(_) => None,
            AnySearch::Corrected(search) => search.demand(class),
        };
        let (weights, wants) = (members.weights(), wants(members, demand));
        let capacity = search.estimate().max(self.least());
        let level = level(members, capacity, &wants);
        let any_active = members.any_active();
        let share = |class: usize| {
            let (weight, want) = (members.weight(class), &wants[members.owner(class)]);
            let is_new = any_active && want.classes == 0.0;
            // An absent class gets the rate that it would have beside the others.
            let share = level * weight * if is_new { weights / (weights + weight) } else { 1.0 };
            let is_counted = !any_active || members.is_active(class);
            want.part(share, demand(class), is_counted).min(capacity)
        };
        self.each = (0..members.len()).map(share).collect();
        debug_assert!(self.each.iter().all(|rate| rate.is_finite()), "{:?}", self.each);
    }
}

/// The demands of one subscriber's classes.
#[derive(Clone, Copy, Debug, Default)]
struct Wants {
    /// Its classes that share, and those of them that want all that they can get.
    classes: f64,
    hungry: f64,
    /// The total demand of its other sharing classes \[bit/s\].
    demand: f64,
}

impl Wants {
    /// The part of a class in its subscriber's share: the rest that the others leave, in equal parts where
    /// several want all. None has less than if all did, so that each may want more at any time.
    fn part(&self, share: f64, demand: Option<f64>, is_counted: bool) -> f64 {
        let (own, mine) = (demand.unwrap_or_default(), f64::from(u8::from(is_counted)));
        let others = (self.demand - own * mine).max(0.0);
        let hungry = self.hungry - if demand.is_none() { mine } else { 0.0 };
        let left = (share - others).max(0.0) / (hungry + 1.0);
        left.max(share / (self.classes - mine + 1.0))
    }
}

/// The demands of each subscriber, at the place of its first class.
fn wants(members: &Members, demand: impl Fn(usize) -> Option<f64>) -> Vec<Wants> {
    let mut wants = alloc::vec![Wants::default(); members.len()];
    for class in members.sharing() {
        let of = &mut wants[members.owner(class)];
        of.classes += 1.0;
        match demand(class) {
            Some(demand) => of.demand += demand,
            None => of.hungry += 1.0,
        }
    }
    wants
}

/// The rate of a weight of one \[bit/s\]: `Σ min(w_i L, d_i) = C`, where the subscriber that wants most is taken to want more.
fn level(members: &Members, capacity: f64, wants: &[Wants]) -> f64 {
    let of = |(owner, want): (usize, &Wants)| {
        let weight = members.weight(owner);
        let wanted = if want.hungry > 0.0 { f64::INFINITY } else { want.demand / weight };
        (want.classes > 0.0).then_some((wanted, weight))
    };
    let mut wants: Vec<(f64, f64)> = wants.iter().enumerate().filter_map(of).collect();
    wants.sort_by(|one, other| one.0.total_cmp(&other.0));
    let (mut left, mut weights) = (capacity, members.weights());
    // The last is never satisfied.
    for &(wanted, weight) in wants.split_last().map_or(&[][..], |(_, rest)| rest) {
        if wanted * weights >= left {
            break;
        }
        left -= wanted * weight;
        weights -= weight;
    }
    left / weights
}

/// Whether a class's own bucket was its bottleneck: three quarters of its packets had to wait for tokens; where those are not
/// counted, its own queue overflowed or is not empty.
const fn limited(seen: &ClassView) -> bool {
    match seen.held {
        Some(held) => held > 0 && held as f64 >= 0.75 * seen.served.packets as f64,
        None => seen.dropped.packets > 0 || seen.backlog.packets > 1,
    }
}

/// [Jam10] Alg. 4: the first active class that is starved.
fn starved(params: &PfrcParams, members: &Members, view: &GatewayView, each: &[f64]) -> Option<usize> {
    (0..members.len()).find(|&i| members.is_active(i) && view.rate(i) < params.gamma() * each[i])
}

/// The thesis's form.
fn thesis(
    params: &PfrcParams,
    search: &mut Search,
    (members, change, bounds): (&Members, Change, CapacityBounds),
    view: &GatewayView,
    each: &[f64],
) -> Verdict {
    let measured = members.measured(view);
    if change.is_any() {
        let reason = change.reason();
        // Section 8.1.3: decreaseRates when a flow comes, increaseRates when one goes.
        let step = match reason {
            _ if change.is_first || params.on_change == OnChange::Restart => Step::Start,
            Reason::Joined => Step::Decrease,
            _ => Step::Increase,
        };
        match step {
            Step::Decrease => search.decrease(measured),
            Step::Increase => search.increase(measured),
            _ => search.restart(bounds),
        }
        return (step, reason, change.class());
    }
    if let Some(class) = starved(params, members, view, each) {
        search.decrease(measured);
        (Step::Decrease, Reason::Starved, Some(class as u32))
    } else {
        search.increase(measured);
        (Step::Increase, Reason::Satisfied, None)
    }
}

impl GatewayLaw for Pfrc {
    fn interval(&self) -> Duration {
        self.params.epoch
    }

    fn at_start(&self) -> Allocation {
        allocation(None, &self.each, self.controller.at_start())
    }

    fn on_classes(&mut self, classes: &NewClasses) -> Allocation {
        let verdict = self.controller.on_classes(classes);
        self.share();
        allocation(None, &self.each, verdict)
    }

    fn on_epoch(&mut self, view: &GatewayView) -> Allocation {
        let (params, each) = (&self.params, &self.each);
        let verdict = self.controller.on_epoch(view, |search, members, change, bounds| match search {
            AnySearch::Thesis(search) => thesis(params, search, (members, change, bounds), view, each),
            AnySearch::Corrected(search) => search
                .on_epoch(&Epoch { view, members, change, due: each, limited, one_bucket: false }, bounds),
        });
        self.share();
        allocation(None, &self.each, verdict)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gateway::{ClassRole, ClassView};
    use evenair_units::{Instant, Volume};

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
        let classes: Vec<_> = kbps.iter().map(seen).map(Some).collect();
        let view = GatewayView { now: Instant::ZERO, interval: Duration::from_secs(10), classes };
        let allocation = law.on_epoch(&view);
        (allocation.decision.step, allocation.each.iter().map(|rate| rate.as_bps()).collect())
    }

    /// From half way; restarts at each change.
    const ANEW: PfrcParams =
        PfrcParams { first: FirstEstimate::Middle, on_change: OnChange::Restart, ..PfrcParams::jam10() };

    /// W = 900 kb/s, two classes: bounds 300 and 900, first estimate 600.
    #[test]
    fn binary_search_is_algorithm_6() {
        let mut law = ANEW.begin(&role(&[1.0, 2.0]));
        assert_eq!(epoch(&mut law, &[150, 350]), (Step::Start, [200_000, 400_000].into()), "both came");
        // 0.7·200 is not below 0.7·200.
        assert_eq!(epoch(&mut law.clone(), &[140, 400]).0, Step::Increase);
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

    /// Section 8.2.4: a class held at 10 kb/s drives the search to nothing, the rates to W/(3N) = 75 kb/s and no further.
    #[test]
    fn no_rate_falls_below_third_of_link_over_all() {
        let mut law = PfrcParams::jam10().begin(&role(&[1.0; 4]));
        for _ in 0..20 {
            let (_, each) = epoch(&mut law, &[75, 75, 75, 10]);
            assert_eq!(each, [75_000; 4]);
        }
    }

    /// Section 8.1.3: decrease when a class comes, increase when one goes; or restart.
    #[test]
    fn active_set_follows_arrivals_and_departures() {
        let mut law = ANEW.begin(&role(&[1.0; 3]));
        epoch(&mut law, &[300, 300, 0]);
        epoch(&mut law, &[300, 300, 0]);
        assert_eq!(epoch(&mut law, &[300, 300, 10]), (Step::Start, [200_000; 3].into()));
        let params = PfrcParams { on_change: OnChange::Step, ..ANEW };
        let mut law = params.begin(&role(&[1.0; 3]));
        epoch(&mut law, &[300, 300, 0]);
        assert_eq!(
            epoch(&mut law, &[300, 300, 10]),
            (Step::Decrease, [455_000.0 / 3.0; 3].map(|b| b as u64).into())
        );
        // C_low = 300, C = (300 + 610)/2; an absent class would have a third of it.
        let each = [227_500, 227_500, 151_666].into();
        assert_eq!(epoch(&mut law, &[150, 150, 0]), (Step::Increase, each));
    }

    /// Section 8.2.4's floor is of equal weights, and of Alg. 6.
    #[test]
    fn floor_is_of_equal_weights_and_binary_search() {
        let least = |params: PfrcParams, weights: &[f64]| params.begin(&role(weights)).least();
        assert!((least(ANEW, &[2.0, 2.0]) - 300e3).abs() < 1e-9);
        assert!(least(ANEW, &[1.0, 2.0]) <= 0.0);
        assert!(least(PfrcParams { search: SearchMethod::Exponential, ..ANEW }, &[1.0, 1.0]) <= 0.0);
        assert!(least(PfrcParams::corrected(), &[1.0, 1.0]) <= 0.0);
    }

    /// Three quarters of the packets, where those that wait are counted; else a drop, or a queue.
    #[test]
    fn bucket_limits_a_class_that_waits_for_it() {
        let packets = |packets| Volume { packets, bytes: packets * 1_000 };
        let held =
            |held, of| limited(&ClassView { held: Some(held), served: packets(of), ..ClassView::default() });
        assert!(held(3, 4) && !held(2, 4) && !held(0, 0) && held(1, 0));
        let queue = |dropped, backlog| {
            let (dropped, backlog) = (packets(dropped), packets(backlog));
            limited(&ClassView { dropped, backlog, ..ClassView::default() })
        };
        assert!(queue(1, 0) && queue(0, 2) && !queue(0, 1) && !queue(0, 0));
    }

    /// Σ min(w·L, d) = C of 900: the demands are met from the least on, and the rest is shared.
    #[test]
    fn unused_shares_are_divided_by_weight() {
        let level = |weights: &[f64], demands: &[Option<f64>]| {
            let members = Members::new(&role(weights), 1, false);
            level(&members, 900.0, &wants(&members, |class| demands[class]))
        };
        assert!((level(&[1.0, 1.0], &[None, None]) - 450.0).abs() < 1e-9);
        assert!((level(&[1.0, 1.0], &[Some(100.0), None]) - 800.0).abs() < 1e-9);
        assert!((level(&[2.0, 1.0], &[Some(100.0), None]) - 800.0).abs() < 1e-9);
        assert!((level(&[1.0, 2.0], &[Some(100.0), None]) - 400.0).abs() < 1e-9);
        assert!((level(&[1.0, 1.0], &[Some(500.0), None]) - 450.0).abs() < 1e-9);
        assert!((level(&[1.0, 1.0, 2.0], &[Some(100.0), Some(200.0), Some(250.0)]) - 550.0).abs() < 1e-9);
    }

    /// A subscriber's share of 900.
    #[test]
    fn class_has_the_rest_of_its_subscribers_share() {
        let two = Wants { classes: 2.0, hungry: 1.0, demand: 100.0 };
        let part = |want: Wants, demand, is_counted| want.part(900.0, demand, is_counted);
        assert!((part(two, None, true) - 800.0).abs() < 1e-9);
        assert!((part(two, Some(100.0), true) - 450.0).abs() < 1e-9, "it may want more at any time");
        assert!((part(two, None, false) - 400.0).abs() < 1e-9, "beside another hungry one");
        let three = Wants { classes: 3.0, hungry: 2.0, demand: 100.0 };
        assert!((part(three, None, true) - 400.0).abs() < 1e-9);
        assert!((part(Wants { demand: 1_000.0, ..two }, None, true) - 450.0).abs() < 1e-9);
        assert!((part(Wants { demand: 1_000.0, ..two }, None, false) - 300.0).abs() < 1e-9);
    }

    #[test]
    fn corrected_form_begins_with_subscriber_thirds() {
        assert!(PfrcParams::corrected().tuning().per_subscriber && !ANEW.tuning().per_subscriber);
        let mut law = PfrcParams::corrected().begin(&role(&[1.0; 3]));
        assert_eq!(law.at_start().each, [Rate::from_kbps(100); 3]);
        // Two of three are present: half each, and a third for one that would come.
        let (step, each) = epoch(&mut law, &[100, 100, 0]);
        assert_eq!((step, each), (Step::Start, [150_000, 150_000, 100_000].into()));
        let classes = NewClasses { role: role(&[1.0; 2]), was: [Some(0), Some(1)].into() };
        let given = law.on_classes(&classes);
        assert_eq!(
            (given.decision.reason, given.each),
            (Reason::Reconfigured, [Rate::from_kbps(150); 2].into())
        );
    }

    /// Of a subscriber's 600 the others want 100, and none of them all that there is: the rest is the hungry
    /// class's. A class beside one that is as hungry has half of it, and one that wants 50 no less than a
    /// third of the share.
    #[test]
    fn hungry_classes_divide_a_subscribers_rest() {
        let wants = Wants { classes: 3.0, hungry: 1.0, demand: 100.0 };
        assert_eq!(wants.part(600.0, None, true).to_bits(), 500f64.to_bits());
        assert_eq!(wants.part(600.0, Some(50.0), true).to_bits(), 275f64.to_bits());
        let wants = Wants { classes: 3.0, hungry: 2.0, demand: 100.0 };
        assert_eq!(wants.part(600.0, None, true).to_bits(), 250f64.to_bits());
    }
}
