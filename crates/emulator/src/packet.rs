//! IP packets, as far as the air needs to know them: where to, how important, how many hops more, and whether it may be marked.
//!
//! Everything is checked before it is used: what a program writes to a raw socket comes here as it is.

use evenair_netsim::Codepoint;
use evenair_netsim::pcap::internet_checksum;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// What the head of a packet says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Head {
    /// Where it comes from.
    pub from: IpAddr,
    /// Where it goes.
    pub to: IpAddr,
    /// How many hops it may still take (TTL, hop limit).
    pub hops: u8,
    /// Differentiated services code point (RFC 2474).
    pub dscp: u8,
    /// What it says of congestion (RFC 3168).
    pub ecn: Codepoint,
    /// The ports of TCP and UDP, of a packet that is not a later fragment.
    pub ports: Option<(u16, u16)>,
    /// The protocol above IP; of IPv6 the first that is no extension known here.
    pub protocol: u8,
}

/// TCP's and UDP's protocol numbers.
pub(crate) const TCP: u8 = 6;
pub(crate) const UDP: u8 = 17;

/// Reads the head of a packet; nothing, if it is none of IP, or is cut.
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

/// Of the second byte of IPv4, or the traffic class of IPv6.
const fn codepoint(class: u8) -> Codepoint {
    match class & 3 {
        0 => Codepoint::NotCapable,
        3 => Codepoint::Marked,
        _ => Codepoint::Capable,
    }
}

/// Marks a packet as one that met congestion (RFC 3168: CE), its checksum included. [`head`] has read it before.
pub fn mark(packet: &mut [u8]) {
    match packet[0] >> 4 {
        4 => change4(packet, 1, |class| class | 3),
        _ => packet[1] |= 0x30,
    }
}

/// Takes off the hops that a packet has taken, its checksum included. [`head`] has read it before.
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

/// What a router tells the sender of an IPv4 packet whose hops are used up (RFC 792: time exceeded in transit); nothing, if that
/// packet is itself about an error, or goes to many.
pub fn time_exceeded(packet: &[u8], router: Ipv4Addr) -> Option<Vec<u8>> {
    let head = head4(packet)?;
    let IpAddr::V4(sender) = head.from else { return None };
    let length = usize::from(packet[0] & 15) * 4;
    let is_error = head.protocol == 1 && !matches!(packet.get(length), Some(0 | 8 | 13 | 15 | 17));
    let IpAddr::V4(to) = head.to else { return None };
    if is_error || to.is_multicast() || to.is_broadcast() {
        return None;
    }
    let quoted = &packet[..packet.len().min(length + 8)];
    let mut message = vec![11, 0, 0, 0, 0, 0, 0, 0];
    message.extend_from_slice(quoted);
    let sum = internet_checksum(&[&message]);
    message[2..4].copy_from_slice(&sum.to_be_bytes());
    let total = (20 + message.len()) as u16;
    let mut answer = vec![0x45, 0xc0, 0, 0, 0, 0, 0, 0, 64, 1, 0, 0];
    answer[2..4].copy_from_slice(&total.to_be_bytes());
    answer.extend_from_slice(&router.octets());
    answer.extend_from_slice(&sender.octets());
    let sum = internet_checksum(&[&answer]);
    answer[10..12].copy_from_slice(&sum.to_be_bytes());
    answer.extend_from_slice(&message);
    Some(answer)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// A UDP packet of four bytes from 10.0.0.1 to 10.0.0.2.
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
    fn a_fragment_has_no_ports_and_a_cut_packet_no_head() {
        let mut packet = udp4(0, 1);
        packet[7] = 4;
        assert_eq!(head(&packet).unwrap().ports, None);
        assert_eq!(head(&packet[..31]), None);
        assert_eq!(head(&[]), None);
    }

    #[test]
    fn an_ipv6_packet_is_read_marked_and_aged() {
        let mut packet = vec![0x60, 0x20, 0, 0, 0, 8, UDP, 5];
        packet.extend_from_slice(&Ipv6Addr::new(0xfd65, 0, 0, 0, 0, 0, 0, 1).octets());
        packet.extend_from_slice(&Ipv6Addr::new(0xfd65, 0, 0, 0, 0, 0, 0, 2).octets());
        packet.extend_from_slice(&[0, 1, 0, 2, 0, 8, 0, 0]);
        let before = head(&packet).unwrap();
        assert_eq!((before.ecn, before.hops, before.ports), (Codepoint::Capable, 5, Some((1, 2))));
        mark(&mut packet);
        take_hops(&mut packet, 2);
        let after = head(&packet).unwrap();
        assert_eq!((after.ecn, after.hops, after.dscp), (Codepoint::Marked, 3, before.dscp));
    }

    #[test]
    fn a_router_quotes_what_it_could_not_forward() {
        let packet = udp4(0, 1);
        let answer = time_exceeded(&packet, Ipv4Addr::new(10, 0, 0, 9)).unwrap();
        let told = head(&answer).unwrap();
        assert_eq!((told.from, told.to, told.protocol), ([10, 0, 0, 9].into(), [10, 0, 0, 1].into(), 1));
        assert_eq!(internet_checksum(&[&answer[..20]]), 0);
        assert_eq!(internet_checksum(&[&answer[20..]]), 0);
        assert_eq!(&answer[28..], &packet[..28]);
        assert_eq!(time_exceeded(&answer, Ipv4Addr::LOCALHOST), None, "no error about an error");
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
        fn whatever_comes_is_read_or_refused(mut packet: Vec<u8>) {
            if head(&packet).is_some() {
                mark(&mut packet);
                take_hops(&mut packet, 1);
                let _ = time_exceeded(&packet, Ipv4Addr::LOCALHOST);
                prop_assert!(head(&packet).is_some());
            }
        }
    }
}
