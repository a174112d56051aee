//! Independent sets of a conflict graph: links that may transmit at once.

use crate::ConflictGraph;
use std::fmt;

/// All independent sets of a graph of at most 64 links, the empty set first; a set is a bit mask of its links.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IndependentSets {
    masks: Vec<u64>,
    links: usize,
}

/// There are too many links or sets to list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooLarge {
    /// Links in the graph.
    pub links: usize,
    /// The most sets, cliques or sums over sets that would have been handled.
    pub limit: usize,
}

impl fmt::Display for TooLarge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "a conflict graph of {} links is too large here: more than {} of its sets would have to be handled one by one",
            self.links, self.limit
        )
    }
}

impl std::error::Error for TooLarge {}

impl IndependentSets {
    /// The most sets that are listed: 2^22, 32 MiB of masks.
    pub const LIMIT: usize = 1 << 22;

    /// Lists the independent sets.
    ///
    /// # Errors
    /// If the graph has more than 64 links, or more than [`Self::LIMIT`] sets.
    pub fn of(graph: &ConflictGraph) -> Result<Self, TooLarge> {
        let links = graph.links();
        let too_large = TooLarge { links, limit: Self::LIMIT };
        if links > 64 {
            return Err(too_large);
        }
        let conflicts: Vec<u64> =
            (0..links).map(|l| graph.neighbours(l).iter().fold(0, |mask, &m| mask | 1 << m)).collect();
        // Each set is an older set plus a link greater than all of its own, so each is listed once, in a fixed order.
        let mut masks = vec![0u64];
        for (l, &forbidden) in conflicts.iter().enumerate() {
            for i in 0..masks.len() {
                if masks[i] & forbidden == 0 {
                    masks.push(masks[i] | 1 << l);
                }
            }
            if masks.len() > Self::LIMIT {
                return Err(too_large);
            }
        }
        Ok(Self { masks, links })
    }

    /// The sets as bit masks.
    pub fn masks(&self) -> &[u64] {
        &self.masks
    }

    /// How many links the graph has.
    pub fn links(&self) -> usize {
        self.links
    }

    /// How many sets there are, the empty one counted.
    #[allow(clippy::len_without_is_empty, reason = "the empty set is always there")]
    pub fn len(&self) -> usize {
        self.masks.len()
    }

    /// The links of one set.
    pub fn members(mask: u64) -> impl Iterator<Item = usize> {
        std::iter::successors(Some(mask), |&rest| Some(rest & rest.wrapping_sub(1)))
            .take_while(|&rest| rest != 0)
            .map(|rest| rest.trailing_zeros() as usize)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn topology_a_has_the_sets_of_the_thesis() {
        // [Chen10] section 4.1: {}, {1}, {2}, {3}, {4}, {1,3}, {1,4}
        let graph = ConflictGraph::from_edges(4, &[(0, 1), (1, 2), (1, 3), (2, 3)]);
        let sets = IndependentSets::of(&graph).unwrap();
        let mut masks = sets.masks().to_vec();
        masks.sort_unstable();
        assert_eq!(masks, [0b0000, 0b0001, 0b0010, 0b0100, 0b0101, 0b1000, 0b1001]);
    }

    #[test]
    fn too_many_links_are_refused() {
        assert_eq!(IndependentSets::of(&ConflictGraph::new(65)).unwrap_err().links, 65);
        assert!(IndependentSets::of(&ConflictGraph::new(30)).is_err(), "2^30 sets");
    }

    proptest! {
        #[test]
        fn list_is_exactly_sets_without_conflict(edges in prop::collection::vec((0usize..9, 0usize..9), 0..30)) {
            let graph = ConflictGraph::from_edges(9, &edges);
            let mut listed = IndependentSets::of(&graph).unwrap().masks().to_vec();
            listed.sort_unstable();
            let brute: Vec<u64> = (0u64..1 << 9)
                .filter(|&mask| graph.edges().all(|(l, m)| mask >> l & 1 == 0 || mask >> m & 1 == 0))
                .collect();
            prop_assert_eq!(listed, brute);
        }
    }
}
