//! From a specification to a network at its start.

use super::{Core, Forwarding, Passage};
use crate::queue::{Buffer, Count, Dropped, Outlet, Service, TransmitQueue, WireEnd};
use crate::spec::{BackoffSpec, FlowSpec, MacSpec, NetworkSpec, Wire};
use evenair_des::{Queue, Stream};
use evenair_laws::backoff::{Access, AdaptiveBackoff, AdaptiveParams};
use evenair_topology::{ConflictGraph, Link};
use evenair_units::{Instant, Probability, Rate};
use evenair_wifi::{
    Air, Arbitration, BROADCAST, Category, Contention, DcfAir, Effects, IdealAir, LossProcess,
};
use std::collections::{BTreeMap, VecDeque};

/// What queues of one node are told apart by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Scope {
    /// One for all.
    Node,
    /// One per access category, the most urgent first.
    Category(Category),
    /// One per next hop.
    NextHop(u32),
}

/// A queue's key.
type Key = (u32, Scope);

/// What tells queues of one node apart, by MAC and law.
fn scope(spec: &NetworkSpec, category: Category, next_hop: u32) -> Scope {
    match (spec.mac, &spec.backoff) {
        (MacSpec::Ideal { .. }, _) | (_, BackoffSpec::Adaptive { .. }) => Scope::NextHop(next_hop),
        (_, BackoffSpec::Edca { .. }) => Scope::Category(category),
        (_, BackoffSpec::Dcf(_)) => Scope::Node,
    }
}

/// Where the packets of a flow enter the network: its first hop there, and back; [`END`](super::END) if nothing goes back.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FlowHops {
    pub(crate) forward: u32,
    pub(crate) backward: u32,
}

impl<T: Copy> Core<T> {
    /// A network at its start, and where each flow enters it.
    pub(crate) fn new(spec: &NetworkSpec, seed: u64) -> (Self, Vec<FlowHops>) {
        let wires: BTreeMap<(u32, u32), &Wire> = spec.wires.iter().map(|w| ((w.from, w.to), w)).collect();
        let rates: BTreeMap<(u32, u32), Rate> = spec.rates.iter().map(|r| ((r.from, r.to), r.rate)).collect();
        let keys = queue_keys(spec, &wires);
        let index: BTreeMap<Key, u32> = (0..).zip(&keys).map(|(i, (&key, _))| (key, i)).collect();
        let wire_index: BTreeMap<(u32, u32), u32> =
            (keys.len() as u32..).zip(wires.keys()).map(|(i, &ends)| (ends, i)).collect();
        let rate = |from: u32, to: u32| rates.get(&(from, to)).copied().unwrap_or(spec.data_rate);
        let mut queues: Vec<TransmitQueue> = keys
            .iter()
            .map(|(&key, &carries)| transmit_queue(spec, seed, key, carries, rate(key.0, carries.next_hop)))
            .collect();
        let air = air(spec, seed, &keys, &queues);
        // Each node has a buffer, then each wire.
        let room = |limit| Buffer { waiting: 0, limit };
        let mut buffers = vec![room(spec.queue.buffer.limit_packets); spec.nodes.len()];
        for wire in wires.values() {
            queues.push(wire_queue(spec, seed, wire, buffers.len() as u32));
            buffers.push(room(wire.queue.buffer.limit_packets));
        }
        let hop = |category: Category, from: u32, to: u32| match wire_index.get(&(from, to)) {
            Some(&queue) => (queue, to, wires[&(from, to)].rate),
            None => (index[&(from, scope(spec, category, to))], to, rate(from, to)),
        };
        let mut hops = Forwarding::default();
        let flow_hops = |flow: &FlowSpec| {
            let replies = !flow.path.contains(&BROADCAST);
            let there = flow.path.windows(2).map(|w| hop(flow.category, w[0], w[1]));
            let back = flow.path.windows(2).rev().filter(|_| replies);
            let forward = hops.add_chain(there);
            let backward = hops.add_chain(back.map(|w| hop(flow.category, w[1], w[0])));
            FlowHops { forward, backward }
        };
        let flows = spec.flows.iter().map(flow_hops).collect();
        for path in &spec.routes {
            let back: Vec<u32> = path.iter().rev().copied().collect();
            for path in [path, &back] {
                hops.add_path(path, |from, to| hop(Category::BestEffort, from, to));
            }
        }
        let core = Self {
            now: Instant::ZERO,
            events: Queue::new(),
            air,
            effects: Effects::default(),
            handled: 0,
            news: VecDeque::new(),
            queues,
            buffers,
            hops,
            pool: super::Pool::default(),
            passages: vec![Passage::default(); 2 * spec.flows.len() + 1],
            between_layers: VecDeque::new(),
            layer_delay: spec.link_layer_delay,
            rounds: Vec::new(),
            culled: Vec::new(),
            trace: None,
        };
        (core, flows)
    }

    /// Dummy packets flow from the start.
    pub(crate) fn start_dummies(&mut self) {
        for by in 0..self.queues.len() as u32 {
            self.serve(by);
        }
    }
}

/// What a queue carries: its next hop (the first, if there are several), and whether any of it is data.
#[derive(Clone, Copy, Debug)]
struct Carries {
    next_hop: u32,
    data: bool,
}

