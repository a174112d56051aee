use super::*;
use crate::conformance::drift;
use crate::connections::IimdParams;
use crate::connections::iimd::connections_drift;
use evenair_units::{Bytes, Instant, Volume};
use proptest::prelude::*;

const ROLE: FlowRole = FlowRole { payload: Bytes::new(1000) };

/// A path: packets delivered in an interval and the share sent again, of so many connections.
type Path = fn(u32) -> (f64, f64);

/// Each connection gets 100 packets, independent of the others; 2 % are lost.
const BY_CHANCE: Path = |n| (100.0 * f64::from(n), 0.02);
/// 1000 packets in all, and losses that grow with the square of the connections.
const POLICER: Path = |n| (1000.0, 0.005 * f64::from(n * n));

/// A short queue for 1000 packets that one other TCP shares: shares by connections, losses by their square.
const SHARED: Path = |n| (1000.0 * f64::from(n) / f64::from(n + 1), 0.002 * f64::from((n + 1) * (n + 1)));

fn see(path: Path, open: u32, ms: u64) -> FlowView {
    let (packets, share) = path(open);
    let packets = packets as u64;
    let retransmitted = (packets as f64 * share) as u64;
    FlowView {
        interval: Duration::from_secs(20),
        round_trip: Some(Duration::from_millis(ms)),
        round_trip_of_probes: Some(Duration::from_millis(ms)), // E-MULTCP's
        delivered: Volume { packets, bytes: packets * 1000 },
        sent: packets + retransmitted,
        retransmitted,
        ..FlowView::default()
    }
}

/// How many connections it kept over time.
fn run(law: &mut Guarded, path: Path, intervals: u32) -> Vec<u32> {
    (0..intervals).map(|_| law.on_interval(&see(path, law.open, 100))).collect()
}

fn begin() -> Guarded {
    GuardedParams::default().begin(&ROLE)
}

#[test]
fn losses_by_chance_let_it_grow_as_e_multcp() {
    let mut plain = IimdParams::cz06().begin(&ROLE);
    let theirs: Vec<u32> = (0..100).map(|_| plain.on_interval(&see(BY_CHANCE, 1, 100))).collect();
    let ours = run(&mut begin(), BY_CHANCE, 100);
    assert!(ours[99] >= 6, "{ours:?}");
    // A connection comes a few intervals later at most.
    let reached = |of: &[u32], n| of.iter().position(|&k| k >= n).unwrap();
    for n in 2..=6 {
        assert!(reached(&ours, n) <= reached(&theirs, n) + 2 * n as usize, "{n}: {ours:?} {theirs:?}");
    }
}

#[test]
fn a_policer_and_a_short_queue_keep_one() {
    for path in [POLICER, SHARED] {
        let kept = run(&mut begin(), path, 1000);
        let mean = f64::from(kept.iter().sum::<u32>()) / 1000.0;
        assert!(mean < 1.05, "{mean}");
        assert!(kept.iter().all(|&n| n <= 2));
    }
}

#[test]
fn trial_settles_one_interval_and_lasts_two() {
    // One connection for two intervals beside one that settles; a second for as many, which brings nothing at a policer.
    let policed =
        run(&mut GuardedParams { increase: 1.0, ..GuardedParams::default() }.begin(&ROLE), POLICER, 7);
    assert_eq!(policed, [1, 1, 2, 2, 2, 1, 1], "a whole connection is added at once where it may be");
}

/// So many bytes in so many seconds, of so many segments sent that many again.
fn tally(bytes: f64, seconds: f64, sent: f64, again: f64) -> Tally {
    Tally { intervals: TICKS, seconds, bytes, sent, again }
}

#[test]
fn count_halves_once_it_is_twice_as_long() {
    let mut tally = Tally::default();
    let view = see(|_| (100.0, 0.1), 1, 100);
    for intervals in 1..=4 {
        tally.add(&view);
        assert_eq!((tally.intervals, tally.is_full()), (intervals, intervals >= 2));
    }
    assert_eq!(tally, Tally { intervals: 4, ..self::tally(400e3, 80.0, 440.0, 40.0) });
    // Half of the four, and one.
    tally.add(&view);
    assert_eq!(tally, Tally { intervals: 3, ..self::tally(300e3, 60.0, 330.0, 30.0) });
}

