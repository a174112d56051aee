//! From a specification to a network at its start.

use super::{Event, Network};
use crate::flow::{Flow, Hop};
use crate::measure::{Counts, FlowSeries, LinkSeries, Means, Meter, Packets, Series};
use crate::queue::{Dropped, Service, TransmitQueue, WireEnd};
use crate::spec::{FlowSpec, MacSpec, NetworkSpec, RunSpec, Wire};
use evenair_des::{Queue, Stream};
use evenair_laws::Parameters;
use evenair_laws::backoff::{self, AnyBackoff, BackoffLaw, Category, LinkRole, Volume};
use evenair_topology::{ConflictGraph, Link};
use evenair_units::{Instant, Rate};
use evenair_wifi::{
    Air, Arbitration, BROADCAST, Contention, DcfAir, Effects, IdealAir, LossProcess, Timeline,
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
    let law = spec.backoff.begin(&LinkRole::data(spec.surroundings));
    match (spec.mac, law.scope()) {
        (MacSpec::Ideal, _) | (_, backoff::Scope::NextHop) => Scope::NextHop(next_hop),
        (_, backoff::Scope::Category) => Scope::Category(category),
        (_, backoff::Scope::Node) => Scope::Node,
    }
}

impl Network {
    pub(super) fn new(spec: NetworkSpec, run: RunSpec, traced: bool) -> Self {
        let wires: BTreeMap<(u32, u32), &Wire> = spec.wires.iter().map(|w| ((w.from, w.to), w)).collect();
        let rates: BTreeMap<(u32, u32), Rate> = spec.rates.iter().map(|r| ((r.from, r.to), r.rate)).collect();
        let keys = queue_keys(&spec, &wires);
        let index: BTreeMap<Key, u32> = (0..).zip(&keys).map(|(i, (&key, _))| (key, i)).collect();
        let wire_index: BTreeMap<(u32, u32), u32> =
            (keys.len() as u32..).zip(wires.keys()).map(|(i, &ends)| (ends, i)).collect();
        let rate = |from: u32, to: u32| rates.get(&(from, to)).copied().unwrap_or(spec.data_rate);
        let mut queues: Vec<TransmitQueue> = keys
            .iter()
            .map(|(&key, &carries)| {
                transmit_queue(&spec, run.seed, key, carries, rate(key.0, carries.next_hop))
            })
            .collect();
        let air = air(&spec, run.seed, &queues);
        queues.extend(wires.values().map(|wire| wire_queue(&spec, run.seed, wire)));
        let hop = |flow: &FlowSpec, from: u32, to: u32| match wire_index.get(&(from, to)) {
            Some(&queue) => Hop { queue, to, rate: wires[&(from, to)].rate },
            None => Hop { queue: index[&(from, scope(&spec, flow.category, to))], to, rate: rate(from, to) },
        };
        let flows: Vec<Flow> = spec
            .flows
            .iter()
            .map(|flow| {
                let forward = flow.path.windows(2).map(|w| hop(flow, w[0], w[1])).collect();
                let replies = !flow.path.contains(&BROADCAST);
                let back = flow.path.windows(2).rev().filter(|_| replies);
                let backward = back.map(|w| hop(flow, w[1], w[0])).collect();
                Flow::new(flow, run.seed, forward, backward)
            })
            .collect();
        let meter = Meter {
            warm_at: Instant::ZERO + run.warmup,
            at_warmup: Counts::new(flows.len(), queues.len()),
            delivered_at_sample: vec![0; flows.len()],
            means: Means::new(flows.len(), queues.len()),
            series: Series {
                time_s: Vec::new(),
                flows: vec![FlowSeries::default(); flows.len()],
                links: vec![LinkSeries::default(); queues.len()],
            },
        };
        let waiting = vec![0; spec.nodes.len()];
        let mut network = Self {
            spec,
            run,
            now: Instant::ZERO,
            events: Queue::new(),
            air,
            effects: Effects::default(),
            queues,
            waiting,
            flows,
            connections: Vec::new(),
            free: Vec::new(),
            packets: Packets::default(),
            between_layers: VecDeque::new(),
            meter,
            frames: Vec::new(),
        };
        network.schedule_start(traced);
        network
    }

