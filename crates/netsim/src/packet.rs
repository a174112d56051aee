//! Packets on their way.

use evenair_tcp::{Segment, SegmentKind, TfrcData, TfrcReport};
use evenair_units::{Bytes, Instant};

/// What a packet carries.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Body {
    /// A segment of a connection.
    Tcp(TcpPacket),
    /// A datagram.
    Datagram {
        /// Which one of its flow.
        number: u32,
        /// When its source handed it down.
        sent: Instant,
    },
    /// Data over TFRC.
    TfrcData {
        /// The connection: its place among those of the network that are TFRC's.
        connection: u32,
        /// Which one of those that used the place.
        epoch: u32,
        /// The data.
        data: TfrcData,
    },
    /// A TFRC receiver's report.
    TfrcReport {
        /// The connection.
        connection: u32,
        /// Which one of those that used the place.
        epoch: u32,
        /// The report.
        report: TfrcReport,
    },
    /// A probe of the path, or the answer to one.
    Probe {
        /// When the probe was sent.
        sent: Instant,
    },
    /// What was injected from outside ([`Network::inject`](crate::Network::inject)).
    Foreign(Entered),
}

impl Body {
    /// Whether it waits for a shaper's tokens: data do, probes do not, acknowledgements and reports where `answers` says so.
    pub(crate) const fn waits_for_tokens(&self, answers: bool) -> bool {
        match self {
            Self::Tcp(packet) => match packet.segment.kind {
                SegmentKind::Syn | SegmentKind::Data | SegmentKind::Fin => true,
                SegmentKind::SynAck | SegmentKind::Ack | SegmentKind::FinAck => answers,
            },
            Self::Datagram { .. } | Self::TfrcData { .. } | Self::Foreign(_) => true,
            Self::TfrcReport { .. } => answers,
            Self::Probe { .. } => false,
        }
    }
}

/// A segment, and whose it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TcpPacket {
    /// The connection: its place among those of the network.
    pub connection: u32,
    /// Which one of those that used the place.
    pub epoch: u32,
    /// When the segment that this one answers was sent \[µs, modulo 2³²\]; of replies only.
    pub answers: u32,
    /// The segment.
    pub segment: Segment,
}

/// A packet that comes from outside and leaves to it: the network carries it and does not look inside.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Foreign {
    /// The node at which it enters.
    pub from: u32,
    /// The node at which it leaves.
    pub to: u32,
    /// Its network-layer size.
    pub size: Bytes,
    /// Which flow it belongs to.
    pub whose: Whose,
    /// What it is, for whoever injected it.
    pub content: u64,
}

/// Whose a packet from outside is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Whose {
    /// A flow's of the network that has its packets from outside ([`Traffic::Outside`](crate::Traffic::Outside)): it takes the
    /// flow's path, passes the gateway as the flow's, and counts in its result.
    Flow {
        /// The flow.
        flow: u32,
        /// Whether it goes back, from the flow's destination to its source.
        back: bool,
    },
    /// No flow's: it takes one of the specification's [`routes`](crate::NetworkSpec::routes), and counts for its pair of nodes.
    /// Fair queues tell such packets apart by this number: all that should share one turn have the same.
    Nobody(u32),
}

/// A packet from outside, inside.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entered {
    /// The node at which it entered.
    pub from: u32,
    /// The node at which it leaves.
    pub to: u32,
    /// Which flow it belongs to.
    pub whose: Whose,
    /// What it is, for whoever injected it.
    pub content: u64,
    /// When it entered.
    pub at: Instant,
}

impl Entered {
    /// As it was before it entered.
    pub(crate) const fn foreign(&self, size: u32) -> Foreign {
        let &Self { from, to, whose, content, .. } = self;
        Foreign { from, to, size: Bytes::new(size), whose, content }
    }
}

/// Why a packet was lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LossCause {
    /// There was no room in a buffer.
    Overflow,
    /// A law dropped it though there was room: a queue's marking, its discipline, its back-off law.
    Law,
    /// Its last retry failed.
    Retries,
    /// A wire lost it.
    Wire,
}

/// A flow in one direction: what queues tell packets apart by, and what is counted by. Twice the flow's number, plus one on the
/// way back; those of packets from outside follow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Way(pub(crate) u32);

impl Way {
    /// From a flow's source to its destination.
    pub(crate) const fn forward(flow: u32) -> Self {
        Self(flow << 1)
    }

    /// Back to its source.
    pub(crate) const fn backward(flow: u32) -> Self {
        Self(flow << 1 | 1)
    }

    /// Of packets from outside that have this number, where the network has so many flows.
    pub(crate) const fn foreign(flows: u32, flow: u32) -> Self {
        Self((flows << 1).saturating_add(flow))
    }

    /// The flow whose it is, of the network's own.
    pub(crate) const fn flow(self) -> u32 {
        self.0 >> 1
    }
}

/// A packet in the network.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Packet {
    pub(crate) way: Way,
    /// The hop that it is at, or [`END`](crate::core::END).
    pub(crate) hop: u32,
    /// Network-layer size \[bytes\].
    pub(crate) size: u32,
    pub(crate) body: Body,
}

/// Packets are copied into the pool and out of it: a body that grows is paid for by every packet.
const _: () = assert!(size_of::<Body>() <= 40, "a packet's body has grown");
