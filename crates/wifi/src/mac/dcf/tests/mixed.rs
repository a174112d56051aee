//! Stations of two kinds in one cell: 802.11b beside 802.11g, EDCA beside DCF, and rates that go different distances.

use super::*;
use crate::receivers::{Receivers, Sensitivity};
use crate::timing::ControlRate;
use evenair_topology::Signal;

const fn mbps(rate: u64) -> Rate {
    Rate::from_kbps(rate * 1000)
}

/// Three nodes that hear each other; a contender on each.
fn cell(access: impl Fn(usize) -> Access, timing: MacTiming, receivers: &Receivers) -> Bench {
    let arbitrations = [Arbitration::dcf(&timing); 3];
    cell_of(access, arbitrations, timing, receivers)
}

fn cell_of(
    access: impl Fn(usize) -> Access,
    arbitrations: [Arbitration; 3],
    timing: MacTiming,
    receivers: &Receivers,
) -> Bench {
    let signal = |from, to| Signal { from, to, power: Dbm::new(-60.0) };
    let pairs = [(0, 1), (0, 2), (1, 0), (1, 2), (2, 0), (2, 1)];
    let signals = pairs.map(|(from, to)| signal(from, to));
    let medium = Medium::from_signals(3, &signals, Dbm::new(-82.0), Dbm::new(-82.0));
    over(&medium, access, &arbitrations, timing, receivers)
}

fn over(
    medium: &Medium,
    access: impl Fn(usize) -> Access,
    arbitrations: &[Arbitration],
    timing: MacTiming,
    receivers: &Receivers,
) -> Bench {
    let contention = |(n, &arbitration): (usize, &Arbitration)| Contention {
        node: n as u32,
        access: access(n),
        arbitration,
        stream: Stream::named(1, &format!("node {n}"), "backoff"),
    };
    let contenders = arbitrations.iter().enumerate().map(contention).collect();
    let mut air = DcfAir::with_receivers(medium, contenders, timing, Rules::standard(), receivers);
    air.timeline = Some(Box::new(Timeline::new(Instant::ZERO, Instant::NEVER)));
    Bench { air, out: Vec::new(), now: Instant::ZERO, up: Vec::new() }
}

impl Bench {
    fn offer_long(&mut self, by: u32, to: u32, rate: Rate) {
        let head = Head { to, size: Bytes::new(1500), mode: Mode::at(rate), packet: PacketId(by) };
        self.air.offer(self.now, by, head);
        self.collect();
    }
}

/// Node 2 knows DSSS alone. Times by hand: DIFS 50, CTS to self 192 + 112, SIFS 10, 1536 bytes at 54 Mb/s 254, ACK at 24 Mb/s 34.
#[test]
fn ofdm_is_announced_to_stations_without_it() {
    let timing = MacTiming::mixed(crate::Preamble::Long, mbps(1), true);
    let receivers = Receivers { of_b: vec![2], ..Receivers::default() };
    let mut bench = cell(|_| exactly(0), timing, &receivers);
    bench.offer_long(0, 1, mbps(54));
    bench.run_to(us(300));
    bench.offer_long(2, 1, mbps(11)); // after a CTS that reserves the medium until 50 + 304 + 10 + 254 + 10 + 34
    bench.run_to(us(3_000));
    let expected = [
        (50_000, 0, FrameKind::CtsToSelf),
        (364_000, 0, FrameKind::Data),
        (628_000, 1, FrameKind::Ack),
        (712_000, 2, FrameKind::Data),
    ];
    assert_eq!(bench.frames()[..4], expected);
    let cts = bench.air.timeline.as_ref().unwrap().frames()[0];
    assert_eq!((cts.from, cts.to, cts.mode.rate(), cts.reserves_us), (0, 0, mbps(1), 308));
    let outcomes: Vec<_> = bench.done().iter().map(|&(_, by, outcome)| (by, outcome)).collect();
    assert_eq!(outcomes, [(0, Outcome::Delivered), (2, Outcome::Delivered)]);
    assert_eq!((bench.air.counters(0).attempts, bench.air.counters(0).requests), (1, 0));
}

/// An OFDM frame is energy to a station of 802.11b: no error, so no extended inter-frame space; DSSS frames it decodes.
#[test]
fn a_station_of_b_takes_ofdm_for_energy() {
    let timing = MacTiming::mixed(crate::Preamble::Long, mbps(1), false);
    let receivers = Receivers { of_b: vec![2], ..Receivers::default() };
    let mut bench = cell(|_| exactly(0), timing, &receivers);
    bench.offer_long(0, 1, mbps(54));
    bench.run_to(us(100));
    bench.offer_long(2, 1, mbps(11));
    bench.run_to(us(3_000));
    // DATA 50 to 304, ACK 314 to 348, DIFS.
    assert_eq!(bench.data_starts(2), [398_000]);
    // The other way round: it is not an addressee that could decode it.
    let mut bench = cell(|_| exactly(0), timing, &receivers);
    bench.offer_long(0, 2, mbps(54));
    bench.run_to(us(100_000));
    assert_eq!(bench.done()[0].2, Outcome::Dropped);
    bench.offer_long(0, 2, mbps(11));
    bench.run_to(us(200_000));
    assert_eq!(bench.done()[1].2, Outcome::Delivered);
}

