//! The rung of the real kernel: senders of Linux over paths that lose packets, recorded by validation/linux/lossy.py.

use evenair_agreement::kernel;
use evenair_agreement::vegas::Rest;
use evenair_needs::{Missing, find};
use std::path::Path;
use std::process::Command;

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
        let (theirs, ours) = (recorded.outcome, kernel::simulated(&recorded, 500, 4));
        let off = |ours: f64, theirs: f64| ours / theirs - 1.0;
        let goodput = off(ours.goodput_kbps, theirs.goodput_kbps);
        let round_trip = off(ours.round_trip_ms, theirs.round_trip_ms);
        if goodput.abs() > limit || round_trip.abs() > (if bbr { 0.25 } else { limit }) {
            apart.push(format!("{:?}: goodput {goodput:+.2}, round trip {round_trip:+.2}", recorded.case));
        }
    }
    assert!(apart.is_empty(), "{}", apart.join("\n"));
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

/// The kernel of this machine, for ten seconds: the program of the record still runs, repeats the randomly
/// lost segments, and gets the record's goodput within a quarter. Needs root, TUN devices and Python.
#[test]
fn the_path_program_runs_where_it_may() {
    if let Some(missing) = missing() {
        return missing.skip();
    }
    let program = concat!(env!("CARGO_MANIFEST_DIR"), "/../../validation/linux/lossy.py");
    let words =
        ["--trace", "cubic", "--rate", "1000000", "--round-trip", "20", "--loss", "4", "--seconds", "10"];
    let output = Command::new("python3").arg(program).args(words).output().expect("Python is there");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8_lossy(&output.stdout);
    let count = |word: &str| text.lines().filter(|line| line.contains(word)).count();
    let (lost, again) = (count(" LOST"), count(" again "));
    assert!(lost > 5 && again.abs_diff(lost) <= 5, "{lost} lost, {again} sent again");
    let goodput = text.split("'goodput_kbps': ").nth(1).and_then(|rest| rest.split(',').next());
    let goodput: f64 = goodput.and_then(|number| number.parse().ok()).expect("the last line has it");
    let of_the_record = |r: &&kernel::Recorded| {
        r.case.law == "cubic"
            && r.case.rate_bps < 2e6
            && r.case.round_trip_ms < 100.0
            && r.case.lottery_percent > 3.9
    };
    let recorded = kernel::recorded();
    let recorded = recorded.iter().find(of_the_record).expect("a recorded case").outcome.goodput_kbps;
    assert!((goodput / recorded - 1.0).abs() < 0.25, "{goodput} kb/s, the record has {recorded}");
}

/// The requirements of the path program that are missing here.
fn missing() -> Option<Missing> {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let root =
        status.lines().any(|line| line.starts_with("Uid:") && line.split_whitespace().nth(2) == Some("0"));
    let lacks = |need: &'static str| Missing::new(need, "validation/linux/lossy.py cannot run");
    let tun = Path::new("/dev/net/tun").exists();
    let needs = [(root, "root"), (tun, "TUN devices"), (find("python3").is_some(), "python3")];
    needs.iter().find(|(here, _)| !here).map(|(_, need)| lacks(need))
}
