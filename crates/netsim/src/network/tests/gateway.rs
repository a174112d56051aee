//! Gateways and limited sources in whole networks.

use super::*;
use crate::core::ClassRefused;
use crate::measure::ClassSeries;
use evenair_laws::gateway::{
    ClassCounters, ClassRole, Decision, Direction, FixedRateParams, PfrcParams, Reason, Step,
};

/// Four nodes in a row; two flows from the gateway, node 0, and one to it; each a class.
pub(super) fn shaped(shaper: Shaping, control: GatewayControl) -> NetworkSpec {
    let mut spec = chain(Traffic::Tcp(tcp(None)));
    let flow = spec.flows[0].clone();
    let paths = [vec![0, 1, 2], vec![0, 1], vec![2, 1, 0]];
    spec.flows = paths
        .iter()
        .zip(["a", "b", "c"])
        .map(|(path, name)| FlowSpec { name: name.into(), path: path.clone(), ..flow.clone() })
        .collect();
    let class = |(path, name): (&Vec<u32>, &str)| GatewayClass {
        name: name.into(),
        role: ClassRole {
            direction: if path[0] == 0 { Direction::Down } else { Direction::Up },
            link_rate: Some(Rate::from_kbps(800)),
            ..ClassRole::default()
        },
    };
    spec.gateway = Some(GatewaySpec {
        node: 0,
        stack: None,
        classes: paths.iter().zip(["2", "1", "2"]).map(class).collect(),
        of_flow: vec![Some(0), Some(1), Some(2)],
        of_replies: vec![None; 3],
        acknowledgements: false,
        no_busy_time: false,
        shaper,
        queue: QueueSpec::fifo(5),
        burst: Bytes::new(2080),
        burst_time: Duration::ZERO,
        control,
    });
    spec
}

fn plan(rates_kbps: [u64; 3]) -> GatewayControl {
    GatewayControl::Plan(vec![(Instant::ZERO, Shares::of_each(rates_kbps.map(Rate::from_kbps).to_vec()))])
}

fn pfrc() -> GatewayControl {
    let params = PfrcParams { epoch: Duration::from_millis(700), ..PfrcParams::default() };
    GatewayControl::Law(params.into())
}

/// A subscriber that downloads or uploads without end is busy all the time; without reports the law has no busy time.
#[test]
fn a_law_is_told_busy_time() {
    let told = |no_busy_time: bool| {
        let mut spec = shaped(Shaping::PerClass, pfrc());
        spec.gateway.as_mut().expect("it has one").no_busy_time = no_busy_time;
        let result = Network::run(&spec, seconds(1, 5, 60));
        let mean = |class: &ClassSeries| {
            let busy: Option<Vec<f64>> =
                class.counts[10..].iter().map(|seen| Some(seen.busy?.as_secs_f64() / 0.7)).collect();
            busy.map(|busy| busy.iter().sum::<f64>() / busy.len() as f64)
        };
        result.gateway.expect("it has one").series.classes.iter().map(mean).collect::<Vec<_>>()
    };
    let shares = told(false);
    // Two hops down take a while, one hop as long as the packet; uploads of full packets always have more.
    let [far, near, up] = [0, 1, 2].map(|class: usize| shares[class].expect("it is told"));
    assert!(near > 0.05 && far > near && up > 0.95 && up <= 1.0, "{shares:?}");
    assert_eq!(told(true), [None; 3]);
}

#[test]
fn every_class_gets_its_buckets_rate() {
    let spec = shaped(Shaping::PerClass, plan([40, 80, 60]));
    let result = Network::run(&spec, RunSpec { timeline: None, ..seconds(1, 5, 60) });
    let gateway = result.gateway.expect("it has one");
    for (class, kbps) in gateway.classes.iter().zip([40.0, 80.0, 60.0]) {
        let passed = class.served_bps / 1e3;
        assert!(passed < kbps * 1.01 && passed > kbps * 0.97, "{class:?}");
        assert!((class.allowed_bps / 1e3 - kbps).abs() < 1e-6, "{class:?}");
    }
    // A packet that passes the gateway downwards arrives a hop later.
    let goodput: f64 = result.flows[1].goodput_bps / 1e3;
    assert!((goodput / (80.0 * 1000.0 / 1040.0) - 1.0).abs() < 0.03, "{goodput}");
}

