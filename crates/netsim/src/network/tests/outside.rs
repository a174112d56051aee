//! Packets from outside: they pass through, each has one end that is told, and results tell of them.

use super::*;
use evenair_laws::gateway::{ClassRole, Direction};
use std::collections::BTreeMap;

pub(super) fn foreign(from: u32, to: u32, content: u64) -> Foreign {
    Foreign {
        from,
        to,
        size: Bytes::new(700),
        whose: Whose::Nobody(1),
        since: None,
        category: Category::BestEffort,
        ecn: Codepoint::NotCapable,
        content,
    }
}

/// Injects a packet every so often, made from its number, and gives all that becomes of them until `end`.
fn feed(
    network: &mut Network,
    every: Duration,
    end: Instant,
    mut packet: impl FnMut(u64) -> Foreign,
) -> Vec<Emerged> {
    let mut out = Vec::new();
    let mut next = Instant::ZERO + Duration::from_millis(1);
    for content in 0.. {
        while let Some(emerged) = network.advance(next.min(end)) {
            out.push(emerged);
        }
        if next > end {
            return out;
        }
        network.inject(next, packet(content)).unwrap();
        next += every;
    }
    out
}

/// A packet every 3 ms, from each end of the chain in turn.
fn exchange(network: &mut Network, end: Instant) -> Vec<Emerged> {
    feed(network, Duration::from_millis(3), end, |content| {
        let (from, to) = if content % 2 == 0 { (0, 3) } else { (3, 1) };
        foreign(from, to, content)
    })
}

/// The remaining outcomes, until the run's end.
fn rest(network: &mut Network) -> Vec<Emerged> {
    std::iter::from_fn(|| network.advance(network.end())).collect()
}

fn arrived(out: &[Emerged]) -> impl Iterator<Item = &Emerged> {
    out.iter().filter(|emerged| emerged.fate == Fate::Arrived)
}

/// The chain, without flows of its own.
fn bare_chain() -> NetworkSpec {
    let mut spec = chain(Traffic::Tcp(tcp(None)));
    spec.flows.clear();
    spec
}

#[test]
fn they_go_in_and_come_out_in_order() {
    let mut network = Network::new(&bare_chain(), seconds(1, 0, 3));
    let mut out = exchange(&mut network, Instant::ZERO + Duration::from_secs(2));
    // Packets still under way then come out after it.
    out.extend(rest(&mut network));
    for (parity, node) in [(0, 3), (1, 1)] {
        let there: Vec<u64> =
            arrived(&out).filter(|e| e.packet.to == node).map(|e| e.packet.content).collect();
        assert!(there.is_sorted() && there.iter().all(|content| content % 2 == parity));
    }
    let result = network.finish();
    let packets = result.packets;
    assert_eq!((packets.originated, packets.under_way), (667, 0), "one every 3 ms for 2 s");
    assert_eq!(packets.delivered, arrived(&out).count() as u64);
    // Node 0 and node 3 do not hear each other: some packets collide until they are given up.
    assert!(packets.dropped < 20, "{packets:?}");
    // The result tells of each pair.
    let [there, back] = &result.outside[..] else { panic!("{:?}", result.outside) };
    assert_eq!((there.from.as_str(), there.to.as_str()), ("n0", "n3"));
    assert_eq!((there.entered_packets, back.entered_packets), (334, 333));
    assert_eq!(there.arrived_packets + there.lost_packets, 334);
    assert_eq!(there.arrived_bytes, there.arrived_packets * 700);
    // 700 bytes take 0.5 ms at 11 Mb/s, and headers and spaces more, at each hop.
    for (pair, hops) in [(there, 3.0), (back, 2.0)] {
        let delay = pair.delay.as_ref().unwrap();
        assert!(delay.count == pair.arrived_packets && delay.mean_s > hops * 0.7e-3, "{pair:?}");
    }
}

