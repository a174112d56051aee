//! Simulated packets as IP packets, of exactly their size on the air.
//!
//! A segment's header is as long as its flow's `tcp.headers`, and longer by its options where `tcp.options` sends them. From 60 bytes on
//! it is IPv6's 40 and TCP's 20, below that IPv4's 20 and TCP's 20. The rest is room for options, and no operations fill it up. A
//! rest that no header of TCP can hold (less than a word of four bytes, or more than 60) follows the packet, as padding does in
//! Ethernet. A packet too short for its headers is no IP packet: its bytes stand behind the protocol number for experiments.

use super::{internet_checksum, ip_address};
use crate::options::{Options, sequence, window_scale};
use crate::packet::{Body, Codepoint, TcpPacket};
use crate::trace::{Agreed, Sent};
use evenair_tcp::{Segment, SegmentKind};
use evenair_wifi::BROADCAST;

/// LLC and SNAP in front of IPv4; its last two bytes are the protocol number.
pub(super) const LLC: [u8; 8] = [0xaa, 0xaa, 0x03, 0, 0, 0, 0x08, 0x00];
/// SNAP's number of IPv6.
pub(super) const ETHER_TYPE_IPV6: [u8; 2] = [0x86, 0xdd];
/// SNAP's number of bytes that are no packet of a protocol (IEEE 802-2014 clause 9.2.4: local experiments).
const ETHER_TYPE_LOCAL: [u8; 2] = [0x88, 0xb5];
/// The protocols above IP, by their numbers.
const TCP: u8 = 6;
const UDP: u8 = 17;
/// IP headers without options (RFC 791 section 3.1, RFC 8200 section 3).
const IPV4_BYTES: usize = 20;
const IPV6_BYTES: usize = 40;
/// A TCP header without options (RFC 9293 section 3.1), and UDP's (RFC 768).
const TCP_BYTES: usize = 20;
const UDP_BYTES: usize = 8;
/// The headers of a segment without options; from the second on it is IPv6's.
const HEADERS_IPV4: u16 = (IPV4_BYTES + TCP_BYTES) as u16;
const HEADERS_IPV6: u16 = (IPV6_BYTES + TCP_BYTES) as u16;

/// Writes LLC's header and the packet's; its payload is not written. `now_us` is the clock that timestamps show.
pub(super) fn write(packet: Option<&Sent>, now_us: u32, bytes: &mut Vec<u8>) {
    let start = bytes.len();
    bytes.extend(LLC);
    let is_ipv6 = match packet.map(|packet| (packet, carried(packet))) {
        Some((packet, Some((segment, agreed)))) if agreed.headers >= HEADERS_IPV4 => {
            segment_packet(packet, &segment, &agreed, now_us, bytes)
        }
        Some((packet, None)) if usize::from(packet.size) >= IPV4_BYTES + UDP_BYTES => {
            datagram_packet(packet, bytes);
            false
        }
        _ => {
            bytes[start + 6..start + 8].copy_from_slice(&ETHER_TYPE_LOCAL);
            return;
        }
    };
    if is_ipv6 {
        bytes[start + 6..start + 8].copy_from_slice(&ETHER_TYPE_IPV6);
    }
}

/// The segment that a packet carries, if it is TCP's.
fn carried(packet: &Sent) -> Option<(Segment, Agreed)> {
    let Body::Tcp(TcpPacket { segment, .. }) = packet.body else { return None };
    Some((segment, packet.agreed?))
}

/// The headers of IP and TCP; tells whether they are IPv6's.
fn segment_packet(
    packet: &Sent,
    segment: &Segment,
    agreed: &Agreed,
    now_us: u32,
    bytes: &mut Vec<u8>,
) -> bool {
    let on_top = if agreed.options { Options::length(segment, agreed) as usize } else { 0 };
    let payload = usize::from(packet.size).saturating_sub(usize::from(agreed.headers) + on_top);
    let is_ipv6 = agreed.headers >= HEADERS_IPV6;
    let room = usize::from(room_for_options(agreed)) + on_top;
    let options = Options::of(segment, agreed, packet.payload, now_us, room).padded();
    let length = TCP_BYTES + options.len() + payload;
    let [client, server] = ports(packet);
    let ports = if segment.kind.is_reply() { [server, client] } else { [client, server] };
    let mut header = ports.concat();
    tcp_header(segment, packet.payload, agreed, &options, &mut header);
    let congestion = codepoint(segment.ecn.is_capable(), segment.ecn.is_marked());
    let ip = Ip { packet, protocol: TCP, congestion, length };
    ip.write(is_ipv6, &header, 16, bytes);
    is_ipv6
}

