//! Curves beside ns-3's tables, codes from their own trellis, and limits from their constellations.

use super::bound::CodeRate;
use super::*;
use crate::phy::{Band, Format, GuardInterval, Modulation};
use evenair_units::Rate;
use proptest::prelude::*;
use std::collections::BTreeMap;

fn of_mcs(mcs: u8, streams: u8) -> Mode {
    let (width, guard_interval) = (Width::Mhz20, GuardInterval::Ns800);
    Mode::of(Modulation { format: Format::He, mcs, streams, width, guard_interval }).unwrap()
}

/// The ratio at which packets of so many bytes are lost with a probability \[dB\].
fn ratio_at(curve: Curve, loss: f64, bytes: f64) -> f64 {
    let (mut low, mut high) = (-10.0, 50.0);
    for _ in 0..40 {
        let middle = f64::midpoint(low, high);
        if -libm::expm1(-curve.hazard(middle) * 8.0 * bytes) > loss { low = middle } else { high = middle }
    }
    low
}

/// Differences to ns-3 3.44's `TableBasedErrorRateModel` at packet error rates of 0.5, 0.1 and 0.01, 1458 bytes.
fn differences(coding: Coding, table: &[[f64; 3]]) -> impl Iterator<Item = (usize, f64)> {
    table.iter().enumerate().flat_map(move |(mcs, row)| {
        let curve = Curve::of(Phy::ax(Band::Ghz5), of_mcs(mcs as u8, 1), coding);
        let losses = [0.5, 0.1, 0.01].into_iter().zip(row);
        losses.map(move |(loss, theirs)| (mcs, ratio_at(curve, loss, 1458.0) - theirs))
    })
}

#[test]
fn convolutional_curves_meet_simulated_ones() {
    const TABLE: [[f64; 3]; 10] = [
        [0.29, 0.90, 1.55],
        [3.29, 3.92, 4.58],
        [5.78, 6.40, 7.10],
        [8.91, 9.69, 10.46],
        [12.02, 12.79, 13.55],
        [16.22, 17.03, 17.97],
        [17.52, 18.35, 19.29],
        [18.79, 19.62, 20.50],
        [22.77, 23.70, 24.76],
        [24.26, 25.14, 26.15],
    ];
    for (mcs, difference_db) in differences(Coding::Convolutional, &TABLE) {
        assert!(difference_db.abs() < 0.12, "MCS {mcs}: {difference_db}");
    }
    // At 0.95, where aggregates still get packets through.
    let most_lost = [-0.38, 2.61, 5.10, 8.14, 11.34, 15.48, 16.69, 18.06, 21.91, 23.50];
    for (mcs, theirs) in most_lost.into_iter().enumerate() {
        let curve = Curve::of(Phy::ax(Band::Ghz5), of_mcs(mcs as u8, 1), Coding::Convolutional);
        let difference_db = ratio_at(curve, 0.95, 1458.0) - theirs;
        assert!(difference_db.abs() < 0.2, "MCS {mcs}: {difference_db}");
    }
}

/// One gap for all codes leaves 0.75 dB.
#[test]
fn ldpc_edges_lie_near_simulated_ones() {
    const TABLE: [[f64; 3]; 10] = [
        [-0.96, -0.67, -0.34],
        [2.05, 2.34, 2.67],
        [4.54, 4.81, 5.09],
        [7.54, 7.87, 8.24],
        [10.58, 10.89, 11.19],
        [14.77, 15.08, 15.44],
        [16.12, 16.46, 16.82],
        [17.62, 17.99, 18.38],
        [21.28, 21.64, 22.03],
        [23.07, 23.47, 23.88],
    ];
    for (mcs, difference_db) in differences(Coding::Ldpc, &TABLE) {
        assert!(difference_db.abs() < 0.75, "MCS {mcs}: {difference_db}");
    }
}

#[test]
fn spectra_follow_from_the_trellis() {
    let patterns: [(CodeRate, &[[u32; 2]]); 4] = [
        (CodeRate::Half, &[[1, 1]]),
        (CodeRate::TwoThirds, &[[1, 1], [1, 0]]),
        (CodeRate::ThreeQuarters, &[[1, 1], [1, 0], [0, 1]]),
        (CodeRate::FiveSixths, &[[1, 1], [1, 0], [0, 1], [1, 0], [0, 1]]),
    ];
    for (rate, pattern) in patterns {
        let (first, step, weights, inputs) = rate.spectrum();
        assert!((inputs - pattern.len() as f64).abs() < f64::EPSILON);
        let found = spectrum(pattern, first + step * (weights.len() - 1));
        let expected =
            weights.iter().enumerate().map(|(place, &weight)| (first + step * place, weight as u64));
        assert_eq!(found, expected.collect(), "{rate:?}");
    }
}

