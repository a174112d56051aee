//! One side alone, which receives frames one by one: its answers, and their times.

use super::super::STREAM_COST;
use super::*;

/// Returns a relay with given limits, 2^24 bytes of memory and a connection, 1.
pub(super) fn relay(limits: Limits) -> (Core, Instant) {
    let now = Instant::from_nanos(1);
    let mut core = Core::new(Side::Relay, limits, Budget::new(1 << 24), now);
    core.add_subflow(1, now);
    (core, now)
}

pub(super) fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

/// Returns all frames pulled for a connection, as text.
pub(super) fn said(core: &mut Core, subflow: SubflowId, now: Instant) -> Vec<String> {
    let (mut out, mut words) = (Vec::new(), Vec::new());
    loop {
        out.clear();
        core.pull(subflow, now, 4 * FRAME_MAX, &mut out);
        if out.is_empty() {
            return words;
        }
        let mut rest = &out[..];
        while let Some((frame, length)) = Frame::decode(rest).expect("a frame") {
            words.push(format!("{frame:?}"));
            rest = &rest[length..];
        }
    }
}

/// Passes in a frame on connection 1.
pub(super) fn tell(core: &mut Core, frame: Frame<'_>, now: Instant) -> Result<(), Closed> {
    core.frame(1, frame, now)
}

pub(super) fn chunk(stream: StreamId, offset: u64, bytes: &[u8]) -> Frame<'_> {
    Frame::Data { stream, offset, end: false, bytes }
}

pub(super) fn events(core: &mut Core) -> Vec<Event> {
    std::iter::from_fn(|| core.event()).collect()
}

#[test]
fn defaults_are_those_of_the_manual() {
    // docs/reference/multiconn.md: 1024 streams each way, a window of 64 kB at first, up to 16 MB.
    let Limits { own_streams, their_streams, window, window_most, held_most } = Limits::default();
    assert_eq!((own_streams, their_streams), (1024, 1024));
    assert_eq!((window, window_most, held_most), (65_536, 16_777_216, 16_777_216));
    // Each stream takes 12 kB of memory, beside its window.
    let (mut core, now) = relay(limits(1000));
    core.open(now).unwrap();
    assert_eq!((STREAM_COST, core.budget.taken()), (12 << 10, 1000 + (12 << 10)));
}

#[test]
fn room_ahead_is_of_the_connection_itself() {
    let (mut core, now) = relay(limits(1 << 16));
    (2..=4).for_each(|subflow| core.add_subflow(subflow, now));
    let measure = |core: &mut Core, subflow, window, round_trip_ms| {
        let round_trip = Some(ms(round_trip_ms));
        core.measured(subflow, Measured { round_trip, window: Some(window), ..Measured::default() }, now);
    };
    // Another window; or the amount sent in 50 ms, five windows of 10 ms; 6 KiB at least.
    measure(&mut core, 1, 20_000, 100);
    measure(&mut core, 2, 4_000, 10);
    measure(&mut core, 3, 1_000, 200);
    assert_eq!([1, 2, 3].map(|subflow| core.ahead(subflow)), [Some(20_000), Some(20_000), Some(6 * 1024)]);
    // At most, and without a known window: four full records of TLS, 16 KiB each (RFC 8446 section 5.1).
    core.measured(1, Measured { window: Some(1 << 30), ..Measured::default() }, now);
    assert_eq!([1, 4, 5].map(|subflow| core.ahead(subflow)), [Some(65_536), Some(65_536), None]);
}

#[test]
fn retired_connections_do_not_count() {
    let (mut core, now) = relay(limits(1 << 16));
    (2..=4).for_each(|subflow| core.add_subflow(subflow, now));
    assert_eq!(core.subflow_count(), 4);
    core.retire(2);
    assert_eq!(core.subflow_count(), 3);
    assert_eq!(core.frame(3, Frame::Retire, now), Ok(()));
    assert_eq!(core.subflow_count(), 2);
    core.lost(4, now);
    assert_eq!(core.subflow_count(), 1);
}

