//! Poisson traffic against closed forms: exponential intervals, and the waiting times of M/D/1 and M/G/1 (Pollaczek and Khinchine).

use super::*;
use crate::spec::Mix;
use evenair_des::Stream;

/// A datagram of 125 bytes takes 1 ms of the wire.
const RATE_KBPS: u64 = 1_000;
const DELAY_MS: u64 = 3;

fn poisson(interval_ms: f64, sizes: &[u32]) -> Traffic {
    let sizes: Vec<Bytes> = sizes.iter().map(|&bytes| Bytes::new(bytes)).collect();
    let interval = Duration::from_secs_f64(interval_ms / 1e3);
    let mix = Mix::new(&sizes);
    let pattern = Pattern::Poisson { interval, sizes: mix.filter(|_| sizes.len() > 1) };
    Traffic::Datagrams { size: mix.unwrap().mean(), headers: Bytes::new(0), pattern }
}

/// The mean of some values and its standard error.
fn estimate(values: &[f64]) -> (f64, f64) {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    let variance = values.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>() / (n - 1.0);
    (mean, (variance / n).sqrt())
}

/// Mean `m`, variance `m²`, no correlation: the standard errors of `n` of them are `m/√n`, `m²·√(8/n)` and `1/√n`.
#[test]
fn intervals_are_exponential_and_independent() {
    let (n, mean_s) = (400_000, 0.02);
    let pattern = Pattern::Poisson { interval: Duration::from_millis(20), sizes: None };
    let mut stream = Stream::named(3, "flow", "traffic");
    let gaps: Vec<f64> = (0..n).map(|_| pattern.next_in(&mut stream).unwrap().as_secs_f64()).collect();
    let root = f64::from(n).sqrt();
    let (mean, _) = estimate(&gaps);
    assert!((mean / mean_s - 1.0).abs() < 5.0 / root, "{mean}");
    let variance = gaps.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>() / f64::from(n);
    assert!((variance / (mean_s * mean_s) - 1.0).abs() < 5.0 * 8f64.sqrt() / root, "{variance}");
    let lagged = gaps.windows(2).map(|pair| (pair[0] - mean) * (pair[1] - mean)).sum::<f64>() / f64::from(n);
    assert!((lagged / variance).abs() < 5.0 / root, "{lagged}");
}

/// The count of a Poisson process: its variance is its mean. Four hundred runs of 500 datagrams each, expected.
#[test]
fn counts_vary_as_much_as_their_mean() {
    let counts: Vec<f64> = (0..400)
        .map(|seed| {
            Network::run(&wired(RATE_KBPS, DELAY_MS, 1_000, poisson(10.0, &[125])), seconds(seed, 0, 5))
        })
        .map(|result| result.flows[0].sent as f64)
        .collect();
    let (mean, error) = estimate(&counts);
    assert!((mean - 500.0).abs() < 5.0 * error, "{mean} ± {error}");
    let variance = error * error * counts.len() as f64;
    // The standard error of a normal variance of n samples is √(2/n) of it: 7 %.
    assert!((variance / mean - 1.0).abs() < 5.0 * 0.0707, "{variance} of {mean}");
}

/// The mean time that datagrams wait for the wire, in twenty runs, against `λ·E[S²]/(2(1 − ρ))`.
fn waits(interval_ms: f64, sizes: &[u32], expected_ms: f64) {
    let service_ms = |bytes: u32| f64::from(bytes) * 8.0 / RATE_KBPS as f64;
    let mean_ms = sizes.iter().map(|&bytes| service_ms(bytes)).sum::<f64>() / sizes.len() as f64;
    let waited: Vec<f64> = (0..20)
        .map(|seed| {
            let spec = wired(RATE_KBPS, DELAY_MS, 100_000, poisson(interval_ms, sizes));
            let result = Network::run(&spec, seconds(seed, 5, 200));
            assert_conserved(&result);
            result.flows[0].delay.as_ref().unwrap().mean_s * 1e3 - mean_ms - DELAY_MS as f64
        })
        .collect();
    let (mean, error) = estimate(&waited);
    assert!(error < 0.03 * expected_ms, "{error} is no precise measurement of {expected_ms}");
    assert!((mean - expected_ms).abs() < 4.0 * error, "{mean} ± {error} ms, not {expected_ms}: {sizes:?}");
}

#[test]
fn md1_queue_waits_as_pollaczek_khinchine() {
    // 1 ms of service. ρ = 0.3: 0.3/(2·0.7) = 0.2143 ms; ρ = 0.5: 0.5 ms; ρ = 0.8: 0.8/(2·0.2) = 2 ms.
    waits(1.0 / 0.3, &[125], 0.3 / 1.4);
    waits(2.0, &[125], 0.5);
    waits(1.25, &[125], 2.0);
}

#[test]
fn a_mix_of_sizes_waits_by_its_second_moment() {
    // 1 and 9 ms, each as often: E[S] = 5, E[S²] = 41 ms²; one in 10 ms: ρ = 0.5 and 0.1·41/(2·0.5) = 4.1 ms.
    waits(10.0, &[125, 1125], 4.1);
    // 1, 1 and 10 ms: E[S] = 4, E[S²] = 34; one in 8 ms: ρ = 0.5 and 34/8/(2·0.5) = 4.25 ms.
    waits(8.0, &[125, 125, 1250], 4.25);
}

/// The bytes of a mix are counted, and not its mean size for each: they are those that the wire served, but for a datagram under way
/// at each end of the 100 s, of 9000 bits at most.
#[test]
fn goodput_counts_the_bytes_that_arrive() {
    let spec = wired(RATE_KBPS, DELAY_MS, 100_000, poisson(10.0, &[125, 1125]));
    let result = Network::run(&spec, seconds(4, 0, 100));
    let (goodput_bps, served) =
        (result.flows[0].goodput_bps, result.links[0].served_bytes as f64 * 8.0 / 100.0);
    assert!((goodput_bps - served).abs() <= 2.0 * 9000.0 / 100.0, "{goodput_bps} b/s of {served}");
    // Some kb/s off: half of some ten thousand datagrams are large, give or take a hundredth.
    let of_means = result.flows[0].goodput_pps * 8.0 * 625.0;
    assert!((goodput_bps - of_means).abs() > 500.0, "{goodput_bps} b/s is that of mean sizes, {of_means}");
}
