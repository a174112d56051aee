//! The running kernel: HTB by netlink, the packet filter's maps and sets, and the packets that pass.

mod bypass;
mod devices;
mod filter;
pub(crate) mod leaf;
mod root;
mod sources;

pub use bypass::Past;

use devices::Devices;
use leaf::Leaf;

use crate::config::{Bypass, Config, Exempt, Forwarding};
use crate::kernel::{
    AllFound, Counters, Failure, Filter, Found, Kernel, Neighbour, Offered, Offloads, Passed, Readings, Root,
    Segment, Stamp,
};
use crate::plan::Change;
use crate::tree::{AGGREGATE, Class, DIRECT, EXEMPT, MAJOR, OPEN, burst};
use crate::{Prefix, Side};
use evenair_linux::nft::{Nftables, Table};
use evenair_linux::packets::{Direction, Packet, Packets};
use evenair_linux::tc::{self, Discipline, Handle, Htb, HtbClass, Mode, What};
use evenair_linux::{Rtnetlink, offload};
use evenair_units::{Bytes, Rate, Volume};
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::os::fd::{AsFd, BorrowedFd};

/// Up to this number, classes are read one by one; more are read in one dump.
const ONE_BY_ONE: usize = 200;

/// The running kernel.
#[derive(Debug)]
pub struct Linux {
    netlink: Rtnetlink,
    filter: Nftables,
    devices: Devices,
    /// The device numbers and rule numbers of the last rules that were set.
    rules: Option<([u32; 2], Vec<u64>)>,
    exempt: Exempt,
    strangers: u32,
    forwarding: Forwarding,
    table: Table,
    despite: Vec<Bypass>,
    leaf: Leaf,
    packets: Option<Packets>,
    /// Whether the socket captures on the device that has the mesh's name now.
    hears: bool,
    lost: u64,
}

impl Linux {
    /// Opens the kernel's interfaces for a gateway's devices.
    ///
    /// # Errors
    /// If a device is missing, the kernel lacks HTB or the packet filter, or the process lacks a
    /// capability.
    pub fn new(config: &Config) -> Result<Self, Failure> {
        let mut kernel = Self::without_devices(config)?;
        for side in Side::ALL {
            kernel
                .index(side)
                .map_err(|failure| Failure::new(failure.doing + ", see: ip link", failure.why))?;
        }
        bypass::ports(&mut kernel.netlink, [&config.mesh, &config.uplink], config.forwarding)?;
        kernel.open_packets();
        Ok(kernel)
    }

    /// Opens the kernel's interfaces, even if the devices are missing.
    ///
    /// # Errors
    /// As [`new`](Self::new), except for missing devices.
    pub fn without_devices(config: &Config) -> Result<Self, Failure> {
        let failed = |doing: &'static str| move |error: io::Error| Failure::new(doing, error);
        old_enough(&evenair_linux::kernel())?;
        let mut netlink = Rtnetlink::new().map_err(failed("netlink"))?;
        let devices = Devices::new([config.mesh.clone(), config.uplink.clone()]);
        let leaf = Leaf::choose(&mut netlink, config.leaf)?;
        let filter = Nftables::new().map_err(failed("nftables"))?;
        let (exempt, strangers) = (config.exempt.clone(), config.unknown.addresses);
        Ok(Self {
            netlink,
            filter,
            devices,
            rules: None,
            exempt,
            strangers,
            forwarding: config.forwarding,
            table: filter::table(config.forwarding),
            despite: config.despite.clone(),
            leaf,
            packets: None,
            hears: false,
            lost: 0,
        })
    }

