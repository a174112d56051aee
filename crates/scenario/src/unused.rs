//! The parts of a scenario without effect: each with its remedy.

use crate::language::{Scenario, TrafficKind};
use crate::resolved::Resolved;
use evenair_laws::backoff::BackoffParams;
use evenair_units::Instant;
use evenair_wifi::BROADCAST;
use std::collections::BTreeSet;

/// The number of names that are said; of more how many there are.
const NAMES_MAX: usize = 5;

impl Scenario {
    /// Tables that no flow looks at.
    pub(crate) fn unused(&self) -> Vec<String> {
        let any = |kinds: &[TrafficKind]| self.flows.iter().any(|flow| kinds.contains(&flow.traffic));
        let mut found = Vec::new();
        let mut unless = |used: bool, given: bool, what: &str| {
            if given && !used {
                found.push(what.to_string());
            }
        };
        let by_law = |flow: &crate::FlowTable| flow.traffic == TrafficKind::Rated && flow.rate_law.is_none();
        unless(
            self.flows.iter().any(by_law),
            self.rate_law.is_some(),
            "[rate_law] has no effect: no flow has traffic = \"rated\" and no rate_law of its own; remove it, or make a flow rated",
        );
        unless(
            any(&[TrafficKind::Tfrc]),
            self.tfrc.is_some(),
            "[tfrc] has no effect: no flow has traffic = \"tfrc\"; remove it, or give a flow that traffic",
        );
        let connects = [TrafficKind::Tcp, TrafficKind::Tfrc];
        unless(
            self.flows.iter().any(|flow| connects.contains(&flow.traffic) && flow.connections.is_none()),
            // The fixed point of A-CSMA's laws is theirs, for any traffic.
            self.connections.is_some() && !matches!(self.backoff, BackoffParams::Adaptive(_)),
            "[connections] has no effect: no flow of TCP or TFRC looks at it, each other one has its own or sends datagrams; remove it",
        );
        unless(
            self.flows.iter().any(|flow| flow.start_jitter.is_none()),
            self.start_jitter.is_some() && !self.flows.is_empty(),
            "start_jitter has no effect: every flow has its own; remove it",
        );
        unless(
            self.laws_have_intervals(),
            self.mac.clocks.is_some(),
            "mac.clocks has no effect: no back-off law has an interval; remove it",
        );
        found
    }
}

impl Resolved {
    /// Entries that no packet meets, and instants that the run does not reach.
    pub(crate) fn without_effect(&self) -> Vec<String> {
        // A network without traffic is there to be looked at: nothing in it has an effect.
        if self.network.flows.is_empty() && self.network.routes.is_empty() {
            return Vec::new();
        }
        let carried = self.carried();
        let mut found = self.unused.clone();
        found.extend(self.beyond_the_run());
        found.extend(self.idle_pairs(&carried));
        found.extend(self.idle_places(&carried));
        let network = &self.network;
        let on_wire = |pair: &(u32, u32)| network.wires.iter().any(|wire| (wire.from, wire.to) == *pair);
        if carried.iter().all(on_wire) && !matches!(self.settings.backoff, BackoffParams::Dcf(_)) {
            let broadcasts = network.flows.iter().any(|flow| flow.path.contains(&BROADCAST));
            let what = "[backoff] has no effect: nothing crosses the air; remove it";
            found.extend((!broadcasts).then(|| what.to_string()));
        }
        found
    }

    /// The pairs of nodes between which packets go, either way.
    fn carried(&self) -> BTreeSet<(u32, u32)> {
        let mut pairs = BTreeSet::new();
        let network = &self.network;
        let paths = network.flows.iter().map(|flow| &flow.path).chain(&network.routes);
        for hop in paths.flat_map(|path| path.windows(2)) {
            if hop[1] == BROADCAST {
                let nodes = 0..network.nodes.len() as u32;
                let hears = |to: &u32| network.medium.hearing(hop[0] as usize, *to as usize).is_some();
                pairs.extend(nodes.filter(hears).flat_map(|to| [(hop[0], to), (to, hop[0])]));
            } else {
                pairs.extend([(hop[0], hop[1]), (hop[1], hop[0])]);
            }
        }
        pairs
    }