/// Paths that leave the state of zeros and return to it, by distance: a search of the trellis of the generators 133 and 171 (octal),
/// from each place in the puncturing pattern.
fn spectrum(pattern: &[[u32; 2]], distance_max: usize) -> BTreeMap<usize, u64> {
    let mut ended: BTreeMap<usize, u64> = BTreeMap::new();
    let next = |state: usize, bit: usize, phase: usize| {
        let register = bit << 6 | state;
        let output = |generator: usize| (register & generator).count_ones() & 1;
        let [kept, other] = pattern[phase];
        (register >> 1, (output(0o133) * kept + output(0o171) * other) as usize)
    };
    for phase in 0..pattern.len() {
        let mut paths = BTreeMap::from([(next(0, 1, phase), 1u64)]);
        let mut phase = phase;
        while !paths.is_empty() {
            phase = (phase + 1) % pattern.len();
            let mut longer = BTreeMap::new();
            for ((state, distance), count) in paths {
                for bit in 0..2 {
                    let (to, more) = next(state, bit, phase);
                    let distance = distance + more;
                    if distance > distance_max {
                        continue;
                    }
                    let place = if to == 0 {
                        ended.entry(distance).or_default()
                    } else {
                        longer.entry((to, distance)).or_default()
                    };
                    *place += count;
                }
            }
            paths = longer;
        }
    }
    ended
}

/// The capacity of one dimension of a Gray-mapped constellation with bitwise decisions, at this ratio in it \[bits\].
fn capacity(bits: u32, ratio: f64) -> f64 {
    let points = 1u32 << bits;
    let energy = (f64::from(points).powi(2) - 1.0) / 3.0;
    let level = |i: u32| (2.0 * f64::from(i) - f64::from(points - 1)) / libm::sqrt(energy);
    let label = |i: u32| i ^ i >> 1;
    let mut lost = 0.0;
    for (sent, step) in (0..points).flat_map(|sent| (-60..=60).map(move |step| (sent, step))) {
        let noise = f64::from(step) / 10.0;
        let weight = libm::exp(-noise * noise / 2.0) / 10.0 / libm::sqrt(2.0 * core::f64::consts::PI);
        let received = level(sent) + noise / libm::sqrt(ratio);
        let likely: Vec<f64> =
            (0..points).map(|i| libm::exp(-ratio / 2.0 * (received - level(i)).powi(2))).collect();
        let all: f64 = likely.iter().sum();
        for bit in 0..bits {
            let alike = (0..points).filter(|&i| (label(i) ^ label(sent)) >> bit & 1 == 0);
            let alike: f64 = alike.map(|i| likely[i as usize]).sum();
            lost += weight * libm::log2(all / alike) / f64::from(points);
        }
    }
    f64::from(bits) - lost
}

#[test]
fn limits_follow_from_the_constellations() {
    let of = |mcs: usize| {
        (
            [1, 2, 2, 4, 4, 6, 6, 6, 8, 8, 10, 10][mcs],
            [0.5, 0.5, 0.75, 0.5, 0.75, 2.0 / 3.0, 0.75, 5.0 / 6.0, 0.75, 5.0 / 6.0, 0.75, 5.0 / 6.0][mcs],
        )
    };
    for (mcs, &limit_db) in curve::LDPC_LIMITS_DB.iter().enumerate() {
        let (bits, rate): (u32, f64) = of(mcs);
        let ratio = libm::pow(10.0, limit_db / 10.0);
        // A complex symbol has half of signal and noise in each dimension; BPSK uses one, with all of the signal.
        let carried = if bits == 1 { capacity(1, 2.0 * ratio) } else { 2.0 * capacity(bits / 2, ratio) };
        assert!((carried - f64::from(bits) * rate).abs() < 2e-3, "MCS {mcs}: {carried}");
    }
}

#[test]
fn streams_share_the_power() {
    let model = ErrorModel::new(Width::Mhz20);
    let phy = Phy::ax(Band::Ghz5);
    let loss = |streams, dbm| model.loss(phy, of_mcs(7, streams), Dbm::new(dbm), Bytes::new(1500));
    let [one, two, four] = [(1, -75.0), (2, -71.99), (4, -68.98)].map(|(streams, dbm)| loss(streams, dbm));
    assert!((one - two).abs() < 0.02 && (one - four).abs() < 0.02, "{one} {two} {four}");
    assert!(one > 0.3 && one < 0.5, "{one}");
}

