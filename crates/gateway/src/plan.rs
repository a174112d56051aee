//! From what stands in the kernel to what is wanted: a list of changes, in an order in which nothing is ever without a limit.
//!
//! An address whose class is not there would be unlimited without a word. So classes come before the addresses that lead to them, and
//! go after them; rules come last, since until then nobody is led anywhere.

mod print;

pub use print::Names;

use crate::kernel::{AllFound, Filter, Found, Offloads, Root};
use crate::tree::{Class, Tree, Trees};
use crate::{Prefix, Side};
use serde::{Deserialize, Serialize};

/// One change in the kernel.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Change {
    /// A device joins and cuts packets otherwise.
    SetOffloads(Side, Offloads),
    /// The root that stands there goes, and the gateway's own comes.
    AddRoot(Side),
    /// A class comes, with its line.
    AddClass(Side, u16, Class),
    /// A class has other rates, turns or line.
    ChangeClass(Side, u16, Class),
    /// The gateway's table of the packet filter comes, without addresses and rules.
    AddTable,
    /// The table has its rules, in the place of others: from now on packets go by their addresses.
    SetRules,
    /// An address has a class.
    AddEntry(Side, Prefix, u16),
    /// An address has another class, without a moment between.
    ChangeEntry(Side, Prefix, u16, u16),
    /// An address has none.
    DeleteEntry(Side, Prefix, u16),
    /// A class goes, with its line.
    DeleteClass(Side, u16),
    /// The gateway's table goes, with all addresses.
    DeleteTable,
    /// The gateway's root goes, with all classes, and what was there before comes.
    DeleteRoot(Side, Root),
}

impl Change {
    /// The device that it is made on; none, where it is the packet filter's.
    pub(crate) const fn side(&self) -> Option<Side> {
        match self {
            Self::SetOffloads(side, _)
            | Self::AddRoot(side)
            | Self::AddClass(side, ..)
            | Self::ChangeClass(side, ..)
            | Self::DeleteClass(side, _)
            | Self::DeleteRoot(side, _) => Some(*side),
            Self::AddTable
            | Self::SetRules
            | Self::AddEntry(..)
            | Self::ChangeEntry(..)
            | Self::DeleteEntry(..)
            | Self::DeleteTable => None,
        }
    }
}

/// From what stands there to the trees that are wanted, on the devices that are there.
pub fn difference(wanted: &Trees, found: &AllFound) -> Vec<Change> {
    let mut plan = Vec::new();
    let is_there = |side: &Side| found.of(*side).root != Root::Gone;
    for side in Side::ALL.into_iter().filter(is_there) {
        come(side, wanted.of(side), found.of(side), &mut plan);
    }
    if !found.filter.has_maps() {
        plan.push(Change::AddTable);
    }
    let none = Tree::default();
    for side in Side::ALL.into_iter().filter(is_there) {
        let there = if found.filter.has_maps() { &found.of(side).tree } else { &none };
        lead(side, wanted.of(side), there, &mut plan);
    }
    let comes = Side::ALL.into_iter().any(|side| !stays(wanted.of(side), found.of(side)));
    if (found.filter != Filter::Leads || comes) && Side::ALL.iter().all(is_there) {
        plan.push(Change::SetRules);
    }
    for side in Side::ALL.into_iter().filter(is_there) {
        let (wanted, found) = (wanted.of(side), found.of(side));
        if stays(wanted, found) {
            // Children before parents: those that the gateway itself makes have higher numbers.
            let gone = found.tree.classes.keys().rev().filter(|minor| !wanted.classes.contains_key(minor));
            plan.extend(gone.map(|&minor| Change::DeleteClass(side, minor)));
        }
    }
    plan
}

/// Whether the tree that stands on a device can be made the one that is wanted. The kernel moves no class below another parent: where
/// somebody did, all is made anew.
fn stays(wanted: &Tree, found: &Found) -> bool {
    let moved = |(minor, class): (&u16, &Class)| {
        found.tree.classes.get(minor).is_some_and(|there| there.parent != class.parent)
    };
    found.root == Root::Ours && !wanted.classes.iter().any(moved)
}

/// Classes come, or change.
fn come(side: Side, wanted: &Tree, found: &Found, plan: &mut Vec<Change>) {
    if found.offloads != found.offloads.apart() {
        plan.push(Change::SetOffloads(side, found.offloads.apart()));
    }
    let stays = stays(wanted, found);
    if !stays {
        plan.push(Change::AddRoot(side));
    }
    for (&minor, &class) in &wanted.classes {
        match found.tree.classes.get(&minor).filter(|_| stays) {
            None => plan.push(Change::AddClass(side, minor, class)),
            Some(other) if *other != class => plan.push(Change::ChangeClass(side, minor, class)),
            Some(_) => (),
        }
    }
}

/// Addresses lead to their classes. Who lost an address loses it before another has it: prefixes of a map may not overlap.
fn lead(side: Side, wanted: &Tree, there: &Tree, plan: &mut Vec<Change>) {
    for (&prefix, &minor) in &there.entries {
        if !wanted.entries.contains_key(&prefix) {
            plan.push(Change::DeleteEntry(side, prefix, minor));
        }
    }
    for (&prefix, &minor) in &wanted.entries {
        match there.entries.get(&prefix) {
            None => plan.push(Change::AddEntry(side, prefix, minor)),
            Some(&other) if other != minor => plan.push(Change::ChangeEntry(side, prefix, other, minor)),
            Some(_) => (),
        }
    }
}

