//! What the gateway wants to stand in the kernel: a tree of classes on each device, and which address is whose.
//!
//! ```text
//! e7a1:            HTB, root of the device
//! ├─ e7a1:1        all subscribers together: ARC's bucket
//! │  ├─ e7a1:3     addresses that are nobody's
//! │  ├─ e7a1:10    a subscriber, with a line of its own
//! │  └─ …
//! ├─ e7a1:2        exempt, and whatever is not forwarded
//! └─ e7a1:4        acknowledgements without data
//! ```
//! An acknowledgement belongs to data that go the other way, which have a class. Were it counted in its own way's class, a law that takes
//! every class of which something is seen for one that is due its share ([Jam10] Alg. 4) would find that class starved whatever it gives.
//!
//! A class lends from the one for all, which has as much as the law allows in sum (of one bucket for both directions, its direction's share of it:
//! `share.rs`), and no class is above its own ceiling. The kernel
//! lets a class send within its own rate whatever its parent says, so where one bucket is for all, each has next to none of its own.

use crate::{Prefix, Side};
use evenair_units::Rate;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The number of the gateway's own queue on either device.
pub const MAJOR: u16 = 0xe7a1;
/// No class: what passes the tree directly (`direct_packets_stat` of HTB), which the root alone counts.
pub const DIRECT: u16 = 0;
/// The class of all subscribers together.
pub const AGGREGATE: u16 = 1;
/// The class without a subscriber's limit.
pub const EXEMPT: u16 = 2;
/// The class of addresses that are nobody's.
pub const UNKNOWN: u16 = 3;
/// The class of subscribers' acknowledgements that carry no data.
pub const ACKNOWLEDGEMENTS: u16 = 4;
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
/// How long packets wait in a full line at what its class has: its ceiling, or its share of what all have \[ms\].
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
        // The kernel counts in whole bytes a second.
        let [rate, ceiling] = [rate, ceiling].map(|rate| Rate::from_bps((rate.as_bps() / 8).max(1) * 8));
        let quantum = (f64::from(FRAME) * weight).clamp(f64::from(FRAME), 60_000.0) as u32;
        Self { parent, rate, ceiling, quantum, burst: burst(ceiling), line: Some(line(ceiling)), priority }
    }

    /// The class of all subscribers together.
    pub(crate) fn all(total: Rate) -> Self {
        Self { line: None, ..Self::leaf(0, total, total, 1.0, 1) }
    }

    /// The same class with a higher ceiling, and with the line and buckets that go with it.
    pub(crate) fn up_to(self, ceiling: Rate) -> Self {
        let own = if self.rate == self.ceiling { ceiling } else { self.rate };
        let leaf = Self::leaf(self.parent, own, ceiling, 1.0, self.priority);
        Self { quantum: self.quantum, line: self.line.and(leaf.line), ..leaf }
    }
}

/// How long the line of a rate is \[bytes\]. Small changes of a rate change no line: it is a power of two long, or a quarter, a half or
/// three quarters more.
fn line(rate: Rate) -> u32 {
    let bytes = (rate.as_bps() / 8 * LINE_MS / 1000).min(LINE_MAX) as u32;
    let step = 1 << bytes.max(LINE_MIN).ilog2().saturating_sub(2);
    (bytes / step * step).max(LINE_MIN)
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

/// What a subscriber has.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Has {
    /// A bucket of its own.
    Bucket(Rate),
    /// The bucket for all, and such a part of what its direction has of it while all who send something now want all that they can get.
    Part(Rate, f64),
}

/// What the law gives a device's subscribers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// All together, this way; none: as much as they can.
    pub total: Option<Rate>,
    /// Addresses that are nobody's.
    pub unknown: Rate,
    /// What passes beside the limits.
    pub exempt: Rate,
    /// Whether acknowledgements without data do.
    pub acknowledgements: bool,
}

