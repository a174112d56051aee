//! A contender: its queue's head, the plan of its exchange, and its back-off.

use super::batch::Batch;
use super::modes::Modes;
use crate::air::{Head, Outcome, PacketId};
use crate::mac::draw;
use crate::mac::edca::Arbitration;
use crate::phy::Mode;
use crate::timeline::FrameKind;
use crate::timing::MacTiming;
use evenair_des::Stream;
use evenair_laws::backoff::{Access, Draw};
use evenair_units::{Bytes, Duration, Instant};

/// Counts of a contender's frames by their fate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// DATA frames sent.
    pub attempts: u64,
    /// DATA frames lost to a frame that overlapped them at the receiver, or to the link's error model.
    pub collided: u64,
    /// DATA frames that reached a receiver while it was transmitting.
    pub receiver_busy: u64,
    /// DATA frames that were decoded while the acknowledgement was lost or not sent.
    pub ack_lost: u64,
    /// DATA frames that were decoded while the acknowledgement came too late for its sender.
    pub ack_late: u64,
    /// Packets given up after the last attempt.
    pub dropped: u64,
    /// Times that another queue of the same node won the tie.
    pub internal: u64,
    /// RTS frames sent.
    pub requests: u64,
    /// RTS frames that brought no CTS.
    pub requests_failed: u64,
}

/// One contender of a network.
#[derive(Clone, Debug)]
pub struct Contention {
    /// Its node.
    pub node: u32,
    /// Its back-off law's answer.
    pub access: Access,
    /// How it waits for and keeps the medium.
    pub arbitration: Arbitration,
    /// The law's answer, from which its back-offs are drawn.
    pub stream: Stream,
}

/// Airtimes of the head's frames, or of those of an aggregate that it is the first of.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Plan {
    /// Of the DATA frame, header and checksum included.
    pub(super) size: Bytes,
    /// Packets in the DATA frame; if none, a block ack request is in its place.
    pub(super) parts: u16,
    /// It has EDCA's longer header.
    pub(super) qos: bool,
    /// How the DATA frame is modulated.
    pub(super) mode: Mode,
    pub(super) data: Duration,
    /// ACK, or block acknowledgement.
    pub(super) answer: Duration,
    /// CTS.
    pub(super) clearance: Duration,
    /// RTS, if the packet is large enough for one.
    pub(super) request: Option<Duration>,
    /// CTS to the sender itself, where there is no RTS.
    pub(super) protection: Option<Duration>,
}

impl Plan {
    /// The frame that the exchange begins with.
    pub(super) fn first(&self) -> FrameKind {
        match (self.request, self.protection) {
            (Some(_), _) => FrameKind::Rts,
            (None, Some(_)) => FrameKind::CtsToSelf,
            (None, None) if self.parts == 0 => FrameKind::BlockAckRequest,
            (None, None) => FrameKind::Data,
        }
    }
}

/// A contender's back-off, apart from the rest of its queue because every frame in its neighbourhood touches it: half a line of the
/// cache.
#[derive(Clone, Copy, Debug)]
#[repr(align(32))]
pub(super) struct Countdown {
    /// The time that is left, if a back-off is under way.
    pub(super) left: Duration,
    pub(super) is_under_way: bool,
    /// From when on it runs; never, while the medium is busy.
    pub(super) from: Instant,
    /// The inter-frame space before it.
    pub(super) space: Duration,
    /// It runs in whole slots.
    pub(super) slotted: bool,
    /// A slot counts at its beginning (EDCA).
    pub(super) at_boundary: bool,
    /// There is a head to send at its end.
    pub(super) has_head: bool,
    /// None was drawn for its head, which found the medium idle; one is, if the medium does not remain idle.
    pub(super) undrawn: bool,
}

impl Countdown {
    /// None under way.
    pub(super) fn none(contention: &Contention) -> Self {
        Self {
            left: Duration::ZERO,
            is_under_way: false,
            from: Instant::NEVER,
            space: contention.arbitration.space,
            slotted: draw::slotted(contention.access.draw),
            at_boundary: contention.arbitration.at_boundary,
            has_head: false,
            undrawn: false,
        }
    }

    /// The time that is left, if a back-off is under way.
    #[inline]
    pub(super) const fn left(&self) -> Option<Duration> {
        if self.is_under_way { Some(self.left) } else { None }
    }