/// The headers of IP and UDP.
fn datagram_packet(packet: &Sent, bytes: &mut Vec<u8>) {
    let length = usize::from(packet.size) - IPV4_BYTES;
    // The protocol of a packet from outside is not known here; it is shown as a datagram.
    let [client, server] = ports(packet);
    let header = [client, server, (length as u16).to_be_bytes(), [0, 0]].concat();
    let congestion = match &packet.body {
        Body::Foreign(entered) => match entered.foreign(0).ecn {
            Codepoint::NotCapable => 0,
            Codepoint::Capable => codepoint(true, false),
            Codepoint::Marked => codepoint(true, true),
        },
        _ => 0,
    };
    Ip { packet, protocol: UDP, congestion, length }.write(false, &header, 6, bytes);
}

/// The bytes of a flow's headers beyond those without options \[bytes\].
const fn room_for_options(agreed: &Agreed) -> u16 {
    let without = if agreed.headers >= HEADERS_IPV6 { HEADERS_IPV6 } else { HEADERS_IPV4 };
    agreed.headers.saturating_sub(without)
}

/// The congestion field of IP's header (RFC 3168 section 5): ECT(0), CE.
const fn codepoint(is_capable: bool, is_marked: bool) -> u8 {
    match (is_capable, is_marked) {
        (_, true) => 3,
        (true, false) => 2,
        (false, false) => 0,
    }
}

/// A packet's header of IP.
struct Ip<'a> {
    packet: &'a Sent,
    protocol: u8,
    congestion: u8,
    /// Of all that follows it \[bytes\].
    length: usize,
}

impl Ip<'_> {
    /// Writes it, and a header above it with its checksum, which is there at this place.
    fn write(&self, is_ipv6: bool, above: &[u8], checksum_at: usize, bytes: &mut Vec<u8>) {
        let (from, to) = self.packet.ends;
        let hop_limit = 64_u8.saturating_sub(self.packet.passed);
        let start = bytes.len();
        let addresses = if is_ipv6 {
            bytes.extend([0x60, self.congestion << 4, 0, 0]);
            bytes.extend((self.length as u16).to_be_bytes());
            bytes.extend([self.protocol, hop_limit]);
            bytes.extend(ipv6_address(from));
            bytes.extend(ipv6_address(to));
            start + 8
        } else {
            bytes.extend([0x45, self.congestion]);
            bytes.extend(((IPV4_BYTES + self.length) as u16).to_be_bytes());
            bytes.extend([0, 0, 0x40, 0, hop_limit, self.protocol, 0, 0]);
            bytes.extend(ip_address(from));
            bytes.extend(ip_address(to));
            let checksum = internet_checksum(&[&bytes[start..]]);
            bytes[start + 10..start + 12].copy_from_slice(&checksum.to_be_bytes());
            start + 12
        };
        let body = bytes.len();
        bytes.extend(above);
        // RFC 9293 section 3.1 and RFC 768: over addresses, protocol and length, too; the payload's zeros add nothing.
        let [high, low] = (self.length as u16).to_be_bytes();
        let pseudo = [0, self.protocol, high, low];
        let checksum = internet_checksum(&[&bytes[addresses..body], &pseudo, &bytes[body..]]);
        // A datagram without a checksum has a zero there, so that a sum of zero is written as its other form.
        let checksum = if self.protocol == UDP && checksum == 0 { 0xffff } else { checksum };
        let at = body + checksum_at;
        bytes[at..at + 2].copy_from_slice(&checksum.to_be_bytes());
    }
}

