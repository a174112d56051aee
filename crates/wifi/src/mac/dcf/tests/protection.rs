//! RTS, CTS and the network allocation vector (IEEE 802.11-2016 clauses 10.3.2.4 to 10.3.2.7, 10.3.4.4).

use super::*;

const SIFS: u64 = 10_000;
const CTS: u64 = 304_000;
const RTS: u64 = 352_000;

fn protected() -> Rules {
    Rules { rts_threshold: Some(Bytes::new(500)), ..Rules::standard() }
}

fn bench(at_m: &[f64]) -> Bench {
    Bench::line(at_m, |_| exactly(0), timing(), protected())
}

#[test]
fn rts_cts_data_and_ack_are_a_sifs_apart() {
    let mut bench = bench(&[0.0, 100.0]);
    bench.offer(0, 1);
    bench.run_to(us(5_000));
    let flight = flight_ns(100.0);
    let cts = 50_000 + RTS + flight + SIFS;
    let data = cts + CTS + flight + SIFS;
    let ack = data + data_ns() + flight + SIFS;
    assert_eq!(
        bench.frames(),
        [
            (50_000, 0, FrameKind::Rts),
            (cts, 1, FrameKind::Cts),
            (data, 0, FrameKind::Data),
            (ack, 1, FrameKind::Ack)
        ]
    );
    assert_eq!(bench.done(), [(ack + CTS, 0, Outcome::Delivered)]);
    assert_eq!((bench.air.counters(0).requests, bench.air.counters(0).requests_failed), (1, 0));
}

#[test]
fn a_packet_below_the_threshold_goes_without() {
    let mut bench = bench(&[0.0, 100.0]);
    bench.air.rules.rts_threshold = Some(Bytes::new(1036)); // the frame has 1036 bytes, and is not above it
    bench.offer(0, 1);
    bench.run_to(us(5_000));
    assert_eq!(bench.frames()[0].2, FrameKind::Data);
}

#[test]
fn frame_longer_than_the_limit_is_announced() {
    for (shorter_ns, first) in [(0, FrameKind::Data), (1, FrameKind::Rts)] {
        let mut bench = bench(&[0.0, 100.0]);
        let frame = bench.air.timing.data(Bytes::new(1000), Rate::from_kbps(11_000));
        bench.air.rules.rts_threshold = None;
        bench.air.rules.rts_duration = Some(frame - Duration::from_nanos(shorter_ns));
        bench.offer(0, 1);
        bench.run_to(us(5_000));
        assert_eq!(bench.frames()[0].2, first);
    }
}

#[test]
fn a_cts_silences_who_hears_the_receiver_only() {
    // Node 2 decodes node 1 but not node 0, and does not sense node 0's carrier either.
    let mut bench = bench(&[0.0, 249.0, 498.0, 600.0]);
    for i in bench.air.ears_of(0, 0) {
        if bench.air.ears[i].node != 1 {
            bench.air.ears[i].hide();
        }
    }
    bench.offer(0, 1);
    bench.run_to(us(60 + 352 + 100)); // the CTS is on the air
    bench.offer(2, 3);
    bench.run_to(us(10_000));
    let ack_end = bench.done()[0].0;
    let rts = bench.frames().iter().find(|f| f.1 == 2).unwrap().0;
    // The reservation is counted from the CTS as it arrived at node 2; the last flights are within a microsecond.
    assert!((ack_end + 50_000..ack_end + 52_000).contains(&rts), "{rts} {ack_end}");
}

#[test]
fn a_reserved_station_does_not_answer_an_rts() {
    for rules in [protected(), Rules { idle_handshake: true, ..protected() }] {
        let mut bench = Bench::line(&[0.0, 100.0], |_| exactly(0), timing(), rules);
        bench.air.nodes[1].reserved_until = us(50_000);
        bench.offer(0, 1);
        bench.run_to(us(1_000));
        assert!(!bench.frames().iter().any(|f| f.2 == FrameKind::Cts));
        assert_eq!(bench.air.counters(0).requests_failed, 1);
    }
}