#[test]
fn wish_is_said_again_after_a_connection_is_lost() {
    let (mut core, now) = relay(limits(1 << 16));
    core.add_subflow(2, now);
    said(&mut core, 1, now);
    core.tell_wanted(3);
    assert_eq!((said(&mut core, 1, now), said(&mut core, 2, now)), (vec!["Want(3)".to_owned()], vec![]));
    core.lost(1, now);
    assert_eq!(said(&mut core, 2, now), ["Want(3)"], "it may not have come");
    assert_eq!(core.frame(2, Frame::Want(5), now), Ok(()));
    assert_eq!(core.frame(2, Frame::Want(0), now), Ok(()));
    let wanted: Vec<_> =
        events(&mut core).into_iter().filter(|event| matches!(event, Event::TheyWant(_))).collect();
    assert_eq!(wanted, [Event::TheyWant(5), Event::TheyWant(1)], "one at least");
}

/// Returns whether a connection sends a ping half a second, the quiet time, after its last frame.
fn asks(begin: impl Fn(&mut Core, Instant)) -> bool {
    let (mut core, now) = relay(limits(1 << 16));
    core.measured(1, Measured { round_trip: Some(ms(20)), ..Measured::default() }, now);
    begin(&mut core, now);
    said(&mut core, 1, now);
    let mut later = |after| {
        core.measured(1, Measured::default(), now + ms(after));
        said(&mut core, 1, now + ms(after))
    };
    assert_eq!(later(499), [""; 0]);
    later(500).iter().any(|word| word.starts_with("Ping("))
}

#[test]
fn answer_is_not_confirmed_and_anything_else_is() {
    // An answer to an answer would never end.
    assert!(!asks(|core, now| tell(core, Frame::Ping(7), now).unwrap()));
    assert!(!asks(|_, _| ()), "nothing was said");
    assert!(asks(|core, _| core.retire(1)));
    assert!(asks(|core, _| core.tell_wanted(3)));
    assert!(asks(|core, now| {
        tell(core, Frame::Ping(7), now).unwrap();
        core.tell_wanted(3);
    }));
}

#[test]
fn ping_is_answered_on_its_connection() {
    let (mut core, now) = relay(limits(1 << 16));
    core.add_subflow(2, now);
    core.set_wanted(2, now);
    assert_eq!(core.frame(2, Frame::Ping(u64::MAX), now), Ok(()));
    assert_eq!(said(&mut core, 1, now), [""; 0]);
    assert_eq!(said(&mut core, 2, now), [format!("Pong({})", u64::MAX)]);
}

/// Returns the milliseconds without progress after which a connection with these counters is stuck.
fn stuck_after(measured: Measured, begin: impl Fn(&mut Core, Instant)) -> Option<u64> {
    let (mut core, now) = relay(limits(1 << 16));
    core.measured(1, Measured { round_trip: Some(ms(20)), ..Measured::default() }, now);
    begin(&mut core, now);
    (0..6000).find(|after| {
        core.measured(1, measured, now + ms(*after));
        said(&mut core, 1, now + ms(*after));
        core.subflows()[0].is_stuck
    })
}

#[test]
fn connection_is_stuck_after_its_time() {
    // Bytes wait: beyond 200 ms, or three round trips.
    let waiting = Measured { waiting: 1, ..Measured::default() };
    assert_eq!(stuck_after(waiting, |_, _| ()), Some(201));
    let slow = Measured { round_trip: Some(ms(100)), ..waiting };
    assert_eq!(stuck_after(slow, |_, _| ()), Some(301));
    // No data waits, and a ping sent after 500 ms has no answer for more than 1500 ms.
    assert_eq!(stuck_after(Measured::default(), |core, _| core.tell_wanted(3)), Some(500 + 1501));
    assert_eq!(stuck_after(Measured::default(), |_, _| ()), None);
}

