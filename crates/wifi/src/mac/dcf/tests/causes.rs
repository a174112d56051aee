//! What the ledger, the counts and the timeline tell of frames: causes of loss, repetitions, receivers.

use super::*;

/// The retry bits of a node's DATA frames, in order.
fn retries(bench: &Bench, node: u32) -> Vec<bool> {
    let frames = bench.air.timeline.as_ref().unwrap().frames();
    frames.iter().filter(|f| f.from == node && f.kind == FrameKind::Data).map(|f| f.retry).collect()
}

/// IEEE 802.11-2016 clause 9.2.4.1.6: 1 in a DATA frame that is a retransmission of an earlier frame, else 0.
#[test]
fn retry_bit_marks_each_repetition() {
    let rules = Rules { short_retry_limit: 3, ..Rules::standard() };
    let mut bench = Bench::line(&[0.0, 400.0], |_| exactly(0), timing(), rules); // out of range
    for _ in 0..2 {
        bench.offer(0, 1);
        bench.run_to(bench.now + Duration::from_micros(20_000));
    }
    assert_eq!(retries(&bench, 0), [false, true, true, false, true, true]);
}

/// A failed RTS leaves its DATA frame unsent; a lost acknowledgement does not.
#[test]
fn retry_bit_counts_no_rts() {
    let rules = Rules { rts_threshold: Some(Bytes::new(500)), ..Rules::standard() };
    let mut bench = Bench::line(&[0.0, 100.0], |_| exactly(0), timing(), rules);
    bench.air.nodes[1].reserved_until = us(700); // it does not answer the first RTS
    bench.offer(0, 1);
    let mut spoilt = 0;
    while bench.done().is_empty() {
        bench.run_to(bench.now + Duration::from_micros(10));
        let sending = bench.air.stations[1].sending;
        if sending.is_some_and(|f| f.kind == FrameKind::Ack) && spoilt < 20 {
            bench.air.nodes[0].spoil(); // the first acknowledgement is lost
            spoilt += 1;
        }
    }
    let counters = bench.air.counters(0);
    assert_eq!((counters.requests_failed, counters.ack_lost, counters.attempts), (1, 1, 2));
    assert_eq!(retries(&bench, 0), [false, true]);
    let frames = bench.air.timeline.as_ref().unwrap().frames();
    assert!(frames.iter().all(|f| f.kind == FrameKind::Data || !f.retry), "control frames have none");
}

#[test]
fn timeline_lists_the_receivers_in_range() {
    // Decoded below 250 m: node 0's frame at 1 and 2, node 1's acknowledgement at 0 and 2, neither at 3.
    let mut bench = Bench::standard(&[0.0, 100.0, 200.0, 400.0], |_| exactly(0));
    bench.offer(0, 1);
    bench.run_to(us(5_000));
    let timeline = bench.air.timeline.as_mut().unwrap();
    let mut heard: Vec<(u32, u32)> = timeline.take_overheard().map(|heard| (heard.from, heard.at)).collect();
    heard.sort_unstable();
    assert_eq!(heard, [(0, 1), (0, 2), (1, 0), (1, 2)]);
}

#[test]
fn ledger_blames_the_frame_that_is_still_there() {
    // Node 0 waits while nodes 1 and 2, hidden from each other, send: from 50 to 996 µs, and from 400 to 1346 µs.
    let mut bench = Bench::standard(&[0.0, 100.0, -100.0], |n| exactly(if n == 0 { 1000 } else { 0 }));
    for (a, b) in [(1, 2), (2, 1)] {
        let ear = bench.air.ears_of(a).find(|&i| bench.air.ears[i].node == b).unwrap();
        bench.air.ears[ear].hide();
    }
    assert_eq!(data_ns(), 946_000);
    bench.air.start_ledger(Instant::ZERO);
    bench.offer(0, 1);
    bench.offer(1, BROADCAST);
    bench.run_to(us(400));
    bench.offer(2, BROADCAST);
    bench.run_to(us(2_000));
    let ledger = bench.air.ledger.as_mut().unwrap();
    ledger.close(us(2_000));
    let time = ledger.airtime(0);
    let us = Duration::from_micros;
    assert_eq!(time.blocked_by, [us(0), us(946), us(350)]);
    // A DIFS, then an EIFS of SIFS + ACK + DIFS: overlapping frames are an error (clause 10.3.2.3.7).
    assert_eq!((time.interframe, time.backoff), (us(50 + 364), us(2_000 - 1_346 - 364)));
    assert_eq!((time.own, time.collided, time.empty), (us(0), us(0), us(0)));
    assert_eq!(time.total(), us(2_000));
}

/// Clause 10.3.3: the contention window begins at its minimum, also at that of a law which comes before the first packet;
/// it keeps what failures have made of it.
#[test]
fn new_law_sets_the_window_unless_one_failed() {
    let slots = |window| Access {
        draw: Draw::Slots { window, end_included: true },
        on_failure: OnFailure::Double { window_max: 1023 },
        when: When::BeforeFrame,
        holding: Holding::Packet,
    };
    let mut bench = Bench::standard(&[0.0, 400.0], |_| slots(31));
    bench.air.set_access(0, slots(7));
    assert_eq!(bench.air.queues[0].window, 7);
    bench.offer(0, 1); // nobody decodes it
    while bench.air.queues[0].window == 7 {
        bench.run_to(bench.now + Duration::from_micros(10));
    }
    assert_eq!(bench.air.queues[0].window, 15, "2·(7 + 1) − 1");
    bench.air.set_access(0, slots(31));
    assert_eq!(bench.air.queues[0].window, 15);
}
