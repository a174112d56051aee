//! Queueing disciplines and HTB's classes on devices (tc(8), tc-htb(8)): set, changed, removed in batches, and listed with their
//! counters.
//!
//! What a [`Change`] says in bytes is with its part: [`Discipline`], [`HtbClass`]. Nothing here decides what to set.

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

/// The name of a queueing discipline or class: two numbers, which tc(8) writes in hexadecimal, `1:2a`. A discipline's second
/// number is 0, and a class has its discipline's first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Handle {
    /// The discipline.
    pub major: u16,
    /// The class in it; 0 for the discipline itself.
    pub minor: u16,
}

impl Handle {
    /// Where a device's own discipline hangs (`TC_H_ROOT`).
    pub const ROOT: Self = Self { major: 0xffff, minor: 0xffff };
    /// Where `clsact` hangs (`TC_H_CLSACT`).
    pub const CLSACT: Self = Self { major: 0xffff, minor: 0xfff1 };
    /// None: the kernel chooses, or whatever hangs there is meant.
    pub const NONE: Self = Self { major: 0, minor: 0 };

    /// A discipline or class.
    pub const fn new(major: u16, minor: u16) -> Self {
        Self { major, minor }
    }

    /// The number that the kernel has: `skb->priority` and nftables' `meta priority` are the same.
    pub const fn number(self) -> u32 {
        (self.major as u32) << 16 | self.minor as u32
    }

    /// That of a number.
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

/// What is done about a discipline or class that is there, or is not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// It must not be there (`EEXIST`).
    Add,
    /// It must be there (`ENOENT`), and keeps its queue and counters.
    Change,
    /// Another discipline in its place goes; a class is changed if it is there, else added.
    Replace,
}

/// Something that is set on a device.
#[derive(Clone, Debug, PartialEq)]
pub struct Change {
    /// The device's number.
    pub device: u32,
    /// The class or discipline below which it hangs; [`Handle::ROOT`] for the device itself.
    pub parent: Handle,
    /// Its name.
    pub handle: Handle,
    /// What it is.
    pub what: What,
}

/// What a [`Change`] is about.
#[derive(Clone, Debug, PartialEq)]
pub enum What {
    /// A queueing discipline is set.
    Qdisc(Mode, Discipline),
    /// A class of HTB is set. Changing one says all of it anew.
    Class(Mode, HtbClass),
    /// A discipline goes, with all that hangs below it.
    RemoveQdisc,
    /// A class goes, which nothing uses any more; the discipline below it goes with it.
    RemoveClass,
}

/// A queueing discipline as it is.
#[derive(Clone, Debug, PartialEq)]
pub struct Qdisc {
    /// The device's number.
    pub device: u32,
    /// Where it hangs.
    pub parent: Handle,
    /// Its name; [`Handle::NONE`] for those that the kernel puts there by itself.
    pub handle: Handle,
    /// What it is.
    pub discipline: Discipline,
    /// Its options as the kernel has them, all of them: [`Discipline::Other`] with these adds the same again, without its classes.
    pub options: Vec<u8>,
    /// What it has counted.
    pub statistics: Statistics,
}

/// A class as it is.
#[derive(Clone, Debug, PartialEq)]
pub struct Class {
    /// The device's number.
    pub device: u32,
    /// The class or discipline below which it hangs; [`Handle::ROOT`] below HTB itself.
    pub parent: Handle,
    /// Its name.
    pub handle: Handle,
    /// The discipline below it, if any.
    pub leaf: Option<Handle>,
    /// What HTB gives it; none of a class of another kind.
    pub htb: Option<HtbClass>,
    /// What it has counted, what of its leaf waits included.
    pub statistics: Statistics,
    /// What HTB itself counts.
    pub htb_statistics: Option<HtbStatistics>,
}

impl Rtnetlink {
    /// Makes changes in their order, 64 of them at a time; gives those that were refused, while the others are made.
    ///
    /// # Errors
    /// If the kernel cannot be asked, or does not answer; some changes may be made then.
    pub fn apply<'a>(&mut self, changes: impl IntoIterator<Item = &'a Change>) -> io::Result<Vec<Refusal>> {
        self.socket.ask_all(changes.into_iter().map(Change::message))
    }

    /// The queueing disciplines of a device.
    ///
    /// # Errors
    /// If they change all the time.
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

    /// The classes of a device, into a list that is emptied first.
    ///
    /// # Errors
    /// If they change all the time.
    pub fn classes(&mut self, device: u32, into: &mut Vec<Class>) -> io::Result<()> {
        let request = message(libc::RTM_GETTCLASS, 0, device, Handle::NONE, Handle::NONE);
        self.socket.dump(&request, into, read_class)
    }

    /// One class.
    ///
    /// # Errors
    /// If it or the device is gone.
    pub fn class(&mut self, device: u32, handle: Handle) -> io::Result<Class> {
        // The kernel announces what it is asked for to those who listen, and to who asks only with this flag.
        let flags = libc::NLM_F_ECHO;
        self.socket.get(message(libc::RTM_GETTCLASS, flags, device, Handle::NONE, handle), read_class)
    }

    /// Whether the kernel has a kind of queueing discipline, or loads it. It is asked for one on the loopback device with an option
    /// that no kind takes, so that nothing is set.
    ///
    /// # Errors
    /// If the process may not ask: it lacks `CAP_NET_ADMIN`.
    pub fn has_discipline(&mut self, kind: &str) -> io::Result<bool> {
        let loopback = self.index("lo")?;
        let mut request = message(
            libc::RTM_NEWQDISC,
            libc::NLM_F_CREATE | libc::NLM_F_EXCL,
            loopback,
            Handle::ROOT,
            Handle::NONE,
        );
        // One byte, where each kind's first options are longer.
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
    /// The message that asks for it.
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
    /// Reads what follows the header of a kernel's message about a discipline.
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
    /// Reads what follows the header of a kernel's message about a class.
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

/// Device, handle, parent and attributes of a message.
fn parts(payload: &[u8]) -> io::Result<(u32, Handle, Handle, Attributes<'_>)> {
    let number = |at| u32_at(payload, at).ok_or_else(|| malformed("a discipline without a header"));
    let attributes = payload.get(OWN_HEADER..).ok_or_else(|| malformed("a discipline without a header"))?;
    let handle = |at| number(at).map(Handle::from_number);
    Ok((number(4)?, handle(8)?, handle(12)?, Attributes::new(attributes)))
}

/// A message about a discipline or class (`struct tcmsg`).
fn message(kind: u16, flags: i32, device: u32, parent: Handle, handle: Handle) -> Message {
    let mut own = [0; OWN_HEADER];
    own[4..8].copy_from_slice(&device.to_ne_bytes());
    own[8..12].copy_from_slice(&handle.number().to_ne_bytes());
    own[12..16].copy_from_slice(&parent.number().to_ne_bytes());
    Message::new(kind, flags, &own)
}

#[cfg(test)]
mod tests;
