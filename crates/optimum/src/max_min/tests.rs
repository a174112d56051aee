//! The worked examples of [Jam10] section 7.2, and the definition itself on random networks.

use super::*;
use clarabel::algebra::CscMatrix;
use clarabel::solver::{DefaultSettingsBuilder, DefaultSolver, IPSolver, SolverStatus, SupportedConeT};
use evenair_topology::{IndependentSets, maximal_cliques};
use proptest::prelude::*;

fn over(links: &[usize]) -> Demand {
    Demand::new(links.iter().map(|&l| (l, 1.0)).collect())
}

fn assert_close(ours: &[f64], theirs: &[f64]) {
    for (a, b) in ours.iter().zip(theirs) {
        assert!((a - b).abs() < 1e-6, "{ours:?} {theirs:?}");
    }
}

#[test]
fn wired_max_min_shares_the_bottleneck() {
    // [Jam10] Fig 7.1: R, R/2, R/2: two flows share a link of R, a third has a link of its own beside a shared one of 3R/2.
    let demands = [over(&[0, 2]), over(&[1, 2]), over(&[1])];
    let fair = fill(&demands, &[1.0, 1.0, 1.5]).unwrap();
    assert_close(&fair.rates, &[1.0, 0.5, 0.5]);
    let exact = fill_exactly(&ConflictGraph::new(0), &[1.0, 1.0, 1.5], &demands).unwrap();
    assert_close(&exact.rates, &[1.0, 0.5, 0.5]);
}

#[test]
fn weights_limits_and_rates_of_links_count() {
    let mut demands = vec![over(&[0]), over(&[0]), over(&[0])];
    demands[0].weight = 2.0;
    demands[1].limit = 0.1;
    let fair = fill(&demands, &[1.0]).unwrap();
    assert_close(&fair.rates, &[0.6, 0.1, 0.3]);
    assert_eq!(fair.held_by, [Some(0), None, Some(0)]);
    assert_close(&fill_exactly(&ConflictGraph::new(1), &[], &demands).unwrap().rates, &[0.6, 0.1, 0.3]);
}

#[test]
fn topology_a_over_cliques_and_exact_region() {
    // Cliques {1,2}, {2,3,4}: all a third, then link 1 grows to 2/3. The graph is perfect, so the region is the same.
    let graph = ConflictGraph::from_edges(4, &[(0, 1), (1, 2), (1, 3), (2, 3)]);
    let demands: Vec<Demand> = (0..4).map(|l| over(&[l])).collect();
    let cliques = maximal_cliques(&graph, 100).unwrap();
    let fair = fill(&grouped(&demands, &cliques), &vec![1.0; cliques.len()]).unwrap();
    let third = 1.0 / 3.0;
    assert_close(&fair.rates, &[2.0 * third, third, third, third]);
    assert_close(&fill_exactly(&graph, &[], &demands).unwrap().rates, &[2.0 * third, third, third, third]);
    // A collision domain counts all neighbours of a link, though some of them may transmit together: link 2's are all four.
    let groups = domains(&graph);
    let fair = fill(&grouped(&demands, &groups), &[1.0; 4]).unwrap();
    assert_close(&fair.rates, &[0.25, 0.25, 0.25, 0.25]);
}

#[test]
fn pentagon_separates_cliques_from_the_region() {
    // Five links in a ring: cliques allow 1/2 each, independent sets 2/5.
    let graph = ConflictGraph::from_edges(5, &[(0, 1), (1, 2), (2, 3), (3, 4), (4, 0)]);
    let demands: Vec<Demand> = (0..5).map(|l| over(&[l])).collect();
    let cliques = maximal_cliques(&graph, 100).unwrap();
    assert_close(&fill(&grouped(&demands, &cliques), &[1.0; 5]).unwrap().rates, &[0.5; 5]);
    assert_close(&fill_exactly(&graph, &[], &demands).unwrap().rates, &[0.4; 5]);
}

#[test]
fn fault_is_named() {
    assert!(matches!(fill(&[Demand::new(vec![])], &[1.0]), Err(Failure::Unbounded(_))));
    assert!(matches!(fill(&[over(&[3])], &[1.0]), Err(Failure::Malformed(_))));
    assert!(matches!(fill(&[over(&[0])], &[0.0]), Err(Failure::Malformed(_))));
    assert!(matches!(fill(&[], &[1.0]), Err(Failure::Malformed(_))));
}

