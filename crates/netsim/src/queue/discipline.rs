//! In which order the packets of a queue leave.

use super::{
    AirtimeFair, AirtimeParams, DisciplineRole, Fair, FairParams, Fifo, Shaper, Weighted, WeightedParams,
};
use evenair_laws::OwnLaw;
use evenair_laws::marking::QueueRole;
use evenair_units::{Duration, Instant, Probability};
use evenair_wifi::PacketId;
use std::fmt;

/// A packet that waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Queued {
    /// Which one.
    pub packet: PacketId,
    /// The number by which disciplines tell flows apart: one for each flow and direction.
    pub flow: u32,
    /// Network-layer size \[bytes\].
    pub size: u32,
    /// The node that it goes to from here.
    pub next_hop: u32,
    /// When it came into the queue.
    pub enqueued: Instant,
    /// Whether it may be marked, or has been here.
    pub mark: Mark,
}

/// The alternative to dropping a packet in a queue (RFC 3168).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mark {
    /// Nothing.
    #[default]
    Impossible,
    /// It may be marked.
    Possible,
    /// It has been marked in this queue.
    Made,
}

impl Queued {
    /// A law would drop it: it is marked, if it may be; says whether it is.
    pub fn mark(&mut self) -> bool {
        let is_possible = self.mark != Mark::Impossible;
        if is_possible {
            self.mark = Mark::Made;
        }
        is_possible
    }
}

/// A queueing discipline: keeps waiting packets and chooses the next. A machine without clock or chance: time comes in as an
/// argument, the host draws.
///
/// The packet in service is the host's. An enqueued packet leaves once: by [`dequeue`](Self::dequeue), among the packets
/// that it dropped, or by [`evict`](Self::evict).
pub trait Discipline {
    /// Returns the probability with which this arrival is to be refused; the host draws.
    fn refusal(&mut self, _now: Instant, _arrival: &Queued) -> Probability {
        Probability::ZERO
    }

    /// Whether it has no room for this arrival, beside the room that its queue has.
    fn is_full(&self, _arrival: &Queued) -> bool {
        false
    }

    /// This arrival was refused: the draw fell so, or there was no room for it.
    fn refused(&mut self, _arrival: &Queued) {}

    /// A packet comes in.
    fn enqueue(&mut self, now: Instant, arrival: Queued);

    /// The next packet to be sent, if one may leave now; packets given up on the way to it are put into `dropped`.
    fn dequeue(&mut self, now: Instant, dropped: &mut Vec<Queued>) -> Option<Queued>;

    /// The next packet of those to a next hop, which is to share a frame with those that have left for it since the last
    /// [`dequeue`](Self::dequeue); otherwise as there. None, by default: then only packets share a frame that come while it waits.
    fn dequeue_for(&mut self, _now: Instant, _next_hop: u32, _dropped: &mut Vec<Queued>) -> Option<Queued> {
        None
    }

    /// From when on [`dequeue`](Self::dequeue) gives a packet, or has dropped all, if nothing else comes in: exactly then, and
    /// not before. [`Instant::NEVER`] while there is none. A discipline that keeps nothing back need not say more.
    fn next_ready(&self, now: Instant) -> Instant {
        if self.packets() > 0 { now } else { Instant::NEVER }
    }

    /// Gives up a packet for the sake of this one that finds no room; if none, the arrival is refused.
    fn evict(&mut self, _arrival: &Queued) -> Option<Queued> {
        None
    }

    /// Packets that wait.
    fn packets(&self) -> u32;

    /// Their bytes.
    fn bytes(&self) -> u64;
}

/// Which discipline, with its parameters.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum DisciplineParams {
    /// First in, first out.
    #[default]
    Fifo,
    /// One turn for each flow.
    Fair(FairParams),
    /// Shares by the flows' weights.
    Weighted(WeightedParams),
    /// Next hops share the time of the air.
    Airtime(AirtimeParams),
    /// A user's own, empty.
    Own(OwnDiscipline),
}

impl DisciplineParams {
    /// An empty queue of this discipline, of which nothing else is known.
    pub fn begin(&self, role: &QueueRole) -> AnyDiscipline {
        self.begin_at(&(*role).into())
    }

    /// An empty queue of this discipline, in its place.
    pub fn begin_at(&self, role: &DisciplineRole) -> AnyDiscipline {
        match self {
            Self::Fifo => AnyDiscipline::Fifo(Fifo::default()),
            Self::Fair(params) => AnyDiscipline::Fair(Box::new(Fair::new(params.clone(), role))),
            Self::Weighted(params) => AnyDiscipline::Weighted(Box::new(Weighted::new(*params, role))),
            Self::Airtime(params) => AnyDiscipline::Airtime(Box::new(AirtimeFair::new(params.clone(), role))),
            Self::Own(own) => AnyDiscipline::Own(own.clone()),
        }
    }

    /// The words that tell a discipline of a user's own from others; none of a built-in one, which its parameters tell apart.
    pub fn identity(&self) -> Option<String> {
        if let Self::Own(own) = self { Some(own.identity()) } else { None }
    }
}

/// A discipline at work.
#[derive(Clone, Debug)]
pub enum AnyDiscipline {
    /// First in, first out.
    Fifo(Fifo),
    /// One turn for each flow.
    Fair(Box<Fair>),
    /// Shares by the flows' weights.
    Weighted(Box<Weighted>),
    /// Next hops share the time of the air.
    Airtime(Box<AirtimeFair>),
    /// Lines that are let through by tokens: of a gateway or a limited source, which make it.
    Shaper(Box<Shaper>),
    /// A user's own.
    Own(OwnDiscipline),
}

