//! Heavy independent sets by branch and bound, where sums over all of them are too many: dense conflicts
//! leave few sets, and only heavy ones are visited.
//!
//! A cover by cliques bounds the weight that candidates may add, since a set has one link of a clique at
//! most. Each clique subtracts the same from the weights of all its links, until one of them is zero (Babel
//! 1994). A branch covers links within the weight that is still allowed; a heavier set must have one of the
//! links that are left over.

use evenair_topology::ConflictGraph;
use std::sync::atomic::{AtomicBool, Ordering};

/// The result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Heavier {
    /// A heavier set.
    Set(Vec<u32>),
    /// There is none.
    None,
    /// The allowed work was not enough to decide.
    Unknown,
}

/// Links with up to this many conflicts come first: one that outweighs its conflicts is taken.
const FEW: u32 = 3;

struct Search<'a> {
    /// Links by the weight that conflicts with them, the least first: those are covered, and branches divide by the others, of which each takes
    /// many candidates with it. Everything below is numbered by places in this list.
    order: Vec<u32>,
    weights: Vec<f64>,
    /// Each link's conflicts, one row of `words` each.
    near: Vec<u64>,
    words: usize,
    /// Links of the branch.
    chosen: Vec<u32>,
    best: f64,
    set: Option<Vec<u32>>,
    /// Words that may still be visited.
    work: u64,
    stop: &'a AtomicBool,
    /// The rest of each weight after the cliques.
    rest: Vec<f64>,
}

/// An independent set that is heavier than this, the heaviest if the work suffices.
pub(super) fn heavier(
    graph: &ConflictGraph,
    weights: &[f64],
    than: f64,
    work: u64,
    stop: &AtomicBool,
) -> Heavier {
    debug_assert_eq!(graph.links(), weights.len());
    let mut order: Vec<u32> = (0..graph.links() as u32).filter(|&l| weights[l as usize] > 0.0).collect();
    let against = |l: u32| graph.neighbours(l as usize).iter().map(|&m| weights[m as usize]).sum::<f64>();
    let against: Vec<f64> = (0..graph.links() as u32).map(against).collect();
    order.sort_by(|&l, &m| against[l as usize].total_cmp(&against[m as usize]).then(l.cmp(&m)));
    let words = order.len().div_ceil(64);
    let mut place = vec![usize::MAX; graph.links()];
    order.iter().enumerate().for_each(|(i, &l)| place[l as usize] = i);
    let mut near = vec![0; words * order.len()];
    for (i, &l) in order.iter().enumerate() {
        for &m in graph.neighbours(l as usize) {
            let k = place[m as usize];
            if k != usize::MAX {
                near[i * words + k / 64] |= 1 << (k % 64);
            }
        }
    }
    let weights: Vec<f64> = order.iter().map(|&l| weights[l as usize]).collect();
    let rest = weights.clone();
    let mut search =
        Search { order, weights, near, words, chosen: Vec::new(), best: than, set: None, work, stop, rest };
    let mut all = vec![!0u64; words];
    if let Some(last) = all.last_mut().filter(|_| !search.order.len().is_multiple_of(64)) {
        *last = (1 << (search.order.len() % 64)) - 1;
    }
    let is_done = search.branch(all, 0.0);
    match (search.set, is_done) {
        (Some(set), _) => Heavier::Set(set),
        (None, true) => Heavier::None,
        (None, false) => Heavier::Unknown,
    }
}

/// The places in a set of bits.
fn ones(bits: &[u64]) -> impl Iterator<Item = usize> + '_ {
    bits.iter().enumerate().flat_map(|(w, &word)| {
        std::iter::successors((word != 0).then_some(word), |rest| {
            let rest = rest & (rest - 1);
            (rest != 0).then_some(rest)
        })
        .map(move |rest| 64 * w + rest.trailing_zeros() as usize)
    })
}

fn first(bits: &[u64]) -> Option<usize> {
    let w = bits.iter().position(|&word| word != 0)?;
    Some(64 * w + bits[w].trailing_zeros() as usize)
}

fn remove(bits: &mut [u64], i: usize) {
    bits[i / 64] &= !(1 << (i % 64));
}

