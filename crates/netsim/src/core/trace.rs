//! Frames and the packets in them, for watchers.

use super::{Core, News};
use crate::packet::Packet;
use evenair_units::Instant;
use evenair_wifi::{FrameRecord, Mode, Overheard, PacketId, Timeline};
use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, VecDeque};

/// A packet in a frame, and the mode of its DATA frame.
pub(crate) type Traced = Option<(Packet, Mode)>;

/// The record of the air while it is watched.
#[derive(Clone, Debug)]
pub(super) struct Trace {
    /// Of each queue, the packet in service: it may have reached its next hop, and left the network, before its acknowledgement ends.
    pub(super) heads: Vec<Traced>,
    /// The packets that are staged, by queue and name. A name is used again when its packet has reached the end of its way, perhaps
    /// before that is acknowledged: the oldest is meant.
    pub(super) staged: BTreeMap<(u32, u32), VecDeque<(Packet, Mode)>>,
    frames: Vec<(FrameRecord, Traced)>,
    overheard: Vec<Overheard>,
}

impl Trace {
    /// A packet is staged no more.
    pub(super) fn forget(&mut self, by: u32, id: PacketId) {
        if let Entry::Occupied(mut packets) = self.staged.entry((by, id.0)) {
            packets.get_mut().pop_front();
            if packets.get().is_empty() {
                packets.remove();
            }
        }
    }
}

impl<T: Copy> Core<T> {
    /// Records the frames that overlap a window from now on.
    pub(crate) fn record(&mut self, (from, to): (Instant, Instant)) {
        debug_assert!(self.trace.is_none(), "frames are recorded already");
        self.air.record(Timeline::new(from, to));
        self.trace = Some(Box::new(Trace {
            heads: vec![None; self.queues.len()],
            staged: BTreeMap::new(),
            frames: Vec::new(),
            overheard: Vec::new(),
        }));
    }

    /// The frames that have ended since the last call, in order, with the packets of their exchanges.
    pub(crate) fn take_frames(&mut self) -> Vec<(FrameRecord, Traced)> {
        self.trace.as_mut().map(|trace| std::mem::take(&mut trace.frames)).unwrap_or_default()
    }

    /// The nodes that have decoded frames since this was last asked.
    pub(crate) fn take_overheard(&mut self) -> Vec<Overheard> {
        self.trace.as_mut().map(|trace| std::mem::take(&mut trace.overheard)).unwrap_or_default()
    }

    /// Keeps the frames that have just ended, with their packets as they are before the air's news is handled.
    #[cold]
    pub(super) fn trace(&mut self) {
        let (Some(trace), Some(frames)) = (&mut self.trace, self.air.take_frames()) else { return };
        let packet = |frame: &FrameRecord| {
            let staged = trace.staged.get(&(frame.by, frame.packet.0));
            staged.and_then(|packets| packets.front().copied()).or(trace.heads[frame.by as usize])
        };
        trace.frames.extend(frames.map(|frame| (frame, packet(&frame))));
        trace.overheard.extend(self.air.take_overheard().into_iter().flatten());
        if !trace.frames.is_empty() {
            self.news.push_back(News::Frames);
        }
    }
}
