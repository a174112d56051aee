//! Shortest-path routes.

use crate::Medium;
use std::collections::VecDeque;
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

/// Finds routes with the fewest hops over decodable links; of equals, the one through the smallest node numbers.
#[derive(Clone, Copy, Debug)]
pub struct Router<'a>(&'a Medium);

impl<'a> Router<'a> {
    /// A router over this medium.
    pub const fn new(medium: &'a Medium) -> Self {
        Self(medium)
    }

    /// The nodes on the way from `from` to `to`, both included.
    ///
    /// # Errors
    /// If no chain of decodable links connects them.
    pub fn route(&self, from: u32, to: u32) -> Result<Vec<u32>, Unreachable> {
        // Breadth first from the end, so that each node's parent is its next hop.
        let mut next = vec![None; self.0.nodes()];
        next[to as usize] = Some(to);
        let mut frontier = VecDeque::from([to]);
        while let Some(node) = frontier.pop_front() {
            for ear in self.0.hearers(node as usize).iter().filter(|ear| ear.decodable) {
                // The link is used towards `node`: it must decode in that direction too.
                let back = self.0.hearing(ear.node as usize, node as usize);
                if next[ear.node as usize].is_none() && back.is_some_and(|h| h.decodable) {
                    next[ear.node as usize] = Some(node);
                    frontier.push_back(ear.node);
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
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Position, ThresholdRadio, TwoRayGround};

    fn chain(spacing_m: f64) -> Medium {
        let at: Vec<Position> = (0..5).map(|i| Position::new(f64::from(i) * spacing_m, 0.0)).collect();
        let radio = ThresholdRadio {
            transmission_range_m: 250.0,
            carrier_sense_range_m: 550.0,
            propagation: TwoRayGround::default(),
        };
        Medium::from_positions(&at, &radio)
    }

    #[test]
    fn a_chain_is_walked_hop_by_hop() {
        assert_eq!(Router::new(&chain(200.0)).route(4, 0).unwrap(), [4, 3, 2, 1, 0]);
        assert_eq!(Router::new(&chain(100.0)).route(0, 4).unwrap().len(), 3);
    }

    #[test]
    fn a_gap_is_named() {
        assert_eq!(Router::new(&chain(300.0)).route(0, 4), Err(Unreachable { from: 0, to: 4 }));
    }
}
