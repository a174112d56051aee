//! Packets that the air has been given ahead of time, so that several of them may share a frame.
//!
//! A driver hands packets to its hardware before the medium is won: each then has its sequence number, and its discipline sees it leave.
//! So it is here. The packets staged in a queue are for one next hop; they are filled up as packets come and as they leave. How many
//! there are is bounded by the receiver's window and by a time on the air ([`Staging::airtime`]), as in Linux' airtime queue limits.
//!
//! A queue with several next hops gives each a turn of one aggregate. When packets of it have left, the discipline chooses the next
//! packet. If it is of the same next hop, the turn goes on; if not, the other hop has its turn when nothing of this one is left.

use super::Core;
use crate::queue::{Discipline, Queued, Service};
use crate::spec::Staging;
use evenair_units::{Bytes, Duration, Rate};
use evenair_wifi::{BROADCAST, Head, Mode, PacketId};
use std::collections::VecDeque;

/// The packets staged in a queue.
#[derive(Clone, Debug, Default)]
pub(super) struct Staged {
    /// Their next hop, and how frames to it are modulated.
    pub(super) to: u32,
    mode: Option<Mode>,
    /// They, in order, each with its hop.
    packets: VecDeque<(Queued, u32)>,
    bytes: u64,
    /// So many more are staged only beside none.
    bytes_max: u64,
    /// No packet for this next hop waited when the discipline was last asked.
    is_dry: bool,
    /// Rate control chooses the mode of its frames.
    is_controlled: bool,
    /// The queue has several next hops.
    is_shared: bool,
    /// Packets have left since the discipline last chose a next hop.
    is_over: bool,
    /// The packet of another next hop that has the next turn.
    next: Option<Queued>,
}

impl Staged {
    /// Nothing staged, in a queue with several next hops or one.
    pub(super) fn none(is_shared: bool) -> Self {
        Self { is_shared, ..Self::default() }
    }

    /// Takes out a packet that has left, most often the first; gives it and its hop.
    fn take(&mut self, id: PacketId) -> (Queued, u32) {
        let is_it = |(packet, _): &(Queued, u32)| packet.packet == id;
        let is_first = self.packets.front().is_some_and(is_it);
        let taken = if is_first {
            self.packets.pop_front()
        } else {
            self.packets.iter().position(is_it).and_then(|place| self.packets.remove(place))
        };
        let (packet, hop) = taken.expect("it was staged");
        self.bytes -= u64::from(packet.size);
        (packet, hop)
    }
}

impl Staging {
    /// The bytes that may be staged at a rate.
    fn bytes_at(&self, rate: Rate, is_shared: bool) -> u64 {
        let bytes_in = |time: Duration| (time.as_secs_f64() * rate.as_bps() as f64 / 8.0) as u64;
        let of_one = bytes_in(self.limits.airtime).min(self.limits.bytes.into());
        match self.airtime.map(bytes_in) {
            Some(bytes) if is_shared => bytes.min(of_one),
            Some(bytes) => bytes,
            None => of_one,
        }
    }
}

impl<T: Copy> Core<T> {
    /// Whether packets to a next hop are staged.
    #[inline]
    pub(super) fn stages(&self, to: u32, mode: Mode) -> bool {
        self.staging.is_some() && to != BROADCAST && mode.modulation().is_some()
    }

    /// How many packets a source must keep at its node, so that its queue is never without one that the air could take.
    pub(crate) fn packets_ahead(&self, hop: u32) -> u32 {
        let hop = self.hops.get(hop);
        match &self.staging {
            Some(staging) if self.stages(hop.to, hop.mode) => u32::from(staging.limits.window),
            _ => 1,
        }
    }

    /// The first packet for a next hop is given to the air, and as many more as there is room for.
    #[inline(never)] // out of the way of queues without aggregates
    pub(super) fn stage_first(&mut self, by: u32, first: Queued, hop: u32, head: Head) {
        let staging = self.staging.expect("packets are staged");
        let staged = &mut self.staged[by as usize];
        debug_assert!(staged.packets.is_empty() && staged.next.is_none(), "packets are staged already");
        (staged.to, staged.mode) = (head.to, Some(head.mode));
        (staged.is_dry, staged.is_over) = (false, false);
        let usual = self.air.usual_mode(by, head.to);
        staged.is_controlled = usual.is_some();
        staged.bytes_max = staging.bytes_at(usual.unwrap_or(head.mode).rate(), staged.is_shared);
        self.add_staged(by, first, hop);
        self.air.stage(self.now, by, head);
        self.fill(by);
    }

    fn add_staged(&mut self, by: u32, packet: Queued, hop: u32) {
        let staged = &mut self.staged[by as usize];
        staged.packets.push_back((packet, hop));
        staged.bytes += u64::from(packet.size);
        self.note_staged(by);
    }