impl Tree {
    /// A tree without subscribers.
    pub fn new(limits: &Limits) -> Self {
        let total = limits.total.unwrap_or(OPEN);
        let all = Class::all(total);
        let exempt = Class::leaf(0, limits.exempt, limits.exempt, 1.0, 0);
        let unknown = Class::leaf(AGGREGATE, TRICKLE.min(limits.unknown), limits.unknown.min(total), 1.0, 2);
        let classes = [(AGGREGATE, all), (EXEMPT, exempt), (UNKNOWN, unknown)];
        // A class of their own, so that whoever sends data by tiny segments takes no room of routing and names.
        let acknowledgements = limits.acknowledgements.then_some((ACKNOWLEDGEMENTS, exempt));
        let classes = classes.into_iter().chain(acknowledgements).collect();
        Self { classes, entries: BTreeMap::new() }
    }

    /// A subscriber's class. Weights order turns where one bucket is for all.
    pub fn subscriber(&mut self, minor: u16, (has, cap): (Has, Option<Rate>), weight: f64, least: Rate) {
        let total = self.classes[&AGGREGATE].ceiling;
        let (given, own) = match has {
            Has::Bucket(own) => (own.max(least), own.max(least)),
            Has::Part(all, _) => (all, TRICKLE),
        };
        let ceiling = given.min(cap.unwrap_or(OPEN));
        let mut class = Class::leaf(AGGREGATE, own.min(ceiling), ceiling, weight, 1);
        // A line as long as all might fill alone would hold each back for as long as all others take.
        if let Has::Part(_, part) = has {
            let share = Rate::from_bps((total.as_bps() as f64 * part) as u64);
            class.line = Some(line(share.min(ceiling)));
        }
        self.classes.insert(minor, class);
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
        acknowledgements: true,
    };

    #[test]
    fn with_one_bucket_for_all_nobody_has_much_of_his_own() {
        let mut tree = Tree::new(&LIMITS);
        for minor in [0x10, 0x11] {
            tree.subscriber(
                minor,
                (Has::Part(Rate::from_kbps(900), 0.5), None),
                f64::from(minor - 0xf),
                Rate::from_kbps(32),
            );
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
            tree.subscriber(0x10, (Has::Bucket(Rate::from_kbps(own)), cap), 1.0, Rate::from_kbps(32));
            let class = tree.classes[&0x10];
            assert_eq!(class.rate, class.ceiling);
            class.ceiling.as_bps() / 1000
        };
        assert_eq!(give(&mut tree, 500, None), 500);
        assert_eq!(give(&mut tree, 500, Some(Rate::from_kbps(300))), 300);
        assert_eq!(give(&mut tree, 1, None), 32);
        assert_eq!(tree.classes[&AGGREGATE].ceiling, OPEN);
    }

    /// A full line lasts a tenth of a second at most from 500 kb/s on, at 400 kb/s 121 ms: four packets. A part of a bucket for all has a
    /// line for that part.
    #[test]
    fn lines_are_short() {
        let lasts = |has: Has, kbps: u64| {
            let mut tree = Tree::new(&Limits { total: Some(Rate::from_kbps(9_000)), ..LIMITS });
            tree.subscriber(0x10, (has, None), 1.0, Rate::from_kbps(32));
            u64::from(tree.classes[&0x10].line.unwrap()) * 8 / kbps
        };
        for kbps in (500..9_000).step_by(7) {
            let ms = lasts(Has::Bucket(Rate::from_kbps(kbps)), kbps);
            assert!((79..=100).contains(&ms) || kbps < 620, "{ms} ms at {kbps} kb/s");
            assert!(ms <= 100);
        }
        assert_eq!(lasts(Has::Bucket(Rate::from_kbps(400)), 400), 121);
        assert!((79..=100).contains(&lasts(Has::Part(Rate::from_kbps(9_000), 1.0 / 3.0), 3_000)));
    }
}
