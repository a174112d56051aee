//! Losses found by time, probes of the end, partial acknowledgements: the edges of their rules.

use super::*;

/// RFC 8985 section 6.2 step 5 (`RACK_sent_after`): of segments of one instant the number decides. Segments
/// beyond the newest arrival cannot be lost, at the start of the numbers or later.
#[test]
fn later_segments_of_one_instant_are_not_lost() {
    for oldest in [0, 1, 5] {
        let mut sender = by_time(10);
        if oldest > 0 {
            sender.handle_reply(at(100), ack(oldest));
        }
        sender.handle_reply(at(104), sack(oldest, &[(oldest + 2, oldest + 3)]));
        // A quarter of the least round trip later, of 100 or 104 ms, and Linux's 2 ms.
        assert!([at(131), at(132)].contains(&sender.poll_timeout()));
        sender.handle_timeout(at(132));
        assert_eq!(sender.scoreboard.lost(), 2, "the two before {}", oldest + 2);
    }
}

/// RFC 8985 section 6.3: the timer's search begins recovery if it finds a loss. Without one the segments are guarded as
/// before, one second from when they were sent (RFC 6298 sections 2.1 and 5.1).
#[test]
fn reordering_timer_without_loss_changes_nothing() {
    let mut sender = by_time(4);
    (sender.timer, sender.guard) = (at(50), Guard::Reordering);
    sender.handle_timeout(at(50));
    assert_eq!((sender.stats().fast_retransmits, sender.scoreboard.lost()), (0, 0));
    assert!((sender.congestion_window() - 4.0).abs() < 1e-12);
    assert_eq!(sender.poll_timeout(), at(1000));
}

/// RFC 8985 section 7.4.2: a duplicate acknowledgement ends a probe if it has no SACK block, which would be of other data.
/// The next acknowledgement beyond the probe then shows that it repaired a loss.
#[test]
fn probe_outlasts_a_selective_duplicate() {
    for (is_selective, cuts) in [(true, true), (false, false)] {
        let mut sender = by_time(4);
        sender.supply(4);
        sender.handle_reply(at(100), ack(3));
        sender.handle_timeout(sender.poll_timeout());
        assert_eq!(send_all(&mut sender, at(500)), [3]);
        sender.handle_reply(at(600), ack(4));
        sender.supply(6);
        assert_eq!(send_all(&mut sender, at(700)), [4, 5]);
        let before = sender.congestion_window();
        let duplicate = if is_selective { sack(4, &[(5, 6)]) } else { ack(4) };
        sender.handle_reply(at(800), duplicate);
        sender.handle_reply(at(801), ack(6));
        assert_eq!(sender.congestion_window() < before, cuts, "with a block: {is_selective}");
    }
}

/// RFC 8985 section 7.4.2: a probe of new data is over with its acknowledgement, and the next end of the data is probed
/// again: two smoothed round trips and 2 ms after the last transmission (section 7.2).
#[test]
fn probe_of_new_data_ends_with_its_arrival() {
    let mut sender = by_time(2);
    sender.handle_reply(at(100), ack(1));
    let sent = send_all(&mut sender, at(100));
    let end = sent[sent.len() - 1] + 1;
    let due = sender.poll_timeout();
    sender.handle_timeout(due);
    assert_eq!(send_all(&mut sender, due), [end], "new data, beyond the window");
    let answered = due + Duration::from_millis(100);
    sender.handle_reply(answered, ack(end + 1));
    assert!(send_all(&mut sender, answered).len() > 1);
    let smoothed = sender.smoothed_round_trip().unwrap();
    assert_eq!(sender.poll_timeout(), answered + smoothed * 2 + Duration::from_millis(2));
}

/// RFC 6675 section 5: rule 3 of `NextSeg` belongs to recovery. Two reports beyond a hole begin none (`DupThresh` is three), and
/// three do: then the hole is repaired, and after it the segments that were never reported, up to the highest report.
#[test]
fn missing_segments_wait_for_recovery() {
    for rack in [false, true] {
        let mut sender = reno(SenderParams { start: start(10.0, 2.0), rack, ..params(Recovery::Sack) });
        sender.supply(10);
        assert_eq!(send_all(&mut sender, at(0)).len(), 10);
        // By time the segment before is doubtful for a quarter of a round trip.
        sender.handle_reply(at(100), sack(0, &[(1, 3)]));
        assert_eq!(send_all(&mut sender, at(100)), [0; 0], "RACK {rack}");
    }
    let mut sender = with_flight(Recovery::Sack, 10);
    sender.supply(10);
    sender.handle_reply(at(100), sack(0, &[(1, 2), (3, 10)]));
    assert_eq!(send_all(&mut sender, at(100)), [0, 2]);
    let mut sender = with_flight(Recovery::Sack, 12);
    sender.supply(12);
    sender.handle_reply(at(100), sack(0, &[(1, 7), (8, 10)]));
    // Threshold 6 of 12; 0 is lost, 7 is missing: two reports are beyond it.
    assert_eq!(send_all(&mut sender, at(100)), [0, 7]);
}

