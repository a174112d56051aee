//! Connections in the network: opening, draining, timers, and the law that says how many there are.

use super::{Event, Network};
use crate::flow::{Connection, Flow};
use crate::packet::{Body, Packet};
use crate::spec::{Sampling, Source};
use evenair_laws::backoff::Volume;
use evenair_laws::connections::ConnectionLaw;
use evenair_tcp::{Receiver, Segment, SegmentKind, Sender};
use evenair_units::{Duration, Instant};

impl Network {
    /// Opens one more connection of a flow.
    pub(super) fn open_connection(&mut self, flow: u32) {
        let Some(spec) = self.flows[flow as usize].tcp() else { return };
        let connection = |epoch| Connection {
            flow,
            epoch,
            sender: Sender::new(spec.sender, &spec.window),
            receiver: Receiver::new(spec.acknowledge),
            arrived: 0,
            timer_queued: Instant::NEVER,
            ack_timer_queued: Instant::NEVER,
        };
        let source = spec.source;
        let id = if let Some(id) = self.free.pop() {
            let place = &mut self.connections[id as usize];
            // Entries of its predecessor may still be in the event queue; they find nothing due.
            *place = connection(place.epoch + 1);
            id
        } else {
            self.connections.push(connection(0));
            self.connections.len() as u32 - 1
        };
        let place = &mut self.connections[id as usize].sender;
        match source {
            Source::Endless => (),
            Source::Segments(_) => place.supply(0), // it takes from what remains of the transfer
            Source::Paced(_) => {
                self.flows[flow as usize].produced = 1;
                place.supply(1);
            }
        }
        self.flows[flow as usize].connections.push(id);
        self.pump(id);
    }

    /// Sends what a connection may send, and keeps its one timer entry in the event queue.
    pub(super) fn pump(&mut self, id: u32) {
        loop {
            self.hand_out(id);
            let Connection { flow, epoch, ref mut sender, .. } = self.connections[id as usize];
            let Some(segment) = sender.poll_transmit(self.now) else { break };
            self.originate_segment(flow, id, epoch, segment);
        }
        let place = &mut self.connections[id as usize];
        let due = place.sender.poll_timeout();
        if due < place.timer_queued {
            place.timer_queued = due;
            self.host(due, Event::Retransmission(id));
        }
        self.retire(id);
    }

    /// Gives a connection of a transfer the next segment to have ready, or an end where nothing remains.
    fn hand_out(&mut self, id: u32) {
        let Connection { flow, ref mut sender, .. } = self.connections[id as usize];
        let Some(remaining) = &mut self.flows[flow as usize].remaining else { return };
        if !sender.is_open() || sender.unsent() > 0 {
            return;
        }
        if *remaining == 0 {
            sender.drain();
        } else if sender.supply_one() {
            *remaining -= 1;
        }
    }

    /// A connection is to end; what it has not sent of a transfer is left to the others.
    pub(super) fn drain(&mut self, id: u32) {
        let Connection { flow, ref mut sender, .. } = self.connections[id as usize];
        if let Some(remaining) = &mut self.flows[flow as usize].remaining
            && sender.is_open()
        {
            *remaining += sender.unsent();
        }
        sender.drain();
        self.pump(id);
    }

    /// Frees the place of a connection that is over.
    fn retire(&mut self, id: u32) {
        let place = &self.connections[id as usize];
        if !place.sender.is_closed() {
            return;
        }
        let flow = &mut self.flows[place.flow as usize];
        if let Some(index) = flow.connections.iter().position(|&c| c == id) {
            flow.connections.remove(index);
            flow.finished.add(place.sender.stats());
            self.free.push(id);
            if flow.is_finished() {
                flow.is_active = false;
            }
        }
    }

    fn originate_segment(&mut self, flow: u32, connection: u32, epoch: u32, segment: Segment) {
        let spec = self.flows[flow as usize].tcp().expect("only TCP flows have connections");
        let size = match segment.kind {
            SegmentKind::Data => spec.payload + spec.headers,
            _ => spec.headers,
        };
        let answers = self.connections[connection as usize].arrived;
        let body = Body::Tcp(segment);
        self.originate(Packet { flow, connection, epoch, size: size.count() as u16, hop: 0, answers, body });
    }

