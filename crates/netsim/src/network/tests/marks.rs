//! Explicit congestion notification from end to end (RFC 3168).

use super::outside::foreign;
use super::queues::any_queue;
use super::*;
use crate::queue::tests::every_discipline;
use evenair_laws::window::{BbrParams, WindowParams};

/// One TCP flow over a wire of 10 Mb/s and 10 ms; the receiver's window does not bind.
fn over(queue: QueueSpec, ecn: bool, window: impl Into<WindowParams>) -> RunResult {
    let mut tcp = tcp(None);
    tcp.sender = SenderParams { ecn, receiver_window: 2_000, recovery: Recovery::Sack, ..tcp.sender };
    tcp.window = window.into();
    let mut spec = wired(10_000, 10, 1_000, Traffic::Tcp(tcp));
    spec.wires[0].queue = queue;
    let result = Network::run(&spec, RunSpec { timeline: None, ..seconds(1, 5, 12) });
    assert_conserved(&result);
    result
}

#[test]
fn marking_replaces_drops_without_repetition() {
    // Every discipline alone and with every marking but FRED, since its bounds on one flow refuse without exception.
    let (mut dropping, mut cases) = (0, 0);
    // A stack, the last discipline, reorders, and TCP repeats segments that it takes for lost.
    for discipline in 0..every_discipline().len() - 1 {
        for marking in [0, 1, 3, 4, 5] {
            let without = over(any_queue(discipline, marking, 1_000), false, RenoParams {});
            let plain = &without.links[0];
            cases += 1;
            assert_eq!(plain.marked, 0);
            if plain.dropped_by_law == 0 {
                continue;
            }
            dropping += 1;
            let with = over(any_queue(discipline, marking, 1_000), true, RenoParams {});
            let marked = &with.links[0];
            let case = format!("discipline {discipline}, marking {marking}");
            assert!(marked.marked > 0, "{case}: {marked:?}");
            if marking != 4 && marked.dropped_queue_full == 0 {
                assert_eq!(marked.dropped_by_law, 0, "{case}");
                assert_eq!((with.flows[0].retransmitted, with.flows[0].timeouts), (0, 0), "{case}");
            }
            // RED refuses all where the average is far too long, as in a slow start: RFC 3168 section 7.
            assert!(marked.dropped_by_law * 4 <= plain.dropped_by_law, "{case}: {marked:?}, {plain:?}");
            // The queue is held as by drops, and the wire is used as well.
            let (kept, by_drops) = (with.links[0].backlog, without.links[0].backlog);
            assert!(kept < 2.0 * by_drops + 3.0, "{case}: {kept} packets wait, {by_drops} with drops");
            let (goodput, less) = (with.flows[0].goodput_bps, without.flows[0].goodput_bps);
            // A cut that is taken at once leaves half a round trip silent, which the recovery from a loss spreads over all of it
            // (RFC 6937): over a queue of a few packets the wire then idles.
            assert!(goodput > 0.9 * less, "{case}: {goodput} of {less}");
        }
    }
    assert!(dropping > cases / 2, "{dropping} of {cases}");
}

#[test]
fn marks_keep_the_square_root_laws_window() {
    // [Chen10] section 5.1: an AQM that marks with p in proportion to the queue; Reno: w = sqrt(2/p) for acknowledgements of each.
    let result = over(any_queue(0, 1, 1_000), true, RenoParams {});
    let (flow, link) = (&result.flows[0], &result.links[0]);
    let p = link.marked as f64 / link.served_packets as f64;
    let expected = (2.0 / p).sqrt();
    assert!(
        (flow.congestion_window / expected - 1.0).abs() < 0.15,
        "{} for {expected}",
        flow.congestion_window
    );
}

#[test]
fn a_law_that_steers_recovery_is_dropped_as_ever() {
    let result = over(any_queue(0, 1, 1_000), true, BbrParams::default());
    assert_eq!(result.links[0].marked, 0);
    assert!(result.links[0].dropped_by_law > 0, "{:?}", result.links[0]);
}

#[test]
fn outside_packets_are_marked_if_capable() {
    let mut spec = wired(1_000, 10, 1_000, datagrams(Pattern::Saturated));
    spec.flows.clear();
    spec.routes = vec![vec![0, 1]];
    spec.wires[0].queue = any_queue(0, 1, 1_000);
    let mut network = Network::new(&spec, seconds(1, 0, 4));
    // The law's probability stays below 1, at which markable packets are dropped, too.
    assert_eq!(network.advance(Instant::ZERO), None);
    for content in 0..90 {
        let ecn = if content % 2 == 0 { Codepoint::Capable } else { Codepoint::NotCapable };
        let packet = Foreign { ecn, ..foreign(0, 1, content) };
        network.inject(Instant::ZERO + Duration::from_millis(1), packet).unwrap();
    }
    let (mut marked, mut lost) = (0, 0);
    while let Some(emerged) = network.advance(network.end()) {
        let capable = emerged.packet.content.is_multiple_of(2);
        assert_eq!(emerged.packet.ecn == Codepoint::NotCapable, !capable);
        marked += u64::from(emerged.packet.ecn == Codepoint::Marked);
        lost += u64::from(emerged.fate != Fate::Arrived);
        assert!(!capable || emerged.fate == Fate::Arrived, "{emerged:?}");
    }
    let link = &network.finish().links[0];
    assert_eq!((marked, lost), (link.marked, link.dropped_by_law));
    assert!(marked > 5 && lost > 5, "{marked} marked, {lost} lost");
}
