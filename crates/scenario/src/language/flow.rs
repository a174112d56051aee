//! Flows and their traffic.

use super::code_point::CodePoint;
use super::exactly;
use super::tcp::Window;
use super::web::WebTable;
use crate::law;
use crate::quantity::{Amount, Probability, RateQuantity, Size, Time};
use evenair_laws::backoff::Category;
use evenair_laws::connections::ConnectionParams;
use evenair_laws::rate::RateParams;
use evenair_netsim::Stack;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A flow.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FlowTable {
    /// Its name.
    pub id: String,
    /// Where its data come from.
    pub from: String,
    /// The destination; "*" for a broadcast to all nodes in range.
    pub to: String,
    /// The kind of traffic.
    #[serde(default)]
    pub traffic: TrafficKind,
    /// When it starts; by default a tenth of a second after the flow before it, or at once, if `start_jitter` spreads the flows.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub start: Option<Time>,
    /// It starts later than its `start` by a time that each run draws evenly between zero and this: flows come up in another
    /// order with each seed. By default `start_jitter` of all flows.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub start_jitter: Option<Time>,
    /// When it stops; never, if it is not given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stop: Option<Time>,
    /// When it is active, instead of `start` and `stop`: pairs of instants, in order.
    #[serde(default, deserialize_with = "exactly", skip_serializing_if = "Vec::is_empty")]
    pub active: Vec<[Time; 2]>,
    /// The nodes between its ends; by default a route with the fewest hops.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub via: Option<Vec<String>>,
    /// Network-layer size of a datagram.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub size: Option<Size>,
    /// Headers of IP and UDP within each datagram of cbr, on-off, Poisson and saturated traffic. Goodput counts the rest. 0 bytes by
    /// default, so that goodput counts whole datagrams; 28 bytes with preset = "ns3", where receivers count payload.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub headers: Option<Size>,
    /// Network-layer sizes of Poisson traffic, instead of `size`: each datagram has one of them at random. All are as likely; a size
    /// that is listed twice is twice as likely. 16 at most.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sizes: Vec<Size>,
    /// Network-layer rate of constant, on-off (while on) and Poisson traffic (the mean).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rate: Option<RateQuantity>,
    /// Time between datagrams (the mean of Poisson traffic), instead of `rate`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub interval: Option<Time>,
    /// Datagrams in a second (the mean of Poisson traffic), instead of `rate` [packets/s].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub packets_per_second: Option<f64>,
    /// Each interval of constant traffic is drawn evenly from this share around its mean, such as 0.2 or "20%".
    #[serde(skip_serializing_if = "Option::is_none")]
    pub jitter: Option<Probability>,
    /// The law of the rate, of rated traffic; by default that of `[rate_law]`.
    #[serde(default, skip_serializing_if = "Option::is_none", serialize_with = "law::write_any")]
    #[schemars(schema_with = "law::schema::<RateParams>")]
    pub rate_law: Option<RateParams>,
    /// The source's own limit: no faster than this, at any rate of the law; by default 1 Gb/s.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rate_max: Option<RateQuantity>,
    /// Mean time on, of on-off traffic.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub on: Option<Time>,
    /// Mean time off, of on-off traffic.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub off: Option<Time>,
    /// The amount of data for TCP in all, over all its connections and stretches of activity; the connections then close. A
    /// size such as "5 MB" (in segments of `tcp.payload`, the last one full, too) or "200 segments"; by default without end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub transfer: Option<Amount>,
    /// How fast the application produces data for TCP or TFRC; without limit, if it is not given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub application_rate: Option<RateQuantity>,
    /// The requests of a web client.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub web: Option<WebTable>,
    /// The law of its number of connections; by default that of `[connections]`.
    #[serde(default, skip_serializing_if = "Option::is_none", serialize_with = "law::write_any")]
    #[schemars(schema_with = "law::schema_of_connections")]
    pub connections: Option<ConnectionParams>,
    /// The window law of its senders; by default `tcp.window`. Where `[tcp]` has no keys of acknowledgements, the flow's go with
    /// its own law, as if that stood there; all else of its endpoints follows `[tcp]`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub window: Option<Window>,
    /// Selective acknowledgements, if not as `tcp.sack` says, or as go with its own window law.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sack: Option<bool>,
    /// Acknowledge every second segment, or after this long, if not as `tcp.delayed_ack` says, or as goes with its own window law.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub delayed_ack: Option<Time>,
    /// Its receiver hands over in the order of the one stream that its connections share.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub resequence: bool,
    /// Its access category, under EDCA; best effort, if neither this nor `dscp` is given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub category: Option<Category>,
    /// The DSCP of its packets, which chooses its access category under EDCA (RFC 8325), instead of `category`: a name such as "EF" or "AF41",
    /// or a number from 0 to 63.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dscp: Option<CodePoint>,
    /// The endpoints that carry it under `evenair emulate`, and in a study's world "linux". "linux" means real sockets, which is
    /// an error for traffic that Linux does not support. "simulated" means the simulator's own on the same air. By default real
    /// ones wherever Linux has them. Without effect in a simulation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stack: Option<StackName>,
    /// How much it counts in the best allocation: the weight of its utility, or its share under max-min fairness; and in queues of the
    /// disciplines drr and wfq. 1, if it is not given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub weight: Option<f64>,
    /// The worth of its rate, as a table like `points` of `[utility]`, times its weight; instead of α.
    #[serde(default, deserialize_with = "exactly", skip_serializing_if = "Option::is_none")]
    pub points: Option<Vec<[f64; 2]>>,
    /// α of its own utility, `weight·x^(1−α)/(1−α)`, of which `evenair solve --objective utility` finds the greatest sum: 1 is
    /// proportional fairness; by default α of `[utility]`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub alpha: Option<f64>,
}