/// The flow's ports: data to 5000 + flow, from 10000 + connection.
fn ports(packet: &Sent) -> [[u8; 2]; 2] {
    let connection = if let Body::Tcp(carried) = packet.body { carried.connection } else { 0 };
    [10_000u16.wrapping_add(connection as u16), 5000u16.wrapping_add(packet.flow as u16)]
        .map(u16::to_be_bytes)
}

/// The header behind the ports. On the wire sequence numbers count bytes.
fn tcp_header(segment: &Segment, unit: u32, agreed: &Agreed, options: &[u8], bytes: &mut Vec<u8>) {
    const CWR: u8 = 0x80;
    const ECE: u8 = 0x40;
    let place = sequence(segment.number, unit);
    let (number, acknowledged, flags): (u32, u32, u8) = match segment.kind {
        SegmentKind::Syn => (0, 0, 0x02),
        SegmentKind::SynAck => (0, 1, 0x12),
        SegmentKind::Data => (place, 1, 0x10),
        SegmentKind::Ack => (1, place, 0x10),
        SegmentKind::Fin => (place, 1, 0x11),
        SegmentKind::FinAck => (1, place.wrapping_add(1), 0x11),
    };
    let echoes = if segment.ecn.echoes() { ECE } else { 0 };
    let reduced = if segment.ecn.is_reduced() { CWR } else { 0 };
    bytes.extend(number.to_be_bytes());
    bytes.extend(acknowledged.to_be_bytes());
    bytes.extend([((5 + options.len() / 4) << 4) as u8, flags | echoes | reduced]);
    bytes.extend(window(segment, agreed, unit).to_be_bytes());
    bytes.extend([0, 0, 0, 0]);
    bytes.extend(options);
}

/// The window field: scaled, but on a segment that opens, where the SYN had room to agree on a scale (RFC 7323 section 2.2).
fn window(segment: &Segment, agreed: &Agreed, unit: u32) -> u16 {
    const LARGEST_SEGMENT_AND_SCALE: u16 = 8;
    let opens = matches!(segment.kind, SegmentKind::Syn | SegmentKind::SynAck);
    let is_agreed =
        agreed.handshake && (agreed.options || room_for_options(agreed) >= LARGEST_SEGMENT_AND_SCALE);
    let window = u64::from(agreed.window) * u64::from(unit);
    let scale = if opens || !is_agreed { 0 } else { window_scale(agreed, unit) };
    window.div_ceil(1 << scale).min(u16::MAX.into()) as u16
}

/// `fd65::5` is the fifth node, as `evenair emulate` has it.
fn ipv6_address(node: u32) -> [u8; 16] {
    let mut address = [0; 16];
    if node == BROADCAST {
        (address[0], address[1], address[15]) = (0xff, 0x02, 1);
        return address;
    }
    (address[0], address[1]) = (0xfd, 0x65);
    address[12..].copy_from_slice(&(node + 1).to_be_bytes());
    address
}

#[cfg(test)]
mod tests {
    use super::*;
    use evenair_laws::backoff::Category;
    use evenair_tcp::Ecn;
    use evenair_units::Rate;

    const AGREED: Agreed =
        Agreed { headers: 40, options: false, window: 200, handshake: true, sack: true, timestamps: false };

    /// A data segment of 1000 bytes behind headers.
    fn sent(agreed: Agreed, segment: Segment) -> Sent {
        let top = if agreed.options { Options::length(&segment, &agreed) as u16 } else { 0 };
        let payload = if segment.kind == SegmentKind::Data { 1000 } else { 0 };
        Sent {
            flow: 0,
            ends: (0, 1),
            passed: 0,
            size: agreed.headers + top + payload,
            payload: 1000,
            agreed: Some(agreed),
            rate: Rate::from_kbps(1_000),
            category: Category::BestEffort,
            body: Body::Tcp(TcpPacket { connection: 0, epoch: 0, answers: 0, segment }),
        }
    }

    /// The bytes behind LLC, and the protocol number there.
    fn written(packet: &Sent) -> (Vec<u8>, [u8; 2]) {
        let mut bytes = Vec::new();
        write(Some(packet), 7, &mut bytes);
        (bytes[8..].to_vec(), [bytes[6], bytes[7]])
    }

