//! What is resident of a stream is taken of the memory, however small its pieces are.

use super::super::STREAM_COST;
use super::told::{chunk, relay, tell};
use super::*;

const WINDOW: u64 = 1 << 16;
/// A piece's place, by `core/cost.rs` \[bytes\].
const PIECE: u64 = 128;

#[test]
fn gaps_take_memory_and_give_it_back() {
    let (mut core, now) = relay(limits(WINDOW));
    for number in 0..1000 {
        tell(&mut core, chunk(1, 2 * number + 1, b"x"), now).unwrap();
    }
    let taken = core.budget.taken() - WINDOW - STREAM_COST;
    assert!((984 * PIECE..=1024 * PIECE).contains(&taken), "sixteen are part of the stream: {taken}");
    tell(&mut core, chunk(1, 0, &[b'y'; 2000]), now).unwrap();
    let taken = core.budget.taken() - WINDOW - STREAM_COST;
    assert!(taken <= 32 * PIECE, "a block may be kept: {taken}");
    core.reset(1, Broken::Aborted, now);
    assert_eq!(core.budget.taken(), 0);
}

#[test]
fn gaps_beyond_the_memory_break_their_stream_alone() {
    let (mut core, now) = relay(limits(WINDOW));
    core.budget.set_most(2 * (WINDOW + STREAM_COST) + 200 * PIECE);
    tell(&mut core, chunk(3, 0, b"x"), now).unwrap();
    for number in 0..1000 {
        tell(&mut core, chunk(1, 2 * number + 1, b"x"), now).unwrap();
    }
    let mut into = [0; 8];
    assert_eq!(core.peek(1, &mut into), Err(Broken::Overloaded));
    assert_eq!(core.peek(3, &mut into), Ok(Read::Bytes(1)));
    assert_eq!(core.budget.taken(), WINDOW + STREAM_COST, "nothing is held for the broken one");
}

#[test]
fn small_chunks_take_memory_and_wait_where_there_is_none() {
    let (mut core, now) = relay(limits(WINDOW));
    tell(&mut core, chunk(1, 0, b"x"), now).unwrap();
    let sent = |core: &mut Core| {
        let before = core.counts().sent;
        for _ in 0..1000 {
            assert_eq!(core.write(1, b"y", now), Ok(1));
            core.pull(1, now, 1 << 16, &mut Vec::new());
        }
        core.counts().sent - before
    };
    assert_eq!(sent(&mut core), 1000, "each goes out by itself");
    let taken = core.budget.taken() - WINDOW - STREAM_COST - 1000;
    assert!((984 * PIECE..=1024 * PIECE).contains(&taken), "{taken}");
    // Without memory for more chunks bytes wait, and go out in a large one when the others are there.
    core.budget.set_most(core.budget.taken() + 10_000);
    assert!(sent(&mut core) < 100);
    let received = core.counts().sent;
    tell(&mut core, Frame::Credit { stream: 1, received, limit: WINDOW }, now).unwrap();
    core.pull(1, now, 1 << 16, &mut Vec::new());
    assert_eq!(core.counts().sent, 2000);
    tell(&mut core, Frame::Credit { stream: 1, received: 2000, limit: WINDOW }, now).unwrap();
    let taken = core.budget.taken() - WINDOW - STREAM_COST;
    assert!(taken <= 32 * PIECE, "{taken}");
}

#[test]
fn credit_of_a_few_bytes_wakes_no_herd() {
    let (mut core, now) = relay(Limits { their_streams: 200, ..limits(WINDOW) });
    for number in 0..200 {
        tell(&mut core, chunk(2 * number + 1, 0, b"x"), now).unwrap();
    }
    assert_eq!(core.write(1, &vec![7; 40_000], now), Ok(40_000));
    core.budget.set_most(0);
    for number in 1..200 {
        assert_eq!(core.write(2 * number + 1, b"y", now), Ok(0), "there is no memory");
    }
    (0..10).for_each(|_| core.pull(1, now, 1 << 16, &mut Vec::new()));
    let mut woken = |received, now| {
        while core.event().is_some() {}
        tell(&mut core, Frame::Credit { stream: 1, received, limit: WINDOW }, now).unwrap();
        std::iter::from_fn(|| core.event()).filter(|event| matches!(event, Event::Writable(_))).count()
    };
    assert_eq!((1..=100).map(|received| woken(received, now)).sum::<usize>(), 100, "the stream alone");
    assert_eq!(woken(30_000, now), 200, "for more than 16 kB all who wait");
}
