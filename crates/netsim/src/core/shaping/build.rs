//! From a specification to shapers at their start, and the flows that pass them.

use super::{Control, ShaperHost};
use crate::core::build::bare_queue;
use crate::packet::Way;
use crate::queue::{
    AnyDiscipline, Buffer, DisciplineRole, Line, NO_CLASS, Outlet, Shaper, TokenBucket, TransmitQueue,
};
use crate::spec::{
    GatewayClass, GatewayControl, GatewaySpec, NetworkSpec, QueueSpec, Shaping, Shares, SourceLimit,
};
use evenair_laws::Parameters;
use evenair_laws::gateway::Direction;
use evenair_units::{Bytes, Instant, Rate};
use evenair_wifi::Mode;
use std::collections::BTreeMap;

/// A hop before it is one: its queue, the next node, the mode.
type Step = (u32, u32, Mode);

/// The shapers of a network, and the flows that pass them.
pub(in crate::core) struct Within {
    pub(in crate::core) hosts: Vec<ShaperHost>,
    gateway: Option<u32>,
    /// By flow: the queue at its source.
    limits: BTreeMap<usize, u32>,
}

impl Within {
    /// Makes the shapers' queues, behind all others.
    pub(in crate::core) fn build(
        spec: &NetworkSpec,
        seed: u64,
        place: &DisciplineRole,
        queues: &mut Vec<TransmitQueue>,
        buffers: &mut Vec<Buffer>,
    ) -> Self {
        let mut hosts = Vec::new();
        let ways = 2 * spec.flows.len();
        let answers = spec.gateway.as_ref().is_some_and(|gateway| gateway.acknowledgements);
        let mut add = |node: u32, what: &str, shaper: Shaper, control: Control| {
            let name = format!("{}:{what}", spec.name(node));
            let queue = queues.len() as u32;
            queues.push(TransmitQueue {
                discipline: AnyDiscipline::Shaper(Box::new(shaper)),
                outlet: Outlet::Within { answers: answers && hosts.is_empty() },
                node,
                next_hop: node,
                buffer: buffers.len() as u32,
                ..bare_queue(&QueueSpec::fifo(u32::MAX), place, seed, name)
            });
            buffers.push(Buffer { waiting: 0, limit: u32::MAX });
            hosts.push(ShaperHost::new(queue, control));
            queue
        };
        let gateway = spec.gateway.as_ref().map(|gateway| {
            let shaper = gateway_shaper(gateway, ways, place);
            let control = match &gateway.control {
                GatewayControl::Plan(plan) => Control::Plan(plan.iter().cloned().collect()),
                GatewayControl::Law(law) => Control::Law(Box::new(law.begin(&gateway.role()))),
            };
            add(gateway.node, "gateway", shaper, control)
        });
        let limit = |limit: &SourceLimit| {
            let shaper = source_shaper(limit, ways, place);
            let shares = |&(from, rate): &(Instant, Rate)| (from, Shares::of_each(vec![rate]));
            let plan = Control::Plan(limit.plan.iter().map(shares).collect());
            let flow = &spec.flows[limit.flow as usize];
            (limit.flow as usize, add(flow.path[0], &flow.name, shaper, plan))
        };
        let limits = spec.source_limits.iter().map(limit).collect();
        if let Some(gateway) = &spec.gateway {
            hosts[0].keep_a_record(gateway, place.queue.full_packet);
        }
        Self { hosts, gateway, limits }
    }

    /// The way of a flow's data, with the shapers on it.
    pub(in crate::core) fn there(&self, spec: &NetworkSpec, flow: usize, mut steps: Vec<Step>) -> Vec<Step> {
        let path = &spec.flows[flow].path;
        if let (Some(queue), Some(gateway)) = (self.gateway, &spec.gateway)
            && gateway.of_flow[flow].is_some()
        {
            let place = path.iter().position(|&node| node == gateway.node).expect("it passes the gateway");
            steps.insert(place, (queue, gateway.node, spec.data_mode));
        }
        if let Some(&queue) = self.limits.get(&flow) {
            steps.insert(0, (queue, path[0], spec.data_mode));
        }
        steps
    }

    /// The same of a web flow's replies.
    pub(in crate::core) fn replies(&self, spec: &NetworkSpec, flow: usize, steps: Vec<Step>) -> Vec<Step> {
        let shaped = |gateway: &GatewaySpec| gateway.of_replies[flow].is_some();
        self.back_through(spec, flow, steps, shaped)
    }

