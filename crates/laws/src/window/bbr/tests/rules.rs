//! The rules of Linux's `tcp_bbr.c` one by one, each test with the name of its function there.

use super::*;

fn at(ms: u64) -> Instant {
    Instant::ZERO + Duration::from_millis(ms)
}

/// A law that has found 1000 segments/s and 50 ms, in a phase of bandwidth probing that began at zero: the path holds 50.
fn probing(phase: u8) -> Bbr {
    let mut law = bbr();
    law.path.bandwidth.add(0, BANDWIDTH_ROUNDS, 1000.0);
    (law.least, law.is_full, law.pace) = (Some(Duration::from_millis(50)), true, Some(990.0));
    law.mode = Mode::ProbeBandwidth { phase, since: Instant::ZERO };
    law
}

/// One segment arrives, with a rate sample of 1000 segments/s that began when so many had arrived.
fn arrival(now: Instant, total: u64, before: u64) -> Delivery {
    let rate =
        RateSample { before, segments: 50, interval: Duration::from_millis(50), ..RateSample::default() };
    Delivery {
        now,
        segments: 1,
        total,
        flight_before: 50,
        flight: 49,
        rate: Some(rate),
        ..Delivery::default()
    }
}

fn is_near(a: f64, b: f64) -> bool {
    (a - b).abs() < 1e-9
}

/// `bbr_high_gain` is 2885/1000.
#[test]
fn parameters_are_checked_and_linux_has_its_gain() {
    assert!((BbrParams::linux().startup_gain - 2.885).abs() < 1e-3);
    for (startup_gain, valid) in [(1.0, false), (1.01, true), (10.0, true), (10.1, false)] {
        let checked = BbrParams { startup_gain, ..BbrParams::linux() }.validated();
        assert_eq!(checked.is_ok(), valid, "{startup_gain}");
    }
}

/// `bbr_min_tso_segs`, `bbr_tso_segs_goal`: one segment below 1.2 Mb/s, which are 102.74 of 1460 bytes a
/// second, else two; the segments that leave in 1/1024 s; no more than 64 KiB.
#[test]
fn burst_grows_with_the_pace() {
    let mut law = bbr();
    assert!(is_near(law.burst(), 1.0), "no pace yet");
    let paces =
        [(102.0, 1.0), (PAIRS_FROM_PPS, 2.0), (103.0, 2.0), (3071.0, 2.0), (3072.0, 3.0), (1e6, 44.0)];
    for (pace, burst) in paces {
        law.pace = Some(pace);
        assert!(is_near(law.burst(), burst), "{pace}");
    }
}

/// `bbr_quantization_budget`: `cwnd += 3 * bbr_tso_segs_goal(sk)`, rounded up to even, and 2 more in phase 0 of `PROBE_BW`.
#[test]
fn room_is_three_bursts_even_and_two_for_probe() {
    for (phase, pace, room) in [(1, 100.0, 14.0), (1, 990.0, 18.0), (1, 5120.0, 26.0), (0, 100.0, 16.0)] {
        let mut law = probing(phase);
        law.pace = Some(pace);
        assert!(is_near(law.with_room(11.0), room), "{phase} {pace}: {}", law.with_room(11.0));
    }
}

/// `bbr_packets_in_net_at_edt`: five of those under way arrive in the 5 ms before the next one leaves, which counts while the gain is
/// above one.
#[test]
fn flight_is_counted_when_the_next_leaves() {
    let law = probing(2);
    let delivery = Delivery { paced_until: at(5), ..Delivery::default() };
    for (gain, segments) in [(1.25, 17.0), (1.0, 15.0), (0.75, 15.0)] {
        assert!(is_near(law.in_network(20, &delivery, gain), segments), "{gain}");
    }
    assert!(is_near(law.in_network(3, &delivery, 1.0), 0.0));
}

/// `bbr_update_bw`: a sample that the application limited counts where it is no less than the greatest.
/// Samples that a round-trip probe held back are marked so.
#[test]
fn limited_samples_count_if_they_are_greater() {
    let limited = |law: &mut Bbr, interval_ms| {
        let interval = Duration::from_millis(interval_ms);
        let sample =
            RateSample { segments: 50, interval, application_limited: true, ..RateSample::default() };
        law.learn_rate(&arrival(at(1), 50, 0), Some(sample));
        law.path.bandwidth.greatest()
    };
    let mut law = bbr();
    law.path.bandwidth.add(0, BANDWIDTH_ROUNDS, 1000.0);
    assert!(is_near(limited(&mut law, 40), 1250.0));
    (0..30).for_each(|_| assert!(is_near(limited(&mut law, 50), 1250.0), "less, however long"));
    law.held_back = Some((5, 9));
    let sample = |before| RateSample { before, ..RateSample::default() };
    let held = [4, 5, 9, 10].map(|before| law.marked(sample(before)).application_limited);
    assert_eq!(held, [false, true, true, false]);
    assert!(law.marked(RateSample { application_limited: true, ..sample(20) }).application_limited);
}

