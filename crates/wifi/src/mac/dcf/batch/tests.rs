//! Properties of batches: one packet in a frame is the old trajectory; every packet ends once; receivers get them in order.

use super::super::shape::{General, Shape, UpTo64};
use super::super::{Arbitration, Capture, Contention, Counters, DcfAir, Rules};
use super::*;
use crate::air::{Outcome, Up};
use crate::error::ErrorModel;
use crate::loss::{LossModel, LossProcess};
use crate::phy::{Format, GuardInterval, Mode, Modulation, Phy, Width};
use crate::receivers::Receivers;
use crate::timing::{ControlRate, MacTiming};
use crate::{FrameKind, Timeline};
use evenair_des::Stream;
use evenair_laws::backoff::{Access, BackoffLaw, Dcf, Draw, Holding, OnFailure, Space, When};
use evenair_topology::{Medium, Position, Propagation, ThresholdRadio};
use evenair_units::{Probability, Rate};
use proptest::prelude::*;
use std::collections::VecDeque;

fn timing() -> MacTiming {
    MacTiming::a(ControlRate::Mandatory).qos()
}

/// Receivers with an error model.
fn by_errors() -> Rules {
    Rules {
        capture: Capture::Errors(ErrorModel::new(Width::Mhz20)),
        capture_db: 5.0,
        detection_db: Some(ErrorModel::DETECTION_DB),
        ..Rules::standard()
    }
}

/// Windows of EDCA's best effort.
fn best_effort() -> Access {
    Access {
        draw: Draw::Slots { window: 15, end_included: true },
        on_failure: OnFailure::Double { window_max: 1_023 },
        when: When::AfterTransmission,
        holding: Holding::Packet,
    }
}

/// Losses of links, by sender and receiver.
type Losses<'a> = &'a [((u32, u32), LossModel)];

/// A host that stages as many packets as there is room for.
#[derive(Clone)]
struct Host<S: Shape> {
    air: DcfAir<S>,
    out: Vec<Up>,
    now: Instant,
    /// Of each contender: the packets that it has not been given, how many were brought, and those that it has.
    queues: Vec<VecDeque<Head>>,
    brought: Vec<u32>,
    given: Vec<Vec<PacketId>>,
    ups: Vec<(Instant, Up)>,
}

impl<S: Shape> Host<S> {
    /// Nodes on a line [m], each with a contender.
    fn line(at_m: &[f64], access: Access, rules: Rules, space: Space, losses: Losses) -> Self {
        let at: Vec<Position> = at_m.iter().map(|&x| Position::new(x, 0.0)).collect();
        let radio = ThresholdRadio {
            transmission_range_m: 250.0,
            carrier_sense_range_m: 550.0,
            interference_range_m: 550.0,
            propagation: Propagation::default(),
        };
        let contention = |node: usize| Contention {
            node: node as u32,
            access,
            arbitration: Arbitration::of(space, access.holding, &timing()),
            stream: Stream::named(1, &format!("node {node}"), "backoff"),
        };
        let contenders = (0..at.len()).map(contention).collect();
        let medium = Medium::from_positions(&at, &radio);
        let mut air = DcfAir::with_receivers(&medium, contenders, timing(), rules, &Receivers::default());
        for &((from, to), model) in losses {
            let stream = Stream::named(1, &format!("{from}>{to}"), "loss");
            air.set_loss(from, to, &LossProcess::new(vec![(Instant::ZERO, model)], stream));
        }
        air.timeline = Some(Box::new(Timeline::new(Instant::ZERO, Instant::NEVER)));
        air.start_ledger(Instant::ZERO);
        let nodes = at.len();
        Self {
            air,
            out: Vec::new(),
            now: Instant::ZERO,
            queues: vec![VecDeque::new(); nodes],
            brought: vec![0; nodes],
            given: vec![Vec::new(); nodes],
            ups: Vec::new(),
        }
    }

    fn aggregate(mut self, limits: Aggregation) -> Self {
        (0..self.queues.len() as u32).for_each(|c| self.air.aggregate(c, limits));
        self
    }

    fn bring(&mut self, by: u32, to: u32, bytes: u32) {
        let packet = PacketId(self.brought[by as usize]);
        self.brought[by as usize] += 1;
        let mode = Mode::at(Rate::from_kbps(54_000));
        self.queues[by as usize].push_back(Head { to, size: Bytes::new(bytes), mode, packet });
    }

