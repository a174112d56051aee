//! The records of a scenario's runs, by the names and nodes that a verdict looks for.

use crate::record::RunRecord;
use evenair_netsim::{LinkResult, MacSpec};
use evenair_scenario::Resolved;
use evenair_topology::Hearing;
use evenair_wifi::BROADCAST;
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// Runs, and where in them to find a queue or a node: a network may have ten thousand of both.
pub(super) struct Records<'a> {
    pub(super) scenario: &'a Resolved,
    pub(super) runs: &'a [RunRecord],
    /// Of each run the place of each queue, by its name.
    queues: Vec<BTreeMap<&'a str, usize>>,
    /// Of each run the place of a node's first queue of several, by the node's name.
    first_of_several: Vec<BTreeMap<&'a str, usize>>,
    /// Frames of all runs, by the sender's name.
    frames: BTreeMap<&'a str, u64>,
    /// The nodes that reach each node.
    reaching: Vec<Vec<u32>>,
}

impl<'a> Records<'a> {
    pub(super) fn of(scenario: &'a Resolved, runs: &'a [RunRecord]) -> Self {
        let mut all = Self {
            scenario,
            runs,
            queues: vec![BTreeMap::new(); runs.len()],
            first_of_several: vec![BTreeMap::new(); runs.len()],
            frames: BTreeMap::new(),
            reaching: vec![Vec::new(); scenario.network().nodes.len()],
        };
        for (number, run) in runs.iter().enumerate() {
            for (place, link) in run.links.iter().enumerate() {
                all.queues[number].entry(&link.queue).or_insert(place);
                if let Some((node, _)) = link.queue.rsplit_once('/') {
                    all.first_of_several[number].entry(node).or_insert(place);
                }
                let sender = link.queue.split(['>', '/']).next().unwrap_or_default();
                *all.frames.entry(sender).or_default() += link.attempts + link.requests;
            }
        }
        let medium = &scenario.network().medium;
        for node in 0..medium.nodes() {
            medium.hearers(node).iter().for_each(|ear| all.reaching[ear.node as usize].push(node as u32));
        }
        all
    }

    /// Of each run the queue that serves a hop: the flow's own at its source; else the node's, or that of the next hop, on the air or on
    /// a wire.
    pub(super) fn queues_of(&self, own: Option<&str>, from: &str, to: &str) -> Vec<&'a LinkResult> {
        let (on_air, on_wire) = (format!("{from}>{to}"), format!("{from}-{to}"));
        let names = || own.into_iter().chain([on_air.as_str(), &on_wire, from]);
        let of_run = |(number, run): (usize, &'a RunRecord)| {
            let named = names().find_map(|name| self.queues[number].get(name));
            let place = named.or_else(|| self.first_of_several[number].get(from))?;
            Some(&run.links[*place])
        };
        self.runs.iter().enumerate().filter_map(of_run).collect()
    }

    /// Nodes that transmit, reach the receiver of a hop and are not sensed by its sender: so many of them that send most frames, these first.
    pub(super) fn hidden(&self, from: u32, to: u32, most: usize) -> Vec<String> {
        let network = self.scenario.network();
        if network.mac == MacSpec::Ideal || to == BROADCAST {
            return Vec::new();
        }
        let is_sensed =
            |node: u32| network.medium.hearing(node as usize, from as usize).is_some_and(Hearing::is_sensed);
        let frames = |node: u32| self.frames.get(network.name(node)).copied().unwrap_or(0);
        let others = self.reaching[to as usize].iter().filter(|&&node| node != from && !is_sensed(node));
        let mut found: Vec<(u64, u32)> =
            others.map(|&node| (frames(node), node)).filter(|(frames, _)| *frames > 0).collect();
        found.sort_by_key(|&(frames, node)| (Reverse(frames), node));
        found.into_iter().take(most).map(|(_, node)| network.name(node).into()).collect()
    }
}
