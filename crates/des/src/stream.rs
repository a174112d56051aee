//! Random streams, named by seed, entity and purpose, with samplers of our own.
//!
//! A stream's state depends on its name alone: a new node or another law adds streams and reshuffles none. The
//! samplers are a few lines each and carry test vectors, so that a library's new version cannot move a result.

use evenair_units::{Duration, Probability};
use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

/// A deterministic source of random draws.
#[derive(Clone, Debug)]
pub struct Stream(Xoshiro256PlusPlus);

impl Stream {
    /// The stream of `entity` for `purpose` in the run with this seed, e.g. `(1, "node a", "backoff")`.
    pub fn named(seed: u64, entity: &str, purpose: &str) -> Self {
        let mut hash = fnv1a(FNV_OFFSET ^ seed.wrapping_mul(0x9e37_79b9_7f4a_7c15), entity.as_bytes());
        hash = fnv1a(hash, &[0]); // so that ("ab", "c") and ("a", "bc") differ
        hash = fnv1a(hash, purpose.as_bytes());
        // `seed_from_u64` spreads the 64 bits over the state with SplitMix64.
        Self(Xoshiro256PlusPlus::seed_from_u64(hash))
    }

    /// 64 random bits.
    #[inline]
    pub fn bits(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// Uniform in [0, 1), 53 bits fine.
    #[inline]
    pub fn unit(&mut self) -> f64 {
        (self.bits() >> 11) as f64 * (1.0 / 9_007_199_254_740_992.0)
    }

    /// Uniform among `0..=max`, without bias (Lemire's multiplication, with rejection).
    #[inline]
    pub fn up_to(&mut self, max: u32) -> u32 {
        let range = u64::from(max) + 1;
        loop {
            let product = (self.bits() >> 32) * range;
            let low = product & 0xffff_ffff;
            // Reject the few low values that would favour some results: 2^32 mod range of them.
            if low >= range || low >= (1 << 32) % range {
                return (product >> 32) as u32;
            }
        }
    }

    /// Exponential with the given mean.
    #[inline]
    pub fn exponential(&mut self, mean: Duration) -> Duration {
        mean.mul_f64(-libm::log(1.0 - self.unit()))
    }

    /// Uniform between zero and twice the mean.
    #[inline]
    pub fn uniform(&mut self, mean: Duration) -> Duration {
        mean.mul_f64(2.0 * self.unit())
    }

    /// Standard normal (Box and Muller's transformation, of which one value is used).
    #[inline]
    pub fn normal(&mut self) -> f64 {
        let radius = libm::sqrt(-2.0 * libm::log(1.0 - self.unit()));
        radius * libm::cos(core::f64::consts::TAU * self.unit())
    }

    /// True with probability `p`. Draws even when the answer is certain, so that a law that moves a probability to
    /// zero or one leaves the stream in step.
    #[inline]
    pub fn chance(&mut self, p: Probability) -> bool {
        self.unit() < p.value()
    }
}

/// Uniform in [0, 1), 53 bits fine, and a pure function of these numbers: each goes through `SplitMix64`'s finaliser. For draws
/// that must not depend on how many others there were.
#[inline]
pub fn unit_of(numbers: [u64; 4]) -> f64 {
    let hash = numbers.into_iter().fold(0, |hash: u64, number| {
        let mut z = (hash ^ number).wrapping_add(0x9e37_79b9_7f4a_7c15);
        z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ z >> 31
    });
    (hash >> 11) as f64 * (1.0 / 9_007_199_254_740_992.0)
}

const FNV_OFFSET: u64 = 0xcbf2_9ce4_8422_2325;

/// Fowler–Noll–Vo 1a, 64 bits: stable for ever, which a library's hasher does not promise.
pub(crate) fn fnv1a(mut hash: u64, bytes: &[u8]) -> u64 {
    for &byte in bytes {
        hash = (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
    }
    hash
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stream_is_its_name() {
        let draw = |seed, entity, purpose| Stream::named(seed, entity, purpose).bits();
        assert_eq!(draw(1, "a", "backoff"), draw(1, "a", "backoff"));
        assert_ne!(draw(1, "a", "backoff"), draw(2, "a", "backoff"));
        assert_ne!(draw(1, "a", "backoff"), draw(1, "b", "backoff"));
        assert_ne!(draw(1, "ab", "c"), draw(1, "a", "bc"));
    }

    #[test]
    fn numbers_give_uniform_draws() {
        // Means of 1e5 draws: 1/2 and 1/3, with standard errors of 9.1e-4 and 9.4e-4.
        let draws: Vec<f64> = (0..100_000).map(|i| unit_of([1, 2, i * 9_000, 0])).collect();
        let mean = |f: fn(f64) -> f64| draws.iter().map(|&u| f(u)).sum::<f64>() / draws.len() as f64;
        assert!((mean(|u| u) - 0.5).abs() < 0.004 && (mean(|u| u * u) - 1.0 / 3.0).abs() < 0.004);
        let apart = |other: [u64; 4]| (unit_of(other) - unit_of([1, 2, 3, 4])).abs() > 1e-6;
        assert!(apart([2, 1, 3, 4]) && apart([1, 2, 3, 5]) && apart([1, 2, 4, 4]));
    }

    /// If this fails, every figure of every study moves: see CONTRIBUTING, "Changed results".
    #[test]
    fn test_vectors() {
        let mut stream = Stream::named(1, "node a", "backoff");
        let draws: Vec<u32> = (0..8).map(|_| stream.up_to(31)).collect();
        assert_eq!(draws, [26, 23, 1, 11, 30, 14, 9, 25]);
        assert_eq!(stream.exponential(Duration::from_micros(100)).as_nanos(), 349_593);
    }

    #[test]
    fn up_to_is_uniform() {
        let mut stream = Stream::named(7, "test", "uniform");
        let mut counts = [0u32; 31];
        for _ in 0..310_000 {
            counts[stream.up_to(30) as usize] += 1;
        }
        // χ² with 30 degrees of freedom: 59.7 is its 99.9 % quantile.
        let chi2: f64 = counts.iter().map(|&c| (f64::from(c) - 1e4).powi(2) / 1e4).sum();
        assert!(chi2 < 59.7, "chi2 = {chi2}");
    }

    #[test]
    fn the_normal_has_its_moments() {
        let mut stream = Stream::named(7, "test", "normal");
        let draws: Vec<f64> = (0..200_000).map(|_| stream.normal()).collect();
        let moment = |k: i32| draws.iter().map(|x| x.powi(k)).sum::<f64>() / draws.len() as f64;
        // Standard errors 1/√n, √2/√n, √15/√n and √96/√n with √n = 447: four of each.
        assert!(moment(1).abs() < 0.009, "{}", moment(1));
        assert!((moment(2) - 1.0).abs() < 0.0127, "{}", moment(2));
        assert!(moment(3).abs() < 0.035, "{}", moment(3));
        assert!((moment(4) - 3.0).abs() < 0.088, "{}", moment(4));
    }

    #[test]
    fn the_exponential_has_its_mean_and_deviation() {
        let mut stream = Stream::named(7, "test", "exponential");
        let draws: Vec<f64> =
            (0..200_000).map(|_| stream.exponential(Duration::from_secs(1)).as_secs_f64()).collect();
        let mean = draws.iter().sum::<f64>() / draws.len() as f64;
        let variance = draws.iter().map(|d| (d - mean).powi(2)).sum::<f64>() / draws.len() as f64;
        // Standard errors 1/√200000 = 0.0022 and √8/√200000 = 0.0063: four of each.
        assert!((mean - 1.0).abs() < 0.009, "mean = {mean}");
        assert!((variance - 1.0).abs() < 0.025, "variance = {variance}");
    }
}
