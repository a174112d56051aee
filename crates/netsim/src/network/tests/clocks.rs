//! The clocks by which back-off laws of an interval are updated: one for all nodes, or each node's own.

use super::*;
use evenair_laws::backoff::{BackoffTold, OwnBackoff, QueueingDelayParams, QueuesOf};
use std::collections::BTreeSet;

const SECONDS: u64 = 40;

/// When each queue's law was updated, in the order of the queues.
fn updates(mut spec: NetworkSpec, seed: u64) -> Vec<Vec<Instant>> {
    let tapes = Tapes::default();
    spec.backoff = OwnBackoff::new(tapes.record(&spec.backoff)).into();
    Network::run(&spec, seconds(seed, 0, SECONDS));
    let mut queues = Vec::new();
    for tape in tapes.take() {
        let update = |told| if let BackoffTold::OnUpdate { link } = told { Some(link.now) } else { None };
        let instants: Vec<Instant> = tape.into_iter().filter_map(|record| update(record.told)).collect();
        // A law that is only asked for its needs is begun as well, and never updated.
        queues.extend((!instants.is_empty()).then_some(instants));
    }
    queues
}

fn by_own_clocks(spec: NetworkSpec) -> NetworkSpec {
    NetworkSpec { clocks: Clocks::Own, ..spec }
}

fn adaptive_chain() -> NetworkSpec {
    NetworkSpec { backoff: AdaptiveParams::chen10().into(), ..chain(Traffic::Tcp(tcp(None))) }
}

#[test]
fn one_clock_updates_all_laws_at_one_instant() {
    let every_second: Vec<Instant> =
        (1..=SECONDS).map(|second| Instant::ZERO + Duration::from_secs(second)).collect();
    let queues = updates(adaptive(), 1);
    assert_eq!(queues.len(), 8, "a sender's and a receiver's queue a link");
    for instants in queues {
        assert!(every_second.starts_with(&instants) && instants.len() as u64 >= SECONDS - 1);
    }
}

#[test]
fn own_clocks_are_apart_in_phase_and_in_pace() {
    let queues = updates(by_own_clocks(adaptive()), 1);
    assert_eq!(queues.len(), 8);
    let mut paces = BTreeSet::new();
    for instants in &queues {
        // A pace of its own, kept for the whole run, and a first update within the first interval.
        let pace = instants[1] - instants[0];
        let seconds = pace.as_secs_f64();
        assert!((seconds - 1.0).abs() <= Clocks::DRIFT_MAX, "{seconds} s");
        assert!(instants.windows(2).all(|pair| pair[1] - pair[0] == pace));
        assert!(instants[0] > Instant::ZERO && instants[0] <= Instant::ZERO + pace, "{:?}", instants[0]);
        assert!(paces.insert(pace), "two nodes have one pace");
    }
    let all: BTreeSet<Instant> = queues.iter().flatten().copied().collect();
    assert_eq!(all.len(), queues.iter().map(Vec::len).sum::<usize>(), "two nodes are updated at one instant");
}

#[test]
fn the_queues_of_one_node_go_by_its_clock() {
    // One for each next hop: data up, and acknowledgements down, of the two relays.
    let queues = updates(by_own_clocks(adaptive_chain()), 1);
    let distinct: BTreeSet<&Vec<Instant>> = queues.iter().collect();
    assert_eq!((queues.len(), distinct.len()), (6, 4), "two relays of two queues, and two ends of one");
}

#[test]
fn a_law_with_queues_per_node_has_one_in_each() {
    let queues = |queues| {
        let law = QueueingDelayParams { queues, ..QueueingDelayParams::qcsma() };
        updates(NetworkSpec { backoff: law.into(), ..chain(Traffic::Tcp(tcp(None))) }, 1).len()
    };
    // Two ends and two relays: data up and acknowledgements down share the relays' queue, or do not.
    assert_eq!((queues(QueuesOf::PerNode), queues(QueuesOf::PerNextHop)), (4, 6));
}

#[test]
fn own_clocks_are_the_seed_s_and_the_node_s() {
    let run = |seed| Network::run(&by_own_clocks(adaptive()), seconds(seed, 5, 20));
    assert_eq!(run(1), run(1));
    let alone = updates(by_own_clocks(adaptive()), 1);
    assert!(alone != updates(by_own_clocks(adaptive()), 2));
    // A node out of range of all others, first in the list, has a clock, and no other node's clock changes.
    let mut spec = by_own_clocks(adaptive());
    let ends: Vec<[f64; 4]> = [[50_000.0, 0.0, 50_100.0, 0.0]].into_iter().chain(A).collect();
    spec.medium = medium(&ends);
    spec.nodes.splice(0..0, ["x".to_string(), "y".to_string()]);
    spec.flows.iter_mut().flat_map(|flow| &mut flow.path).for_each(|node| *node += 2);
    assert!(updates(spec, 1) == alone);
}

#[test]
fn law_without_interval_ignores_clocks() {
    let run = |spec| Network::run(&spec, seconds(1, 5, 20));
    assert_eq!(run(by_own_clocks(four_links(false))), run(four_links(false)));
    assert_ne!(run(by_own_clocks(adaptive())).fingerprint, run(adaptive()).fingerprint);
}
