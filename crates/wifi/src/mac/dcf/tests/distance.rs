//! Links over kilometres: frames under way, time-outs, coverage classes.

use super::*;
use crate::timing::ControlRate;

fn a() -> MacTiming {
    MacTiming::a(ControlRate::Mandatory)
}

/// Nodes on a line [m], all within each other's reach, over free space.
fn medium(at_m: &[f64]) -> Medium {
    let at: Vec<Position> = at_m.iter().map(|&x| Position::new(x, 0.0)).collect();
    let range_m = 60_000.0;
    let radio = ThresholdRadio {
        transmission_range_m: range_m,
        carrier_sense_range_m: range_m,
        interference_range_m: range_m,
        propagation: Propagation { loss: evenair_topology::PathLoss::FreeSpace, ..Propagation::default() },
    };
    Medium::from_positions(&at, &radio)
}

fn bench(at_m: &[f64], timing: MacTiming, rules: Rules) -> Bench {
    Bench::over(&medium(at_m), |_| exactly(0), timing, rules)
}

impl Bench {
    fn offer_at(&mut self, by: u32, to: u32, mbps: u64) {
        let mode = Mode::at(Rate::from_kbps(mbps * 1000));
        let head = Head { to, size: Bytes::new(DATA_BYTES), mode, packet: PacketId(7) };
        self.air.offer(self.now, by, head);
        self.collect();
    }
}

fn data_a_ns() -> u64 {
    a().data(Bytes::new(DATA_BYTES), Rate::from_kbps(54_000)).as_nanos()
}

const DIFS: u64 = 34_000;
const SIFS: u64 = 16_000;
const ACK: u64 = 28_000;

#[test]
fn exchange_over_fifty_km_takes_two_flights() {
    let flight = flight_ns(50_000.0);
    assert_eq!(flight, 166_782);
    let timing = a().with_round_trip(Duration::from_nanos(2 * flight));
    let mut bench = bench(&[0.0, 50_000.0], timing, Rules::standard());
    bench.offer_at(0, 1, 54);
    bench.run_to(us(10_000));
    let ack = DIFS + data_a_ns() + flight + SIFS;
    assert_eq!(bench.frames(), [(DIFS, 0, FrameKind::Data), (ack, 1, FrameKind::Ack)]);
    // Received and acknowledged at the instants at which the last bits arrive.
    let received = DIFS + data_a_ns() + flight;
    let up: Vec<u64> = bench.up.iter().map(|(at, _)| at.as_nanos()).collect();
    assert_eq!(up, [received, ack + ACK + flight]);
    assert_eq!(bench.done(), [(ack + ACK + flight, 0, Outcome::Delivered)]);
}

#[test]
fn neighbour_may_begin_before_a_distant_ack() {
    // Node 0 sends over 7 km. Node 2, 100 m from it, senses its frame without decoding it, waits a DIFS from its end and
    // begins; the acknowledgement arrives 62.7 us after that end, in the middle of node 2's frame, and node 0 loses it to
    // the stronger one.
    let flight = flight_ns(7_000.0);
    let timing = a().with_round_trip(Duration::from_nanos(2 * flight));
    let rules = Rules { weak_is_error: false, ..Rules::standard() };
    let mut bench = bench(&[0.0, 7_000.0, 100.0, 200.0], timing, rules);
    let ear = bench.air.ears_of(0, 0).find(|&i| bench.air.ears[i].node == 2).unwrap();
    let ear = &mut bench.air.ears[ear];
    (ear.decodable, ear.noticed, ear.clear_alone) = (false, false, false);
    bench.offer_at(0, 1, 54);
    bench.run_to(us(35));
    bench.offer_at(2, 3, 54);
    bench.run_to(us(600));
    let end = DIFS + data_a_ns();
    let rival = end + flight_ns(100.0) + DIFS;
    let ack = end + flight + SIFS;
    assert!(rival < ack + flight, "it begins before the acknowledgement arrives");
    let frames = bench.frames();
    assert!(frames.contains(&(rival, 2, FrameKind::Data)) && frames.contains(&(ack, 1, FrameKind::Ack)));
    assert_eq!(bench.air.counters(0).ack_lost, 1);
    // Another frame ends its wait; it tries again, and succeeds.
    bench.run_to(us(5_000));
    assert_eq!(bench.air.counters(0).attempts, 2);
    let done: Vec<_> = bench.done().iter().map(|done| (done.1, done.2)).collect();
    assert_eq!(done, [(2, Outcome::Delivered), (0, Outcome::Delivered)]);
    let received = bench.up.iter().filter(|(_, up)| matches!(up, Up::Received { from: 0, .. })).count();
    assert_eq!(received, 1, "the repetition is not handed up again");
}

