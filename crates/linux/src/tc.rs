//! Queueing disciplines and HTB's classes on devices (tc(8), tc-htb(8)): set, changed, removed in batches,
//! and listed with their counters.
//!
//! The encodings of a [`Change`] are with its parts: [`Discipline`], [`HtbClass`]. This module has no policy.

mod class;
mod discipline;
mod statistics;

pub use class::HtbClass;
pub use discipline::{Cake, Discipline, FqCodel, Htb, Isolation, Tbf};
pub use statistics::{HtbStatistics, Statistics};

use crate::link::Rtnetlink;
use crate::netlink::attributes::{Attributes, text, u32_at};
use crate::netlink::message::Message;
use crate::netlink::{Refusal, malformed};
use std::{fmt, io};

/// Bytes of `struct tcmsg`: family, padding, device, handle, parent, info.
const OWN_HEADER: usize = 20;

/// The name of a queueing discipline or class: two numbers, which tc(8) writes in hexadecimal, `1:2a`. A
/// discipline's second number is 0, and a class has its discipline's first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Handle {
    /// The discipline.
    pub major: u16,
    /// The class in it; 0 for the discipline itself.
    pub minor: u16,
}

impl Handle {
    /// The place of a device's own discipline (`TC_H_ROOT`).
    pub const ROOT: Self = Self { major: 0xffff, minor: 0xffff };
    /// The place of `clsact` (`TC_H_CLSACT`).
    pub const CLSACT: Self = Self { major: 0xffff, minor: 0xfff1 };
    /// No number: the kernel chooses one, or any discipline at the place is meant.
    pub const NONE: Self = Self { major: 0, minor: 0 };

    /// Returns the name of a discipline or class.
    pub const fn new(major: u16, minor: u16) -> Self {
        Self { major, minor }
    }

    /// Returns the kernel's number, which `skb->priority` and nftables' `meta priority` use too.
    pub const fn number(self) -> u32 {
        (self.major as u32) << 16 | self.minor as u32
    }

    /// Returns the name of a number.
    pub const fn from_number(number: u32) -> Self {
        Self { major: (number >> 16) as u16, minor: number as u16 }
    }
}

impl fmt::Display for Handle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::ROOT => write!(f, "root"),
            Self { major, minor: 0 } => write!(f, "{major:x}:"),
            Self { major, minor } => write!(f, "{major:x}:{minor:x}"),
        }
    }
}

/// The treatment of an existing discipline or class.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// It must not exist (`EEXIST`).
    Add,
    /// It must exist (`ENOENT`), and keeps its queue and counters.
    Change,
    /// Another discipline at its place is removed; a class is changed if it exists, else added.
    Replace,
}

/// A change on a device.
#[derive(Clone, Debug, PartialEq)]
pub struct Change {
    /// The device's number.
    pub device: u32,
    /// The class or discipline above it; [`Handle::ROOT`] for the device itself.
    pub parent: Handle,
    /// Its name.
    pub handle: Handle,
    /// The operation.
    pub what: What,
}

/// The operation of a [`Change`].
#[derive(Clone, Debug, PartialEq)]
pub enum What {
    /// Sets a queueing discipline.
    Qdisc(Mode, Discipline),
    /// Sets a class of HTB. A change replaces all its parameters.
    Class(Mode, HtbClass),
    /// Removes a discipline, with everything below it.
    RemoveQdisc,
    /// Removes an unused class, with the discipline below it.
    RemoveClass,
}

/// A queueing discipline in the kernel.
#[derive(Clone, Debug, PartialEq)]
pub struct Qdisc {
    /// The device's number.
    pub device: u32,
    /// Its place.
    pub parent: Handle,
    /// Its name; [`Handle::NONE`] for those that the kernel adds by itself.
    pub handle: Handle,
    /// Its kind and parameters.
    pub discipline: Discipline,
    /// All its options in the kernel's encoding: [`Discipline::Other`] with these adds the same discipline
    /// again, without its classes.
    pub options: Vec<u8>,
    /// Its counters.
    pub statistics: Statistics,
}

