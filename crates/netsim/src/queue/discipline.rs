//! In which order the packets of a queue leave.

use super::Fifo;
use evenair_units::{Instant, Probability};
use evenair_wifi::PacketId;
use std::fmt::Debug;

/// A packet that waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Queued {
    /// Which one.
    pub packet: PacketId,
    /// What disciplines tell flows apart by: one number for each flow and direction.
    pub flow: u32,
    /// Network-layer size \[bytes\].
    pub size: u32,
    /// When it came into the queue.
    pub enqueued: Instant,
}

/// A queueing discipline: keeps the packets that wait, and says which is next. A machine without clock or chance: time comes in
/// as an argument, the host draws.
///
/// The packet in service is the host's. Whatever was enqueued leaves by [`dequeue`](Self::dequeue), among what it dropped, or by
/// [`evict`](Self::evict), and once.
pub trait Discipline: Debug + Send + Sync {
    /// With what probability this arrival is to be refused, which the host draws.
    fn refusal(&mut self, _now: Instant, _arrival: &Queued) -> Probability {
        Probability::ZERO
    }

    /// A packet comes in.
    fn enqueue(&mut self, now: Instant, arrival: Queued);

    /// The next packet to be sent, if one may leave now; packets given up on the way there are put into `dropped`.
    fn dequeue(&mut self, now: Instant, dropped: &mut Vec<Queued>) -> Option<Queued>;

    /// From when on [`dequeue`](Self::dequeue) gives a packet or drops what is left, if nothing else comes in: exactly then,
    /// and not before. [`Instant::NEVER`] while there is none. A discipline that keeps nothing back need not say more.
    fn next_ready(&self, now: Instant) -> Instant {
        if self.packets() > 0 { now } else { Instant::NEVER }
    }

    /// Gives up a packet for the sake of one that finds the buffer full; if none, the arrival is refused.
    fn evict(&mut self) -> Option<Queued> {
        None
    }

    /// Packets that wait.
    fn packets(&self) -> u32;

    /// Their bytes.
    fn bytes(&self) -> u64;

    /// A copy, for [`Clone`].
    fn boxed(&self) -> Box<dyn Discipline>;

    /// Its name and all its parameters: two with one identity behave alike. Kept runs are told apart by it.
    fn identity(&self) -> String;
}

/// Any discipline.
#[derive(Debug)]
pub enum AnyDiscipline {
    /// First in, first out.
    Fifo(Fifo),
    /// A user's own.
    Own(Box<dyn Discipline>),
}

impl AnyDiscipline {
    /// One for all packets, in the order in which they came.
    pub fn fifo() -> Self {
        Self::Fifo(Fifo::default())
    }

    fn any(&self) -> &dyn Discipline {
        match self {
            Self::Fifo(fifo) => fifo,
            Self::Own(own) => &**own,
        }
    }
}

impl Clone for AnyDiscipline {
    fn clone(&self) -> Self {
        match self {
            Self::Fifo(fifo) => Self::Fifo(fifo.clone()),
            Self::Own(own) => Self::Own(own.boxed()),
        }
    }
}

impl PartialEq for AnyDiscipline {
    /// By identity: what waits in them does not count.
    fn eq(&self, other: &Self) -> bool {
        self.any().identity() == other.any().identity()
    }
}

/// A match, not a virtual call, for those that we know: they are asked once or more per packet.
impl Discipline for AnyDiscipline {
    #[inline]
    fn refusal(&mut self, now: Instant, arrival: &Queued) -> Probability {
        match self {
            Self::Fifo(_) => Probability::ZERO,
            Self::Own(own) => own.refusal(now, arrival),
        }
    }

    #[inline]
    fn enqueue(&mut self, now: Instant, arrival: Queued) {
        match self {
            Self::Fifo(fifo) => fifo.enqueue(now, arrival),
            Self::Own(own) => own.enqueue(now, arrival),
        }
    }

    #[inline]
    fn dequeue(&mut self, now: Instant, dropped: &mut Vec<Queued>) -> Option<Queued> {
        match self {
            Self::Fifo(fifo) => fifo.dequeue(now, dropped),
            Self::Own(own) => own.dequeue(now, dropped),
        }
    }

    fn next_ready(&self, now: Instant) -> Instant {
        self.any().next_ready(now)
    }

    fn evict(&mut self) -> Option<Queued> {
        match self {
            Self::Fifo(fifo) => fifo.evict(),
            Self::Own(own) => own.evict(),
        }
    }

    #[inline]
    fn packets(&self) -> u32 {
        match self {
            Self::Fifo(fifo) => fifo.packets(),
            Self::Own(own) => own.packets(),
        }
    }

    #[inline]
    fn bytes(&self) -> u64 {
        match self {
            Self::Fifo(fifo) => fifo.bytes(),
            Self::Own(own) => own.bytes(),
        }
    }

    fn boxed(&self) -> Box<dyn Discipline> {
        Box::new(self.clone())
    }

    fn identity(&self) -> String {
        self.any().identity()
    }
}
