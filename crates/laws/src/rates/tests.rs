//! Tests of the laws' own arithmetic; `crates/agreement` compares Minstrel-HT with Linux.

use super::*;
use crate::Parameters;
use alloc::vec::Vec;
use evenair_units::{Duration, Instant, Rate};

/// 802.11a: the eight rates of OFDM.
fn link_of_a() -> RateRole {
    let modes = [6, 9, 12, 18, 24, 36, 48, 54].into_iter().zip(0..).map(|(mbps, index)| RateMode {
        format: RateFormat::Ofdm,
        index,
        streams: 1,
        width_mhz: 20,
        guard_ns: 800,
        rate: Rate::from_kbps(mbps * 1000),
    });
    RateRole { modes: modes.collect(), own: 7, seed: 1 }
}

/// The modes of so many frames, each acknowledged if its mode is not above the last good one.
fn modes_under(law: &mut impl RateControl, good: u16, frames: usize) -> Vec<u16> {
    let mut now = Instant::ZERO;
    let frame = |_| {
        now += Duration::from_millis(1);
        let step = law.on_frame(&FrameView { now, best: None }).steps()[0];
        let mut status =
            FrameStatus { now, packets: 1, acknowledged: (step.mode <= good).into(), ..Default::default() };
        status.tried[0] = Tried { mode: step.mode, tries: 1, packets: 1 };
        law.on_status(&status);
        step.mode
    };
    (0..frames).map(frame).collect()
}

/// Ten frames in each mode, then one in the next, which fails: ten again.
#[test]
fn arf_tries_the_next_mode_after_ten_frames() {
    let mut law = ArfParams::default().begin(&link_of_a());
    let modes = modes_under(&mut law, 2, 63);
    let expected: Vec<u16> = [[0; 10], [1; 10], [2; 10]]
        .into_iter()
        .flatten()
        .chain([3])
        .chain([2; 10])
        .chain([3])
        .chain([2; 10])
        .chain([3])
        .chain([2; 10])
        .collect();
    assert_eq!(modes, expected);
}

#[test]
fn arf_falls_after_two_failures() {
    let mut law = ArfParams::default().begin(&link_of_a());
    // Ten frames in each of the seven slower modes; the fastest has no next one.
    assert_eq!(modes_under(&mut law, 7, 100)[70..], [7; 30]);
    assert_eq!(modes_under(&mut law, 0, 4), [7, 7, 6, 6]);
}

/// 10, 20, 40 and then 50 frames pass between two vain tries.
#[test]
fn aarf_waits_twice_as_long_after_each_vain_try() {
    let mut law = AarfParams::default().begin(&link_of_a());
    let modes = modes_under(&mut law, 0, 400);
    let tries: Vec<usize> = (0..).zip(&modes).filter(|(_, mode)| **mode == 1).map(|(at, _)| at).collect();
    let gaps: Vec<usize> = tries.windows(2).map(|pair| pair[1] - pair[0] - 1).collect();
    assert_eq!((tries[0], &gaps[..4]), (10, &[20, 40, 50, 50][..]));
}

/// Few frames but probes are sent in another mode than the fastest that arrives.
#[test]
fn minstrel_finds_the_fastest_mode_that_arrives() {
    let mut law = MinstrelHtParams::default().begin(&link_of_a());
    modes_under(&mut law, 4, 2_000);
    assert_eq!(law.sorted()[0], 4, "{law:?}");
    let later = modes_under(&mut law, 4, 1_000);
    let share = later.iter().filter(|mode| **mode == 4).count() as f64 / 1e3;
    assert!(share > 0.9, "{share}");
}

#[test]
fn a_chain_has_its_steps() {
    let steps = [Step { mode: 3, tries: 2, announced: false }, Step { mode: 1, tries: 4, announced: true }];
    let chain = Chain::new(&steps);
    assert_eq!(chain.steps(), steps);
    assert!(chain.is_within(4) && !chain.is_within(3));
    assert!(!Chain::of(0, 0).is_within(1) && !Chain::of(0, TRIES_MAX + 1).is_within(1));
    let probing = chain.probing(7);
    assert!(probing.probe && probing.steps()[0].mode == 7 && probing.steps()[1] == steps[1]);
}

#[test]
fn counts_below_one_are_refused() {
    let arf = |successes, failures, timer| ArfParams { successes, failures, timer };
    assert_eq!(arf(1, 1, 1).validated(), Ok(arf(1, 1, 1)));
    for (params, name) in [(arf(0, 1, 1), "successes"), (arf(1, 0, 1), "failures"), (arf(1, 1, 0), "timer")] {
        assert_eq!(params.validated().unwrap_err().name, name);
    }
    let aarf = |successes, factor, successes_max| {
        let params = AarfParams { successes, factor, successes_max, ..AarfParams::default() };
        params.validated().map(|same| same == params).map_err(|bad| bad.name)
    };
    assert_eq!([aarf(10, 1.0, 10), aarf(10, 1e3, 50)], [Ok(true); 2]);
    assert_eq!(aarf(0, 2.0, 50), Err("successes"));
    assert_eq!([aarf(10, 0.9, 50), aarf(10, 1_001.0, 50)], [Err("factor"); 2]);
    assert_eq!(aarf(10, 2.0, 9), Err("successes_max"));
}

/// Chains of Linux's drivers have up to four steps of up to 31 tries.
#[test]
fn chain_that_no_driver_has_is_refused() {
    let minstrel = |steps, tries_max, segment| {
        let params = MinstrelHtParams { steps, tries_max, segment, ..MinstrelHtParams::default() };
        params.validated().map(|same| same == params).map_err(|bad| bad.name)
    };
    let segment = Duration::from_millis(6);
    assert_eq!([minstrel(1, 2, segment), minstrel(4, 31, segment)], [Ok(true); 2]);
    assert_eq!([minstrel(0, 7, segment), minstrel(5, 7, segment)], [Err("steps"); 2]);
    assert_eq!([minstrel(4, 1, segment), minstrel(4, 32, segment)], [Err("tries_max"); 2]);
    assert_eq!(minstrel(4, 7, Duration::ZERO), Err("segment"));
}

/// Two of five packets are half of them, rounded down; one is not. The first failure in a faster mode ends the try.
#[test]
fn arf_takes_half_of_an_aggregate_for_success() {
    for (acknowledged, mode) in [(2, 1), (1, 0)] {
        let mut law = ArfParams::default().begin(&link_of_a());
        modes_under(&mut law, 7, 10);
        let mut status = FrameStatus { packets: 5, acknowledged, ..FrameStatus::default() };
        status.tried[0] = Tried { mode: 1, tries: 1, packets: 5 };
        law.on_status(&status);
        assert_eq!(law.on_frame(&FrameView::default()).steps()[0].mode, mode, "{acknowledged} of 5");
    }
}

#[test]
fn only_the_ideal_law_asks_the_medium() {
    assert!(IdealParams::default().begin(&link_of_a()).asks_medium());
    assert!(!FixedModeParams {}.begin(&link_of_a()).asks_medium());
    assert!(!MinstrelHtParams::default().begin(&link_of_a()).asks_medium());
}
