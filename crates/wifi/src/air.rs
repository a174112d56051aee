//! The interface between the air and its host.

use crate::{
    AggregateCounters, Aggregation, Contention, ControlledLink, Counters, DcfAir, IdealAir, Ledger,
    LossProcess, MacTiming, Many, Mode, ModeCounters, Receivers, Rules, Timeline, UpTo64, UpTo128,
};
use evenair_des::Fingerprint;
use evenair_laws::backoff::Access;
use evenair_topology::{FadedLink, Fading, Medium};
use evenair_units::{Bytes, Duration, Instant};

/// A queue that contends: its number in the network. A node has one (DCF) or one per next hop (adaptive laws).
pub type Contender = u32;

/// The receiver of a broadcast frame: no answer, no repetition.
pub const BROADCAST: u32 = u32::MAX;

/// A packet's name between the air and its host: the host's choice, handed back with every piece of news about it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PacketId(pub u32);

impl PacketId {
    /// The name of no packet, which a dummy frame carries.
    pub const NONE: Self = Self(u32::MAX);
}

/// The packet at the head of a contender's queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Head {
    /// The node that is to receive it, or [`BROADCAST`].
    pub to: u32,
    /// Its network-layer size.
    pub size: Bytes,
    /// How its DATA frame is modulated.
    pub mode: Mode,
    /// Which packet it is.
    pub packet: PacketId,
}

/// How a packet left its contender.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Acknowledged.
    Delivered,
    /// It reached its next hop, but the last retry ended without an acknowledgement.
    Unacknowledged,
    /// Given up after the last retry without having reached its next hop.
    Dropped,
}

/// News for the layers above.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Up {
    /// The packet at the head of `from` reached a node: its next hop, for the first time, or one of those that hear a
    /// broadcast.
    Received {
        /// The contender with this head.
        from: Contender,
        /// The node that decoded it.
        at: u32,
        /// The packet.
        packet: PacketId,
    },
    /// The contender is done with its head and wants the next.
    Done {
        /// The contender.
        by: Contender,
        /// The packet that was its head.
        packet: PacketId,
        /// The outcome of the head.
        outcome: Outcome,
    },
    /// A DATA frame was acknowledged or was not, or an RTS or a block ack request was not answered; only of contenders that asked for
    /// it ([`Air::report_attempts`]). Comes before the `Done` that it may lead to.
    Attempt {
        /// The contender.
        by: Contender,
        /// The packet of the frame, or the first of them.
        packet: PacketId,
        /// Packets in the frame.
        parts: u16,
        /// The time of the frame and its acknowledgement, with RTS and CTS if any, and the spaces between them.
        airtime: Duration,
        /// It was acknowledged; of an aggregate, by a block acknowledgement.
        acknowledged: bool,
        /// It was the DATA frame, not an RTS before it.
        data: bool,
    },
}

/// All the air of a network.
#[derive(Clone, Debug)]
pub enum Air {
    /// 802.11: real timing, collisions, hidden terminals, capture.
    Dcf(Box<DcfAir>),
    /// The same of a [small](crate::Shape::SMALL) network of at most 64 nodes.
    UpTo64(Box<DcfAir<UpTo64>>),
    /// The same of at most 128.
    UpTo128(Box<DcfAir<UpTo128>>),
    /// The same of any number, if it is [plain](crate::Shape::PLAIN).
    Many(Box<DcfAir<Many>>),
    /// Ideal CSMA: continuous time, zero sensing time, no collisions.
    Ideal(Box<IdealAir>),
}

/// An expression of 802.11's air, of any shape, or of ideal CSMA's.
macro_rules! each_shape {
    ($air:expr, $dcf:ident => $of_dcf:expr, $ideal:pat => $of_ideal:expr) => {
        match $air {
            Air::Dcf($dcf) => $of_dcf,
            Air::UpTo64($dcf) => $of_dcf,
            Air::UpTo128($dcf) => $of_dcf,
            Air::Many($dcf) => $of_dcf,
            Air::Ideal($ideal) => $of_ideal,
        }
    };
}

impl Air {
    /// 802.11 on an idle medium. The contenders come in ascending order of nodes, and at one node in descending order of urgency,
    /// which settles ties between them.
    pub fn dcf(
        medium: &Medium,
        contenders: Vec<Contention>,
        timing: MacTiming,
        rules: Rules,
        receivers: &Receivers,
    ) -> Self {
        if DcfAir::<UpTo64>::fits(medium, &contenders, &timing, &rules, receivers) {
            Self::UpTo64(Box::new(DcfAir::with_receivers(medium, contenders, timing, rules, receivers)))
        } else if DcfAir::<UpTo128>::fits(medium, &contenders, &timing, &rules, receivers) {
            Self::UpTo128(Box::new(DcfAir::with_receivers(medium, contenders, timing, rules, receivers)))
        } else if let Some(air) = DcfAir::of_many(medium, &contenders, timing, rules, receivers) {
            Self::Many(Box::new(air))
        } else {
            Self::Dcf(Box::new(DcfAir::with_receivers(medium, contenders, timing, rules, receivers)))
        }
    }