#[test]
fn standard_time_out_fails_beyond_a_slot() {
    // Clause 10.3.2.9: SIFS + slot + preamble; the acknowledgement's preamble is over SIFS + preamble + two flights later.
    // 9 us are 1349 m there and back, 20 us are 2998 m.
    for (timing, mbps, inside_m, outside_m) in [(a(), 54, 1_345.0, 1_355.0), (timing(), 11, 2_990.0, 3_005.0)]
    {
        for (metres, in_time) in [(inside_m, true), (outside_m, false)] {
            let mut bench = bench(&[0.0, metres], timing, Rules::standard());
            bench.offer_at(0, 1, mbps);
            bench.run_to(us(100_000));
            let attempts = bench.air.counters(0).attempts;
            let outcome = bench.done()[0].2;
            if in_time {
                assert_eq!((attempts, outcome), (1, Outcome::Delivered), "{metres} m");
            } else {
                // It has arrived; only its sender does not know.
                assert_eq!((attempts, outcome), (7, Outcome::Unacknowledged), "{metres} m");
                let counters = bench.air.counters(0);
                assert_eq!((counters.dropped, counters.ack_late), (1, 7), "each frame has its cause");
                assert_eq!(counters.collided + counters.receiver_busy + counters.ack_lost, 0);
            }
            let received = bench.up.iter().filter(|(_, up)| matches!(up, Up::Received { .. })).count();
            assert_eq!(received, 1);
        }
    }
}

#[test]
fn coverage_class_lengthens_slot_and_time_out() {
    // Class 16 is for 16 * 450 = 7200 m: 48 us of propagation there and back.
    let timing = a().with_coverage_class(16);
    let difs = SIFS + 2 * (9 + 48) * 1000;
    // 57 us there and back are 8544 m.
    for (metres, outcome) in
        [(7_000.0, Outcome::Delivered), (8_500.0, Outcome::Delivered), (8_600.0, Outcome::Unacknowledged)]
    {
        let mut bench = bench(&[0.0, metres], timing, Rules::standard());
        bench.offer_at(0, 1, 54);
        bench.run_to(us(200_000));
        assert_eq!(bench.data_starts(0)[0], difs);
        assert_eq!(bench.done()[0].2, outcome);
    }
}

#[test]
fn other_frame_during_a_distant_wait_fails_it() {
    // Node 2 sends to node 0 while that awaits an acknowledgement from 40 km: it fails at the end of node 2's frame, long
    // before its time-out, and answers node 2 a SIFS later. In ns-2 nothing but the time-out decides.
    let flight = flight_ns(40_000.0);
    let timing = a().with_round_trip(Duration::from_nanos(2 * flight));
    for hears_out_answers in [true, false] {
        let rules = Rules { hears_out_answers, ..Rules::standard() };
        let mut bench = bench(&[0.0, 40_000.0, 100.0], timing, rules);
        bench.offer_at(0, 1, 54);
        bench.run_to(us(35));
        bench.offer_at(2, 0, 54);
        let end = DIFS + data_a_ns();
        // Node 2 has decoded the frame, and leaves the acknowledgement its time as if it came at once.
        let rival_end = end + flight_ns(100.0) + SIFS + ACK + DIFS + data_a_ns();
        bench.run_to(Instant::from_nanos(rival_end + flight_ns(100.0) + SIFS + 1));
        let (station, overdue) = (&bench.air.stations[0], Instant::from_nanos(end) + timing.answer_timeout);
        assert_eq!(station.awaiting.is_none(), hears_out_answers);
        assert_eq!(station.overdue < overdue, hears_out_answers);
        assert!(station.sending.is_some_and(|frame| frame.kind == FrameKind::Ack));
    }
}

