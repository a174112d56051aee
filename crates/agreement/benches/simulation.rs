//! What a simulated second costs: `cargo bench -p evenair-agreement`. Figures are kept in docs/performance.md.
#![allow(missing_docs, reason = "criterion's macros make undocumented functions")]

use criterion::{Criterion, criterion_group, criterion_main};
use evenair_agreement::cell;
use evenair_netsim::Network;
use evenair_scenario::{Objective, Scenario};
use std::hint::black_box;

fn builtin(id: &str, changes: &[&str]) -> Scenario {
    let changes: Vec<String> = changes.iter().map(ToString::to_string).collect();
    Scenario::parse(id, evenair_study::builtin_scenario(id).expect("built in"), &changes)
        .expect("it is right")
}

fn bench_run(criterion: &mut Criterion, name: &str, scenario: &Scenario) {
    let (network, run) = (scenario.network(), scenario.run_spec(1));
    criterion.bench_function(name, |bencher| bencher.iter(|| Network::run(black_box(&network), run)));
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

criterion_group!(benches, simulations, optimum);
criterion_main!(benches);
