//! Rate control: the modes of frames, and the report of each frame to the law.

use super::*;
use crate::error::ErrorModel;
use crate::mac::dcf::{Aggregation, MissedBlockAck};
use crate::phy::Width;
use crate::receivers::{Receivers, Sensitivity};
use crate::timing::ControlRate;
use evenair_laws::OwnLaw;
use evenair_laws::rates::{
    AnyRateControl, Chain, FrameStatus, FrameView, OwnRateControl, RateControl, RateControlParams, RateRole,
    Step,
};
use evenair_topology::Signal;
use std::sync::{Arc, Mutex};

/// Chains in turn, with a record of the calls.
#[derive(Clone, Debug, Default)]
struct Script {
    chains: Vec<Chain>,
    asks: bool,
    views: Arc<Mutex<Vec<FrameView>>>,
    told: Arc<Mutex<Vec<FrameStatus>>>,
}

/// Of a report: modes and tries, packets of the last frame, and those acknowledged.
type Told = (Vec<(u16, u8)>, u16, u16);

impl OwnLaw for Script {
    fn identity(&self) -> String {
        "script".into()
    }
}

impl RateControl for Script {
    fn asks_medium(&self) -> bool {
        self.asks
    }

    fn on_frame(&mut self, frame: &FrameView) -> Chain {
        let mut views = self.views.lock().unwrap();
        views.push(*frame);
        self.chains[(views.len() - 1) % self.chains.len()]
    }

    fn on_status(&mut self, status: &FrameStatus) {
        self.told.lock().unwrap().push(*status);
    }
}

impl Script {
    fn new(chains: &[Chain]) -> Self {
        Self { chains: chains.to_vec(), ..Self::default() }
    }

    /// A script that repeats one mode, and asks for the best one.
    fn asking() -> Self {
        Self { asks: true, ..Self::new(&[Chain::of(0, 1)]) }
    }

    fn law(&self) -> AnyRateControl {
        use evenair_laws::Parameters;
        RateControlParams::from(OwnRateControl::new(self.clone())).begin(&RateRole::default())
    }

    /// The best modes that the host named.
    fn best(&self) -> Vec<Option<u16>> {
        self.views.lock().unwrap().iter().map(|view| view.best).collect()
    }

    fn told(&self) -> Vec<Told> {
        let tries = |status: &FrameStatus| status.tried().map(|tried| (tried.mode, tried.tries)).collect();
        let told = self.told.lock().unwrap();
        told.iter().map(|status| (tries(status), status.packets, status.acknowledged)).collect()
    }
}

impl Bench {
    fn control(&mut self, by: u32, to: u32, kbps: &[u64], script: &Script) {
        let modes: Vec<Mode> = kbps.iter().map(|&kbps| Mode::at(Rate::from_kbps(kbps))).collect();
        let own = *modes.last().unwrap();
        let link = ControlledLink { to, modes, law: script.law(), loss_max: None };
        self.air.control_modes(by, link, own);
    }

    /// Rates of a node's DATA frames [kb/s], in order.
    fn rates(&self, node: u32) -> Vec<u64> {
        let frames = self.air.timeline.as_ref().unwrap().frames();
        let data = frames.iter().filter(|f| f.from == node && f.kind == FrameKind::Data);
        data.map(|f| f.mode.rate().as_bps() / 1000).collect()
    }

    /// Kinds of a node's frames, each with its packets; of an aggregate the timeline lists each packet.
    fn sizes(&self, node: u32) -> Vec<(FrameKind, u16)> {
        let frames = self.air.timeline.as_ref().unwrap().frames();
        let firsts = frames.iter().filter(|f| f.from == node && f.part.is_none_or(|part| part.index == 0));
        firsts.map(|f| (f.kind, f.part.map_or(1, |part| part.of))).collect()
    }

    /// Stages so many packets at once.
    fn stage(&mut self, by: u32, to: u32, count: u32) {
        let mode = Mode::at(Rate::from_kbps(54_000));
        for number in 0..count {
            let head = Head { to, size: Bytes::new(DATA_BYTES), mode, packet: PacketId(number) };
            self.air.stage(self.now, by, head);
        }
        self.collect();
    }
}

const DSSS: [u64; 4] = [1_000, 2_000, 5_500, 11_000];
const OFDM: [u64; 3] = [6_000, 24_000, 54_000];

fn steps(steps: &[(u16, u8, bool)]) -> Chain {
    let step = |&(mode, tries, announced): &(u16, u8, bool)| Step { mode, tries, announced };
    Chain::new(&steps.iter().map(step).collect::<Vec<_>>())
}

