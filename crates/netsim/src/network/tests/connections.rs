//! Connections that come and go, probes, the stream's order, and paths that become others.

use super::*;
use evenair_laws::connections::{ConnectionParams, FixedParams, GuardedParams, IiadParams, IimdParams};

/// NewReno with a wide window over a wire of so many kb/s and ms each way, under a law of connections.
fn flow(rate_kbps: u64, delay_ms: u64, buffer: u32, law: impl Into<ConnectionParams>) -> NetworkSpec {
    let sender = SenderParams {
        recovery: Recovery::NewReno,
        receiver_window: 1000,
        handshake: true,
        loss_measure: LossMeasure::Outstanding,
        rto: RtoParams::rfc6298(),
        ..tcp(None).sender
    };
    let spec = TcpSpec { sender, connections: Some(law.into()), ..tcp(None) };
    wired(rate_kbps, delay_ms, buffer, Traffic::Tcp(spec))
}

fn tcp_of(spec: &mut NetworkSpec) -> &mut TcpSpec {
    let Traffic::Tcp(tcp) = &mut spec.flows[0].traffic else { unreachable!("it is TCP") };
    tcp
}

fn losing(mut spec: NetworkSpec, share: f64) -> NetworkSpec {
    let model = LossModel::Frames(Probability::clamped(share));
    spec.losses = vec![LinkLoss { from: 0, to: 1, schedule: vec![(Instant::ZERO, model)] }];
    spec
}

fn changing(mut spec: NetworkSpec, at_s: u64, delay_ms: u64) -> NetworkSpec {
    let change = (Instant::ZERO + Duration::from_secs(at_s), Duration::from_millis(delay_ms));
    spec.wires.iter_mut().for_each(|wire| wire.delay_changes = vec![change]);
    spec
}

#[test]
fn every_connection_costs_handshake_and_farewell() {
    for n in [1, 4] {
        let mut spec = flow(1_000, 50, 100, FixedParams { connections: n });
        tcp_of(&mut spec).source = Source::Segments(200);
        let result = Network::run(&spec, seconds(1, 0, 60));
        // 200 segments and their acknowledgements; SYN, SYN-ACK, FIN, FIN-ACK of each connection.
        assert_eq!(result.packets.originated, 2 * 200 + 4 * u64::from(n), "{n} connections");
        assert_eq!(result.packets.delivered, result.packets.originated);
    }
}

#[test]
fn connection_sends_nothing_before_handshake() {
    let result = Network::run(&flow(1_000, 400, 100, FixedParams { connections: 3 }), seconds(1, 0, 2));
    let series = result.series.unwrap();
    // There and back is 0.8 s: the first data leave then and come 0.4 s later.
    assert!(series.flows[0].goodput_pps[0].abs() < 1e-12);
    assert!(series.flows[0].goodput_pps[1] > 0.0);
    assert_eq!(series.flows[0].connections, [3.0, 3.0]);
}

#[test]
fn draining_connection_finishes_uncounted() {
    // IIAD on a path without loss: queues grow with its second connection, and it goes.
    let law = IiadParams { interval: Duration::from_secs(2), ..IiadParams::default() };
    let mut spec = flow(1_000, 50, 40, law);
    spec.flows[0].active = vec![(Instant::ZERO, Instant::ZERO + Duration::from_secs(50))];
    tcp_of(&mut spec).resequence = true;
    let result = Network::run(&spec, seconds(1, 0, 100));
    let counted = result.series.as_ref().unwrap();
    assert!(counted.flows[0].connections[60].abs() < 1e-12, "the flow has stopped");
    assert_eq!(result.packets.under_way, 0);
    // All that was sent for the first time has been handed over, in order.
    let flow = &result.flows[0];
    let handed_over = (flow.goodput_pps * result.measured_s).round() as u64;
    assert_eq!(handed_over, flow.sent - flow.retransmitted);
    assert_conserved(&result);
}

