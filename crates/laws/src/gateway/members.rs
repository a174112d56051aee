//! The classes of a gateway, and which of them are active.

use super::{
    CapacityBounds, ClassRole, ClassView, Form, GatewayRole, GatewayView, NewClasses, Reason, Tuning,
};
use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use evenair_units::Rate;

/// The classes.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub(super) struct Members {
    weights: Vec<f64>,
    /// Whose each is: the place of the first class of its subscriber, its own where each class is for itself.
    owners: Vec<u32>,
    /// `W_j`, zero where it is not known \[bit/s\].
    links: Vec<u64>,
    /// Epochs without a packet; none, if nothing was ever seen of it.
    silent: Vec<Option<u32>>,
    /// After so many epochs without a packet a class is not active.
    patience: u32,
    per_subscriber: bool,
    /// Active classes are no longer there since the last epoch.
    has_lost: bool,
}

/// The changes of an epoch: the first class of those that came, and of those that went.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Change {
    pub(super) joined: Option<u32>,
    pub(super) left: Option<u32>,
    /// Whether an active class is no longer there.
    pub(super) is_lost: bool,
    /// Whether none was active before.
    pub(super) is_first: bool,
}

/// The effect of the operator's change on the active classes that stay.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Reconfigured {
    /// By how much their weight together is greater.
    pub(super) weight: f64,
    /// Whether any of them has another weight.
    pub(super) shares: bool,
    /// Whether any class that stays, active or not, has another link.
    pub(super) links: bool,
}

impl Change {
    /// Whether other classes are active than before.
    pub(super) fn is_any(self) -> bool {
        self.class().is_some() || self.is_lost
    }

    pub(super) fn class(self) -> Option<u32> {
        self.joined.or(self.left)
    }

    /// A class that comes counts more than one that goes.
    pub(super) fn reason(self) -> Reason {
        if self.joined.is_some() { Reason::Joined } else { Reason::Left }
    }
}

/// Whose each class is.
fn owners(role: &GatewayRole, per_subscriber: bool) -> Vec<u32> {
    let mut firsts = BTreeMap::new();
    let own = |(place, class): (u32, &ClassRole)| match class.subscriber.filter(|_| per_subscriber) {
        Some(subscriber) => *firsts.entry(subscriber).or_insert(place),
        None => place,
    };
    (0..).zip(&role.classes).map(own).collect()
}

impl Members {
    pub(super) fn new(role: &GatewayRole, patience: u32, per_subscriber: bool) -> Self {
        let owners = owners(role, per_subscriber);
        // A subscriber does not count for more because it has more classes, but for as much as the greatest of them.
        let mut weights: Vec<_> = role.classes.iter().map(|class| class.weight).collect();
        for (class, &owner) in owners.iter().enumerate() {
            weights[owner as usize] = weights[owner as usize].max(weights[class]);
        }
        for (class, &owner) in owners.iter().enumerate() {
            weights[class] = weights[owner as usize];
        }
        let links = role.classes.iter().map(|class| class.link_rate.map_or(0, Rate::as_bps)).collect();
        debug_assert!(weights.iter().all(|&weight| weight > 0.0), "a weight is above zero");
        let silent = alloc::vec![None; weights.len()];
        Self { silent, weights, owners, links, patience, per_subscriber, has_lost: false }
    }

    /// The classes are others: those that stay are active if they were. Says what that changes for the others.
    pub(super) fn change(&mut self, classes: &NewClasses) -> Reconfigured {
        let before = core::mem::replace(self, Self::new(&classes.role, self.patience, self.per_subscriber));
        self.silent = classes.carry(&before.silent, None);
        let gone = |&class: &usize| before.is_active(class) && classes.place_of(class as u32).is_none();
        self.has_lost = before.has_lost || (0..before.len()).any(|class| gone(&class));
        let mut changed = Reconfigured::default();
        for (class, was) in classes.was.iter().enumerate() {
            let Some(was) = was.map(|was| was as usize).filter(|&was| was < before.len()) else { continue };
            changed.links |= self.links[class] != before.links[was];
            if self.is_active(class) {
                changed.weight += self.weights[class] - before.weights[was];
                changed.shares |= self.weights[class].to_bits() != before.weights[was].to_bits();
            }
        }
        changed
    }

