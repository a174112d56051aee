//! A transmit queue's counts, and its reports to the laws that it consists of.

use super::*;
use crate::queue::{
    BackoffHost, Delays, Dropped, Line, NO_CLASS, Outlet, Service, Shaper, TokenBucket, TransmitQueue,
};
use crate::spec::{FlowSpec, LinkRate, MacSpec, NetworkSpec, Pattern, Per, Traffic};
use evenair_laws::Parameters;
use evenair_laws::backoff::{
    Access, BackoffLaw, BackoffParams, Category, Dcf, DcfParams, EdcaParams, LinkRole, LinkView, OwnBackoff,
    Scope, Surroundings,
};
use evenair_laws::marking::{AnyMarking, CodelParams, MarkingLaw, OwnMarking, QueueView, Verdict};
use evenair_topology::{Medium, Signal};
use evenair_units::{Dbm, Probability, Volume};
use evenair_wifi::{BROADCAST, MacTiming, Preamble, Rules};
use std::sync::{Arc, Mutex};

/// Refuses half of all, and records its calls: how many wait, and the outcome of an arrival or of a waiting packet.
#[derive(Clone, Debug, Default)]
struct Half(Arc<Mutex<Vec<(u64, &'static str)>>>);

impl Half {
    fn told(&self) -> Vec<(u64, &'static str)> {
        std::mem::take(&mut self.0.lock().unwrap())
    }
}

impl OwnLaw for Half {
    fn identity(&self) -> String {
        "half".into()
    }
}

impl MarkingLaw for Half {
    fn on_arrival(&mut self, _: Instant, _: &QueueView) -> Probability {
        Probability::clamped(0.5)
    }
    fn after_arrival(&mut self, _: Instant, queue: &QueueView, accepted: bool) {
        let what = if accepted { "accepted" } else { "refused" };
        self.0.lock().unwrap().push((queue.waiting.packets, what));
    }
    fn on_removal(&mut self, _: Instant, queue: &QueueView) {
        self.0.lock().unwrap().push((queue.waiting.packets, "removed"));
    }
}

fn params(law: &Half) -> MarkingParams {
    OwnMarking::new(law.clone()).into()
}

fn queue(discipline: &DisciplineParams, marking: Option<AnyMarking>) -> TransmitQueue {
    TransmitQueue {
        service: Service::Nothing,
        outlet: Outlet::Air,
        buffer: 0,
        node: 0,
        discipline: discipline.begin(&ROLE),
        law_drops: None,
        marking: marking.map(Box::new),
        arrived: Volume::default(),
        waits: None,
        ready_at: Instant::NEVER,
        dummy: None,
        mode: ROLE.rate.into(),
        without_room: VecDeque::new(),
        flows: Flows::default(),
        given_up: Volume::default(),
        dropped: Dropped::default(),
        marked: 0,
        stream: Stream::named(1, "queue", "drop"),
        law: None,
        name: "queue".into(),
        next_hop: 0,
    }
}

fn volume(packets: u64, bytes: u64) -> Volume {
    Volume { packets, bytes }
}

#[test]
fn mean_delay_is_the_sum_over_the_count() {
    let [mut first, mut both] = [Delays::default(); 2];
    assert_eq!(first.mean_s(), None);
    first.add(Duration::from_millis(2));
    both.add(Duration::from_millis(2));
    both.add(Duration::from_millis(4));
    let mean_ms = |delays: Delays| delays.mean_s().map(|mean| (mean * 1e6).round() as u64);
    assert_eq!((mean_ms(both), both.count), (Some(3000), 2));
    assert_eq!((mean_ms(both.since(first)), both.since(first).count), (Some(4000), 1));
    assert_eq!((mean_ms(both.plus(first)), both.plus(first).count), (Some(2667), 3));
}

#[test]
fn bucket_knows_its_rate() {
    let mut bucket = TokenBucket::new(Rate::from_kbps(800), Bytes::new(1000));
    bucket.set_rate(ms(1), Rate::from_kbps(80));
    assert_eq!(bucket.rate(), Rate::from_kbps(80));
    // Full at first, then 1000 bytes at 10 bytes a millisecond.
    bucket.take(ms(1), Bytes::new(1000));
    assert_eq!(bucket.ready_at(Bytes::new(1000)), ms(101));
}

#[test]
fn backlog_counts_the_packet_in_service() {
    let mut queue = queue(&DisciplineParams::Fifo, None);
    queue.accept(ms(0), packet(0, 0, 100, ms(0)));
    queue.accept(ms(0), packet(1, 0, 200, ms(0)));
    assert_eq!(queue.backlog(), volume(2, 300));
    let first = queue.next(ms(1), None, &mut Vec::new()).unwrap();
    queue.service = Service::Packet(first, 0);
    queue.accept(ms(1), packet(2, 0, 400, ms(1)));
    assert_eq!((queue.backlog(), queue.arrived), (volume(3, 700), volume(3, 700)));
}

/// Two independent causes that each refuse half leave a quarter: 1 − ½·½.
#[test]
fn refusals_of_marking_and_lines_multiply() {
    let marked = DisciplineParams::Fair(FairParams {
        marking: Some(params(&Half::default())),
        ..FairParams::round_robin()
    });
    let arrival = packet(0, 0, 100, ms(0));
    for (discipline, marking, refused) in [
        (&DisciplineParams::Fifo, None, 0.0),
        (&DisciplineParams::Fifo, Some(Half::default()), 0.5),
        (&marked, None, 0.5),
        (&marked, Some(Half::default()), 0.75),
    ] {
        let marking = marking.map(|law| params(&law).begin(&ROLE));
        let mut queue = queue(discipline, marking);
        assert!((queue.refusal(ms(0), &arrival).value() - refused).abs() < 1e-12, "{refused}");
        queue.law_drops = Some(Probability::clamped(0.25));
        assert!(
            (queue.refusal(ms(0), &arrival).value() - 0.25).abs() < 1e-12,
            "the back-off law's goes before"
        );
    }
}

#[test]
fn marking_sees_packet_outcomes() {
    let law = Half::default();
    let mut queue = queue(&DisciplineParams::Fair(FairParams::fq_codel()), Some(params(&law).begin(&ROLE)));
    queue.accept(ms(0), packet(0, 0, 100, ms(0)));
    queue.accept(ms(0), packet(1, 0, 100, ms(0)));
    queue.refuse(ms(0), &packet(2, 0, 100, ms(0)));
    let evicted = queue.evict(ms(1), &packet(3, 1, 100, ms(1)));
    assert_eq!(evicted.map(|evicted| evicted.packet), Some(PacketId(0)), "of the longest line the first");
    assert_eq!(law.told(), [(0, "accepted"), (1, "accepted"), (2, "refused"), (1, "removed")]);
    queue.note_mark(ms(2), &packet(4, 0, 100, ms(2)));
    assert_eq!(law.told(), [(1, "refused")], "marked instead of refused");
}

/// Drops packets of an odd size when they leave.
#[derive(Clone, Debug)]
struct Sieve;

impl OwnLaw for Sieve {
    fn identity(&self) -> String {
        "sieve".into()
    }
}

impl MarkingLaw for Sieve {
    fn on_departure(&mut self, _: Instant, _: Duration, queue: &QueueView) -> Verdict {
        if queue.size.count() % 2 == 1 { Verdict::Drop } else { Verdict::Send }
    }
}

/// RFC 3168 section 5: a router marks instead of dropping, where the packet is capable of it.
#[test]
fn packets_are_dropped_or_marked_when_they_leave() {
    let params: MarkingParams = OwnMarking::new(Sieve).into();
    let mut queue = queue(&DisciplineParams::Fifo, Some(params.begin(&ROLE)));
    for (id, size, mark) in [
        (0, 101, Mark::Impossible),
        (1, 102, Mark::Impossible),
        (2, 103, Mark::Possible),
        (3, 104, Mark::Possible),
    ] {
        queue.accept(ms(0), Queued { mark, ..packet(id, 0, size, ms(0)) });
    }
    let mut culled = Vec::new();
    let sent: Vec<(u32, Mark)> = std::iter::from_fn(|| queue.next(ms(1), None, &mut culled))
        .map(|sent| (sent.size, sent.mark))
        .collect();
    assert_eq!(sent, [(102, Mark::Impossible), (103, Mark::Made), (104, Mark::Possible)]);
    assert_eq!(culled.iter().map(|gone| gone.size).collect::<Vec<_>>(), [101]);
}

#[test]
fn stations_see_refused_packets() {
    let law = Half::default();
    let flows = FairParams { marking: Some(params(&law)), ..FairParams::round_robin() };
    let airtime = AirtimeParams { flows, ..AirtimeParams::mac80211() };
    let mut queue = queue(&DisciplineParams::Airtime(airtime), None);
    queue.accept(ms(0), packet(0, 0, 100, ms(0)));
    queue.refuse(ms(0), &packet(1, 0, 100, ms(0)));
    queue.refuse(ms(0), &packet(2, 6, 100, ms(0)));
    assert_eq!(law.told(), [(0, "accepted"), (1, "refused"), (0, "refused")]);
    assert!((queue.refusal(ms(0), &packet(3, 6, 100, ms(0))).value() - 0.5).abs() < 1e-12);
}

/// Linux's mac80211: quanta of 300 bytes, `CoDel` at 20 and 100 ms; turns of 256 µs.
#[test]
fn airtime_has_the_defaults_of_mac80211() {
    let params = AirtimeParams::mac80211();
    assert_eq!((params.airtime, params.flows.quantum), (Duration::from_micros(256), Bytes::new(300)));
    let codel = CodelParams { target: Duration::from_millis(20), interval: Duration::from_millis(100) };
    assert_eq!(params.flows.marking, Some(codel.into()));
    assert!(params.flows.sparse_first);
}

/// Packets of 1000 bytes at 11 Mb/s that take 1310 µs each time they are sent, and turns of 256 µs.
fn airtime(per_attempt: bool) -> AnyDiscipline {
    let timing = MacTiming::b(Preamble::Long, Rate::from_kbps(1_000));
    let mac = MacSpec::Dcf { timing, rules: Rules::standard() };
    let airtimes = Airtimes {
        mac,
        mode: Rate::from_kbps(11_000).into(),
        modes: BTreeMap::new(),
        macs: BTreeMap::new(),
        per_attempt,
    };
    let role = DisciplineRole { airtimes, ..ROLE.into() };
    DisciplineParams::Airtime(AirtimeParams::mac80211()).begin_at(&role)
}

#[test]
fn attempts_are_charged_to_their_station() {
    for (attempts, order) in [(0, [0, 1, 2, 3]), (1, [0, 2, 1, 3])] {
        let mut queue = airtime(true);
        assert!(queue.wants_attempts());
        (0..4).for_each(|id| queue.enqueue(ms(0), packet(id, id / 2 * 2, 1000, ms(0)))); // two for each next hop
        let sent = order.map(|_| {
            let next = queue.dequeue(ms(1), &mut Vec::new()).map(|next| next.packet.0);
            (0..attempts).for_each(|_| queue.attempted(None));
            next
        });
        assert_eq!(sent, order.map(Some), "{attempts} attempts");
    }
    assert!(!airtime(false).wants_attempts() && !DisciplineParams::Fifo.begin(&ROLE).wants_attempts());
}

/// Two packets of a station leave together. Where the air tells of no attempts, each costs its station 1310 µs, so that it waits for
/// more than one packet of the other.
#[test]
fn packets_that_leave_together_are_paid_for() {
    for (per_attempt, order) in [(false, [2, 3]), (true, [4, 2])] {
        let mut queue = airtime(per_attempt);
        (0..4).for_each(|id| queue.enqueue(ms(0), packet(id, id / 2 * 2, 1000, ms(0))));
        queue.enqueue(ms(0), packet(4, 0, 1000, ms(0)));
        let mut dropped = Vec::new();
        let first = queue.dequeue(ms(1), &mut dropped).map(|next| (next.packet.0, next.next_hop));
        let second = queue.dequeue_for(ms(1), 0, &mut dropped).map(|next| next.packet.0);
        assert_eq!((first, second), (Some((0, 0)), Some(1)));
        let others = order.map(|_| queue.dequeue(ms(1), &mut dropped).map(|next| next.packet.0));
        assert_eq!(others, order.map(Some), "per attempt: {per_attempt}");
    }
}

/// A station that used eight turns' time for one packet pays for it when it comes back, even if others had something to send.
#[test]
fn station_that_comes_back_has_its_debt() {
    let mut queue = airtime(true);
    queue.enqueue(ms(0), packet(0, 0, 1000, ms(0)));
    assert!(queue.dequeue(ms(1), &mut Vec::new()).is_some());
    (0..3).for_each(|_| queue.attempted(None));
    assert_eq!(queue.dequeue(ms(2), &mut Vec::new()), None);
    queue.enqueue(ms(3), packet(1, 0, 1000, ms(3)));
    (2..6).for_each(|id| queue.enqueue(ms(3), packet(id, 2, 1000, ms(3))));
    let mut order = Vec::new();
    while let Some(next) = queue.dequeue(ms(4), &mut Vec::new()) {
        order.push(next.packet.0);
        queue.attempted(None);
    }
    // 3·1310 − 256 µs are fifteen turns; of the other station each packet costs five or six.
    assert_eq!(order, [2, 3, 4, 1, 5]);
}

/// A back-off law that records its views.
#[derive(Clone, Debug, Default)]
struct Watch(Arc<Mutex<Vec<LinkView>>>);

impl OwnLaw for Watch {
    fn identity(&self) -> String {
        "watch".into()
    }
}

impl BackoffLaw for Watch {
    fn scope(&self) -> Scope {
        Scope::Node
    }
    fn on_update(&mut self, link: &LinkView) {
        self.0.lock().unwrap().push(*link);
    }
    fn access(&self) -> Access {
        Dcf::dsss().access()
    }
    fn dummy_packet(&self) -> Option<Bytes> {
        Some(Bytes::new(50))
    }
    fn aggressiveness(&self) -> Option<f64> {
        Some(0.25)
    }
}

/// Of five that came two wait, one is in service, one was given up: one was served. Then all of the rest are.
#[test]
fn back_off_law_sees_arrivals_and_departures() {
    let seen = Watch::default();
    let mut queue = queue(&DisciplineParams::Fifo, None);
    let params: BackoffParams = OwnBackoff::new(seen.clone()).into();
    queue.law = Some(BackoffHost::new(params.begin(&LinkRole::data(Surroundings::default()))));
    queue.ask_law();
    for id in 0..5 {
        queue.accept(ms(0), packet(id, 0, 100 * (id + 1), ms(0)));
    }
    queue.next(ms(1), None, &mut Vec::new());
    queue.next(ms(2), None, &mut Vec::new());
    queue.given_up = volume(1, 200);
    let head = queue.next(ms(3), None, &mut Vec::new()).unwrap();
    queue.service = Service::Packet(head, 0);
    queue.note_dummy();
    queue.note_dummy();
    queue.update(ms(10));
    let view = std::mem::take(&mut *seen.0.lock().unwrap())[0];
    assert_eq!(
        (view.arrivals, view.service, view.backlog),
        (volume(5, 1500), volume(1, 100), volume(3, 1200))
    );
    assert_eq!((view.dummies, view.interval), (volume(2, 100), Duration::from_millis(10)));
    assert_eq!(view.head_of_line_delay, Some(Duration::from_millis(10)));
    queue.next(ms(11), None, &mut Vec::new());
    queue.next(ms(12), None, &mut Vec::new());
    queue.service = Service::Nothing;
    queue.update(ms(30));
    let view = std::mem::take(&mut *seen.0.lock().unwrap())[0];
    assert_eq!((view.arrivals, view.service, view.dummies), (volume(0, 0), volume(3, 1200), volume(0, 0)));
    assert_eq!((view.head_of_line_delay, view.interval), (Some(Duration::ZERO), Duration::from_millis(20)));
    // While a dummy is in service the backlog behind it is unknown, if there is any.
    queue.service = Service::Dummy;
    queue.update(ms(40));
    queue.accept(ms(40), packet(5, 0, 100, ms(40)));
    queue.update(ms(50));
    let delays: Vec<_> = seen.0.lock().unwrap().iter().map(|view| view.head_of_line_delay).collect();
    assert_eq!(delays, [Some(Duration::ZERO), None]);
    assert!(queue.aggressiveness().is_some_and(|r| (r - 0.25).abs() < 1e-12));
    queue.law = None;
    assert_eq!(queue.aggressiveness(), None);
}

/// mac80211 drops from the longest line of all stations.
#[test]
fn full_buffer_drops_from_longest_of_stations() {
    let mut queue = queue(&DisciplineParams::Airtime(AirtimeParams::mac80211()), None);
    for (id, flow) in [(0, 2), (1, 0), (2, 0), (3, 0)] {
        queue.accept(ms(0), packet(id, flow, 1000, ms(0)));
    }
    let evicted = queue.evict(ms(1), &packet(4, 2, 1000, ms(1)));
    assert_eq!(evicted.map(|evicted| evicted.packet), Some(PacketId(1)));
}

#[test]
fn group_has_weight_of_heaviest_flow() {
    let flow = |weight, to| FlowFacts { weight, from: 9, to };
    let flows = Flows::new(&[flow(1.0, 0), flow(3.0, 1), flow(2.0, 2)]).grouped(&[5, 5, 6]);
    assert_eq!([0, 1, 2].map(|of| flows.get(of)), [flow(3.0, 0), flow(3.0, 1), flow(2.0, 2)]);
    assert_eq!([0, 1, 2].map(|of| flows.key(of)), [5, 5, 6]);
}

fn datagrams(path: &[u32], weight: f64) -> FlowSpec {
    FlowSpec {
        name: "datagrams".into(),
        path: path.to_vec(),
        active: Vec::new(),
        start_jitter: Duration::ZERO,
        traffic: Traffic::Datagrams {
            size: Bytes::new(1000),
            headers: Bytes::new(0),
            pattern: Pattern::Saturated,
        },
        category: Category::BestEffort,
        code_point: 0,
        weight,
        stack: None,
    }
}

#[test]
fn flows_have_a_way_there_and_one_back() {
    let flows = Flows::of(&[datagrams(&[3, 5, 9], 2.0), datagrams(&[4, 3], 0.5)]);
    let facts = |weight, from, to| FlowFacts { weight, from, to };
    let expected = [facts(2.0, 3, 9), facts(2.0, 9, 3), facts(0.5, 4, 3), facts(0.5, 3, 4)];
    assert_eq!([0, 1, 2, 3].map(|flow| flows.get(flow)), expected);
    // Flows of which nothing is known share no host, and no line, with others.
    let flows = flows.grouped(&[7, 7, 8, 8]);
    let [one, other] = [4, 5].map(|flow| (flows.get(flow).from, flows.get(flow).to, flows.key(flow)));
    assert!(one.0 != other.0 && one.1 != other.1 && one.2 != other.2);
    assert!([7, 8].iter().all(|key| ![one.2, other.2].contains(key)));
}

/// A packet of 1000 bytes over the air of 802.11b with long preambles, acknowledged at 1 Mb/s: a DIFS, 192 µs and 8,288 bits, SIFS
/// and an acknowledgement of 304 µs. Over ideal CSMA it is 8,000 bits alone.
#[test]
fn airtime_is_of_the_link_from_this_node() {
    let mac = MacSpec::Dcf {
        timing: MacTiming::b(Preamble::Long, Rate::from_kbps(1_000)),
        rules: Rules::standard(),
    };
    let rate = |from, to, kbps| LinkRate { from, to, mode: Rate::from_kbps(kbps).into() };
    let rates = vec![rate(1, 2, 5_500), rate(2, 1, 2_000), rate(1, 3, 1_000), rate(0, 4, 2_000)];
    let medium = Medium::from_signals(0, &[], Dbm::new(-82.0), Dbm::new(-92.0));
    let of = |mac| NetworkSpec {
        rates: rates.clone(),
        ..NetworkSpec::new(Vec::new(), medium.clone(), mac, Rate::from_kbps(11_000))
    };
    let us = |airtimes: &Airtimes| [2, 3, 4].map(|hop| airtimes.of(hop, 1000).as_nanos() / 1000);
    let airtimes = Airtimes::of_node(&of(mac), 1);
    assert_eq!(us(&airtimes), [1507, 8288, 754].map(|payload| 50 + 192 + payload + 10 + 304));
    assert!(airtimes.per_attempt, "the air tells of each attempt");
    // A broadcast: at the basic rate, and unanswered.
    assert_eq!(airtimes.of(BROADCAST, 1000), Duration::from_micros(50 + 192 + 8288));
    // Flows are told apart one by one, or by their subscribers.
    let flows = Flows::of(&[datagrams(&[3, 5, 9], 2.0)]);
    let apart = flows.at(&of(mac), 1, Per::Flow);
    assert_eq!((apart.get(0), apart.key(1)), (flows.get(0), 1));
    let airtimes = Airtimes::of_node(&of(MacSpec::Ideal), 1);
    assert_eq!(us(&airtimes), [1454, 8000, 727]);
    assert!(!airtimes.per_attempt);
}

/// Frames between nodes with EDCA have a header of 26 bytes, others one of 24: 8,304 and 8,288 bits at 11 Mb/s. A broadcast has
/// the longer one where all nodes know it.
#[test]
fn airtime_has_the_header_that_both_ends_know() {
    let timing = MacTiming::b(Preamble::Long, Rate::from_kbps(1_000));
    let mac = MacSpec::Dcf { timing, rules: Rules::standard() };
    let signals = [2, 3].map(|to| Signal { from: 1, to, power: Dbm::new(-60.0) });
    let medium = Medium::from_signals(4, &signals, Dbm::new(-82.0), Dbm::new(-92.0));
    let spec = NetworkSpec {
        backoff: EdcaParams::default().into(),
        node_backoffs: vec![(3, DcfParams::default().into())],
        ..NetworkSpec::new(Vec::new(), medium, mac, Rate::from_kbps(11_000))
    };
    let airtimes = Airtimes::of_node(&spec, 1);
    let us = [2, 3].map(|hop| airtimes.of(hop, 1000).as_nanos() / 1000);
    assert_eq!(us, [755, 754].map(|payload| 50 + 192 + payload + 10 + 304));
}

/// Weighted fair queueing gives up the last packet of the line that is longest for its weight: 1000 bytes at one against 2000 at
/// four.
#[test]
fn full_buffer_costs_longest_line_for_its_weight() {
    let flow = |weight, to| FlowFacts { weight, from: 9, to };
    let flows = Flows::new(&[flow(1.0, 0), flow(4.0, 1), flow(1.0, 2)]);
    let role = DisciplineRole { flows, ..ROLE.into() };
    let mut weighted = DisciplineParams::Weighted(WeightedParams::default()).begin_at(&role);
    for (id, flow, size) in [(0, 0, 400), (1, 0, 600), (2, 1, 1000), (3, 1, 1000)] {
        weighted.enqueue(ms(0), packet(id, flow, size, ms(0)));
    }
    assert_eq!(weighted.evict(&packet(4, 1, 1000, ms(0))).map(|gone| gone.packet), Some(PacketId(1)));
    // 1000 and 900 at one, 1003 at four; then 600, 900; 600, 700; 600.
    let mut weighted = DisciplineParams::Weighted(WeightedParams::default()).begin_at(&role);
    for (id, flow, size) in [(0, 0, 600), (1, 0, 400), (2, 1, 1003), (3, 2, 700), (4, 2, 200)] {
        weighted.enqueue(ms(0), packet(id, flow, size, ms(0)));
    }
    let evicted = [(); 4].map(|()| weighted.evict(&packet(5, 1, 1000, ms(0))).map(|gone| gone.packet.0));
    assert_eq!(evicted, [Some(1), Some(4), Some(3), Some(0)]);
}

/// Flows of weights one, four and two. A packet that comes and is given up at once changes nothing for those that stay, whether it was
/// the only one of its flow or not, with a packet in service or not.
#[test]
fn evicted_packet_leaves_no_trace() {
    let flow = |weight, to| FlowFacts { weight, from: 9, to };
    let flows = Flows::new(&[flow(1.0, 0), flow(4.0, 1), flow(2.0, 2)]);
    let role = DisciplineRole { flows, ..ROLE.into() };
    for (first, evicted_flow) in [(0..0, 0), (0..2, 0), (0..9, 1), (0..9, 2), (3..9, 0)] {
        for in_service in [false, true] {
            let mut alike =
                [(); 2].map(|()| DisciplineParams::Weighted(WeightedParams::default()).begin_at(&role));
            let sizes = [700, 300, 1100];
            let mut orders = [Vec::new(), Vec::new()];
            let mut references = Vec::new();
            for (weighted, (order, evicts)) in alike.iter_mut().zip(orders.iter_mut().zip([true, false])) {
                for id in first.clone() {
                    weighted.enqueue(ms(0), packet(id, id % 3, sizes[id as usize % 3], ms(0)));
                }
                if in_service {
                    order.extend(weighted.dequeue(ms(0), &mut Vec::new()).map(|next| next.packet.0));
                }
                if evicts {
                    weighted.enqueue(ms(0), packet(100, evicted_flow, 60_000, ms(0)));
                    let gone = weighted.evict(&packet(101, 0, 0, ms(0)));
                    assert_eq!(gone.map(|gone| gone.packet), Some(PacketId(100)), "the largest");
                }
                // The reference: the flows that have a backlog, their weights together, and its time.
                let state = format!("{weighted:?}");
                references.push(state[state.find("heads: ").expect("a field")..].to_owned());
                for id in 9..30 {
                    let flow = id * 7 % 3;
                    weighted.enqueue(ms(1), packet(id, flow, sizes[(id as usize + 1) % 3], ms(1)));
                }
                order.extend(
                    (2..60)
                        .filter_map(|at| weighted.dequeue(ms(at), &mut Vec::new()))
                        .map(|next| next.packet.0),
                );
            }
            assert_eq!(
                orders[0], orders[1],
                "{first:?} before, flow {evicted_flow}, in service: {in_service}"
            );
        }
    }
}

#[test]
fn weighted_queueing_bounds_each_line() {
    let params = DisciplineParams::Weighted(WeightedParams { line_limit: Some(2) });
    let mut weighted = params.begin(&ROLE);
    for (id, flow, refused) in [(0, 0, false), (1, 0, false), (2, 0, true), (3, 1, false)] {
        let arrival = packet(id, flow, 1000, ms(0));
        let refusal = weighted.refusal(ms(0), &arrival);
        assert_eq!(refusal, if refused { Probability::ONE } else { Probability::ZERO });
        if !refused {
            weighted.enqueue(ms(0), arrival);
        }
    }
    // Packets that left a line no longer count in its length: 1000 of three are left of flow 0.
    weighted.dequeue(ms(1), &mut Vec::new());
    weighted.enqueue(ms(1), packet(4, 1, 500, ms(1)));
    assert_eq!(weighted.evict(&packet(5, 1, 1000, ms(1))).map(|gone| gone.packet), Some(PacketId(4)));
}

/// A user's discipline may hold back its packets; its line keeps its turn. An empty line goes behind the others when it has
/// something again, with a turn of its own.
#[test]
fn shaper_ends_the_turns_of_empty_lines_alone() {
    let stack = DisciplineParams::Own(OwnDiscipline::new(Stack::default()));
    let line = |params: &DisciplineParams| Line::new(params.begin(&ROLE), 5, None, Bytes::new(1500));
    let mut held = Shaper::new(vec![0], 1, vec![line(&stack)], None);
    held.enqueue(ms(1), packet(0, 0, 1000, ms(1)));
    assert_eq!(held.dequeue(ms(1), &mut Vec::new()), None);
    assert_eq!(held.next_ready(ms(1)), ms(10));
    assert_eq!(held.dequeue(ms(10), &mut Vec::new()).map(|next| next.packet), Some(PacketId(0)));

    let fifo = line(&DisciplineParams::Fifo);
    let mut shaper = Shaper::new(vec![0, NO_CLASS, 1, NO_CLASS], 2, vec![fifo.clone(), fifo], None);
    let next = |shaper: &mut Shaper| shaper.dequeue(ms(2), &mut Vec::new()).map(|next| next.packet);
    shaper.enqueue(ms(2), packet(0, 0, 1000, ms(2)));
    assert_eq!([next(&mut shaper), next(&mut shaper)], [Some(PacketId(0)), None]);
    shaper.enqueue(ms(2), packet(1, 2, 1000, ms(2)));
    shaper.enqueue(ms(2), packet(2, 0, 500, ms(2)));
    assert_eq!([next(&mut shaper), next(&mut shaper)], [Some(PacketId(1)), Some(PacketId(2))]);
}

#[test]
fn shaper_asks_the_line_of_the_class() {
    let params = FairParams { marking: Some(params(&Half::default())), ..FairParams::round_robin() };
    let line = |params: &DisciplineParams| Line::new(params.begin(&ROLE), 5, None, Bytes::new(1500));
    let lines = vec![line(&DisciplineParams::Fair(params)), line(&DisciplineParams::Fifo)];
    let mut shaper = Shaper::new(vec![0, NO_CLASS, 1, NO_CLASS], 2, lines, None);
    for (flow, refused) in [(0, 0.5), (2, 0.0)] {
        let arrival = packet(flow, flow, 1000, ms(0));
        assert!((shaper.refusal(ms(0), &arrival).value() - refused).abs() < 1e-12);
        shaper.enqueue(ms(0), arrival);
    }
    let evicted = shaper.evict(&packet(3, 0, 1000, ms(0))).map(|gone| gone.packet);
    assert_eq!((evicted, shaper.packets(), shaper.bytes()), (Some(PacketId(0)), 1, 1000));
    assert_eq!(shaper.counts()[0].dropped, volume(1, 1000));
}
