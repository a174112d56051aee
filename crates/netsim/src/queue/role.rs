//! The facts that disciplines are told of the place that they are put in.

use crate::spec::{FlowSpec, MacSpec, NetworkSpec, Per};
use evenair_laws::marking::QueueRole;
use evenair_units::{Bytes, Duration, Rate};
use evenair_wifi::{BROADCAST, Mode};
use std::collections::BTreeMap;
use std::sync::Arc;

/// A discipline's knowledge of its queue.
#[derive(Clone, Debug)]
pub struct DisciplineRole {
    /// The queue.
    pub queue: QueueRole,
    /// The flows that may come.
    pub flows: Flows,
    /// How long packets keep the air busy.
    pub airtimes: Airtimes,
}

/// A queue of which nothing else is known: every flow is its own, and has the same weight.
impl From<QueueRole> for DisciplineRole {
    fn from(queue: QueueRole) -> Self {
        Self { queue, flows: Flows::default(), airtimes: Airtimes::of_wire(queue.rate) }
    }
}

/// A flow in one direction.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FlowFacts {
    /// Its weight.
    pub weight: f64,
    /// The node that its packets come from.
    pub from: u32,
    /// The node that they go to.
    pub to: u32,
}

/// Facts of flows, by their numbers; and which of them are as one to a queue.
#[derive(Clone, Debug, Default)]
pub struct Flows {
    facts: Arc<[FlowFacts]>,
    /// The group of each flow; none where each is its own.
    groups: Option<Arc<[u32]>>,
}

impl Flows {
    /// The flows, those that the numbers begin with.
    pub fn new(flows: &[FlowFacts]) -> Self {
        Self { facts: flows.into(), groups: None }
    }

    /// The same flows with those of a group as one: `groups` has a small number by flow, such as a node's. A group has the
    /// weight of its heaviest flow: more flows do not make it heavier.
    pub fn grouped(&self, groups: &[u32]) -> Self {
        let mut weights: BTreeMap<u32, f64> = BTreeMap::new();
        for (group, flow) in groups.iter().zip(self.facts.iter()) {
            let weight = weights.entry(*group).or_insert(flow.weight);
            *weight = weight.max(flow.weight);
        }
        let as_one = |(flow, group): (&FlowFacts, &u32)| FlowFacts { weight: weights[group], ..*flow };
        let facts = self.facts.iter().zip(groups).map(as_one).collect();
        Self { facts, groups: Some(groups.into()) }
    }

    /// The same flows, each its own again.
    pub(crate) fn apart(&self) -> Self {
        Self { facts: self.facts.clone(), groups: None }
    }

    /// The key by which a queue tells flows apart: the group of this one. An unknown flow is its own group.
    #[inline]
    pub fn key(&self, flow: u32) -> u32 {
        let Some(groups) = &self.groups else { return flow };
        groups.get(flow as usize).copied().unwrap_or(u32::MAX - flow)
    }

    /// The flows of a network, as the queues of a node tell them apart.
    pub(crate) fn at(&self, spec: &NetworkSpec, node: u32, per: Per) -> Self {
        match per {
            Per::Flow => self.clone(),
            Per::Subscriber => {
                let of = |flow: &FlowSpec| [spec.subscriber_at(node, &flow.path); 2];
                self.grouped(&spec.flows.iter().flat_map(of).collect::<Vec<_>>())
            }
        }
    }

    /// The flows of a network: of each the way there, then the way back.
    pub(crate) fn of(flows: &[FlowSpec]) -> Self {
        let ways = flows.iter().flat_map(|flow| {
            let (from, to) = (flow.path[0], *flow.path.last().expect("a flow has a path"));
            let there = FlowFacts { weight: flow.weight, from, to };
            [there, FlowFacts { from: to, to: from, ..there }]
        });
        Self { facts: ways.collect(), groups: None }
    }

    /// A flow; one of which nothing is known has no host in common with others.
    pub(crate) fn get(&self, flow: u32) -> FlowFacts {
        let unknown = FlowFacts { weight: 1.0, from: u32::MAX - flow, to: u32::MAX - flow };
        self.facts.get(flow as usize).copied().unwrap_or(unknown)
    }
}

/// How long packets keep the medium busy.
#[derive(Clone, Debug)]
pub struct Airtimes {
    pub(crate) mac: MacSpec,
    pub(crate) mode: Mode,
    /// Next hops with a mode of their own.
    pub(crate) modes: BTreeMap<u32, Mode>,
    /// Next hops to which frames have another header than to most.
    pub(crate) macs: BTreeMap<u32, MacSpec>,
    /// The air tells of each attempt; else a packet is sent once.
    pub(crate) per_attempt: bool,
}

impl Airtimes {
    /// The flows of a node of the air.
    pub(crate) fn of_node(spec: &NetworkSpec, node: u32) -> Self {
        let own = spec.rates.iter().filter(|link| link.from == node);
        let differs = |&(_, mac): &(u32, MacSpec)| mac != spec.mac;
        let macs = if spec.node_backoffs.is_empty() && spec.receivers.of_ofdm.is_empty() {
            BTreeMap::new()
        } else {
            let hearers = spec.medium.hearers(node as usize).iter().map(|ear| ear.node);
            hearers.chain([BROADCAST]).map(|to| (to, spec.mac_between(node, to))).filter(differs).collect()
        };
        Self {
            mac: spec.mac,
            mode: spec.data_mode,
            modes: own.map(|link| (link.to, link.mode)).collect(),
            macs,
            per_attempt: matches!(spec.mac, MacSpec::Dcf { .. }),
        }
    }

    /// The flows of a wire.
    pub(crate) const fn of_wire(rate: Rate) -> Self {
        Self {
            mac: MacSpec::Ideal,
            mode: Mode::at(rate),
            modes: BTreeMap::new(),
            macs: BTreeMap::new(),
            per_attempt: false,
        }
    }

    /// One attempt to send so much to this next hop, with all that the MAC adds.
    pub(crate) fn of(&self, next_hop: u32, size: u32) -> Duration {
        let mode = self.modes.get(&next_hop).copied().unwrap_or(self.mode);
        let size = Bytes::new(size);
        match self.macs.get(&next_hop).unwrap_or(&self.mac) {
            MacSpec::Dcf { timing, .. } if next_hop == BROADCAST => timing.group_exchange(size),
            MacSpec::Dcf { timing, .. } => timing.exchange(size, mode),
            MacSpec::Ideal => mode.rate().time_for(size),
        }
    }
}
