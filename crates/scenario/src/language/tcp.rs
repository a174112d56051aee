//! TCP endpoints and connections.

use crate::quantity::{PacketCount, Size, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// One list of keys, two tables: as it is written, where any key may be left out, and complete.
macro_rules! tables {
    (
        $(#[$doc:meta])*
        $written:ident, $complete:ident { $($(#[$key_doc:meta])* $key:ident: $value:ty,)* }
    ) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
        #[serde(deny_unknown_fields)]
        pub struct $written {
            $($(#[$key_doc])* #[serde(skip_serializing_if = "Option::is_none")] pub $key: Option<$value>,)*
        }

        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Serialize)]
        pub struct $complete {
            $($(#[$key_doc])* pub $key: $value,)*
        }
    };
}

tables! {
    /// TCP endpoints.
    TcpTable, ResolvedTcp {
        /// Which window law.
        window: WindowName,
        /// Payload of a segment.
        payload: Size,
        /// IP and TCP headers; also the size of an acknowledgement.
        headers: Size,
        /// The receiver's window.
        receiver_window: PacketCount,
        /// Congestion window at the start.
        initial_window: PacketCount,
        /// Slow-start threshold at the start.
        initial_ssthresh: PacketCount,
        /// Least retransmission time-out.
        min_rto: Time,
        /// Retransmission time-out before the first sample.
        initial_rto: Time,
        /// Clock that round trips are measured with; "0 s" is exact.
        clock: Time,
        /// New segments for the first two duplicate acknowledgements.
        limited_transmit: bool,
        /// Acknowledge every second segment, or after this long; every segment, if "0 s".
        delayed_ack: Time,
        /// With delayed acknowledgements: acknowledge each of so many segments at the start and after each gap, as Linux does.
        quick_acks: PacketCount,
        /// Selective acknowledgements.
        sack: bool,
        /// Find losses by time (RACK, RFC 8985), as today's hosts do; needs `sack`.
        rack: bool,
        /// Probe the end of the data before the retransmission timer expires (TLP, RFC 8985); needs `rack`.
        tail_loss_probe: bool,
        /// Time each acknowledgement (RFC 7323). Their 12 bytes are for `headers` to count.
        timestamps: bool,
        /// Open with a SYN and close with a FIN.
        handshake: bool,
    }
}

/// Which window law.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum WindowName {
    /// TCP Reno.
    Reno,
    /// TCP Reno's window with NewReno's recovery.
    Newreno,
    /// TCP CUBIC.
    Cubic,
}

/// How many connections each flow keeps: n = max(1, int(k·T)).
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Connections {
    /// Connections per second of round-trip time.
    pub k: f64,
    /// How often the number is evaluated.
    #[serde(default = "connections::interval")]
    pub interval: Time,
    /// How far k·T must move beyond its whole number before n follows.
    #[serde(default)]
    pub hysteresis: f64,
    /// Whether n is the mean of its new and its last value.
    #[serde(default)]
    pub smoothed: bool,
    /// The most connections that are kept.
    #[serde(default = "connections::max")]
    pub max: u32,
    /// Which round trips make T.
    #[serde(default)]
    pub samples: RoundTripSamples,
    /// What an interval without any does to n.
    #[serde(default)]
    pub unsampled: UnsampledRule,
}

/// Which round trips make T.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum RoundTripSamples {
    /// Those of all segments that are acknowledged.
    #[default]
    Segments,
    /// Those that the retransmission timer samples, one a window.
    Windows,
}

/// What an interval without a round trip does to the number of connections.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum UnsampledRule {
    /// It is held.
    #[default]
    Hold,
    /// It is halved.
    Halve,
    /// T grows by the interval: n runs away.
    Grow,
}

mod connections {
    use crate::quantity::Time;
    use evenair_laws::connections::RttProportionalParams;

    pub(super) const fn interval() -> Time {
        Time(RttProportionalParams::chen10().interval)
    }
    pub(super) const fn max() -> u32 {
        RttProportionalParams::chen10().connections_max
    }
}
