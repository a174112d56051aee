#![doc = include_str!("../README.md")]
//!
//! # How to read it
//! The host passes events to a [`Sender`] and a [`Receiver`] with `handle_*`, gets segments to send from
//! `poll_transmit` and the next wake-up from `poll_timeout`. Before touching the sender read RFC 3168, RFC
//! 5681, RFC 6298, RFC 6582, RFC 6675 and RFC 8985; before touching `tfrc` read RFC 5348.
#![forbid(unsafe_code)]
#![warn(clippy::disallowed_methods, reason = "pure: no clock, no environment, no platform's exp and log")]

mod ecn;
mod receiver;
mod rto;
mod sack;
mod scoreboard;
mod sender;
mod tfrc;

pub use ecn::Ecn;
pub use receiver::{AckPolicy, Receiver};
pub use rto::{RtoEstimator, RtoParams};
pub use sack::SackBlocks;
pub use sender::{LossMeasure, Recovery, Sender, SenderParams, SenderStats};
pub use tfrc::{TfrcData, TfrcReceiver, TfrcReport, TfrcSender};

/// The kinds of segments.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SegmentKind {
    /// Opens a connection.
    Syn,
    /// Carries data.
    Data,
    /// Closes a connection that has drained.
    Fin,
    /// Answers a SYN.
    SynAck,
    /// Acknowledges all segments before its number.
    Ack,
    /// Answers a FIN.
    FinAck,
}

impl SegmentKind {
    /// Whether it travels from the receiver of the data to their sender.
    pub const fn is_reply(self) -> bool {
        matches!(self, Self::SynAck | Self::Ack | Self::FinAck)
    }
}

/// One segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Segment {
    /// Its kind.
    pub kind: SegmentKind,
    /// Number of the data segment, or the next one expected in an acknowledgement.
    pub number: u32,
    /// When the data segment was sent, or the segment that an acknowledgement answers: RFC 7323's timestamp \[µs,
    /// modulo 2³²\]. The endpoints use it only with timestamps on.
    pub stamp: u32,
    /// Segments that arrived beyond the number, in an acknowledgement.
    pub sack: SackBlocks,
    /// Its congestion bits.
    pub ecn: Ecn,
}

impl Segment {
    /// A segment without options.
    pub const fn plain(kind: SegmentKind, number: u32) -> Self {
        Self { kind, number, stamp: 0, sack: SackBlocks::NONE, ecn: Ecn::of_acknowledgement(false, 0) }
    }
}
