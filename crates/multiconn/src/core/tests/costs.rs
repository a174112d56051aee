//! Resident memory of a stream is taken from the budget, however small its pieces are.

use super::super::STREAM_COST;
use super::told::{chunk, relay, tell};
use super::*;

const WINDOW: u64 = 1 << 16;
/// The memory of a piece, by `core/cost.rs` \[bytes\].
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
fn gaps_beyond_memory_break_their_stream_alone() {
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
fn small_chunks_take_memory_or_wait() {
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
    // Without memory for more chunks, bytes wait and go out in a large one once the others are acknowledged.
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

/// Returns the blocks of 32 pieces for which memory is taken, beside a stream with its window and `held`
/// bytes to send.
fn blocks(core: &Core, held: u64) -> u64 {
    let taken = core.budget.taken() - WINDOW - STREAM_COST - held;
    assert_eq!(taken % (32 * PIECE), 0);
    taken / (32 * PIECE)
}

/// Sixteen gaps cost nothing, and each further 32 cost a block. A block more than needed is kept.
#[test]
fn gaps_take_memory_in_blocks() {
    let with_gaps = |gaps| {
        let (mut core, now) = relay(limits(WINDOW));
        for number in 0..gaps {
            tell(&mut core, chunk(1, 2 * number + 1, b"x"), now).unwrap();
        }
        core
    };
    assert_eq!([16, 17, 48, 49, 80, 81].map(|gaps| blocks(&with_gaps(gaps), 0)), [0, 1, 1, 2, 2, 3]);
    let after_filling = |gaps: u64, left: u64| {
        let mut core = with_gaps(gaps);
        tell(&mut core, chunk(1, 0, &vec![b'y'; 2 * (gaps - left) as usize]), Instant::from_nanos(1))
            .unwrap();
        blocks(&core, 0)
    };
    assert_eq!([after_filling(48, 16), after_filling(49, 48), after_filling(81, 49)], [1, 2, 3], "kept");
    assert_eq!([after_filling(49, 16), after_filling(81, 48)], [0, 1]);
    // A stream that needs no more memory continues if none is left.
    let mut core = with_gaps(17);
    core.budget.set_most(core.budget.taken() - 1);
    tell(&mut core, chunk(1, 2 * 17 + 1, b"x"), Instant::from_nanos(1)).unwrap();
    assert_eq!(core.peek(1, &mut [0; 8]), Ok(Read::Wait));
}

/// The same for unacknowledged chunks. Returned memory is taken again only when needed.
#[test]
fn chunks_take_memory_in_blocks() {
    let sent = |core: &mut Core, now, chunks: u64| {
        for _ in 0..chunks {
            assert_eq!(core.write(1, b"y", now), Ok(1));
            core.pull(1, now, 1 << 16, &mut Vec::new());
        }
    };
    let after = |chunks: u64, acknowledged: u64| {
        let (mut core, now) = relay(limits(WINDOW));
        tell(&mut core, chunk(1, 0, b"x"), now).unwrap();
        sent(&mut core, now, chunks);
        let credit = Frame::Credit { stream: 1, received: acknowledged, limit: WINDOW };
        tell(&mut core, credit, now).unwrap();
        (blocks(&core, chunks - acknowledged), core, now)
    };
    assert_eq!([16, 17, 48, 49, 80, 81].map(|chunks| after(chunks, 0).0), [0, 1, 1, 2, 2, 3]);
    assert_eq!([after(48, 32).0, after(49, 1).0, after(81, 32).0], [1, 2, 3], "kept");
    assert_eq!([after(49, 33).0, after(81, 33).0], [0, 1]);
    let (paid, mut core, now) = after(81, 41);
    assert_eq!(paid, 1, "for 24 of 40");
    sent(&mut core, now, 8);
    assert_eq!(blocks(&core, 48), 1);
    sent(&mut core, now, 1);
    assert_eq!(blocks(&core, 49), 2);
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
