//! A network of any shape is the same network.

use super::*;
use crate::ledger::{Airtime, Doing};
use crate::mac::dcf::shape::{Many, Shape, UpTo64, UpTo128};
use crate::receivers::Receivers;
use proptest::prelude::*;

/// The path of a network: a hash of its frames, the counts of each contender, and where its time went.
type Path = (u64, Vec<Counters>, Vec<Airtime>);

/// A network in which each node has packets for the next one.
struct Host<S: Shape> {
    air: DcfAir<S>,
    nodes: u32,
    /// The contenders that the air tells of ahead.
    upcoming: Vec<Contender>,
}

impl<S: Shape> Host<S> {
    fn begin(air: DcfAir<S>, nodes: u32) -> Self {
        let mut host = Self { air, nodes, upcoming: Vec::new() };
        (0..nodes).for_each(|by| host.offer(Instant::ZERO, by));
        host
    }

    fn offer(&mut self, now: Instant, by: u32) {
        let to = if by + 1 == self.nodes { BROADCAST } else { by + 1 };
        let mode = Mode::at(Rate::from_kbps(11_000));
        self.air.offer(now, by, Head { to, size: Bytes::new(DATA_BYTES + by), mode, packet: PacketId(by) });
    }

    fn run_to(&mut self, end: Instant) {
        let mut out = Vec::new();
        while let Some(now) = self.air.advance(end, &mut out) {
            let mut deadlines = self.air.deadlines.all().iter();
            assert!(deadlines.all(|&deadline| deadline >= now), "a countdown has ended unseen");
            self.upcoming.extend(self.air.take_upcoming());
            for up in std::mem::take(&mut out) {
                if let Up::Done { by, .. } = up {
                    self.offer(now, by);
                }
            }
        }
    }

    /// Its nodes move now, those that send when their frames have ended.
    fn move_at(&mut self, now: Instant, medium: &Medium) {
        let (receivers, mut stale) = (Receivers::default(), (0..self.nodes).collect());
        let mut ends = self.air.set_medium(now, medium, &receivers, &mut stale);
        while !ends.is_never() {
            self.run_to(ends);
            ends = self.air.set_medium(ends, medium, &receivers, &mut stale);
        }
    }

    fn path(mut self, end: Instant) -> Path {
        self.run_to(end);
        let counters = (0..self.nodes).map(|c| *self.air.counters(c)).collect();
        let ledger = self.air.ledger.as_mut().map(|ledger| {
            ledger.close(end);
            (0..self.nodes).map(|c| ledger.airtime(c).clone()).collect()
        });
        (self.air.fingerprint().value(), counters, ledger.unwrap_or_default())
    }
}

/// Whether a line of nodes with these queues is small.
fn is_small(at_m: &[f64], nodes_of_queues: &[u32]) -> bool {
    is_small_by(Rules::standard(), at_m, nodes_of_queues)
}

fn is_small_by(rules: Rules, at_m: &[f64], nodes_of_queues: &[u32]) -> bool {
    let at: Vec<Position> = at_m.iter().map(|&x| Position::new(x, 0.0)).collect();
    let contenders: Vec<Contention> = nodes_of_queues.iter().map(|&node| contention(node)).collect();
    DcfAir::<UpTo64>::fits(
        &Medium::from_positions(&at, &radio()),
        &contenders,
        &timing(),
        &rules,
        &Receivers::default(),
    )
}

fn radio() -> ThresholdRadio {
    ThresholdRadio {
        transmission_range_m: 250.0,
        carrier_sense_range_m: 550.0,
        interference_range_m: 800.0,
        propagation: Propagation::default(),
    }
}

fn contention(node: u32) -> Contention {
    Contention {
        node,
        access: Access {
            draw: Draw::Slots { window: 7, end_included: true },
            on_failure: OnFailure::Double { window_max: 31 },
            when: When::AfterTransmission,
            holding: Holding::Packet,
        },
        arbitration: Arbitration::dcf(&timing()),
        stream: Stream::named(1, &format!("node {node}"), "backoff"),
    }
}

#[test]
fn small_is_what_fits() {
    assert!(is_small(&[0.0, 100.0], &[0, 1]) && is_small(&[0.0, 100.0], &[1]));
    assert!(!is_small(&[0.0, 100.0], &[0, 0]), "two queues at a node");
    assert!(!is_small(&[0.0, 100.0], &[]), "no queue");
    let adds_up = Rules { energy: Some(Dbm::new(-62.0)), ..Rules::standard() };
    assert!(!is_small_by(adds_up, &[0.0, 100.0], &[0, 1]), "signals are added up");
    let line = |nodes: usize| -> Vec<f64> { (0..nodes).map(|n| n as f64).collect() };
    assert!(is_small(&line(UpTo64::PLACES), &[0]) && !is_small(&line(UpTo64::PLACES + 1), &[0]));
}

