//! A scenario with nothing left open.

mod flow;
mod fluid;
mod gateway;
mod mac;
mod queue;
mod radio;
mod tcp;
mod web;

pub(crate) use flow::ALPHA;
pub use flow::{Activity, Pace, ResolvedFlow, ResolvedUtility, Sends};
pub use fluid::ResolvedFluid;
pub use gateway::{ResolvedGateway, ResolvedSourceLimit};
pub use mac::{Distance, Ieee80211, MacRules, ResolvedMac};
pub use queue::{ResolvedDiscipline, ResolvedQueue};
pub use radio::{Interference, PropagationLaw, ResolvedRadio};
pub use web::ResolvedWeb;

use crate::build::{Layout, packet_size};
use crate::error::Mistake;
use crate::language::{
    LinkTable, LossTable, MacTable, NodeQueuesTable, NodeTable, Preset, ProbesTable, RateTable, ResolvedTcp,
    Scenario, SignalTable, TrafficKind, UtilityTable, WireQueue, WireTable,
};
use crate::law;
use crate::quantity::{Size, Time};
use evenair_laws::Parameters;
use evenair_laws::backoff::BackoffParams;
use evenair_laws::connections::{ConnectionLaw, ConnectionParams};
use evenair_laws::flow::{FlowRole, Signal};
use evenair_laws::marking::MarkingParams;
use evenair_laws::rate::tfrc::TfrcParams;
use evenair_netsim::{NetworkSpec, ProbeSpec, RunSpec};
use evenair_units::Bytes;
use serde::{Serialize, Serializer};
use std::path::Path;

/// A scenario that says all that it depends on, and is consistent: every default is written out, every name is that of
/// something, the packet world is built.
///
/// It is written with the keys of [`Scenario`], and reads back as the same. It is not changed: change
/// [`Resolved::written_out`] and resolve that.
#[derive(Clone, Debug)]
pub struct Resolved {
    pub(crate) settings: Settings,
    pub(crate) layout: Layout,
    pub(crate) network: NetworkSpec,
    /// What was written that no flow looks at.
    pub(crate) unused: Vec<String>,
}

/// Every setting of a scenario.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Settings {
    /// What it is called.
    pub name: String,
    /// What it shows.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub description: String,
    /// Where defaults came from.
    pub preset: Preset,
    /// How long is measured.
    pub duration: Time,
    /// What happens before this counts for nothing.
    pub warmup: Time,
    /// Seed of the random streams.
    pub seed: u64,
    /// The radio, where nodes stand somewhere or receive each other with powers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub radio: Option<ResolvedRadio>,
    /// Medium access.
    pub mac: ResolvedMac,
    /// How long transmitters back off.
    #[serde(serialize_with = "law::write")]
    pub backoff: BackoffParams,
    /// The transmit queues of the air; they have room for `mac.queue`. First in, first out, if it is not said.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub queue: Option<ResolvedDiscipline>,
    /// The queues of the air of some nodes, where they are not those of all.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub queues: Vec<NodeQueuesTable>,
    /// What queues drop beside what does not fit.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "law::write_any")]
    pub drop: Option<MarkingParams>,
    /// TCP endpoints.
    pub tcp: ResolvedTcp,
    /// How many connections each flow keeps; one, if it is not said.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "law::write_any")]
    pub connections: Option<ConnectionParams>,
    /// TFRC's endpoints, where a flow has them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tfrc: Option<TfrcParams>,
    /// How paths are probed, where the law of connections looks at probes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub probes: Option<ProbesTable>,
    /// The gateway's shaper.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gateway: Option<ResolvedGateway>,
    /// Sources that hold their data back.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source_limit: Option<ResolvedSourceLimit>,
    /// The fluid model.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fluid: Option<ResolvedFluid>,
    /// Nodes, those placed by rule too.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub nodes: Vec<NodeTable>,
    /// How strongly nodes without positions receive each other.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub signals: Vec<SignalTable>,
    /// Links, where they are given outright.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub links: Vec<LinkTable>,
    /// Pairs of links that may not transmit at once, where they are given outright.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub conflicts: Vec<[String; 2]>,
    /// Wired links.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub wires: Vec<WireTable>,
    /// Nodes at which packets come in from outside the simulation and go out to it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub outside: Vec<String>,
    /// Links of the air with a rate of their own.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub rates: Vec<RateTable>,
    /// Links that lose what nothing else spoils.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub losses: Vec<LossTable>,
    /// The flows' own utilities.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub utility: Option<ResolvedUtility>,
    /// Flows, those made by rule too.
    pub flows: Vec<ResolvedFlow>,
}

