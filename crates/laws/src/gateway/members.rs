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
    /// The owner of each class: the place of its subscriber's first class, or its own place if each class
    /// stands alone.
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

/// The owner of each class.
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

    /// Replaces the classes; those that stay keep their activity. Returns the effect on the others.
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

    /// The owner of a class: the first class of its subscriber.
    pub(super) fn owner(&self, class: usize) -> usize {
        self.owners[class] as usize
    }

    /// The sum of the weights of the classes that share, each subscriber's once.
    pub(super) fn weights(&self) -> f64 {
        let mut counted = alloc::vec![false; self.len()];
        let is_new = |&class: &usize| !core::mem::replace(&mut counted[self.owner(class)], true);
        self.sharing().filter(is_new).map(|class| self.weights[class]).sum()
    }

    /// `M`: the rate served of them \[bit/s\].
    pub(super) fn measured(&self, view: &GatewayView) -> f64 {
        self.sharing().map(|class| view.rate(class)).sum()
    }

    /// The bounds for them: as configured, else from their links, in the corrected form only a share of the lower one; none,
    /// where neither is known.
    pub(super) fn bounds(&self, tuning: &Tuning) -> Option<CapacityBounds> {
        let share = if tuning.form == Form::Thesis { 1.0 } else { tuning.floor };
        self.bounds_between(tuning.capacity_low, tuning.capacity_high, share)
    }

    /// The configured bounds of these classes, else those of their links, with a share of the links' lower
    /// bound.
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gateway::tests::{served, view};
    use alloc::vec;

    fn role(classes: &[(f64, u64)]) -> GatewayRole {
        let class = |&(weight, kbps)| ClassRole {
            weight,
            link_rate: Some(Rate::from_kbps(kbps)),
            ..ClassRole::default()
        };
        GatewayRole { classes: classes.iter().map(class).collect() }
    }

    /// Classes that are silent for one epoch have gone.
    fn members(classes: &[(f64, u64)]) -> Members {
        Members::new(&role(classes), 1, false)
    }

    fn observe(members: &mut Members, there: &[bool]) -> Change {
        let seen: Vec<_> = there.iter().map(|&is| Some(served(if is { 100_000 } else { 0 }))).collect();
        members.observe(&view(&seen))
    }

    #[test]
    fn arrivals_and_departures_are_reported() {
        let mut members = members(&[(1.0, 900); 2]);
        let none = Change::default();
        assert_eq!(members.sharing().count(), 2, "all share before anything is seen");
        let first = observe(&mut members, &[true, false]);
        assert_eq!(first, Change { joined: Some(0), is_first: true, ..none });
        assert_eq!(members.sharing().collect::<Vec<_>>(), [0]);
        let second = observe(&mut members, &[true, true]);
        assert_eq!((second, second.is_any()), (Change { joined: Some(1), ..none }, true));
        assert!(!observe(&mut members, &[true, true]).is_any());
        let left = observe(&mut members, &[false, true]);
        assert_eq!((left, left.reason()), (Change { left: Some(0), ..none }, Reason::Left));
        assert_eq!(members.unknown(&view(&[None, Some(served(0))])), None, "it is not there");
        assert_eq!(members.unknown(&view(&[Some(served(0)), None])), Some(1));
    }

    #[test]
    fn removed_active_class_has_left() {
        let mut members = members(&[(1.0, 900); 2]);
        observe(&mut members, &[true, true]);
        members.change(&NewClasses { role: role(&[(1.0, 900)]), was: vec![Some(1)] });
        let change = observe(&mut members, &[true]);
        assert_eq!(change, Change { is_lost: true, ..Change::default() });
        assert!(change.is_any() && !observe(&mut members, &[true]).is_any());
        // A class that was absent has not lost, and one that was present stays lost until that is reported.
        observe(&mut members, &[false]);
        members.change(&NewClasses { role: role(&[(1.0, 900)]), was: vec![None] });
        assert!(!observe(&mut members, &[false]).is_lost);
    }

    #[test]
    fn departure_is_reported_once() {
        let mut members = members(&[(1.0, 900)]);
        observe(&mut members, &[true]);
        members.change(&NewClasses { role: role(&[]), was: vec![] });
        members.change(&NewClasses { role: role(&[(1.0, 900)]), was: vec![None] });
        let change = observe(&mut members, &[true]);
        assert_eq!(change, Change { joined: Some(0), is_lost: true, ..Change::default() });
    }

    #[test]
    fn change_reports_new_weights_and_links() {
        let changed = |now: &[(f64, u64)], was: &[Option<u32>]| {
            let mut members = members(&[(1.0, 900), (2.0, 900), (5.0, 900)]);
            observe(&mut members, &[true, true, false]);
            members.change(&NewClasses { role: role(now), was: was.into() })
        };
        let none = Reconfigured::default();
        let both = [Some(0), Some(1)];
        assert_eq!(changed(&[(1.0, 900), (2.0, 900)], &both), none);
        assert_eq!(
            changed(&[(4.0, 900), (2.5, 900)], &both),
            Reconfigured { weight: 3.5, shares: true, ..none }
        );
        assert_eq!(
            changed(&[(4.0, 900), (2.0, 900)], &both),
            Reconfigured { weight: 3.0, shares: true, ..none }
        );
        assert_eq!(changed(&[(1.0, 600), (2.0, 900)], &both), Reconfigured { links: true, ..none });
        // An inactive class has no part in the weight, a new one in nothing, and one out of range is new.
        assert_eq!(changed(&[(6.0, 900)], &[Some(2)]), none);
        assert_eq!(changed(&[(6.0, 600), (6.0, 600)], &[None, Some(3)]), none);
    }

    /// Without links the lower bound is a share of a third of the configured one.
    #[test]
    fn bounds_are_configured_or_of_links() {
        let unknown = members(&[(1.0, 0); 2]);
        let between = |members: &Members, low: Option<u64>, high: Option<u64>| {
            let kbps = |kbps: Option<u64>| kbps.map(Rate::from_kbps);
            members
                .bounds_between(kbps(low), kbps(high), 0.5)
                .map(|bounds| (libm::round(bounds.low), libm::round(bounds.high)))
        };
        assert_eq!(between(&unknown, None, None), None);
        assert_eq!(between(&unknown, None, Some(900)), Some((150e3, 900e3)));
        assert_eq!(between(&unknown, Some(600), None), Some((600e3, 600e3)));
        let known = members(&[(1.0, 900); 2]);
        assert_eq!(between(&known, None, None), Some((150e3, 900e3)), "W/3 and W");
    }
}
