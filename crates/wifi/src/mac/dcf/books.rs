//! The ledger and the timeline.

use super::reception::Reception;
use super::shape::{Shape, Table};
use super::{DcfAir, Sending};
use crate::air::{BROADCAST, Contender, PacketId};
use crate::ledger::{Doing, Ledger};
use crate::timeline::{FrameKind, FrameRecord, Overheard, Window};
use evenair_units::Instant;

/// Tells the frames of aggregates from all others in a fingerprint; the highest bit but one, since kinds are shifted.
const AGGREGATED: u64 = 1 << 62;

impl<S: Shape> DcfAir<S> {
    pub(crate) fn start_ledger(&mut self, now: Instant) {
        for node in 0..self.nodes.all().len() {
            self.resume(node, now); // between a frame and its answer countdowns may stand still
        }
        let mut ledger = Ledger::new(self.queues.all().len(), now);
        for c in 0..self.queues.all().len() as u32 {
            let doing = self.doing(c);
            ledger.turn_to(c, now, doing);
        }
        self.ledger = Some(Box::new(ledger));
    }

    pub(super) fn record(&mut self, end: Instant, node: usize, sent: &Sending, decoded: bool) {
        let kind = match sent.kind {
            FrameKind::Data if sent.parts > 1 => AGGREGATED | u64::from(sent.parts) << 35,
            FrameKind::Data => 0u64,
            FrameKind::Ack => 1,
            FrameKind::Rts => 2,
            FrameKind::Cts | FrameKind::CtsToSelf => 3,
            FrameKind::BlockAck => AGGREGATED | 1,
            FrameKind::BlockAckRequest => AGGREGATED | 2,
        };
        self.fingerprint.add(end, (node as u64) << 3 | kind << 1 | u64::from(decoded));
        if self.timeline.is_some() {
            self.add_to_timeline(end, node, sent, decoded);
        }
    }

    #[cold]
    #[inline(never)]
    fn add_to_timeline(&mut self, end: Instant, node: usize, sent: &Sending, decoded: bool) {
        let batch = self.queues[sent.by as usize].batch.as_deref();
        let Some(timeline) = &mut self.timeline else { return };
        let frame = FrameRecord {
            start: sent.since,
            end,
            from: node as u32,
            to: sent.to,
            kind: sent.kind,
            size: sent.size,
            mode: self.timing.mode_of(sent.kind, sent.mode),
            by: sent.by,
            decoded,
            retry: sent.retry,
            qos: sent.qos,
            reserves_us: sent.reserves.as_nanos().div_ceil(1000) as u32,
            packet: PacketId::NONE,
            part: None,
            window: Window::default(),
        };
        match batch {
            Some(batch) if sent.to != BROADCAST => batch.records(frame).for_each(|frame| timeline.add(frame)),
            Some(_) | None => timeline.add(frame),
        }
    }

    /// Records the receivers of a frame, for the timeline.
    #[cold]
    pub(super) fn overhear(&mut self, at: usize, from: usize, reception: Reception, sent: &Sending) {
        if let Some(timeline) = &mut self.timeline
            && reception == Reception::Decoded
        {
            timeline.overhear(Overheard { from: from as u32, start: sent.since, at: at as u32 });
        }
    }

    /// A contender's present activity, for the ledger.
    pub(super) fn doing(&self, c: Contender) -> Doing {
        let queue = &self.queues[c as usize];
        let station = &self.stations[queue.node as usize];
        let from = self.countdowns[c as usize].from;
        if let Some(sending) = station.sending {
            if sending.by == c {
                return Doing::Sending;
            }
            return if queue.head.is_some() { Doing::Blocked { by: sending.by } } else { Doing::Nothing };
        }
        match (queue.head, station.awaiting) {
            (None, _) => Doing::Nothing,
            (Some(_), Some((by, _))) if by == c => Doing::Sending,
            (Some(_), Some((by, _))) => Doing::Blocked { by },
            (Some(_), None) if !from.is_never() => Doing::Waiting { countdown_from: from },
            (Some(_), None) => match self.sensed(queue.node as usize) {
                Some(by) => Doing::Blocked { by },
                None => Doing::Waiting { countdown_from: Instant::NEVER },
            },
        }
    }

    /// Whether a contender's present activity is to wait: it has a head, is in no exchange, and is not blocked.
    pub(super) fn is_waiting(&self, c: Contender) -> bool {
        let queue = &self.queues[c as usize];
        let node = queue.node as usize;
        let runs = !self.countdowns[c as usize].from.is_never();
        queue.head.is_some() && !self.is_engaged(node) && (runs || !self.senses_carrier(node))
    }

    /// Books a contender's present activity from `now` on.
    pub(super) fn book(&mut self, c: Contender, now: Instant) {
        if self.ledger.is_some() {
            let doing = self.doing(c);
            self.turn_to(c, now, doing);
        }
    }

    pub(super) fn turn_to(&mut self, c: Contender, now: Instant, doing: Doing) {
        if let Some(ledger) = &mut self.ledger {
            ledger.turn_to(c, now, doing);
        }
    }
}
