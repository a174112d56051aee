//! The rung of the real kernel: senders of Linux over paths that lose packets, recorded by validation/linux/lossy.py.

use evenair_agreement::kernel;
use evenair_agreement::vegas::Rest;

/// Goodput at equal loss within 10 %, within 20 % where 8 % are lost; the round trip, which the sender's own
/// queue determines where the link is the limit, as near. BBR's goodput within 10 % everywhere, its round
/// trip within 25 %. It paces at 99 % of the greatest rate of ten round trips, and that maximum contains the
/// host's jitter, of which evenair has none: at 10 Mb/s and 20 ms the kernel's own runs are from 30.5 to 38.7
/// ms.
#[test]
fn senders_over_lossy_paths_agree_with_linux() {
    let mut apart = Vec::new();
    for recorded in kernel::recorded() {
        let bbr = recorded.case.law == "bbr";
        let limit = if bbr || recorded.case.lottery_percent < 8.0 { 0.1 } else { 0.2 };
        let (theirs, ours) = (recorded.outcome, kernel::simulated(&recorded, seconds(&recorded), 4));
        let off = |ours: f64, theirs: f64| ours / theirs - 1.0;
        let goodput = off(ours.goodput_kbps, theirs.goodput_kbps);
        let round_trip = off(ours.round_trip_ms, theirs.round_trip_ms);
        if goodput.abs() > limit || round_trip.abs() > (if bbr { 0.25 } else { limit }) {
            apart.push(format!("{:?}: goodput {goodput:+.2}, round trip {round_trip:+.2}", recorded.case));
        }
    }
    assert!(apart.is_empty(), "{}", apart.join("\n"));
}

/// The time in which a sender sends 50 000 segments, of 100 to 500 s: the faster it is, the sooner its goodput is known.
fn seconds(recorded: &kernel::Recorded) -> u32 {
    let segments_per_s = recorded.outcome.goodput_kbps * 1e3 / (1460.0 * 8.0);
    (50_000.0 / segments_per_s).clamp(100.0, 500.0) as u32
}

/// Vegas against that of Linux 6.1, by delayed acknowledgements: the same mean window to a packet where the
/// law's equation has it to a packet, and the wire's rate. The path agrees within the time that a slow
/// machine needs for its own work (a millisecond).
#[test]
fn vegas_rests_where_the_kernel_does() {
    let recorded = Rest::recorded();
    assert_eq!(recorded.len(), 3 * 3);
    for theirs in recorded {
        let ours = theirs.simulated();
        assert!((ours.window - theirs.window).abs() <= 1.0, "{ours:?} {theirs:?}");
        assert!((ours.base_ms - theirs.base_ms).abs() < 1.0, "{ours:?} {theirs:?}");
        assert!((ours.rate_pps / theirs.rate_pps - 1.0).abs() < 0.01, "{ours:?} {theirs:?}");
        let (least, most) = theirs.band();
        for rest in [ours, theirs] {
            assert!((least - 1.0..=most + 1.0).contains(&rest.window), "{rest:?}: {least} to {most}");
        }
    }
}

/// Vegas against Linux 2.6.22's under ns-2's TCP-Linux agent. Between the thresholds nothing
/// moves, so that two Vegas may rest as far apart as these are, and a packet for whole windows.
#[test]
fn vegas_rests_where_linux_does_under_ns2() {
    let recorded = kernel::Vegas::recorded();
    assert_eq!(recorded.len(), 4 * 2);
    for theirs in recorded {
        let ours = theirs.simulated();
        let apart = (ours.window - theirs.window).abs();
        assert!((ours.goodput_kbps / theirs.goodput_kbps - 1.0).abs() < 0.01, "{ours:?} {theirs:?}");
        assert!(apart <= theirs.beta - theirs.alpha + 1.0, "{ours:?} {theirs:?}");
    }
}

/// The record is whole: of Reno and CUBIC three paths, RACK with tail-loss probes and without, six losses, and one path more; of BBR four paths,
/// three losses beside none, and two other queues; goodput known to about 3 %.
#[test]
fn the_record_is_whole_and_precise() {
    let recorded = kernel::recorded();
    assert_eq!(recorded.len(), 3 * 2 * 2 * 6 + 2 + 4 * (4 + 2));
    for kernel::Recorded { case, lottery, outcome } in recorded {
        let asked = case.lottery_percent / 100.0;
        assert!((lottery - asked).abs() <= 0.25 * asked, "{case:?}: {lottery}");
        assert!(outcome.error_kbps / outcome.goodput_kbps < 0.04, "{case:?}: {outcome:?}");
    }
}
