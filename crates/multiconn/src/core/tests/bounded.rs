//! A session with a rate bound: the bytes sent, and the wakes.

use super::*;
use crate::bucket::Bucket;
use evenair_units::Rate;

/// Returns the bytes sent in each millisecond of half a second, and the number of wakes.
fn half_a_second(core: &mut Core, begun: Instant) -> (Vec<u64>, u32) {
    let (mut sent, mut wakes, mut out) = (Vec::new(), 0, Vec::new());
    for ms in 0..500 {
        let at = begun + Duration::from_millis(ms);
        let before = core.counts().sent;
        if core.timeout().is_some_and(|due| due <= at) {
            core.on_timeout(at);
        }
        while let Some(event) = core.event() {
            let Event::Wake(subflow) = event else { continue };
            wakes += 1;
            loop {
                out.clear();
                core.pull(subflow, at, 4 * FRAME_MAX, &mut out);
                if out.is_empty() {
                    break;
                }
            }
        }
        assert!(core.timeout().is_none_or(|due| due > at), "nothing is due that was done");
        sent.push(core.counts().sent - before);
    }
    (sent, wakes)
}

#[test]
fn bounded_session_sends_its_rate_and_reports_it() {
    let (mut pair, stream, _) = Pair::of_four(limits(1 << 20), 1 << 24);
    let begun = pair.now;
    let core = &mut pair.cores[0];
    core.bound(Bucket::new(Some(Rate::from_kbps(8000))));
    assert_eq!(core.write(stream, &vec![1; 900_000], begun), Ok(900_000));
    core.take_idle(begun);
    let (sent, wakes) = half_a_second(core, begun);
    for from in 0..sent.len() {
        let mut sum = 0;
        for (until, bytes) in sent.iter().enumerate().skip(from) {
            sum += bytes;
            let most = 50_000 + 1000 * (until - from + 1) as u64;
            assert!(sum <= most, "{sum} bytes from {from} to {until} ms");
        }
    }
    assert!(sent.iter().sum::<u64>() > 520_000, "{}", sent.iter().sum::<u64>());
    assert!(wakes < 200, "it waits and does not ask again and again: {wakes}");
    let (idle, dry) = core.take_idle(begun + Duration::from_millis(500));
    assert!(idle > Duration::from_millis(400) && dry == idle, "{idle} {dry}");
    assert_eq!(core.rate_most(), Some(Rate::from_kbps(8000)));
}

#[test]
fn without_a_bound_it_does_not_wait() {
    let (mut pair, stream, _) = Pair::of_four(limits(1 << 20), 1 << 24);
    let begun = pair.now;
    let core = &mut pair.cores[0];
    core.bound(Bucket::new(None));
    assert_eq!(core.write(stream, &vec![1; 900_000], begun), Ok(900_000));
    let (sent, _) = half_a_second(core, begun);
    assert_eq!(sent[0], 900_000);
    let (idle, dry) = core.take_idle(begun + Duration::from_millis(500));
    assert!(!idle.is_zero() && dry.is_zero(), "there is nothing to send");
}

/// 8 Mb/s: 50,000 bytes go out at once, and three chunks of 16,369 leave 893 of them; the fourth waits for
/// the 15,476 that are missing.
#[test]
fn bounded_session_resumes_with_its_tokens() {
    let (mut pair, stream, subflows) = Pair::of_four(limits(1 << 20), 1 << 24);
    let begun = pair.now;
    let core = &mut pair.cores[0];
    core.bound(Bucket::new(Some(Rate::from_kbps(8000))));
    assert_eq!(core.write(stream, &vec![1; 100_000], begun), Ok(100_000));
    (0..2).for_each(|_| core.pull(subflows[0], begun, 4 * FRAME_MAX, &mut Vec::new()));
    assert_eq!((CHUNK_MAX, core.counts().sent), (16_369, 3 * 16_369));
    let due = begun + Duration::from_micros(15_476);
    assert_eq!(core.timeout(), Some(due));
    core.on_timeout(begun + Duration::from_nanos(15_475_999));
    assert_eq!(core.timeout(), Some(due));
    core.on_timeout(due);
    assert!(core.timeout() != Some(due), "nothing is due twice");
    core.pull(subflows[0], due, 4 * FRAME_MAX, &mut Vec::new());
    assert_eq!(core.counts().sent, 4 * 16_369);
}

/// Of 50,000 bytes: 10,000 are taken, of which 4000 go out, or 2000 more do.
#[test]
fn tokens_are_taken_for_sent_bytes() {
    let now = Instant::from_nanos(1);
    for (sent, left) in [(10_000, 40_000), (4_000, 46_000), (12_000, 38_000)] {
        let (mut pair, ..) = Pair::of_four(limits(1 << 20), 1 << 24);
        let core = &mut pair.cores[0];
        let bucket = Bucket::new(Some(Rate::from_kbps(8000)));
        core.bound(Arc::clone(&bucket));
        assert_eq!(core.pace.take(10_000, now), Some(10_000));
        core.pace.settle(10_000, sent, now);
        assert_eq!(bucket.book(left, now), now, "{sent}");
        assert_eq!(bucket.book(1000, now), now + Duration::from_millis(1), "{sent}");
    }
}
