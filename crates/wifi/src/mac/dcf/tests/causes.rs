//! Frames in the ledger, the counts and the timeline: causes of loss, repetitions, receivers.

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
            bench.air.signals[0].spoil(); // the first acknowledgement is lost
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
    let frames: Vec<_> =
        timeline.frames().iter().map(|f| (f.kind, f.size.bits() / 8, f.mode.rate().as_bps())).collect();
    // An acknowledgement has 14 bytes, and the rate of control frames; header, checksum and LLC add 36 to DATA.
    assert_eq!(frames, [(FrameKind::Data, 1036, 11_000_000), (FrameKind::Ack, 14, 1_000_000)]);
    let mut heard: Vec<(u32, u32)> = timeline.take_overheard().map(|heard| (heard.from, heard.at)).collect();
    heard.sort_unstable();
    assert_eq!(heard, [(0, 1), (0, 2), (1, 0), (1, 2)]);
    bench.offer(0, BROADCAST);
    bench.run_to(us(10_000));
    let frame = *bench.air.timeline.as_ref().unwrap().frames().last().unwrap();
    assert_eq!((frame.to, frame.size.bits() / 8, frame.mode.rate().as_bps()), (BROADCAST, 1036, 11_000_000));
}

/// Frames that differ in the node, the kind, or their fate leave different fingerprints.
#[test]
fn fingerprint_tells_frames_apart() {
    let mut bench = Bench::standard(&[0.0, 100.0], |_| exactly(0));
    bench.offer(0, 1);
    bench.run_to(us(60));
    let sent = bench.air.stations[0].sending.unwrap();
    let mut prints = Vec::new();
    for node in 0..4 {
        for kind in [FrameKind::Data, FrameKind::Ack, FrameKind::Rts, FrameKind::Cts] {
            for decoded in [false, true] {
                let mut air = bench.air.clone();
                air.record(us(60), node, &Sending { kind, ..sent }, decoded);
                assert!(!prints.contains(&air.fingerprint()), "{node} {kind:?} {decoded}");
                prints.push(air.fingerprint());
            }
        }
    }
}

/// Node 2, 50 m from both, waits while node 0 and node 1 exchange a frame. The medium is idle in the SIFS between.
#[test]
fn ledger_books_the_sifs_of_an_exchange_as_idle() {
    let mut bench = Bench::standard(&[0.0, 100.0, 50.0], |n| exactly(if n == 2 { 1000 } else { 0 }));
    bench.air.start_ledger(Instant::ZERO);
    bench.offer(0, 1);
    bench.offer(2, 1);
    bench.run_to(us(2_000));
    let ledger = bench.air.ledger.as_mut().unwrap();
    ledger.close(us(2_000));
    let time = ledger.airtime(2);
    assert_eq!(time.blocked_by[0], Duration::from_micros(946 + 304));
    // A DIFS before and one after; the answer begins a SIFS after the frame has arrived at node 1.
    assert_eq!(time.interframe.as_nanos(), 50_000 + 10_000 + flight_ns(100.0) + 50_000);
    assert_eq!(time.total(), us(2_000).since(Instant::ZERO));
}

/// Node 2's back-off of no slots, with nothing to send, is over once the medium has been idle for a SIFS, watched or not: the packet
/// that comes then draws another.
#[test]
fn ledger_changes_no_frame() {
    for watched in [false, true] {
        let mut bench = Bench::standard(&[0.0, 100.0, 50.0], |n| exactly(if n == 2 { 3 } else { 0 }));
        if watched {
            bench.air.start_ledger(Instant::ZERO);
        }
        bench.offer(0, 1);
        bench.run_to(us(500));
        bench.air.back_off(2, Duration::ZERO);
        bench.run_to(us(1_100)); // the acknowledgement is on the air
        bench.offer(2, BROADCAST);
        bench.run_to(us(5_000));
        let ack_end = 996_000 + flight_ns(100.0) + 10_000 + 304_000 + flight_ns(50.0);
        assert_eq!(bench.data_starts(2), [ack_end + 50_000 + 60_000], "watched: {watched}");
    }
}

#[test]
fn ledger_may_begin_within_an_exchange() {
    // The first queue's frame lasts from 90 to 1036 µs, its acknowledgement begins at 1046 µs.
    for begins in [500, 1041] {
        let mut bench = two_queues();
        bench.offer(0, 1);
        bench.offer(1, 2);
        bench.run_to(us(begins));
        bench.air.start_ledger(us(begins));
        bench.run_to(us(1046 + 100));
        let ledger = bench.air.ledger.as_mut().unwrap();
        ledger.close(bench.now);
        let kept = Duration::from_micros(1046 + 100 - begins);
        assert_eq!((ledger.airtime(0).own, ledger.airtime(1).blocked_by[0]), (kept, kept));
    }
}