/// The sum of the flows' own utilities, which `evenair solve --objective utility` makes as great as can be.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct UtilityTable {
    /// α of flows that have none of their own, above 0; 2, if it is not given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub alpha: Option<f64>,
    /// Instead of α: rates and their utilities, such as `[[0, 0], [100, 4], [300, 6]]`, from a rate of 0 on, each step less
    /// steep than the one before. Between two points it is a straight line; more than the last rate is not wanted. Solved as a
    /// linear programme; its best rates need not be the only ones.
    #[serde(default, deserialize_with = "exactly", skip_serializing_if = "Option::is_none")]
    pub points: Option<Vec<[f64; 2]>>,
    /// The unit of a flow's rate in its utility, which matters where flows differ in α or in the size of their packets.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unit: Option<RateUnit>,
}

/// The unit of rates.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum RateUnit {
    /// Segments or datagrams a second.
    #[default]
    #[serde(rename = "packets/s")]
    Packets,
    /// A thousand bits of payload a second.
    #[serde(rename = "kbps")]
    Kilobits,
    /// A million bits of payload a second.
    #[serde(rename = "Mbps")]
    Megabits,
}

/// Probes of a path: small packets there and back, as many as data packets were sent in the last round trip.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ProbesTable {
    /// Network-layer size; 28 bytes, if it is not given: IP and UDP headers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub size: Option<Size>,
    /// No more than so many a second; without bound, if it is not given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub most_per_second: Option<f64>,
}

/// The endpoints that carry a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum StackName {
    /// Real sockets of this machine's Linux.
    Linux,
    /// The simulator's own.
    Simulated,
}

impl From<StackName> for Stack {
    fn from(name: StackName) -> Self {
        match name {
            StackName::Linux => Self::Linux,
            StackName::Simulated => Self::Simulated,
        }
    }
}

/// A kind of traffic.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum TrafficKind {
    /// Data over TCP.
    #[default]
    Tcp,
    /// Datagrams without end: the queue is never empty.
    Saturated,
    /// Datagrams at a constant rate.
    Cbr,
    /// Datagrams at a constant rate for exponential times, with exponential pauses.
    OnOff,
    /// Datagrams of a Poisson process: exponential times between them.
    Poisson,
    /// Datagrams, evenly spaced, at the rate of a law (`rate_law`).
    Rated,
    /// Datagrams over TFRC (RFC 5348), without end or as fast as the application produces them.
    Tfrc,
    /// Requests over TCP, each answered over TCP: the flow goes from the client to the server.
    Web,
}
