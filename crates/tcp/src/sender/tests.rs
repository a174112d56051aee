//! Scripted timelines of each rule, and an event-sequence fuzz of a sender against a receiver over a bad network.

mod held;
mod losses;
mod marks;
mod told;

use super::*;
use crate::{AckPolicy, Receiver};
use evenair_laws::window::{BbrParams, CubicParams, FastParams, QuicTcpParams, RenoParams, VegasParams};
use proptest::prelude::*;
use std::collections::VecDeque;

fn params(recovery: Recovery) -> SenderParams {
    SenderParams {
        recovery,
        start: start(2.0, 64.0),
        receiver_window: 1000,
        rto: RtoParams::rfc6298(),
        limited_transmit: false,
        rack: false,
        tail_loss_probe: false,
        loss_measure: LossMeasure::Outstanding,
        grows_unused: false,
        handshake: false,
        timestamps: false,
        ecn: false,
    }
}

fn reno(params: SenderParams) -> Sender {
    Sender::new(params, &RenoParams {}.into())
}

fn start(initial_window: f64, initial_ssthresh: f64) -> WindowStart {
    WindowStart { initial_window, initial_ssthresh, byte_counting: false, ..WindowStart::default() }
}

fn at(ms: u64) -> Instant {
    Instant::ZERO + Duration::from_millis(ms)
}

fn send_all(sender: &mut Sender, now: Instant) -> Vec<u32> {
    std::iter::from_fn(|| sender.poll_transmit(now)).map(|s| s.number).collect()
}

fn ack(number: u32) -> Segment {
    Segment::plain(SegmentKind::Ack, number)
}

/// A sender in congestion avoidance with `window` segments under way from number zero.
fn with_flight(kind: Recovery, window: u32) -> Sender {
    let start = start(f64::from(window), 2.0);
    let mut sender = reno(SenderParams { start, ..params(kind) });
    assert_eq!(send_all(&mut sender, at(0)).len(), window as usize);
    sender
}

#[test]
fn slow_start_sends_two_for_each_acknowledgement() {
    let mut sender = reno(params(Recovery::Reno));
    assert_eq!(send_all(&mut sender, at(0)), [0, 1]);
    sender.handle_reply(at(100), ack(1));
    assert_eq!(send_all(&mut sender, at(100)), [2, 3]);
}

#[test]
fn the_receiver_window_limits_the_flight() {
    for (grows_unused, window) in [(false, 3.0), (true, 6.0)] {
        let limited = SenderParams { receiver_window: 3, grows_unused, ..params(Recovery::Reno) };
        let mut sender = reno(limited);
        send_all(&mut sender, at(0));
        for n in 1..=4 {
            sender.handle_reply(at(10), ack(n));
            send_all(&mut sender, at(10));
        }
        assert_eq!(sender.outstanding(), 3, "sent segments are clamped either way");
        assert!((sender.congestion_window() - window).abs() < 1e-12, "{}", sender.congestion_window());
    }
}

#[test]
fn third_duplicate_retransmits_further_ones_send() {
    let mut sender = with_flight(Recovery::Reno, 10);
    for _ in 0..2 {
        sender.handle_reply(at(100), ack(0));
        assert!(send_all(&mut sender, at(100)).is_empty());
    }
    sender.handle_reply(at(100), ack(0));
    assert_eq!(send_all(&mut sender, at(100)), [0], "fast retransmit");
    // Threshold 5, window 5 + 3; the 3rd further duplicate makes it 11 of which 10 are under way.
    for _ in 0..2 {
        sender.handle_reply(at(101), ack(0));
        assert!(send_all(&mut sender, at(101)).is_empty());
    }
    sender.handle_reply(at(101), ack(0));
    assert_eq!(send_all(&mut sender, at(101)), [10]);
    sender.handle_reply(at(200), ack(11));
    assert!((sender.congestion_window() - 5.0).abs() < 1e-12);
    assert_eq!(send_all(&mut sender, at(200)).len(), 5);
}

