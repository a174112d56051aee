//! Whole networks: conservation, determinism, and what the four-link topologies of [Chen10] are known for.

use crate::*;
use evenair_laws::backoff::{AdaptiveParams, DcfParams};
use evenair_laws::connections::RttProportionalParams;
use evenair_laws::marking::DropTail;
use evenair_laws::window::WindowParams;
use evenair_tcp::{AckPolicy, LossMeasure, RtoParams, SenderParams, WindowKind};
use evenair_topology::{Medium, Position, ThresholdRadio, TwoRayGround};
use evenair_units::{Bytes, Duration, Instant, Rate};
use evenair_wifi::{Holding, MacTiming, Preamble, Rules};
use proptest::prelude::*;

const A: [[f64; 4]; 4] = [
    [-600.0, 0.0, -600.0, 100.0],
    [0.0, 0.0, 0.0, 100.0],
    [600.0, 100.0, 600.0, 200.0],
    [600.0, -100.0, 600.0, -200.0],
];

fn medium(ends: &[[f64; 4]]) -> Medium {
    let at: Vec<Position> =
        ends.iter().flat_map(|&[x, y, u, v]| [Position::new(x, y), Position::new(u, v)]).collect();
    let radio = ThresholdRadio {
        transmission_range_m: 250.0,
        carrier_sense_range_m: 800.0,
        propagation: TwoRayGround::default(),
    };
    Medium::from_positions(&at, &radio)
}

fn tcp(connections: Option<RttProportionalParams>) -> TcpSpec {
    TcpSpec {
        sender: SenderParams {
            window: WindowKind::Reno,
            start: WindowParams { initial_window: 2.0, initial_ssthresh: 20.0 },
            receiver_window: 20,
            rto: RtoParams::ns2(),
            limited_transmit: true,
            loss_measure: LossMeasure::Window,
            grows_unused: true,
            handshake: connections.is_some(),
        },
        acknowledge: AckPolicy::EachSegment,
        payload: Bytes::new(1000),
        headers: Bytes::new(40),
        connections,
    }
}

fn four_links(ns2: bool) -> NetworkSpec {
    let timing = MacTiming::b(Preamble::Long, Rate::from_kbps(1_000));
    let (timing, rules, dcf) = if ns2 {
        (timing.ns2(), Rules::ns2(), DcfParams::dsss().ns2())
    } else {
        (timing, Rules::standard(), DcfParams::dsss())
    };
    NetworkSpec {
        nodes: (1..=4).flat_map(|l| [format!("s{l}"), format!("r{l}")]).collect(),
        medium: medium(&A),
        mac: MacSpec::Dcf { timing, rules },
        data_rate: Rate::from_kbps(11_000),
        backoff: BackoffSpec::Dcf(dcf),
        buffer: DropTail { limit_packets: 50 },
        proportional: None,
        link_layer_delay: if ns2 { Duration::from_micros(25) } else { Duration::ZERO },
        flows: (0..4)
            .map(|l| FlowSpec {
                name: format!("{}", l + 1),
                path: vec![2 * l, 2 * l + 1],
                start: Instant::ZERO + Duration::from_millis(100) * u64::from(l + 1),
                traffic: Traffic::Tcp(tcp(None)),
            })
            .collect(),
    }
}

fn adaptive() -> NetworkSpec {
    let mut spec = four_links(false);
    spec.backoff = BackoffSpec::Adaptive { params: AdaptiveParams::chen10(), prioritise_acks: false };
    spec.buffer = DropTail { limit_packets: 1000 };
    for flow in &mut spec.flows {
        flow.traffic = Traffic::Tcp(tcp(Some(RttProportionalParams::chen10())));
    }
    spec
}

fn seconds(seed: u64, warmup: u64, duration: u64) -> RunSpec {
    RunSpec {
        seed,
        warmup: Duration::from_secs(warmup),
        duration: Duration::from_secs(duration),
        sample_every: Some(Duration::from_secs(1)),
        ledger: true,
        timeline: None,
    }
}

