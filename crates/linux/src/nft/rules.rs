//! Rules, and the expressions that they are to the kernel (`linux/netfilter/nf_tables.h`): each loads something into a register,
//! compares one, or does something with it.

use super::{Family, Version};
use crate::link::octets;
use crate::netlink::attributes::{Attributes, be64_of, text};
use crate::netlink::message::Message;
use crate::tc::Handle;
use evenair_units::Volume;
use std::io;
use std::net::IpAddr;

/// One end of a packet's way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// Where it is from.
    Source,
    /// Where it goes.
    Destination,
}

/// What a packet must be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Match {
    /// It came from the device of this number; in a bridge, from this port.
    In(u32),
    /// It goes to the device of this number; in a bridge, to this port.
    Out(u32),
    /// Its version.
    Version(Version),
    /// Its transport protocol's number (6 TCP, 17 UDP).
    Protocol(u8),
    /// A port of its transport protocol, TCP, UDP or another that begins with ports: [`Match::Protocol`] stands before it.
    Ports {
        /// Which of the two.
        side: Side,
        /// The first.
        first: u16,
        /// The last.
        last: u16,
    },
    /// It is no longer than this, IP's header of so long as no option makes it included: network-layer size \[bytes\].
    Length {
        /// Its version.
        version: Version,
        /// The most.
        most: u16,
    },
    /// Of TCP's flags in a mask just these are set: [`Match::Protocol`] stands before it.
    Flags {
        /// The flags that are looked at.
        mask: u8,
        /// Those of them that are set.
        set: u8,
    },
    /// An earlier rule gave it another class than this, or none did.
    NotClass(Handle),
    /// An address of which so many bits are these.
    Address {
        /// Which of the two.
        side: Side,
        /// These bits.
        address: IpAddr,
        /// So many.
        prefix: u8,
    },
}

/// What is done with a packet. What is not found ends the rule, and the next one is asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// It belongs to this class.
    Class(Handle),
    /// It belongs to the class that a set has of its address.
    ClassFrom {
        /// The set's name.
        set: String,
        /// Whose addresses the set has.
        version: Version,
        /// Which address.
        side: Side,
    },
    /// It is counted in a set under its address.
    Count {
        /// The set's name.
        set: String,
        /// Whose addresses the set has.
        version: Version,
        /// Which address.
        side: Side,
        /// Addresses that differ behind so many bits count as one.
        prefix: u8,
    },
    /// No further rule of the chain is asked.
    Accept,
}

/// What is done with which packets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rule {
    /// All of it must hold.
    pub matches: Vec<Match>,
    /// Then this is done.
    pub action: Action,
}

/// Attributes of rules and expressions (`NFTA_RULE_EXPRESSIONS`, `NFTA_LIST_ELEM`, `NFTA_EXPR_…`).
pub(super) const EXPRESSIONS: u16 = 4;
pub(super) const ONE: u16 = 1;
pub(super) const NAME: u16 = 1;
pub(super) const DATA: u16 = 2;
/// `NFTA_DATA_VALUE` and `NFTA_DATA_VERDICT`.
pub(super) const VALUE: u16 = 1;
const VERDICT: u16 = 2;
/// `NFTA_COUNTER_BYTES` and `NFTA_COUNTER_PACKETS`.
const COUNTED_BYTES: u16 = 1;
const COUNTED_PACKETS: u16 = 2;
/// The register that all goes through: 16 bytes (`NFT_REG_1`); and the one for verdicts.
const REGISTER: u32 = 1;
const VERDICTS: u32 = 0;

/// IPv6's own header, which its length leaves out \[bytes\].
const HEADER_6: u16 = 40;

/// What is known of the packets that a rule has not ended for.
struct Known {
    family: Family,
    version: Option<Version>,
}

impl Rule {
    /// Adds its expressions to a message.
    ///
    /// # Errors
    /// If an address has fewer bits than are asked for.
    pub(super) fn put(&self, family: Family, message: &mut Message) -> io::Result<()> {
        let too_long = |address: IpAddr, prefix: u8| usize::from(prefix) > octets(address).len() * 8;
        let mut known = Known { family, version: None };
        for one in &self.matches {
            if let Match::Address { address, prefix, .. } = *one
                && too_long(address, prefix)
            {
                let text = format!("{address} has fewer bits than {prefix}");
                return Err(io::Error::new(io::ErrorKind::InvalidInput, text));
            }
        }
        message.nest(EXPRESSIONS, |list| {
            for one in &self.matches {
                one.put(list, &mut known);
            }
            self.action.put(list, &mut known);
        });
        Ok(())
    }
}