impl Scenario {
    /// Writes every default out, checks everything and builds the packet world.
    /// What it has in files is looked for in `folder`.
    pub(crate) fn complete(mut self, folder: &Path) -> Result<Resolved, Mistake> {
        let preset = self.preset;
        self.read_lists(folder)?;
        let radio = self.radio.map(|radio| radio.resolve(preset)).transpose()?;
        self.generate(radio.as_ref())?;
        self.check()?;
        let unused = self.unused();
        let queue = self.queue()?;
        let mac = MacTable { queue: self.mac.queue.or(queue.map(|queue| queue.limit)), ..self.mac };
        let mac = mac.resolve(preset)?;
        self.complete_wires()?;
        self.complete_queues()?;
        let probes = self.probes()?;
        let tfrc = self.tfrc()?;
        let come_and_go = self.connections.is_some() || self.flows.iter().any(|f| f.connections.is_some());
        let tcp = self.tcp.resolve(preset, come_and_go)?;
        let adaptive = matches!(self.backoff, BackoffParams::Adaptive(_));
        let mut flows = Vec::new();
        let rate_law = self.rate_law.map(|law| law::complete("rate_law", law, &())).transpose()?;
        for (index, mut flow) in self.flows.into_iter().enumerate() {
            flow.start_jitter = flow.start_jitter.or(self.start_jitter);
            flow.complete_laws(rate_law.as_ref()).map_err(|mistake| mistake.within("flows", index))?;
            let several = self.connections.is_some() || flow.connections.is_some();
            if flow.application_rate.is_some() && several {
                let why = "paces one connection; several share their data in no way that is defined here";
                return Err(Mistake::entry("flows", index, "application_rate", why));
            }
            if flow.transfer.is_some_and(|amount| amount.packets_of(tcp.payload.0) > u64::from(u32::MAX)) {
                let why = format!(
                    "is more than {} segments of tcp.payload; leave it out for a flow without end",
                    u32::MAX
                );
                return Err(Mistake::entry("flows", index, "transfer", why));
            }
            let flow = flow.resolve(index, mac.is_ideal());
            flows.push(flow.map_err(|(key, why)| Mistake::entry("flows", index, key, why))?);
        }
        let packet = packet_size(&tcp, &flows);
        let settings = Settings {
            name: self.name,
            description: self.description,
            preset,
            duration: self.duration,
            warmup: self.warmup,
            seed: self.seed,
            radio,
            backoff: self.backoff,
            mac,
            queue: queue.map(|queue| queue.discipline),
            queues: self.queues,
            drop: self.drop.map(|law| law::complete("drop", law, &())).transpose()?,
            tcp,
            connections: self.connections.map(|law| law::complete("connections", law, &())).transpose()?,
            probes,
            tfrc,
            gateway: self.gateway.map(|gateway| gateway.resolve(packet)).transpose()?,
            source_limit: self.source_limit.map(|limit| limit.resolve(packet)).transpose()?,
            fluid: self.fluid.map(|fluid| fluid.resolve(adaptive)).transpose()?,
            nodes: self.nodes,
            signals: self.signals,
            links: self.links.into_here(),
            conflicts: self.conflicts.into_here(),
            wires: self.wires,
            outside: self.outside,
            rates: self.rates,
            losses: self.losses,
            utility: self.utility.map(UtilityTable::resolve).transpose()?,
            flows,
        };
        Ok(Resolved { unused, ..settings.build()? })
    }
}