/// ns-2 2.35, `partial_window_deflation_` and `newreno_changes1_`: 20 under way, 0 and 10 to 13 lost.
#[test]
fn ns2_partial_acks_shrink_window_rearm_once() {
    let start = start(20.0, 2.0);
    let rules = SenderParams { start, loss_measure: LossMeasure::Window, ..params(Recovery::NewReno) };
    let mut sender = reno(rules);
    send_all(&mut sender, at(0));
    for _ in 0..15 {
        sender.handle_reply(at(100), ack(0));
    }
    // Window 10 and fifteen duplicates: 25, of which 20 are under way and one is repeated.
    assert_eq!(send_all(&mut sender, at(100)), [0, 20, 21, 22, 23, 24]);
    sender.handle_reply(at(200), ack(10)); // ten leave, one returns: 10 + 15 - 9
    assert_eq!(send_all(&mut sender, at(200)), [10, 25]);
    assert!((sender.congestion_window() - 10.0).abs() < 1e-12);
    let due = sender.poll_timeout();
    assert_eq!(due, at(200) + sender.retransmission_timeout());
    sender.handle_reply(at(300), ack(18)); // eight leave where the inflation is six: the window loses two
    assert_eq!(send_all(&mut sender, at(300)), [18, 26]);
    assert!((sender.congestion_window() - 8.0).abs() < 1e-12, "{}", sender.congestion_window());
    assert_eq!(sender.poll_timeout(), due, "only the first partial acknowledgement restarts the timer");
}

#[test]
fn limited_transmit_sends_for_two_duplicates() {
    let start = start(4.0, 2.0);
    let mut sender = reno(SenderParams { start, limited_transmit: true, ..params(Recovery::Reno) });
    send_all(&mut sender, at(0));
    for n in [4, 5] {
        sender.handle_reply(at(10), ack(0));
        assert_eq!(send_all(&mut sender, at(10)), [n]);
    }
}

#[test]
fn newreno_repairs_two_losses_in_one_recovery() {
    for (kind, retransmitted) in [(Recovery::NewReno, true), (Recovery::Reno, false)] {
        let mut sender = with_flight(kind, 10);
        for _ in 0..3 {
            sender.handle_reply(at(100), ack(0));
        }
        assert_eq!(send_all(&mut sender, at(100)), [0]);
        sender.handle_reply(at(200), ack(4)); // segment 4 is missing too
        assert_eq!(send_all(&mut sender, at(200)).contains(&4), retransmitted, "{kind:?}");
    }
}

#[test]
fn one_loss_is_not_found_twice() {
    let mut sender = with_flight(Recovery::Reno, 10);
    for _ in 0..3 {
        sender.handle_reply(at(100), ack(0));
    }
    send_all(&mut sender, at(100));
    sender.handle_reply(at(200), ack(4));
    let halved = sender.congestion_window();
    for _ in 0..3 {
        sender.handle_reply(at(210), ack(4));
    }
    assert!((sender.congestion_window() - halved).abs() < 1e-12, "RFC 6582 section 3.2 step 2");
    assert_eq!(sender.stats().fast_retransmits, 1);
}

#[test]
fn timeout_resends_the_oldest_and_backs_off() {
    let mut sender = with_flight(Recovery::Reno, 8);
    assert_eq!(sender.poll_timeout(), at(1000));
    sender.handle_timeout(at(999));
    assert_eq!(sender.stats().timeouts, 0, "not due yet");
    sender.handle_timeout(at(1000));
    assert_eq!(send_all(&mut sender, at(1000)), [0]);
    assert_eq!(sender.poll_timeout(), at(3000));
    assert!((sender.slow_start_threshold() - 4.0).abs() < 1e-12);
    sender.handle_timeout(at(3000));
    assert!((sender.slow_start_threshold() - 4.0).abs() < 1e-12, "held for the same segment");
    send_all(&mut sender, at(3000));
    assert_eq!(sender.poll_timeout(), at(7000));
    // The receiver had the rest: the acknowledgement jumps, and no sample ends the back-off (Karn).
    sender.handle_reply(at(3100), ack(8));
    assert_eq!(sender.retransmission_timeout(), Duration::from_secs(4));
}

#[test]
fn karn_takes_no_sample_of_a_repeated_segment() {
    let mut sender = with_flight(Recovery::Reno, 1);
    sender.handle_timeout(at(1000));
    send_all(&mut sender, at(1000));
    sender.handle_reply(at(1010), ack(1));
    assert_eq!(sender.take_round_trip(), None);
    send_all(&mut sender, at(1010));
    sender.handle_reply(at(1060), ack(2));
    assert_eq!(sender.take_round_trip(), Some(Duration::from_millis(50)));
}