#[test]
fn connections_ended_by_congestion_were_useful() {
    // `keep` of a half times m/k keeps m beside k: half of that rise is required, 0.25·m/k.
    let useful = |k, added, bytes| {
        let law = GuardedParams { keep: 0.5, ..GuardedParams::default() }.begin(&ROLE);
        let second = FlowView {
            interval: Duration::from_secs(1),
            delivered: Volume { packets: 1, bytes },
            ..FlowView::default()
        };
        // Twice as long, so that the rates and not the bytes are compared.
        law.was_of_use(&tally(8000.0, 2.0, 10.0, 0.0), &second, (k, added))
    };
    assert_eq!([4999, 5000].map(|bytes| useful(1, 1, bytes)), [false, true]); // a quarter
    assert_eq!([4499, 4500].map(|bytes| useful(4, 2, bytes)), [false, true]); // 0.25 · 2/4
    assert_eq!([6999, 7000].map(|bytes| useful(1, 3, bytes)), [false, true]); // 0.25 · 3
}

#[test]
fn connections_earn_their_place_by_goodput() {
    let earned = |k, added, bytes| {
        let law = GuardedParams { keep: 0.5, ..GuardedParams::default() }.begin(&ROLE);
        law.earned(&tally(8000.0, 2.0, 10.0, 0.0), &tally(bytes, 1.0, 10.0, 0.0), (k, added))
    };
    assert_eq!([5999.0, 6000.0].map(|bytes| earned(1, 1, bytes)), [false, true]); // a half
    assert_eq!([4999.0, 5000.0].map(|bytes| earned(4, 2, bytes)), [false, true]); // 0.5 · 2/4
}

#[test]
fn chance_explains_two_deviations_of_losses() {
    let law = begin();
    let lost = |(sent, again), (more_sent, more_again)| {
        law.more_is_lost(&tally(1.0, 1.0, sent, again), &tally(1.0, 1.0, more_sent, more_again))
    };
    // Two shares of one probability p differ by √(p(1/n + 1/m)) (Poisson's counts): 200 of 10,000 and 467 or 468 of 20,000.
    let fewer = (10_000.0, 200.0);
    for (again, differs) in [(467.0, false), (479.0, true)] {
        let p: f64 = (200.0 + again) / 30_000.0;
        let deviation = libm::sqrt(p * (1.0 / 10_000.0 + 1.0 / 20_000.0));
        let excess = again / 20_000.0 - 0.02;
        assert_eq!(excess > 2.0 * deviation, differs);
        assert_eq!(lost(fewer, (20_000.0, again)), differs, "{again}");
    }
    // Of so many that chance is nothing, `rise` = 15 % of the share counts: 2.3 %.
    let fewer = (1e6, 20_000.0);
    assert_eq!([45_900.0, 46_100.0].map(|again| lost(fewer, (2e6, again))), [false, true]);
}

#[test]
fn congestion_ends_a_trial_that_it_leaves_open() {
    let full = tally(1000.0, 1.0, 10.0, 0.0);
    let congested = |trial| {
        let mut law = Guarded { connections: 2.4, open: 2, settling: false, trial, ..begin() };
        assert_eq!(law.on_interval(&see(BY_CHANCE, 2, 100)), 2);
        law.on_interval(&see(BY_CHANCE, 2, 150));
        law
    };
    // (20): at most 0.75·2.5 + 0.25/2.4 = 1.98 are still two; the counts beside one are of no more use.
    let law = congested(Trial::Fewer(1, full));
    assert_eq!((law.open, law.trial, law.settling), (2, Trial::None, true));
    assert_eq!(law.tally, Tally::default());
}

#[test]
fn rests_double_to_128_intervals() {
    let mut law = begin();
    let rests = [(); 5].map(|()| {
        law.rest();
        law.resting
    });
    assert_eq!(rests, [16, 32, 64, 128, 128]);
}

