//! Solutions against their optimality conditions, closed forms, the papers' numbers and an independent solver.

use super::*;
use evenair_topology::{Medium, Position, Propagation, ThresholdRadio};
use proptest::prelude::*;

fn topology_a() -> ConflictGraph {
    ConflictGraph::from_edges(4, &[(0, 1), (1, 2), (1, 3), (2, 3)])
}

fn one_flow_per_link(air: ConflictGraph, utility: &Utility, beta: Option<f64>) -> Problem {
    let flows = (0..air.links()).map(|l| Flow::over(utility.clone(), &[l])).collect();
    Problem { air, flows, beta, ..Problem::default() }
}

fn assert_close(ours: &[f64], theirs: &[f64], tolerance: f64) {
    assert_eq!(ours.len(), theirs.len());
    for (a, b) in ours.iter().zip(theirs) {
        assert!((a - b).abs() < tolerance, "{ours:?} {theirs:?}");
    }
}

#[test]
fn the_fixed_point_that_the_thesis_runs_into() {
    // spec: x = C·y(r), r = 2k²/x² at C = 532, k = 10, β = 200: r = [3.1, 10.6, 6.6, 6.6]e-3,
    // x = [256, 137, 174, 174], total 741.
    let capacity = 532.0;
    let utility = Utility::inverse(2.0 * (10.0 / capacity) * (10.0 / capacity));
    let solution = one_flow_per_link(topology_a(), &utility, Some(200.0)).solve().unwrap();
    for (rate, expected) in solution.rates.iter().zip([256.0, 137.0, 174.0, 174.0]) {
        assert!((rate * capacity - expected).abs() < 1.0, "{}", rate * capacity);
    }
    assert_close(&solution.prices, &[3.1e-3, 10.6e-3, 6.6e-3, 6.6e-3], 0.1e-3);
    assert!(solution.residuals.worst() < 1e-9, "{:?}", solution.residuals);
    assert_eq!(solution.schedule.len(), 7, "all independent sets are listed");
    let total: f64 = solution.schedule.iter().map(|(_, share)| share).sum();
    assert!((total - 1.0).abs() < 1e-12);
}

#[test]
fn without_entropy_topology_a_has_a_closed_form() {
    // Sets {2}, {1,3}, {1,4}: x₂ = u, x₁ = 1 − u, x₃ = x₄ = (1 − u)/2; d/du of −1/u − 5/(1−u) vanishes at
    // u = 1/(1 + √5).
    let solution = one_flow_per_link(topology_a(), &Utility::inverse(1.0), None).solve().unwrap();
    let u = 1.0 / (1.0 + 5f64.sqrt());
    assert_close(&solution.rates, &[1.0 - u, u, (1.0 - u) / 2.0, (1.0 - u) / 2.0], 1e-8);
    assert!(solution.residuals.worst() < 1e-9, "{:?}", solution.residuals);
}

#[test]
fn proportional_fairness_has_the_letters_shares() {
    // [Lee12]: flow in the middle 2/3, 1/3, 2/3; two hops beside one 1/4, 1/2.
    let middle = ConflictGraph::from_edges(3, &[(0, 1), (1, 2)]);
    let solution = one_flow_per_link(middle, &Utility::log(1.0), None).solve().unwrap();
    assert_close(&solution.rates, &[2.0 / 3.0, 1.0 / 3.0, 2.0 / 3.0], 1e-8);
    let flows = vec![Flow::over(Utility::log(1.0), &[0, 1]), Flow::over(Utility::log(1.0), &[1])];
    let air = ConflictGraph::from_edges(2, &[(0, 1)]);
    let solution = Problem { air, flows, ..Problem::default() }.solve().unwrap();
    assert_close(&solution.rates, &[0.25, 0.5], 1e-8);
}