/// A class in the kernel.
#[derive(Clone, Debug, PartialEq)]
pub struct Class {
    /// The device's number.
    pub device: u32,
    /// The class or discipline above it; [`Handle::ROOT`] below HTB itself.
    pub parent: Handle,
    /// Its name.
    pub handle: Handle,
    /// The discipline below it, if any.
    pub leaf: Option<Handle>,
    /// Its HTB parameters; none for a class of another kind.
    pub htb: Option<HtbClass>,
    /// Its counters, the backlog of its leaf included.
    pub statistics: Statistics,
    /// HTB's own counters.
    pub htb_statistics: Option<HtbStatistics>,
}

impl Rtnetlink {
    /// Makes changes in their order, 64 of them at a time. Returns those that were refused, while the others
    /// take effect.
    ///
    /// # Errors
    /// If the request cannot be sent, or has no answer; some changes may have taken effect then.
    pub fn apply<'a>(&mut self, changes: impl IntoIterator<Item = &'a Change>) -> io::Result<Vec<Refusal>> {
        self.socket.ask_all(changes.into_iter().map(Change::message))
    }

    /// Returns the queueing disciplines of a device.
    ///
    /// # Errors
    /// If they change during each of several attempts.
    pub fn qdiscs(&mut self, device: u32) -> io::Result<Vec<Qdisc>> {
        let mut qdiscs = Vec::new();
        let request = message(libc::RTM_GETQDISC, 0, device, Handle::NONE, Handle::NONE);
        // The kernel lists those of all devices.
        self.socket.dump(&request, &mut qdiscs, |kind, payload| {
            let found = if kind == libc::RTM_NEWQDISC { Some(Qdisc::parse(payload)?) } else { None };
            Ok(found.filter(|qdisc| qdisc.device == device))
        })?;
        Ok(qdiscs)
    }

    /// Replaces a list's content by the classes of a device.
    ///
    /// # Errors
    /// If they change during each of several attempts.
    pub fn classes(&mut self, device: u32, into: &mut Vec<Class>) -> io::Result<()> {
        let request = message(libc::RTM_GETTCLASS, 0, device, Handle::NONE, Handle::NONE);
        self.socket.dump(&request, into, read_class)
    }

    /// Returns one class.
    ///
    /// # Errors
    /// If it or the device is gone.
    pub fn class(&mut self, device: u32, handle: Handle) -> io::Result<Class> {
        // The kernel sends the answer to listeners, and to the requester only with this flag.
        let flags = libc::NLM_F_ECHO;
        self.socket.get(message(libc::RTM_GETTCLASS, flags, device, Handle::NONE, handle), read_class)
    }

    /// Returns whether the kernel has a kind of queueing discipline, which it may load. It requests one on
    /// the loopback device with an option that all kinds reject, so nothing is set.
    ///
    /// # Errors
    /// If the process lacks `CAP_NET_ADMIN`.
    pub fn has_discipline(&mut self, kind: &str) -> io::Result<bool> {
        let loopback = self.index("lo")?;
        let mut request = message(
            libc::RTM_NEWQDISC,
            libc::NLM_F_CREATE | libc::NLM_F_EXCL,
            loopback,
            Handle::ROOT,
            Handle::NONE,
        );
        // One byte each: every kind's first options are longer.
        request.put_text(libc::TCA_KIND, kind).nest_unmarked(libc::TCA_OPTIONS, |options| {
            (1..=8).for_each(|option| {
                options.put(option, &[0]);
            });
        });
        let Err(error) = self.socket.ask(request) else {
            self.socket.ask(message(libc::RTM_DELQDISC, 0, loopback, Handle::ROOT, Handle::NONE))?;
            return Ok(true);
        };
        let refusal = error.get_ref().and_then(|inner| inner.downcast_ref::<Refusal>());
        match refusal.map(|refusal| refusal.code) {
            Some(libc::ENOENT) => Ok(false),
            Some(libc::EINVAL | libc::ERANGE) => Ok(true),
            _ => Err(error),
        }
    }
}

