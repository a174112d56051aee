//! The hosts that answer on a device's own link: the kernel's table of addresses and their hardware addresses
//! (ARP, RFC 826; neighbour discovery, RFC 4861).

use crate::Rtnetlink;
use crate::netlink::attributes::{Attributes, u16_at, u32_at};
use crate::netlink::malformed;
use crate::netlink::message::Message;
use std::fmt::Write as _;
use std::io;
use std::net::IpAddr;

/// Bytes of `struct ndmsg`: family, three of padding, device, state, flags, type.
const HEADER: usize = 12;
/// Linux' `NDA_DST` and `NDA_LLADDR`.
const ADDRESS: u16 = 1;
const HARDWARE: u16 = 2;
/// Linux' `NUD_REACHABLE`, `DELAY`, `PROBE` and `PERMANENT`: it has answered, packets go to it, or an
/// operator entered it. `STALE` is none of these: one frame with a forged sender causes it (RFC 826; RFC 4861
/// §7.2.3).
const ANSWERED: u16 = 0x02 | 0x08 | 0x10 | 0x80;

/// An address on a device's link.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Neighbour {
    /// The address.
    pub address: IpAddr,
    /// Its hardware address.
    pub hardware: Vec<u8>,
    /// Whether it has answered, or packets go to it, and no later request failed.
    pub has_answered: bool,
}

impl Neighbour {
    /// Reads a message about an address on a device's link; returns none for another device or without a
    /// hardware address.
    pub(crate) fn read(device: u32, payload: &[u8]) -> io::Result<Option<Self>> {
        let short = || malformed("a neighbour without a header");
        let attributes = Attributes::new(payload.get(HEADER..).ok_or_else(short)?);
        let own = u32_at(payload, 4).ok_or_else(short)?;
        let state = u16_at(payload, 8).ok_or_else(short)?;
        let address = attributes.find(ADDRESS).and_then(|value| match value.len() {
            4 => Some(IpAddr::from(<[u8; 4]>::try_from(value).ok()?)),
            16 => Some(IpAddr::from(<[u8; 16]>::try_from(value).ok()?)),
            _ => None,
        });
        let hardware = attributes.find(HARDWARE).filter(|value| !value.is_empty());
        Ok(address.zip(hardware).filter(|_| own == device).map(|(address, hardware)| Self {
            address,
            hardware: hardware.to_vec(),
            has_answered: state & ANSWERED != 0,
        }))
    }

    /// Returns the hardware address as text: pairs of hexadecimal digits with colons.
    pub fn hardware(&self) -> String {
        let mut text = String::new();
        for (i, byte) in self.hardware.iter().enumerate() {
            // Writing to a string cannot fail.
            let _ = write!(text, "{}{byte:02x}", if i == 0 { "" } else { ":" });
        }
        text
    }
}

impl Rtnetlink {
    /// Returns the known neighbours on a device's link.
    ///
    /// # Errors
    /// If they change during each of several attempts.
    pub fn neighbours(&mut self, device: u32) -> io::Result<Vec<Neighbour>> {
        let mut neighbours = Vec::new();
        let request = Message::new(libc::RTM_GETNEIGH, 0, &[0; HEADER]);
        self.socket.dump(&request, &mut neighbours, |kind, payload| {
            if kind == libc::RTM_NEWNEIGH { Neighbour::read(device, payload) } else { Ok(None) }
        })?;
        Ok(neighbours)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The kernel's message after `ip neighbour add 10.0.0.11 lladdr 02:00:00:00:00:0b dev mesh0 nud
    /// reachable`.
    #[test]
    fn a_neighbour_is_read_and_nothing_else_is() {
        let mut bytes = vec![2, 0, 0, 0, 7, 0, 0, 0, 2, 0, 0, 1];
        bytes.extend([8, 0, 1, 0, 10, 0, 0, 11]);
        bytes.extend([10, 0, 2, 0, 2, 0, 0, 0, 0, 11, 0, 0]);
        let read = Neighbour::read(7, &bytes).expect("a message").expect("a neighbour");
        assert_eq!((read.address, read.has_answered), (IpAddr::from([10, 0, 0, 11]), true));
        assert_eq!(read.hardware(), "02:00:00:00:00:0b");
        assert_eq!(Neighbour::read(8, &bytes).expect("a message"), None, "another device's");
        // NUD_FAILED; NUD_STALE, caused by a frame from it alone.
        for state in [0x20, 0x04] {
            bytes[8] = state;
            assert!(!Neighbour::read(7, &bytes).expect("a message").expect("a neighbour").has_answered);
        }
        assert_eq!(Neighbour::read(7, &bytes[..20]).expect("a message"), None, "no hardware");
        for length in 0..HEADER {
            assert!(Neighbour::read(7, &bytes[..length]).is_err());
        }
    }
}
