//! A network that is stepped from outside takes the path that it takes in one run.

use super::outside::foreign;
use super::*;
use evenair_laws::backoff::{Access, Draw, Holding, OnFailure, When};

/// The same run, instant by instant. Before `next_at` nothing happens, and at it something does.
pub(super) fn instant_by_instant(spec: &NetworkSpec, run: RunSpec) -> RunResult {
    let mut network = Network::new(spec, run);
    let end = network.end();
    while network.next_at() <= end {
        let (now, at) = (network.now(), network.next_at());
        assert!(at >= now, "time runs backwards");
        if at > now {
            assert_eq!(network.advance(Instant::from_nanos(at.as_nanos() - 1)), None);
            assert_eq!((network.now(), network.next_at()), (now, at), "something happened too early");
        }
        assert_eq!(network.advance(at), None);
        assert_eq!(network.now(), at, "nothing happened when something was due");
        assert!(network.next_at() > at, "something was left over");
    }
    network.finish()
}

/// The same run in strides of this length.
pub(super) fn in_strides(spec: &NetworkSpec, run: RunSpec, stride: Duration) -> RunResult {
    let mut network = Network::new(spec, run);
    let end = network.end();
    let mut until = Instant::ZERO;
    while until < end {
        until = (until + stride).min(end);
        assert_eq!(network.advance(until), None);
    }
    network.finish()
}

#[test]
fn steps_from_outside_make_the_same_run() {
    let jittered = datagrams(Pattern::Constant { interval: Duration::from_millis(5), jitter: 0.5 });
    let lossy_wire = {
        let mut spec = wired(1_000, 20, 10, jittered);
        let model = LossModel::Frames(Probability::clamped(0.1));
        spec.losses = vec![LinkLoss { from: 0, to: 1, schedule: vec![(Instant::ZERO, model)] }];
        spec
    };
    for spec in
        [four_links(true), four_links(false), adaptive(), lossy_wire, chain(datagrams(Pattern::Saturated))]
    {
        let run = RunSpec { timeline: None, ..seconds(1, 1, 4) };
        let whole = Network::run(&spec, run);
        assert_eq!(instant_by_instant(&spec, run), whole);
        assert_eq!(in_strides(&spec, run, Duration::from_micros(777)), whole);
    }
}

#[test]
fn state_fetched_ahead_makes_the_same_run() {
    let radio = ThresholdRadio {
        transmission_range_m: 250.0,
        carrier_sense_range_m: 550.0,
        interference_range_m: 550.0,
        propagation: Propagation::default(),
    };
    let nodes: Vec<u32> = (0..80).collect();
    let at: Vec<Position> = nodes.iter().map(|&n| Position::new(f64::from(n) * 200.0, 0.0)).collect();
    let mut spec = chain(datagrams(Pattern::Saturated));
    spec.medium = Medium::from_positions(&at, &radio);
    spec.nodes = nodes.iter().map(|n| format!("n{n}")).collect();
    let hop = |&from: &u32| FlowSpec {
        name: format!("f{from}"),
        path: vec![from, from + 1],
        ..spec.flows[0].clone()
    };
    spec.flows = nodes[..79].iter().step_by(2).map(hop).collect();
    spec.flows[0] =
        FlowSpec { traffic: Traffic::Tcp(tcp(None)), path: vec![3, 2, 1, 0], ..spec.flows[0].clone() };
    let run = RunSpec { timeline: None, ..seconds(1, 0, 1) };
    let mut ahead = Network::new(&spec, run);
    ahead.core.air.look_ahead(true);
    assert_eq!(ahead.advance(ahead.end()), None);
    assert_eq!(ahead.finish(), Network::run(&spec, run));
}

#[test]
#[should_panic(expected = "what was due before has not been handled")]
fn injection_past_due_event_panics() {
    let mut network = Network::new(&four_links(false), seconds(1, 0, 5));
    let late = network.next_at() + Duration::from_nanos(1);
    let _ = network.inject(late, foreign(0, 1, 0));
}

#[test]
#[should_panic(expected = "time runs backwards")]
fn nor_into_the_past() {
    let mut network = Network::new(&four_links(false), seconds(1, 0, 5));
    network.advance(network.end());
    let _ = network.inject(Instant::ZERO, foreign(0, 1, 0));
}

#[test]
fn queue_delays_match_arithmetic() {
    // Two datagrams of 10 ms each enter at once, every 50 ms: the first waits for nothing, the second 10 ms.
    let every = Pattern::Constant { interval: Duration::from_millis(50), jitter: 0.0 };
    let mut spec = wired(1_000, 20, 10, datagrams(every));
    spec.flows.push(FlowSpec { name: "g".into(), ..spec.flows[0].clone() });
    let run = RunSpec { warmup: Duration::from_millis(1_040), ..seconds(1, 0, 10) };
    let result = Network::run(&spec, run);
    let link = &result.links[0];
    let waiting = link.waiting.as_ref().unwrap();
    assert!((waiting.mean_s - 0.005).abs() < 1e-12 && waiting.count == 400, "{waiting:?}");
    assert!((link.sojourn_s.unwrap() - 0.015).abs() < 1e-12, "{:?}", link.sojourn_s);
    assert_eq!((link.served_packets, link.served_bytes), (400, 400 * 1250));
    let waits: Vec<f64> = result.flows.iter().map(|flow| flow.queueing_delay_s.unwrap()).collect();
    assert!(waits[0].abs() < 1e-12 && (waits[1] - 0.010).abs() < 1e-12, "{waits:?}");
    assert_eq!(result.flows[0].ack_queueing_delay_s, None);
    assert_eq!(result.links[1].waiting, None, "nothing goes back");
}

#[test]
fn stepping_shows_flows_and_sets_access() {
    let (spec, run) = (four_links(false), seconds(1, 0, 4));
    let delivered = |shy: Option<u32>| -> Vec<u64> {
        let mut network = Network::new(&spec, run);
        if let Some(flow) = shy {
            let (queue, name) = network.source_queue(flow).expect("on the air");
            assert!(name.starts_with(spec.name(spec.flows[flow as usize].path[0])), "{name}");
            network.set_access(queue, patient());
        }
        assert_eq!(network.advance(network.end()), None);
        let states: Vec<_> = (0..4).map(|flow| network.flow_state(flow)).collect();
        let result = network.finish();
        for (state, flow) in states.iter().zip(&result.flows) {
            assert_eq!((state.sent, state.lost), (flow.sent, flow.lost));
            assert!((state.delivered.packets as f64 - flow.goodput_pps * 4.0).abs() < 1e-6);
            assert_eq!(state.connections, 1);
            assert!(state.congestion_window >= 1.0);
        }
        states.iter().map(|state| state.delivered.packets).collect()
    };
    let (even, shy) = (delivered(None), delivered(Some(3)));
    assert!(2 * shy[3] < even[3], "{shy:?} of {even:?}");
}

/// A window of 1023 slots.
fn patient() -> Access {
    Access {
        draw: Draw::Slots { window: 1023, end_included: true },
        on_failure: OnFailure::Redraw,
        when: When::AfterTransmission,
        holding: Holding::Packet,
    }
}