impl AnyDiscipline {
    /// Whether it needs each attempt to send the packet in service.
    pub(crate) fn wants_attempts(&self) -> bool {
        if let Self::Airtime(airtime) = self { airtime.wants_attempts() } else { false }
    }

    /// An attempt to send has ended: of the packet in service, or of packets staged for a next
    /// hop, in a frame that took so long with its acknowledgement.
    pub(crate) fn attempted(&mut self, aggregate: Option<(u32, Duration)>) {
        if let Self::Airtime(airtime) = self {
            airtime.attempted(aggregate);
        }
    }
}

/// Plain queues by a comparison and without a call: each packet asks three times or more. The others behind their boxes.
impl Discipline for AnyDiscipline {
    #[inline]
    fn refusal(&mut self, now: Instant, arrival: &Queued) -> Probability {
        if self.is_plain() { Probability::ZERO } else { self.by_table_mut().refusal(now, arrival) }
    }

    #[inline]
    fn is_full(&self, arrival: &Queued) -> bool {
        !self.is_plain() && self.by_table().is_full(arrival)
    }

    #[inline]
    fn refused(&mut self, arrival: &Queued) {
        if !self.is_plain() {
            self.by_table_mut().refused(arrival);
        }
    }

    #[inline]
    fn enqueue(&mut self, now: Instant, arrival: Queued) {
        match self {
            Self::Fifo(fifo) => fifo.enqueue(now, arrival),
            _ => self.by_table_mut().enqueue(now, arrival),
        }
    }

    #[inline]
    fn dequeue(&mut self, now: Instant, dropped: &mut Vec<Queued>) -> Option<Queued> {
        match self {
            Self::Fifo(fifo) => fifo.dequeue(now, dropped),
            _ => self.by_table_mut().dequeue(now, dropped),
        }
    }

    fn dequeue_for(&mut self, now: Instant, next_hop: u32, dropped: &mut Vec<Queued>) -> Option<Queued> {
        match self {
            Self::Fifo(fifo) => fifo.dequeue_for(now, next_hop, dropped),
            _ => self.by_table_mut().dequeue_for(now, next_hop, dropped),
        }
    }

    fn next_ready(&self, now: Instant) -> Instant {
        self.by_table().next_ready(now)
    }

    fn evict(&mut self, arrival: &Queued) -> Option<Queued> {
        if self.is_plain() { None } else { self.by_table_mut().evict(arrival) }
    }

    #[inline]
    fn packets(&self) -> u32 {
        match self {
            Self::Fifo(fifo) => fifo.packets(),
            _ => self.by_table().packets(),
        }
    }

    #[inline]
    fn bytes(&self) -> u64 {
        match self {
            Self::Fifo(fifo) => fifo.bytes(),
            _ => self.by_table().bytes(),
        }
    }
}

impl AnyDiscipline {
    /// Whether it is first in, first out.
    #[inline]
    pub(crate) const fn is_plain(&self) -> bool {
        matches!(self, Self::Fifo(_))
    }

    /// The discipline behind a table of its methods.
    #[inline(never)]
    fn by_table(&self) -> &dyn Discipline {
        match self {
            Self::Fifo(fifo) => fifo,
            Self::Fair(fair) => &**fair,
            Self::Weighted(weighted) => &**weighted,
            Self::Airtime(airtime) => &**airtime,
            Self::Shaper(shaper) => &**shaper,
            Self::Own(own) => &*own.0,
        }
    }

    /// The same, to be changed.
    #[inline(never)]
    fn by_table_mut(&mut self) -> &mut dyn Discipline {
        match self {
            Self::Fifo(fifo) => fifo,
            Self::Fair(fair) => &mut **fair,
            Self::Weighted(weighted) => &mut **weighted,
            Self::Airtime(airtime) => &mut **airtime,
            Self::Shaper(shaper) => &mut **shaper,
            Self::Own(own) => &mut *own.0,
        }
    }
}

/// The needs of a box beside the discipline; every [`Discipline`] of a user's own that is an [`OwnLaw`] meets them.
trait Boxed: Discipline + fmt::Debug + Send + Sync {
    fn boxed(&self) -> Box<dyn Boxed>;
    fn words(&self) -> String;
}

impl<D: Discipline + OwnLaw> Boxed for D {
    fn boxed(&self) -> Box<dyn Boxed> {
        Box::new(self.clone())
    }

    fn words(&self) -> String {
        self.identity()
    }
}

/// A discipline of a user's own.
pub struct OwnDiscipline(Box<dyn Boxed>);

impl OwnDiscipline {
    /// A discipline as it is before any packet has come.
    ///
    /// # Panics
    /// If it is not empty.
    pub fn new(discipline: impl Discipline + OwnLaw) -> Self {
        assert!(discipline.packets() == 0 && discipline.bytes() == 0, "a queue begins empty");
        Self(Box::new(discipline))
    }

    /// Its name and its parameters, in words: kept runs are told apart by it.
    pub fn identity(&self) -> String {
        self.0.words()
    }
}

impl Clone for OwnDiscipline {
    fn clone(&self) -> Self {
        Self(self.0.boxed())
    }
}

impl fmt::Debug for OwnDiscipline {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl PartialEq for OwnDiscipline {
    /// By identity: waiting packets do not count.
    fn eq(&self, other: &Self) -> bool {
        self.identity() == other.identity()
    }
}
