//! Nodes that move.

use super::At;
use crate::quantity::{Speed, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How the network follows the nodes that move.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MobilityTable {
    /// The time between two instants at which powers, hearing and rates by distance are computed again.
    #[serde(default = "MobilityTable::every")]
    pub every: Time,
    /// The time between two instants at which the routes of flows without `via` are computed again, as if a routing protocol
    /// knew all links at once. Packets under way keep the route that they began with. A multiple of `every`.
    #[serde(default = "MobilityTable::routes")]
    pub routes: Time,
    /// Which route is the shortest.
    #[serde(default)]
    pub metric: RouteMetric,
}

impl MobilityTable {
    const fn every() -> Time {
        Time(evenair_units::Duration::from_millis(100))
    }

    const fn routes() -> Time {
        Time(evenair_units::Duration::from_secs(1))
    }
}

impl Default for MobilityTable {
    fn default() -> Self {
        Self { every: Self::every(), routes: Self::routes(), metric: RouteMetric::default() }
    }
}

/// Which route is the shortest.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum RouteMetric {
    /// That with the fewest hops.
    #[default]
    Hops,
    /// That with the least time on the air: each hop counts its exchange of a full packet at its rate, without losses and waiting.
    TransmissionTime,
}

/// The way of a node.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TrackTable {
    /// The node. Its track decides where it stands, also where `nodes` has a place for it.
    pub node: String,
    /// Points in the order of time. It goes straight and evenly from each to the next, and stands before the first and after the last.
    pub points: Vec<PointTable>,
}

/// A point of a track.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PointTable {
    /// When the node is there.
    pub time: Time,
    /// The place: east, north and, where it is not on the ground, up [m].
    pub at: At,
}

/// Random waypoints: nodes that go straight to points that are uniform in a rectangle, rest there and go on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WalkTable {
    /// The nodes. Each begins where it stands, or at a random point if it has no place.
    pub nodes: Vec<String>,
    /// Two opposite corners of the rectangle [m].
    pub area: [At; 2],
    /// The least and the greatest speed.
    pub speed: [Speed; 2],
    /// How long a node rests at each point.
    #[serde(default = "WalkTable::pause")]
    pub pause: Time,
    /// Another number gives other walks; the seeds of a run do not.
    #[serde(default = "WalkTable::seed")]
    pub seed: u64,
}

impl WalkTable {
    const fn pause() -> Time {
        Time(evenair_units::Duration::ZERO)
    }

    const fn seed() -> u64 {
        1
    }
}
