//! The common part of ARC and PFRC: classes, bounds, a search of either form.

use super::feedback::Feedback;
use super::members::{Change, Members};
use super::search::Search;
use super::{
    Allocation, CapacityBounds, Decision, Form, GatewayRole, GatewayView, NewClasses, Reason, Step, Tuning,
    rate,
};
use alloc::vec::Vec;
use evenair_units::Rate;

/// A decision, its reason, and the class that gave it.
pub(super) type Verdict = (Step, Reason, Option<u32>);

/// The part of a law that does not depend on how it assigns rates.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub(super) struct Controller {
    pub(super) members: Members,
    tuning: Tuning,
    /// None without bounds.
    pub(super) search: Option<AnySearch>,
}

/// The search, in either form.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub(super) enum AnySearch {
    Thesis(Search),
    Corrected(Feedback),
}

impl AnySearch {
    pub(super) fn estimate(&self) -> f64 {
        match self {
            Self::Thesis(search) => search.estimate,
            Self::Corrected(search) => search.estimate,
        }
    }
}

/// The search at its start, if there are bounds.
fn begin(tuning: &Tuning, members: &Members) -> Option<AnySearch> {
    members.bounds(tuning).map(|bounds| match tuning.form {
        Form::Thesis => AnySearch::Thesis(Search::new(tuning, bounds)),
        Form::Corrected => AnySearch::Corrected(Feedback::new(*tuning, bounds, members)),
    })
}

impl Controller {
    pub(super) fn new(tuning: Tuning, role: &GatewayRole) -> Self {
        let members = Members::new(role, tuning.patience, tuning.per_subscriber);
        let search = begin(&tuning, &members);
        Self { members, tuning, search }
    }

    /// The classes are others. The search goes on; between other bounds, where links are others. Where there were no bounds
    /// it begins as soon as there are.
    pub(super) fn on_classes(&mut self, classes: &NewClasses) -> Verdict {
        let changed = self.members.change(classes);
        let bounds = self.members.bounds(&self.tuning);
        match (&mut self.search, bounds) {
            (Some(AnySearch::Thesis(search)), Some(bounds)) if changed.links => search.move_to(bounds),
            (Some(AnySearch::Corrected(search)), bounds) => {
                search.on_classes(classes, changed, bounds.filter(|_| changed.links));
            }
            (search @ None, Some(_)) => *search = begin(&self.tuning, &self.members),
            _ => (),
        }
        let reason = if self.search.is_some() { Reason::Reconfigured } else { Reason::Unbounded };
        (Step::Hold, reason, None)
    }

    pub(super) fn at_start(&self) -> Verdict {
        (Step::Start, if self.search.is_some() { Reason::Configured } else { Reason::Unbounded }, None)
    }

    /// One more epoch, judged by `judge` if there is anything to judge.
    pub(super) fn on_epoch(
        &mut self,
        view: &GatewayView,
        judge: impl FnOnce(&mut AnySearch, &Members, Change, CapacityBounds) -> Verdict,
    ) -> Verdict {
        let Some(search) = &mut self.search else { return (Step::Hold, Reason::Unbounded, None) };
        if view.interval.is_zero() {
            return (Step::Hold, Reason::Idle, None);
        }
        if let Some(class) = self.members.unknown(view) {
            return (Step::Hold, Reason::Unknown, Some(class));
        }
        let change = self.members.observe(view);
        match self.members.bounds(&self.tuning) {
            Some(bounds) if self.members.any_active() => judge(search, &self.members, change, bounds),
            _ => (Step::Hold, Reason::Idle, None),
        }
    }
}

pub(super) fn allocation(total: Option<Rate>, each: &[f64], (step, reason, class): Verdict) -> Allocation {
    let each: Vec<_> = each.iter().map(|&bps| rate(bps)).collect();
    Allocation { total, each, decision: Decision { step, reason, class } }
}