    /// The same for packets in the other direction.
    pub(in crate::core) fn back(&self, spec: &NetworkSpec, flow: usize, steps: Vec<Step>) -> Vec<Step> {
        let is_outside = spec.flows[flow].traffic.is_outside();
        self.back_through(spec, flow, steps, |gateway| {
            gateway.shapes_answers_of(flow) || is_outside && gateway.of_replies[flow].is_some()
        })
    }

    /// The way back, through the gateway's shaper where that has a class for it.
    fn back_through(
        &self,
        spec: &NetworkSpec,
        flow: usize,
        mut steps: Vec<Step>,
        shaped: impl FnOnce(&GatewaySpec) -> bool,
    ) -> Vec<Step> {
        if let (Some(queue), Some(gateway)) = (self.gateway, &spec.gateway)
            && !steps.is_empty()
            && shaped(gateway)
        {
            let place = spec.flows[flow].path.iter().rev().position(|&node| node == gateway.node);
            steps.insert(place.expect("it passes the gateway"), (queue, gateway.node, spec.data_mode));
        }
        steps
    }
}

impl GatewaySpec {
    /// Whether a flow's packets in the other direction take tokens.
    fn shapes_answers_of(&self, flow: usize) -> bool {
        let class = self.of_flow[flow].map(|class| &self.classes[class as usize]);
        let answers = self.acknowledgements && self.of_replies[flow].is_none();
        answers && class.is_some_and(|class| class.role.direction == Direction::Up)
    }
}

/// A gateway's lines and buckets.
fn gateway_shaper(gateway: &GatewaySpec, ways: usize, place: &DisciplineRole) -> Shaper {
    let mut class_of = vec![NO_CLASS; ways];
    for (flow, &class) in gateway.of_flow.iter().enumerate() {
        class_of[Way::forward(flow as u32).0 as usize] = class.unwrap_or(NO_CLASS);
        let back = gateway.of_replies[flow].or(class.filter(|_| gateway.shapes_answers_of(flow)));
        class_of[Way::backward(flow as u32).0 as usize] = back.unwrap_or(NO_CLASS);
    }
    // In a line that all share a class is as one flow.
    let shared = gateway.shaper == Shaping::Aggregate;
    let flows = if shared { place.flows.grouped(&class_of) } else { place.flows.clone() };
    let place = DisciplineRole { flows, ..place.clone() };
    let full_packet = place.queue.full_packet;
    let bucket = || Some(TokenBucket::by_rate(Rate::default(), gateway.burst, gateway.burst_time));
    let line = |quantum: Bytes, bucket: Option<TokenBucket>| {
        let QueueSpec { discipline, limit_packets, .. } = &gateway.queue;
        Line::new(discipline.begin_at(&place), *limit_packets, bucket, quantum)
    };
    let of_each = |with_bucket: bool| {
        let turns = turns(&gateway.classes, full_packet).into_iter();
        turns.map(|quantum| line(quantum, bucket().filter(|_| with_bucket))).collect()
    };
    let (lines, of_all) = match gateway.shaper {
        Shaping::Aggregate => (vec![line(full_packet, None)], bucket()),
        Shaping::AggregateFair => (of_each(false), bucket()),
        Shaping::PerClass => (of_each(true), None),
    };
    Shaper::new(class_of, gateway.classes.len(), lines, of_all)
}

/// Each class's bytes in a turn: in proportion to the weights, and a full packet at least.
pub(super) fn turns(classes: &[GatewayClass], full_packet: Bytes) -> Vec<Bytes> {
    let least = classes.iter().map(|class| class.role.weight).fold(f64::INFINITY, f64::min);
    let full_packet = f64::from(full_packet.count());
    let turn = |class: &GatewayClass| Bytes::new((full_packet * class.role.weight / least).ceil() as u32);
    classes.iter().map(turn).collect()
}

/// One line, one bucket.
fn source_shaper(limit: &SourceLimit, ways: usize, place: &DisciplineRole) -> Shaper {
    let mut class_of = vec![NO_CLASS; ways];
    class_of[Way::forward(limit.flow).0 as usize] = 0;
    let bucket = TokenBucket::new(Rate::default(), limit.burst);
    let QueueSpec { discipline, limit_packets, .. } = &limit.queue;
    let full_packet = place.queue.full_packet;
    let line = Line::new(discipline.begin_at(place), *limit_packets, Some(bucket), full_packet);
    Shaper::new(class_of, 1, vec![line], None)
}
