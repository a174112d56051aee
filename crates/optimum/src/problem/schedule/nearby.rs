//! Heavy independent sets by a search nearby: links are let in if they outweigh those that they drive out, and where none does, one is let
//! in by chance and the search goes on from there.

use evenair_topology::ConflictGraph;
use std::collections::BTreeSet;

/// Chances per link.
const CHANCES: usize = 30;
/// Sets lighter than the heaviest so far by more than this part are dropped for it.
const LIGHTER: f64 = 0.02;
/// Links let in outweigh others by more than rounding, lest they go in circles.
const OUTWEIGHS: f64 = 1.0 + 1e-9;

/// Heavy sets, the heaviest first: up to so many that weigh more than this, or else the heaviest alone that was found.
pub(super) fn heavy_sets(
    graph: &ConflictGraph,
    weights: &[f64],
    than: f64,
    most: usize,
) -> Vec<(Vec<u32>, f64)> {
    debug_assert_eq!(graph.links(), weights.len());
    let links: Vec<usize> = (0..weights.len()).filter(|&l| weights[l] > 0.0).collect();
    let mut found: BTreeSet<Vec<u32>> = BTreeSet::new();
    let mut best = State::new(graph, weights);
    let near = |l: usize| (graph.neighbours(l).len() + 1) as f64;
    for by_conflicts in [true, false] {
        let mut order = links.clone();
        let worth = |l: usize| if by_conflicts { weights[l] / near(l) } else { weights[l] };
        order.sort_by(|&l, &m| worth(m).total_cmp(&worth(l)).then(l.cmp(&m)));
        let mut state = State::new(graph, weights);
        state.settle(order);
        if state.weight > than {
            found.insert(state.set());
        }
        if state.weight > best.weight {
            best = state;
        }
    }
    let mut state = best.clone();
    let mut lot: u64 = 1;
    for _ in 0..CHANCES * links.len() {
        if found.len() >= most {
            break;
        }
        lot = lot.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let by_chance = links[((lot >> 33) as usize) % links.len()];
        if state.is_in[by_chance] {
            continue;
        }
        let freed = state.let_in(by_chance);
        state.settle(freed);
        if state.weight > than {
            found.insert(state.set());
        }
        if state.weight > best.weight {
            best = state.clone();
        } else if state.weight < best.weight * (1.0 - LIGHTER) {
            state = best.clone();
        }
    }
    let weight = |set: &[u32]| set.iter().map(|&l| weights[l as usize]).sum::<f64>();
    let mut sets: Vec<(Vec<u32>, f64)> = found
        .into_iter()
        .map(|set| {
            let weight = weight(&set);
            (set, weight)
        })
        .collect();
    sets.sort_by(|a, b| b.1.total_cmp(&a.1));
    if sets.is_empty() { vec![(best.set(), best.weight)] } else { sets }
}

/// A set and the weight that each link would drive out of it.
#[derive(Clone)]
struct State<'a> {
    graph: &'a ConflictGraph,
    weights: &'a [f64],
    is_in: Vec<bool>,
    /// Running sums: weights that were added and taken away again leave rounding.
    against: Vec<f64>,
    weight: f64,
}

impl<'a> State<'a> {
    fn new(graph: &'a ConflictGraph, weights: &'a [f64]) -> Self {
        let links = weights.len();
        Self { graph, weights, is_in: vec![false; links], against: vec![0.0; links], weight: 0.0 }
    }

    fn set(&self) -> Vec<u32> {
        (0..self.is_in.len()).filter(|&l| self.is_in[l]).map(|l| l as u32).collect()
    }

    fn change(&mut self, link: usize, to: bool) {
        self.is_in[link] = to;
        let weight = if to { self.weights[link] } else { -self.weights[link] };
        self.weight += weight;
        self.graph.neighbours(link).iter().for_each(|&m| self.against[m as usize] += weight);
    }

    /// Whether a link outweighs those that it would drive out. If it seems to, the sum is computed again.
    /// Rounding of running sums may be below zero, or below the true weight; then light links would come in
    /// for each other in circles, without end.
    fn outweighs(&self, link: usize) -> bool {
        let does = |against: f64| self.weights[link] > against * OUTWEIGHS + 1e-300;
        let members = || self.graph.neighbours(link).iter().filter(|&&m| self.is_in[m as usize]);
        does(self.against[link]) && does(members().map(|&m| self.weights[m as usize]).sum())
    }

    /// Lets a link in; gives the links that may come in for those that it drives out.
    fn let_in(&mut self, link: usize) -> Vec<usize> {
        let out: Vec<usize> =
            self.graph.neighbours(link).iter().map(|&m| m as usize).filter(|&m| self.is_in[m]).collect();
        let mut freed = Vec::new();
        for &m in &out {
            self.change(m, false);
            freed.extend(self.graph.neighbours(m).iter().map(|&l| l as usize));
        }
        self.change(link, true);
        freed
    }

    /// Lets in each of these links, and of those that they free, that outweighs the links it drives out,
    /// until none does.
    fn settle(&mut self, mut waiting: Vec<usize>) {
        waiting.reverse();
        while let Some(l) = waiting.pop() {
            if !self.is_in[l] && self.outweighs(l) {
                let freed = self.let_in(l);
                waiting.extend(freed);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Links that rounding hid once came in for each other for ever, and memory ran out.
        #[test]
        fn weights_that_differ_by_decades_come_to_an_end(
            edges in prop::collection::vec((0usize..40, 0usize..40), 60..300),
            powers in prop::collection::vec(-60.0f64..0.0, 40),
        ) {
            let graph = ConflictGraph::from_edges(40, &edges);
            let weights: Vec<f64> = powers.iter().map(|&power| libm::pow(10.0, power)).collect();
            let found = heavy_sets(&graph, &weights, 0.0, 12);
            prop_assert!(!found.is_empty());
            for (set, weight) in found {
                let sum: f64 = set.iter().map(|&l| weights[l as usize]).sum();
                prop_assert!((sum - weight).abs() <= 1e-12 * sum);
                prop_assert!(set.iter().all(|&l| set.iter().all(|&m| !graph.conflict(l as usize, m as usize))));
            }
        }
    }
}