fn goodputs(result: &RunResult) -> Vec<f64> {
    result.flows.iter().map(|f| f.goodput_pps).collect()
}

fn assert_conserved(result: &RunResult) {
    let p = result.packets;
    assert_eq!(p.originated, p.delivered + p.dropped + p.under_way, "{p:?}");
}

#[test]
fn link_2_starves_over_dcf_and_the_connection_law_feeds_it() {
    let starving = Network::run(&four_links(false), seconds(1, 20, 60));
    assert!(goodputs(&starving)[1] < 15.0, "{:?}", goodputs(&starving));
    let cured = Network::run(&adaptive(), seconds(1, 60, 60));
    assert!(goodputs(&cured)[1] > 60.0, "{:?}", goodputs(&cured));
    assert!(cured.flows[1].connections > 3.0);
}

#[test]
fn the_ledger_explains_every_second_and_names_who_blocks() {
    let result = Network::run(&four_links(false), seconds(1, 20, 30));
    for link in &result.links {
        let airtime = link.airtime.as_ref().unwrap();
        assert_eq!(airtime.total(), Duration::from_secs(30), "{}", link.name);
    }
    // Queues are named by node: s1, r1, s2, … in the order of the nodes.
    let starved = result.links[2].airtime.as_ref().unwrap();
    assert_eq!(result.links[2].name, "s2");
    assert!(starved.blocked() > Duration::from_secs(20), "link 2 waits most of the time: {starved:?}");
    assert!(starved.blocked_by[0] > Duration::from_secs(8), "link 1 is one of those who block it");
    let free = result.links[0].airtime.as_ref().unwrap();
    assert!(free.own > Duration::from_secs(15), "{free:?}");
}

#[test]
fn nothing_is_lost_without_account_and_nothing_is_delivered_twice() {
    for spec in [four_links(true), four_links(false), adaptive()] {
        let result = Network::run(&spec, seconds(3, 5, 20));
        assert_conserved(&result);
        let dropped: u64 =
            result.links.iter().map(|l| l.dropped_by_law + l.dropped_queue_full + l.dropped_retries).sum();
        assert_eq!(result.packets.dropped, dropped);
    }
}

#[test]
fn two_runs_are_one_and_another_seed_is_another() {
    let run = |seed| Network::run(&adaptive(), seconds(seed, 5, 20));
    assert_eq!(run(1), run(1));
    assert_ne!(run(1).fingerprint, run(2).fingerprint);
    let on_a_thread =
        std::thread::spawn(move || Network::run(&adaptive(), seconds(1, 5, 20))).join().unwrap();
    assert_eq!(on_a_thread, run(1), "the thread does not matter");
}

#[test]
fn measuring_changes_nothing() {
    let bare = RunSpec { sample_every: None, ledger: false, ..seconds(1, 5, 20) };
    let window = Some((Instant::ZERO, Instant::from_nanos(10_000_000_000)));
    let all = RunSpec { timeline: window, ..seconds(1, 5, 20) };
    let (bare, all) = (Network::run(&four_links(false), bare), Network::run(&four_links(false), all));
    assert_eq!(goodputs(&bare), goodputs(&all));
}

#[test]
fn a_node_out_of_reach_changes_no_other_nodes_draws() {
    let alone = Network::run(&four_links(false), seconds(1, 5, 20));
    let mut spec = four_links(false);
    // Two more nodes, far away, first in the list, with a flow of their own.
    let ends: Vec<[f64; 4]> = [[50_000.0, 0.0, 50_100.0, 0.0]].into_iter().chain(A).collect();
    spec.medium = medium(&ends);
    spec.nodes.splice(0..0, ["x".to_string(), "y".to_string()]);
    for flow in &mut spec.flows {
        flow.path.iter_mut().for_each(|node| *node += 2);
    }
    let newcomer = FlowSpec { name: "x".into(), path: vec![0, 1], ..spec.flows[0].clone() };
    spec.flows.push(newcomer);
    let together = Network::run(&spec, seconds(1, 5, 20));
    assert_eq!(goodputs(&alone), goodputs(&together)[..4]);
}

