//! The fields of IP packets that the air needs: destination, priority, hop limit, and whether it may be
//! marked.
//!
//! Everything is checked before use: bytes that a program writes to a raw socket arrive here unchanged.

use evenair_netsim::Codepoint;
use evenair_netsim::pcap::internet_checksum;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// The fields of a packet's header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Head {
    /// Its source.
    pub from: IpAddr,
    /// Its destination.
    pub to: IpAddr,
    /// The hops that it may still take (TTL, hop limit).
    pub hops: u8,
    /// Differentiated services code point (RFC 2474).
    pub dscp: u8,
    /// Its congestion notification (RFC 3168).
    pub ecn: Codepoint,
    /// The ports of TCP and UDP; none in a later fragment.
    pub ports: Option<(u16, u16)>,
    /// The protocol above IP; for IPv6 the first that is not an extension supported here.
    pub protocol: u8,
}

/// Protocol numbers: of ICMP over IPv4 and over IPv6, TCP and UDP.
const ICMP: u8 = 1;
const ICMP6: u8 = 58;
pub(crate) const TCP: u8 = 6;
pub(crate) const UDP: u8 = 17;

/// Reads the header of a packet; returns none if it is not IP, or is cut.
pub fn head(packet: &[u8]) -> Option<Head> {
    match packet.first()? >> 4 {
        4 => head4(packet),
        6 => head6(packet),
        _ => None,
    }
}

fn head4(packet: &[u8]) -> Option<Head> {
    let fixed: &[u8; 20] = packet.first_chunk()?;
    let length = usize::from(fixed[0] & 15) * 4;
    let total = usize::from(u16::from_be_bytes([fixed[2], fixed[3]]));
    if length < fixed.len() || total < length || total > packet.len() {
        return None;
    }
    let offset = u16::from_be_bytes([fixed[6], fixed[7]]) & 0x1fff;
    let address = |at: usize| Ipv4Addr::new(fixed[at], fixed[at + 1], fixed[at + 2], fixed[at + 3]).into();
    let protocol = fixed[9];
    Some(Head {
        from: address(12),
        to: address(16),
        hops: fixed[8],
        dscp: fixed[1] >> 2,
        ecn: codepoint(fixed[1]),
        ports: if offset == 0 { ports(protocol, &packet[length..total]) } else { None },
        protocol,
    })
}

fn head6(packet: &[u8]) -> Option<Head> {
    let fixed: &[u8; 40] = packet.first_chunk()?;
    let total = usize::from(u16::from_be_bytes([fixed[4], fixed[5]])) + fixed.len();
    if total > packet.len() {
        return None;
    }
    let class = fixed[0] << 4 | fixed[1] >> 4;
    let address = |at: usize| {
        let bytes: [u8; 16] = fixed[at..at + 16].try_into().expect("sixteen bytes");
        Ipv6Addr::from(bytes).into()
    };
    let protocol = fixed[6];
    Some(Head {
        from: address(8),
        to: address(24),
        hops: fixed[7],
        dscp: class >> 2,
        ecn: codepoint(class),
        ports: ports(protocol, &packet[fixed.len()..total]),
        protocol,
    })
}

fn ports(protocol: u8, above: &[u8]) -> Option<(u16, u16)> {
    let &[a, b, c, d] = above.first_chunk()?;
    matches!(protocol, TCP | UDP).then(|| (u16::from_be_bytes([a, b]), u16::from_be_bytes([c, d])))
}

/// Returns the code point of the second byte of IPv4, or the traffic class of IPv6.
const fn codepoint(class: u8) -> Codepoint {
    match class & 3 {
        0 => Codepoint::NotCapable,
        3 => Codepoint::Marked,
        _ => Codepoint::Capable,
    }
}

/// Marks a packet as one that met congestion (RFC 3168: CE), and updates its checksum. [`head`] has read it
/// before.
pub fn mark(packet: &mut [u8]) {
    match packet[0] >> 4 {
        4 => change4(packet, 1, |class| class | 3),
        _ => packet[1] |= 0x30,
    }
}

