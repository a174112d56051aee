//! The corrected form's search for the capacity.
//!
//! # Law
//! The search moves the allowed rate `C` between `C_low` and `C_up`, at most once in `settle + 1` epochs.
//! `judgement.rs` judges the classes.
//! - Limited, and none starved: more, half way to the upper bound, at most a quarter.
//! - Starved after an increase: that was too much; back half way towards the last good value, at most a
//!   fifth.
//! - Starved for once, at rest: all rest at the edge; a little less, at most a tenth.
//! - Starved for longer without an increase: a fifth less. If that does not help, or for a class that is not
//!   known, all go to `C_low` for a test. If the class gets more there than before (or is limited there), it
//!   was starved, and the search goes on between `C_low` and where it came from. If not, it wants no more
//!   than it has: its rate is remembered, its alarms are ignored for a while (twice as long each time), and
//!   all return to their earlier rates.
//! - A class for which all went down leaves, or its subscriber is away: all return to where they were.
//! - Only an unresponsive class wants more: all rates stay. While the search rests, that class is the
//!   reported reason.
//!
//! When the interval is closed it opens upwards every `reopen`, and to both sides when the weight of the
//! active classes has changed by a fifth.
//!
//! # Source
//! Ours, after [Jam10] Alg. 1 and Alg. 4 (J11, J13).
//!
//! # Symbols
//! `C` → `estimate`; `C_low`, `C_up` → `bounds`; the greatest value known to be good and the least known to
//! be too much → `low`, `high` \[bit/s\].
//!
//! # Signals
//! All of [`ClassView`](super::ClassView).
//!
//! # Deviations
//! It is one: see [`pfrc`](super::pfrc) and [`arc`](super::arc).

use super::controller::Verdict;
use super::judgement::{Epoch, Finding, Memory};
use super::members::{Members, Reconfigured};
use super::{CapacityBounds, NewClasses, Reason, SearchMethod, Step, Tuning};
use alloc::vec::Vec;

/// The interval is closed when it is narrower than this, of the estimate.
const CLOSED: f64 = 0.05;
/// No increase is greater, nor any decrease but for a test.
const LEAP: f64 = 1.25;
/// A class that gets so many times as much from less for all was starved.
const RELIEF: f64 = 1.1;
/// For so many epochs a test lasts.
const TEST: u32 = 3;
/// The active weight has changed when it differs by more.
const SET_CHANGE: f64 = 0.2;
/// The least share of the estimate that is left when a class seems starved for once.
const NUDGE: f64 = 0.9;

/// The search.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub(super) struct Feedback {
    tuning: Tuning,
    bounds: CapacityBounds,
    low: f64,
    high: f64,
    /// `C`
    pub(super) estimate: f64,
    /// Whether the last move was up from a value known to be good.
    raised: bool,
    /// The estimate before an alarm lowered it, and the value then known to be too much.
    before: Option<(f64, f64)>,
    /// Epochs of the test so far, and the class that it has shown to be starved.
    tested: u32,
    relieved: Option<u32>,
    settling: u32,
    /// Epochs since the interval was opened last.
    since: u32,
    /// The active weight for which the interval was opened.
    weight: f64,
    classes: Vec<Memory>,
}

impl Feedback {
    pub(super) fn new(tuning: Tuning, bounds: CapacityBounds, members: &Members) -> Self {
        Self {
            tuning,
            bounds,
            low: bounds.low,
            high: bounds.high,
            // Most meshes carry their load at this rate, so each class's share shows soon.
            estimate: (bounds.high / super::bounds::REUSE).max(bounds.low),
            raised: true,
            before: None,
            tested: 0,
            relieved: None,
            settling: 0,
            since: 0,
            weight: 0.0,
            classes: alloc::vec![Memory::default(); members.len()],
        }
    }

    /// A class's demand; none, if it is not known to want less than it is given \[bit/s\].
    pub(super) fn demand(&self, class: usize) -> Option<f64> {
        self.classes[class].demand()
    }

    pub(super) fn on_epoch(&mut self, epoch: &Epoch<'_>, bounds: CapacityBounds) -> Verdict {
        self.since = self.since.saturating_add(1);
        self.set_bounds(bounds);
        let is_settling = self.settling > 0;
        let judge =
            |(class, memory): (usize, &mut Memory)| memory.judge(&self.tuning, epoch, class, is_settling);
        let findings: Vec<_> = self.classes.iter_mut().enumerate().map(judge).collect();
        if !epoch.members.any_active() {
            return (Step::Hold, Reason::Idle, None);
        }
        if let Some(verdict) = self.reopen_for_change(epoch) {
            return verdict;
        }
        if self.settling > 0 {
            self.settling -= 1;
            return (Step::Hold, Reason::Settling, None);
        }
        self.classes.iter_mut().zip(&findings).for_each(|(memory, &finding)| memory.count(finding));
        let before = self.estimate;
        let verdict = self.decide(epoch, &findings);
        debug_assert!((self.bounds.low..=self.bounds.high).contains(&self.estimate), "{self:?}");
        if (self.estimate - before).abs() > 0.0 && verdict.1 != Reason::Doubted {
            self.settling = self.tuning.settle;
            self.classes.iter_mut().for_each(Memory::forget_doubt);
        }
        verdict
    }