    fn schedule_start(&mut self, traced: bool) {
        self.host(self.meter.warm_at, Event::Warm);
        for flow in 0..self.flows.len() as u32 {
            if let Some(&(from, _)) = self.flows[flow as usize].active.front() {
                self.host(from, Event::Start(flow));
            }
        }
        let law = self.spec.backoff.begin(&LinkRole::data(self.spec.surroundings));
        if let Some(interval) = law.update_interval() {
            self.host(Instant::ZERO + interval, Event::Backoff);
        }
        if let Some(every) = self.run.sample_every {
            self.host(Instant::ZERO + every, Event::Sample);
        }
        if traced {
            self.air.record(Timeline::new(Instant::ZERO, Instant::NEVER));
        } else if let Some((from, to)) = self.run.timeline {
            self.air.record(Timeline::new(from, to));
        }
        // Dummy packets flow from the start.
        for by in 0..self.queues.len() as u32 {
            if self.queues[by as usize].wire.is_none() {
                self.serve(by);
            }
        }
        self.settle();
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
    for flow in &spec.flows {
        for hop in flow.path.windows(2) {
            for (from, to, data) in [(hop[0], hop[1], true), (hop[1], hop[0], false)] {
                if wires.contains_key(&(from, to)) || from == BROADCAST {
                    continue;
                }
                let key = (from, scope(spec, flow.category, to));
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
    let category = if let Scope::Category(category) = scope { category } else { Category::BestEffort };
    let surroundings = spec.surroundings;
    let role = LinkRole { surroundings, category, acknowledgements_only: !carries.data };
    TransmitQueue {
        stream: Stream::named(seed, &name, "drop"),
        name,
        node,
        next_hop: carries.next_hop,
        rate,
        packets: VecDeque::new(),
        bytes: 0,
        service: Service::Nothing,
        law: Some(spec.backoff.begin(&role)),
        arrivals: Volume::default(),
        served: Volume::default(),
        updated: Instant::ZERO,
        wire: None,
        dropped: Dropped::default(),
    }
}

fn wire_queue(spec: &NetworkSpec, seed: u64, wire: &Wire) -> TransmitQueue {
    let name = format!("{}-{}", spec.nodes[wire.from as usize], spec.nodes[wire.to as usize]);
    let loss = spec.losses.iter().find(|l| (l.from, l.to) == (wire.from, wire.to));
    let loss = loss.map(|l| LossProcess::new(l.schedule.clone(), Stream::named(seed, &name, "loss")));
    TransmitQueue {
        stream: Stream::named(seed, &name, "drop"),
        name,
        node: wire.from,
        next_hop: wire.to,
        rate: wire.rate,
        packets: VecDeque::new(),
        bytes: 0,
        service: Service::Nothing,
        law: None,
        arrivals: Volume::default(),
        served: Volume::default(),
        updated: Instant::ZERO,
        wire: Some(WireEnd { delay: wire.delay, buffer: wire.buffer, loss, in_flight: VecDeque::new() }),
        dropped: Dropped::default(),
    }
}

fn air(spec: &NetworkSpec, seed: u64, queues: &[TransmitQueue]) -> Air {
    fn law(queue: &TransmitQueue) -> &AnyBackoff {
        queue.law.as_ref().expect("queues of the air have one")
    }
    let stream = |queue: &TransmitQueue| Stream::named(seed, &queue.name, "backoff");
    match spec.mac {
        MacSpec::Dcf { timing, rules } => {
            let contenders = queues.iter().map(|queue| {
                let (law, stream) = (law(queue), stream(queue));
                let access = law.access();
                let arbitration = Arbitration::of(law.space(), access.holding, &timing);
                Contention { node: queue.node, access, arbitration, stream }
            });
            let mut air = DcfAir::new(&spec.medium, contenders.collect(), timing, rules);
            for loss in &spec.losses {
                let name = format!("{}>{}", spec.nodes[loss.from as usize], spec.nodes[loss.to as usize]);
                let stream = Stream::named(seed, &name, "loss");
                air.set_loss(loss.from, loss.to, LossProcess::new(loss.schedule.clone(), stream));
            }
            Air::Dcf(Box::new(air))
        }
        MacSpec::Ideal => {
            let bare: Vec<Link> = queues.iter().map(|q| Link { from: q.node, to: q.next_hop }).collect();
            let conflicts: ConflictGraph = spec.medium.conflicts(&bare);
            let links = queues.iter().map(|queue| (queue.node, law(queue).access(), stream(queue)));
            Air::Ideal(Box::new(IdealAir::new(conflicts, links.collect())))
        }
    }
}
