//! Distances of disciplines from their ideals, against the bounds of the literature.

use super::*;

/// One byte takes one microsecond.
const RATE: Rate = Rate::from_kbps(8_000);
/// The largest packet that comes \[bytes\].
const LARGEST: u32 = 1_500;

const WIRE: QueueRole = QueueRole { full_packet: Bytes::new(LARGEST), rate: RATE };

/// A packet that comes: time \[µs\], flow, size.
type Arrival = (u64, u32, u32);

fn us(us: u64) -> Instant {
    Instant::from_nanos(us * 1_000)
}

/// Sends arrivals, in order, through a wire behind a discipline; gives the packets and when each ended \[µs\].
fn sent(discipline: &mut AnyDiscipline, arrivals: &[Arrival]) -> Vec<(u32, Queued, u64)> {
    let mut ends = Vec::new();
    let (mut at, mut next) = (0, 0);
    loop {
        while let Some(&(comes, flow, size)) = arrivals.get(next).filter(|arrival| arrival.0 <= at) {
            discipline.enqueue(us(comes), packet(next as u32, flow, size, us(comes)));
            next += 1;
        }
        if let Some(first) = discipline.dequeue(us(at), &mut Vec::new()) {
            let end = at + u64::from(first.size);
            // Arrivals during a transmission come then.
            while let Some(&(comes, flow, size)) = arrivals.get(next).filter(|arrival| arrival.0 <= end) {
                discipline.enqueue(us(comes), packet(next as u32, flow, size, us(comes)));
                next += 1;
            }
            ends.push((first.packet.0, first, end));
            at = end;
        } else if let Some(arrival) = arrivals.get(next) {
            at = arrival.0;
        } else {
            return ends;
        }
    }
}

/// The fluid reference: all flows with a backlog at once, each in proportion to its weight. Returns each packet's end \[µs\],
/// and each flow's service by the instants asked for \[bytes\].
fn shared(arrivals: &[Arrival], weights: &[f64], looks: &[u64]) -> (Vec<f64>, Vec<Vec<f64>>) {
    let flows = weights.len();
    let (mut came, mut served) = (vec![0.0; flows], vec![0.0; flows]);
    let mut lines: Vec<VecDeque<(usize, f64)>> = vec![VecDeque::new(); flows];
    let (mut ends, mut seen) = (vec![f64::NAN; arrivals.len()], Vec::new());
    let (mut at, mut next, mut look) = (0.0, 0, 0);
    loop {
        let busy: f64 = (0..flows).filter(|&i| !lines[i].is_empty()).map(|i| weights[i]).sum();
        let drained = |i: usize| {
            let first: Option<&(usize, f64)> = lines[i].front();
            first.map(|&(_, until)| (at + (until - served[i]) * busy / weights[i], i))
        };
        let end = (0..flows).filter_map(drained).min_by(|a, b| a.0.total_cmp(&b.0));
        let arrival = arrivals.get(next).map_or(f64::INFINITY, |arrival| arrival.0 as f64);
        let instant = looks.get(look).map_or(f64::INFINITY, |&look| look as f64);
        let to = end.map_or(f64::INFINITY, |(end, _)| end).min(arrival).min(instant);
        if to.is_infinite() {
            return (ends, seen);
        }
        for i in (0..flows).filter(|&i| !lines[i].is_empty()) {
            served[i] += (to - at) * weights[i] / busy;
        }
        at = to;
        if let Some((_, i)) = end.filter(|&(end, _)| end <= to) {
            let (id, until) = lines[i].pop_front().expect("it ends");
            (served[i], ends[id]) = (until, to);
        } else if arrival <= to {
            let (_, flow, size) = arrivals[next];
            came[flow as usize] += f64::from(size);
            lines[flow as usize].push_back((next, came[flow as usize]));
            next += 1;
        } else {
            seen.push(served.clone());
            look += 1;
        }
    }
}

fn arrivals() -> impl Strategy<Value = Vec<Arrival>> {
    prop::collection::vec((0u64..3_000, 0u32..4, 40u32..=LARGEST), 1..120).prop_map(|mut arrivals| {
        let mut at = 0;
        for arrival in &mut arrivals {
            at += arrival.0.saturating_sub(1_500);
            arrival.0 = at;
        }
        arrivals
    })
}