#[test]
fn credit_is_told_after_a_quarter_of_the_window() {
    let credit = |window: u64, bytes: u64| {
        let (mut core, now) = relay(Limits { window, window_most: window, ..Limits::default() });
        let words = vec![7; bytes as usize];
        let mut at = 0;
        for piece in words.chunks(CHUNK_MAX) {
            tell(&mut core, chunk(1, at, piece), now).unwrap();
            at += piece.len() as u64;
        }
        let told = said(&mut core, 1, now);
        // A credit that is not urgent is sent 25 ms later.
        let late = now + ms(25);
        core.on_timeout(late);
        assert!(!told.is_empty() || !said(&mut core, 1, late).is_empty());
        !told.is_empty()
    };
    let quarter = 1 << 14;
    assert_eq!([quarter - 1, quarter].map(|bytes| credit(1 << 16, bytes)), [false, true]);
    // Or after 256 KiB, if that is less.
    let most = 1 << 18;
    assert_eq!([most - 1, most].map(|bytes| credit(1 << 22, bytes)), [false, true]);
}

#[test]
fn window_used_beyond_a_gap_grows_at_once() {
    let (mut core, now) = relay(limits(1 << 16));
    let bytes = [7; 1000];
    tell(&mut core, chunk(1, (1 << 16) - 1000, &bytes), now).unwrap();
    let credit = Frame::Credit { stream: 1, received: 0, limit: 1 << 17 };
    assert_eq!(said(&mut core, 1, now), [format!("{credit:?}")]);
    // A window that cannot grow causes no credit at once.
    let (mut core, now) = relay(Limits { window_most: 1 << 16, ..limits(1 << 16) });
    tell(&mut core, chunk(1, (1 << 16) - 1000, &bytes), now).unwrap();
    assert_eq!(said(&mut core, 1, now), [""; 0]);
}

#[test]
fn stream_that_is_new_can_be_read() {
    let (mut core, now) = relay(limits(1 << 16));
    events(&mut core);
    tell(&mut core, chunk(1, 0, b"hello"), now).unwrap();
    let told = events(&mut core);
    assert!(told.starts_with(&[Event::Opened(1), Event::Readable(1)]), "{told:?}");
}

#[test]
fn reported_end_closes_whole_stream() {
    // The acknowledgements were lost, and the stream is over there.
    let (mut core, now) = relay(limits(1 << 16));
    tell(&mut core, Frame::Data { stream: 1, offset: 0, end: true, bytes: b"x" }, now).unwrap();
    assert_eq!(core.read(1, &mut [0; 9], now), Ok(Read::Bytes(1)));
    assert_eq!(core.write(1, b"hello", now), Ok(5));
    core.end(1, now);
    said(&mut core, 1, now);
    assert!(!core.is_delivered(1));
    tell(&mut core, Frame::Over { stream: 1 }, now).unwrap();
    assert!(core.is_delivered(1));
    assert_eq!((core.open_streams(), core.budget.taken()), (0, 0), "nothing is held for it");
    assert_eq!(core.read(1, &mut [0; 9], now), Ok(Read::End));
    assert_eq!(said(&mut core, 1, now), ["Over { stream: 1 }"]);
}

#[test]
fn reported_end_breaks_partial_stream() {
    let (mut core, now) = relay(limits(1 << 16));
    tell(&mut core, chunk(1, 0, b"x"), now).unwrap();
    assert_eq!(core.write(1, b"hello", now), Ok(5));
    said(&mut core, 1, now);
    tell(&mut core, Frame::Over { stream: 1 }, now).unwrap();
    assert_eq!(core.read(1, &mut [0; 9], now), Err(Broken::Aborted));
    assert_eq!(said(&mut core, 1, now), ["Reset { stream: 1, why: Aborted }"]);
    // An `Over` frame about an unknown stream is ignored.
    assert_eq!(tell(&mut core, Frame::Over { stream: 9 }, now), Ok(()));
}