/// Node 0's frame is decoded up to 250 m: at node 2, and not at its addressee 400 m away.
#[test]
fn small_timeline_lists_receivers_in_range() {
    let at = [0.0, 400.0, 100.0].map(|x| Position::new(x, 0.0));
    let medium = Medium::from_positions(&at, &radio());
    let contenders: Vec<Contention> = (0..3).map(contention).collect();
    let receivers = Receivers::default();
    let mut air =
        DcfAir::<UpTo64>::with_receivers(&medium, contenders, timing(), Rules::standard(), &receivers);
    air.timeline = Some(Box::new(Timeline::new(Instant::ZERO, Instant::NEVER)));
    let mut out = Vec::new();
    let mode = Mode::at(Rate::from_kbps(11_000));
    let head = Head { to: 1, size: Bytes::new(DATA_BYTES), mode, packet: PacketId(0) };
    air.offer(Instant::ZERO, 0, head);
    while air.advance(us(1_100), &mut out).is_some() {}
    assert_eq!(air.counters(0).attempts, 1);
    let timeline = air.timeline.as_mut().unwrap();
    let heard: Vec<(u32, u32)> = timeline.take_overheard().map(|heard| (heard.from, heard.at)).collect();
    assert_eq!(heard, [(0, 2)]);
}

/// State that is fetched into the cache ahead of time changes no frame.
#[test]
fn looking_ahead_takes_the_same_path() {
    let at = on_a_line(&(0..60).map(|n| f64::from(n) * 200.0).collect::<Vec<_>>());
    let medium = Medium::from_positions(&at, &radio());
    let contenders: Vec<Contention> = (0..60).map(contention).collect();
    let sets =
        DcfAir::of_many(&medium, &contenders, timing(), Rules::standard(), &Receivers::default()).unwrap();
    let lists = DcfAir::new(&medium, contenders, timing(), Rules::standard());
    assert_eq!(path_ahead(sets), path_ahead(lists));
}

/// The path of a network with state that is fetched ahead of time, which is that without.
fn path_ahead<S: Shape>(air: DcfAir<S>) -> Path {
    let (mut plain, mut ahead) = (Host::begin(air.clone(), 60), Host::begin(air, 60));
    ahead.air.look_ahead(true);
    [&mut plain, &mut ahead].into_iter().for_each(|host| host.run_to(us(100_000)));
    assert!(plain.upcoming.is_empty(), "it looks ahead by itself");
    assert!(ahead.upcoming.len() > 100, "{} frames were told of ahead", ahead.upcoming.len());
    let path = ahead.path(us(100_000));
    assert_eq!(path, plain.path(us(100_000)));
    path
}

/// A contender is blocked by the frame that began first, of those that it still senses: not by that of the lower number, nor by
/// the last that began.
#[test]
fn the_first_frame_still_sensed_has_the_blame() {
    let at = [(-500.0, 0.0), (0.0, 500.0), (500.0, 0.0), (0.0, 0.0)].map(|(x, y)| Position::new(x, y));
    let medium = Medium::from_positions(&at, &radio());
    let contenders: Vec<Contention> = (0..4).map(contention).collect();
    let air = DcfAir::new(&medium, contenders.clone(), timing(), Rules::standard());
    let receivers = Receivers::default();
    let small =
        DcfAir::<UpTo64>::with_receivers(&medium, contenders, timing(), Rules::standard(), &receivers);
    assert_eq!((blamed(air), blamed(small)), (vec![0, 2, 1], vec![0, 2, 1]));
}

/// The contenders that block the last node's, one after another, when the frames of 0, 2 and 1 begin in this order.
fn blamed<S: Shape>(mut air: DcfAir<S>) -> Vec<Contender> {
    air.start_ledger(Instant::ZERO);
    let (mut out, mut blamed) = (Vec::new(), Vec::new());
    let mode = Mode::at(Rate::from_kbps(11_000));
    for (begins, by) in [(0, 0), (100, 3), (200, 2), (400, 1), (5_000, 0)] {
        while air.advance(us(begins), &mut out).is_some() {
            if let Doing::Blocked { by } = air.ledger.as_ref().unwrap().doing(3) {
                blamed.push(by);
            }
        }
        air.offer(
            us(begins),
            by,
            Head { to: BROADCAST, size: Bytes::new(DATA_BYTES), mode, packet: PacketId(by) },
        );
    }
    blamed.dedup();
    blamed
}

/// Rules of either kind.
fn any_rules() -> impl Strategy<Value = Rules> {
    let captures = prop_oneof![
        Just(Capture::First),
        Just(Capture::Strongest),
        Just(Capture::Sinr { noise: Dbm::new(-96.0) }),
    ];
    let thresholds_db = prop_oneof![Just(10.0), Just(0.0), Just(-6.0)];
    (captures, thresholds_db, any::<bool>(), any::<bool>()).prop_map(
        |(capture, capture_db, of_ns2, requests)| Rules {
            capture,
            capture_db,
            rts_threshold: requests.then(|| Bytes::new(100)),
            ..if of_ns2 { Rules::ns2() } else { Rules::standard() }
        },
    )
}