#[test]
fn each_end_is_reported_once_with_cause() {
    // Two packets come for each that the air can carry; the buffer is short.
    let mut spec = bare_chain();
    spec.queue = QueueSpec::fifo(3);
    let mut network = Network::new(&spec, seconds(1, 0, 2));
    let first = Instant::ZERO + Duration::from_secs(1);
    let mut out = feed(&mut network, Duration::from_micros(400), first, |content| foreign(0, 3, content));
    out.extend(rest(&mut network));
    let mut told: BTreeMap<u64, Fate> = BTreeMap::new();
    for emerged in &out {
        assert_eq!(told.insert(emerged.packet.content, emerged.fate), None, "told twice: {emerged:?}");
    }
    assert_eq!(told.len(), 2498, "one every 0.4 ms for a second");
    let lost = |node: u32, cause: LossCause| {
        told.values().filter(|&&fate| fate == Fate::Lost { node, cause }).count() as u64
    };
    let result = network.finish();
    assert_eq!(result.packets.dropped, told.values().filter(|&&fate| fate != Fate::Arrived).count() as u64);
    for (node, link) in (0..3).zip(&result.links) {
        assert_eq!(lost(node, LossCause::Overflow), link.dropped_queue_full, "{}", link.queue);
        let given_up = link.dropped_retries - link.received_despite;
        assert_eq!(lost(node, LossCause::Retries), given_up, "{}", link.queue);
    }
    assert!(lost(0, LossCause::Overflow) > 1000, "{told:?}");
}

#[test]
fn losses_on_wires_and_by_laws_are_told_apart() {
    let mut spec = wired(1_000, 20, 10, datagrams(Pattern::Saturated));
    spec.flows.clear();
    spec.routes = vec![vec![0, 1]];
    let model = LossModel::Frames(Probability::clamped(0.5));
    spec.losses = vec![LinkLoss { from: 0, to: 1, schedule: vec![(Instant::ZERO, model)] }];
    let all = RedParams {
        threshold_min: 0.0,
        threshold_max: 8.0,
        weight: 0.5,
        probability_max: 0.9,
        ..RedParams::default()
    };
    spec.wires[0].queue.marking = Some(all.into());
    let mut network = Network::new(&spec, seconds(1, 0, 2));
    let first = Instant::ZERO + Duration::from_secs(1);
    let mut out = feed(&mut network, Duration::from_millis(3), first, |content| foreign(0, 1, content));
    out.extend(rest(&mut network));
    let count = |cause| out.iter().filter(|e| e.fate == Fate::Lost { node: 0, cause }).count() as u64;
    let result = network.finish();
    let wire = &result.links[0];
    assert_eq!((count(LossCause::Wire), count(LossCause::Law)), (wire.lost_on_wire, wire.dropped_by_law));
    assert!(wire.lost_on_wire > 50 && wire.dropped_by_law > 50, "{wire:?}");
}

#[test]
fn a_broadcast_is_heard_by_some_and_then_over() {
    let mut spec = bare_chain();
    spec.routes = vec![vec![1, BROADCAST]];
    let mut network = Network::new(&spec, seconds(1, 0, 1));
    network.inject(Instant::ZERO, foreign(1, BROADCAST, 7)).unwrap();
    let fates: Vec<Fate> = rest(&mut network).iter().map(|emerged| emerged.fate).collect();
    assert_eq!(fates, [Fate::Heard { node: 0 }, Fate::Heard { node: 2 }, Fate::Over]);
    let result = network.finish();
    assert_eq!((result.packets.delivered, result.packets.under_way), (1, 0));
    assert_eq!((result.outside[0].to.as_str(), result.outside[0].arrived_packets), ("*", 2));
}

#[test]
fn they_share_queues_with_the_networks_own() {
    let spec = chain(Traffic::Tcp(tcp(None)));
    let mut network = Network::new(&spec, seconds(1, 0, 5));
    let end = network.end();
    let out = exchange(&mut network, end);
    let result = network.finish();
    assert_conserved(&result);
    let arrived = arrived(&out).count() as u64;
    assert!(arrived > 500 && result.flows[0].goodput_pps > 5.0, "{arrived} {:?}", goodputs(&result));
    assert!(result.packets.delivered > arrived);
    let alone = Network::run(&spec, seconds(1, 0, 5));
    assert!(result.flows[0].goodput_pps < alone.flows[0].goodput_pps);
}

