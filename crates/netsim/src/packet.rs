//! Packets on their way.

use evenair_tcp::Segment;
use evenair_units::Instant;

/// What a packet carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Body {
    /// A segment of a connection.
    Tcp(Segment),
    /// A datagram.
    Datagram {
        /// Which one of its flow.
        number: u32,
        /// When its source handed it down.
        sent: Instant,
    },
}

/// A packet, copied freely.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Packet {
    pub(crate) flow: u32,
    /// The connection, and which one of those that used its place.
    pub(crate) connection: u32,
    pub(crate) epoch: u32,
    /// Network-layer size \[bytes\].
    pub(crate) size: u16,
    /// Hops travelled so far.
    pub(crate) hop: u8,
    /// When the segment that this one answers was sent \[µs, modulo 2³²\]; of replies only.
    pub(crate) answers: u32,
    pub(crate) body: Body,
}

impl Packet {
    /// Whether it travels from the flow's destination back to its source.
    pub(crate) fn is_reply(&self) -> bool {
        matches!(self.body, Body::Tcp(segment) if segment.kind.is_reply())
    }
}