/// A change here is a change of results: name it in CHANGELOG under "Changed results".
#[test]
fn golden_trajectories() {
    let short = |seed| seconds(seed, 2, 10);
    let table: Vec<String> =
        [("standard", four_links(false)), ("ns2", four_links(true)), ("adaptive", adaptive())]
            .into_iter()
            .map(|(name, spec)| {
                let result = Network::run(&spec, short(1));
                format!("{name} {} {} {:?}", result.fingerprint, result.events, goodputs(&result))
            })
            .collect();
    assert_eq!(table, GOLDEN);
}

const GOLDEN: [&str; 3] = [
    "standard d3261427e2dad420 104555 [416.6, 2.8, 229.5, 208.8]",
    "ns2 c24746e5c0196927 141928 [418.8, 1.1, 217.7, 211.6]",
    "adaptive 7d0bed3e3bac987a 89004 [317.7, 45.6, 190.0, 174.8]",
];

#[test]
fn dummy_packets_keep_an_empty_link_contending() {
    let mut spec = adaptive();
    let BackoffSpec::Adaptive { params, .. } = &mut spec.backoff else { unreachable!() };
    params.dummy_packets = true;
    let result = Network::run(&spec, seconds(1, 5, 20));
    for link in &result.links {
        assert!(link.airtime.as_ref().unwrap().empty < Duration::from_millis(1), "{}", link.name);
    }
    assert_conserved(&result);
}

#[test]
fn a_chain_forwards_both_ways() {
    let at: Vec<Position> = (0..4).map(|i| Position::new(f64::from(i) * 200.0, 0.0)).collect();
    let radio = ThresholdRadio {
        transmission_range_m: 250.0,
        carrier_sense_range_m: 550.0,
        propagation: TwoRayGround::default(),
    };
    let mut spec = four_links(false);
    spec.medium = Medium::from_positions(&at, &radio);
    spec.nodes = (0..4).map(|i| format!("n{i}")).collect();
    spec.flows = vec![FlowSpec {
        name: "up".into(),
        path: vec![3, 2, 1, 0],
        start: Instant::ZERO,
        traffic: Traffic::Tcp(tcp(None)),
    }];
    let result = Network::run(&spec, seconds(1, 5, 30));
    assert!(goodputs(&result)[0] > 60.0, "{:?}", goodputs(&result));
    assert_conserved(&result);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// Random positions, traffic, MAC and laws: packets are conserved, nothing panics, runs repeat.
    #[test]
    fn any_network_conserves_its_packets(
        places in prop::collection::vec((-700.0f64..700.0, -700.0f64..700.0, -150.0f64..150.0, -150.0f64..150.0), 1..6),
        mac in 0u8..4,
        multi in any::<bool>(),
        saturated in any::<bool>(),
        seed in 0u64..1000,
    ) {
        let ends: Vec<[f64; 4]> = places.iter().map(|&(x, y, dx, dy)| [x, y, x + dx, y + dy]).collect();
        let mut spec = if mac == 2 { adaptive() } else { four_links(mac == 1) };
        if mac == 3 {
            spec.mac = MacSpec::Ideal { holding: Holding::Packet };
        }
        spec.medium = medium(&ends);
        spec.nodes = (0..2 * ends.len()).map(|i| format!("n{i}")).collect();
        let connections = multi.then(RttProportionalParams::chen10);
        spec.flows = (0..ends.len() as u32)
            .map(|l| FlowSpec {
                name: l.to_string(),
                path: vec![2 * l, 2 * l + 1],
                start: Instant::ZERO,
                traffic: if saturated && l == 0 { Traffic::Saturated { size: Bytes::new(500) } } else { Traffic::Tcp(tcp(connections)) },
            })
            .collect();
        let result = Network::run(&spec, seconds(seed, 1, 4));
        assert_conserved(&result);
        prop_assert_eq!(result, Network::run(&spec, seconds(seed, 1, 4)));
    }
}
