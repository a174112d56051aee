//! Addresses and prefixes of subscribers.

use evenair_service::quoted;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::cmp::Ordering;
use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;

/// The addresses that share their first bits. Prefixes are ordered by family, then first address, so
/// that a prefix follows the one that contains it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Prefix {
    /// The bits, as the low ones of a number as wide as the family's addresses; those behind the prefix
    /// are zero.
    bits: u128,
    length: u8,
    is_v6: bool,
}

impl Prefix {
    /// Returns the prefix of one address.
    pub fn host(address: IpAddr) -> Self {
        let (bits, is_v6) = bits(address);
        Self { bits, length: if is_v6 { 128 } else { 32 }, is_v6 }
    }

    /// Returns the prefix of an address with this length \[bits\], or `None` if the address has fewer.
    pub fn new(address: IpAddr, length: u8) -> Option<Self> {
        let host = Self::host(address);
        (length <= host.length).then(|| Self { length, bits: host.bits & mask(length, host.length), ..host })
    }

    /// Returns the prefix from a first to a last address, or `None` if that range is no prefix.
    pub fn between(first: IpAddr, last: IpAddr) -> Option<Self> {
        let (start, end) = (bits(first).0, bits(last).0);
        let width = Self::host(first).width();
        let free = u128::BITS - (start ^ end).leading_zeros();
        let prefix = Self::new(first, width.checked_sub(free as u8)?)?;
        (prefix.address() == first && prefix.last() == last).then_some(prefix)
    }

    /// Returns its first address.
    pub fn address(self) -> IpAddr {
        if self.is_v6 {
            IpAddr::from(self.bits.to_be_bytes())
        } else {
            IpAddr::from((self.bits as u32).to_be_bytes())
        }
    }

    /// Returns its last address.
    pub fn last(self) -> IpAddr {
        let width = self.width();
        let all = mask(width, width) & !mask(self.length, width);
        Self { bits: self.bits | all, ..self }.address()
    }

    /// Returns its length \[bits\].
    pub const fn length(self) -> u8 {
        self.length
    }

    /// Returns whether it is of IPv6.
    pub const fn is_v6(self) -> bool {
        self.is_v6
    }

    /// Returns whether it is one address.
    pub const fn is_host(self) -> bool {
        self.length == self.width()
    }

    /// Returns whether it contains an address.
    pub fn contains(self, address: IpAddr) -> bool {
        let (bits, is_v6) = bits(address);
        is_v6 == self.is_v6 && bits & mask(self.length, self.width()) == self.bits
    }

    /// Returns whether two prefixes share an address.
    pub fn overlaps(self, other: Self) -> bool {
        self.contains(other.address()) || other.contains(self.address())
    }

    const fn width(self) -> u8 {
        if self.is_v6 { 128 } else { 32 }
    }
}

fn bits(address: IpAddr) -> (u128, bool) {
    match address {
        IpAddr::V4(address) => (u32::from(address).into(), false),
        IpAddr::V6(address) => (address.into(), true),
    }
}

/// Returns a mask of the first `length` of `width` bits.
const fn mask(length: u8, width: u8) -> u128 {
    let all = if width == 128 { u128::MAX } else { (1 << width) - 1 };
    if length == 0 { 0 } else { all & (all << (width - length)) }
}

impl Ord for Prefix {
    fn cmp(&self, other: &Self) -> Ordering {
        (self.is_v6, self.bits, self.length).cmp(&(other.is_v6, other.bits, other.length))
    }
}

impl PartialOrd for Prefix {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl fmt::Display for Prefix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.address())?;
        if self.is_host() { Ok(()) } else { write!(f, "/{}", self.length) }
    }
}

impl FromStr for Prefix {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (address, length) = match text.split_once('/') {
            Some((address, length)) => (address, Some(length)),
            None => (text, None),
        };
        let wrong = || {
            format!(
                "{} is no address or prefix; write 10.1.2.3, 10.1.0.0/16 or 2001:db8:1::/56",
                quoted(text)
            )
        };
        let address: IpAddr = address.trim().parse().map_err(|_| wrong())?;
        // Packets have addresses of their own family, so a mapped address would match no packet.
        if let IpAddr::V6(mapped) = address
            && let Some(own) = mapped.to_ipv4_mapped()
        {
            return Err(format!("\"{text}\" is an address of IPv4 in IPv6's form; write {own}"));
        }
        let Some(length) = length else { return Ok(Self::host(address)) };
        let length: u8 = length.trim().parse().map_err(|_| wrong())?;
        let prefix = Self::new(address, length).ok_or_else(|| {
            format!(
                "\"{text}\": a prefix of {} has at most {} bits",
                family(address),
                if address.is_ipv6() { 128 } else { 32 }
            )
        })?;
        if prefix.address() == address {
            Ok(prefix)
        } else {
            Err(format!("\"{text}\" has bits behind its prefix; did you mean {prefix}?"))
        }
    }
}

const fn family(address: IpAddr) -> &'static str {
    if address.is_ipv6() { "IPv6" } else { "IPv4" }
}

impl Serialize for Prefix {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Prefix {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn prefix(text: &str) -> Prefix {
        text.parse().unwrap()
    }

    #[test]
    fn prefixes_are_read_as_they_are_written() {
        for text in ["10.1.2.3", "10.1.0.0/16", "0.0.0.0/0", "::/0", "2001:db8:1:200::/56", "fe80::1"] {
            assert_eq!(prefix(text).to_string(), text);
        }
        assert_eq!(prefix("10.1.2.3/32"), prefix("10.1.2.3"));
        for (text, says) in [
            ("10.1.2.3/16", "did you mean 10.1.0.0/16?"),
            ("10.1.2.3/33", "at most 32"),
            ("fe80::/129", "at most 128"),
            ("anna", "is no address"),
            ("10.0.0.0/", "is no address"),
            ("::ffff:10.0.0.1", "write 10.0.0.1"),
            ("::ffff:0.0.0.0/96", "write 0.0.0.0"),
        ] {
            let refused = text.parse::<Prefix>().unwrap_err();
            assert!(refused.contains(says), "{refused}");
        }
        assert_eq!(prefix("10.1.0.0/16").last().to_string(), "10.1.255.255");
    }

    proptest! {
        /// Of two prefixes either one contains the other or they share no address; and text reads back.
        #[test]
        fn prefixes_nest_or_are_apart(one in any::<(u128, u8, bool)>(), other in any::<(u128, u8)>(), near in any::<bool>()) {
            let make = |bits: u128, length: u8| {
                let address = if one.2 { IpAddr::from(bits.to_be_bytes()) } else { IpAddr::from((bits as u32).to_be_bytes()) };
                Prefix::new(address, length % if one.2 { 129 } else { 33 }).unwrap()
            };
            let (one, other) = (make(one.0, one.1), make(if near { one.0 } else { other.0 }, other.1));
            prop_assert_eq!(one.to_string().parse::<Prefix>(), Ok(one));
            let apart = one.last() < other.address() || other.last() < one.address();
            prop_assert_eq!(one.overlaps(other), !apart);
            prop_assert!(one.contains(one.address()) && one.contains(one.last()));
            prop_assert_eq!(Prefix::between(one.address(), one.last()), Some(one));
        }

        /// Parsing never panics.
        #[test]
        fn any_text_is_read_or_refused(text in "[0-9a-f:./ ]{0,40}") {
            if let Ok(prefix) = text.parse::<Prefix>() {
                prop_assert_eq!(prefix.to_string().parse::<Prefix>(), Ok(prefix));
            }
        }
    }
}