    /// Gives the air as many packets as it has room for.
    fn serve(&mut self, by: u32) {
        loop {
            let given = &mut self.given[by as usize];
            let is_first = given.is_empty();
            if !is_first && self.air.room(by) == 0 {
                return;
            }
            let Some(head) = self.queues[by as usize].pop_front() else { return };
            given.push(head.packet);
            if is_first {
                self.air.offer(self.now, by, head);
            } else {
                self.air.stage(self.now, by, head);
            }
        }
    }

    fn run_to(&mut self, end: Instant) {
        (0..self.queues.len() as u32).for_each(|by| self.serve(by));
        loop {
            let ups = std::mem::take(&mut self.out);
            for up in ups {
                self.ups.push((self.now, up));
                if let Up::Done { by, packet, .. } = up {
                    let given = &mut self.given[by as usize];
                    let place = given.iter().position(|&other| other == packet);
                    given.remove(place.expect("a packet ends that the air has"));
                    self.serve(by);
                }
            }
            let Some(now) = self.air.advance(end, &mut self.out) else { break };
            assert!(now >= self.now, "something was due in the past");
            self.now = now;
            (0..self.queues.len()).for_each(|c| self.is_under_way(c));
        }
        self.now = end;
    }

    /// A contender with a head counts down, or is in an exchange.
    fn is_under_way(&self, c: usize) {
        let (queue, station) = (&self.air.queues[c], &self.air.stations[c]);
        let engaged = station.sending.is_some_and(|sent| sent.by == c as u32)
            || station.awaiting.is_some_and(|(by, _)| by == c as u32);
        let counts = self.air.countdowns[c].left().is_some();
        assert!(queue.head.is_none() || engaged || counts, "contender {c} has forgotten its packets");
    }

    /// The names of packets of a contender that were received, in order.
    fn received(&self, by: u32) -> Vec<u32> {
        let received = |(_, up): &(Instant, Up)| match *up {
            Up::Received { from, packet, .. } if from == by => Some(packet.0),
            _ => None,
        };
        self.ups.iter().filter_map(received).collect()
    }

    /// The packets of a contender that have ended, and how.
    fn done(&self, by: u32) -> Vec<(u32, Outcome)> {
        let done = |(_, up): &(Instant, Up)| match *up {
            Up::Done { by: c, packet, outcome } if c == by => Some((packet.0, outcome)),
            _ => None,
        };
        self.ups.iter().filter_map(done).collect()
    }

    /// Starts [µs], senders, kinds and sizes of all frames; of an aggregate that of all its packets with delimiters and padding.
    fn frames(&self) -> Vec<(u64, u32, FrameKind, u32)> {
        let mut frames: Vec<(u64, u32, FrameKind, u32)> = Vec::new();
        for f in self.air.timeline.as_ref().unwrap().frames() {
            let size = f.size.count();
            match (f.part, frames.last_mut()) {
                (Some(part), Some(last)) if part.index > 0 => last.3 = last.3.next_multiple_of(4) + 4 + size,
                (Some(part), _) if part.of > 1 => {
                    frames.push((f.start.as_nanos() / 1000, f.from, f.kind, 4 + size));
                }
                _ => frames.push((f.start.as_nanos() / 1000, f.from, f.kind, size)),
            }
        }
        frames
    }
}

/// The result of a run.
type Trace = (u64, Vec<Counters>, Vec<(Instant, Up)>, Vec<Duration>);

fn trace<S: Shape>(mut host: Host<S>, end: Instant) -> Trace {
    host.run_to(end);
    let contenders = 0..host.queues.len() as u32;
    let ledger = host.air.ledger.as_mut().unwrap();
    ledger.close(end);
    let own = contenders.clone().map(|c| ledger.airtime(c).own).collect();
    let counters = contenders.map(|c| *host.air.counters(c)).collect();
    (host.air.fingerprint().value(), counters, host.ups, own)
}

/// A small network, its laws, and packets in time.
#[derive(Clone, Debug)]
struct Case {
    places: Vec<f64>,
    law: u8,
    holding: u8,
    aifsn: Option<u32>,
    loss: f64,
    answer_loss: f64,
    rts: Option<u32>,
    retries: u32,
    /// Errors follow from the signal-to-noise ratio, too.
    by_errors: bool,
    /// The sender, how many packets, how long after those before [µs], bytes.
    offers: Vec<(usize, usize, u64, u32)>,
}