    /// Replaces the classes; those that stay keep their history. An alarm of a class that has gone is
    /// dropped. New weights change every class's due, so the epoch is not judged; `links` are the bounds of
    /// other links.
    pub(super) fn on_classes(
        &mut self,
        classes: &NewClasses,
        changed: Reconfigured,
        links: Option<CapacityBounds>,
    ) {
        self.classes = classes.carry(&self.classes, Memory::default());
        self.relieved = self.relieved.and_then(|class| classes.place_of(class));
        self.recall();
        if self.weight > 0.0 {
            // A class that stays and weighs more has not come.
            self.weight = (self.weight + changed.weight).max(0.0);
        }
        if changed.shares {
            self.settling = self.settling.max(self.tuning.settle);
        }
        if let Some(bounds) = links {
            self.set_bounds(bounds);
            (self.low, self.high, self.since) = (bounds.low, bounds.high, 0);
        }
    }

    /// Where all alarms were of classes that have gone, the search is where it was before them, as after a
    /// test that has shown nothing. Gives whether that is so.
    fn recall(&mut self) -> bool {
        let is_alarmed = self.classes.iter().any(|class| class.alarm.is_some());
        let Some((estimate, high)) = self.before.filter(|_| !is_alarmed) else { return false };
        self.calm();
        (self.estimate, self.high) = (estimate, high);
        (self.low, self.raised, self.since) = (self.bounds.low, true, 0);
        true
    }

    fn set_bounds(&mut self, bounds: CapacityBounds) {
        debug_assert!(bounds.low <= bounds.high, "bounds in order");
        self.bounds = bounds;
        let within = |rate: f64| rate.clamp(bounds.low, bounds.high);
        (self.low, self.high) = (within(self.low), within(self.high));
        self.estimate = within(self.estimate);
        self.before = self.before.map(|(estimate, high)| (within(estimate), within(high)));
    }

    /// Both sides open when a fifth of the weight came or went.
    fn reopen_for_change(&mut self, epoch: &Epoch<'_>) -> Option<Verdict> {
        if !epoch.change.is_any() {
            return None;
        }
        let weight = epoch.members.weights();
        let first = self.weight <= 0.0;
        if !first && (weight - self.weight).abs() <= SET_CHANGE * self.weight {
            return None;
        }
        (self.low, self.high) = (self.bounds.low, self.bounds.high);
        self.raised = true;
        (self.weight, self.since, self.settling) = (weight, 0, self.tuning.settle);
        self.calm();
        let step = if first { Step::Start } else { Step::Hold };
        Some((step, epoch.change.reason(), epoch.change.class()))
    }

    fn decide(&mut self, epoch: &Epoch<'_>, findings: &[Finding]) -> Verdict {
        let has = |wanted: Finding| findings.iter().position(|&found| found == wanted);
        if self.recall() {
            return (Step::Increase, Reason::Left, None);
        }
        if self.classes.iter().any(|class| class.alarm.is_some()) {
            if self.estimate <= self.bounds.low {
                return self.test(epoch, findings);
            }
            let not_better = |of: usize| matches!(findings[of], Finding::Starved | Finding::Silent);
            let alarmed = |of: usize| self.classes[of].alarm.is_some() && not_better(of);
            if !(0..findings.len()).any(alarmed) {
                // Less has helped, or chance: in doubt it has helped.
                let class = self.classes.iter().position(|class| class.alarm.is_some());
                self.calm();
                self.low = self.estimate;
                return (Step::Hold, Reason::Relieved, class.map(|class| class as u32));
            }
        }
        // Starvation after an increase counts as its effect at once, otherwise only when it lasts.
        let lasting = |&class: &usize| {
            let memory = &self.classes[class];
            (self.raised && memory.is_trusted()) || memory.is_lasting(epoch, class)
        };
        let mut starved = (0..findings.len()).filter(|&class| findings[class] == Finding::Starved);
        if let Some(class) = starved.clone().find(lasting) {
            return self.starved(epoch, findings, class);
        }
        // A class that has only just come does not hold up the others.
        if let Some(class) = starved.find(|&class| self.classes[class].known.is_some()) {
            self.nudge(self.carried(epoch, findings));
            return (Step::Hold, Reason::Doubted, Some(class as u32));
        }
        let verdict = match has(Finding::Limited) {
            Some(_) => self.increase(),
            None => has(Finding::Unjudged).map_or((Step::Hold, Reason::Satisfied, None), |class| {
                (Step::Hold, Reason::Unknown, Some(class as u32))
            }),
        };
        // No rate of the gateway's cures it; the report names the class for the operator.
        match has(Finding::Unresponsive) {
            Some(class) if verdict.0 == Step::Hold => (Step::Hold, Reason::Unresponsive, Some(class as u32)),
            _ => verdict,
        }
    }