/// The queues of the air that the flows need.
fn queue_keys(spec: &NetworkSpec, wires: &BTreeMap<(u32, u32), &Wire>) -> BTreeMap<Key, Carries> {
    let mut keys: BTreeMap<Key, Carries> = BTreeMap::new();
    let flows = spec.flows.iter().map(|flow| (&flow.path, flow.category));
    let routes = spec.routes.iter().map(|path| (path, Category::BestEffort));
    for (path, category) in flows.chain(routes) {
        for hop in path.windows(2) {
            for (from, to, data) in [(hop[0], hop[1], true), (hop[1], hop[0], false)] {
                if wires.contains_key(&(from, to)) || from == BROADCAST {
                    continue;
                }
                let key = (from, scope(spec, category, to));
                keys.entry(key).or_insert(Carries { next_hop: to, data: false }).data |= data;
            }
        }
    }
    keys
}

fn transmit_queue(
    spec: &NetworkSpec,
    seed: u64,
    (node, scope): Key,
    carries: Carries,
    rate: Rate,
) -> TransmitQueue {
    let node_name = &spec.nodes[node as usize];
    let name = match scope {
        Scope::Node => node_name.clone(),
        Scope::Category(category) => format!("{node_name}/{}", category.name()),
        Scope::NextHop(next) => format!("{node_name}>{}", spec.nodes[next as usize]),
    };
    let law = match &spec.backoff {
        BackoffSpec::Dcf(_) | BackoffSpec::Edca { .. } => None,
        &BackoffSpec::Adaptive { params, prioritise_acks } => {
            let pinned_at_max = params.pinned_at_max || (prioritise_acks && !carries.data);
            Some(Box::new(AdaptiveBackoff::new(AdaptiveParams { pinned_at_max, ..params })))
        }
    };
    TransmitQueue {
        law_drops: law.as_ref().map_or(Probability::ZERO, |law| law.drop_probability()),
        law,
        stream: Stream::named(seed, &name, "drop"),
        name,
        node,
        next_hop: carries.next_hop,
        rate,
        discipline: spec.queue.discipline.begin(),
        service: Service::Nothing,
        outlet: Outlet::Air,
        buffer: node,
        marking: spec.queue.marking,
        arrived: Count::default(),
        dropped: Dropped::default(),
        ready_at: Instant::NEVER,
    }
}

fn wire_queue(spec: &NetworkSpec, seed: u64, wire: &Wire, buffer: u32) -> TransmitQueue {
    let name = format!("{}-{}", spec.nodes[wire.from as usize], spec.nodes[wire.to as usize]);
    let loss = spec.losses.iter().find(|l| (l.from, l.to) == (wire.from, wire.to));
    let loss = loss.map(|l| LossProcess::new(l.schedule.clone(), Stream::named(seed, &name, "loss")));
    TransmitQueue {
        stream: Stream::named(seed, &name, "drop"),
        name,
        node: wire.from,
        next_hop: wire.to,
        rate: wire.rate,
        discipline: wire.queue.discipline.begin(),
        service: Service::Nothing,
        outlet: Outlet::Wire(Box::new(WireEnd { delay: wire.delay, loss, in_flight: VecDeque::new() })),
        buffer,
        marking: wire.queue.marking,
        law: None,
        law_drops: Probability::ZERO,
        arrived: Count::default(),
        dropped: Dropped::default(),
        ready_at: Instant::NEVER,
    }
}

fn air(spec: &NetworkSpec, seed: u64, keys: &BTreeMap<Key, Carries>, queues: &[TransmitQueue]) -> Air {
    let access = |queue: &TransmitQueue, scope: Scope| -> Access {
        match (&queue.law, &spec.backoff, scope) {
            (Some(law), ..) => law.access(),
            (None, BackoffSpec::Dcf(params), _) => params.access(),
            (None, BackoffSpec::Edca { categories }, Scope::Category(c)) => {
                categories[c as usize].backoff().access()
            }
            (None, ..) => unreachable!("adaptive queues have a law, EDCA's a category"),
        }
    };
    let stream = |queue: &TransmitQueue| Stream::named(seed, &queue.name, "backoff");
    let queues = queues.iter().zip(keys.keys().map(|&(_, scope)| scope));
    match spec.mac {
        MacSpec::Dcf { timing, rules } => {
            let arbitration = |scope: Scope| match (&spec.backoff, scope) {
                (BackoffSpec::Edca { categories }, Scope::Category(c)) => {
                    categories[c as usize].arbitration(&timing)
                }
                _ => Arbitration::dcf(&timing),
            };
            let contenders = queues.map(|(queue, scope)| Contention {
                node: queue.node,
                access: access(queue, scope),
                arbitration: arbitration(scope),
                stream: stream(queue),
            });
            let mut air = DcfAir::new(&spec.medium, contenders.collect(), timing, rules);
            for loss in &spec.losses {
                let name = format!("{}>{}", spec.nodes[loss.from as usize], spec.nodes[loss.to as usize]);
                let stream = Stream::named(seed, &name, "loss");
                air.set_loss(loss.from, loss.to, LossProcess::new(loss.schedule.clone(), stream));
            }
            Air::Dcf(Box::new(air))
        }
        MacSpec::Ideal { holding } => {
            let links: Vec<(&TransmitQueue, Scope)> = queues.collect();
            let bare: Vec<Link> = links.iter().map(|(q, _)| Link { from: q.node, to: q.next_hop }).collect();
            let conflicts: ConflictGraph = spec.medium.conflicts(&bare);
            let links = links.into_iter().map(|(q, scope)| (q.node, access(q, scope), holding, stream(q)));
            Air::Ideal(Box::new(IdealAir::new(conflicts, links.collect())))
        }
    }
}
