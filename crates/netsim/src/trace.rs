//! Watching a run frame by frame.

use crate::packet::Body;
use evenair_units::Rate;
use evenair_wifi::FrameRecord;

/// The packet whose exchange a frame belongs to.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sent {
    /// Its flow; of a packet from outside, its [`Foreign::flow`](crate::Foreign::flow).
    pub flow: u32,
    /// Where it comes from and where it goes, end to end.
    pub ends: (u32, u32),
    /// Network-layer size \[bytes\].
    pub size: u16,
    /// Payload of a full data segment of its flow \[bytes\]: what one sequence number stands for.
    pub payload: u32,
    /// The rate of its DATA frame.
    pub rate: Rate,
    /// What it carries.
    pub body: Body,
}

/// Whoever wants to see every frame of a run, at its end.
pub trait FrameSink {
    /// A frame has ended. The packet is none for dummy packets.
    fn frame(&mut self, frame: &FrameRecord, packet: Option<&Sent>);
}

/// Sees nothing.
impl FrameSink for () {
    fn frame(&mut self, _: &FrameRecord, _: Option<&Sent>) {}
}
