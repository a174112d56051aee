//! From the scenario's MAC and back-off law to those of the packet world.

use super::names::Names;
use crate::error::Mistake;
use crate::language::{ClockKind, HoldingLaw, MacKind, NodeQueuesTable, Preset, Scenario};
use crate::law;
use crate::resolved::{Mac, Radio};
use evenair_laws::Parameters;
use evenair_laws::backoff::{
    BackoffLaw, BackoffParams, DcfParams, EdcaParams, FullPacket, Holding, LinkRole, PhysicalLayer,
    QueueLengthParams, QueueingDelayParams, QueuesOf, Rendering, Scope, Space, Surroundings,
};
use evenair_netsim::{Clocks, MacSpec, NetworkSpec};
use evenair_topology::Link;
use evenair_units::{Bytes, Duration};
use evenair_wifi::Aggregation;
use std::collections::BTreeSet;

impl Scenario {
    /// `longest` is the propagation over the longest hop in use.
    pub(super) fn mac_spec(
        &self,
        mac: &Mac,
        radio: Option<&Radio>,
        longest: Duration,
    ) -> Result<MacSpec, Mistake> {
        let Some((timing, rules)) = mac.ieee80211 else { return Ok(MacSpec::Ideal) };
        let timing = self.mac.over(timing, longest)?;
        let is_qos = timing.phy.standard.format().is_some() || is_qos(&self.backoff);
        let timing = if is_qos { timing.qos() } else { timing };
        Ok(MacSpec::Dcf { timing, rules: radio.map_or(rules, |radio| radio.rules(rules)) })
    }

    /// The surroundings that a back-off law may depend on.
    pub(super) fn surroundings(
        &self,
        mac: &Mac,
        spec: &MacSpec,
        [payload, size]: [Bytes; 2],
        aggregation: Option<&Aggregation>,
    ) -> Surroundings {
        let packet = spec.packet(payload, size, mac.data_mode, aggregation);
        let FullPacket { bits, .. } = packet;
        let slot = match spec {
            MacSpec::Dcf { timing, .. } => timing.slot,
            MacSpec::Ideal => Surroundings::default().slot,
        };
        let holding = match self.mac.holding {
            Some(HoldingLaw::Exponential) => Holding::Exponential(bits),
            Some(HoldingLaw::Uniform) => Holding::Uniform(bits),
            Some(HoldingLaw::Packet) | None => Holding::Packet,
        };
        Surroundings {
            physical_layer: mac.phy().map_or(PhysicalLayer::Dsss, |phy| phy.standard.layer()),
            rendering: match self.preset {
                Preset::Standard | Preset::Ns3 => Rendering::Standard,
                Preset::Ns2 => Rendering::Ns2,
            },
            is_ideal: mac.is_ideal(),
            slot,
            packet,
            holding,
        }
    }

    /// Completes the back-off laws: that of all nodes, and those of some.
    pub(super) fn complete_backoffs(&mut self, surroundings: &Surroundings) -> Result<(), Mistake> {
        self.backoff = self.complete_backoff("backoff", &self.backoff, surroundings)?;
        let physical_layer = match self.mac.kind.format() {
            Some(_) => PhysicalLayer::Ofdm,
            None => PhysicalLayer::Dsss,
        };
        let of_older = Surroundings { physical_layer, ..*surroundings };
        for index in 0..self.queues.len() {
            let Some(law) = &self.queues[index].backoff else { continue };
            let is_older = |id: &String| self.nodes.iter().any(|node| node.id == *id && node.mac.is_some());
            let own = if self.queues[index].nodes.iter().any(is_older) { &of_older } else { surroundings };
            let complete = self.complete_backoff("backoff", law, own);
            self.queues[index].backoff = Some(complete.map_err(|mistake| mistake.within("queues", index))?);
        }
        Ok(())
    }

    /// The nodes that back off by another law than all; names have been checked.
    pub(super) fn node_backoffs(&self, names: &Names) -> Vec<(u32, BackoffParams)> {
        let own = self.queues.iter().filter_map(|table| Some((table, table.backoff.as_ref()?)));
        let nodes = own.flat_map(|(table, law)| table.nodes.iter().map(move |id| (id, law)));
        let number = |id: &String| names.number(id).unwrap_or(0);
        nodes.map(|(id, law)| (number(id), law.clone())).collect()
    }

    /// Stations of 802.11n and later contend by EDCA, where the scenario has no other law.
    pub(crate) fn default_to_edca(&mut self, mac: &Mac) {
        if mac.modulation().is_some() && self.backoff == BackoffParams::default() {
            self.backoff = EdcaParams::default().into();
        }
    }