fn cases() -> impl Strategy<Value = Case> {
    let places = prop::collection::vec(0.0f64..500.0, 2..6);
    let law = (0u8..3, 0u8..3, prop::option::of(1u32..8));
    let loss = (prop_oneof![Just(0.0), 0.0f64..0.7], prop_oneof![Just(0.0), 0.0f64..0.7]);
    let rules = (prop::option::of(200u32..6_000), 1u32..12, any::<bool>());
    let offers = prop::collection::vec((0usize..6, 1usize..30, 0u64..9_000, 40u32..1_600), 1..20);
    (places, law, loss, rules, offers).prop_map(|(places, law, loss, rules, offers)| Case {
        places,
        law: law.0,
        holding: law.1,
        aifsn: law.2,
        loss: loss.0,
        answer_loss: loss.1,
        rts: rules.0,
        retries: rules.1,
        by_errors: rules.2,
        offers,
    })
}

impl Case {
    fn access(&self) -> Access {
        let holding = match self.holding {
            0 => Holding::Packet,
            1 => Holding::Burst(Duration::from_micros(1_504)),
            _ => Holding::Span(Duration::from_micros(900)),
        };
        let mean = Duration::from_micros(200);
        let law = match self.law {
            0 => Dcf::ofdm().access(),
            1 => Access {
                draw: Draw::Exponential { mean, slotted: false },
                when: When::BeforeFrame,
                ..best_effort()
            },
            _ => Access { on_failure: OnFailure::Repeat, ..best_effort() },
        };
        Access { holding, ..law }
    }

    fn rules(&self) -> Rules {
        Rules {
            rts_threshold: self.rts.map(Bytes::new),
            short_retry_limit: self.retries,
            long_retry_limit: self.retries,
            ..if self.by_errors { by_errors() } else { Rules::standard() }
        }
    }

    fn host<S: Shape>(&self) -> Host<S> {
        let nodes = self.places.len() as u32;
        let links = (0..nodes).flat_map(|a| (0..nodes).map(move |b| (a, b))).filter(|(a, b)| a != b);
        let losses: Vec<((u32, u32), LossModel)> = links
            .map(|(a, b)| {
                let p = if (a + 1) % nodes == b { self.loss } else { self.answer_loss };
                ((a, b), LossModel::Frames(Probability::clamped(p)))
            })
            .collect();
        let space = self.aifsn.map_or(Space::Difs, |slots| Space::Aifs { slots });
        Host::line(&self.places, self.access(), self.rules(), space, &losses)
    }

    /// Brings the packets in time, each node's for the next.
    fn play<S: Shape>(&self, host: &mut Host<S>) {
        let nodes = self.places.len();
        for &(from, count, wait_us, bytes) in &self.offers {
            let from = from % nodes;
            (0..count).for_each(|_| host.bring(from as u32, ((from + 1) % nodes) as u32, bytes));
            host.run_to(host.now + Duration::from_micros(wait_us));
        }
    }

    fn limits(&self) -> Aggregation {
        Aggregation { tries: u8::try_from(self.retries).ok(), ..Aggregation::standard() }
    }
}

/// Two runs are the same; where they part, the first news that differ are told.
fn same(new: &Trace, old: &Trace) -> Result<(), TestCaseError> {
    let parts = new.2.iter().zip(&old.2).find(|(new, old)| new != old);
    prop_assert!(parts.is_none(), "{parts:?}");
    prop_assert_eq!((&new.1, &new.3, new.2.len()), (&old.1, &old.3, old.2.len()));
    prop_assert_eq!(new.0, old.0, "fingerprints");
    Ok(())
}

/// A run of a case with these limits, or without aggregates.
fn run<S: Shape>(case: &Case, limits: Option<Aggregation>) -> Trace {
    let mut host = case.host::<S>();
    if let Some(limits) = limits {
        host = host.aggregate(limits);
    }
    case.play(&mut host);
    // Retries without end, as to a node out of reach, repeat themselves.
    let rest = if case.retries == u32::MAX { Duration::from_millis(300) } else { Duration::from_secs(3) };
    let end = host.now + rest;
    trace(host, end)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    /// The licence for the two paths. RTS and DATA frames without acknowledgement share one limit in a batch, so retries end
    /// alike only where there is no RTS; with it there is no limit.
    #[test]
    fn one_packet_a_frame_is_the_old_trajectory(mut case in cases()) {
        if case.rts.is_some() {
            case.retries = u32::MAX;
        }
        let old = run::<General>(&case, None);
        // Packets handed over one by one, or staged ahead.
        for window in [1, 64] {
            let limits = Aggregation { packets: 1, window, ..case.limits() };
            same(&run::<General>(&case, Some(limits)), &old)?;
            same(&run::<UpTo64>(&case, Some(limits)), &old)?;
        }
    }
}