#[test]
fn a_connection_opens_drains_and_closes() {
    let mut sender = reno(SenderParams { handshake: true, ..params(Recovery::Reno) });
    let syn = sender.poll_transmit(at(3)).unwrap();
    assert_eq!((syn.kind, syn.stamp), (SegmentKind::Syn, 3_000));
    assert_eq!(sender.poll_transmit(at(3)), None);
    sender.handle_reply(at(43), Segment::plain(SegmentKind::SynAck, 0));
    assert_eq!(sender.take_round_trip(), Some(Duration::from_millis(40)));
    assert_eq!(send_all(&mut sender, at(43)), [0, 1]);
    assert!(sender.is_open() && !sender.is_closed());
    sender.drain();
    assert!(!sender.is_open() && !sender.is_closed());
    sender.handle_reply(at(80), ack(1));
    assert_eq!(sender.acknowledged(), 1);
    assert!(send_all(&mut sender, at(80)).is_empty(), "nothing new while draining");
    sender.handle_reply(at(81), ack(2));
    assert_eq!((sender.acknowledged(), sender.is_closed()), (2, false));
    assert_eq!(sender.poll_transmit(at(81)).unwrap().kind, SegmentKind::Fin);
    sender.handle_reply(at(120), Segment::plain(SegmentKind::FinAck, 2));
    assert!(sender.is_closed());
    assert!(sender.poll_timeout().is_never());
}

#[test]
fn a_lost_syn_is_repeated() {
    let mut sender = reno(SenderParams { handshake: true, ..params(Recovery::Reno) });
    sender.poll_transmit(at(0));
    sender.handle_timeout(at(1000));
    assert_eq!(sender.poll_transmit(at(1000)).unwrap().kind, SegmentKind::Syn);
    assert_eq!(sender.poll_timeout(), at(3000));
}

/// An acknowledgement of everything before `number` that reports these ranges beyond it.
fn sack(number: u32, blocks: &[(u32, u32)]) -> Segment {
    let mut receiver = Receiver::new(AckPolicy::EachSegment);
    let mut last = ack(number);
    let arrived = blocks.iter().flat_map(|&(from, to)| from..to);
    for n in (0..number).chain(arrived) {
        last = receiver.handle_segment(Instant::ZERO, Segment::plain(SegmentKind::Data, n)).unwrap();
    }
    assert_eq!(last.number, number);
    last
}

#[test]
fn sack_repairs_all_holes_in_one_round_trip() {
    // Ten under way, 0, 2 and 4 are lost; the reports of 1, 3, 5 begin recovery (RFC 6675 section 5).
    let mut sender = with_flight(Recovery::Sack, 10);
    sender.handle_reply(at(100), sack(0, &[(1, 2)]));
    assert_eq!(sender.poll_timeout(), at(1000), "only new data restart the timer (RFC 6298 section 5.3)");
    assert_eq!(send_all(&mut sender, at(100)), [10], "an arrival lets a new segment out");
    sender.handle_reply(at(101), sack(0, &[(1, 2), (3, 4)]));
    assert_eq!(send_all(&mut sender, at(101)), [11]);
    sender.handle_reply(at(102), sack(0, &[(1, 2), (3, 4), (5, 6)]));
    // The window falls to 5, half of the 10 that it let out: 10 and 11 went out beyond it. 2, 4, 6..11 are in the network, 0
    // lost: only the retransmission goes out.
    assert_eq!(send_all(&mut sender, at(102)), [0]);
    sender.handle_reply(at(103), sack(0, &[(1, 2), (3, 4), (5, 8)]));
    // 2 and 4 are lost now: 8, 9, 10, 11 and the repetition of 0 are in the network, as many as the window allows.
    assert!(send_all(&mut sender, at(103)).is_empty());
    for (to, repaired) in [(9, 2), (10, 4)] {
        sender.handle_reply(at(104), sack(0, &[(1, 2), (3, 4), (5, to)]));
        assert_eq!(send_all(&mut sender, at(104)), [repaired]);
        assert_eq!(sender.poll_timeout(), at(1102), "it guards the repetition of the oldest");
    }
    sender.handle_reply(at(200), sack(12, &[]));
    // The acknowledgement that ends recovery counts like any other: 5 + 1/5.
    assert!((sender.congestion_window() - 5.2).abs() < 1e-12);
    assert_eq!(sender.stats().fast_retransmits, 1);
    assert_eq!(sender.stats().retransmitted, 3);
    assert_eq!(sender.stats().timeouts, 0);
}