/// Subtracts the hops that a packet has taken, and updates its checksum. [`head`] has read it before.
pub fn take_hops(packet: &mut [u8], taken: u8) {
    match packet[0] >> 4 {
        4 => change4(packet, 8, |hops| hops.saturating_sub(taken)),
        _ => packet[7] = packet[7].saturating_sub(taken),
    }
}

/// Changes a byte of an IPv4 header, and its checksum by as much (RFC 1624, equation 3).
fn change4(packet: &mut [u8], at: usize, change: impl Fn(u8) -> u8) {
    let word = at & !1;
    let read = |packet: &[u8], at: usize| u16::from_be_bytes([packet[at], packet[at + 1]]);
    let before = read(packet, word);
    packet[at] = change(packet[at]);
    let after = read(packet, word);
    let sum = u32::from(!read(packet, 10)) + u32::from(!before) + u32::from(after);
    let folded = (sum & 0xffff) + (sum >> 16);
    let folded = (folded & 0xffff) + (folded >> 16);
    packet[10..12].copy_from_slice(&(!(folded as u16)).to_be_bytes());
}

/// The reason why a router drops a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trouble {
    /// Its hops are used up.
    HopsUsedUp,
    /// There is no route to its destination.
    NoRoute,
}

/// The largest error message, over IPv4 (RFC 1812 section 4.3.2.3) and over IPv6 (RFC 4443 section 2.4 c).
const TOLD_MAX: (usize, usize) = (576, 1280);

/// Returns a router's error message to the sender of a packet (RFC 792, RFC 4443). Returns none for an error
/// message, a multicast, a packet without a source, or a later fragment (RFC 1812 section 4.3.2.7).
pub fn tell(trouble: Trouble, packet: &[u8], router: (Ipv4Addr, Ipv6Addr)) -> Option<Vec<u8>> {
    let head = head(packet)?;
    if head.to.is_multicast() || head.from.is_multicast() || head.from.is_unspecified() {
        return None;
    }
    match (head.from, head.to) {
        (IpAddr::V4(sender), IpAddr::V4(to)) => {
            let length = usize::from(packet[0] & 15) * 4;
            let is_error = head.protocol == ICMP && !matches!(packet.get(length), Some(0 | 8 | 13 | 15 | 17));
            let is_later = u16::from_be_bytes([packet[6], packet[7]]) & 0x1fff != 0;
            (!is_error && !is_later && !to.is_broadcast()).then(|| tell4(trouble, packet, router.0, sender))
        }
        (IpAddr::V6(sender), _) => {
            // Errors are below 128, and a redirect causes no message.
            let is_error = head.protocol == ICMP6 && matches!(packet.get(40), None | Some(..128 | 137));
            (!is_error).then(|| tell6(trouble, packet, router.1, sender))
        }
        _ => None,
    }
}

/// Returns a message with its type and code, room for the checksum, four unused bytes, and as much of the
/// packet as fits.
fn message((kind, code): (u8, u8), packet: &[u8], room: usize) -> Vec<u8> {
    let mut message = vec![kind, code, 0, 0, 0, 0, 0, 0];
    message.extend_from_slice(&packet[..packet.len().min(room - message.len())]);
    message
}

fn tell4(trouble: Trouble, packet: &[u8], router: Ipv4Addr, sender: Ipv4Addr) -> Vec<u8> {
    let kind = match trouble {
        Trouble::HopsUsedUp => (11, 0),
        Trouble::NoRoute => (3, 1), // host unreachable
    };
    let mut message = message(kind, packet, TOLD_MAX.0 - 20);
    let sum = internet_checksum(&[&message]);
    message[2..4].copy_from_slice(&sum.to_be_bytes());
    let total = (20 + message.len()) as u16;
    let mut answer = vec![0x45, 0xc0, 0, 0, 0, 0, 0, 0, 64, ICMP, 0, 0];
    answer[2..4].copy_from_slice(&total.to_be_bytes());
    answer.extend_from_slice(&router.octets());
    answer.extend_from_slice(&sender.octets());
    let sum = internet_checksum(&[&answer]);
    answer[10..12].copy_from_slice(&sum.to_be_bytes());
    answer.extend_from_slice(&message);
    answer
}