#[test]
fn where_no_route_leads_a_packet_is_refused() {
    let mut network = Network::new(&chain(Traffic::Tcp(tcp(None))), seconds(1, 0, 1));
    let refused = network.inject(Instant::ZERO, foreign(0, 7, 0));
    assert_eq!(refused, Err(NoRoute { from: 0, to: 7 }));
    assert_eq!(refused.unwrap_err().to_string(), "no route leads from node 0 to node 7");
    // Nor does a flow take foreign packets: this one's packets are the network's.
    let stranger = Foreign { whose: Whose::Flow { flow: 0, back: false }, ..foreign(3, 0, 0) };
    assert_eq!(network.inject(Instant::ZERO, stranger), Err(NoRoute { from: 3, to: 0 }));
}

/// Datagrams from outside.
fn outside(size: u32) -> Traffic {
    Traffic::Outside(Box::new(Traffic::Datagrams {
        size: Bytes::new(size),
        headers: Bytes::new(0),
        pattern: Pattern::Saturated,
    }))
}

fn web() -> Traffic {
    Traffic::Web(WebSpec {
        tcp: tcp(None),
        interval: Duration::from_secs(1),
        arrivals: Arrivals::Even,
        request: (Bytes::new(300), Bytes::new(300)),
        reply: Bytes::new(10_000),
        reply_deviation: Bytes::new(0),
        connection: WebConnection::Persistent,
    })
}

/// A gateway, node 0, and one flow from outside through it, limited in both directions.
fn shaped_from_outside() -> NetworkSpec {
    let mut spec = chain(outside(1040));
    spec.flows[0].path = vec![0, 1, 2];
    let class =
        |direction| GatewayClass { name: "2".into(), role: ClassRole { direction, ..ClassRole::default() } };
    let rates = [80, 40].map(Rate::from_kbps).to_vec();
    spec.gateway = Some(GatewaySpec {
        node: 0,
        stack: None,
        classes: vec![class(Direction::Down), class(Direction::Up)],
        of_flow: vec![Some(0)],
        of_replies: vec![Some(1)],
        acknowledgements: false,
        no_busy_time: false,
        shaper: Shaping::PerClass,
        queue: QueueSpec::fifo(5),
        burst: Bytes::new(2080),
        burst_time: Duration::ZERO,
        control: GatewayControl::Plan(vec![(Instant::ZERO, Shares::of_each(rates))]),
    });
    spec
}

#[test]
fn outside_flow_has_result_and_gateway_class() {
    let mut network = Network::new(&shaped_from_outside(), seconds(1, 2, 20));
    let end = network.end();
    // 560 kb/s there and as much back, of packets of 700 bytes.
    let out = feed(&mut network, Duration::from_millis(5), end, |content| {
        let back = content % 2 == 1;
        let (from, to) = if back { (2, 0) } else { (0, 2) };
        Foreign { whose: Whose::Flow { flow: 0, back }, ..foreign(from, to, content) }
    });
    let state = network.flow_state(0);
    let result = network.finish();
    assert_conserved(&result);
    let gateway = result.gateway.as_ref().unwrap();
    for (class, kbps) in gateway.classes.iter().zip([80.0, 40.0]) {
        assert!((class.served_bps / 1e3 / kbps - 1.0).abs() < 0.03, "{class:?}");
        assert!(class.dropped_packets > 100, "{class:?}");
    }
    let flow = &result.flows[0];
    assert!((flow.goodput_bps / 80e3 - 1.0).abs() < 0.03, "{flow:?}");
    assert!((flow.goodput_pps * 700.0 * 8.0 - flow.goodput_bps).abs() < 1.0, "packets of one size: {flow:?}");
    assert!(flow.lost > 100 && flow.acks_lost > 100 && flow.delay.is_some(), "{flow:?}");
    assert_eq!(flow.ack_queue.as_deref(), Some("n2"), "what comes back has a queue");
    assert!(result.outside.is_empty(), "all packets belong to the flow");
    assert_eq!(state.sent, out.iter().filter(|e| e.packet.to == 2).count() as u64 + under_way(&out, 2));
}