#[test]
fn probes_wait_and_are_lost_as_packets() {
    let spec = losing(flow(1_000, 84, 1000, IimdParams::cz06()), 0.02);
    let result = Network::run(&spec, seconds(1, 20, 300));
    let (flow, probes) = (&result.flows[0], result.flows[0].probes.unwrap());
    // As many as data packets, within the rounding of a round trip.
    let ratio = probes.sent as f64 / flow.sent as f64;
    assert!((0.85..1.05).contains(&ratio), "{ratio}");
    // 28 of 1068 bytes.
    assert!((probes.share - 0.0262).abs() < 0.003, "{}", probes.share);
    // 168 ms and twice 28 bytes at 1 Mb/s at least; less than a segment needs, which is a kilobyte longer.
    let round_trip_s = probes.round_trip_s.unwrap();
    assert!(round_trip_s > 0.168_448 && round_trip_s < flow.round_trip_s.unwrap(), "{round_trip_s}");
    // The flow's lost packets are data: 2 % of them, though probes were lost as well.
    let lost = flow.lost as f64 / flow.sent as f64;
    assert!((lost - 0.02).abs() < 0.004, "{lost}");
    assert!(result.links[0].lost_on_wire as f64 > 1.7 * flow.lost as f64);
    assert_conserved(&result);
}

#[test]
fn unneeded_path_is_not_probed() {
    let law =
        IimdParams { samples: evenair_laws::connections::RoundTripSamples::Segments, ..IimdParams::cz06() };
    let result = Network::run(&losing(flow(1_000, 84, 1000, law), 0.02), seconds(1, 20, 100));
    assert_eq!(result.flows[0].probes, None);
    assert_eq!(result.flows[0].resequencing, None);
}

#[test]
fn one_connection_is_ordered_several_resequence() {
    let run = |connections, resequence| {
        let mut spec = losing(flow(2_000, 50, 1000, FixedParams { connections }), 0.01);
        tcp_of(&mut spec).resequence = resequence;
        Network::run(&spec, seconds(1, 20, 200)).flows.remove(0)
    };
    let one = run(1, true).resequencing.unwrap();
    assert_eq!((one.delay_s, one.buffer_max), (0.0, 0), "{one:?}");
    let (four, plain) = (run(4, true), run(4, false));
    let order = four.resequencing.unwrap();
    assert!(order.delay_s > 0.001 && order.delay_s < 1.0, "{order:?}");
    assert!(order.delay_s_max > 0.1, "a repetition takes a round trip: {order:?}");
    // Little's law: the mean number that waits is the rate times the delay.
    let little = four.goodput_pps * order.delay_s;
    assert!((order.buffer / little - 1.0).abs() < 0.02, "{} {little}", order.buffer);
    // Handing over in another order changes nothing but when.
    assert!((four.goodput_pps / plain.goodput_pps - 1.0).abs() < 0.01);
    assert_eq!((four.sent, four.retransmitted), (plain.sent, plain.retransmitted));
}

#[test]
fn shortened_wire_keeps_packets_in_order() {
    let mut spec = wired(
        10_000,
        100,
        100,
        Traffic::Datagrams {
            size: Bytes::new(100),
            headers: Bytes::new(0),
            pattern: Pattern::Constant { interval: Duration::from_millis(10), jitter: 0.0 },
        },
    );
    spec = changing(spec, 5, 20);
    let result = Network::run(&spec, seconds(1, 0, 10));
    let flow = &result.flows[0];
    // Half at 100 ms, half at 20 ms, and eight of 80, 70, … ms in between that waited for those before them.
    let delay = flow.delay.as_ref().unwrap();
    assert!((delay.mean_s - 0.060).abs() < 0.002, "{delay:?}");
    assert!(flow.jitter_s.unwrap() < 0.000_2, "never more than the distance of two: {:?}", flow.jitter_s);
    assert_conserved(&result);
}

/// Mean connections from 2400 s on, of a path that changes at 1000 s.
fn after_the_change(law: impl Into<ConnectionParams>, from_ms: u64, to_ms: u64) -> f64 {
    let spec = changing(losing(flow(1_000, from_ms, 1000, law), 0.03), 1000, to_ms);
    let result = Network::run(&spec, seconds(1, 2400, 1200));
    result.flows[0].connections
}

