//! How the corrected form looks for the capacity.
//!
//! # Law
//! The search is on what is allowed, `C`, between `C_low` and `C_up`, and moves at most once in `settle + 1` epochs. How a class
//! fares is judged in `judgement.rs`.
//! - Limited, and none starved: more, half way to the upper bound, at most a quarter.
//! - Starved after an increase: that was too much; back half way towards what was good, at most a fifth.
//! - Starved for once, at rest: all rest at the edge; a little less, at most a tenth.
//! - Starved for longer without an increase: a fifth less. If that does not help, or for a class that is not known, all go to `C_low` for a test. If the class gets
//!   more there than before (or is limited there), it was starved, and the search goes on between `C_low` and where it came from.
//!   If not, it wants no more than it has: what it gets is remembered, it is not heard for a while (twice as long at each such
//!   time), and all return to where they were.
//! - A class for which all went down leaves, or its subscriber is away: all return to where they were.
//! - Only who is unresponsive wants more: all stay where they are. While the search rests, who is unresponsive is the reason that is told.
//!
//! When the interval is closed it opens upwards every `reopen`, and to both sides when the weight of who is active has changed by a fifth.
//!
//! # Source
//! Ours, after [Jam10] Alg. 1 and Alg. 4 (J11, J13).
//!
//! # Symbols
//! `C` → `estimate`; `C_low`, `C_up` → `bounds`; what is known to be good and to be too much → `low`, `high` \[bit/s\].
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
    /// Whether the last move was up from what is known to be good.
    raised: bool,
    /// Where the search was when it went down because of an alarm, and what was known to be too much.
    before: Option<(f64, f64)>,
    /// Epochs of it so far, and whom it has shown to be starved.
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
            // Where most meshes carry what they are given, so that it is known soon what each can have.
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

    /// The classes are others: of those that stay all is known that was. What was an alarm of one that went is none any more.
    /// Other weights change what all are due, so that the epoch is not judged; `links` are the bounds of other links.
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
            // Who stays and weighs more has not come.
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

    /// Where all alarms were of classes that have gone, the search is where it was before them, as after a test that has shown nothing. Gives
    /// whether that is so.
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
        // What follows an increase is taken for its effect at once, anything else when it lasts.
        let lasting = |&class: &usize| {
            let memory = &self.classes[class];
            (self.raised && memory.is_trusted()) || memory.is_lasting(epoch, class)
        };
        let mut starved = (0..findings.len()).filter(|&class| findings[class] == Finding::Starved);
        if let Some(class) = starved.clone().find(lasting) {
            return self.starved(epoch, findings, class);
        }
        // Who has only come does not hold up the others.
        if let Some(class) = starved.find(|&class| self.classes[class].known.is_some()) {
            self.nudge(self.carried(epoch, findings));
            return (Step::Hold, Reason::Doubted, Some(class as u32));
        }
        let verdict = match has(Finding::Limited) {
            Some(_) => self.increase(),
            None => (Step::Hold, Reason::Satisfied, None),
        };
        // No rate of the gateway's cures it: who it is, is what the operator can be told.
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
            // What was good is not, or is not known to be for this class.
            self.before.get_or_insert((carried, self.high.max(carried)));
            self.low = self.bounds.low;
            if was_alarmed || !is_known {
                self.high = carried.max(self.low);
                self.estimate = self.bounds.low;
                self.raised = false;
                return (Step::Decrease, Reason::Tested, Some(class as u32));
            }
        }
        // What passes a mesh with too much in it is more than what would pass it fairly.
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

    /// The part of the estimate that the mesh carries: the rate that was measured, and the rest in the buckets of those who wanted less.
    fn carried(&self, epoch: &Epoch<'_>, findings: &[Finding]) -> f64 {
        let of = |class: usize| {
            let (rate, due) = (epoch.view.rate(class), epoch.due[class]);
            let wanted_less = !epoch.one_bucket
                && rate < self.tuning.gamma * due
                && matches!(findings[class], Finding::Limited | Finding::Content);
            // Who is known to want little has been given no more than that of the estimate.
            let given = self.demand(class).map_or(due, |demand| demand.max(rate).min(due));
            if wanted_less { given } else { rate }
        };
        let carried: f64 = epoch.members.sharing().map(of).sum();
        self.estimate.min(carried).max(self.bounds.low)
    }

    /// A little less: who starves now and then does so because all rest at the edge.
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

    /// At the floor: who was starved gets more here than before, or what it was known to get, or is limited by the gateway.
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
            // Back half way to what was too much.
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
