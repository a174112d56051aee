//! The settings of fluid models beside the scenario.

use crate::quantity::Time;
use evenair_laws::backoff::UtilityQueue;
use evenair_laws::window::QuicTcpParams;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The fluid model of the scenario; without this table it follows from the laws.
///
/// Every key has a default, from the scenario's laws or from the paper; a key that the model does not know is an error.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FluidTable {
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
    /// The model and its parameters.
    #[serde(flatten)]
    #[schemars(with = "Option<FluidModel>")]
    pub model: toml::Table,
}

/// A fluid model with its parameters.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "model", rename_all = "kebab-case")]
pub enum FluidModel {
    /// TCP Reno over adaptive CSMA ([Chen10] (5.1) to (5.4), (5.30) to (5.34), (A.1) to (A.4), (B.1) to (B.4)): one connection
    /// without `[connections]`, no AQM with `backoff.drop = false`.
    RenoCsma(RenoCsmaKeys),
    /// TCP over lossy links with as many connections as E-MULTCP keeps ([CZ06] (3), (7), (9) to (15)).
    EMultcp(LossyPathKeys),
    /// The same with rates that have settled ([CZ06] (16)).
    EMultcpReduced(LossyPathKeys),
    /// QUIC-TCP over queueing-delay CSMA ([QCSMA] (10) to (15)).
    QuicTcp(QuicTcpParams),
    /// The classic dual scheme with message passing ([QCSMA] (9)).
    DualDescent(DualDescentKeys),
    /// Optimal CSMA with utility-based sources or virtual queues ([Lee12] (1), (2)).
    OptimalCsma(OptimalCsmaKeys),
}

/// Keys of reno-csma.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RenoCsmaKeys {
    /// The parts of a round trip; by default with queues only where there are no `[connections]`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub round_trip: Option<RoundTripKind>,
    /// The fixed part of a round trip; by default that of an empty network.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub base_round_trip: Option<Time>,
}

/// Keys of e-multcp.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct LossyPathKeys {
    /// β of the smoothed congestion bit; the bare bit, if it is not given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub smoothing: Option<f64>,
    /// α/τ of the law of connections [1/s]; 0 keeps their number.
    pub gain: f64,
    /// How many connections there are in the beginning.
    pub connections: f64,
}

impl Default for LossyPathKeys {
    fn default() -> Self {
        let gain = evenair_laws::connections::IimdParams::cz06().gain();
        Self { smoothing: None, gain, connections: 1.0 }
    }
}

/// Keys of dual-descent.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct DualDescentKeys {
    /// A flow's weight, which is QUIC-TCP's `p`.
    pub p: f64,
    /// The step size.
    pub step: f64,
}

impl Default for DualDescentKeys {
    fn default() -> Self {
        Self { p: QuicTcpParams::default().target, step: 1.0 }
    }
}

/// Keys of optimal-csma.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct OptimalCsmaKeys {
    /// The law.
    #[serde(flatten)]
    pub law: UtilityQueue,
    /// The service of a link in a frame, in the queue's unit.
    pub capacity: f64,
    /// Which queue makes a link aggressive.
    pub queue: QueueKind,
}

impl Default for OptimalCsmaKeys {
    fn default() -> Self {
        Self { law: UtilityQueue::lee12(), capacity: 1.0, queue: QueueKind::Virtual }
    }
}

/// The parts of a round trip.
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
