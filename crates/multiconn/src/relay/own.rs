//! Determines without a packet whether an address is this machine's own.

use rustix::net::sockopt;
use std::io::{self, ErrorKind};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, UdpSocket};

/// Addresses that no machine has: of TEST-NET-1 (RFC 5737), and of the discard prefix (RFC 6666).
const NONE_4: IpAddr = IpAddr::V4(Ipv4Addr::new(192, 0, 2, 254));
const NONE_6: IpAddr = IpAddr::V6(Ipv6Addr::new(0x100, 0, 0, 0, 0, 0, 0, 0xfe));

/// The largest packet of loopback \[bytes\]: 64 kB (Linux' `drivers/net/loopback.c`), as far as IPv4's length
/// goes (RFC 791 §3.1).
const LOOPBACK_MTU: u32 = 65_535;

/// Returns whether a socket can bind the address (bind(2)): the kernel permits every address that it receives
/// packets for, secondary addresses and local routes included.
///
/// # Errors
/// If there is no socket.
pub(super) fn is_own(address: IpAddr) -> io::Result<bool> {
    let address = address.to_canonical();
    if !may_bind(address)? {
        return Ok(false);
    }
    // With `ip_nonlocal_bind` a socket may bind any address.
    let none = if address.is_ipv4() { NONE_4 } else { NONE_6 };
    Ok(!may_bind(none)? || stays_here(address)?)
}

/// Returns whether packets to an address would not leave. They have it as their source or, for a secondary
/// address, go by loopback, which has a larger MTU than any other device.
fn stays_here(address: IpAddr) -> io::Result<bool> {
    let any =
        if address.is_ipv4() { Ipv4Addr::UNSPECIFIED.into() } else { IpAddr::V6(Ipv6Addr::UNSPECIFIED) };
    let socket = UdpSocket::bind((any, 0))?;
    if socket.connect((address, 9)).is_err() {
        return Ok(false);
    }
    let by_loopback = address.is_ipv4() && sockopt::ip_mtu(&socket)? >= LOOPBACK_MTU;
    Ok(by_loopback || socket.local_addr()?.ip().to_canonical() == address)
}

fn may_bind(address: IpAddr) -> io::Result<bool> {
    match UdpSocket::bind((address, 0)) {
        Ok(_) => Ok(true),
        // Not an own address; or no IPv6 at all.
        Err(error) if matches!(error.kind(), ErrorKind::AddrNotAvailable | ErrorKind::Unsupported) => {
            Ok(false)
        }
        Err(error) if error.raw_os_error() == Some(rustix::io::Errno::AFNOSUPPORT.raw_os_error()) => {
            Ok(false)
        }
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loopback_is_own_and_the_net_is_not() {
        for own in ["127.0.0.1", "127.3.2.1", "::ffff:127.0.0.1"] {
            let own: IpAddr = own.parse().unwrap();
            assert!(is_own(own).unwrap() && stays_here(own.to_canonical()).unwrap(), "{own}");
        }
        for other in ["192.0.2.1", "8.8.8.8", "2001:db8::1", "::ffff:8.8.8.8"] {
            let other: IpAddr = other.parse().unwrap();
            assert!(!is_own(other).unwrap() && !stays_here(other.to_canonical()).unwrap(), "{other}");
        }
    }
}