#[test]
fn noise_grows_with_the_width() {
    // kTB of 20 MHz at 290 K is -100.97 dBm, and the receiver adds 7 dB.
    let model = ErrorModel::new(Width::Mhz20);
    assert!((model.noise(Width::Mhz20).level() + 93.96).abs() < 0.01);
    assert!((model.noise(Width::Mhz160) - model.noise(Width::Mhz20) - 9.03).abs() < 0.01);
    let detected = Width::ALL.map(|width| ErrorModel::detected(width).level());
    assert!(detected.into_iter().zip([-82.0, -79.0, -76.0, -73.0]).all(|(a, b)| (a - b).abs() < 1e-9));
}

#[test]
fn non_ht_rates_have_their_own_codes() {
    // 24 Mb/s is 16-QAM at rate 1/2, as MCS 3; 54 is 64-QAM at 3/4, as MCS 6 (IEEE 802.11-2016 tables 17-4, 19-27).
    let curve = |mode| Curve::of(Phy::a(), mode, Coding::Ldpc);
    for (mbps, mcs) in [(6, 0), (12, 1), (18, 2), (24, 3), (36, 4), (48, 5), (54, 6)] {
        let convolutional = Curve::of(Phy::ax(Band::Ghz5), of_mcs(mcs, 1), Coding::Convolutional);
        let own = curve(Mode::at(Rate::from_kbps(mbps * 1000)));
        for ratio_db in [0.0, 8.0, 16.0] {
            assert!((own.hazard(ratio_db) - convolutional.hazard(ratio_db)).abs() < 1e-12, "{mbps} Mb/s");
        }
    }
}

/// 802.15.2's formulas at a ratio of 1 (0 dB): Q(√11), Q(√5.5) = 4.55e-4, 9.51e-3; 8/15 · (14·Q(√8) + Q(4)) = 0.01748.
#[test]
fn dsss_follows_its_closed_forms() {
    let at = |kbps| Curve::of(Phy::b_long(), Mode::at(Rate::from_kbps(kbps)), Coding::default()).hazard(0.0);
    for (kbps, wrong) in [(1_000, 4.556e-4), (2_000, 9.507e-3), (5_500, 0.017_49)] {
        let found = -libm::expm1(-at(kbps));
        assert!((found / wrong - 1.0).abs() < 2e-3, "{kbps}: {found}");
    }
}

proptest! {
    /// More signal, fewer errors, in every mode.
    #[test]
    fn hazards_fall_with_the_ratio(mcs in 0u8..12, ldpc: bool, ratio_db in -12.0..52.0, more_db in 0.0..3.0) {
        let coding = if ldpc { Coding::Ldpc } else { Coding::Convolutional };
        let curve = Curve::of(Phy::ax(Band::Ghz5), of_mcs(mcs, 1), coding);
        let (here, there) = (curve.hazard(ratio_db), curve.hazard(ratio_db + more_db));
        prop_assert!(there <= here && here.is_finite() && there >= 0.0);
    }
}

/// LDPC is the only code of 1024-QAM (IEEE 802.11ax-2021 clause 27.3.12.5).
#[test]
fn the_fastest_modes_have_ldpc_alone() {
    for mcs in [10, 11] {
        let [given, ldpc] = [Coding::Convolutional, Coding::Ldpc]
            .map(|coding| Curve::of(Phy::ax(Band::Ghz5), of_mcs(mcs, 1), coding).hazard(25.0));
        assert!(given.to_bits() == ldpc.to_bits(), "MCS {mcs}: {given} {ldpc}");
    }
}

/// Below all noise each mode delivers as much, nothing: the first is taken.
#[test]
fn best_of_equal_modes_is_the_first() {
    let model = ErrorModel::new(Width::Mhz20);
    for modes in [[0, 5], [5, 0]].map(|mcs| mcs.map(|mcs| of_mcs(mcs, 1))) {
        for loss_max in [None, Some(0.1)] {
            let best = model.best(Phy::ax(Band::Ghz5), modes, Dbm::new(-200.0), Bytes::new(1_500), loss_max);
            assert_eq!(best, Some(modes[0]), "{loss_max:?}");
        }
    }
}