/// RTS and CTS at the basic rate announce it as well: 192 + 160 and 192 + 112 at 1 Mb/s.
#[test]
fn request_and_clearance_replace_announcement() {
    let timing = MacTiming::mixed(crate::Preamble::Long, mbps(1), true);
    let mut bench = cell(|_| exactly(0), timing, &Receivers { of_b: vec![2], ..Receivers::default() });
    bench.air.rules.rts_threshold = Some(Bytes::new(500));
    bench.offer_long(0, 1, mbps(54));
    bench.run_to(us(3_000));
    let expected = [
        (50_000, 0, FrameKind::Rts),
        (412_000, 1, FrameKind::Cts),
        (726_000, 0, FrameKind::Data),
        (990_000, 1, FrameKind::Ack),
    ];
    assert_eq!(bench.frames(), expected);
}

/// The QoS control field is there only where both ends know it: a station without EDCA could not read the frame.
#[test]
fn headers_follow_both_ends_of_a_frame() {
    let timing = MacTiming::a(ControlRate::Mandatory);
    let edca = Edca::standard(Category::BestEffort, PhysicalLayer::Ofdm);
    let edca = Arbitration::of(edca.space(), Holding::Packet, &timing);
    let arbitrations = [edca, edca, Arbitration::dcf(&timing)];
    let mut bench = cell_of(|_| exactly(0), arbitrations, timing, &Receivers::default());
    for (by, to) in [(0, 1), (0, 2), (2, 1), (0, BROADCAST)] {
        bench.offer_long(by, to, mbps(6));
        bench.run_to(bench.now + Duration::from_micros(50_000));
    }
    let frames = bench.air.timeline.as_ref().unwrap().frames().iter();
    let sizes: Vec<_> =
        frames.filter(|f| f.kind == FrameKind::Data).map(|f| (f.size.count(), f.qos)).collect();
    assert_eq!(sizes, [(1538, true), (1536, false), (1536, false), (1536, false)]);
    let mut all = cell_of(|_| exactly(0), [edca; 3], timing, &Receivers::default());
    all.offer_long(0, BROADCAST, mbps(6));
    all.run_to(us(50_000));
    let frame = all.air.timeline.as_ref().unwrap().frames()[0];
    assert_eq!((frame.size.count(), frame.qos), (1538, true));
}

/// At -72 dBm 24 Mb/s (-74 by table 17-18) is decoded and 36 Mb/s (-70) is not; a station that decodes the header alone owes it an EIFS.
#[test]
fn power_decides_which_rate_is_decoded() {
    let timing = MacTiming::a(ControlRate::Mandatory);
    let sensitivity = Some(Sensitivity::new(timing.phy, &Sensitivity::standard(timing.phy)));
    let receivers = Receivers { sensitivity, ..Receivers::default() };
    let signal = |from, to, dbm| Signal { from, to, power: Dbm::new(dbm) };
    let signals = [
        signal(0, 1, -72.0),
        signal(1, 0, -72.0),
        signal(0, 2, -80.5),
        signal(2, 0, -80.5),
        signal(2, 1, -60.0),
        signal(1, 2, -60.0),
    ];
    let medium = Medium::from_signals(3, &signals, Dbm::new(-82.0), Dbm::new(-82.0));
    let sent = |rate| {
        let mut bench = over(&medium, |_| exactly(0), &[Arbitration::dcf(&timing); 3], timing, &receivers);
        bench.offer_long(0, 1, rate);
        bench.run_to(us(100));
        bench.offer_long(2, 1, mbps(6));
        bench.run_to(us(200_000));
        let of_first = bench.done().iter().find(|done| done.1 == 0).unwrap().2;
        (of_first, bench.data_starts(2)[0], bench.air.counters(0).collided)
    };
    // DATA at 24 Mb/s: 34 + 20 + 129·4, then SIFS, ACK of 28, DIFS. The ACK is strong at node 2, which decodes it.
    assert_eq!(sent(mbps(24)), (Outcome::Delivered, (34 + 536 + 16 + 28 + 34) * 1000, 0));
    // At 36 Mb/s, 20 + 86·4, no station decodes it. Its sender repeats it at each time-out of 45; after the last, EIFS of 94 at node 2.
    let (outcome, next, lost) = sent(mbps(36));
    assert_eq!((outcome, next), (Outcome::Dropped, (34 + 6 * (364 + 45) + 364 + 94) * 1000));
    assert_eq!(lost, 7);
}

