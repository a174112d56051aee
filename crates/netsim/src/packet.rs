//! Packets on their way.

use evenair_tcp::{Segment, SegmentKind};

/// What a packet carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Payload {
    Tcp(SegmentKind),
    Datagram,
}

/// A packet: 24 bytes, copied freely.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Packet {
    pub(crate) flow: u32,
    /// The connection, and which one of those that used its place.
    pub(crate) connection: u32,
    pub(crate) epoch: u32,
    pub(crate) number: u32,
    /// Network-layer size \[bytes\].
    pub(crate) size: u16,
    pub(crate) payload: Payload,
    /// Hops travelled so far.
    pub(crate) hop: u8,
}

impl Packet {
    /// Whether it travels from the flow's destination back to its source.
    pub(crate) fn is_reply(&self) -> bool {
        matches!(self.payload, Payload::Tcp(kind) if kind.is_reply())
    }

    pub(crate) fn segment(&self) -> Option<Segment> {
        match self.payload {
            Payload::Tcp(kind) => Some(Segment { kind, number: self.number }),
            Payload::Datagram => None,
        }
    }
}
