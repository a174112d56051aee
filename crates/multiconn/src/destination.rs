//! The destinations that a key may reach through a relay. Only named destinations are allowed. The addresses
//! of a name are checked after resolution, so a name never leads into the relay's own networks.

use serde::Deserialize;
use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::ops::RangeInclusive;
use std::str::FromStr;

/// One rule: hosts and ports, as `*:443`, `*.example.org:80-90`, `192.0.2.0/24:*`, `[2001:db8::1]:22`.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub struct Destination {
    hosts: Hosts,
    ports: RangeInclusive<u16>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Hosts {
    /// All public addresses.
    Any,
    /// A name, in lower case.
    Name(String),
    /// All names with this ending, the dot included.
    Below(String),
    /// A network, which need not be public.
    Net(IpAddr, u8),
}

impl FromStr for Destination {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || {
            format!(
                "\"{}\" is no destination; write host:port, as *:443, *.example.org:80-90, 192.0.2.0/24:* or [2001:db8::1]:22",
                text.escape_debug()
            )
        };
        let (host, ports) = text.rsplit_once(':').ok_or_else(wrong)?;
        let ports = match ports.split_once('-') {
            _ if ports == "*" => 1..=u16::MAX,
            Some((first, last)) => first.parse().map_err(|_| wrong())?..=last.parse().map_err(|_| wrong())?,
            None => ports.parse().map(|port| port..=port).map_err(|_| wrong())?,
        };
        if ports.is_empty() || *ports.start() == 0 {
            return Err(wrong());
        }
        let hosts = hosts(host).ok_or_else(wrong)?;
        Ok(Self { hosts, ports })
    }
}

fn hosts(text: &str) -> Option<Hosts> {
    if text == "*" {
        return Some(Hosts::Any);
    }
    let bare = text.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).unwrap_or(text);
    let (address, length) = bare.split_once('/').map_or((bare, None), |(a, length)| (a, Some(length)));
    if let Ok(address) = address.parse::<IpAddr>() {
        let most = if address.is_ipv4() { 32 } else { 128 };
        let length = length.map_or(Some(most), |length| length.parse().ok().filter(|l| *l <= most))?;
        // Without brackets the last group of an IPv6 address would be the port.
        let is_clear = address.is_ipv4() || bare.len() < text.len();
        return is_clear.then_some(Hosts::Net(address, length));
    }
    let name = text.strip_prefix('*').filter(|rest| rest.starts_with('.'));
    let name = name.unwrap_or(text);
    crate::target::is_name(name.trim_start_matches('.')).then(|| {
        let lower = name.trim_end_matches('.').to_ascii_lowercase();
        if name.starts_with('.') { Hosts::Below(lower) } else { Hosts::Name(lower) }
    })
}

impl TryFrom<String> for Destination {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

impl fmt::Display for Destination {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.hosts {
            Hosts::Any => f.write_str("*:")?,
            Hosts::Name(name) => write!(f, "{name}:")?,
            Hosts::Below(name) => write!(f, "*{name}:")?,
            Hosts::Net(address, length) if address.is_ipv4() => write!(f, "{address}/{length}:")?,
            Hosts::Net(address, length) => write!(f, "[{address}/{length}]:")?,
        }
        match (*self.ports.start(), *self.ports.end()) {
            (1, u16::MAX) => f.write_str("*"),
            (first, last) if first == last => write!(f, "{first}"),
            (first, last) => write!(f, "{first}-{last}"),
        }
    }
}

/// Returns whether some rule may allow a name: if none does, it is not even resolved.
pub fn may_resolve(rules: &[Destination], name: &str, port: u16) -> bool {
    rules.iter().any(|rule| {
        rule.ports.contains(&port) && (matches!(rule.hosts, Hosts::Net(..)) || rule.names(Some(name)))
    })
}

