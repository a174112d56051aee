//! Rules, and their expressions in the kernel (`linux/netfilter/nf_tables.h`): each loads a value into a
//! register, compares one, or acts on it.

use super::{Family, Version};
use crate::link::octets;
use crate::netlink::attributes::{Attributes, be64_of, text};
use crate::netlink::message::Message;
use crate::tc::Handle;
use evenair_units::Volume;
use std::io;
use std::net::IpAddr;

/// An end of a packet's path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// Its source.
    Source,
    /// Its destination.
    Destination,
}

/// A condition on a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Match {
    /// It arrived on the device of this number; in a bridge, on this port.
    In(u32),
    /// It leaves by the device of this number; in a bridge, by this port.
    Out(u32),
    /// Its version.
    Version(Version),
    /// Its transport protocol's number (6 TCP, 17 UDP).
    Protocol(u8),
    /// A port of its transport protocol, TCP, UDP or another that begins with ports: it follows a
    /// [`Match::Protocol`].
    Ports {
        /// Source or destination.
        side: Side,
        /// The first.
        first: u16,
        /// The last.
        last: u16,
    },
    /// It is no longer than this, with IP's header at its length without options: network-layer size
    /// \[bytes\].
    Length {
        /// Its version.
        version: Version,
        /// The most.
        most: u16,
    },
    /// Exactly these of TCP's flags in a mask are set: it follows a [`Match::Protocol`].
    Flags {
        /// The mask.
        mask: u8,
        /// The flags in it that are set.
        set: u8,
    },
    /// An earlier rule gave it another class than this, or none did.
    NotClass(Handle),
    /// An address begins with these bits.
    Address {
        /// Source or destination.
        side: Side,
        /// The bits.
        address: IpAddr,
        /// The number of bits.
        prefix: u8,
    },
}

/// The action on a packet. A failed lookup ends the rule, and the next one runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// The packet gets this class.
    Class(Handle),
    /// The packet gets the class of its address in a set.
    ClassFrom {
        /// The set's name.
        set: String,
        /// The version of the set's addresses.
        version: Version,
        /// Source or destination.
        side: Side,
    },
    /// The packet is counted in a set under its address.
    Count {
        /// The set's name.
        set: String,
        /// The version of the set's addresses.
        version: Version,
        /// Source or destination.
        side: Side,
        /// Addresses that differ only behind this many bits count as one.
        prefix: u8,
    },
    /// No further rule of the chain runs.
    Accept,
}

/// Conditions, and the action on packets that meet them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rule {
    /// The conditions, all of which must hold.
    pub matches: Vec<Match>,
    /// The action.
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
/// The register for all values: 16 bytes (`NFT_REG_1`); and the one for verdicts.
const REGISTER: u32 = 1;
const VERDICTS: u32 = 0;

/// IPv6's own header, which its length field excludes \[bytes\].
const HEADER_6: u16 = 40;

/// The facts established about the packets that reach an expression of a rule.
struct Known {
    family: Family,
    version: Option<Version>,
}

impl Rule {
    /// Adds its expressions to a message.
    ///
    /// # Errors
    /// If an address has fewer bits than the prefix.
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
                // IPv6's length excludes its header.
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

/// Fills an attribute with the counting expression.
pub(super) fn counter(nest: &mut Message) {
    nest.put_text(NAME, "counter").nest(DATA, |data| {
        data.put_be64(COUNTED_BYTES, 0).put_be64(COUNTED_PACKETS, 0);
    });
}

/// Returns the counts of a counting expression.
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

/// Loads metadata of the packet.
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

/// Ends the rule unless the comparison holds (`NFT_CMP_…`). It is byte by byte, so numbers are in wire order.
fn compare_by(list: &mut Message, how: i32, with: &[u8]) {
    expression(list, "cmp", |data| {
        data.put_be32(1, REGISTER).put_be32(2, how as u32).nest(3, |value| {
            value.put(VALUE, with);
        });
    });
}

/// Keeps only the bits of a mask in the register.
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

/// Ends the rule for packets of another version, unless an earlier expression has. A bridge gets the version
/// from the link layer.
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

/// Loads the prefix of an address; all of it if it has fewer bits.
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

/// Returns the bytes of an address with the bits of the prefix set.
fn mask(version: Version, prefix: u8) -> impl Iterator<Item = u8> {
    let bits = usize::from(prefix);
    (0..version.length()).map(move |byte| match bits.saturating_sub(byte * 8) {
        0 => 0,
        set @ 1..8 => 0xff << (8 - set),
        _ => 0xff,
    })
}
