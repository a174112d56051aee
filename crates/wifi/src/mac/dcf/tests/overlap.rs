//! Frames that overlap at a receiver, with each other or with its own.

use super::*;
use crate::error::ErrorModel;

/// ns-2's `collision`: of two frames that overlap the one that ends later is kept, and an EIFS follows its end.
#[test]
fn ns2_waits_from_the_later_end_of_a_collision() {
    let timing = timing().ns2();
    let mut bench = Bench::line(&[0.0, 100.0, 200.0], |_| exactly(0), timing, Rules::ns2());
    bench.part(0, 2);
    bench.offer(0, BROADCAST);
    bench.run_to(us(100));
    bench.offer(2, BROADCAST); // a DIFS of its own: from 150 µs on
    bench.run_to(us(200));
    bench.offer(1, BROADCAST);
    bench.run_to(us(5_000));
    assert_eq!((bench.data_starts(0), bench.data_starts(2)), (vec![50_000], vec![150_000]));
    let data = timing.data(Bytes::new(DATA_BYTES), Rate::from_kbps(11_000)).as_nanos();
    let end = 150_000 + data + flight_ns(100.0);
    assert_eq!(bench.data_starts(1), [end + 364_000 + 50_000]);
    assert!(!bench.has_received(0, 1) && !bench.has_received(2, 1));
}

/// ns-2's `recv_timer`: a frame that ends while the station transmits is discarded, without an EIFS.
#[test]
fn ns2_discards_what_ends_while_it_transmits() {
    let mut bench = Bench::line(&[0.0, 100.0], |_| exactly(0), timing().ns2(), Rules::ns2());
    bench.offer(1, BROADCAST); // both from 50 µs on
    let mode = Mode::at(Rate::from_kbps(11_000));
    let short = Head { to: BROADCAST, size: Bytes::new(100), mode, packet: PacketId(0) };
    bench.air.offer(bench.now, 0, short);
    bench.collect();
    bench.run_to(us(500));
    assert!(bench.air.stations[1].sending.is_some() && bench.air.stations[0].sending.is_none());
    assert_eq!(bench.air.nodes[1].reserved_until, Instant::ZERO);
}

/// Interference that no carrier sense notices does not make another frame decodable that is too weak, nor spoils one that is not.
#[test]
fn ns2_decides_by_the_sensed_frame_alone() {
    for (noise, frame, received) in [(0, 2, false), (2, 0, true)] {
        let mut bench = Bench::line(&[0.0, 200.0, 600.0], |_| exactly(0), timing().ns2(), Rules::ns2());
        bench.part(0, 2);
        bench.deafen(Some(noise), 1);
        bench.offer(noise as u32, BROADCAST);
        bench.run_to(us(100));
        bench.offer(frame, BROADCAST); // node 2 is 400 m away
        bench.run_to(us(5_000));
        assert_eq!(bench.has_received(frame, 1), received);
    }
}

/// A station that begins to send gives up its reception. In ns-2 that is an error where it ends later (`recv_timer`), and
/// an EIFS follows.
#[test]
fn sender_gives_up_what_it_receives() {
    for (rules, reserved) in [(Rules::standard(), 0), (Rules::ns2(), 364_000)] {
        // Node 1 begins 10 µs after node 0, within the sensing delay, and ends before it.
        let fixed = |us| Access { draw: Draw::Fixed { mean: Duration::from_micros(us) }, ..exactly(0) };
        let mut bench = Bench::line(&[0.0, 100.0], |n| fixed(10 * n as u64), timing(), rules);
        bench.offer(0, BROADCAST);
        bench.offer_bytes(1, BROADCAST, 100);
        bench.run_to(us(5_000));
        assert_eq!((bench.data_starts(0), bench.data_starts(1)), (vec![50_000], vec![60_000]));
        let end = 50_000 + data_ns() + flight_ns(100.0);
        let node = &bench.air.nodes[1];
        let until = if reserved > 0 { end + reserved } else { 0 };
        assert_eq!((node.reserved_until.as_nanos(), node.extended), (until, false));
    }
}

/// ns-2 marks a frame as an error that begins while the station transmits (`recv`). Where both end together, its transmission, begun
/// first, is over before (`tx_active_`), so that an EIFS follows.
#[test]
fn ns2_error_that_ends_with_its_own_frame_counts() {
    let mut bench = Bench::line(&[0.0, 100.0], |_| exactly(0), timing(), Rules::ns2());
    bench.deafen(Some(1), 0);
    bench.offer(1, BROADCAST); // 946 µs from 50 µs on
    let begins = 996_000 - 291_000 - flight_ns(100.0); // 136 bytes: 192 + 99 µs
    bench.run_to(Instant::from_nanos(begins - 50_000));
    bench.offer_bytes(0, BROADCAST, 100); // a DIFS of its own
    bench.run_to(us(5_000));
    assert_eq!(bench.data_starts(0), [begins]);
    assert_eq!(bench.air.nodes[1].reserved_until, us(996 + 364));
}

