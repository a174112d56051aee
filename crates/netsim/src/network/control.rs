//! The state of flows for a caller that steps a network from outside, and settings that it may change.

use super::Network;
use crate::core::ClassRefused;
use crate::packet::Way;
use crate::queue::{Outlet, TransmitQueue};
use evenair_laws::backoff::Access;
use evenair_laws::gateway::ClassRole;
use evenair_units::{Duration, Instant, Volume};

/// A flow at present. Counts are from the beginning of the run.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct FlowState {
    /// Segments or datagrams handed to the application, and their bytes.
    pub delivered: Volume,
    /// Segments or datagrams sent, repetitions included.
    pub sent: u64,
    /// Packets of the flow's own that were dropped on their way.
    pub lost: u64,
    /// The packets that wait, or are in service, in the queue at its source.
    pub backlog: Volume,
    /// Its connections that are open.
    pub connections: u32,
    /// Their congestion windows together \[segments\].
    pub congestion_window: f64,
    /// All round-trip times together \[s\], if no series are taken; else since the last point.
    pub round_trips_s: f64,
    /// How many those are.
    pub round_trips: u32,
}

/// The ends of a flow with packets from outside ([`Traffic::Outside`](crate::Traffic::Outside)), as their host knows them.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct OutsideEnds {
    /// Connections that are open.
    pub connections: u32,
    /// Their congestion windows together \[segments\].
    pub congestion_window: f64,
    /// Their round trip, if one has been measured.
    pub round_trip: Option<Duration>,
}

impl Network {
    /// Tells how the ends of a flow from outside are, until it is told otherwise: for the points of its time series.
    pub fn tell_ends(&mut self, flow: u32, ends: OutsideEnds) {
        let state = &mut self.attached.flows[flow as usize];
        debug_assert!(state.traffic.is_outside());
        state.ends = ends;
    }

    /// How a flow is.
    pub fn flow_state(&self, flow: u32) -> FlowState {
        let state = &self.attached.flows[flow as usize];
        let senders = state.connections.iter().filter(|_| !state.is_tfrc());
        let senders = senders.map(|&id| &self.attached.connections[id as usize].sender);
        let (connections, congestion_window) = senders.fold((0, 0.0), |(count, window), sender| {
            (count + u32::from(sender.is_open()), window + sender.congestion_window())
        });
        FlowState {
            delivered: Volume {
                packets: state.delivered,
                bytes: match state.traffic.mix() {
                    Some(_) => self.core.passages()[Way::forward(flow).0 as usize].delivered.bytes,
                    None => state.delivered * u64::from(state.unit_bytes()),
                },
            },
            sent: self.attached.sent(&self.core, flow),
            lost: self.core.passages()[Way::forward(flow).0 as usize].lost(),
            backlog: self.core.backlog_at(state.hops.forward),
            connections,
            congestion_window,
            round_trips_s: state.sampled.sum_s(),
            round_trips: state.sampled.count(),
        }
    }

    /// The transmit queues in the order of [`RunResult::links`](crate::RunResult::links): the name of each, its node, and the packets
    /// that wait there or are in service.
    pub fn backlogs(&self) -> impl Iterator<Item = (&str, u32, Volume)> {
        self.core.queues.iter().map(|queue| (queue.name.as_str(), queue.node, queue.backlog()))
    }

    /// Counts from this call on the packets of a flow from outside that have left its first node, or were dropped there, with
    /// room for another: for a caller that keeps the queue from running empty.
    pub fn watch_departures(&mut self, flow: u32) {
        self.core.watch(self.attached.flows[flow as usize].hops.forward);
    }

    /// The queues at which packets leave a node, by their numbers; of a wire's, the node at its other end.
    pub fn queues_of(&self, node: u32) -> Vec<(u32, Option<u32>)> {
        let queues = (0..).zip(&self.core.queues).filter(|(_, queue)| queue.node == node);
        let end = |number| self.core.hops.all().iter().find(|hop| hop.queue == number).map(|hop| hop.to);
        let told = |(number, queue): (u32, &TransmitQueue)| match queue.outlet {
            Outlet::Air => Some((number, None)),
            Outlet::Wire(_) => Some((number, end(number))),
            Outlet::Within { .. } => None,
        };
        queues.filter_map(told).collect()
    }

    /// Whether the buffer of a queue has room for a packet: a host that asks can keep it back instead of losing it.
    pub fn has_room(&self, queue: u32) -> bool {
        self.core.has_room(queue)
    }

    /// How many those are.
    pub fn departures(&self, flow: u32) -> u64 {
        self.attached.flows[flow as usize].departed
    }

    /// The queue at a flow's source, by its number and its name; none on a wire.
    pub fn source_queue(&self, flow: u32) -> Option<(u32, &str)> {
        let hop = self.attached.flows[flow as usize].hops.forward;
        let queue = self.core.hops.get(hop).queue;
        let state = &self.core.queues[queue as usize];
        matches!(state.outlet, Outlet::Air).then(|| (queue, state.name.as_str()))
    }

    /// Gives a queue of the air another answer of its back-off law, until that law gives another itself. A drawn back-off
    /// is counted down; the next is drawn from this answer.
    pub fn set_access(&mut self, queue: u32, access: Access) {
        self.core.air.set_access(queue, access);
    }

    /// A class of the gateway, by its place in the specification, has another weight or link from this instant on, or comes back
    /// with it, or goes (none). The gateway's law is told ([`on_classes`](evenair_laws::gateway::GatewayLaw::on_classes)): its search
    /// goes on, and its rates hold at once. The class keeps its flows. Packets of a removed class that still wait leave at its
    /// last rate.
    ///
    /// # Errors
    /// If there is no such class, or its gateway has no law.
    ///
    /// # Panics
    /// If `at` lies before the last event, or after [`next_at`](Self::next_at).
    pub fn set_gateway_class(
        &mut self,
        at: Instant,
        class: u32,
        role: Option<ClassRole>,
    ) -> Result<(), ClassRefused> {
        self.core.move_to(at);
        self.core.set_class(class, role)
    }
}
