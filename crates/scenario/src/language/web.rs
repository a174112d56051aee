//! Web traffic.

use super::exactly;
use crate::quantity::{Size, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Requests of a web client, the flow's source, and the replies of its server. Defaults are those of [Jam10] section 8.2.5:
/// five requests a second of 200 to 1000 bytes, replies of 50 kB on average.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WebTable {
    /// Mean time between requests.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub interval: Option<Time>,
    /// How requests follow each other.
    #[serde(default)]
    pub arrivals: ArrivalsName,
    /// Sizes of requests: the least and the greatest, evenly between; TCP's payload.
    #[serde(default, deserialize_with = "exactly", skip_serializing_if = "Option::is_none")]
    pub request: Option<[Size; 2]>,
    /// Mean size of a reply: TCP's payload.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reply: Option<Size>,
    /// Standard deviation of the replies' sizes, which are normal; one byte at least.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reply_deviation: Option<Size>,
    /// Over which connections they go.
    #[serde(default)]
    pub connection: ConnectionName,
}

/// How requests follow each other.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ArrivalsName {
    /// At even distances.
    #[default]
    Even,
    /// Independently of each other, at exponential distances.
    Poisson,
}

/// Over which connections requests and replies go.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ConnectionName {
    /// All over one, the replies in the order of the requests (HTTP/1.1).
    #[default]
    Persistent,
    /// Each over one of its own (HTTP/1.0): where more is asked for than comes through, their number grows without end.
    PerRequest,
}