    /// A packet has reached the end of its way.
    pub(super) fn deliver(&mut self, packet: Packet) {
        let segment = match packet.body {
            Body::Tcp(segment) => segment,
            Body::Datagram { sent, .. } => return self.deliver_datagram(packet.flow, sent),
        };
        let id = packet.connection;
        let place = &mut self.connections[id as usize];
        if place.epoch != packet.epoch {
            return; // a late repetition of a connection that is over
        }
        if segment.kind.is_reply() {
            place.sender.handle_reply(self.now, segment);
            let timed = place.sender.take_round_trip();
            let open = place.sender.is_open();
            let flow = &mut self.flows[packet.flow as usize];
            let sampling = flow.tcp().expect("it has a connection").sampling;
            let of_segment = since_stamp(self.now, packet.answers);
            if open {
                flow.interval.add(of_segment, timed);
            }
            let measured = match sampling {
                Sampling::EverySegment => Some(of_segment),
                Sampling::OnePerWindow => timed,
            };
            if let Some(round_trip) = measured {
                flow.add_round_trip(round_trip, self.now >= self.meter.warm_at);
            }
            self.pump(id);
        } else {
            place.arrived = segment.stamp;
            let before = place.receiver.in_order();
            let reply = place.receiver.handle_segment(self.now, segment);
            let delivered = place.receiver.in_order() - before;
            self.flows[packet.flow as usize].hand_over(self.now, delivered);
            self.reply(id, reply);
        }
    }

    /// Sends a receiver's answer, and keeps its timer entry.
    fn reply(&mut self, id: u32, reply: Option<Segment>) {
        let place = &mut self.connections[id as usize];
        let (flow, epoch, due) = (place.flow, place.epoch, place.receiver.poll_timeout());
        if due < place.ack_timer_queued {
            place.ack_timer_queued = due;
            self.host(due, Event::DelayedAck(id));
        }
        if let Some(segment) = reply {
            self.originate_segment(flow, id, epoch, segment);
        }
    }

    pub(super) fn on_retransmission(&mut self, id: u32) {
        let place = &mut self.connections[id as usize];
        if place.timer_queued == self.now {
            place.timer_queued = Instant::NEVER;
        }
        // Not due means that the timer was restarted since: `pump` queues it again where it is due now.
        place.sender.handle_timeout(self.now);
        self.pump(id);
    }

    pub(super) fn on_delayed_ack(&mut self, id: u32) {
        let place = &mut self.connections[id as usize];
        if place.ack_timer_queued == self.now {
            place.ack_timer_queued = Instant::NEVER;
        }
        let reply = place.receiver.handle_timeout(self.now);
        self.reply(id, reply);
    }

    /// A flow's connection law runs: open what is missing, drain what is too many, the youngest first.
    pub(super) fn update_connections(&mut self, flow: u32, run: u32) {
        if !self.is_current(flow, run) {
            return;
        }
        let state = &mut self.flows[flow as usize];
        let first = &self.queues[state.forward[0].queue as usize];
        let backlog = Volume { packets: first.packets.len() as u64, bytes: first.bytes };
        let view = state.take_interval(self.now, backlog);
        let law = state.law.as_mut().expect("only flows with a law are asked");
        let wanted = law.on_interval(&view).max(1) as usize;
        let open: Vec<u32> = state
            .connections
            .iter()
            .copied()
            .filter(|&id| self.connections[id as usize].sender.is_open())
            .collect();
        for &id in open.iter().skip(wanted) {
            self.drain(id);
        }
        for _ in open.len()..wanted {
            if self.flows[flow as usize].remaining != Some(0) {
                self.open_connection(flow);
            }
        }
        self.schedule_connections(flow);
    }

    /// A flow's connection law, if it has one, runs again after its interval.
    pub(super) fn schedule_connections(&mut self, flow: u32) {
        let Flow { law: Some(law), run, .. } = &self.flows[flow as usize] else { return };
        let event = Event::Connections(flow, *run);
        self.host(self.now + law.interval(), event);
    }
}

/// How long ago a segment left that carries this stamp.
fn since_stamp(now: Instant, stamp: u32) -> Duration {
    let micros = (now.as_nanos() / 1000) as u32;
    Duration::from_micros(u64::from(micros.wrapping_sub(stamp)))
}