/// No frame is decoded. Each chain is two tries in mode 3 and one in mode 0; the limit of retries ends the packet within
/// the second or third chain, or with the second.
#[test]
fn chain_is_reported_once_when_it_ends() {
    let whole = (vec![(3, 2), (0, 1)], 1, 0);
    let chain = [11_000, 11_000, 1_000];
    for (limit, last) in [(4, Some((vec![(3, 1)], 1, 0))), (6, None), (7, Some((vec![(3, 1)], 1, 0)))] {
        let rules = Rules { short_retry_limit: limit, ..Rules::standard() };
        let mut bench = Bench::line(&[0.0, 400.0], |_| exactly(0), timing(), rules);
        let script = Script::new(&[steps(&[(3, 2, false), (0, 1, false)])]);
        bench.control(0, 1, &DSSS, &script);
        bench.offer(0, 1);
        bench.run_to(us(200_000));
        let rates: Vec<u64> = chain.iter().copied().cycle().take(limit as usize).collect();
        assert_eq!(bench.rates(0), rates);
        let told: Vec<_> = std::iter::repeat_n(whole.clone(), limit as usize / 3).chain(last).collect();
        assert_eq!(script.told(), told, "limit {limit}");
    }
}

#[test]
fn acknowledgement_ends_a_chain_with_tries_left() {
    let mut bench = Bench::standard(&[0.0, 100.0], |_| exactly(0));
    let script = Script::new(&[steps(&[(1, 2, false), (0, 1, false)]), Chain::of(3, 2)]);
    bench.control(0, 1, &DSSS, &script);
    for sent in 1..=3 {
        bench.offer(0, 1);
        bench.run_to(us(10_000 * sent));
    }
    assert_eq!(bench.rates(0), [2_000, 11_000, 2_000]);
    assert_eq!(script.told(), [(vec![(1, 1)], 1, 1), (vec![(3, 1)], 1, 1), (vec![(1, 1)], 1, 1)]);
    assert_eq!(script.told.lock().unwrap()[0].tried[0].packets, 1);
    let count = |frames| ModeCounters { frames, packets: frames, acknowledged: frames };
    let modes = DSSS.map(|kbps| Mode::at(Rate::from_kbps(kbps)));
    let counts = |bench: &Bench| bench.air.mode_counters(0).collect::<Vec<_>>();
    let expected = std::array::from_fn::<_, 4, _>(|i| (1, modes[i], count([0, 2, 0, 1][i])));
    assert_eq!(counts(&bench), expected);
    assert_eq!(bench.air.mode_counters(1).count(), 0);
    bench.air.clear_mode_counters();
    assert_eq!(counts(&bench), modes.map(|mode| (1, mode, ModeCounters::default())));
}

/// A request out of range brings no CTS and no DATA frame; in range it does, and the law gets that frame alone.
#[test]
fn request_without_answer_is_no_try() {
    for (metres, kinds, told) in [
        (400.0, vec![FrameKind::Rts; 7], vec![]),
        (100.0, vec![FrameKind::Rts, FrameKind::Data], vec![(vec![(2, 1)], 1, 1)]),
    ] {
        let mut bench = Bench::standard(&[0.0, metres], |_| exactly(0));
        let script = Script::new(&[steps(&[(2, 9, true)])]);
        bench.control(0, 1, &DSSS, &script);
        bench.offer(0, 1);
        bench.run_to(us(100_000));
        let own = bench.frames().into_iter().filter(|f| f.1 == 0).map(|f| f.2).collect::<Vec<_>>();
        assert_eq!(own, kinds, "{metres} m");
        assert_eq!(script.told(), told, "{metres} m");
    }
}

/// Node 0 has laws for nodes 1 and 2, the first of which announces its frames; none for node 3, and none for broadcasts.
#[test]
fn other_frames_keep_their_own_mode() {
    let mut bench = Bench::standard(&[0.0, 50.0, 100.0, 150.0], |_| exactly(0));
    let scripts = [steps(&[(1, 1, true)]), Chain::of(0, 1)].map(|chain| Script::new(&[chain]));
    bench.control(0, 1, &DSSS, &scripts[0]);
    bench.control(0, 2, &DSSS, &scripts[1]);
    let mode = |kbps: u64| Some(Mode::at(Rate::from_kbps(kbps)));
    assert_eq!([1, 2, 3].map(|to| bench.air.usual_mode(0, to)), [mode(11_000), mode(11_000), None]);
    for (turn, to) in [1, 3, 1, BROADCAST, 2].into_iter().enumerate() {
        bench.offer(0, to);
        bench.run_to(us(20_000 * (turn as u64 + 1)));
    }
    assert_eq!(bench.rates(0), [2_000, 11_000, 2_000, 11_000, 1_000]);
    let requests = bench.frames().iter().filter(|f| f.2 == FrameKind::Rts).count();
    assert_eq!((requests, bench.air.counters(0).requests), (2, 2));
    assert_eq!([1, 2, 3].map(|to| bench.air.usual_mode(0, to)), [mode(2_000), mode(1_000), None]);
    assert_eq!(scripts.map(|script| script.told().len()), [2, 1]);
}