    /// Returns the descriptor that becomes readable when packets have passed, if they can be seen.
    pub fn packets(&self) -> Option<BorrowedFd<'_>> {
        self.packets.as_ref().filter(|_| self.hears).map(AsFd::as_fd)
    }

    fn open_packets(&mut self) {
        let Ok(index) = self.index(Side::Down) else { return };
        // A confined daemon may not open another socket, but it may bind the open one to the device
        // that has the name now.
        if let Some(packets) = &mut self.packets {
            self.hears = packets.follow(index).is_ok();
        } else {
            self.packets = Packets::new(index).ok();
            self.hears = self.packets.is_some();
        }
        self.lost = 0;
    }

    fn device(&self, side: Side) -> &str {
        self.devices.name(side)
    }

    fn index(&mut self, side: Side) -> Result<u32, Failure> {
        let index = self.devices.index(&mut self.netlink, side);
        index.map_err(|error| Failure::new(self.device(side), error))
    }

    fn both_indices(&mut self) -> Result<[u32; 2], Failure> {
        Ok([self.index(Side::Down)?, self.index(Side::Up)?])
    }

    fn failed(&self, side: Side, doing: &str) -> impl Fn(io::Error) -> Failure + use<> {
        let doing = format!("{} {doing}", self.device(side));
        move |error| Failure::new(doing.clone(), error)
    }

    fn offloads(&self, side: Side) -> Offloads {
        // A device without features has none that join packets.
        let read = offload::Offloads::read(self.device(side)).ok();
        let features = read.iter().flat_map(|read| read.features().to_vec());
        Offloads(features.map(|(name, is_on)| (name.to_string(), is_on)).collect())
    }

    fn found(&mut self, side: Side) -> Result<Found, Failure> {
        let Ok(index) = self.index(side) else {
            return Ok(Found { root: Root::Gone, ..Found::default() });
        };
        let qdiscs = self.netlink.qdiscs(index).map_err(self.failed(side, "its queues"))?;
        let root = root::of(&qdiscs);
        let mut found = Found { root, offloads: self.offloads(side), ..Found::default() };
        if found.root == Root::Ours {
            let lines = qdiscs.iter().filter(|qdisc| qdisc.parent.major == MAJOR);
            let line = |qdisc: &tc::Qdisc| Some((qdisc.parent, self.leaf.line(&qdisc.discipline)?));
            let lines: BTreeMap<Handle, u32> = lines.filter_map(line).collect();
            let mut classes = Vec::new();
            self.netlink.classes(index, &mut classes).map_err(self.failed(side, "its classes"))?;
            found.tree.classes = classes.iter().filter_map(|class| read(class, &lines)).collect();
        }
        Ok(found)
    }

    fn make(&mut self, change: &Change, batch: &mut Vec<tc::Change>) -> Result<(), Failure> {
        match change {
            Change::AddClass(side, minor, class) => self.class(*side, *minor, class, Mode::Add, batch),
            Change::ChangeClass(side, minor, class) => self.class(*side, *minor, class, Mode::Change, batch),
            Change::DeleteClass(side, minor) => {
                let device = self.index(*side)?;
                let (parent, handle) = (Handle::NONE, Handle::new(MAJOR, *minor));
                batch.push(tc::Change { device, parent, handle, what: What::RemoveClass });
                Ok(())
            }
            Change::AddRoot(side) => self.replace_root(*side, None),
            Change::DeleteRoot(side, before) => self.replace_root(*side, Some(before)),
            Change::SetOffloads(side, wanted) => {
                self.index(*side)?;
                let device = self.device(*side);
                let set = || {
                    let now = offload::Offloads::read(device)?;
                    now.changed(|feature| wanted.0.get(feature).copied()).set(device)
                };
                set().map_err(self.failed(*side, "its offloads"))
            }
            Change::AddTable
            | Change::SetRules
            | Change::DeleteTable
            | Change::AddEntry(..)
            | Change::ChangeEntry(..)
            | Change::DeleteEntry(..) => unreachable!("the packet filter's"),
        }
    }

    /// Adds the changes for a class and its queue to a batch.
    fn class(
        &mut self,
        side: Side,
        minor: u16,
        class: &Class,
        mode: Mode,
        batch: &mut Vec<tc::Change>,
    ) -> Result<(), Failure> {
        let device = self.index(side)?;
        let handle = Handle::new(MAJOR, minor);
        let htb = HtbClass {
            rate: class.rate,
            ceiling: class.ceiling,
            burst: Bytes::new(class.burst),
            ceiling_burst: Bytes::new(class.burst),
            quantum: Some(Bytes::new(class.quantum)),
            priority: class.priority,
        };
        let parent = Handle::new(MAJOR, class.parent);
        batch.push(tc::Change { device, parent, handle, what: What::Class(mode, htb) });
        // A queue of another kind is replaced, and one of the same kind gets the new length. A class
        // may lack its queue if the daemon was killed in between.
        let is_new = mode == Mode::Add;
        let mode = if is_new { mode } else { Mode::Replace };
        batch.extend(class.line.map(|line| {
            let what = What::Qdisc(mode, self.leaf.discipline(line, is_new));
            tc::Change { device, parent: handle, handle: Handle::NONE, what }
        }));
        Ok(())
    }

    /// Replaces the root in one step: by the gateway's own, or by the earlier one.
    fn replace_root(&mut self, side: Side, before: Option<&Root>) -> Result<(), Failure> {
        let device = self.index(side)?;
        let change = |handle, what| tc::Change { device, parent: Handle::ROOT, handle, what };
        let remove = change(Handle::NONE, What::RemoveQdisc);
        let failed = self.failed(side, "its root");
        let add = match before {
            None => {
                // A queue with this number would be changed, not replaced, and HTB refuses that.
                if root::of(&self.netlink.qdiscs(device).map_err(&failed)?) == Root::Ours {
                    self.netlink.apply([&remove]).map_err(&failed)?;
                }
                let htb = Htb { default: EXEMPT, rate_to_quantum: 10, direct_queue: None };
                change(Handle::new(MAJOR, 0), What::Qdisc(Mode::Replace, Discipline::Htb(htb)))
            }
            Some(Root::Foreign { major, kept: Some(kept), .. }) => {
                let discipline = root::read(kept)
                    .ok_or_else(|| Failure::new("the root that was there", "not readable"))?;
                change(Handle::new(*major, 0), What::Qdisc(Mode::Replace, discipline))
            }
            Some(_) => {
                // The kernel's own default cannot be removed, and need not be.
                self.netlink.apply([&remove]).map_err(&failed)?;
                return Ok(());
            }
        };
        let refused = self.netlink.apply([&add]).map_err(&failed)?;
        refused.first().map_or(Ok(()), |refused| Err(failed(io::Error::other(refused.to_string()))))
    }

    fn flush(&mut self, batch: &mut Vec<tc::Change>) -> Result<(), Failure> {
        let refused = self.netlink.apply(&*batch).map_err(|error| Failure::new("netlink", error))?;
        let first = refused.first().map(|refused| {
            let what = batch
                .get(refused.index)
                .map_or_else(String::new, |change| format!("class {}", change.handle));
            Failure::new(what, refused)
        });
        batch.clear();
        first.map_or(Ok(()), Err)
    }
}

