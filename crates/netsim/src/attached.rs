//! Attachments of the core: sources, TCP endpoints, sinks. They answer its news with packets and calls, and keep their own
//! counts.

mod delay;
mod flow;
mod outside;
mod probes;
mod rated;
mod resequence;
mod sources;
mod tcp;
mod tfrc;
mod web;

pub(crate) use flow::{Connection, Flow};
pub(crate) use outside::Outside;
pub use probes::Prober;
pub(crate) use tfrc::TfrcConnection;

use crate::core::{Core, FlowHops};
use crate::packet::{Body, Packet, Way};
use crate::spec::{NetworkSpec, Pattern, RunSpec, Traffic};
use crate::times::Histogram;
use evenair_units::Instant;

/// The reasons for which the core calls back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Due {
    /// A connection's retransmission timer may have expired.
    Retransmission(u32),
    /// A connection's delayed acknowledgement may be due.
    DelayedAck(u32),
    /// A flow starts, or starts again.
    Start(u32),
    /// A flow stops.
    Stop(u32),
    /// A web client makes a request; of this run of the flow.
    Request(u32, u32),
    /// A source's next datagram is due.
    Datagram(u32),
    /// An on-off source changes its state; of this run of the flow.
    Toggle(u32, u32),
    /// An application produces a segment; of this run of the flow.
    Produce(u32, u32),
    /// A flow's connection law runs; of this run of the flow.
    Connections(u32, u32),
    /// A flow's next probe, or round of probes, is due; of this run of the flow.
    Probe(u32, u32),
    /// A TFRC connection's next packet may be due, or its patience over.
    Tfrc(u32),
    /// A TFRC receiver's report may be due.
    TfrcReport(u32),
    /// The law of a source's rate runs; of this run of the flow.
    Rate(u32, u32),
    /// The warm-up is over.
    Warm,
    /// A point of the time series.
    Sample,
}

/// All flows of a network, with both their ends.
#[derive(Clone, Debug)]
pub(crate) struct Attached {
    pub(crate) flows: Vec<Flow>,
    pub(crate) connections: Vec<Connection>,
    pub(crate) tfrc: Vec<TfrcConnection>,
    /// Packets that are injected.
    pub(crate) outside: Outside,
    /// Places of connections that are over.
    free: Vec<u32>,
    free_tfrc: Vec<u32>,
    /// When measurement begins.
    pub(crate) warm_at: Instant,
}

impl Attached {
    /// The flows of a network, which enter it here, before any has begun.
    pub(crate) fn new(spec: &NetworkSpec, run: &RunSpec, hops: &[FlowHops]) -> Self {
        let flows = spec.flows.iter().zip(hops).map(|(flow, &hops)| {
            let mut begun = Flow::new(flow, run.seed, hops);
            begun.route_changes = route_changes(spec, &flow.path);
            begun.delay.each = run.times.then(Histogram::default);
            begun.follows_segments |= run.times;
            begun
        });
        let warm_at = Instant::ZERO + run.warmup;
        Self {
            flows: flows.collect(),
            connections: Vec::new(),
            tfrc: Vec::new(),
            outside: Outside::new(run.times),
            free: Vec::new(),
            free_tfrc: Vec::new(),
            warm_at,
        }
    }

    /// Asks for the beginning of every flow.
    pub(crate) fn schedule_starts(&mut self, core: &mut Core<Due>) {
        for (index, flow) in (0..).zip(&self.flows) {
            if let Some(&(from, _)) = flow.active.front() {
                core.call_at(from, Due::Start(index));
            }
            if matches!(flow.traffic, Traffic::Datagrams { pattern: Pattern::Saturated, .. }) {
                core.watch(flow.hops.forward);
            }
        }
    }

    /// Something that was asked for is due.
    #[inline(never)]
    pub(crate) fn on_due(&mut self, core: &mut Core<Due>, due: Due) {
        match due {
            Due::Retransmission(connection) => self.on_retransmission(core, connection),
            Due::DelayedAck(connection) => self.on_delayed_ack(core, connection),
            Due::Start(flow) => self.start(core, flow),
            Due::Stop(flow) => self.stop(core, flow),
            Due::Request(flow, run) => self.on_request(core, flow, run),
            Due::Toggle(flow, run) => self.on_toggle(core, flow, run),
            Due::Produce(flow, run) => self.on_produce(core, flow, run),
            Due::Connections(flow, run) => self.update_connections(core, flow, run),
            Due::Probe(flow, run) => self.on_probe(core, flow, run),
            Due::Tfrc(connection) => self.on_tfrc(core, connection),
            Due::TfrcReport(connection) => self.on_tfrc_report(core, connection),
            Due::Rate(flow, run) => self.update_rate(core, flow, run),
            Due::Datagram(_) => unreachable!("most frequent, and handled before"),
            Due::Warm | Due::Sample => unreachable!("the measurement's own"),
        }
    }

    /// A packet has reached the end of its way, or a node that hears its broadcast.
    pub(crate) fn deliver(&mut self, core: &mut Core<Due>, packet: &Packet) {
        match &packet.body {
            Body::Tcp(carried) => self.deliver_segment(core, packet.way.flow(), carried),
            Body::Datagram { sent, .. } => self.deliver_datagram(core.now(), packet.way.flow(), *sent),
            &Body::TfrcData { connection, epoch, data } => {
                self.deliver_tfrc(core, packet.way.flow(), connection, epoch, data);
            }
            Body::TfrcReport { connection, epoch, report } => {
                self.read_report(core, *connection, *epoch, report);
            }
            Body::Probe { sent } => self.deliver_probe(core, packet.way, *sent),
            Body::Foreign(entered) => self.outside.arrive(&mut self.flows, core.now(), packet.size, entered),
        }
    }

    /// Fetches the state of flows that datagrams on these ways will touch into the cache.
    #[inline(never)]
    pub(crate) fn fetch(&self, ways: &[Way]) {
        let flows = || ways.iter().filter_map(|way| self.flows.get(way.flow() as usize));
        flows().for_each(Flow::fetch);
        flows().for_each(|flow| flow.delay.fetch());
    }

    /// A packet of a flow that is watched has left its node, or was dropped there, and there is room for the next.
    pub(crate) fn on_room(&mut self, core: &mut Core<Due>, flow: u32) {
        let state = &mut self.flows[flow as usize];
        debug_assert!(matches!(
            state.traffic,
            Traffic::Datagrams { pattern: Pattern::Saturated, .. } | Traffic::Outside(_)
        ));
        if state.traffic.is_outside() {
            state.departed += 1;
        }
        if state.is_active {
            self.send_datagram(core, flow); // a saturated source's queue is never empty
        }
    }
}

/// When the delay of a wire on this path changes, in order.
fn route_changes(spec: &NetworkSpec, path: &[u32]) -> Vec<Instant> {
    let on_path = |from: u32, to: u32| path.windows(2).any(|hop| hop == [from, to] || hop == [to, from]);
    let wires = spec.wires.iter().filter(|wire| on_path(wire.from, wire.to));
    let mut changes: Vec<Instant> = wires.flat_map(|wire| &wire.delay_changes).map(|&(at, _)| at).collect();
    changes.sort_unstable();
    changes
}
