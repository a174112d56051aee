//! Hundreds of ordinary meshes, each answer certified; large ones are in `examples/library.rs`.

use crate::max_min::{Demand, fill_exactly};
use crate::meshes::{Mesh, Shape, mesh};
use crate::{Flow, Problem, Solution, Utility};

/// Rates and weights alike, and each spread over two decades.
const SPREADS: [(f64, f64); 2] = [(0.0, 0.0), (1.0, 1.0)];

fn problem(mesh: &Mesh, alpha: f64, beta: Option<f64>) -> Problem {
    let flow = |(loads, &weight): (&Vec<(usize, f64)>, &f64)| Flow {
        utility: Utility::AlphaFair { weight, alpha },
        fixed_price: 0.0,
        loads: loads.clone(),
    };
    let flows = mesh.loads.iter().zip(&mesh.weights).map(flow).collect();
    Problem { air: mesh.air.clone(), flows, beta, ..Problem::default() }
}

/// Solves on every shape, at these sizes and spreads, for so many seeds; gives how many problems there were.
fn each(sizes: &[usize], spreads: &[(f64, f64)], seeds: u64, mut solve: impl FnMut(&str, &Mesh)) -> u32 {
    let mut count = 0;
    for &links in sizes {
        for (shape, spread) in Shape::ALL.iter().flat_map(|s| spreads.iter().map(move |spread| (*s, *spread)))
        {
            for seed in 0..seeds {
                solve(&format!("{shape:?} {links} {spread:?} {seed}"), &mesh(shape, links, spread, seed));
                count += 1;
            }
        }
    }
    count
}

#[test]
fn max_min_is_certified_on_ordinary_meshes() {
    let count = each(&[10, 20, 30], &SPREADS, 3, |name, mesh| {
        let demand = |(loads, weight): (&Vec<(usize, f64)>, &f64)| Demand {
            weight: *weight,
            ..Demand::new(loads.clone())
        };
        let demands: Vec<Demand> = mesh.loads.iter().zip(&mesh.weights).map(demand).collect();
        let fair = fill_exactly(&mesh.air, &[], &demands).unwrap_or_else(|e| panic!("{name}: {e}"));
        let proof = fair.proof.expect("the exact region has a proof");
        assert!(proof.residuals.worst() < Solution::TOLERANCE, "{name}: {:?}", proof.residuals);
        // The schedule is one: it takes all of the time and makes the airtimes.
        let total: f64 = proof.schedule.iter().map(|(_, share)| share).sum();
        assert!((total - 1.0).abs() < 1e-9, "{name}: {total}");
    });
    assert_eq!(count, 126);
}

#[test]
fn utilities_are_maximised_on_ordinary_meshes() {
    let mut count = 0;
    for alpha in [0.5, 1.0, 2.0] {
        count += each(&[10, 20], &SPREADS, 2, |name, mesh| {
            let solution =
                problem(mesh, alpha, None).solve().unwrap_or_else(|e| panic!("α = {alpha}, {name}: {e}"));
            assert!(solution.is_exact(), "α = {alpha}, {name}: {:?}", solution.residuals);
        });
    }
    assert_eq!(count, 168);
}

/// Each rate is known, however little its flow is worth beside others.
#[test]
fn large_alphas_are_solved() {
    let mut count = 0;
    for alpha in [5.0, 10.0, 50.0] {
        count += each(&[10, 20], &[(0.0, 0.0), (1.0, 1.0), (1.5, 3.0)], 2, |name, mesh| {
            let solution =
                problem(mesh, alpha, None).solve().unwrap_or_else(|e| panic!("α = {alpha}, {name}: {e}"));
            assert!(solution.is_exact(), "α = {alpha}, {name}: {:?}", solution.residuals);
            let within = solution.rates_within.iter().fold(0.0f64, |worst, x| worst.max(*x));
            assert!(within < 1e-6, "α = {alpha}, {name}: a rate is known within {within}");
        });
    }
    assert_eq!(count, 252);
}

/// Chains and cells have chordal conflict graphs, and any size and spread of rates is a matter of divisions.
#[test]
fn chains_and_cells_of_any_size_are_filled() {
    for (shape, spread) in [(Shape::Chain, (0.0, 0.0)), (Shape::Chain, (1.5, 3.0)), (Shape::Cell, (3.0, 0.0))]
    {
        let mesh = mesh(shape, 120, spread, 1);
        let demand = |(loads, weight): (&Vec<(usize, f64)>, &f64)| Demand {
            weight: *weight,
            ..Demand::new(loads.clone())
        };
        let demands: Vec<Demand> = mesh.loads.iter().zip(&mesh.weights).map(demand).collect();
        let proof = fill_exactly(&mesh.air, &[], &demands).unwrap().proof.unwrap();
        assert!(proof.residuals.worst() < Solution::TOLERANCE, "{shape:?}: {:?}", proof.residuals);
        let mut airtime = vec![0.0; mesh.air.links()];
        for (set, share) in &proof.schedule {
            assert!(set.iter().all(|&l| set.iter().all(|&m| !mesh.air.conflict(l as usize, m as usize))));
            set.iter().for_each(|&l| airtime[l as usize] += share);
        }
        for (scheduled, told) in airtime.iter().zip(&proof.airtime) {
            assert!((scheduled - told).abs() < 1e-9, "{shape:?}: {scheduled} of {told}");
        }
    }
}

#[test]
fn with_entropy_too() {
    for alpha in [1.0, 2.0] {
        each(&[10, 20], &SPREADS, 1, |name, mesh| {
            let solution = problem(mesh, alpha, Some(20.0))
                .solve()
                .unwrap_or_else(|e| panic!("α = {alpha}, {name}: {e}"));
            assert!(solution.is_exact(), "α = {alpha}, {name}: {:?}", solution.residuals);
        });
    }
}

/// A sample against Clarabel, every independent set written out.
#[test]
fn clarabel_agrees_on_a_sample() {
    let mut agreed = 0;
    for alpha in [0.5, 1.0, 2.0, 3.0] {
        each(&[10], &[(0.0, 0.0), (0.5, 0.5)], 1, |name, mesh| {
            let problem = problem(mesh, alpha, None);
            let (ours, theirs) = (problem.solve().unwrap(), problem.solve_by_cones());
            let Ok(theirs) = theirs else { return };
            let scale: f64 =
                problem.flows.iter().zip(&ours.rates).map(|(f, &x)| x * f.utility.price(x)).sum();
            let off = (ours.utility - theirs.utility).abs() / scale;
            assert!(off < 1e-5, "α = {alpha}, {name}: {} {}", ours.utility, theirs.utility);
            assert!(theirs.by_clarabel && !ours.by_clarabel, "α = {alpha}, {name}");
            agreed += 1;
        });
    }
    assert!(agreed >= 30, "Clarabel solved {agreed} of 40");
}