#[test]
fn parameters_out_of_range_are_refused() {
    type Change = fn(&mut GuardedParams, f64);
    let refused = |change: Change, value: f64| {
        let mut params = GuardedParams::default();
        change(&mut params, value);
        params.validated().err().map(|bad| bad.name)
    };
    let cases: [(&str, Change, &[f64], &[f64]); 8] = [
        ("beta", |p, x| p.decrease = x, &[0.01, 0.99], &[0.0, 1.0]),
        ("alpha", |p, x| p.increase = x, &[0.01, 1.0], &[0.0, 1.01]),
        ("keep", |p, x| p.keep = x, &[0.01, 1.0], &[0.0, 1.01]),
        ("rise", |p, x| p.rise = x, &[0.0, 3.0], &[-0.01, f64::INFINITY]),
        ("retransmitted_max", |p, x| p.retransmitted_max = x, &[0.01, 1.0], &[0.0, 1.01]),
        ("patience", |p, x| p.patience = x as u32, &[1.0, 128.0], &[0.0, 129.0]),
        ("start", |p, x| p.start = x as u32, &[1.0, 1000.0], &[0.0, 1001.0]),
        ("max", |p, x| p.connections_max = x as u32, &[1.0, 1000.0], &[0.0, 1001.0]),
    ];
    for (name, change, allowed, not) in cases {
        assert!(allowed.iter().all(|&value| refused(change, value).is_none()), "{name}");
        assert!(not.iter().all(|&value| refused(change, value) == Some(name)), "{name}");
    }
}

/// The law with trials that double, on a path that loses by chance.
fn doubling() -> Guarded {
    GuardedParams { doubling: true, ..GuardedParams::default() }.begin(&ROLE)
}

#[test]
fn doubling_trials_open_one_an_interval() {
    let kept = run(&mut doubling(), BY_CHANCE, 60);
    // Two intervals measure one connection; then come trials of one, of two, four and eight, each an interval
    // apart, with two to judge by.
    let begins = [1, 1, 2, 2, 2, 3, 4, 4, 4, 5, 6, 7, 8, 8, 8, 9];
    let at_two = kept.iter().position(|&n| n == 2).unwrap() - 2;
    assert_eq!(kept[at_two..at_two + begins.len()], begins, "{kept:?}");
    assert!(kept.windows(2).all(|pair| pair[1] <= pair[0] + 1), "{kept:?}");
    assert_eq!(kept[40], 16, "{kept:?}");
    assert!(run(&mut begin(), BY_CHANCE, 60)[40] <= 5, "it takes E-MULTCP far longer");
}

#[test]
fn trials_that_double_end_where_the_path_is_full() {
    // Room for six: more connections bring losses, and no goodput.
    let full: Path = |n| {
        let excess = f64::from(n.saturating_sub(6));
        (100.0 * f64::from(n.min(6)), 0.02 + 0.02 * excess)
    };
    let mut law = doubling();
    let kept: Vec<u32> = (0..400).map(|_| law.on_interval(&see(full, law.open, 100))).collect();
    assert!(kept.iter().all(|&n| n <= 8), "{kept:?}");
    let late = &kept[100..];
    let mean = f64::from(late.iter().sum::<u32>()) / late.len() as f64;
    assert!((4.5..=6.5).contains(&mean), "{mean} {kept:?}");
}

#[test]
fn policer_and_short_queue_stop_doubling_trials() {
    for path in [POLICER, SHARED] {
        let kept = run(&mut doubling(), path, 1000);
        let mean = f64::from(kept.iter().sum::<u32>()) / 1000.0;
        assert!(mean < 1.05, "{mean}");
        assert!(kept.iter().all(|&n| n <= 2));
    }
}

#[test]
fn second_connection_ended_by_delay_rests() {
    for params in [GuardedParams::default(), GuardedParams { doubling: true, ..GuardedParams::default() }] {
        let mut law = params.begin(&ROLE);
        // One alone fills the path: a second brings delay, and 600 intervals see few of them.
        let kept: Vec<u32> = (0..600)
            .map(|_| law.on_interval(&see(|_| (1000.0, 0.0), 1, if law.open > 1 { 150 } else { 100 })))
            .collect();
        let trials = kept.iter().filter(|&&n| n > 1).count();
        assert!((3..=12).contains(&trials), "{trials}");
    }
}

#[test]
fn one_idle_two_delayed_alternates() {
    // One alone has two thirds of the path; a second fills it, and its queue.
    let path: Path = |n| (if n > 1 { 900.0 } else { 660.0 }, 0.01);
    let mut law = begin();
    let kept: Vec<u32> = (0..600)
        .map(|_| law.on_interval(&see(path, law.open, if law.open > 1 { 150 } else { 100 })))
        .collect();
    let trials = kept.iter().filter(|&&n| n > 1).count();
    assert!(trials > 60, "{trials}");
}

