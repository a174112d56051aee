//! The event loop: one run of one network.

mod build;
mod sample;
#[cfg(test)]
mod tests;
mod transport;

use crate::flow::{Connection, Flow, Hop};
use crate::measure::{Meter, Packets, RunResult};
use crate::packet::Packet;
use crate::queue::{Service, TransmitQueue};
use crate::spec::{NetworkSpec, RunSpec, Traffic};
use evenair_des::{Phase, Place, Queue};
use evenair_units::{Bytes, Duration, Instant};
use evenair_wifi::{Air, Effects, Head, Outcome, Up, Wake};
use std::collections::VecDeque;

/// What can be due.
#[derive(Clone, Copy, Debug)]
enum Event {
    Air(Wake),
    /// A connection's retransmission timer may have expired.
    Retransmission(u32),
    /// A connection's delayed acknowledgement may be due.
    DelayedAck(u32),
    /// A flow starts.
    Start(u32),
    /// The back-off laws run.
    Backoff,
    /// A flow's connection law runs.
    Connections(u32),
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
}

impl Network {
    /// Runs a network and measures it.
    pub fn run(spec: &NetworkSpec, run: RunSpec) -> RunResult {
        let mut network = Self::new(spec.clone(), run);
        let end = Instant::ZERO + run.warmup + run.duration;
        while network.step(end) {}
        network.finish(end)
    }

    /// Handles the next event, unless it lies beyond `end`.
    fn step(&mut self, end: Instant) -> bool {
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
            Event::Air(wake) => self.air.wake(now, wake, &mut self.effects),
            Event::Retransmission(connection) => self.on_retransmission(connection),
            Event::DelayedAck(connection) => self.on_delayed_ack(connection),
            Event::Start(flow) => self.start(flow),
            Event::Backoff => self.update_backoff(),
            Event::Connections(flow) => self.update_connections(flow),
            Event::Warm => self.on_warm(),
            Event::Sample => self.on_sample(),
        }
        self.settle();
        true
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
                Up::Received { from } => self.on_received(from),
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
            if outcome == Outcome::Dropped {
                queue.dropped.retries += 1;
                self.packets.dropped += 1;
            }
            sent = Some(packet);
        }
        self.serve(by);
        if let Some(packet) = sent
            && let Traffic::Saturated { .. } = self.flows[packet.flow as usize].traffic
            && self.flows[packet.flow as usize].forward[0].queue == by
        {
            self.send_datagram(packet.flow); // its queue is never empty
        }
    }

    /// Gives the MAC the next packet of a queue, if it is free and there is one.
    fn serve(&mut self, by: u32) {
        let queue = &mut self.queues[by as usize];
        if queue.service != Service::Nothing {
            return;
        }
        let rate = self.spec.data_rate;
        let head = if let Some(packet) = queue.packets.front() {
            queue.service = Service::Front;
            self.waiting[queue.node as usize] -= 1;
            let to = Self::hop(&self.flows, packet).to;
            Head { to, size: Bytes::new(u32::from(packet.size)), rate }
        } else if let Some(law) = queue.law.as_ref().filter(|law| law.sends_dummies()) {
            queue.service = Service::Dummy;
            Head { to: queue.next_hop, size: law.params().packet_bytes, rate }
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
        if self.spec.link_layer_delay.is_zero() {
            self.enqueue(packet);
        } else {
            self.delay(packet, Direction::Down);
        }
    }

    /// A packet reaches a transmit queue, which may refuse it.
    fn enqueue(&mut self, packet: Packet) {
        let by = Self::hop(&self.flows, &packet).queue;
        let queue = &mut self.queues[by as usize];
        let probability = match (&queue.law, self.spec.proportional) {
            (Some(law), _) => law.drop_probability(),
            (None, Some(law)) => law.drop_probability(queue.waiting()),
            (None, None) => evenair_units::Probability::ZERO,
        };
        if probability.value() > 0.0 && queue.stream.chance(probability) {
            queue.dropped.by_law += 1;
            self.packets.dropped += 1;
            return;
        }
        if queue.service == Service::Front && !self.spec.buffer.accepts(self.waiting[queue.node as usize]) {
            queue.dropped.queue_full += 1;
            self.packets.dropped += 1;
            return;
        }
        queue.packets.push_back(packet);
        queue.bytes += u64::from(packet.size);
        self.waiting[queue.node as usize] += 1;
        self.serve(by);
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
        let mut interval = Duration::MAX;
        for (by, queue) in self.queues.iter_mut().enumerate() {
            let view = queue.view(self.spec.data_rate);
            if let Some(law) = &mut queue.law {
                law.on_update(&view);
                interval = law.params().update_interval;
                self.air.set_access(by as u32, law.access());
            }
        }
        self.host(self.now + interval, Event::Backoff);
    }

    fn start(&mut self, flow: u32) {
        match self.flows[flow as usize].traffic {
            Traffic::Tcp(_) => {
                self.open_connection(flow);
                if let Some(law) = &self.flows[flow as usize].law {
                    let interval = law.params().interval;
                    self.host(self.now + interval, Event::Connections(flow));
                }
            }
            Traffic::Saturated { .. } => {
                // One for the MAC and one that waits behind it.
                self.send_datagram(flow);
                self.send_datagram(flow);
            }
        }
    }
}
