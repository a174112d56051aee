//! An in-memory kernel for tests. It refuses everything that a real one refuses, and any change that
//! leaves traffic without a limit. Tests set its packets, counters and failures.

use crate::kernel::{
    AllFound, Counters, Failure, Filter, Found, Kernel, Neighbour, Offered, Offloads, Passed, Readings, Root,
    Stamp,
};
use crate::plan::Change;
use crate::tree::{Class, Tree};
use crate::{Prefix, Side};
use std::collections::BTreeMap;

/// The in-memory kernel.
#[derive(Clone, Debug)]
pub(crate) struct MemoryKernel {
    pub(crate) there: AllFound,
    pub(crate) counters: [Readings; 2],
    pub(crate) offered: Vec<Offered>,
    /// Packets that `passed` has not delivered yet.
    pub(crate) passed: Vec<Passed>,
    /// Number of packets that were not seen; `None` if packets cannot be seen.
    pub(crate) lost: Option<u64>,
    /// Number of changes that still succeed.
    pub(crate) changes_left: usize,
    /// Whether reading the counters fails.
    pub(crate) no_counters: bool,
    /// Whether reading the installed state fails.
    pub(crate) is_dumb: bool,
    /// Hosts that answer on the mesh's link.
    pub(crate) neighbours: Vec<Neighbour>,
}

impl Default for MemoryKernel {
    fn default() -> Self {
        let device = Found { offloads: Offloads([("rx-gro".into(), true)].into()), ..Found::default() };
        let there = AllFound { down: device.clone(), up: device, ..AllFound::default() };
        let counters = [Readings::new(), Readings::new()];
        let (offered, passed) = (Vec::new(), Vec::new());
        Self {
            there,
            counters,
            offered,
            passed,
            lost: Some(0),
            changes_left: usize::MAX,
            no_counters: false,
            is_dumb: false,
            neighbours: Vec::new(),
        }
    }
}

impl MemoryKernel {
    /// Makes a change on behalf of another program.
    pub(crate) fn by_hand(&mut self, change: &Change) {
        self.make(change).expect("a change that the kernel makes");
    }

    /// Returns the class of an address with its settings.
    pub(crate) fn class_of(&self, side: Side, address: &str) -> Option<(u16, Class)> {
        let address = address.parse().unwrap();
        let tree = &self.there.of(side).tree;
        let of = |(prefix, _): &(&Prefix, &u16)| prefix.contains(address);
        tree.entries.iter().find(of).map(|(_, minor)| (*minor, tree.classes[minor]))
    }

    /// Counts sent packets of a class.
    pub(crate) fn serve(&mut self, side: Side, minor: u16, packets: u32) {
        let counters = self.counters[side as usize].entry(minor).or_default();
        counters.packets = counters.packets.wrapping_add(packets);
        counters.bytes += u64::from(packets) * 1500;
    }

    /// Removes a device with its state; the packet filter's table stays.
    pub(crate) fn remove(&mut self, side: Side) {
        let entries = std::mem::take(&mut self.there.of_mut(side).tree.entries);
        *self.there.of_mut(side) =
            Found { root: Root::Gone, tree: Tree { entries, ..Tree::default() }, ..Found::default() };
        self.counters[side as usize].clear();
        self.there.filter = self.there.filter.min(Filter::Silent);
    }

    /// Adds a new device with the kernel's defaults.
    pub(crate) fn plug(&mut self, side: Side) {
        let entries = std::mem::take(&mut self.there.of_mut(side).tree.entries);
        *self.there.of_mut(side) =
            Found { tree: Tree { entries, ..Tree::default() }, ..Self::default().there.down };
    }

    fn there(&self, side: Side) -> Result<(), Failure> {
        if self.there.of(side).root == Root::Gone {
            Err(Failure::new("mesh0", "no such device"))
        } else {
            Ok(())
        }
    }

    /// Adds a class; returns whether its parent exists and it is new.
    fn add_class(&mut self, side: Side, minor: u16, class: Class) -> bool {
        let device = self.there.of_mut(side);
        let parent = class.parent == 0 || device.tree.classes.contains_key(&class.parent);
        let fits = device.root == Root::Ours && parent && !device.tree.classes.contains_key(&minor);
        if fits {
            device.tree.classes.insert(minor, class);
            self.counters[side as usize].insert(minor, Counters::default());
        }
        fits
    }

