//! Queues in networks: the effect of disciplines and markings on delays and shares.

use super::*;
use crate::queue::tests::every_discipline;
use crate::queue::{AirtimeParams, WeightedParams};
use evenair_laws::marking::{
    CodelParams, DropTail, FredParams, MarkingParams, PieParams, Proportional, RedParams,
};

/// A queue of any discipline, with any marking.
pub(super) fn any_queue(discipline: usize, marking: usize, limit_packets: u32) -> QueueSpec {
    let marking = match marking {
        0 => None,
        1 => Some(MarkingParams::Proportional(Proportional { per_packet: 0.01 })),
        2 => Some(MarkingParams::DropTail(DropTail::packets(7))),
        3 => Some(MarkingParams::Codel(CodelParams::rfc8289())),
        4 => Some(MarkingParams::Red(RedParams { weight: 0.1, ..RedParams::default() })),
        5 => Some(MarkingParams::Pie(PieParams::rfc8033())),
        _ => Some(MarkingParams::Fred(FredParams { weight: 0.1, ..FredParams::default() })),
    };
    let per = if limit_packets.is_multiple_of(2) { Per::Flow } else { Per::Subscriber };
    QueueSpec { discipline: every_discipline()[discipline].clone(), marking, limit_packets, per }
}

/// Flows over one wire of 10 Mb/s and 10 ms each way.
fn bottleneck(queue: QueueSpec, flows: &[Traffic]) -> NetworkSpec {
    let mut spec = wired(10_000, 10, 1_000, flows[0].clone());
    spec.wires[0].queue = queue;
    let flow = |(index, traffic): (usize, &Traffic)| FlowSpec {
        name: index.to_string(),
        traffic: traffic.clone(),
        ..spec.flows[0].clone()
    };
    spec.flows = flows.iter().enumerate().map(flow).collect();
    spec
}

/// A TCP flow with a receiver's window that does not bind.
fn greedy() -> Traffic {
    let mut tcp = tcp(None);
    tcp.sender.receiver_window = 2_000;
    Traffic::Tcp(tcp)
}

fn every_ms(ms: u64, bytes: u32) -> Traffic {
    let pattern = Pattern::Constant { interval: Duration::from_millis(ms), jitter: 0.0 };
    Traffic::Datagrams { size: Bytes::new(bytes), headers: Bytes::new(0), pattern }
}

fn codel() -> QueueSpec {
    QueueSpec { marking: Some(CodelParams::rfc8289().into()), ..QueueSpec::fifo(1_000) }
}

fn fair(params: FairParams) -> QueueSpec {
    QueueSpec { discipline: DisciplineParams::Fair(params), ..QueueSpec::fifo(1_000) }
}

#[test]
fn codel_keeps_a_standing_queue_near_its_target() {
    let delay_s = |queue| {
        let result = Network::run(&bottleneck(queue, &[greedy()]), seconds(1, 30, 60));
        assert_conserved(&result);
        let used = result.flows[0].goodput_bps / 10e6;
        assert!(used > 0.75, "{used} of the wire is used");
        (result.links[0].waiting.as_ref().unwrap().mean_s, result.links[0].dropped_by_law)
    };
    // 1000 packets of 1040 bytes are 0.83 s; a target of 5 ms, with round trips of 20 ms, oscillates below twice that.
    let ((full, none), (short, dropped)) = (delay_s(QueueSpec::fifo(1_000)), delay_s(codel()));
    assert!(full > 0.1 && none == 0, "without CoDel {full} s");
    assert!(short < 0.010 && dropped > 0, "with CoDel {short} s");
}

#[test]
fn red_keeps_the_average_between_thresholds() {
    let waiting = |marking: Option<MarkingParams>| {
        let queue = QueueSpec { marking, ..QueueSpec::fifo(100) };
        let result = Network::run(&bottleneck(queue, &[(); 12].map(|()| greedy())), seconds(1, 30, 60));
        assert_conserved(&result);
        let used = result.flows.iter().map(|flow| flow.goodput_bps).sum::<f64>() / 1e6;
        assert!(used > 8.5, "{used} Mb/s of the wire are used");
        let link = &result.links[0];
        // Little's law: packets that wait are those that come while one does.
        link.waiting.as_ref().unwrap().mean_s * link.served_packets as f64 / 60.0
    };
    let full = waiting(None);
    let red = waiting(Some(RedParams::default().into()));
    assert!(full > 50.0 && (5.0..15.0).contains(&red), "{red} packets wait, {full} without");
}