#[test]
fn one_bucket_holds_the_sum() {
    for shaper in [Shaping::Aggregate, Shaping::AggregateFair] {
        let result = Network::run(
            &shaped(shaper, plan([40, 80, 60])),
            RunSpec { timeline: None, ..seconds(1, 5, 60) },
        );
        let sum: f64 = result.gateway.unwrap().classes.iter().map(|class| class.served_bps / 1e3).sum();
        assert!((sum / 180.0 - 1.0).abs() < 0.02, "{shaper:?}: {sum}");
    }
}

#[test]
fn plan_and_law_change_rates_on_time() {
    let later = Instant::ZERO + Duration::from_secs(33);
    let control = GatewayControl::Plan(vec![
        (Instant::ZERO, Shares::of_each([40, 80, 60].map(Rate::from_kbps).to_vec())),
        (later, Shares::of_each([10, 10, 10].map(Rate::from_kbps).to_vec())),
    ]);
    let result =
        Network::run(&shaped(Shaping::PerClass, control), RunSpec { timeline: None, ..seconds(1, 5, 60) });
    let series = result.gateway.expect("it has one").series;
    assert_eq!(series.time_s, [0.0, 10.0, 20.0, 30.0, 33.0, 43.0, 53.0, 63.0]);
    let total: Vec<f64> = series.total_bps.iter().map(|bps| bps / 1e3).collect();
    assert_eq!(total, [180.0, 180.0, 180.0, 180.0, 30.0, 30.0, 30.0, 30.0]);
    let counted: u64 = series.classes[1].counts.iter().map(|view| view.served.bytes).sum();
    assert!(counted.abs_diff((33 * 80_000 + 30 * 10_000) / 8) < 6_000, "{counted} bytes");
    let result =
        Network::run(&shaped(Shaping::PerClass, pfrc()), RunSpec { timeline: None, ..seconds(1, 5, 60) });
    let series = result.gateway.expect("it has one").series;
    assert_eq!(series.time_s.len(), 1 + (65.0f64 / 0.7) as usize);
    assert!(series.total_bps.windows(2).any(|pair| (pair[0] - pair[1]).abs() > 1.0), "the law does nothing");
}

#[test]
fn stepping_is_running_with_a_gateway_too() {
    let mut limited = shaped(Shaping::AggregateFair, plan([40, 80, 60]));
    limited.source_limits = vec![SourceLimit {
        flow: 2,
        queue: QueueSpec::fifo(3),
        burst: Bytes::new(1040),
        plan: vec![(Instant::ZERO, Rate::from_kbps(30))],
    }];
    limited.link_layer_delay = Duration::from_micros(25);
    for spec in [shaped(Shaping::PerClass, pfrc()), limited] {
        let run = RunSpec { timeline: None, ..seconds(1, 1, 4) };
        let whole = Network::run(&spec, run);
        assert_eq!(stepping::instant_by_instant(&spec, run), whole);
        assert_eq!(stepping::in_strides(&spec, run, Duration::from_micros(777)), whole);
        let Packets { originated, delivered, dropped, under_way } = whole.packets;
        assert_eq!(originated, delivered + dropped + under_way);
    }
}

#[test]
fn acks_take_tokens_if_configured() {
    let run = RunSpec { timeline: None, ..seconds(1, 5, 40) };
    let passed = |acknowledgements: bool| {
        let mut spec = shaped(Shaping::PerClass, plan([40, 80, 60]));
        spec.gateway.as_mut().expect("it has one").acknowledgements = acknowledgements;
        let result = Network::run(&spec, run);
        (result.gateway.expect("it has one").classes[2].clone(), result.flows[2].goodput_bps)
    };
    let ((without, goodput), (with, less)) = (passed(false), passed(true));
    // Packets of the flow's data alone, or as many acknowledgements beside them; bytes are bounded alike.
    let per_datum = |class: &ClassResult, bps: f64| class.served_packets as f64 / (bps / 8000.0 * 40.0);
    assert!((per_datum(&without, goodput) - 1.0).abs() < 0.1, "{without:?}");
    assert!((per_datum(&with, less) - 2.0).abs() < 0.2, "{with:?}");
    assert!(less < goodput && with.served_bps < 60e3 * 1.01, "{less} of {goodput}, {with:?}");
}