/// Two nodes side by side of 802.11a; the first one aggregates.
fn pair(after_missed: MissedBlockAck) -> Bench {
    let timing = MacTiming::a(ControlRate::Mandatory).qos();
    let mut bench = Bench::line(&[0.0, 0.0], |_| exactly(0), timing, Rules::standard());
    bench.air.aggregate(0, Aggregation { after_missed, ..Aggregation::standard() });
    bench
}

impl Bench {
    /// Loses all frames from one node to another before an instant.
    fn lose_until(&mut self, from: u32, to: u32, end: Instant) {
        let model = |p| LossModel::Frames(p);
        let models = vec![(Instant::ZERO, model(Probability::ONE)), (end, model(Probability::ZERO))];
        self.air.set_loss(from, to, &LossProcess::new(models, Stream::named(1, "loss", "loss")));
    }
}

/// A probe is one packet once. It is lost; the next step has all three packets. A probe's mode is not the usual one.
#[test]
fn probe_sends_one_packet_in_its_first_step() {
    let mut bench = pair(MissedBlockAck::Data);
    let probe = steps(&[(0, 1, false), (1, 5, false)]).probing(0);
    let script = Script::new(&[probe]);
    bench.control(0, 1, &OFDM, &script);
    bench.lose_until(0, 1, us(1_600)); // 1038 bytes at 6 Mb/s take 1.4 ms, at 24 Mb/s 0.4 ms
    bench.stage(0, 1, 3);
    bench.run_to(us(50_000));
    assert_eq!(bench.sizes(0), [(FrameKind::Data, 1), (FrameKind::Data, 3)]);
    assert_eq!(script.told(), [(vec![(0, 1), (1, 1)], 3, 3)]);
    let tried = script.told.lock().unwrap()[0].tried;
    assert_eq!([tried[0].packets, tried[1].packets], [1, 3]);
    assert_eq!(bench.air.usual_mode(0, 1), Some(Mode::at(Rate::from_kbps(54_000))));
}

/// The block acknowledgement of two packets is lost. A probe repeats the first one; its ACK is of that alone.
#[test]
fn normal_ack_is_of_its_packet_alone() {
    let mut bench = pair(MissedBlockAck::Data);
    bench.control(0, 1, &OFDM, &Script::new(&[Chain::of(2, 1), Chain::of(1, 1).probing(1)]));
    bench.lose_until(1, 0, us(500));
    bench.stage(0, 1, 2);
    bench.run_to(us(50_000));
    assert_eq!(bench.sizes(0), [(FrameKind::Data, 2), (FrameKind::Data, 1), (FrameKind::Data, 1)]);
    assert_eq!(bench.done().len(), 2);
}

/// Every second packet is lost. Of 1 2 3 4 the receiver gets 1 and 3; of 2 4 then 2; of 4 nothing is lost. Packet 3 has
/// arrived before and waits for 2: it is not in the second frame.
#[test]
fn report_counts_packets_of_its_frame_alone() {
    let mut bench = pair(MissedBlockAck::Data);
    let script = Script::new(&[Chain::of(2, 5)]);
    bench.control(0, 1, &OFDM, &script);
    let every = vec![(Instant::ZERO, LossModel::Every(2))];
    bench.air.set_loss(0, 1, &LossProcess::new(every, Stream::named(1, "0>1", "loss")));
    bench.stage(0, 1, 4);
    bench.run_to(us(50_000));
    assert_eq!(bench.sizes(0), [(FrameKind::Data, 4), (FrameKind::Data, 2), (FrameKind::Data, 1)]);
    assert_eq!(script.told(), [(vec![(2, 1)], 4, 2), (vec![(2, 1)], 2, 1), (vec![(2, 1)], 1, 1)]);
    let modes = bench.air.mode_counters(0).map(|(_, _, counters)| counters).collect::<Vec<_>>();
    assert_eq!(modes[2], ModeCounters { frames: 3, packets: 7, acknowledged: 4 });
}

