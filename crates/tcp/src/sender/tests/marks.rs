//! Echoes of marks (RFC 3168).

use super::*;
use crate::{AckPolicy, Ecn, Receiver};

fn with_ecn(window: f64, recovery: Recovery) -> Sender {
    reno(SenderParams { ecn: true, start: start(window, 2.0), ..params(recovery) })
}

/// Lets the sender send all it may; those of these numbers are marked on their way.
fn fly(sender: &mut Sender, now: Instant, marked: &[u32]) -> Vec<Segment> {
    let mut out = Vec::new();
    while let Some(mut segment) = sender.poll_transmit(now) {
        if marked.contains(&segment.number) {
            segment.ecn.mark();
        }
        out.push(segment);
    }
    out
}

/// The receiver gets segments, and the sender its acknowledgements.
fn answer(sender: &mut Sender, receiver: &mut Receiver, now: Instant, segments: &[Segment]) {
    for &segment in segments {
        if let Some(ack) = receiver.handle_segment(now, segment) {
            sender.handle_reply(now, ack);
        }
    }
}

#[test]
fn marked_window_is_halved_once_nothing_resent() {
    for recovery in [Recovery::Reno, Recovery::NewReno, Recovery::Sack] {
        let (mut sender, mut receiver) = (with_ecn(8.0, recovery), Receiver::new(AckPolicy::EachSegment));
        let first = fly(&mut sender, at(0), &[1, 3, 4]);
        assert_eq!(first.len(), 8);
        assert!(first.iter().all(|segment| segment.ecn.is_capable() && !segment.ecn.is_reduced()));
        answer(&mut sender, &mut receiver, at(10), &first);
        // RFC 3168 section 6.1.2: as for a single loss, half of the window; each acknowledgement adds 1/w.
        let window = sender.congestion_window();
        assert!((4.0..6.0).contains(&window), "{recovery:?}: {window}");
        assert_eq!(
            (sender.stats().marks, sender.stats().retransmitted, sender.stats().fast_retransmits),
            (1, 0, 0)
        );
        assert_eq!(sender.stats().marked, 3, "CE on three segments (RFC 9768 section 3.2.2)");
        // The first new data confirm it, once, and the echo ends with them.
        let second = fly(&mut sender, at(10), &[]);
        let told: Vec<bool> = second.iter().map(|segment| segment.ecn.is_reduced()).collect();
        assert!(told[0] && !told[1..].contains(&true), "{told:?}");
        answer(&mut sender, &mut receiver, at(20), &second);
        assert_eq!(sender.stats().marks, 1);
        // A mark a window later cuts again.
        let third = fly(&mut sender, at(20), &[second[0].number + second.len() as u32]);
        answer(&mut sender, &mut receiver, at(30), &third);
        assert_eq!((sender.stats().marks, sender.stats().marked), (2, 4));
    }
}

#[test]
fn a_loss_and_a_mark_in_one_window_cut_it_once() {
    let (mut sender, mut receiver) = (with_ecn(8.0, Recovery::Sack), Receiver::new(AckPolicy::EachSegment));
    let mut first = fly(&mut sender, at(0), &[6]);
    first.remove(2);
    answer(&mut sender, &mut receiver, at(10), &first);
    let again = fly(&mut sender, at(10), &[]);
    let repeated = again.iter().find(|segment| segment.number == 2).unwrap();
    assert!(!repeated.ecn.is_capable(), "section 6.1.5: retransmissions are not to be marked");
    answer(&mut sender, &mut receiver, at(20), &again);
    assert_eq!((sender.stats().fast_retransmits, sender.stats().marks), (1, 0));
    assert!(sender.congestion_window() <= 5.0, "{}", sender.congestion_window());
}

#[test]
fn without_it_nothing_can_be_marked() {
    let mut sender = reno(SenderParams { start: start(4.0, 2.0), ..params(Recovery::Sack) });
    assert!(fly(&mut sender, at(0), &[]).iter().all(|segment| segment.ecn == Ecn::default()));
}