    /// RFC 791's total length, RFC 8200's payload length and 40, and RFC 9293's data offset: a packet of any size is just as
    /// long as it was on the air, except for a rest that no header can hold.
    #[test]
    fn packets_are_as_long_as_on_the_air() {
        for headers in 20..=140_u16 {
            for kind in [SegmentKind::Syn, SegmentKind::Data, SegmentKind::Ack] {
                for (options, timestamps) in [(false, false), (false, true), (true, true)] {
                    let agreed = Agreed { headers, options, timestamps, ..AGREED };
                    let packet = sent(agreed, Segment::plain(kind, 3));
                    let (bytes, ether_type) = written(&packet);
                    if headers < 40 {
                        assert_eq!((ether_type, bytes.len()), (ETHER_TYPE_LOCAL, 0));
                        continue;
                    }
                    let word = |at: usize| usize::from(u16::from_be_bytes([bytes[at], bytes[at + 1]]));
                    let is_ipv6 = headers >= 60;
                    let (ip, total) = if is_ipv6 { (40, 40 + word(4)) } else { (20, word(2)) };
                    assert_eq!(ether_type, if is_ipv6 { ETHER_TYPE_IPV6 } else { [8, 0] });
                    let offset = usize::from(bytes[ip + 12] >> 4) * 4;
                    assert_eq!(bytes.len(), ip + offset);
                    let payload = if kind == SegmentKind::Data { 1000 } else { 0 };
                    assert_eq!(total - ip - offset, payload, "{headers} {agreed:?}");
                    let behind = usize::from(packet.size) - total;
                    assert!(behind < 4 || offset == 60, "{headers}: {behind} bytes behind {agreed:?}");
                }
            }
        }
    }

    #[test]
    fn a_window_is_scaled_where_the_syn_could_tell() {
        // 200 segments of 1000 bytes need a scale of 2: 50,000. Without it a field holds 65,535.
        let field = |agreed: Agreed, kind| window(&Segment::plain(kind, 3), &agreed, 1000);
        let on_top = Agreed { options: true, ..AGREED };
        assert_eq!(field(on_top, SegmentKind::Data), 50_000);
        assert_eq!(field(on_top, SegmentKind::Syn), u16::MAX, "a SYN's own window has no scale");
        assert_eq!(field(Agreed { headers: 52, ..AGREED }, SegmentKind::Ack), 50_000);
        assert_eq!(field(AGREED, SegmentKind::Ack), u16::MAX, "no room, no scale");
        assert_eq!(
            field(Agreed { handshake: false, ..on_top }, SegmentKind::Ack),
            u16::MAX,
            "no SYN, no scale"
        );
    }

    #[test]
    fn checksums_add_up_over_both_pseudo_headers() {
        for headers in [40, 60] {
            let (bytes, _) =
                written(&sent(Agreed { headers, ..AGREED }, Segment::plain(SegmentKind::Ack, 3)));
            let ip = bytes.len() - 20;
            let addresses = if ip == 40 { 8 } else { 12 };
            let pseudo = [0, TCP, 0, 20];
            assert_eq!(internet_checksum(&[&bytes[addresses..ip], &pseudo, &bytes[ip..]]), 0);
        }
    }

    #[test]
    fn congestion_bits_are_those_of_the_segment() {
        // RFC 3168 section 5: ECT(0) is 10, CE 11; section 6.1: CWR 0x80, ECE 0x40 among the flags.
        assert_eq!([codepoint(false, false), codepoint(true, false), codepoint(true, true)], [0, 2, 3]);
        let mut data = Segment { ecn: Ecn::of_data(false), ..Segment::plain(SegmentKind::Data, 0) };
        assert_eq!(written(&sent(AGREED, data)).0[1], 2);
        data.ecn.mark();
        assert_eq!(written(&sent(AGREED, data)).0[1], 3);
        let (v6, _) = written(&sent(Agreed { headers: 60, ..AGREED }, data));
        assert_eq!((v6[0], v6[1]), (0x60, 0x30), "the traffic class lies across two bytes");
    }
}
