//! Whether an address is this machine's own, found out without a packet.

use std::io::{self, ErrorKind};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, UdpSocket};

/// Addresses that no machine has: of TEST-NET-1 (RFC 5737), and of the prefix that is thrown away (RFC 6666).
const NONE_4: IpAddr = IpAddr::V4(Ipv4Addr::new(192, 0, 2, 254));
const NONE_6: IpAddr = IpAddr::V6(Ipv6Addr::new(0x100, 0, 0, 0, 0, 0, 0, 0xfe));

/// Whether a socket may have the address (bind(2)): the kernel gives it all that it takes packets for, secondary addresses and local
/// routes among them.
///
/// # Errors
/// If there is no socket.
pub(super) fn is_own(address: IpAddr) -> io::Result<bool> {
    let address = address.to_canonical();
    if !may_bind(address)? {
        return Ok(false);
    }
    // `ip_nonlocal_bind` lets a socket have any address; then it is own if packets to it have it as their source.
    if may_bind(if address.is_ipv4() { NONE_4 } else { NONE_6 })? {
        let any =
            if address.is_ipv4() { IpAddr::V4(Ipv4Addr::UNSPECIFIED) } else { Ipv6Addr::UNSPECIFIED.into() };
        let socket = UdpSocket::bind((any, 0))?;
        return Ok(
            socket.connect((address, 9)).is_ok() && socket.local_addr()?.ip().to_canonical() == address
        );
    }
    Ok(true)
}

fn may_bind(address: IpAddr) -> io::Result<bool> {
    match UdpSocket::bind((address, 0)) {
        Ok(_) => Ok(true),
        // Not here; or no IPv6 at all.
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
            assert!(is_own(own.parse().unwrap()).unwrap(), "{own}");
        }
        for other in ["192.0.2.1", "8.8.8.8", "2001:db8::1", "::ffff:8.8.8.8"] {
            assert!(!is_own(other.parse().unwrap()).unwrap(), "{other}");
        }
    }
}