#[test]
fn pie_keeps_a_standing_queue_near_its_target() {
    let queue = QueueSpec { marking: Some(PieParams::rfc8033().into()), ..QueueSpec::fifo(1_000) };
    let result = Network::run(&bottleneck(queue, &[(); 5].map(|()| greedy())), seconds(1, 30, 60));
    assert_conserved(&result);
    let used = result.flows.iter().map(|flow| flow.goodput_bps).sum::<f64>() / 10e6;
    let delay_s = result.links[0].waiting.as_ref().unwrap().mean_s;
    // RFC 8033 section 4.2: the delay settles around QDELAY_REF.
    assert!(used > 0.9 && (0.010..0.020).contains(&delay_s), "{used} of the wire, {delay_s} s");
}

#[test]
fn fred_protects_flow_that_holds_little_of_queue() {
    // 12 Mb/s over 10 Mb/s, and 40 packets/s beside it.
    let flows = [every_ms(1, 1500), every_ms(25, 1500)];
    let lost = |marking: MarkingParams| {
        let queue = QueueSpec { marking: Some(marking), ..QueueSpec::fifo(50) };
        let result = Network::run(&bottleneck(queue, &flows), seconds(1, 5, 60));
        assert_conserved(&result);
        [0, 1].map(|i| result.flows[i].lost as f64 / (60.0 * [1000.0, 40.0][i]))
    };
    let [flood, calm] = lost(RedParams::default().into());
    assert!(calm > 0.5 * flood, "RED refuses both alike: {flood} {calm}");
    let [flood, calm] = lost(FredParams::default().into());
    assert!(calm < 0.001 && flood > 0.15, "{flood} {calm}");
}

#[test]
fn a_node_may_have_queues_of_its_own() {
    // The first flow alone, with more than its link carries.
    let delay_s = |node_queues: Vec<(u32, QueueSpec)>| {
        let mut spec = NetworkSpec { node_queues, ..four_links(false) };
        spec.flows.truncate(1);
        spec.flows[0].traffic = every_ms(1, 1000);
        let result = Network::run(&spec, seconds(1, 1, 10));
        assert_conserved(&result);
        result.links[0].waiting.as_ref().unwrap().mean_s
    };
    let all = delay_s(Vec::new());
    let (short, another) = (delay_s(vec![(0, QueueSpec::fifo(5))]), delay_s(vec![(1, QueueSpec::fifo(5))]));
    // An arrival that is accepted finds one place free, and a part of a packet in service.
    let (least, most) = (50.0 / 5.0, 49.0 / 4.0);
    assert!((least..most).contains(&(all / short)), "50 packets wait, and 5: {all} s, {short} s");
    assert!((another / all - 1.0).abs() < 1e-12, "it is the other node's");
}

#[test]
fn fq_codel_isolates_a_sparse_flow() {
    // A greedy flow, and 100 bytes every 20 ms beside it.
    let delay_s = |queue| {
        let result = Network::run(&bottleneck(queue, &[greedy(), every_ms(20, 100)]), seconds(1, 10, 30));
        assert_conserved(&result);
        assert!(result.flows[0].goodput_bps > 7e6, "{:?}", goodputs(&result));
        (result.flows[1].queueing_delay_s.unwrap(), result.flows[1].lost)
    };
    let (shared, _) = delay_s(QueueSpec::fifo(1_000));
    let (own, lost) = delay_s(fair(FairParams::fq_codel()));
    // It waits for the packet in service alone: 0.83 ms at most.
    assert!(own < 0.00084 && lost == 0, "{own} s, {lost} lost");
    assert!(shared > 20.0 * own, "{shared} s in one line");
}

#[test]
fn fair_queueing_shares_bytes_by_size() {
    // 12 Mb/s each of 1500 and of 300 bytes over 10 Mb/s.
    let flows = [every_ms(1, 1500), {
        let pattern = Pattern::Constant { interval: Duration::from_micros(200), jitter: 0.0 };
        Traffic::Datagrams { size: Bytes::new(300), headers: Bytes::new(0), pattern }
    }];
    let bits = |queue| {
        let result = Network::run(&bottleneck(queue, &flows), seconds(1, 5, 20));
        assert_conserved(&result);
        [result.flows[0].goodput_bps, result.flows[1].goodput_bps]
    };
    let [large, small] = bits(fair(FairParams::round_robin()));
    assert!((large / small - 1.0).abs() < 0.01 && large + small > 9.9e6, "{large} {small}");
}

