//! The errors to be expected of a bit, by the signal-to-noise ratio of each code.

use core::f64::consts::SQRT_2;

/// The rate of the convolutional code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CodeRate {
    Half,
    TwoThirds,
    ThreeQuarters,
    FiveSixths,
}

/// A code with its constellation.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Code {
    /// DSSS and CCK, by data rate \[500 kb/s\].
    Dsss(u8),
    /// The convolutional code, on a constellation of 2 to this power points.
    Convolutional(u8, CodeRate),
    /// LDPC, by the ratio at which bit-interleaved coded modulation with an ideal code carries its rate \[dB\].
    Ldpc(f64),
}

/// How far a Gaussian edge of LDPC frames is spread \[dB\], and how far its 10 % lies above the limit of bit-interleaved coded
/// modulation \[dB\]: the mean gap of MCS 0 to 11 of ns-3's tables.
const LDPC_SPREAD_DB: f64 = 0.25;
const LDPC_GAP_DB: f64 = 2.15;
/// Q⁻¹(0.1).
const TENTH: f64 = 1.281_551_565_5;
/// The bits of the frame by which the edge is known.
const LDPC_BITS: f64 = 8.0 * 1_458.0;

impl Code {
    /// The errors to be expected of one bit at this ratio \[dB\].
    pub(super) fn hazard(self, ratio_db: f64) -> f64 {
        let ratio = libm::pow(10.0, ratio_db / 10.0);
        match self {
            Self::Dsss(rate) => -libm::log1p(-dsss(rate, ratio).min(0.5)),
            Self::Convolutional(bits, rate) => {
                let shifted = libm::pow(10.0, (ratio_db + offset_db(bits)) / 10.0);
                convolutional(bits, rate, shifted).min(core::f64::consts::LN_2)
            }
            Self::Ldpc(limit_db) => {
                let from_tenth = (ratio_db - limit_db - LDPC_GAP_DB) / LDPC_SPREAD_DB;
                // ln(1 − Q(x)) = ln Q(−x), which does not round to nothing.
                (-libm::log(q(-(from_tenth + TENTH))) / LDPC_BITS).min(core::f64::consts::LN_2)
            }
        }
    }
}

/// Bit errors of DSSS and CCK by the ratio in the frame's channel (IEEE 802.15.2-2003): 1 Mb/s has eleven chips a bit, 2 Mb/s half
/// of them; CCK has a union bound over its codewords.
fn dsss(rate: u8, ratio: f64) -> f64 {
    let union = |terms: &[(f64, f64)]| -> f64 {
        terms.iter().map(|&(count, factor)| count * q(libm::sqrt(factor * ratio))).sum()
    };
    match rate {
        2 => q(libm::sqrt(11.0 * ratio)),
        4 => q(libm::sqrt(5.5 * ratio)),
        11 => 8.0 / 15.0 * union(&[(14.0, 8.0), (1.0, 16.0)]),
        _ => {
            let terms = [(24.0, 4.0), (16.0, 6.0), (174.0, 8.0), (16.0, 10.0), (24.0, 12.0), (1.0, 16.0)];
            128.0 / 255.0 * union(&terms)
        }
    }
}

/// The union bound of soft decisions, for wrong paths of the decoder that begin at a bit: (1/k) Σ `A_d` aᵈ Q(√(d·g)). `g` is the
/// squared distance of nearest neighbours by the noise, 2·SNR of BPSK and 3·SNR/(M − 1) of M-QAM; `a` the share of bits at that
/// distance in a Gray mapping. A packet is whole if no wrong path begins in it, however many wrong bits such a path has: counting
/// those, which come in bursts, as errors of their own makes the bound 0.3 to 1 dB too pessimistic.
fn convolutional(bits: u8, rate: CodeRate, ratio: f64) -> f64 {
    let (distance, share) = if bits == 1 {
        (2.0 * ratio, 1.0)
    } else {
        let half_bits = f64::from(bits / 2);
        (3.0 * ratio / (f64::from(1u16 << bits) - 1.0), (1.0 - libm::exp2(-half_bits)) * 2.0 / half_bits)
    };
    let (first, step, weights, inputs) = rate.spectrum();
    let term = |(place, &weight): (usize, &f64)| {
        let d = (first + step * place) as f64;
        weight * libm::pow(share, d) * q(libm::sqrt(d * distance))
    };
    weights.iter().enumerate().map(term).sum::<f64>() / inputs
}

/// By how much the bound of each constellation is too pessimistic \[dB\]: one number each, for which it meets the simulated curves
/// of ns-3's tables at a packet error rate of 10 %, the mean over its codes.
const fn offset_db(bits: u8) -> f64 {
    match bits {
        1 => -0.14,
        2 => -0.11,
        4 => -0.07,
        6 => -0.02,
        _ => 0.09,
    }
}

impl CodeRate {
    /// The weight spectrum of the code (133, 171) as punctured by IEEE 802.11-2016 clauses 17.3.5.6 and 19.3.11.5: the first
    /// distance, the step between distances, the paths at each that leave the right one in a period, and input bits in a period.
    pub(super) const fn spectrum(self) -> (usize, usize, &'static [f64], f64) {
        match self {
            Self::Half => (10, 2, &[11.0, 38.0, 193.0, 1_331.0, 7_275.0], 1.0),
            Self::TwoThirds => (6, 1, &[1.0, 16.0, 48.0, 158.0, 642.0, 2_435.0], 2.0),
            Self::ThreeQuarters => (5, 1, &[8.0, 31.0, 160.0, 892.0, 4_512.0], 3.0),
            Self::FiveSixths => (4, 1, &[14.0, 69.0, 654.0, 4_996.0, 39_677.0], 5.0),
        }
    }
}

/// The tail of the normal distribution.
fn q(x: f64) -> f64 {
    0.5 * libm::erfc(x / SQRT_2)
}