/// The first version with counting sets in the packet filter; Debian's 5.10 refuses them.
const LEAST_KERNEL: (u32, u32) = (5, 11);

/// Checks a kernel's release. One that cannot be parsed is accepted.
fn old_enough(release: &str) -> Result<(), Failure> {
    let mut numbers = release.split(|c: char| !c.is_ascii_digit()).map_while(|word| word.parse().ok());
    match (numbers.next(), numbers.next()) {
        (Some(major), Some(minor)) if (major, minor) < LEAST_KERNEL => {
            let why = "Linux 5.11 is the least: the packet filter before does not count by address";
            Err(Failure::new(format!("kernel {release}"), why))
        }
        _ => Ok(()),
    }
}

/// Converts a kernel class to the gateway's form.
fn read(class: &tc::Class, lines: &BTreeMap<Handle, u32>) -> Option<(u16, Class)> {
    let htb = class.htb?;
    let minor = class.handle.minor;
    let parent = if class.parent.major == MAJOR { class.parent.minor } else { 0 };
    // The kernel stores a burst as a time, and rounds it to ticks.
    let usual = burst(htb.ceiling);
    let is_usual = [htb.burst, htb.ceiling_burst]
        .iter()
        .all(|read| read.count().abs_diff(usual) <= usual / 100 + 2 * tick(htb.rate));
    let read = Class {
        parent,
        rate: htb.rate,
        ceiling: htb.ceiling,
        quantum: htb.quantum.map_or(0, Bytes::count),
        burst: if is_usual { usual } else { htb.burst.count() },
        line: lines.get(&class.handle).copied().filter(|_| minor != AGGREGATE),
        priority: htb.priority,
    };
    Some((minor, read))
}

