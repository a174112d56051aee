//! The hazards of all modes, computed once on a grid of 0.1 dB.

use super::Coding;
use super::bound::{Code, CodeRate};
use crate::phy::{Mode, Phy};
use std::sync::LazyLock;

/// How the bits of frames of one mode are lost.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Curve {
    /// Its row in the table.
    row: u8,
    /// By how much the ratio of one stream is below that of the frame \[dB\].
    streams_db: f64,
}

/// The grid: from this ratio on \[dB\], so many steps a dB and points in all.
const FIRST_DB: f64 = -10.0;
const STEPS: f64 = 10.0;
const POINTS: usize = 601;

use CodeRate::{FiveSixths, Half, ThreeQuarters, TwoThirds};

/// The rows: DSSS, non-HT OFDM, MCS 0 to 9 with the convolutional code, MCS 0 to 11 with LDPC.
fn codes() -> impl Iterator<Item = Code> {
    let dsss = [2, 4, 11, 22].map(Code::Dsss);
    let of = |&(bits, rate): &(u8, CodeRate)| Code::Convolutional(bits, rate);
    dsss.into_iter()
        .chain(OFDM.iter().map(of))
        .chain(MCS.iter().map(of))
        .chain(LDPC_LIMITS_DB.map(Code::Ldpc))
}

/// The constellation, as a power of two, and the code of 6 to 54 Mb/s (IEEE 802.11-2016 table 17-4).
const OFDM: [(u8, CodeRate); 8] = [
    (1, Half),
    (1, ThreeQuarters),
    (2, Half),
    (2, ThreeQuarters),
    (4, Half),
    (4, ThreeQuarters),
    (6, TwoThirds),
    (6, ThreeQuarters),
];
/// The same of MCS 0 to 9 (tables 19-27 and 21-30).
const MCS: [(u8, CodeRate); 10] = [
    (1, Half),
    (2, Half),
    (2, ThreeQuarters),
    (4, Half),
    (4, ThreeQuarters),
    (6, TwoThirds),
    (6, ThreeQuarters),
    (6, FiveSixths),
    (8, ThreeQuarters),
    (8, FiveSixths),
];
/// The ratio at which bit-interleaved coded modulation, with an ideal code, carries the rate of MCS 0 to 11 \[dB\]: it follows from
/// constellation and rate alone.
pub(super) const LDPC_LIMITS_DB: [f64; 12] =
    [-2.823, 0.187, 3.387, 5.280, 9.309, 12.721, 14.389, 16.144, 19.248, 21.344, 24.035, 26.484];
const OF_OFDM: u8 = 4;
const OF_MCS: u8 = 12;
const OF_LDPC: u8 = 22;
/// The logarithms of the hazards.
static TABLE: LazyLock<Box<[[f32; POINTS]]>> = LazyLock::new(|| {
    let row = |code: Code| {
        std::array::from_fn(|i| {
            let hazard = code.hazard(FIRST_DB + i as f64 / STEPS);
            libm::log(hazard.max(f64::from(f32::MIN_POSITIVE))) as f32
        })
    };
    codes().map(row).collect()
});

impl Curve {
    /// The curve of a mode; the coding says nothing of modes that a rate names.
    pub(super) fn of(phy: Phy, mode: Mode, coding: Coding) -> Self {
        let Some(modulation) = mode.modulation() else {
            let rate = mode.rate();
            let place = if phy.is_dsss(rate) {
                [1_000_000, 2_000_000, 5_500_000, 11_000_000].iter().position(|&bps| rate.as_bps() <= bps)
            } else {
                let ofdm = [6_000_000, 9_000_000, 12_000_000, 18_000_000, 24_000_000, 36_000_000, 48_000_000];
                Some(OF_OFDM as usize + ofdm.iter().take_while(|&&bps| rate.as_bps() > bps).count())
            };
            return Self { row: place.map_or(3, |place| place as u8), streams_db: 0.0 };
        };
        let is_ldpc = coding == Coding::Ldpc || usize::from(modulation.mcs) >= MCS.len();
        Self {
            row: modulation.mcs + if is_ldpc { OF_LDPC } else { OF_MCS },
            streams_db: 10.0 * libm::log10(f64::from(modulation.streams)),
        }
    }

    /// The errors to be expected of one bit at a frame's signal-to-noise ratio \[dB\].
    pub(crate) fn hazard(self, ratio_db: f64) -> f64 {
        let row = &TABLE[usize::from(self.row)];
        let place = ((ratio_db - self.streams_db - FIRST_DB) * STEPS).clamp(0.0, (POINTS - 1) as f64);
        let below = (place as usize).min(POINTS - 2);
        let (low, high) = (f64::from(row[below]), f64::from(row[below + 1]));
        libm::exp(low + (high - low) * (place - below as f64))
    }
}