proptest! {
    /// Parekh and Gallager 1993, theorems 1 and 2: no packet ends more than the largest packet's time after it does in GPS, and no
    /// flow is ever served less than a packet of that size behind it.
    #[test]
    fn weighted_fair_queueing_tracks_sharing(
        arrivals in arrivals(),
        weights in prop::collection::vec(0.1f64..10.0, 4),
    ) {
        let facts = |flow: u32| FlowFacts { weight: weights[flow as usize], from: flow, to: flow };
        let role = DisciplineRole { flows: Flows::new(&[0, 1, 2, 3].map(facts)), ..WIRE.into() };
        let mut discipline = DisciplineParams::Weighted(WeightedParams::default()).begin_at(&role);
        let sent = sent(&mut discipline, &arrivals);
        prop_assert_eq!(sent.len(), arrivals.len());
        let looks: Vec<u64> = sent.iter().map(|&(.., end)| end).collect();
        let (ends, served) = shared(&arrivals, &weights, &looks);
        let largest = f64::from(LARGEST);
        let mut by_flow = [0.0; 4];
        for (&(id, packet, end), reference) in sent.iter().zip(&served) {
            prop_assert!(end as f64 <= ends[id as usize] + largest + 0.01, "{id}: {end} {}", ends[id as usize]);
            by_flow[packet.flow as usize] += f64::from(packet.size);
            for flow in 0..4 {
                let behind = reference[flow] - by_flow[flow];
                prop_assert!(behind <= largest + 0.01, "flow {flow} is {behind} bytes behind at {end}");
            }
        }
    }

    /// Shreedhar and Varghese 1995, section IV-C: of flows that always have a backlog none is served more than a quantum and two packets
    /// more than another; so none is further from its share of GPS.
    #[test]
    fn deficit_round_robin_keeps_its_bound(
        sizes in prop::collection::vec(prop::collection::vec(40u32..=LARGEST, 40), 2..5),
        quantum in 1u32..4_000,
    ) {
        let params = FairParams { quantum: Bytes::new(quantum), ..FairParams::round_robin() };
        let mut discipline = DisciplineParams::Fair(params).begin(&WIRE);
        let mut left = vec![40; sizes.len()];
        for (flow, sizes) in (0u32..).zip(&sizes) {
            for (id, &size) in (0u32..).zip(sizes) {
                discipline.enqueue(us(0), packet(100 * flow + id, flow, size, us(0)));
            }
        }
        let mut served = vec![0u64; sizes.len()];
        while let Some(next) = discipline.dequeue(us(0), &mut Vec::new()) {
            served[next.flow as usize] += u64::from(next.size);
            left[next.flow as usize] -= 1;
            if left.contains(&0) {
                break; // one has no backlog any more
            }
            let (most, least) = (served.iter().max().unwrap(), served.iter().min().unwrap());
            prop_assert!(most - least <= u64::from(quantum + 2 * LARGEST), "{served:?}");
        }
    }

    /// The same with weights, each flow counted by its own: a flow's service in a turn is its weight's part.
    #[test]
    fn deficit_round_robin_keeps_weighted_bound(
        flows in prop::collection::vec((1u32..9, prop::collection::vec(40u32..=LARGEST, 60)), 2..5),
        quantum in 100u32..2_000,
    ) {
        let params = FairParams { quantum: Bytes::new(2 * quantum), ..FairParams::round_robin() };
        let weights: Vec<f64> = flows.iter().map(|(halves, _)| f64::from(*halves) / 2.0).collect();
        let facts: Vec<FlowFacts> = weights.iter().map(|&weight| FlowFacts { weight, from: 0, to: 1 }).collect();
        let role = DisciplineRole { flows: Flows::new(&facts), ..WIRE.into() };
        let mut discipline = DisciplineParams::Fair(params).begin_at(&role);
        let mut left = vec![60; flows.len()];
        for (flow, (_, sizes)) in (0u32..).zip(&flows) {
            for (id, &size) in (0u32..).zip(sizes) {
                discipline.enqueue(us(0), packet(100 * flow + id, flow, size, us(0)));
            }
        }
        let mut served = vec![0.0; flows.len()];
        while let Some(next) = discipline.dequeue(us(0), &mut Vec::new()) {
            let flow = next.flow as usize;
            served[flow] += f64::from(next.size) / weights[flow];
            left[flow] -= 1;
            if left.contains(&0) {
                break;
            }
            for (one, weight) in served.iter().zip(&weights) {
                for (other, other_weight) in served.iter().zip(&weights) {
                    let packets = f64::from(LARGEST) * (1.0 / weight + 1.0 / other_weight);
                    prop_assert!((one - other).abs() <= f64::from(2 * quantum) + packets, "{served:?} {weights:?}");
                }
            }
        }
    }

    /// The same in time of the air, for any rates.
    #[test]
    fn next_hops_get_the_same_airtime(rates in prop::collection::vec(1_000u64..54_000, 3), airtime_us in 100u64..20_000) {
        let mut airtimes = Airtimes::of_wire(RATE);
        airtimes.modes = (0..3).zip(rates.iter().map(|&kbps| Rate::from_kbps(kbps).into())).collect();
        let slowest = (0..3).map(|hop| airtimes.of(hop, LARGEST)).max().unwrap();
        let role = DisciplineRole { airtimes: airtimes.clone(), ..WIRE.into() };
        let airtime = Duration::from_micros(airtime_us);
        let flows = FairParams { marking: None, ..FairParams::fq_codel() };
        let mut discipline = DisciplineParams::Airtime(AirtimeParams { airtime, flows }).begin_at(&role);
        let mut waiting = [0u32; 3];
        let mut used = [Duration::ZERO; 3];
        for id in 0..2_000 {
            for hop in 0..3 {
                while waiting[hop as usize] < 100 {
                    waiting[hop as usize] += 1;
                    discipline.enqueue(us(0), Queued { next_hop: hop, ..packet(id, hop, LARGEST, us(0)) });
                }
            }
            let next = discipline.dequeue(us(0), &mut Vec::new()).unwrap();
            waiting[next.next_hop as usize] -= 1;
            used[next.next_hop as usize] += airtimes.of(next.next_hop, next.size);
            let (most, least) = (used.iter().max().unwrap(), used.iter().min().unwrap());
            prop_assert!(*most - *least <= airtime + slowest * 2, "{used:?}");
        }
    }
}

