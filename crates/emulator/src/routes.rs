//! The routes of packets, node by node.

use evenair_netsim::NetworkSpec;
use std::collections::{BTreeMap, BTreeSet};

/// The next hops of packets of no flow, by the network's own forwarding: a tree for each destination.
#[derive(Clone, Debug, Default)]
pub(crate) struct Routes {
    next: BTreeMap<(u32, u32), u32>,
    /// Nodes with forwarding kernels.
    routers: BTreeSet<u32>,
}

/// The part of a route inside the network: to the destination, or to a router on the way there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RoutePart {
    /// The node at its end.
    pub(crate) to: u32,
    /// The node before that one.
    pub(crate) before: u32,
    /// The nodes in between, each of which decrements the hop limit.
    pub(crate) passed: u8,
    /// Whether it ends at a node that finds the packet's hops used up.
    pub(crate) expires: bool,
}

impl Routes {
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

    /// Returns the neighbour to which a node sends packets to another.
    pub(crate) fn next(&self, from: u32, to: u32) -> Option<u32> {
        self.next.get(&(from, to)).copied()
    }

    /// Returns the first part of the route of a packet of no flow with this hop limit; none, if there is no
    /// route.
    pub(crate) fn first_part(&self, from: u32, to: u32, hops: u8) -> Option<RoutePart> {
        let mut goal = to;
        // The path to a router on the route may pass another one.
        for _ in 0..=self.routers.len() {
            let nodes = std::iter::successors(self.next(from, goal), |&node| self.next(node, goal));
            let part = self.along(from, nodes, goal, hops)?;
            if part.to == goal || part.expires {
                return Some(part);
            }
            goal = part.to;
        }
        None
    }

    /// Returns the first part along these nodes, which follow `from`, towards one of them.
    pub(crate) fn along(
        &self,
        from: u32,
        nodes: impl IntoIterator<Item = u32>,
        to: u32,
        hops: u8,
    ) -> Option<RoutePart> {
        let mut before = from;
        for (node, passed) in nodes.into_iter().zip(0..=u8::MAX) {
            let ends = node == to || self.is_router(node);
            let expires = !ends && hops <= passed + 1;
            if ends || expires {
                return Some(RoutePart { to: node, before, passed, expires });
            }
            before = node;
        }
        None
    }
}