fn tell6(trouble: Trouble, packet: &[u8], router: Ipv6Addr, sender: Ipv6Addr) -> Vec<u8> {
    let kind = match trouble {
        Trouble::HopsUsedUp => (3, 0),
        Trouble::NoRoute => (1, 3), // address unreachable
    };
    let mut message = message(kind, packet, TOLD_MAX.1 - 40);
    let length = (message.len() as u16).to_be_bytes();
    // The pseudo-header (RFC 8200 section 8.1).
    let above = [0, 0, length[0], length[1], 0, 0, 0, ICMP6];
    let sum = internet_checksum(&[&router.octets(), &sender.octets(), &above, &message]);
    message[2..4].copy_from_slice(&sum.to_be_bytes());
    let mut answer = vec![0x60, 0, 0, 0, length[0], length[1], ICMP6, 64];
    answer.extend_from_slice(&router.octets());
    answer.extend_from_slice(&sender.octets());
    answer.extend_from_slice(&message);
    answer
}

/// Returns whether a packet is a router's redirect (RFC 4443). Linux has a setting against it for IPv4 alone.
pub fn is_redirect(packet: &[u8]) -> bool {
    packet.first().is_some_and(|first| first >> 4 == 6)
        && packet.get(6) == Some(&ICMP6)
        && packet.get(40) == Some(&137)
}

