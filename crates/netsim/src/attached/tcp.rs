//! Connections in the network: opening, draining, timers, and the law that says how many there are.

use super::delay::produced;
use super::web::Half;
use super::{Attached, Connection, Due, Flow};
use crate::core::Core;
use crate::packet::{Body, TcpPacket, Way};
use crate::spec::{Sampling, Source};
use evenair_laws::connections::{ConnectionLaw, DRAINED};
use evenair_tcp::{Receiver, Segment, SegmentKind, Sender, SenderParams, SenderStats};
use evenair_units::{Bytes, Duration, Instant};
use std::collections::VecDeque;

impl Attached {
    /// Opens the connections that a flow starts with.
    pub(super) fn open_connections(&mut self, core: &mut Core<Due>, flow: u32) {
        let state = &self.flows[flow as usize];
        let at_start = state.law.as_ref().map_or(1, ConnectionLaw::at_start).max(1);
        let aggregate = state.is_aggregate();
        let count = if aggregate { 1 } else { at_start };
        for _ in 0..count {
            if self.flows[flow as usize].remaining != Some(0) {
                self.open_connection(core, flow);
            }
        }
        if aggregate {
            self.set_worth(flow, f64::from(at_start));
        }
    }

    /// The counts of a flow's connections, those that are over too.
    pub(crate) fn stats(&self, flow: u32) -> SenderStats {
        let flow = &self.flows[flow as usize];
        let mut stats = flow.finished;
        for &id in &flow.connections {
            stats.add(if flow.is_tfrc() {
                self.tfrc[id as usize].stats()
            } else {
                self.connections[id as usize].sender.stats()
            });
        }
        stats
    }

    /// Opens one more connection of a flow.
    pub(super) fn open_connection(&mut self, core: &mut Core<Due>, flow: u32) {
        let Some(spec) = self.flows[flow as usize].tcp() else { return self.open_tfrc(core, flow) };
        let (sender, source) = (spec.sender, spec.source);
        let id = self.place_connection(core.now(), flow, sender, None);
        let place = &mut self.connections[id as usize].sender;
        match source {
            Source::Endless => (),
            Source::Segments(_) => place.supply(0), // it takes from what remains of the transfer
            Source::Paced(_) => {
                self.flows[flow as usize].produced = 1;
                place.supply(1);
            }
        }
        self.pump(core, id);
    }

    /// Opens one half of a web connection, for requests or for replies; its data are pushed to it.
    pub(super) fn open_half(&mut self, now: Instant, flow: u32, replies: bool) -> u32 {
        let spec = self.flows[flow as usize].tcp().expect("only TCP flows have connections");
        // The half for requests opens the connection for both.
        let handshake = spec.sender.handshake && !replies;
        let sender = SenderParams { handshake, ..spec.sender };
        let id = self.place_connection(now, flow, sender, Some(Box::new(Half::new(replies))));
        self.connections[id as usize].sender.supply(0);
        id
    }

    /// A new connection of a flow, in a place that is free.
    fn place_connection(
        &mut self,
        now: Instant,
        flow: u32,
        sender: SenderParams,
        half: Option<Box<Half>>,
    ) -> u32 {
        let spec = self.flows[flow as usize].tcp().expect("only TCP flows have connections");
        let connection = |epoch| Connection {
            flow,
            epoch,
            sender: Sender::new(sender, &spec.window),
            receiver: Receiver::new(spec.acknowledge),
            half,
            carries: VecDeque::new(),
            opened: now,
            handed: VecDeque::new(),
            arrived: 0,
            timer_queued: Instant::NEVER,
            ack_timer_queued: Instant::NEVER,
        };
        let id = if let Some(id) = self.free.pop() {
            let place = &mut self.connections[id as usize];
            // Entries of its predecessor may still be in the event queue; they find nothing due.
            *place = connection(place.epoch + 1);
            id
        } else {
            self.connections.push(connection(0));
            self.connections.len() as u32 - 1
        };
        self.flows[flow as usize].connections.push(id);
        id
    }

    /// Sends as much as a connection may, and keeps its one timer entry in the event queue.
    pub(super) fn pump(&mut self, core: &mut Core<Due>, id: u32) {
        loop {
            self.hand_out(id);
            let Connection { flow, epoch, ref mut sender, .. } = self.connections[id as usize];
            let Some(segment) = sender.poll_transmit(core.now()) else { break };
            self.originate_segment(core, flow, id, epoch, segment);
        }
        let place = &mut self.connections[id as usize];
        let due = place.sender.poll_timeout();
        if due < place.timer_queued {
            place.timer_queued = due;
            core.call_at(due, Due::Retransmission(id));
        }
        self.retire(id);
    }