/// Returns the bytes that pass at a rate in one of the kernel's ticks of 64 ns.
fn tick(rate: Rate) -> u32 {
    (rate.min(OPEN).as_bps() / 8 * 64 / 1_000_000_000) as u32 + 1
}

fn counters(class: &tc::Class, given_up: &BTreeMap<Handle, u32>) -> Counters {
    let tc::Statistics { bytes, packets, waiting, backlog, drops, .. } = class.statistics;
    let backlog = Volume { packets: waiting.into(), bytes: backlog.into() };
    let dropped = given_up.get(&class.handle).copied().unwrap_or(drops);
    Counters { packets: packets as u32, bytes, dropped, backlog }
}

/// Converts a captured packet to the gateway's form.
fn passed(packet: &Packet) -> Passed {
    let headers = packet.headers;
    let segment = |tcp: evenair_linux::packets::Segment| Segment {
        end: tcp.end,
        acknowledged: tcp.acknowledgement,
        has_data: tcp.payload > 0,
        is_last: tcp.flags & 1 != 0 || tcp.is_reset(),
        is_reset: tcp.is_reset(),
    };
    Passed {
        at: packet.at,
        side: if packet.direction == Direction::Outgoing { Side::Down } else { Side::Up },
        size: headers.size,
        from: headers.source,
        to: headers.destination,
        protocol: headers.protocol,
        ports: headers.ports,
        tcp: headers.tcp.map(segment),
    }
}

impl Kernel for Linux {
    fn find(&mut self) -> Result<AllFound, Failure> {
        let (down, up) = (self.found(Side::Down)?, self.found(Side::Up)?);
        let mut found = AllFound { down, up, ..AllFound::default() };
        if self.has_table()? {
            found.filter = Filter::Broken;
            if let (Some(down), Some(up)) = (self.entries(Side::Down)?, self.entries(Side::Up)?) {
                (found.down.tree.entries, found.up.tree.entries) = (down, up);
                found.filter = if self.has_rules()? { Filter::Leads } else { Filter::Silent };
            }
        }
        Ok(found)
    }

    fn apply(&mut self, changes: &[Change]) -> Result<(), Failure> {
        let mut batch = Vec::new();
        let mut rest = changes;
        while let [change, after @ ..] = rest {
            if change.side().is_none() {
                self.flush(&mut batch)?;
                rest = self.filter(rest)?;
                continue;
            }
            let joins =
                matches!(change, Change::AddClass(..) | Change::ChangeClass(..) | Change::DeleteClass(..));
            if !joins {
                self.flush(&mut batch)?;
            }
            self.make(change, &mut batch)?;
            rest = after;
        }
        self.flush(&mut batch)
    }

    fn counters(&mut self, side: Side) -> Result<Readings, Failure> {
        let index = self.index(side)?;
        let mut classes = Vec::new();
        self.netlink.classes(index, &mut classes).map_err(self.failed(side, "its counters"))?;
        if classes.is_empty() {
            return Err(Failure::new(self.device(side), "the tree is gone"));
        }
        // If a queue cuts segments, only the queue counts their drops, not the class.
        let lines = self.netlink.qdiscs(index).map_err(self.failed(side, "its lines"))?;
        let given_up: BTreeMap<Handle, u32> =
            lines.iter().map(|line| (line.parent, line.statistics.drops)).collect();
        let own = classes.iter().filter(|class| class.handle.major == MAJOR);
        let mut readings: Readings =
            own.map(|class| (class.handle.minor, counters(class, &given_up))).collect();
        let root = lines.iter().find(|line| line.parent == Handle::ROOT && line.handle.major == MAJOR);
        let of_classes = readings.iter().filter(|(minor, _)| **minor != AGGREGATE);
        let of_classes: u64 = of_classes.map(|(_, counters)| counters.bytes).sum();
        let whole = root.map_or(0, |root| root.statistics.bytes);
        let direct = Counters { bytes: whole.saturating_sub(of_classes), ..Counters::default() };
        readings.insert(DIRECT, direct);
        Ok(readings)
    }

