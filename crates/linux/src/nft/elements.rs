//! The elements of a set: ranges of addresses with a class each, and addresses with traffic, with their
//! counters.
//!
//! To the kernel a range is two elements: its start, and the address behind its end. A range to the last
//! address has no end.

use super::{INNER_NAME, Set, Table, Version, kind, rules};
use crate::netlink::attributes::{Attributes, be64_of, bytes_at, u32_of};
use crate::netlink::message::Message;
use crate::tc::Handle;
use evenair_units::{Duration, Volume};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::{fmt, io};

/// Addresses of one version from one to another, both included.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Range {
    first: IpAddr,
    last: IpAddr,
}

/// A range and the class of its packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The addresses.
    pub range: Range,
    /// Their class.
    pub class: Handle,
}

/// A range, or one address, in a set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Element {
    /// The addresses.
    pub range: Range,
    /// The class of their packets; none in a set of addresses with traffic.
    pub class: Option<Handle>,
    /// The traffic, if the set counts: network-layer sizes. A large segment counts as one packet with one
    /// header. A queue's class counts each packet that it is cut into, with the link layer's header.
    pub volume: Volume,
    /// The time until it is removed without traffic.
    pub expires: Option<Duration>,
}

/// Attributes of elements (`NFTA_SET_ELEM_…`), of their lists and values.
mod element {
    pub(super) const LIST: u16 = 3;
    pub(super) const ONE: u16 = 1;
    pub(super) const KEY: u16 = 1;
    pub(super) const DATA: u16 = 2;
    pub(super) const FLAGS: u16 = 3;
    pub(super) const EXPIRATION: u16 = 5;
    pub(super) const EXPRESSION: u16 = 7;
    pub(super) const VALUE: u16 = 1;
    pub(super) const IS_END: u32 = libc::NFT_SET_ELEM_INTERVAL_END as u32;
}

impl Range {
    /// Returns all addresses with this prefix; none if there are not as many bits.
    pub fn prefix(address: IpAddr, bits: u8) -> Option<Self> {
        let (number, length) = number_of(address);
        if u32::from(bits) > length {
            return None;
        }
        let host = u128::MAX.checked_shr(u32::from(bits) + 128 - length).unwrap_or(0);
        let of = |number| address_of(number, address.is_ipv4());
        Some(Self { first: of(number & !host), last: of(number | host) })
    }

    /// Returns the range from one address to another; none if their order is wrong, or their versions differ.
    pub fn new(first: IpAddr, last: IpAddr) -> Option<Self> {
        (first.is_ipv4() == last.is_ipv4() && first <= last).then_some(Self { first, last })
    }

    /// Returns the first address.
    pub const fn first(self) -> IpAddr {
        self.first
    }

    /// Returns the last address.
    pub const fn last(self) -> IpAddr {
        self.last
    }

    /// Returns whether it contains an address.
    pub fn contains(self, address: IpAddr) -> bool {
        address.is_ipv4() == self.first.is_ipv4() && (self.first..=self.last).contains(&address)
    }

    /// Returns the address behind the last, if there is one.
    fn end(self) -> Option<IpAddr> {
        let (number, length) = number_of(self.last);
        let is_last = number == u128::MAX >> (128 - length);
        (!is_last).then(|| address_of(number + 1, self.last.is_ipv4()))
    }
}

impl From<IpAddr> for Range {
    fn from(address: IpAddr) -> Self {
        Self { first: address, last: address }
    }
}

impl fmt::Display for Range {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (first, last) = (number_of(self.first).0, number_of(self.last).0);
        let host = (first ^ last).checked_ilog2().map_or(0, |bits| bits + 1);
        match Self::prefix(self.first, (number_of(self.first).1 - host) as u8) {
            _ if first == last => write!(f, "{}", self.first),
            Some(prefix) if prefix == *self => write!(f, "{}/{}", self.first, number_of(self.first).1 - host),
            _ => write!(f, "{}-{}", self.first, self.last),
        }
    }
}

/// Returns an address as a number, and its bits.
fn number_of(address: IpAddr) -> (u128, u32) {
    match address {
        IpAddr::V4(address) => (address.to_bits().into(), 32),
        IpAddr::V6(address) => (address.to_bits(), 128),
    }
}

fn address_of(number: u128, is_ipv4: bool) -> IpAddr {
    if is_ipv4 { Ipv4Addr::from_bits(number as u32).into() } else { Ipv6Addr::from_bits(number).into() }
}

/// Refuses sorted ranges with a duplicate, or of another version than the set's.
pub(super) fn check(set: &Set, ranges: &[Range]) -> io::Result<()> {
    let wrong = |text| Err(io::Error::new(io::ErrorKind::InvalidInput, text));
    if let Some((twice, _)) =
        ranges.iter().zip(&ranges[1.min(ranges.len())..]).find(|(one, next)| one == next)
    {
        return wrong(format!("{twice} is there twice"));
    }
    match ranges.iter().find(|range| range.first.is_ipv4() != (set.version == Version::V4)) {
        Some(range) => wrong(format!("{range} is not of the version of the set {}", set.name)),
        None => Ok(()),
    }
}