/// RFC 6675 section 5.1: at a time-out all is lost that was not reported. By time (RFC 8985 section 6.3,
/// `RACK_mark_losses_on_RTO`) segments sent less than a round trip ago are not, but for the oldest.
#[test]
fn timeout_loses_all_or_all_that_is_old() {
    for (rack, lost) in [(false, 4), (true, 3)] {
        let mut sender = reno(SenderParams { start: start(4.0, 2.0), rack, ..params(Recovery::Sack) });
        assert_eq!(send_all(&mut sender, at(0)), [0, 1, 2, 3]);
        sender.handle_reply(at(100), sack(0, &[(2, 3)])); // the round trip: 100 ms
        (sender.timer, sender.guard) = (at(1000), Guard::Retransmission);
        assert_eq!(send_all(&mut sender, at(950)), [4]);
        sender.handle_timeout(at(1000));
        assert_eq!(sender.scoreboard.lost(), lost, "RACK {rack}");
    }
}

/// RFC 5681 section 4.3: "loss in two successive windows of data" lowers the window twice. Segments 0 and 9 of the first window are
/// lost, and 11 of the next one; it is sent again before the acknowledgement of 9 ends the first recovery.
#[test]
fn losses_of_the_next_window_cut_once_more() {
    let start = start(10.0, 2.0);
    let mut sender = reno(SenderParams { start, rack: true, ..params(Recovery::Sack) });
    assert_eq!(send_all(&mut sender, at(0)).len(), 10);
    sender.handle_reply(at(100), sack(0, &[(1, 9)]));
    // Threshold 5, and one is in the network, the last.
    assert_eq!(send_all(&mut sender, at(100)), [0, 10, 11, 12]);
    sender.handle_reply(at(200), sack(9, &[(10, 11), (12, 13)]));
    assert_eq!(send_all(&mut sender, at(200))[..2], [9, 11]);
    assert_eq!(sender.stats().fast_retransmits, 1, "one cut a window");
    sender.handle_reply(at(300), sack(11, &[(12, 13)]));
    assert_eq!(sender.stats().fast_retransmits, 2);
    assert!(sender.law.slow_start_threshold() < 5.0, "lower than after the first cut of ten");
    sender.handle_reply(at(301), ack(13));
    assert_eq!(sender.stats().fast_retransmits, 2);
}

/// RFC 6582 section 3.2 step 3: a partial acknowledgement of four takes four from the window and gives one back.
#[test]
fn partial_acknowledgement_deflates_the_window() {
    let mut sender = with_flight(Recovery::NewReno, 10);
    for _ in 0..7 {
        sender.handle_reply(at(100), ack(0));
    }
    // Threshold 5 and seven duplicates: twelve from 0 on.
    assert_eq!(send_all(&mut sender, at(100)), [0, 10, 11]);
    // 5 + 7 − 4 + 1 = 9 from 4 on.
    sender.handle_reply(at(200), ack(4));
    assert_eq!(send_all(&mut sender, at(200)), [4, 12]);
}

/// RFC 6582 section 3.2 step 2: duplicates announce another loss where the acknowledgement covers more than `recover`, the
/// highest segment sent before, which is 9 here.
#[test]
fn duplicates_at_the_recovery_point_are_no_loss() {
    let mut sender = with_flight(Recovery::NewReno, 10);
    (0..3).for_each(|_| sender.handle_reply(at(100), ack(0)));
    assert_eq!(send_all(&mut sender, at(100)), [0]);
    for (number, losses) in [(10, 1), (11, 2)] {
        sender.handle_reply(at(200), ack(number));
        assert!(send_all(&mut sender, at(200)).len() <= 5);
        (0..3).for_each(|_| sender.handle_reply(at(210), ack(number)));
        assert_eq!(sender.stats().fast_retransmits, losses, "at {number}");
    }
}