/// What stands there once the trees do.
pub fn after(wanted: &Trees, before: &AllFound) -> AllFound {
    let found = |side| match before.of(side) {
        gone if gone.root == Root::Gone => gone.clone(),
        there => Found { root: Root::Ours, tree: wanted.of(side).clone(), offloads: there.offloads.apart() },
    };
    let (down, up) = (found(Side::Down), found(Side::Up));
    let leads = ![&down, &up].into_iter().any(|found| found.root == Root::Gone);
    AllFound { down, up, filter: if leads { Filter::Leads } else { Filter::Silent } }
}

/// What was there before the gateway.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Before {
    /// At the device's root.
    pub root: Root,
    /// How it joined and cut.
    pub offloads: Offloads,
}

/// From what stands there to what was there before, on the devices that are there.
pub fn restoration(before: [&Before; 2], found: &AllFound) -> Vec<Change> {
    let mut plan = Vec::new();
    if found.filter != Filter::Missing {
        plan.push(Change::DeleteTable);
    }
    let is_there = |(side, _): &(Side, &Before)| found.of(*side).root != Root::Gone;
    for (side, before) in Side::ALL.into_iter().zip(before).filter(is_there) {
        // Who was killed between two steps may have left neither his own queue nor the one that was there.
        let is_missing = found.of(side).root == Root::Usual && before.root != Root::Usual;
        if found.of(side).root == Root::Ours || is_missing {
            plan.push(Change::DeleteRoot(side, before.root.clone()));
        }
        if found.of(side).offloads != before.offloads {
            plan.push(Change::SetOffloads(side, before.offloads.clone()));
        }
    }
    plan
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::Kernel;
    use crate::memory::Memory;
    use crate::tree::{FIRST, Has, Limits};
    use evenair_units::Rate;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    const LIMITS: Limits = Limits {
        total: None,
        unknown: Rate::from_kbps(256),
        exempt: Rate::from_kbps(10_000),
        acknowledgements: true,
    };

    fn trees(subscribers: &BTreeMap<u16, (u16, u64)>) -> Trees {
        let mut tree = Tree::new(&LIMITS);
        for (&address, &(minor, kbps)) in subscribers {
            let own = Has::Bucket(Rate::from_kbps(kbps));
            tree.subscriber(FIRST + minor, (own, None), 1.0, Rate::from_kbps(8));
            let prefix = format!("10.0.{}.{}", address / 256, address % 256).parse().unwrap();
            tree.entries.insert(prefix, FIRST + minor);
        }
        Trees { down: tree.clone(), up: tree }
    }

    fn subscribers() -> impl Strategy<Value = BTreeMap<u16, (u16, u64)>> {
        prop::collection::btree_map(0u16..40, (0u16..30, 8u64..1000), 0..30)
    }

    proptest! {
        /// From anywhere to anywhere, and back to where nothing was. The kernel in memory refuses an address without its class, a class
        /// without its parent, and a class that goes while an address leads to it; so each plan is safe at each of its steps.
        #[test]
        fn plans_lead_there_and_back(one in subscribers(), other in subscribers(), stop in 0usize..40) {
            let mut kernel = Memory::default();
            let before = kernel.find().unwrap();
            let step = |kernel: &mut Memory, wanted: &Trees, stop: usize| {
                let plan = difference(wanted, &kernel.find().unwrap());
                // A power cut in the middle of a plan.
                kernel.apply(&plan[..stop.min(plan.len())]).unwrap();
                let rest = difference(wanted, &kernel.find().unwrap());
                kernel.apply(&rest).unwrap();
                let found = kernel.find().unwrap();
                assert_eq!((&found.down.tree, &found.up.tree), (&wanted.down, &wanted.up));
                assert_eq!(difference(wanted, &found), []);
            };
            step(&mut kernel, &trees(&one), stop);
            step(&mut kernel, &trees(&other), stop);
            let was = |side| Before { root: before.of(side).root.clone(), offloads: before.of(side).offloads.clone() };
            let plan = restoration([&was(Side::Down), &was(Side::Up)], &kernel.find().unwrap());
            kernel.apply(&plan).unwrap();
            prop_assert_eq!(kernel.find().unwrap(), before);
        }
    }

    #[test]
    fn what_somebody_changed_by_hand_is_changed_back() {
        let mut kernel = Memory::default();
        let wanted = trees(&[(1, (0, 100))].into());
        let plan = difference(&wanted, &kernel.find().unwrap());
        kernel.apply(&plan).unwrap();
        let mut class = wanted.down.classes[&FIRST];
        class.ceiling = Rate::from_kbps(9_000);
        kernel.by_hand(&Change::ChangeClass(Side::Down, FIRST, class));
        kernel.by_hand(&Change::DeleteEntry(Side::Up, "10.0.0.1".parse().unwrap(), FIRST));
        let plan = difference(&wanted, &kernel.find().unwrap());
        assert_eq!(
            plan,
            [
                Change::ChangeClass(Side::Down, FIRST, wanted.down.classes[&FIRST]),
                Change::AddEntry(Side::Up, "10.0.0.1".parse().unwrap(), FIRST)
            ]
        );
    }
}