#[test]
fn hosts_share_alike_and_flows_within() {
    // Host 7 has one flow, host 8 three.
    let facts = |to: u32| FlowFacts { weight: 1.0, from: 1, to };
    let flows = Flows::new(&[7, 8, 8, 8].map(facts));
    let served = |hosts: Hosts| {
        let params = FairParams { marking: None, ..FairParams::cake(hosts) };
        let role = DisciplineRole { flows: flows.clone(), ..WIRE.into() };
        let mut discipline = DisciplineParams::Fair(params).begin_at(&role);
        for id in 0..4_000 {
            discipline.enqueue(us(0), packet(id, id % 4, 1_500, us(0)));
        }
        let mut served = [0i64; 4];
        for _ in 0..800 {
            served[discipline.dequeue(us(0), &mut Vec::new()).unwrap().flow as usize] += 1;
        }
        served
    };
    // Each flow's deficit is off by less than a packet and a quantum.
    let [alone, others @ ..] = served(Hosts::Destination);
    assert!((alone - 400).abs() < 6, "{alone} packets of 800");
    assert!(others.iter().all(|&flow| (flow - 133).abs() < 4), "{others:?}");
    // All come from one host: for CAKE's triple isolation that one has four flows, and each its quarter.
    for hosts in [Hosts::Source, Hosts::Both] {
        assert!(served(hosts).iter().all(|&flow| (flow - 200).abs() < 4), "{hosts:?}");
    }
}

#[test]
fn subscriber_counts_once_with_many_flows() {
    // Three flows of node 8, one of node 7; a weight each, of which a subscriber has its flows' greatest.
    let facts = |weight: f64| FlowFacts { weight, from: 1, to: 1 };
    let apart = Flows::new(&[2.0, 1.0, 1.0, 2.0].map(facts));
    let grouped = apart.grouped(&[8, 8, 8, 7]);
    let served = |discipline: DisciplineParams, flows: &Flows| {
        let role = DisciplineRole { flows: flows.clone(), ..WIRE.into() };
        let mut discipline = discipline.begin_at(&role);
        for id in 0..4_000 {
            discipline.enqueue(us(0), Queued { next_hop: 0, ..packet(id, id % 4, 1_500, us(0)) });
        }
        let mut served = [0i64; 4];
        for _ in 0..600 {
            served[discipline.dequeue(us(0), &mut Vec::new()).unwrap().flow as usize] += 1;
        }
        served
    };
    let fq_codel = FairParams { marking: None, ..FairParams::fq_codel() };
    let airtime = AirtimeParams { flows: fq_codel.clone(), ..AirtimeParams::mac80211() };
    let equal =
        [DisciplineParams::Fair(fq_codel), DisciplineParams::Airtime(airtime)].map(|fair| (fair, [150; 4]));
    // By weight 2 : 1 : 1 : 2, and 2 : 2.
    let drr = DisciplineParams::Fair(FairParams::round_robin());
    let weighted = [drr, DisciplineParams::Weighted(WeightedParams::default())];
    let weighted = weighted.map(|discipline| (discipline, [200, 100, 100, 200]));
    for (discipline, alone) in equal.into_iter().chain(weighted) {
        let near = |served: [i64; 4], shares: [i64; 4]| {
            served.iter().zip(shares).all(|(s, share)| (s - share).abs() < 6)
        };
        let (flows, subscribers) = (served(discipline.clone(), &apart), served(discipline.clone(), &grouped));
        assert!(near(flows, alone), "{discipline:?}: {flows:?}");
        assert!(near(subscribers, [100, 100, 100, 300]), "{discipline:?}: {subscribers:?}");
    }
    // CAKE's lines are flows, and its hosts limit their shares.
    let cake = FairParams { marking: None, ..FairParams::cake(Hosts::Destination) };
    assert_eq!(
        served(DisciplineParams::Fair(cake.clone()), &grouped),
        served(DisciplineParams::Fair(cake), &apart)
    );
}
