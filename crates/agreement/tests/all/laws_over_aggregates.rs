//! Every law of every family over 802.11ac, where one transmission carries up to 42 packets.

use super::conservation::{assert_conserved, names};
use evenair_netsim::{Network, RunResult, RunSpec};
use evenair_scenario::Resolved;

/// Three access points in a row, of which the outer ones do not hear each other.
const ROW: &str = "flows = [{ id = '1', from = 'A', to = 'a' }, { id = '2', from = 'B', to = 'b' }, { id = '3', from = 'C', to = 'c' }]";
/// The one in the middle, and a gateway there, sends to all stations in range.
const GATEWAY: &str = "flows = [{ id = '1', from = 'B', to = 'a' }, { id = '2', from = 'B', to = 'b' }, { id = '3', from = 'B', to = 'c' }]
    gateway = { node = 'B', law = 'fixed' }";

fn over_ac(flows: &str, change: &str) -> RunResult {
    let text = format!(
        "duration = '1 s'
        warmup = '200 ms'
        radio = {{ transmission_range = '5 m', carrier_sense_range = '5 m' }}
        mac = {{ kind = '802.11ac', width = '20 MHz', mcs = 8, queue = '300 packets' }}
        tcp = {{ payload = '1460 bytes', receiver_window = '1000 packets', sack = true, timestamps = true }}
        nodes = [
            {{ id = 'A', at = [0, 0] }}, {{ id = 'a', at = [0, 2] }}, {{ id = 'B', at = [4, 0] }},
            {{ id = 'b', at = [4, 2] }}, {{ id = 'C', at = [8, 0] }}, {{ id = 'c', at = [8, 2] }},
        ]
        {flows}"
    );
    let scenario =
        Resolved::parse("ac.toml", &text, &[change.into()]).unwrap_or_else(|error| panic!("{error}"));
    Network::run(scenario.network(), RunSpec { ledger: true, ..scenario.run_spec(1) })
}

/// Packets are conserved, the ledger sums, aggregates go, and no contender has packets for a second without an exchange, a
/// countdown or a busy medium.
fn assert_right(result: &RunResult, law: &str) {
    assert_conserved(result, law);
    for link in result.links.iter().filter(|link| link.airtime.is_some()) {
        let time = link.airtime.as_ref().expect("just looked at");
        let waits = time.backoff + time.interframe + time.blocked();
        let all = time.own + time.collided + time.empty + waits;
        assert!((all - 1.0).abs() < 1e-9, "{law}: {link:?}");
        let is_stuck = link.attempts == 0 && time.empty < 0.01 && time.blocked() < 0.9;
        assert!(!is_stuck, "{law}: {link:?}");
    }
    // Adaptive pacing spreads packets over the round trip, so that hardly any two wait at once.
    let least = if law == "window adaptive-pacing" { 0.99 } else { 2.0 };
    let largest = result.links.iter().filter_map(|link| link.aggregates).map(|a| a.mean_aggregate);
    assert!(largest.fold(0.0, f64::max) > least, "{law}: packets share no frames");
    assert!(result.flows.iter().map(|flow| flow.goodput_pps).sum::<f64>() > 300.0, "{law}");
}

/// The keys that give every node a law.
fn keys(family: &str, law: &str) -> String {
    match (family, law) {
        ("backoff", _) => format!("backoff={law}"),
        ("window", _) => format!("tcp.window={law}"),
        ("connections", "fixed") => "connections={ law = 'fixed', n = 3 }".into(),
        ("connections", _) => format!("connections={{ law = '{law}', interval = '100 ms' }}"),
        ("marking", _) => format!("drop={law}"),
        ("gateway", "fixed") => "gateway.law={ law = 'fixed', rate = '30 Mbps' }".into(),
        ("gateway", _) => format!("gateway.law={{ law = '{law}', epoch = '100 ms' }}"),
        _ => panic!("a family of no node: {family}"),
    }
}

#[test]
fn every_law_runs_over_aggregates() {
    for family in ["backoff", "window", "connections", "marking", "gateway"] {
        for law in names(family) {
            let flows = if family == "gateway" { GATEWAY } else { ROW };
            assert_right(&over_ac(flows, &keys(family, &law)), &format!("{family} {law}"));
        }
    }
}