#[test]
fn arrived_segments_are_not_resent_after_timeout() {
    let mut sender = with_flight(Recovery::Sack, 6);
    sender.handle_reply(at(100), sack(0, &[(2, 4)]));
    send_all(&mut sender, at(100));
    sender.handle_timeout(sender.poll_timeout());
    assert_eq!(send_all(&mut sender, at(1000)), [0]);
    sender.handle_reply(at(1100), sack(1, &[(2, 4)]));
    // Two may be in the network, and arrived ones are not there.
    assert_eq!(send_all(&mut sender, at(1100)), [1, 4], "2 and 3 are skipped");
    sender.handle_reply(at(1200), sack(4, &[]));
    assert_eq!(send_all(&mut sender, at(1200)), [5, 6]);
}

/// A sender that finds losses by time, with `window` segments under way and a round trip of 100 ms known.
fn by_time(window: u32) -> Sender {
    let rules = SenderParams { rack: true, tail_loss_probe: true, ..params(Recovery::Sack) };
    let mut sender = reno(SenderParams { start: start(f64::from(window), 2.0), ..rules });
    assert_eq!(send_all(&mut sender, at(0)).len(), window as usize);
    sender
}

#[test]
fn later_arrival_and_quarter_trip_find_a_loss() {
    let mut sender = by_time(4);
    sender.handle_reply(at(100), ack(1)); // the round trip: 100 ms
    assert_eq!(send_all(&mut sender, at(100)), [4]);
    sender.handle_reply(at(104), sack(1, &[(2, 3)]));
    assert_eq!(send_all(&mut sender, at(104)), [5]);
    // 1 was sent with 2, which had a round trip of 104 ms: it is lost a quarter of the least round trip and 2
    // ms later.
    assert_eq!(sender.poll_timeout(), at(131));
    sender.handle_timeout(at(131));
    assert_eq!(send_all(&mut sender, at(131)), [1]);
    assert_eq!((sender.stats().fast_retransmits, sender.stats().timeouts), (1, 0));
    assert!((sender.congestion_window() - 2.0).abs() < 1e-12, "half of 4.25");
}

#[test]
fn lost_repetition_is_repaired_without_timeout() {
    let mut sender = by_time(6);
    sender.handle_reply(at(100), ack(1));
    assert_eq!(send_all(&mut sender, at(100)), [6]);
    sender.handle_reply(at(101), sack(1, &[(2, 5)]));
    // Threshold 3; of 1, 5, 6 and the repetition that goes out at once.
    assert_eq!(send_all(&mut sender, at(101)), [1]);
    sender.handle_reply(at(102), sack(1, &[(2, 6)]));
    assert_eq!(send_all(&mut sender, at(102)), [7]);
    sender.handle_reply(at(202), sack(1, &[(2, 8)]));
    // 7 was sent after the repetition of 1 and has arrived: the repetition is lost.
    assert_eq!(send_all(&mut sender, at(202)), [1, 8, 9]);
    assert_eq!(sender.stats().timeouts, 0);
}

#[test]
fn the_end_of_the_data_is_probed() {
    let mut sender = by_time(4);
    sender.supply(4);
    sender.handle_reply(at(100), ack(2));
    assert!(send_all(&mut sender, at(100)).is_empty());
    // Two round trips and 2 ms without an acknowledgement: the last segment goes out again.
    assert_eq!(sender.poll_timeout(), at(302));
    sender.handle_timeout(at(302));
    assert_eq!(send_all(&mut sender, at(302)), [3]);
    assert_eq!((sender.stats().probes, sender.stats().timeouts), (1, 0));
    assert_eq!(sender.poll_timeout(), at(1302), "then the retransmission timer guards");
    // The probe's arrival shows that 2, sent long before, is lost.
    sender.handle_reply(at(402), sack(2, &[(3, 4)]));
    assert_eq!(send_all(&mut sender, at(402)), [2]);
}

#[test]
fn probe_that_repaired_loss_unseen_cuts_window() {
    let mut sender = by_time(4);
    sender.supply(4);
    sender.handle_reply(at(100), ack(3));
    sender.handle_timeout(sender.poll_timeout());
    assert_eq!(send_all(&mut sender, at(500)), [3], "a lone segment: 200 ms more for its acknowledgement");
    sender.handle_reply(at(600), ack(4));
    let before = sender.congestion_window();
    sender.supply(5);
    assert_eq!(send_all(&mut sender, at(700)), [4]);
    sender.handle_reply(at(800), ack(5));
    assert!(sender.congestion_window() < before, "no second acknowledgement came of the original");
}