/// `bbr_is_next_cycle_phase`: a phase lasts longer than the least round trip. Probing goes on until 5/4 of
/// the path's content is under way, with room (63 + 6, even, and 2: 72), or a loss; draining may end when no
/// more than the content is (50 + 6).
#[test]
fn phases_end_by_time_and_by_flight() {
    let least = Instant::ZERO + Duration::from_millis(50);
    let later = least + Duration::from_nanos(1);
    let (few, many) = (10, 100);
    for (phase, now, lost, under_way, ends) in [
        (2, least, 0, few, false),
        (2, least, 1, many, false),
        (2, later, 0, many, true),
        (0, least, 1, many, false),
        (0, later, 0, few, false),
        (0, later, 0, 69, false),
        (0, later, 0, 70, true), // and the two that leave next
        (0, later, 1, few, true),
        (1, least, 0, 57, false),
        (1, least, 0, 56, true),
        (1, later, 0, many, true),
    ] {
        let mut law = probing(phase);
        let delivery = Delivery { now, lost, flight_before: under_way, ..Delivery::default() };
        law.turn_phase(&delivery);
        let next = Mode::ProbeBandwidth { phase: phase + 1, since: now };
        assert_eq!(law.mode == next, ends, "{phase} at {now:?}, lost {lost}, under way {under_way}");
    }
}

/// `bbr_check_full_bw_reached`: three round trips without a growth by a quarter (`bbr_full_bw_thresh`, `bbr_full_bw_cnt`).
#[test]
fn pipe_is_full_after_three_flat_rounds() {
    let mut law = bbr();
    let mut rounds = |rate_pps: f64| {
        law.path.bandwidth.add(0, BANDWIDTH_ROUNDS, rate_pps);
        law.round_starts = true;
        law.fill_and_drain(&arrival(at(1), 50, 0), None);
        (law.full_rounds, law.is_full, law.mode)
    };
    let startup = |full_rounds| (full_rounds, false, Mode::Startup);
    assert_eq!(rounds(1000.0), startup(0));
    assert_eq!(rounds(1249.0), startup(1));
    assert_eq!(rounds(1250.0), startup(0), "a quarter more");
    assert_eq!([rounds(1300.0), rounds(1400.0)], [startup(1), startup(2)]);
    assert!(rounds(1500.0).1);
    // `bbr_check_drain`: the threshold is the path's content: before a round trip is known ten (`bbr_bdp`),
    // and three bursts.
    assert!(is_near(law.slow_start_threshold(), 14.0), "{}", law.slow_start_threshold());
    assert!(is_near(bbr().slow_start_threshold(), 1e6));
}

/// `bbr_update_min_rtt`: a longer round trip replaces the least when more than 10 s have passed; an equal one
/// does not renew it.
#[test]
fn least_round_trip_holds_for_ten_seconds() {
    let told = |law: &mut Bbr, now, ms| {
        let round_trip = Some(Duration::from_millis(ms));
        law.learn_round_trip(&Delivery { now, round_trip, flight: 50, ..Delivery::default() });
        (law.least.unwrap().whole(Duration::from_millis(1)), law.least_at)
    };
    let mut law = probing(2);
    assert_eq!(told(&mut law, at(1000), 50), (50, at(0)));
    assert_eq!(told(&mut law, at(1000), 49), (49, at(1000)));
    assert_eq!(told(&mut law, at(11_000), 60), (49, at(1000)));
    assert!(matches!(law.mode, Mode::ProbeBandwidth { .. }));
    let expired = at(11_000) + Duration::from_nanos(1);
    assert_eq!(told(&mut law, expired, 60), (60, expired));
    assert!(matches!(law.mode, Mode::ProbeRoundTrip { .. }));
}