#[test]
fn reset_before_its_stream_leaves_others_new() {
    let (mut core, now) = relay(limits(1 << 16));
    let reset = |stream| Frame::Reset { stream, why: Broken::Aborted };
    assert_eq!(tell(&mut core, reset(5), now), Ok(()));
    events(&mut core);
    for stream in [3, 5, 7] {
        tell(&mut core, chunk(stream, 0, b"x"), now).unwrap();
    }
    let opened: Vec<_> =
        events(&mut core).into_iter().filter(|event| matches!(event, Event::Opened(_))).collect();
    assert_eq!(opened, [Event::Opened(3), Event::Opened(7)]);
    // The client skips every second stream: gaps up to eight times the streams, and eight more, are accepted.
    let (mut core, now) = relay(limits(1 << 16));
    let most = 8 * (8 + 8);
    for number in 0..most {
        assert_eq!(tell(&mut core, reset(4 * number + 1), now), Ok(()), "{number}");
        said(&mut core, 1, now);
    }
    assert_eq!(tell(&mut core, reset(4 * most + 1), now), Err(Closed::Protocol));
}

#[test]
fn released_stream_breaks_unless_both_ends_came() {
    // The cases: whether the client has ended, whether the relay has, and whether the relay has read the end.
    let breaks = |theirs: bool, ours: bool, reads: bool| {
        let (mut core, now) = relay(limits(1 << 16));
        tell(&mut core, Frame::Data { stream: 1, offset: 0, end: theirs, bytes: b"x" }, now).unwrap();
        core.write(1, b"hello", now).unwrap();
        if ours {
            core.end(1, now);
        }
        if reads {
            assert_eq!(core.read(1, &mut [0; 9], now), Ok(Read::Bytes(1)));
        }
        core.release(1, now);
        let told = said(&mut core, 1, now);
        let sends = told.iter().any(|word| word.starts_with("Data"));
        assert_ne!(sends, told.contains(&"Reset { stream: 1, why: Aborted }".to_owned()), "{told:?}");
        !sends
    };
    assert!(!breaks(true, true, true), "what was written still goes out");
    assert!(breaks(false, true, true), "the client may send more");
    assert!(breaks(true, false, true), "more was to be written");
    assert!(breaks(true, true, false), "not all was read");
}

#[test]
fn writer_without_memory_tries_again_in_100_ms() {
    let now = Instant::from_nanos(1);
    let memory = Budget::new(3000 + STREAM_COST);
    let mut core = Core::new(Side::Client, limits(1000), Arc::clone(&memory), now);
    core.add_subflow(1, now);
    let stream = core.open(now).unwrap();
    assert!(memory.take(2000, Share::All), "others have the rest");
    assert_eq!(core.write(stream, b"hello", now), Ok(0));
    assert_eq!(core.timeout(), Some(now + ms(100)));
    // The first attempt counts.
    assert_eq!(core.write(stream, b"hello", now + ms(50)), Ok(0));
    assert_eq!(core.timeout(), Some(now + ms(100)));
    memory.give(2000);
    events(&mut core);
    core.on_timeout(now + ms(99));
    assert_eq!(events(&mut core), []);
    core.on_timeout(now + ms(100));
    assert_eq!(events(&mut core), [Event::Writable(stream)]);
    assert_eq!(core.write(stream, b"hello", now + ms(100)), Ok(5));
}

#[test]
fn last_byte_of_room_is_used() {
    let (mut core, now) = relay(Limits { held_most: 1000, ..limits(1000) });
    tell(&mut core, chunk(1, 0, b"x"), now).unwrap();
    assert_eq!(core.write(1, &[7; 999], now), Ok(999));
    assert_eq!(core.write(1, b"hello", now), Ok(1));
    assert_eq!(core.write(1, b"hello", now), Ok(0));
}

#[test]
fn fixed_reading_rate_asks_for_no_wider_window() {
    // 4 KiB arrive in each round trip of 100 ms: four times that is less than the window, at any duration.
    let (mut core, mut now) = relay(limits(1 << 16));
    let before = core.budget.taken();
    for number in 0..200 {
        tell(&mut core, chunk(1, number << 12, &[7; 1 << 12]), now).unwrap();
        assert_eq!(core.read(1, &mut [0; 1 << 13], now), Ok(Read::Bytes(1 << 12)));
        now += ms(100);
    }
    assert_eq!(core.budget.taken(), before + (1 << 16) + STREAM_COST, "its first window");
}

