//! The radio, and tables of signals.

use super::{PerRate, Threshold, exactly};
use crate::quantity::{Decibels, Doppler, Frequency, Length, Power, Speed};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A radio. Each threshold is a range or a power, one of the two.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RadioTable {
    /// Frames from nearer than this are decoded; or a range for each rate, as `{ "6 Mbps" = "150 m", "54 Mbps" = "30 m" }`. A rate that
    /// is not there goes as far as the next faster one that is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub transmission_range: Option<PerRate<Length>>,
    /// Frames at least this strong are decoded; or a power for each rate, as `{ "6 Mbps" = "-90 dBm", "54 Mbps" = "-72 dBm" }`; or
    /// "standard", the minimum sensitivity of each rate (IEEE 802.11-2016 table 17-18, clauses 15.4.6.2 and 16.3.8.2), which real receivers
    /// surpass by 5 to 10 dB. A missing rate needs the power of the next faster one that is given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub receive_threshold: Option<PerRate<Threshold>>,
    /// Frames from nearer than this make the medium busy. Where each rate has a range or a threshold, and this is not given, all that the
    /// slowest rate reaches (clause 17.3.10.6).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub carrier_sense_range: Option<Length>,
    /// Frames stronger than this make the medium busy.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub carrier_sense_threshold: Option<Power>,
    /// The medium is also busy while all signals at a node add up to this, none of which need be sensed alone: a power, or "standard", -62 dBm
    /// in 20 MHz and 3 dB more for each doubling of the width (IEEE 802.11-2016 clause 17.3.10.6). Without it each signal is sensed
    /// alone. ns-3 adds up from `carrier_sense_threshold` on, and so does its preset with `errors`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub energy_detection: Option<Threshold>,
    /// The transmission power of every node; matters to thresholds given as powers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub transmit_power: Option<Power>,
    /// How power falls with distance.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub propagation: Option<PropagationName>,
    /// Carrier frequency.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub frequency: Option<Frequency>,
    /// The height of a storey, where nodes stand in a house: each floor between two of them weakens their signals, one by 18.3 dB and
    /// each further one by less (TGax).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub storey: Option<Length>,
    /// Signals are stronger or weaker than their distance says, by obstacles that no plan shows.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shadowing: Option<ShadowingTable>,
    /// Signals of each link grow and fade with time, as waves by many ways add up and cancel.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fading: Option<FadingTable>,
    /// Height of all antennas, two-ray ground only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub antenna_height: Option<Length>,
    /// Path-loss exponent, log-distance only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exponent: Option<f64>,
    /// Where the exponent takes over from free space, log-distance only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reference_distance: Option<Length>,
    /// How much stronger a frame must be to survive an overlap. With `errors`: how much stronger a later frame must be for the receiver
    /// to turn to it, within 16 us of the first one's beginning; 5 dB, if it is not given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub capture: Option<Decibels>,
    /// The signals that it must be stronger than.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub interference: Option<InterferenceRule>,
    /// The meaning of a signal that is sensed and too weak to be decoded.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub weak_signals: Option<WeakSignals>,
    /// Which links conflict, in theory (`solve`, `compare`, `show`, fluid models): by carrier sense, if it is not given. Runs do not depend on
    /// it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub conflicts: Option<ConflictRule>,
    /// The receivers' noise, where interference is summed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub noise: Option<Power>,
    /// Signals weaker than this do not count as interference, where it is summed; by default the noise, and 10 dB below it with
    /// `errors`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub interference_threshold: Option<Power>,
    /// Packets are lost by their signal-to-noise ratio and mode; without it a frame above its threshold that nothing overlaps is
    /// decoded.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub errors: Option<ErrorsTable>,
}

/// The error model of receivers. Thresholds need not be given with it: `receive_threshold`, from which on a preamble is detected, and
/// `carrier_sense_threshold` are -82 dBm in 20 MHz and 3 dB more for each doubling of the width.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ErrorsTable {
    /// Which model: "by-snr".
    pub model: ErrorModelName,
    /// The error-correcting code of 802.11n, ac and ax: "bcc" (convolutional, that of 802.11n and ac if it is not given) or "ldpc" (that
    /// of 802.11ax). MCS 10 and 11 have LDPC always.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub coding: Option<CodingName>,
    /// By how much the receivers' noise exceeds thermal noise; 7 dB, if it is not given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub noise_figure: Option<Decibels>,
    /// The signal-to-noise ratio from which on a preamble is detected; 4 dB, if it is not given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub preamble_detection: Option<Decibels>,
}

/// An error model.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ErrorModelName {
    /// Each packet of a frame is lost with a probability that follows from its mode, its size, and the ratio of signal to noise and
    /// interference over its time.
    BySnr,
}

/// An error-correcting code.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum CodingName {
    /// The binary convolutional code.
    Bcc,
    /// Low-density parity checks.
    Ldpc,
}

