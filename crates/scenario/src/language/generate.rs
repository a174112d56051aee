//! Placements and flows made by rule.

use super::flow::TrafficKind;
use crate::quantity::{Length, RateQuantity, Size};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Nodes placed by rule, named "0", "1", "2" and so on, or links from an abstract conflict graph; reading the scenario writes them out.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Generate {
    /// On a line.
    Chain {
        /// How many nodes.
        nodes: u32,
        /// Between neighbours.
        spacing: Length,
        /// Flows made by rule.
        #[serde(skip_serializing_if = "Option::is_none")]
        flows: Option<GeneratedFlows>,
    },
    /// In a rectangle, row by row.
    Grid {
        /// Nodes in a row.
        columns: u32,
        /// How many rows.
        rows: u32,
        /// Between neighbours.
        spacing: Length,
        /// Flows made by rule.
        #[serde(skip_serializing_if = "Option::is_none")]
        flows: Option<GeneratedFlows>,
    },
    /// On a circle.
    Ring {
        /// How many nodes.
        nodes: u32,
        /// Between neighbours.
        spacing: Length,
        /// Flows made by rule.
        #[serde(skip_serializing_if = "Option::is_none")]
        flows: Option<GeneratedFlows>,
    },
    /// Evenly at random in a rectangle, drawn again until all nodes can reach each other.
    Random {
        /// How many nodes.
        nodes: u32,
        /// From west to east.
        width: Length,
        /// From south to north.
        height: Length,
        /// Seed of the placement, and of flows that are drawn; the runs' seed does not move nodes.
        #[serde(default)]
        seed: u64,
        /// Flows made by rule.
        #[serde(skip_serializing_if = "Option::is_none")]
        flows: Option<GeneratedFlows>,
    },
    /// No nodes but a conflict graph: a link for each of its vertices, from a node of the vertex's name to "NAME-receiver".
    ConflictGraph {
        /// A CSV file beside the scenario: on each line two links that conflict, or one that conflicts with none.
        file: String,
        /// Flows made by rule.
        #[serde(skip_serializing_if = "Option::is_none")]
        flows: Option<GeneratedFlows>,
    },
}

/// Flows made by rule; with them the scenario gives none itself.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GeneratedFlows {
    /// The ends of the flows.
    pub pattern: FlowPattern,
    /// How many: random ones, or so many of those to or from the gateway, drawn at random; all of them, if it is not given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub count: Option<u32>,
    /// Seed of the random draws; by default the placement's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seed: Option<u64>,
    /// The kind of traffic that they send.
    #[serde(default)]
    pub traffic: TrafficKind,
    /// Network-layer rate of each, of constant traffic.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rate: Option<RateQuantity>,
    /// Network-layer size of a datagram.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub size: Option<Size>,
}

/// The pattern of flows' ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum FlowPattern {
    /// From every node, or from as many as are counted, to node 0, the gateway; each flow has its node's name.
    ToGateway,
    /// From node 0 to every other, or to as many.
    FromGateway,
    /// From random nodes to other random nodes; no source sends twice while others send not at all.
    Random,
    /// One over each link of a conflict graph, of the link's name.
    EachLink,
}