/// Two frames overlap at node 0 while it awaits an acknowledgement from 40 km. Its receiver stays with the one that ends later, and
/// takes the answer for missing then.
#[test]
fn overlapping_frames_end_wait_at_later_end() {
    let timing = a().with_round_trip(Duration::from_nanos(2 * flight_ns(40_000.0)));
    let mut bench = bench(&[0.0, 40_000.0, 100.0, -100.0], timing, Rules::standard());
    bench.part(2, 3);
    bench.deafen(None, 1); // no answer comes
    bench.offer_at(0, 1, 54);
    bench.run_to(us(35));
    bench.offer_at(2, BROADCAST, 54);
    let end = DIFS + data_a_ns();
    let first = end + flight_ns(100.0) + SIFS + ACK + DIFS;
    bench.run_to(Instant::from_nanos(first + 50_000));
    bench.offer_at(3, BROADCAST, 54);
    let first_end = first + data_a_ns() + flight_ns(100.0);
    assert!(first_end + 50_000 < end + timing.answer_timeout.as_nanos());
    for (at, awaits) in [(first_end + 1, true), (first_end + 50_001, false)] {
        bench.run_to(Instant::from_nanos(at));
        assert_eq!(bench.air.stations[0].awaiting.is_some(), awaits, "at {at} ns");
    }
    assert_eq!((bench.data_starts(2), bench.data_starts(3)), (vec![first], vec![first + 50_000]));
}

/// Node 2 begins 10 µs before node 0's time-out, and its preamble is not over by then (aRxPHYStartDelay, 20 µs), whichever capture.
#[test]
fn frame_without_whole_preamble_extends_no_wait() {
    for capture in [Capture::Strongest, Capture::First] {
        let timing = a().with_round_trip(Duration::from_nanos(2 * flight_ns(10_000.0)));
        let rules = Rules { capture, ..Rules::standard() };
        let mut bench = bench(&[0.0, 10_000.0, 100.0], timing, rules);
        bench.deafen(None, 1);
        bench.offer_at(0, 1, 54);
        let overdue = DIFS + data_a_ns() + timing.answer_timeout.as_nanos();
        bench.run_to(Instant::from_nanos(overdue - 10_000));
        bench.offer_at(2, BROADCAST, 54);
        bench.run_to(Instant::from_nanos(overdue));
        assert!(bench.air.signals[0].locked().is_some());
        assert_eq!(bench.air.stations[0].awaiting, None, "{capture:?}");
    }
}

/// ns-2's time-out leaves twice 2 µs for propagation, 599.6 m each way, and cuts an answer that comes later.
#[test]
fn ns2_cuts_an_answer_from_beyond_600_m() {
    for (metres, flight, in_time) in [(599.6, 2_000, true), (599.9, 2_001, false)] {
        assert_eq!(flight_ns(metres), flight);
        for handshake in [false, true] {
            let rts_threshold = handshake.then(|| Bytes::new(0));
            let rules = Rules { rts_threshold, short_retry_limit: 1, ..Rules::ns2() };
            let mut bench = bench(&[0.0, metres], timing().ns2(), rules);
            bench.offer_at(0, 1, 11);
            bench.run_to(us(10_000));
            let outcome = match (in_time, handshake) {
                (true, _) => Outcome::Delivered,
                (false, true) => Outcome::Dropped,
                (false, false) => Outcome::Unacknowledged,
            };
            assert_eq!(bench.done()[0].2, outcome, "{metres} m");
            let counters = bench.air.counters(0);
            assert_eq!(counters.attempts, u64::from(in_time || !handshake));
            assert_eq!(counters.ack_late, u64::from(!in_time && !handshake));
            assert_eq!(counters.requests_failed, u64::from(!in_time && handshake));
        }
    }
}