    /// A class is starved.
    fn starved(&mut self, epoch: &Epoch<'_>, findings: &[Finding], class: usize) -> Verdict {
        let was_alarmed = self.classes[class].alarm.is_some();
        for (of, memory) in self.classes.iter_mut().enumerate() {
            if findings[of] == Finding::Starved {
                memory.alarm.get_or_insert(epoch.view.rate(of));
            }
        }
        if self.estimate <= self.bounds.low {
            return (Step::Hold, Reason::Tested, Some(class as u32));
        }
        let carried = self.carried(epoch, findings);
        let is_known = self.classes[class].known.is_some();
        if !self.raised || !is_known {
            // The last good value is not good for this class, or not known to be.
            self.before.get_or_insert((carried, self.high.max(carried)));
            self.low = self.bounds.low;
            if was_alarmed || !is_known {
                self.high = carried.max(self.low);
                self.estimate = self.bounds.low;
                self.raised = false;
                return (Step::Decrease, Reason::Tested, Some(class as u32));
            }
        }
        // An overloaded mesh carries more in total than it carries fairly.
        self.high = carried.max(self.low);
        self.estimate = match self.tuning.search {
            SearchMethod::Binary => f64::midpoint(self.low, self.high).max(self.high / LEAP),
            SearchMethod::Exponential => (self.tuning.beta * self.estimate).max(self.bounds.low),
        };
        if self.estimate - self.low < CLOSED * self.low {
            self.estimate = self.low;
            self.raised = false;
        }
        (Step::Decrease, Reason::Starved, Some(class as u32))
    }

    /// The part of the estimate that the mesh carries: the measured rate, and the rest in the buckets of
    /// classes that wanted less.
    fn carried(&self, epoch: &Epoch<'_>, findings: &[Finding]) -> f64 {
        let of = |class: usize| {
            let (rate, due) = (epoch.view.rate(class), epoch.due[class]);
            let wanted_less = !epoch.one_bucket
                && rate < self.tuning.gamma * due
                && matches!(findings[class], Finding::Limited | Finding::Content);
            // A class that is known to want little got no more than its demand.
            let given = self.demand(class).map_or(due, |demand| demand.max(rate).min(due));
            if wanted_less { given } else { rate }
        };
        let carried: f64 = epoch.members.sharing().map(of).sum();
        self.estimate.min(carried).max(self.bounds.low)
    }

    /// A slight decrease: a class that starves now and then does so because all rest at the edge.
    fn nudge(&mut self, carried: f64) {
        let less = carried.max(NUDGE * self.estimate);
        self.estimate = self.estimate.min(less);
        self.high = self.high.min(self.estimate);
        self.low = self.low.min(self.estimate);
    }

    /// No alarm is open.
    fn calm(&mut self) {
        (self.before, self.relieved, self.tested) = (None, None, 0);
        self.classes.iter_mut().for_each(|memory| memory.alarm = None);
    }

    /// At the floor: a starved class gets more here than before or than its known demand, or the gateway
    /// limits it.
    fn test(&mut self, epoch: &Epoch<'_>, findings: &[Finding]) -> Verdict {
        self.tested += 1;
        let is_over = self.tested >= TEST;
        for (class, memory) in self.classes.iter_mut().enumerate() {
            let Some(alarm) = memory.alarm else { continue };
            let rate = epoch.view.rate(class);
            let recovered =
                memory.known.is_some_and(|known| rate > alarm && rate >= self.tuning.theta * known);
            let more = findings[class] == Finding::Limited && rate >= RELIEF * alarm;
            if epoch.is_limited(class) || recovered || more {
                memory.was_starved();
                self.relieved = self.relieved.or(Some(class as u32));
            } else if is_over {
                memory.is_found_content(rate);
            }
        }
        if !is_over && self.classes.iter().any(|memory| memory.alarm.is_some()) {
            return (Step::Hold, Reason::Tested, None);
        }
        let (relieved, before) = (self.relieved, self.before);
        self.calm();
        (self.low, self.raised, self.since) = (self.bounds.low, true, 0);
        if relieved.is_some() {
            // Back half way to the value that was too much.
            self.high = before.map_or(self.high, |(estimate, _)| estimate);
            self.estimate = f64::midpoint(self.low, self.high);
            return (Step::Increase, Reason::Relieved, relieved);
        }
        (self.estimate, self.high) = before.unwrap_or((self.estimate, self.bounds.high));
        (Step::Increase, Reason::Content, None)
    }

