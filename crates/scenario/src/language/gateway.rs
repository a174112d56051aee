//! The gateway's shaper, and sources that hold their data back.

use super::{QueueTable, StackName};
use crate::law;
use crate::quantity::{RateQuantity, Size, Time};
use evenair_laws::gateway::GatewayParams;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

/// The limits of a gateway on data that begin there, end there or pass: a shaper between its MAC and its network
/// layer. Acknowledgements and probes go past it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GatewayTable {
    /// The node.
    pub node: String,
    /// The shaper of an emulation: "linux" is the daemon of `evenair gateway` in the node's kernel, between its radio and its
    /// wire; else the gateway is simulated, as it always is in a run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stack: Option<StackName>,
    /// Its lines and buckets; if it is not given, aggregate-fair under a law that gives one rate for all, else per-subscriber.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shaper: Option<ShaperName>,
    /// A rate for all subscribers together, which they share by their weights; or "max-min": to each its rate under max-min
    /// fairness over the collision domains, while it is active.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rate: Option<LimitRate>,
    /// Instead of a rate: the law that finds it.
    #[serde(default, skip_serializing_if = "Option::is_none", serialize_with = "law::write_any")]
    #[schemars(schema_with = "law::schema::<GatewayParams>")]
    pub law: Option<GatewayParams>,
    /// Which way data go that are shaped; both, if it is not given.
    #[serde(default)]
    pub directions: Directions,
    /// The owner of a share; a subscriber, if it is not given.
    #[serde(default)]
    pub per: Per,
    /// Each line: 5 packets first in, first out, if it is not given; 25 where all share one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub queue: Option<QueueTable>,
    /// The depth of the buckets: the data that may pass at once; by default two full packets.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub burst: Option<Size>,
    /// Each bucket is at least as deep as the tokens of so long a time: an occasional page passes at once, and a subscriber with
    /// a low rate gets little more.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub burst_time: Option<Time>,
    /// The acknowledgements of uploads take tokens as well: those of the upload.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub acknowledgements: bool,
    /// The law is not told busy time, for how long a subscriber has data outstanding beyond the gateway: as where a real one cannot
    /// tell.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub no_busy_time: bool,
}

/// A shaper's lines and buckets ([Jam10] Fig 6.1).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ShaperName {
    /// One token bucket, one line for all.
    Aggregate,
    /// One token bucket, and a line for each subscriber, in turns by their weights.
    AggregateFair,
    /// A token bucket and a line for each subscriber.
    #[default]
    PerSubscriber,
}

/// Which way data go that a gateway shapes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Directions {
    /// Both.
    #[default]
    Both,
    /// From the mesh.
    Up,
    /// Into the mesh.
    Down,
}

/// The owner of a share, at a gateway or in a queue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Per {
    /// A node of the mesh, with all flows to it, or all from it.
    #[default]
    Subscriber,
    /// A flow.
    Flow,
}

impl Per {
    /// The owner of a share in queues, if nothing is said.
    #[allow(clippy::trivially_copy_pass_by_ref, reason = "serde passes references")]
    pub(crate) const fn is_flow(&self) -> bool {
        matches!(self, Self::Flow)
    }
}

/// Every source holds its data back, in a line of its own in front of its first queue.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SourceLimitTable {
    /// The rate of each flow; or "max-min": its rate under max-min fairness over the collision domains, while it is active.
    pub rate: LimitRate,
    /// Each line: 50 packets, first in, first out, if it is not given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub queue: Option<QueueTable>,
    /// The depth of the buckets; two full packets, if it is not given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub burst: Option<Size>,
}

/// A rate, in network-layer sizes; or the max-min fair one.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum LimitRate {
    /// So much.
    Fixed(RateQuantity),
    /// Max-min fairness over the collision domains ([Jam10] section 7.2).
    MaxMin,
}

const MAX_MIN: &str = "max-min";

impl FromStr for LimitRate {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        if text == MAX_MIN {
            return Ok(Self::MaxMin);
        }
        let rate = text.parse().map_err(|error| format!("{error}; or write \"{MAX_MIN}\""))?;
        Ok(Self::Fixed(rate))
    }
}

impl TryFrom<String> for LimitRate {
    type Error = String;
    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

impl fmt::Display for LimitRate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Fixed(rate) => rate.fmt(f),
            Self::MaxMin => f.write_str(MAX_MIN),
        }
    }
}

impl From<LimitRate> for String {
    fn from(rate: LimitRate) -> Self {
        rate.to_string()
    }
}

impl JsonSchema for LimitRate {
    fn schema_name() -> Cow<'static, str> {
        "LimitRate".into()
    }
    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let rate = generator.subschema_for::<RateQuantity>();
        json_schema!({ "anyOf": [{ "const": MAX_MIN }, rate] })
    }
}
