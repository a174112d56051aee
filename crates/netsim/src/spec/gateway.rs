//! Gateways and sources that hold their packets back.

use super::{NetworkSpec, QueueSpec, Stack};
use evenair_laws::Parameters;
use evenair_laws::gateway::{Allocation, ClassRole, Direction, GatewayLaw, GatewayParams, GatewayRole};
use evenair_units::{Bytes, Duration, Instant, Rate};
use evenair_wifi::BROADCAST;

impl NetworkSpec {
    /// The subscriber of a flow's data and their direction, where they pass the gateway: into the mesh where they begin at the
    /// gateway or come to it over a wire; up where they end there or go on.
    pub fn subscriber(&self, path: &[u32], gateway: u32) -> Option<(u32, Direction)> {
        let place = path.iter().position(|&node| node == gateway)?;
        let (&first, &last) = (path.first()?, path.last()?);
        if last == BROADCAST {
            return None;
        }
        if place == 0 || self.is_wired(path[place - 1], gateway) {
            Some((last, Direction::Down))
        } else {
            Some((first, Direction::Up))
        }
    }

    /// The subscriber of a flow for the queues of a node: that at the gateway that the flow passes. Without a gateway, it is that
    /// of the node at which the flow goes from a wire to the air, or back. A flow that meets neither belongs to its source,
    /// except that flows from the queue's own node are told apart by their destinations.
    pub(crate) fn subscriber_at(&self, node: u32, path: &[u32]) -> u32 {
        let between = |hops: &[u32]| self.is_wired(hops[0], hops[1]) != self.is_wired(hops[1], hops[2]);
        let border = || path.windows(3).find(|hops| between(hops)).map(|hops| hops[1]);
        let gateway = self.gateway.as_ref().map_or_else(border, |gateway| Some(gateway.node));
        let own = || if path[0] == node { path.last() } else { path.first() };
        let of_gateway = gateway.and_then(|gateway| self.subscriber(path, gateway));
        of_gateway.map_or_else(|| *own().expect("a flow has a path"), |(subscriber, _)| subscriber)
    }

    fn is_wired(&self, from: u32, to: u32) -> bool {
        self.wires.iter().any(|wire| (wire.from, wire.to) == (from, to))
    }
}

/// A gateway's shaper, between its MAC and its network layer: packets pass it that begin at the node, end there or go through
/// it, and belong to a class. Acknowledgements, reports, probes and packets from outside do not.
#[derive(Clone, Debug, PartialEq)]
pub struct GatewaySpec {
    /// The node.
    pub node: u32,
    /// The shaper where real sockets send, too; simulated by default.
    pub stack: Option<Stack>,
    /// The flows that it tells apart.
    pub classes: Vec<GatewayClass>,
    /// The class of each flow's data; none of a flow that it leaves alone.
    pub of_flow: Vec<Option<u32>>,
    /// The class of the data that return to each flow's source: a web server's replies.
    pub of_replies: Vec<Option<u32>>,
    /// The acknowledgements of upstream data take tokens of their flow's class too.
    pub acknowledgements: bool,
    /// Its law is not told for how long data are outstanding beyond it.
    pub no_busy_time: bool,
    /// Its lines and buckets.
    pub shaper: Shaping,
    /// A line: its packets, and their order.
    pub queue: QueueSpec,
    /// The depth of every bucket, at least: it holds the tokens of `burst_time` at its rate, if that is more.
    pub burst: Bytes,
    /// See `burst`.
    pub burst_time: Duration,
    /// The source of their rates.
    pub control: GatewayControl,
}

impl GatewaySpec {
    /// The signals that its law is told.
    pub(crate) fn role(&self) -> GatewayRole {
        GatewayClass::roles(&self.classes)
    }

    /// The rates with which it begins.
    pub fn at_start(&self) -> Shares {
        match &self.control {
            GatewayControl::Plan(plan) => plan.first().map(|(_, shares)| shares.clone()).unwrap_or_default(),
            GatewayControl::Law(law) => Shares::of(law.begin(&self.role()).at_start(), &self.classes),
        }
    }
}

/// The source of a gateway's rates.
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

impl GatewayClass {
    /// The signals that a gateway's law is told of its classes.
    pub fn roles(classes: &[Self]) -> GatewayRole {
        GatewayRole { classes: classes.iter().map(|class| class.role).collect() }
    }
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
    /// Of all together: the rate of one bucket.
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

    /// The rates of all together and of each, from either form of a law's answer: all have the sum, or each its part by weight.
    /// A law that gives neither lets all through.
    pub(crate) fn of(allocation: Allocation, classes: &[GatewayClass]) -> Self {
        let Allocation { total, each, .. } = allocation;
        if each.is_empty() {
            return Self::by_weight(total.unwrap_or(Rate::from_bps(u64::MAX)), classes);
        }
        let shares = Self::of_each(each);
        Self { total: total.unwrap_or(shares.total), ..shares }
    }

    /// All have this together, and each [its part by weight](GatewayRole::split).
    pub fn by_weight(total: Rate, classes: &[GatewayClass]) -> Self {
        Self { total, each: GatewayClass::roles(classes).split(total) }
    }
}

/// A flow with a source that holds its data back: a token bucket in front of the queue of its first hop.
#[derive(Clone, Debug, PartialEq)]
pub struct SourceLimit {
    /// The flow.
    pub flow: u32,
    /// The packets that wait for tokens.
    pub queue: QueueSpec,
    /// The bucket's depth.
    pub burst: Bytes,
    /// From when on it has which rate, in order; the first from the start.
    pub plan: Vec<(Instant, Rate)>,
}
