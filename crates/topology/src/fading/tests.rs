//! Averages over time beside the closed forms of Clarke's model (Jakes, Microwave Mobile Communications, 1974, chapter 1).

use super::*;
use std::sync::LazyLock;

const DOPPLER_HZ: f64 = 10.0;
/// Samples a Doppler period.
const FINENESS: usize = 50;
const LINKS: usize = 12;
const PERIODS: usize = 2_500;

/// Uniform numbers from a multiplicative generator.
fn uniform(seed: u64) -> impl FnMut() -> f64 {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    move || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 11) as f64 / (1u64 << 53) as f64
    }
}

/// The instant of a sample.
fn at(sample: usize) -> Instant {
    Instant::ZERO + Duration::from_secs_f64(sample as f64 / (DOPPLER_HZ * FINENESS as f64))
}

/// The scattered waves of some links over time, which all models share.
static SCATTERED: LazyLock<Vec<Vec<(f64, f64)>>> = LazyLock::new(|| {
    let fading = Fading::new(FadingModel::Rayleigh, DOPPLER_HZ);
    let series = |seed| turned(&fading.link(uniform(seed)), PERIODS * FINENESS);
    (1..=LINKS as u64).map(series).collect()
});

/// The scattered waves at so many samples: each wave is turned by multiplication, which is faster than a sine.
fn turned(link: &FadedLink, samples: usize) -> Vec<(f64, f64)> {
    let turn = |wave: &Wave| libm::sincos(wave.shift / (DOPPLER_HZ * FINENESS as f64));
    let turns: Vec<(f64, f64)> = link.waves.iter().map(turn).collect();
    let mut series = Vec::with_capacity(samples);
    for start in (0..samples).step_by(256) {
        let now = |wave: &Wave| libm::sincos(wave.shift * at(start).as_secs_f64() + wave.phase);
        let mut waves: Vec<(f64, f64)> = link.waves.iter().map(now).collect();
        for _ in start..samples.min(start + 256) {
            let (mut quadrature, mut in_phase) = (0.0, 0.0);
            for ((sin, cos), (turn_sin, turn_cos)) in waves.iter_mut().zip(&turns) {
                (quadrature, in_phase) = (quadrature + *sin, in_phase + *cos);
                (*sin, *cos) = (*sin * turn_cos + *cos * turn_sin, *cos * turn_cos - *sin * turn_sin);
            }
            series.push(as_gaussian(in_phase, quadrature));
        }
    }
    series
}

#[test]
fn turned_waves_are_those_of_the_link() {
    let fading = Fading::new(FadingModel::Rayleigh, DOPPLER_HZ);
    let link = fading.link(uniform(9));
    for (sample, found) in turned(&link, 600).into_iter().enumerate() {
        let expected = link.scattered(at(sample).as_secs_f64());
        assert!((found.0 - expected.0).abs() < 1e-6 && (found.1 - expected.1).abs() < 1e-6, "{sample}");
    }
}

/// Amplitudes of these links by a model.
fn envelopes(model: FadingModel) -> Vec<Vec<f64>> {
    let fading = Fading::new(model, DOPPLER_HZ);
    let amplitudes =
        |series: &Vec<_>| series.iter().map(|&waves| fading.combine(waves, 1.0).sqrt()).collect();
    SCATTERED.iter().map(amplitudes).collect()
}

/// Upward crossings of a level a Doppler period, and the mean time below it in Doppler periods.
fn fades(envelopes: &[Vec<f64>], level: f64) -> (f64, f64) {
    let crossings = |series: &Vec<f64>| series.windows(2).filter(|w| w[0] < level && w[1] >= level).count();
    let below = |series: &Vec<f64>| series.iter().filter(|&&r| r < level).count();
    let crossed = envelopes.iter().map(crossings).sum::<usize>() as f64;
    let below = envelopes.iter().map(below).sum::<usize>() as f64;
    (crossed / (LINKS * PERIODS) as f64, below / FINENESS as f64 / crossed)
}

fn mean(envelopes: &[Vec<f64>], of: impl Fn(f64) -> f64) -> f64 {
    let samples = || envelopes.iter().flatten().step_by(5);
    samples().map(|&r| of(r)).sum::<f64>() / samples().count() as f64
}

fn assert_near(found: f64, expected: f64, what: &str) {
    assert!((found / expected - 1.0).abs() < 0.02, "{what}: {found:.4} for {expected:.4}");
}

/// `N(ρ) = √(2π)·f_d·ρ·e^(−ρ²)` and a mean fade of `(e^(ρ²) − 1)/(ρ·f_d·√(2π))`.
#[test]
fn rayleigh_crossings_agree_with_clarke() {
    let series = envelopes(FadingModel::Rayleigh);
    for rho in [0.3_f64, 0.5, 1.0, 1.5] {
        let (rate, duration) = fades(&series, rho);
        let expected = TAU.sqrt() * rho * libm::exp(-rho * rho);
        assert_near(rate, expected, &format!("crossings of {rho}"));
        assert_near(duration, (rho * rho).exp_m1() / (rho * TAU.sqrt()), &format!("fades below {rho}"));
    }
    assert_near(mean(&series, |r| r * r), 1.0, "power");
    assert_near(mean(&series, |r| r.powi(4)), 2.0, "power squared");
    assert_near(mean(&series, |r| r), (TAU / 8.0).sqrt(), "amplitude");
}

