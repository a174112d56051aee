//! Wired links: one packet at a time at the link's rate, then its delay.

use super::{Core, Event};
use crate::packet::LossCause;
use crate::queue::Outlet;
use evenair_units::Bytes;

impl<T: Copy> Core<T> {
    /// The last bit of a packet is on the wire.
    pub(super) fn on_wire_sent(&mut self, by: u32) {
        let (served, hop) = self.end_service(by).expect("it was being sent");
        let now = self.now;
        let queue = &mut self.queues[by as usize];
        let Outlet::Wire(wire) = &mut queue.outlet else { unreachable!("a wire's queue") };
        if wire.loss.as_mut().is_some_and(|loss| loss.loses(now, Bytes::new(served.size))) {
            queue.dropped.on_wire += 1;
            queue.given_up.add(served.size.into());
            self.lose(served.packet, by, LossCause::Wire);
        } else {
            wire.in_flight.push_back(served.packet);
            while let Some(&(from, delay)) = wire.changes.front()
                && from <= now
            {
                wire.delay = delay;
                wire.changes.pop_front();
            }
            // A shorter way does not overtake packets under way.
            let arrives = (now + wire.delay).max(wire.last_arrival);
            wire.last_arrival = arrives;
            self.call(arrives, Event::WireArrival(by));
        }
        self.serve(by);
        self.make_room(by, self.hops.get(hop).watched.then_some(served));
    }

    /// The oldest packet on a wire has arrived.
    pub(super) fn on_wire_arrival(&mut self, by: u32) {
        let Outlet::Wire(wire) = &mut self.queues[by as usize].outlet else { unreachable!("a wire's queue") };
        let id = wire.in_flight.pop_front().expect("it is under way");
        let packet = self.pool.get_mut(id);
        debug_assert_eq!(self.hops.get(packet.hop).queue, by, "a packet was on the wrong wire");
        packet.hop = self.hops.get(packet.hop).next();
        self.arrive(id);
    }
}
