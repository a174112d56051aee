//! What the fluid models want to know beside the scenario.

use crate::quantity::Time;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The fluid model of the scenario; without this table it follows from the laws.
///
/// Every key has a default, from the scenario's laws or from the paper; a key that the model does not know is an error.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FluidTable {
    /// Which model.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<FluidModel>,
    /// How long it is followed; by default until it should have settled. In frames, for optimal-csma.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub duration: Option<Time>,
    /// The state to start from, component by component (`evenair fluid` names them).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub start: Vec<f64>,
    /// An implicit method, for stiff systems.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub implicit: bool,
    /// Error of a step that is allowed, relative to the state; 1e-8 by default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tolerance: Option<f64>,
    /// reno-csma: what a round trip is made of.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub round_trip: Option<RoundTripKind>,
    /// reno-csma: the fixed part of a round trip; by default that of an empty network.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub base_round_trip: Option<Time>,
    /// e-multcp: β of the smoothed congestion bit; the bare bit, if it is not given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub smoothing: Option<f64>,
    /// e-multcp: α/τ of the law of connections [1/s]; 0 keeps their number.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gain: Option<f64>,
    /// e-multcp: how many connections there are in the beginning.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub connections: Option<f64>,
    /// quic-tcp, dual-descent: how many packets of a flow wait at the equilibrium, its weight.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub p: Option<f64>,
    /// quic-tcp: the gain κ.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kappa: Option<f64>,
    /// quic-tcp: the shape ρ, from 0 to 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rho: Option<f64>,
    /// dual-descent: the step size.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub step: Option<f64>,
    /// optimal-csma: aggressiveness per unit of queue.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub b: Option<f64>,
    /// optimal-csma: how much the utility counts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub v: Option<f64>,
    /// optimal-csma: what a link serves in a frame, in the queue's unit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub capacity: Option<f64>,
    /// optimal-csma: which queue makes a link aggressive.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub queue: Option<QueueKind>,
}

/// Which fluid model.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum FluidModel {
    /// TCP Reno over adaptive CSMA ([Chen10] (5.1) to (5.4), (5.30) to (5.34), (A.1) to (A.4), (B.1) to (B.4)): one connection
    /// without [connections], no AQM with `backoff.drop = false`.
    RenoCsma,
    /// TCP over lossy links with as many connections as E-MULTCP keeps ([CZ06] (3), (7), (9) to (15)).
    EMultcp,
    /// The same with rates that have settled ([CZ06] (16)).
    EMultcpReduced,
    /// QUIC-TCP over queueing-delay CSMA ([QCSMA] (10) to (15)).
    QuicTcp,
    /// The classic dual scheme with message passing ([QCSMA] (9)).
    DualDescent,
    /// Optimal CSMA with utility-based sources or virtual queues ([Lee12] (1), (2)).
    OptimalCsma,
}

/// What a round trip is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum RoundTripKind {
    /// The empty network's time.
    Fixed,
    /// That, and the time in queues.
    Queueing,
}

/// Which queue makes a link aggressive.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum QueueKind {
    /// The own one, fed by sources that look at their first link.
    FirstLink,
    /// The own one, fed by sources that look at their whole way.
    PathSum,
    /// A virtual one.
    Virtual,
}
