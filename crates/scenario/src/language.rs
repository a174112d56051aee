//! The words of the language. Every optional key has its default in `resolve.rs`.

use crate::quantity::{Decibels, Length, PacketCount, Power, RateQuantity, Size, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A scenario: nodes, radio, MAC, laws and flows.
///
/// Give either nodes with positions and a radio, or links and their conflicts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Scenario {
    /// What it is called, in tables and reports.
    #[serde(default)]
    pub name: String,
    /// What it shows, in a sentence or two.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub description: String,
    /// Where defaults come from: the standards, or ns-2 2.35 where it differs from them.
    #[serde(default)]
    pub preset: Preset,
    /// How long is measured, after the warm-up.
    #[serde(default = "two_hundred_seconds")]
    pub duration: Time,
    /// What happens before this counts for nothing.
    #[serde(default = "twenty_seconds")]
    pub warmup: Time,
    /// Seed of the random streams.
    #[serde(default = "one")]
    pub seed: u64,
    /// How the radio reaches, for nodes with positions.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub radio: Option<Radio>,
    /// Medium access.
    #[serde(default)]
    pub mac: Mac,
    /// How long transmitters back off.
    #[serde(default)]
    pub backoff: BackoffLaw,
    /// What queues drop beside what does not fit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub drop: Option<Drop>,
    /// TCP endpoints.
    #[serde(default)]
    pub tcp: Tcp,
    /// How many connections each flow keeps; one, if there is no such table.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub connections: Option<Connections>,
    /// Nodes, in an order that matters to nothing.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub nodes: Vec<Node>,
    /// Links, where they are given outright; their ends are the nodes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub links: Vec<Link>,
    /// Pairs of links that may not transmit at once.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub conflicts: Vec<[String; 2]>,
    /// Flows.
    #[serde(default)]
    pub flows: Vec<Flow>,
}

fn two_hundred_seconds() -> Time {
    Time(evenair_units::Duration::from_secs(200))
}

fn twenty_seconds() -> Time {
    Time(evenair_units::Duration::from_secs(20))
}

const fn one() -> u64 {
    1
}

/// Where defaults come from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Preset {
    /// IEEE 802.11-2016 and the RFCs.
    #[default]
    Standard,
    /// ns-2 2.35: docs/validation.md lists every difference.
    Ns2,
}

/// A radio under two-ray ground propagation. Each threshold is a range or a power, one of the two.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Radio {
    /// Frames from nearer than this are decoded.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub transmission_range: Option<Length>,
    /// Frames stronger than this are decoded.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub receive_threshold: Option<Power>,
    /// Frames from nearer than this make the medium busy.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub carrier_sense_range: Option<Length>,
    /// Frames stronger than this make the medium busy.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub carrier_sense_threshold: Option<Power>,
    /// What every node transmits with; matters to thresholds given as powers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub transmit_power: Option<Power>,
    /// How much stronger a frame must be to survive an overlap.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub capture: Option<Decibels>,
}

/// Medium access.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Mac {
    /// Which MAC.
    #[serde(default)]
    pub kind: MacKind,
    /// Rate of data frames.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub data_rate: Option<RateQuantity>,
    /// Rate of acknowledgements.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub basic_rate: Option<RateQuantity>,
    /// Preamble of 802.11b.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub preamble: Option<PreambleKind>,
    /// Packets that wait at a node, the one in the MAC not counted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub queue: Option<PacketCount>,
    /// How often a frame is sent before it is given up.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub attempts: Option<u32>,
    /// How long after a frame's arrival a station can still begin to transmit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sensing_delay: Option<Time>,
    /// How long a packet takes between the network layer and its queue, each way.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub link_layer_delay: Option<Time>,
    /// How long a link holds the medium, ideal CSMA only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub holding: Option<HoldingLaw>,
}

/// Which MAC.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum MacKind {
    /// 802.11b: real timing, collisions, hidden terminals, capture.
    #[default]
    #[serde(rename = "802.11b")]
    Ieee80211b,
    /// Ideal CSMA: continuous time, zero sensing time, no collisions.
    #[serde(rename = "ideal")]
    Ideal,
}

/// Preamble of 802.11b.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum PreambleKind {
    /// 192 µs.
    Long,
    /// 96 µs.
    Short,
}

/// How long a link of ideal CSMA holds the medium.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum HoldingLaw {
    /// As long as its packet takes.
    Packet,
    /// Exponential, with a full data packet's airtime as mean.
    Exponential,
    /// Uniform, with a full data packet's airtime as mean.
    Uniform,
}

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
        /// The unit of back-offs: a full data packet's airtime for all, or each packet's own.
        #[serde(default)]
        unit: BackoffUnit,
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
        AdaptiveParams::chen10().step
    }
    pub(super) const fn beta() -> f64 {
        AdaptiveParams::chen10().beta
    }
    pub(super) const fn interval() -> Time {
        Time(AdaptiveParams::chen10().update_interval)
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
pub enum BackoffUnit {
    /// A full data packet's airtime, for every packet alike.
    #[default]
    DataPacket,
    /// Each packet's own airtime.
    OwnPacket,
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

/// What queues drop beside what does not fit.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Drop {
    /// Which law.
    pub law: AqmLaw,
    /// Drop probability per packet that waits.
    pub per_packet: f64,
}

/// Which law drops.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum AqmLaw {
    /// With a probability in proportion to the queue.
    Proportional,
}

/// TCP endpoints.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Tcp {
    /// Which window law.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub window: Option<WindowName>,
    /// Payload of a segment.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub payload: Option<Size>,
    /// IP and TCP headers; also the size of an acknowledgement.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub headers: Option<Size>,
    /// The receiver's window.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub receiver_window: Option<PacketCount>,
    /// Congestion window at the start.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub initial_window: Option<PacketCount>,
    /// Slow-start threshold at the start.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub initial_ssthresh: Option<PacketCount>,
    /// Least retransmission time-out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub min_rto: Option<Time>,
    /// Retransmission time-out before the first sample.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub initial_rto: Option<Time>,
    /// Clock that round trips are measured with; "0 s" is exact.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub clock: Option<Time>,
    /// New segments for the first two duplicate acknowledgements.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limited_transmit: Option<bool>,
    /// Acknowledge every second segment, or after this long; every segment, if "0 s".
    #[serde(skip_serializing_if = "Option::is_none")]
    pub delayed_ack: Option<Time>,
    /// Open with a SYN and close with a FIN.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub handshake: Option<bool>,
}

/// Which window law.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum WindowName {
    /// TCP Reno.
    Reno,
    /// TCP NewReno.
    Newreno,
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

/// A node.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Node {
    /// Its name.
    pub id: String,
    /// Where it stands: east and north [m].
    pub at: [f64; 2],
}

/// A link, given outright.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Link {
    /// Its name.
    pub id: String,
    /// The node that transmits.
    pub from: String,
    /// The node that receives.
    pub to: String,
}

/// A flow.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Flow {
    /// Its name.
    pub id: String,
    /// Where its data come from.
    pub from: String,
    /// Where they go.
    pub to: String,
    /// What it sends.
    #[serde(default)]
    pub traffic: TrafficKind,
    /// When it starts; by default a tenth of a second after the flow before it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub start: Option<Time>,
    /// Network-layer size of a datagram, saturated traffic only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub size: Option<Size>,
}

/// What a flow sends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum TrafficKind {
    /// Endless data over TCP.
    #[default]
    Tcp,
    /// Datagrams without end: the queue is never empty.
    Saturated,
}
