//! A scenario with nothing left open. Each file has the meaning of a table: the defaults, which are written into it, the checks,
//! and its part of the packet world.

mod aggregation;
mod errors;
mod fading;
mod flow;
mod fluid;
mod gateway;
mod mac;
mod mobility;
mod modulation;
mod queue;
mod radio;
mod tcp;
mod web;
mod wire;

pub(crate) use flow::{ALPHA, Wrong};
pub(crate) use mac::{COVERAGE_CLASS_MAX, Mac};
pub(crate) use mobility::position;
pub(crate) use radio::Radio;

use crate::build::{Layout, node_number};
use crate::error::Mistake;
use crate::language::{Scenario, TrafficKind, UtilityTable};
use crate::law;
use crate::quantity::Size;
use crate::read::Needs;
use evenair_laws::Parameters;
use evenair_laws::backoff::BackoffParams;
use evenair_laws::connections::ConnectionLaw;
use evenair_laws::flow::{FlowRole, Signal};
use evenair_laws::rate::tfrc::TfrcParams;
use evenair_netsim::{NetworkSpec, ProbeSpec, QueueSpec, RunSpec, Staging, TcpSpec};
use evenair_units::Bytes;
use serde::{Serialize, Serializer};
use std::path::Path;

/// A scenario that says all that it depends on, and is consistent: every default is written out, every name is that of
/// something, the packet world is built.
///
/// It is not changed: change [`Resolved::written_out`] and resolve that.
#[derive(Clone, Debug)]
pub struct Resolved {
    pub(crate) settings: Scenario,
    pub(crate) layout: Layout,
    pub(crate) network: NetworkSpec,
    /// The settings that no flow looks at.
    pub(crate) unused: Vec<String>,
}

/// The parts of the packet world, beside the scenario with all its defaults.
pub(crate) struct Parts {
    pub(crate) radio: Option<Radio>,
    pub(crate) mac: Mac,
    /// How packets share frames.
    pub(crate) aggregation: Option<Staging>,
    /// The queues of the air of nodes that say nothing of their own.
    pub(crate) queue: QueueSpec,
    /// The endpoints of flows that say nothing of their own.
    pub(crate) tcp: TcpSpec,
}

impl Scenario {
    /// Writes every default out, checks everything and builds the packet world.
    /// Files that it names are looked for in `folder`.
    pub(crate) fn complete(mut self, folder: &Path, needs: Needs) -> Result<Resolved, Mistake> {
        let preset = self.preset;
        self.read_lists(folder)?;
        let is_beside = self.has_older_stations()?;
        let mac = self.mac.complete(preset, is_beside)?;
        self.default_to_edca(&mac);
        let widths = self.widths(&mac);
        let radio = self.radio.as_mut().map(|radio| radio.complete(preset, &mac, &widths)).transpose()?;
        self.generate(radio.as_ref())?;
        self.complete_mobility()?;
        self.check(needs)?;
        let unused = self.unused();
        law::complete_any("drop", &mut self.drop)?;
        law::complete_any("connections", &mut self.connections)?;
        let queue = self.air_queue()?;
        let probes = self.probes()?;
        self.tfrc = self.tfrc()?;
        let come_and_go = self.connections.is_some() || self.flows.iter().any(|f| f.connections.is_some());
        self.flows.iter_mut().for_each(|flow| flow.complete_acknowledgements(&self.tcp));
        let tcp = self.tcp.complete(preset, come_and_go, probes)?;
        let adaptive = matches!(self.backoff, BackoffParams::Adaptive(_));
        self.fluid.as_mut().map(|fluid| fluid.complete(adaptive)).transpose()?;
        self.utility.as_mut().map(UtilityTable::complete).transpose()?;
        let aggregation = self.aggregation(&mac)?;
        Ok(Resolved { unused, ..self.build(Parts { radio, mac, aggregation, queue, tcp })? })
    }

    /// The queues of the air, which have room for `mac.queue`.
    fn air_queue(&mut self) -> Result<QueueSpec, Mistake> {
        let mut table = self.queue.unwrap_or_default();
        if table.limit.is_some() && self.mac.queue.is_some() {
            return Err(Mistake::at("queue.limit", "mac.queue gives it already; keep one of them"));
        }
        let room = self.mac.queue.is_some();
        table.limit = table.limit.or(self.mac.queue);
        let queue = table.complete(self.drop.clone()).map_err(|(key, why)| match key {
            "limit" if room => Mistake::at("mac.queue", why),
            key => Mistake::at(&format!("queue.{key}"), why),
        })?;
        self.mac.queue = table.limit.take();
        self.queue = self.queue.map(|_| table);
        Ok(queue)
    }

    /// TFRC's endpoints, written out where any flow has them.
    fn tfrc(&self) -> Result<Option<TfrcParams>, Mistake> {
        let params = law::complete("tfrc", self.tfrc.unwrap_or_default(), &())?;
        let mut flows = self.flows.iter().filter(|flow| flow.traffic == TrafficKind::Tfrc).peekable();
        let any = flows.peek().is_some();
        if any && params.aggregate && !flows.any(|f| self.connections.is_some() || f.connections.is_some()) {
            let why = "needs a law of connections, which defines a connection's value: add [connections], or remove this";
            return Err(Mistake::at("tfrc.aggregate", why));
        }
        Ok(any.then_some(params))
    }

    /// How paths are probed, written out where any is.
    fn probes(&mut self) -> Result<ProbeSpec, Mistake> {
        let role = FlowRole { payload: Bytes::new(1) };
        let laws = self.connections.iter().chain(self.flows.iter().filter_map(|f| f.connections.as_ref()));
        let probed = laws.flat_map(|law| law.begin(&role).needs()).any(|s| s == Signal::RoundTripOfProbes);
        if self.probes.is_some() && !probed {
            let why = "no law of connections uses probes: set its samples = \"probes\"";
            return Err(Mistake::at("probes", why));
        }
        let mut table = self.probes.unwrap_or_default();
        let size = table.size.get_or_insert(Size(ProbeSpec::default().size)).0;
        if size.count() == 0 {
            return Err(Mistake::at("probes.size", "must be at least 1 byte"));
        }
        if table.most_per_second.is_some_and(|rate| !(rate > 0.0 && rate.is_finite())) {
            return Err(Mistake::at("probes.most_per_second", "must be above 0"));
        }
        self.probes = probed.then_some(table);
        Ok(ProbeSpec { size, most_per_second: table.most_per_second })
    }
}

impl Resolved {
    /// Every setting: the scenario as if every default had been written.
    pub fn settings(&self) -> &Scenario {
        &self.settings
    }

    /// The places of nodes, the links with data, and the conflicts.
    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    /// The packet world.
    pub fn network(&self) -> &NetworkSpec {
        &self.network
    }

    /// The number of the node that has this name.
    ///
    /// # Errors
    /// If there is none: names the nodes that there are, or one that is spelt alike.
    pub fn node(&self, id: &str) -> Result<u32, String> {
        node_number(id, &self.network.nodes)
    }

    /// One run of the packet world, without any measurement that costs.
    pub fn run_spec(&self, seed: u64) -> RunSpec {
        RunSpec {
            seed,
            warmup: self.settings.warmup.0,
            duration: self.settings.duration.0,
            sample_every: None,
            times: false,
            ledger: false,
            timeline: None,
        }
    }
}

impl PartialEq for Resolved {
    /// Layout and network follow from the settings.
    fn eq(&self, other: &Self) -> bool {
        self.settings == other.settings
    }
}

impl Serialize for Resolved {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.settings.serialize(serializer)
    }
}
