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
    // Even between 0 and 20 s, plus a first packet's time: a mean of 10 s within four standard errors of 5.8 s/√128.
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

/// A request every so often over a wire of 1 Mb/s with 5 ms of delay, replies of one size.
fn web(interval_ms: u64, reply: u32, connection: WebConnection, handshake: bool) -> NetworkSpec {
    let mut tcp = tcp(None);
    tcp.sender.handshake = handshake;
    let web = WebSpec {
        tcp,
        interval: Duration::from_millis(interval_ms),
        arrivals: Arrivals::Even,
        request: (Bytes::new(300), Bytes::new(300)),
        reply: Bytes::new(reply),
        reply_deviation: Bytes::new(0),
        connection,
    };
    wired(1_000, 5, 50, Traffic::Web(web))
}

fn results(spec: &NetworkSpec, run: RunSpec) -> (RunResult, TransferResult) {
    let result = Network::run(spec, run);
    assert_conserved(&result);
    let web = result.flows[0].transfers.clone().expect("a web flow");
    (result, web)
}

#[test]
fn reply_takes_time_of_its_segments() {
    // A request of 300 bytes; on the way back its acknowledgement, a full segment and one of 10 bytes; headers for all, 1 us a bit.
    let payload = tcp(None).payload.count();
    for connection in [WebConnection::PerRequest, WebConnection::Persistent] {
        let spec = web(1000, payload + 10, connection, false);
        let (result, web) = results(&spec, seconds(1, 0, 100));
        let headers = tcp(None).headers.count();
        let bits = 8 * ((300 + headers) + headers + (payload + headers) + (10 + headers));
        let expected_s = f64::from(bits) / 1e6 + 0.01;
        // The run ends with the hundred and first request.
        assert_eq!((web.requests, web.completed), (101, 100), "{connection:?}");
        let took = web.took.unwrap();
        assert!((took.mean_s - expected_s).abs() < 1e-6, "{took:?}, not {expected_s}: {connection:?}");
        for percentile in [took.p50_s.unwrap(), took.p95_s.unwrap(), took.p99_s.unwrap()] {
            assert!(
                (percentile / expected_s - 1.0).abs() < 0.01,
                "{took:?}, not {expected_s}: {connection:?}"
            );
        }
        let flow = &result.flows[0];
        assert!((flow.goodput_bps - 8.0 * f64::from(payload + 10)).abs() < 1e-6, "{}", flow.goodput_bps);
        assert!((flow.goodput_pps - 2.0).abs() < 1e-9 && flow.retransmitted == 0);
        // Two segments of a reply, one of each request; the last is under way.
        assert_eq!(flow.sent, 3 * 100 + 1);
    }
}

#[test]
fn handshake_costs_round_trip_of_its_own_once() {
    let mean = |connection, handshake| {
        results(&web(1000, 10, connection, handshake), seconds(1, 0, 100)).1.took.unwrap().mean_s
    };
    let plain = mean(WebConnection::PerRequest, false);
    let opened = mean(WebConnection::PerRequest, true);
    // 40 bytes there and back, at 1 Mb/s and 5 ms.
    let round_trip_s = 2.0 * (0.005 + 8.0 * f64::from(tcp(None).headers.count()) / 1e6);
    assert!((opened - plain - round_trip_s).abs() < 1e-6, "{opened} and {plain}");
    let once = mean(WebConnection::Persistent, true);
    assert!((once - plain - round_trip_s / 100.0).abs() < 1e-6, "{once} and {plain}");
}

#[test]
fn sizes_and_times_have_their_distributions() {
    let mut spec = web(50, 5_000, WebConnection::PerRequest, true);
    let Traffic::Web(web) = &mut spec.flows[0].traffic else { panic!("it is a web flow") };
    (web.request, web.arrivals) = ((Bytes::new(200), Bytes::new(1000)), Arrivals::Poisson);
    web.reply_deviation = Bytes::new(1_000);
    let (result, web) = results(&spec, seconds(1, 10, 1000));
    // 20000 requests: ±√20000 is one standard error; all but the last few are complete.
    assert!((19_434..20_566).contains(&web.requests), "{}", web.requests);
    assert!(web.completed <= web.requests && web.completed > web.requests - 60, "{web:?}");
    let mean = result.flows[0].goodput_bps / 8.0 * 1000.0 / web.completed as f64;
    assert!((mean - 5_000.0).abs() < 4.0 * 1_000.0 / 141.0 + 20.0, "a standard error is 7 bytes: {mean}");
    let took = web.took.unwrap();
    assert!(
        took.p50_s.unwrap() < took.mean_s
            && took.mean_s < took.p95_s.unwrap()
            && took.p95_s.unwrap() < took.p99_s.unwrap(),
        "{took:?}"
    );
}

