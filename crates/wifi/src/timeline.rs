//! The air timeline: the frames of a chosen window, with their senders, times and collisions.

use crate::air::PacketId;
use crate::phy::Mode;
use evenair_units::{Bytes, Instant};

/// The kinds of frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FrameKind {
    /// A packet.
    Data,
    /// An 802.11 acknowledgement.
    Ack,
    /// A request to send.
    Rts,
    /// The answer to one.
    Cts,
    /// A CTS that names its own sender and reserves the medium for the frame that follows.
    CtsToSelf,
    /// The acknowledgement of an aggregate, or of the packets before a [`BlockAckRequest`](Self::BlockAckRequest).
    BlockAck,
    /// A request for a block acknowledgement (`BlockAckReq`, BAR).
    BlockAckRequest,
}

impl FrameKind {
    /// Whether it completes an exchange.
    #[inline]
    pub const fn is_acknowledgement(self) -> bool {
        matches!(self, Self::Ack | Self::BlockAck)
    }

    /// Its name in the standard.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Data => "DATA",
            Self::Ack => "ACK",
            Self::Rts => "RTS",
            Self::Cts | Self::CtsToSelf => "CTS",
            Self::BlockAck => "BlockAck",
            Self::BlockAckRequest => "BlockAckReq",
        }
    }
}

/// One frame on the air.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct FrameRecord {
    /// When it began to be sent.
    pub start: Instant,
    /// When it ended.
    pub end: Instant,
    /// The node that sent it.
    pub from: u32,
    /// The node that it is for.
    pub to: u32,
    /// Its kind.
    pub kind: FrameKind,
    /// Its size, header and checksum included.
    pub size: Bytes,
    /// How its body is modulated.
    pub mode: Mode,
    /// The contender of its exchange.
    pub by: u32,
    /// Whether the addressee decoded it; of a broadcast, whether any node did.
    pub decoded: bool,
    /// Whether it repeats a DATA frame.
    pub retry: bool,
    /// Whether it has the QoS control field of EDCA's DATA frames.
    pub qos: bool,
    /// For how long after its end it reserves the medium \[µs\].
    pub reserves_us: u32,
    /// The packet that it carries, or of its exchange, of a contender that aggregates.
    pub packet: PacketId,
    /// Its place in an aggregate, of a DATA frame of a contender that aggregates: each packet has a record of its own, with size, fate
    /// and repetition of its own.
    pub part: Option<Part>,
    /// The sequence numbers that a block acknowledgement, or a request for one, tells of.
    pub window: Window,
}

/// A packet's place in an aggregate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Part {
    /// Its sequence number, below 4096.
    pub number: u16,
    /// Which packet of the frame it is, from 0.
    pub index: u16,
    /// How many the frame carries.
    pub of: u16,
    /// The frame: a number that those around it do not have.
    pub frame: u32,
}

/// Sequence numbers from one on, and which of them were received.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Window {
    /// The first sequence number, below 4096.
    pub first: u16,
    /// How many words of the bitmap are told: 1 or 4.
    pub words: u8,
    /// The bitmap, the lowest bit first.
    pub received: [u64; 4],
}

/// A node has decoded a frame, whether it was the addressee or not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Overheard {
    /// The node that sent it.
    pub from: u32,
    /// When it began to be sent: with its sender this names the frame.
    pub start: Instant,
    /// The node that decoded it.
    pub at: u32,
}

/// The frames that overlap a window of time.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Timeline {
    from: Instant,
    to: Instant,
    frames: Vec<FrameRecord>,
    overheard: Vec<Overheard>,
}

impl Timeline {
    /// An empty timeline for this window.
    pub const fn new(from: Instant, to: Instant) -> Self {
        Self { from, to, frames: Vec::new(), overheard: Vec::new() }
    }

    /// The window's beginning and end.
    pub const fn window(&self) -> (Instant, Instant) {
        (self.from, self.to)
    }

    /// The frames that were not taken yet, in the order of their ends; those to receivers more than half a slot away come when
    /// their fate is known, a flight later.
    pub fn frames(&self) -> &[FrameRecord] {
        &self.frames
    }

    /// Takes the frames out, for a host that handles them as they come.
    pub fn take(&mut self) -> std::vec::Drain<'_, FrameRecord> {
        self.frames.drain(..)
    }

    /// Takes out the records of decoding. Those of a frame to receivers far away may come before or after the frame.
    pub fn take_overheard(&mut self) -> std::vec::Drain<'_, Overheard> {
        self.overheard.drain(..)
    }

    pub(crate) fn overhear(&mut self, heard: Overheard) {
        if heard.start < self.to {
            self.overheard.push(heard);
        }
    }

    pub(crate) fn add(&mut self, frame: FrameRecord) {
        if frame.end > self.from && frame.start < self.to {
            self.frames.push(frame);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use evenair_units::Rate;

    const fn at(us: u64) -> Instant {
        Instant::from_nanos(us * 1000)
    }

    #[test]
    fn timeline_keeps_overlapping_frames() {
        let mut timeline = Timeline::new(at(100), at(200));
        assert_eq!(timeline.window(), (at(100), at(200)));
        let kind = FrameKind::Data;
        for (start, end) in [(50, 100), (50, 101), (120, 180), (199, 300), (200, 250)] {
            let (start, end) = (at(start), at(end));
            timeline.add(FrameRecord {
                start,
                end,
                from: 0,
                to: 1,
                kind,
                size: Bytes::new(1000),
                mode: Mode::at(Rate::from_kbps(11_000)),
                by: 0,
                decoded: true,
                retry: false,
                qos: false,
                reserves_us: 0,
                packet: PacketId::NONE,
                part: None,
                window: Window::default(),
            });
            timeline.overhear(Overheard { from: 0, start, at: 1 });
        }
        let starts: Vec<Instant> = timeline.frames().iter().map(|frame| frame.start).collect();
        assert_eq!(starts, [at(50), at(120), at(199)]);
        // Of a frame that is heard its end is not known: those that begin too late are left out.
        let heard: Vec<Instant> = timeline.take_overheard().map(|heard| heard.start).collect();
        assert_eq!(heard, [at(50), at(50), at(120), at(199)]);
        assert_eq!((timeline.take().count(), timeline.frames().len()), (3, 0));
    }

    #[test]
    fn frames_have_the_standards_names() {
        // IEEE 802.11-2016 table 9-1, as its figures print them.
        let names = [FrameKind::Data, FrameKind::Ack, FrameKind::Rts, FrameKind::Cts].map(FrameKind::name);
        assert_eq!(names, ["DATA", "ACK", "RTS", "CTS"]);
    }
}
