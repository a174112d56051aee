//! The error model by signal-to-noise ratio: how likely a receiver decodes each packet of a frame.
//!
//! Each mode has a hazard: the errors to be expected of one bit at a signal-to-noise ratio. A packet survives with
//! probability `exp(−Λ)`; its `Λ` is the sum of its bits' hazards, each at the interference of its own moment. `curve` has
//! the hazards of all modes on a grid of 0.1 dB, `bound` the formulas.
//!
//! # Left out
//! Streams share the power evenly and do not disturb each other: each has the frame's ratio less 10·log₁₀ of their number, with no gain
//! from more antennas. The channel is flat over a frame's width. An interfering signal counts whole, at any width.
//! Pilots, synchronisation and channel estimation are perfect.

mod bound;
mod curve;
#[cfg(test)]
mod tests;

use crate::phy::{Mode, Phy, Width};
pub(crate) use curve::Curve;
use evenair_units::{Bytes, Dbm, Duration};

/// Thermal noise at 290 K in 1 Hz \[dBm\]: 10·log₁₀(1.380649e-23 · 290 · 1000).
const THERMAL_DBM: f64 = -173.975;
/// The width of a DSSS frame \[Hz\]: its spectral mask (IEEE 802.11-2016 clause 15.4.5.5).
const DSSS_HZ: f64 = 22e6;
/// The power from which on a preamble is detected in 20 MHz, and makes the medium busy (IEEE 802.11-2016 clause 17.3.10.6).
const DETECTED_DBM: f64 = -82.0;

/// The error-correcting code of frames of 802.11n, ac and ax.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Coding {
    /// The convolutional code of all OFDM stations; MCS 10 and 11, which 802.11ax has with LDPC only, have that.
    #[default]
    Convolutional,
    /// Low-density parity checks.
    Ldpc,
}

/// A receiver with errors that follow from the signal-to-noise ratio.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ErrorModel {
    /// The code of frames of 802.11n, ac and ax; those of other kinds have their only one.
    pub coding: Coding,
    /// By how much the receiver's noise exceeds thermal noise at 290 K \[dB\].
    pub noise_figure_db: f32,
    /// The width of the network's channel, in which preambles are detected.
    pub width: Width,
}

const _: () =
    assert!(size_of::<ErrorModel>() <= 8, "rules are copied for frames of receivers without a model, too");

impl ErrorModel {
    /// The signal-to-noise ratio from which on preambles are detected by default \[dB\], for
    /// [`Rules::detection_db`](crate::Rules::detection_db): that of ns-3's `ThresholdPreambleDetectionModel`.
    pub const DETECTION_DB: f64 = 4.0;

    /// The convolutional code and a noise figure of 7 dB, as in ns-3.
    pub const fn new(width: Width) -> Self {
        Self { coding: Coding::Convolutional, noise_figure_db: 7.0, width }
    }

    /// Returns the receiver's noise in a channel of this width.
    pub fn noise(&self, width: Width) -> Dbm {
        self.noise_in(width.as_mhz() as f64 * 1e6)
    }

    /// Returns the power from which on preambles are detected and make the medium busy: −82 dBm in 20 MHz, 3 dB more for
    /// each doubling of the width (IEEE 802.11-2016 clauses 19.3.19.5 and 21.3.18.5).
    pub const fn detected(width: Width) -> Dbm {
        Dbm::new(DETECTED_DBM + 3.0 * width as u8 as f64)
    }

    /// Returns the probability that a packet with a MAC frame of `size` bytes, received at this power without interference, is
    /// lost in a mode.
    pub fn loss(&self, phy: Phy, mode: Mode, power: Dbm, size: Bytes) -> f64 {
        let hazard = self.link(phy, mode).hazard(self.ratio_db(phy, mode, power));
        -libm::expm1(-hazard * size.bits() as f64)
    }

