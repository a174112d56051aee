//! The headers in the first bytes of an IP packet. Nothing is allocated, and bytes of any content are read or
//! refused.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// The most extension headers of IPv6 (RFC 8200 §4) that are skipped; more of them hide the transport's.
const EXTENSIONS_MAX: usize = 8;

/// The headers of an IP packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Headers {
    /// Its source.
    pub source: IpAddr,
    /// Its destination.
    pub destination: IpAddr,
    /// The transport protocol's number (6 TCP, 17 UDP).
    pub protocol: u8,
    /// Ports of TCP, UDP, UDP-Lite and SCTP, source and destination; later fragments have none.
    pub ports: Option<(u16, u16)>,
    /// TCP's header; none of a fragment.
    pub tcp: Option<Segment>,
    /// Network-layer size \[bytes\].
    pub size: u32,
}

/// TCP's header (RFC 9293 §3.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Segment {
    /// The sequence number behind the segment, where SYN and FIN count as a byte each.
    pub end: u32,
    /// The length of its data \[bytes\].
    pub payload: u32,
    /// The next expected number, if the segment acknowledges.
    pub acknowledgement: Option<u32>,
    /// CWR, ECE, URG, ACK, PSH, RST, SYN, FIN, from the highest bit on.
    pub flags: u8,
}

impl Segment {
    const FIN: u8 = 0x01;
    const SYN: u8 = 0x02;
    const RST: u8 = 0x04;
    const ACK: u8 = 0x10;

    /// Returns whether the other side will acknowledge it: it has data, or opens or closes.
    pub const fn is_acknowledged(self) -> bool {
        self.payload > 0 || self.flags & (Self::SYN | Self::FIN) != 0
    }

    /// Returns whether it ends the connection at once.
    pub const fn is_reset(self) -> bool {
        self.flags & Self::RST != 0
    }
}

/// The start of the transport's header, if present.
struct Transport {
    protocol: u8,
    at: usize,
    /// Whether the transport's header is in another packet, and whether the rest of the segment is.
    is_later: bool,
    is_part: bool,
}

impl Headers {
    /// Reads the beginning of a packet of this type (`ETH_P_…`) and length \[bytes\]; tags of virtual
    /// networks are skipped. The length may exceed the packet's, since the link layer has a least length.
    /// Returns none if it is no IP packet, or its header is cut.
    pub fn parse(ethertype: u16, bytes: &[u8], length: u32) -> Option<Self> {
        match i32::from(ethertype) {
            libc::ETH_P_IP => Self::parse_v4(bytes, length),
            libc::ETH_P_IPV6 => Self::parse_v6(bytes, length),
            libc::ETH_P_8021Q | libc::ETH_P_8021AD => {
                let inner = u16_at(bytes, 2)?;
                let is_tag =
                    matches!(i32::from(inner), libc::ETH_P_8021Q | libc::ETH_P_IP | libc::ETH_P_IPV6);
                if is_tag { Self::parse(inner, bytes.get(4..)?, length.saturating_sub(4)) } else { None }
            }
            _ => None,
        }
    }

    /// Reads an IPv4 header (RFC 791 §3.1).
    fn parse_v4(bytes: &[u8], length: u32) -> Option<Self> {
        let fixed: &[u8; 20] = bytes.first_chunk()?;
        let header = usize::from(fixed[0] & 0xf) * 4;
        if fixed[0] >> 4 != 4 || header < fixed.len() {
            return None;
        }
        let fragment = u16_at(bytes, 6)?;
        let (is_later, is_more) = (fragment & 0x1fff != 0, fragment & 0x2000 != 0);
        let address = |at: usize| Ipv4Addr::new(fixed[at], fixed[at + 1], fixed[at + 2], fixed[at + 3]);
        let size = size(u16_at(bytes, 2)?.into(), length);
        let transport = Transport { protocol: fixed[9], at: header, is_later, is_part: is_later || is_more };
        Some(Self::with(address(12).into(), address(16).into(), size, &transport, bytes))
    }

    /// Reads an IPv6 header (RFC 8200 §3).
    fn parse_v6(bytes: &[u8], length: u32) -> Option<Self> {
        const HEADER: u32 = 40;
        let fixed: &[u8; HEADER as usize] = bytes.first_chunk()?;
        if fixed[0] >> 4 != 6 {
            return None;
        }
        let payload = u32::from(u16_at(bytes, 4)?);
        // Segments beyond 64 KiB, which the kernel cuts before they leave, have no length here.
        let size = size(if payload == 0 { 0 } else { HEADER + payload }, length);
        let address = |at: usize| fixed[at..].first_chunk::<16>().map(|octets| Ipv6Addr::from(*octets));
        let transport = transport_v6(bytes, fixed[6]);
        Some(Self::with(address(8)?.into(), address(24)?.into(), size, &transport, bytes))
    }

