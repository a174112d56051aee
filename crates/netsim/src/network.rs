//! The event loop: one run of one network.

mod build;
mod sample;
#[cfg(test)]
mod tests;
mod traffic;
mod transport;
mod wire;

use crate::flow::{Connection, Flow, Hop};
use crate::measure::{Meter, Packets, RunResult};
use crate::packet::{Body, Packet};
use crate::queue::{Service, TransmitQueue};
use crate::spec::{NetworkSpec, Pattern, RunSpec, Traffic};
use crate::trace::{FrameSink, Sent};
use evenair_des::{Phase, Place, Queue};
use evenair_laws::backoff::BackoffLaw;
use evenair_units::{Bytes, Instant, Probability};
use evenair_wifi::{Air, BROADCAST, Effects, FrameRecord, Head, Outcome, Up, Wake};
use std::collections::VecDeque;

/// What can be due.
#[derive(Clone, Copy, Debug)]
enum Event {
    Air(Wake),
    /// A connection's retransmission timer may have expired.
    Retransmission(u32),
    /// A connection's delayed acknowledgement may be due.
    DelayedAck(u32),
    /// A flow starts, or starts again.
    Start(u32),
    /// A flow stops.
    Stop(u32),
    /// A source's next datagram is due.
    Datagram(u32),
    /// An on-off source changes its state; of this run of the flow.
    Toggle(u32, u32),
    /// An application produces a segment; of this run of the flow.
    Produce(u32, u32),
    /// The last bit of a packet is on a wire.
    WireSent(u32),
    /// A packet reaches the end of a wire.
    WireArrival(u32),
    /// The back-off laws run.
    Backoff,
    /// A flow's connection law runs; of this run of the flow.
    Connections(u32, u32),
    /// The warm-up is over.
    Warm,
    /// A point of the time series.
    Sample,
}

/// Which way a packet goes between the network layer and a transmit queue.
#[derive(Clone, Copy, Debug)]
enum Direction {
    Down,
    Up,
}

/// A network during one run.
#[derive(Clone, Debug)]
pub struct Network {
    spec: NetworkSpec,
    run: RunSpec,
    now: Instant,
    events: Queue<Event>,
    air: Air,
    effects: Effects,
    queues: Vec<TransmitQueue>,
    /// Packets that wait at each node, over all its queues.
    waiting: Vec<u32>,
    flows: Vec<Flow>,
    connections: Vec<Connection>,
    /// Places of connections that are over.
    free: Vec<u32>,
    packets: Packets,
    /// Packets between layers. The delay is one for all, so they stay in order and need no place in the event queue.
    between_layers: VecDeque<(Place, Direction, Packet)>,
    meter: Meter,
    /// Frames of the window that was asked for.
    frames: Vec<FrameRecord>,
}

impl Network {
    /// Runs a network and measures it.
    pub fn run(spec: &NetworkSpec, run: RunSpec) -> RunResult {
        let network = Self::new(spec.clone(), run, false);
        if run.timeline.is_none() {
            network.play(run, None)
        } else {
            network.play(run, Some(&mut ())) // the record alone, for the result
        }
    }

    /// The same, and hands every frame to a sink at its end.
    pub fn run_traced(spec: &NetworkSpec, run: RunSpec, sink: &mut dyn FrameSink) -> RunResult {
        Self::new(spec.clone(), run, true).play(run, Some(sink))
    }

    fn play(mut self, run: RunSpec, mut sink: Option<&mut dyn FrameSink>) -> RunResult {
        let end = Instant::ZERO + run.warmup + run.duration;
        while self.step(end, sink.as_deref_mut().map(|sink| sink as _)) {}
        self.finish(end)
    }

    /// Handles the next event, unless it lies beyond `end`.
    fn step(&mut self, end: Instant, sink: Option<&mut dyn FrameSink>) -> bool {
        let queued = self.events.next_place();
        if let Some(&(place, ..)) = self.between_layers.front()
            && queued.is_none_or(|queued| place < queued)
        {
            return place.at() <= end && self.step_between_layers();
        }
        if queued.is_none_or(|queued| queued.at() > end) {
            return false;
        }
        let (now, event) = self.events.pop().expect("there is a next event");
        debug_assert!(now >= self.now, "time runs backwards");
        self.now = now;
        match event {
            Event::Air(wake) => {
                self.air.wake(now, wake, &mut self.effects);
                if let Some(sink) = sink {
                    self.trace(sink);
                }
            }
            Event::Retransmission(connection) => self.on_retransmission(connection),
            Event::DelayedAck(connection) => self.on_delayed_ack(connection),
            Event::Start(flow) => self.start(flow),
            Event::Stop(flow) => self.stop(flow),
            Event::Datagram(flow) => self.on_datagram(flow),
            Event::Toggle(flow, run) => self.on_toggle(flow, run),
            Event::Produce(flow, run) => self.on_produce(flow, run),
            Event::WireSent(by) => self.on_wire_sent(by),
            Event::WireArrival(by) => self.on_wire_arrival(by),
            Event::Backoff => self.update_backoff(),
            Event::Connections(flow, run) => self.update_connections(flow, run),
            Event::Warm => self.on_warm(),
            Event::Sample => self.on_sample(),
        }
        self.settle();
        true
    }

