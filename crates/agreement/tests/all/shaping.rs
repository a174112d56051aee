//! The rung of the real kernel for shapers: token buckets and lines of Linux, recorded by validation/linux/shaping.py.

use evenair_agreement::shaping;

/// Three runs of each case.
#[test]
fn the_record_of_shapers_is_whole() {
    let recorded = shaping::recorded();
    for name in ["tbf", "tbf-burst", "htb-each", "htb-shared"] {
        let flows: Vec<usize> =
            recorded.iter().filter(|(case, _)| case.name == name).map(|(_, flows)| flows.len()).collect();
        let expected = if name.starts_with("tbf") { 1 } else { 3 };
        assert_eq!(flows, [expected; 3], "{name}");
    }
    assert_eq!(recorded.len(), 12);
}

/// Of each flow as many datagrams pass, to five of the thousands, and wait as long, to a hundredth. The
/// tolerance adds a millisecond for the machine's clocks and programs, and the effect of one datagram that
/// came just when a place became free.
#[test]
fn shapers_pass_the_same_as_linux() {
    for (case, kernel) in shaping::recorded() {
        let ours = shaping::simulated(&case);
        assert_eq!(ours.len(), kernel.len());
        for (flow, (ours, kernel)) in ours.iter().zip(&kernel).enumerate() {
            let what = format!("{} flow {flow}: {ours:?}, Linux {kernel:?}", case.name);
            assert!((ours.received - kernel.received).abs() <= 5.0, "{what}");
            let line_ms = f64::from(case.line_packets * case.size_bytes) * 8e3 / case.rates_bps[flow];
            let slack_ms = 0.01 * kernel.stay_ms + 1.0 + line_ms / kernel.received;
            assert!((ours.stay_ms - kernel.stay_ms).abs() <= slack_ms, "{what}");
        }
    }
}
