//! Token buckets against their definition, and the output of [Jam10]'s shapers (section 6.2.3, Fig 6.1).

use super::*;
use crate::queue::{ClassCounts, Line, NO_CLASS, Shaper, TokenBucket};
use evenair_laws::gateway::{ClassView, Count, Counted};
use evenair_units::Rate;

fn kbps(rate: u64) -> Rate {
    Rate::from_kbps(rate)
}

/// Packets that pass a bucket as soon as they may: when, and how large.
fn passed(bucket: &mut TokenBucket, arrivals: &[(u64, u32)], changes: &[(u64, u64)]) -> Vec<(Instant, u32)> {
    let mut changes = changes.iter().peekable();
    let mut now = Instant::ZERO;
    let mut out = Vec::new();
    for &(at, size) in arrivals {
        now = now.max(Instant::from_nanos(at));
        loop {
            let ready = bucket.ready_at(Bytes::new(size)).max(now);
            match changes.next_if(|&&(from, _)| Instant::from_nanos(from) <= ready) {
                Some(&(from, bps)) => bucket.set_rate(Instant::from_nanos(from), Rate::from_bps(bps)),
                None if ready.is_never() => return out,
                None => {
                    now = ready;
                    break;
                }
            }
        }
        bucket.take(now, Bytes::new(size));
        out.push((now, size));
    }
    out
}

#[test]
fn a_bucket_earns_to_the_nanosecond() {
    // 1500 bytes at 7 Mb/s are 1 714 285.7 ns: rounded up each time, and never in the sum. (A bucket of just one packet runs
    // over by the rounding: it is one byte deeper, which is there from the start.)
    let mut bucket = TokenBucket::new(kbps(7_000), Bytes::new(1501));
    let all: Vec<(u64, u32)> = vec![(0, 1500); 9];
    let at: Vec<u64> = passed(&mut bucket, &all, &[]).iter().map(|(at, _)| at.as_nanos()).collect();
    let exact = |k: u64| (k * 1500 - u64::from(k > 0)) * 8_000_000_000;
    let expected: Vec<u64> = (0..9).map(|k| exact(k).div_ceil(7_000_000)).collect();
    assert_eq!(at, expected);
    assert_eq!(at[7] - at[0], 12_000_000 - 1_142, "seven packets in 12 ms, less the byte that was there");
}

#[test]
fn bucket_keeps_tokens_and_gives_none_at_zero() {
    let mut bucket = TokenBucket::new(kbps(1_000), Bytes::new(1500));
    bucket.take(ms(0), Bytes::new(1500));
    bucket.set_rate(ms(6), Rate::from_bps(0)); // half of it has come
    assert_eq!(bucket.ready_at(Bytes::new(1500)), Instant::NEVER);
    assert_eq!(bucket.ready_at(Bytes::new(750)), ms(6));
    bucket.set_rate(ms(100), kbps(2_000));
    assert_eq!(bucket.ready_at(Bytes::new(1500)), ms(103));
    // One bit per second is slow, but not for ever; a packet larger than the bucket waits until that is full.
    bucket.set_rate(ms(100), Rate::from_bps(1));
    assert_eq!(bucket.ready_at(Bytes::new(751)), Instant::from_nanos(8_100_000_000));
    assert_eq!(bucket.ready_at(Bytes::new(9000)), bucket.ready_at(Bytes::new(1500)));
    bucket.set_rate(ms(100), Rate::from_bps(u64::MAX));
    assert!(bucket.ready_at(Bytes::new(1500)) <= ms(101));
}