#[test]
fn weights_are_shares() {
    let mut spec = bottleneck(
        QueueSpec {
            discipline: DisciplineParams::Weighted(WeightedParams::default()),
            ..QueueSpec::fifo(100)
        },
        &[every_ms(1, 1500), every_ms(1, 1500), every_ms(1, 600)],
    );
    for (flow, weight) in spec.flows.iter_mut().zip([5.0, 3.0, 2.0]) {
        flow.weight = weight;
    }
    let result = Network::run(&spec, seconds(1, 5, 20));
    assert_conserved(&result);
    for (flow, weight) in result.flows.iter().zip([5.0, 3.0, 2.0]) {
        assert!((flow.goodput_bps / (weight * 1e6) - 1.0).abs() < 0.01, "{weight}: {}", flow.goodput_bps);
    }
}

/// Nodes a and b send to d over r: a has three flows, b one; 10 Mb/s from r to d.
fn two_subscribers(queue: QueueSpec, traffic: &Traffic) -> NetworkSpec {
    let mut spec = wired(100_000, 1, 1_000, traffic.clone());
    spec.nodes = ["a", "b", "r", "d"].map(String::from).to_vec();
    spec.medium = Medium::from_signals(4, &[], Dbm::new(0.0), Dbm::new(0.0));
    let (fast, flow) = (spec.wires[0].clone(), spec.flows[0].clone());
    let wire = |(from, to)| Wire { from, to, ..fast.clone() };
    spec.wires = [(0, 2), (2, 0), (1, 2), (2, 1), (3, 2)].map(wire).to_vec();
    spec.wires.push(Wire { rate: Rate::from_kbps(10_000), queue, ..wire((2, 3)) });
    let flow =
        |(name, from): (&str, u32)| FlowSpec { name: name.into(), path: vec![from, 2, 3], ..flow.clone() };
    spec.flows = [("a1", 0), ("a2", 0), ("a3", 0), ("b", 1)].map(flow).to_vec();
    spec
}

#[test]
fn subscribers_or_flows_share_a_bottleneck() {
    // The sum of a's flows over b's.
    let ratio = |queue: &QueueSpec, traffic: &Traffic| {
        let result = Network::run(&two_subscribers(queue.clone(), traffic), seconds(1, 5, 20));
        assert_conserved(&result);
        let all: Vec<f64> = result.flows.iter().map(|flow| flow.goodput_bps).collect();
        assert!(all.iter().sum::<f64>() > 9e6, "{all:?}");
        all[..3].iter().sum::<f64>() / all[3]
    };
    let weighted = DisciplineParams::Weighted(WeightedParams { line_limit: Some(200) });
    let fred = QueueSpec { marking: Some(FredParams::default().into()), ..QueueSpec::fifo(50) };
    for (queue, traffic, tolerance) in [
        (fair(FairParams::round_robin()), every_ms(1, 1500), 0.01),
        (fair(FairParams::fq_codel()), greedy(), 0.05),
        (QueueSpec { discipline: weighted, ..QueueSpec::fifo(1_000) }, every_ms(1, 1500), 0.01),
        // As many packets for each are not quite as much for each.
        (
            fred,
            Traffic::Datagrams {
                size: Bytes::new(1500),
                headers: Bytes::new(0),
                pattern: Pattern::Constant { interval: Duration::from_millis(1), jitter: 0.9 },
            },
            0.2,
        ),
    ] {
        let (flows, subscribers) =
            (ratio(&queue, &traffic), ratio(&QueueSpec { per: Per::Subscriber, ..queue.clone() }, &traffic));
        assert!((flows / 3.0 - 1.0).abs() < tolerance, "{queue:?}: {flows}");
        assert!((subscribers - 1.0).abs() < tolerance, "{queue:?}: {subscribers}");
    }
}

#[test]
fn gateway_queue_separates_destinations() {
    // Two flows from node 1 to node 0, one to node 2; no table says that node 1 is the gateway.
    let shares = |per: Per| {
        let mut spec = chain(every_ms(2, 1000));
        let flow = spec.flows[0].clone();
        let paths = [vec![1, 0], vec![1, 0], vec![1, 2]];
        let flow = |(path, name): (Vec<u32>, &str)| FlowSpec { name: name.into(), path, ..flow.clone() };
        spec.flows = paths.into_iter().zip(["one", "one, too", "another"]).map(flow).collect();
        spec.queue = QueueSpec { per, ..fair(FairParams::round_robin()) };
        let result = Network::run(&spec, seconds(1, 5, 30));
        let one = result.flows[0].goodput_bps + result.flows[1].goodput_bps;
        (one / result.flows[2].goodput_bps, result)
    };
    let ((flows, _), (subscribers, result)) = (shares(Per::Flow), shares(Per::Subscriber));
    assert_conserved(&result);
    assert!((flows - 2.0).abs() < 0.02 && (subscribers - 1.0).abs() < 0.02, "{flows} {subscribers}");
}

