//! The rung of the real kernel: senders of Linux over paths that lose packets, recorded by validation/linux/lossy.py.

use evenair_agreement::kernel;

/// Goodput at equal loss within 10 %, within 20 % where 8 % are lost; the path's round trip, which the sender's own queue
/// makes where the link is the limit, as near.
#[test]
fn senders_over_lossy_paths_agree_with_linux() {
    let mut apart = Vec::new();
    for recorded in kernel::recorded() {
        let limit = if recorded.case.lottery_percent < 8.0 { 0.1 } else { 0.2 };
        let (theirs, ours) = (recorded.outcome, kernel::simulated(&recorded, 500, 4));
        let off = |ours: f64, theirs: f64| ours / theirs - 1.0;
        let goodput = off(ours.goodput_kbps, theirs.goodput_kbps);
        let round_trip = off(ours.round_trip_ms, theirs.round_trip_ms);
        if goodput.abs() > limit || round_trip.abs() > limit {
            apart.push(format!("{:?}: goodput {goodput:+.2}, round trip {round_trip:+.2}", recorded.case));
        }
    }
    assert!(apart.is_empty(), "{}", apart.join("\n"));
}

/// The record is whole: three paths, two laws, RACK with tail-loss probes and without, six losses; goodput known to about 3 %.
#[test]
fn the_record_is_whole_and_precise() {
    let recorded = kernel::recorded();
    assert_eq!(recorded.len(), 3 * 2 * 2 * 6);
    for kernel::Recorded { case, lottery, outcome } in recorded {
        assert!((lottery * 100.0 / case.lottery_percent - 1.0).abs() < 0.25, "{case:?}: {lottery}");
        assert!(outcome.error_kbps / outcome.goodput_kbps < 0.04, "{case:?}: {outcome:?}");
    }
}
