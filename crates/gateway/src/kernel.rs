//! What the gateway asks of a kernel.

use crate::plan::Change;
use crate::{Side, tree};
use evenair_units::{Instant, Volume};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;
use std::net::IpAddr;

/// A kernel did not do or tell what it was asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// What was asked.
    pub doing: String,
    /// What it said.
    pub why: String,
}

impl Failure {
    /// So.
    pub fn new(doing: impl Into<String>, why: impl fmt::Display) -> Self {
        Self { doing: doing.into(), why: why.to_string() }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.doing, self.why)
    }
}

impl std::error::Error for Failure {}

/// What stands at a device's root.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Root {
    /// What the kernel gives a device that nobody has set.
    #[default]
    Usual,
    /// A queue with the gateway's own number.
    Ours,
    /// Nothing: the device itself is gone.
    Gone,
    /// Somebody's.
    Foreign {
        /// Its kind, such as `cake`.
        kind: String,
        /// Its number.
        major: u16,
        /// All that is needed to make it again, if it can be.
        kept: Option<Vec<u8>>,
    },
}

/// Which of a device's features that join packets, or leave them joined, are on, by the kernel's names (GRO, TSO and their like).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Offloads(pub BTreeMap<String, bool>);

impl Offloads {
    /// Every packet by itself, as a bucket wants them.
    pub fn apart(&self) -> Self {
        Self(self.0.keys().map(|feature| (feature.clone(), false)).collect())
    }
}

/// What stands on a device.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Found {
    /// At the root.
    pub root: Root,
    /// Below the gateway's own root, and in its map.
    pub tree: tree::Tree,
    /// How it joins and cuts.
    pub offloads: Offloads,
}

/// What stands in the kernel.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AllFound {
    /// On the mesh's device.
    pub down: Found,
    /// On the uplink.
    pub up: Found,
    /// Of the packet filter.
    pub filter: Filter,
}

/// How much stands of the gateway's table of the packet filter.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Filter {
    /// It is not there.
    #[default]
    Missing,
    /// It lacks a map.
    Broken,
    /// It is whole, and its rules are not those that were put there, for the devices as they are numbered now.
    Silent,
    /// Packets go by it.
    Leads,
}

impl Filter {
    /// Whether addresses have their places in it.
    pub const fn has_maps(self) -> bool {
        matches!(self, Self::Silent | Self::Leads)
    }
}

impl AllFound {
    /// Of one device.
    pub const fn of(&self, side: Side) -> &Found {
        match side {
            Side::Down => &self.down,
            Side::Up => &self.up,
        }
    }

    /// Of one device, to be changed.
    pub const fn of_mut(&mut self, side: Side) -> &mut Found {
        match side {
            Side::Down => &mut self.down,
            Side::Up => &mut self.up,
        }
    }
}

/// A class's counters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counters {
    /// Packets that left it; wraps.
    pub packets: u32,
    /// The same \[bytes\], as the device sees them.
    pub bytes: u64,
    /// Packets that it gave up; wraps.
    pub dropped: u32,
    /// Packets that wait.
    pub backlog: Volume,
}

/// The counters of a device's classes, by minor number.
pub type Readings = BTreeMap<u16, Counters>;

/// Numbers that are others after a change ([`Kernel::stamp`]).
pub type Stamp = [u32; 5];

/// What an address offered, before any queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Offered {
    /// Whose.
    pub address: IpAddr,
    /// Since it was first seen, or seen again.
    pub volume: Volume,
}

/// Who answers on the mesh's own link.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Neighbour {
    /// By this address.
    pub address: IpAddr,
    /// The hardware's address, in hexadecimal pairs with colons.
    pub hardware: String,
}

/// A packet that passed the mesh's device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Passed {
    /// When.
    pub at: Instant,
    /// Which way.
    pub side: Side,
    /// Its size at the network layer \[bytes\].
    pub size: u32,
    /// From where.
    pub from: IpAddr,
    /// To where.
    pub to: IpAddr,
    /// The transport's number.
    pub protocol: u8,
    /// The ports that it comes from and goes to, where it has some.
    pub ports: Option<(u16, u16)>,
    /// What TCP's header says.
    pub tcp: Option<Segment>,
}

impl Passed {
    /// Whether it only acknowledges what went the other way.
    pub fn is_acknowledgement(&self) -> bool {
        self.tcp.is_some_and(|tcp| tcp.acknowledged.is_some() && !tcp.has_data && !tcp.is_last)
    }
}

/// What TCP's header says of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Segment {
    /// The number behind its last byte, with the ends counted that TCP counts.
    pub end: u32,
    /// All before this has come.
    pub acknowledged: Option<u32>,
    /// Whether it carries data.
    pub has_data: bool,
    /// Whether nothing follows it.
    pub is_last: bool,
    /// Whether it breaks the connection off.
    pub is_reset: bool,
}

/// A kernel, as far as the gateway needs one.
pub trait Kernel {
    /// What stands there; a device that is gone has [`Root::Gone`].
    ///
    /// # Errors
    /// If the kernel refuses to tell.
    fn find(&mut self) -> Result<AllFound, Failure>;

    /// Makes changes, in their order.
    ///
    /// # Errors
    /// At the first that fails; those before it stand.
    fn apply(&mut self, changes: &[Change]) -> Result<(), Failure>;

    /// Where the counters of a device's classes stand.
    ///
    /// # Errors
    /// If the device is gone, or the kernel refuses to tell.
    fn counters(&mut self, side: Side) -> Result<Readings, Failure>;

    /// Which of some classes have packets that wait \[packets\].
    ///
    /// # Errors
    /// As [`counters`](Self::counters).
    fn backlogs(&mut self, side: Side, minors: &[u16]) -> Result<BTreeMap<u16, u64>, Failure>;

    /// What addresses offered lately, behind the mesh, either way together.
    ///
    /// # Errors
    /// As [`find`](Self::find).
    fn offered(&mut self) -> Result<Vec<Offered>, Failure>;

    /// Who has answered lately on the mesh's own link.
    ///
    /// # Errors
    /// As [`counters`](Self::counters).
    fn neighbours(&mut self) -> Result<Vec<Neighbour>, Failure>;

    /// Numbers that are others after whatever could lead packets past their classes: another change of the packet filter than the gateway's own, a
    /// device that went, came back or has another queue. It costs no more than some microseconds.
    fn stamp(&mut self) -> Stamp;

    /// What is worth a word since this was asked last, and is no failure.
    fn take_notes(&mut self) -> Vec<String>;

    /// Packets that passed since this was asked last, in their order; gives how many were lost because nobody asked for long; none,
    /// where nothing can be seen.
    fn passed(&mut self, see: &mut dyn FnMut(&Passed)) -> Option<u64>;
}