/// Returns a hash of the fields that forwarding leaves unchanged; it identifies a packet that a router
/// returns.
pub fn identity(packet: &[u8]) -> u64 {
    let mut hasher = DefaultHasher::new();
    packet.len().hash(&mut hasher);
    let unchanged: [std::ops::Range<usize>; 3] = match packet.first().map(|first| first >> 4) {
        Some(4) => [2..8, 9..10, 12..64], // all but class, hops and checksum
        _ => [4..7, 8..64, 0..0],         // all but class, label and hops
    };
    for range in unchanged {
        packet.get(range.start..range.end.min(packet.len())).hash(&mut hasher);
    }
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Returns a UDP packet of four bytes from 10.0.0.1 to 10.0.0.2.
    fn udp4(class: u8, hops: u8) -> Vec<u8> {
        let mut packet = vec![0x45, class, 0, 32, 0, 7, 0, 0, hops, UDP, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2];
        let sum = internet_checksum(&[&packet]);
        packet[10..12].copy_from_slice(&sum.to_be_bytes());
        packet.extend_from_slice(&[0x12, 0x34, 0, 53, 0, 12, 0, 0, 1, 2, 3, 4]);
        packet
    }

    #[test]
    fn a_head_is_read() {
        let told = head(&udp4(46 << 2 | 2, 64)).unwrap();
        assert_eq!((told.from, told.to), ([10, 0, 0, 1].into(), [10, 0, 0, 2].into()));
        assert_eq!((told.hops, told.dscp, told.ecn), (64, 46, Codepoint::Capable));
        assert_eq!(told.ports, Some((0x1234, 53)));
    }

    #[test]
    fn fragment_has_no_ports_and_cut_packet_no_head() {
        let mut packet = udp4(0, 1);
        packet[7] = 4;
        assert_eq!(head(&packet).unwrap().ports, None);
        assert_eq!(head(&packet[..31]), None);
        assert_eq!(head(&[]), None);
    }

    #[test]
    fn an_ipv6_packet_is_read_marked_and_aged() {
        let mut packet = udp6(5);
        let before = head(&packet).unwrap();
        assert_eq!((before.ecn, before.hops, before.ports), (Codepoint::Capable, 5, Some((1, 2))));
        mark(&mut packet);
        take_hops(&mut packet, 2);
        let after = head(&packet).unwrap();
        assert_eq!((after.ecn, after.hops, after.dscp), (Codepoint::Marked, 3, before.dscp));
    }

    /// Returns a UDP packet of no bytes over IPv6, from the first node to the second.
    fn udp6(hops: u8) -> Vec<u8> {
        let mut packet = vec![0x60, 0x20, 0, 0, 0, 8, UDP, hops];
        packet.extend_from_slice(&Ipv6Addr::new(0xfd65, 0, 0, 0, 0, 0, 0, 1).octets());
        packet.extend_from_slice(&Ipv6Addr::new(0xfd65, 0, 0, 0, 0, 0, 0, 2).octets());
        packet.extend_from_slice(&[0, 1, 0, 2, 0, 8, 0, 0]);
        packet
    }

    const ROUTER: (Ipv4Addr, Ipv6Addr) =
        (Ipv4Addr::new(10, 0, 0, 9), Ipv6Addr::new(0xfd65, 0, 0, 0, 0, 0, 0, 9));

    #[test]
    fn router_quotes_unforwarded_packet() {
        for (trouble, kind) in [(Trouble::HopsUsedUp, [11, 0]), (Trouble::NoRoute, [3, 1])] {
            let packet = udp4(0, 1);
            let answer = tell(trouble, &packet, ROUTER).unwrap();
            let told = head(&answer).unwrap();
            assert_eq!((told.from, told.to), (ROUTER.0.into(), [10, 0, 0, 1].into()));
            assert_eq!((told.protocol, &answer[20..22]), (ICMP, &kind[..]));
            assert_eq!(internet_checksum(&[&answer[..20]]), 0);
            assert_eq!(internet_checksum(&[&answer[20..]]), 0);
            assert_eq!(&answer[28..], &packet);
            assert_eq!(tell(trouble, &answer, ROUTER), None, "no error about an error");
        }
        let mut large = udp4(0, 1);
        large.resize(1500, 0);
        large[2..4].copy_from_slice(&1500_u16.to_be_bytes());
        assert_eq!(tell(Trouble::NoRoute, &large, ROUTER).unwrap().len(), 576);
        large[7] = 1;
        assert_eq!(tell(Trouble::NoRoute, &large, ROUTER), None, "a later fragment");
    }

    #[test]
    fn over_ipv6_too() {
        for (trouble, kind) in [(Trouble::HopsUsedUp, [3, 0]), (Trouble::NoRoute, [1, 3])] {
            let packet = udp6(1);
            let answer = tell(trouble, &packet, ROUTER).unwrap();
            let told = head(&answer).unwrap();
            assert_eq!((told.from, told.to), (ROUTER.1.into(), head(&packet).unwrap().from));
            assert_eq!((told.protocol, &answer[40..42]), (ICMP6, &kind[..]));
            let length = (answer.len() - 40) as u8;
            let sum = internet_checksum(&[&answer[8..40], &[0, 0, 0, length, 0, 0, 0, ICMP6], &answer[40..]]);
            assert_eq!((sum, &answer[48..]), (0, &packet[..]));
            assert_eq!(tell(trouble, &answer, ROUTER), None, "no error about an error");
        }
    }

    #[test]
    fn router_changes_keep_packet_identity() {
        for mut packet in [udp4(2, 9), udp6(9)] {
            let before = identity(&packet);
            mark(&mut packet);
            take_hops(&mut packet, 1);
            assert_eq!(identity(&packet), before);
            let last = packet.len() - 1;
            packet[last] ^= 1;
            assert_ne!(identity(&packet), before);
        }
    }

    proptest! {
        #[test]
        fn a_header_that_is_changed_keeps_its_checksum(class: u8, hops: u8, taken: u8) {
            let mut packet = udp4(class, hops);
            mark(&mut packet);
            take_hops(&mut packet, taken);
            prop_assert_eq!(internet_checksum(&[&packet[..20]]), 0);
            let told = head(&packet).unwrap();
            prop_assert_eq!((told.hops, told.ecn), (hops.saturating_sub(taken), Codepoint::Marked));
        }

        #[test]
        fn any_packet_is_read_or_refused(mut packet: Vec<u8>) {
            if head(&packet).is_some() {
                mark(&mut packet);
                take_hops(&mut packet, 1);
                let answer = tell(Trouble::HopsUsedUp, &packet, ROUTER);
                prop_assert!(answer.is_none_or(|answer| head(&answer).is_some()));
                prop_assert!(head(&packet).is_some());
            }
        }
    }
}