#[test]
fn requests_end_with_the_flow_replies_come() {
    let at = |s| Instant::ZERO + Duration::from_secs(s);
    for connection in [WebConnection::PerRequest, WebConnection::Persistent] {
        for handshake in [false, true] {
            // Ten requests in a second, with replies that take four; and ten more later.
            let mut spec = web(100, 50_000, connection, handshake);
            spec.flows[0].active = vec![(at(0), at(1)), (at(30), at(31))];
            let (result, web) = results(&spec, seconds(1, 0, 60));
            assert_eq!((web.requests, web.completed), (20, 20), "{connection:?} {handshake}");
            assert!(web.took.as_ref().unwrap().p95_s.unwrap() > 3.0, "{web:?}");
            let bytes = result.flows[0].goodput_bps * 60.0 / 8.0;
            assert!((bytes - 20.0 * 50_000.0).abs() < 1e-3, "{bytes}");
            assert!(result.packets.under_way == 0, "all connections are closed: {:?}", result.packets);
            let series = &result.series.unwrap().flows[0].connections;
            assert!(series[20] < 0.5 && series[59] < 0.5 && series[1] > 0.5, "{series:?}");
        }
    }
}

#[test]
fn persistent_connection_answers_in_order() {
    // Four times the wire's rate: the persistent connection's replies come one after the other, the others together.
    let took = |connection| {
        let (_, web) = results(&web(100, 50_000, connection, false), seconds(1, 0, 60));
        (web.completed, web.took.unwrap().p50_s.unwrap())
    };
    let (in_order, first) = took(WebConnection::Persistent);
    let (together, _) = took(WebConnection::PerRequest);
    assert!((130..=150).contains(&in_order), "2.4 replies a second: {in_order}");
    assert!(first > 15.0 && together < in_order, "{first} {together}");
}

#[test]
fn requests_and_replies_survive_a_lossy_wire() {
    for connection in [WebConnection::PerRequest, WebConnection::Persistent] {
        for delayed in [false, true] {
            let mut spec = web(500, 20_000, connection, true);
            let loss = vec![(Instant::ZERO, LossModel::Frames(Probability::clamped(0.05)))];
            spec.losses =
                [(0, 1), (1, 0)].map(|(from, to)| LinkLoss { from, to, schedule: loss.clone() }).into();
            let Traffic::Web(web) = &mut spec.flows[0].traffic else { panic!("it is a web flow") };
            if delayed {
                let delay = Duration::from_millis(40);
                web.tcp.acknowledge = AckPolicy::Delayed { delay, quick: 0 };
            }
            let at = |s| Instant::ZERO + Duration::from_secs(s);
            spec.flows[0].active = vec![(at(0), at(100))];
            let (result, web) = results(&spec, seconds(1, 0, 600));
            assert_eq!((web.requests, web.completed), (200, 200), "{connection:?}");
            assert!(result.flows[0].retransmitted > 50 && result.flows[0].lost > 50);
        }
    }
}

#[test]
fn late_repeated_request_leaves_others_alone() {
    // The first acknowledgement, of a request that is answered, is lost: it has been sent after 2.72 + 5 + 0.32 ms, the reply 0.4 ms later.
    // The flow stops, the half for replies is over, and the next flow's connection has its place when the request is repeated.
    let ms = |ms| Instant::ZERO + Duration::from_millis(ms);
    let first = web(1000, 10, WebConnection::Persistent, false);
    for traffic in [Traffic::Tcp(tcp(None)), first.flows[0].traffic.clone()] {
        let mut spec = first.clone();
        let then = ms(8) + Duration::from_micros(200);
        let lost = [(Instant::ZERO, 1.0), (then, 0.0)];
        let schedule = lost.map(|(from, p)| (from, LossModel::Frames(Probability::clamped(p)))).into();
        spec.losses = vec![LinkLoss { from: 1, to: 0, schedule }];
        spec.flows[0].active = vec![(ms(0), ms(100))];
        let active = vec![(ms(150), ms(20_000))];
        spec.flows.push(FlowSpec { name: "next".into(), active, traffic, ..spec.flows[0].clone() });
        let (result, web) = results(&spec, seconds(1, 0, 30));
        let [repeats, next] = &result.flows[..] else { panic!("two flows") };
        assert_eq!((web.requests, web.completed, repeats.retransmitted), (1, 1, 1));
        // A request each second; or data as the window allows, all along.
        let complete =
            next.transfers.as_ref().map_or(next.goodput_pps * 30.0 > 1000.0, |web| web.completed == 20);
        assert!(complete && next.retransmitted == 0, "{next:?}");
        assert_eq!(result.packets.under_way, 0, "all connections are closed");
    }
}