#[test]
fn flow_without_class_passes_gateway() {
    let mut spec = shaped(Shaping::PerClass, plan([1, 1, 1]));
    spec.gateway.as_mut().expect("it has one").of_flow[1] = None;
    spec.routes = vec![vec![0, 1, 2]];
    let run = RunSpec { timeline: None, ..seconds(1, 0, 20) };
    let result = Network::run(&spec, run);
    assert!(result.flows[1].goodput_bps > 100e3, "{:?}", result.flows[1]);
    assert!(result.flows[0].goodput_bps < 2e3, "{:?}", result.flows[0]);
    // Nor are packets from outside shaped: their data and acknowledgements cannot be told apart.
    let mut network = Network::new(&spec, run);
    let foreign = Foreign {
        from: 0,
        to: 2,
        size: Bytes::new(700),
        whose: Whose::Nobody(1),
        since: None,
        category: Category::BestEffort,
        ecn: Codepoint::NotCapable,
        content: 7,
    };
    for _ in 0..20 {
        network.inject(Instant::ZERO, foreign).unwrap();
    }
    let mut came = 0;
    while network.advance(Instant::ZERO + Duration::from_secs(2)).is_some() {
        came += 1;
    }
    assert!(came >= 10, "{came} of 20 packets in 2 s, which are 12 s at 10 kb/s");
}

#[test]
fn shared_queue_serves_classes_and_flows_in_turn() {
    // Two flows to node 1, which is a class, and one to node 2: 300 kb/s, 0.8 kb/s, 300 kb/s through 200 kb/s.
    let through = |discipline: DisciplineParams| {
        let mut spec = shaped(Shaping::Aggregate, plan([50, 50, 100]));
        let every = |ms: u64, bytes: u32| {
            let pattern = Pattern::Constant { interval: Duration::from_millis(ms), jitter: 0.0 };
            Traffic::Datagrams { size: Bytes::new(bytes), headers: Bytes::new(0), pattern }
        };
        let (paths, weights) = ([vec![0, 1], vec![0, 1], vec![0, 1, 2]], [1.0, 1.0, 3.0]);
        let traffic = [every(40, 1500), every(1_000, 100), every(40, 1500)];
        for (flow, ((path, traffic), weight)) in
            spec.flows.iter_mut().zip(paths.into_iter().zip(traffic).zip(weights))
        {
            (flow.path, flow.traffic, flow.weight) = (path, traffic, weight);
        }
        let gateway = spec.gateway.as_mut().expect("it has one");
        gateway.classes.truncate(2);
        (gateway.classes[0].role.weight, gateway.classes[1].role.weight) = (1.0, 3.0);
        (gateway.classes[0].role.direction, gateway.classes[1].role.direction) =
            (Direction::Down, Direction::Down);
        (gateway.of_flow, gateway.queue) =
            (vec![Some(0), Some(0), Some(1)], QueueSpec { discipline, ..QueueSpec::fifo(100) });
        gateway.control = plan([50, 150, 0]);
        if let GatewayControl::Plan(plan) = &mut gateway.control {
            plan[0].1.each.truncate(2);
        }
        let result = Network::run(&spec, RunSpec { timeline: None, ..seconds(1, 20, 60) });
        assert_conserved(&result);
        let classes = result.gateway.expect("it has one").classes;
        (classes[1].served_bps / classes[0].served_bps, result.flows[1].queueing_delay_s.unwrap())
    };
    let (turns, behind) = through(DisciplineParams::Fair(FairParams::round_robin()));
    let (weighted, _) = through(DisciplineParams::Weighted(WeightedParams::default()));
    let (hosts, sparse) =
        through(DisciplineParams::Fair(FairParams { marking: None, ..FairParams::cake(Hosts::Destination) }));
    assert!((turns - 3.0).abs() < 0.1 && (weighted - 3.0).abs() < 0.1, "{turns} {weighted}");
    // A sparse flow waits for a packet at most: 60 ms; behind its class's other flow it waits for all of that.
    assert!((hosts - 1.0).abs() < 0.1 && sparse < 0.07 && behind > 1.0, "{hosts}: {sparse} s, {behind} s");
}

