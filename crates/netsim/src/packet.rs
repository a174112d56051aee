//! Packets on their way.

use evenair_laws::backoff::Category;
use evenair_tcp::{Segment, SegmentKind, TfrcData, TfrcReport};
use evenair_units::{Bytes, Instant};

/// A packet's content.
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
    /// A packet that was injected from outside ([`Network::inject`](crate::Network::inject)).
    Foreign(Entered),
}

impl Body {
    /// Whether a queue may mark it where it would drop it (RFC 3168: ECT).
    pub(crate) const fn may_be_marked(&self) -> bool {
        match self {
            Self::Tcp(packet) => packet.segment.ecn.is_capable(),
            Self::Foreign(entered) => matches!(entered.ecn, Codepoint::Capable | Codepoint::Marked),
            Self::Datagram { .. } | Self::TfrcData { .. } | Self::TfrcReport { .. } | Self::Probe { .. } => {
                false
            }
        }
    }

    /// A queue marks it (RFC 3168: CE).
    pub(crate) const fn mark(&mut self) {
        match self {
            Self::Tcp(packet) => packet.segment.ecn.mark(),
            Self::Foreign(entered) => entered.ecn = Codepoint::Marked,
            _ => panic!("what cannot be marked is dropped"),
        }
    }

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

/// A segment and its connection.
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
    /// The instant of its first entry, if it has left on its way and enters again: its delay counts from there. None:
    /// the present.
    pub since: Option<Instant>,
    /// Its access category, under EDCA; a flow's packets have the flow's.
    pub category: Category,
    /// Whether queues may mark it, or have.
    pub ecn: Codepoint,
    /// Its content, for the caller that injected it.
    pub content: u64,
}

/// The congestion field in the header of a packet from outside (RFC 3168 section 5).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Codepoint {
    /// Its sender does not react to marks: it is dropped where it would be marked.
    #[default]
    NotCapable,
    /// Queues may mark it instead of dropping it.
    Capable,
    /// A queue has marked it.
    Marked,
}

/// The owner of a packet from outside.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Whose {
    /// A flow's of the network that has its packets from outside ([`Traffic::Outside`](crate::Traffic::Outside)): it takes the
    /// flow's path, passes the gateway as the flow's, and counts in its result. It may leave at a node on the path, a router
    /// outside, and enter there again: it is delivered at the flow's end.
    Flow {
        /// The flow.
        flow: u32,
        /// Whether it goes back, from the flow's destination to its source.
        back: bool,
    },
    /// A probe of a flow's path, or its answer: it goes the way of the flow's packets, and its result does not count it as handed
    /// over or lost. Its sender takes it from the arrivals.
    Probe {
        /// The flow.
        flow: u32,
        /// Whether it goes back.
        back: bool,
    },
    /// No flow's: it takes one of the specification's [`routes`](crate::NetworkSpec::routes), and counts for its pair of nodes.
    /// Fair queues tell such packets apart by this number: all that should share one turn have the same.
    Nobody(u32),
}

/// A packet from outside, inside: packed, because each packet's body has room for the largest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entered {
    from: u32,
    to: u32,
    number: u32,
    belongs: Belongs,
    category: Category,
    leaves_early: bool,
    ecn: Codepoint,
    content: u64,
    at: Instant,
}

/// [`Whose`] without its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Belongs {
    There,
    Back,
    ProbeThere,
    ProbeBack,
    Nowhere,
}

impl Entered {
    pub(crate) const fn new(foreign: Foreign, at: Instant, leaves_early: bool) -> Self {
        let Foreign { from, to, whose, since, category, ecn, content, .. } = foreign;
        let at = if let Some(first) = since { first } else { at };
        let (number, belongs) = match whose {
            Whose::Flow { flow, back: false } => (flow, Belongs::There),
            Whose::Flow { flow, back: true } => (flow, Belongs::Back),
            Whose::Probe { flow, back: false } => (flow, Belongs::ProbeThere),
            Whose::Probe { flow, back: true } => (flow, Belongs::ProbeBack),
            Whose::Nobody(number) => (number, Belongs::Nowhere),
        };
        Self { from, to, number, belongs, category, leaves_early, ecn, content, at }
    }

    /// Its access category.
    pub(crate) const fn category(&self) -> Category {
        self.category
    }

    /// When it entered, the first time.
    pub const fn at(&self) -> Instant {
        self.at
    }

    /// The nodes at which it entered and at which it leaves.
    pub const fn ends(&self) -> (u32, u32) {
        (self.from, self.to)
    }

    /// Whether it leaves before the end of its flow's way.
    pub(crate) const fn leaves_early(&self) -> bool {
        self.leaves_early
    }

    /// Its content, for the caller that injected it.
    pub const fn content(&self) -> u64 {
        self.content
    }

    /// Which flow it belongs to.
    pub const fn whose(&self) -> Whose {
        match self.belongs {
            Belongs::There => Whose::Flow { flow: self.number, back: false },
            Belongs::Back => Whose::Flow { flow: self.number, back: true },
            Belongs::ProbeThere => Whose::Probe { flow: self.number, back: false },
            Belongs::ProbeBack => Whose::Probe { flow: self.number, back: true },
            Belongs::Nowhere => Whose::Nobody(self.number),
        }
    }

    /// As it leaves again, a mark on its way included.
    pub(crate) const fn foreign(&self, size: u32) -> Foreign {
        let &Self { from, to, category, ecn, content, at, .. } = self;
        let (size, since) = (Bytes::new(size), Some(at));
        Foreign { from, to, size, whose: self.whose(), since, category, ecn, content }
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
    /// No route led to its destination, as nodes had moved.
    NoRoute,
}

/// A flow in one direction, by which queues and counters tell packets apart. Twice the flow's number, plus one on the
/// way back; those of packets from outside follow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Way(pub(crate) u32);

impl Way {
    /// No flow's.
    pub(crate) const OUTSIDE: Self = Self(u32::MAX);

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

    /// Its flow, of the network's own.
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
