//! Rules of all programs that steer packets: those that set a packet's priority, and those that keep it on
//! this machine.
//!
//! Only conditions in the rule itself are read: a device by number or name, and a port. Sets that it uses are
//! not looked up.

use super::rules::{DATA, EXPRESSIONS, NAME, ONE, VALUE};
use super::{INNER_NAME, Nftables, OUTER_NAME, Table, chain, kind, named, own_header};
use crate::netlink::attributes::{Attributes, bytes_at, text};
use crate::netlink::message::Message;
use std::collections::BTreeMap;
use std::io;
use std::net::IpAddr;

/// The effect of a rule on a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Steers {
    /// It sets the priority, by which a queue selects its class.
    Priority,
    /// It redirects the packet to a program on this machine (`redirect`, `tproxy`).
    Here,
    /// It replaces the destination.
    To(IpAddr),
}

/// A rule's condition on a device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Asked {
    /// By its number.
    Number(u32),
    /// By its name.
    Name(String),
    /// By a prefix of its name.
    Prefix(String),
}

/// The point at which packets enter a chain: the hook's number (`NF_INET_…`, `NF_NETDEV_…`), and the chain's
/// priority there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct When {
    /// The hook's number.
    pub hook: u32,
    /// Chains with lower priorities run first.
    pub priority: i32,
}

/// A rule that steers packets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Steering {
    /// Its table.
    pub table: Table,
    /// Its chain.
    pub chain: String,
    /// Its effect.
    pub what: Steers,
    /// The points at which packets enter its chain; if other chains jump to it, those of all chains of its
    /// table.
    pub when: Vec<When>,
    /// The device on which packets must arrive.
    pub from: Option<Asked>,
    /// The device by which packets must leave.
    pub out: Option<Asked>,
    /// The destination port that packets must have.
    pub port: Option<u16>,
}

impl Asked {
    /// Returns whether a device of this number and name meets the condition.
    pub fn is(&self, number: u32, name: &str) -> bool {
        match self {
            Self::Number(asked) => *asked == number,
            Self::Name(asked) => asked == name,
            Self::Prefix(asked) => name.starts_with(asked.as_str()),
        }
    }

    /// Returns the condition of a comparison of a name with these bytes: names end with a zero; without one
    /// they are a prefix.
    fn name(bytes: &[u8]) -> Self {
        if bytes.contains(&0) { Self::Name(text(bytes)) } else { Self::Prefix(text(bytes)) }
    }
}

impl Nftables {
    /// Returns all rules that steer packets, of all tables.
    ///
    /// # Errors
    /// If they change during each of several attempts.
    pub fn steering(&mut self) -> io::Result<Vec<Steering>> {
        let (mut chains, mut rules) = (Vec::new(), Vec::new());
        let all = |kind| Message::new(kind, 0, &own_header(0, 0));
        self.socket.dump(&all(kind::GET_CHAIN), &mut chains, |kind, payload| {
            Ok((kind == kind::NEW_CHAIN).then(|| base(payload)).flatten())
        })?;
        self.socket.dump(&all(kind::GET_RULE), &mut rules, |kind, payload| {
            Ok((kind == kind::NEW_RULE).then(|| rule(payload)).flatten())
        })?;
        let bases: BTreeMap<(u8, String, String), When> = chains
            .into_iter()
            .map(|(table, chain, when)| ((table.family.number(), table.name, chain), when))
            .collect();
        for rule in &mut rules {
            let (family, table) = (rule.table.family.number(), rule.table.name.as_str());
            let own = bases.get(&(family, table.to_owned(), rule.chain.clone()));
            let of_table =
                bases.iter().filter(|((number, name, _), _)| (*number, name.as_str()) == (family, table));
            rule.when = own.map_or_else(|| of_table.map(|(_, when)| *when).collect(), |own| vec![*own]);
        }
        Ok(rules)
    }
}

fn be32(value: &[u8]) -> Option<u32> {
    bytes_at(value, 0).map(u32::from_be_bytes)
}