/// Node 2's frame reaches node 1, 400 m away, while node 0's RTS does: 12 dB weaker, it is survived, and is still there when
/// the CTS is due. The standard asks for the reservation only (clause 10.3.2.7), ns-2 for the carrier too.
#[test]
fn ns2_answers_no_rts_while_it_senses_a_carrier() {
    for (rules, answers) in [(protected(), true), (Rules { idle_handshake: true, ..protected() }, false)] {
        let mut bench = Bench::line(&[0.0, 200.0, 600.0, 800.0], |_| exactly(0), timing(), rules);
        for (a, b) in [(0, 2), (2, 0)] {
            // Hidden from each other.
            let ears = bench.air.ears_of(a, 0);
            let ear = ears.into_iter().find(|&i| bench.air.ears[i].node == b).unwrap();
            bench.air.ears[ear].hide();
        }
        bench.air.rules.rts_threshold = None;
        bench.offer(2, 3); // its DATA frame, from 50 µs on
        bench.air.rules.rts_threshold = rules.rts_threshold;
        bench.air.countdowns[0].begin(Duration::ZERO);
        bench.air.countdowns[0].from = us(49);
        bench.offer(0, 1);
        bench.run_to(us(49 + 352 + 10 + 304 + 1)); // a microsecond into the DATA frame, if there is one
        assert_eq!(bench.frames().iter().any(|f| f.2 == FrameKind::Cts && f.1 == 1), answers, "{rules:?}");
        assert_eq!(bench.air.counters(0).ack_lost, 0, "no DATA frame was sent that could be acknowledged");
    }
}

/// Node 0 has its CTS when node 2, which it hears and which does not hear it, begins: ns-2 sends another RTS after a back-off
/// of twice the window, the standard sends its DATA frame.
#[test]
fn ns2_repeats_rts_on_busy_medium_after_cts() {
    let twice = |_: usize| Access {
        draw: Draw::Slots { window: 0, end_included: true },
        on_failure: OnFailure::Double { window_max: 31 },
        when: When::BeforeFrame,
        holding: Holding::Packet,
    };
    for (rules, requests) in [(protected(), 1), (Rules { idle_handshake: true, ..protected() }, 2)] {
        let mut bench = Bench::line(&[0.0, 200.0, -600.0, -800.0], twice, timing(), rules);
        for ear in bench.air.ears_of(0, 0).chain(bench.air.ears_of(1, 0)) {
            if bench.air.ears[ear].node > 1 {
                bench.air.ears[ear].hide();
            }
        }
        bench.offer(0, 1);
        bench.run_to(us(50 + 352 + 10 + 302)); // the CTS is nearly over
        bench.air.rules.rts_threshold = None;
        bench.air.countdowns[2].begin(Duration::ZERO);
        bench.air.countdowns[2].from = bench.now;
        bench.offer(2, 3);
        bench.air.rules.rts_threshold = rules.rts_threshold;
        bench.run_to(us(40_000));
        assert_eq!(bench.air.counters(0).requests, requests, "{rules:?}");
        assert_eq!(bench.air.counters(0).requests_failed, 0, "no failure, for all that");
        assert!(bench.done().iter().any(|done| done.1 == 0 && done.2 == Outcome::Delivered));
    }
}

/// In ns-2 the sender of a CTS does nothing else until the DATA frame is overdue.
#[test]
fn ns2_waits_for_the_data_its_cts_allowed() {
    let rules = Rules { rts_threshold: protected().rts_threshold, ..Rules::ns2() };
    let mut bench = Bench::line(&[0.0, 200.0], |_| exactly(0), timing(), rules);
    bench.offer(0, 1);
    bench.run_to(us(50 + 352 + 10 + 100)); // the CTS is on the air
    let cts_end = 50_000 + RTS + flight_ns(200.0) + SIFS + CTS;
    assert!(bench.air.signals[0].locked().is_some());
    bench.air.signals[0].spoil(); // and will not be decoded
    bench.air.set_access(0, exactly(1000));
    bench.offer(1, 0);
    bench.run_to(us(10_000));
    let overdue = cts_end + SIFS + data_ns() + 4_000;
    let next = bench.frames().into_iter().find(|f| f.1 == 1 && f.2 == FrameKind::Rts).unwrap();
    assert_eq!(next.0, overdue + 50_000);
}

#[test]
fn failed_rts_is_short_and_failed_data_long() {
    // Out of range: seven RTS, no DATA. DATA lost on a bad link: four of them, and the short count restarts with
    // each CTS.
    let mut far = bench(&[0.0, 400.0]);
    far.offer(0, 1);
    far.run_to(us(100_000));
    assert_eq!((far.air.counters(0).requests, far.air.counters(0).attempts), (7, 0));
    let mut bad = bench(&[0.0, 100.0]);
    bad.air.set_loss(0, 1, &LossProcess::new(Vec::new(), Stream::named(1, "0>1", "loss")));
    let every_data_frame = LossModel::Bits(1e-2); // an RTS survives with 0.2, 8288 bits never
    let process = LossProcess::new(vec![(Instant::ZERO, every_data_frame)], Stream::named(3, "0>1", "loss"));
    bad.air.set_loss(0, 1, &process);
    bad.offer(0, 1);
    bad.run_to(us(200_000));
    let counters = *bad.air.counters(0);
    assert_eq!(counters.attempts + counters.requests_failed, counters.requests);
    assert!(counters.attempts == 4 || counters.requests_failed >= 7, "{counters:?}");
    assert_eq!(counters.dropped, 1);
}