#[test]
fn unsent_segments_are_supplied_less_sent() {
    let mut sender = reno(params(Recovery::NewReno)); // a window of two
    sender.supply(5);
    assert_eq!(send_all(&mut sender, at(0)).len(), 2);
    assert_eq!((sender.unsent(), sender.stats().sent), (3, 2));
    assert!(sender.supply_one());
    assert_eq!(sender.unsent(), 4);
}

#[test]
fn counts_of_connections_add_up() {
    let [sent, retransmitted, fast_retransmits, marks, marked, timeouts, probes] = [1, 2, 3, 4, 5, 6, 7];
    let one = SenderStats { sent, retransmitted, fast_retransmits, marks, marked, timeouts, probes };
    let mut both = SenderStats {
        sent: 10,
        retransmitted: 20,
        fast_retransmits: 30,
        marks: 40,
        marked: 50,
        timeouts: 60,
        probes: 70,
    };
    both.add(&one);
    let sums = [both.sent, both.retransmitted, both.fast_retransmits, both.marks, both.marked];
    assert_eq!((sums, both.timeouts, both.probes), ([11, 22, 33, 44, 55], 66, 77));
}

/// RFC 5681 section 2: an acknowledgement is a duplicate only while data are outstanding.
#[test]
fn acks_of_nothing_outstanding_are_no_duplicates() {
    let mut sender = reno(params(Recovery::NewReno));
    sender.supply(2);
    send_all(&mut sender, at(0));
    for ms in [100, 101, 102, 103] {
        sender.handle_reply(at(ms), ack(2));
    }
    assert_eq!((sender.stats().fast_retransmits, sender.congestion_window() >= 2.0), (0, true));
}

/// RFC 6298 section 3: a segment is timed from when it was sent to when *it* is acknowledged, not the one before.
#[test]
fn timed_segment_waits_for_its_own_ack() {
    let mut sender = reno(params(Recovery::NewReno)); // a window of two
    assert_eq!(send_all(&mut sender, at(0)), [0, 1]);
    sender.handle_reply(at(100), ack(1));
    assert_eq!(sender.take_round_trip(), Some(Duration::from_millis(100)));
    assert_eq!(send_all(&mut sender, at(100)), [2, 3]);
    sender.handle_reply(at(110), ack(2));
    assert_eq!(sender.take_round_trip(), None);
    sender.handle_reply(at(190), ack(3));
    assert_eq!(sender.take_round_trip(), Some(Duration::from_millis(90)));
}

/// Karn: 20 is timed from 100 ms on, and 15 sent again at 120 ms. An acknowledgement of both may be late for 15's sake, so that one
/// that left after it is timed.
#[test]
fn segment_behind_a_repetition_is_timed_no_more() {
    let mut sender = with_flight(Recovery::Sack, 20);
    let mut sent = Vec::new();
    for to in 2..=15 {
        sender.handle_reply(at(100), sack(0, &[(1, to)]));
        sent.extend(send_all(&mut sender, at(100)));
    }
    sender.handle_reply(at(120), sack(0, &[(1, 15), (16, 20)]));
    sent.extend(send_all(&mut sender, at(120)));
    let place = |number| sent.iter().position(|&n| n == number).unwrap();
    assert!(place(20) < place(15), "{sent:?}");
    sender.handle_reply(at(300), ack(sender.highest));
    assert_eq!(sender.take_round_trip(), Some(Duration::from_millis(180)));
}

/// RFC 5681 equation (4): half of the flight, of which six are left where ten may be under way.
#[test]
fn timeout_halves_the_flight_not_the_window() {
    let mut sender = with_flight(Recovery::NewReno, 10);
    sender.supply(16);
    sender.handle_reply(at(100), ack(10));
    assert_eq!(send_all(&mut sender, at(100)).len(), 6);
    sender.handle_timeout(sender.poll_timeout());
    assert!((sender.slow_start_threshold() - 3.0).abs() < 1e-12, "{}", sender.slow_start_threshold());
}