/// The law with so many remembered, and trials that double.
fn remembering(start: u32) -> Guarded {
    GuardedParams { doubling: true, start, ..GuardedParams::default() }.begin(&ROLE)
}

#[test]
fn remembered_number_is_tried_with_half() {
    let mut law = remembering(8);
    assert_eq!(law.at_start(), 8);
    let kept = run(&mut law, BY_CHANCE, 60);
    // One interval to settle and two to measure eight, the last of which lowers the number to four; the same
    // for those; then it grows on.
    assert_eq!(kept[..9], [8, 8, 4, 4, 4, 8, 8, 8, 9], "{kept:?}");
    assert!(kept[6..].iter().all(|&n| n >= 8), "{kept:?}");
    assert!(kept[30] > 12, "trials double from there: {kept:?}");
}

#[test]
fn outdated_remembered_number_falls_soon() {
    for path in [POLICER, SHARED] {
        let kept = run(&mut remembering(16), path, 1000);
        assert!(kept.iter().position(|&n| n == 1).is_some_and(|at| at <= 15), "{kept:?}");
        let late = &kept[15..];
        assert!(late.iter().all(|&n| n <= 2), "{kept:?}");
    }
    // A path that one alone fills: more bring delay, and (20) takes them back.
    let mut law = remembering(16);
    let kept: Vec<u32> = (0..20)
        .map(|_| law.on_interval(&see(|_| (1000.0, 0.0), 1, if law.open > 1 { 150 } else { 100 })))
        .collect();
    assert_eq!(kept[19], 1, "{kept:?}");
    // No more are begun with than may be there.
    assert_eq!(GuardedParams { start: 40, ..GuardedParams::default() }.begin(&ROLE).at_start(), 16);
}

#[test]
fn extra_connections_return_at_a_policer() {
    let mut law = begin();
    run(&mut law, BY_CHANCE, 100);
    let kept = run(&mut law, POLICER, 100);
    assert_eq!(kept[99], 1, "{kept:?}");
}

#[test]
fn connections_that_earn_their_place_return() {
    let mut law = begin();
    let has_four = (0..200).any(|_| {
        law.on_interval(&see(BY_CHANCE, law.open, 100));
        law.open >= 4 && law.trial == Trial::None && law.tally.is_full()
    });
    assert!(has_four, "{law:?}");
    // Bad luck: the fifth connection brings nothing while it is judged.
    let tries_five = (0..200).any(|_| law.on_interval(&see(BY_CHANCE, 4, 100)) == 5);
    assert!(tries_five && law.trial != Trial::None, "{law:?}");
    let kept: Vec<u32> = (0..3).map(|_| law.on_interval(&see(BY_CHANCE, 4, 100))).collect();
    assert_eq!(kept, [5, 5, 3], "it looks below");
    assert_eq!(run(&mut law, BY_CHANCE, 3), [3, 3, 4]);
    assert!(law.resting > 0);
}

#[test]
fn delay_and_heavy_loss_shrink_it_by_beta() {
    let mut law = begin();
    run(&mut law, BY_CHANCE, 100);
    let before = law.connections;
    law.on_interval(&see(BY_CHANCE, law.open, 150));
    assert!((law.connections - (0.75 * before + 0.25 / before)).abs() < 1e-12);
    let before = law.connections;
    law.on_interval(&see(|_| (100.0, 0.3), law.open, 100));
    assert!((law.connections - (0.75 * before + 0.25 / before)).abs() < 1e-12);
}

#[test]
fn idle_intervals_change_nothing() {
    let mut law = begin();
    run(&mut law, BY_CHANCE, 50);
    let before = law.clone();
    let idle = FlowView { interval: Duration::from_secs(20), ..FlowView::default() };
    (0..10).for_each(|_| {
        law.on_interval(&idle);
    });
    assert_eq!(law, before);
}

