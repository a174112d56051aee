//! Whole networks: conservation, determinism, and the known results of [Chen10]'s four-link topologies.

mod aggregates;
mod clocks;
mod connections;
mod delays;
mod drains;
mod gateway;
mod marks;
mod modes;
mod motion;
mod outside;
mod poisson;
mod queues;
mod rated;
mod relay;
mod round_trips;
mod saturated;
mod stepping;
mod tapes;
mod tfrc;
mod traffic;

use crate::*;
use evenair_laws::backoff::{
    AdaptiveParams, BackoffParams, Category, DcfParams, EdcaParams, PhysicalLayer, Rendering, Surroundings,
};
use evenair_laws::connections::RttProportionalParams;
use evenair_laws::marking::RedParams;
use evenair_laws::rate::UtilityBasedParams;
use evenair_laws::rate::tfrc::TfrcParams;
use evenair_laws::window::{RenoParams, WindowStart};
use evenair_tcp::{AckPolicy, LossMeasure, Recovery, RtoParams, SenderParams};
use evenair_topology::{Medium, Position, Propagation, ThresholdRadio};
use evenair_units::{Bytes, Dbm, Duration, Instant, Probability, Rate};
use evenair_wifi::{
    BROADCAST, ControlRate, FrameKind, FrameRecord, LossModel, MacTiming, Mode, Preamble, Rules,
};
use proptest::prelude::*;
use std::ops::ControlFlow;

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
        interference_range_m: 800.0,
        propagation: Propagation::default(),
    };
    Medium::from_positions(&at, &radio)
}

/// The same, and one node that no other node hears.
fn medium_with_one_more(ends: &[[f64; 4]]) -> Medium {
    let mut all = ends.to_vec();
    all.push([1e6, 0.0, 2e6, 0.0]);
    medium(&all)
}

fn tcp(connections: Option<RttProportionalParams>) -> TcpSpec {
    TcpSpec {
        sender: SenderParams {
            recovery: Recovery::Reno,
            start: WindowStart {
                initial_window: 2.0,
                initial_ssthresh: 20.0,
                byte_counting: false,
                ..WindowStart::default()
            },
            receiver_window: 20,
            rto: RtoParams::ns2(),
            limited_transmit: true,
            rack: false,
            tail_loss_probe: false,
            loss_measure: LossMeasure::Window,
            grows_unused: true,
            handshake: connections.is_some(),
            timestamps: false,
            ecn: false,
        },
        window: RenoParams {}.into(),
        acknowledge: AckPolicy::EachSegment,
        payload: Bytes::new(1000),
        headers: Bytes::new(40),
        options: false,
        source: Source::Endless,
        connections: connections.map(Into::into),
        probes: ProbeSpec::default(),
        resequence: false,
        sampling: Sampling::EverySegment,
    }
}

fn four_links(ns2: bool) -> NetworkSpec {
    let timing = MacTiming::b(Preamble::Long, Rate::from_kbps(1_000));
    let (timing, rules, rendering) = if ns2 {
        (timing.ns2(), Rules::ns2(), Rendering::Ns2)
    } else {
        (timing, Rules::standard(), Rendering::Standard)
    };
    let nodes = (1..=4).flat_map(|l| [format!("s{l}"), format!("r{l}")]).collect();
    NetworkSpec {
        surroundings: Surroundings { rendering, ..Surroundings::default() },
        link_layer_delay: if ns2 { Duration::from_micros(25) } else { Duration::ZERO },
        flows: (0..4)
            .map(|l| FlowSpec {
                name: format!("{}", l + 1),
                path: vec![2 * l, 2 * l + 1],
                active: vec![(Instant::ZERO + Duration::from_millis(100) * u64::from(l + 1), Instant::NEVER)],
                start_jitter: Duration::ZERO,
                traffic: Traffic::Tcp(tcp(None)),
                category: Category::BestEffort,
                code_point: 0,
                weight: 1.0,
                stack: None,
            })
            .collect(),
        ..NetworkSpec::new(nodes, medium(&A), MacSpec::Dcf { timing, rules }, Rate::from_kbps(11_000))
    }
}

