//! Gateways and sources that hold their packets back.

use super::QueueSpec;
use evenair_laws::rate::gateway::{ClassRole, GatewayParams};
use evenair_units::{Bytes, Instant, Rate};

/// A gateway's shaper, between its MAC and its network layer: packets pass it that begin at the node, end there or go through
/// it, and belong to a class. Acknowledgements, reports, probes and packets from outside do not.
#[derive(Clone, Debug, PartialEq)]
pub struct GatewaySpec {
    /// The node.
    pub node: u32,
    /// What it tells apart.
    pub classes: Vec<GatewayClass>,
    /// The class of each flow's data; none of a flow that it leaves alone.
    pub of_flow: Vec<Option<u32>>,
    /// The class of what comes back to each flow's source as data: a web server's replies.
    pub of_replies: Vec<Option<u32>>,
    /// The acknowledgements of what comes up take tokens of their flow's class too.
    pub acknowledgements: bool,
    /// Its lines and buckets.
    pub shaper: Shaping,
    /// A line: what it holds, and in which order.
    pub queue: QueueSpec,
    /// The depth of every bucket.
    pub burst: Bytes,
    /// What sets their rates.
    pub control: GatewayControl,
}

/// What sets a gateway's rates.
#[derive(Clone, Debug, PartialEq)]
pub enum GatewayControl {
    /// From when on it has which, in order; the first from the start.
    Plan(Vec<(Instant, Shares)>),
    /// A law. Where it gives one rate for all and classes have their own, they share it by their weights; where it gives each
    /// its own and all have one, that is the sum.
    Law(GatewayParams),
}

/// One of those that a gateway tells apart.
#[derive(Clone, Debug, PartialEq)]
pub struct GatewayClass {
    /// The subscriber's name: a node's, or a flow's.
    pub name: String,
    /// Which way, its weight, and the rate of the gateway's link towards it.
    pub role: ClassRole,
}

/// A shaper's lines and buckets ([Jam10] Fig 6.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shaping {
    /// One bucket, one line.
    Aggregate,
    /// One bucket, a line for each class; they take turns by their weights.
    AggregateFair,
    /// A bucket and a line for each class.
    PerClass,
}

/// Rates of a shaper: network-layer sizes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Shares {
    /// Of all together: what one bucket has.
    pub total: Rate,
    /// Of each class.
    pub each: Vec<Rate>,
}

impl Shares {
    /// Each class has its own, and all together have their sum.
    pub fn of_each(each: Vec<Rate>) -> Self {
        let total = each.iter().fold(0u64, |sum, rate| sum.saturating_add(rate.as_bps()));
        Self { total: Rate::from_bps(total), each }
    }
}

/// A flow whose source holds its data back: a token bucket in front of the queue of its first hop.
#[derive(Clone, Debug, PartialEq)]
pub struct SourceLimit {
    /// The flow.
    pub flow: u32,
    /// What waits for tokens.
    pub queue: QueueSpec,
    /// The bucket's depth.
    pub burst: Bytes,
    /// From when on it has which rate, in order; the first from the start.
    pub plan: Vec<(Instant, Rate)>,
}