#[test]
fn longer_path_stops_growth_for_a_window_at_most() {
    let grows_again = |told: bool| {
        let mut law = begin();
        run(&mut law, BY_CHANCE, 60);
        let at = |i: u64| Instant::ZERO + Duration::from_secs(20 * i);
        (0..100).position(|i| {
            let view = FlowView {
                now: at(100 + i),
                route_changed: Some(told && i == 0),
                ..see(BY_CHANCE, law.open, 300)
            };
            law.on_interval(&view);
            law.delay.least() == Some(Duration::from_millis(300))
        })
    };
    assert_eq!(grows_again(true), Some(1));
    // 600 s are 30 intervals.
    assert!(grows_again(false).is_some_and(|intervals| intervals <= 30));
}

#[test]
fn growth_and_retreat_have_e_multcps_drift() {
    let mut law = begin();
    run(&mut law, BY_CHANCE, 4);
    law.resting = 0;
    let gain = IimdParams::cz06().gain();
    let per_interval = |bit| 20.0 * connections_drift(gain, law.connections, bit);
    let grow = |law: &mut Guarded| {
        law.on_interval(&see(BY_CHANCE, law.open, 100));
    };
    let shrink = |law: &mut Guarded| {
        law.on_interval(&see(BY_CHANCE, law.open, 150));
    };
    if law.connections + 0.25 < f64::from(law.open) + 0.499 {
        drift(&law, |law| law.connections, &[(1.0, &grow)], per_interval(0.0), 1e-12);
    }
    drift(&law, |law| law.connections, &[(1.0, &shrink)], per_interval(1.0), 1e-12);
}

proptest! {
    /// For any shares of a policed path, its share is one connection's, but for the trials.
    #[test]
    fn no_share_of_a_full_path_is_gained(lost in 0.0f64..0.1, others in 1u32..3, packets in 300f64..20_000.0) {
        let mut law = begin();
        let (mut sum, mut excess) = (0.0, 0.0);
        for _ in 0..1000 {
            let all = f64::from(law.open + others);
            let one = 1.0 + f64::from(others);
            let got = (packets * f64::from(law.open) / all) as u64;
            let again = (got as f64 * (lost + 0.002) * (all / one) * (all / one)) as u64;
            let delivered = Volume { packets: got, bytes: got * 1000 };
            sum += 1.0;
            excess += f64::from(law.open) / all * one - 1.0;
            law.on_interval(&FlowView {
                delivered, sent: got + again, retransmitted: again, ..see(BY_CHANCE, 1, 100)
            });
        }
        prop_assert!(excess / sum < 0.05, "{} above one TCP's share", excess / sum);
    }
}

/// A tally of two intervals in which so many bytes arrived.
fn two(bytes: f64) -> Tally {
    Tally { intervals: TICKS, seconds: 40.0, bytes, sent: 1000.0, again: 0.0 }
}

/// An interval of 20 s in which so many packets of 1000 bytes arrived.
fn interval(packets: u64) -> FlowView {
    let delivered = Volume { packets, bytes: packets * 1000 };
    FlowView { delivered, sent: packets, retransmitted: 0, ..see(BY_CHANCE, 1, 100) }
}

#[test]
fn it_runs_every_twenty_seconds() {
    assert_eq!(begin().interval(), Duration::from_secs(20));
}

#[test]
fn repeated_share_at_its_bound_is_no_congestion() {
    let params = GuardedParams { retransmitted_max: 0.25, ..GuardedParams::default() };
    let reason = |retransmitted| {
        let mut law = params.begin(&ROLE);
        law.on_interval(&FlowView { sent: 1000, retransmitted, ..interval(1000) });
        law.reason()
    };
    assert_eq!(reason(250), Reason::Uncongested);
    assert_eq!(reason(251), Reason::Lossy);
}

/// [CZ06] eq. (20): 0.75·4 + 0.25/4 = 3.06, of which 3 are open.
#[test]
fn congestion_closes_connections_without_trial() {
    let mut law = Guarded { connections: 4.0, open: 4, remembers: true, ..begin() };
    law.give_way(&interval(1000));
    assert_eq!((law.open, law.remembers), (3, true));
    let mut law = Guarded { connections: 1.4, open: 1, remembers: true, ..begin() };
    law.give_way(&interval(1000));
    assert!(!law.remembers, "a single connection is all that is known");
}