/// `bbr_cwnd_event`: `idle_restart` where the application was the limit; `bbr_update_min_rtt` ends it with the first delivery.
#[test]
fn restart_after_idleness_lasts_until_a_delivery() {
    for (after_idle, limited, restarts) in
        [(true, true, true), (true, false, false), (false, true, false), (false, false, false)]
    {
        let mut law = probing(2);
        let mut delivery = Delivery { segments: 0, after_idle, ..arrival(at(1), 50, 0) };
        delivery.rate.as_mut().unwrap().application_limited = limited;
        law.on_delivery(&delivery);
        assert_eq!(law.after_idle, restarts, "after idleness {after_idle}, limited {limited}");
        law.on_delivery(&arrival(at(2), 51, 0));
        assert!(!law.after_idle);
    }
}

/// `bbr_update_min_rtt`: segments under way during a probe give no rate (`tp->app_limited`);
/// `bbr_check_probe_rtt_done`: after more than 200 ms.
#[test]
fn round_trip_probe_lasts_longer_than_200_ms() {
    let mut law = probing(2);
    (law.window, law.prior_window) = (4.0, 100.0);
    law.mode = Mode::ProbeRoundTrip { until: None, round_over: false };
    let mut look = |ms: u64, nanos, round_starts| {
        law.round_starts = round_starts;
        let now = at(ms) + Duration::from_nanos(nanos);
        law.probe_round_trip(&Delivery { now, flight: 4, ..arrival(now, 1000, 990) });
        (law.held_back, matches!(law.mode, Mode::ProbeRoundTrip { .. }), law.window > 99.0)
    };
    let held = Some((1000, 1004));
    assert_eq!(look(1000, 0, false), (held, true, false));
    assert_eq!(look(1100, 0, true), (held, true, false));
    assert_eq!(look(1200, 0, false), (held, true, false));
    assert_eq!(look(1200, 1, false), (held, false, true), "the window is restored");
}

/// `bbr_save_cwnd`: the greater one, while a recovery or a round-trip probe goes on.
#[test]
fn window_is_kept_as_it_was_before_a_recovery() {
    let probe = Mode::ProbeRoundTrip { until: None, round_over: false };
    for (repair, mode, kept) in [
        (Repair::None, Mode::Startup, 20.0),
        (Repair::Recovery, Mode::Startup, 30.0),
        (Repair::None, probe, 30.0),
        (Repair::Timeout, probe, 30.0),
    ] {
        let mut law = bbr();
        (law.window, law.prior_window, law.repair, law.mode) = (20.0, 30.0, repair, mode);
        law.save_window();
        assert!(is_near(law.prior_window, kept), "{repair:?} {mode:?}");
    }
}

/// `bbr_init_pacing_rate_from_rtt`, `bbr_set_pacing_rate`: ten segments in a round trip of 100 ms times 2.885, less 1 %; until the pipe
/// is full the pace falls never.
#[test]
fn pace_begins_with_window_and_rises_in_startup() {
    let mut law = bbr();
    let smoothed = Some(Duration::from_millis(100));
    let gain = 2.0 / core::f64::consts::LN_2;
    law.set_pace(&Delivery { smoothed, ..Delivery::default() });
    assert!(is_near(law.pace.unwrap(), 100.0 * gain * 0.99));
    for (rate_pps, is_full, pace_at) in [(90.0, false, 100.0), (200.0, false, 200.0), (90.0, true, 90.0)] {
        law.path.bandwidth = GreatestLately::default();
        law.path.bandwidth.add(0, BANDWIDTH_ROUNDS, rate_pps);
        law.is_full = is_full;
        law.set_pace(&Delivery { smoothed, ..Delivery::default() });
        assert!(is_near(law.pace.unwrap(), pace_at * gain * 0.99), "{rate_pps}: {:?}", law.pace);
    }
}

/// `bbr_set_cwnd` with a full pipe: the arrived segments, up to 2·50, 8 for clumps, and 6 for bursts; without
/// an arrival nothing.
#[test]
fn window_of_a_full_pipe_grows_to_its_target() {
    let mut law = probing(2);
    law.path.aggregation.add(at(10), 1, 1000.0, 100.0);
    law.path.aggregation.add(at(11), 9, 1000.0, 100.0);
    assert!(is_near(law.path.aggregation.room(1000.0), 9.0), "ten in 1 ms, where one was due");
    for (window, grown) in [(20.0, 21.0), (500.0, 116.0)] {
        law.window = window;
        law.set_window(&arrival(at(12), 50, 0));
        assert!(is_near(law.window, grown), "{}", law.window);
    }
    law.window = 20.0;
    law.set_window(&Delivery { segments: 0, repair: Repair::Recovery, ..arrival(at(12), 50, 0) });
    assert!(is_near(law.window, 20.0) && !law.conserves);
}

