//! `T` of n = kT: it agrees with Little's law, and an interval without samples changes nothing.

use super::*;
use evenair_laws::backoff::{AckPriority, BackoffUnit};
use evenair_laws::connections::{RoundTripSamples, Unsampled};

const B: [[f64; 4]; 4] = [
    [-50.0, 0.0, 50.0, 0.0],
    [0.0, 600.0, 0.0, 700.0],
    [-520.0, -300.0, -606.0, -350.0],
    [520.0, -300.0, 606.0, -350.0],
];

const C: [[f64; 4]; 4] = [
    [-600.0, 0.0, -600.0, 100.0],
    [0.0, 100.0, 0.0, 200.0],
    [0.0, -100.0, 0.0, -200.0],
    [600.0, 0.0, 600.0, 100.0],
];

/// [Chen10] chapter 6 over ns-2's MAC and TCP, with a receiver's window that does not bind.
fn chapter_6(ends: &[[f64; 4]], prioritise_acks: bool, change: impl Fn(&mut TcpSpec)) -> NetworkSpec {
    let mut spec = NetworkSpec { medium: medium(ends), ..four_links(true) };
    let acks = if prioritise_acks { AckPriority::High } else { AckPriority::Normal };
    spec.backoff = AdaptiveParams { acks, ..AdaptiveParams::chen10() }.into();
    spec.queue = QueueSpec::fifo(1000);
    let mut tcp = tcp(Some(RttProportionalParams::chen10()));
    tcp.sender.receiver_window = 400;
    change(&mut tcp);
    for flow in &mut spec.flows {
        flow.traffic = Traffic::Tcp(tcp.clone());
    }
    spec
}

/// No warm-up, so that all counters begin together; queues are sampled often. Packets that wait at the end are not measured
/// yet: a second or two of 200.
fn whole(seed: u64, duration: u64) -> RunSpec {
    let sample_every = Some(Duration::from_millis(100));
    RunSpec { sample_every, ledger: false, ..seconds(seed, 0, duration) }
}

/// Of a flow: `T` as measured, and the segments in both its queues over those that the first one lets through.
fn measured_and_littles(result: &RunResult, flow: usize) -> (f64, f64) {
    let (to, from) = (&result.links[2 * flow], &result.links[2 * flow + 1]);
    let dropped = to.dropped_by_law + to.dropped_queue_full + to.dropped_retries - to.received_despite;
    let served_pps = (result.flows[flow].sent - dropped) as f64 / result.measured_s;
    (result.flows[flow].round_trip_s.unwrap(), (to.backlog + from.backlog) / served_pps)
}

#[test]
fn the_mean_round_trip_is_littles_law() {
    for (topology, ends) in [("a", A), ("b", B), ("c", C)] {
        for prioritise_acks in [true, false] {
            let result = Network::run(&chapter_6(&ends, prioritise_acks, |_| ()), whole(1, 200));
            for flow in 0..4 {
                let (measured, little) = measured_and_littles(&result, flow);
                let off = (measured / little - 1.0).abs();
                assert!(off < 0.05, "{topology}, h-ACK {prioritise_acks}, {flow}: {measured} s, {little} s");
            }
        }
    }
}

#[test]
fn one_sample_a_window_falls_short_of_it() {
    let law = RttProportionalParams { samples: RoundTripSamples::Windows, ..RttProportionalParams::chen10() };
    let sparse =
        |tcp: &mut TcpSpec| (tcp.sampling, tcp.connections) = (Sampling::OnePerWindow, Some(law.into()));
    let result = Network::run(&chapter_6(&A, true, sparse), whole(1, 60));
    let (measured, little) = measured_and_littles(&result, 0);
    assert!(measured < 0.85 * little, "{measured} s, {little} s");
}

/// A connection is never kept for a round trip that no segment has made.
fn assert_kept_for_what_was_measured(result: &RunResult, k: f64) {
    for (index, flow) in result.series.as_ref().unwrap().flows.iter().enumerate() {
        let mut longest_s = 0.0_f64;
        for (n, round_trip_s) in flow.connections.iter().zip(&flow.round_trip_s) {
            longest_s = longest_s.max(*round_trip_s);
            assert!(*n <= (k * longest_s).max(1.0), "flow {index}: {n} connections, T at most {longest_s} s");
        }
    }
}

#[test]
fn connections_stay_bounded_without_acks() {
    let k = 20.0;
    // The mean of segments is the one that the series keeps, too.
    let samples = RoundTripSamples::Segments;
    let law = RttProportionalParams { per_second: k, samples, ..RttProportionalParams::chen10() };
    let run = |law, seed| {
        Network::run(
            &chapter_6(&A, false, |tcp| tcp.connections = Some(RttProportionalParams::into(law))),
            whole(seed, 150),
        )
    };
    assert_kept_for_what_was_measured(&run(law, 1), k);
    let most = |unsampled| {
        let result = run(RttProportionalParams { unsampled, ..law }, 1);
        let most = |flow: &FlowSeries| flow.connections.iter().copied().fold(0.0, f64::max);
        result.series.unwrap().flows.iter().map(most).fold(0.0, f64::max)
    };
    assert!(most(Unsampled::Hold) < most(Unsampled::Grow), "the rule matters here");
}

#[test]
fn windows_stay_bounded_without_thresholds() {
    let mut spec = chapter_6(&A, false, |tcp| {
        tcp.sender.receiver_window = 1000;
        tcp.sender.start.initial_ssthresh = 1e6;
    });
    for unit in [BackoffUnit::OwnPacket, BackoffUnit::DataPacket] {
        let params = AdaptiveParams { unit, ..AdaptiveParams::chen10() };
        spec.backoff = params.into();
        let result = Network::run(&spec, whole(1, 150));
        assert_kept_for_what_was_measured(&result, 10.0);
        let total: f64 = goodputs(&result).iter().sum();
        assert!(total > 600.0, "{total}");
        assert!(result.flows.iter().all(|flow| flow.connections < 100.0));
    }
}

/// A datagram that waits like a segment takes as long: the samples are delays of packets, nothing else.
#[test]
fn over_a_wire_the_round_trip_is_its_delay() {
    let result = Network::run(&wired(10_000, 50, 100, Traffic::Tcp(tcp(None))), whole(1, 20));
    // 20 segments of 1040 bytes leave together: 0.83 ms each, 50 ms each way, the acknowledgement's 32 µs.
    let round_trip_s = result.flows[0].round_trip_s.unwrap();
    assert!((0.1008..0.118).contains(&round_trip_s), "{round_trip_s}");
}