#[test]
fn saturated_sources_do_not_evict_each_other() {
    // Nothing leaves for seconds; all wait in one line that gives up a packet for each that comes.
    let mut spec = shaped(Shaping::Aggregate, plan([1, 1, 1]));
    for (flow, bytes) in spec.flows.iter_mut().zip([500, 900, 500]) {
        flow.traffic = Traffic::Datagrams {
            size: Bytes::new(bytes),
            headers: Bytes::new(0),
            pattern: Pattern::Saturated,
        };
    }
    let discipline = DisciplineParams::Fair(FairParams::round_robin());
    for limit in 1..=6 {
        let queue = QueueSpec { discipline: discipline.clone(), ..QueueSpec::fifo(limit) };
        spec.gateway.as_mut().expect("it has one").queue = queue;
        let result = Network::run(&spec, RunSpec { timeline: None, ..seconds(1, 1, 40) });
        assert_conserved(&result);
        // 3 kb/s, used whole: 40 s of it, and the bucket's content.
        let served: f64 =
            result.gateway.expect("it has one").classes.iter().map(|class| class.served_bps).sum();
        assert!((served - 3e3).abs() < 500.0, "{served} bit/s with room for {limit}");
    }
}

#[test]
fn subscriber_is_far_end_as_seen_from_gateway() {
    // Node 0 behind a wire from node 1; nodes 1 to 4 on the air.
    let mut spec = wired(1_000, 1, 50, datagrams(Pattern::Saturated));
    let of = |spec: &NetworkSpec, node: u32, path: &[u32]| spec.subscriber_at(node, path);
    // At any node: packets from the wire are their destination's, packets to it their source's.
    for node in 0..5 {
        assert_eq!(of(&spec, node, &[0, 1, 2, 3]), 3);
        assert_eq!(of(&spec, node, &[3, 2, 1, 0]), 3);
    }
    // Peers are told apart by the source; a node that knows of no gateway takes itself for it.
    assert_eq!([2, 3, 4].map(|node| of(&spec, node, &[2, 3, 4])), [4, 2, 2]);
    assert_eq!(of(&spec, 0, &[0, 1]), 1, "wires alone have no mesh behind them");
    assert_eq!(of(&spec, 1, &[1, BROADCAST]), BROADCAST);
    // A gateway that is known is one for all queues.
    spec.gateway = Some(GatewaySpec { node: 1, ..shaped(Shaping::PerClass, plan([1; 3])).gateway.unwrap() });
    for node in 0..5 {
        assert_eq!(of(&spec, node, &[1, 2, 3]), 3);
        assert_eq!(of(&spec, node, &[3, 2, 1]), 3);
        assert_eq!(of(&spec, node, &[4, 1, 2]), 4, "through the gateway, to a peer");
    }
    assert_eq!(of(&spec, 3, &[2, 3, 4]), 2, "past it");
}

/// All that happens until then; nothing comes from outside.
fn go_on(network: &mut Network, until_s: u64) -> Instant {
    let until = Instant::ZERO + Duration::from_secs(until_s);
    assert_eq!(network.advance(until), None);
    until
}

/// A gateway's decision and allowances at an instant \[s; bit/s\], each and all together.
fn at(result: &GatewayResult, at_s: f64) -> (Decision, Vec<f64>, f64) {
    let series = &result.series;
    let look = series.time_s.iter().rposition(|&s| s <= at_s).expect("it looked before");
    let allowed = series.classes.iter().map(|class| class.allowed_bps[look]).collect();
    (series.decisions[look], allowed, series.total_bps[look])
}