/// Node 1 sends from 50 to 996 µs. A frame that begins then is lost, also beside a third signal; one that begins at its end is not.
#[test]
fn sender_decodes_nothing_beside_another_signal() {
    for (early_ns, received) in [(1_000, false), (0, true)] {
        let mut bench = Bench::standard(&[-200.0, 0.0, 50.0], |_| exactly(0));
        bench.part(0, 2);
        bench.deafen(Some(1), 0);
        bench.deafen(Some(1), 2);
        bench.offer(1, BROADCAST);
        bench.run_to(us(500));
        bench.offer(0, BROADCAST);
        bench.run_to(Instant::from_nanos(996_000 - early_ns - flight_ns(50.0)));
        bench.offer(2, BROADCAST);
        bench.run_to(us(5_000));
        assert_eq!(bench.data_starts(2), [996_000 - early_ns - flight_ns(50.0)]);
        assert_eq!(bench.has_received(2, 1), received);
    }
}

/// Two frames of one power: at a threshold of 0 dB neither spoils the other, and the receiver stays with the first.
#[test]
fn frame_at_the_threshold_survives() {
    for (capture_db, received) in [(0.0, true), (0.1, false)] {
        let rules = Rules { capture_db, ..Rules::standard() };
        let mut bench = Bench::line(&[-100.0, 0.0, 100.0], |_| exactly(0), timing(), rules);
        bench.part(0, 2);
        bench.offer(0, BROADCAST);
        bench.run_to(us(500));
        bench.offer(2, BROADCAST);
        bench.run_to(us(5_000));
        assert_eq!((bench.has_received(0, 1), bench.has_received(2, 1)), (received, false));
    }
}

/// Under an error model a receiver turns to a frame that is 5 dB stronger and begins in the first 16 us of another (ns-3's
/// `SimpleFrameCaptureModel`); later it stays with the first, which the stronger one spoils.
#[test]
fn receivers_turn_to_a_stronger_frame_early() {
    let model = ErrorModel::new(crate::Width::Mhz20);
    let rules = Rules {
        capture: Capture::Errors(model),
        capture_db: 5.0,
        detection_db: Some(ErrorModel::DETECTION_DB),
        ..Rules::standard()
    };
    for (after, first, second) in [(10, false, true), (30, false, false), (10_000, true, true)] {
        let mut bench = Bench::line(&[0.0, 200.0, 250.0], |_| exactly(0), timing(), rules);
        bench.part(0, 2);
        bench.run_to(us(1_000));
        bench.offer(0, BROADCAST);
        bench.run_to(us(1_000 + after));
        bench.offer(2, BROADCAST);
        bench.run_to(us(40_000));
        assert_eq!((bench.has_received(0, 1), bench.has_received(2, 1)), (first, second), "{after} us");
    }
}

/// Two signals that are not sensed alone make the medium busy together, 3 dB stronger than one, until the first of them ends.
#[test]
fn signals_add_up_to_energy() {
    let radio = ThresholdRadio {
        transmission_range_m: 250.0,
        carrier_sense_range_m: 500.0,
        interference_range_m: 800.0,
        propagation: Propagation::default(),
    };
    let medium = Medium::from_positions(&[-600.0, 0.0, 600.0].map(|x| Position::new(x, 0.0)), &radio);
    let alone = radio.propagation.received(600.0);
    let end = 1_000_000 + data_ns() + flight_ns(600.0);
    for (energy, start) in
        [(None, 1_300_000), (Some(alone + 4.0), 1_300_000), (Some(alone + 2.0), end + 50_000)]
    {
        let rules = Rules { energy, ..Rules::standard() };
        let mut bench = Bench::over(&medium, |_| exactly(0), timing(), rules);
        bench.run_to(us(1_000));
        bench.offer(0, BROADCAST);
        bench.run_to(us(1_200));
        bench.offer(2, BROADCAST);
        bench.run_to(us(1_300));
        bench.offer(1, BROADCAST);
        bench.run_to(us(10_000));
        assert_eq!(bench.data_starts(2), [1_200_000]);
        assert_eq!(bench.data_starts(1), [start], "{energy:?}");
    }
}
