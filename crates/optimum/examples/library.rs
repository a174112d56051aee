//! The problem library at the sizes that tests have no time for: `cargo run --release -p evenair-optimum --example library`.
//!
//! Arguments: objectives (`max-min` or an α), numbers of links and shapes, such as `max-min 10 30 100 200 Chain`; without any, those of
//! docs/performance.md.
#![allow(
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "an example that prints and measures time"
)]

#[path = "../src/meshes.rs"]
mod meshes;

use evenair_optimum::max_min::{Demand, fill_exactly};
use evenair_optimum::{Flow, Problem, Utility};
use meshes::{Mesh, Shape, mesh};
use std::time::Instant;

/// A problem that takes longer is named.
const SLOW_S: f64 = 5.0;
const SPREADS: [(f64, f64); 4] = [(0.0, 0.0), (1.0, 1.0), (3.0, 0.0), (1.5, 3.0)];

/// The worst residual, or why there is none.
fn solved(mesh: &Mesh, objective: &str, beta: Option<f64>) -> Result<f64, String> {
    if objective == "max-min" {
        let demand = |(loads, weight): (&Vec<(usize, f64)>, &f64)| Demand {
            weight: *weight,
            ..Demand::new(loads.clone())
        };
        let demands: Vec<Demand> = mesh.loads.iter().zip(&mesh.weights).map(demand).collect();
        let fair = fill_exactly(&mesh.air, &[], &demands).map_err(|e| e.to_string())?;
        return Ok(fair.proof.map_or(f64::NAN, |proof| proof.residuals.worst()));
    }
    let alpha: f64 = objective.parse().map_err(|_| format!("{objective} is no objective"))?;
    let flow = |(loads, &weight): (&Vec<(usize, f64)>, &f64)| Flow {
        utility: Utility::AlphaFair { weight, alpha },
        fixed_price: 0.0,
        loads: loads.clone(),
    };
    let flows = mesh.loads.iter().zip(&mesh.weights).map(flow).collect();
    let problem = Problem { air: mesh.air.clone(), flows, beta, ..Problem::default() };
    let solution = problem.solve().map_err(|e| e.to_string())?;
    if solution.by_clarabel {
        println!("    by Clarabel");
    }
    if solution.is_exact() { Ok(solution.residuals.worst()) } else { Err("not exact".into()) }
}

fn main() {
    let (sizes, objectives): (Vec<String>, Vec<String>) =
        std::env::args().skip(1).partition(|word| word.parse::<usize>().is_ok_and(|n| n >= 10));
    let (shapes, objectives): (Vec<String>, Vec<String>) =
        objectives.into_iter().partition(|word| Shape::ALL.iter().any(|shape| format!("{shape:?}") == *word));
    let is_asked = |shape: &&Shape| shapes.is_empty() || shapes.contains(&format!("{shape:?}"));
    let mut sizes: Vec<usize> = sizes.iter().filter_map(|n| n.parse().ok()).collect();
    let mut objectives = objectives;
    if sizes.is_empty() {
        sizes = vec![20, 40, 100, 200];
    }
    if objectives.is_empty() {
        objectives = ["max-min", "1.0", "2.0", "5.0", "10.0", "50.0"].map(String::from).to_vec();
    }
    let seeds = if sizes.iter().any(|n| *n > 60) { 2 } else { 5 };
    println!("| objective | links | solved | of | median [s] | longest [s] | worst residual |");
    println!("|---|---|---|---|---|---|---|");
    for objective in &objectives {
        let (name, beta) =
            objective.split_once('@').map_or((&objective[..], None), |(o, b)| (o, b.parse().ok()));
        for &links in &sizes {
            let (mut times, mut worst, mut count) = (Vec::new(), 0.0f64, 0);
            for (shape, spread) in
                Shape::ALL.iter().filter(is_asked).flat_map(|shape| SPREADS.map(|spread| (*shape, spread)))
            {
                for seed in 0..seeds {
                    let problem = mesh(shape, links, spread, seed);
                    let start = Instant::now();
                    let result = solved(&problem, name, beta);
                    times.push(start.elapsed().as_secs_f64());
                    if start.elapsed().as_secs_f64() > SLOW_S {
                        println!(
                            "    {shape:?} {links} {spread:?} {seed}: {:.1} s",
                            start.elapsed().as_secs_f64()
                        );
                    }
                    count += u32::from(result.is_ok());
                    match result {
                        Ok(residual) => worst = worst.max(residual),
                        Err(why) => println!("    {shape:?} {links} {spread:?} {seed}: {why}"),
                    }
                }
            }
            times.sort_by(f64::total_cmp);
            println!(
                "| {objective} | {links} | {count} | {} | {:.3} | {:.2} | {worst:.0e} |",
                times.len(),
                times[times.len() / 2],
                times[times.len() - 1]
            );
        }
    }
}