    /// Gives the link from one node to another an error model; without effect if they do not hear each other, or the medium is ideal.
    pub fn set_loss(&mut self, from: u32, to: u32, process: &LossProcess) {
        each_shape!(self, air => air.set_loss(from, to, process), _ => ());
    }

    /// Nodes that move: from now on they hear each other by another medium of the same nodes. The nodes in `stale` that are sending keep
    /// their hearers and stay there. Gives the instant at which the first of their frames ends, when to call again after all that the
    /// air does then; never, if none sends.
    ///
    /// # Panics
    /// If a hearer is further than half a slot, or the medium is ideal.
    pub fn set_medium(
        &mut self,
        now: Instant,
        medium: &Medium,
        receivers: &Receivers,
        stale: &mut Vec<u32>,
    ) -> Instant {
        each_shape!(self, air => air.set_medium(now, medium, receivers, stale), _ => panic!("nodes do not move under ideal CSMA"))
    }

    /// Gives each node a number from which the draws of its receptions come, under [`Capture::Errors`](crate::Capture::Errors) alone.
    pub fn set_draw_keys(&mut self, keys: Vec<u64>) {
        each_shape!(self, air => air.set_draw_keys(keys), _ => ());
    }

    /// Makes links fade, each by the waves of its two nodes, the one with the lower number first, under
    /// [`Capture::Errors`](crate::Capture::Errors).
    ///
    /// # Panics
    /// Under another rule of 802.11.
    pub fn set_fading(&mut self, fading: Fading, links: impl IntoIterator<Item = ((u32, u32), FadedLink)>) {
        each_shape!(self, air => air.set_fading(fading, links), _ => ());
    }

    /// Counts of this contender's frames so far, by their fate; ideal CSMA keeps none.
    pub fn counters(&self, of: Contender) -> Option<&Counters> {
        each_shape!(self, air => Some(air.counters(of)), _ => None)
    }

    /// A hash of all frames so far; ideal CSMA keeps none.
    pub fn fingerprint(&self) -> Fingerprint {
        each_shape!(self, air => air.fingerprint(), _ => Fingerprint::default())
    }

    /// A contender that had no head gets one.
    #[inline]
    pub fn offer(&mut self, now: Instant, by: Contender, head: Head) {
        each_shape!(self, air => air.offer(now, by, head), air => air.offer(now, by, head));
    }

    /// Lets a contender put several packets into a frame, before it has its first.
    ///
    /// # Panics
    /// In ideal CSMA, which has none, and where hearers are further than half a slot.
    pub fn aggregate(&mut self, by: Contender, limits: Aggregation) {
        each_shape!(self, air => air.aggregate(by, limits), _ => panic!("ideal CSMA has no aggregates"));
    }

    /// How many more packets a contender takes, for the receiver of those that it has.
    #[inline]
    pub fn room(&self, by: Contender) -> u16 {
        each_shape!(self, air => air.room(by), _ => 0)
    }

    /// A contender that has packets gets one more, for the same receiver. If the host has still to hear that it has none any
    /// more, this is an [`offer`](Self::offer).
    ///
    /// # Panics
    /// If the contender does not aggregate.
    #[inline]
    pub fn stage(&mut self, now: Instant, by: Contender, head: Head) {
        each_shape!(self, air => air.stage(now, by, head), _ => panic!("ideal CSMA has no aggregates"));
    }

    /// Counts of a contender's aggregates so far, if it sends any.
    pub fn aggregate_counters(&self, of: Contender) -> Option<&AggregateCounters> {
        each_shape!(self, air => air.aggregate_counters(of), _ => None)
    }

    /// Puts a contender's frames to a next hop under rate control, before it has its first packet. Until the law has named a mode, back-offs
    /// are drawn for its `own`.
    ///
    /// # Panics
    /// In ideal CSMA, which has no modes.
    pub fn control_modes(&mut self, by: Contender, link: ControlledLink, own: Mode) {
        each_shape!(self, air => air.control_modes(by, link, own), _ => panic!("ideal CSMA has no modes"));
    }

    /// The mode that rate control names for frames to a next hop, probes left out; none, without rate control.
    pub fn usual_mode(&self, by: Contender, to: u32) -> Option<Mode> {
        each_shape!(self, air => air.usual_mode(by, to), _ => None)
    }