#[test]
fn slow_station_does_not_take_time_of_fast_one() {
    // One access point, two stations: the first at 11 Mb/s, the second at 1; the first loses some packets.
    let goodput = |flows: &[usize], discipline: DisciplineParams, lossy: bool| {
        let mut spec = four_links(false);
        spec.medium = medium(&[[0.0, 0.0, 50.0, 0.0], [0.0, 50.0, 50.0, 50.0]]);
        spec.nodes.truncate(4);
        let to = [1, 2];
        spec.flows = flows
            .iter()
            .map(|&flow| FlowSpec {
                name: flow.to_string(),
                path: vec![0, to[flow]],
                traffic: every_ms(1, 1500),
                ..spec.flows[0].clone()
            })
            .collect();
        spec.rates = vec![LinkRate { from: 0, to: 2, mode: Rate::from_kbps(1_000).into() }];
        if lossy {
            let schedule = vec![(Instant::ZERO, LossModel::Frames(Probability::clamped(0.4)))];
            spec.losses = vec![LinkLoss { from: 0, to: 1, schedule }];
        }
        spec.queue = QueueSpec { discipline, ..QueueSpec::fifo(200) };
        let result = Network::run(&spec, seconds(1, 2, 30));
        assert_conserved(&result);
        result.flows.iter().map(|flow| flow.goodput_bps).collect::<Vec<f64>>()
    };
    let airtime = || DisciplineParams::Airtime(AirtimeParams::mac80211());
    let bytes = DisciplineParams::Fair(FairParams::round_robin());
    let anomaly = goodput(&[0, 1], bytes, false);
    assert!((anomaly[0] / anomaly[1] - 1.0).abs() < 0.02, "in bytes both have the same: {anomaly:?}");
    // No station pays for back-off, so one that backs off more for each attempt has more than half of the time. The k-th
    // attempt draws from a window of 2^(k + 4) − 1 slots.
    let timing = MacTiming::b(Preamble::Long, Rate::from_kbps(1_000));
    let time = |loss: f64, kbps: u64| {
        let attempts = || (0..7).map(|k| (loss.powi(k), f64::from(2i32.pow(k as u32 + 4)) - 0.5));
        let mean: f64 = attempts().map(|(share, slots)| share * slots).sum::<f64>()
            / attempts().map(|(share, _)| share).sum::<f64>();
        1.0 + mean * 20e-6 / timing.exchange(Bytes::new(1500), Rate::from_kbps(kbps)).as_secs_f64()
    };
    for (lossy, loss) in [(false, 0.0), (true, 0.4)] {
        let alone: Vec<f64> = [0, 1].map(|flow| goodput(&[flow], airtime(), lossy)[0]).into();
        let both = goodput(&[0, 1], airtime(), lossy);
        let (fast, slow) = (time(loss, 11_000), time(0.0, 1_000));
        for i in 0..2 {
            let expected = [fast, slow][i] / (fast + slow);
            let share = both[i] / alone[i];
            assert!(
                (share - expected).abs() < 0.015,
                "lossy {lossy}: {share} of the time, {expected} expected"
            );
        }
    }
}