    fn with(source: IpAddr, destination: IpAddr, size: u32, transport: &Transport, bytes: &[u8]) -> Self {
        let own = bytes.get(transport.at..).filter(|_| !transport.is_later).unwrap_or_default();
        let has_ports = matches!(transport.protocol, TCP | UDP | SCTP | UDP_LITE);
        let ports = u16_at(own, 0).zip(u16_at(own, 2)).filter(|_| has_ports);
        let is_tcp = transport.protocol == TCP && !transport.is_part;
        let tcp = is_tcp.then(|| segment(own, size.saturating_sub(transport.at as u32))).flatten();
        Self { source, destination, protocol: transport.protocol, ports, tcp, size }
    }
}

const TCP: u8 = libc::IPPROTO_TCP as u8;
const UDP: u8 = libc::IPPROTO_UDP as u8;
const SCTP: u8 = libc::IPPROTO_SCTP as u8;
const UDP_LITE: u8 = libc::IPPROTO_UDPLITE as u8;

/// Returns the size in the header, or the length if the header has none or a larger one.
const fn size(said: u32, length: u32) -> u32 {
    if said == 0 || said > length { length } else { said }
}

/// Skips the extension headers.
fn transport_v6(bytes: &[u8], first: u8) -> Transport {
    let mut found = Transport { protocol: first, at: 40, is_later: false, is_part: false };
    for _ in 0..EXTENSIONS_MAX {
        let header = bytes.get(found.at..).unwrap_or_default();
        let length = match i32::from(found.protocol) {
            libc::IPPROTO_HOPOPTS | libc::IPPROTO_ROUTING | libc::IPPROTO_DSTOPTS => 8,
            libc::IPPROTO_AH => 4,
            libc::IPPROTO_FRAGMENT => {
                let fragment = u16_at(header, 2).unwrap_or_default();
                found.is_later |= fragment & 0xfff8 != 0;
                found.is_part |= fragment & 0xfff9 != 0;
                0
            }
            _ => return found,
        };
        let &[next, units, ..] = header else { break };
        // In units of 8 bytes beyond the first; of 4 bytes beyond the second in RFC 4302 §2.2.
        found.at += 8 + usize::from(units) * length;
        found.protocol = next;
    }
    Transport { is_later: true, ..found }
}

/// Reads TCP's header, of a segment with this length.
fn segment(bytes: &[u8], length: u32) -> Option<Segment> {
    let fixed: &[u8; 20] = bytes.first_chunk()?;
    let header = u32::from(fixed[12] >> 4) * 4;
    let (number, acknowledged) = (u32_at(bytes, 4)?, u32_at(bytes, 8)?);
    let flags = fixed[13];
    let payload = length.saturating_sub(header);
    let marks = [Segment::SYN, Segment::FIN].into_iter().filter(|mark| flags & mark != 0).count() as u32;
    let end = number.wrapping_add(payload).wrapping_add(marks);
    let acknowledgement = (flags & Segment::ACK != 0).then_some(acknowledged);
    (header >= 20).then_some(Segment { end, payload, acknowledgement, flags })
}

fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    bytes.get(at..)?.first_chunk().copied().map(u16::from_be_bytes)
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    bytes.get(at..)?.first_chunk().copied().map(u32::from_be_bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const IP: u16 = libc::ETH_P_IP as u16;
    const IP6: u16 = libc::ETH_P_IPV6 as u16;

    /// Returns 20 bytes of IPv4 from 10.0.0.1 to 10.0.0.2.
    fn v4(protocol: u8, length: u16, fragment: u16) -> Vec<u8> {
        let [l1, l0] = length.to_be_bytes();
        let [f1, f0] = fragment.to_be_bytes();
        vec![0x45, 0, l1, l0, 0, 0, f1, f0, 64, protocol, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2]
    }

    fn tcp(number: u32, acknowledgement: u32, flags: u8) -> Vec<u8> {
        let ports = [0x1f, 0x90, 0, 80];
        let rest = [0x80, flags, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1];
        [&ports[..], &number.to_be_bytes(), &acknowledgement.to_be_bytes(), &rest].concat()
    }

    #[test]
    fn a_segment_of_tcp() {
        let packet = [v4(TCP, 20 + 32 + 1_000, 0x4000), tcp(u32::MAX - 99, 77, Segment::ACK)].concat();
        let told = Headers::parse(IP, &packet, 1_052).expect("a packet");
        assert_eq!((told.source, told.destination), ([10, 0, 0, 1].into(), [10, 0, 0, 2].into()));
        assert_eq!((told.protocol, told.ports, told.size), (TCP, Some((8_080, 80)), 1_052));
        let segment = told.tcp.expect("TCP");
        assert_eq!(
            (segment.end, segment.payload, segment.acknowledgement),
            (900, 1_000, Some(77)),
            "numbers wrap"
        );
        assert!(segment.is_acknowledged() && !segment.is_reset());
        // The link layer's least length is ignored; so is a size of zero, of a segment beyond 64 KiB.
        let bare = [v4(TCP, 52, 0), tcp(1, 77, Segment::ACK)].concat();
        let told = Headers::parse(IP, &bare, 46 + 14).expect("a packet");
        assert_eq!(
            (told.size, told.tcp.unwrap().payload, told.tcp.unwrap().is_acknowledged()),
            (52, 0, false)
        );
        let large = [v4(TCP, 0, 0), tcp(1, 77, Segment::ACK)].concat();
        assert_eq!(Headers::parse(IP, &large, 90_052).expect("a packet").tcp.unwrap().payload, 90_000);
        // A segment that opens or closes is acknowledged as a byte.
        let open = [v4(TCP, 52, 0), tcp(1, 0, Segment::SYN)].concat();
        let segment = Headers::parse(IP, &open, 52).expect("a packet").tcp.unwrap();
        assert_eq!((segment.end, segment.acknowledgement, segment.is_acknowledged()), (2, None, true));
    }

    #[test]
    fn fragments_have_fewer_headers() {
        let first = [v4(TCP, 1_052, 0x2000), tcp(1, 2, Segment::ACK)].concat();
        let told = Headers::parse(IP, &first, 1_052).expect("a packet");
        assert_eq!((told.ports, told.tcp), (Some((8_080, 80)), None));
        let later = [v4(UDP, 1_052, 0x0080), tcp(1, 2, 0)].concat();
        let told = Headers::parse(IP, &later, 1_052).expect("a packet");
        assert_eq!((told.protocol, told.ports, told.size), (UDP, None, 1_052));
    }

    #[test]
    fn extension_headers_are_passed_over() {
        let mut packet = vec![0x60, 0, 0, 0, 0, 48 + 24, 0, 64];
        packet.extend([0x20, 1, 0xd, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1]);
        packet.extend([0xfe, 0x80, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2]);
        packet.extend([60, 0, 0, 0, 0, 0, 0, 0]); // hop-by-hop, then destination options of 16 bytes, then UDP
        packet.extend([UDP, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
        packet.extend([0, 53, 0xd4, 0x31, 0, 48, 0, 0]);
        let told = Headers::parse(IP6, &packet, 112).expect("a packet");
        assert_eq!(
            (told.source, told.destination),
            ("2001:db8::1".parse().unwrap(), "fe80::2".parse().unwrap())
        );
        assert_eq!((told.protocol, told.ports, told.size, told.tcp), (UDP, Some((53, 0xd431)), 112, None));
        // A tag, and another that its device has left in the packet.
        let tagged = [&[0, 7, 0x86, 0xdd][..], &packet].concat();
        assert_eq!(Headers::parse(libc::ETH_P_8021Q as u16, &tagged, 116), Some(told));
    }

    #[test]
    fn other_packets_give_none() {
        let arp = [0, 1, 8, 0, 6, 4, 0, 1];
        for (ethertype, bytes) in
            [(0x0806, &arp[..]), (IP, &arp), (IP, &[]), (IP6, &v4(TCP, 20, 0)), (IP, &[0x44; 30])]
        {
            assert_eq!(Headers::parse(ethertype, bytes, 60), None);
        }
    }

    proptest! {
        #[test]
        fn nothing_panics(ethertype in prop::sample::select(vec![IP, IP6, 0x8100, 0x88a8]), mut bytes in prop::collection::vec(any::<u8>(), 0..128), length: u32) {
            let _ = Headers::parse(ethertype, &bytes, length);
            // Most inputs begin with the right version.
            if let Some(first) = bytes.first_mut() {
                *first = if ethertype == IP { 0x45 } else { 0x60 };
            }
            if let Some(told) = Headers::parse(ethertype, &bytes, length) {
                prop_assert!(told.size <= length);
                prop_assert!(told.tcp.is_none_or(|segment| segment.payload <= length));
            }
        }
    }
}