/// In ns-2 the sender of a CTS waits for its DATA frame for the frame's airtime and 4 µs, and answers it no more when it is late.
#[test]
fn ns2_answers_no_late_data_frame() {
    for metres in [700.0, 10_000.0] {
        let rules = Rules { rts_threshold: Some(Bytes::new(0)), long_retry_limit: 1, ..Rules::ns2() };
        let timing = timing().ns2().with_round_trip(Duration::from_nanos(2 * flight_ns(metres)));
        let mut bench = bench(&[0.0, metres], timing, rules);
        bench.offer_at(0, 1, 11);
        bench.run_to(us(20_000));
        let kinds: Vec<FrameKind> = bench.frames().iter().map(|f| f.2).collect();
        assert_eq!(kinds, [FrameKind::Rts, FrameKind::Cts, FrameKind::Data], "{metres} m");
        let counters = bench.air.counters(0);
        assert_eq!((counters.attempts, counters.ack_lost, counters.ack_late), (1, 1, 0));
    }
}

/// A packet is over when its own frames have landed: no matter whether its acknowledgement flies on, or its frame to other ears.
#[test]
fn end_of_a_packet_waits_for_its_addressee_alone() {
    let timing = a().with_round_trip(Duration::from_nanos(2 * flight_ns(20_000.0)));
    let mut bench = bench(&[0.0, 20_000.0, 59_000.0], timing, Rules::standard());
    bench.offer_at(0, 1, 54);
    bench.run_to(us(10_000));
    let ack_end = DIFS + data_a_ns() + 2 * flight_ns(20_000.0) + SIFS + ACK;
    assert!(ack_end < DIFS + data_a_ns() + flight_ns(59_000.0), "before the frame is at node 2");
    assert_eq!(bench.done(), [(ack_end, 0, Outcome::Delivered)]);
}

#[test]
fn distant_frames_overlap_only_where_they_meet() {
    // Nodes 0 and 2, 30 km on either side of node 1 and deaf to each other, begin 80 us apart: both frames reach node 1, as
    // far apart, and destroy each other there. Sent 250 us apart they do not, though the first is still under way to no
    // station.
    for (apart_us, lost) in [(80, true), (400, false)] {
        let flight = flight_ns(30_000.0);
        let timing = a().with_round_trip(Duration::from_nanos(2 * flight));
        let mut bench = bench(&[0.0, 30_000.0, 60_000.0], timing, Rules::standard());
        for (from, to) in [(0, 2), (2, 0)] {
            let ear = bench.air.far_ears_of(from, 0).find(|&i| bench.air.ears[i].node == to).unwrap();
            bench.air.ears[ear].hide();
        }
        bench.run_to(us(1_000));
        bench.offer_at(0, 1, 54);
        bench.run_to(us(1_000 + apart_us));
        bench.offer_at(2, BROADCAST, 54);
        bench.run_to(
            us(1_000) + Duration::from_nanos(data_a_ns() + flight) + Duration::from_micros(apart_us + 5),
        );
        assert_eq!(bench.air.counters(0).collided, u64::from(lost), "{apart_us} us apart");
    }
}

#[test]
fn broadcast_ends_with_its_last_copy() {
    let mut bench = bench(&[0.0, 100.0, 20_000.0, 45_000.0], a(), Rules::standard());
    bench.offer_at(0, BROADCAST, 54);
    bench.run_to(us(5_000));
    let end = DIFS + data_a_ns();
    let at = |metres| end + flight_ns(metres);
    let up: Vec<(u64, Up)> = bench.up.iter().map(|(at, up)| (at.as_nanos(), *up)).collect();
    let received = |node| Up::Received { from: 0, at: node, packet: PacketId(7) };
    let done = Up::Done { by: 0, packet: PacketId(7), outcome: Outcome::Delivered };
    assert_eq!(
        up,
        [(end, received(1)), (at(20_000.0), received(2)), (at(45_000.0), received(3)), (at(45_000.0), done)]
    );
}

