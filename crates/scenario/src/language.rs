//! The words of the language. Every optional key has its default in `resolved/`, which writes it into the table, or in its law.

mod aggregation;
mod at;
mod code_point;
mod flow;
mod fluid;
mod gateway;
mod generate;
mod listed;
mod mac;
mod mobility;
mod pair;
mod per_rate;
mod queue;
mod radio;
mod tcp;
mod web;

pub use aggregation::*;
pub use at::*;
pub use code_point::*;
pub use flow::*;
pub use fluid::*;
pub use gateway::*;
pub use generate::*;
pub use listed::*;
pub use mac::*;
pub use mobility::*;
pub use pair::*;
pub use per_rate::*;
pub use queue::*;
pub use radio::*;
pub use tcp::*;
pub use web::*;

use crate::law;
use crate::quantity::{Power, RateQuantity, Time};
use evenair_laws::backoff::BackoffParams;
use evenair_laws::connections::ConnectionParams;
use evenair_laws::marking::MarkingParams;
use evenair_laws::rate::RateParams;
use evenair_laws::rate::tfrc::TfrcParams;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A scenario: nodes, radio, MAC, laws and flows.
///
/// Give either nodes with positions and a radio, or links and their conflicts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Scenario {
    /// Its name, in tables and reports.
    #[serde(default)]
    pub name: String,
    /// Its description in a sentence or two.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub description: String,
    /// Where defaults come from: the standards, or ns-2 2.35 or ns-3 3.44 where they differ from them.
    #[serde(default)]
    pub preset: Preset,
    /// How long is measured, after the warm-up.
    #[serde(default = "two_hundred_seconds")]
    pub duration: Time,
    /// The warm-up, which counts for nothing.
    #[serde(default = "twenty_seconds")]
    pub warmup: Time,
    /// Seed of the random streams.
    #[serde(default = "one")]
    pub seed: u64,
    /// How the radio reaches, for nodes with positions.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub radio: Option<RadioTable>,
    /// Medium access.
    #[serde(default)]
    pub mac: MacTable,
    /// How packets share frames of 802.11n, ac and ax.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub aggregation: Option<AggregationTable>,
    /// How long transmitters back off.
    #[serde(default, serialize_with = "law::write")]
    #[schemars(schema_with = "law::schema::<BackoffParams>")]
    pub backoff: BackoffParams,
    /// The transmit queues of the air; those of one node share the room. First in, first out, if there is no such table.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub queue: Option<QueueTable>,
    /// The queues of the air of some nodes, where they are not those of all, and how these nodes back off.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub queues: Vec<NodeQueuesTable>,
    /// The rule by which queues drop packets beside those that do not fit.
    #[serde(default, skip_serializing_if = "Option::is_none", serialize_with = "law::write_any")]
    #[schemars(schema_with = "law::schema::<MarkingParams>")]
    pub drop: Option<MarkingParams>,
    /// TCP endpoints.
    #[serde(default)]
    pub tcp: TcpTable,
    /// How many connections each flow keeps; one, if there is no such table.
    #[serde(default, skip_serializing_if = "Option::is_none", serialize_with = "law::write_any")]
    #[schemars(schema_with = "law::schema_of_connections")]
    pub connections: Option<ConnectionParams>,
    /// How paths are probed, where the law of connections looks at probes (`samples = "probes"`).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub probes: Option<ProbesTable>,
    /// How fast rated flows send that have no `rate_law` of their own.
    #[serde(default, skip_serializing_if = "Option::is_none", serialize_with = "law::write_any")]
    #[schemars(schema_with = "law::schema::<RateParams>")]
    pub rate_law: Option<RateParams>,
    /// TFRC's endpoints; those of RFC 5348, if there is no such table.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tfrc: Option<TfrcParams>,
    /// A gateway that lets data through at the rates that it is given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gateway: Option<GatewayTable>,
    /// Sources that hold their data back.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source_limit: Option<SourceLimitTable>,
    /// The fluid model of it all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fluid: Option<FluidTable>,
    /// Nodes placed by rule, instead of `nodes`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub generate: Option<Generate>,
    /// Nodes, in an order that matters to nothing; or `{ file = "nodes.csv" }`, with the columns' names in its first line: id, x and y \[m\], or
    /// id, latitude and longitude \[degrees\]; and height \[m\], channel, `transmit_power`. The points of a `GeoJSON` file and the nodes of
    /// a `GraphML` file are nodes, too.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(with = "Listed<NodeTable>")]
    pub nodes: Vec<NodeTable>,
    /// How the network follows nodes that move; the defaults, if there is no such table.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mobility: Option<MobilityTable>,
    /// The ways of nodes; or `{ file = "tracks.csv" }`, with the columns' names in its first line: node, time \[s\], x and y \[m\], or
    /// node, time, latitude and longitude \[degrees\]; and height \[m\].
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(with = "Listed<TrackTable>")]
    pub tracks: Vec<TrackTable>,
    /// Nodes that walk at random.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub walks: Vec<WalkTable>,
    /// Walls between nodes with positions; or `{ file = "walls.csv" }` with columns x1, y1, x2, y2 \[m\] and loss \[dB\].
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(with = "Listed<WallTable>")]
    pub walls: Vec<WallTable>,
    /// How strongly nodes without positions receive each other; or `{ file = "signals.csv" }` with columns from, to and power \[dBm\].
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(with = "Listed<SignalTable>")]
    pub signals: Vec<SignalTable>,
    /// Links, where they are given outright, or `{ file = "links.csv" }` with columns id, from, to; the lines of a `GeoJSON` file and the edges
    /// of a `GraphML` file are links, too. Their ends, and those of wires, are the nodes.
    #[serde(default, skip_serializing_if = "Listed::is_empty")]
    pub links: Listed<LinkTable>,
    /// Pairs of links that may not transmit at once, or `{ file = "conflicts.csv" }` with such a pair on each line. A link is called
    /// by its id or "from>to"; a node's name means all links on which it transmits.
    #[serde(default, deserialize_with = "exactly", skip_serializing_if = "Listed::is_empty")]
    pub conflicts: Listed<[String; 2]>,
    /// Wired links between nodes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub wires: Vec<WireTable>,
    /// Nodes at which packets come in from outside the simulation and go out to it, between any two of them on the way with the
    /// fewest hops. A run by itself has no such packets: a program that steps the network brings them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub outside: Vec<String>,
    /// Links of the air with a rate of their own.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rates: Vec<RateTable>,
    /// Extra random frame loss on single links.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub losses: Vec<LossTable>,
    /// How much later than they say flows start that have no `start_jitter` of their own: each run draws evenly between zero and this.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub start_jitter: Option<Time>,
    /// The flows' own utilities, for `evenair solve --objective utility`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub utility: Option<UtilityTable>,
    /// Capacity of a collision domain, as a share of a lone hop's, for max-min rates that limit flows (`rate = "max-min"`) or
    /// that studies call fair; by default 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub domain_capacity: Option<f64>,
    /// Flows; or `{ file = "flows.csv" }` with columns from and to, and id, traffic, rate, size, transfer, start, stop, window, weight.
    #[serde(default)]
    #[schemars(with = "Listed<FlowTable>")]
    pub flows: Vec<FlowTable>,
}

