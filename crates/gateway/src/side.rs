//! The two directions through a gateway.

use evenair_laws::gateway::Direction;
use serde::{Deserialize, Serialize};
use std::fmt;

/// One of the gateway's two devices, by the data that leave through it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Side {
    /// To the subscribers: packets that leave through the mesh's device.
    Down,
    /// From the subscribers: packets that leave through the uplink.
    Up,
}

impl Side {
    /// Both, in the order of a subscriber's classes.
    pub const ALL: [Self; 2] = [Self::Down, Self::Up];

    /// Returns the law's direction.
    pub const fn direction(self) -> Direction {
        match self {
            Self::Down => Direction::Down,
            Self::Up => Direction::Up,
        }
    }
}

impl fmt::Display for Side {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.direction().fmt(f)
    }
}
