//! Small-scale fading: how the power of one link changes as waves by many ways add up and cancel.

mod gamma;

use core::f64::consts::TAU;
use evenair_units::{Duration, Instant};

/// The distribution of a link's power about its mean.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum FadingModel {
    /// Scattered waves alone: the power is exponential.
    Rayleigh,
    /// A direct wave beside scattered ones.
    Rician {
        /// The direct wave's power over that of all scattered waves (K) \[dB\].
        k_db: f64,
    },
    /// Nakagami's distribution: the power is gamma distributed of this shape.
    Nakagami {
        /// The shape, at least 1/2; 1 is Rayleigh's distribution, more is steadier.
        m: f64,
    },
}

/// Fading of all links: a model and how fast it changes.
///
/// The gain of a link is a pure function of its [`FadedLink`] and the instant, so neither other links nor the order of
/// questions change it. A sum of sinusoids of Doppler shifts `f_d·cos α_n` makes it (Clarke's and Jakes' model), with
/// `α_n = 2π(n + u)/N` for N = 49 waves. The offset u and the phases are the link's own. An odd N has no two opposite waves,
/// and u in 1/16 to 3/16 keeps all sums and differences of shifts apart, so that one link's averages over time are those
/// of the model. The power x of N equal waves has the density e^(−x)·(1 − L2(x)/(2N)) to first order in 1/N (L2 is
/// Laguerre's polynomial); x·(1 + (x/2 − 1)/(2N)) has that of the exponential distribution to the same order. Levels are
/// crossed up to 1.3 % more often than by infinitely many waves.
///
/// A Rician link's direct wave comes from the side and has no Doppler shift of its own. Nakagami's power is the quantile of
/// the gamma distribution at the Rayleigh power's rank, so that its fades are at the same instants.
///
/// # Example
/// ```
/// use evenair_topology::{Fading, FadingModel};
/// use evenair_units::Instant;
///
/// let fading = Fading::new(FadingModel::Rayleigh, 5.0);
/// // The caller's own stream of uniform numbers; in evenair Stream::named(seed, &Fading::entity(a, b), "fading").
/// let mut state = 0.1;
/// let link = fading.link(|| { state = (state * 7.3_f64 + 0.37).fract(); state });
/// let first = fading.gain_db(&link, Instant::ZERO);
/// assert_eq!(first, fading.gain_db(&link, Instant::ZERO));
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Fading {
    model: FadingModel,
    doppler_hz: f64,
    /// The amplitudes of the direct wave and of all scattered ones.
    amplitudes: (f64, f64),
    /// The logarithm of Nakagami's power by that of Rayleigh's.
    quantiles: Vec<f64>,
}

/// The waves of one pair of nodes; the same in both directions.
#[derive(Clone, Debug, PartialEq)]
pub struct FadedLink {
    waves: Box<[Wave; WAVES]>,
    /// The phase of the direct wave.
    direct: f64,
}

#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Wave {
    /// Its Doppler shift \[rad/s\].
    shift: f64,
    phase: f64,
}

/// How many waves are scattered.
const WAVES: usize = 49;
/// The weakest power over the mean: 60 dB below it; a sum of waves is below that in one instant of a million.
const POWER_MIN: f64 = 1e-6;
/// The greatest power of all waves together.
const POWER_MAX: f64 = WAVES as f64 * 1.25;
/// Steps of a table between the logarithms of [`POWER_MIN`] and [`POWER_MAX`].
const QUANTILES: u32 = 512;
/// Longest time for which a gain holds.
const BLOCK_MAX: Duration = Duration::from_millis(1);

impl Fading {
    /// Fading by this model with this greatest Doppler shift \[Hz\]: speed over wavelength.
    ///
    /// # Panics
    /// If the Doppler shift is below 0 or infinite, K is above 100 dB, or m is not between 1/2 and 100.
    pub fn new(model: FadingModel, doppler_hz: f64) -> Self {
        assert!(doppler_hz >= 0.0 && doppler_hz.is_finite(), "a Doppler shift");
        let (mut amplitudes, mut quantiles) = ((0.0, 1.0), Vec::new());
        match model {
            FadingModel::Rayleigh => (),
            FadingModel::Rician { k_db } => {
                assert!(k_db <= 100.0, "a quotient of powers");
                let k = libm::pow(10.0, k_db / 10.0);
                amplitudes = (libm::sqrt(k / (k + 1.0)), libm::sqrt(1.0 / (k + 1.0)));
            }
            FadingModel::Nakagami { m } => {
                assert!((0.5..=100.0).contains(&m), "a shape");
                let quantile = |step| gamma::log_quantile(m, libm::exp(log_power(f64::from(step))));
                quantiles = (0..=QUANTILES).map(quantile).collect();
            }
        }
        Self { model, doppler_hz, amplitudes, quantiles }
    }