fn two_hundred_seconds() -> Time {
    Time(evenair_units::Duration::from_secs(200))
}

/// The warm-up, if none is given.
pub(crate) const WARMUP: evenair_units::Duration = evenair_units::Duration::from_secs(20);

fn twenty_seconds() -> Time {
    Time(WARMUP)
}

const fn one() -> u64 {
    1
}

/// Where defaults come from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Preset {
    /// IEEE 802.11-2016 and the RFCs.
    #[default]
    Standard,
    /// ns-2 2.35: docs/notes/ns-2.md lists every difference.
    Ns2,
    /// ns-3 3.44 where its 802.11 differs: `radio.weak_signals = "energy"`, `mac.interrupted_difs = "waive"`.
    /// Frames of 802.11n, ac and ax have no VHT-SIG-B, 8 us for each HE-LTF, and short guard intervals that are not
    /// rounded. A frame that begins together with one less than 4 dB weaker is not noticed as a frame. A missing block
    /// acknowledgement is asked for, and packets are sent until they are acknowledged.
    Ns3,
}

/// A node.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NodeTable {
    /// Its name.
    pub id: String,
    /// Where it stands: east, north and, if it is not on the ground, up [m]. Height counts in distances; walls have no upper end, and
    /// maps show it from above. A node without a place is reached by wires or signals only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<At>,
    /// Its transmission power, if not that of `radio.transmit_power`. Only with positions, and a radio with powers as thresholds
    /// (`receive_threshold`, `carrier_sense_threshold`): ranges do not depend on power.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub transmit_power: Option<Power>,
    /// Its channel, if not that of `mac.channel`, 1 to 255. Nodes of different channels neither hear nor disturb each other.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub channel: Option<u32>,
    /// Its MAC, if not that of `mac.kind`: "802.11b" beside stations of 802.11g; "802.11a" (at 5 GHz) or "802.11g" (at 2.4 GHz) beside
    /// stations of 802.11n, ac or ax. A station of 802.11a or g contends by DCF; to and from it links have 54 Mbps (or a rate of
    /// `rates`), and of other frames it decodes the length alone. A station of 802.11b decodes DSSS alone; OFDM is energy to
    /// it. Links to and from it have 11 Mbps, or a rate of 802.11b in `rates`. All slots of the scenario are long then.
    /// `mac.protection` sets the other stations' protection.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mac: Option<NodeMac>,
}

