//! Shortest-path routes.

use crate::{Hearing, Medium};
use std::collections::{BTreeMap, VecDeque};
use std::fmt;

/// There is no way from one node to the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unreachable {
    /// Where the way should have begun.
    pub from: u32,
    /// Where it should have ended.
    pub to: u32,
}

impl fmt::Display for Unreachable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "node {} cannot reach node {}", self.from, self.to)
    }
}

impl std::error::Error for Unreachable {}

/// Finds routes with the fewest hops over decodable links and wires; of equals, the one through the smallest node
/// numbers.
#[derive(Clone, Debug)]
pub struct Router<'a> {
    medium: &'a Medium,
    /// The nodes at the other ends of each node's wires.
    wired: BTreeMap<u32, Vec<u32>>,
}

impl<'a> Router<'a> {
    /// A router over this medium.
    pub const fn new(medium: &'a Medium) -> Self {
        Self { medium, wired: BTreeMap::new() }
    }

    /// With wires between these pairs of nodes, both ways.
    pub fn with_wires(medium: &'a Medium, wires: &[(u32, u32)]) -> Self {
        let mut wired: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
        for &(a, b) in wires {
            wired.entry(a).or_default().push(b);
            wired.entry(b).or_default().push(a);
        }
        Self { medium, wired }
    }

    /// Whether two nodes are one hop apart: they decode each other, or a wire joins them.
    pub fn adjacent(&self, a: u32, b: u32) -> bool {
        let decodes =
            |x: u32, y: u32| self.medium.hearing(x as usize, y as usize).is_some_and(Hearing::is_decodable);
        (decodes(a, b) && decodes(b, a)) || self.wired.get(&a).is_some_and(|ends| ends.contains(&b))
    }

    /// How many nodes can reach this one, itself included.
    pub fn reachable(&self, from: u32) -> usize {
        let mut seen = vec![false; self.medium.nodes()];
        seen[from as usize] = true;
        let mut frontier = vec![from];
        let mut count = 0;
        while let Some(node) = frontier.pop() {
            count += 1;
            for near in self.neighbours(node) {
                if !std::mem::replace(&mut seen[near as usize], true) {
                    frontier.push(near);
                }
            }
        }
        count
    }

    /// The nodes one hop away.
    fn neighbours(&self, node: u32) -> impl Iterator<Item = u32> + '_ {
        let over_air = self.medium.hearers(node as usize).iter().map(|ear| ear.node);
        let over_wire = self.wired.get(&node).into_iter().flatten().copied();
        over_air.chain(over_wire).filter(move |&near| self.adjacent(node, near))
    }

    /// The nodes on the way from `from` to `to`, both included.
    ///
    /// # Errors
    /// If no chain of decodable links connects them.
    pub fn route(&self, from: u32, to: u32) -> Result<Vec<u32>, Unreachable> {
        // Breadth first from the end, so that each node's parent is its next hop.
        let mut next = vec![None; self.medium.nodes()];
        next[to as usize] = Some(to);
        let mut frontier = VecDeque::from([to]);
        while let Some(node) = frontier.pop_front()
            && next[from as usize].is_none()
        {
            for near in self.neighbours(node) {
                if next[near as usize].is_none() {
                    next[near as usize] = Some(node);
                    frontier.push_back(near);
                }
            }
        }
        let mut route = vec![from];
        let mut node = from;
        while node != to {
            node = next[node as usize].ok_or(Unreachable { from, to })?;
            route.push(node);
        }
        Ok(route)
    }

    /// The nodes on the way of the least cost from `from` to `to`, both included; `cost` is that of a hop, above 0.
    ///
    /// # Errors
    /// If no chain of decodable links connects them.
    pub fn cheapest(
        &self,
        from: u32,
        to: u32,
        cost: impl Fn(u32, u32) -> f64,
    ) -> Result<Vec<u32>, Unreachable> {
        // Dijkstra's from the end, so that each node's parent is its next hop.
        let mut next = vec![(f64::INFINITY, to); self.medium.nodes()];
        let mut done = vec![false; next.len()];
        next[to as usize].0 = 0.0;
        while !done[from as usize] {
            let open = (0..next.len()).filter(|&node| !done[node] && next[node].0.is_finite());
            let nearest = open.min_by(|&a, &b| next[a].0.total_cmp(&next[b].0));
            let node = nearest.ok_or(Unreachable { from, to })?;
            done[node] = true;
            for near in self.neighbours(node as u32) {
                let whole = next[node].0 + cost(near, node as u32);
                if whole < next[near as usize].0 {
                    next[near as usize] = (whole, node as u32);
                }
            }
        }
        let step = |&node: &u32| (node != to).then(|| next[node as usize].1);
        Ok(std::iter::successors(Some(from), step).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Position, Propagation, ThresholdRadio};

    fn chain(spacing_m: f64) -> Medium {
        let at: Vec<Position> = (0..5).map(|i| Position::new(f64::from(i) * spacing_m, 0.0)).collect();
        let radio = ThresholdRadio {
            transmission_range_m: 250.0,
            carrier_sense_range_m: 550.0,
            interference_range_m: 550.0,
            propagation: Propagation::default(),
        };
        Medium::from_positions(&at, &radio)
    }

    #[test]
    fn a_chain_is_walked_hop_by_hop() {
        assert_eq!(Router::new(&chain(200.0)).route(4, 0).unwrap(), [4, 3, 2, 1, 0]);
        assert_eq!(Router::new(&chain(100.0)).route(0, 4).unwrap().len(), 3);
    }

    /// Hops of one cost: the fewest. Where a hop costs the cube of its length, five short ones are better than three.
    #[test]
    fn cheapest_way_is_that_of_the_least_sum() {
        let medium = chain(100.0);
        let router = Router::new(&medium);
        assert_eq!(router.cheapest(0, 4, |_, _| 1.0).unwrap().len(), 3);
        let cubed = |a: u32, b: u32| f64::from(a.abs_diff(b)).powi(3);
        assert_eq!(router.cheapest(0, 4, cubed).unwrap(), [0, 1, 2, 3, 4]);
        assert!(Router::new(&chain(300.0)).cheapest(0, 4, |_, _| 1.0).is_err());
    }

    #[test]
    fn a_gap_is_named() {
        assert_eq!(Router::new(&chain(300.0)).route(0, 4), Err(Unreachable { from: 0, to: 4 }));
    }
}