/// The first acknowledgement is lost. An aggregate is followed by a block ack request where the sender asks, which is no
/// try and ends the chain; else by its next try. A frame of one packet is followed by its next try in any case.
#[test]
fn block_ack_request_ends_the_chain() {
    let [ask, repeat] = [MissedBlockAck::Request, MissedBlockAck::Data];
    let (data, request) = (FrameKind::Data, FrameKind::BlockAckRequest);
    for (after_missed, packets, frames, told) in [
        (ask, 2, [(data, 2), (request, 1)], (vec![(2, 1)], 2, 0)),
        (repeat, 2, [(data, 2), (data, 2)], (vec![(2, 2)], 2, 2)),
        (ask, 1, [(data, 1), (data, 1)], (vec![(2, 2)], 1, 1)),
    ] {
        let mut bench = pair(after_missed);
        let script = Script::new(&[Chain::of(2, 5)]);
        bench.control(0, 1, &OFDM, &script);
        bench.lose_until(1, 0, us(500));
        bench.stage(0, 1, packets);
        bench.run_to(us(50_000));
        assert_eq!(
            (bench.sizes(0), script.told()),
            (frames.to_vec(), vec![told]),
            "{packets} {after_missed:?}"
        );
        assert_eq!(bench.done().len(), packets as usize);
    }
}

/// Powers of IEEE 802.11-2016 table 17-18: 54 Mb/s need -65 dBm, 24 Mb/s -74, 6 Mb/s -82.
#[test]
fn best_mode_is_the_fastest_received() {
    let power = |to: u32| Dbm::new([-65.0, -74.5, -81.0, -74.0][to as usize - 1]);
    let signals: Vec<Signal> = (1..5)
        .flat_map(|to| [(0, to), (to, 0)].map(|(from, there)| Signal { from, to: there, power: power(to) }))
        .collect();
    let medium = Medium::from_signals(5, &signals, Dbm::new(-82.0), Dbm::new(-82.0));
    let timing = MacTiming::a(ControlRate::Mandatory);
    let sensitivity = Sensitivity::new(timing.phy, &Sensitivity::standard(timing.phy));
    let receivers = Receivers { sensitivity: Some(sensitivity), ..Receivers::default() };
    let contention = |n: u32| Contention {
        node: n,
        access: exactly(0),
        arbitration: Arbitration::dcf(&timing),
        stream: Stream::named(1, &format!("node {n}"), "backoff"),
    };
    let contenders = (0..5).map(contention).collect();
    let air = DcfAir::with_receivers(&medium, contenders, timing, Rules::standard(), &receivers);
    let mut bench = Bench { air, out: Vec::new(), now: Instant::ZERO, up: Vec::new() };
    for (to, best) in [(1, 1), (2, 2), (3, 2), (4, 0)] {
        let script = Script::asking();
        bench.control(0, to, &[24_000, 54_000, 6_000], &script);
        bench.offer(0, to);
        bench.run_to(bench.now + Duration::from_micros(5_000));
        assert_eq!(script.best()[0], Some(best), "{to}");
        bench.run_to(bench.now + Duration::from_micros(50_000));
    }
    // Where modes are not told apart all are received.
    let mut bench = Bench::standard(&[0.0, 100.0], |_| exactly(0));
    let script = Script::asking();
    bench.control(0, 1, &[1_000, 11_000, 2_000], &script);
    bench.offer(0, 1);
    bench.run_to(us(20_000));
    assert_eq!(script.best(), [Some(1)]);
}

/// With an error model it is the best at the link's power, also after the receiver has moved.
#[test]
fn best_mode_follows_a_receiver_that_moves() {
    let model = ErrorModel::new(Width::Mhz20);
    let rules = Rules {
        capture: Capture::Errors(model),
        detection_db: Some(ErrorModel::DETECTION_DB),
        ..Rules::standard()
    };
    let timing = MacTiming::a(ControlRate::Mandatory);
    let mut bench = Bench::line(&[0.0, 50.0, 100.0], |_| exactly(0), timing, rules);
    let kbps = [9_000, 54_000, 6_000, 24_000];
    let script = Script::asking();
    bench.control(0, 2, &kbps, &script);
    let powers = [-60.0, -60.0, -84.0, -88.0, -60.0];
    for (turn, dbm) in powers.into_iter().enumerate() {
        let ear = bench.air.ears_of(0, 0).find(|&i| bench.air.ears[i].node == 2).unwrap();
        bench.air.ears[ear].power_mw = libm::pow(10.0, dbm / 10.0) as f32;
        bench.offer(0, 2);
        bench.run_to(us(40_000 * (turn as u64 + 1)));
    }
    let modes = kbps.map(|kbps| Mode::at(Rate::from_kbps(kbps)));
    let place = |dbm: f64| {
        let best = model.best(timing.phy, modes, Dbm::new(dbm), FULL_PACKET, None).unwrap();
        modes.iter().position(|mode| *mode == best).unwrap() as u16
    };
    let expected = powers.map(place);
    assert_eq!(expected, [1, 1, 3, 0, 1], "another mode at each power");
    let views = script.views.lock().unwrap().clone();
    let at = |turn: u64| views.iter().find(|view| view.now >= us(40_000 * turn)).unwrap().best;
    assert_eq!([0, 1, 2, 3, 4].map(at), expected.map(Some));
}