/// `bbr_set_cwnd` before: by the arrived segments, below the target or while fewer than ten have arrived
/// (`TCP_INIT_CWND`).
#[test]
fn window_in_startup_grows_below_its_target() {
    let target = 152.0; // 2.885·50 = 144.3, rounded up, and three pairs: 151, even
    for (window, total, grows) in [
        (100.0, 50, true),
        (target, 50, false),
        (target + 1.0, 50, false),
        (target, 9, true),
        (target, 10, false),
        (target + 1.0, 9, true),
    ] {
        let mut law = probing(2);
        (law.mode, law.is_full, law.window) = (Mode::Startup, false, window);
        law.set_window(&arrival(at(1), total, 0));
        assert!(
            is_near(law.window, if grows { window + 1.0 } else { window }),
            "{window} {total}: {}",
            law.window
        );
    }
}

/// `bbr_set_cwnd_to_recover_or_restore`: `cwnd - rs->losses`, one at least.
#[test]
fn lost_segments_leave_the_window() {
    for (lost, window) in [(0, 20.0), (3, 17.0), (30, 1.0)] {
        let mut law = bbr();
        law.window = 20.0;
        assert!(!law.recover_or_restore(&Delivery { lost, ..Delivery::default() }, 1.0));
        assert!(is_near(law.window, window), "{lost}");
    }
}

/// `bbr_set_state` and `bbr_ssthresh`: entering the time-out's state keeps the window, a further time-out does not; it ends a round trip
/// for the policer's detection.
#[test]
fn time_out_keeps_the_window_once() {
    let mut law = bbr();
    law.window = 30.0;
    for repeated in [false, true] {
        law.on_timeout(&Loss { repeated, ..Loss::default() });
        assert!(is_near(law.prior_window, 30.0) && is_near(law.window, 1.0));
    }
    assert_ne!(law.path.policer, Policer::default(), "it was a loss");
    let mut policed = probing(2);
    policed.path.policer = found_policer();
    policed.on_timeout(&Loss::default());
    assert_eq!(policed.path.policer, found_policer());
}

/// A policer that was found by two intervals of four round trips each.
fn found_policer() -> Policer {
    let mut policer = Policer::default();
    for round in 0..8 {
        policer.learn(
            Delivered { at: at(50 * round), total: 70 * round, lost: 30 * round },
            true,
            false,
            true,
        );
    }
    assert!(policer.is_used());
    policer
}

/// `bbr_lt_bw_sampling`: `lt_use_bw` lasts 48 round trips of `PROBE_BW`, then bandwidth is probed again.
#[test]
fn policer_ages_by_rounds_of_bandwidth_probing() {
    let mut law = probing(2);
    law.path.policer = found_policer();
    let mut is_used = |mode, before| {
        law.mode = mode;
        let total = law.round_ends + 1;
        let before = if before { law.round_ends } else { law.round_ends - 1 };
        law.learn_rate(&arrival(at(1), total, before), arrival(at(1), total, before).rate);
        law.path.policer.is_used()
    };
    let probing = Mode::ProbeBandwidth { phase: 2, since: Instant::ZERO };
    assert!(is_used(probing, true), "the first round");
    assert!((0..100).all(|_| is_used(probing, false)), "within a round trip");
    assert!((0..100).all(|_| is_used(Mode::Startup, true)), "of another mode");
    assert!((0..46).all(|_| is_used(probing, true)));
    assert!(!is_used(probing, true));
}

/// `bbr_lt_bw_sampling`: "wait for the first loss before sampling, to let the policer exhaust its tokens".
#[test]
fn policer_search_begins_at_the_first_loss() {
    let mut law = bbr();
    let mut lost_total = 0;
    let mut rounds = |lost, count| {
        for _ in 0..count {
            let total = law.path.last.total + 70;
            lost_total += u64::from(lost);
            let now = law.path.last.at + Duration::from_millis(50);
            let delivery = arrival(now, total, total);
            law.on_delivery(&Delivery { segments: 70, lost, lost_total, ..delivery });
        }
        law.path.policer
    };
    assert_eq!(rounds(0, 10), Policer::default());
    assert!(rounds(30, 9).is_used(), "two intervals of four round trips");
}

/// `bbr_update_ack_aggregation`: only acknowledgements that deliver something count.
#[test]
fn clumps_count_arrivals() {
    let mut law = probing(2);
    let before = law.path.aggregation;
    let told = arrival(at(7), 60, 60);
    law.learn_rate(&Delivery { segments: 0, ..told }, told.rate);
    assert_eq!(law.path.aggregation, before);
    law.learn_rate(&told, told.rate);
    assert_ne!(law.path.aggregation, before);
}