/// Returns whether an address is allowed, given by the client or resolved from its name.
pub fn allows(rules: &[Destination], name: Option<&str>, address: SocketAddr) -> bool {
    let ip = address.ip().to_canonical();
    let is_public = is_public(ip);
    rules.iter().filter(|rule| rule.ports.contains(&address.port())).any(|rule| match rule.hosts {
        Hosts::Net(net, length) => contains(net, length, ip),
        _ => is_public && rule.names(name),
    })
}

impl Destination {
    /// Returns whether the rule names this very address, or a network around it.
    pub fn names_address(&self, address: SocketAddr) -> bool {
        matches!(self.hosts, Hosts::Net(net, length) if contains(net, length, address.ip().to_canonical()))
            && self.ports.contains(&address.port())
    }

    fn names(&self, name: Option<&str>) -> bool {
        let lower = name.map(|name| name.trim_end_matches('.').to_ascii_lowercase());
        match &self.hosts {
            Hosts::Any => true,
            Hosts::Name(own) => lower.as_deref() == Some(own),
            Hosts::Below(end) => lower.is_some_and(|name| name.len() > end.len() && name.ends_with(end)),
            Hosts::Net(..) => false,
        }
    }
}

fn contains(net: IpAddr, length: u8, address: IpAddr) -> bool {
    let length = u32::from(length);
    match (net, address) {
        (IpAddr::V4(net), IpAddr::V4(address)) => {
            let mask = u32::MAX.checked_shl(32 - length).unwrap_or(0);
            net.to_bits() & mask == address.to_bits() & mask
        }
        (IpAddr::V6(net), IpAddr::V6(address)) => {
            let mask = u128::MAX.checked_shl(128 - length).unwrap_or(0);
            net.to_bits() & mask == address.to_bits() & mask
        }
        _ => false,
    }
}

/// IPv4 networks that are not public: those of RFC 6890, multicast and reserved ones.
const NOT_PUBLIC: [(Ipv4Addr, u8); 15] = [
    (Ipv4Addr::UNSPECIFIED, 8),
    (Ipv4Addr::new(10, 0, 0, 0), 8),
    (Ipv4Addr::new(100, 64, 0, 0), 10),
    (Ipv4Addr::new(127, 0, 0, 0), 8),
    (Ipv4Addr::new(169, 254, 0, 0), 16),
    (Ipv4Addr::new(172, 16, 0, 0), 12),
    (Ipv4Addr::new(192, 0, 0, 0), 24),
    (Ipv4Addr::new(192, 0, 2, 0), 24),
    (Ipv4Addr::new(192, 88, 99, 0), 24),
    (Ipv4Addr::new(192, 168, 0, 0), 16),
    (Ipv4Addr::new(198, 18, 0, 0), 15),
    (Ipv4Addr::new(198, 51, 100, 0), 24),
    (Ipv4Addr::new(203, 0, 113, 0), 24),
    (Ipv4Addr::new(224, 0, 0, 0), 4),
    (Ipv4Addr::new(240, 0, 0, 0), 4),
];

/// Networks within `2000::/3` that are not public: those of RFC 6890, and those that embed an IPv4 address.
const NOT_PUBLIC_6: [(Ipv6Addr, u8); 4] = [
    (Ipv6Addr::new(0x2001, 0, 0, 0, 0, 0, 0, 0), 23),
    (Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 0), 32),
    (Ipv6Addr::new(0x2002, 0, 0, 0, 0, 0, 0, 0), 16),
    (Ipv6Addr::new(0x3fff, 0, 0, 0, 0, 0, 0, 0), 20),
];