#[test]
fn fair_queueing_works_over_the_air_too() {
    // Two flows of one node, one that fills its queue and one of 40 packets/s.
    let mut spec = four_links(false);
    let greedy = datagrams(Pattern::Saturated);
    let flow = |name: &str, traffic: &Traffic| FlowSpec {
        name: name.into(),
        traffic: traffic.clone(),
        ..four_links(false).flows[0].clone()
    };
    let flood = Traffic::Datagrams {
        size: Bytes::new(1250),
        headers: Bytes::new(0),
        pattern: Pattern::Constant { interval: Duration::from_micros(500), jitter: 0.0 },
    };
    spec.flows = vec![flow("flood", &flood), flow("calm", &every_ms(25, 200))];
    let run = |queue: QueueSpec| Network::run(&NetworkSpec { queue, ..spec.clone() }, seconds(1, 1, 10));
    let (fifo, fq) =
        (run(QueueSpec::fifo(50)), run(QueueSpec { limit_packets: 50, ..fair(FairParams::fq_codel()) }));
    assert!(fifo.flows[1].lost > 50 && fq.flows[1].lost == 0, "{} {}", fifo.flows[1].lost, fq.flows[1].lost);
    assert!(fq.flows[1].delay.as_ref().unwrap().mean_s < 0.005, "{:?}", fq.flows[1]);
    assert!(fifo.flows[1].delay.as_ref().unwrap().mean_s > 0.050, "{:?}", fifo.flows[1]);
    // Packets that a saturated source's queue gives up fill the gap.
    let codel = Network::run(
        &NetworkSpec { queue: codel(), flows: vec![flow("greedy", &greedy)], ..spec.clone() },
        seconds(1, 1, 10),
    );
    assert!(codel.flows[0].goodput_pps > 500.0);
    assert_conserved(&codel);
}

#[test]
fn discipline_may_hold_packets_until_an_instant() {
    // The stack opens every 10 ms: one packet at a time, none before.
    let stack = every_discipline().pop().unwrap();
    let queue = QueueSpec { discipline: stack, ..QueueSpec::fifo(1_000) };
    let result = Network::run(&bottleneck(queue, &[every_ms(25, 100)]), seconds(1, 0, 10));
    assert_conserved(&result);
    // Packets come at 0, 25, 50, 75 ms and leave at 0, 30, 50, 80.
    let delay_s = result.links[0].waiting.as_ref().unwrap().mean_s;
    assert!((delay_s - 0.0025).abs() < 0.0001, "{delay_s}");
    assert!((result.flows[0].goodput_pps - 40.0).abs() < 0.2);
}

#[test]
fn back_off_laws_see_complete_links() {
    use evenair_laws::OwnLaw;
    use evenair_laws::backoff::{Access, BackoffLaw, Dcf, LinkRole, LinkView, OwnBackoff, Scope};
    use std::sync::{Arc, Mutex};

    /// DCF that records its view every 100 ms.
    #[derive(Clone, Debug)]
    struct Watch(Dcf, Arc<Mutex<Vec<LinkView>>>);
    impl OwnLaw for Watch {
        fn identity(&self) -> String {
            "watch".into()
        }
    }
    impl BackoffLaw for Watch {
        fn begin(&mut self, role: &LinkRole) {
            self.0.begin(role);
        }
        fn scope(&self) -> Scope {
            self.0.scope()
        }
        fn update_interval(&self) -> Option<Duration> {
            Some(Duration::from_millis(100))
        }
        fn on_update(&mut self, link: &LinkView) {
            self.1.lock().unwrap().push(*link);
        }
        fn access(&self) -> Access {
            self.0.access()
        }
    }

    let mut spec = four_links(false);
    let views = Arc::new(Mutex::new(Vec::new()));
    let role = LinkRole::data(spec.surroundings);
    spec.backoff =
        OwnBackoff::new(Watch(evenair_laws::Parameters::begin(&DcfParams::default(), &role), views.clone()))
            .into();
    spec.flows.truncate(1);
    spec.flows[0].traffic = every_ms(1, 1000); // more than the link carries
    let result = Network::run(&spec, seconds(1, 0, 10));
    let views = views.lock().unwrap();
    let data: Vec<&LinkView> = views.iter().filter(|view| view.arrivals.packets > 0).collect();
    assert_eq!(data.len(), 100, "once in each interval");
    for pair in data.windows(2) {
        let [before, view] = pair else { unreachable!() };
        assert_eq!(view.interval, Duration::from_millis(100));
        // Arrivals are departures plus the growth of the backlog: nothing else happens to packets here.
        let more = view.backlog.packets.cast_signed() - before.backlog.packets.cast_signed();
        assert_eq!(view.arrivals.packets.cast_signed(), view.service.packets.cast_signed() + more);
        assert_eq!(view.service.bytes, 1000 * view.service.packets);
    }
    let head = data[99].head_of_line_delay.unwrap();
    // The head waited behind 50 others, at about 1.6 ms each.
    assert!((0.05..0.15).contains(&head.as_secs_f64()), "{head:?}");
    let served: u64 = data.iter().map(|view| view.service.packets).sum();
    assert!(served.abs_diff(result.links[0].served_packets) < 60, "{served}");
}