impl Change {
    /// Returns the request of the change.
    pub(crate) fn message(&self) -> Message {
        let own = |kind, flags| message(kind, flags, self.device, self.parent, self.handle);
        match &self.what {
            What::RemoveQdisc => own(libc::RTM_DELQDISC, 0),
            What::RemoveClass => own(libc::RTM_DELTCLASS, 0),
            What::Qdisc(mode, discipline) => {
                let mut message = own(libc::RTM_NEWQDISC, mode.flags(libc::NLM_F_REPLACE));
                discipline.put(&mut message);
                message
            }
            What::Class(mode, class) => {
                let mut message = own(libc::RTM_NEWTCLASS, mode.flags(0));
                class.put(&mut message);
                message
            }
        }
    }
}

impl Mode {
    const fn flags(self, replaces: i32) -> i32 {
        match self {
            Self::Add => libc::NLM_F_CREATE | libc::NLM_F_EXCL,
            Self::Change => 0,
            Self::Replace => libc::NLM_F_CREATE | replaces,
        }
    }
}

impl Qdisc {
    /// Reads the payload of a kernel's message about a discipline.
    ///
    /// # Errors
    /// If it ends too early.
    pub fn parse(payload: &[u8]) -> io::Result<Self> {
        let (device, handle, parent, attributes) = parts(payload)?;
        let kind = attributes.find(libc::TCA_KIND).map(text).unwrap_or_default();
        let options = attributes.find(libc::TCA_OPTIONS).unwrap_or_default();
        let (discipline, statistics) = (Discipline::parse(&kind, options), Statistics::parse(&attributes));
        Ok(Self { device, parent, handle, discipline, options: options.to_vec(), statistics })
    }
}

impl Class {
    /// Reads the payload of a kernel's message about a class.
    ///
    /// # Errors
    /// If it ends too early.
    pub fn parse(payload: &[u8]) -> io::Result<Self> {
        let (device, handle, parent, attributes) = parts(payload)?;
        let is_htb = attributes.find(libc::TCA_KIND).is_some_and(|kind| text(kind) == "htb");
        let options = attributes.within(libc::TCA_OPTIONS);
        let leaf = u32_at(payload, 16).filter(|&number| number != 0).map(Handle::from_number);
        Ok(Self {
            device,
            parent,
            handle,
            leaf,
            htb: is_htb.then(|| HtbClass::parse(&options)).flatten(),
            statistics: Statistics::parse(&attributes),
            htb_statistics: is_htb.then(|| HtbStatistics::parse(&attributes)).flatten(),
        })
    }
}

fn read_class(kind: u16, payload: &[u8]) -> io::Result<Option<Class>> {
    if kind == libc::RTM_NEWTCLASS { Class::parse(payload).map(Some) } else { Ok(None) }
}

/// Returns device, handle, parent and attributes of a message.
fn parts(payload: &[u8]) -> io::Result<(u32, Handle, Handle, Attributes<'_>)> {
    let number = |at| u32_at(payload, at).ok_or_else(|| malformed("a discipline without a header"));
    let attributes = payload.get(OWN_HEADER..).ok_or_else(|| malformed("a discipline without a header"))?;
    let handle = |at| number(at).map(Handle::from_number);
    Ok((number(4)?, handle(8)?, handle(12)?, Attributes::new(attributes)))
}

/// Returns a message about a discipline or class (`struct tcmsg`).
fn message(kind: u16, flags: i32, device: u32, parent: Handle, handle: Handle) -> Message {
    let mut own = [0; OWN_HEADER];
    own[4..8].copy_from_slice(&device.to_ne_bytes());
    own[8..12].copy_from_slice(&handle.number().to_ne_bytes());
    own[12..16].copy_from_slice(&parent.number().to_ne_bytes());
    Message::new(kind, flags, &own)
}

#[cfg(test)]
mod tests;