impl Match {
    /// Adds its expressions.
    fn put(self, list: &mut Message, known: &mut Known) {
        match self {
            Self::In(device) => {
                load_meta(list, libc::NFT_META_IIF);
                compare(list, &device.to_ne_bytes());
            }
            Self::Out(device) => {
                load_meta(list, libc::NFT_META_OIF);
                compare(list, &device.to_ne_bytes());
            }
            Self::Version(version) => require(list, version, known),
            Self::Protocol(number) => {
                load_meta(list, libc::NFT_META_L4PROTO);
                compare(list, &[number]);
            }
            Self::Ports { side, first, last } => {
                let offset = if side == Side::Source { 0 } else { 2 };
                load(list, libc::NFT_PAYLOAD_TRANSPORT_HEADER, offset, 2);
                if first == last {
                    return compare(list, &first.to_be_bytes());
                }
                expression(list, "range", |data| {
                    data.put_be32(1, REGISTER).put_be32(2, libc::NFT_RANGE_EQ as u32);
                    data.nest(3, |from| {
                        from.put(VALUE, &first.to_be_bytes());
                    });
                    data.nest(4, |to| {
                        to.put(VALUE, &last.to_be_bytes());
                    });
                });
            }
            Self::Length { version, most } => {
                require(list, version, known);
                // IPv6 counts what follows its header.
                let (offset, most) = match version {
                    Version::V4 => (2, most),
                    Version::V6 => (4, most.saturating_sub(HEADER_6)),
                };
                load(list, libc::NFT_PAYLOAD_NETWORK_HEADER, offset, 2);
                compare_by(list, libc::NFT_CMP_LTE, &most.to_be_bytes());
            }
            Self::Flags { mask, set } => {
                load(list, libc::NFT_PAYLOAD_TRANSPORT_HEADER, 13, 1);
                bitwise(list, &[mask]);
                compare(list, &[set]);
            }
            Self::NotClass(class) => {
                load_meta(list, libc::NFT_META_PRIORITY);
                compare_by(list, libc::NFT_CMP_NEQ, &class.number().to_ne_bytes());
            }
            Self::Address { side, address, prefix } => {
                let version = if address.is_ipv4() { Version::V4 } else { Version::V6 };
                load_address(list, version, side, prefix, known);
                let masked: Vec<u8> =
                    octets(address).iter().zip(mask(version, prefix)).map(|(a, m)| a & m).collect();
                compare(list, &masked);
            }
        }
    }
}

impl Action {
    fn put(&self, list: &mut Message, known: &mut Known) {
        match self {
            Self::Class(class) => {
                expression(list, "immediate", |data| {
                    data.put_be32(1, REGISTER).nest(2, |value| {
                        value.put_u32(VALUE, class.number());
                    });
                });
                set_priority(list);
            }
            Self::ClassFrom { set, version, side } => {
                load_address(list, *version, *side, u8::MAX, known);
                expression(list, "lookup", |data| {
                    data.put_text(1, set).put_be32(2, REGISTER).put_be32(3, REGISTER);
                });
                set_priority(list);
            }
            Self::Count { set, version, side, prefix } => {
                load_address(list, *version, *side, *prefix, known);
                expression(list, "dynset", |data| {
                    data.put_text(1, set)
                        .put_be32(3, libc::NFT_DYNSET_OP_UPDATE as u32)
                        .put_be32(4, REGISTER);
                    data.nest(7, counter);
                });
            }
            Self::Accept => expression(list, "immediate", |data| {
                data.put_be32(1, VERDICTS).nest(2, |value| {
                    value.nest(VERDICT, |verdict| {
                        verdict.put_be32(1, libc::NF_ACCEPT as u32);
                    });
                });
            }),
        }
    }
}

/// Fills an attribute with the expression that counts.
pub(super) fn counter(nest: &mut Message) {
    nest.put_text(NAME, "counter").nest(DATA, |data| {
        data.put_be64(COUNTED_BYTES, 0).put_be64(COUNTED_PACKETS, 0);
    });
}

