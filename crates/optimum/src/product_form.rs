//! The stationary distribution of ideal CSMA, for graphs of any size with small cuts.

mod elimination;
mod inverse;

use elimination::Elimination;
use evenair_topology::{ConflictGraph, TooLarge};
use nalgebra::DMatrix;
use rayon::prelude::*;
use std::sync::atomic::AtomicBool;

/// Directions that are followed at once: as many numbers as a cache line holds.
const LANES: usize = 8;

/// How ideal CSMA shares time, given each link's exponent `βr`, the logarithm of holding over back-off time:
/// `p(I) = exp(Σ_{l∈I} βr_l)/Z` over the independent sets I of the conflict graph.
///
/// [Chen10] eq. (3.2), (3.3), (5.4); [QCSMA] eq. (1), (8), (13); [Lee12] through `p·μ = exp(b·q)`.
///
/// The sum over sets is not taken set by set. Links are eliminated one after the other; each leaves behind a function of
/// those of its neighbours that are still there, one value per independent set among them. This is inference on a tree
/// decomposition; its cost is the number of those values ([`Self::size`]), not that of the independent sets.
#[derive(Clone, Debug, PartialEq)]
pub struct ProductForm {
    graph: ConflictGraph,
    elimination: Elimination,
}

/// The shares of time at given exponents.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Shares {
    /// Share of time in which each link transmits.
    pub links: Vec<f64>,
    /// Logarithm of the normalisation, the partition function Z.
    pub log_partition: f64,
    /// For each value of the elimination: the probability that its link transmits, given the rest.
    transmits: Vec<f64>,
    /// For each value of the elimination: the probability of its configuration.
    occurs: Vec<f64>,
}

impl ProductForm {
    /// The most values that an elimination may need.
    pub const SIZE_MAX: usize = 4_000_000;

    /// Prepares the sums for a conflict graph.
    ///
    /// # Errors
    /// If every order of elimination that is tried needs more than [`Self::SIZE_MAX`] values.
    pub fn new(graph: &ConflictGraph) -> Result<Self, TooLarge> {
        Self::new_unless(graph, Self::SIZE_MAX, &AtomicBool::new(false))
    }

    /// The same with this many values at most, unless the caller stops it: then the graph counts as too large
    /// for the time that was left.
    pub(crate) fn new_unless(
        graph: &ConflictGraph,
        size_max: usize,
        stop: &AtomicBool,
    ) -> Result<Self, TooLarge> {
        let elimination = Elimination::new(graph, size_max, stop)?;
        Ok(Self { graph: graph.clone(), elimination })
    }

    /// How many links there are.
    pub fn links(&self) -> usize {
        self.elimination.bags.len()
    }

    /// How many values a sum handles.
    pub const fn size(&self) -> usize {
        self.elimination.size
    }

    /// The shares at these exponents, one per link.
    pub fn shares(&self, exponents: &[f64]) -> Shares {
        assert_eq!(self.links(), exponents.len(), "one exponent per link");
        let (transmits, log_partition) = self.upward(exponents);
        let mut shares =
            Shares { links: vec![0.0; self.links()], log_partition, transmits, occurs: Vec::new() };
        shares.occurs = vec![0.0; self.size()];
        for bag in self.elimination.bags.iter().rev() {
            if bag.is_root() {
                shares.occurs[bag.first] = 1.0;
            }
            for entry in bag.entries() {
                let (occurs, transmits) = (shares.occurs[entry.place], shares.transmits[entry.place]);
                shares.links[bag.link] += occurs * transmits;
                for &child in entry.silent {
                    shares.occurs[child as usize] += occurs * (1.0 - transmits);
                }
                for &child in entry.transmitting {
                    shares.occurs[child as usize] += occurs * transmits;
                }
            }
        }
        shares
    }

    /// From the leaves to the roots: for each configuration, the probability that the bag's link transmits; and log Z.
    fn upward(&self, exponents: &[f64]) -> (Vec<f64>, f64) {
        let mut messages = vec![0.0; self.size()];
        let mut transmits = vec![0.0; self.size()];
        let mut log_partition = 0.0;
        for bag in &self.elimination.bags {
            for entry in bag.entries() {
                let sum = |children: &[u32]| children.iter().map(|&c| messages[c as usize]).sum::<f64>();
                let silent = sum(entry.silent);
                messages[entry.place] = if entry.may_transmit {
                    let gain = exponents[bag.link] + sum(entry.transmitting) - silent;
                    // The logistic function and log(1 + e^gain), without overflow.
                    let small = libm::exp(-gain.abs());
                    transmits[entry.place] = if gain > 0.0 { 1.0 } else { small } / (1.0 + small);
                    silent + gain.max(0.0) + libm::log1p(small)
                } else {
                    silent
                };
            }
            if bag.is_root() {
                log_partition += messages[bag.first];
            }
        }
        (transmits, log_partition)
    }

    /// The covariance of the links' transmissions times a vector: how shares change along a direction of exponents.
    ///
    /// The derivative of [QCSMA] Lemma 1, `∂y_l/∂(βr_m) = Cov(l, m)`.
    pub fn covariance_times(&self, shares: &Shares, direction: &[f64]) -> Vec<f64> {
        let directions: Vec<[f64; 1]> = direction.iter().map(|&d| [d]).collect();
        let all = vec![true; self.links()];
        self.changes(shares, &directions, &all, 0).into_iter().map(|[change]| change).collect()
    }

