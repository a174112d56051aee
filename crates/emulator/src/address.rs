//! The addresses of nodes.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// The addresses of a network's nodes: `10.0.0.1` and `fd65::1` for the first, and so on. Each is a node's
/// own, without a subnet, so a packet between nodes always goes through the simulated network.
#[derive(Clone, Copy, Debug)]
pub struct Addresses {
    nodes: u32,
}

/// The prefix of all IPv4 addresses, and its length.
pub(crate) const IPV4: (Ipv4Addr, u8) = (Ipv4Addr::new(10, 0, 0, 0), 8);
/// The same of IPv6 (RFC 4193: unique local).
pub(crate) const IPV6: (Ipv6Addr, u8) = (Ipv6Addr::new(0xfd65, 0, 0, 0, 0, 0, 0, 0), 64);

impl Addresses {
    /// Returns the addresses of a number of nodes.
    ///
    /// # Panics
    /// If there are more nodes than addresses, sixteen million.
    pub const fn of(nodes: u32) -> Self {
        assert!(nodes < 1 << 24, "more nodes than addresses");
        Self { nodes }
    }

    /// Returns the number of nodes.
    pub(crate) const fn nodes(self) -> u32 {
        self.nodes
    }

    /// Returns a node's IPv4 address.
    pub const fn ipv4(self, node: u32) -> Ipv4Addr {
        Ipv4Addr::from_bits(IPV4.0.to_bits() + node + 1)
    }

    /// Returns a node's IPv6 address.
    pub const fn ipv6(self, node: u32) -> Ipv6Addr {
        Ipv6Addr::from_bits(IPV6.0.to_bits() + node as u128 + 1)
    }

    /// Returns whether a node could have an address.
    pub(crate) fn is_inside(address: IpAddr) -> bool {
        match address {
            IpAddr::V4(address) => address.octets()[0] == IPV4.0.octets()[0],
            IpAddr::V6(address) => address.octets()[..8] == IPV6.0.octets()[..8],
        }
    }

    /// Returns the node that has an address.
    pub fn node(self, address: IpAddr) -> Option<u32> {
        let number = match address {
            IpAddr::V4(address) => u128::from(address.to_bits().checked_sub(IPV4.0.to_bits())?),
            IpAddr::V6(address) => address.to_bits().checked_sub(IPV6.0.to_bits())?,
        };
        let node = u32::try_from(number).ok()?.checked_sub(1)?;
        (node < self.nodes).then_some(node)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_told_apart_and_found_again() {
        let all = Addresses::of(300);
        for node in [0, 1, 254, 255, 299] {
            assert_eq!(all.node(all.ipv4(node).into()), Some(node));
            assert_eq!(all.node(all.ipv6(node).into()), Some(node));
        }
        assert_eq!(all.ipv4(255).to_string(), "10.0.1.0");
        for stranger in ["10.0.0.0", "10.0.1.45", "9.255.255.255", "224.0.0.1", "fd65::", "fd65::12d", "::1"]
        {
            assert_eq!(all.node(stranger.parse().unwrap()), None, "{stranger}");
        }
    }
}