proptest! {
    /// The definition: over any interval no more than rate·t + depth; and no packet waits that might have passed.
    #[test]
    fn interval_passes_at_most_rate_and_depth(
        steps in prop::collection::vec((0u64..40_000_000, 40u32..1500), 1..60),
        (bps, depth) in (1_000u64..50_000_000, 1500u32..6000),
        changes in prop::collection::vec((1u64..2_000_000_000, 0u64..20_000_000), 0..4),
    ) {
        let mut at = 0;
        let arrivals: Vec<(u64, u32)> = steps.iter().map(|&(gap, size)| { at += gap; (at, size) }).collect();
        let mut changes = changes;
        changes.sort_unstable();
        changes.dedup_by_key(|change| change.0);
        let mut bucket = TokenBucket::new(Rate::from_bps(bps), Bytes::new(depth));
        let out = passed(&mut bucket, &arrivals, &changes);
        // The tokens earned from one instant to another [bit·ns/s].
        let earned = |from: u64, to: u64| -> u128 {
            let mut marks = vec![(0, bps)];
            marks.extend(&changes);
            let ends = marks.iter().skip(1).map(|&(at, _)| at).chain([u64::MAX]);
            marks.iter().zip(ends).map(|(&(begin, bps), end)| {
                u128::from(end.min(to).saturating_sub(begin.max(from))) * u128::from(bps)
            }).sum()
        };
        for i in 0..out.len() {
            let mut bits = 0u128;
            for j in i..out.len() {
                bits += u128::from(out[j].1) * 8;
                let room = earned(out[i].0.as_nanos(), out[j].0.as_nanos()) + u128::from(depth) * 8_000_000_000;
                prop_assert!(bits * 1_000_000_000 <= room, "{i} to {j}: {bits} bits");
            }
        }
        // One nanosecond earlier there was too little: each that waited had its last token just then.
        let mut level = i128::from(depth) * 8_000_000_000;
        let mut last = 0;
        for (&(at, size), &(asked, _)) in out.iter().zip(&arrivals) {
            let now = at.as_nanos();
            let cap = i128::from(depth) * 8_000_000_000;
            let cost = i128::from(size) * 8_000_000_000;
            if now > asked && now > last {
                let before = (level + earned(last, now - 1).cast_signed()).min(cap);
                prop_assert!(before < cost, "a packet waited that might have passed");
            }
            level = (level + earned(last, now).cast_signed()).min(cap) - cost;
            prop_assert!(level >= 0);
            last = now;
        }
    }
}

/// A shaper over three flows, each a class, with 5 packets in a line.
fn shaper(shared: bool, total: Option<u64>, each: Option<u64>, weights: [u32; 3]) -> Shaper {
    let fifo = || DisciplineParams::Fifo.begin(&ROLE);
    let bucket = |rate: Option<u64>| rate.map(|rate| TokenBucket::new(kbps(rate), Bytes::new(1500)));
    let line = |weight: u32| Line::new(fifo(), 5, bucket(each), Bytes::new(1500 * weight));
    let lines = if shared { vec![line(1)] } else { weights.map(line).to_vec() };
    // By way: data of three flows, and their acknowledgements.
    Shaper::new(vec![0, NO_CLASS, 1, NO_CLASS, 2, NO_CLASS], 3, lines, bucket(total))
}

/// Keeps every class backlogged for so long; gives the bytes that each got.
fn backlogged(shaper: &mut Shaper, sizes: [u32; 3], until: Instant) -> [u64; 3] {
    let mut now = Instant::ZERO;
    let (mut class_of, mut got) = (Vec::new(), [0; 3]);
    loop {
        for class in 0..3u32 {
            loop {
                let arrival = packet(class_of.len() as u32, class * 2, sizes[class as usize], now);
                if shaper.is_full(&arrival) {
                    break;
                }
                shaper.enqueue(now, arrival);
                class_of.push(class);
            }
        }
        while let Some(next) = shaper.dequeue(now, &mut Vec::new()) {
            got[class_of[next.packet.0 as usize] as usize] += u64::from(next.size);
        }
        let ready = shaper.next_ready(now);
        assert!(ready > now, "it gives nothing though something is ready");
        if ready > until {
            return got;
        }
        now = ready;
    }
}

#[test]
fn one_bucket_over_one_line_limits_the_sum() {
    let mut all = shaper(true, Some(900), None, [1; 3]);
    let got = backlogged(&mut all, [1500, 500, 500], ms(10_000));
    let bytes: u64 = got.iter().sum();
    assert!(bytes.abs_diff(1_125_000) <= 1500, "{bytes} bytes in 10 s at 900 kb/s");
    assert_eq!(all.packets(), 4, "one line with room for five, of which one has just left");
    let arrival = packet(0, 0, 500, ms(10_000));
    let mut any = AnyDiscipline::Shaper(Box::new(all));
    assert!(!any.is_full(&arrival));
    any.enqueue(ms(10_000), arrival);
    assert!(any.is_full(&arrival));
    assert!(
        every_discipline().iter().all(|params| !params.begin(&ROLE).is_full(&arrival)),
        "they have no bound of their own"
    );
}