/// VHT at 80 MHz, MCS 9: 390 Mb/s.
fn vht() -> Mode {
    let (width, guard_interval) = (crate::Width::Mhz80, crate::GuardInterval::Ns800);
    let fast = crate::Modulation { format: crate::Format::Vht, mcs: 9, streams: 1, width, guard_interval };
    Mode::of(fast).unwrap()
}

fn ac(protects: bool) -> MacTiming {
    let timing = MacTiming::high_throughput(crate::Phy::ac(), ControlRate::Mandatory);
    MacTiming { protects, ..timing }
}

impl Bench {
    fn offer_vht(&mut self, by: u32, to: u32) {
        let head = Head { to, size: Bytes::new(1500), mode: vht(), packet: PacketId(by) };
        self.air.offer(self.now, by, head);
        self.collect();
    }
}

/// Node 2 is of 802.11a. Times by hand: DIFS 34, CTS to self at 24 Mb/s 28, SIFS 16, 1538 bytes in 8 symbols after 40 µs of
/// preamble, ACK at 24 Mb/s 28. It decodes the CTS and the ACK, so that no EIFS follows, and sends 1536 bytes at 54 Mb/s, without
/// EDCA's header, in 248 µs.
#[test]
fn vht_is_announced_beside_stations_of_802_11a() {
    let receivers = Receivers { of_ofdm: vec![2], ..Receivers::default() };
    let mut bench = cell(|_| exactly(0), ac(true), &receivers);
    bench.offer_vht(0, 1);
    bench.run_to(us(90));
    bench.offer_long(2, 1, mbps(54));
    bench.run_to(us(3_000));
    let expected = [
        (34_000, 0, FrameKind::CtsToSelf),
        (78_000, 0, FrameKind::Data),
        (166_000, 1, FrameKind::Ack),
        (228_000, 2, FrameKind::Data),
        (492_000, 1, FrameKind::Ack),
    ];
    assert_eq!(bench.frames(), expected);
    let frames = bench.air.timeline.as_ref().unwrap().frames();
    assert_eq!((frames[0].mode, frames[0].reserves_us), (Mode::at(mbps(24)), 16 + 72 + 16 + 28));
    assert_eq!((frames[1].mode, frames[1].qos, frames[1].size), (vht(), true, Bytes::new(1538)));
    assert_eq!((frames[3].qos, frames[3].size), (false, Bytes::new(1536)));
}

/// Without protection a station of 802.11a knows the length of a VHT frame, and takes it for an error: EIFS, here cancelled by the
/// ACK. It never decodes one that is sent to it.
#[test]
fn vht_is_an_error_to_stations_of_802_11a() {
    let receivers = Receivers { of_ofdm: vec![2], ..Receivers::default() };
    let mut bench = cell(|_| exactly(0), ac(false), &receivers);
    bench.offer_vht(0, 1);
    bench.run_to(us(90));
    bench.offer_long(2, 1, mbps(54));
    bench.run_to(us(3_000));
    // DATA 34 to 106, ACK 122 to 150, DIFS.
    assert_eq!(bench.data_starts(2), [184_000]);
    let mut bench = cell(|_| exactly(0), ac(false), &receivers);
    bench.offer_vht(0, 2);
    bench.run_to(us(100_000));
    assert_eq!(bench.done()[0].2, Outcome::Dropped);
    // EIFS, 16 + 44 + 34, after a frame of which it heard no answer: DATA from 34 to 106.
    let mut bench = cell(|_| exactly(0), ac(false), &receivers);
    bench.offer_vht(0, BROADCAST);
    bench.run_to(us(90));
    bench.offer_long(2, 1, mbps(54));
    bench.run_to(us(3_000));
    assert_eq!(bench.data_starts(2), [106_000 + 94_000]);
}

/// An answer comes at 6, 12 or 24 Mb/s, not above the reference of the MCS: 44, 32 or 28 µs.
#[test]
fn answers_to_vht_are_frames_of_802_11a() {
    for (mcs, ack_us) in [(0, 44), (1, 32), (2, 32), (3, 28), (9, 28)] {
        let mode = Mode::of(crate::Modulation { mcs, ..vht().modulation().unwrap() }).unwrap();
        let timing = ac(false);
        assert_eq!(timing.answer(mode), Duration::from_micros(ack_us), "MCS {mcs}");
        assert_eq!(timing.clearance(mode), timing.answer(mode));
        assert_eq!(timing.answer_timeout_to(FrameKind::Data, mode), Duration::from_micros(16 + 9 + 20));
    }
}