    fn increase(&mut self) -> Verdict {
        self.low = self.estimate;
        let narrow = self.high - self.estimate < CLOSED * self.estimate;
        if self.tuning.search == SearchMethod::Exponential {
            self.estimate = (self.tuning.alpha * self.estimate).min(self.bounds.high);
            self.raised = true;
            return (Step::Increase, Reason::Satisfied, None);
        }
        if narrow && self.since < self.tuning.reopen_epochs() {
            self.raised = false;
            return (Step::Hold, Reason::Converged, None);
        }
        if narrow {
            self.high = self.bounds.high;
            self.since = 0;
        }
        self.estimate = f64::midpoint(self.estimate, self.high).min(LEAP * self.estimate);
        self.raised = true;
        (Step::Increase, if narrow { Reason::Reopened } else { Reason::Satisfied }, None)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gateway::members::Change;
    use crate::gateway::tests::{served, tuning, view};
    use crate::gateway::{ClassRole, ClassView, GatewayRole, GatewayView};

    const BOUNDS: CapacityBounds = CapacityBounds { low: 300e3, high: 900e3 };

    fn limited(seen: &ClassView) -> bool {
        seen.held.is_some()
    }

    /// A class that got so many kb/s, and had to wait for tokens.
    #[allow(clippy::unnecessary_wraps, reason = "a view's type")]
    fn waits(kbps: u64) -> Option<ClassView> {
        Some(ClassView { held: Some(1), ..served(kbps * 1_000) })
    }

    /// A class that got so many kb/s, and had not.
    #[allow(clippy::unnecessary_wraps, reason = "a view's type")]
    fn gets(kbps: u64) -> Option<ClassView> {
        Some(served(kbps * 1_000))
    }

    /// Two classes of one weight at a gateway between 300 and 900 kb/s.
    struct Mesh {
        search: Feedback,
        members: Members,
    }

    impl Mesh {
        fn new() -> Self {
            let role = GatewayRole { classes: [ClassRole::default(); 2].into() };
            let members = Members::new(&role, 3, false);
            Self { search: Feedback::new(tuning(), BOUNDS, &members), members }
        }

        /// Both are there, have been seen to get so much, and the search is at this estimate \[kb/s\].
        fn at(estimate: f64, known: [Option<f64>; 2]) -> Self {
            let mut mesh = Self::new();
            mesh.members.observe(&view(&[gets(100), gets(100)]));
            mesh.search.estimate = estimate * 1e3;
            for (memory, known) in mesh.search.classes.iter_mut().zip(known) {
                memory.known = known.map(|kbps| kbps * 1e3);
            }
            (mesh.search.raised, mesh.search.weight) = (false, 2.0);
            mesh
        }

        fn kbps(&self) -> (f64, f64, f64) {
            let Feedback { low, estimate, high, .. } = self.search;
            (low / 1e3, estimate / 1e3, high / 1e3)
        }

        /// The result of `with` in an epoch in which each class is due half of the estimate.
        fn with<T>(&mut self, seen: &GatewayView, with: impl FnOnce(&mut Feedback, &Epoch<'_>) -> T) -> T {
            let due = [self.search.estimate / 2.0; 2];
            let (change, members) = (Change::default(), &self.members);
            let epoch = Epoch { view: seen, members, change, due: &due, limited, one_bucket: false };
            with(&mut self.search, &epoch)
        }

        fn epoch(&mut self, classes: [Option<ClassView>; 2]) -> Verdict {
            let (seen, due) = (view(&classes), [self.search.estimate / 2.0; 2]);
            let change = self.members.observe(&seen);
            let epoch =
                Epoch { view: &seen, members: &self.members, change, due: &due, limited, one_bucket: false };
            self.search.on_epoch(&epoch, BOUNDS)
        }
    }

    /// From a third of the upper bound: a quarter up, which starves one class; then back to the last good
    /// value, where it is limited.
    #[test]
    fn an_increase_that_starves_is_taken_back() {
        let mut mesh = Mesh::new();
        assert_eq!(mesh.epoch([gets(0), gets(0)]), (Step::Hold, Reason::Idle, None));
        assert_eq!(mesh.epoch([waits(150), waits(150)]), (Step::Start, Reason::Joined, Some(0)));
        assert_eq!(mesh.epoch([waits(150), waits(150)]), (Step::Hold, Reason::Settling, None));
        assert_eq!(mesh.epoch([waits(150), waits(150)]), (Step::Increase, Reason::Satisfied, None));
        assert_eq!(mesh.kbps(), (300.0, 375.0, 900.0));
        assert_eq!(mesh.epoch([waits(187), waits(187)]), (Step::Hold, Reason::Settling, None));
        assert_eq!(mesh.epoch([waits(187), gets(100)]), (Step::Decrease, Reason::Starved, Some(1)));
        assert_eq!(mesh.kbps(), (300.0, 300.0, 300.0));
        assert_eq!(mesh.epoch([waits(150), waits(150)]), (Step::Hold, Reason::Settling, None));
        assert_eq!(mesh.epoch([waits(150), waits(150)]), (Step::Increase, Reason::Relieved, Some(1)));
        assert_eq!((mesh.search.since, mesh.search.raised), (0, true));
    }

    /// Half way to the value that is too much, a quarter at most; an interval of a twentieth is closed for
    /// 300 s, 30 epochs.
    #[test]
    fn more_is_half_way_up_and_a_quarter_at_most() {
        let increase = |estimate, high, since| {
            let mut mesh = Mesh::at(estimate, [None; 2]);
            (mesh.search.high, mesh.search.since) = (high * 1e3, since);
            let verdict = mesh.search.increase();
            (mesh.kbps(), verdict.1, mesh.search.raised, mesh.search.since)
        };
        assert_eq!(increase(400.0, 900.0, 3), ((400.0, 500.0, 900.0), Reason::Satisfied, true, 3));
        assert_eq!(increase(700.0, 900.0, 3), ((700.0, 800.0, 900.0), Reason::Satisfied, true, 3));
        assert_eq!(increase(800.0, 840.0, 3), ((800.0, 820.0, 840.0), Reason::Satisfied, true, 3));
        assert_eq!(increase(800.0, 839.0, 29), ((800.0, 800.0, 839.0), Reason::Converged, false, 29));
        assert_eq!(increase(800.0, 839.0, 30), ((800.0, 850.0, 900.0), Reason::Reopened, true, 0));
        let mut mesh = Mesh::at(400.0, [None; 2]);
        mesh.search.tuning.search = SearchMethod::Exponential;
        assert_eq!(mesh.search.increase(), (Step::Increase, Reason::Satisfied, None));
        assert!((mesh.kbps().1 - 440.0).abs() < 1e-9, "1.1 of it");
    }

    /// Once, at rest: down to the carried rate, a tenth at most.
    #[test]
    fn a_nudge_is_a_tenth_at_most() {
        let nudged = |carried: f64| {
            let mut mesh = Mesh::at(500.0, [None; 2]);
            mesh.search.low = 495e3;
            mesh.search.nudge(carried * 1e3);
            mesh.kbps()
        };
        assert_eq!(nudged(480.0), (480.0, 480.0, 480.0));
        assert_eq!(nudged(300.0), (450.0, 450.0, 450.0));
        assert_eq!(nudged(600.0), (495.0, 500.0, 500.0));
    }

    /// Of 1000 kb/s each is due 500; below 425 it wanted less, and the unused rest is in its bucket.
    #[test]
    fn carried_rate_includes_the_rest_in_buckets() {
        let carried = |classes: [Option<ClassView>; 2], findings: [Finding; 2], demand: Option<f64>| {
            let mut mesh = Mesh::at(1_000.0, [None; 2]);
            if let Some(kbps) = demand {
                mesh.search.classes[0].is_found_content(kbps * 1e3);
            }
            mesh.with(&view(&classes), |search, epoch| search.carried(epoch, &findings)) / 1e3
        };
        let (some, full) = (gets(400), gets(430));
        assert!((carried([some, full], [Finding::Content, Finding::Limited], None) - 930.0).abs() < 1e-9);
        assert!((carried([some, full], [Finding::Limited, Finding::Limited], None) - 930.0).abs() < 1e-9);
        assert!((carried([some, full], [Finding::Starved, Finding::Limited], None) - 830.0).abs() < 1e-9);
        assert!((carried([gets(425), full], [Finding::Content; 2], None) - 855.0).abs() < 1e-9);
        assert!((carried([gets(50), full], [Finding::Content; 2], Some(100.0)) - 530.0).abs() < 1e-9);
        assert!((carried([gets(120), full], [Finding::Content; 2], Some(100.0)) - 550.0).abs() < 1e-9);
        assert!(
            (carried([gets(10), gets(10)], [Finding::Starved; 2], None) - 300.0).abs() < 1e-9,
            "the floor"
        );
    }

    #[test]
    fn one_bucket_gives_a_class_the_rest_of_others() {
        let mut mesh = Mesh::at(1_000.0, [None; 2]);
        let seen = view(&[gets(400), gets(430)]);
        let carried = mesh.with(&seen, |search, epoch| {
            let &Epoch { view, members, change, due, limited, .. } = epoch;
            let epoch = Epoch { view, members, change, due, limited, one_bucket: true };
            search.carried(&epoch, &[Finding::Content; 2])
        });
        assert!((carried - 830e3).abs() < 1e-6);
    }

    /// Both sides open when more than a fifth of the weight came or went.
    #[test]
    fn a_fifth_of_the_weight_opens_both_sides() {
        let reopened = |weight: f64, joined: Option<u32>| {
            let mut mesh = Mesh::at(500.0, [None; 2]);
            (mesh.search.weight, mesh.search.low, mesh.search.high) = (weight, 450e3, 550e3);
            let seen = view(&[gets(100), gets(100)]);
            let verdict = mesh.with(&seen, |search, epoch| {
                let &Epoch { view, members, due, limited, one_bucket, .. } = epoch;
                let change = Change { joined, ..Default::default() };
                search.reopen_for_change(&Epoch { view, members, change, due, limited, one_bucket })
            });
            (verdict, mesh.kbps(), mesh.search.settling)
        };
        let (closed, open) = ((450.0, 500.0, 550.0), (300.0, 500.0, 900.0));
        assert_eq!(reopened(9.0, None), (None, closed, 0), "none came");
        assert_eq!(reopened(2.5, Some(1)), (None, closed, 0));
        assert_eq!(reopened(1.7, Some(1)), (None, closed, 0));
        assert_eq!(reopened(2.6, Some(1)), (Some((Step::Hold, Reason::Joined, Some(1))), open, 1));
        assert_eq!(reopened(1.6, Some(1)), (Some((Step::Hold, Reason::Joined, Some(1))), open, 1));
        assert_eq!(reopened(0.0, Some(0)), (Some((Step::Start, Reason::Joined, Some(0))), open, 1));
    }

    /// Of 800 kb/s each is due 400: the first gets it, the second half of it, 600 are carried.
    fn starved(mesh: &mut Mesh) -> Verdict {
        let findings = [Finding::Limited, Finding::Starved];
        mesh.with(&view(&[waits(400), gets(200)]), |search, epoch| search.starved(epoch, &findings, 1))
    }

    #[test]
    fn starvation_after_an_increase_halves_it() {
        let back = |low: f64| {
            let mut mesh = Mesh::at(800.0, [Some(400.0); 2]);
            (mesh.search.low, mesh.search.raised) = (low * 1e3, true);
            assert_eq!(starved(&mut mesh), (Step::Decrease, Reason::Starved, Some(1)));
            assert_eq!((mesh.search.before, mesh.search.classes[1].alarm), (None, Some(200e3)));
            (mesh.kbps(), mesh.search.raised)
        };
        assert_eq!(back(500.0), ((500.0, 550.0, 600.0), true));
        assert_eq!(back(300.0), ((300.0, 480.0, 600.0), true), "a fifth at most");
        assert_eq!(back(590.0), ((590.0, 590.0, 600.0), false), "closed");
        assert_eq!(back(700.0), ((700.0, 700.0, 700.0), false));
        // 25 are just a twentieth of 500, and so not less than it.
        let mut mesh = Mesh::at(800.0, [Some(400.0); 2]);
        (mesh.search.low, mesh.search.raised) = (500e3, true);
        let findings = [Finding::Limited, Finding::Starved];
        mesh.with(&view(&[waits(400), gets(150)]), |search, epoch| search.starved(epoch, &findings, 1));
        assert_eq!((mesh.kbps(), mesh.search.raised), ((500.0, 525.0, 550.0), true));
        let mut mesh = Mesh::at(800.0, [Some(400.0); 2]);
        (mesh.search.raised, mesh.search.tuning.search) = (true, SearchMethod::Exponential);
        starved(&mut mesh);
        assert!((mesh.kbps().1 - 720.0).abs() < 1e-9, "0.9 of it");
    }

    #[test]
    fn starvation_at_rest_takes_a_fifth_then_tests() {
        let mut mesh = Mesh::at(800.0, [Some(400.0); 2]);
        mesh.search.low = 700e3;
        assert_eq!(starved(&mut mesh), (Step::Decrease, Reason::Starved, Some(1)));
        assert_eq!((mesh.kbps(), mesh.search.before), ((300.0, 480.0, 600.0), Some((600e3, 900e3))));
        mesh.search.estimate = 800e3;
        assert_eq!(starved(&mut mesh), (Step::Decrease, Reason::Tested, Some(1)), "it is alarmed already");
        assert_eq!((mesh.kbps(), mesh.search.before), ((300.0, 300.0, 600.0), Some((600e3, 900e3))));
        assert_eq!(starved(&mut mesh), (Step::Hold, Reason::Tested, Some(1)), "there is no less");
        for raised in [false, true] {
            let mut unknown = Mesh::at(800.0, [Some(400.0), None]);
            unknown.search.raised = raised;
            assert_eq!(starved(&mut unknown), (Step::Decrease, Reason::Tested, Some(1)));
            assert_eq!((unknown.kbps(), unknown.search.raised), ((300.0, 300.0, 600.0), false));
        }
    }

    /// A test at the floor of the second class, which got 100 kb/s when it seemed starved; before, all had 600 of 800 kb/s.
    fn tested(
        known: Option<f64>,
        alarm: f64,
        classes: &[(Option<ClassView>, Finding)],
    ) -> (Vec<Verdict>, Mesh) {
        let mut mesh = Mesh::at(300.0, [Some(150.0), known]);
        mesh.search.classes[1].alarm = Some(alarm * 1e3);
        (mesh.search.before, mesh.search.high, mesh.search.low) = (Some((600e3, 800e3)), 700e3, 400e3);
        let verdicts = classes.iter().map(|&(class, finding)| {
            let findings = [Finding::Limited, finding];
            mesh.with(&view(&[waits(150), class]), |search, epoch| search.test(epoch, &findings))
        });
        (verdicts.collect(), mesh)
    }

    #[test]
    fn test_ends_once_lower_rates_have_helped() {
        let helps = |known, alarm, class, finding| {
            let (verdicts, mesh) = tested(known, alarm, &[(class, finding)]);
            if verdicts[0] == (Step::Increase, Reason::Relieved, Some(1)) {
                assert_eq!((mesh.kbps(), mesh.search.raised), ((300.0, 450.0, 600.0), true), "half way back");
                return true;
            }
            assert_eq!(verdicts[0], (Step::Hold, Reason::Tested, None));
            false
        };
        assert!(helps(None, 100.0, waits(50), Finding::Content), "limited by the gateway");
        assert!(helps(Some(150.0), 100.0, gets(136), Finding::Content), "θ of its known rate");
        assert!(!helps(Some(150.0), 100.0, gets(134), Finding::Starved));
        assert!(!helps(Some(150.0), 140.0, gets(140), Finding::Content), "no more than before");
        assert!(helps(None, 100.0, gets(111), Finding::Limited), "1.1 of its rate");
        assert!(!helps(None, 100.0, gets(109), Finding::Limited));
        assert!(!helps(None, 100.0, gets(120), Finding::Content));
    }

    #[test]
    fn three_epochs_without_relief_end_the_demand() {
        let (verdicts, mesh) = tested(Some(150.0), 100.0, &[(gets(101), Finding::Starved); 3]);
        let tested = (Step::Hold, Reason::Tested, None);
        assert_eq!(verdicts, [tested, tested, (Step::Increase, Reason::Content, None)]);
        assert_eq!((mesh.kbps(), mesh.search.before), ((300.0, 600.0, 800.0), None), "as it was");
        assert_eq!((mesh.search.demand(1), mesh.search.demand(0)), (Some(101e3), None));
        assert_eq!((mesh.search.raised, mesh.search.since, mesh.search.tested), (true, 0, 0));
    }

    /// At 500 kb/s each is due 250.
    fn decided(
        change: &dyn Fn(&mut Feedback),
        second: Option<ClassView>,
        finding: Finding,
    ) -> (Verdict, Mesh) {
        let mut mesh = Mesh::at(500.0, [Some(250.0); 2]);
        change(&mut mesh.search);
        let findings = [Finding::Limited, finding];
        let verdict =
            mesh.with(&view(&[waits(250), second]), |search, epoch| search.decide(epoch, &findings));
        (verdict, mesh)
    }

    #[test]
    fn alarm_above_floor_ends_when_class_recovers() {
        let alarmed = |search: &mut Feedback| search.classes[1].alarm = Some(100e3);
        let (verdict, mesh) = decided(&alarmed, gets(240), Finding::Content);
        assert_eq!(verdict, (Step::Hold, Reason::Relieved, Some(1)));
        assert_eq!((mesh.kbps(), mesh.search.classes[1].alarm), ((500.0, 500.0, 900.0), None));
        let mut mesh = Mesh::at(500.0, [Some(250.0); 2]);
        let verdict = mesh.with(&view(&[gets(10), gets(20)]), |search, epoch| {
            search.decide(epoch, &[Finding::Content, Finding::Unjudged])
        });
        assert_eq!(verdict, (Step::Hold, Reason::Unknown, Some(1)), "all are not known to be satisfied");
        let (verdict, _) = decided(&alarmed, gets(0), Finding::Silent);
        assert_eq!(verdict.1, Reason::Satisfied, "its epoch is not judged, and another wants more");
        let at_floor = |search: &mut Feedback| {
            alarmed(search);
            search.estimate = 300e3;
        };
        assert_eq!(decided(&at_floor, gets(90), Finding::Starved).0, (Step::Hold, Reason::Tested, None));
    }

    #[test]
    fn doubt_once_differs_from_twice_or_increase() {
        let starved = |search: &mut Feedback| search.classes[1].count(Finding::Starved);
        let (verdict, mesh) = decided(&starved, gets(100), Finding::Starved);
        assert_eq!(verdict, (Step::Hold, Reason::Doubted, Some(1)));
        assert!((mesh.kbps().1 - 450.0).abs() < 1e-9, "a tenth less");
        let twice = |search: &mut Feedback| [(); 2].iter().for_each(|()| starved(search));
        assert_eq!(decided(&twice, gets(100), Finding::Starved).0.1, Reason::Starved);
        let raised = |search: &mut Feedback| {
            starved(search);
            search.raised = true;
        };
        assert_eq!(decided(&raised, gets(100), Finding::Starved).0.1, Reason::Starved);
        // A class that has only just come does not hold up the others.
        for is_raised in [false, true] {
            let new = |search: &mut Feedback| {
                starved(search);
                (search.classes[1].known, search.raised) = (None, is_raised);
            };
            assert_eq!(
                decided(&new, gets(100), Finding::Starved).0,
                (Step::Increase, Reason::Satisfied, None)
            );
        }
    }

    #[test]
    fn unresponsive_class_is_named_at_rest() {
        let decide = |findings: [Finding; 2], high: f64| {
            let mut mesh = Mesh::at(500.0, [Some(250.0); 2]);
            mesh.search.high = high * 1e3;
            mesh.with(&view(&[gets(250), gets(250)]), |search, epoch| search.decide(epoch, &findings))
        };
        let (limited, deaf, content) = (Finding::Limited, Finding::Unresponsive, Finding::Content);
        assert_eq!(decide([content; 2], 900.0), (Step::Hold, Reason::Satisfied, None));
        assert_eq!(decide([content, deaf], 900.0), (Step::Hold, Reason::Unresponsive, Some(1)));
        assert_eq!(decide([limited, deaf], 900.0), (Step::Increase, Reason::Satisfied, None));
        assert_eq!(decide([limited, deaf], 510.0), (Step::Hold, Reason::Unresponsive, Some(1)));
        assert_eq!(decide([limited, content], 510.0), (Step::Hold, Reason::Converged, None));
    }

    #[test]
    fn new_classes_keep_history_and_end_alarms() {
        let classes = |was: &[Option<u32>]| NewClasses {
            role: GatewayRole { classes: alloc::vec![ClassRole::default(); was.len()] },
            was: was.into(),
        };
        let mut mesh = Mesh::at(500.0, [Some(250.0), Some(200.0)]);
        mesh.search.before = Some((600e3, 800e3));
        mesh.search.classes[1].alarm = Some(1e5);
        mesh.search.relieved = Some(1);
        let changed = Reconfigured { weight: 1.5, shares: true, links: false };
        mesh.search.on_classes(&classes(&[Some(1), None]), changed, None);
        assert_eq!((mesh.search.classes[0].known, mesh.search.classes[1].known), (Some(200e3), None));
        assert_eq!((mesh.search.relieved, mesh.search.before), (Some(0), Some((600e3, 800e3))));
        assert!((mesh.search.weight - 3.5).abs() < 1e-12 && mesh.search.settling == 1);
        // The class of the alarm has gone: all is as before it.
        mesh.search.since = 9;
        mesh.search.on_classes(&classes(&[Some(1)]), Reconfigured::default(), None);
        assert_eq!((mesh.kbps(), mesh.search.before), ((300.0, 600.0, 800.0), None));
        assert_eq!((mesh.search.raised, mesh.search.since), (true, 0));
        let links = CapacityBounds { low: 100e3, high: 400e3 };
        mesh.search.since = 9;
        mesh.search.on_classes(&classes(&[Some(0)]), Reconfigured::default(), Some(links));
        assert_eq!((mesh.kbps(), mesh.search.since), ((100.0, 400.0, 400.0), 0));
        let mut new = Mesh::new();
        new.search.on_classes(&classes(&[Some(0), Some(1)]), changed, None);
        assert!(new.search.weight.abs() < 1e-12, "none has been there");
    }

    /// An estimate that has not moved needs no epochs to settle.
    #[test]
    fn estimate_that_stays_is_judged_at_once() {
        let mut mesh = Mesh::at(500.0, [Some(200.0); 2]);
        for _ in 0..3 {
            assert_eq!(mesh.epoch([gets(200), gets(200)]), (Step::Hold, Reason::Satisfied, None));
        }
        assert_eq!(mesh.kbps().1.to_bits(), 500f64.to_bits());
    }

    #[test]
    fn search_settles_without_learning_classes() {
        for (settling, is_learnt) in [(1, false), (0, true)] {
            let mut mesh = Mesh::at(500.0, [None; 2]);
            mesh.epoch([gets(10), gets(10)]); // not there for a whole epoch
            (mesh.search.estimate, mesh.search.settling) = (500e3, settling);
            assert_eq!(mesh.search.classes[0].known, None);
            mesh.epoch([waits(250), waits(250)]);
            assert_eq!(mesh.search.classes[0].known.is_some(), is_learnt);
        }
    }
}
