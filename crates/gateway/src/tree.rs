//! The state that the gateway wants in the kernel: a tree of classes on each device, and the class of
//! each address.
//!
//! ```text
//! e7a1:            HTB, root of the device
//! ├─ e7a1:1        all subscribers together: ARC's bucket
//! │  ├─ e7a1:3     addresses of no subscriber
//! │  ├─ e7a1:10    a subscriber, with a queue of its own
//! │  └─ …
//! ├─ e7a1:2        exempt packets, and all that are not forwarded
//! └─ e7a1:4        acknowledgements without data
//! ```
//! An acknowledgement belongs to data in the other direction, which have a class. Suppose that it
//! counted in its own direction's class. A law that gives every active class its share ([Jam10] Alg. 4)
//! would then find that class starved at any rate.
//!
//! A class borrows from the common class, which has the law's total rate. If one bucket serves both
//! directions, it has its direction's share of that (`share.rs`). No class exceeds its own ceiling. The
//! kernel lets a class send within its own rate even if its parent is exhausted. So with one bucket for
//! all, each class has next to no rate of its own.

use crate::{Prefix, Side};
use evenair_units::Rate;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The major number of the gateway's own queue on either device.
pub const MAJOR: u16 = 0xe7a1;
/// Minor number of packets that bypass the classes (`direct_packets_stat` of HTB), which the root alone
/// counts.
pub const DIRECT: u16 = 0;
/// The class of all subscribers together.
pub const AGGREGATE: u16 = 1;
/// The class without a subscriber's limit.
pub const EXEMPT: u16 = 2;
/// The class of addresses that belong to no subscriber.
pub const UNKNOWN: u16 = 3;
/// The class of subscribers' acknowledgements that carry no data.
pub const ACKNOWLEDGEMENTS: u16 = 4;
/// The first number of a subscriber's class.
pub const FIRST: u16 = 0x10;
/// The last number of a subscriber's class.
pub const LAST: u16 = 0xffef;

/// A rate that is no limit on any device of a mesh.
pub const OPEN: Rate = Rate::from_kbps(10_000_000);
/// The rate of a class of its own, if all share one bucket.
pub const TRICKLE: Rate = Rate::from_kbps(8);

/// Ethernet's largest frame, as HTB counts it \[bytes\].
const FRAME: u32 = 1514;
/// The shortest queue: two full packets wait for a third, and one arrives.
const LINE_MIN: u32 = 4 * FRAME;
/// Time that packets wait in a full queue at the class's ceiling, or at its share of the common rate
/// \[ms\].
const LINE_MS: u64 = 100;
/// The longest queue \[bytes\].
const LINE_MAX: u64 = 4 << 20;
/// The depth of buckets: `BURST_MIN` bytes, or the bytes of the rate in `BURST_MS` milliseconds, if
/// those are more.
const BURST_MIN: u32 = 2 * FRAME;
const BURST_MS: u64 = 4;

/// A class of HTB, with its queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Class {
    /// Its parent's minor number; 0 for the root.
    pub parent: u16,
    /// Its guaranteed rate.
    pub rate: Rate,
    /// Its highest rate.
    pub ceiling: Rate,
    /// The amount that it may send in each round \[bytes\].
    pub quantum: u32,
    /// The depth of its buckets \[bytes\].
    pub burst: u32,
    /// The length of its queue \[bytes\]; `None` if it has children.
    pub line: Option<u32>,
    /// Its priority: 0 before 1.
    pub priority: u32,
}

impl Class {
    /// Returns a class with a queue, below another.
    fn leaf(parent: u16, rate: Rate, ceiling: Rate, weight: f64, priority: u32) -> Self {
        // The kernel counts in whole bytes a second.
        let [rate, ceiling] = [rate, ceiling].map(|rate| Rate::from_bps((rate.as_bps() / 8).max(1) * 8));
        let quantum = (f64::from(FRAME) * weight).clamp(f64::from(FRAME), 60_000.0) as u32;
        Self { parent, rate, ceiling, quantum, burst: burst(ceiling), line: Some(line(ceiling)), priority }
    }