#[test]
fn streams_of_both_sides_are_open() {
    let (mut core, now) = relay(limits(1 << 16));
    core.open(now).unwrap();
    core.open(now).unwrap();
    tell(&mut core, chunk(1, 0, b"x"), now).unwrap();
    assert_eq!(core.open_streams(), 3);
}

#[test]
fn usable_connection_neither_retires_nor_sticks() {
    let (mut core, now) = relay(limits(1 << 16));
    (2..=4).for_each(|subflow| core.add_subflow(subflow, now));
    core.retire(2);
    core.frame(3, Frame::Retire, now).unwrap();
    let waiting = Measured { waiting: 1, ..Measured::default() };
    core.measured(4, waiting, now);
    core.measured(4, waiting, now + ms(5000));
    let usable: Vec<_> = core.subflows().iter().map(|subflow| (subflow.id, subflow.is_usable())).collect();
    assert_eq!(usable, [(1, true), (2, false), (3, false), (4, false)]);
    // A wanted number is sent on a connection that has room.
    said(&mut core, 1, now);
    events(&mut core);
    core.tell_wanted(3);
    assert_eq!(events(&mut core), [Event::Wake(1)]);
}

#[test]
fn sent_bytes_follow_existing_ones() {
    let (mut core, now) = relay(limits(1 << 16));
    core.frame(1, Frame::Ping(7), now).unwrap();
    let mut out = vec![0; 100];
    core.pull(1, now, 4 * FRAME_MAX, &mut out);
    // A type byte and a number of eight bytes.
    assert_eq!((out.len(), core.subflows()[0].sent), (109, 9));
    // It is only an answer, which needs no confirmation.
    core.measured(1, Measured::default(), now + ms(1000));
    assert_eq!(said(&mut core, 1, now + ms(1000)), [""; 0]);
}

#[test]
fn peer_pinging_without_reading_has_four_answers() {
    let (mut core, now) = relay(limits(1 << 16));
    (0..9).for_each(|number| core.frame(1, Frame::Ping(number), now).unwrap());
    assert_eq!(said(&mut core, 1, now), ["Pong(0)", "Pong(1)", "Pong(2)", "Pong(3)"]);
    core.frame(1, Frame::Ping(9), now).unwrap();
    assert_eq!(said(&mut core, 1, now), ["Pong(9)"], "there is room again");
}

/// Returns whether an action wakes a waiting connection.
fn wakes(begin: impl Fn(&mut Core, Instant)) -> bool {
    let (mut core, now) = relay(limits(1 << 16));
    tell(&mut core, chunk(1, 0, b"x"), now).unwrap();
    said(&mut core, 1, now);
    events(&mut core);
    begin(&mut core, now);
    events(&mut core).contains(&Event::Wake(1))
}

#[test]
fn idle_connection_wakes_for_each_news() {
    assert!(!wakes(|core, now| tell(core, Frame::Pong(1), now).unwrap()), "nothing");
    assert!(wakes(|core, now| assert_eq!(core.write(1, b"hello", now), Ok(5))), "bytes");
    assert!(wakes(|core, now| tell(core, Frame::Ask { stream: 1 }, now).unwrap()), "a credit");
    assert!(wakes(|core, now| core.reset(1, Broken::Aborted, now)), "a broken stream");
    let unknown = Frame::Reset { stream: 3, why: Broken::Aborted };
    assert!(wakes(|core, now| tell(core, unknown, now).unwrap()), "the end of a stream");
}