/// Returns the message that adds entries.
pub(super) fn addition(table: &Table, set: &Set, entries: &[Entry]) -> Message {
    let entries = entries.iter().map(|entry| (entry.range, Some(entry.class)));
    message(kind::NEW_ELEMENT, table, set, entries)
}

/// Returns the message that removes ranges.
pub(super) fn removal(table: &Table, set: &Set, ranges: &[Range]) -> Message {
    message(kind::DELETE_ELEMENT, table, set, ranges.iter().map(|range| (*range, None)))
}

/// Returns a message with ranges in one attribute, of at most 64 KiB.
fn message(
    kind: u16,
    table: &Table,
    set: &Set,
    ranges: impl Iterator<Item = (Range, Option<Handle>)>,
) -> Message {
    let mut message = table.message(kind, libc::NLM_F_CREATE);
    message.put_text(INNER_NAME, &set.name).nest(element::LIST, |list| {
        for (range, class) in ranges {
            put(list, range.first, class, 0);
            if let Some(end) = range.end() {
                put(list, end, None, element::IS_END);
            }
        }
    });
    message
}

fn put(list: &mut Message, key: IpAddr, class: Option<Handle>, flags: u32) {
    list.nest(element::ONE, |one| {
        one.nest(element::KEY, |nest| {
            nest.put(element::VALUE, &crate::link::octets(key));
        });
        if let Some(class) = class {
            one.nest(element::DATA, |nest| {
                nest.put_u32(element::VALUE, class.number());
            });
        }
        if flags != 0 {
            one.put_be32(element::FLAGS, flags);
        }
    });
}

/// An element as the kernel lists it: an address, and whether it is the end of a range.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Piece {
    /// The element if it is a single address.
    element: Element,
    is_end: bool,
}

/// Reads the payload of a kernel's message about elements; skips those without an address of the version.
pub(crate) fn parse(payload: &[u8], version: Version) -> Vec<Piece> {
    let list = Attributes::new(payload.get(4..).unwrap_or_default()).within(element::LIST);
    list.filter_map(|(_, one)| parse_one(&Attributes::new(one), version)).collect()
}

fn parse_one(one: &Attributes<'_>, version: Version) -> Option<Piece> {
    let key = one.within(element::KEY).find(element::VALUE)?;
    let address: IpAddr = match version {
        Version::V4 => bytes_at::<4>(key, 0)?.into(),
        Version::V6 => bytes_at::<16>(key, 0)?.into(),
    };
    let flags = one.find(element::FLAGS).and_then(|value| bytes_at(value, 0)).map_or(0, u32::from_be_bytes);
    let class = one.within(element::DATA).find(element::VALUE).and_then(u32_of).map(Handle::from_number);
    let milliseconds = one.find(element::EXPIRATION).and_then(be64_of);
    let volume = one.find(element::EXPRESSION).and_then(rules::counted).unwrap_or_default();
    let expires = milliseconds.map(|ms| Duration::from_nanos(ms.saturating_mul(1_000_000)));
    let element = Element { range: address.into(), class, volume, expires };
    Some(Piece { element, is_end: flags & element::IS_END != 0 })
}