fn limits() -> impl Strategy<Value = Aggregation> {
    let sizes = (1u16..65, prop_oneof![Just(64u16), 1u16..65], 1_000u32..65_536, 300u64..5_484);
    let ends = (prop::option::of(1u8..12), prop::option::of(2u64..50), any::<bool>());
    (sizes, ends).prop_map(|((packets, window, bytes, airtime_us), (tries, lifetime_ms, asks))| Aggregation {
        packets,
        bytes,
        airtime: Duration::from_micros(airtime_us),
        window,
        tries,
        lifetime: lifetime_ms.map(Duration::from_millis),
        after_missed: if asks { MissedBlockAck::Request } else { MissedBlockAck::Data },
    })
}

/// Every packet ends once; the receiver gets packets in order, each once, and none that was dropped; every nanosecond is booked;
/// counts agree; all packets have ended, where tries do.
fn packets_end_once<S: Shape>(
    host: &mut Host<S>,
    end: Instant,
    limits: Aggregation,
) -> Result<(), TestCaseError> {
    for c in 0..host.queues.len() as u32 {
        let (done, received) = (host.done(c), host.received(c));
        prop_assert!(received.windows(2).all(|pair| pair[0] < pair[1]), "out of order: {:?}", received);
        let mut names: Vec<u32> = done.iter().map(|&(name, _)| name).collect();
        names.sort_unstable();
        let brought = host.brought[c as usize];
        prop_assert!(names.windows(2).all(|pair| pair[0] < pair[1]), "a packet ends twice: {:?}", names);
        prop_assert!(limits.tries.is_none() || names.len() as u32 == brought, "{} of {brought}", names.len());
        for (name, outcome) in done {
            let is_received = received.binary_search(&name).is_ok();
            prop_assert_eq!(
                is_received,
                outcome != Outcome::Dropped,
                "packet {} of {}: {:?}",
                name,
                c,
                outcome
            );
        }
        let (counters, aggregates) = (*host.air.counters(c), *host.air.aggregate_counters(c).unwrap());
        prop_assert!(aggregates.mpdus >= counters.attempts && aggregates.mpdus_lost <= aggregates.mpdus);
        prop_assert_eq!(aggregates.given_up, counters.dropped);
        let ledger = host.air.ledger.as_mut().unwrap();
        ledger.close(end);
        prop_assert_eq!(ledger.airtime(c).total(), end.since(Instant::ZERO));
        if limits.tries.is_some() {
            prop_assert!(host.air.queues[c as usize].batch.as_ref().unwrap().mpdus.is_empty());
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn packets_end_once_and_in_order(case in cases(), limits in limits()) {
        let mut host = case.host::<General>().aggregate(limits);
        case.play(&mut host);
        // Without a limit of tries a node out of reach is called for ever, and nothing has to end.
        let end = host.now + Duration::from_secs(if limits.tries.is_some() { 20 } else { 1 });
        host.run_to(end);
        packets_end_once(&mut host, end, limits)?;
        let mut small = case.host::<UpTo64>().aggregate(limits);
        case.play(&mut small);
        small.run_to(end);
        prop_assert_eq!(host.air.fingerprint(), small.air.fingerprint());
        prop_assert_eq!(&host.ups, &small.ups);
    }
}

/// Two nodes side by side, of which the first sends to the second, without back-offs.
fn pair(limits: Aggregation, holding: Holding, losses: Losses) -> Host<General> {
    let access = Access { draw: Draw::Slots { window: 0, end_included: true }, holding, ..best_effort() };
    Host::line(&[0.0, 0.0], access, Rules::standard(), Space::Aifs { slots: 2 }, losses).aggregate(limits)
}

fn us(time: u64) -> Instant {
    Instant::ZERO + Duration::from_micros(time)
}

fn every(n: u32) -> LossModel {
    LossModel::Every(n)
}

/// 1000-byte packets are MPDUs of 1038 bytes. Three of them: 4 + 1038, padded to 1044, twice, and 4 + 1038 are 3130 bytes (clause
/// 9.7.1): 25 062 bits with SERVICE and tail, 117 symbols of 216 bits: 20 + 468 µs. The block acknowledgement, 32 bytes at 24 Mb/s: 278
/// bits, 3 symbols: 32 µs.
#[test]
fn three_packets_share_a_frame() {
    let mut host = pair(Aggregation::standard(), Holding::Packet, &[]);
    (0..3).for_each(|_| host.bring(0, 1, 1_000));
    host.run_to(us(10_000));
    let block_ack_at = 34 + 488 + 16;
    assert_eq!(host.frames(), [(34, 0, FrameKind::Data, 3_130), (block_ack_at, 1, FrameKind::BlockAck, 32)]);
    assert_eq!(host.received(0), [0, 1, 2]);
    let ends: Vec<Instant> = host.ups.iter().map(|&(at, _)| at).collect();
    let (decoded, done) = (us(34 + 488), us(block_ack_at + 32));
    assert_eq!(ends, [decoded, decoded, decoded, done, done, done]);
    let counters = host.air.aggregate_counters(0).unwrap();
    assert_eq!((counters.aggregates, counters.mpdus, counters.mpdus_lost), (1, 3, 0));
    assert_eq!(host.air.counters(0).attempts, 1);
}

/// Of four packets the second and the fourth are lost, then of these two the second, then none.
#[test]
fn lost_packets_hold_back_those_behind_them() {
    let mut host = pair(Aggregation::standard(), Holding::Packet, &[((0, 1), every(2))]);
    (0..4).for_each(|_| host.bring(0, 1, 1_000));
    host.run_to(us(730));
    assert_eq!((host.received(0), host.done(0).len()), (vec![0], 2), "the third waits for the second");
    host.run_to(us(10_000));
    assert_eq!(host.received(0), [0, 1, 2, 3]);
    let ended: Vec<u32> = host.done(0).iter().map(|&(name, _)| name).collect();
    assert_eq!(ended, [0, 2, 1, 3]);
    let sizes: Vec<u32> = host.frames().iter().filter(|f| f.1 == 0).map(|f| f.3).collect();
    // 2086 bytes are two packets; the last goes by itself, as a plain frame with a normal ACK.
    assert_eq!(sizes, [4_174, 2_086, 1_038]);
    let counters = host.air.aggregate_counters(0).unwrap();
    assert_eq!((counters.aggregates, counters.mpdus, counters.mpdus_lost), (2, 7, 3));
    assert_eq!(host.frames().last().unwrap().2, FrameKind::Ack);
}

/// As before. The timeline tells which packets of a frame were lost; the fourth, lost twice, is given up where two exchanges are the most.
#[test]
fn partial_losses_are_recorded_and_take_tries() {
    let limits = Aggregation { tries: Some(2), ..Aggregation::standard() };
    let mut host = pair(limits, Holding::Packet, &[((0, 1), every(2))]);
    (0..4).for_each(|_| host.bring(0, 1, 1_000));
    host.run_to(us(10_000));
    let frames = host.air.timeline.as_ref().unwrap().frames();
    let decoded: Vec<bool> =
        frames.iter().filter(|f| f.part.is_some_and(|part| part.of > 1)).map(|f| f.decoded).collect();
    assert_eq!(decoded, [true, false, true, false, true, false]);
    let delivered = Outcome::Delivered;
    assert_eq!(host.done(0), [(0, delivered), (2, delivered), (1, delivered), (3, Outcome::Dropped)]);
}

/// Every other answer is lost. One to a request settles it, so that the next frame is DATA.
#[test]
fn a_request_is_sent_once_for_a_missing_answer() {
    let limits = Aggregation { after_missed: MissedBlockAck::Request, packets: 2, ..Aggregation::standard() };
    let mut host = pair(limits, Holding::Packet, &[((1, 0), every(2))]);
    (0..6).for_each(|_| host.bring(0, 1, 1_000));
    host.run_to(us(10_000));
    let kinds: Vec<FrameKind> = host.frames().iter().filter(|f| f.1 == 0).map(|f| f.2).collect();
    let (data, request) = (FrameKind::Data, FrameKind::BlockAckRequest);
    assert_eq!(kinds, [data, data, request, data, request]);
}

#[test]
fn missing_block_ack_brings_data_or_a_request() {
    for (rule, frames) in [
        (MissedBlockAck::Data, vec![FrameKind::Data, FrameKind::Data, FrameKind::Data]),
        (MissedBlockAck::Request, vec![FrameKind::Data, FrameKind::Data, FrameKind::BlockAckRequest]),
    ] {
        let limits = Aggregation { after_missed: rule, packets: 2, ..Aggregation::standard() };
        let mut host = pair(limits, Holding::Packet, &[((1, 0), every(2))]);
        (0..4).for_each(|_| host.bring(0, 1, 1_000));
        host.run_to(us(10_000));
        let kinds: Vec<FrameKind> = host.frames().iter().filter(|f| f.1 == 0).map(|f| f.2).collect();
        assert_eq!(kinds, frames, "{rule:?}");
        assert_eq!(host.received(0), [0, 1, 2, 3], "each once");
        assert!(host.done(0).iter().all(|&(_, outcome)| outcome == Outcome::Delivered));
        let counters = host.air.aggregate_counters(0).unwrap();
        assert_eq!((counters.block_acks_missing, host.air.counters(0).ack_lost), (1, 1), "{rule:?}");
        assert_eq!(counters.requests, u64::from(rule == MissedBlockAck::Request));
    }
}

/// A request and its answer take 32 µs each at 24 Mb/s: 214 and 278 bits, 3 symbols.
#[test]
fn a_request_is_answered_after_a_sifs() {
    let limits = Aggregation { after_missed: MissedBlockAck::Request, ..Aggregation::standard() };
    let mut host = pair(limits, Holding::Packet, &[((1, 0), every(1))]);
    (0..2).for_each(|_| host.bring(0, 1, 1_000));
    host.run_to(us(2_000));
    let frames = host.frames();
    let request = frames.iter().position(|f| f.2 == FrameKind::BlockAckRequest).unwrap();
    assert_eq!(frames[request].3, 24);
    assert_eq!(frames[request + 1], (frames[request].0 + 32 + 16, 1, FrameKind::BlockAck, 32));
    assert_eq!(host.received(0), [0, 1]);
}

/// Frames without end on a dead link would keep the sender from telling its host: after ten exchanges packets are given up.
#[test]
fn a_dead_link_gives_packets_up() {
    for rule in [MissedBlockAck::Data, MissedBlockAck::Request] {
        let limits = Aggregation { after_missed: rule, ..Aggregation::standard() };
        let mut host = pair(limits, Holding::Packet, &[((0, 1), every(1))]);
        (0..5).for_each(|_| host.bring(0, 1, 1_000));
        host.run_to(us(1_000_000));
        assert_eq!(host.done(0), (0..5).map(|name| (name, Outcome::Dropped)).collect::<Vec<_>>());
        let counters = host.air.aggregate_counters(0).unwrap();
        let frames = host.air.counters(0).attempts + counters.requests;
        assert_eq!((frames, counters.given_up, counters.block_acks_missing), (10, 5, 10), "{rule:?}");
    }
}

/// The third of four packets is lost and given up, so that the fourth waits behind a gap. A block ack request moves the receiver's window
/// past it (clause 10.24.7.6), before the fifth packet is sent.
#[test]
fn request_moves_the_window_past_a_gap() {
    let limits = Aggregation { tries: Some(1), packets: 4, ..Aggregation::standard() };
    let mut host = pair(limits, Holding::Packet, &[((0, 1), every(3))]);
    (0..5).for_each(|_| host.bring(0, 1, 1_000));
    host.run_to(us(10_000));
    let frames: Vec<_> = host.frames().into_iter().filter(|f| f.1 == 0).collect();
    let kinds: Vec<FrameKind> = frames.iter().map(|f| f.2).collect();
    assert_eq!(kinds, [FrameKind::Data, FrameKind::BlockAckRequest, FrameKind::Data]);
    assert_eq!(host.received(0), [0, 1, 3]);
    let is_last = |up: &Up| matches!(*up, Up::Received { packet: PacketId(3), .. });
    let at = host.ups.iter().find(|(_, up)| is_last(up)).unwrap().0;
    assert!(us(frames[1].0) < at && at < us(frames[2].0), "{at:?} {frames:?}");
}

/// On a dead link a packet is repeated for its lifetime, and no longer.
#[test]
fn lifetime_bounds_repetitions() {
    let lifetime = Some(Duration::from_millis(10));
    let limits = Aggregation { tries: None, lifetime, ..Aggregation::standard() };
    let mut host = pair(limits, Holding::Packet, &[((0, 1), every(1))]);
    host.bring(0, 1, 1_000);
    host.run_to(us(100_000));
    assert_eq!(host.done(0), [(0, Outcome::Dropped)]);
    let starts: Vec<u64> = host.frames().iter().map(|f| f.0).collect();
    let (before, last) = (starts[starts.len() - 2], starts[starts.len() - 1]);
    let end = host.ups[0].0;
    // A frame of 1038 bytes at 54 Mb/s takes 176 µs, and its time-out 45 µs more.
    let missed = |start: u64| us(start + 176 + 45);
    assert!(missed(before) <= us(10_000) && us(10_000) < end, "{starts:?} {end:?}");
    assert!(end <= missed(last + 1), "at the first time-out after it");
}

/// 1504 µs: at 4 µs a symbol of 216 bits, 20 µs of preamble, 16 and 32 µs for the block acknowledgement, 359 symbols of DATA remain:
/// 9690 bytes, nine packets of 1044 bytes; ten are 10 434.
#[test]
fn a_txop_bounds_the_aggregate() {
    let mut host = pair(Aggregation::standard(), Holding::Burst(Duration::from_micros(1_504)), &[]);
    (0..20).for_each(|_| host.bring(0, 1, 1_000));
    host.run_to(us(10_000));
    let sizes: Vec<u32> = host.frames().iter().filter(|f| f.1 == 0).map(|f| f.3).collect();
    assert_eq!(sizes, [9 * 1_044 - 2, 9 * 1_044 - 2, 2_086]);
}

/// Three packets take 488 µs, four of 4174 bytes 628 µs: a limit of 488 µs has room for three, one of 487 µs for two.
#[test]
fn a_frame_may_last_as_long_as_its_limit() {
    for (limit_us, brought, size) in [(488, 3, 3_130), (488, 4, 3_130), (487, 3, 2_086), (487, 4, 2_086)] {
        let limits = Aggregation { airtime: Duration::from_micros(limit_us), ..Aggregation::standard() };
        let mut host = pair(limits, Holding::Packet, &[]);
        (0..brought).for_each(|_| host.bring(0, 1, 1_000));
        host.run_to(us(10_000));
        assert_eq!(host.frames()[0].3, size, "{brought} packets in {limit_us} µs");
    }
}

/// 1038 bytes take 176 µs, a SIFS and an ACK 16 and 28 µs: two exchanges of 220 µs and the SIFS between fill 456 µs, and may (clause
/// 10.22.2.8). An AIFS of 34 µs later the next TXOP begins.
#[test]
fn an_exchange_that_just_fits_is_in_the_txop() {
    for (limit_us, starts) in [(456, [34, 270, 524]), (455, [34, 288, 542])] {
        let limits = Aggregation { packets: 1, ..Aggregation::standard() };
        let holding = Holding::Burst(Duration::from_micros(limit_us));
        let access = Access { draw: Draw::Slots { window: 0, end_included: true }, holding, ..best_effort() };
        let plain = Host::line(&[0.0, 0.0], access, Rules::standard(), Space::Aifs { slots: 2 }, &[]);
        for mut host in [pair(limits, holding, &[]), plain] {
            (0..3).for_each(|_| host.bring(0, 1, 1_000));
            host.run_to(us(10_000));
            let data: Vec<u64> = host.frames().iter().filter(|f| f.1 == 0).map(|f| f.0).collect();
            assert_eq!(data, starts, "{limit_us} µs");
        }
    }
}

/// Two packets a frame: the last of thirty waits for fourteen exchanges, more than the ten tries that each packet has.
#[test]
fn packets_that_wait_keep_their_tries() {
    let limits = Aggregation { packets: 2, ..Aggregation::standard() };
    let mut host = pair(limits, Holding::Packet, &[]);
    (0..30).for_each(|_| host.bring(0, 1, 1_000));
    host.run_to(us(20_000));
    assert_eq!(host.received(0).len(), 30);
    assert!(host.done(0).iter().all(|&(_, outcome)| outcome == Outcome::Delivered));
}

/// As before, for packets of 200 bytes: 244 bytes each, 39 of them 9514 bytes. RTS and CTS of 28 µs with a SIFS each would leave 337
/// symbols, 9096 bytes: 37 packets. An RTS is due above 9700 bytes, which 40 packets exceed and 39 do not. A span may have the 40th.
#[test]
fn a_frame_too_short_for_rts_fills_the_txop() {
    let time = Duration::from_micros(1_504);
    for (holding, most) in [(Holding::Burst(time), 39), (Holding::Span(time), 40)] {
        let access = Access { draw: Draw::Slots { window: 0, end_included: true }, holding, ..best_effort() };
        let rules = Rules { rts_threshold: Some(Bytes::new(9_700)), ..Rules::standard() };
        let mut host = Host::<General>::line(&[0.0, 0.0], access, rules, Space::Aifs { slots: 2 }, &[])
            .aggregate(Aggregation::standard());
        (0..60).for_each(|_| host.bring(0, 1, 200));
        host.run_to(us(10_000));
        let first = host.frames().iter().find(|f| f.2 == FrameKind::Data).unwrap().3;
        assert!((39..=most).any(|packets| first == packets * 244 - 2), "{holding:?}: {first} bytes");
    }
}

/// A span is how long the medium is kept in the mean, for all sizes.
#[test]
fn a_span_of_aggregates_is_met_in_the_mean() {
    for span_us in [1_000, 2_500, 5_000] {
        let mut host = pair(Aggregation::standard(), Holding::Span(Duration::from_micros(span_us)), &[]);
        let mut sizes = Stream::named(7, "sizes", "test");
        (0..40_000).for_each(|_| host.bring(0, 1, 100 + sizes.up_to(1_400)));
        host.run_to(us(4_000_000));
        let frames = host.frames();
        // A span begins a DIFS after the one before; a frame a SIFS later belongs to it.
        let ends = |f: &(u64, u32, FrameKind, u32)| f.2 == FrameKind::BlockAck || f.2 == FrameKind::Ack;
        let (mut kept, mut spans, mut since) = (0, 0, frames[0].0);
        for pair in frames.windows(2).filter(|pair| ends(&pair[0])) {
            let end = pair[0].0 + if pair[0].2 == FrameKind::Ack { 28 } else { 32 };
            if pair[1].0 > end + 16 {
                (kept, spans, since) = (kept + end - since, spans + 1, pair[1].0);
            }
        }
        let mean = kept as f64 / f64::from(spans);
        assert!((mean / span_us as f64 - 1.0).abs() < 0.01, "{mean} µs of {span_us}, {spans} spans");
    }
}

/// ns-3 3.44 sends 42 packets of 1538 MAC bytes in 64 846 bytes at VHT, 80 MHz, MCS 9: 333 symbols of 4 µs after 36 µs of preamble,
/// 1368 µs; the standard's preamble has 4 µs of VHT-SIG-B more. The block acknowledgement of 32 bytes takes 32 µs at 24 Mb/s.
#[test]
fn full_aggregate_has_the_time_of_its_frames() {
    let timing = MacTiming::high_throughput(Phy::ac(), ControlRate::Mandatory).qos();
    let mode = Mode::of(Modulation {
        format: Format::Vht,
        mcs: 9,
        streams: 1,
        width: Width::Mhz80,
        guard_interval: GuardInterval::Ns800,
    });
    let full = Aggregation::standard().full(&timing, Bytes::new(1500), mode.unwrap());
    let exchange = timing.difs + Duration::from_micros(1372) + timing.sifs + Duration::from_micros(32);
    assert_eq!((full.packets, full.frame, full.exchange), (42, Duration::from_micros(1372), exchange));
    // 5.484 ms at MCS 0 and 20 MHz have room for two: 26 bits a symbol.
    let slow = Mode::of(Modulation { mcs: 0, width: Width::Mhz20, ..mode.unwrap().modulation().unwrap() });
    assert_eq!(Aggregation::standard().full(&timing, Bytes::new(1500), slow.unwrap()).packets, 2);
    let alone = Aggregation { packets: 1, ..Aggregation::standard() };
    let one = alone.full(&timing, Bytes::new(1500), mode.unwrap());
    assert_eq!((one.packets, one.exchange), (1, timing.exchange(Bytes::new(1500), mode.unwrap())));
}

/// 240 m are -63.9 dBm of two rays, a node 540 m away is 13.9 dB weaker: too loud for 54 Mb/s (18.4 dB), and not sensed by the sender
/// 780 m away. Its frame of 228 us lies over at most nine packets of 228 us each.
#[test]
fn interference_spoils_the_packets_that_it_meets() {
    let mut host = Host::<General>::line(
        &[0.0, 240.0, 780.0],
        best_effort(),
        by_errors(),
        Space::Aifs { slots: 2 },
        &[],
    );
    host = host.aggregate(Aggregation { airtime: PPDU_TIME_MAX, ..Aggregation::standard() });
    (0..16).for_each(|_| host.bring(0, 1, 1_468));
    host.run_to(Instant::ZERO + Duration::from_millis(1));
    host.bring(2, crate::BROADCAST, 1_468);
    host.run_to(Instant::ZERO + Duration::from_millis(50));
    let counters = *host.air.aggregate_counters(0).unwrap();
    assert!((1..=3).contains(&counters.mpdus_lost), "{counters:?}");
    assert_eq!(host.received(0), (0..16).collect::<Vec<_>>());
    assert_eq!(counters.mpdus, 16 + counters.mpdus_lost);
}