/// Connection 3 is lost: the stream's credit is sent again, and the client's is requested. Connection 1 takes
/// the credit alone, which leaves no room for another frame.
#[test]
fn idle_connection_is_woken_for_a_question() {
    let (mut core, now) = relay(limits(1 << 16));
    (2..=3).for_each(|subflow| core.add_subflow(subflow, now));
    core.set_wanted(3, now);
    tell(&mut core, chunk(1, 0, b"x"), now).unwrap();
    assert_eq!(core.write(1, b"hello", now), Ok(5));
    (1..=3).for_each(|subflow| drop(said(&mut core, subflow, now)));
    events(&mut core);
    core.lost(3, now);
    assert_eq!(events(&mut core), [Event::Wake(1)]);
    let mut out = Vec::new();
    core.pull(1, now, 32, &mut out);
    assert!(matches!(Frame::decode(&out), Ok(Some((Frame::Credit { .. }, 21)))));
    assert_eq!(events(&mut core), [Event::Wake(2)]);
    assert_eq!(said(&mut core, 2, now), ["Ask { stream: 1 }"]);
}

/// Lets a connection with a round trip of 20 ms hold a byte from now on, without progress at the later
/// observations.
fn hold(core: &mut Core, subflow: SubflowId, now: Instant, looks_ms: &[u64]) {
    let waiting = Measured { round_trip: Some(ms(20)), waiting: 1, ..Measured::default() };
    core.measured(subflow, waiting, now);
    looks_ms.iter().for_each(|after| core.measured(subflow, waiting, now + ms(*after)));
}

#[test]
fn stuck_connection_wakes_no_other_for_nothing() {
    let (mut core, now) = relay(limits(1 << 16));
    core.add_subflow(2, now);
    tell(&mut core, chunk(1, 0, b"x"), now).unwrap();
    assert_eq!(core.write(1, b"hello", now), Ok(5));
    said(&mut core, 1, now);
    hold(&mut core, 1, now, &[201]);
    assert!(said(&mut core, 2, now + ms(201)).contains(&HELLO.to_owned()), "it goes out once more");
    events(&mut core);
    // The data is on the second connection now.
    hold(&mut core, 1, now + ms(201), &[10]);
    assert_eq!(events(&mut core), []);
}

/// 64 chunks of three streams are on a stuck connection. 256 KiB and an eighth of all sent bytes, 393,096
/// bytes, may be copied. 256 KiB of the first stream are 17 chunks, and the other 114,806 bytes are 8 of the
/// second. More is copied only if no other data is to be sent, 256 KiB at each observation: the other 5
/// chunks of the first stream, and 12 of the second.
#[test]
fn stuck_bytes_go_out_again_in_bounds() {
    let now = Instant::from_nanos(1);
    let mut core = Core::new(Side::Client, limits(1 << 20), Budget::new(1 << 26), now);
    (1..=2).for_each(|subflow| core.add_subflow(subflow, now));
    for chunks in [22, 21, 21] {
        let stream = core.open(now).unwrap();
        let bytes = vec![7; chunks * CHUNK_MAX];
        assert_eq!(core.write(stream, &bytes, now), Ok(bytes.len()));
    }
    said(&mut core, 1, now);
    assert_eq!(core.counts().sent, 64 * CHUNK_MAX as u64);
    hold(&mut core, 1, now, &[201]);
    assert_eq!(core.counts().stuck, 1);
    let again = |core: &mut Core, after| {
        let told = said(core, 2, now + ms(after));
        [1, 3, 5].map(|stream| {
            let of = format!("stream: {stream}, offset");
            told.iter().filter(|word| word.starts_with("Data") && word.contains(&of)).count()
        })
    };
    assert_eq!(again(&mut core, 201), [17, 8, 0]);
    assert_eq!(core.counts().again, 25 * CHUNK_MAX as u64);
    let other = core.open(now).unwrap();
    assert_eq!(core.write(other, &[7; 1000], now), Ok(1000));
    hold(&mut core, 1, now + ms(201), &[10]);
    assert_eq!(again(&mut core, 211), [0; 3], "the bound holds in all beside new data");
    hold(&mut core, 1, now + ms(211), &[10]);
    assert_eq!(again(&mut core, 221), [5, 12, 0]);
}

