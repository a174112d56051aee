//! What the gateway wants to stand in the kernel: a tree of classes on each device, and which address is whose.
//!
//! ```text
//! e7a1:            HTB, root of the device
//! ├─ e7a1:1        all subscribers together: ARC's bucket
//! │  ├─ e7a1:3     addresses that are nobody's
//! │  ├─ e7a1:10    a subscriber, with a line of its own
//! │  └─ …
//! └─ e7a1:2        exempt, and whatever is not forwarded
//! ```
//! A class lends from the one for all, which has as much as the law allows in sum, and no class is above its own ceiling. The kernel
//! lets a class send within its own rate whatever its parent says, so where one bucket is for all, each has next to none of its own.

use crate::{Prefix, Side};
use evenair_units::Rate;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The number of the gateway's own queue on either device.
pub const MAJOR: u16 = 0xe7a1;
/// The class of all subscribers together.
pub const AGGREGATE: u16 = 1;
/// The class without a subscriber's limit.
pub const EXEMPT: u16 = 2;
/// The class of addresses that are nobody's.
pub const UNKNOWN: u16 = 3;
/// The first number of a subscriber's class.
pub const FIRST: u16 = 0x10;
/// The last.
pub const LAST: u16 = 0xffef;

/// A rate that is no limit on any device of a mesh.
pub const OPEN: Rate = Rate::from_kbps(10_000_000);
/// What a class has for itself where one bucket is for all.
pub const TRICKLE: Rate = Rate::from_kbps(8);

/// Ethernet's largest frame, as HTB counts it \[bytes\].
const FRAME: u32 = 1514;
/// The shortest line: two full packets wait for a third, and one comes.
const LINE_MIN: u32 = 4 * FRAME;
/// How long a line is at its class's ceiling \[ms\].
const LINE_MS: u64 = 100;
/// The longest line \[bytes\].
const LINE_MAX: u64 = 4 << 20;
/// How deep buckets are: the larger of so many bytes, and what the rate lets through in so many milliseconds.
const BURST_MIN: u32 = 2 * FRAME;
const BURST_MS: u64 = 4;

/// A class of HTB, with the line behind it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Class {
    /// Its parent's minor number; 0 for the root.
    pub parent: u16,
    /// What is its own.
    pub rate: Rate,
    /// What it has at most.
    pub ceiling: Rate,
    /// How much it may send in its turn \[bytes\].
    pub quantum: u32,
    /// How deep its buckets are \[bytes\].
    pub burst: u32,
    /// How long its line is \[bytes\]; none, where it has children.
    pub line: Option<u32>,
    /// Who goes first: 0 before 1.
    pub priority: u32,
}

impl Class {
    /// A class with a line, below another.
    fn leaf(parent: u16, rate: Rate, ceiling: Rate, weight: f64, priority: u32) -> Self {
        let of = |ms: u64| ceiling.as_bps() / 8 * ms / 1000;
        // The kernel counts in whole bytes a second.
        let [rate, ceiling] = [rate, ceiling].map(|rate| Rate::from_bps((rate.as_bps() / 8).max(1) * 8));
        // Small changes of a rate change no line: a line is a power of two long, or the shortest.
        let line = of(LINE_MS).min(LINE_MAX).next_power_of_two() as u32;
        let quantum = (f64::from(FRAME) * weight).clamp(f64::from(FRAME), 60_000.0) as u32;
        Self {
            parent,
            rate,
            ceiling,
            quantum,
            burst: burst(ceiling),
            line: Some(line.max(LINE_MIN)),
            priority,
        }
    }

    /// The same class with a higher ceiling, and with the line and buckets that go with it.
    pub(crate) fn up_to(self, ceiling: Rate) -> Self {
        let own = if self.rate == self.ceiling { ceiling } else { self.rate };
        let leaf = Self::leaf(self.parent, own, ceiling, 1.0, self.priority);
        Self { quantum: self.quantum, line: self.line.and(leaf.line), ..leaf }
    }
}

/// How deep the buckets of a ceiling are \[bytes\].
pub fn burst(ceiling: Rate) -> u32 {
    ((ceiling.as_bps() / 8 * BURST_MS / 1000).min(1 << 20) as u32).max(BURST_MIN)
}

/// The tree of one device.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tree {
    /// Classes by minor number.
    pub classes: BTreeMap<u16, Class>,
    /// The class of each address.
    pub entries: BTreeMap<Prefix, u16>,
}

