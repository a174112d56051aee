//! A back-off law's answer, as data.

use evenair_units::Duration;

/// A back-off law's answer, as data.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Access {
    /// The distribution that a back-off is drawn from.
    pub draw: Draw,
    /// The effect of a failed transmission on the next draw.
    pub on_failure: OnFailure,
    /// When a back-off is drawn.
    pub when: When,
    /// How long the medium is held.
    pub holding: Holding,
}

/// A distribution of back-off times.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Draw {
    /// A whole number of slots, uniform in `0..=window`, or in `0..window` if the end is excluded.
    Slots {
        /// The contention window \[slots\].
        window: u32,
        /// Whether the window itself can be drawn: yes in the standard, no in ns-2.
        end_included: bool,
    },
    /// Exponential, its mean this many times the airtime of the frame that waits.
    ExponentialOfFrame {
        /// Mean back-off over the frame's airtime.
        #[cfg_attr(feature = "serde", serde(with = "crate::tape::exact"))]
        factor: f64,
        /// Rounded to the nearest whole slot.
        slotted: bool,
    },
    /// Exponential, its mean this many times the bits of the packet that waits over its rate: without preamble and
    /// MAC header.
    ExponentialOfPacket {
        /// Mean back-off over the packet's bits at its rate.
        #[cfg_attr(feature = "serde", serde(with = "crate::tape::exact"))]
        factor: f64,
        /// Rounded to the nearest whole slot.
        slotted: bool,
    },
    /// Exponential with this mean.
    Exponential {
        /// Mean back-off.
        #[cfg_attr(feature = "serde", serde(with = "crate::tape::exact"))]
        mean: Duration,
        /// Rounded to the nearest whole slot.
        slotted: bool,
    },
    /// Uniform between zero and twice the mean.
    Uniform {
        /// Mean back-off.
        #[cfg_attr(feature = "serde", serde(with = "crate::tape::exact"))]
        mean: Duration,
    },
    /// Always the same.
    Fixed {
        /// The back-off.
        #[cfg_attr(feature = "serde", serde(with = "crate::tape::exact"))]
        mean: Duration,
    },
}

/// The effect of a failed transmission on the next draw.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum OnFailure {
    /// The window doubles, up to this many slots (IEEE 802.11-2016 clause 10.3.3); only [`Draw::Slots`] has one.
    Double {
        /// The largest window \[slots\].
        window_max: u32,
    },
    /// The next draw is from the same distribution.
    Redraw,
    /// Nothing is drawn: the same back-off is counted down once more.
    Repeat,
}

/// When a back-off is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum When {
    /// After each transmission, and for a frame that finds the medium busy; a frame that finds it idle goes at once
    /// (IEEE 802.11-2016 clause 10.3.4.2).
    AfterTransmission,
    /// After each transmission and, once that back-off is over, before each frame, even on an idle medium: ns-2's DCF.
    AfterTransmissionAndBeforeFrame,
    /// Before each frame, and only then ([Chen10] Alg. 1 line 6).
    BeforeFrame,
}

/// How long a transmitter that has won the medium holds it.
///
/// A real MAC holds the medium for whole packets: there [`Self::Packet`], [`Self::Burst`] and [`Self::Span`]
/// have a meaning; on ideal CSMA all of them have. A burst or a span is over when its time is, or when there
/// is nothing to send: then the medium is free, and any station may contend.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Holding {
    /// As long as its packet takes at its rate.
    #[default]
    Packet,
    /// Packet after packet, as many as fit into this time, and one in any case: EDCA's TXOP.
    Burst(Duration),
    /// Packet after packet for so long in the mean, and one in any case: a packet that no longer fits whole is sent with the
    /// probability of the part that fits.
    Span(Duration),
    /// Exponential with this mean.
    Exponential(Duration),
    /// Uniform between zero and twice the mean.
    Uniform(Duration),
    /// Always the same.
    Fixed(Duration),
}

/// The inter-frame space before countdowns run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Space {
    /// DIFS; a countdown counts a slot when it is over.
    Difs,
    /// SIFS and so many slots; a countdown counts a slot when it begins (EDCA's AIFS).
    Aifs {
        /// AIFSN.
        slots: u32,
    },
}
