//! Nodes that move.

use super::LinkRate;
use evenair_topology::Medium;
use evenair_units::{Duration, Instant};
use std::fmt;
use std::sync::Arc;

/// The nodes' hearing of each other at an instant, and how fast their links are then.
#[derive(Clone, Debug, PartialEq)]
pub struct Scene {
    /// The nodes' hearing of each other.
    pub medium: Medium,
    /// Links with a mode of their own; others keep the one that they had.
    pub rates: Vec<LinkRate>,
}

/// How the scene changes: a function of time, asked at regular instants.
#[derive(Clone)]
pub struct Motion {
    /// The time between two scenes.
    pub every: Duration,
    /// The last instant at which a scene differs from the one before.
    pub until: Instant,
    /// The scene at an instant; none, if it is the last one's.
    pub scene: Arc<SceneAt>,
    /// Other paths of flows from some instants on, in the order of time.
    pub detours: Vec<Detour>,
}

/// A flow takes another path.
#[derive(Clone, Debug, PartialEq)]
pub struct Detour {
    /// From when on. Packets under way keep the path that they began with.
    pub at: Instant,
    /// Which flow.
    pub flow: usize,
    /// Its path, between the same ends; none, if no route leads to its destination: its packets are dropped where they enter.
    pub path: Option<Vec<u32>>,
}

/// A function of time.
pub type SceneAt = dyn Fn(Instant) -> Option<Scene> + Send + Sync;

impl fmt::Debug for Motion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Motion")
            .field("every", &self.every)
            .field("until", &self.until)
            .finish_non_exhaustive()
    }
}

impl PartialEq for Motion {
    /// Functions are equal if they are one.
    fn eq(&self, other: &Self) -> bool {
        (self.every, self.until, &self.detours) == (other.every, other.until, &other.detours)
            && Arc::ptr_eq(&self.scene, &other.scene)
    }
}