#[test]
fn one_link_of_every_kind_has_a_closed_form() {
    let flow = || vec![Flow::over(Utility::inverse(0.08), &[0])];
    // A bound: the capacity, at the price U'(C).
    let bounded =
        Problem { wires: vec![Wire::Capacity(2.0)], flows: flow(), ..Problem::default() }.solve().unwrap();
    assert_close(&bounded.rates, &[2.0], 1e-8);
    assert_close(&bounded.prices, &[0.02], 1e-9);
    // DropTail: 0.08/x² = 1 − 2/x, so x² − 2x − 0.08 = 0 ([CZ06] eq. (5)).
    let priced =
        Problem { wires: vec![Wire::DropTail(2.0)], flows: flow(), ..Problem::default() }.solve().unwrap();
    assert_close(&priced.rates, &[1.0 + 1.08f64.sqrt()], 1e-9);
    // A channel that loses 2 % more: 0.08/x² = 0.02 at x = 2, where nothing is refused yet ([CZ06] eq. (8)).
    let mut lossy = Problem { wires: vec![Wire::DropTail(2.5)], flows: flow(), ..Problem::default() };
    lossy.flows[0].fixed_price = 0.02;
    assert_close(&lossy.solve().unwrap().rates, &[2.0], 1e-6);
}

#[test]
fn equilibrium_of_e_multcp_has_papers_values() {
    // spec Z4: C 1 Mb/s, S 1460 B, T .168 s: ε .02, β 100: 1000.857 kb/s, n 1.6840; .06, 20: 948.425, 2.6333.
    for (loss, beta, kbps, connections) in [(0.02, 100.0, 1000.857, 1.6840), (0.06, 20.0, 948.425, 2.6333)] {
        let (size, time) = (1460.0 * 8.0 / 1e6, 0.168);
        let weight = 2.0 * size * size / (time * time);
        let utility = Utility::LossyConnections { weight, loss, beta };
        let wires = vec![Wire::Smoothed { capacity: 1.0, beta }];
        let solution =
            Problem { wires, flows: vec![Flow::over(utility, &[0])], ..Problem::default() }.solve().unwrap();
        assert!((solution.rates[0] * 1e3 - kbps).abs() < 1e-3, "{}", solution.rates[0]);
        let bit = libm::tanh(beta * solution.prices[0] / 2.0);
        assert!((1.0 / bit.sqrt() - connections).abs() < 1e-4);
    }
}

#[test]
fn problem_errors_are_distinguished() {
    let of = |flows: Vec<Flow>, beta| Problem { air: topology_a(), flows, beta, ..Problem::default() };
    let message = |problem: Problem| problem.solve().unwrap_err().to_string();
    let ok = || Flow::over(Utility::log(1.0), &[0]);
    assert!(message(of(vec![], None)).contains("no flow"));
    assert!(message(of(vec![Flow::over(Utility::log(1.0), &[7])], None)).contains("link 7"));
    assert!(message(of(vec![Flow::over(Utility::log(-1.0), &[0])], None)).contains("weight"));
    assert!(message(of(vec![ok()], Some(f64::NAN))).contains("beta"));
    assert!(message(of(vec![Flow::over(Utility::log(1.0), &[])], None)).contains("unbounded"));
    let mut scaled = of(vec![ok(), ok()], None);
    scaled.flows[1].loads[0].1 = 1e-14;
    assert!(message(scaled).contains("badly scaled"));
    for (background, fits) in [(vec![0.4, 0.4, 0.0, 0.0], true), (vec![0.5, 0.6, 0.0, 0.0], false)] {
        let problem = Problem { background, ..of(vec![ok()], None) };
        match problem.solve() {
            Ok(solution) => assert!(fits && (solution.rates[0] - 0.2).abs() < 1e-8),
            Err(failure) => assert!(!fits && matches!(failure, Failure::Infeasible(_)), "{failure}"),
        }
    }
    let wires = vec![Wire::Capacity(1.0)];
    let full = Problem { wires, flows: vec![ok()], background: vec![1.0], ..Problem::default() };
    assert!(matches!(full.solve(), Err(Failure::Infeasible(_))));
}

/// A mesh of random links 100 to 200 m long on a square, as 802.11 with 550 m of carrier sense sees it.
fn mesh(links: usize, side_m: f64, seed: u64) -> ConflictGraph {
    let mut state = seed.wrapping_mul(2) + 1;
    let mut unit = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 11) as f64 / 9_007_199_254_740_992.0
    };
    let mut places = Vec::new();
    for _ in 0..links {
        let (x, y, angle) = (unit() * side_m, unit() * side_m, unit() * std::f64::consts::TAU);
        let length = 100.0 + 100.0 * unit();
        places.push(Position::new(x, y));
        places.push(Position::new(x + length * libm::cos(angle), y + length * libm::sin(angle)));
    }
    let radio = ThresholdRadio {
        transmission_range_m: 250.0,
        carrier_sense_range_m: 550.0,
        interference_range_m: 550.0,
        propagation: Propagation::default(),
    };
    let medium = Medium::from_positions(&places, &radio);
    let links: Vec<evenair_topology::Link> =
        (0..links as u32).map(|l| evenair_topology::Link { from: 2 * l, to: 2 * l + 1 }).collect();
    medium.conflicts(&links)
}

