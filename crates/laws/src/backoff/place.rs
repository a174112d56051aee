//! A back-off law's knowledge: of its scenario, of its queue, and of its link as time goes by.

use super::{Category, Holding};
use evenair_units::{Bytes, Duration, Instant, Rate, Volume};

/// The owner of a queue, and of a state of the law.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Scope {
    /// A node.
    Node,
    /// An access category of a node.
    Category,
    /// A next hop of a node.
    NextHop,
}

/// Which of 802.11's kinds of physical layer, as far as contention depends on it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum PhysicalLayer {
    /// DSSS and CCK: 802.11b.
    #[default]
    Dsss,
    /// OFDM: 802.11a and g.
    Ofdm,
    /// OFDM of 802.11n and later, where every station contends by EDCA.
    HighThroughput,
}

/// The MAC that is rendered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Rendering {
    /// The standard's.
    #[default]
    Standard,
    /// ns-2 2.35's: draws exclude the window's end, and precede every frame.
    Ns2,
}

/// The largest packet that is sent, by all or over one link; it stands for all where a law wants one size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct FullPacket {
    /// Its payload: the size of a packet where a backlog is counted in packets.
    #[cfg_attr(feature = "serde", serde(with = "crate::tape::exact"))]
    pub payload: Bytes,
    /// Its network-layer size.
    #[cfg_attr(feature = "serde", serde(with = "crate::tape::exact"))]
    pub size: Bytes,
    /// The airtime of its frame, preamble and MAC header included.
    #[cfg_attr(feature = "serde", serde(with = "crate::tape::exact"))]
    pub frame: Duration,
    /// Its bits at the data rate.
    #[cfg_attr(feature = "serde", serde(with = "crate::tape::exact"))]
    pub bits: Duration,
    /// The time from one packet to the next without disturbance: inter-frame spaces, frame and link-layer
    /// acknowledgement, but no back-off.
    #[cfg_attr(feature = "serde", serde(with = "crate::tape::exact"))]
    pub exchange: Duration,
}

/// The surroundings that parameters may depend on beside their written values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Surroundings {
    /// The physical layer.
    pub physical_layer: PhysicalLayer,
    /// The MAC that is rendered.
    pub rendering: Rendering,
    /// The MAC is ideal CSMA: continuous time, no slots, no collisions.
    pub is_ideal: bool,
    /// A slot.
    #[cfg_attr(feature = "serde", serde(with = "crate::tape::exact"))]
    pub slot: Duration,
    /// A full data packet.
    pub packet: FullPacket,
    /// How long the medium is held where the law leaves it open.
    pub holding: Holding,
}

/// 802.11b at 11 Mb/s with long preambles and packets of 1000 and 40 bytes.
impl Default for Surroundings {
    fn default() -> Self {
        let rate = Rate::from_kbps(11_000);
        let packet = FullPacket {
            payload: Bytes::new(1000),
            size: Bytes::new(1040),
            frame: Duration::from_micros(192) + rate.time_for(Bytes::new(1068)),
            bits: rate.time_for(Bytes::new(1040)),
            // DIFS, DATA, SIFS, and 14 bytes of ACK at 1 Mb/s.
            exchange: Duration::from_micros(50 + 192 + 10 + 192 + 112) + rate.time_for(Bytes::new(1068)),
        };
        Self {
            physical_layer: PhysicalLayer::Dsss,
            rendering: Rendering::Standard,
            is_ideal: false,
            slot: Duration::from_micros(20),
            packet,
            holding: Holding::Packet,
        }
    }
}

/// The queue that a law's state is made for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct LinkRole {
    /// Its surroundings.
    pub surroundings: Surroundings,
    /// The access category that it serves, where there are any.
    pub category: Category,
    /// It carries nothing but acknowledgements.
    pub acknowledgements_only: bool,
    /// The largest packet that it carries, at its own rate: a packet of data, or an acknowledgement.
    pub packet: FullPacket,
    /// It carries TCP's packets, data or acknowledgements.
    pub carries_tcp: bool,
}

impl LinkRole {
    /// A queue that carries data over TCP.
    pub const fn data(surroundings: Surroundings) -> Self {
        let packet = surroundings.packet;
        Self {
            surroundings,
            category: Category::BestEffort,
            acknowledgements_only: false,
            packet,
            carries_tcp: true,
        }
    }
}

/// A back-off law's view of its own link when it is updated.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct LinkView {
    /// When.
    pub now: Instant,
    /// The time since the last update, or since the start.
    #[cfg_attr(feature = "serde", serde(with = "crate::tape::exact"))]
    pub interval: Duration,
    /// The packets that came to the queue since then, and were accepted.
    pub arrivals: Volume,
    /// The packets that left it for their next hop since then.
    pub service: Volume,
    /// Dummy packets that were sent since then.
    pub dummies: Volume,
    /// The packets that wait, the one in service counted.
    pub backlog: Volume,
    /// The waiting time of its first packet, if the host measures it.
    #[cfg_attr(feature = "serde", serde(with = "crate::tape::exact"))]
    pub head_of_line_delay: Option<Duration>,
    /// The rate at which data are sent.
    #[cfg_attr(feature = "serde", serde(with = "crate::tape::exact"))]
    pub data_rate: Rate,
}