    /// The queue knows how much is staged.
    fn note_staged(&mut self, by: u32) {
        let Staged { packets, bytes, next, .. } = &self.staged[by as usize];
        let first = packets.front().map(|(first, _)| first).or(next.as_ref());
        self.queues[by as usize].service = match first {
            None => Service::Nothing,
            Some(first) => Service::Staged {
                packets: packets.len() as u32 + u32::from(next.is_some()),
                bytes: *bytes as u32 + next.map_or(0, |next| next.size),
                oldest: first.enqueued,
            },
        };
    }

    /// A packet for a next hop has come into a queue in which packets are staged.
    #[inline(never)]
    pub(super) fn refill(&mut self, by: u32, next_hop: u32) {
        let staged = &mut self.staged[by as usize];
        if staged.to == next_hop {
            staged.is_dry = false;
            self.fill(by);
        }
    }

    /// As much may be staged as the time has room for in the mode that rate control holds best.
    #[inline(never)] // out of the way of queues without rate control
    fn limit_by_usual_mode(&mut self, by: u32) {
        let staged = &mut self.staged[by as usize];
        if let (Some(staging), Some(mode)) = (self.staging, self.air.usual_mode(by, staged.to)) {
            staged.bytes_max = staging.bytes_at(mode.rate(), staged.is_shared);
        }
    }

    /// Stages packets for the same next hop, as long as there is room and the discipline has some.
    #[inline(never)] // out of the way of queues without aggregates
    pub(super) fn fill(&mut self, by: u32) {
        if self.staged[by as usize].is_controlled {
            self.limit_by_usual_mode(by);
        }
        loop {
            let staged = &mut self.staged[by as usize];
            if staged.packets.is_empty() {
                let next = staged.next.take();
                return next.into_iter().for_each(|next| self.begin_turn(by, next));
            }
            let is_waiting = !staged.is_dry && self.queues[by as usize].discipline.packets() > 0;
            if !is_waiting || staged.bytes >= staged.bytes_max || self.air.room(by) == 0 {
                return;
            }
            if staged.next.is_some() {
                return; // another next hop has the next turn
            }
            let is_over = staged.is_over && staged.is_shared;
            let (to, mode) = (staged.to, staged.mode.expect("packets are staged"));
            let next = self.dequeue(by, (!is_over).then_some(to));
            let staged = &mut self.staged[by as usize];
            let Some(next) = next else {
                staged.is_dry = true;
                return;
            };
            staged.is_over = false;
            if next.next_hop != to {
                staged.next = Some(next);
                return self.note_staged(by);
            }
            let (hop, ..) = self.leave_queue(by, &next);
            self.add_staged(by, next, hop);
            let head = Head { to, size: Bytes::new(next.size), mode, packet: next.packet };
            self.air.stage(self.now, by, head);
        }
    }

    /// A packet that has left the discipline is given to the air.
    fn begin_turn(&mut self, by: u32, first: Queued) {
        self.note_staged(by);
        self.give(by, first);
    }

    /// A packet that was staged has left; gives it and its hop.
    #[inline(never)] // out of the way of queues without aggregates
    pub(super) fn end_staged(&mut self, by: u32, id: PacketId) -> (Queued, u32) {
        let staged = &mut self.staged[by as usize];
        let (served, hop) = staged.take(id);
        staged.is_over = true;
        self.note_staged(by);
        let passed = &mut self.hops.get_mut(hop).passed;
        passed.sojourn.add(self.now - served.enqueued);
        passed.bytes += u64::from(served.size);
        if let Some(trace) = &mut self.trace {
            trace.forget(by, id);
        }
        (served, hop)
    }

    /// A packet leaves the discipline for its outlet: the time that it waited is counted. Gives its hop, that hop's next node, and the
    /// mode of the frame.
    #[expect(clippy::inline_always, reason = "each packet passes here: six calls cost as much as their work")]
    #[inline(always)]
    pub(super) fn leave_queue(&mut self, by: u32, next: &Queued) -> (u32, u32, Mode) {
        let place = self.pool.get(next.packet).hop;
        let hop = self.hops.get_mut(place);
        debug_assert_eq!(hop.queue, by, "a packet waited in the wrong queue");
        let waited = self.now - next.enqueued;
        hop.passed.waiting.add(waited);
        let (to, mode) = (hop.to, hop.mode);
        if let Some(waits) = &mut self.queues[by as usize].waits {
            waits.add(waited);
        }
        if self.staging.is_some() {
            self.trace_staged(by, next.packet);
        }
        (place, to, mode)
    }

    /// A packet is staged, for the trace if there is one.
    #[inline(never)]
    fn trace_staged(&mut self, by: u32, id: PacketId) {
        let Some(trace) = &mut self.trace else { return };
        let packet = self.pool.get(id);
        let mode = self.hops.get(packet.hop).mode;
        trace.staged.entry((by, id.0)).or_default().push_back((*packet, mode));
    }
}
