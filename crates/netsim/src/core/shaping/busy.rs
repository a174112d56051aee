//! The simulated gateway's view of busy time, from the packets that pass it alone.

use crate::packet::{Body, Packet, TcpPacket};
use crate::spec::GatewayClass;
use evenair_laws::gateway::{BusyClass, BusyFlow, Count, Direction, RoundTrip, RoundTrips};
use evenair_tcp::SegmentKind;
use evenair_units::Instant;

/// A flow that passes the gateway: a TCP connection, or one-way packets without any.
#[derive(Clone, Copy, Debug)]
struct Passing {
    class: u32,
    /// Which one of the connections that used the place.
    epoch: u32,
    flow: BusyFlow,
    trip: RoundTrip,
}

/// The gateway's account of all flows.
#[derive(Clone, Debug)]
pub(super) struct Watch {
    pub(super) node: u32,
    directions: Vec<Direction>,
    /// None for a class with packets that cannot be looked into.
    classes: Vec<Option<BusyClass>>,
    trips: Vec<RoundTrips>,
    /// By connection.
    connections: Vec<Option<Passing>>,
    /// By way.
    others: Vec<Option<Passing>>,
}

impl Watch {
    pub(super) fn new(node: u32, classes: &[GatewayClass]) -> Self {
        let directions = classes.iter().map(|class| class.role.direction).collect();
        let trips = vec![RoundTrips::default(); classes.len()];
        let classes = vec![Some(BusyClass::default()); classes.len()];
        Self { node, directions, classes, trips, connections: Vec::new(), others: Vec::new() }
    }

    /// For how long a class was busy so far, where that is known \[ns\].
    pub(super) fn busy(&self, now: Instant, class: u32) -> Option<Count> {
        self.classes[class as usize].map(|class| Count::Wide(class.time(now).as_nanos()))
    }

    /// How long a class's round trips took so far \[ns\], and how many there were.
    pub(super) fn round_trips(&self, class: u32) -> (Count, Count) {
        let trips = self.trips[class as usize];
        (Count::Wide(trips.sum.as_nanos()), Count::Wide(trips.count))
    }

    /// A packet of a class was let through.
    pub(super) fn on_passed(&mut self, now: Instant, class: u32, packet: &Packet) {
        let is_down = self.directions[class as usize] == Direction::Down;
        let (flows, number, epoch) = match &packet.body {
            Body::Tcp(TcpPacket { connection, epoch, .. }) => (&mut self.connections, *connection, *epoch),
            Body::Datagram { .. } | Body::TfrcData { .. } => (&mut self.others, packet.way.0, 0),
            Body::Foreign(_) => return self.classes[class as usize] = None,
            Body::TfrcReport { .. } | Body::Probe { .. } => return,
        };
        let number = number as usize;
        if flows.len() <= number {
            flows.resize(number + 1, None);
        }
        let new = Passing { class, epoch, flow: BusyFlow::default(), trip: RoundTrip::default() };
        let passing = flows[number].get_or_insert(new);
        if passing.epoch != epoch {
            if let Some(busy) = &mut self.classes[passing.class as usize] {
                passing.flow.end(now, busy);
            }
            *passing = new;
        }
        let Some(busy) = &mut self.classes[class as usize] else { return };
        match &packet.body {
            Body::Tcp(TcpPacket { segment, .. }) => match segment.kind {
                SegmentKind::Data if is_down => {
                    let end = segment.number.wrapping_add(1);
                    passing.flow.on_sequence(now, end, busy);
                    passing.trip.on_sequence(now, end);
                }
                SegmentKind::Data => passing.flow.on_packet(now, packet.size, busy),
                SegmentKind::Fin if !is_down => passing.flow.end(now, busy),
                _ => (),
            },
            _ => passing.flow.on_packet(now, packet.size, busy),
        }
    }

    /// A packet comes to the gateway's node, or has passed it: it may acknowledge passed data.
    pub(super) fn on_answer(&mut self, now: Instant, body: &Body) {
        if let Body::Tcp(TcpPacket { connection, epoch, segment, .. }) = body
            && segment.kind == SegmentKind::Ack
            && let Some(Some(passing)) = self.connections.get_mut(*connection as usize)
            && passing.epoch == *epoch
            && self.directions[passing.class as usize] == Direction::Down
            && let Some(busy) = &mut self.classes[passing.class as usize]
        {
            passing.flow.on_acknowledgement(now, segment.number, busy);
            let trips = &mut self.trips[passing.class as usize];
            passing.trip.on_acknowledgement(now, segment.number, trips);
        }
    }

    /// Flows of which nothing has passed for long are over.
    pub(super) fn forget(&mut self, now: Instant) {
        for passing in self.connections.iter_mut().chain(&mut self.others).flatten() {
            if let Some(busy) = &mut self.classes[passing.class as usize] {
                passing.flow.expire(now, busy);
            }
        }
    }
}
