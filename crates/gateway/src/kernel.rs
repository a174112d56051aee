//! The kernel's interface for the gateway: installed state, changes, counters and packets.

use crate::plan::Change;
use crate::{Side, tree};
use evenair_units::{Instant, Volume};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;
use std::net::IpAddr;

/// An operation that failed, with its cause.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// The operation or object.
    pub doing: String,
    /// The cause.
    pub why: String,
}

impl Failure {
    /// Creates a failure.
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

/// The queueing discipline at a device's root.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Root {
    /// The kernel's default.
    #[default]
    Usual,
    /// The gateway's own, by its major number.
    Ours,
    /// No discipline: the device is gone.
    Gone,
    /// Another program's.
    Foreign {
        /// Its kind, such as `cake`.
        kind: String,
        /// Its major number.
        major: u16,
        /// Its serialized settings, if it can be restored.
        kept: Option<Vec<u8>>,
    },
}

/// The state of a device's features that join packets or keep them joined, by the kernel's names (GRO,
/// TSO and their like).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Offloads(pub BTreeMap<String, bool>);

impl Offloads {
    /// Returns the same features switched off: a token bucket needs single packets.
    pub fn apart(&self) -> Self {
        Self(self.0.keys().map(|feature| (feature.clone(), false)).collect())
    }
}

/// The installed state of a device.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Found {
    /// The root.
    pub root: Root,
    /// The classes below the gateway's own root, and the entries of the device's map.
    pub tree: tree::Tree,
    /// The offloads that join or cut packets.
    pub offloads: Offloads,
}

/// The installed state of the kernel.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AllFound {
    /// The mesh's device.
    pub down: Found,
    /// The uplink.
    pub up: Found,
    /// The table of the packet filter.
    pub filter: Filter,
}

/// The condition of the gateway's table in the packet filter.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Filter {
    /// The table is missing.
    #[default]
    Missing,
    /// The table lacks a map.
    Broken,
    /// The table has all maps, but its rules are not the gateway's rules for the present device
    /// numbers.
    Silent,
    /// The table is complete and classifies packets.
    Leads,
}

impl Filter {
    /// Returns whether the table has its address maps.
    pub const fn has_maps(self) -> bool {
        matches!(self, Self::Silent | Self::Leads)
    }
}

impl AllFound {
    /// Returns the state of one device.
    pub const fn of(&self, side: Side) -> &Found {
        match side {
            Side::Down => &self.down,
            Side::Up => &self.up,
        }
    }

    /// Returns the state of one device, mutably.
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
    /// Bytes that left it, as the device counts them.
    pub bytes: u64,
    /// Packets that it dropped; wraps.
    pub dropped: u32,
    /// Its backlog.
    pub backlog: Volume,
}

/// The counters of a device's classes, by minor number.
pub type Readings = BTreeMap<u16, Counters>;

/// Numbers that differ after a change ([`Kernel::stamp`]).
pub type Stamp = [u32; 5];

/// The volume that an address offered, before any queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Offered {
    /// The address.
    pub address: IpAddr,
    /// The volume since the address was first seen, or seen again.
    pub volume: Volume,
}

/// A host that answers on the mesh's own link.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Neighbour {
    /// Its address.
    pub address: IpAddr,
    /// Its hardware address, in hexadecimal pairs with colons.
    pub hardware: String,
}

/// A packet that passed the mesh's device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Passed {
    /// The time.
    pub at: Instant,
    /// The direction.
    pub side: Side,
    /// Its size at the network layer \[bytes\].
    pub size: u32,
    /// The source address.
    pub from: IpAddr,
    /// The destination address.
    pub to: IpAddr,
    /// The number of the transport protocol.
    pub protocol: u8,
    /// The source and destination ports, if it has ports.
    pub ports: Option<(u16, u16)>,
    /// The fields of TCP's header, if it is TCP.
    pub tcp: Option<Segment>,
}

impl Passed {
    /// Returns whether it is an acknowledgement without data.
    pub fn is_acknowledgement(&self) -> bool {
        self.tcp.is_some_and(|tcp| tcp.acknowledged.is_some() && !tcp.has_data && !tcp.is_last)
    }
}

/// The fields of a packet's TCP header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Segment {
    /// The sequence number after its last byte; SYN and FIN count as TCP counts them.
    pub end: u32,
    /// The acknowledgement number, if it has one.
    pub acknowledged: Option<u32>,
    /// Whether it carries data.
    pub has_data: bool,
    /// Whether it ends its direction (FIN or RST).
    pub is_last: bool,
    /// Whether it resets the connection.
    pub is_reset: bool,
}

/// The part of a kernel that the gateway uses.
pub trait Kernel {
    /// Reads the installed state; a missing device has [`Root::Gone`].
    ///
    /// # Errors
    /// If the state cannot be read.
    fn find(&mut self) -> Result<AllFound, Failure>;

    /// Makes changes, in their order.
    ///
    /// # Errors
    /// At the first that fails; the changes before it remain.
    fn apply(&mut self, changes: &[Change]) -> Result<(), Failure>;

    /// Reads the counters of a device's classes.
    ///
    /// # Errors
    /// If the device is gone, or the counters cannot be read.
    fn counters(&mut self, side: Side) -> Result<Readings, Failure>;

    /// Reads the backlogs of some classes \[packets\].
    ///
    /// # Errors
    /// As [`counters`](Self::counters).
    fn backlogs(&mut self, side: Side, minors: &[u16]) -> Result<BTreeMap<u16, u64>, Failure>;

    /// Reads the volumes that addresses behind the mesh offered recently, both directions together.
    ///
    /// # Errors
    /// As [`find`](Self::find).
    fn offered(&mut self) -> Result<Vec<Offered>, Failure>;

    /// Reads the hosts that answered recently on the mesh's own link.
    ///
    /// # Errors
    /// As [`counters`](Self::counters).
    fn neighbours(&mut self) -> Result<Vec<Neighbour>, Failure>;

    /// Returns numbers that differ after any event that could divert packets. These are foreign changes
    /// of the packet filter, and a device that went, came back or has another queue. Costs some
    /// microseconds at most.
    fn stamp(&mut self) -> Stamp;

    /// Takes the notices since the last call, which are no failures.
    fn take_notes(&mut self) -> Vec<String>;

    /// Passes the packets since the last call to `see`, in their order. Returns the number lost to
    /// overflow so far, or `None` if packets cannot be seen.
    fn passed(&mut self, see: &mut dyn FnMut(&Passed)) -> Option<u64>;
}
