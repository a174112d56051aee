//! Routing (ip-route(8)): the routes for all addresses, and the device by which an address is reached.

use crate::Rtnetlink;
use crate::link::octets;
use crate::netlink::attributes::{Attributes, u16_at, u32_of};
use crate::netlink::message::Message;
use std::io;
use std::net::IpAddr;

/// A route for all addresses of a family, one for each device of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct DefaultRoute {
    /// The number of the device by which packets leave.
    pub device: u32,
    /// Whether it is a route of IPv6.
    pub is_v6: bool,
    /// The number of its table; 254 is the main one.
    pub table: u32,
}

impl Rtnetlink {
    /// Returns all default routes over devices, of all tables.
    ///
    /// # Errors
    /// If they change during each of several attempts.
    pub fn default_routes(&mut self) -> io::Result<Vec<DefaultRoute>> {
        let mut routes = Vec::new();
        for family in [libc::AF_INET, libc::AF_INET6] {
            let mut of_family = Vec::new();
            let request = Message::new(libc::RTM_GETROUTE, 0, &header(family, 0));
            self.socket.dump(&request, &mut of_family, |kind, payload| {
                Ok((kind == libc::RTM_NEWROUTE).then(|| defaults(payload)))
            })?;
            routes.extend(of_family.into_iter().flatten());
        }
        routes.sort_unstable();
        routes.dedup();
        Ok(routes)
    }

    /// Returns the device by which an address is reached.
    ///
    /// # Errors
    /// If there is no route.
    pub fn device_towards(&mut self, address: IpAddr) -> io::Result<u32> {
        let family = if address.is_ipv4() { libc::AF_INET } else { libc::AF_INET6 };
        let own = octets(address);
        let mut request = Message::new(libc::RTM_GETROUTE, 0, &header(family, (own.len() * 8) as u8));
        request.put(libc::RTA_DST, &own);
        self.socket.get(request, |kind, payload| {
            let attributes = Attributes::new(payload.get(HEADER..).unwrap_or_default());
            Ok(attributes.find(libc::RTA_OIF).and_then(u32_of).filter(|_| kind == libc::RTM_NEWROUTE))
        })
    }
}

/// Bytes of `struct rtmsg`.
const HEADER: usize = 12;
/// Bytes of `struct rtnexthop`, which precedes each hop of a multipath route.
const NEXT: usize = 8;

/// Returns `struct rtmsg` with the family, and the prefix length of the destination.
fn header(family: i32, bits: u8) -> [u8; HEADER] {
    let mut own = [0; HEADER];
    (own[0], own[1]) = (family as u8, bits);
    own
}

/// Returns the devices of a route, if it is a default route with a device.
fn defaults(payload: &[u8]) -> Vec<DefaultRoute> {
    let (Some(&[family, bits, _, _, table, _, _, kind]), Some(rest)) =
        (payload.first_chunk(), payload.get(HEADER..))
    else {
        return Vec::new();
    };
    if bits != 0 || kind != libc::RTN_UNICAST {
        return Vec::new();
    }
    let attributes = Attributes::new(rest);
    let table = attributes.find(libc::RTA_TABLE).and_then(u32_of).unwrap_or(table.into());
    let one = attributes.find(libc::RTA_OIF).and_then(u32_of);
    let mut devices: Vec<u32> = one.into_iter().collect();
    let mut several = attributes.find(libc::RTA_MULTIPATH).unwrap_or_default();
    while let Some(length) = u16_at(several, 0).map(usize::from).filter(|length| *length >= NEXT) {
        devices.extend(several.get(4..NEXT).and_then(u32_of));
        several = several.get(length.next_multiple_of(4)..).unwrap_or_default();
    }
    let is_v6 = i32::from(family) == libc::AF_INET6;
    devices.into_iter().map(|device| DefaultRoute { device, is_v6, table }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The kernel's message about `default nexthop dev A nexthop via 192.0.2.9 dev B`, built by hand, and cut
    /// anywhere.
    #[test]
    fn paths_of_a_route_are_read_unless_truncated() {
        let mut payload = header(libc::AF_INET, 0).to_vec();
        (payload[4], payload[7]) = (254, libc::RTN_UNICAST);
        let ways =
            [&[8, 0, 0, 0, 7, 0, 0, 0][..], &[16, 0, 0, 0, 9, 0, 0, 0, 8, 0, 5, 0, 192, 0, 2, 9]].concat();
        payload.extend([(4 + ways.len() as u16).to_ne_bytes(), libc::RTA_MULTIPATH.to_ne_bytes()].concat());
        payload.extend(&ways);
        let device = |device| DefaultRoute { device, is_v6: false, table: 254 };
        if cfg!(target_endian = "little") {
            assert_eq!(defaults(&payload), [device(7), device(9)]);
        }
        (0..payload.len()).for_each(|length| assert!(defaults(&payload[..length]).is_empty()));
        payload[1] = 24;
        assert!(defaults(&payload).is_empty(), "not for all addresses");
    }
}