/// Beside one connection a second has to bring half of 55 % more, 27.5 %, where its trial ends in congestion.
#[test]
fn congested_trial_needs_half_of_the_rise() {
    let resting = |packets| {
        let trial = Trial::More(1, two(2_000_000.0));
        let mut law = Guarded { connections: 1.5, open: 2, trial, ..begin() };
        law.give_way(&interval(packets));
        (law.open, law.resting)
    };
    assert_eq!(resting(1200), (1, 16), "20 %");
    assert_eq!(resting(1300), (1, 0), "30 %");
}

/// 0.55 of 1/k.
#[test]
fn trial_keeps_connections_with_their_share() {
    let judged = |bytes| {
        let trial = Trial::More(1, two(1e6));
        let mut law = Guarded { connections: 1.5, open: 2, trial, tally: two(bytes), ..begin() };
        (law.judge(), law.open, law.resting)
    };
    assert_eq!(judged(1.4e6), (false, 1, 16));
    assert_eq!(judged(1.6e6), (true, 2, 0));
}

#[test]
fn several_at_once_that_fail_go_together() {
    let trial = Trial::More(4, two(1e6));
    let mut law = Guarded { connections: 6.0, open: 6, trial, tally: two(1e6), stride: 4, ..begin() };
    assert!(!law.judge());
    assert_eq!((law.open, law.stride, law.trial), (2, 0, Trial::None));
    assert!((law.connections - 2.0).abs() < 1e-12);
}

#[test]
fn those_that_were_missed_come_back() {
    let (trial, tally) = (Trial::Fewer(2, two(2e6)), two(1e6));
    let open = |remembers, stride| {
        let mut law = Guarded { connections: 3.0, open: 3, trial, tally, remembers, stride, ..begin() };
        assert!(!law.judge());
        (law.open, law.connections, law.resting)
    };
    assert_eq!(open(false, 0), (5, 5.0, 16));
    assert_eq!(open(true, 0), (5, 5.0, 0));
    assert_eq!(open(true, 1), (5, 5.499, 0));
}

#[test]
fn half_of_the_remembered_number_is_tried() {
    let mut law = GuardedParams { start: 8, ..GuardedParams::default() }.begin(&ROLE);
    law.try_fewer(two(1e6));
    assert_eq!((law.open, law.connections), (4, 4.0));
    law.try_fewer(two(1e6));
    assert_eq!((law.open, law.connections), (2, 2.0));
}

#[test]
fn reason_names_the_state() {
    let more = Trial::More(1, two(1e6));
    let fewer = Trial::Fewer(1, two(1e6));
    let reason = |change: &dyn Fn(&mut Guarded), delayed| {
        let mut law = Guarded { reason: Reason::Uncongested, ..begin() };
        change(&mut law);
        law.explain(delayed);
        law.reason
    };
    let no = Some(false);
    assert_eq!(reason(&|law| law.trial = more, no), Reason::OnTrial);
    assert_eq!(reason(&|law| law.trial = Trial::Remembered, no), Reason::Begins);
    assert_eq!(reason(&|law| law.trial = fewer, no), Reason::FewerTried);
    let remembered = |law: &mut Guarded| (law.trial, law.remembers) = (fewer, true);
    assert_eq!(reason(&remembered, no), Reason::RememberedTried);
    assert_eq!(reason(&|law| law.resting = 2, no), Reason::Resting);
    assert_eq!(reason(&|_| (), None), Reason::Unsampled);
    assert_eq!(reason(&|law| law.open = 16, no), Reason::Bounded);
    assert_eq!(reason(&|law| law.open = 15, no), Reason::Uncongested);
}

/// Of 100 segments each, 0 and 4 lost differ by twice the deviation of the counts, √4, and no more; of 1000
/// each, 200 are twice the 100 before, and no more.
#[test]
fn losses_at_their_bounds_have_not_risen() {
    let lost = |sent, again| Tally { sent, again, ..two(1e6) };
    let law = begin();
    assert!(!law.more_is_lost(&lost(100.0, 0.0), &lost(100.0, 4.0)));
    assert!(law.more_is_lost(&lost(100.0, 0.0), &lost(100.0, 5.0)));
    let law = GuardedParams { rise: 1.0, ..GuardedParams::default() }.begin(&ROLE);
    assert!(!law.more_is_lost(&lost(1000.0, 100.0), &lost(1000.0, 200.0)));
    assert!(law.more_is_lost(&lost(1000.0, 100.0), &lost(1000.0, 201.0)));
}