    fn make(&mut self, change: &Change) -> Result<(), Failure> {
        let refuse = |why: &str| Err(Failure::new(format!("{change:?}"), why));
        change.side().map_or(Ok(()), |side| self.there(side))?;
        match change.clone() {
            Change::SetOffloads(side, offloads) => self.there.of_mut(side).offloads = offloads,
            Change::AddRoot(side) => {
                let device = self.there.of_mut(side);
                device.root = Root::Ours;
                device.tree.classes.clear();
                self.counters[side as usize].clear();
            }
            Change::AddClass(side, minor, class) if !self.add_class(side, minor, class) => {
                return refuse("no root, no parent, or it is there");
            }
            Change::AddClass(..) => {}
            Change::ChangeClass(side, minor, class) => {
                let Some(there) = self.there.of_mut(side).tree.classes.get_mut(&minor) else {
                    return refuse("none");
                };
                *there = class;
            }
            Change::DeleteClass(side, minor) => {
                let tree = &mut self.there.of_mut(side).tree;
                let in_use = tree.entries.values().any(|&to| to == minor);
                let has_children = tree.classes.values().any(|class| class.parent == minor);
                if in_use || has_children || tree.classes.remove(&minor).is_none() {
                    return refuse("in use, or none");
                }
                self.counters[side as usize].remove(&minor);
            }
            Change::AddTable if self.there.filter.has_maps() => return refuse("it is there"),
            Change::AddTable => self.there.filter = Filter::Silent,
            Change::SetRules if !self.there.filter.has_maps() => return refuse("no table"),
            Change::SetRules => self.there.filter = Filter::Leads,
            Change::AddEntry(side, prefix, minor) => {
                let table = self.there.filter.has_maps();
                let tree = &mut self.there.of_mut(side).tree;
                let overlaps = tree.entries.keys().any(|other| other.overlaps(prefix));
                if overlaps || !table || !tree.classes.contains_key(&minor) {
                    return refuse("no table, no class, or it overlaps");
                }
                tree.entries.insert(prefix, minor);
            }
            Change::ChangeEntry(side, prefix, from, to) => {
                let tree = &mut self.there.of_mut(side).tree;
                if !tree.classes.contains_key(&to) || tree.entries.insert(prefix, to) != Some(from) {
                    return refuse("no class, or it was another's");
                }
            }
            Change::DeleteEntry(side, prefix, minor) => {
                if self.there.of_mut(side).tree.entries.remove(&prefix) != Some(minor) {
                    return refuse("none, or it was another's");
                }
            }
            Change::DeleteTable if self.there.filter == Filter::Missing => return refuse("no table"),
            Change::DeleteTable => {
                self.there.filter = Filter::Missing;
                Side::ALL.into_iter().for_each(|side| self.there.of_mut(side).tree.entries.clear());
            }
            Change::DeleteRoot(side, before) => {
                (self.there.of_mut(side).root, self.there.of_mut(side).tree) = (before, Tree::default());
            }
        }
        Ok(())
    }
}

impl Kernel for MemoryKernel {
    fn find(&mut self) -> Result<AllFound, Failure> {
        if self.is_dumb {
            return Err(Failure::new("what stands", "no buffer space"));
        }
        Ok(self.there.clone())
    }

    fn apply(&mut self, changes: &[Change]) -> Result<(), Failure> {
        for change in changes {
            let left = self.changes_left.checked_sub(1);
            self.changes_left = left.ok_or_else(|| Failure::new("a change", "out of memory"))?;
            self.make(change)?;
        }
        Ok(())
    }

    fn counters(&mut self, side: Side) -> Result<Readings, Failure> {
        self.there(side)?;
        if self.no_counters {
            return Err(Failure::new("counters", "no buffer space"));
        }
        Ok(self.counters[side as usize].clone())
    }

    fn backlogs(&mut self, side: Side, minors: &[u16]) -> Result<BTreeMap<u16, u64>, Failure> {
        self.there(side)?;
        let counters = &self.counters[side as usize];
        let waits = |&minor: &u16| Some((minor, counters.get(&minor)?.backlog.packets));
        Ok(minors.iter().filter_map(waits).collect())
    }

    fn offered(&mut self) -> Result<Vec<Offered>, Failure> {
        Ok(self.offered.clone())
    }

    fn stamp(&mut self) -> Stamp {
        let AllFound { down, up, filter } = &self.there;
        let [down, up] = [down, up].map(|found| match found.root {
            Root::Gone => [0, 0],
            Root::Ours => [1, 1],
            _ => [1, 0],
        });
        [*filter as u32, down[0], down[1], up[0], up[1]]
    }

    fn neighbours(&mut self) -> Result<Vec<Neighbour>, Failure> {
        Ok(self.neighbours.clone())
    }

    fn take_notes(&mut self) -> Vec<String> {
        Vec::new()
    }

    fn passed(&mut self, see: &mut dyn FnMut(&Passed)) -> Option<u64> {
        std::mem::take(&mut self.passed).iter().for_each(see);
        self.lost
    }
}