    pub(super) fn len(&self) -> usize {
        self.weights.len()
    }

    pub(super) fn weight(&self, class: usize) -> f64 {
        self.weights[class]
    }

    pub(super) fn is_active(&self, class: usize) -> bool {
        self.silent[class].is_some_and(|epochs| epochs < self.patience)
    }

    pub(super) fn any_active(&self) -> bool {
        (0..self.len()).any(|class| self.is_active(class))
    }

    /// The classes that have a share: the active ones, or all before anything is seen.
    pub(super) fn sharing(&self) -> impl Iterator<Item = usize> + Clone + '_ {
        let none = !self.any_active();
        (0..self.len()).filter(move |&class| none || self.is_active(class))
    }

    /// Whose a class is: the first class of its subscriber.
    pub(super) fn owner(&self, class: usize) -> usize {
        self.owners[class] as usize
    }

    /// The weights of those who share together, each subscriber's once.
    pub(super) fn weights(&self) -> f64 {
        let mut counted = alloc::vec![false; self.len()];
        let is_new = |&class: &usize| !core::mem::replace(&mut counted[self.owner(class)], true);
        self.sharing().filter(is_new).map(|class| self.weights[class]).sum()
    }

    /// `M`: what was served of them \[bit/s\].
    pub(super) fn measured(&self, view: &GatewayView) -> f64 {
        self.sharing().map(|class| view.rate(class)).sum()
    }

    /// The bounds for them: as configured, else from their links, in the corrected form only a share of the lower one; none,
    /// where neither is known.
    pub(super) fn bounds(&self, tuning: &Tuning) -> Option<CapacityBounds> {
        let share = if tuning.form == Form::Thesis { 1.0 } else { tuning.floor };
        self.bounds_between(tuning.capacity_low, tuning.capacity_high, share)
    }

    /// The same of what is configured, with a share of the lower bound that links give.
    pub(super) fn bounds_between(
        &self,
        low: Option<Rate>,
        high: Option<Rate>,
        share: f64,
    ) -> Option<CapacityBounds> {
        let link = |class: usize| Rate::from_bps(self.links[class]);
        // Where none of those that share has a known link, those of the others are the best guess.
        let links = CapacityBounds::of_links(self.sharing().map(link))
            .or_else(|| CapacityBounds::of_links((0..self.len()).map(link)));
        let bps = |rate: Rate| rate.as_bps() as f64;
        let high = high.map(bps).or(links.map(|links| links.high)).or(low.map(bps))?;
        let low = low
            .map(bps)
            .or(links.map(|links| share * links.low))
            .unwrap_or(share * high / super::bounds::REUSE);
        Some(CapacityBounds { low: low.min(high), high })
    }

    /// The first active class of which nothing is known in an epoch.
    pub(super) fn unknown(&self, view: &GatewayView) -> Option<u32> {
        (0..self.len())
            .find(|&class| self.is_active(class) && view.class(class).is_none())
            .map(|of| of as u32)
    }

    /// One more epoch. A class that is not known is taken to be as it was.
    pub(super) fn observe(&mut self, view: &GatewayView) -> Change {
        let is_lost = core::mem::take(&mut self.has_lost);
        let mut change = Change { is_first: !self.any_active() && !is_lost, is_lost, ..Change::default() };
        for class in 0..self.len() {
            let before = self.is_active(class);
            let Some(seen) = view.class(class).map(ClassView::is_seen) else { continue };
            let silent = &mut self.silent[class];
            *silent = if seen { Some(0) } else { silent.map(|epochs| epochs.saturating_add(1)) };
            match (before, self.is_active(class)) {
                (false, true) => change.joined = change.joined.or(Some(class as u32)),
                (true, false) => change.left = change.left.or(Some(class as u32)),
                _ => (),
            }
        }
        change
    }
}