    /// Hands the frames that have just ended to a sink, while their packets are still at the heads of their queues.
    fn trace(&mut self, sink: &mut dyn FrameSink) {
        let Some(frames) = self.air.take_frames() else { return };
        for frame in frames {
            let queue = &self.queues[frame.by as usize];
            let packet = queue.packets.front().filter(|_| queue.service == Service::Front);
            let sent = packet.map(|packet| {
                let flow = &self.flows[packet.flow as usize];
                let rate = Self::hop(&self.flows, packet).rate;
                let ends = (flow.source, flow.destination);
                Sent {
                    flow: packet.flow,
                    ends: if packet.is_reply() { (ends.1, ends.0) } else { ends },
                    size: packet.size,
                    payload: flow.unit_bytes(),
                    rate,
                    connection: packet.connection,
                    body: packet.body,
                }
            });
            sink.frame(&frame, sent.as_ref());
            if self.run.timeline.is_some_and(|(from, to)| frame.end > from && frame.start < to) {
                self.frames.push(frame);
            }
        }
    }

    /// The first of the packets between layers comes out.
    fn step_between_layers(&mut self) -> bool {
        let (place, direction, packet) = self.between_layers.pop_front().expect("it is there");
        debug_assert!(place.at() >= self.now, "time runs backwards");
        self.now = place.at();
        match direction {
            Direction::Down => self.enqueue(packet),
            Direction::Up => self.arrive(packet),
        }
        self.settle();
        true
    }

    fn delay(&mut self, packet: Packet, direction: Direction) {
        let place = self.events.place(self.now + self.spec.link_layer_delay, Phase::Host);
        self.between_layers.push_back((place, direction, packet));
    }

    /// Queues the wakes that the air asked for and acts on its news.
    fn settle(&mut self) {
        let mut next = 0;
        while next < self.effects.up.len() {
            match self.effects.up[next] {
                Up::Received { from, .. } => self.on_received(from),
                Up::Done { by, outcome } => self.on_done(by, outcome),
            }
            next += 1;
        }
        self.effects.up.clear();
        for (at, wake) in self.effects.wakes.drain(..) {
            self.events.push(at, wake.phase(), Event::Air(wake));
        }
    }

    fn host(&mut self, at: Instant, event: Event) {
        self.events.push(at, Phase::Host, event);
    }

    /// The head of a queue reached its next hop.
    fn on_received(&mut self, from: u32) {
        let queue = &self.queues[from as usize];
        if queue.service == Service::Dummy {
            return;
        }
        let mut packet = *queue.packets.front().expect("a packet was received that is not there");
        if Self::hop(&self.flows, &packet).to == BROADCAST {
            if let Body::Datagram { sent, .. } = packet.body {
                self.deliver_datagram(packet.flow, sent);
            }
            return;
        }
        packet.hop += 1;
        if self.spec.link_layer_delay.is_zero() {
            self.arrive(packet);
        } else {
            self.delay(packet, Direction::Up);
        }
    }

    /// The MAC is done with the head of a queue.
    fn on_done(&mut self, by: u32, outcome: Outcome) {
        let queue = &mut self.queues[by as usize];
        let service = std::mem::replace(&mut queue.service, Service::Nothing);
        let mut sent = None;
        if service == Service::Front {
            let packet = queue.packets.pop_front().expect("the MAC had it");
            queue.bytes -= u64::from(packet.size);
            let broadcast = Self::hop(&self.flows, &packet).to == BROADCAST;
            if outcome == Outcome::Dropped {
                queue.dropped.retries += 1;
                self.lose(&packet);
            } else {
                queue.served.add(u64::from(packet.size));
            }
            // Whoever received a broadcast, it is at the end of its way.
            self.packets.delivered += u64::from(broadcast && outcome == Outcome::Delivered);
            sent = Some(packet);
        }
        self.serve(by);
        if let Some(packet) = sent
            && self.flows[packet.flow as usize].forward[0].queue == by
        {
            self.refill(packet.flow);
        }
    }