#[test]
fn longer_path_is_congestion_until_relearnt() {
    let iimd = IimdParams::cz06();
    let unchanged = after_the_change(iimd, 84, 84);
    let longer = after_the_change(iimd, 130, 130);
    let forever = after_the_change(iimd, 84, 130);
    assert!(forever < 1.2, "the old least makes the new path congested: {forever}");
    let told = after_the_change(IimdParams { route_changes: true, ..iimd }, 84, 130);
    let forgotten = after_the_change(IimdParams { window: Some(Duration::from_secs(300)), ..iimd }, 84, 130);
    for learnt in [told, forgotten] {
        assert!(learnt > 0.75 * longer && learnt < 1.3 * longer, "{learnt} {longer}");
    }
    // A shorter path needs no help, and fewer connections.
    let shorter = after_the_change(iimd, 130, 84);
    assert!((shorter / unchanged - 1.0).abs() < 0.3, "{shorter} {unchanged}");
}

#[test]
fn it_climbs_and_falls_in_times_of_section_iv_c() {
    use evenair_laws::connections::iimd::sawtooth;
    // A wide wire with losses is never full; from 1500 s on it is twice as long, which the law takes for congestion.
    let law = IimdParams::cz06();
    let spec = changing(losing(flow(100_000, 50, 10_000, law), 0.03), 1500, 100);
    let open = Network::run(&spec, seconds(1, 0, 2000)).series.unwrap().flows.remove(0).connections;
    let first = |from: usize, reached: &dyn Fn(f64) -> bool| {
        from + open[from..].iter().position(|&n| reached(n)).expect("it is reached")
    };
    let [two, five] = [2.0, 5.0].map(|n| first(0, &|open| open >= n));
    let climb_s = (five - two) as f64;
    // n is rounded: the second connection opens at 1.5, the fifth at 4.5.
    let predicted_s = sawtooth::climb_s(&law, 1.5, 4.5);
    assert!((climb_s / predicted_s - 1.0).abs() < 0.1, "{climb_s} {predicted_s}");
    let peak = open[1499];
    let falls = first(1500, &|n| n < peak);
    let fallen = first(falls, &|n| n <= 2.0);
    // Steps of 20 s: the last n above 1.5·β and the first below 2.5 lie one apart.
    let (fall_s, predicted_s) = ((fallen - falls) as f64, sawtooth::fall_s(&law, peak, 2.5));
    assert!((fall_s - predicted_s).abs() <= 20.0, "{fall_s} {predicted_s}");
}

#[test]
fn n_connections_have_n_square_root_laws() {
    for (n, loss) in [(1, 0.005), (4, 0.005), (8, 0.002)] {
        let spec = losing(flow(100_000, 50, 10_000, FixedParams { connections: n }), loss);
        let result = Network::run(&spec, seconds(1, 20, 300));
        // Every segment is acknowledged: x = n·√(3/2p)/T (Mathis et al.), time-outs left out.
        let law = f64::from(n) * (1.5 / loss).sqrt() / 0.1001;
        let ratio = result.flows[0].goodput_pps / law;
        assert!((0.85..1.1).contains(&ratio), "{n} connections, {loss}: {ratio}");
    }
}

#[test]
fn guard_opens_none_where_the_paper_opens_many() {
    // A queue of four packets at 500 kb/s of 200 ms: on average less than a fifth of them.
    let run = |law: ConnectionParams| {
        let result = Network::run(&flow(500, 100, 4, law), seconds(1, 600, 1200));
        (result.flows[0].connections, result.flows[0].goodput_pps)
    };
    let (paper, _) = run(IimdParams::cz06().into());
    let (guarded, goodput) = run(GuardedParams::default().into());
    let (_, one) = run(FixedParams { connections: 1 }.into());
    assert!(paper > 3.0, "{paper}");
    assert!(guarded < 1.3, "{guarded}");
    assert!(goodput > 0.95 * one, "{goodput} {one}");
}