    fn backlogs(&mut self, side: Side, minors: &[u16]) -> Result<BTreeMap<u16, u64>, Failure> {
        let index = self.index(side)?;
        if minors.len() > ONE_BY_ONE {
            let wanted: BTreeSet<u16> = minors.iter().copied().collect();
            let mut classes = Vec::new();
            self.netlink.classes(index, &mut classes).map_err(self.failed(side, "its lines"))?;
            let own = classes.iter().filter(|class| class.handle.major == MAJOR);
            let lines = own.map(|class| (class.handle.minor, class.statistics.waiting.into()));
            return Ok(lines.filter(|(minor, _)| wanted.contains(minor)).collect());
        }
        let mut lines = BTreeMap::new();
        for &minor in minors {
            if let Ok(class) = self.netlink.class(index, Handle::new(MAJOR, minor)) {
                lines.insert(minor, class.statistics.waiting.into());
            }
        }
        Ok(lines)
    }

    fn neighbours(&mut self) -> Result<Vec<Neighbour>, Failure> {
        let index = self.index(Side::Down)?;
        let found = self.netlink.neighbours(index).map_err(self.failed(Side::Down, "its neighbours"))?;
        let answers = found.into_iter().filter(|neighbour| neighbour.has_answered);
        Ok(answers.map(|found| Neighbour { address: found.address, hardware: found.hardware() }).collect())
    }

    fn stamp(&mut self) -> Stamp {
        let mut stamp = [self.filter.generation().unwrap_or(0), 0, 0, 0, 0];
        for side in Side::ALL {
            let index = self.index(side).unwrap_or(0);
            let all = self.netlink.class(index, Handle::new(MAJOR, AGGREGATE));
            let place = 1 + 2 * side as usize;
            (stamp[place], stamp[place + 1]) = (index, all.is_ok().into());
        }
        stamp
    }

    fn take_notes(&mut self) -> Vec<String> {
        self.devices.take_notes()
    }

    fn offered(&mut self) -> Result<Vec<Offered>, Failure> {
        self.seen()
    }

    fn passed(&mut self, see: &mut dyn FnMut(&Passed)) -> Option<u64> {
        if !self.hears {
            self.open_packets();
        }
        let packets = self.packets.as_mut().filter(|_| self.hears)?;
        let told = packets.read(|packet| see(&passed(packet)));
        match told.and_then(|_| packets.drops()) {
            Ok(lost) => self.lost = lost,
            // The device is gone: the next call follows the device that has its name then.
            Err(_) => self.hears = false,
        }
        self.hears.then_some(self.lost)
    }
}

/// Returns the name of the map of a side and family.
fn map(side: Side, is_v6: bool) -> String {
    format!("{side}{}", if is_v6 { 6 } else { 4 })
}

/// Converts a prefix to a range of the packet filter.
fn range(prefix: Prefix) -> evenair_linux::nft::Range {
    evenair_linux::nft::Range::new(prefix.address(), prefix.last())
        .expect("a prefix's addresses are in order")
}

#[cfg(test)]
mod tests {
    use super::old_enough;

    #[test]
    fn a_kernel_that_is_too_old_is_told_so() {
        for release in ["5.11", "6.1.0-56-cloud-amd64", "5.15.0+", "6.18.44-fc", "unknown"] {
            assert_eq!(old_enough(release), Ok(()), "{release}");
        }
        for release in ["5.10.0-32-cloud-amd64", "4.19", "5.4.0"] {
            let told = old_enough(release).unwrap_err().to_string();
            assert!(told.starts_with(&format!("kernel {release}: Linux 5.11 is the least")), "{told}");
        }
    }
}
