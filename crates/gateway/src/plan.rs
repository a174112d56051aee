//! Computes the changes from the installed to the wanted state, in an order that leaves no traffic
//! without a limit at any step.
//!
//! An address with a missing class would be unlimited without an error. So classes are added before the
//! addresses that lead to them, and deleted after them. Rules come last, because no packet is
//! classified without them.

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
    /// Sets a device's offloads.
    SetOffloads(Side, Offloads),
    /// Replaces the present root with the gateway's own.
    AddRoot(Side),
    /// Adds a class, with its queue.
    AddClass(Side, u16, Class),
    /// Changes a class's rates, quantum, priority or queue.
    ChangeClass(Side, u16, Class),
    /// Adds the gateway's table of the packet filter, without addresses and rules.
    AddTable,
    /// Replaces the table's rules: from now on packets are classified by their addresses.
    SetRules,
    /// Adds the class of an address.
    AddEntry(Side, Prefix, u16),
    /// Changes the class of an address in one step.
    ChangeEntry(Side, Prefix, u16, u16),
    /// Deletes the class of an address.
    DeleteEntry(Side, Prefix, u16),
    /// Deletes a class, with its queue.
    DeleteClass(Side, u16),
    /// Deletes the gateway's table, with all addresses.
    DeleteTable,
    /// Replaces the gateway's root and its classes with the earlier root.
    DeleteRoot(Side, Root),
}

impl Change {
    /// Returns the device of a change, or `None` for the packet filter.
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

/// Returns the changes from the installed state to the wanted trees, on the devices that exist.
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
            // Children before parents: the gateway gives children higher numbers.
            let gone = found.tree.classes.keys().rev().filter(|minor| !wanted.classes.contains_key(minor));
            plan.extend(gone.map(|&minor| Change::DeleteClass(side, minor)));
        }
    }
    plan
}

/// Returns whether a device's tree can be changed to the wanted one. The kernel does not move a class
/// to another parent: if another program did, the whole tree is replaced.
fn stays(wanted: &Tree, found: &Found) -> bool {
    let moved = |(minor, class): (&u16, &Class)| {
        found.tree.classes.get(minor).is_some_and(|there| there.parent != class.parent)
    };
    found.root == Root::Ours && !wanted.classes.iter().any(moved)
}

/// Adds the changes that add or change classes.
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

/// Adds the changes of addresses. Deletions come first, because prefixes of a map may not overlap.
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

/// Returns the installed state after the wanted trees are installed.
pub fn after(wanted: &Trees, before: &AllFound) -> AllFound {
    let found = |side| match before.of(side) {
        gone if gone.root == Root::Gone => gone.clone(),
        there => Found { root: Root::Ours, tree: wanted.of(side).clone(), offloads: there.offloads.apart() },
    };
    let (down, up) = (found(Side::Down), found(Side::Up));
    let leads = ![&down, &up].into_iter().any(|found| found.root == Root::Gone);
    AllFound { down, up, filter: if leads { Filter::Leads } else { Filter::Silent } }
}

/// The state of a device before the gateway's first change.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Before {
    /// The root.
    pub root: Root,
    /// The offloads that join or cut packets.
    pub offloads: Offloads,
}

/// Returns the changes from the installed state to the earlier one, on the devices that exist.
pub fn restoration(before: [&Before; 2], found: &AllFound) -> Vec<Change> {
    let mut plan = Vec::new();
    if found.filter != Filter::Missing {
        plan.push(Change::DeleteTable);
    }
    let is_there = |(side, _): &(Side, &Before)| found.of(*side).root != Root::Gone;
    for (side, before) in Side::ALL.into_iter().zip(before).filter(is_there) {
        // A daemon that was killed between two steps may have left neither its own queue nor the
        // earlier one.
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
    use crate::memory::MemoryKernel;
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
        /// Changes any state to any other, and back to the first. The in-memory kernel refuses an
        /// address without its class and a class without its parent. It also refuses to delete a class
        /// that has an address. So each plan is safe at each of its steps.
        #[test]
        fn plans_lead_there_and_back(one in subscribers(), other in subscribers(), stop in 0usize..40) {
            let mut kernel = MemoryKernel::default();
            let before = kernel.find().unwrap();
            let step = |kernel: &mut MemoryKernel, wanted: &Trees, stop: usize| {
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
    fn manual_change_is_reverted() {
        let mut kernel = MemoryKernel::default();
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