#[test]
fn mesh_of_forty_links_is_solved() {
    for seed in 0..4 {
        for beta in [None, Some(20.0)] {
            let solution =
                one_flow_per_link(mesh(40, 2000.0, seed), &Utility::inverse(1.0), beta).solve().unwrap();
            assert!(solution.residuals.worst() < 1e-7, "{:?}", solution.residuals);
            assert!(solution.is_exact());
        }
    }
}

/// Random problems with several hops, unequal loads, wires and weights.
fn problems() -> impl Strategy<Value = Problem> {
    let edges = prop::collection::vec((0usize..6, 0usize..6), 0..12);
    let flow = (
        prop::collection::btree_map(0usize..8, 0.2f64..3.0, 1..4),
        0.05f64..3.0,
        prop::sample::select(vec![1.0, 2.0]),
    );
    let flows = prop::collection::vec(flow, 1..6);
    (edges, flows, prop::option::of(0.5f64..50.0), 0.3f64..2.0).prop_map(|(edges, flows, beta, capacity)| {
        Problem {
            air: ConflictGraph::from_edges(6, &edges),
            wires: vec![Wire::Capacity(capacity), Wire::Capacity(1.0)],
            flows: flows
                .into_iter()
                .map(|(loads, weight, alpha)| Flow {
                    utility: Utility::AlphaFair { weight, alpha },
                    fixed_price: 0.0,
                    loads: loads.into_iter().collect(),
                })
                .collect(),
            beta,
            background: Vec::new(),
        }
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    /// On random problems the conditions hold, and an independent solver agrees.
    #[test]
    fn random_problems_agree_with_clarabel(problem in problems()) {
        let solution = problem.solve().unwrap();
        prop_assert!(solution.residuals.worst() < 1e-7, "{:?}", solution.residuals);
        // It gives up on some problems (InsufficientProgress) that ours solves; proptest ends the test if they were many.
        let theirs = problem.solve_by_cones();
        prop_assume!(theirs.is_ok());
        let theirs = theirs.unwrap();
        let scale: f64 = problem.flows.iter().zip(&solution.rates).map(|(f, &x)| x * f.utility.price(x)).sum();
        let value = |s: &Solution| s.utility + problem.beta.map_or(0.0, |beta| s.entropy / beta);
        let (a, b) = (value(&solution), value(&theirs));
        prop_assert!((a - b).abs() < 1e-6 * scale.max(1.0), "{a} {b}");
        // An objective within 1e-8 leaves a rate of a flat optimum uncertain by the root of that, 1e-4.
        for (ours, theirs) in solution.rates.iter().zip(&theirs.rates) {
            prop_assert!((ours - theirs).abs() < 1e-3 * ours.max(1.0), "{ours} {theirs}");
        }
    }
}

/// A logarithm of one's own is the built-in one, and `log(1 + x/a)` on a clique fills water: `x_l = max(0, level − a_l)`.
#[test]
fn utilities_of_ones_own_have_their_closed_forms() {
    #[derive(Debug)]
    struct Log(f64);
    impl crate::Concave for Log {
        fn of(&self, rate: f64) -> f64 {
            libm::log(self.0 + rate)
        }
        fn price(&self, rate: f64) -> f64 {
            1.0 / (self.0 + rate)
        }
    }
    let own = |a: f64| Utility::checked(std::sync::Arc::new(Log(a)), 1.0).unwrap();
    let [ours, theirs] = [own(0.0), Utility::log(1.0)].map(|utility| {
        let solution = one_flow_per_link(topology_a(), &utility, None).solve().unwrap();
        assert!(solution.is_exact() && !solution.by_clarabel, "{:?}", solution.residuals);
        solution.rates
    });
    assert_close(&ours, &theirs, 1e-7);
    // Over floors of 0.1, 0.3, 0.5 the level of 1.9/3 fills one; a floor of 0.9 stays dry at (1 + 0.4)/2 = 0.7.
    let clique = |floors: &[f64]| {
        let n = floors.len();
        let pairs: Vec<_> = (0..n).flat_map(|l| (l + 1..n).map(move |m| (l, m))).collect();
        let flows = floors.iter().enumerate().map(|(l, &a)| Flow::over(own(a), &[l])).collect();
        Problem { air: ConflictGraph::from_edges(n, &pairs), flows, ..Problem::default() }.solve().unwrap()
    };
    let solution = clique(&[0.1, 0.3, 0.5]);
    let level = 1.9 / 3.0;
    assert_close(&solution.rates, &[level - 0.1, level - 0.3, level - 0.5], 1e-6);
    assert!(solution.is_exact(), "{:?}", solution.residuals);
    let solution = clique(&[0.1, 0.3, 0.9]);
    assert_close(&solution.rates, &[0.6, 0.4, 0.0], 1e-5);
    assert!(solution.is_exact(), "{:?}", solution.residuals);
}

/// On a clique a linear programme sends the steepest pieces first; and of many points of a logarithm the solution is its own, to
/// within a piece.
#[test]
fn tables_of_points_are_linear_programmes() {
    let table = |points: &[(f64, f64)]| Utility::Points(crate::Points::new(points.iter().copied()).unwrap());
    let air = ConflictGraph::from_edges(2, &[(0, 1)]);
    let flows = vec![
        Flow::over(table(&[(0.0, 0.0), (0.3, 3.0), (1.0, 4.0)]), &[0]),
        Flow::over(table(&[(0.0, 0.0), (0.5, 2.5), (0.6, 2.6)]), &[1]),
    ];
    let solution = Problem { air, flows, ..Problem::default() }.solve().unwrap();
    assert_close(&solution.rates, &[0.5, 0.5], 1e-7);
    assert!((solution.utility - (3.0 + 0.2 / 0.7 + 2.5)).abs() < 1e-7 && solution.by_clarabel);
    assert!(solution.is_exact(), "{:?}", solution.residuals);
    // 400 points, 2 % apart: rates within 2 %, the utility within its square.
    let of = |i: i32| libm::pow(1.02, f64::from(i - 400));
    let points: Vec<_> = std::iter::once((0.0, libm::log(of(0)) - 1.0))
        .chain((0..=400).map(|i| (of(i), libm::log(of(i)))))
        .collect();
    let rough = one_flow_per_link(topology_a(), &table(&points), None).solve().unwrap();
    let exact = one_flow_per_link(topology_a(), &Utility::log(1.0), None).solve().unwrap();
    for (ours, theirs) in rough.rates.iter().zip(&exact.rates) {
        assert!((ours / theirs - 1.0).abs() < 0.03, "{:?} {:?}", rough.rates, exact.rates);
    }
    assert!((rough.utility - exact.utility).abs() < 4.0 * 0.02 * 0.02, "{} {}", rough.utility, exact.utility);
    assert!(rough.is_exact(), "{:?}", rough.residuals);
    // No flow wants more than this: the air is idle for the rest.
    let few = one_flow_per_link(topology_a(), &table(&[(0.0, 0.0), (0.1, 1.0)]), None).solve().unwrap();
    assert_close(&few.rates, &[0.1; 4], 1e-7);
    assert!(few.is_exact(), "{:?}", few.residuals);
}

/// Every third pair of links conflicts, and their rates differ by six decades: sums over all independent sets would be too many, and
/// α = 2 went unsolved, a third off.
#[test]
fn too_many_sets_to_sum_over_are_solved() {
    let mut lot: u64 = 1;
    let mut unit = || {
        lot = lot.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (lot >> 11) as f64 / 9_007_199_254_740_992.0
    };
    let links = 110;
    let pairs: Vec<(usize, usize)> = (0..links).flat_map(|l| (0..l).map(move |m| (l, m))).collect();
    let edges: Vec<(usize, usize)> = pairs.into_iter().filter(|_| unit() < 0.33).collect();
    let air = ConflictGraph::from_edges(links, &edges);
    assert!(crate::ProductForm::new(&air).is_err(), "else another method would solve it");
    let mut problem = one_flow_per_link(air, &Utility::inverse(1.0), None);
    problem.flows.iter_mut().for_each(|flow| flow.loads[0].1 = libm::pow(10.0, 6.0 * unit()));
    let solution = problem.solve().unwrap();
    assert!(solution.is_exact(), "{:?}", solution.residuals);
}

/// The rounding residue of joined shares is no set of its own.
#[test]
fn schedule_has_no_sets_of_rounding_residue() {
    let ring = ConflictGraph::from_edges(5, &[(0, 1), (1, 2), (2, 3), (3, 4), (4, 0)]);
    let solution = one_flow_per_link(ring, &Utility::inverse(1.0), None).solve().unwrap();
    assert_eq!(solution.schedule.len(), 5, "{:?}", solution.schedule);
    assert!(solution.schedule.iter().all(|(set, share)| set.len() == 2 && (share - 0.2).abs() < 1e-9));
}

#[test]
fn solver_reports_its_progress() {
    let edges: Vec<(usize, usize)> = (0..60).flat_map(|l| [(l, (l + 1) % 60), (l, (l + 7) % 60)]).collect();
    let problem = one_flow_per_link(ConflictGraph::from_edges(60, &edges), &Utility::inverse(1.0), None);
    let (stop, done) = (AtomicBool::new(false), crate::Done::new());
    let solution = problem.solve_unless(Watch { stop: &stop, done: Some(&done) }).unwrap();
    assert!(done.share() > 0.5 && done.share() <= 1.0, "{}", done.share());
    assert!(done.gap().is_some_and(|gap| gap < 1e-9), "{:?}", done.gap());
    assert_eq!(solution.rates, problem.solve().unwrap().rates, "and nothing changes");
}

/// A link without conflicts is full at any worth of the others: at α = 50 three that take turns are worth 3⁴⁹
/// times as much.
#[test]
fn parts_without_common_links_do_not_interact() {
    let cliques = [vec![(0, 1), (0, 2), (1, 2)], vec![(0, 1)], vec![]];
    for (edges, links) in cliques.into_iter().zip([3, 2, 1]) {
        for alpha in [0.5, 1.0, 2.0, 5.0, 10.0, 50.0] {
            let utility = Utility::AlphaFair { weight: 1.0, alpha };
            let mut flows: Vec<Flow> = (0..links).map(|l| Flow::over(utility.clone(), &[l])).collect();
            // Alone, and over a wire of its own.
            flows.extend([Flow::over(utility.clone(), &[links]), Flow::over(utility, &[links + 1])]);
            let air = ConflictGraph::from_edges(links + 1, &edges);
            let problem = Problem { air, flows, wires: vec![Wire::Capacity(0.03)], ..Problem::default() };
            let solution = problem.solve().unwrap_or_else(|e| panic!("{links} links, α = {alpha}: {e}"));
            let due: Vec<f64> = (0..links).map(|_| 1.0 / links as f64).chain([1.0, 0.03]).collect();
            assert_close(&solution.rates, &due, 1e-6);
            assert_close(&solution.airtime[links..], &[1.0], 1e-6);
            let shares: f64 = solution.schedule.iter().map(|(_, share)| share).sum();
            assert!((shares - 1.0).abs() < 1e-9 && solution.is_exact(), "{:?}", solution.residuals);
        }
    }
}

/// Links without conflict are alone, links that all conflict share one clique: `t_s ∝ (w_s b_s^(1−α))^(1/α)`,
/// b a link's capacity. Rates and weights over decades.
fn shares_of_a_clique(loads: &[f64], weights: &[f64], alpha: f64) -> Vec<f64> {
    let logs: Vec<f64> = loads
        .iter()
        .zip(weights)
        .map(|(a, w)| (libm::log(*w) + (alpha - 1.0) * libm::log(*a)) / alpha)
        .collect();
    let most = logs.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let total: f64 = logs.iter().map(|x| libm::exp(x - most)).sum();
    logs.iter().map(|x| libm::exp(x - most) / total).collect()
}

proptest! {
    #[test]
    fn steep_utilities_have_their_closed_forms(
        numbers in prop::collection::vec((-3.0f64..3.0, -2.0f64..2.0), 2..7),
        alpha in prop::sample::select(vec![3.0, 5.0, 10.0, 50.0]),
        all_conflict in any::<bool>(),
    ) {
        let n = numbers.len();
        let (loads, weights): (Vec<f64>, Vec<f64>) =
            numbers.iter().map(|(a, w)| (libm::pow(10.0, *a), libm::pow(10.0, *w))).unzip();
        let edges: Vec<(usize, usize)> = (0..n).flat_map(|i| (0..i).map(move |j| (i, j))).collect();
        let air = if all_conflict { ConflictGraph::from_edges(n, &edges) } else { ConflictGraph::new(n) };
        let flow = |s: usize| Flow {
            utility: Utility::AlphaFair { weight: weights[s], alpha },
            fixed_price: 0.0,
            loads: vec![(s, loads[s])],
        };
        let problem = Problem { air, flows: (0..n).map(flow).collect(), ..Problem::default() };
        let solution = problem.solve().unwrap();
        let shares = if all_conflict { shares_of_a_clique(&loads, &weights, alpha) } else { vec![1.0; n] };
        for s in 0..n {
            let away = solution.rates[s] * loads[s] / shares[s] - 1.0;
            prop_assert!(away.abs() < 1e-6 && solution.rates_within[s] < Solution::KNOWN, "{s}: {away} {solution:?}");
        }
    }

    /// Any five links: no flow's rate can be changed for the better, each relative to its own worth. A flow over each link, so that a
    /// clique of links is a sum of airtimes, and cliques are all of the region but for the ring of five.
    #[test]
    fn steep_utilities_of_five_links_are_solved(
        numbers in prop::collection::vec((-1.0f64..2.0, -1.5f64..1.5), 5),
        conflicts in prop::collection::vec(any::<bool>(), 10),
        alpha in prop::sample::select(vec![5.0, 10.0, 50.0]),
    ) {
        let pairs: Vec<(usize, usize)> = (0..5).flat_map(|i| (0..i).map(move |j| (i, j))).collect();
        let edges: Vec<(usize, usize)> = pairs.into_iter().zip(&conflicts).filter(|(_, on)| **on).map(|(pair, _)| pair).collect();
        let air = ConflictGraph::from_edges(5, &edges);
        let is_ring = edges.len() == 5 && (0..5).all(|l| air.neighbours(l).len() == 2);
        prop_assume!(!is_ring);
        let flow = |s: usize| Flow {
            utility: Utility::AlphaFair { weight: libm::pow(10.0, numbers[s].1), alpha },
            fixed_price: 0.0,
            loads: vec![(s, libm::pow(10.0, -numbers[s].0))],
        };
        let problem = Problem { air: air.clone(), flows: (0..5).map(flow).collect(), ..Problem::default() };
        let solution = problem.solve().unwrap();
        let airtime = problem.loads(&solution.rates);
        let cliques = evenair_topology::maximal_cliques(&air, 100).unwrap();
        let total = |clique: &Vec<u32>| clique.iter().map(|&l| airtime[l as usize]).sum::<f64>();
        prop_assert!(cliques.iter().all(|clique| total(clique) < 1.0 + 1e-9));
        // The logarithm of the price that a flow would pay for airtime: U'(x)/a.
        let log_price = |s: usize| {
            let (weight, load) = (libm::pow(10.0, numbers[s].1), libm::pow(10.0, -numbers[s].0));
            libm::log(weight) - alpha * libm::log(solution.rates[s]) - libm::log(load)
        };
        // A little airtime more for one link, from those with which it conflicts: of each full clique of its one other link gives as
        // much. Where that is worth less to all of these together, the rates were not the best.
        for s in 0..5u32 {
            let full: Vec<&Vec<u32>> =
                cliques.iter().filter(|clique| clique.contains(&s) && total(clique) > 1.0 - 1e-9).collect();
            prop_assert!(!full.is_empty(), "link {s} could have more: {airtime:?}");
            // The cheapest link of each full clique gives: an allowed change, so it may not be for the better.
            let givers: std::collections::BTreeSet<u32> = full
                .iter()
                .map(|clique| {
                    let others = clique.iter().copied().filter(|&l| l != s);
                    others.min_by(|&a, &b| log_price(a as usize).total_cmp(&log_price(b as usize)))
                })
                .collect::<Option<_>>()
                .unwrap_or_default();
            if full.iter().all(|clique| clique.len() > 1) {
                let most = givers.iter().map(|&l| log_price(l as usize)).fold(f64::NEG_INFINITY, f64::max);
                let sum: f64 = givers.iter().map(|&l| libm::exp(log_price(l as usize) - most)).sum();
                let gain = log_price(s as usize) - most - libm::log(sum);
                prop_assert!(gain < 1e-5 * alpha, "link {s} gains {gain}: {solution:?}");
            }
        }
    }
}