    /// The matrix of covariances between links.
    pub(crate) fn covariance(&self, shares: &Shares) -> DMatrix<f64> {
        let (links, bags) = (self.links(), &self.elimination.bags);
        let starts: Vec<usize> = (0..links).step_by(LANES).collect();
        // Links that follow each other in the elimination together: on the way up they touch few bags, and
        // the part below them is known from the other half of the matrix.
        let block = |&start: &usize| {
            let mut units = vec![[0.0; LANES]; links];
            let mut touched = vec![false; links];
            for i in start..links.min(start + LANES) {
                units[bags[i].link][i - start] = 1.0;
                let mut bag = Some(i);
                while let Some(i) = bag.filter(|&i| !touched[i]) {
                    touched[i] = true;
                    bag = bags[i].parent;
                }
            }
            self.changes(shares, &units, &touched, start)
        };
        // Small ones are done before another core would have begun.
        let blocks: Vec<Vec<[f64; LANES]>> = if self.size() * links < 1_000_000 {
            starts.iter().map(block).collect()
        } else {
            starts.par_iter().map(block).collect()
        };
        let mut matrix = DMatrix::zeros(links, links);
        for i in 0..links {
            for j in i..links {
                let (l, m) = (bags[i].link, bags[j].link);
                let covariance = blocks[i / LANES][m][i % LANES];
                (matrix[(l, m)], matrix[(m, l)]) = (covariance, covariance);
            }
        }
        matrix
    }

    /// How shares change along several directions at once, which move the touched bags only; of the bags from `first` on.
    fn changes<const N: usize>(
        &self,
        shares: &Shares,
        directions: &[[f64; N]],
        touched: &[bool],
        first: usize,
    ) -> Vec<[f64; N]> {
        let mut messages = vec![[0.0; N]; self.size()];
        let mut gains = vec![[0.0; N]; self.size()];
        for (bag, _) in self.elimination.bags.iter().zip(touched).filter(|(_, touched)| **touched) {
            for entry in bag.entries() {
                let transmits = shares.transmits[entry.place];
                let mut silent = [0.0; N];
                for &child in entry.silent {
                    let message = &messages[child as usize];
                    (0..N).for_each(|i| silent[i] += message[i]);
                }
                if entry.may_transmit {
                    let mut gain = directions[bag.link];
                    for &child in entry.transmitting {
                        let message = &messages[child as usize];
                        (0..N).for_each(|i| gain[i] += message[i]);
                    }
                    (0..N).for_each(|i| gain[i] -= silent[i]);
                    (0..N).for_each(|i| silent[i] += transmits * gain[i]);
                    gains[entry.place] = gain;
                }
                messages[entry.place] = silent;
            }
        }
        let mut occurs = messages;
        occurs.fill([0.0; N]);
        let mut change = vec![[0.0; N]; self.links()];
        for bag in self.elimination.bags[first..].iter().rev() {
            for entry in bag.entries() {
                let (p, t) = (shares.occurs[entry.place], shares.transmits[entry.place]);
                let (mut silent, gain) = (occurs[entry.place], &gains[entry.place]);
                let mut transmitting = [0.0; N];
                (0..N).for_each(|i| transmitting[i] = silent[i] * t + p * t * (1.0 - t) * gain[i]);
                (0..N).for_each(|i| silent[i] -= transmitting[i]);
                (0..N).for_each(|i| change[bag.link][i] += transmitting[i]);
                for &child in entry.silent {
                    let occurs = &mut occurs[child as usize];
                    (0..N).for_each(|i| occurs[i] += silent[i]);
                }
                for &child in entry.transmitting {
                    let occurs = &mut occurs[child as usize];
                    (0..N).for_each(|i| occurs[i] += transmitting[i]);
                }
            }
        }
        change
    }

    /// The heaviest independent set and its weight: the same elimination with the greater of two in the place of their
    /// sum.
    pub fn heaviest(&self, weights: &[f64]) -> (Vec<u32>, f64) {
        assert_eq!(self.links(), weights.len(), "one weight per link");
        let mut messages = vec![0.0; self.size()];
        let mut transmits = vec![false; self.size()];
        let mut weight = 0.0;
        for bag in &self.elimination.bags {
            for entry in bag.entries() {
                let sum = |children: &[u32]| children.iter().map(|&c| messages[c as usize]).sum::<f64>();
                let silent = sum(entry.silent);
                let transmitting =
                    if entry.may_transmit { weights[bag.link] + sum(entry.transmitting) } else { silent };
                transmits[entry.place] = transmitting > silent;
                messages[entry.place] = silent.max(transmitting);
            }
            if bag.is_root() {
                weight += messages[bag.first];
            }
        }
        let mut chosen = vec![false; self.size()];
        let mut set = Vec::new();
        for bag in self.elimination.bags.iter().rev() {
            if bag.is_root() {
                chosen[bag.first] = true;
            }
            for entry in bag.entries().filter(|entry| chosen[entry.place]).collect::<Vec<_>>() {
                let transmits = transmits[entry.place];
                if transmits {
                    set.push(bag.link as u32);
                }
                for &child in if transmits { entry.transmitting } else { entry.silent } {
                    chosen[child as usize] = true;
                }
            }
        }
        set.sort_unstable();
        (set, weight)
    }
}

#[cfg(test)]
mod tests;
