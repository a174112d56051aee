//! Disciplines one by one, and properties of all of them.

mod bounds;
mod parts;
mod shaper;

use super::*;
use evenair_laws::OwnLaw;
use evenair_laws::marking::{MarkingParams, QueueRole};
use evenair_units::{Bytes, Duration, Instant, Rate};
use evenair_wifi::PacketId;
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

const ROLE: QueueRole = QueueRole { full_packet: Bytes::new(1500), rate: Rate::from_kbps(10_000) };

fn ms(ms: u64) -> Instant {
    Instant::ZERO + Duration::from_millis(ms)
}

fn packet(id: u32, flow: u32, size: u32, at: Instant) -> Queued {
    Queued { packet: PacketId(id), flow, size, next_hop: flow / 2, enqueued: at, mark: Mark::Impossible }
}

/// The last comes first, but nothing leaves except on whole tens of milliseconds: an example of a user's own.
#[derive(Clone, Debug, Default)]
struct Stack(Vec<Queued>, Option<&'static str>);

impl OwnLaw for Stack {
    fn identity(&self) -> String {
        self.1.unwrap_or("a stack that opens every 10 ms").into()
    }
}

impl Discipline for Stack {
    fn enqueue(&mut self, _: Instant, arrival: Queued) {
        self.0.push(arrival);
    }
    fn dequeue(&mut self, now: Instant, _: &mut Vec<Queued>) -> Option<Queued> {
        if self.next_ready(now) == now { self.0.pop() } else { None }
    }
    fn next_ready(&self, now: Instant) -> Instant {
        let opens = now.as_nanos().next_multiple_of(10_000_000);
        if self.0.is_empty() { Instant::NEVER } else { Instant::from_nanos(opens) }
    }
    fn packets(&self) -> u32 {
        self.0.len() as u32
    }
    fn bytes(&self) -> u64 {
        self.0.iter().map(|queued| u64::from(queued.size)).sum()
    }
}

/// One of each kind.
pub(crate) fn every_discipline() -> Vec<DisciplineParams> {
    let codel = MarkingParams::Codel(evenair_laws::marking::CodelParams::rfc8289());
    vec![
        DisciplineParams::Fifo,
        DisciplineParams::Fair(FairParams::round_robin()),
        DisciplineParams::Fair(FairParams::fq_codel()),
        DisciplineParams::Fair(FairParams {
            quantum: Bytes::new(1),
            marking: Some(codel),
            ..FairParams::round_robin()
        }),
        DisciplineParams::Fair(FairParams::cake(Hosts::Both)),
        DisciplineParams::Weighted(WeightedParams::default()),
        DisciplineParams::Airtime(AirtimeParams::mac80211()),
        DisciplineParams::Own(OwnDiscipline::new(Stack::default())),
    ]
}

#[test]
fn flows_of_unequal_sizes_get_the_same_bytes() {
    let mut fair = DisciplineParams::Fair(FairParams::round_robin()).begin(&ROLE);
    let sizes = [1500, 300, 40];
    let mut id = 0;
    let mut sent: BTreeMap<u32, u64> = BTreeMap::new();
    for flow in 0..3 {
        for _ in 0..3 {
            fair.enqueue(ms(0), packet(id, flow, sizes[flow as usize], ms(0)));
            id += 1;
        }
    }
    let mut total = 0;
    while total < 1_500_000 {
        let next = fair.dequeue(ms(1), &mut Vec::new()).expect("every flow always has packets");
        *sent.entry(next.flow).or_default() += u64::from(next.size);
        total += u64::from(next.size);
        fair.enqueue(ms(1), packet(id, next.flow, next.size, ms(1)));
        id += 1;
        // As many as it may send in a turn wait of each.
        if next.flow == 2 && fair.packets() < 200 {
            fair.enqueue(ms(1), packet(id, 2, 40, ms(1)));
            id += 1;
        }
    }
    // DRR's bound: no flow is more than a quantum and a packet from its share.
    for (flow, bytes) in sent {
        assert!(bytes.abs_diff(500_000) < 2 * 1514 + 1500, "flow {flow}: {bytes} of 500000");
    }
}

#[test]
fn bound_of_a_queue_refuses_its_own_flow_only() {
    let marking = Some(evenair_laws::marking::DropTail::packets(5).into());
    let mut fair = DisciplineParams::Fair(FairParams { marking, ..FairParams::round_robin() }).begin(&ROLE);
    for id in 0..5 {
        let arrival = packet(id, 0, 1500, ms(0));
        assert!(fair.refusal(ms(0), &arrival).value() < 1e-12);
        fair.enqueue(ms(0), arrival);
    }
    assert!((fair.refusal(ms(0), &packet(5, 0, 1500, ms(0))).value() - 1.0).abs() < 1e-12);
    assert!(fair.refusal(ms(0), &packet(6, 1, 1500, ms(0))).value() < 1e-12, "flow 1 has its own");
    fair.dequeue(ms(1), &mut Vec::new());
    assert!(fair.refusal(ms(1), &packet(7, 0, 1500, ms(1))).value() < 1e-12);
}

#[test]
fn sparse_flow_goes_first_while_sparse() {
    let order = |params: FairParams| {
        let mut fair = DisciplineParams::Fair(params).begin(&ROLE);
        for id in 0..6 {
            fair.enqueue(ms(0), packet(id, id % 2, 1500, ms(0)));
        }
        let mut out = Vec::new();
        let mut leave =
            |fair: &mut AnyDiscipline| out.push(fair.dequeue(ms(1), &mut Vec::new()).unwrap().flow);
        // Both use up the quantum with which they began, and are in the round.
        (0..4).for_each(|_| leave(&mut fair));
        (10..14).for_each(|id| fair.enqueue(ms(1), packet(id, 9, 1000, ms(1))));
        (0..4).for_each(|_| leave(&mut fair));
        out
    };
    assert_eq!(order(FairParams { marking: None, ..FairParams::fq_codel() })[4..], [9, 9, 0, 1]);
    assert_eq!(order(FairParams::round_robin())[4..], [0, 9, 9, 1]);
}

/// RFC 8290 section 4.2: a new flow with an empty line goes through the round once before it is new again.
#[test]
fn flow_that_was_new_is_not_new_again_at_once() {
    let params = FairParams { marking: None, ..FairParams::fq_codel() };
    let mut fair = DisciplineParams::Fair(params).begin(&ROLE);
    (0..20).for_each(|id| fair.enqueue(ms(0), packet(id, id % 2, 1500, ms(0))));
    let next = |fair: &mut AnyDiscipline| fair.dequeue(ms(1), &mut Vec::new()).unwrap().flow;
    // 1514 bytes are a packet, and a bit.
    assert_eq!([(); 4].map(|()| next(&mut fair)), [0, 0, 1, 1]);
    fair.enqueue(ms(1), packet(20, 9, 100, ms(1)));
    assert_eq!([(); 2].map(|()| next(&mut fair)), [9, 0]);
    fair.enqueue(ms(1), packet(21, 9, 100, ms(1)));
    assert_eq!([(); 2].map(|()| next(&mut fair)), [1, 9]);
}

/// Piece of CAKE, section III-B: a host's flows share its turn, those that have something to send. Flow 1 of the first host has one
/// packet; once it is gone flow 0 has the turn alone, and gets as much as the other host's flow.
#[test]
fn ended_flow_leaves_its_hosts_turn() {
    for (hosts, ends) in [
        (Hosts::Source, [(1, 7), (1, 8), (2, 9)]),
        (Hosts::Destination, [(7, 1), (8, 1), (9, 2)]),
        (Hosts::Both, [(1, 7), (1, 8), (2, 9)]),
    ] {
        let flows = Flows::new(&ends.map(|(from, to)| FlowFacts { weight: 1.0, from, to }));
        let params = FairParams { quantum: Bytes::new(1000), ..FairParams::cake(hosts) };
        let params = FairParams { sparse_first: false, marking: None, ..params };
        let mut fair = DisciplineParams::Fair(params).begin_at(&DisciplineRole { flows, ..ROLE.into() });
        for id in 0..100 {
            fair.enqueue(ms(0), packet(id, if id == 1 { 1 } else { id % 2 * 2 }, 500, ms(0)));
        }
        let mut got = [0u32; 3];
        for _ in 0..61 {
            got[fair.dequeue(ms(1), &mut Vec::new()).unwrap().flow as usize] += 1;
        }
        assert_eq!(got[1], 1);
        assert!(got[0].abs_diff(got[2]) <= 3, "{hosts:?}: {got:?}");
    }
}

#[test]
fn full_buffer_drops_from_the_longest_queue() {
    let mut fair = DisciplineParams::Fair(FairParams::fq_codel()).begin(&ROLE);
    for id in 0..5 {
        fair.enqueue(ms(0), packet(id, u32::from(id == 2), 1000, ms(0)));
    }
    assert_eq!(fair.evict(&packet(0, 0, 0, ms(0))).unwrap().packet, PacketId(0));
    assert_eq!((fair.packets(), fair.bytes()), (4, 4000));
    // Packets that left a line no longer count in its length.
    let mut fair = DisciplineParams::Fair(FairParams::round_robin()).begin(&ROLE);
    (0..5).for_each(|id| fair.enqueue(ms(0), packet(id, 0, 1000, ms(0))));
    (0..3).for_each(|_| assert!(fair.dequeue(ms(1), &mut Vec::new()).is_some()));
    (5..8).for_each(|id| fair.enqueue(ms(1), packet(id, 1, 1000, ms(1))));
    assert_eq!(fair.evict(&packet(8, 0, 0, ms(1))).unwrap().packet, PacketId(5));
    let mut fifo = DisciplineParams::Fifo.begin(&ROLE);
    fifo.enqueue(ms(0), packet(0, 0, 100, ms(0)));
    assert_eq!(fifo.evict(&packet(0, 0, 0, ms(0))), None, "the arrival is refused");
}

#[test]
fn own_disciplines_differ_by_identity() {
    let [own, again] = [0, 0].map(|_| DisciplineParams::Own(OwnDiscipline::new(Stack::default())));
    assert_eq!(own, again);
    assert!(format!("{own:?}").contains("Stack([]"), "{own:?}");
    assert_ne!(own, DisciplineParams::Fifo);
    let other = OwnDiscipline::new(Stack(Vec::new(), Some("another stack")));
    assert_ne!(own, DisciplineParams::Own(other));
    assert_eq!(own.identity().unwrap(), "a stack that opens every 10 ms");
    assert_eq!(DisciplineParams::Fifo.identity(), None);
}

/// How many packets wait for a next hop.
fn inside_of(lines: &BTreeMap<u32, VecDeque<PacketId>>, next_hop: u32) -> usize {
    lines.iter().filter(|(flow, _)| *flow / 2 == next_hop).map(|(_, line)| line.len()).sum()
}

proptest! {
    /// For any arrivals and departures: every packet leaves once, counts are right, and one is ready exactly when the
    /// discipline says.
    #[test]
    fn every_discipline_keeps_its_packets(
        which in 0usize..8,
        grouped in any::<bool>(),
        steps in prop::collection::vec((0u8..10, 0u32..4, 1u32..1600, 0u64..30), 1..300),
    ) {
        let flows = Flows::new(&[0, 1, 2, 3].map(|to| FlowFacts { weight: 1.0, from: 9, to }));
        let flows = if grouped { flows.grouped(&[5, 6, 5, 5]) } else { flows };
        let mut discipline = every_discipline()[which].begin_at(&DisciplineRole { flows, ..ROLE.into() });
        let mut inside: BTreeMap<PacketId, u32> = BTreeMap::new();
        let mut lines: BTreeMap<u32, VecDeque<PacketId>> = BTreeMap::new();
        let mut now = ms(1);
        for (id, (what, flow, size, wait)) in (0u32..).zip(steps) {
            now += Duration::from_millis(wait);
            let mut gone = Vec::new();
            match what {
                0..5 => {
                    let arrival = packet(id, flow, size, now);
                    prop_assert!(discipline.refusal(now, &arrival).value() <= 1.0);
                    discipline.enqueue(now, arrival);
                    inside.insert(PacketId(id), size);
                    lines.entry(flow).or_default().push_back(PacketId(id));
                }
                5 => gone.extend(discipline.evict(&packet(0, 0, 0, ms(0)))),
                6 => {
                    let next = discipline.dequeue_for(now, flow / 2, &mut gone);
                    prop_assert!(next.is_none_or(|next| next.next_hop == flow / 2));
                    let is_there = inside_of(&lines, flow / 2) > gone.len();
                    // The stack knows no next hops, and lines of several flows are first in, first out.
                    let may_be_behind = which == 7 || (grouped && which > 0);
                    prop_assert!(next.is_some() == is_there || may_be_behind);
                    gone.extend(next);
                }
                _ => {
                    let ready = discipline.next_ready(now);
                    prop_assert!(ready >= now && ready.is_never() == inside.is_empty());
                    let next = discipline.dequeue(now, &mut gone);
                    prop_assert!(next.is_some() == (ready == now) || gone.len() == inside.len());
                    gone.extend(next);
                }
            }
            for queued in gone {
                prop_assert_eq!(inside.remove(&queued.packet), Some(queued.size), "left twice, or was never there");
                let line = lines.get_mut(&queued.flow).expect("a flow that was seen");
                // Within a flow the order stays, except in the stack; weighted fair queueing gives up the last.
                let ends = [line.front(), line.back().filter(|_| which == 5 && what == 5)];
                prop_assert!(which == 7 || ends.contains(&Some(&queued.packet)));
                line.retain(|&id| id != queued.packet);
            }
            let left: BTreeSet<PacketId> = inside.keys().copied().collect();
            prop_assert_eq!(discipline.packets() as usize, left.len());
            prop_assert_eq!(discipline.bytes(), inside.values().map(|&size| u64::from(size)).sum::<u64>());
        }
    }
}
