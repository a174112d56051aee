//! Frames with the bytes that they carry, for captures.

use crate::drive::Kept;
use crate::packet;
use evenair_netsim::{Body, FrameSink, Sent};
use evenair_wifi::{FrameRecord, Overheard};

/// A sink that receives the content of real packets, as on the air.
pub(crate) struct RealBytes<'a> {
    pub(crate) sink: &'a mut dyn FrameSink,
    pub(crate) kept: &'a [Kept],
    /// The packet as it is on the air: each earlier router has decremented its hop limit.
    pub(crate) bytes: Vec<u8>,
}

impl FrameSink for RealBytes<'_> {
    fn frame(&mut self, frame: &FrameRecord, packet: Option<&Sent>) {
        let kept = packet.and_then(|sent| match &sent.body {
            Body::Foreign(entered) => Kept::of(self.kept, entered.content()),
            _ => None,
        });
        match (packet, kept) {
            (Some(packet), Some(kept)) => {
                self.bytes.clone_from(&kept.bytes);
                packet::take_hops(&mut self.bytes, packet.passed);
                self.sink.real_frame(frame, packet, &self.bytes);
            }
            _ => self.sink.frame(frame, packet),
        }
    }

    fn overheard(&mut self, heard: &Overheard) {
        self.sink.overheard(heard);
    }
}