/// Returns a chain with a hook.
fn base(payload: &[u8]) -> Option<(Table, String, When)> {
    let attributes = Attributes::new(payload.get(4..)?);
    let hook = attributes.find(chain::HOOK).map(Attributes::new)?;
    let when = When {
        hook: hook.find(chain::HOOK_NUMBER).and_then(be32)?,
        priority: hook.find(chain::HOOK_PRIORITY).and_then(be32)?.cast_signed(),
    };
    Some((named(payload, OUTER_NAME)?, text(attributes.find(chain::NAME)?), when))
}

/// The relevant content of a register.
#[derive(Clone, Copy)]
enum Loaded<'a> {
    Meta(i32),
    Port,
    Bytes(&'a [u8]),
    Other,
}

/// Returns a rule, if it steers packets, without the points of entry.
pub(crate) fn rule(payload: &[u8]) -> Option<Steering> {
    let attributes = Attributes::new(payload.get(4..)?);
    let (table, chain) = (named(payload, OUTER_NAME)?, text(attributes.find(INNER_NAME)?));
    let mut loaded = BTreeMap::new();
    let (mut what, mut from, mut out, mut port) = (None, None, None, None);
    for (_, one) in attributes.within(EXPRESSIONS).filter(|(kind, _)| *kind == ONE) {
        let one = Attributes::new(one);
        let (name, data) = (one.find(NAME).map(text).unwrap_or_default(), one.within(DATA));
        let number = |kind: u16| data.find(kind).and_then(be32);
        // Registers of 16 bytes and of 4 have different numbers for the same place (`nft_parse_register`).
        let register = |kind: u16| number(kind).map(|own| if own < 8 { own * 4 } else { own - 4 });
        match name.as_str() {
            "meta" if register(3).is_some() => {
                let is_priority = number(2) == Some(libc::NFT_META_PRIORITY as u32);
                what = what.or(is_priority.then_some(Steers::Priority));
            }
            "meta" => _ = loaded.insert(register(1)?, Loaded::Meta(number(2)?.cast_signed())),
            "payload" if register(1).is_some() => {
                let is_port = (number(2), number(3), number(4))
                    == (Some(libc::NFT_PAYLOAD_TRANSPORT_HEADER as u32), Some(2), Some(2));
                loaded.insert(register(1)?, if is_port { Loaded::Port } else { Loaded::Other });
            }
            "immediate" => {
                let value = data.within(2).find(VALUE).unwrap_or_default();
                loaded.insert(register(1)?, Loaded::Bytes(value));
            }
            "cmp" if number(2) == Some(libc::NFT_CMP_EQ as u32) => {
                let value = data.within(3).find(VALUE).unwrap_or_default();
                let index = || bytes_at(value, 0).map(u32::from_ne_bytes).map(Asked::Number);
                match register(1).and_then(|register| loaded.get(&register)) {
                    Some(Loaded::Meta(libc::NFT_META_IIF)) => from = index(),
                    Some(Loaded::Meta(libc::NFT_META_OIF)) => out = index(),
                    Some(Loaded::Meta(libc::NFT_META_IIFNAME)) => from = Some(Asked::name(value)),
                    Some(Loaded::Meta(libc::NFT_META_OIFNAME)) => out = Some(Asked::name(value)),
                    Some(Loaded::Port) => port = bytes_at(value, 0).map(u16::from_be_bytes),
                    _ => (),
                }
            }
            "redir" | "tproxy" => what = Some(Steers::Here),
            // `NFTA_NAT_TYPE` 1 of `NFT_NAT_DNAT` 1, `NFTA_NAT_REG_ADDR_MIN` 3.
            "nat" if number(1) == Some(1) => {
                if let Some(Loaded::Bytes(to)) = register(3).and_then(|register| loaded.get(&register)) {
                    what = address(to).map(Steers::To).or(what);
                }
            }
            // iptables' targets for the same.
            "target" => match data.find(1).map(text).as_deref() {
                Some("CLASSIFY") => what = Some(Steers::Priority),
                Some("REDIRECT" | "TPROXY") => what = Some(Steers::Here),
                _ => (),
            },
            _ => (),
        }
    }
    Some(Steering { table, chain, what: what?, when: Vec::new(), from, out, port })
}

fn address(bytes: &[u8]) -> Option<IpAddr> {
    match bytes.len() {
        4 => bytes_at::<4>(bytes, 0).map(IpAddr::from),
        16 => bytes_at::<16>(bytes, 0).map(IpAddr::from),
        _ => None,
    }
}
