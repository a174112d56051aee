//! Room for sources that are never without packets: each keeps so many under way at its node, and is told when to hand down the
//! next, because one has left the node or was dropped there.
//!
//! A packet that is refused or given up is not made up for at that instant: a source, or several that drive out each other's packets,
//! would send without end while nothing leaves. The source waits, and is told when the queue has let a packet go and has room: the
//! one that waits longest first, one at a time, the next when that one's packet has come in. So a queue that is full, or refuses much,
//! is asked about once for each packet that leaves it. One that is empty and refuses all the same is asked again after as long
//! as the packet would have taken.

use super::{Core, END, Event, News};
use crate::packet::{LossCause, Way};
use crate::queue::{Buffer, Discipline, Outlet, Queued, Service, TransmitQueue};
use evenair_units::{Bytes, Duration};

impl<T: Copy> Core<T> {
    /// Gives the attachment news when a packet that entered at this hop has left its node, or was dropped before, and there is
    /// room for another. A shaper without a limit lets arrivals through at once, and that is no departure.
    pub(crate) fn watch(&mut self, first: u32) {
        for other in self.other_entrances(first) {
            self.watch_chain(other);
        }
        self.watch_chain(first);
    }

    fn watch_chain(&mut self, first: u32) {
        let mut hop = first;
        loop {
            self.hops.get_mut(hop).watched = true;
            let queue = &self.queues[self.hops.get(hop).queue as usize];
            if !matches!(queue.outlet, Outlet::Within { .. }) || self.hops.get(hop).next() == END {
                break;
            }
            hop = self.hops.get(hop).next();
        }
    }

    /// A law refuses an arrival. Where there was no room it would have been lost without the law.
    #[cold]
    #[inline(never)]
    pub(super) fn refuse(&mut self, by: u32, arrival: Queued) {
        let cause = if self.is_full(by, &arrival) { LossCause::Overflow } else { LossCause::Law };
        let dropped = &mut self.queues[by as usize].dropped;
        *(if cause == LossCause::Law { &mut dropped.by_law } else { &mut dropped.queue_full }) += 1;
        self.turn_away(by, arrival, cause);
    }

    /// Whether a queue has no room for a packet.
    pub(super) fn is_full(&self, by: u32, arrival: &Queued) -> bool {
        is_full(&self.queues[by as usize], &self.buffers, arrival)
    }

    /// Whether the buffer of a queue to the air or to a wire has room.
    pub(crate) fn has_room(&self, queue: u32) -> bool {
        let buffer = &self.buffers[self.queues[queue as usize].buffer as usize];
        buffer.waiting < buffer.limit
    }

    /// An arrival was refused.
    #[expect(clippy::inline_always, reason = "each refused packet passes here")]
    #[inline(always)]
    pub(super) fn turn_away(&mut self, by: u32, arrival: Queued, cause: LossCause) {
        self.queues[by as usize].refuse(self.now, &arrival);
        let hop = self.lose(arrival.packet, by, cause);
        if self.hops.get(hop).watched {
            // It has had its turn, and keeps it until it comes in.
            self.queues[by as usize].without_room.push_front(arrival);
            self.ask_later(by);
        }
    }

    /// A packet that had been accepted is dropped.
    pub(super) fn give_up(&mut self, by: u32, gone: Queued, cause: LossCause) {
        self.queues[by as usize].given_up.add(gone.size.into());
        let hop = self.lose(gone.packet, by, cause);
        if self.hops.get(hop).watched {
            self.queues[by as usize].without_room.push_back(gone);
        }
    }

    /// A packet has come in: the next may come, unless this one was given up at once.
    #[inline]
    pub(super) fn came_in(&mut self, by: u32) {
        let queue = &self.queues[by as usize];
        if !queue.without_room.is_empty() && !is_idle(queue) {
            self.tell(by);
        }
    }

    /// A packet has left its queue, as the one that is given here if its source is watched; the next may come.
    #[inline]
    pub(super) fn make_room(&mut self, by: u32, left: Option<Queued>) {
        let waiting = &mut self.queues[by as usize].without_room;
        if let Some(left) = left {
            waiting.push_back(left);
        }
        if !waiting.is_empty() {
            self.tell(by);
        }
    }

    /// Tells the first source with room for its packet; all of them, if the queue has nothing else to wait for.
    #[inline(never)]
    fn tell(&mut self, by: u32) {
        debug_assert!(!self.queues[by as usize].without_room.is_empty(), "nobody waits");
        loop {
            let waiting = &self.queues[by as usize].without_room;
            let Some(next) = waiting.iter().position(|packet| !self.is_full(by, packet)) else { break };
            let queue = &mut self.queues[by as usize];
            let waiting = &mut queue.without_room;
            let told = if next == 0 { waiting.pop_front() } else { waiting.remove(next) }; // most often the first
            let told = told.expect("just found");
            let goes_on = is_idle(queue);
            self.news.push_back(News::Room(Way(told.flow)));
            if !goes_on {
                return;
            }
        }
        self.ask_later(by);
    }

    /// Sees to it that a queue is asked for room again from which nothing will leave.
    pub(super) fn ask_later(&mut self, by: u32) {
        let queue = &mut self.queues[by as usize];
        let Some(first) = queue.without_room.front().filter(|_| is_idle(queue)) else { return };
        let takes = queue.mode.rate().time_for(Bytes::new(first.size)).max(Duration::from_nanos(1));
        let at = self.now + takes;
        if at < queue.ready_at {
            queue.ready_at = at;
            self.call(at, Event::Ready(by));
        }
        debug_assert!(!self.queues[by as usize].ready_at.is_never(), "a source waits for ever");
    }
}

/// Whether a queue has no room for a packet.
#[inline]
pub(super) fn is_full(queue: &TransmitQueue, buffers: &[Buffer], arrival: &Queued) -> bool {
    match queue.outlet {
        Outlet::Within { .. } => queue.discipline.is_full(arrival),
        // A packet that goes into service at once takes no place: nothing is there, a dummy neither, and nothing
        // waits.
        Outlet::Air | Outlet::Wire(_) => {
            let buffer = &buffers[queue.buffer as usize];
            buffer.waiting >= buffer.limit && !is_idle(queue)
        }
    }
}

/// Whether a queue has nothing to send, and sends nothing.
#[inline]
fn is_idle(queue: &TransmitQueue) -> bool {
    queue.service == Service::Nothing && queue.discipline.packets() == 0
}