#[test]
fn session_is_closed_for_reason_that_was_given() {
    let (mut core, now) = relay(limits(1 << 16));
    assert_eq!(core.closed(), None);
    assert_eq!(tell(&mut core, Frame::Close(Closed::Revoked), now), Err(Closed::Revoked));
    assert_eq!(core.closed(), Some(Closed::Revoked));
    // The first reason stays, and is each connection's last frame.
    core.close(Closed::Idle);
    assert_eq!(tell(&mut core, Frame::Ping(1), now), Err(Closed::Revoked));
    let mut out = Vec::new();
    core.pull(1, now, FRAME_MAX, &mut out);
    assert!(matches!(Frame::decode(&out), Ok(Some((Frame::Close(Closed::Revoked), 2)))));
}

#[test]
fn session_is_used_while_bytes_pass() {
    let (mut core, begun) = relay(limits(1 << 16));
    let at = |seconds| begun + Duration::from_secs(seconds);
    assert_eq!(core.used_at(), begun);
    tell(&mut core, Frame::Ping(1), at(1)).unwrap();
    assert_eq!(core.used_at(), begun, "that is no use");
    tell(&mut core, chunk(1, 0, b"x"), at(2)).unwrap();
    assert_eq!(core.used_at(), at(2));
    core.write(1, b"hello", at(3)).unwrap();
    assert_eq!(core.used_at(), at(3));
    tell(&mut core, Frame::Reset { stream: 1, why: Broken::Aborted }, at(4)).unwrap();
    assert_eq!(core.used_at(), at(4));
    core.open(at(5)).unwrap();
    assert_eq!(core.used_at(), at(5));
}

#[test]
fn wish_is_said_on_a_connection_that_stays() {
    for is_retired in [true, false] {
        let (mut core, now) = relay(limits(1 << 16));
        core.add_subflow(2, now);
        if is_retired {
            core.retire(1);
        } else {
            hold(&mut core, 1, now, &[1_000]);
        }
        (1..=2).for_each(|subflow| drop(said(&mut core, subflow, now)));
        events(&mut core);
        core.tell_wanted(3);
        assert_eq!(events(&mut core), [Event::Wake(2)]);
    }
}

/// Returns a relay with two connections, a stream with a byte from the client, and `hello` sent on the first.
fn greeted() -> (Core, Instant) {
    let (mut core, now) = relay(limits(1 << 16));
    core.add_subflow(2, now);
    core.set_wanted(2, now);
    tell(&mut core, chunk(1, 0, b"x"), now).unwrap();
    assert_eq!(core.write(1, b"hello", now), Ok(5));
    (1..=2).for_each(|subflow| drop(said(&mut core, subflow, now)));
    events(&mut core);
    (core, now)
}

const HELLO: &str = "Data { stream: 1, offset: 0, end: false, bytes: [104, 101, 108, 108, 111] }";

#[test]
fn lost_connection_repeats_its_bytes_once() {
    let (mut core, now) = greeted();
    core.retire(1);
    assert_eq!(said(&mut core, 1, now), ["Retire"], "which the client does not answer");
    core.lost(1, now);
    let credit = "Credit { stream: 1, received: 1, limit: 65536 }";
    assert_eq!(said(&mut core, 2, now), [credit, "Ask { stream: 1 }", HELLO]);
    assert_eq!((core.counts().lost, core.counts().again), (1, 5));
}

/// Two streams have two chunks each; their first chunks are on a connection that is lost. Each keeps its
/// turn.
#[test]
fn lost_connection_changes_no_turns() {
    let (mut core, now) = relay(limits(1 << 16));
    core.add_subflow(2, now);
    core.set_wanted(2, now);
    for stream in [1, 3] {
        tell(&mut core, chunk(stream, 0, b"x"), now).unwrap();
        assert_eq!(core.write(stream, &vec![7; 2 * CHUNK_MAX], now), Ok(2 * CHUNK_MAX));
    }
    let sent = |core: &mut Core, subflow| {
        let (mut out, mut streams) = (Vec::new(), Vec::new());
        core.pull(subflow, now, 2 * FRAME_MAX, &mut out);
        let mut rest = &out[..];
        while let Some((frame, length)) = Frame::decode(rest).expect("a frame") {
            if let Frame::Data { stream, offset, .. } = frame {
                streams.push((stream, offset));
            }
            rest = &rest[length..];
        }
        streams
    };
    assert_eq!(sent(&mut core, 1), [(1, 0), (3, 0)]);
    core.lost(1, now);
    let all: Vec<_> = [(); 4].iter().flat_map(|()| sent(&mut core, 2)).collect();
    let chunk = CHUNK_MAX as u64;
    assert_eq!(all, [(1, 0), (3, 0), (1, chunk), (3, chunk)]);
}