/// Packets to a node of which nothing has been told yet.
fn under_way(out: &[Emerged], to: u32) -> u64 {
    let sent = 22_000 / 5 / 2;
    sent - out.iter().filter(|emerged| emerged.packet.to == to).count() as u64
}

#[test]
fn run_is_measured_by_the_time_that_passed() {
    let whole = Network::run(&four_links(false), seconds(1, 2, 6));
    // Planned for longer, ended where the other was to end.
    let mut network = Network::new(&four_links(false), seconds(1, 2, 600));
    let end = Instant::ZERO + Duration::from_secs(8);
    assert_eq!(network.advance(end), None);
    let early = network.finish_at(end);
    assert_eq!((early.measured_s, goodputs(&early)), (6.0, goodputs(&whole)));
    // Planned for less.
    let mut network = Network::new(&four_links(false), seconds(1, 2, 1));
    assert_eq!(network.advance(end), None);
    let late = network.finish_at(end);
    assert_eq!((late.measured_s, goodputs(&late)), (6.0, goodputs(&whole)));
    // Ended before anything was measured.
    let mut network = Network::new(&four_links(false), seconds(1, 2, 1));
    let soon = Instant::ZERO + Duration::from_secs(1);
    assert_eq!(network.advance(soon), None);
    let nothing = network.finish_at(soon);
    assert_eq!((nothing.measured_s, goodputs(&nothing)), (0.0, vec![0.0; 4]));
}

/// Counts frames, and those of packets from outside among them.
#[derive(Default)]
struct Seen {
    frames: u64,
    from_outside: u64,
}

impl FrameSink for Seen {
    fn frame(&mut self, _: &FrameRecord, packet: Option<&Sent>) {
        self.frames += 1;
        if packet.is_some_and(|sent| matches!(sent.body, Body::Foreign(_))) {
            self.from_outside += 1;
        }
    }
}

#[test]
fn stepping_shows_frames_without_growth() {
    let spec = chain(Traffic::Tcp(tcp(None)));
    let run = RunSpec { sample_every: Some(Duration::from_millis(1)), ..seconds(1, 0, 2) };
    let mut network = Network::new(&spec, run);
    network.see_all_frames();
    let (mut seen, mut points) = (Seen::default(), 0);
    let mut series = |portion: &Series| points += portion.time_s.len();
    let mut watchers = Watchers { progress: None, frames: Some(&mut seen), series: Some(&mut series) };
    network.inject(Instant::ZERO, foreign(0, 3, 1)).unwrap();
    let end = network.end();
    while network.advance_watched(end, &mut watchers).is_some() {}
    let result = network.finish();
    let kept = result.series.unwrap().time_s.len();
    assert_eq!(points + kept, 2000);
    assert!(kept < 300, "{kept} points are kept");
    assert!(result.timeline.is_empty(), "and no frames");
    // Three hops, each a DATA frame and its ACK at least.
    assert!(seen.from_outside >= 6 && seen.frames > 500, "{} of {}", seen.from_outside, seen.frames);
}

