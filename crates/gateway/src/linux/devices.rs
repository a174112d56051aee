//! The two devices by their names and numbers: a name may pass to another device, and a device may be
//! renamed.

use super::root;
use crate::Side;
use crate::kernel::Root;
use evenair_linux::Rtnetlink;
use evenair_linux::tc::{Change, Handle, What};
use std::io;

/// The devices of a gateway, by their configured names.
#[derive(Debug)]
pub(super) struct Devices {
    names: [String; 2],
    /// Their last numbers.
    indices: [Option<u32>; 2],
    /// Their present names, if they were renamed.
    called: [Option<String>; 2],
    notes: Vec<String>,
}

impl Devices {
    pub(super) fn new(names: [String; 2]) -> Self {
        Self { names, indices: [None; 2], called: [None, None], notes: Vec::new() }
    }

    /// Returns the present name of a device.
    pub(super) fn name(&self, side: Side) -> &str {
        let place = side as usize;
        self.called[place].as_deref().unwrap_or(&self.names[place])
    }

    /// Takes the notices since the last call.
    pub(super) fn take_notes(&mut self) -> Vec<String> {
        std::mem::take(&mut self.notes)
    }

    /// Returns the number of the device that has the name; else of the last device with that name, if
    /// it still exists.
    pub(super) fn index(&mut self, netlink: &mut Rtnetlink, side: Side) -> io::Result<u32> {
        let place = side as usize;
        let before = self.indices[place];
        match (netlink.index(&self.names[place]), before) {
            (Ok(index), _) => {
                self.called[place] = None;
                self.indices[place] = Some(index);
                if let Some(before) = before.filter(|before| *before != index) {
                    self.leave(netlink, &self.names[place].clone(), before);
                }
                Ok(index)
            }
            (Err(error), Some(before)) => {
                let Ok(link) = netlink.link(before) else { return Err(error) };
                if self.called[place].as_ref() != Some(&link.name) {
                    let (name, called) = (&self.names[place], &link.name);
                    self.notes.push(format!(
                        "{name} is called {called} now, and keeps its limits; write that name into the file, or: ip link set {called} name {name}"
                    ));
                    self.called[place] = Some(link.name);
                }
                Ok(before)
            }
            (Err(error), None) => Err(error),
        }
    }

    /// Removes the gateway's root from a device that lost its name to another.
    fn leave(&mut self, netlink: &mut Rtnetlink, name: &str, index: u32) {
        let Ok(link) = netlink.link(index) else { return };
        let is_ours = netlink.qdiscs(index).is_ok_and(|qdiscs| root::of(&qdiscs) == Root::Ours);
        let remove =
            Change { device: index, parent: Handle::ROOT, handle: Handle::NONE, what: What::RemoveQdisc };
        if is_ours && netlink.apply([&remove]).is_ok_and(|refused| refused.is_empty()) {
            let other = link.name;
            self.notes.push(format!(
                "another device is {name} now; {other}, which was, has the kernel's usual queue again; its offloads: ethtool -k {other}"
            ));
        }
    }
}