/// A network of this shape takes the path of any, with the ledger and without, when its nodes have changed places too.
fn takes_the_path_of_any<S: Shape>(at: &[Position], rules: Rules, end: Instant) -> Result<(), TestCaseError> {
    let mut at = at.to_vec();
    let (medium, nodes) = (Medium::from_positions(&at, &radio()), at.len() as u32);
    at.rotate_left(1);
    let moved = Medium::from_positions(&at, &radio());
    let contenders: Vec<Contention> = (0..nodes).map(contention).collect();
    let receivers = Receivers::default();
    prop_assert!(DcfAir::<S>::fits(&medium, &contenders, &timing(), &rules, &receivers));
    let any = DcfAir::new(&medium, contenders.clone(), timing(), rules);
    let shaped = DcfAir::<S>::with_receivers(&medium, contenders, timing(), rules, &receivers);
    let plain = path(shaped.clone(), nodes, &moved, end);
    let of_any = path(with_ledger(any), nodes, &moved, end);
    prop_assert!(of_any.1.iter().any(|counters| counters.attempts > 0));
    prop_assert_eq!((plain.0, &plain.1), (of_any.0, &of_any.1), "the ledger changes frames");
    prop_assert_eq!(path(with_ledger(shaped), nodes, &moved, end), of_any);
    Ok(())
}

fn with_ledger<S: Shape>(mut air: DcfAir<S>) -> DcfAir<S> {
    air.start_ledger(Instant::ZERO);
    air
}

/// The path of a network with nodes that move after half of the time.
fn path<S: Shape>(air: DcfAir<S>, nodes: u32, moved: &Medium, end: Instant) -> Path {
    let half = Instant::from_nanos(end.as_nanos() / 2);
    let mut host = Host::begin(air, nodes);
    host.run_to(half);
    host.move_at(half, moved);
    host.path(end)
}

fn on_a_line(at_m: &[f64]) -> Vec<Position> {
    at_m.iter().map(|&x| Position::new(x, 0.0)).collect()
}

proptest! {
    /// Frame by frame, under any rules.
    #[test]
    fn a_small_network_takes_the_path_of_any(
        at_m in prop::collection::vec(0.0..900.0f64, 2..8),
        rules in any_rules(),
    ) {
        let at = on_a_line(&at_m);
        takes_the_path_of_any::<UpTo64>(&at, rules, us(300_000))?;
        takes_the_path_of_any::<UpTo128>(&at, rules, us(300_000))?;
        takes_the_path_of_any::<Many>(&at, rules, us(300_000))?;
    }

    /// The same of a line of as many nodes as there may be.
    #[test]
    fn a_middle_network_takes_the_path_of_any(
        mut at_m in prop::collection::vec(0.0..5_000.0f64, 65..=UpTo128::PLACES),
        rules in any_rules(),
    ) {
        at_m.sort_by(f64::total_cmp);
        let at = on_a_line(&at_m);
        takes_the_path_of_any::<UpTo128>(&at, rules, us(20_000))?;
        takes_the_path_of_any::<Many>(&at, rules, us(20_000))?;
    }

    /// The same of more nodes, over a plane and in no order.
    #[test]
    fn a_large_network_takes_the_path_of_any(
        at_m in prop::collection::vec((0.0..5_000.0f64, 0.0..5_000.0f64), 129..300),
        rules in any_rules(),
    ) {
        let at: Vec<Position> = at_m.into_iter().map(|(x, y)| Position::new(x, y)).collect();
        takes_the_path_of_any::<Many>(&at, rules, us(10_000))?;
    }
}

/// Sets hold the receptions of a large network, but for those of a crowd, of rules that add powers up, and of nodes that have moved.
#[test]
fn large_networks_have_sets() {
    let of_many = |apart_m: f64, rules: Rules| {
        let at = on_a_line(&(0..150).map(|n| f64::from(n) * apart_m).collect::<Vec<_>>());
        let contenders: Vec<Contention> = (0..150).map(contention).collect();
        let medium = Medium::from_positions(&at, &radio());
        (DcfAir::of_many(&medium, &contenders, timing(), rules, &Receivers::default()), medium)
    };
    let (sets, medium) = of_many(200.0, Rules::standard());
    let mut moved = sets.expect("a plain network");
    moved.set_medium(Instant::ZERO, &medium, &Receivers::default(), &mut Vec::new());
    assert!(!moved.in_sets());
    assert!(of_many(5.0, Rules::standard()).0.is_none(), "more hearers than colours");
    let adds_up = Rules { capture: Capture::Sinr { noise: Dbm::new(-96.0) }, ..Rules::standard() };
    assert!(of_many(200.0, adds_up).0.is_none(), "powers are added up");
}