#[test]
fn window_doubles_over_short_and_long_failures() {
    let mut bench = Bench::line(&[0.0, 400.0], |_| dcf(), timing(), protected());
    bench.offer(0, 1);
    bench.run_to(us(2_000));
    assert!(bench.air.counters(0).requests_failed > 0);
    assert!(bench.air.queues[0].window >= 63);
}

#[test]
fn unused_reservation_ends_after_a_cts_time() {
    // Node 1 is out of node 0's range and never answers; node 2 decodes the RTS. By the standard it may go on after
    // 2 SIFS + CTS + preamble + 2 slots; in ns-2 it waits for the whole exchange that never comes.
    let keeps = Rules { drops_unused_reservation: false, ..protected() };
    let ns2 = Rules { rts_threshold: protected().rts_threshold, ..Rules::ns2() };
    for (rules, wait_us) in [
        (protected(), 20 + 304 + 192 + 40),
        (keeps, 10 + 304 + 10 + 10 + 304),
        (ns2, 10 + 304 + 10 + 10 + 304),
    ] {
        let drops = rules.drops_unused_reservation;
        let rules = Rules { short_retry_limit: 1, ..rules };
        let mut bench = Bench::line(&[0.0, 400.0, -200.0, -300.0], |_| exactly(0), timing(), rules);
        bench.offer(0, 1);
        bench.run_to(us(60));
        bench.offer(2, 3);
        bench.run_to(us(20_000));
        let heard = 50_000 + RTS;
        let expected = heard + wait_us * 1000 + 50_000 + if drops { 0 } else { data_ns() + flight_ns(200.0) };
        let start = bench.frames().iter().find(|f| f.1 == 2).unwrap().0;
        assert_eq!(start, expected, "drops: {drops}");
    }
}

#[test]
fn a_reservation_that_data_follow_is_kept() {
    // Node 2 decodes node 0's RTS but hears nothing of node 1; the DATA frame begins before the reservation is void.
    let mut bench = bench(&[0.0, 200.0, -200.0, -300.0]);
    for i in bench.air.ears_of(1, 0) {
        if bench.air.ears[i].node != 0 {
            bench.air.ears[i].hide();
        }
    }
    bench.offer(0, 1);
    bench.run_to(us(60));
    bench.offer(2, 3);
    bench.run_to(us(20_000));
    let ack_end = bench.done()[0].0;
    let start = bench.frames().iter().find(|f| f.1 == 2).unwrap().0;
    assert!(start >= ack_end + 50_000, "{start} {ack_end}");
}

/// Two RTS of one instant may be dropped at one instant. Node 2 decoded node 1's and only suffers interference from node 0,
/// which wakes first: it goes on at its own time all the same.
#[test]
fn reservations_of_one_instant_are_each_dropped() {
    let rules = Rules { short_retry_limit: 1, ..protected() };
    let radio = ThresholdRadio {
        transmission_range_m: 250.0,
        carrier_sense_range_m: 800.0,
        interference_range_m: 1000.0,
        propagation: Propagation::default(),
    };
    let at = [700.0, 0.0, -200.0, 400.0].map(|x| Position::new(x, 0.0));
    let mut bench = Bench::over(&Medium::from_positions(&at, &radio), |_| exactly(0), timing(), rules);
    bench.offer(0, 2);
    bench.offer(1, 3);
    bench.run_to(us(60));
    bench.offer(2, BROADCAST);
    bench.run_to(us(20_000));
    let rts: Vec<u64> = bench.frames().iter().filter(|f| f.2 == FrameKind::Rts).map(|f| f.0).collect();
    assert_eq!(rts, [50_000; 2]);
    // 2 SIFS + CTS + preamble + 2 slots after the RTS, and a DIFS.
    let wait = (20 + 304 + 192 + 40 + 50) * 1000;
    assert_eq!(bench.data_starts(2), [50_000 + RTS + wait]);
}

/// Clause 10.3.2.4: only a reservation that the RTS itself has made may be dropped, not one that another frame has made until then
/// or longer.
#[test]
fn reservation_by_another_frame_is_kept() {
    for longer_ns in [0, 5_000_000] {
        let rules = Rules { short_retry_limit: 1, ..protected() };
        let mut bench = Bench::line(&[0.0, 400.0, -200.0], |_| exactly(0), timing(), rules);
        let heard = 50_000 + RTS + flight_ns(200.0);
        let until = heard + SIFS + CTS + SIFS + data_ns() + SIFS + CTS + longer_ns;
        bench.offer(0, 1);
        bench.run_to(us(60));
        bench.air.nodes[2].reserved_until = Instant::from_nanos(until);
        bench.offer(2, BROADCAST);
        bench.run_to(us(20_000));
        assert_eq!(bench.data_starts(2), [until + 50_000]);
    }
}