    /// Returns the mode that delivers most bits of packets with a MAC frame of `size` bytes, received at this power without
    /// interference, preambles left out: the greatest product of rate and share received. With a greatest loss it is the fastest mode
    /// that loses at most this share, or the one that loses least, if all lose more. Of equals the first; none, if there are no modes.
    pub fn best(
        &self,
        phy: Phy,
        modes: impl IntoIterator<Item = Mode>,
        power: Dbm,
        size: Bytes,
        loss_max: Option<f64>,
    ) -> Option<Mode> {
        let rated = modes.into_iter().map(|mode| {
            let (loss, bps) = (self.loss(phy, mode, power, size), mode.rate().as_bps() as f64);
            let value = match loss_max {
                None => bps * (1.0 - loss),
                Some(most) if loss <= most => bps,
                Some(_) => -loss,
            };
            (value, mode)
        });
        rated.reduce(|best, other| if other.0 > best.0 { other } else { best }).map(|(_, mode)| mode)
    }

    /// Returns whether at most a share of packets with a MAC frame of `size` bytes is lost in a mode, received at this power under a signal of
    /// another that lasts.
    pub fn survives(
        &self,
        phy: Phy,
        mode: Mode,
        size: Bytes,
        (power, interference): (Dbm, Dbm),
        loss_max: f64,
    ) -> bool {
        let watts = |power: Dbm| libm::pow(10.0, power.level() / 10.0);
        let noise = self.noise_in(bandwidth_hz(phy, mode));
        let lifted_db = 10.0 * libm::log10((watts(noise) + watts(interference)) / watts(noise));
        self.loss(phy, mode, power + -lifted_db, size) <= loss_max
    }

    /// Returns the signal-to-noise ratio of a frame of this mode that is received at this power \[dB\].
    pub fn ratio_db(&self, phy: Phy, mode: Mode, power: Dbm) -> f64 {
        power - self.noise_in(bandwidth_hz(phy, mode))
    }

    /// The width of a frame of this mode by that of the network's channel.
    pub(crate) fn relative_width(self, phy: Phy, mode: Mode) -> f64 {
        bandwidth_hz(phy, mode) / (self.width.as_mhz() as f64 * 1e6)
    }

    /// How a mode's bits are lost.
    pub(crate) fn link(self, phy: Phy, mode: Mode) -> Curve {
        Curve::of(phy, mode, self.coding)
    }

    fn noise_in(self, bandwidth_hz: f64) -> Dbm {
        Dbm::new(THERMAL_DBM + 10.0 * libm::log10(bandwidth_hz) + f64::from(self.noise_figure_db))
    }
}

/// The SIG fields of a frame's preamble, or the header of DSSS, which must be decoded before its body.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Header {
    pub(crate) curve: Curve,
    pub(crate) bits: f64,
    /// When they begin, after the frame's first energy.
    pub(crate) begins: Duration,
}

impl Header {
    /// Of a frame of this mode: 24 bits of L-SIG, 48 of HT-SIG, VHT-SIG-A or HE-SIG-A behind it (IEEE 802.11-2016 clauses
    /// 17.3.4, 19.3.9.4.3, 21.3.8.3.3), all BPSK at rate ½; of DSSS 48 at 1 Mb/s (clause 15.2.3).
    pub(crate) fn of(phy: Phy, mode: Mode) -> Self {
        let slowest = phy.rates().iter().find(|&&rate| phy.is_dsss(rate) == phy.is_dsss(mode.rate()));
        let slowest = Mode::at(*slowest.expect("each modulation has rates"));
        let is_dsss = mode.modulation().is_none() && phy.is_dsss(mode.rate());
        let bits = if is_dsss { 48.0 } else { 24.0 + if mode.modulation().is_some() { 48.0 } else { 0.0 } };
        let begins = if is_dsss { Duration::ZERO } else { Duration::from_micros(16) };
        Self { curve: Curve::of(phy, slowest, Coding::Convolutional), bits, begins }
    }
}

/// The width of a frame of this mode \[Hz\].
fn bandwidth_hz(phy: Phy, mode: Mode) -> f64 {
    match mode.modulation() {
        Some(modulation) => modulation.width.as_mhz() as f64 * 1e6,
        None if phy.is_dsss(mode.rate()) => DSSS_HZ,
        None => Width::Mhz20.as_mhz() as f64 * 1e6,
    }
}