impl Search<'_> {
    fn row(&self, i: usize) -> &[u64] {
        &self.near[i * self.words..(i + 1) * self.words]
    }

    /// Looks at all sets of the chosen links and candidates; false if the work did not suffice.
    fn branch(&mut self, mut candidates: Vec<u64>, weight: f64) -> bool {
        let before = self.chosen.len();
        let weight = weight + self.take_free(&mut candidates);
        let is_done = self.divide(candidates, weight);
        self.chosen.truncate(before);
        is_done
    }

    fn divide(&mut self, mut candidates: Vec<u64>, weight: f64) -> bool {
        if first(&candidates).is_none() {
            if weight > self.best {
                self.best = weight;
                let mut set: Vec<u32> = self.chosen.iter().map(|&i| self.order[i as usize]).collect();
                set.sort_unstable();
                self.set = Some(set);
            }
            return true;
        }
        let left = self.left_over(&candidates, self.best - weight);
        for &i in left.iter().rev() {
            if self.work == 0 || self.stop.load(Ordering::Relaxed) {
                return false;
            }
            remove(&mut candidates, i);
            let with: Vec<u64> = candidates.iter().zip(self.row(i)).map(|(c, n)| c & !n).collect();
            self.chosen.push(i as u32);
            let is_done = self.branch(with, weight + self.weights[i]);
            self.chosen.pop();
            if !is_done {
                return false;
            }
        }
        true
    }

    /// Takes candidates that outweigh all that they conflict with: some heaviest set has them. Gives their weight.
    fn take_free(&mut self, candidates: &mut [u64]) -> f64 {
        let mut taken = 0.0;
        let all: Vec<usize> = ones(candidates).collect();
        self.work = self.work.saturating_sub((all.len() * self.words) as u64);
        for i in all {
            if candidates[i / 64] >> (i % 64) & 1 == 0 {
                continue;
            }
            let row = &self.near[i * self.words..(i + 1) * self.words];
            let conflicts: u32 = candidates.iter().zip(row).map(|(c, n)| (c & n).count_ones()).sum();
            if conflicts > FEW {
                continue;
            }
            let against: Vec<u64> = candidates.iter().zip(row).map(|(c, n)| c & n).collect();
            if ones(&against).map(|k| self.weights[k]).sum::<f64>() <= self.weights[i] {
                candidates.iter_mut().zip(&against).for_each(|(c, a)| *c &= !a);
                remove(candidates, i);
                self.chosen.push(i as u32);
                taken += self.weights[i];
            }
        }
        taken
    }

    /// The candidates that cliques of this weight in all do not cover.
    fn left_over(&mut self, candidates: &[u64], mut allowed: f64) -> Vec<usize> {
        let mut uncovered = candidates.to_vec();
        ones(candidates).for_each(|i| self.rest[i] = self.weights[i]);
        let (mut left, mut clique, mut common) = (Vec::new(), Vec::new(), vec![0; self.words]);
        let mut looked_at = 0;
        while let Some(i) = first(&uncovered) {
            clique.clear();
            clique.push(i);
            let mut least = self.rest[i];
            common.iter_mut().zip(uncovered.iter().zip(self.row(i))).for_each(|(c, (u, n))| *c = u & n);
            while let Some(k) = first(&common) {
                clique.push(k);
                least = least.min(self.rest[k]);
                common.iter_mut().zip(self.row(k)).for_each(|(c, n)| *c &= n);
            }
            looked_at += clique.len() + 1;
            if least > allowed {
                left.push(i);
                remove(&mut uncovered, i);
                continue;
            }
            allowed -= least;
            for &k in &clique {
                self.rest[k] -= least;
                if self.rest[k] <= 0.0 {
                    remove(&mut uncovered, k);
                }
            }
        }
        self.work = self.work.saturating_sub((looked_at * self.words) as u64);
        left
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_heavier_set_is_found_where_there_is_one(
            edges in prop::collection::vec((0usize..12, 0usize..12), 0..40),
            weights in prop::collection::vec(0.0f64..1.0, 12),
        ) {
            let graph = ConflictGraph::from_edges(12, &edges);
            let stop = AtomicBool::new(false);
            let (_, most) = crate::ProductForm::new(&graph).unwrap().heaviest(&weights);
            let Heavier::Set(set) = heavier(&graph, &weights, 0.9 * most, u64::MAX, &stop) else {
                panic!("the heaviest is heavier than that");
            };
            let weight: f64 = set.iter().map(|&l| weights[l as usize]).sum();
            prop_assert!((weight - most).abs() < 1e-12);
            prop_assert!(set.iter().all(|&l| set.iter().all(|&m| !graph.conflict(l as usize, m as usize))));
            prop_assert_eq!(heavier(&graph, &weights, most * (1.0 + 1e-12), u64::MAX, &stop), Heavier::None);
        }
    }

    #[test]
    fn too_little_work_gives_no_answer() {
        let edges: Vec<(usize, usize)> = (0..40).map(|l| (l, (l + 1) % 41)).chain([(40, 0)]).collect();
        let graph = ConflictGraph::from_edges(41, &edges);
        let weights = vec![1.0; 41];
        let stop = AtomicBool::new(false);
        assert_eq!(heavier(&graph, &weights, 20.0, 0, &stop), Heavier::Unknown);
        assert_eq!(heavier(&graph, &weights, 20.0, u64::MAX, &stop), Heavier::None);
    }
}
