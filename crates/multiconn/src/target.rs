//! A stream's destination: the first bytes that a client sends on it; and the relay's first answer.

use crate::frame::{Malformed, Rest};
use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// A destination.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    /// The host.
    pub host: Host,
    /// The port.
    pub port: u16,
}

/// An address, or a name that the relay resolves.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Host {
    /// An address.
    Address(IpAddr),
    /// A name.
    Name(String),
}

impl Host {
    /// Parses an address, in brackets or not, or a name.
    pub fn parse(text: &str) -> Option<Self> {
        let bare = text.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
        match bare.unwrap_or(text).parse::<IpAddr>() {
            Ok(address) => Some(Self::Address(address)),
            Err(_) => is_name(text).then(|| Self::Name(text.into())),
        }
    }
}

/// Returns whether a text may be a host's name: letters, digits, hyphens, dots and underscores, up to 253 of
/// them.
pub(crate) fn is_name(text: &str) -> bool {
    let is_label = |label: &str| {
        (1..64).contains(&label.len())
            && label.bytes().all(|c| c.is_ascii_alphanumeric() || c == b'-' || c == b'_')
    };
    text.len() < 254 && text.strip_suffix('.').unwrap_or(text).split('.').all(is_label)
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.host {
            Host::Address(IpAddr::V6(address)) => write!(f, "[{address}]:{}", self.port),
            Host::Address(address) => write!(f, "{address}:{}", self.port),
            Host::Name(name) => write!(f, "{name}:{}", self.port),
        }
    }
}

const V4: u8 = 1;
const NAME: u8 = 3;
const V6: u8 = 4;
/// The longest encoded destination \[bytes\].
pub const TARGET_MAX: usize = 1 + 1 + 255 + 2;

impl Target {
    /// Decodes the destination at the start of some bytes; returns it and its length, or none if it is
    /// incomplete. The format is that of SOCKS5 (RFC 1928 §5).
    ///
    /// # Errors
    /// If they cannot begin a destination.
    pub fn decode(bytes: &[u8]) -> Result<Option<(Self, usize)>, Malformed> {
        let mut rest = Rest(bytes);
        let Some(kind) = rest.byte() else { return Ok(None) };
        let host = match kind {
            V4 => rest.array().map(|octets: [u8; 4]| Host::Address(Ipv4Addr::from(octets).into())),
            V6 => rest.array().map(|octets: [u8; 16]| Host::Address(Ipv6Addr::from(octets).into())),
            NAME => match rest.byte().and_then(|length| rest.take(length.into())) {
                None => None,
                Some(name) => {
                    let name = std::str::from_utf8(name).ok().and_then(Host::parse);
                    Some(name.ok_or(Malformed("a name that is no host's"))?)
                }
            },
            _ => return Err(Malformed("unknown kind of address")),
        };
        let (Some(host), Some(port)) = (host, rest.u16()) else { return Ok(None) };
        Ok(Some((Self { host, port }, bytes.len() - rest.0.len())))
    }

    /// Encodes the destination.
    pub fn encode(&self) -> Vec<u8> {
        let mut out = Vec::new();
        match &self.host {
            Host::Address(IpAddr::V4(address)) => {
                out.push(V4);
                out.extend(address.octets());
            }
            Host::Address(IpAddr::V6(address)) => {
                out.push(V6);
                out.extend(address.octets());
            }
            Host::Name(name) => {
                out.extend([NAME, name.len() as u8]);
                out.extend(name.as_bytes());
            }
        }
        out.extend(self.port.to_be_bytes());
        out
    }
}

/// The destination of data that the relay itself discards (RFC 863), for the loads of `evenair multiconn
/// probe`. No host has a name under `invalid` (RFC 6761).
pub const DISCARD: Discard = Discard;

/// See [`DISCARD`].
#[derive(Clone, Copy, Debug)]
pub struct Discard;

impl Discard {
    /// Encodes the destination, for the start of a stream.
    pub fn encode(self) -> Vec<u8> {
        Target { host: Host::Name("discard.invalid".into()), port: 9 }.encode()
    }
}

impl Target {
    /// Returns whether it is [`DISCARD`].
    pub fn is_discard(&self) -> bool {
        self.port == 9 && matches!(&self.host, Host::Name(name) if name == "discard.invalid")
    }
}

/// The outcome of a connection attempt; the numbers are those of SOCKS5 (RFC 1928 §6).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It is connected.
    Connected,
    /// It failed for another reason.
    Failed,
    /// The relay does not allow it.
    NotAllowed,
    /// There is no route to it.
    NetworkUnreachable,
    /// There is no such host, or it does not answer.
    HostUnreachable,
    /// The host refuses the connection.
    Refused,
    /// The time limit passed.
    TimedOut,
}

impl Outcome {
    /// Returns its number.
    pub const fn code(self) -> u8 {
        match self {
            Self::Connected => 0,
            Self::Failed => 1,
            Self::NotAllowed => 2,
            Self::NetworkUnreachable => 3,
            Self::HostUnreachable => 4,
            Self::Refused => 5,
            Self::TimedOut => 6,
        }
    }

    /// Returns the outcome of a number; unknown numbers count as failed.
    pub const fn of(code: u8) -> Self {
        match code {
            0 => Self::Connected,
            2 => Self::NotAllowed,
            3 => Self::NetworkUnreachable,
            4 => Self::HostUnreachable,
            5 => Self::Refused,
            6 => Self::TimedOut,
            _ => Self::Failed,
        }
    }

    /// Returns the outcome of a connection error.
    pub fn of_error(error: &std::io::Error) -> Self {
        use std::io::ErrorKind;
        match error.kind() {
            ErrorKind::ConnectionRefused => Self::Refused,
            ErrorKind::NetworkUnreachable | ErrorKind::AddrNotAvailable => Self::NetworkUnreachable,
            ErrorKind::HostUnreachable => Self::HostUnreachable,
            ErrorKind::TimedOut => Self::TimedOut,
            _ => Self::Failed,
        }
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Connected => "connected",
            Self::Failed => "the relay could not connect",
            Self::NotAllowed => "the relay does not allow this destination",
            Self::NetworkUnreachable => "the relay has no way there",
            Self::HostUnreachable => "no such host, or it does not answer",
            Self::Refused => "the host refused the connection",
            Self::TimedOut => "the host did not answer in time",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn targets_read_back() {
        for (host, port) in [("192.0.2.1", 80), ("[2001:db8::1]", 443), ("www.example.org", 1)] {
            let target = Target { host: Host::parse(host).unwrap(), port };
            let mut bytes = target.encode();
            for cut in 0..bytes.len() {
                assert_eq!(Target::decode(&bytes[..cut]), Ok(None));
            }
            bytes.push(9);
            assert_eq!(target.to_string(), format!("{host}:{port}"));
            assert_eq!(Target::decode(&bytes), Ok(Some((target, bytes.len() - 1))));
        }
        for no_host in ["", ".", "a..b", "a b", "é", "[a]", &"a".repeat(64)] {
            assert_eq!(Host::parse(no_host), None, "{no_host}");
        }
    }

    proptest! {
        #[test]
        fn damaged_targets_are_refused_or_read_back(mut bytes in prop::collection::vec(any::<u8>(), 0..40), kind in 0..6_u8) {
            if let Some(first) = bytes.first_mut() {
                *first = kind;
            }
            if let Ok(Some((target, used))) = Target::decode(&bytes) {
                prop_assert!(used <= bytes.len() && used <= TARGET_MAX);
                let again = Target::decode(&target.encode()).unwrap().map(|(target, _)| target);
                prop_assert_eq!(again, Some(target));
            }
        }
    }
}
