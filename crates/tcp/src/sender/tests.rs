//! Scripted timelines of each rule, and an event-sequence fuzz of a sender against a receiver over a bad network.

use super::*;
use crate::{AckPolicy, Receiver};
use proptest::prelude::*;
use std::collections::VecDeque;

fn params(window: WindowKind) -> SenderParams {
    SenderParams {
        window,
        start: WindowParams { initial_window: 2.0, initial_ssthresh: 64.0 },
        receiver_window: 1000,
        rto: RtoParams::rfc6298(),
        limited_transmit: false,
        loss_measure: LossMeasure::Outstanding,
        grows_unused: false,
        handshake: false,
    }
}

fn at(ms: u64) -> Instant {
    Instant::ZERO + Duration::from_millis(ms)
}

fn send_all(sender: &mut Sender, now: Instant) -> Vec<u32> {
    std::iter::from_fn(|| sender.poll_transmit(now)).map(|s| s.number).collect()
}

fn ack(number: u32) -> Segment {
    Segment { kind: SegmentKind::Ack, number }
}

/// A sender in congestion avoidance with `window` segments under way from number zero.
fn with_flight(kind: WindowKind, window: u32) -> Sender {
    let start = WindowParams { initial_window: f64::from(window), initial_ssthresh: 2.0 };
    let mut sender = Sender::new(SenderParams { start, ..params(kind) });
    assert_eq!(send_all(&mut sender, at(0)).len(), window as usize);
    sender
}

#[test]
fn slow_start_sends_two_for_each_acknowledgement() {
    let mut sender = Sender::new(params(WindowKind::Reno));
    assert_eq!(send_all(&mut sender, at(0)), [0, 1]);
    sender.handle_reply(at(100), ack(1));
    assert_eq!(send_all(&mut sender, at(100)), [2, 3]);
}

#[test]
fn the_receiver_window_limits_the_flight() {
    for (grows_unused, window) in [(false, 3.0), (true, 6.0)] {
        let limited = SenderParams { receiver_window: 3, grows_unused, ..params(WindowKind::Reno) };
        let mut sender = Sender::new(limited);
        send_all(&mut sender, at(0));
        for n in 1..=4 {
            sender.handle_reply(at(10), ack(n));
            send_all(&mut sender, at(10));
        }
        assert_eq!(sender.outstanding(), 3, "what is sent is clamped either way");
        assert!((sender.congestion_window() - window).abs() < 1e-12, "{}", sender.congestion_window());
    }
}

#[test]
fn the_third_duplicate_retransmits_and_further_ones_release_new_segments() {
    let mut sender = with_flight(WindowKind::Reno, 10);
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

#[test]
fn limited_transmit_sends_new_segments_for_two_duplicates() {
    let start = WindowParams { initial_window: 4.0, initial_ssthresh: 2.0 };
    let mut sender = Sender::new(SenderParams { start, limited_transmit: true, ..params(WindowKind::Reno) });
    send_all(&mut sender, at(0));
    for n in [4, 5] {
        sender.handle_reply(at(10), ack(0));
        assert_eq!(send_all(&mut sender, at(10)), [n]);
    }
}

#[test]
fn newreno_repairs_two_losses_in_one_recovery_and_reno_does_not() {
    for (kind, retransmitted) in [(WindowKind::NewReno, true), (WindowKind::Reno, false)] {
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
    let mut sender = with_flight(WindowKind::Reno, 10);
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
fn a_timeout_goes_back_to_the_oldest_segment_and_backs_the_timer_off() {
    let mut sender = with_flight(WindowKind::Reno, 8);
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
    let mut sender = with_flight(WindowKind::Reno, 1);
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
    let mut sender = Sender::new(SenderParams { handshake: true, ..params(WindowKind::Reno) });
    assert_eq!(sender.poll_transmit(at(0)), Some(Segment { kind: SegmentKind::Syn, number: 0 }));
    assert_eq!(sender.poll_transmit(at(0)), None);
    sender.handle_reply(at(40), Segment { kind: SegmentKind::SynAck, number: 0 });
    assert_eq!(sender.take_round_trip(), Some(Duration::from_millis(40)));
    assert_eq!(send_all(&mut sender, at(40)), [0, 1]);
    sender.drain();
    sender.handle_reply(at(80), ack(1));
    assert!(send_all(&mut sender, at(80)).is_empty(), "nothing new while draining");
    sender.handle_reply(at(81), ack(2));
    assert_eq!(sender.poll_transmit(at(81)).unwrap().kind, SegmentKind::Fin);
    sender.handle_reply(at(120), Segment { kind: SegmentKind::FinAck, number: 2 });
    assert!(sender.is_closed());
    assert!(sender.poll_timeout().is_never());
}

#[test]
fn a_lost_syn_is_repeated() {
    let mut sender = Sender::new(SenderParams { handshake: true, ..params(WindowKind::Reno) });
    sender.poll_transmit(at(0));
    sender.handle_timeout(at(1000));
    assert_eq!(sender.poll_transmit(at(1000)).unwrap().kind, SegmentKind::Syn);
    assert_eq!(sender.poll_timeout(), at(3000));
}

#[test]
fn the_age_of_the_oldest_segment_speaks_for_a_flow_without_samples() {
    let mut sender = with_flight(WindowKind::Reno, 2);
    assert_eq!(sender.age_of_oldest(at(700)), Some(Duration::from_millis(700)));
    sender.handle_reply(at(800), ack(1));
    assert_eq!(sender.age_of_oldest(at(900)), Some(Duration::from_millis(100)));
    sender.handle_reply(at(950), ack(2));
    assert_eq!(sender.age_of_oldest(at(960)), None);
}

/// What the network does with the next segment on the way.
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

proptest! {
    /// Over a network that loses, repeats and reorders, nothing is delivered twice or out of order, no invariant
    /// breaks, and once the network behaves everything arrives and the connection closes.
    #[test]
    fn a_connection_survives_any_network(
        fates in fates(),
        newreno in any::<bool>(),
        handshake in any::<bool>(),
        limited_transmit in any::<bool>(),
        delayed in any::<bool>(),
    ) {
        let window = if newreno { WindowKind::NewReno } else { WindowKind::Reno };
        let mut sender = Sender::new(SenderParams { limited_transmit, handshake, ..params(window) });
        let policy =
            if delayed { AckPolicy::Delayed(Duration::from_millis(100)) } else { AckPolicy::EachSegment };
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
            // Whatever is unanswered is guarded by the timer, or by a segment that waits to be sent.
            let guarded = !sender.poll_timeout().is_never() || sender.control_due || sender.next < sender.highest;
            prop_assert!(sender.outstanding() == 0 || guarded);
        }
        prop_assert!(sender.is_closed(), "{sender:?}");
        prop_assert_eq!(receiver.in_order(), sender.highest);
    }
}
