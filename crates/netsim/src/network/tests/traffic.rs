//! Flows that begin by chance.

use super::*;

/// When flows that begin by chance hand over for the first time \[s\], sampled every second.
fn beginnings(spec: &NetworkSpec, seed: u64) -> Vec<usize> {
    let result = Network::run(spec, seconds(seed, 0, 25));
    assert_conserved(&result);
    let series = result.series.expect("it is sampled");
    let first = |flow: &FlowSeries| flow.goodput_pps.iter().position(|&x| x > 0.0).expect("it began");
    series.flows.iter().map(first).collect()
}

#[test]
fn flows_begin_in_an_order_of_each_seeds_own() {
    let mut spec = four_links(false);
    let at_once = beginnings(&spec, 1);
    assert!(at_once.iter().all(|&second| second <= 1), "{at_once:?}");
    for flow in &mut spec.flows {
        flow.start_jitter = Duration::from_secs(20);
    }
    let runs: Vec<Vec<usize>> = (1..=32).map(|seed| beginnings(&spec, seed)).collect();
    assert_eq!(runs[0], beginnings(&spec, 1), "a seed's own");
    // Even between 0 and 20 s, and what a first packet takes: a mean of 10 s within four standard errors of 5.8 s/√128.
    let all: Vec<f64> = runs.iter().flatten().map(|&second| second as f64 + 0.5).collect();
    let mean = all.iter().sum::<f64>() / all.len() as f64;
    assert!(all.iter().all(|&at| at < 22.0) && (8.5..13.0).contains(&mean), "{mean}: {all:?}");
    let first = |run: &Vec<usize>| (0..4).min_by_key(|&flow| run[flow]);
    assert!(
        (0..4).all(|flow| runs.iter().any(|run| first(run) == Some(flow))),
        "each is first once: {runs:?}"
    );
}

#[test]
fn only_the_first_stretch_begins_later() {
    let at = |s| Instant::ZERO + Duration::from_secs(s);
    let mut spec = wired(1_000, 1, 50, Traffic::Tcp(tcp(None)));
    spec.flows[0].active = vec![(at(0), at(8)), (at(20), Instant::NEVER)];
    spec.flows[0].start_jitter = Duration::from_secs(8);
    let result = Network::run(&spec, seconds(3, 0, 30));
    let series = &result.series.as_ref().unwrap().flows[0].goodput_pps;
    assert!(series[0] < 0.5, "the seed's draw is not zero: {series:?}");
    assert!(series[10..19].iter().all(|&x| x < 0.5), "{series:?}");
    assert!(series[21..].iter().all(|&x| x > 30.0), "{series:?}");
}
