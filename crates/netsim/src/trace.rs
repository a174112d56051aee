//! Watching a run: how far it is, and frame by frame.

use crate::measure::Series;
use crate::packet::Body;
use evenair_laws::backoff::Category;
use evenair_units::{Instant, Rate};
use evenair_wifi::{FrameRecord, Overheard};
use std::fmt;
use std::ops::ControlFlow;

/// The watchers of a run ([`Network::run_watched`](crate::Network::run_watched)); none, by default.
#[derive(Default)]
pub struct Watchers<'a> {
    /// Is told now and then, every 100 ms of simulated time, how far the run has come, its end at last. On
    /// [`ControlFlow::Break`] the run ends there.
    pub progress: Option<&'a mut dyn FnMut(Instant) -> ControlFlow<()>>,
    /// Sees every frame.
    pub frames: Option<&'a mut dyn FrameSink>,
    /// Sees the time series in portions of some hundred points, in order; the result has none then.
    pub series: Option<&'a mut dyn FnMut(&Series)>,
}

impl fmt::Debug for Watchers<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { progress, frames, series } = self;
        f.debug_struct("Watchers")
            .field("progress", &progress.is_some())
            .field("frames", &frames.is_some())
            .field("series", &series.is_some())
            .finish()
    }
}

/// The packet of a frame's exchange.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sent {
    /// Its flow; of a packet from outside that belongs to none, the number that fair queues tell it apart by.
    pub flow: u32,
    /// Where it comes from and where it goes, end to end.
    pub ends: (u32, u32),
    /// Nodes that have forwarded it before this one sends it.
    pub passed: u8,
    /// Network-layer size \[bytes\].
    pub size: u16,
    /// Payload of a full data segment of its flow \[bytes\], which one sequence number counts.
    pub payload: u32,
    /// The agreement of its connection's ends, if it is TCP's.
    pub agreed: Option<Agreed>,
    /// The rate of its DATA frame.
    pub rate: Rate,
    /// Its access category.
    pub category: Category,
    /// Its content.
    pub body: Body,
}

/// The agreement of a TCP connection's two ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Agreed {
    /// IP and TCP headers of its segments, as its flow counts them \[bytes\].
    pub headers: u16,
    /// Whether TCP's options come on top of these.
    pub options: bool,
    /// The receiver's window, from the next segment that it expects on \[segments\].
    pub window: u32,
    /// Whether it is opened with a SYN.
    pub handshake: bool,
    /// Whether the receiver reports segments out of order (SACK).
    pub sack: bool,
    /// Whether segments carry timestamps.
    pub timestamps: bool,
}

/// A receiver of every frame of a run, at its end.
pub trait FrameSink {
    /// A frame has ended. The packet is none for dummy packets.
    fn frame(&mut self, frame: &FrameRecord, packet: Option<&Sent>);

    /// The same of a packet from outside with its bytes, which the caller that injected it knows: an IP packet.
    fn real_frame(&mut self, frame: &FrameRecord, packet: &Sent, _bytes: &[u8]) {
        self.frame(frame, Some(packet));
    }

    /// A station has decoded a frame, for any addressee; before the frame is shown, or a moment later.
    fn overheard(&mut self, _heard: &Overheard) {}
}