/// Returns whether an address is public: not loopback, private, link-local, or one that leads there (mapped,
/// translated, 6to4, Teredo).
pub fn is_public(address: IpAddr) -> bool {
    match address.to_canonical() {
        IpAddr::V4(_) => {
            !NOT_PUBLIC.iter().any(|(net, length)| contains((*net).into(), *length, address.to_canonical()))
        }
        IpAddr::V6(own) => {
            let is_unicast = own.segments()[0] & 0xe000 == 0x2000;
            is_unicast && !NOT_PUBLIC_6.iter().any(|(net, length)| contains((*net).into(), *length, address))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn rules(texts: &[&str]) -> Vec<Destination> {
        texts.iter().map(|text| text.parse().unwrap()).collect()
    }

    fn allowed(rules: &[Destination], name: Option<&str>, address: &str) -> bool {
        allows(rules, name, address.parse().unwrap())
    }

    #[test]
    fn nothing_is_allowed_that_is_not_named() {
        assert!(!allowed(&[], None, "93.184.215.14:443"));
        let web = rules(&["*:443", "*.example.org:80-90"]);
        assert!(allowed(&web, None, "93.184.215.14:443") && !allowed(&web, None, "93.184.215.14:80"));
        assert!(allowed(&web, Some("a.Example.org."), "93.184.215.14:80"));
        assert!(!allowed(&web, Some("example.org"), "93.184.215.14:80"), "the name itself is not below it");
        assert!(!allowed(&web, Some("aexample.org"), "93.184.215.14:80"));
        assert!(may_resolve(&web, "a.example.org", 81) && !may_resolve(&web, "a.example.org", 91));
    }

    #[test]
    fn name_never_leads_to_an_unnamed_network() {
        let all = rules(&["*:*"]);
        let inside = [
            "127.0.0.1:80",
            "10.1.2.3:80",
            "192.168.1.1:80",
            "172.31.0.1:80",
            "169.254.169.254:80",
            "100.64.0.1:80",
            "0.0.0.0:80",
            "224.0.0.1:80",
            "255.255.255.255:80",
            "[::1]:80",
            "[::]:80",
            "[fe80::1]:80",
            "[fd00::1]:80",
            "[::ffff:127.0.0.1]:80",
            "[::ffff:10.0.0.1]:80",
            "[64:ff9b::7f00:1]:80",
            "[2002:7f00:1::]:80",
            "[2001:0:1::1]:80",
            "[ff02::1]:80",
            "[::127.0.0.1]:80",
        ];
        for address in inside {
            assert!(!allowed(&all, Some("rebound.example"), address), "{address}");
        }
        assert!(allowed(&all, None, "[2606:4700::1111]:80") && allowed(&all, None, "8.8.8.8:53"));
        let named = rules(&["127.0.0.1:8080", "10.0.0.0/8:*", "[fd00::/8]:22"]);
        assert!(allowed(&named, Some("localhost"), "127.0.0.1:8080"));
        assert!(allowed(&named, None, "[::ffff:127.0.0.1]:8080"), "it is the same address");
        assert!(!allowed(&named, None, "127.0.0.1:80") && !allowed(&named, None, "8.8.8.8:80"));
        assert!(allowed(&named, None, "10.255.0.1:1") && allowed(&named, None, "[fd12::1]:22"));
    }

    #[test]
    fn mistakes_are_told() {
        for text in ["", "x", "*:", "*:0", "*:9-8", "10.0.0.0/33:1", "::1:80", "a b:80", "*.:80", "[::1:80"] {
            let error = text.parse::<Destination>().unwrap_err();
            assert!(error.contains("is no destination"), "{text}: {error}");
        }
        for text in ["*:*", "a.example:1", "*.b.example:1-2", "10.0.0.0/8:22", "[fd00::/8]:22"] {
            assert_eq!(text.parse::<Destination>().unwrap().to_string(), text);
        }
    }

    proptest! {
        #[test]
        fn any_text_is_read_or_refused(text in "[*.:/a1\\[\\]-]{0,24}") {
            if let Ok(rule) = text.parse::<Destination>() {
                prop_assert_eq!(rule.to_string().parse::<Destination>(), Ok(rule));
            }
        }
    }
}