#[test]
fn packet_given_up_in_flight_is_received() {
    // 802.11a's time-out of 45 us is over long before the frame has crossed 50 km.
    let rules = Rules { short_retry_limit: 1, ..Rules::standard() };
    let mut bench = bench(&[0.0, 50_000.0], a(), rules);
    bench.offer_at(0, 1, 54);
    bench.run_to(us(5_000));
    let landed = DIFS + data_a_ns() + flight_ns(50_000.0);
    let up: Vec<(u64, Up)> = bench.up.iter().map(|(at, up)| (at.as_nanos(), *up)).collect();
    let done = Up::Done { by: 0, packet: PacketId(7), outcome: Outcome::Unacknowledged };
    assert_eq!(up, [(landed, Up::Received { from: 0, at: 1, packet: PacketId(7) }), (landed, done)]);
}

#[test]
fn a_handshake_works_over_fifty_kilometres() {
    let flight = flight_ns(50_000.0);
    let timing = a().with_round_trip(Duration::from_nanos(2 * flight));
    let rules = Rules { rts_threshold: Some(Bytes::new(0)), ..Rules::standard() };
    let mut bench = bench(&[0.0, 50_000.0, 30_000.0], timing, rules);
    bench.offer_at(0, 1, 54);
    bench.run_to(us(10_000));
    let kinds: Vec<FrameKind> = bench.frames().iter().map(|f| f.2).collect();
    assert_eq!(kinds, [FrameKind::Rts, FrameKind::Cts, FrameKind::Data, FrameKind::Ack]);
    assert_eq!(bench.done()[0].2, Outcome::Delivered);
    // Node 2 dropped the reservation of the RTS: the standard's 2 SIFS + CTS + preamble + 2 slots are over before a DATA frame
    // can come from 50 km away.
    assert!(!bench.air.nodes[2].may_unreserve());
}

/// Node 1 sends while a frame from 30 km reaches it: begun before, or so late that it could not know of it (clear channel
/// assessment takes 4 µs, clause 17.4.4). The cause of the loss is the receiver, not a collision.
#[test]
fn receiver_that_sends_loses_a_frame_from_afar() {
    let flight = flight_ns(30_000.0);
    for (before_us, back_off_us) in [(50, 0), (1, 3)] {
        let timing = a().with_round_trip(Duration::from_nanos(2 * flight));
        let mut bench = bench(&[0.0, 30_000.0, 60_000.0], timing, Rules::standard());
        let draw = Draw::Fixed { mean: Duration::from_micros(back_off_us) };
        bench.air.set_access(1, Access { draw, ..exactly(0) });
        bench.offer_at(0, 1, 54);
        let offered = DIFS + flight - before_us * 1000;
        bench.run_to(Instant::from_nanos(offered));
        bench.offer_at(1, BROADCAST, 54);
        let begins = Instant::from_nanos(offered + back_off_us * 1000);
        bench.run_to(begins);
        assert_eq!(bench.air.stations[1].sending.map(|f| f.since), Some(begins));
        bench.run_to(Instant::from_nanos(DIFS + flight + data_a_ns()));
        let counters = bench.air.counters(0);
        assert_eq!(
            (counters.receiver_busy, counters.collided),
            (1, 0),
            "offered {before_us} µs before the arrival"
        );
    }
}

/// Node 0 does not hear node 1, which ends its own frame just when node 0's arrives; an error model spoils that.
#[test]
fn receiver_is_free_at_the_end_of_a_frame() {
    let flight = flight_ns(30_000.0);
    let timing = a().with_round_trip(Duration::from_nanos(2 * flight));
    let mut bench = bench(&[0.0, 30_000.0], timing, Rules::standard());
    let always = vec![(Instant::ZERO, LossModel::Frames(Probability::ONE))];
    bench.air.set_loss(0, 1, &LossProcess::new(always, Stream::named(1, "0>1", "loss")));
    bench.deafen(Some(1), 0);
    bench.offer_at(1, BROADCAST, 54);
    let end = DIFS + data_a_ns();
    bench.run_to(Instant::from_nanos(end - flight));
    bench.offer_at(0, 1, 54);
    bench.run_to(Instant::from_nanos(end + data_a_ns()));
    assert_eq!(bench.data_starts(0), [end - flight]);
    let counters = bench.air.counters(0);
    assert_eq!((counters.receiver_busy, counters.collided), (0, 1));
}