#[test]
fn one_bucket_shares_by_weight_and_bytes() {
    let mut fair = shaper(false, Some(900), None, [1; 3]);
    let got = backlogged(&mut fair, [1500, 400, 1000], ms(10_000));
    for bytes in got {
        assert!(bytes.abs_diff(375_000) <= 3000, "{got:?}");
    }
    let mut weighted = shaper(false, Some(900), None, [1, 2, 3]);
    let got = backlogged(&mut weighted, [1000, 1000, 1000], ms(10_000));
    for (bytes, share) in got.into_iter().zip([187_500, 375_000, 562_500]) {
        assert!(u64::abs_diff(bytes, share) <= 6000, "{got:?}");
    }
}

#[test]
fn own_buckets_do_not_share_unused_rate() {
    let mut each = shaper(false, None, Some(300), [1; 3]);
    each.set_rates(ms(0), Rate::default(), &[kbps(300), kbps(100), kbps(600)]);
    let got = backlogged(&mut each, [1500, 300, 1000], ms(10_000));
    for (bytes, share) in got.into_iter().zip([375_000, 125_000, 750_000]) {
        assert!(u64::abs_diff(bytes, share) <= 1500, "{got:?}");
    }
    // The others are silent: a class has its own rate all the same.
    let mut alone = shaper(false, None, Some(300), [1; 3]);
    (0..5).for_each(|id| alone.enqueue(ms(0), packet(id, 0, 1500, ms(0))));
    assert!(alone.dequeue(ms(0), &mut Vec::new()).is_some());
    assert!(alone.dequeue(ms(0), &mut Vec::new()).is_none());
    assert_eq!(alone.next_ready(ms(0)), ms(40));
}

#[test]
fn new_rate_holds_for_head_packet() {
    let mut each = shaper(false, None, Some(300), [1; 3]);
    (0..3).for_each(|id| each.enqueue(ms(0), packet(id, 0, 1500, ms(0))));
    while each.dequeue(ms(0), &mut Vec::new()).is_some() {}
    assert_eq!(each.next_ready(ms(0)), ms(40));
    each.set_rates(ms(10), Rate::default(), &[kbps(900), kbps(1), kbps(1)]);
    assert_eq!(each.next_ready(ms(10)), ms(20), "a quarter had come, and the rest comes three times as fast");
    each.set_rates(ms(10), Rate::default(), &[Rate::default(); 3]);
    assert_eq!(each.next_ready(ms(10)), Instant::NEVER);
}

#[test]
fn classes_count_arrivals_departures_and_drops() {
    let mut all = shaper(true, Some(120), None, [1; 3]);
    for id in 0..5 {
        let arrival = packet(id, if id < 3 { 0 } else { 2 }, 1500, ms(0));
        all.enqueue(ms(0), arrival);
        assert_eq!(all.dequeue(ms(0), &mut Vec::new()).is_some(), id == 0, "the depth is one packet");
    }
    // One has passed, four wait, one more has room.
    all.enqueue(ms(0), packet(5, 4, 200, ms(0)));
    let refused = packet(6, 2, 1500, ms(1));
    assert!(all.is_full(&refused) && all.evict(&refused).is_none());
    all.refused(&refused);
    let zero = ClassCounts::default();
    let views: Vec<ClassView> = all.counts().iter().map(|counts| counts.since(&zero)).collect();
    let of = |view: &ClassView| {
        (view.arrived.packets, view.served.packets, view.dropped.packets, view.backlog.packets, view.held)
    };
    assert_eq!(
        views.iter().map(of).collect::<Vec<_>>(),
        [(3, 1, 0, 2, Some(2)), (3, 0, 1, 2, Some(2)), (1, 0, 0, 1, Some(1))]
    );
    assert_eq!(views[2].backlog.bytes, 200);
    let told = all.counts()[1].counters();
    let arrived = Volume { packets: 3, bytes: 4500 };
    assert_eq!((told.arrived, told.dropped_bytes), (Some(Counted::wide(arrived)), Some(Count::Wide(1500))));
}