#[test]
fn repeated_timeouts_of_one_flight_cut_once() {
    for (window, kept) in [(RenoParams {}.into(), 5.0), (CubicParams::rfc9438().into(), 7.0)] {
        let window: WindowParams = window;
        for recovery in [Recovery::NewReno, Recovery::Sack] {
            let start = start(10.0, 2.0);
            let mut sender = Sender::new(SenderParams { start, ..params(recovery) }, &window);
            send_all(&mut sender, at(0));
            for _ in 0..4 {
                let due = sender.poll_timeout();
                sender.handle_timeout(due);
                assert_eq!(send_all(&mut sender, due), [0]);
                assert!((sender.slow_start_threshold() - kept).abs() < 1e-12, "{window:?} {recovery:?}");
            }
        }
    }
}

#[test]
fn a_lost_syn_leaves_a_window_of_one() {
    let opening = SenderParams { handshake: true, start: start(10.0, 64.0), ..params(Recovery::Sack) };
    let mut sender = reno(opening);
    sender.poll_transmit(at(0));
    sender.handle_timeout(at(1000));
    sender.poll_transmit(at(1000));
    sender.handle_reply(at(1040), Segment::plain(SegmentKind::SynAck, 0));
    assert_eq!(send_all(&mut sender, at(1040)), [0], "RFC 5681 section 3.1");
    assert_eq!(sender.poll_timeout(), at(4040), "RFC 6298 section 5.7");
}

#[test]
fn slow_application_does_not_grow_the_window() {
    let mut sender = reno(params(Recovery::NewReno));
    sender.supply(1);
    assert_eq!(send_all(&mut sender, at(0)), [0]);
    sender.handle_reply(at(100), ack(1));
    assert!(send_all(&mut sender, at(100)).is_empty());
    assert!((sender.congestion_window() - 2.0).abs() < 1e-12, "RFC 7661: the window was not used");
    sender.supply(4);
    assert_eq!(send_all(&mut sender, at(200)), [1, 2]);
    sender.handle_reply(at(300), ack(2));
    assert!((sender.congestion_window() - 3.0).abs() < 1e-12);
}

#[test]
fn timestamps_measure_all_acks_and_repetitions() {
    let mut sender = reno(SenderParams { timestamps: true, ..params(Recovery::NewReno) });
    let first = sender.poll_transmit(at(5)).unwrap();
    sender.handle_timeout(sender.poll_timeout());
    let again = sender.poll_transmit(at(1005)).unwrap();
    assert_eq!((first.stamp, again.stamp), (5_000, 1_005_000));
    let reply = |data: Segment| Segment { stamp: data.stamp, ..ack(1) };
    sender.handle_reply(at(1045), reply(again));
    assert_eq!(
        sender.take_round_trip(),
        Some(Duration::from_millis(40)),
        "no ambiguity, Karn's rule is not needed"
    );
    send_all(&mut sender, at(1045));
    sender.handle_reply(at(1060), reply(again));
    assert_eq!(sender.take_round_trip(), None, "section 4.1: of new data only");
}

#[test]
fn cubic_keeps_seventy_percent() {
    let start = start(20.0, 2.0);
    let mut sender =
        Sender::new(SenderParams { start, ..params(Recovery::Sack) }, &CubicParams::rfc9438().into());
    send_all(&mut sender, at(0));
    sender.handle_reply(at(100), sack(0, &[(1, 4)]));
    assert!((sender.congestion_window() - 14.0).abs() < 1e-12);
}

/// The network's treatment of the next segment on the way.
#[derive(Clone, Copy, Debug)]
enum Fate {
    Deliver,
    Lose,
    Repeat,
    Overtake,
    Timer,
}

fn fates() -> impl Strategy<Value = Vec<Fate>> {
    let fate = prop_oneof![
        12 => Just(Fate::Deliver),
        2 => Just(Fate::Lose),
        1 => Just(Fate::Repeat),
        1 => Just(Fate::Overtake),
        1 => Just(Fate::Timer),
    ];
    prop::collection::vec(fate, 0..600)
}