    fn beyond_the_run(&self) -> Vec<String> {
        let settings = &self.settings;
        let (warmup, end) = (settings.warmup.0, settings.warmup.0 + settings.duration.0);
        let mut found = Vec::new();
        // One that is written is meant.
        if warmup > settings.duration.0 && warmup == crate::language::WARMUP {
            found.push(format!(
                "warmup = \"{warmup}\" is longer than the {} that are measured after it: make it shorter, or duration longer",
                settings.duration
            ));
        }
        for flow in &self.network.flows {
            let stretches = &flow.active;
            let (first, last) = (stretches.first().map(|s| s.0), stretches.last().map(|s| s.1));
            if first.is_some_and(|start| start >= Instant::ZERO + end) {
                found.push(format!(
                    "flow \"{}\" never sends: it starts when the run is over, which ends at {end}; start it earlier, or make duration longer",
                    flow.name
                ));
            } else if last.is_some_and(|stop| stop <= Instant::ZERO + warmup) {
                found.push(format!(
                    "nothing is measured of flow \"{}\": it stops before the warm-up of {warmup} is over; stop it later, or make warmup shorter",
                    flow.name
                ));
            }
        }
        let late = settings.tracks.iter().filter_map(|track| Some((track, track.points.first()?.time)));
        for (track, start) in late.filter(|(_, start)| start.0 >= end) {
            found.push(format!(
                "node \"{}\" never moves: its track begins at {start}, and the run ends at {end}; begin it earlier, or make duration longer",
                track.node
            ));
        }
        for (index, loss) in settings.losses.iter().enumerate().filter(|(_, loss)| loss.start.0 >= end) {
            let start = loss.start;
            found.push(format!(
                "losses[{index}] has no effect: it starts at {start}, and the run ends at {end}"
            ));
        }
        found
    }

    /// Losses, rates and wires between nodes between which nothing goes.
    fn idle_pairs(&self, carried: &BTreeSet<(u32, u32)>) -> Vec<String> {
        let number = |id: &str| self.network.nodes.iter().position(|name| name == id).map_or(0, |i| i as u32);
        let idle = |from: &str, to: &str| !carried.contains(&(number(from), number(to)));
        let settings = &self.settings;
        let losses = settings.losses.iter().map(|entry| ("losses", &entry.from, &entry.to)).enumerate();
        let rates = settings.rates.iter().map(|entry| ("rates", &entry.from, &entry.to)).enumerate();
        let wires = settings.wires.iter().map(|entry| ("wires", &entry.from, &entry.to)).enumerate();
        let unmet = losses.chain(rates).chain(wires).filter(|(_, (_, from, to))| idle(from, to));
        let what = |(index, (table, from, to)): (usize, (&str, &String, &String))| {
            format!("{table}[{index}] has no effect: nothing goes between \"{from}\" and \"{to}\"")
        };
        unmet.map(what).collect()
    }

    /// Links and queues without any packets; a node may well stand on a map for nothing.
    fn idle_places(&self, carried: &BTreeSet<(u32, u32)>) -> Vec<String> {
        let busy: BTreeSet<u32> = carried.iter().map(|&(node, _)| node).collect();
        let names = &self.network.nodes;
        let settings = &self.settings;
        let number = |id: &String| names.iter().position(|name| name == id).map_or(0, |i| i as u32);
        let crossed = |from: &String, to: &String| carried.contains(&(number(from), number(to)));
        let unused = settings.links.here().iter().filter(|link| !crossed(&link.from, &link.to));
        let unused: Vec<&str> = unused.map(|link| link.id.as_str()).collect();
        let mut found = Vec::new();
        if !unused.is_empty() {
            found.push(format!("nothing crosses link {}", listed(&unused)));
        }
        // Stations of 802.11b beside 802.11g have a table of their own, whether it was written or not.
        let is_b = |id: &String| settings.nodes.iter().any(|node| node.id == *id && node.mac.is_some());
        for (index, table) in settings.queues.iter().enumerate() {
            let silent = table.nodes.iter().filter(|id| !busy.contains(&number(id)) && !is_b(id));
            let silent: Vec<&str> = silent.map(String::as_str).collect();
            if !silent.is_empty() {
                found.push(format!(
                    "queues[{index}] has no effect at node {}: it sends nothing",
                    listed(&silent)
                ));
            }
        }
        found
    }
}

fn listed(names: &[&str]) -> String {
    match names.len() {
        0..=NAMES_MAX => names.join(", "),
        n => format!("{} and {} more", names[..NAMES_MAX].join(", "), n - NAMES_MAX),
    }
}