    /// A saturated source's queue is never empty.
    fn refill(&mut self, flow: u32) {
        let state = &self.flows[flow as usize];
        if state.is_active && matches!(state.traffic, Traffic::Datagrams { pattern: Pattern::Saturated, .. })
        {
            self.send_datagram(flow);
        }
    }

    /// Gives the MAC the next packet of a queue, if it is free and there is one.
    fn serve(&mut self, by: u32) {
        let queue = &mut self.queues[by as usize];
        if queue.service != Service::Nothing {
            return;
        }
        let head = if let Some(packet) = queue.packets.front() {
            queue.service = Service::Front;
            self.waiting[queue.node as usize] -= 1;
            let Hop { to, rate, .. } = Self::hop(&self.flows, packet);
            Head { to, size: Bytes::new(u32::from(packet.size)), rate }
        } else if let Some(size) = queue.law.as_ref().and_then(BackoffLaw::dummy_packet) {
            queue.service = Service::Dummy;
            Head { to: queue.next_hop, size, rate: queue.rate }
        } else {
            return;
        };
        self.air.offer(self.now, by, head, &mut self.effects);
    }

    fn hop(flows: &[Flow], packet: &Packet) -> Hop {
        let flow = &flows[packet.flow as usize];
        let way = if packet.is_reply() { &flow.backward } else { &flow.forward };
        way[packet.hop as usize]
    }

    /// A new packet enters the network at its source.
    fn originate(&mut self, packet: Packet) {
        self.packets.originated += 1;
        self.send_down(packet);
    }

    fn send_down(&mut self, packet: Packet) {
        let by = Self::hop(&self.flows, &packet).queue as usize;
        if self.spec.link_layer_delay.is_zero() || self.queues[by].wire.is_some() {
            self.enqueue(packet);
        } else {
            self.delay(packet, Direction::Down);
        }
    }

    /// A packet reaches a transmit queue, which may refuse it.
    fn enqueue(&mut self, packet: Packet) {
        let by = Self::hop(&self.flows, &packet).queue;
        let queue = &mut self.queues[by as usize];
        let probability = match queue.law.as_ref().and_then(BackoffLaw::drop_probability) {
            Some(probability) => probability,
            None => {
                self.spec.proportional.map_or(Probability::ZERO, |law| law.drop_probability(queue.waiting()))
            }
        };
        if probability.value() > 0.0 && queue.stream.chance(probability) {
            queue.dropped.by_law += 1;
            self.lose(&packet);
            return;
        }
        let room = match &queue.wire {
            Some(wire) => wire.buffer.accepts(queue.waiting()),
            None => self.spec.buffer.accepts(self.waiting[queue.node as usize]),
        };
        if queue.service == Service::Front && !room {
            queue.dropped.queue_full += 1;
            self.lose(&packet);
            return;
        }
        queue.packets.push_back(packet);
        queue.bytes += u64::from(packet.size);
        queue.arrivals.add(u64::from(packet.size));
        if queue.wire.is_some() {
            self.serve_wire(by);
        } else {
            self.waiting[queue.node as usize] += 1;
            self.serve(by);
        }
    }

    /// A packet is dropped on its way; its queue has counted why.
    fn lose(&mut self, packet: &Packet) {
        self.packets.dropped += 1;
        let flow = &mut self.flows[packet.flow as usize];
        *(if packet.is_reply() { &mut flow.acks_lost } else { &mut flow.lost }) += 1;
    }

    /// A packet reaches the network layer of a node: forward it, or hand it up.
    fn arrive(&mut self, packet: Packet) {
        let flow = &self.flows[packet.flow as usize];
        let way = if packet.is_reply() { &flow.backward } else { &flow.forward };
        if usize::from(packet.hop) < way.len() {
            self.send_down(packet);
            return;
        }
        self.packets.delivered += 1;
        self.deliver(packet);
    }

    /// The back-off laws see their queues.
    fn update_backoff(&mut self) {
        let mut interval = None;
        for (by, queue) in self.queues.iter_mut().enumerate() {
            queue.update(self.now);
            if let Some(law) = &queue.law {
                interval = law.update_interval();
                self.air.set_access(by as u32, law.access());
            }
        }
        if let Some(interval) = interval {
            self.host(self.now + interval, Event::Backoff);
        }
    }
}