/// Without selective acknowledgements, or without RACK, there is nothing that a probe could be chosen from.
#[test]
fn probe_needs_selective_acks_and_rack() {
    for (recovery, rack) in [(Recovery::NewReno, true), (Recovery::NewReno, false), (Recovery::Sack, false)] {
        let mut sender = reno(SenderParams { rack, tail_loss_probe: true, ..params(recovery) });
        send_all(&mut sender, at(0));
        sender.handle_reply(at(100), ack(1));
        send_all(&mut sender, at(100));
        let timeout = sender.poll_timeout();
        assert!(!timeout.is_never());
        sender.handle_timeout(timeout);
        assert_eq!((sender.stats().timeouts, sender.stats().probes), (1, 0), "{recovery:?}, RACK {rack}");
    }
}

proptest! {
    /// Over a network that loses, repeats and reorders, nothing is delivered twice or out of order, no invariant
    /// breaks, and once the network behaves everything arrives and the connection closes.
    #[test]
    fn a_connection_survives_any_network(
        fates in fates(),
        recovery in prop_oneof![Just(Recovery::Reno), Just(Recovery::NewReno), Just(Recovery::Sack)],
        window in prop_oneof![
            Just(WindowParams::from(RenoParams {})),
            Just(CubicParams::rfc9438().into()),
            Just(QuicTcpParams { target: 5.0, ..QuicTcpParams::qcsma() }.into()),
            Just(VegasParams::linux().into()),
            Just(FastParams { alpha: 5.0, ..FastParams::published() }.into()),
            Just(BbrParams::linux().into()),
        ],
        timestamps in any::<bool>(),
        handshake in any::<bool>(),
        limited_transmit in any::<bool>(),
        delayed in any::<bool>(),
        rack in any::<bool>(),
        tail_loss_probe in any::<bool>(),
    ) {
        let rules =
            SenderParams { limited_transmit, rack, tail_loss_probe, handshake, timestamps, ..params(recovery) };
        let mut sender = Sender::new(rules, &window);
        let policy =
            if delayed { AckPolicy::Delayed { delay: Duration::from_millis(100), quick: 16 } } else { AckPolicy::EachSegment };
        let mut receiver = Receiver::new(policy);
        let mut wire: VecDeque<Segment> = VecDeque::new();
        let mut now = Instant::ZERO;
        let calm = std::iter::repeat_n(Fate::Deliver, 5000);
        let stormy = fates.len();
        for (step, fate) in fates.into_iter().chain(calm).enumerate() {
            now += Duration::from_millis(1);
            if step == stormy {
                sender.drain();
            }
            wire.extend(std::iter::from_fn(|| sender.poll_transmit(now)));
            prop_assert!(!sender.paced || sender.paced_until > now, "held back for a past time");
            match fate {
                Fate::Lose => { wire.pop_front(); }
                Fate::Repeat => wire.extend(wire.front().copied()),
                Fate::Overtake => wire.rotate_left(usize::from(wire.len() > 1)),
                Fate::Timer => now = now.max(sender.poll_timeout().min(now + Duration::from_secs(70))),
                Fate::Deliver => {
                    let before = receiver.in_order();
                    match wire.pop_front() {
                        Some(reply) if reply.kind.is_reply() => sender.handle_reply(now, reply),
                        Some(segment) => wire.extend(receiver.handle_segment(now, segment)),
                        None => now = now.max(sender.poll_timeout().min(receiver.poll_timeout()).min(now + Duration::from_secs(70))),
                    }
                    prop_assert!(receiver.in_order() >= before);
                }
            }
            if now >= sender.poll_timeout() {
                sender.handle_timeout(now);
            }
            wire.extend(receiver.handle_timeout(now));
            prop_assert!(sender.outstanding() <= 1000);
            prop_assert!(sender.congestion_window() >= 1.0);
            prop_assert!(receiver.in_order() <= sender.highest);
            // Any unanswered segment is guarded by the timer, or by a segment that waits to be sent.
            let waits = sender.control_due || sender.retransmit || sender.probe_due || sender.next < sender.highest;
            let guarded = !sender.poll_timeout().is_never() || waits;
            prop_assert!(sender.outstanding() == 0 || guarded);
        }
        prop_assert!(sender.is_closed(), "{sender:?}");
        prop_assert_eq!(receiver.in_order(), sender.highest);
    }
}
