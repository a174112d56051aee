//! How everyone fares, for people and programs.

use crate::Side;
use serde::{Deserialize, Serialize};

/// What bounds a class's rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Standing {
    /// There was nothing of it.
    Idle,
    /// Its share of the mesh.
    Share,
    /// Its plan.
    Plan,
    /// All together have what the mesh carries.
    All,
    /// Something behind the gateway: the mesh on its way, its own devices, or the server.
    Mesh,
    /// It wants no more.
    Content,
    /// Nothing is known of it.
    Unknown,
}

/// One way of one subscriber.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ClassStatus {
    /// Whose.
    pub id: String,
    /// The same in words.
    pub name: String,
    /// Which way.
    pub side: Side,
    /// Its class's number.
    pub minor: u16,
    /// Its weight.
    pub weight: f64,
    /// What it got in the last epoch \[bit/s\].
    pub rate_bps: Option<f64>,
    /// Its limit then; none, if there is none \[bit/s\].
    pub limit_bps: Option<u64>,
    /// Its plan \[bit/s\].
    pub cap_bps: Option<u64>,
    /// Packets that the gateway gave up in the last epoch.
    pub dropped: u64,
    /// At which share of the looks it had a line.
    pub waits: f64,
    /// For which share of the time it had data outstanding, where that is known.
    pub busy: Option<f64>,
    /// What bounds it.
    pub standing: Standing,
}