#[test]
fn outside_flow_gives_laws_same_view() {
    use evenair_laws::OwnLaw;
    use evenair_laws::backoff::{Access, BackoffLaw, Dcf, LinkRole, OwnBackoff, Scope};
    use std::sync::{Arc, Mutex};

    /// DCF that records its role at its beginning.
    #[derive(Clone, Debug)]
    struct Roles(Dcf, Arc<Mutex<Vec<LinkRole>>>);
    impl OwnLaw for Roles {
        fn identity(&self) -> String {
            "roles".into()
        }
    }
    impl BackoffLaw for Roles {
        fn begin(&mut self, role: &LinkRole) {
            self.1.lock().unwrap().push(*role);
        }
        fn scope(&self) -> Scope {
            Scope::NextHop
        }
        fn access(&self) -> Access {
            self.0.access()
        }
    }

    let roles = |traffic: Traffic, routes: Vec<Vec<u32>>| {
        let mut spec = NetworkSpec { routes, ..chain(traffic) };
        let (role, seen) = (LinkRole::data(spec.surroundings), Arc::default());
        let law = evenair_laws::Parameters::begin(&DcfParams::default(), &role);
        spec.backoff = OwnBackoff::new(Roles(law, Arc::clone(&seen))).into();
        drop(Network::new(&spec, seconds(1, 0, 1)));
        let seen = seen.lock().unwrap().clone();
        seen.iter()
            .map(|role| (role.acknowledgements_only, role.carries_tcp, role.packet))
            .collect::<Vec<_>>()
    };
    let datagrams =
        Traffic::Datagrams { size: Bytes::new(1040), headers: Bytes::new(0), pattern: Pattern::Saturated };
    for traffic in [Traffic::Tcp(tcp(None)), web(), datagrams] {
        let simulated = roles(traffic.clone(), vec![]);
        assert_eq!(roles(Traffic::Outside(Box::new(traffic)), vec![]), simulated);
    }
    let tcp = || Traffic::Tcp(tcp(None));
    assert!(roles(tcp(), vec![]).iter().any(|&(acknowledgements_only, ..)| acknowledgements_only));
    // Where other packets may come, too, nothing is known of them.
    assert!(
        roles(tcp(), vec![vec![0, 1, 2, 3]])
            .iter()
            .all(|&(acknowledgements_only, ..)| !acknowledgements_only)
    );
}

#[test]
fn replies_are_data_of_outside_flow() {
    let count = |replies: bool| {
        let traffic = if replies { Traffic::Outside(Box::new(web())) } else { outside(1040) };
        let mut network = Network::new(&chain(traffic), seconds(1, 0, 2));
        let end = network.end();
        // One packet there, three back.
        feed(&mut network, Duration::from_millis(20), end, |content| {
            let back = content % 4 != 0;
            let (from, to) = if back { (0, 3) } else { (3, 0) };
            Foreign { whose: Whose::Flow { flow: 0, back }, ..foreign(from, to, content) }
        });
        let flow = network.finish().flows.remove(0);
        assert!((flow.goodput_bps - flow.goodput_pps * 700.0 * 8.0).abs() < 1.0, "{flow:?}");
        (flow.arrived, flow.acks, flow.queue, flow.ack_queue)
    };
    assert_eq!(count(false), (25, 75, "n3".into(), Some("n0".into())));
    assert_eq!(count(true), (75, 25, "n0".into(), Some("n3".into())));
}

#[test]
fn probes_take_the_route_and_are_no_losses() {
    let mut network = Network::new(&chain(outside(700)), seconds(1, 0, 2));
    let end = network.end();
    // More than the air carries: queues overflow.
    let out = feed(&mut network, Duration::from_micros(200), end, |content| {
        let (flow, back) = (0, false);
        let whose = if content % 2 == 0 { Whose::Flow { flow, back } } else { Whose::Probe { flow, back } };
        Foreign { whose, ..foreign(3, 0, content) }
    });
    let lost = |probes: bool| {
        let of = |e: &&Emerged| matches!(e.packet.whose, Whose::Probe { .. }) == probes;
        out.iter().filter(of).filter(|e| matches!(e.fate, Fate::Lost { .. })).count() as u64
    };
    let flow = network.finish().flows.remove(0);
    assert!(lost(true) > 1000 && lost(false) > 1000, "{} and {}", lost(true), lost(false));
    assert_eq!(flow.lost, lost(false));
    let came = arrived(&out).filter(|e| matches!(e.packet.whose, Whose::Flow { .. })).count() as f64;
    assert!((flow.goodput_pps * 2.0 - came).abs() < 0.01, "{came} were handed over: {flow:?}");
    assert_eq!(flow.arrived as usize, arrived(&out).count(), "what arrives has the probes in it");
}