    /// Counts of a contender's frames under rate control: each next hop, each of its modes.
    pub fn mode_counters(&self, of: Contender) -> Vec<(u32, Mode, ModeCounters)> {
        each_shape!(self, air => air.mode_counters(of).collect(), _ => Vec::new())
    }

    /// Counts frames under rate control from zero again.
    pub fn clear_mode_counters(&mut self) {
        each_shape!(self, air => air.clear_mode_counters(), _ => ());
    }

    /// When the air does something next, unless the host calls it before; never, if nothing is due.
    #[inline]
    pub fn next_at(&self) -> Instant {
        each_shape!(self, air => air.next_at(), air => air.next_at())
    }

    /// Does what is due at `until` and before, in order, up to the first that is news for the host. Gives the instant of the last that was
    /// done, if anything was. The news are added to `out`, in order; while frames are recorded, all that is done is news.
    #[inline]
    pub fn advance(&mut self, until: Instant, out: &mut Vec<Up>) -> Option<Instant> {
        match self {
            Self::UpTo64(air) => air.advance(until, out),
            _ => self.advance_others(until, out),
        }
    }

    /// The same of all networks but those of at most 64 nodes.
    #[inline(never)]
    fn advance_others(&mut self, until: Instant, out: &mut Vec<Up>) -> Option<Instant> {
        match self {
            Self::Dcf(air) => air.advance(until, out),
            Self::UpTo128(air) => air.advance(until, out),
            Self::Many(air) => air.advance(until, out),
            Self::Ideal(air) => air.advance(until, out),
            Self::UpTo64(_) => unreachable!("handled before"),
        }
    }

    /// Has the state that events touch fetched into the cache before they come, or no longer. Networks of some thousand nodes begin with
    /// it, since they wait for memory most of the time; others go faster without. Results are the same. Ideal CSMA does not do it.
    pub fn look_ahead(&mut self, wanted: bool) {
        each_shape!(self, air => air.look_ahead(wanted), _ => ());
    }

    /// Takes the contender of a frame that ends next but a few, so that the host can fetch its state too. Only with
    /// [`look_ahead`](Self::look_ahead) there is one, and [`advance`](Self::advance) then returns early, perhaps without news.
    #[inline]
    pub fn take_upcoming(&mut self) -> Option<Contender> {
        match self {
            Self::Dcf(air) => air.take_upcoming(),
            Self::Many(air) => air.take_upcoming(),
            Self::UpTo64(_) | Self::UpTo128(_) | Self::Ideal(_) => None,
        }
    }

    /// How many things that were due it has done.
    pub fn steps(&self) -> u64 {
        each_shape!(self, air => air.steps(), air => air.steps())
    }

    /// A back-off law changed its answer; it holds from the next draw on.
    pub fn set_access(&mut self, by: Contender, access: Access) {
        each_shape!(self, air => air.set_access(by, access), air => air.set_access(by, access));
    }

    /// Has the outcome of each attempt of a contender reported, or no longer, as rate adaptation needs it. No attempt fails in
    /// ideal CSMA, which reports nothing.
    pub fn report_attempts(&mut self, by: Contender, wanted: bool) {
        each_shape!(self, air => air.report_attempts(by, wanted), _ => ());
    }

    /// Where each contender's time went, if the ledger was switched on; closed at `now`.
    pub fn ledger(&mut self, now: Instant) -> Option<&Ledger> {
        let ledger = each_shape!(self, air => air.ledger.as_deref_mut(), air => air.ledger.as_deref_mut())?;
        ledger.close(now);
        Some(ledger)
    }

    /// Takes out the frames recorded since it was last asked.
    pub fn take_frames(&mut self) -> Option<std::vec::Drain<'_, crate::FrameRecord>> {
        each_shape!(self, air => air.timeline.as_deref_mut().map(Timeline::take), air => air.timeline.as_deref_mut().map(Timeline::take))
    }

    /// Takes out the records of all stations that decoded frames since it was last asked; ideal CSMA knows of none but the
    /// addressees.
    pub fn take_overheard(&mut self) -> Option<std::vec::Drain<'_, crate::Overheard>> {
        each_shape!(self, air => air.timeline.as_deref_mut().map(Timeline::take_overheard), _ => None)
    }

    /// Starts the ledger, empty, at `now`.
    pub fn start_ledger(&mut self, now: Instant) {
        each_shape!(self, air => air.start_ledger(now), air => air.start_ledger(now));
    }

    /// Records the frames of a window of time.
    pub fn record(&mut self, timeline: Timeline) {
        each_shape!(self, air => air.timeline = Some(Box::new(timeline)), air => air.timeline = Some(Box::new(timeline)));
    }

    /// The frames recorded, if any were asked for.
    pub fn timeline(&self) -> Option<&Timeline> {
        each_shape!(self, air => air.timeline.as_deref(), air => air.timeline.as_deref())
    }
}
