//! Frames on their way to far hearers.
//!
//! A hearer up to half a slot away learns of a frame when its sender does. A hearer further off does not: while the frame
//! travels it may begin a frame of its own, wait out an inter-frame space, or give up waiting for an answer. To each such
//! hearer a frame is a flight, with an arrival and a landing as events of their own.
//!
//! Its sender knows no more than a radio does: it waits for an answer until its time-out, and then takes it for missing (IEEE
//! 802.11-2016 clause 10.3.2.9). The *host* learns of the end of a packet when the last copy of it has landed. So a
//! received packet is still there to be handed up: a broadcast's `Done`, and that of a packet given up while it travels,
//! come up to one flight late. Back-offs run in that time.

use super::agenda::{Agenda as _, Due};
use super::shape::Shape;
use super::{
    DcfAir, Ear, Expecting, Sending,
    reception::{OTHER, Reception},
};
use crate::air::{BROADCAST, Contender, Outcome, Up};
use crate::timeline::FrameKind;
use evenair_units::{Duration, Instant};

/// A frame on its way to one hearer.
#[derive(Clone, Copy, Debug)]
pub(super) struct Flight {
    from: u32,
    ear: Ear,
    sent: Sending,
    airtime: Duration,
    /// Its first energy has reached the hearer, its last has not.
    present: bool,
}

impl<S: Shape> DcfAir<S> {
    /// The frame that a node has begun to send sets out for its far hearers.
    pub(super) fn launch(&mut self, now: Instant, node: usize, airtime: Duration) {
        let sent = self.stations[node].sending.expect("it has just begun");
        for i in self.far_ears_of(node, sent.class) {
            let ear = self.ears[i];
            let flight = Flight { from: node as u32, ear, sent, airtime, present: false };
            let place = if let Some(place) = self.free_flights.pop() {
                self.flights[place as usize] = flight;
                place
            } else {
                self.flights.push(flight);
                self.flights.len() as u32 - 1
            };
            self.queues[sent.by as usize].copies += u32::from(flight.carries_a_packet());
            self.agenda.add(now + ear.delay(), Due::Arrival(place));
        }
    }

    /// A node that begins to transmit misses the flights that are reaching it.
    pub(super) fn miss_flights(&mut self, node: usize) {
        for flight in self.flights.iter_mut().filter(|f| f.present && f.ear.node as usize == node) {
            flight.sent.receiver_busy = true;
        }
    }

    /// A frame's first energy reaches a far hearer.
    pub(super) fn on_arrival(&mut self, now: Instant, place: u32) {
        let Flight { from, ear, sent, airtime, .. } = self.flights[place as usize];
        let there = ear.node as usize;
        if ear.sensed {
            self.stop_countdowns(there, now, sent.by);
        }
        let flight = &mut self.flights[place as usize];
        flight.present = true;
        flight.sent.receiver_busy = self.nodes[there].sending_until > now;
        let until = now + airtime;
        let ear = self.faded(from as usize, &ear, sent.since);
        self.arrive::<OTHER>(there, from as usize, &ear, now, until);
        self.agenda.add(until, Due::Landing(place));
    }

    /// A frame's last energy has reached a far hearer.
    pub(super) fn on_landing(&mut self, now: Instant, place: u32, out: &mut Vec<Up>) {
        let flight = self.flights[place as usize];
        self.flights[place as usize].present = false;
        self.free_flights.push(place);
        let Flight { from, ear, sent, airtime, .. } = flight;
        let there = ear.node as usize;
        let reception = self.depart(there, from as usize, &ear, now, &sent);
        self.overhear(there, from as usize, reception, &sent);
        if reception == Reception::Decoded && sent.to != ear.node && sent.kind == FrameKind::Rts {
            let void_at = self.void_at(now, &sent);
            let this = &mut self.nodes[there];
            let at = if this.reserved_until == now + sent.reserves { void_at } else { Instant::NEVER };
            this.unreserve_at(at, &mut self.stations[there]);
            self.agenda.add(at, Due::Unreserve(ear.node));
        }
        if sent.to == ear.node {
            self.reach(now, &flight, reception, out);
        } else if sent.to == BROADCAST && reception == Reception::Decoded {
            let queue = &mut self.queues[sent.by as usize];
            queue.received = true;
            out.push(Up::Received { from: sent.by, at: ear.node, packet: queue.packet });
        }
        if flight.carries_a_packet() {
            let end = sent.since + airtime;
            self.land(sent.by, (sent.to == BROADCAST).then_some((end, from as usize, &sent)), out);
        }
        self.end_far_wait(there, reception, now);
        let next = self.resume(there, now);
        self.schedule_access(there, next);
    }