    /// The entity of the random stream of an unordered pair of nodes: their names in the order of the alphabet.
    pub fn entity(one: &str, other: &str) -> String {
        format!("{}|{}", one.min(other), one.max(other))
    }

    /// The waves of a link; `unit` draws uniform numbers in [0, 1), 51 of them.
    pub fn link(&self, mut unit: impl FnMut() -> f64) -> FadedLink {
        let offset = (1.0 + 2.0 * unit()) / 16.0;
        let mut waves = Box::new([Wave::default(); WAVES]);
        for (n, wave) in waves.iter_mut().enumerate() {
            let arrival = TAU * (n as f64 + offset) / WAVES as f64;
            *wave = Wave { shift: TAU * self.doppler_hz * libm::cos(arrival), phase: TAU * unit() };
        }
        FadedLink { waves, direct: TAU * unit() }
    }

    /// How long one gain may be taken to hold: 1/16 of the Doppler period, 1 ms at most.
    pub fn block(&self) -> Duration {
        let sixteenth_s = 1.0 / (16.0 * self.doppler_hz);
        if sixteenth_s < BLOCK_MAX.as_secs_f64() { Duration::from_secs_f64(sixteenth_s) } else { BLOCK_MAX }
    }

    /// The beginning of the block that an instant lies in: the instant at which to ask for the block's gain.
    pub fn block_start(&self, at: Instant) -> Instant {
        let block = self.block().as_nanos().max(1);
        Instant::from_nanos(at.as_nanos() / block * block)
    }

    /// A link's power over its mean at an instant; the mean over time is 1.
    pub fn power(&self, link: &FadedLink, at: Instant) -> f64 {
        self.combine(link.scattered(at.as_secs_f64()), link.direct)
    }

    /// The power of scattered waves (in phase, quadrature) and a direct wave of this phase.
    fn combine(&self, (cos, sin): (f64, f64), phase: f64) -> f64 {
        let power = match self.model {
            FadingModel::Rayleigh => cos * cos + sin * sin,
            FadingModel::Rician { .. } => {
                let (direct, scattered) = self.amplitudes;
                let (direct_sin, direct_cos) = libm::sincos(phase);
                let (i, q) = (direct * direct_cos + scattered * cos, direct * direct_sin + scattered * sin);
                i * i + q * q
            }
            FadingModel::Nakagami { .. } => self.quantile(cos * cos + sin * sin),
        };
        power.max(POWER_MIN)
    }

    /// By how much a link is stronger than its mean at an instant; below 0, weaker \[dB\].
    pub fn gain_db(&self, link: &FadedLink, at: Instant) -> f64 {
        10.0 * libm::log10(self.power(link, at))
    }

    /// Nakagami's power of the same rank as a Rayleigh power.
    fn quantile(&self, power: f64) -> f64 {
        let place = (libm::log(power.max(POWER_MIN)) - log_power(0.0)) / (log_power(1.0) - log_power(0.0));
        let step = (place as usize).min(QUANTILES as usize - 1);
        let (below, above) = (self.quantiles[step], self.quantiles[step + 1]);
        libm::exp(below + (above - below) * (place - step as f64))
    }
}

/// The logarithm of the power at a step of the table.
fn log_power(step: f64) -> f64 {
    let (least, most) = (libm::log(POWER_MIN), libm::log(POWER_MAX));
    least + (most - least) * step / f64::from(QUANTILES)
}

impl FadedLink {
    /// In-phase and quadrature amplitude of the scattered waves, of mean power 1 together.
    fn scattered(&self, at_s: f64) -> (f64, f64) {
        let (mut in_phase, mut quadrature) = (0.0, 0.0);
        for wave in self.waves.iter() {
            let (sin, cos) = libm::sincos(wave.shift * at_s + wave.phase);
            in_phase += cos;
            quadrature += sin;
        }
        as_gaussian(in_phase, quadrature)
    }
}

/// A sum of all waves of amplitude 1, brought to mean power 1 and, to first order in the number of waves, to the
/// distribution of infinitely many.
fn as_gaussian(in_phase: f64, quadrature: f64) -> (f64, f64) {
    let waves = WAVES as f64;
    let power = (in_phase * in_phase + quadrature * quadrature) / waves;
    let amplitude = libm::sqrt((1.0 + (0.5 * power - 1.0) / (2.0 * waves)) / waves);
    (in_phase * amplitude, quadrature * amplitude)
}

#[cfg(test)]
mod tests;
