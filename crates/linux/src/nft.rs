//! An own table of nftables (nft(8)): maps from addresses to classes of a queue, sets that count the traffic
//! of each address, and the rules that use them.
//!
//! A packet's class is its priority (`meta priority`), which HTB reads. A priority set before forwarding is
//! lost, and a packet with a missing class passes **without a limit**. So classes are created first, entries
//! second, rules last. The machine's own packets are not forwarded: they have the class that their socket
//! sets (`SO_PRIORITY`), or HTB's default.

pub(crate) mod elements;
mod rules;
pub mod steering;

pub use elements::{Element, Entry, Range};
pub use rules::{Action, Match, Rule, Side};

use crate::netlink::Socket;
use crate::netlink::attributes::{Attributes, be64_of, bytes_at, text};
use crate::netlink::message::Message;
use evenair_units::Duration;
use rustix::net::netlink::NETFILTER;
use std::io;

/// A connection to nftables, of the network namespace in which it was created.
#[derive(Debug)]
pub struct Nftables {
    socket: Socket,
}

/// The packets that a table processes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Family {
    /// IPv4 and IPv6 that the machine itself sends, receives and routes.
    Inet,
    /// Packets that its bridges pass on.
    Bridge,
    /// Another (`NFPROTO_IPV4` and so on), which is only listed.
    Other(u8),
}

/// A table.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Table {
    /// The packets that it processes.
    pub family: Family,
    /// Its name: 1 to 255 bytes.
    pub name: String,
}

/// A version of the Internet protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Version {
    /// Addresses of 4 bytes.
    V4,
    /// Addresses of 16 bytes.
    V6,
}

/// A set of addresses in a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Set {
    /// Its name in the table: 1 to 255 bytes.
    pub name: String,
    /// The version of its addresses.
    pub version: Version,
    /// Its purpose.
    pub kind: SetKind,
}

/// The purpose of a set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SetKind {
    /// Ranges of addresses, and the class of each.
    Classes {
        /// Whether it counts the traffic of each range.
        counts: bool,
    },
    /// Addresses with traffic, and their counters: the kernel adds them by itself ([`Action::Count`]).
    Seen {
        /// The most addresses; further ones are not counted.
        size: u32,
        /// Addresses without traffic for this time are removed.
        timeout: Duration,
    },
}

/// A chain of rules.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Chain {
    /// Its name in the table.
    pub name: String,
    /// The point at which packets enter it.
    pub hook: Hook,
    /// Chains with lower priorities run first.
    pub priority: i32,
}

/// The point at which packets enter a chain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hook {
    /// Forwarded packets, before masquerading of the source and after restoring of the destination.
    Forward,
    /// Sent packets, the machine's own included; masquerading has priority 100 there.
    Postrouting,
}

/// Linux' message kinds (`NFT_MSG_…`) in the subsystem of nftables.
mod kind {
    const SUBSYSTEM: u16 = (libc::NFNL_SUBSYS_NFTABLES as u16) << 8;
    pub(super) const NEW_TABLE: u16 = SUBSYSTEM | libc::NFT_MSG_NEWTABLE as u16;
    pub(super) const GET_TABLE: u16 = SUBSYSTEM | libc::NFT_MSG_GETTABLE as u16;
    pub(super) const DELETE_TABLE: u16 = SUBSYSTEM | libc::NFT_MSG_DELTABLE as u16;
    pub(super) const NEW_CHAIN: u16 = SUBSYSTEM | libc::NFT_MSG_NEWCHAIN as u16;
    pub(super) const GET_CHAIN: u16 = SUBSYSTEM | libc::NFT_MSG_GETCHAIN as u16;
    pub(super) const NEW_RULE: u16 = SUBSYSTEM | libc::NFT_MSG_NEWRULE as u16;
    pub(super) const GET_RULE: u16 = SUBSYSTEM | libc::NFT_MSG_GETRULE as u16;
    pub(super) const DELETE_RULE: u16 = SUBSYSTEM | libc::NFT_MSG_DELRULE as u16;
    pub(super) const NEW_SET: u16 = SUBSYSTEM | libc::NFT_MSG_NEWSET as u16;
    pub(super) const NEW_ELEMENT: u16 = SUBSYSTEM | libc::NFT_MSG_NEWSETELEM as u16;
    pub(super) const GET_ELEMENT: u16 = SUBSYSTEM | libc::NFT_MSG_GETSETELEM as u16;
    pub(super) const DELETE_ELEMENT: u16 = SUBSYSTEM | libc::NFT_MSG_DELSETELEM as u16;
    /// `NFT_MSG_NEWFLOWTABLE` and `NFT_MSG_GETFLOWTABLE`.
    pub(super) const NEW_GENERATION: u16 = SUBSYSTEM | libc::NFT_MSG_NEWGEN as u16;
    pub(super) const GET_GENERATION: u16 = SUBSYSTEM | libc::NFT_MSG_GETGEN as u16;
    pub(super) const NEW_FLOWTABLE: u16 = SUBSYSTEM | 0x16;
    pub(super) const GET_FLOWTABLE: u16 = SUBSYSTEM | 0x17;
}

