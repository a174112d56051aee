use super::*;
use crate::probe::survey::{Sample, plan};

/// A path as a survey would observe it, by arithmetic: the goodput, repetitions and delay of each load.
struct Path {
    /// Goodput of n loss-based connections, and of BBR's one \[Mb/s\].
    goodput: fn(u32) -> f64,
    bbr: f64,
    /// The share sent again under n.
    again: fn(u32) -> f64,
    /// The delay of probes under n \[ms\], beside 50.
    waits: fn(u32) -> f64,
    /// Whether the probe of this number is lost under n.
    loses: fn(u32, u64) -> bool,
}

fn survey(path: &Path) -> Vec<Stretch> {
    let controls = ["reno", "cubic", "bbr"].map(String::from);
    let stretch = |(load, time): (Load, evenair_units::Duration)| {
        let n = load.connections;
        let is_bbr = load.congestion_control.as_deref() == Some("bbr");
        let count = (time.as_secs_f64() * 25.0) as u64;
        let samples = (0..count).map(|i| {
            // A sawtooth: probes near the top wait twice as long as in the middle.
            let waits_ms = (path.waits)(n) * (i % 20) as f64 / 10.0;
            let is_lost = (path.loses)(n, i);
            let round_trip_s = (!is_lost).then(|| 0.05 + waits_ms / 1e3 + (i * 7 % 5) as f64 * 2e-5);
            Sample { at_s: i as f64 / 25.0, round_trip_s }
        });
        let samples = samples.collect();
        let goodput_bps = 1e6
            * if is_bbr {
                path.bbr
            } else if n == 0 {
                0.0
            } else {
                (path.goodput)(n)
            };
        let sent = (goodput_bps * time.as_secs_f64() / 12_000.0) as u64;
        Stretch { load, samples, goodput_bps, sent, again: (sent as f64 * (path.again)(n)) as u64 }
    };
    plan(&controls).into_iter().map(stretch).collect()
}

fn by_chance(_: u32, i: u64) -> bool {
    i * 7919 % 101 < 4
}

#[test]
fn random_loss_gains_and_bbr_is_said_first() {
    let path = Path {
        goodput: |n| 2.0 * f64::from(n),
        bbr: 47.0,
        again: |_| 0.04,
        waits: |_| 0.1,
        loses: by_chance,
    };
    let found = diagnose(&survey(&path));
    assert_eq!((found.kind, found.advice), (Kind::Random, Advice::OneOfBbr), "{found:?}");
    assert!(found.says[0].contains("BBR does as well"), "{found:?}");
    let (gain, n) = found.gain.unwrap();
    assert_eq!((gain.round() as u32, n), (8, MANY));
    // The same on a path where BBR gets less, such as behind a policer of single connections.
    let found = diagnose(&survey(&Path { bbr: 3.0, ..path }));
    assert_eq!((found.kind, found.advice), (Kind::Random, Advice::Guarded), "{found:?}");
}

#[test]
fn bursts_are_seen() {
    let path = Path {
        goodput: |n| 5.0 * f64::from(n).min(4.0),
        bbr: 20.0,
        again: |_| 0.02,
        waits: |_| 0.1,
        loses: |_, i| i % 60 < 3,
    };
    assert_eq!(diagnose(&survey(&path)).kind, Kind::RandomInBursts);
}

#[test]
fn filling_queue_is_congestion_and_one_suffices() {
    let path = Path {
        goodput: |_| 19.0,
        bbr: 18.8,
        again: |n| 0.004 * f64::from(n),
        waits: |n| if n == 0 { 0.0 } else { 40.0 },
        loses: |n, i| n > 0 && i % 20 == 18 && i / 20 % 2 == 0, // near the top of the sawtooth
    };
    let found = diagnose(&survey(&path));
    assert_eq!((found.kind, found.advice), (Kind::Congestion, Advice::OneIsEnough), "{found:?}");
    assert!(found.waits_s.is_some_and(|waits_s| waits_s > 0.03));
}

#[test]
fn a_clean_path_that_one_fills_needs_nothing() {
    let path = Path {
        goodput: |_| 95.0,
        bbr: 94.0,
        again: |_| 0.0,
        waits: |n| 30.0 * f64::from(n.min(1)),
        loses: |_, _| false,
    };
    let found = diagnose(&survey(&path));
    assert_eq!((found.kind, found.advice), (Kind::None, Advice::OneIsEnough), "{found:?}");
}

#[test]
fn policer_looks_like_a_short_queue() {
    let path = Path {
        goodput: |_| 5.0,
        bbr: 5.1,
        again: |n| 0.02 * f64::from(n),
        waits: |_| 0.1,
        loses: |n, i| n > 0 && by_chance(n, i),
    };
    let found = diagnose(&survey(&path));
    assert_eq!((found.kind, found.advice), (Kind::WithoutDelay, Advice::NotMore), "{found:?}");
    assert!(found.cannot_tell[0].contains("policer"), "{found:?}");
}

#[test]
fn nothing_seen_is_nothing_said() {
    let found = diagnose(&[]);
    assert_eq!((found.kind, found.advice), (Kind::Unknown, Advice::Unknown));
    let silent = Load { connections: 0, congestion_control: None };
    let samples = vec![Sample { at_s: 0.0, round_trip_s: None }; 50];
    let dead = Stretch { load: silent, samples, goodput_bps: 0.0, sent: 0, again: 0 };
    let found = diagnose(&[dead]);
    assert_eq!(found.advice, Advice::Unknown, "{found:?}");
}