/// The most that one flow can have while others keep at least their rates: a linear programme by Clarabel.
fn most(air: &ConflictGraph, wires: &[f64], demands: &[Demand], flow: usize, least: &[f64]) -> f64 {
    let sets = IndependentSets::of(air).unwrap();
    let (n, m) = (demands.len(), sets.len());
    let mut rows: Vec<(Vec<(usize, f64)>, f64)> = vec![((0..m).map(|i| (n + i, 1.0)).collect(), 1.0)];
    for l in 0..air.links() + wires.len() {
        let mut row: Vec<(usize, f64)> = Vec::new();
        for (s, demand) in demands.iter().enumerate() {
            row.extend(demand.loads.iter().filter(|(k, _)| *k == l).map(|&(_, a)| (s, a)));
        }
        let right = if l < air.links() {
            row.extend((0..m).filter(|&i| sets.masks()[i] >> l & 1 == 1).map(|i| (n + i, -1.0)));
            0.0
        } else {
            wires[l - air.links()]
        };
        rows.push((row, right));
    }
    rows.extend((0..m).map(|i| (vec![(n + i, -1.0)], 0.0)));
    rows.extend((0..n).map(|s| (vec![(s, -1.0)], -least[s])));
    rows.extend((0..n).map(|s| (vec![(s, 1.0)], demands[s].limit.min(1e3))));
    let entries = rows.iter().enumerate().flat_map(|(i, (row, _))| row.iter().map(move |&(j, x)| (i, j, x)));
    let (is, (js, xs)): (Vec<usize>, (Vec<usize>, Vec<f64>)) = entries.map(|(i, j, x)| (i, (j, x))).unzip();
    let matrix = CscMatrix::new_from_triplets(rows.len(), n + m, is, js, xs);
    let right: Vec<f64> = rows.iter().map(|(_, b)| *b).collect();
    let mut objective = vec![0.0; n + m];
    objective[flow] = -1.0;
    let cones = [SupportedConeT::ZeroConeT(1), SupportedConeT::NonnegativeConeT(rows.len() - 1)];
    let settings = DefaultSettingsBuilder::default().verbose(false).build().unwrap();
    let none = CscMatrix::zeros((n + m, n + m));
    let mut solver = DefaultSolver::new(&none, &objective, &matrix, &right, &cones, settings).unwrap();
    solver.solve();
    assert!(matches!(solver.solution.status, SolverStatus::Solved | SolverStatus::AlmostSolved));
    solver.solution.x[flow]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(600))]

    /// Max-min by its definition: no flow can have more unless a flow that has no more than it, in proportion, gets less. For
    /// a convex region this is lexicographic optimality.
    #[test]
    fn no_flow_gains_without_a_poorer_ones_loss(
        edges in prop::collection::vec((0usize..6, 0usize..6), 0..12),
        flows in prop::collection::vec(
            (prop::collection::btree_map(0usize..8, 0.2f64..3.0, 1..4), 0.5f64..2.0, prop::option::of(0.01f64..0.5)),
            1..6,
        ),
    ) {
        let air = ConflictGraph::from_edges(6, &edges);
        let wires = [0.8, 1.5];
        let demands: Vec<Demand> = flows
            .into_iter()
            .map(|(loads, weight, limit)| Demand {
                weight,
                limit: limit.unwrap_or(f64::INFINITY),
                loads: loads.into_iter().collect(),
            })
            .collect();
        let fair = fill_exactly(&air, &wires, &demands).unwrap();
        let level = |s: usize| fair.rates[s] / demands[s].weight;
        for s in 0..demands.len() {
            let keeps = |r: usize| r != s && level(r) <= level(s) * (1.0 + 1e-6);
            let least: Vec<f64> =
                (0..demands.len()).map(|r| if keeps(r) { fair.rates[r] * (1.0 - 1e-6) } else { 0.0 }).collect();
            let most = most(&air, &wires, &demands, s, &least);
            // The others are given 1e-6 of room, for Clarabel's sake; all loads together, some hundred times the flow's own, carry it
            // over.
            prop_assert!(most <= fair.rates[s] * (1.0 + 1e-3), "flow {s}: {} could be {most}", fair.rates[s]);
        }
    }

    #[test]
    fn filling_constraints_is_max_min_by_definition(
        flows in prop::collection::vec(prop::collection::btree_map(0usize..4, 0.2f64..3.0, 1..4), 1..7),
        capacities in prop::collection::vec(0.3f64..2.0, 4),
    ) {
        let demands: Vec<Demand> = flows.into_iter().map(|loads| Demand::new(loads.into_iter().collect())).collect();
        let fair = fill(&demands, &capacities).unwrap();
        let load = |c: usize| -> f64 {
            let of = |(d, x): (&Demand, &f64)| d.loads.iter().filter(|(k, _)| *k == c).map(|(_, a)| a * x).sum::<f64>();
            demands.iter().zip(&fair.rates).map(of).sum()
        };
        for (c, capacity) in capacities.iter().enumerate() {
            prop_assert!(load(c) <= capacity * (1.0 + 1e-9));
        }
        // Each flow has a full constraint on which no flow has more.
        for (s, demand) in demands.iter().enumerate() {
            let holds = |c: usize| {
                load(c) >= capacities[c] * (1.0 - 1e-9)
                    && demands.iter().zip(&fair.rates).all(|(d, x)| {
                        d.loads.iter().all(|(k, _)| *k != c) || *x <= fair.rates[s] * (1.0 + 1e-9)
                    })
            };
            prop_assert!(demand.loads.iter().any(|&(c, _)| holds(c)));
            prop_assert!(fair.held_by[s].is_some_and(holds));
        }
    }
}