#[test]
fn connections_lost_one_after_the_other_ask_once() {
    let (mut core, now) = greeted();
    (3..=4).for_each(|subflow| core.add_subflow(subflow, now));
    (3..=4).for_each(|subflow| core.lost(subflow, now));
    let credit = "Credit { stream: 1, received: 1, limit: 65536 }";
    assert_eq!(said(&mut core, 2, now), [credit, "Ask { stream: 1 }"], "its bytes are on the first");
    // Once the client has everything, nothing is requested.
    tell(&mut core, Frame::Credit { stream: 1, received: 5, limit: 1 << 16 }, now).unwrap();
    core.add_subflow(5, now);
    core.lost(5, now);
    assert_eq!(said(&mut core, 2, now), [credit]);
    assert_eq!(core.counts().lost, 3);
}

#[test]
fn session_is_idle_after_unanswered_ping() {
    let (mut core, now) = relay(limits(1 << 16));
    tell(&mut core, chunk(1, 0, b"x"), now).unwrap();
    said(&mut core, 1, now);
    core.take_idle(now + ms(25));
    // From 100 ms on a connection is busy with the written bytes, and at 150 ms it is idle again.
    core.write(1, b"hello", now + ms(100)).unwrap();
    let mut out = Vec::new();
    core.pull(1, now + ms(100), 4 * FRAME_MAX, &mut out);
    assert!(!out.is_empty());
    assert_eq!(said(&mut core, 1, now + ms(150)), [""; 0]);
    let (idle, dry) = core.take_idle(now + ms(200));
    assert_eq!((idle, dry), (ms(75 + 50), Duration::ZERO));
}

#[test]
fn bytes_of_half_a_frame_end_the_silence() {
    let (mut core, now) = relay(limits(1 << 16));
    core.add_subflow(2, now + ms(20_000));
    assert_eq!(core.timeout(), Some(now + ms(15_000)), "after which the client is asked");
    core.heard(1, now + ms(14_000));
    assert_eq!(core.timeout(), Some(now + ms(14_000 + 15_000)));
}

#[test]
fn bytes_are_counted_where_they_came() {
    let (mut core, now) = relay(limits(1 << 16));
    core.add_subflow(2, now);
    tell(&mut core, chunk(1, 0, b"hello"), now).unwrap();
    core.frame(2, chunk(1, 5, b"!"), now).unwrap();
    assert_eq!(core.subflows().iter().map(|subflow| subflow.received).collect::<Vec<_>>(), [5, 1]);
    assert_eq!(core.counts().received, 6);
}

/// A chunk of one byte takes 16: type, stream, offset and length precede it. At least two frames share the
/// room of a socket.
#[test]
fn little_room_has_small_chunks() {
    let chunks = |room: usize| {
        let (mut core, now) = greeted();
        assert_eq!(core.write(1, &[7; 1000], now), Ok(1000));
        let mut out = Vec::new();
        core.pull(1, now, room, &mut out);
        assert!(out.len() <= room, "{} of {room}", out.len());
        let (mut rest, mut chunks) = (&out[..], Vec::new());
        while let Some((frame, length)) = Frame::decode(rest).expect("a frame") {
            let Frame::Data { bytes, .. } = frame else { panic!("{frame:?}") };
            chunks.push(bytes.len());
            rest = &rest[length..];
        }
        chunks
    };
    assert_eq!([15, 16, 31, 32].map(chunks), [vec![], vec![1], vec![1], vec![1, 1]]);
    assert_eq!(chunks(200), [100 - 15; 2]);
}