    /// Returns the class of all subscribers together.
    pub(crate) fn all(total: Rate) -> Self {
        Self { line: None, ..Self::leaf(0, total, total, 1.0, 1) }
    }

    /// Returns the same class with a higher ceiling, and with the queue and buckets for it.
    pub(crate) fn up_to(self, ceiling: Rate) -> Self {
        let own = if self.rate == self.ceiling { ceiling } else { self.rate };
        let leaf = Self::leaf(self.parent, own, ceiling, 1.0, self.priority);
        Self { quantum: self.quantum, line: self.line.and(leaf.line), ..leaf }
    }
}

/// Returns the length of a queue for a rate \[bytes\]. It is a power of two, or a quarter, a half or
/// three quarters more, so that small changes of the rate do not change the queue.
fn line(rate: Rate) -> u32 {
    let bytes = (rate.as_bps() / 8 * LINE_MS / 1000).min(LINE_MAX) as u32;
    let step = 1 << bytes.max(LINE_MIN).ilog2().saturating_sub(2);
    (bytes / step * step).max(LINE_MIN)
}

/// Returns the depth of a ceiling's buckets \[bytes\].
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

/// A subscriber's bucket.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Has {
    /// A bucket of its own.
    Bucket(Rate),
    /// The common bucket. The second value is the class's part of its direction's share, while all
    /// active classes are backlogged.
    Part(Rate, f64),
}

/// The limits of a device's subscribers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// The sum of this direction; `None` for no limit.
    pub total: Option<Rate>,
    /// The limit of addresses that belong to no subscriber.
    pub unknown: Rate,
    /// The limit of exempt packets.
    pub exempt: Rate,
    /// Whether acknowledgements without data are exempt.
    pub acknowledgements: bool,
}

impl Tree {
    /// Returns a tree without subscribers.
    pub fn new(limits: &Limits) -> Self {
        let total = limits.total.unwrap_or(OPEN);
        let all = Class::all(total);
        let exempt = Class::leaf(0, limits.exempt, limits.exempt, 1.0, 0);
        let unknown = Class::leaf(AGGREGATE, TRICKLE.min(limits.unknown), limits.unknown.min(total), 1.0, 2);
        let classes = [(AGGREGATE, all), (EXEMPT, exempt), (UNKNOWN, unknown)];
        // A separate class, so that a sender of data in tiny segments takes no room of routing and DNS.
        let acknowledgements = limits.acknowledgements.then_some((ACKNOWLEDGEMENTS, exempt));
        let classes = classes.into_iter().chain(acknowledgements).collect();
        Self { classes, entries: BTreeMap::new() }
    }

    /// Adds a subscriber's class. With one bucket for all, weights set the quanta.
    pub fn subscriber(&mut self, minor: u16, (has, cap): (Has, Option<Rate>), weight: f64, least: Rate) {
        let total = self.classes[&AGGREGATE].ceiling;
        let (given, own) = match has {
            Has::Bucket(own) => (own.max(least), own.max(least)),
            Has::Part(all, _) => (all, TRICKLE),
        };
        let ceiling = given.min(cap.unwrap_or(OPEN));
        let mut class = Class::leaf(AGGREGATE, own.min(ceiling), ceiling, weight, 1);
        // With the queue of a class that is alone, each class would be delayed for as long as all
        // others take.
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
    /// The mesh's device.
    pub down: Tree,
    /// The uplink.
    pub up: Tree,
}

impl Trees {
    /// Returns the tree of one device.
    pub const fn of(&self, side: Side) -> &Tree {
        match side {
            Side::Down => &self.down,
            Side::Up => &self.up,
        }
    }

    /// Returns the tree of one device, mutably.
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
    fn common_bucket_leaves_small_own_rates() {
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
    fn cap_and_floor_bound_law() {
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

    /// A full queue lasts 100 ms at most from 500 kb/s on. At 400 kb/s it lasts 121 ms: four packets. A
    /// part of a common bucket has a queue for that part.
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
