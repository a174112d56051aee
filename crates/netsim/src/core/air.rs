//! Between queues and the air: frames to the air, and its effects.

use super::{Core, Direction, END, Event, Hop, News};
use crate::packet::{Body, LossCause};
use crate::queue::{Discipline, Mark, Outlet, Queued, Service};
use evenair_units::{Bytes, Duration};
use evenair_wifi::{BROADCAST, Head, Outcome, PacketId, Up};

impl<T: Copy> Core<T> {
    /// One piece of the air's news.
    pub(super) fn on_up(&mut self, up: Up) {
        match up {
            Up::Received { at, packet, .. } => self.on_received(at, packet),
            Up::Done { by, packet, outcome } => self.on_done(by, packet, outcome),
            Up::Attempt { by, data, airtime, .. } if data => self.on_attempt(by, airtime),
            Up::Attempt { .. } => (),
        }
    }

    /// A DATA frame was acknowledged, or was not.
    #[inline(never)]
    fn on_attempt(&mut self, by: u32, airtime: Duration) {
        let measured = match self.queues[by as usize].service {
            Service::Staged { .. } => Some((self.staged[by as usize].to, airtime)),
            Service::Packet(served, hop) => {
                let to = self.hops.get(hop).to;
                // The rates that a discipline was built with are those of the start, and not those that rate control chooses.
                match self.air.usual_mode(by, to) {
                    Some(_) => Some((to, airtime)),
                    None => self.exchange_of_now(&served, hop),
                }
            }
            _ => None,
        };
        self.queues[by as usize].discipline.attempted(measured);
    }

    /// A packet reached its next hop, or one of those that hear a broadcast.
    fn on_received(&mut self, at: u32, id: PacketId) {
        if id == PacketId::NONE {
            return; // a dummy
        }
        let packet = self.pool.get_mut(id);
        let hop = self.hops.get(packet.hop);
        debug_assert!(hop.to == at || hop.to == BROADCAST, "a packet came to the wrong node");
        if hop.to == BROADCAST {
            self.news.push_back(News::Heard { at, packet: *packet });
            return;
        }
        packet.hop = hop.next();
        let is_foreign = matches!(packet.body, Body::Foreign(_));
        let goes_on = packet.hop != END && !is_foreign && self.shapers.is_empty();
        if self.layer_delay.is_zero() {
            self.arrive(id);
        } else if goes_on && self.is_on_air(self.pool.get(id).hop) {
            self.delay_twice(id);
        } else {
            self.delay(id, Direction::Up);
        }
    }

    /// The MAC is done with the head of a queue.
    fn on_done(&mut self, by: u32, id: PacketId, outcome: Outcome) {
        let ended = match self.queues[by as usize].service {
            Service::Staged { .. } => Some(self.end_staged(by, id)),
            _ => self.end_service(by),
        };
        let Some((served, hop)) = ended else { return self.on_dummy_done(by, id, outcome) };
        debug_assert_eq!(served.packet, id, "another packet is done than was in service");
        if let Some(trace) = &mut self.trace {
            trace.heads[by as usize] = None;
        }
        let &Hop { to, watched, .. } = self.hops.get(hop);
        if outcome != Outcome::Delivered {
            self.note_failure(by, &served, outcome);
        } else if to == BROADCAST {
            self.end_broadcast(id);
        }
        self.serve(by);
        self.make_room(by, watched.then_some(served));
    }

    /// The MAC is done with a dummy packet.
    #[inline(never)]
    fn on_dummy_done(&mut self, by: u32, id: PacketId, outcome: Outcome) {
        debug_assert_eq!(id, PacketId::NONE, "a packet is done that was not in service");
        if outcome != Outcome::Dropped {
            self.queues[by as usize].note_dummy();
        }
        self.serve(by);
        self.make_room(by, None);
    }

    /// The last retry of a packet has failed, as far as the sender can see.
    #[inline(never)]
    fn note_failure(&mut self, by: u32, served: &Queued, outcome: Outcome) {
        let queue = &mut self.queues[by as usize];
        queue.dropped.retries += 1;
        if outcome == Outcome::Dropped {
            queue.given_up.add(served.size.into());
            self.lose(served.packet, by, LossCause::Retries);
        } else {
            queue.dropped.received += 1;
        }
    }

    /// A broadcast is at the end of its way, with or without receivers.
    #[inline(never)]
    fn end_broadcast(&mut self, id: PacketId) {
        let packet = self.pool.take(id);
        self.passage(packet.way).delivered.add(packet.size.into());
        if matches!(packet.body, Body::Foreign(_)) {
            self.news.push_back(News::Over(packet));
        }
    }

