//! How large a network can be solved, and how fast: `cargo run --release -p evenair-optimum --example mesh`.
//!
//! Random links of 100 to 200 m on squares, as 802.11 with 550 m of carrier sense sees them; one flow per link, `Σ −1/x`,
//! without entropy and with (β = 20, where the entropy is a faint smoothing: the hard end).
#![allow(
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "an example that prints and measures time"
)]

use evenair_optimum::{Flow, Problem, ProductForm, Utility};
use evenair_topology::{ConflictGraph, Link, Medium, Position, Propagation, ThresholdRadio};
use std::time::Instant;

fn mesh(links: u32, side_m: f64, seed: u64) -> ConflictGraph {
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
        places.push(Position::new(x + length * angle.cos(), y + length * angle.sin()));
    }
    let radio = ThresholdRadio {
        transmission_range_m: 250.0,
        carrier_sense_range_m: 550.0,
        interference_range_m: 550.0,
        propagation: Propagation::default(),
    };
    let medium = Medium::from_positions(&places, &radio);
    medium.conflicts(&(0..links).map(|l| Link { from: 2 * l, to: 2 * l + 1 }).collect::<Vec<_>>())
}

fn main() {
    println!(
        "| links | side [m] | conflicts | values of the elimination | entropy | time [s] | steps | gap | worst residual |"
    );
    println!("|---|---|---|---|---|---|---|---|---|");
    for (links, side_m) in
        [(40, 2000.0), (100, 3000.0), (200, 4500.0), (200, 3000.0), (200, 2000.0), (1000, 10_000.0)]
    {
        let air = mesh(links, side_m, 1);
        let size = ProductForm::new(&air).map_or("too many".into(), |form| form.size().to_string());
        for beta in [None, Some(20.0)] {
            let flows = (0..links as usize).map(|l| Flow::over(Utility::inverse(1.0), &[l])).collect();
            let problem = Problem { air: air.clone(), flows, beta, ..Problem::default() };
            let start = Instant::now();
            let solved = problem.solve();
            let seconds = start.elapsed().as_secs_f64();
            let entropy = if beta.is_some() { "β = 20" } else { "none" };
            let found = match solved {
                Ok(s) => format!("{} | {:.1e} | {:.1e}", s.steps, s.residuals.gap, s.residuals.worst()),
                Err(failure) => format!("– | – | {failure}"),
            };
            let conflicts = air.edges().count();
            println!("| {links} | {side_m} | {conflicts} | {size} | {entropy} | {seconds:.3} | {found} |");
        }
    }
}
