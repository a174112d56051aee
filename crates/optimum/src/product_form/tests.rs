//! The elimination against the sum over all sets.

use super::*;
use crate::Failure;
use evenair_topology::IndependentSets;
use proptest::prelude::*;

/// Shares, log Z and covariance by listing every set.
fn listed(graph: &ConflictGraph, z: &[f64]) -> (Vec<f64>, f64, Vec<Vec<f64>>) {
    let sets = IndependentSets::of(graph).unwrap();
    let n = graph.links();
    let weight = |mask: u64| IndependentSets::members(mask).map(|l| z[l]).sum::<f64>();
    let greatest = sets.masks().iter().map(|&m| weight(m)).fold(0.0, f64::max);
    let shares: Vec<f64> = sets.masks().iter().map(|&m| libm::exp(weight(m) - greatest)).collect();
    let partition: f64 = shares.iter().sum();
    let (mut links, mut both) = (vec![0.0; n], vec![vec![0.0; n]; n]);
    for (share, &mask) in shares.iter().zip(sets.masks()) {
        for l in IndependentSets::members(mask) {
            links[l] += share / partition;
            for m in IndependentSets::members(mask) {
                both[l][m] += share / partition;
            }
        }
    }
    for l in 0..n {
        for m in 0..n {
            both[l][m] -= links[l] * links[m];
        }
    }
    (links, greatest + libm::log(partition), both)
}

#[test]
fn link_2_of_topology_a_at_equal_aggressiveness() {
    // [Chen10] eq. (4.1), (4.2): y₂ = ρ/(2ρ² + 4ρ + 1), about 0.11 at ρ = 2.24
    let graph = ConflictGraph::from_edges(4, &[(0, 1), (1, 2), (1, 3), (2, 3)]);
    let rho = 2.24;
    let shares = ProductForm::new(&graph).unwrap().shares(&[libm::log(rho); 4]);
    let expected = rho / (2.0 * rho * rho + 4.0 * rho + 1.0);
    assert!((shares.links[1] - expected).abs() < 1e-14);
    assert!((shares.links[1] - 0.11).abs() < 0.005);
}

#[test]
fn huge_exponents_do_not_overflow() {
    let form = ProductForm::new(&ConflictGraph::from_edges(2, &[(0, 1)])).unwrap();
    let shares = form.shares(&[5000.0, 4999.0]);
    assert!((shares.links[0] + shares.links[1] - 1.0).abs() < 1e-12);
    assert!((shares.links[0] / shares.links[1] - libm::exp(1.0)).abs() < 1e-9);
}

#[test]
fn a_long_chain_needs_few_values() {
    // A chain of 1000 links, each in conflict with the next two: more sets than atoms, and three values a link.
    let edges: Vec<(usize, usize)> =
        (0..1000).flat_map(|l| [(l, l + 1), (l, l + 2)]).filter(|e| e.1 < 1000).collect();
    let chain = |n: usize| {
        let edges: Vec<_> = edges.iter().copied().filter(|e| e.1 < n).collect();
        ProductForm::new(&ConflictGraph::from_edges(n, &edges)).unwrap()
    };
    assert!(chain(1000).size() <= 4000, "{}", chain(1000).size());
    // The number of sets obeys a(n) = a(n−1) + a(n−3): it grows by the root of t³ = t² + 1.
    let log_count = |n: usize| chain(n).shares(&vec![0.0; n]).log_partition;
    assert!((log_count(1000) - log_count(999) - libm::log(1.465_571_231_876_768)).abs() < 1e-11);
    assert!((libm::exp(log_count(5)) - 9.0).abs() < 1e-12, "none, five alone, {{0,3}}, {{0,4}}, {{1,4}}");
}

#[test]
fn too_wide_a_graph_is_refused() {
    // A random graph of 600 links and 1200 conflicts has no small cuts.
    let mut state = 7u64;
    let mut draw = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize % 600
    };
    let edges: Vec<(usize, usize)> = (0..1200).map(|_| (draw(), draw())).collect();
    assert_eq!(ProductForm::new(&ConflictGraph::from_edges(600, &edges)).unwrap_err().links, 600);
}

#[test]
fn shares_outside_the_region_are_infeasible() {
    let form = ProductForm::new(&ConflictGraph::from_edges(2, &[(0, 1)])).unwrap();
    assert!(matches!(form.exponents_for(&[0.5, 0.6]), Err(Failure::Infeasible(_))));
    assert!(matches!(form.exponents_for(&[0.5, 0.5]), Err(Failure::Infeasible(_))), "the boundary");
    assert!(matches!(form.exponents_for(&[0.5, 0.0]), Err(Failure::Infeasible(_))));
    // y₀ = e^z₀/Z, y₁ = e^z₁/Z, 1/Z = 0.2
    let z = form.exponents_for(&[0.5, 0.3]).unwrap();
    assert!((z[0] - libm::log(2.5)).abs() < 1e-9 && (z[1] - libm::log(1.5)).abs() < 1e-9);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn the_elimination_is_the_sum_over_all_sets(
        edges in prop::collection::vec((0usize..10, 0usize..10), 0..30),
        z in prop::collection::vec(-4.0f64..6.0, 10),
    ) {
        let graph = ConflictGraph::from_edges(10, &edges);
        let form = ProductForm::new(&graph).unwrap();
        let shares = form.shares(&z);
        let (links, log_partition, covariance) = listed(&graph, &z);
        prop_assert!((shares.log_partition - log_partition).abs() < 1e-12 * log_partition.max(1.0));
        for l in 0..10 {
            prop_assert!((shares.links[l] - links[l]).abs() < 1e-13);
            let mut unit = vec![0.0; 10];
            unit[l] = 1.0;
            for (ours, theirs) in form.covariance_times(&shares, &unit).iter().zip(&covariance[l]) {
                prop_assert!((ours - theirs).abs() < 1e-13);
            }
        }
        let (set, weight) = form.heaviest(&z);
        let best = IndependentSets::of(&graph).unwrap().masks().iter()
            .map(|&m| IndependentSets::members(m).map(|l| z[l]).sum::<f64>()).fold(0.0, f64::max);
        prop_assert!((weight - best).abs() < 1e-12);
        prop_assert!((set.iter().map(|&l| z[l as usize]).sum::<f64>() - best).abs() < 1e-12);
    }

    #[test]
    fn the_inverse_finds_the_exponents_again(
        edges in prop::collection::vec((0usize..8, 0usize..8), 0..20),
        z in prop::collection::vec(-3.0f64..4.0, 8),
    ) {
        let form = ProductForm::new(&ConflictGraph::from_edges(8, &edges)).unwrap();
        let found = form.exponents_for(&form.shares(&z).links).unwrap();
        for (ours, theirs) in found.iter().zip(&z) {
            prop_assert!((ours - theirs).abs() < 1e-6, "{ours} {theirs}");
        }
    }
}