/// A packet is held that finds one before it in its line, or anywhere where one bucket is for all, or too few tokens.
#[test]
fn packets_are_held_behind_others_or_for_tokens() {
    for (total, each, held) in [(None, Some(300), [1, 0]), (Some(900), None, [1, 1])] {
        let mut lines = shaper(false, total, each, [1; 3]);
        for (id, way) in [(0, 0), (1, 0), (2, 2)] {
            lines.enqueue(ms(0), packet(id, way, 500, ms(0))); // tokens for three are there
        }
        assert_eq!([0, 1].map(|class| lines.counts()[class].held), held, "{total:?} {each:?}");
        while lines.dequeue(ms(0), &mut Vec::new()).is_some() {}
        assert_eq!(lines.packets(), 0);
        let before = lines.counts()[0].held;
        lines.enqueue(ms(0), packet(3, 0, 1500, ms(0)));
        assert_eq!(lines.counts()[0].held, before + 1, "its tokens are spent");
    }
}

/// Asked in vain, a shaper goes on where it was.
#[test]
fn asking_in_vain_moves_no_turn() {
    let mut asked = shaper(false, None, Some(300), [1; 3]);
    (0..12).for_each(|id| asked.enqueue(ms(0), packet(id, id % 3 * 2, 1500, ms(0))));
    while asked.dequeue(ms(0), &mut Vec::new()).is_some() {}
    let mut unasked = asked.clone();
    assert_eq!(asked.dequeue(ms(1), &mut Vec::new()), None);
    let order = |shaper: &mut Shaper| [(); 3].map(|()| shaper.dequeue(ms(40), &mut Vec::new()));
    assert_eq!(order(&mut asked), order(&mut unasked));
}

#[test]
fn turns_may_change_where_lines_have_any() {
    let turns = [3000, 1500, 1500].map(Bytes::new);
    let mut lines = shaper(false, Some(900), None, [1; 3]);
    lines.set_turns(&turns);
    let got = backlogged(&mut lines, [1000, 1000, 1000], ms(10_000));
    for (bytes, share) in got.into_iter().zip([562_500, 281_250, 281_250]) {
        assert!(u64::abs_diff(bytes, share) <= 6000, "{got:?}");
    }
    let mut shared = shaper(true, Some(900), None, [1; 3]);
    let before = format!("{shared:?}");
    shared.set_turns(&turns);
    assert_eq!(format!("{shared:?}"), before, "a line for all has none");
}

#[test]
fn discipline_drops_count_for_class() {
    let codel = DisciplineParams::Fair(FairParams::fq_codel());
    let bucket = TokenBucket::new(kbps(120), Bytes::new(1500));
    let line = Line::new(codel.begin(&ROLE), 100, None, Bytes::new(1500));
    let mut all = Shaper::new(vec![0, NO_CLASS, 1, NO_CLASS], 2, vec![line], Some(bucket));
    (0..60).for_each(|id| all.enqueue(ms(0), packet(id, if id % 3 == 0 { 2 } else { 0 }, 1500, ms(0))));
    let (mut now, mut served, mut dropped) = (ms(0), 0, Vec::new());
    while all.packets() > 0 {
        served += u32::from(all.dequeue(now, &mut dropped).is_some());
        now = all.next_ready(now).max(now);
    }
    assert!(!dropped.is_empty(), "six seconds are more than CoDel allows");
    assert_eq!(served as usize + dropped.len(), 60);
    let counted: u64 = all.counts().iter().map(|class| class.dropped.packets).sum();
    assert_eq!((counted, all.bytes()), (dropped.len() as u64, 0));
    assert!(all.counts()[1].served.packets >= 20 - all.counts()[1].dropped.packets);
}

/// At 800 kb/s the tokens of 100 ms are 10 000 bytes; at 80 kb/s two packets are more.
#[test]
fn bucket_by_time_holds_two_packets_at_least() {
    let mut bucket = TokenBucket::by_rate(kbps(800), Bytes::new(3000), Duration::from_millis(100));
    let passes = |bucket: &mut TokenBucket, now| {
        let size = Bytes::new(1000);
        let mut passed = 0;
        while bucket.ready_at(size) <= now {
            bucket.take(now, size);
            passed += 1;
        }
        passed
    };
    assert_eq!(passes(&mut bucket, ms(0)), 10);
    // It is full again, and shrinks with its rate; tokens above its depth are gone.
    bucket.set_rate(ms(100), kbps(80));
    assert_eq!(passes(&mut bucket, ms(100)), 3);
    // It grows with it, and fills as its tokens come.
    bucket.set_rate(ms(100), kbps(8_000));
    assert_eq!(passes(&mut bucket, ms(110)), 10);
    assert_eq!(passes(&mut bucket, ms(1_000)), 100);
}