/// Node 1, half-way, sends while the frame is at node 2, where an error model spoils it: the receiver was free.
#[test]
fn sender_half_way_is_no_cause_of_a_loss() {
    let flight = flight_ns(60_000.0);
    let timing = a().with_round_trip(Duration::from_nanos(2 * flight));
    let mut bench = bench(&[0.0, 30_000.0, 60_000.0], timing, Rules::standard());
    let always = vec![(Instant::ZERO, LossModel::Frames(Probability::ONE))];
    bench.air.set_loss(0, 2, &LossProcess::new(always, Stream::named(1, "0>2", "loss")));
    bench.offer_at(0, 2, 54);
    let landing = DIFS + flight + data_a_ns();
    bench.run_to(Instant::from_nanos(landing - 90_000));
    bench.offer_at(1, BROADCAST, 54); // it waits for SIFS, ACK and DIFS after the frame, 78 of these 90 µs
    bench.run_to(Instant::from_nanos(landing - 1));
    assert!(bench.air.stations[1].sending.is_some());
    bench.run_to(Instant::from_nanos(landing));
    let counters = bench.air.counters(0);
    assert_eq!((counters.receiver_busy, counters.collided), (0, 1));
}

/// Node 0 sends the frames of two queues. While the first one is at node 1, 60 km away, the second one is at node 2, 20 km away,
/// where a packet comes once node 0 has sent it all: the second queue keeps node 2 waiting until the last energy is there.
#[test]
fn ledger_blames_frame_that_arrives_from_afar() {
    let contention = |(number, node): (usize, u32)| Contention {
        node,
        access: exactly(0),
        arbitration: Arbitration::dcf(&a()),
        stream: Stream::named(1, &format!("contender {number}"), "backoff"),
    };
    let contenders = [0, 0, 1, 2].into_iter().enumerate().map(contention).collect();
    let medium = medium(&[0.0, 60_000.0, 20_000.0]);
    let mut bench = bench(&[], a(), Rules::standard());
    bench.air = DcfAir::new(&medium, contenders, a(), Rules::standard());
    bench.air.start_ledger(Instant::ZERO);
    let (rate, size) = (Rate::from_kbps(54_000), Bytes::new(500));
    bench.offer_at(0, BROADCAST, 54);
    bench.run_to(us(100));
    let head = Head { to: BROADCAST, size, mode: Mode::at(rate), packet: PacketId(8) };
    bench.air.offer(bench.now, 1, head);
    bench.collect();
    let second = DIFS + data_a_ns() + DIFS;
    let landing = second + a().data(size, rate).as_nanos() + flight_ns(20_000.0);
    let offered = second + 150_000;
    bench.run_to(Instant::from_nanos(offered));
    assert!(bench.air.stations[0].sending.is_none() && offered < landing);
    assert!(offered < DIFS + data_a_ns() + flight_ns(60_000.0), "the first frame is under way");
    bench.offer_at(3, BROADCAST, 54);
    bench.run_to(Instant::from_nanos(landing));
    let ledger = bench.air.ledger.as_mut().unwrap();
    ledger.close(Instant::from_nanos(landing));
    let kept = Duration::from_nanos(landing - offered);
    assert_eq!(ledger.airtime(3).blocked_by, [Duration::ZERO, kept, Duration::ZERO, Duration::ZERO]);
}