    /// The packet in service has left; gives it and the hop that it made, if it was no dummy.
    #[inline]
    pub(super) fn end_service(&mut self, by: u32) -> Option<(Queued, u32)> {
        let queue = &mut self.queues[by as usize];
        debug_assert!(queue.service != Service::Nothing, "nothing was in service");
        let service = queue.service;
        queue.service = Service::Nothing;
        let Service::Packet(served, hop) = service else { return None };
        let passed = &mut self.hops.get_mut(hop).passed;
        passed.sojourn.add(self.now - served.enqueued);
        passed.bytes += u64::from(served.size);
        Some((served, hop))
    }

    /// Gives a queue's outlet its next packet, if it is free and there is one.
    #[inline]
    pub(super) fn serve(&mut self, by: u32) {
        let service = &self.queues[by as usize].service;
        if matches!(service, Service::Nothing) {
            self.serve_next(by);
        } else if matches!(service, Service::Staged { .. }) {
            self.fill(by);
        }
    }

    /// Gives a queue's outlet, which is free, its next packet, if there is one.
    #[inline(never)]
    pub(super) fn serve_next(&mut self, by: u32) {
        if matches!(self.queues[by as usize].outlet, Outlet::Within { .. }) {
            return self.let_through(by);
        }
        let Some(next) = self.dequeue(by, None) else { return self.serve_nothing(by) };
        self.give(by, next);
    }

    /// Gives the outlet of a queue, which is free, a packet.
    #[expect(clippy::inline_always, reason = "each packet passes here: six calls cost as much as their work")]
    #[inline(always)]
    pub(super) fn give(&mut self, by: u32, next: Queued) {
        let (place, to, mode) = self.leave_queue(by, &next);
        let size = Bytes::new(next.size);
        let queue = &mut self.queues[by as usize];
        queue.service = Service::Packet(next, place);
        if let Outlet::Wire(wire) = &mut queue.outlet {
            let sent = match &mut wire.trace {
                Some(trace) => trace.sent_at(self.now, size),
                None => self.now + mode.rate().time_for(size),
            };
            self.call(sent, Event::WireSent(by));
            return;
        }
        if let Some(trace) = &mut self.trace {
            trace.heads[by as usize] = Some((*self.pool.get(next.packet), mode));
        }
        let head = Head { to, size, mode, packet: next.packet };
        if self.staging.is_some() {
            return self.offer_or_stage(by, next, place, head);
        }
        self.air.offer(self.now, by, head);
    }

    /// Gives the air a packet where there are aggregates.
    #[inline(never)] // out of the way of networks without
    fn offer_or_stage(&mut self, by: u32, next: Queued, place: u32, head: Head) {
        if self.stages(head.to, head.mode) {
            self.stage_first(by, next, place, head);
        } else {
            self.air.offer(self.now, by, head);
        }
    }

    /// The next packet to be sent, to a next hop if one is given; those given up on the way to it are counted.
    #[expect(clippy::inline_always, reason = "each packet passes here: six calls cost as much as their work")]
    #[inline(always)]
    pub(super) fn dequeue(&mut self, by: u32, next_hop: Option<u32>) -> Option<Queued> {
        let queue = &mut self.queues[by as usize];
        let next = queue.next(self.now, next_hop, &mut self.culled);
        if let Some(next) = &next {
            self.buffers[queue.buffer as usize].waiting -= 1;
            if next.mark == Mark::Made {
                queue.marked += 1;
                self.pool.get_mut(next.packet).body.mark();
            }
        }
        if !self.culled.is_empty() {
            self.cull(by);
        }
        next
    }

    /// Packets that the discipline or the marking gave up.
    #[cold]
    fn cull(&mut self, by: u32) {
        let mut culled = std::mem::take(&mut self.culled);
        for dropped in culled.drain(..) {
            let queue = &mut self.queues[by as usize];
            queue.dropped.by_law += 1;
            self.buffers[queue.buffer as usize].waiting -= 1;
            self.give_up(by, dropped, LossCause::Law);
        }
        self.culled = culled;
        self.ask_later(by);
    }

    /// There is no packet to be sent now: perhaps a dummy, perhaps one later.
    pub(super) fn serve_nothing(&mut self, by: u32) {
        let queue = &mut self.queues[by as usize];
        if let Some(size) = queue.dummy {
            queue.service = Service::Dummy;
            let head = Head { to: queue.next_hop, size, mode: queue.mode, packet: PacketId::NONE };
            self.air.offer(self.now, by, head);
        } else if queue.discipline.packets() > 0 {
            let ready = queue.discipline.next_ready(self.now);
            debug_assert!(ready > self.now, "{} gives no packet though one is ready", queue.name);
            if ready < queue.ready_at {
                queue.ready_at = ready;
                self.call(ready, Event::Ready(by));
            }
        }
    }

    /// A queue that kept its packets back has one to send now, or has room for one, unless it has been asked again since.
    pub(super) fn on_ready(&mut self, by: u32) {
        let queue = &mut self.queues[by as usize];
        if queue.ready_at == self.now {
            queue.ready_at = evenair_units::Instant::NEVER;
            self.serve(by);
            self.make_room(by, None);
        }
    }
}
