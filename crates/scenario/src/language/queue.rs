//! Transmit queues.

use super::Per;
use crate::law;
use crate::quantity::{PacketCount, Size, Time};
use evenair_laws::backoff::BackoffParams;
use evenair_laws::marking::MarkingParams;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::value::MapAccessDeserializer;
use serde::de::{Error, MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::borrow::Cow;
use std::fmt;

/// A transmit queue: in which order packets leave it, and how many wait at most.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct QueueTable {
    /// In which order packets leave.
    #[serde(default)]
    pub discipline: DisciplineName,
    /// Packets that wait at most, the one in service not counted: 50; 10240 for fq-codel and cake, 8192 for airtime-fair.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<PacketCount>,
    /// The owner of a turn or a share, of drr, fq-codel, wfq and airtime-fair, or of a count, where fred drops. "flow" is the
    /// default. "subscriber" is the node of the mesh that a flow goes to where it comes through the gateway, or comes from. The
    /// gateway is `[gateway]`'s node; without one, the node at which a flow goes from a wire to the air, or back. A flow that
    /// meets neither belongs to its source, and at its source to its destination.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub per: Option<Per>,
    /// Packets of one flow (or subscriber) that wait at most, of drr and wfq; no bound of its own, if it is not given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<PacketCount>,
    /// The bytes that a flow may send in one turn, of drr, fq-codel, cake and airtime-fair.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub quantum: Option<Size>,
    /// The delay that each flow's line may keep, of fq-codel, cake and airtime-fair.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub target: Option<Time>,
    /// How long it may be exceeded, of fq-codel, cake and airtime-fair.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub interval: Option<Time>,
    /// Which ends of flows have turns, of cake.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hosts: Option<HostsName>,
    /// The airtime that a next hop may take in one turn, of airtime-fair.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub airtime: Option<Time>,
}

/// In which order packets leave a queue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum DisciplineName {
    /// First in, first out.
    #[default]
    Fifo,
    /// One turn for each flow (deficit round robin), of the quantum times the flow's weight.
    Drr,
    /// That, for any weights, with flows that send little first, and `CoDel` for each (RFC 8290).
    FqCodel,
    /// Shares by the flows' weights (weighted fair queueing).
    Wfq,
    /// Like CAKE: fq-codel, where hosts share alike, and the flows of a host share its part.
    Cake,
    /// Next hops share the time of the air, as in Linux' mac80211; fq-codel for the flows of each.
    AirtimeFair,
}

/// Which ends of flows are the hosts that share alike.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum HostsName {
    /// Where packets come from.
    Source,
    /// Where they go.
    #[default]
    Destination,
    /// The one that has more flows.
    Both,
}

/// The queues of the air of some nodes, where they are not those of all, and how these nodes back off.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NodeQueuesTable {
    /// Which nodes.
    pub nodes: Vec<String>,
    /// Their queues: how many packets wait, or a table; those of all nodes, if it is not given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub queue: Option<WireQueue>,
    /// The rule by which these drop packets beside those that do not fit; that of [drop], if it is not given.
    #[serde(default, skip_serializing_if = "Option::is_none", serialize_with = "law::write_any")]
    #[schemars(schema_with = "law::schema::<MarkingParams>")]
    pub drop: Option<MarkingParams>,
    /// The back-off law of these nodes; by default that of `[backoff]`.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "law::write_any")]
    #[schemars(schema_with = "law::schema::<BackoffParams>")]
    pub backoff: Option<BackoffParams>,
}

/// A queue in short or in full: how many packets wait, or a table.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum WireQueue {
    /// First in, first out; so many wait.
    Count(PacketCount),
    /// Any queue.
    Table(QueueTable),
}

impl Default for WireQueue {
    fn default() -> Self {
        Self::Count(PacketCount(50))
    }
}

impl Serialize for WireQueue {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Count(count) => count.serialize(serializer),
            Self::Table(table) => table.serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for WireQueue {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct CountOrTable;
        impl<'de> Visitor<'de> for CountOrTable {
            type Value = WireQueue;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a number of packets such as \"50 packets\", or a table with a discipline")
            }
            fn visit_str<E: Error>(self, text: &str) -> Result<WireQueue, E> {
                text.parse().map(WireQueue::Count).map_err(E::custom)
            }
            fn visit_map<A: MapAccess<'de>>(self, table: A) -> Result<WireQueue, A::Error> {
                QueueTable::deserialize(MapAccessDeserializer::new(table)).map(WireQueue::Table)
            }
        }
        deserializer.deserialize_any(CountOrTable)
    }
}

impl JsonSchema for WireQueue {
    fn schema_name() -> Cow<'static, str> {
        "WireQueue".into()
    }
    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let count = generator.subschema_for::<PacketCount>();
        let table = generator.subschema_for::<QueueTable>();
        json_schema!({ "anyOf": [count, table] })
    }
}
