//! The cost of a simulated second: `cargo bench -p evenair-benches`. Figures are kept in docs/performance.md.
#![allow(missing_docs, reason = "criterion's macros make undocumented functions")]

use criterion::{Criterion, criterion_group, criterion_main};
use evenair_agreement::cell;
use evenair_netsim::Network;
use evenair_optimum::{Flow, Problem, Utility};
use evenair_scenario::{Objective, Resolved};
use std::hint::black_box;

fn builtin(id: &str, changes: &[&str]) -> Resolved {
    let changes: Vec<String> = changes.iter().map(ToString::to_string).collect();
    Resolved::parse(id, evenair_study::builtin_scenario(id).expect("built in"), &changes)
        .expect("it is right")
}

fn bench_run(criterion: &mut Criterion, name: &str, scenario: &Resolved) {
    let (network, run) = (scenario.network(), scenario.run_spec(1));
    criterion.bench_function(name, |bencher| bencher.iter(|| Network::run(black_box(network), run)));
}

fn simulations(criterion: &mut Criterion) {
    let ten = ["duration=\"9 s\"", "warmup=\"1 s\""];
    let with = |more: &[&'static str]| [&ten[..], more].concat();
    bench_run(criterion, "ten seconds/four links, ns2", &builtin("chen10/a", &with(&["preset=ns2"])));
    bench_run(criterion, "ten seconds/four links, standard", &builtin("chen10/a", &ten));
    let adaptive = with(&["backoff.law=adaptive", "connections.k=10", "mac.queue=\"1000 packets\""]);
    bench_run(criterion, "ten seconds/four links, adaptive", &builtin("chen10/a", &adaptive));
    bench_run(criterion, "ten seconds/four links, ideal", &builtin("chen10/a-graph", &ten));
    bench_run(criterion, "ten seconds/cell of 20, ns2", &cell::scenario(20, &with(&["preset=ns2"])));
    bench_run(criterion, "ten seconds/cell of 20, standard", &cell::scenario(20, &ten));
}

fn optimum(criterion: &mut Criterion) {
    let scenario = builtin("chen10/a", &["backoff.law=adaptive", "connections.k=10"]);
    for (name, objective) in [("fixed point", Objective::FixedPoint), ("fair", Objective::Fair)] {
        criterion.bench_function(&format!("optimum of topology a/{name}"), |bencher| {
            bencher.iter(|| black_box(&scenario).optimum(objective).expect("solved"));
        });
    }
}

/// The problem alone, its arrays given, as a modelling language is given them; with entropy the fixed point at k = 10.
fn problem(id: &str, beta: Option<f64>) -> Problem {
    let theory = builtin(id, &[]).theory().expect("it has a theory");
    let flow = |f: &evenair_scenario::TheoryFlow| {
        let scale = f.loads.iter().map(|(_, a)| *a).fold(0.0, f64::max);
        let weight = if beta.is_some() { 2.0 * (10.0 * scale) * (10.0 * scale) } else { scale };
        Flow {
            utility: Utility::inverse(weight),
            fixed_price: 0.0,
            loads: f.loads.iter().map(|&(l, a)| (l, a / scale)).collect(),
        }
    };
    let flows = theory.flows.iter().map(flow).collect();
    Problem { air: theory.conflicts.clone(), flows, beta, ..Problem::default() }
}

fn problems(criterion: &mut Criterion) {
    for (name, problem) in [
        ("topology a, fair", problem("chen10/a", None)),
        ("topology a, entropy", problem("chen10/a", Some(200.0))),
        ("36-node grid, fair", problem("jam10/grid", None)),
        ("36-node grid, entropy", problem("jam10/grid", Some(200.0))),
    ] {
        criterion.bench_function(&format!("problem/{name}"), |bencher| {
            bencher.iter(|| black_box(&problem).solve().expect("solved"));
        });
    }
}

fn fluids(criterion: &mut Criterion) {
    for id in ["cz06/one", "qcsma/mesh", "lee12/middle"] {
        let scenario = builtin(id, &[]);
        criterion.bench_function(&format!("fluid/{id}"), |bencher| {
            bencher.iter(|| black_box(&scenario).fluid().expect("followed"));
        });
    }
}

criterion_group!(benches, simulations, optimum, problems, fluids);
criterion_main!(benches);