/// The name, the first attribute of tables and the second of objects in a table (`NFTA_TABLE_NAME`,
/// `NFTA_SET_NAME`, …).
const OUTER_NAME: u16 = 1;
const INNER_NAME: u16 = 2;

/// `NFTA_RULE_HANDLE`.
const RULE_HANDLE: u16 = 3;

/// `NFTA_GEN_ID`.
const GENERATION: u16 = 1;

/// Attributes of chains and hooks (`NFTA_CHAIN_…`, `NFTA_HOOK_…`).
mod chain {
    pub(super) const NAME: u16 = 3;
    pub(super) const HOOK: u16 = 4;
    pub(super) const TYPE: u16 = 7;
    pub(super) const HOOK_NUMBER: u16 = 1;
    pub(super) const HOOK_PRIORITY: u16 = 2;
}

/// Attributes of sets (`NFTA_SET_…`).
mod set {
    pub(super) const FLAGS: u16 = 3;
    pub(super) const KEY_TYPE: u16 = 4;
    pub(super) const KEY_LENGTH: u16 = 5;
    pub(super) const DATA_TYPE: u16 = 6;
    pub(super) const DATA_LENGTH: u16 = 7;
    pub(super) const DESCRIPTION: u16 = 9;
    pub(super) const DESCRIPTION_SIZE: u16 = 1;
    pub(super) const ID: u16 = 10;
    pub(super) const TIMEOUT: u16 = 11;
    pub(super) const NOTES: u16 = 13;
    pub(super) const EXPRESSION: u16 = 17;
    /// nft's own note on a map: classes are numbers in this machine's byte order,
    /// `NFTNL_UDATA_SET_DATABYTEORDER` and `BYTEORDER_HOST_ENDIAN`.
    pub(super) const NOTE_BYTE_ORDER: u8 = 1;
    pub(super) const OWN_ORDER: u32 = 1;
    /// nft's own numbers of types, used for printing: `ipv4_addr`, `ipv6_addr`, `classid`.
    pub(super) const ADDRESS4: u32 = 7;
    pub(super) const ADDRESS6: u32 = 8;
    pub(super) const CLASS: u32 = 23;
    /// Linux' `NFT_SET_EXPR`: elements count.
    pub(super) const COUNTS: u32 = 0x100;
}

/// The most entries in one transaction. An ordinary user's is no longer than a socket's buffer (208 kB at
/// least), and an attribute of many no longer than 64 KiB.
const PIECE: usize = 500;

impl Nftables {
    /// Connects to nftables.
    ///
    /// # Errors
    /// If the kernel has no netfilter, or the process no descriptors left.
    pub fn new() -> io::Result<Self> {
        Ok(Self { socket: Socket::new(Some(NETFILTER))? })
    }

    /// Creates a table with empty sets, in place of one of this name.
    ///
    /// # Errors
    /// If the kernel has no nftables or lacks a feature of a set, or the process lacks `CAP_NET_ADMIN`.
    pub fn create(&mut self, table: &Table, sets: &[Set]) -> io::Result<()> {
        let mut requests = vec![table.message(kind::NEW_TABLE, libc::NLM_F_CREATE)];
        requests.push(table.message(kind::DELETE_TABLE, 0));
        requests.push(table.message(kind::NEW_TABLE, libc::NLM_F_CREATE));
        requests.extend(sets.iter().zip(1..).map(|(set, id)| set.message(table, id)));
        self.transaction(requests)
    }

    /// Removes ranges from a set of classes, and adds others. A range in both lists changes its class
    /// atomically. Long lists are processed in pieces of 500, pure removals first.
    ///
    /// # Errors
    /// If a range is twice in a list, or has another version than the set; if one to remove is missing, or
    /// one to add overlaps another. Earlier pieces have taken effect then.
    pub fn change(&mut self, table: &Table, set: &Set, remove: &[Range], add: &[Entry]) -> io::Result<()> {
        let mut remove = remove.to_vec();
        remove.sort_unstable();
        let mut add = add.to_vec();
        add.sort_unstable_by_key(|entry| entry.range);
        elements::check(set, &remove)?;
        elements::check(set, &add.iter().map(|entry| entry.range).collect::<Vec<_>>())?;
        let is_added = |range: &Range| add.binary_search_by_key(range, |entry| entry.range).is_ok();
        let (again, gone): (Vec<_>, Vec<_>) = remove.into_iter().partition(is_added);
        for piece in gone.chunks(PIECE) {
            self.transaction(vec![elements::removal(table, set, piece)])?;
        }
        for piece in add.chunks(PIECE) {
            let is_again = |entry: &&Entry| again.binary_search(&entry.range).is_ok();
            let again: Vec<_> = piece.iter().filter(is_again).map(|entry| entry.range).collect();
            let removal = (!again.is_empty()).then(|| elements::removal(table, set, &again));
            self.transaction(removal.into_iter().chain([elements::addition(table, set, piece)]).collect())?;
        }
        Ok(())
    }