/// What an expression that counts has counted.
pub(super) fn counted(expression: &[u8]) -> Option<Volume> {
    let expression = Attributes::new(expression);
    let is_counter = expression.find(NAME).is_some_and(|name| text(name) == "counter");
    let data = expression.within(DATA);
    let number = |kind| data.find(kind).and_then(be64_of);
    is_counter.then_some(Volume { packets: number(COUNTED_PACKETS)?, bytes: number(COUNTED_BYTES)? })
}

fn expression(list: &mut Message, name: &str, fill: impl FnOnce(&mut Message)) {
    list.nest(ONE, |one| {
        one.put_text(NAME, name).nest(DATA, fill);
    });
}

/// Loads what is known of the packet.
fn load_meta(list: &mut Message, key: i32) {
    expression(list, "meta", |data| {
        data.put_be32(1, REGISTER).put_be32(2, key as u32);
    });
}

fn set_priority(list: &mut Message) {
    expression(list, "meta", |data| {
        data.put_be32(2, libc::NFT_META_PRIORITY as u32).put_be32(3, REGISTER);
    });
}

/// Loads a part of the packet.
fn load(list: &mut Message, base: i32, offset: u32, length: u32) {
    expression(list, "payload", |data| {
        data.put_be32(1, REGISTER).put_be32(2, base as u32).put_be32(3, offset).put_be32(4, length);
    });
}

fn compare(list: &mut Message, with: &[u8]) {
    compare_by(list, libc::NFT_CMP_EQ, with);
}

/// Ends the rule unless what is loaded is so (`NFT_CMP_…`): byte by byte, so that numbers stand as on the wire.
fn compare_by(list: &mut Message, how: i32, with: &[u8]) {
    expression(list, "cmp", |data| {
        data.put_be32(1, REGISTER).put_be32(2, how as u32).nest(3, |value| {
            value.put(VALUE, with);
        });
    });
}

/// Leaves the bits of a mask of what is loaded.
fn bitwise(list: &mut Message, mask: &[u8]) {
    expression(list, "bitwise", |data| {
        data.put_be32(1, REGISTER).put_be32(2, REGISTER).put_be32(3, mask.len() as u32);
        data.nest(4, |and| {
            and.put(VALUE, mask);
        });
        data.nest(5, |xor| {
            xor.put(VALUE, &vec![0; mask.len()]);
        });
    });
}

/// Ends the rule for packets of the other version, or none, unless that is known already. A bridge knows it of the link layer.
fn require(list: &mut Message, version: Version, known: &mut Known) {
    if known.version == Some(version) {
        return;
    }
    let is_v4 = version == Version::V4;
    if known.family == Family::Bridge {
        let protocol = if is_v4 { libc::ETH_P_IP } else { libc::ETH_P_IPV6 };
        load_meta(list, libc::NFT_META_PROTOCOL);
        compare(list, &(protocol as u16).to_be_bytes());
    } else {
        let protocol = if is_v4 { libc::NFPROTO_IPV4 } else { libc::NFPROTO_IPV6 };
        load_meta(list, libc::NFT_META_NFPROTO);
        compare(list, &[protocol as u8]);
    }
    known.version = Some(version);
}

/// Loads so many bits of an address; all if there are not so many.
fn load_address(list: &mut Message, version: Version, side: Side, prefix: u8, known: &mut Known) {
    require(list, version, known);
    let offset = match (version, side) {
        (Version::V4, Side::Source) => 12,
        (Version::V4, Side::Destination) => 16,
        (Version::V6, Side::Source) => 8,
        (Version::V6, Side::Destination) => 24,
    };
    let length = version.length() as u32;
    load(list, libc::NFT_PAYLOAD_NETWORK_HEADER, offset, length);
    if u32::from(prefix) < length * 8 {
        bitwise(list, &mask(version, prefix).collect::<Vec<_>>());
    }
}

/// The bytes of an address of which so many bits are set.
fn mask(version: Version, prefix: u8) -> impl Iterator<Item = u8> {
    let bits = usize::from(prefix);
    (0..version.length()).map(move |byte| match bits.saturating_sub(byte * 8) {
        0 => 0,
        set @ 1..8 => 0xff << (8 - set),
        _ => 0xff,
    })
}