#[test]
fn departures_keep_queue_filled() {
    let saturated = chain(Traffic::Datagrams {
        size: Bytes::new(700),
        headers: Bytes::new(0),
        pattern: Pattern::Saturated,
    });
    let simulated = Network::run(&saturated, seconds(1, 0, 5)).flows.remove(0);
    let mut network = Network::new(&chain(outside(700)), seconds(1, 0, 5));
    network.watch_departures(0);
    let (end, mut sent) = (network.end(), 0);
    while network.now() < end {
        while sent < network.departures(0) + 2 {
            let whose = Whose::Flow { flow: 0, back: false };
            network.inject(network.now(), Foreign { whose, ..foreign(3, 0, sent) }).unwrap();
            sent += 1;
        }
        let next = network.next_at().min(end);
        while network.advance(next).is_some() {}
    }
    let fed = network.finish().flows.remove(0);
    assert_eq!(fed.arrived, simulated.arrived);
    assert!(simulated.sent - fed.sent <= 2, "but for what would go at the last instant: {}", fed.sent);
}

#[test]
fn packet_may_leave_and_reenter_at_a_router() {
    let spec = chain(outside(700));
    let path = spec.flows[0].path.clone();
    let &[first, router, .., last] = &path[..] else { panic!("{path:?}") };
    let of_flow = |from, to, since, back| {
        let whose = Whose::Flow { flow: 0, back };
        Foreign { whose, since, ..foreign(from, to, 7) }
    };
    let mut network = Network::new(&spec, seconds(1, 0, 1));
    network.inject(Instant::ZERO, of_flow(first, router, None, false)).unwrap();
    let at_router = network.advance(network.end()).unwrap();
    assert_eq!((at_router.fate, at_router.packet.since), (Fate::Arrived, Some(Instant::ZERO)));
    let half_a_second = Instant::ZERO + Duration::from_millis(500);
    assert_eq!(network.advance(half_a_second), None);
    network.inject(half_a_second, of_flow(router, last, at_router.packet.since, false)).unwrap();
    assert_eq!(network.advance(network.end()).unwrap().fate, Fate::Arrived);
    assert_eq!(network.advance(network.end()), None);
    let upstream = of_flow(router, first, None, false);
    assert_eq!(network.inject(network.end(), upstream), Err(NoRoute { from: router, to: first }));
    network.inject(network.end(), of_flow(router, first, None, true)).unwrap();
    let flow = network.finish().flows.remove(0);
    assert!((flow.goodput_bps - 700.0 * 8.0).abs() < 1e-6, "delivered once: {flow:?}");
    let delay_s = flow.delay.expect("it has arrived").mean_s;
    assert!((0.5..0.6).contains(&delay_s), "since the flow's source: {delay_s} s");
}

#[test]
fn packet_waits_in_its_categorys_queue() {
    let mut spec = bare_chain();
    spec.backoff = BackoffParams::Edca(EdcaParams::default());
    let mut network = Network::new(&spec, seconds(1, 0, 2));
    // More than the air carries, of both: the voices go first, as far as the node's one buffer has room for them.
    let end = network.end();
    let out = feed(&mut network, Duration::from_micros(500), end, |content| {
        let category = if content % 2 == 0 { Category::Voice } else { Category::Background };
        Foreign { category, ..foreign(0, 1, content) }
    });
    let of = |category| arrived(&out).filter(|emerged| emerged.packet.category == category).count();
    let (voice, background) = (of(Category::Voice), of(Category::Background));
    assert!(voice > 100 && voice > 2 * background, "{voice} {background}");
}