#[test]
fn ledger_blames_the_frame_that_is_still_there() {
    // Node 0 waits while nodes 1 and 2, hidden from each other, send: from 50 to 996 µs, and from 400 to 1346 µs.
    let mut bench = Bench::standard(&[0.0, 100.0, -100.0], |n| exactly(if n == 0 { 1000 } else { 0 }));
    for (a, b) in [(1, 2), (2, 1)] {
        let ear = bench.air.ears_of(a, 0).find(|&i| bench.air.ears[i].node == b).unwrap();
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
/// it keeps its growth after failures.
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
    (bench.air.queues[0].short_failures, bench.air.queues[0].long_failures) = (1, 1);
    bench.air.set_access(0, slots(7));
    assert_eq!(bench.air.queues[0].window, 15, "after an RTS and a DATA frame that failed, too");
}

/// A frame that arrives at the very instant at which its receiver's own frame ends meets an idle receiver.
#[test]
fn receiver_is_free_when_its_own_frame_has_ended() {
    for is_lost in [false, true] {
        let own_end = 50_000 + data_ns();
        let arrives = own_end - flight_ns(100.0);
        let mut bench = Bench::standard(&[0.0, 100.0], |_| exactly(0));
        let ear = bench.air.ears_of(1, 0).next().unwrap();
        bench.air.ears[ear].hide(); // node 0 does not hear node 1
        if is_lost {
            let always = vec![(Instant::ZERO, LossModel::Frames(Probability::ONE))];
            bench.air.set_loss(0, 1, &LossProcess::new(always, Stream::named(1, "0>1", "loss")));
        }
        bench.offer(1, BROADCAST);
        bench.run_to(Instant::from_nanos(arrives));
        bench.offer(0, 1);
        bench.run_to(Instant::from_nanos(own_end + data_ns() + 5_000));
        assert_eq!(bench.up.iter().any(|(_, up)| matches!(up, Up::Received { from: 0, .. })), !is_lost);
        let counters = bench.air.counters(0);
        assert_eq!((counters.collided, counters.receiver_busy), (u64::from(is_lost), 0));
    }
}

#[test]
fn ledger_blames_other_queue_to_exchange_end() {
    // The first queue's frame ends at 1036 µs, the second one's packet comes in the SIFS after it.
    let mut bench = two_queues();
    bench.air.start_ledger(Instant::ZERO);
    bench.offer(0, 1);
    bench.run_to(us(50 + 40 + 946 + 5));
    bench.offer(1, 2);
    bench.run_to(us(50 + 40 + 946 + 10 + 200));
    let ledger = bench.air.ledger.as_mut().unwrap();
    ledger.close(bench.now);
    let time = ledger.airtime(1);
    assert_eq!(time.own, Duration::ZERO);
    assert_eq!(time.blocked_by, [Duration::from_micros(5 + 200), Duration::ZERO]);
}

/// A head that its receiver has, while the acknowledgement is to come. Of a broadcast none comes.
#[test]
fn head_is_received_before_its_acknowledgement() {
    let mut bench = Bench::standard(&[0.0, 100.0], |_| exactly(0));
    bench.offer(0, 1);
    bench.run_to(us(50 + 940));
    assert!(!bench.air.head_received(0));
    bench.run_to(us(50 + 960));
    assert!(bench.air.head_received(0));
    bench.run_to(us(5_000));
    assert!(!bench.air.head_received(0));
}

#[test]
fn air_hands_calls_on_to_its_mac() {
    let mut bench = Bench::standard(&[0.0, 100.0], |_| exactly(0));
    bench.air.timeline = None;
    let mut air = crate::Air::Dcf(Box::new(bench.air));
    air.record(Timeline::new(Instant::ZERO, Instant::NEVER));
    air.start_ledger(Instant::ZERO);
    air.report_attempts(0, true);
    air.set_access(0, exactly(2));
    let mode = Mode::at(Rate::from_kbps(11_000));
    let head = Head { to: 1, size: Bytes::new(DATA_BYTES), mode, packet: PacketId(0) };
    air.offer(Instant::ZERO, 0, head);
    while air.advance(Instant::NEVER, &mut bench.out).is_some() {}
    let up = bench.out;
    assert!(up.iter().any(|up| matches!(up, Up::Attempt { acknowledged: true, .. })));
    let frames = air.timeline().unwrap().frames();
    assert_eq!(frames[0].start, us(50 + 40));
    let own = air.ledger(us(5_000)).unwrap().airtime(0).own;
    assert_eq!(own.as_nanos(), data_ns() + 10_000 + 304_000 + 2 * flight_ns(100.0));
    assert_eq!(air.take_overheard().unwrap().count(), 2);
    assert_eq!((air.take_frames().unwrap().count(), air.timeline().unwrap().frames().len()), (2, 0));
}

/// A node that begins a frame of its own in the SIFS before its acknowledgement cannot send that.
#[test]
fn unsent_acknowledgement_counts_as_lost() {
    let mut bench = Bench::standard(&[0.0, 100.0], |_| exactly(0));
    bench.offer(0, 1);
    bench.run_to(us(50 + 946 + 5));
    assert!(bench.air.stations[1].reply.is_some());
    bench.air.countdowns[1].begin(Duration::ZERO);
    bench.air.countdowns[1].from = bench.now;
    bench.offer(1, BROADCAST);
    bench.run_to(us(50 + 946 + 20));
    let counters = bench.air.counters(0);
    assert_eq!((counters.ack_lost, counters.collided, counters.receiver_busy), (1, 0, 0));
}

/// One frame in two is lost: the second packet needs a repetition.
#[test]
fn lossy_link_loses_what_its_model_says() {
    let mut bench = Bench::standard(&[0.0, 100.0], |_| exactly(0));
    let every = vec![(Instant::ZERO, LossModel::Every(2))];
    bench.air.set_loss(0, 1, &LossProcess::new(every, Stream::named(1, "0>1", "loss")));
    for _ in 0..2 {
        bench.offer(0, 1);
        bench.run_to(bench.now + Duration::from_micros(10_000));
    }
    let counters = bench.air.counters(0);
    assert_eq!((counters.attempts, counters.collided, bench.done().len()), (3, 1, 2));
}
