//! From a specification to a network at its start.

use super::{Event, Network};
use crate::flow::{Flow, Hop};
use crate::measure::{FlowSeries, LinkSeries, Means, Meter, Packets, Series};
use crate::queue::{Dropped, Service, TransmitQueue};
use crate::spec::{BackoffSpec, MacSpec, NetworkSpec, RunSpec};
use evenair_des::{Queue, Stream};
use evenair_laws::backoff::{Access, AdaptiveBackoff, AdaptiveParams};
use evenair_topology::{ConflictGraph, Link};
use evenair_units::Instant;
use evenair_wifi::{Air, DcfAir, Effects, IdealAir, Timeline};
use std::collections::{BTreeMap, VecDeque};

/// A queue's key: the node, and the next hop where queues are per next hop.
type Key = (u32, Option<u32>);

impl Network {
    pub(super) fn new(spec: NetworkSpec, run: RunSpec) -> Self {
        let per_next_hop =
            matches!(spec.mac, MacSpec::Ideal { .. }) || matches!(spec.backoff, BackoffSpec::Adaptive { .. });
        let keys = queue_keys(&spec, per_next_hop);
        let index: BTreeMap<Key, u32> = (0..).zip(&keys).map(|(i, (&key, _))| (key, i)).collect();
        let queues: Vec<TransmitQueue> =
            keys.iter().map(|(&key, &info)| transmit_queue(&spec, run.seed, key, info)).collect();
        let air = air(&spec, run.seed, &queues);
        let hop = |from: u32, to: u32| Hop { queue: index[&(from, per_next_hop.then_some(to))], to };
        let flows: Vec<Flow> = spec
            .flows
            .iter()
            .map(|flow| {
                let forward = flow.path.windows(2).map(|w| hop(w[0], w[1])).collect();
                let backward = flow.path.windows(2).rev().map(|w| hop(w[1], w[0])).collect();
                Flow::new(flow, forward, backward)
            })
            .collect();
        let meter = Meter {
            warm_at: Instant::ZERO + run.warmup,
            delivered_at_warmup: vec![0; flows.len()],
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
        };
        network.schedule_start();
        network
    }

    fn schedule_start(&mut self) {
        self.host(self.meter.warm_at, Event::Warm);
        for flow in 0..self.flows.len() as u32 {
            self.host(self.flows[flow as usize].start, Event::Start(flow));
        }
        if let BackoffSpec::Adaptive { params, .. } = self.spec.backoff {
            self.host(Instant::ZERO + params.update_interval, Event::Backoff);
        }
        if let Some(every) = self.run.sample_every {
            self.host(Instant::ZERO + every, Event::Sample);
        }
        if let Some((from, to)) = self.run.timeline {
            self.air.record(Timeline::new(from, to));
        }
        // Dummy packets flow from the start.
        for by in 0..self.queues.len() as u32 {
            self.serve(by);
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

/// The queues that the flows need, by node and next hop.
fn queue_keys(spec: &NetworkSpec, per_next_hop: bool) -> BTreeMap<Key, Carries> {
    let mut keys: BTreeMap<Key, Carries> = BTreeMap::new();
    for flow in &spec.flows {
        for hop in flow.path.windows(2) {
            for (from, to, data) in [(hop[0], hop[1], true), (hop[1], hop[0], false)] {
                let key = (from, per_next_hop.then_some(to));
                keys.entry(key).or_insert(Carries { next_hop: to, data: false }).data |= data;
            }
        }
    }
    keys
}

fn transmit_queue(spec: &NetworkSpec, seed: u64, (node, next): Key, carries: Carries) -> TransmitQueue {
    let mut name = spec.nodes[node as usize].clone();
    if let Some(next) = next {
        name = format!("{name}>{}", spec.nodes[next as usize]);
    }
    let law = match spec.backoff {
        BackoffSpec::Dcf(_) => None,
        BackoffSpec::Adaptive { params, prioritise_acks } => {
            let pinned_at_max = params.pinned_at_max || (prioritise_acks && !carries.data);
            Some(AdaptiveBackoff::new(AdaptiveParams { pinned_at_max, ..params }))
        }
    };
    TransmitQueue {
        stream: Stream::named(seed, &name, "drop"),
        name,
        node,
        next_hop: carries.next_hop,
        packets: VecDeque::new(),
        bytes: 0,
        service: Service::Nothing,
        law,
        dropped: Dropped::default(),
    }
}

fn air(spec: &NetworkSpec, seed: u64, queues: &[TransmitQueue]) -> Air {
    let access = |queue: &TransmitQueue| -> Access {
        match (&queue.law, spec.backoff) {
            (Some(law), _) => law.access(),
            (None, BackoffSpec::Dcf(params)) => params.access(),
            (None, BackoffSpec::Adaptive { .. }) => unreachable!("adaptive queues have a law"),
        }
    };
    let stream = |queue: &TransmitQueue| Stream::named(seed, &queue.name, "backoff");
    match spec.mac {
        MacSpec::Dcf { timing, rules } => {
            let contenders = queues.iter().map(|q| (q.node, access(q), stream(q))).collect();
            Air::Dcf(Box::new(DcfAir::new(&spec.medium, contenders, timing, rules)))
        }
        MacSpec::Ideal { holding } => {
            let links: Vec<Link> = queues.iter().map(|q| Link { from: q.node, to: q.next_hop }).collect();
            let conflicts: ConflictGraph = spec.medium.conflicts(&links);
            let links = queues.iter().map(|q| (q.node, access(q), holding, stream(q))).collect();
            Air::Ideal(Box::new(IdealAir::new(conflicts, links)))
        }
    }
}
