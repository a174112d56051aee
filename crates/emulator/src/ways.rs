//! The ways of packets, node by node.

use evenair_netsim::NetworkSpec;
use std::collections::{BTreeMap, BTreeSet};

/// Where packets of no flow go from each node, as the network's own forwarding has it: a tree for each destination.
#[derive(Clone, Debug, Default)]
pub(crate) struct Ways {
    next: BTreeMap<(u32, u32), u32>,
    /// Nodes whose kernels forward what passes them.
    routers: BTreeSet<u32>,
}

/// The part of a way that a packet takes inside: to its destination, or to a router on the way there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Leg {
    /// Where it ends.
    pub(crate) to: u32,
    /// The node before that one.
    pub(crate) before: u32,
    /// Nodes passed between, each of which takes a hop.
    pub(crate) passed: u8,
    /// It ends at a node that finds the packet's hops used up.
    pub(crate) expires: bool,
}

impl Ways {
    pub(crate) fn of(spec: &NetworkSpec, routers: &BTreeSet<u32>) -> Self {
        let mut next = BTreeMap::new();
        for path in &spec.routes {
            let back: Vec<u32> = path.iter().rev().copied().collect();
            for path in [path, &back] {
                for (end, &to) in path.iter().enumerate() {
                    for pair in path[..=end].windows(2).rev() {
                        next.entry((pair[0], to)).or_insert(pair[1]);
                    }
                }
            }
        }
        Self { next, routers: routers.clone() }
    }

    pub(crate) fn is_router(&self, node: u32) -> bool {
        self.routers.contains(&node)
    }

    /// The neighbour to which a node sends what goes to another.
    pub(crate) fn next(&self, from: u32, to: u32) -> Option<u32> {
        self.next.get(&(from, to)).copied()
    }

    /// The first leg of a packet of no flow that may take so many hops; none, if there is no way.
    pub(crate) fn leg(&self, from: u32, to: u32, hops: u8) -> Option<Leg> {
        let mut goal = to;
        // The way to a router that lies on the way may pass another one.
        for _ in 0..=self.routers.len() {
            let nodes = std::iter::successors(self.next(from, goal), |&node| self.next(node, goal));
            let leg = self.along(from, nodes, goal, hops)?;
            if leg.to == goal || leg.expires {
                return Some(leg);
            }
            goal = leg.to;
        }
        None
    }

    /// The first leg along these nodes, which follow `from`, towards one of them.
    pub(crate) fn along(
        &self,
        from: u32,
        nodes: impl IntoIterator<Item = u32>,
        to: u32,
        hops: u8,
    ) -> Option<Leg> {
        let mut before = from;
        for (node, passed) in nodes.into_iter().zip(0..=u8::MAX) {
            let ends = node == to || self.is_router(node);
            let expires = !ends && hops <= passed + 1;
            if ends || expires {
                return Some(Leg { to: node, before, passed, expires });
            }
            before = node;
        }
        None
    }
}