#[test]
fn broadcast_to_far_hearers_alone_is_delivered() {
    let mut bench = bench(&[0.0, 20_000.0, 45_000.0], a(), Rules::standard());
    bench.offer_at(0, BROADCAST, 54);
    bench.run_to(us(5_000));
    let at = |metres| DIFS + data_a_ns() + flight_ns(metres);
    let up: Vec<(u64, Up)> = bench.up.iter().map(|(at, up)| (at.as_nanos(), *up)).collect();
    let received = |node| Up::Received { from: 0, at: node, packet: PacketId(7) };
    let done = Up::Done { by: 0, packet: PacketId(7), outcome: Outcome::Delivered };
    assert_eq!(up, [(at(20_000.0), received(1)), (at(45_000.0), received(2)), (at(45_000.0), done)]);
}

/// RTS and CTS at 24 Mb/s: 20 + 2·4 µs. At 6 Mb/s an RTS takes 20 + 8·4 µs.
const RTS: u64 = 28_000;
/// Clause 10.3.2.4: 2 SIFS + CTS + aRxPHYStartDelay + 2 slots.
const UNUSED: u64 = 2 * SIFS + 28_000 + 20_000 + 2 * 9_000;

#[test]
fn rts_from_afar_reserves_until_it_is_unused() {
    // Node 1 answers nothing. Node 2 decodes node 0's RTS 7 km away, and counts from its end there.
    let reserved = SIFS + 28_000 + SIFS + data_a_ns() + SIFS + ACK;
    for (drops_unused_reservation, wait) in [(true, UNUSED), (false, reserved)] {
        let rules = Rules {
            rts_threshold: Some(Bytes::new(0)),
            short_retry_limit: 1,
            drops_unused_reservation,
            ..Rules::standard()
        };
        let mut bench = bench(&[0.0, 100.0, 7_000.0], a(), rules);
        bench.deafen(None, 1);
        bench.offer_at(0, 1, 54);
        let heard = DIFS + RTS + flight_ns(7_000.0);
        bench.run_to(Instant::from_nanos(heard + 1_000));
        bench.offer_at(2, BROADCAST, 54);
        bench.run_to(us(2_000));
        assert_eq!(bench.data_starts(2), [heard + wait + DIFS], "drops: {drops_unused_reservation}");
    }
}

#[test]
fn undecoded_rts_from_afar_keeps_drop_of_another() {
    // Node 2's RTS at 6 Mb/s reaches node 0 from 57 to 109 µs; node 1's, 100 m away and 37 dB stronger, from 60 to 88 µs, and
    // is decoded. Nothing answers either. Node 0 goes on when node 1's reservation is unused.
    let rules = Rules { rts_threshold: Some(Bytes::new(0)), short_retry_limit: 1, ..Rules::standard() };
    let mut bench = bench(&[0.0, 100.0, 7_000.0, 200.0], a(), rules);
    bench.deafen(None, 3);
    bench.deafen(Some(2), 1);
    bench.offer_at(2, 3, 6);
    bench.run_to(us(60));
    bench.offer_at(1, 3, 54);
    bench.run_to(us(95));
    bench.offer_at(0, BROADCAST, 54);
    bench.run_to(us(2_000));
    assert_eq!(bench.data_starts(0), [60_000 + RTS + UNUSED + DIFS]);
}

/// Node 0's answer from 10 km, 44 µs at 6 Mb/s, begins 9 µs before it would be too late. It is heard to its end (clause
/// 10.3.2.9), though a weaker signal from 50 km, 14 dB below, begins beside it.
#[test]
fn weaker_signal_does_not_restart_an_answer() {
    let flight = flight_ns(10_000.0);
    let timing = a().with_round_trip(Duration::from_nanos(2 * flight));
    let mut bench = bench(&[0.0, 10_000.0, -50_000.0], timing, Rules::standard());
    bench.deafen(Some(0), 2);
    bench.deafen(Some(1), 2);
    bench.deafen(Some(2), 1);
    bench.offer_at(0, 1, 6);
    let data = a().data(Bytes::new(DATA_BYTES), Rate::from_kbps(6_000)).as_nanos();
    let answer = DIFS + data + 2 * flight + SIFS;
    bench.run_to(Instant::from_nanos(answer + 15_000 - flight_ns(50_000.0)));
    bench.offer_at(2, BROADCAST, 54);
    bench.run_to(us(5_000));
    assert_eq!((bench.air.counters(0).attempts, bench.air.counters(0).ack_lost), (1, 0));
    assert!(bench.done().iter().any(|done| done.1 == 0 && done.2 == Outcome::Delivered));
}