impl Scenario {
    fn queue(&self) -> Result<Option<ResolvedQueue>, Mistake> {
        let Some(table) = self.queue else { return Ok(None) };
        if table.limit.is_some() && self.mac.queue.is_some() {
            return Err(Mistake::at("queue.limit", "mac.queue says it already; keep one of them"));
        }
        let wrong = |(key, why): (&str, String)| Mistake::at(&format!("queue.{key}"), why);
        table.resolve().map(Some).map_err(wrong)
    }

    /// TFRC's endpoints, written out where any flow has them.
    fn tfrc(&self) -> Result<Option<TfrcParams>, Mistake> {
        let params = law::complete("tfrc", self.tfrc.unwrap_or_default(), &())?;
        let mut flows = self.flows.iter().filter(|flow| flow.traffic == TrafficKind::Tfrc).peekable();
        let any = flows.peek().is_some();
        if any && params.aggregate && !flows.any(|f| self.connections.is_some() || f.connections.is_some()) {
            let why = "one connection is worth what a law of connections says: add [connections], or leave this out";
            return Err(Mistake::at("tfrc.aggregate", why));
        }
        Ok(any.then_some(params))
    }

    /// How paths are probed, written out where any is.
    fn probes(&self) -> Result<Option<ProbesTable>, Mistake> {
        let role = FlowRole { payload: Bytes::new(1) };
        let laws = self.connections.iter().chain(self.flows.iter().filter_map(|f| f.connections.as_ref()));
        let probed = laws.flat_map(|law| law.begin(&role).needs()).any(|s| s == Signal::RoundTripOfProbes);
        let table = self.probes.unwrap_or_default();
        if self.probes.is_some() && !probed {
            let why = "no law of connections looks at probes: set its samples = \"probes\"";
            return Err(Mistake::at("probes", why));
        }
        let size = table.size.unwrap_or(Size(ProbeSpec::default().size));
        if size.0.count() == 0 {
            return Err(Mistake::at("probes.size", "must be at least 1 byte"));
        }
        if table.most_per_second.is_some_and(|rate| !(rate > 0.0 && rate.is_finite())) {
            return Err(Mistake::at("probes.most_per_second", "must be above 0"));
        }
        Ok(probed.then_some(ProbesTable { size: Some(size), ..table }))
    }

    fn complete_wires(&mut self) -> Result<(), Mistake> {
        for (index, wire) in self.wires.iter_mut().enumerate() {
            let instants: Vec<_> = wire.delay_changes.iter().map(|[at, _]| at.0).collect();
            if !instants.is_sorted() {
                return Err(Mistake::entry("wires", index, "delay_changes", "must be in the order of time"));
            }
            complete_queue("wires", index, &mut wire.queue, &mut wire.drop)?;
        }
        Ok(())
    }

    fn complete_queues(&mut self) -> Result<(), Mistake> {
        for (index, table) in self.queues.iter_mut().enumerate() {
            let mut queue = table.queue.unwrap_or_default();
            complete_queue("queues", index, &mut queue, &mut table.drop)?;
            table.queue = table.queue.map(|_| queue);
        }
        Ok(())
    }
}

/// Writes out a queue and what it drops; the entry of a list of tables says where they stand.
fn complete_queue(
    list: &str,
    index: usize,
    queue: &mut WireQueue,
    drop: &mut Option<MarkingParams>,
) -> Result<(), Mistake> {
    if let WireQueue::Table(table) = queue {
        let queue = table.resolve();
        *table = queue.map_err(|(key, why)| Mistake::entry(list, index, key, why))?.into();
    }
    if let Some(law) = drop.take() {
        *drop = Some(law::complete("drop", law, &()).map_err(|mistake| mistake.within(list, index))?);
    }
    Ok(())
}

impl Resolved {
    /// Every setting.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// Where nodes stand, which links carry data, and what conflicts.
    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    /// The packet world.
    pub fn network(&self) -> &NetworkSpec {
        &self.network
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