/// What the law gives a device's subscribers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// All together; none: as much as they can.
    pub total: Option<Rate>,
    /// Addresses that are nobody's.
    pub unknown: Rate,
    /// What passes beside the limits.
    pub exempt: Rate,
}

impl Tree {
    /// A tree without subscribers.
    pub fn new(limits: &Limits) -> Self {
        let total = limits.total.unwrap_or(OPEN);
        let all = Class { line: None, ..Class::leaf(0, total, total, 1.0, 1) };
        let exempt = Class::leaf(0, limits.exempt, limits.exempt, 1.0, 0);
        let unknown = Class::leaf(AGGREGATE, TRICKLE.min(limits.unknown), limits.unknown.min(total), 1.0, 2);
        let classes = [(AGGREGATE, all), (EXEMPT, exempt), (UNKNOWN, unknown)].into();
        Self { classes, entries: BTreeMap::new() }
    }

    /// A subscriber's class. `own` is its own bucket's rate, if it has one; weights order turns where it has none.
    pub fn subscriber(
        &mut self,
        minor: u16,
        (own, cap): (Option<Rate>, Option<Rate>),
        weight: f64,
        least: Rate,
    ) {
        let total = self.classes[&AGGREGATE].ceiling;
        let ceiling = own.map_or(total, |own| own.max(least)).min(cap.unwrap_or(OPEN));
        let rate = if own.is_some() { ceiling } else { TRICKLE.min(ceiling) };
        self.classes.insert(minor, Class::leaf(AGGREGATE, rate, ceiling, weight, 1));
    }
}

/// The trees of both devices.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Trees {
    /// On the mesh's device.
    pub down: Tree,
    /// On the uplink.
    pub up: Tree,
}

impl Trees {
    /// Of one device.
    pub const fn of(&self, side: Side) -> &Tree {
        match side {
            Side::Down => &self.down,
            Side::Up => &self.up,
        }
    }

    /// Of one device, to be changed.
    pub const fn of_mut(&mut self, side: Side) -> &mut Tree {
        match side {
            Side::Down => &mut self.down,
            Side::Up => &mut self.up,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMITS: Limits = Limits {
        total: Some(Rate::from_kbps(900)),
        unknown: Rate::from_kbps(256),
        exempt: Rate::from_kbps(10_000),
    };

    #[test]
    fn with_one_bucket_for_all_nobody_has_much_of_his_own() {
        let mut tree = Tree::new(&LIMITS);
        for minor in [0x10, 0x11] {
            tree.subscriber(minor, (None, None), f64::from(minor - 0xf), Rate::from_kbps(32));
        }
        let own: u64 = [0x10, 0x11, UNKNOWN].iter().map(|minor| tree.classes[minor].rate.as_bps()).sum();
        assert!(own < 900_000 / 10, "else the sum of rates passes the bucket for all");
        assert_eq!(tree.classes[&0x11].ceiling, Rate::from_kbps(900));
        assert_eq!(tree.classes[&0x11].quantum, 2 * tree.classes[&0x10].quantum);
    }

    #[test]
    fn a_plan_and_a_floor_bound_what_the_law_gives() {
        let mut tree = Tree::new(&Limits { total: None, ..LIMITS });
        let give = |tree: &mut Tree, own: u64, cap: Option<Rate>| {
            tree.subscriber(0x10, (Some(Rate::from_kbps(own)), cap), 1.0, Rate::from_kbps(32));
            let class = tree.classes[&0x10];
            assert_eq!(class.rate, class.ceiling);
            class.ceiling.as_bps() / 1000
        };
        assert_eq!(give(&mut tree, 500, None), 500);
        assert_eq!(give(&mut tree, 500, Some(Rate::from_kbps(300))), 300);
        assert_eq!(give(&mut tree, 1, None), 32);
        assert_eq!(tree.classes[&AGGREGATE].ceiling, OPEN);
    }

    /// At 400 kb/s a full line lasts less than 150 ms.
    #[test]
    fn lines_are_short() {
        let mut tree = Tree::new(&LIMITS);
        tree.subscriber(0x10, (Some(Rate::from_kbps(400)), None), 1.0, Rate::from_kbps(32));
        let class = tree.classes[&0x10];
        assert!(u64::from(class.line.unwrap()) * 8 * 1000 / class.ceiling.as_bps() < 150 + 15);
    }
}
