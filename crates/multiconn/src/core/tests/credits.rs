//! A receiver's credits: their contents and their times.

use super::told::{chunk, events, ms, relay, said, tell};
use super::*;

const WINDOW: u64 = 1 << 16;
const QUARTER: u64 = WINDOW / 4;

/// Delivers `count` bytes of stream 1 from an offset.
fn bytes(core: &mut Core, from: u64, count: u64, now: Instant) {
    let words = vec![7; count as usize];
    for (number, piece) in words.chunks(CHUNK_MAX).enumerate() {
        tell(core, chunk(1, from + (number * CHUNK_MAX) as u64, piece), now).unwrap();
    }
}

fn credit(received: u64, limit: u64) -> Vec<String> {
    vec![format!("{:?}", Frame::Credit { stream: 1, received, limit })]
}

/// Returns the credits at once, and 25 ms later, after `count` bytes were read.
#[test]
fn window_follows_reads_by_quarters() {
    let told = |count: u64| {
        let (mut core, now) = relay(limits(WINDOW));
        bytes(&mut core, 0, count, now);
        assert_eq!(core.discard(1, now), Ok(Read::Bytes(count as usize)));
        let at_once = said(&mut core, 1, now);
        core.on_timeout(now + ms(25));
        (at_once, said(&mut core, 1, now + ms(25)))
    };
    assert_eq!(told(QUARTER), (credit(QUARTER, QUARTER + WINDOW), vec![]));
    assert_eq!(told(QUARTER - 1), (vec![], credit(QUARTER - 1, WINDOW)));
}

/// A quarter of the window counts from the last credit, not from the start.
#[test]
fn receipt_is_reported_by_quarters() {
    let (mut core, now) = relay(limits(WINDOW));
    bytes(&mut core, 0, QUARTER, now);
    assert_eq!(said(&mut core, 1, now), credit(QUARTER, WINDOW));
    bytes(&mut core, QUARTER, QUARTER - 1, now);
    assert_eq!(said(&mut core, 1, now), [""; 0]);
    bytes(&mut core, 2 * QUARTER - 1, 1, now);
    assert_eq!(said(&mut core, 1, now), credit(2 * QUARTER, WINDOW));
}

#[test]
fn credit_that_is_told_later_is_noted_once() {
    let (mut core, now) = relay(limits(WINDOW));
    bytes(&mut core, 0, 1, now);
    assert_eq!((core.timeout(), &core.late[..]), (Some(now + ms(25)), &[1][..]));
    bytes(&mut core, 1, 1, now + ms(10));
    assert_eq!((core.timeout(), &core.late[..]), (Some(now + ms(25)), &[1][..]));
    core.on_timeout(now + ms(25));
    assert_eq!(said(&mut core, 1, now + ms(25)), credit(2, WINDOW));
    // A sender that repeats data may have missed the credit.
    bytes(&mut core, 0, 1, now + ms(30));
    core.on_timeout(now + ms(55));
    assert_eq!(said(&mut core, 1, now + ms(55)), credit(2, WINDOW));
    // A credit that is already queued is not noted as late.
    let (mut core, now) = relay(limits(WINDOW / 2));
    bytes(&mut core, 0, QUARTER / 2, now);
    bytes(&mut core, QUARTER / 2, 1, now);
    assert_eq!((core.late.len(), said(&mut core, 1, now)), (0, credit(QUARTER / 2 + 1, WINDOW / 2)));
}

/// A window without room for a chunk behind the received bytes grows to twice its size; half of those may
/// wait for the reader.
#[test]
fn window_is_used_up_where_no_chunk_fits() {
    let told = |from: u64, until: u64, in_order: u64| {
        let (mut core, now) = relay(limits(WINDOW));
        bytes(&mut core, 0, in_order, now);
        said(&mut core, 1, now);
        bytes(&mut core, from, until - from, now);
        said(&mut core, 1, now)
    };
    let room = WINDOW - CHUNK_MAX as u64;
    assert_eq!(told(room - 1000, room, 0), [""; 0]);
    assert_eq!(told(room - 1000, room + 1, 0), credit(0, 2 * WINDOW));
    let half = WINDOW / 2;
    assert_eq!(told(WINDOW - 1000, WINDOW, half), credit(half, 2 * WINDOW));
    assert_eq!(told(WINDOW - 1000, WINDOW, half + 1), [""; 0], "its reader is slow");
}

#[test]
fn credit_that_frees_nothing_wakes_no_writer() {
    let (mut core, now) = relay(limits(WINDOW));
    tell(&mut core, chunk(1, 0, b"x"), now).unwrap();
    assert_eq!(core.write(1, b"hello", now), Ok(5));
    said(&mut core, 1, now);
    let mut wakes = |received| {
        events(&mut core);
        tell(&mut core, Frame::Credit { stream: 1, received, limit: WINDOW }, now).unwrap();
        events(&mut core).contains(&Event::Writable(1))
    };
    assert_eq!([wakes(0), wakes(3), wakes(3), wakes(5)], [false, true, false, true]);
}

#[test]
fn buffer_without_room_waits_for_nothing() {
    let (mut core, now) = relay(limits(WINDOW));
    tell(&mut core, chunk(1, 0, b"x"), now).unwrap();
    assert_eq!(core.peek(1, &mut []), Ok(Read::Bytes(0)));
    assert_eq!(core.read(1, &mut [0; 9], now), Ok(Read::Bytes(1)));
    assert_eq!((core.peek(1, &mut []), core.peek(1, &mut [0])), (Ok(Read::Bytes(0)), Ok(Read::Wait)));
}