/// Node 2 decodes node 0's RTS, not the one of node 3, 400 m away and hidden from node 0, which has ended before. Node 3's void
/// events drop nothing.
#[test]
fn reservation_is_dropped_at_its_own_instant() {
    let rules = Rules { short_retry_limit: 1, ..protected() };
    let at_m = [0.0, -400.0, 200.0, 600.0, 1000.0];
    let mut bench = Bench::line(&at_m, |_| exactly(0), timing(), rules);
    bench.part(0, 3);
    bench.offer(3, 4);
    bench.run_to(us(410)); // it has ended at 402 µs
    bench.offer(0, 1);
    bench.run_to(us(420));
    bench.offer(2, BROADCAST);
    bench.run_to(us(5_000));
    // 2 SIFS + CTS + preamble + 2 slots after the RTS, and a DIFS.
    assert_eq!(bench.data_starts(2), [410_000 + RTS + (20 + 304 + 192 + 40 + 50) * 1000]);
}

/// dot11LongRetryLimit is 4: a DATA frame with an answered RTS is sent so often.
#[test]
fn long_retry_limit_counts_data_frames() {
    let mut bench = bench(&[0.0, 100.0]);
    bench.offer(0, 1);
    while bench.done().is_empty() && bench.now < us(100_000) {
        bench.run_to(bench.now + Duration::from_micros(10));
        if bench.air.stations[0].sending.is_some_and(|frame| frame.kind == FrameKind::Data) {
            bench.air.signals[1].spoil();
        }
    }
    let counters = bench.air.counters(0);
    assert_eq!((counters.requests, counters.attempts, counters.requests_failed), (4, 4, 0));
    assert_eq!(bench.done()[0].2, Outcome::Dropped);
}

/// ns-2 looks at its reservation when the CTS is due, a SIFS after the RTS: one that ends between does not matter.
#[test]
fn ns2_answers_rts_if_reservation_ends_in_time() {
    for (rules, answers) in [(protected(), false), (Rules { idle_handshake: true, ..protected() }, true)] {
        let mut bench = Bench::line(&[0.0, 100.0], |_| exactly(0), timing(), rules);
        bench.air.nodes[1].reserved_until = us(50 + 352 + 5);
        bench.offer(0, 1);
        bench.run_to(us(1_000));
        assert_eq!(bench.frames().iter().any(|f| f.2 == FrameKind::Cts), answers);
    }
}

/// ns-2: a packet without RTS is acknowledged after one with it.
#[test]
fn ns2_acknowledges_small_packet_after_large_one() {
    let rules = Rules { rts_threshold: protected().rts_threshold, ..Rules::ns2() };
    let mut bench = Bench::line(&[0.0, 100.0], |_| exactly(0), timing().ns2(), rules);
    for bytes in [1000, 100] {
        bench.offer_bytes(0, 1, bytes);
        bench.run_to(bench.now + Duration::from_micros(5_000));
    }
    let counters = bench.air.counters(0);
    assert_eq!((counters.requests, counters.attempts, bench.done().len()), (1, 2, 2));
}

/// A CTS names no sender: it means nothing while a DATA frame awaits its acknowledgement.
#[test]
fn stray_cts_starts_no_frame() {
    for rules in [Rules::standard(), protected()] {
        let mut bench = Bench::line(&[0.0, 100.0], |_| exactly(0), timing(), rules);
        bench.offer(0, 1);
        let handshake = if rules == protected() { RTS + CTS + 2 * (SIFS + flight_ns(100.0)) } else { 0 };
        bench.run_to(Instant::from_nanos(50_000 + handshake + data_ns() + 1_000));
        let data = bench.air.stations[0].awaiting;
        assert_eq!((data, bench.air.counters(0).attempts), (Some((0, Expecting::Answer)), 1));
        let plan = bench.air.queues[0].plan;
        let cts = Sending {
            kind: FrameKind::Cts,
            to: 0,
            by: 0,
            since: bench.now,
            size: Bytes::new(14),
            parts: 0,
            retry: false,
            qos: false,
            class: 0,
            far: false,
            answer: Duration::ZERO,
            reserves: Duration::ZERO,
            mode: plan.mode,
            receiver_busy: false,
        };
        assert!(!bench.air.accept(0, 1, &cts, bench.now, &mut bench.out));
        assert!(bench.air.stations[0].reply.is_none());
    }
}