/// A frame from afar that arrives at the very instant at which its receiver's own frame ends meets an idle receiver.
#[test]
fn far_frame_meets_receiver_whose_own_has_ended() {
    for is_lost in [false, true] {
        let flight = flight_ns(10_000.0);
        let timing = a().with_round_trip(Duration::from_nanos(2 * flight));
        let mut bench = bench(&[0.0, 10_000.0], timing, Rules::standard());
        bench.deafen(Some(1), 0);
        if is_lost {
            let always = vec![(Instant::ZERO, LossModel::Frames(Probability::ONE))];
            bench.air.set_loss(0, 1, &LossProcess::new(always, Stream::named(1, "0>1", "loss")));
        }
        let own_end = DIFS + data_a_ns();
        bench.offer_at(1, BROADCAST, 54);
        bench.run_to(Instant::from_nanos(own_end - flight));
        bench.offer_at(0, 1, 54);
        bench.run_to(Instant::from_nanos(own_end + data_a_ns() + 5_000));
        assert_eq!(bench.has_received(0, 1), !is_lost);
        let counters = bench.air.counters(0);
        assert_eq!(
            (counters.attempts, counters.collided, counters.receiver_busy),
            (1, u64::from(is_lost), 0)
        );
    }
}

/// An answer is in time if its preamble is over at the time-out ([`MacTiming::round_trip_max`]); receptions come before time-outs
/// of the same instant.
#[test]
fn preamble_that_ends_at_the_time_out_is_in_time() {
    let flight = flight_ns(10_000.0);
    let slot = a().slot.as_nanos();
    for (short_ns, attempts) in [(0, 1), (1, 7)] {
        let timing = a().with_round_trip(Duration::from_nanos(2 * flight - slot - short_ns));
        assert_eq!(timing.round_trip_max().as_nanos(), 2 * flight - short_ns);
        let mut bench = bench(&[0.0, 10_000.0], timing, Rules::standard());
        bench.offer_at(0, 1, 54);
        bench.run_to(us(100_000));
        let counters = bench.air.counters(0);
        assert_eq!(
            (counters.attempts, counters.ack_late),
            (attempts, if attempts > 1 { attempts } else { 0 })
        );
    }
}

/// RTS and CTS at 1 Mb/s have DSSS's preamble of 192 us, and last 160 and 112 us more; the OFDM acknowledgement's has 20 us.
/// Each time-out is for its own answer (clause 10.3.2.9).
#[test]
fn far_answers_have_preambles_of_their_own() {
    let (flight, rate) = (flight_ns(10_000.0), Rate::from_kbps(54_000));
    let timing = MacTiming::mixed(crate::Preamble::Long, Rate::from_kbps(1_000), true);
    // A slot of 20 us and this are 5 us more than there and back: the acknowledgement's time-out comes within it.
    let timing = timing.with_round_trip(Duration::from_nanos(2 * flight - 15_000));
    let rules = Rules { rts_threshold: Some(Bytes::new(500)), ..Rules::standard() };
    let mut bench = bench(&[0.0, 10_000.0], timing, rules);
    bench.offer_at(0, 1, 54);
    bench.run_to(us(50_000));
    let cts = 50_000 + 352_000 + flight + 10_000;
    let data = cts + 304_000 + flight + 10_000;
    let ack = data + timing.data(Bytes::new(DATA_BYTES), rate).as_nanos() + flight + 10_000;
    let expected = [
        (50_000, 0, FrameKind::Rts),
        (cts, 1, FrameKind::Cts),
        (data, 0, FrameKind::Data),
        (ack, 1, FrameKind::Ack),
    ];
    assert_eq!(bench.frames(), expected);
    assert_eq!(bench.done()[0].2, Outcome::Delivered);
}