    /// A back-off is under way, with this time left.
    #[inline]
    pub(super) const fn begin(&mut self, left: Duration) {
        (self.left, self.is_under_way) = (left, true);
    }

    /// None is.
    #[inline]
    pub(super) const fn end(&mut self) {
        self.is_under_way = false;
    }
}

const _: () = assert!(size_of::<Countdown>() == 32);

#[derive(Clone, Debug)]
#[repr(align(64))]
pub(super) struct Queue {
    pub(super) node: u32,
    pub(super) access: Access,
    pub(super) arbitration: Arbitration,
    pub(super) window: u32,
    /// The last back-off, whole: a law that does not draw again after a collision counts it down once more.
    pub(super) drawn: Duration,
    pub(super) head: Option<Head>,
    /// The head's packet, also after the head is gone, until the host has been told all of it.
    pub(super) packet: PacketId,
    pub(super) plan: Plan,
    /// The packets that it has been given, where several may share a frame: the head is the first that waits.
    pub(super) batch: Option<Box<Batch>>,
    /// Its links under rate control, if there are any.
    pub(super) modes: Option<Box<Modes>>,
    /// The head has reached its receiver before: a repetition is acknowledged, not delivered again.
    pub(super) received: bool,
    /// Frames of its head that are on their way to far hearers.
    pub(super) copies: u32,
    /// The outcome of its head while frames of it are still on their way; the host learns of it when they have landed.
    pub(super) held: Option<Outcome>,
    /// Its RTS has brought a CTS: the frame to send next, or sent last, is the DATA frame.
    pub(super) announced: bool,
    /// A DATA frame of its head has been sent; an internal collision or a failed RTS sends none.
    pub(super) sent: bool,
    /// The host wants to know of each attempt.
    pub(super) reports: bool,
    pub(super) short_failures: u32,
    pub(super) long_failures: u32,
    /// Until when it may keep the medium.
    pub(super) txop_until: Instant,
    pub(super) stream: Stream,
    pub(super) counters: Counters,
    /// The plan before the last.
    pub(super) former: Plan,
}

impl Queue {
    /// A contender without a head.
    pub(super) fn empty(contention: Contention) -> Self {
        let Contention { node, access, arbitration, stream } = contention;
        Self {
            node,
            access,
            arbitration,
            window: draw::first_window(access.draw),
            drawn: Duration::ZERO,
            head: None,
            packet: PacketId::NONE,
            plan: Plan::default(),
            former: Plan::default(),
            batch: None,
            modes: None,
            received: false,
            copies: 0,
            held: None,
            announced: false,
            sent: false,
            reports: false,
            short_failures: 0,
            long_failures: 0,
            txop_until: Instant::ZERO,
            stream,
            counters: Counters::default(),
        }
    }

    /// A DATA frame is sent.
    #[inline]
    pub(super) fn note_attempt(&mut self) {
        self.counters.attempts += 1;
        if let Some(batch) = &mut self.batch {
            batch.note_attempt(self.plan.parts);
        }
    }

    /// The answer to a frame is lost, or is not sent.
    pub(super) fn note_lost_answer(&mut self, kind: FrameKind) {
        // That to a block ack request is not the acknowledgement of a DATA frame.
        self.counters.ack_lost += u64::from(kind.is_acknowledgement() && self.plan.parts > 0);
    }

    /// Whether the exchange under way has come to its DATA frame.
    #[inline]
    pub(super) const fn has_sent_data(&self) -> bool {
        self.plan.parts > 0 && (self.plan.request.is_none() || self.announced)
    }
}

impl MacTiming {
    pub(super) fn draw(&self, queue: &mut Queue) -> Duration {
        queue.drawn = match queue.access.draw {
            Draw::Slots { end_included, .. } => {
                draw::slots(queue.window, end_included, self.slot, &mut queue.stream)
            }
            _ => self.draw_of_time(queue),
        };
        queue.drawn
    }

    #[inline(never)] // out of the way of DCF
    pub(super) fn draw_of_time(&self, queue: &mut Queue) -> Duration {
        let frame = queue.plan.data;
        let packet = match (queue.access.draw, queue.head) {
            (Draw::ExponentialOfPacket { .. }, Some(head)) => head.mode.rate().time_for(head.size),
            _ => frame, // nothing is drawn by it
        };
        let airtimes = draw::Airtimes { frame, packet };
        draw::backoff(queue.access.draw, queue.window, self.slot, airtimes, &mut queue.stream)
    }
}