/// After a time-out the repetitions of 1 and 2 leave together. 2 arrives: 1 is lost once more, and the window is cut again (Linux).
#[test]
fn lost_repetition_after_a_timeout_cuts_again() {
    let mut sender = by_time(6);
    sender.supply(6);
    sender.handle_timeout(sender.poll_timeout());
    assert_eq!(send_all(&mut sender, at(1000)), [0]);
    sender.handle_reply(at(1100), ack(1));
    assert_eq!(send_all(&mut sender, at(1100)), [1, 2]);
    sender.handle_reply(at(1200), sack(1, &[(2, 3)]));
    assert_eq!((sender.stats().timeouts, sender.stats().fast_retransmits), (1, 1));
}

/// RFC 6937 section 3 below the threshold: as many segments leave as arrived, and one more where the
/// acknowledgement advances (Linux). Of ten the first seven are lost; the threshold is five.
#[test]
fn reduction_grows_with_acks_that_advance() {
    let mut sender = with_flight(Recovery::Sack, 10);
    sender.handle_reply(at(100), sack(0, &[(7, 10)]));
    assert_eq!(send_all(&mut sender, at(100)), [0, 1, 2]);
    sender.handle_reply(at(200), sack(1, &[(7, 10)]));
    assert_eq!(send_all(&mut sender, at(200)), [3, 4]);
    sender.handle_reply(at(201), sack(1, &[(2, 3), (7, 10)]));
    assert_eq!(send_all(&mut sender, at(201)), [5]);
}

/// Karn: the acknowledgement that covers a repetition measures nothing, neither by it nor by those that it waited for.
#[test]
fn ack_of_repetition_measures_nothing() {
    let mut sender = by_time(6);
    sender.supply(6);
    sender.handle_reply(at(100), sack(0, &[(1, 5)]));
    assert_eq!(send_all(&mut sender, at(100)), [0]);
    sender.take_round_trip();
    sender.handle_reply(at(200), ack(6));
    assert_eq!((sender.take_round_trip(), sender.acknowledged()), (None, 6));
}

/// RFC 8985 section 7.2: in recovery no probe is scheduled, though nothing is reported out of order.
#[test]
fn probe_waits_for_the_end_of_recovery() {
    let mut sender = by_time(6);
    sender.supply(6);
    sender.handle_reply(at(100), sack(0, &[(1, 4)]));
    assert_eq!(send_all(&mut sender, at(100)), [0]);
    sender.handle_reply(at(200), ack(4));
    assert_eq!((sender.phase, sender.scoreboard.arrived()), (Phase::Recovery, 0));
    assert_eq!((sender.guard, sender.poll_timeout()), (Guard::Retransmission, at(1200)));
}

/// RFC 8985 section 7.4: a probe is over when it is acknowledged itself, and until then there is no other.
#[test]
fn probe_of_new_data_waits_for_its_own_ack() {
    let mut sender = by_time(4);
    sender.handle_reply(at(100), ack(1));
    assert_eq!(send_all(&mut sender, at(100)), [4]);
    let due = sender.poll_timeout();
    sender.handle_timeout(due);
    assert_eq!(send_all(&mut sender, due), [5]);
    sender.handle_reply(due + Duration::from_millis(10), ack(5));
    assert_eq!((sender.guard, sender.outstanding()), (Guard::Retransmission, 1));
}

/// RFC 8985 section 7.2: `If Now() + PTO > TCP_RTO_expiration(): PTO = TCP_RTO_expiration() - Now()`. Of a lone segment PTO is
/// 2·600 + 200 ms, RTO 600 + 4·300 = 1800 ms at first; after samples alike the variation fades, and the time-out's second is less.
#[test]
fn probe_is_no_later_than_the_time_out() {
    let mut sender = by_time(1);
    for round in 1..=20 {
        sender.supply(round);
        let now = at(600 * u64::from(round - 1));
        send_all(&mut sender, now);
        sender.handle_reply(now + Duration::from_millis(600), ack(round));
    }
    sender.supply(21);
    assert_eq!(send_all(&mut sender, at(12_000)), [20]);
    assert_eq!(sender.retransmission_timeout(), Duration::from_secs(1));
    assert_eq!(sender.poll_timeout(), at(13_000));
    sender.handle_timeout(at(13_000));
    assert_eq!((sender.stats().probes, sender.stats().timeouts), (0, 0));
    assert_eq!(send_all(&mut sender, at(13_000)), [20]);
    assert_eq!((sender.stats().probes, sender.stats().timeouts), (1, 0));
    assert_eq!((sender.guard, sender.poll_timeout()), (Guard::Retransmission, at(14_000)));
}
