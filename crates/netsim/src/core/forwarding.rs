//! Forwarding: a packet is at a hop, and a hop knows the next. The hops of one flow in one direction are a chain of their own;
//! those of packets from outside form a tree for each destination.

use super::END;
use crate::queue::Delays;
use evenair_laws::backoff::Category;
use evenair_units::Volume;
use evenair_wifi::Mode;
use std::collections::{BTreeMap, BTreeSet};

/// One hop: the queue that a packet waits in, the node that it goes to, and the passed packets: one line of the cache.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
pub(crate) struct Hop {
    pub(crate) queue: u32,
    pub(crate) to: u32,
    pub(crate) mode: Mode,
    /// The hop after it, or [`END`].
    next: u32,
    /// An attachment needs the instant when a packet has left its queue, and there is room.
    pub(crate) watched: bool,
    pub(crate) passed: Passed,
}

/// The packets that have passed a hop since the run began.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Passed {
    /// From entering the queue until service began: queueing delays.
    pub(crate) waiting: Delays,
    /// From entering the queue until service ended, well or not: sojourn times.
    pub(crate) sojourn: Delays,
    /// Bytes that ended their service.
    pub(crate) bytes: u64,
}

impl Passed {
    pub(crate) fn since(self, then: Self) -> Self {
        Self {
            waiting: self.waiting.since(then.waiting),
            sojourn: self.sojourn.since(then.sojourn),
            bytes: self.bytes - then.bytes,
        }
    }

    pub(crate) fn plus(self, other: Self) -> Self {
        Self {
            waiting: self.waiting.plus(other.waiting),
            sojourn: self.sojourn.plus(other.sojourn),
            bytes: self.bytes + other.bytes,
        }
    }

    /// Packets that ended their service, and their bytes.
    pub(crate) fn served(self) -> Volume {
        Volume { packets: self.sojourn.count, bytes: self.bytes }
    }
}

/// All hops of a network.
#[derive(Clone, Debug, Default)]
pub(crate) struct Forwarding {
    hops: Vec<Hop>,
    /// Of packets from outside: the hop at this node towards this destination, of each category that the nodes tell apart.
    toward: BTreeMap<(u32, u32, Category), u32>,
}

impl Forwarding {
    /// Adds a chain of (queue, next node, mode); gives its first hop, [`END`] if there is none.
    pub(crate) fn add_chain(&mut self, chain: impl IntoIterator<Item = (u32, u32, Mode)>) -> u32 {
        let first = self.hops.len() as u32;
        self.hops.extend((first + 1..).zip(chain).map(|(next, hop)| Hop::new(hop, next)));
        if self.hops.len() as u32 == first {
            return END;
        }
        self.hops.last_mut().expect("it has one").next = END;
        first
    }

    /// Lets packets from outside, of a category, go along a path of nodes, from each of them to each after it. Where a node knows a way to a
    /// destination already, that stays.
    pub(crate) fn add_path(
        &mut self,
        path: &[u32],
        category: Category,
        hop: impl Fn(u32, u32) -> (u32, u32, Mode),
    ) {
        for (end, &destination) in path.iter().enumerate() {
            let mut next = END;
            for pair in path[..=end].windows(2).rev() {
                let place = *self.toward.entry((pair[0], destination, category)).or_insert_with(|| {
                    self.hops.push(Hop::new(hop(pair[0], pair[1]), next));
                    self.hops.len() as u32 - 1
                });
                next = place;
            }
        }
    }

    /// The first hop of a packet from outside.
    pub(crate) fn toward(&self, node: u32, destination: u32, category: Category) -> Option<u32> {
        let of = |category| self.toward.get(&(node, destination, category)).copied();
        of(category).or_else(|| of(Category::BestEffort))
    }

    #[inline]
    pub(crate) fn get(&self, hop: u32) -> &Hop {
        &self.hops[hop as usize]
    }

    #[inline]
    pub(crate) fn get_mut(&mut self, hop: u32) -> &mut Hop {
        &mut self.hops[hop as usize]
    }

    /// The queues with packets for more than one next node.
    pub(crate) fn shared(&self) -> BTreeSet<u32> {
        let mut first: BTreeMap<u32, u32> = BTreeMap::new();
        let is_other = |hop: &&Hop| *first.entry(hop.queue).or_insert(hop.to) != hop.to;
        self.hops.iter().filter(is_other).map(|hop| hop.queue).collect()
    }

    /// Changes each hop.
    pub(crate) fn each(&mut self, change: impl FnMut(&mut Hop)) {
        self.hops.iter_mut().for_each(change);
    }

    /// All hops, in order.
    pub(crate) fn all(&self) -> &[Hop] {
        &self.hops
    }

    /// A hop and those after it.
    pub(crate) fn chain(&self, first: u32) -> impl Iterator<Item = usize> {
        let present = |hop: u32| (hop != END).then_some(hop);
        std::iter::successors(present(first), move |&hop| present(self.get(hop).next)).map(|hop| hop as usize)
    }
}

impl Hop {
    fn new((queue, to, mode): (u32, u32, Mode), next: u32) -> Self {
        Self { queue, to, mode, next, watched: false, passed: Passed::default() }
    }

    /// The hop after it, or [`END`].
    #[inline]
    pub(crate) const fn next(&self) -> u32 {
        self.next
    }
}