    /// Replaces a chain's rules atomically; creates the chain if it is missing.
    ///
    /// # Errors
    /// If a rule uses a missing set, or the kernel lacks a feature. Also for an ordinary user with some two
    /// thousand rules, more than one transaction holds. The chain is unchanged then.
    pub fn set_rules(&mut self, table: &Table, chain: &Chain, rules: &[Rule]) -> io::Result<()> {
        let of_chain = |kind, flags| {
            let mut message = table.message(kind, flags);
            message.put_text(INNER_NAME, &chain.name);
            message
        };
        let mut requests = vec![chain.message(table), of_chain(kind::DELETE_RULE, 0)];
        for rule in rules {
            let mut message = of_chain(kind::NEW_RULE, libc::NLM_F_CREATE | libc::NLM_F_APPEND);
            rule.put(table.family, &mut message)?;
            requests.push(message);
        }
        self.transaction(requests)
    }

    /// Returns the numbers of a chain's rules, in their order; none if the chain is missing. The kernel never
    /// reuses a number, and a rule never changes, so the numbers show whether the own rules are still
    /// installed.
    ///
    /// # Errors
    /// If they change during each of several attempts.
    pub fn rules(&mut self, table: &Table, chain: &str) -> io::Result<Vec<u64>> {
        let mut request = table.message(kind::GET_RULE, 0);
        request.put_text(INNER_NAME, chain);
        let mut numbers = Vec::new();
        let read = |kind, payload: &[u8]| {
            let number = Attributes::new(payload.get(4..).unwrap_or_default()).find(RULE_HANDLE);
            Ok(number.and_then(be64_of).filter(|_| kind == kind::NEW_RULE))
        };
        match self.socket.dump(&request, &mut numbers, read) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
            done => done.map(|()| numbers),
        }
    }

    /// Returns the elements of a set with their counters, sorted by address.
    ///
    /// # Errors
    /// If it is missing, or changes during each of several attempts.
    pub fn elements(&mut self, table: &Table, set: &Set) -> io::Result<Vec<Element>> {
        let mut request = table.message(kind::GET_ELEMENT, 0);
        request.put_text(INNER_NAME, &set.name);
        let mut pieces = Vec::new();
        self.socket.dump(&request, &mut pieces, |kind, payload| {
            Ok((kind == kind::NEW_ELEMENT).then(|| elements::parse(payload, set.version)))
        })?;
        Ok(elements::joined(pieces.into_iter().flatten().collect()))
    }

    /// Returns all tables, of all programs.
    ///
    /// # Errors
    /// If they change during each of several attempts.
    pub fn tables(&mut self) -> io::Result<Vec<Table>> {
        let mut tables = Vec::new();
        let request = Message::new(kind::GET_TABLE, 0, &own_header(0, 0));
        self.socket.dump(&request, &mut tables, |kind, payload| {
            Ok(if kind == kind::NEW_TABLE { named(payload, OUTER_NAME) } else { None })
        })?;
        Ok(tables)
    }

    /// Returns the tables that have flowtables: packets of connections in them bypass all chains.
    ///
    /// # Errors
    /// If they change during each of several attempts.
    pub fn flowtables(&mut self) -> io::Result<Vec<Table>> {
        let mut tables = Vec::new();
        let request = Message::new(kind::GET_FLOWTABLE, 0, &own_header(0, 0));
        self.socket.dump(&request, &mut tables, |kind, payload| {
            Ok(if kind == kind::NEW_FLOWTABLE { named(payload, OUTER_NAME) } else { None })
        })?;
        Ok(tables)
    }

    /// Returns a number that differs after every change of any table, by any program; counted addresses do
    /// not change it.
    ///
    /// # Errors
    /// None on known kernels.
    pub fn generation(&mut self) -> io::Result<u32> {
        self.socket.get(Message::new(kind::GET_GENERATION, 0, &own_header(0, 0)), |kind, payload| {
            let number = Attributes::new(payload.get(4..).unwrap_or_default()).find(GENERATION);
            let number = number.and_then(|value| bytes_at(value, 0)).map(u32::from_be_bytes);
            Ok(number.filter(|_| kind == kind::NEW_GENERATION))
        })
    }

    /// Removes a table with its contents.
    ///
    /// # Errors
    /// If it is missing.
    pub fn delete(&mut self, table: &Table) -> io::Result<()> {
        self.transaction(vec![table.message(kind::DELETE_TABLE, 0)])
    }

    fn transaction(&mut self, requests: Vec<Message>) -> io::Result<()> {
        let subsystem = libc::NFNL_SUBSYS_NFTABLES as u16;
        let bound = |kind| Message::new(kind as u16, 0, &own_header(0, subsystem));
        self.socket.transaction(bound(libc::NFNL_MSG_BATCH_BEGIN), requests, bound(libc::NFNL_MSG_BATCH_END))
    }
}