fn adaptive() -> NetworkSpec {
    let mut spec = four_links(false);
    spec.backoff = AdaptiveParams::chen10().into();
    spec.queue = QueueSpec::fifo(1000);
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
        times: true,
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
fn link_2_starves_over_dcf_and_law_feeds_it() {
    let starving = Network::run(&four_links(false), seconds(1, 20, 60));
    assert!(goodputs(&starving)[1] < 15.0, "{:?}", goodputs(&starving));
    let cured = Network::run(&adaptive(), seconds(1, 60, 60));
    assert!(goodputs(&cured)[1] > 60.0, "{:?}", goodputs(&cured));
    assert!(cured.flows[1].connections > 3.0);
}

#[test]
fn ledger_explains_time_and_names_blockers() {
    let result = Network::run(&four_links(false), seconds(1, 20, 30));
    for link in &result.links {
        let airtime = link.airtime.as_ref().unwrap();
        let own = airtime.own + airtime.collided + airtime.backoff + airtime.interframe + airtime.empty;
        assert!((own + airtime.blocked() - 1.0).abs() < 1e-12, "{}: {airtime:?}", link.queue);
    }
    // Queues are named by node: s1, r1, s2, … in the order of the nodes.
    let starved = result.links[2].airtime.as_ref().unwrap();
    assert_eq!(result.links[2].queue, "s2");
    assert!(starved.blocked() > 2.0 / 3.0, "link 2 waits most of the time: {starved:?}");
    let (who, share) = &starved.blocked_by[0];
    assert!(who == "s1" && *share > 8.0 / 30.0, "link 1 is one of those who block it: {starved:?}");
    let free = result.links[0].airtime.as_ref().unwrap();
    assert!(free.own > 0.5, "{free:?}");
}

#[test]
fn every_packet_has_one_fate() {
    for spec in [four_links(true), four_links(false), adaptive()] {
        let result = Network::run(&spec, seconds(3, 0, 25));
        assert_conserved(&result);
        let dropped: u64 =
            result.links.iter().map(|l| l.dropped_by_law + l.dropped_queue_full + l.dropped_retries).sum();
        let received: u64 = result.links.iter().map(|l| l.received_despite).sum();
        let dropped = dropped - received;
        assert_eq!(result.packets.dropped, dropped);
        assert_eq!(result.flows.iter().map(|f| f.lost + f.acks_lost).sum::<u64>(), dropped);
    }
}

/// The counts of a run, in one order.
fn counted(result: &RunResult) -> Vec<u64> {
    let units = |rate: f64| (rate * result.measured_s).round() as u64;
    let flows = result.flows.iter().flat_map(|f| {
        let offered = f.offered_pps.map_or(0, units);
        [units(f.goodput_pps), offered, f.sent, f.retransmitted, f.timeouts, f.lost, f.acks_lost]
    });
    let links = result.links.iter().flat_map(|l| {
        let dropped = [l.dropped_queue_full, l.dropped_by_law, l.dropped_retries, l.lost_on_wire];
        let lost = [l.collided, l.receiver_busy, l.ack_lost, l.ack_late];
        let on_air = [l.attempts, l.internal, l.requests, l.requests_failed].into_iter().chain(lost);
        dropped.into_iter().chain(on_air)
    });
    flows.chain(links).collect()
}

#[test]
fn warm_up_is_left_out_and_the_rest_counts() {
    let overloaded = {
        let every = Pattern::Constant { interval: Duration::from_millis(5), jitter: 0.0 };
        wired(1_000, 20, 10, datagrams(every))
    };
    for spec in [four_links(true), adaptive(), overloaded] {
        // Between two of the source's instants: an event at the warm-up's end itself would count for both parts.
        let count = |warmup, duration| {
            let time = Duration::from_millis;
            let run = RunSpec { warmup: time(warmup), duration: time(duration), ..seconds(3, 0, 0) };
            counted(&Network::run(&spec, run))
        };
        let (whole, warmup, measured) = (count(0, 25_000), count(0, 15_003), count(15_003, 9_997));
        let rest: Vec<u64> = whole.iter().zip(&warmup).map(|(a, b)| a - b).collect();
        assert_eq!(measured, rest);
        assert!(warmup.iter().sum::<u64>() > 0 && measured.iter().sum::<u64>() > 0);
    }
}

#[test]
fn twice_warm_up_leaves_rates_where_they_were() {
    // 200 datagrams/s are offered and 100 go through, after any warm-up.
    let every = Pattern::Constant { interval: Duration::from_millis(5), jitter: 0.0 };
    let spec = wired(1_000, 20, 10, datagrams(every));
    for warmup in [10, 20] {
        let result = Network::run(&spec, seconds(1, warmup, 20));
        let drops = result.links[0].dropped_queue_full as f64 / result.measured_s;
        assert!((drops - 100.0).abs() < 0.11, "{drops} drops/s after {warmup} s of warm-up");
        assert_eq!(result.flows[0].lost, result.links[0].dropped_queue_full);
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
fn node_out_of_reach_changes_no_draws() {
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
                format!("{name} {} {:?}", result.fingerprint, goodputs(&result))
            })
            .collect();
    assert_eq!(table, GOLDEN);
}

const GOLDEN: [&str; 3] = [
    "standard e22c280c653147f8 [419.0, 1.7, 217.3, 227.1]",
    "ns2 0c27d81ebf1180bf [418.8, 1.1, 217.7, 211.6]",
    "adaptive 1bce7ca5ffe92c97 [313.6, 51.5, 188.1, 172.2]",
];

#[test]
fn dummy_packets_keep_an_empty_link_contending() {
    let mut spec = adaptive();
    spec.backoff = AdaptiveParams { dummies: true, ..AdaptiveParams::chen10() }.into();
    let result = Network::run(&spec, seconds(1, 5, 20));
    for link in &result.links {
        assert!(link.airtime.as_ref().unwrap().empty < 1e-3 / 20.0, "{}", link.queue);
    }
    assert_conserved(&result);
}

/// Four nodes in a row, their hops in range of each other.
fn chain(traffic: Traffic) -> NetworkSpec {
    let at: Vec<Position> = (0..4).map(|i| Position::new(f64::from(i) * 200.0, 0.0)).collect();
    let radio = ThresholdRadio {
        transmission_range_m: 250.0,
        carrier_sense_range_m: 550.0,
        interference_range_m: 550.0,
        propagation: Propagation::default(),
    };
    let mut spec = four_links(false);
    spec.medium = Medium::from_positions(&at, &radio);
    spec.nodes = (0..4).map(|i| format!("n{i}")).collect();
    spec.flows = vec![FlowSpec {
        name: "up".into(),
        path: vec![3, 2, 1, 0],
        active: vec![(Instant::ZERO, Instant::NEVER)],
        start_jitter: Duration::ZERO,
        category: Category::BestEffort,
        code_point: 0,
        weight: 1.0,
        stack: None,
        traffic,
    }];
    spec.routes = vec![vec![0, 1, 2, 3]];
    spec
}

#[test]
fn a_chain_forwards_both_ways() {
    let spec = chain(Traffic::Tcp(tcp(None)));
    let result = Network::run(&spec, seconds(1, 5, 30));
    assert!(goodputs(&result)[0] > 60.0, "{:?}", goodputs(&result));
    assert_conserved(&result);
}

/// Two nodes and a wire each way.
fn wired(rate_kbps: u64, delay_ms: u64, buffer: u32, traffic: Traffic) -> NetworkSpec {
    let wire = |from, to| Wire {
        from,
        to,
        rate: Rate::from_kbps(rate_kbps),
        trace: None,
        delay: Duration::from_millis(delay_ms),
        delay_changes: Vec::new(),
        queue: QueueSpec::fifo(buffer),
    };
    let mut spec = four_links(false);
    spec.medium = Medium::from_signals(2, &[], Dbm::new(0.0), Dbm::new(0.0));
    spec.nodes = vec!["a".into(), "b".into()];
    spec.wires = vec![wire(0, 1), wire(1, 0)];
    spec.flows = vec![FlowSpec {
        name: "f".into(),
        path: vec![0, 1],
        active: vec![(Instant::ZERO, Instant::NEVER)],
        start_jitter: Duration::ZERO,
        category: Category::BestEffort,
        code_point: 0,
        weight: 1.0,
        stack: None,
        traffic,
    }];
    spec
}

fn datagrams(pattern: Pattern) -> Traffic {
    Traffic::Datagrams { size: Bytes::new(1250), headers: Bytes::new(0), pattern }
}

#[test]
fn a_wire_takes_its_rate_and_its_delay() {
    // 1250 bytes at 1 Mb/s are 10 ms; with 20 ms of delay each datagram takes 30 ms, every 25 ms.
    let every = Pattern::Constant { interval: Duration::from_millis(25), jitter: 0.0 };
    let result = Network::run(&wired(1_000, 20, 10, datagrams(every)), seconds(1, 1, 10));
    let flow = &result.flows[0];
    assert!((flow.delay.as_ref().unwrap().mean_s - 0.030).abs() < 1e-9);
    assert!(flow.jitter_s.unwrap().abs() < 1e-12);
    assert!((flow.goodput_pps - 40.0).abs() < 0.11 && (flow.offered_pps.unwrap() - 40.0).abs() < 0.11);
    assert_conserved(&result);
}

#[test]
fn a_wire_with_a_trace_sends_when_the_trace_says() {
    // 1500 bytes at 3, 3, 8 and 20 ms of each 20: 1250 bytes offered each 20 ms leave at the first chance, 3 ms after the start of
    // a round, and come 20 ms later; the others are lost.
    let trace = Opportunities::new(vec![3, 3, 8, 20]).unwrap();
    let traced = |pattern| {
        let mut spec = wired(1_000, 20, 10, datagrams(pattern));
        for wire in &mut spec.wires {
            (wire.rate, wire.trace) = (trace.rate(), Some(trace.clone()));
        }
        spec
    };
    let every = Pattern::Constant { interval: Duration::from_millis(20), jitter: 0.0 };
    let slow = Network::run(&traced(every), seconds(1, 1, 10));
    assert!((slow.flows[0].delay.as_ref().unwrap().mean_s - 0.023).abs() < 1e-9, "{:?}", slow.flows);
    // A source that is never without has the mean: 6000 bytes each 20 ms.
    let full = Network::run(&traced(Pattern::Saturated), seconds(1, 1, 10));
    assert!((full.flows[0].goodput_bps / 2.4e6 - 1.0).abs() < 1e-3, "{:?}", full.flows);
    assert_conserved(&full);
}

#[test]
fn overloaded_wire_drops_and_delays_by_buffer() {
    // 200 datagrams/s are offered, 100 go through; ten wait: 10·10 + 10 + 20 ms at the end.
    let every = Pattern::Constant { interval: Duration::from_millis(5), jitter: 0.0 };
    let result = Network::run(&wired(1_000, 20, 10, datagrams(every)), seconds(1, 1, 10));
    assert!((result.flows[0].goodput_pps - 100.0).abs() < 0.11);
    let delay = result.flows[0].delay.as_ref().unwrap();
    assert!(
        (delay.mean_s - 0.130).abs() < 0.006 && (delay.p50_s.unwrap() / 0.130 - 1.0).abs() < 0.01,
        "{delay:?}"
    );
    assert!((result.links[0].dropped_queue_full as f64 - 1000.0).abs() < 2.0);
    assert_conserved(&result);
}

#[test]
fn jitter_and_bursts_keep_their_means() {
    let interval = Duration::from_millis(10);
    let run = |pattern| Network::run(&wired(10_000, 1, 100, datagrams(pattern)), seconds(1, 1, 400));
    let jittered = run(Pattern::Constant { interval, jitter: 1.0 });
    // 40000 gaps, uniform on 0 to 20 ms: standard error of the rate 100·0.58/200 = 0.29/s.
    assert!((jittered.flows[0].goodput_pps - 100.0).abs() < 1.2, "{}", jittered.flows[0].goodput_pps);
    let (on, off) = (Duration::from_millis(500), Duration::from_millis(1500));
    let bursty = run(Pattern::OnOff { interval, on, off });
    // On a quarter of the time; 200 cycles: about 7 % of standard error, and half a datagram more per burst.
    assert!((bursty.flows[0].goodput_pps - 25.3).abs() < 6.0, "{}", bursty.flows[0].goodput_pps);
}

#[test]
fn flow_is_silent_between_stop_and_start() {
    let at = |s| Instant::ZERO + Duration::from_secs(s);
    for traffic in [
        Traffic::Tcp(tcp(None)),
        datagrams(Pattern::Saturated),
        datagrams(Pattern::Constant { interval: Duration::from_millis(20), jitter: 0.5 }),
        Traffic::Rated(RatedSpec {
            size: Bytes::new(1250),
            law: UtilityBasedParams { utility: 20.0, ..UtilityBasedParams::lee12() }.into(),
            rate_max: Rate::from_kbps(10_000),
        }),
        Traffic::Tfrc(TfrcSpec {
            params: TfrcParams::rfc5348(),
            size: Bytes::new(1250),
            report: Bytes::new(44),
            source: Source::Endless,
            connections: None,
            probes: ProbeSpec::default(),
        }),
    ] {
        let mut spec = wired(1_000, 1, 50, traffic);
        spec.flows[0].active = vec![(at(2), at(10)), (at(20), Instant::NEVER)];
        let result = Network::run(&spec, seconds(1, 1, 29));
        let series = &result.series.as_ref().unwrap().flows[0].goodput_pps;
        // Point i covers second i; the queue drains in a second.
        assert!(series[..2].iter().all(|&x| x < 0.5), "{series:?}");
        assert!(series[3..9].iter().all(|&x| x > 30.0), "{series:?}");
        assert!(series[11..19].iter().all(|&x| x < 0.5), "{series:?}");
        assert!(series[22..].iter().all(|&x| x > 30.0), "{series:?}");
        let silence = result.flows[0].silence_s;
        assert!((9.0..11.0).contains(&silence), "from 10 s, or when the queue is empty, to 20 s: {silence}");
        assert_conserved(&result);
    }
}

#[test]
fn transfer_ends_and_paced_one_keeps_its_pace() {
    let source = |source| Traffic::Tcp(TcpSpec { source, ..tcp(None) });
    let transfer = Network::run(&wired(1_000, 1, 50, source(Source::Segments(100))), seconds(1, 0, 20));
    assert_eq!(transfer.flows[0].sent - transfer.flows[0].retransmitted, 100);
    assert!((transfer.flows[0].goodput_pps - 5.0).abs() < 1e-9, "100 segments in 20 s");
    let paced = Source::Paced(Duration::from_millis(50));
    let paced = Network::run(&wired(1_000, 1, 50, source(paced)), seconds(1, 1, 20));
    assert!((paced.flows[0].goodput_pps - 20.0).abs() < 0.11);
    assert!(paced.flows[0].congestion_window < 4.0, "a window that is not used does not grow");
}

#[test]
fn a_finished_transfer_closes_its_connection() {
    let mut spec = TcpSpec { source: Source::Segments(200), ..tcp(None) };
    spec.sender.handshake = true;
    let result = Network::run(&wired(1_000, 1, 50, Traffic::Tcp(spec)), seconds(1, 0, 20));
    // SYN, 200 segments, FIN, and an answer to each: nothing is lost, and nothing is sent after that.
    assert_eq!(result.packets.originated, 2 * 202);
    assert_eq!(result.packets.delivered, 2 * 202);
    let connections = &result.series.as_ref().unwrap().flows[0].connections;
    assert!((connections[0] - 1.0).abs() < 1e-12 && connections[2..].iter().all(|&n| n < 1e-12));
}

/// Connections share a transfer, come, go and lose packets: the flow delivers its segments once.
#[test]
fn connections_share_a_transfer() {
    let law = RttProportionalParams {
        per_second: 80.0,
        interval: Duration::from_millis(300),
        ..RttProportionalParams::chen10()
    };
    let mut most = 0.0_f64;
    for (seed, segments) in (1..=20).flat_map(|seed| [1, 2, 37, 1000].map(|segments| (seed, segments))) {
        let tcp = TcpSpec { source: Source::Segments(segments), ..tcp(Some(law)) };
        let mut spec = wired(2_000, 20, 15, Traffic::Tcp(tcp));
        let model = LossModel::Frames(Probability::new(0.03).unwrap());
        spec.losses = vec![LinkLoss { from: 0, to: 1, schedule: vec![(Instant::ZERO, model)] }];
        let result = Network::run(&spec, seconds(seed, 0, 120));
        let series = &result.series.as_ref().unwrap().flows[0];
        let delivered = result.flows[0].goodput_pps * 120.0;
        assert!((delivered - f64::from(segments)).abs() < 1e-6, "{delivered} of {segments}, seed {seed}");
        assert!(series.connections.last().unwrap().abs() < 1e-12, "the flow has ended");
        assert_conserved(&result);
        most = series.connections.iter().fold(most, |most, &n| most.max(n));
    }
    assert!(most > 3.0, "{most} connections at most");
}

/// The next stretch of activity finishes the rest of a transfer that a stop left; the one after that has nothing to do.
#[test]
fn a_transfer_goes_on_after_a_pause() {
    let at = |s| Instant::ZERO + Duration::from_secs(s);
    let tcp = TcpSpec { source: Source::Segments(500), ..tcp(None) };
    let mut spec = wired(1_000, 1, 50, Traffic::Tcp(tcp));
    spec.flows[0].active = vec![(at(0), at(2)), (at(10), at(30)), (at(40), Instant::NEVER)];
    let result = Network::run(&spec, seconds(1, 0, 60));
    let series = &result.series.as_ref().unwrap().flows[0].goodput_pps;
    let sum = |from, to| series[from..to].iter().sum::<f64>();
    assert!(sum(0, 3) > 100.0 && sum(3, 9) < 0.5, "{series:?}");
    assert!((sum(0, series.len()) - 500.0).abs() < 1e-6, "{}", sum(0, series.len()));
    assert!(sum(20, series.len()) < 0.5, "{series:?}");
}

#[test]
fn broadcast_counts_for_each_receiver() {
    let mut spec = four_links(false);
    let every = Pattern::Constant { interval: Duration::from_millis(100), jitter: 0.0 };
    spec.flows =
        vec![FlowSpec { path: vec![0, BROADCAST], traffic: datagrams(every), ..spec.flows[0].clone() }];
    let result = Network::run(&spec, seconds(1, 1, 10));
    assert!((result.flows[0].goodput_pps - 10.0).abs() < 0.11, "one hearer, r1");
    assert_conserved(&result);
}

#[test]
fn links_have_rates_and_losses_of_their_own() {
    let saturated = datagrams(Pattern::Saturated);
    let one = |rates: Vec<LinkRate>, losses: Vec<LinkLoss>| {
        let mut spec = four_links(false);
        spec.flows.truncate(1);
        spec.flows[0].traffic = saturated.clone();
        (spec.rates, spec.losses) = (rates, losses);
        Network::run(&spec, seconds(1, 1, 20)).flows[0].goodput_pps
    };
    let slow = LinkRate { from: 0, to: 1, mode: Mode::at(Rate::from_kbps(1_000)) };
    let (at_11, at_1) = (one(vec![], vec![]), one(vec![slow], vec![]));
    // DATA + ACK + spaces + half a window: 1130+… µs against 10288+… µs.
    assert!(at_11 / at_1 > 5.0 && at_11 / at_1 < 8.0, "{at_11} {at_1}");
    let half = LossModel::Frames(Probability::clamped(0.5));
    let lossy = LinkLoss { from: 0, to: 1, schedule: vec![(Instant::ZERO, half)] };
    let at_half = one(vec![], vec![lossy]);
    assert!(
        at_half < 0.5 * at_11 && at_half > 0.25 * at_11,
        "{at_half} of {at_11}: half the frames, longer back-offs"
    );
}

#[test]
fn urgent_categories_get_their_share_first() {
    let timing = MacTiming::a(ControlRate::Mandatory).qos();
    let categories = [Category::Voice, Category::Video, Category::BestEffort, Category::Background];
    let mut spec = four_links(false);
    spec.mac = MacSpec::Dcf { timing, rules: Rules::standard() };
    spec.backoff = BackoffParams::Edca(EdcaParams::default());
    spec.surroundings.physical_layer = PhysicalLayer::Ofdm;
    spec.data_mode = Rate::from_kbps(54_000).into();
    spec.flows = categories
        .iter()
        .map(|&category| FlowSpec {
            name: category.name().into(),
            path: vec![0, 1],
            category,
            traffic: datagrams(Pattern::Saturated),
            ..spec.flows[0].clone()
        })
        .collect();
    let result = Network::run(&spec, seconds(1, 1, 20));
    let got = goodputs(&result);
    assert!(got[0] > 1.5 * got[1] && got[1] > 10.0 * got[2] && got[2] > got[3], "{got:?}");
    assert!(result.links.iter().any(|l| l.internal > 0));
    assert_conserved(&result);
}

#[test]
fn a_trace_sees_every_frame_and_changes_nothing() {
    #[derive(Default)]
    struct Count(u64, u64);
    impl FrameSink for Count {
        fn frame(&mut self, frame: &FrameRecord, packet: Option<&Sent>) {
            self.0 += u64::from(frame.kind == FrameKind::Data);
            self.1 += u64::from(packet.is_none());
        }
    }
    let mut count = Count::default();
    let watchers = Watchers { frames: Some(&mut count), ..Watchers::default() };
    let traced = Network::run_watched(&four_links(false), seconds(1, 0, 12), watchers).unwrap();
    assert_eq!(traced, Network::run(&four_links(false), seconds(1, 0, 12)));
    let under_way = 8; // a frame in the air at the end
    let sent: u64 = traced.links.iter().map(|l| l.attempts).sum();
    assert!(count.0 <= sent && sent <= count.0 + under_way, "{} {sent}", count.0);
    assert_eq!(count.1, 0, "every frame has its packet");
}

#[test]
fn watcher_sees_progress_and_may_stop() {
    let (spec, run) = (four_links(true), seconds(1, 1, 4));
    let watched = |until: Instant| {
        let mut told = Vec::new();
        let mut progress = |now: Instant| {
            told.push(now);
            if now < until { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        };
        let watchers = Watchers { progress: Some(&mut progress), ..Watchers::default() };
        let result = Network::run_watched(&spec, run, watchers);
        (result, told)
    };
    let (whole, told) = watched(Instant::NEVER);
    assert_eq!(whole, Some(Network::run(&spec, run)));
    assert_eq!(told.len(), 50, "every 100 ms of 5 s");
    assert_eq!(told.last(), Some(&(Instant::ZERO + Duration::from_secs(5))));
    let early = Instant::ZERO + Duration::from_millis(250);
    let (nothing, told) = watched(early);
    assert_eq!(nothing, None);
    assert_eq!(told.last(), Some(&(Instant::ZERO + Duration::from_millis(300))));
}

/// Puts later points of the same run behind these.
fn append(series: &mut Series, later: &Series) {
    series.time_s.extend(&later.time_s);
    for (flow, later) in series.flows.iter_mut().zip(&later.flows) {
        flow.goodput_pps.extend(&later.goodput_pps);
        flow.congestion_window.extend(&later.congestion_window);
        flow.round_trip_s.extend(&later.round_trip_s);
        flow.connections.extend(&later.connections);
        flow.delay_s.extend(&later.delay_s);
        flow.loss.extend(&later.loss);
        flow.queueing_delay_s.extend(&later.queueing_delay_s);
    }
    for (link, later) in series.links.iter_mut().zip(&later.links) {
        link.backlog.extend(&later.backlog);
        link.aggressiveness.extend(&later.aggressiveness);
        link.waiting_s.extend(&later.waiting_s);
    }
}

#[test]
fn portions_of_series_make_the_series() {
    let spec = four_links(true);
    let run = RunSpec { sample_every: Some(Duration::from_millis(7)), ..seconds(1, 1, 8) };
    let (mut together, mut portions) = (Series::default(), 0);
    let mut see = |portion: &Series| {
        if portions == 0 {
            together = portion.clone();
        } else {
            append(&mut together, portion);
        }
        portions += 1;
    };
    let watchers = Watchers { series: Some(&mut see), ..Watchers::default() };
    let streamed = Network::run_watched(&spec, run, watchers).unwrap();
    let whole = Network::run(&spec, run);
    assert_eq!((Some(together), portions), (whole.series.clone(), 1285_usize.div_ceil(256)));
    assert_eq!(streamed, RunResult { series: None, ..whole });
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
        wire in any::<bool>(),
        loss in prop::option::of(0.0f64..0.6),
        seed in 0u64..1000,
        (discipline, marking, limit_packets) in (0usize..8, 0usize..7, 1u32..60),
    ) {
        let ends: Vec<[f64; 4]> = places.iter().map(|&(x, y, dx, dy)| [x, y, x + dx, y + dy]).collect();
        let mut spec = if mac == 2 { adaptive() } else { four_links(mac == 1) };
        if mac == 3 {
            spec.mac = MacSpec::Ideal;
        }
        spec.medium = medium(&ends);
        spec.nodes = (0..2 * ends.len()).map(|i| format!("n{i}")).collect();
        let connections = multi.then(RttProportionalParams::chen10);
        spec.flows = (0..ends.len() as u32)
            .map(|l| FlowSpec {
                name: l.to_string(),
                path: vec![2 * l, 2 * l + 1],
                active: vec![(Instant::ZERO, Instant::NEVER)],
                start_jitter: Duration::ZERO,
        category: Category::BestEffort,
        code_point: 0,
        weight: 1.0,
        stack: None,
                traffic: if saturated && l == 0 { Traffic::Datagrams { size: Bytes::new(500), headers: Bytes::new(0), pattern: Pattern::Saturated } } else { Traffic::Tcp(tcp(connections)) },
            })
            .collect();
        spec.queue = queues::any_queue(discipline, marking, limit_packets);
        let to_first = spec.nodes.len() as u32;
        if wire {
            // The first flow comes from a node behind a wire, and starts twice.
            spec.nodes.push("server".into());
            spec.medium = medium_with_one_more(&ends);
            let wire = |from, to| Wire {
                from,
                to,
                rate: Rate::from_kbps(3_000),
                trace: None,
                delay: Duration::from_millis(3),
                delay_changes: Vec::new(),
                queue: queues::any_queue(discipline, marking, limit_packets),
            };
            spec.wires = vec![wire(to_first, 0), wire(0, to_first)];
            spec.flows[0].path.insert(0, to_first);
            let at = |s| Instant::ZERO + Duration::from_secs(s);
            spec.flows[0].active = vec![(at(0), at(2)), (at(3), Instant::NEVER)];
        }
        if let Some(p) = loss.filter(|_| mac != 3) {
            let model = LossModel::Frames(Probability::clamped(p));
            let schedule = vec![(Instant::ZERO, model)];
            spec.losses = vec![LinkLoss { from: 0, to: 1, schedule: schedule.clone() }];
            spec.losses.extend(wire.then_some(LinkLoss { from: to_first, to: 0, schedule }));
        }
        let result = Network::run(&spec, seconds(seed, 1, 4));
        assert_conserved(&result);
        prop_assert_eq!(result, Network::run(&spec, seconds(seed, 1, 4)));
    }
}