/// A station's MAC beside another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum NodeMac {
    /// 802.11b beside 802.11g.
    #[serde(rename = "802.11b")]
    Ieee80211b,
    /// 802.11a beside 802.11n, ac or ax.
    #[serde(rename = "802.11a")]
    Ieee80211a,
    /// 802.11g beside 802.11n or ax.
    #[serde(rename = "802.11g")]
    Ieee80211g,
}

/// A link, given outright.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LinkTable {
    /// Its name.
    pub id: String,
    /// The node that transmits.
    pub from: String,
    /// The node that receives.
    pub to: String,
}

/// A wired link, both ways.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WireTable {
    /// One end.
    pub from: String,
    /// The other.
    pub to: String,
    /// How fast packets are put on it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate: Option<RateQuantity>,
    /// Instead of `rate`: instants at which 1500 bytes (IP packets) may be put on it, each way, in milliseconds and in order, over and
    /// over; or `{ file = "cellular.trace" }`, a trace of mahimahi's form with an instant in each line. The last one is when the next round
    /// begins. An unused instant is lost; a packet may take several, and several packets one. Theory and fluid models
    /// take the mean rate.
    #[serde(default, skip_serializing_if = "Listed::is_empty")]
    pub trace: Listed<u64>,
    /// How long they are under way.
    pub delay: Time,
    /// From when on that is another, where the route below changes: pairs of an instant and a delay, in order.
    #[serde(default, deserialize_with = "exactly", skip_serializing_if = "Vec::is_empty")]
    pub delay_changes: Vec<[Time; 2]>,
    /// The queue at each end: how many packets wait, the one in transmission not counted, or a table.
    #[serde(default)]
    pub queue: WireQueue,
    /// The rule by which its queues drop packets beside those that do not fit; that of [drop], if it is not given.
    #[serde(default, skip_serializing_if = "Option::is_none", serialize_with = "law::write_any")]
    #[schemars(schema_with = "law::schema::<MarkingParams>")]
    pub drop: Option<MarkingParams>,
}