/// Bessel's function of the first kind and order 0, of `2π·f_d·τ`, by its power series.
#[test]
fn autocorrelation_is_bessels_function() {
    for lag in [4_usize, 8, 12, 19, 25, 32, 44] {
        let x = TAU * lag as f64 / FINENESS as f64;
        let term = |last: &mut f64, n: i32| {
            *last *= -(x / 2.0 / f64::from(n)).powi(2);
            Some(*last)
        };
        let expected = 1.0 + (1..40).scan(1.0, term).sum::<f64>();
        let product = |w: &[(f64, f64)]| w[0].0 * w[lag].0 + w[0].1 * w[lag].1;
        let of_link = |series: &Vec<_>| series.windows(lag + 1).step_by(7).map(product).sum::<f64>();
        let count = SCATTERED[0].windows(lag + 1).step_by(7).count() * LINKS;
        let found = SCATTERED.iter().map(of_link).sum::<f64>() / count as f64;
        assert!((found - expected).abs() < 0.02, "{x}: {found:.4} for {expected:.4}");
    }
}

/// `N(ρ) = √(2π(K + 1))·f_d·ρ·e^(−K − (K + 1)ρ²)·I0(2ρ√(K(K + 1)))` (Stüber, Principles of Mobile Communication, section 2.1).
#[test]
fn rician_crosses_levels_as_often_as_rice_says() {
    let k = 3.0_f64;
    let series = envelopes(FadingModel::Rician { k_db: 10.0 * k.log10() });
    // I0 by its power series.
    let bessel = |x: f64| {
        let term = |term: f64, n: i32| term * (x / 2.0 / f64::from(n)).powi(2);
        (1..40)
            .scan(1.0, |last, n| {
                *last = term(*last, n);
                Some(*last)
            })
            .sum::<f64>()
            + 1.0
    };
    for rho in [0.5_f64, 0.8, 1.0, 1.3] {
        let expected = (TAU * (k + 1.0)).sqrt()
            * rho
            * libm::exp(-k - (k + 1.0) * rho * rho)
            * bessel(2.0 * rho * (k * (k + 1.0)).sqrt());
        assert_near(fades(&series, rho).0, expected, &format!("crossings of {rho}"));
    }
    assert_near(mean(&series, |r| r * r), 1.0, "power");
    // The variance of the power is (2K + 1)/(K + 1)².
    assert_near(mean(&series, |r| r.powi(4)), 1.0 + (2.0 * k + 1.0) / (k + 1.0).powi(2), "power squared");
}

/// The power's moments are those of the gamma distribution: 1, 1 + 1/m, (1 + 1/m)(1 + 2/m).
#[test]
fn nakagami_has_the_moments_of_gamma() {
    for m in [0.5, 5.5] {
        let series = envelopes(FadingModel::Nakagami { m });
        assert_near(mean(&series, |r| r * r), 1.0, &format!("power, m = {m}"));
        assert_near(mean(&series, |r| r.powi(4)), 1.0 + 1.0 / m, &format!("power squared, m = {m}"));
    }
    let (one, rayleigh) =
        (Fading::new(FadingModel::Nakagami { m: 1.0 }, 7.0), Fading::new(FadingModel::Rayleigh, 7.0));
    let link = one.link(uniform(5));
    for sample in 0..200 {
        let (a, b) = (one.gain_db(&link, at(31 * sample)), rayleigh.gain_db(&link, at(31 * sample)));
        assert!((a - b).abs() < 1e-3, "shape 1 is Rayleigh's: {a} for {b}");
    }
}

#[test]
fn pair_has_one_name_in_both_directions() {
    assert_eq!(Fading::entity("b", "a"), Fading::entity("a", "b"));
    assert_ne!(Fading::entity("a", "b"), Fading::entity("a", "c"));
}

#[test]
fn block_is_a_sixteenth_of_a_period_at_most_1_ms() {
    let block = |doppler_hz| Fading::new(FadingModel::Rayleigh, doppler_hz).block();
    assert_eq!([block(0.0), block(5.0)], [Duration::from_millis(1); 2]);
    assert_eq!(block(125.0), Duration::from_micros(500));
    let fast = Fading::new(FadingModel::Rayleigh, 125.0);
    assert_eq!(fast.block_start(Instant::from_nanos(1_700_000)), Instant::from_nanos(1_500_000));
}

/// A link without motion keeps its gain.
#[test]
fn gain_stands_still_without_doppler() {
    let fading = Fading::new(FadingModel::Rayleigh, 0.0);
    let link = fading.link(uniform(2));
    let gain = |s: u64| fading.gain_db(&link, Instant::ZERO + Duration::from_secs(s));
    assert!((gain(0) - gain(100)).abs() < 1e-12);
}