/// Joins the starts and ends of ranges, in their order.
pub(crate) fn joined(mut pieces: Vec<Piece>) -> Vec<Element> {
    // If one range ends where another begins, the end is first.
    pieces.sort_unstable_by_key(|piece| (piece.element.range.first, !piece.is_end));
    let has_ranges =
        pieces.iter().any(|piece| piece.is_end) || pieces.iter().any(|piece| piece.element.class.is_some());
    let begins = pieces.iter().enumerate().filter(|(_, piece)| !piece.is_end);
    begins
        .map(|(place, piece)| {
            let mut element = piece.element;
            let end = pieces.get(place + 1).map(|next| number_of(next.element.range.first).0);
            let (own, length) = number_of(element.range.first);
            let last = end.map_or(u128::MAX >> (128 - length), |end| end.saturating_sub(1).max(own));
            if has_ranges {
                element.range.last = address_of(last, element.range.first.is_ipv4());
            }
            element
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(text: &str) -> IpAddr {
        text.parse().expect("an address")
    }

    #[test]
    fn a_prefix_is_a_range() {
        let range = |text: &str, bits| Range::prefix(address(text), bits).expect("a prefix");
        assert_eq!(range("10.1.2.3", 24), Range::new(address("10.1.2.0"), address("10.1.2.255")).unwrap());
        assert_eq!(range("10.1.2.3", 32), Range::from(address("10.1.2.3")));
        assert_eq!(range("10.1.2.3", 0).to_string(), "0.0.0.0/0");
        assert_eq!(range("10.1.2.3", 24).to_string(), "10.1.2.0/24");
        assert_eq!(range("2001:db8:0:1234::1", 56).to_string(), "2001:db8:0:1200::/56");
        assert_eq!(
            Range::new(address("10.0.0.1"), address("10.0.0.2")).unwrap().to_string(),
            "10.0.0.1-10.0.0.2"
        );
        assert_eq!((Range::prefix(address("10.0.0.1"), 33), Range::prefix(address("::"), 129)), (None, None));
        assert_eq!(range("255.255.255.0", 24).end(), None);
        assert_eq!(range("10.1.255.0", 24).end(), Some(address("10.2.0.0")));
        assert!(range("::", 0).contains(address("::1")) && !range("::", 0).contains(address("10.0.0.1")));
    }

    #[test]
    fn range_holds_its_ends_and_nothing_beyond() {
        let of = |first, last| Range::new(address(first), address(last));
        let range = of("10.0.0.2", "10.0.0.4").expect("a range");
        let held = ["10.0.0.1", "10.0.0.2", "10.0.0.4", "10.0.0.5"].map(|text| range.contains(address(text)));
        assert_eq!(held, [false, true, true, false]);
        assert_eq!((range.first(), range.last()), (address("10.0.0.2"), address("10.0.0.4")));
        assert_eq!(of("10.0.0.2", "10.0.0.2"), Some(Range::from(address("10.0.0.2"))));
        // The wrong order, and two versions, in either order of comparison.
        assert_eq!([of("10.0.0.4", "10.0.0.2"), of("10.0.0.2", "::1"), of("::1", "10.0.0.2")], [None; 3]);
        // Three addresses are no prefix: 10.0.0.2 to 10.0.0.4; nor are two that no single bit separates from
        // the others.
        assert_eq!(range.to_string(), "10.0.0.2-10.0.0.4");
        assert_eq!(of("10.0.0.2", "10.0.0.3").unwrap().to_string(), "10.0.0.2/31");
    }

    #[test]
    fn list_is_refused_for_twins_and_versions() {
        let kind = crate::nft::SetKind::Classes { counts: false };
        let set = Set { name: "m".to_owned(), version: Version::V4, kind };
        let ranges = |texts: &[&str]| texts.iter().map(|text| address(text).into()).collect::<Vec<Range>>();
        let said = |texts: &[&str]| check(&set, &ranges(texts)).map_err(|error| error.to_string());
        assert_eq!(
            (said(&[]), said(&["10.0.0.1"]), said(&["10.0.0.1", "10.0.0.2"])),
            (Ok(()), Ok(()), Ok(()))
        );
        let twice = said(&["10.0.0.1", "10.0.0.2", "10.0.0.2"]).unwrap_err();
        assert!(twice.starts_with("10.0.0.2 "), "{twice}");
        let other = said(&["10.0.0.1", "::1"]).unwrap_err();
        assert!(other.starts_with("::1 "), "{other}");
    }

    #[test]
    fn ranges_are_joined_from_their_ends() {
        let piece = |text: &str, class: Option<u16>, is_end| Piece {
            element: Element {
                range: address(text).into(),
                class: class.map(|class| Handle::new(1, class)),
                volume: Volume::default(),
                expires: None,
            },
            is_end,
        };
        // The kernel lists a tree backwards. Two ranges touch, one is a single address, the last has no end.
        let all = joined(vec![
            piece("255.0.0.0", Some(4), false),
            piece("10.0.3.2", None, true),
            piece("10.0.3.1", Some(3), false),
            piece("10.0.2.0", None, true),
            piece("10.0.1.0", Some(2), false),
            piece("10.0.1.0", None, true),
            piece("10.0.0.0", Some(1), false),
        ]);
        let told: Vec<_> = all.iter().map(|one| (one.range.to_string(), one.class.unwrap().minor)).collect();
        let expected = [("10.0.0.0/24", 1), ("10.0.1.0/24", 2), ("10.0.3.1", 3), ("255.0.0.0/8", 4)];
        assert_eq!(told, expected.map(|(range, class)| (range.to_owned(), class)));
        // A map of one range to the last address has no end; ranges of a set have ends and no classes.
        for (first, range) in [("0.0.0.0", "0.0.0.0/0"), ("ff00::", "ff00::/8")] {
            let all = joined(vec![piece(first, Some(1), false)]);
            assert_eq!(all.iter().map(|one| one.range.to_string()).collect::<Vec<_>>(), [range]);
        }
        let set = joined(vec![piece("10.0.1.0", None, true), piece("10.0.0.0", None, false)]);
        assert_eq!(set.iter().map(|one| one.range.to_string()).collect::<Vec<_>>(), ["10.0.0.0/24"]);
        // Addresses with traffic are no ranges.
        let seen = joined(vec![piece("10.0.0.9", None, false), piece("10.0.0.7", None, false)]);
        assert_eq!(
            seen.iter().map(|one| one.range.to_string()).collect::<Vec<_>>(),
            ["10.0.0.7", "10.0.0.9"]
        );
    }
}
