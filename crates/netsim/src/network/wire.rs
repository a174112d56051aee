//! Wired links: one packet at a time at the link's rate, then its delay.

use super::{Event, Network};
use crate::queue::Service;
use evenair_units::Bytes;

impl Network {
    /// Puts the next packet on a wire, if it is free and there is one.
    pub(super) fn serve_wire(&mut self, by: u32) {
        let queue = &mut self.queues[by as usize];
        if queue.service != Service::Nothing {
            return;
        }
        let Some(packet) = queue.packets.front() else { return };
        queue.service = Service::Front;
        let rate = Self::hop(&self.flows, packet).rate;
        let sent = self.now + rate.time_for(Bytes::new(u32::from(packet.size)));
        self.host(sent, Event::WireSent(by));
    }

    /// The last bit of a packet is on the wire.
    pub(super) fn on_wire_sent(&mut self, by: u32) {
        let now = self.now;
        let queue = &mut self.queues[by as usize];
        queue.service = Service::Nothing;
        let packet = queue.packets.pop_front().expect("it was being sent");
        queue.bytes -= u64::from(packet.size);
        let wire = queue.wire.as_mut().expect("a wire's queue");
        let lost = wire.loss.as_mut().is_some_and(|loss| loss.loses(now, Bytes::new(u32::from(packet.size))));
        if lost {
            queue.dropped.on_wire += 1;
            self.lose(&packet);
        } else {
            wire.in_flight.push_back(packet);
            let arrives = now + wire.delay;
            self.host(arrives, Event::WireArrival(by));
        }
        self.serve_wire(by);
        if self.flows[packet.flow as usize].forward[0].queue == by {
            self.refill(packet.flow);
        }
    }

    /// The oldest packet on a wire has arrived.
    pub(super) fn on_wire_arrival(&mut self, by: u32) {
        let wire = self.queues[by as usize].wire.as_mut().expect("a wire's queue");
        let mut packet = wire.in_flight.pop_front().expect("it is under way");
        packet.hop += 1;
        self.arrive(packet);
    }
}
