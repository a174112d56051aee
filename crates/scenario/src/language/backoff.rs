//! Back-off laws.

use crate::quantity::Time;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How long transmitters back off.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "law", rename_all = "kebab-case", deny_unknown_fields)]
pub enum BackoffLaw {
    /// The contention window of 802.11 ([Chen10]'s L-CSMA).
    Dcf {
        /// Window before the first attempt [slots].
        #[serde(skip_serializing_if = "Option::is_none")]
        window_min: Option<u32>,
        /// Window that failures end at [slots].
        #[serde(skip_serializing_if = "Option::is_none")]
        window_max: Option<u32>,
    },
    /// The contention windows, spaces and bursts of 802.11's access categories.
    Edca {
        /// `AC_VO`.
        #[serde(default)]
        voice: CategoryTable,
        /// `AC_VI`.
        #[serde(default)]
        video: CategoryTable,
        /// `AC_BE`.
        #[serde(default)]
        best_effort: CategoryTable,
        /// `AC_BK`.
        #[serde(default)]
        background: CategoryTable,
    },
    /// Aggressiveness in proportion to the backlog ([Chen10]'s A-CSMA).
    Adaptive {
        /// Step size: aggressiveness per second of backlog.
        #[serde(default = "adaptive::alpha")]
        alpha: f64,
        /// Weight of the aggressiveness in the exponent.
        #[serde(default = "adaptive::beta")]
        beta: f64,
        /// Bound of the aggressiveness; by default 8/beta.
        #[serde(skip_serializing_if = "Option::is_none")]
        r_max: Option<f64>,
        /// How often the aggressiveness follows the backlog.
        #[serde(default = "adaptive::interval")]
        interval: Time,
        /// What the backlog is counted in.
        #[serde(default)]
        measure: Measure,
        /// The unit of back-offs: each packet's own airtime, or a full data packet's for all.
        #[serde(default)]
        unit: BackoffUnitName,
        /// How queues of TCP acknowledgements contend: h-ACK or n-ACK.
        #[serde(default)]
        acks: AckPriority,
        /// Drop arrivals with the aggressiveness as probability (the AQM).
        #[serde(default = "adaptive::yes")]
        drop: bool,
        /// Send dummy packets when a queue is empty.
        #[serde(default)]
        dummies: bool,
        /// Round back-offs to whole slots.
        #[serde(default)]
        slotted: bool,
        /// Draw a back-off anew after a collision; if not, the packet's own is counted down once more.
        #[serde(default = "adaptive::yes")]
        redraw: bool,
    },
}

impl Default for BackoffLaw {
    fn default() -> Self {
        Self::Dcf { window_min: None, window_max: None }
    }
}

mod adaptive {
    use crate::quantity::Time;
    use evenair_laws::backoff::AdaptiveParams;

    pub(super) const fn alpha() -> f64 {
        AdaptiveParams::chen10().alpha
    }
    pub(super) const fn beta() -> f64 {
        AdaptiveParams::chen10().beta
    }
    pub(super) const fn interval() -> Time {
        Time(AdaptiveParams::chen10().interval)
    }
    pub(super) const fn yes() -> bool {
        true
    }
}

/// What a backlog is counted in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Measure {
    /// Packets, each as one full data packet.
    #[default]
    Packets,
    /// Bytes.
    Bytes,
}

/// The unit of adaptive back-offs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum BackoffUnitName {
    /// Each packet's own airtime.
    #[default]
    OwnPacket,
    /// A full data packet's airtime, for every packet alike.
    DataPacket,
    /// Each packet's own bits at its rate, without preamble and MAC header.
    OwnBits,
    /// A full data packet's bits at the data rate, for every packet alike.
    DataBits,
}

/// How queues that carry nothing but TCP acknowledgements contend.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum AckPriority {
    /// Like any other (n-ACK).
    #[default]
    Normal,
    /// With the bound `r_max` (h-ACK).
    High,
}

/// Parameters of one access category; what is not given comes from the standard's table.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CategoryTable {
    /// Window before the first attempt [slots].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub window_min: Option<u32>,
    /// Window that failures end at [slots].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub window_max: Option<u32>,
    /// The inter-frame space is SIFS and so many slots.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub aifsn: Option<u32>,
    /// How long a transmission opportunity lasts; one packet, if "0 s".
    #[serde(skip_serializing_if = "Option::is_none")]
    pub txop: Option<Time>,
}