    /// Gives older stations beside others tables of queues of their own, since they have the windows of their own physical layer, and
    /// those of 802.11a and g know no EDCA.
    pub(super) fn separate_older_stations(&mut self) {
        let older: BTreeSet<String> =
            self.nodes.iter().filter(|node| node.mac.is_some()).map(|node| node.id.clone()).collect();
        if older.is_empty() {
            return;
        }
        let is_dcf = self.mac.kind.format().is_some() && self.backoff == EdcaParams::default().into();
        let of_all = if is_dcf { BackoffParams::default() } else { self.backoff.clone() };
        let mut left = older.clone();
        let mut tables = Vec::new();
        for table in std::mem::take(&mut self.queues) {
            let (own, others): (Vec<_>, Vec<_>) =
                table.nodes.iter().cloned().partition(|node| older.contains(node));
            own.iter().for_each(|node| _ = left.remove(node));
            let backoff = table.backoff.clone().or_else(|| Some(of_all.clone()));
            if !others.is_empty() {
                tables.push(NodeQueuesTable { nodes: others, ..table.clone() });
            }
            if !own.is_empty() {
                tables.push(NodeQueuesTable { nodes: own, backoff, ..table });
            }
        }
        if !left.is_empty() {
            let (nodes, backoff) = (left.into_iter().collect(), Some(of_all));
            tables.push(NodeQueuesTable { nodes, backoff, ..NodeQueuesTable::default() });
        }
        self.queues = tables;
    }

    /// Whether some node's back-off law looks at its queue once in an interval.
    pub(crate) fn laws_have_intervals(&self) -> bool {
        let has_interval = |law: &BackoffParams| {
            law.begin(&LinkRole::data(Surroundings::default())).update_interval().is_some()
        };
        self.queues.iter().filter_map(|table| table.backoff.as_ref()).chain([&self.backoff]).any(has_interval)
    }

    /// The clocks of back-off laws; the default stands in the table only where a law has an interval.
    pub(super) fn clocks(&mut self) -> Clocks {
        if self.laws_have_intervals() {
            self.mac.clocks.get_or_insert(ClockKind::Common);
        }
        match self.mac.clocks {
            Some(ClockKind::Own) => Clocks::Own,
            Some(ClockKind::Common) | None => Clocks::Common,
        }
    }

    /// A back-off law, complete, where its MAC is; `table` is where it stands.
    fn complete_backoff(
        &self,
        table: &str,
        law: &BackoffParams,
        surroundings: &Surroundings,
    ) -> Result<BackoffParams, Mistake> {
        if is_qos(law) && (self.mac.kind == MacKind::Ideal || self.preset == Preset::Ns2) {
            let key = if contends_by_category(law) { "law" } else { "execution" };
            let why = "categories and TXOPs need 802.11 by the standard";
            return Err(Mistake::at(&format!("{table}.{key}"), why));
        }
        if let BackoffParams::Dcf(DcfParams { window_min: Some(0), .. }) = law
            && self.preset == Preset::Ns2
        {
            let why = "0 is not allowed: at least 1 slot, since ns-2's draw excludes the window's end";
            return Err(Mistake::at(&format!("{table}.window_min"), why));
        }
        if has_queue_of_node(law) && self.mac.kind == MacKind::Ideal {
            let why = "a queue for the node needs 802.11: over ideal CSMA each link has its own";
            return Err(Mistake::at(&format!("{table}.queues"), why));
        }
        law::complete(table, law.clone(), surroundings)
    }
}

/// Whether a law that is made for links is told to have a queue for the node.
fn has_queue_of_node(law: &BackoffParams) -> bool {
    let queues = match law {
        BackoffParams::QueueingDelay(QueueingDelayParams { queues, .. })
        | BackoffParams::QueueLength(QueueLengthParams { queues, .. }) => *queues,
        _ => QueuesOf::PerNextHop,
    };
    queues == QueuesOf::PerNode
}

/// Whether a back-off law has a queue per access category.
fn contends_by_category(law: &BackoffParams) -> bool {
    law.begin(&LinkRole::data(Surroundings::default())).scope() == Scope::Category
}

/// Whether a back-off law has the spaces and TXOPs of 802.11e.
fn is_qos(law: &BackoffParams) -> bool {
    matches!(law.begin(&LinkRole::data(Surroundings::default())).space(), Space::Aifs { .. })
}

/// Airtime of one packet and its link-layer acknowledgement on a link, inter-frame spaces counted, back-off not; where packets share
/// frames, its part of the largest aggregate's.
pub(crate) fn airtime(network: &NetworkSpec, link: Link, size: Bytes) -> Duration {
    let mode = network.sustained_mode(link.from, link.to);
    let limits = network.aggregation.as_ref().map(|staging| &staging.limits);
    network.mac_between(link.from, link.to).packet(size, size, mode, limits).exchange
}
