//! Cliques of a conflict graph: links of which at most one may transmit at a time.

use crate::{ConflictGraph, TooLarge};
use fixedbitset::FixedBitSet;

/// All maximal cliques, each in ascending order, in an order that depends on the graph alone ([Jam10] section 4.1.2).
///
/// # Errors
/// If there are more than `limit`.
pub fn maximal_cliques(graph: &ConflictGraph, limit: usize) -> Result<Vec<Vec<u32>>, TooLarge> {
    let near = graph.rows();
    let mut search = Search { near: &near, limit, found: Vec::new(), chosen: Vec::new() };
    let mut all = FixedBitSet::with_capacity(graph.links());
    all.insert_range(..);
    if search.extend(all, FixedBitSet::with_capacity(graph.links())) {
        search.found.sort_unstable();
        Ok(search.found)
    } else {
        Err(TooLarge { links: graph.links(), limit })
    }
}

/// A cover of the vertices by cliques, greedily: few, not the fewest.
pub fn clique_cover(graph: &ConflictGraph) -> Vec<Vec<u32>> {
    let near = graph.rows();
    let mut rest = FixedBitSet::with_capacity(graph.links());
    rest.insert_range(..);
    let mut cover = Vec::new();
    while let Some(first) = rest.minimum() {
        let mut clique = vec![first as u32];
        let mut fits = &near[first] & &rest;
        rest.remove(first);
        while let Some(next) = fits.minimum() {
            clique.push(next as u32);
            rest.remove(next);
            fits.intersect_with(&near[next]);
        }
        cover.push(clique);
    }
    cover
}

/// The search of Bron and Kerbosch, with Tomita's pivot.
struct Search<'a> {
    near: &'a [FixedBitSet],
    limit: usize,
    found: Vec<Vec<u32>>,
    chosen: Vec<u32>,
}

impl Search<'_> {
    /// Extends the chosen clique by `open` vertices; the `done` ones have been tried before. False when the limit is passed.
    fn extend(&mut self, mut open: FixedBitSet, mut done: FixedBitSet) -> bool {
        if open.is_clear() {
            if done.is_clear() && !self.chosen.is_empty() {
                let mut clique = self.chosen.clone();
                clique.sort_unstable();
                self.found.push(clique);
            }
            return self.found.len() <= self.limit;
        }
        let pivot = open.union(&done).max_by_key(|&v| self.near[v].intersection_count(&open));
        let pivot = pivot.expect("there is an open vertex");
        let tried: Vec<usize> = open.difference(&self.near[pivot]).collect();
        for v in tried {
            self.chosen.push(v as u32);
            let complete = self.extend(&open & &self.near[v], &done & &self.near[v]);
            self.chosen.pop();
            if !complete {
                return false;
            }
            open.remove(v);
            done.insert(v);
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn topology_a_has_two_cliques() {
        let graph = ConflictGraph::from_edges(4, &[(0, 1), (1, 2), (1, 3), (2, 3)]);
        assert_eq!(maximal_cliques(&graph, 10).unwrap(), [vec![0, 1], vec![1, 2, 3]]);
        assert!(maximal_cliques(&graph, 1).is_err());
    }

    proptest! {
        #[test]
        fn they_are_the_maximal_ones_by_brute_force(edges in prop::collection::vec((0usize..8, 0usize..8), 0..24)) {
            let graph = ConflictGraph::from_edges(8, &edges);
            let is_clique = |mask: u32| {
                (0..8).all(|l| (0..l).all(|m| mask >> l & 1 == 0 || mask >> m & 1 == 0 || graph.conflict(l, m)))
            };
            let maximal = |mask: u32| {
                is_clique(mask) && (0..8).all(|l| mask >> l & 1 == 1 || !is_clique(mask | 1 << l))
            };
            let mut brute: Vec<Vec<u32>> = (1u32..256)
                .filter(|&mask| maximal(mask))
                .map(|mask| (0..8).filter(|l| mask >> l & 1 == 1).collect())
                .collect();
            brute.sort_unstable();
            prop_assert_eq!(maximal_cliques(&graph, 1000).unwrap(), brute);
            let cover = clique_cover(&graph);
            let mut covered: Vec<u32> = cover.iter().flatten().copied().collect();
            covered.sort_unstable();
            prop_assert_eq!(covered, (0..8).collect::<Vec<u32>>());
            prop_assert!(cover.iter().all(|c| is_clique(c.iter().fold(0, |mask, l| mask | 1 << l))));
        }
    }
}