impl Family {
    const fn number(self) -> u8 {
        match self {
            Self::Inet => libc::NFPROTO_INET as u8,
            Self::Bridge => libc::NFPROTO_BRIDGE as u8,
            Self::Other(number) => number,
        }
    }

    const fn from_number(number: u8) -> Self {
        match number as i32 {
            libc::NFPROTO_INET => Self::Inet,
            libc::NFPROTO_BRIDGE => Self::Bridge,
            _ => Self::Other(number),
        }
    }
}

impl Table {
    /// Returns a message about it or an object in it.
    fn message(&self, kind: u16, flags: i32) -> Message {
        let mut message = Message::new(kind, flags, &own_header(self.family.number(), 0));
        message.put_text(OUTER_NAME, &self.name);
        message
    }
}

impl Set {
    /// Returns the message that creates it; `id` is unique in the transaction.
    fn message(&self, table: &Table, id: u32) -> Message {
        let mut message = table.message(kind::NEW_SET, libc::NLM_F_CREATE);
        let key_type = if self.version == Version::V4 { set::ADDRESS4 } else { set::ADDRESS6 };
        message.put_text(INNER_NAME, &self.name).put_be32(set::ID, id);
        message.put_be32(set::KEY_TYPE, key_type).put_be32(set::KEY_LENGTH, self.version.length() as u32);
        let flags = match self.kind {
            SetKind::Classes { counts } => {
                message.put_be32(set::DATA_TYPE, set::CLASS).put_be32(set::DATA_LENGTH, 4);
                let note = [&[set::NOTE_BYTE_ORDER, 4][..], &set::OWN_ORDER.to_ne_bytes()].concat();
                message.put(set::NOTES, &note);
                let counting = if counts { set::COUNTS } else { 0 };
                (libc::NFT_SET_MAP | libc::NFT_SET_INTERVAL) as u32 | counting
            }
            SetKind::Seen { size, timeout } => {
                message.nest(set::DESCRIPTION, |nest| {
                    nest.put_be32(set::DESCRIPTION_SIZE, size);
                });
                message.put_be64(set::TIMEOUT, timeout.as_nanos() / 1_000_000);
                (libc::NFT_SET_EVAL | libc::NFT_SET_TIMEOUT) as u32 | set::COUNTS
            }
        };
        if flags & set::COUNTS != 0 {
            message.nest(set::EXPRESSION, rules::counter);
        }
        message.put_be32(set::FLAGS, flags);
        message
    }
}

impl Chain {
    fn message(&self, table: &Table) -> Message {
        let number = match self.hook {
            Hook::Forward => libc::NF_INET_FORWARD,
            Hook::Postrouting => libc::NF_INET_POST_ROUTING,
        };
        let mut message = table.message(kind::NEW_CHAIN, libc::NLM_F_CREATE);
        message.put_text(chain::NAME, &self.name).nest(chain::HOOK, |hook| {
            hook.put_be32(chain::HOOK_NUMBER, number as u32);
            hook.put_be32(chain::HOOK_PRIORITY, self.priority.cast_unsigned());
        });
        message.put_text(chain::TYPE, "filter");
        message
    }
}

impl Version {
    /// Returns the bytes of an address.
    pub(crate) const fn length(self) -> usize {
        match self {
            Self::V4 => 4,
            Self::V6 => 16,
        }
    }
}

/// Returns `struct nfgenmsg`: family, version, resource.
fn own_header(family: u8, resource: u16) -> [u8; 4] {
    let [high, low] = resource.to_be_bytes();
    [family, libc::NFNETLINK_V0 as u8, high, low]
}

/// Returns the table that a message is about.
fn named(payload: &[u8], name: u16) -> Option<Table> {
    let attributes = Attributes::new(payload.get(4..)?);
    Some(Table { family: Family::from_number(payload[0]), name: text(attributes.find(name)?) })
}

#[cfg(test)]
mod tests;