    /// Gives a connection of a transfer the next segment to have ready, or an end where nothing remains; one of the web ends
    /// with its last message.
    fn hand_out(&mut self, id: u32) {
        let Connection { flow, ref mut sender, ref half, .. } = self.connections[id as usize];
        if half.as_ref().is_some_and(|half| half.is_last()) && sender.is_open() && sender.unsent() == 0 {
            return sender.drain();
        }
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

    /// Begins to end a connection; unsent data of a transfer are left to the other connections.
    pub(super) fn drain(&mut self, core: &mut Core<Due>, id: u32) {
        let Connection { flow, ref mut sender, .. } = self.connections[id as usize];
        if let Some(remaining) = &mut self.flows[flow as usize].remaining
            && sender.is_open()
        {
            *remaining += sender.unsent();
        }
        sender.drain();
        self.pump(core, id);
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

    fn originate_segment(
        &mut self,
        core: &mut Core<Due>,
        flow: u32,
        connection: u32,
        epoch: u32,
        segment: Segment,
    ) {
        if segment.kind == SegmentKind::Data {
            self.count_data(core.now(), flow, connection, segment.number);
        }
        let spec = self.flows[flow as usize].tcp().expect("only TCP flows have connections");
        let place = &self.connections[connection as usize];
        let payload = |half: &Half| Bytes::new(half.payload_of(segment.number, spec.payload.count()));
        let headers = spec.headers + spec.options_of(&segment);
        let size = match segment.kind {
            SegmentKind::Data => place.half.as_deref().map_or(spec.payload, payload) + headers,
            _ => headers,
        };
        let answers = place.arrived;
        let hops = self.flows[flow as usize].hops;
        let replies = place.half.as_ref().is_some_and(|half| half.replies);
        let (way, hop) = match (replies, segment.kind.is_reply()) {
            (false, false) => (Way::forward(flow), hops.forward),
            (false, true) => (Way::backward(flow), hops.backward),
            (true, false) => (Way::backward(flow), hops.replies),
            (true, true) => (Way::forward(flow), hops.reply_acks),
        };
        let body = Body::Tcp(TcpPacket { connection, epoch, answers, segment });
        core.inject(way, hop, size.count(), body);
    }

    /// Sends data of a connection: probes go by their number; new data are the next of the stream.
    #[inline]
    fn count_data(&mut self, now: Instant, flow: u32, connection: u32, number: u32) {
        let state = &mut self.flows[flow as usize];
        if let Some(prober) = &mut state.prober {
            prober.count_data(1);
        }
        if !state.follows_segments {
            return;
        }
        let place = &mut self.connections[connection as usize];
        if number != place.receiver.in_order() + place.handed.len() as u32 {
            return;
        }
        let handed = match (&place.half, state.traffic.source()) {
            (Some(half), _) => half.handed_over(number),
            (None, Some(Source::Paced(interval))) => produced(place.opened, interval, number),
            _ => now,
        };
        place.handed.push_back(handed);
        if let Some(resequencer) = &mut state.resequencer {
            place.carries.push_back(resequencer.take());
        }
    }

    /// Hands segments that a connection has delivered in its own order to the application, where the stream's order allows, with
    /// the segments that waited for them.
    pub(super) fn hand_over(&mut self, now: Instant, connection: u32, delivered: u32) {
        let Connection { flow, ref mut handed, ref mut carries, .. } = self.connections[connection as usize];
        let state = &mut self.flows[flow as usize];
        if !state.follows_segments {
            return state.hand_over(now, delivered);
        }
        let mut in_stream = delivered;
        for _ in 0..delivered {
            let handed = handed.pop_front().expect("what is delivered was sent");
            let Some(resequencer) = &mut state.resequencer else {
                state.delay.add(now.since(handed));
                continue;
            };
            let number = carries.pop_front().expect("what is delivered was sent");
            in_stream += resequencer.arrive(now, number, handed, &mut state.delay);
            in_stream -= 1;
        }
        state.hand_over(now, in_stream);
    }

    /// A segment has reached the end of its way.
    pub(super) fn deliver_segment(&mut self, core: &mut Core<Due>, flow: u32, carried: &TcpPacket) {
        let &TcpPacket { connection: id, epoch, answers, segment } = carried;
        let place = &mut self.connections[id as usize];
        if place.epoch != epoch {
            return; // a late repetition of a connection that is over
        }
        debug_assert_eq!(place.flow, flow, "a segment came to another flow");
        let now = core.now();
        if segment.kind.is_reply() {
            place.sender.handle_reply(now, segment);
            let timed = place.sender.take_round_trip();
            let open = place.sender.is_open();
            let flow = &mut self.flows[flow as usize];
            let sampling = flow.tcp().expect("it has a connection").sampling;
            let of_segment = since_stamp(now, answers);
            if open {
                flow.interval.add(of_segment, timed);
            }
            let measured = match sampling {
                Sampling::EverySegment => Some(of_segment),
                Sampling::OnePerWindow => timed,
            };
            if let Some(round_trip) = measured {
                flow.add_round_trip(round_trip, now >= self.warm_at);
            }
            self.pump(core, id);
        } else {
            place.arrived = segment.stamp;
            let before = place.receiver.in_order();
            let reply = place.receiver.handle_segment(now, segment);
            if place.half.is_some() {
                self.reply(core, id, reply);
                return self.deliver_web(core, id, before);
            }
            let delivered = place.receiver.in_order() - before;
            if delivered > 0 {
                self.hand_over(now, id, delivered);
            }
            self.reply(core, id, reply);
        }
    }

    /// Sends a receiver's answer, and keeps its timer entry.
    fn reply(&mut self, core: &mut Core<Due>, id: u32, reply: Option<Segment>) {
        let place = &mut self.connections[id as usize];
        let (flow, epoch, due) = (place.flow, place.epoch, place.receiver.poll_timeout());
        if due < place.ack_timer_queued {
            place.ack_timer_queued = due;
            core.call_at(due, Due::DelayedAck(id));
        }
        if let Some(segment) = reply {
            self.originate_segment(core, flow, id, epoch, segment);
        }
    }

    pub(super) fn on_retransmission(&mut self, core: &mut Core<Due>, id: u32) {
        let place = &mut self.connections[id as usize];
        if place.timer_queued == core.now() {
            place.timer_queued = Instant::NEVER;
        }
        // Not due means that the timer was restarted since: `pump` queues it again where it is due now.
        place.sender.handle_timeout(core.now());
        self.pump(core, id);
    }

    pub(super) fn on_delayed_ack(&mut self, core: &mut Core<Due>, id: u32) {
        let place = &mut self.connections[id as usize];
        if place.ack_timer_queued == core.now() {
            place.ack_timer_queued = Instant::NEVER;
        }
        let reply = place.receiver.handle_timeout(core.now());
        self.reply(core, id, reply);
    }

    /// A connection of a flow is to end.
    pub(super) fn end_connection(&mut self, core: &mut Core<Due>, flow: u32, id: u32) {
        if self.flows[flow as usize].is_tfrc() {
            self.close_tfrc(id);
        } else {
            self.drain(core, id);
        }
    }

    /// Runs a flow's connection law: opens missing connections and ends surplus ones, the youngest first; or sets the weight of
    /// its one connection.
    pub(super) fn update_connections(&mut self, core: &mut Core<Due>, flow: u32, run: u32) {
        if !self.is_current(flow, run) {
            return;
        }
        let view = self.look(core, flow);
        let state = &mut self.flows[flow as usize];
        let law = state.law.as_mut().expect("only flows with a law are asked");
        let wanted = law.on_interval(&view).max(1) as usize;
        let worth = law.exact().unwrap_or(wanted as f64);
        let drains = law.drains();
        if state.is_aggregate() {
            self.set_worth(flow, worth);
            self.hold_back(core, flow, drains);
            return self.schedule_connections(core, flow);
        }
        let over_tfrc = state.is_tfrc();
        let open: Vec<u32> = state
            .connections
            .iter()
            .copied()
            .filter(|&id| over_tfrc || self.connections[id as usize].sender.is_open())
            .collect();
        for &id in open.iter().skip(wanted) {
            self.end_connection(core, flow, id);
        }
        for _ in open.len()..wanted {
            if self.flows[flow as usize].remaining != Some(0) {
                self.open_connection(core, flow);
            }
        }
        self.hold_back(core, flow, drains);
        self.schedule_connections(core, flow);
    }

    /// A flow's one connection is worth so many from now on.
    fn set_worth(&mut self, flow: u32, worth: f64) {
        let state = &mut self.flows[flow as usize];
        state.worth = worth;
        for &id in &state.connections {
            if state.is_tfrc() {
                self.tfrc[id as usize].set_worth(worth);
            } else {
                self.connections[id as usize].sender.be_worth(worth);
            }
        }
    }

    /// Where its law wants that, a flow's connections keep few segments under way in all; else they are let go.
    fn hold_back(&mut self, core: &mut Core<Due>, flow: u32, drains: bool) {
        if self.flows[flow as usize].is_tfrc() {
            return;
        }
        let concerned = |&id: &u32| {
            let sender = &self.connections[id as usize].sender;
            sender.is_open() && (drains || sender.is_held_back())
        };
        // Most often there are none.
        let concerned: Vec<u32> =
            self.flows[flow as usize].connections.iter().copied().filter(concerned).collect();
        let count = concerned.len() as u32;
        for (index, id) in (0..).zip(concerned) {
            let sender = &mut self.connections[id as usize].sender;
            if drains {
                sender.hold_back(DRAINED / count + u32::from(index < DRAINED % count));
            } else {
                sender.let_go();
                self.pump(core, id);
            }
        }
    }

    /// A flow's connection law, if it has one, runs again after its interval.
    pub(super) fn schedule_connections(&mut self, core: &mut Core<Due>, flow: u32) {
        let Flow { law: Some(law), run, .. } = &self.flows[flow as usize] else { return };
        let event = Due::Connections(flow, *run);
        core.call_at(core.now() + law.interval(), event);
    }
}

/// How long ago a segment left that carries this stamp.
fn since_stamp(now: Instant, stamp: u32) -> Duration {
    let micros = (now.as_nanos() / 1000) as u32;
    Duration::from_micros(u64::from(micros.wrapping_sub(stamp)))
}