/// How power falls with distance.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum PropagationName {
    /// Free space up to the cross-over distance, then the fourth power.
    TwoRayGround,
    /// The second power.
    FreeSpace,
    /// Free space up to a reference distance, then any power.
    LogDistance,
    /// TGn's model A, of a flat room: log-distance with an exponent of 3.5 from 5 m on, as B and C.
    TgnA,
    /// TGn's model B, of homes.
    TgnB,
    /// TGn's model C, of small offices.
    TgnC,
    /// TGn's model D, of offices: an exponent of 3.5 from 10 m on.
    TgnD,
    /// TGn's model E, of large offices: an exponent of 3.5 from 20 m on.
    TgnE,
    /// TGn's model F, of halls and places: an exponent of 3.5 from 30 m on.
    TgnF,
    /// TGax's model of houses: an exponent of 3.5 from 5 m on; floors and walls of 5 dB come with `storey` and `walls`.
    TgaxResidential,
    /// TGax's model of offices: an exponent of 3.5 from 10 m on; walls of 7 dB come with `walls`.
    TgaxEnterprise,
    /// ITU-R P.1238, homes: an exponent of 2.8 from 1 m on.
    ItuResidential,
    /// ITU-R P.1238, offices: an exponent of 3, and 3.1 from 5 GHz on.
    ItuOffice,
    /// ITU-R P.1238, shops and halls: an exponent of 2.2.
    ItuCommercial,
}

/// Log-normal shadowing: a field over the places of sender and receiver, the same in both directions and in all seeds of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ShadowingTable {
    /// Its standard deviation, such as "5 dB"; cut off at four times that.
    pub deviation: Decibels,
    /// The distance over which an end moves until the correlation has fallen to 1/e.
    #[serde(default = "ShadowingTable::distance")]
    pub distance: Length,
    /// Another number gives another field.
    #[serde(default = "ShadowingTable::seed")]
    pub seed: u64,
}

/// Small-scale fading: the power of each pair of nodes about its mean, the same in both directions. It is a function of the run's
/// seed, the two names and the time alone.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FadingTable {
    /// The distribution of the power.
    pub model: FadingName,
    /// The greatest Doppler shift, such as "5 Hz"; or give `speed`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub doppler: Option<Doppler>,
    /// The speed of the nodes, or of objects around them, such as "1 m/s": its Doppler shift is speed × frequency / speed of
    /// light.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub speed: Option<Speed>,
    /// The direct wave's power over that of all others, such as "6 dB"; Rician fading only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub k: Option<Decibels>,
    /// Nakagami's shape, 0.5 to 100; 1 is Rayleigh's fading, and more is steadier.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub m: Option<f64>,
}

/// The distribution of a fading signal's power.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum FadingName {
    /// No direct wave: the power is exponential.
    Rayleigh,
    /// A direct wave beside others.
    Rician,
    /// Nakagami's: the power is gamma distributed.
    Nakagami,
}

impl ShadowingTable {
    const fn distance() -> Length {
        Length(5.0)
    }

    const fn seed() -> u64 {
        1
    }
}

/// The meaning of a signal that is sensed and too weak to be decoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum WeakSignals {
    /// A frame received in error: an extended inter-frame space follows it. As [Jam10] and ns-2 have it.
    Errors,
    /// Energy and nothing more. As ns-3 has it.
    Energy,
}

/// Which links conflict.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ConflictRule {
    /// Links with an end that senses an end of the other.
    CarrierSense,
    /// Links of which one's frames, or the answers to them, spoil the other's: with `errors` more than a tenth of its packets of 1500 bytes
    /// at the mode that the link sustains, and else all that are not stronger by `capture`. One interferer is looked at at a time. The
    /// best rates are then those of a schedule without carrier sense.
    Sinr,
}

/// The signals that a frame must be stronger than to be decoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum InterferenceRule {
    /// Each frame that overlaps it, whichever came first.
    Strongest,
    /// Each frame that overlaps it, and only if it came first: ns-2.
    First,
    /// Noise and all frames that overlap it, added up, at any moment.
    Sum,
}

/// A wall, seen from above: signals that cross it on their straight way are weaker by its loss; a node in its line is on neither
/// side.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WallTable {
    /// One end: east and north [m].
    #[serde(deserialize_with = "exactly")]
    pub from: [f64; 2],
    /// The other end [m].
    #[serde(deserialize_with = "exactly")]
    pub to: [f64; 2],
    /// By how much a signal is weaker behind it, such as "6 dB".
    pub loss: Decibels,
}

/// How strongly one node receives another.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SignalTable {
    /// The node that transmits.
    pub from: String,
    /// The node that receives.
    pub to: String,
    /// How strongly.
    pub power: Power,
    /// Not the other way round.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub one_way: bool,
}