#[test]
fn search_continues_while_subscribers_change() {
    let spec = shaped(Shaping::PerClass, pfrc());
    let mut network = Network::new(&spec, RunSpec { timeline: None, ..seconds(1, 0, 120) });
    let before = go_on(&mut network, 40);
    let role = spec.gateway.as_ref().unwrap().classes[0].role;
    network.set_gateway_class(before, 0, Some(ClassRole { weight: 3.0, ..role })).unwrap();
    let gone = go_on(&mut network, 60);
    network.set_gateway_class(gone, 1, None).unwrap();
    let back = go_on(&mut network, 80);
    network.set_gateway_class(back, 1, Some(role)).unwrap();
    let end = go_on(&mut network, 120);
    let result = network.finish_at(end);
    let gateway = result.gateway.as_ref().unwrap();

    // At once, each has its part of the capacity that was found, which is not the one that the search began with.
    let ((_, _, start), (_, equal, found)) = (at(gateway, 0.0), at(gateway, 39.99));
    let (decision, weighted, total) = at(gateway, 40.0);
    assert_eq!((decision.step, decision.reason), (Step::Hold, Reason::Reconfigured));
    assert!(
        (found - start).abs() > 1_000.0 && (total - found).abs() < 0.01 * found,
        "{start} {found} {total}"
    );
    let ratio = |rates: &[f64]| rates[0] / rates[2];
    assert!((ratio(&equal) - 1.0).abs() < 0.01 && (ratio(&weighted) - 3.0).abs() < 0.03, "{weighted:?}");

    // A class that goes leaves a part to the others, and its own bucket as it was; the law counts two, and goes on.
    let (_, three, _) = at(gateway, 59.99);
    let (decision, two, total) = at(gateway, 60.0);
    assert_eq!((decision.step, decision.reason), (Step::Hold, Reason::Reconfigured));
    assert!((two[1] - three[1]).abs() < 1e-9 && (two[0] + two[2] - total).abs() < 2.0, "{two:?}");
    assert!(two[0] > three[0] && two[2] > three[2], "{three:?} {two:?}");
    let looks = gateway.series.time_s.iter().zip(&gateway.series.classes[1].counts);
    let while_gone = looks.filter(|(s, _)| (60.5..79.9).contains(*s)).map(|(_, seen)| seen.served.packets);
    assert_eq!(while_gone.sum::<u64>(), 0, "nobody looks at who has gone");

    // A class that returns has a share again, and is counted from the second sample on.
    let (_, three, total) = at(gateway, 85.0);
    assert!(three[1] > 0.1 * total && three[0] > 2.0 * three[2], "{three:?}");
    assert!(gateway.series.classes[1].counts.last().unwrap().served.packets > 0);
    assert_conserved(&result);
}

/// Lines without buckets of their own take turns by weight: 1 to 1, and 1 to 3 from the middle on.
#[test]
fn turns_follow_weights() {
    let law = FixedRateParams { rate: Some(Rate::from_kbps(120)), ..FixedRateParams::default() };
    let mut spec = shaped(Shaping::AggregateFair, GatewayControl::Law(law.into()));
    let pattern = Pattern::Constant { interval: Duration::from_millis(40), jitter: 0.0 };
    for flow in &mut spec.flows {
        flow.traffic = Traffic::Datagrams { size: Bytes::new(1000), headers: Bytes::new(0), pattern };
    }
    spec.flows[2].active.clear();
    let mut network = Network::new(&spec, RunSpec { timeline: None, ..seconds(1, 0, 200) });
    let served = |network: &Network| {
        let (_, counts) = network.core.gateway().unwrap();
        [0, 1].map(|class: usize| {
            counts[class].counters().since(&ClassCounters::default()).unwrap().served.bytes as f64
        })
    };
    let middle = go_on(&mut network, 100);
    let first = served(&network);
    let role = spec.gateway.as_ref().unwrap().classes[1].role;
    network.set_gateway_class(middle, 1, Some(ClassRole { weight: 3.0, ..role })).unwrap();
    go_on(&mut network, 200);
    let second = served(&network);
    assert!((first[1] / first[0] - 1.0).abs() < 0.02, "{first:?}");
    let after = (second[1] - first[1]) / (second[0] - first[0]);
    assert!((after - 3.0).abs() < 0.1, "{after}");
}

#[test]
fn unchangeable_gateway_is_an_error() {
    let run = RunSpec { timeline: None, ..seconds(1, 0, 1) };
    let refused = |spec: &NetworkSpec, class, role| {
        Network::new(spec, run).set_gateway_class(Instant::ZERO, class, role).unwrap_err()
    };
    let with_law = shaped(Shaping::PerClass, pfrc());
    let none = NetworkSpec { gateway: None, ..with_law.clone() };
    let free = Some(ClassRole { weight: 0.0, ..ClassRole::default() });
    assert_eq!(refused(&none, 0, None), ClassRefused::NoGateway);
    assert_eq!(refused(&shaped(Shaping::PerClass, plan([1, 1, 1])), 0, None), ClassRefused::Planned);
    assert_eq!(refused(&with_law, 3, None), ClassRefused::NoClass(3));
    assert_eq!(refused(&with_law, 0, free), ClassRefused::Weight(0.0));
    assert_eq!(ClassRefused::Weight(0.0).to_string(), "a weight of 0: it must be above 0, and finite");
}