    /// A frame has reached the node that it was sent to, decoded or not.
    fn reach(&mut self, now: Instant, flight: &Flight, reception: Reception, out: &mut Vec<Up>) {
        let Flight { from, ear, sent, airtime, .. } = *flight;
        let decoded = reception == Reception::Decoded;
        self.record(sent.since + airtime, from as usize, &sent, decoded);
        let answered = decoded && self.accept(ear.node as usize, from as usize, &sent, now, out);
        let counters = &mut self.queues[sent.by as usize].counters;
        match sent.kind {
            FrameKind::Data => {
                counters.collided += u64::from(!decoded && !sent.receiver_busy);
                counters.receiver_busy += u64::from(!decoded && sent.receiver_busy);
                counters.ack_lost += u64::from(decoded && !answered);
            }
            FrameKind::Ack => counters.ack_lost += u64::from(!decoded),
            _ => (),
        }
    }

    /// A broadcast ends at its sender.
    #[inline(never)]
    pub(super) fn end_broadcast(
        &mut self,
        now: Instant,
        node: usize,
        sent: &Sending,
        decoded: bool,
        out: &mut Vec<Up>,
    ) {
        let queue = &mut self.queues[sent.by as usize];
        queue.received = decoded;
        if queue.copies == 0 {
            self.record(now, node, sent, decoded);
        }
        self.finish(sent.by, now, if decoded { Outcome::Delivered } else { Outcome::Dropped }, out);
    }

    /// A contender is done with its head; the host learns of it when no frame of it is under way any more.
    pub(super) fn conclude(&mut self, c: Contender, outcome: Outcome, out: &mut Vec<Up>) {
        let queue = &mut self.queues[c as usize];
        if queue.copies == 0 {
            out.push(Up::Done { by: c, packet: queue.packet, outcome });
        } else {
            queue.held = Some(outcome);
        }
    }

    /// One frame of a head has landed. `broadcast` is the frame to record when the last copy of a broadcast lands.
    fn land(&mut self, c: Contender, broadcast: Option<(Instant, usize, &Sending)>, out: &mut Vec<Up>) {
        let queue = &mut self.queues[c as usize];
        queue.copies -= 1;
        if queue.copies > 0 {
            return;
        }
        let received = queue.received;
        if let Some(held) = queue.held.take() {
            let outcome = match held {
                _ if !received => Outcome::Dropped, // though a late acknowledgement may have been taken for its own
                Outcome::Dropped if broadcast.is_none() => Outcome::Unacknowledged,
                Outcome::Dropped => Outcome::Delivered,
                held => held,
            };
            out.push(Up::Done { by: c, packet: queue.packet, outcome });
        }
        if let Some((end, from, sent)) = broadcast {
            self.record(end, from, sent, received);
        }
    }

    /// At the time-out for an answer from afar: whether a frame is being received that may be the answer; then its end decides.
    pub(super) fn hears_out(&mut self, now: Instant, node: usize) -> bool {
        let start_delay = self.answer_start_delay(node);
        let (this, station) = (&self.signals[node], &mut self.stations[node]);
        let has_begun = this.locked().is_some()
            && station.locked_since + start_delay <= now
            && self.rules.hears_out_answers;
        if has_begun {
            station.overdue = this.locked_until;
            self.agenda.add(station.overdue, Due::Timeout(node as u32));
        }
        has_begun
    }

    /// How long the preamble is of the answer that a node waits for.
    fn answer_start_delay(&self, node: usize) -> Duration {
        let phy = &self.timing.phy;
        let Some((c, _)) = self.stations[node].awaiting else { return phy.start_delay() };
        let queue = &self.queues[c as usize];
        let waits_for_cts = queue.plan.request.is_some() && !queue.announced;
        let answer = if waits_for_cts { FrameKind::Cts } else { FrameKind::Ack };
        phy.preamble_time(self.timing.mode_of(answer, queue.plan.mode))
    }

    /// A node that awaits an answer from afar and receives another frame takes the answer for missing (clause 10.3.2.9).
    pub(super) fn end_far_wait(&mut self, node: usize, reception: Reception, at: Instant) {
        if reception == Reception::Unnoticed || !self.rules.hears_out_answers {
            return;
        }
        let this = &mut self.stations[node];
        // An answer that was accepted has ended the wait, or made it endless until the DATA frame.
        if matches!(this.awaiting, Some((_, Expecting::FarAnswer))) && !this.overdue.is_never() {
            this.overdue = at;
            self.agenda.add(at, Due::Timeout(node as u32));
        }
    }
}

impl Flight {
    /// Whether it is reaching a node, from this one.
    pub(super) const fn reaches(&self, node: usize, from: u32) -> bool {
        self.present && self.ear.node as usize == node && self.from == from
    }

    /// The frame.
    pub(super) const fn sent(&self) -> &Sending {
        &self.sent
    }

    /// Whether the host must be told of it: it carries a head's RTS or DATA frame to the addressee, or to a node that may
    /// decode a broadcast.
    fn carries_a_packet(&self) -> bool {
        let addressed = self.sent.to == self.ear.node || (self.sent.to == BROADCAST && self.ear.decodable);
        addressed && matches!(self.sent.kind, FrameKind::Data | FrameKind::Rts)
    }
}
