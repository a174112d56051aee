//! Frames as Wireshark and tshark read them: pcap files with radiotap headers.
//!
//! A capture of the whole air is that of an observer who hears everything at once: every frame is in it; one that its
//! addressee did not decode carries radiotap's "bad checksum" flag. A capture of one node is that of a monitor there: what it
//! sent, and what it decoded, whoever that was meant for. Frames have the time at which they *began*. Addresses are made from the nodes'
//! order: 02:00:00:00:00:05 and 10.0.0.5 are the fifth node. Real packets from outside ([`FrameSink::real_frame`]) are there as they
//! are. Of simulated ones, payload beyond the TCP or UDP header is left out, as a capture with a snap length does; the original length
//! is kept. Payload is zeros: the checksums of IP, TCP and UDP are right for these over
//! the whole length. Lengths are the standard's, also where a preset counts others.
//!
//! # TCP
//! Sequence numbers count bytes. A connection that opens with a SYN (all but ns-2's) agrees there on what it uses: the largest
//! segment, selective acknowledgement, timestamps, the scale of the window. The window of every segment is the receiver's: so many
//! segments from the next one that it expects on, always the same, since applications read at once; where no SYN tells a scale it
//! is 65 535 bytes at most. Timestamps count microseconds; a data segment's echo is zero, because the endpoints do not use it.

use crate::packet::{Body, TcpPacket};
use crate::trace::{Agreed, FrameSink, Sent};
use evenair_tcp::{Segment, SegmentKind};
use evenair_units::{Bytes, Rate};
use evenair_wifi::{BROADCAST, FrameKind, FrameRecord, MacTiming, Overheard};
use std::collections::BTreeMap;
use std::io::{self, Write};

/// How every capture begins, and no other program's: its second reserved field, which readers must ignore, has a mark.
/// (draft-ietf-opsawg-pcap, section 4.)
pub const HEAD: [u8; 24] = {
    let (magic, length, kind) =
        (MAGIC_NANOSECONDS.to_le_bytes(), SNAP_LENGTH.to_le_bytes(), LINK_TYPE.to_le_bytes());
    let words = [magic, [2, 0, 4, 0], [0; 4], *b"evnr", length, kind]; // version 2.4, UTC
    let (mut head, mut i) = ([0; 24], 0);
    while i < head.len() {
        head[i] = words[i / 4][i % 4];
        i += 1;
    }
    head
};
/// `LINKTYPE_IEEE802_11_RADIOTAP`.
const LINK_TYPE: u32 = 127;
/// The magic number of captures with nanoseconds.
const MAGIC_NANOSECONDS: u32 = 0xa1b2_3c4d;
/// Nothing is cut off: what is not written was never there.
const SNAP_LENGTH: u32 = 262_144;
/// Bytes of LLC and SNAP in front of IP.
const LLC: [u8; 8] = [0xaa, 0xaa, 0x03, 0, 0, 0, 0x08, 0x00];
/// What SNAP calls IPv6.
const ETHER_TYPE_IPV6: [u8; 2] = [0x86, 0xdd];
/// The protocols above IP, by their numbers.
const TCP: u8 = 6;
const UDP: u8 = 17;
/// The frame check sequence, which is counted and not written.
const CHECKSUM_BYTES: u32 = 4;
const RADIOTAP_LENGTH: u16 = 15;
const FLAG_FCS_AT_END: u8 = 0x10;
const FLAG_BAD_FCS: u8 = 0x40;
const CHANNEL_2_4_GHZ: u16 = 0x0080;
const CHANNEL_5_GHZ: u16 = 0x0100;
const CHANNEL_CCK: u16 = 0x0020;
const CHANNEL_OFDM: u16 = 0x0040;
/// Where the flags are in a record: after its own header, and radiotap's version, length and presence.
const FLAGS_AT: usize = 16 + 8;
/// Frames to stations far away are told of late, by up to the flight over 1,500 km.
const FLIGHT_NS_MAX: u64 = 5_000_000;

/// Writes frames into captures.
///
/// Frames are handed over in the order of their ends; a capture is in the order of their beginnings. What has ended
/// waits until nothing can have begun before it.
#[derive(Debug)]
pub struct PcapWriter<W: Write> {
    /// One of the whole air, or one of each node.
    outs: Vec<W>,
    is_by_node: bool,
    encoder: Encoder,
    /// The longest a frame can be on the air and on its way \[ns\].
    longest_ns: u64,
    /// By their beginnings and senders.
    waiting: BTreeMap<(u64, u32), Waiting>,
    error: Option<io::Error>,
}

/// A frame that waits to be written.
#[derive(Debug, Default)]
struct Waiting {
    record: Vec<u8>,
    /// The node that decoded it.
    by: Vec<u32>,
}

impl<W: Write> PcapWriter<W> {
    /// A capture of the whole air of a network of so many nodes.
    ///
    /// # Errors
    /// If the header cannot be written.
    pub fn new(out: W, nodes: usize, timing: MacTiming) -> io::Result<Self> {
        Self::start(vec![out], false, nodes, timing)
    }

    /// A capture of each node.
    ///
    /// # Errors
    /// If a header cannot be written.
    pub fn by_node(outs: Vec<W>, timing: MacTiming) -> io::Result<Self> {
        let nodes = outs.len();
        Self::start(outs, true, nodes, timing)
    }

    fn start(mut outs: Vec<W>, is_by_node: bool, nodes: usize, timing: MacTiming) -> io::Result<Self> {
        outs.iter_mut().try_for_each(|out| out.write_all(&HEAD))?;
        let slowest = timing.phy.rates()[0];
        let longest_ns = timing.data(Bytes::new(u32::from(u16::MAX)), slowest).as_nanos() + FLIGHT_NS_MAX;
        let encoder = Encoder { timing, sequence: vec![0; nodes] };
        Ok(Self { outs, is_by_node, encoder, longest_ns, waiting: BTreeMap::new(), error: None })
    }

    /// Writes what still waits; gives back what was written to.
    ///
    /// # Errors
    /// If anything could not be written, now or before.
    pub fn finish(mut self) -> io::Result<Vec<W>> {
        self.write_before(u64::MAX);
        if let Some(error) = self.error {
            return Err(error);
        }
        self.outs.iter_mut().try_for_each(W::flush)?;
        Ok(self.outs)
    }

    fn put(&mut self, frame: &FrameRecord, packet: Option<&Sent>, real: Option<&[u8]>) {
        let record = self.encoder.record(frame, packet, real);
        self.waiting.entry((frame.start.as_nanos(), frame.from)).or_default().record = record;
        self.write_before(frame.end.as_nanos().saturating_sub(self.longest_ns));
    }

    fn write_before(&mut self, start_ns: u64) {
        while let Some(entry) = self.waiting.first_entry()
            && entry.key().0 < start_ns
        {
            let ((_, from), Waiting { mut record, by }) = entry.remove_entry();
            if record.is_empty() || self.error.is_some() {
                continue; // a frame whose end the run has not seen
            }
            let mut write = |place: usize, record: &[u8]| {
                if let Err(error) = self.outs[place].write_all(record) {
                    self.error.get_or_insert(error);
                }
            };
            if !self.is_by_node {
                write(0, &record);
                continue;
            }
            // Whoever has it in its capture decoded it, or sent it.
            record[FLAGS_AT] &= !FLAG_BAD_FCS;
            by.iter().chain([&from]).for_each(|&node| write(node as usize, &record));
        }
    }
}

impl<W: Write> FrameSink for PcapWriter<W> {
    fn frame(&mut self, frame: &FrameRecord, packet: Option<&Sent>) {
        self.put(frame, packet, None);
    }

    fn real_frame(&mut self, frame: &FrameRecord, packet: &Sent, bytes: &[u8]) {
        self.put(frame, Some(packet), Some(bytes));
    }

    fn overheard(&mut self, heard: &Overheard) {
        if self.is_by_node {
            self.waiting.entry((heard.start.as_nanos(), heard.from)).or_default().by.push(heard.at);
        }
    }
}

/// Makes records of frames.
#[derive(Debug)]
struct Encoder {
    timing: MacTiming,
    /// The last sequence number of each node.
    sequence: Vec<u16>,
}

impl Encoder {
    /// A frame's record, its own header first.
    fn record(&mut self, frame: &FrameRecord, packet: Option<&Sent>, real: Option<&[u8]>) -> Vec<u8> {
        let (bytes, length) = self.frame_bytes(frame, packet, real);
        let rate = packet.map_or(self.timing.phy.rates()[0], |p| p.rate);
        let rate = if frame.kind == FrameKind::Data { rate } else { self.timing.control(rate) };
        let start_ns = frame.start.as_nanos();
        let captured = u32::from(RADIOTAP_LENGTH) + bytes.len() as u32;
        let mut record = Vec::with_capacity(16 + captured as usize);
        record.extend(((start_ns / 1_000_000_000) as u32).to_le_bytes());
        record.extend(((start_ns % 1_000_000_000) as u32).to_le_bytes());
        record.extend(captured.to_le_bytes());
        record.extend((u32::from(RADIOTAP_LENGTH) + length).to_le_bytes());
        radiotap(&self.timing, rate, frame.decoded, &mut record);
        record.extend(bytes);
        record
    }

    /// The frame's bytes as far as they are known, and its length with payload and checksum.
    fn frame_bytes(
        &mut self,
        frame: &FrameRecord,
        packet: Option<&Sent>,
        real: Option<&[u8]>,
    ) -> (Vec<u8>, u32) {
        // Frame control: version 0, then type and subtype.
        let control: u8 = match frame.kind {
            FrameKind::Data => 0x08,
            FrameKind::Ack => 0xd4,
            FrameKind::Cts => 0xc4,
            FrameKind::Rts => 0xb4,
        };
        let retry = if frame.retry { 0x08 } else { 0 };
        let mut bytes = vec![control, retry];
        bytes.extend((frame.reserves_us.min(0x7fff) as u16).to_le_bytes());
        bytes.extend(mac_address(frame.to));
        match frame.kind {
            FrameKind::Ack | FrameKind::Cts => (bytes, 14),
            FrameKind::Rts => {
                bytes.extend(mac_address(frame.from));
                (bytes, 20)
            }
            FrameKind::Data => {
                bytes.extend(mac_address(frame.from));
                bytes.extend([0x02, 0, 0, 0, 0xff, 0xff]); // BSSID
                let sequence = &mut self.sequence[frame.from as usize];
                *sequence = sequence.wrapping_add(u16::from(!frame.retry));
                bytes.extend((*sequence << 4).to_le_bytes());
                if self.timing.is_qos() {
                    bytes[0] |= 0x80; // QoS data
                    bytes.extend([0, 0]);
                }
                bytes.extend(LLC);
                let headers = bytes.len() as u32;
                let size = match real {
                    Some(real) => real_packet(real, &mut bytes),
                    None => packet.map_or(0, |packet| network_layer(packet, frame, &mut bytes)),
                };
                (bytes, headers + u32::from(size) + CHECKSUM_BYTES)
            }
        }
    }
}

/// A packet as it is, behind an LLC header that says which IP it is of; gives its length.
fn real_packet(packet: &[u8], bytes: &mut Vec<u8>) -> u16 {
    if packet.first().is_some_and(|first| first >> 4 == 6) {
        let ether_type = bytes.len() - 2;
        bytes[ether_type..].copy_from_slice(&ETHER_TYPE_IPV6);
    }
    bytes.extend(packet);
    packet.len() as u16
}

/// The headers of IP and of what it carries; gives the packet's length.
fn network_layer(packet: &Sent, frame: &FrameRecord, bytes: &mut Vec<u8>) -> u16 {
    let carried = carried(packet, frame);
    let (protocol, length) = match &carried {
        Some((header, payload)) => (TCP, 20 + header.len() as u16 + payload),
        None => (UDP, packet.size.max(28)),
    };
    let start = bytes.len();
    bytes.extend([0x45, 0]);
    bytes.extend(length.to_be_bytes());
    bytes.extend([0, 0, 0x40, 0, 64_u8.saturating_sub(packet.passed), protocol, 0, 0]);
    bytes.extend(ip_address(packet.ends.0));
    bytes.extend(ip_address(packet.ends.1));
    let checksum = internet_checksum(&[&bytes[start..]]);
    bytes[start + 10..start + 12].copy_from_slice(&checksum.to_be_bytes());
    let body = start + 20;
    if let Some((header, _)) = carried {
        bytes.extend(header);
    } else {
        // What a packet from outside is, is not known here; it is shown as a datagram.
        let [client, server] = ports(packet);
        bytes.extend([client, server, (length - 20).to_be_bytes(), [0, 0]].concat());
    }
    // RFC 9293 section 3.1 and RFC 768: over addresses, protocol and length, too; the payload's zeros add nothing.
    let [high, low] = (length - 20).to_be_bytes();
    let checksum = internet_checksum(&[&bytes[start + 12..body], &[0, protocol, high, low], &bytes[body..]]);
    let at = body + if protocol == TCP { 16 } else { 6 };
    // A datagram without a checksum has a zero there, so that a sum of zero is written as its other form.
    let checksum = if protocol == UDP && checksum == 0 { 0xffff } else { checksum };
    bytes[at..at + 2].copy_from_slice(&checksum.to_be_bytes());
    length
}

/// The flow's ports: data to 5000 + flow, from 10000 + connection.
fn ports(packet: &Sent) -> [[u8; 2]; 2] {
    let connection = if let Body::Tcp(carried) = packet.body { carried.connection } else { 0 };
    [10_000u16.wrapping_add(connection as u16), 5000u16.wrapping_add(packet.flow as u16)]
        .map(u16::to_be_bytes)
}

/// The header of a segment, if the packet carries one, and how much payload follows.
fn carried(packet: &Sent, frame: &FrameRecord) -> Option<(Vec<u8>, u16)> {
    let (Body::Tcp(TcpPacket { segment, .. }), Some(agreed)) = (&packet.body, packet.agreed) else {
        return None;
    };
    let now_us = (frame.start.as_nanos() / 1000) as u32;
    let payload = match segment.kind {
        SegmentKind::Data => packet.size.saturating_sub(agreed.headers),
        _ => 0,
    };
    let [client, server] = ports(packet);
    let ports = if segment.kind.is_reply() { [server, client] } else { [client, server] };
    let mut header = ports.concat();
    tcp_header(segment, packet.payload, &agreed, now_us, &mut header);
    Some((header, payload))
}

/// What follows the ports. On the wire sequence numbers count bytes.
fn tcp_header(segment: &Segment, unit: u32, agreed: &Agreed, now_us: u32, bytes: &mut Vec<u8>) {
    let byte = |number: u32| number.wrapping_mul(unit).wrapping_add(1);
    let place = byte(segment.number);
    let (number, acknowledged, flags): (u32, u32, u8) = match segment.kind {
        SegmentKind::Syn => (0, 0, 0x02),
        SegmentKind::SynAck => (0, 1, 0x12),
        SegmentKind::Data => (place, 1, 0x10),
        SegmentKind::Ack => (1, place, 0x10),
        SegmentKind::Fin => (place, 1, 0x11),
        SegmentKind::FinAck => (1, place.wrapping_add(1), 0x11),
    };
    let opens = matches!(segment.kind, SegmentKind::Syn | SegmentKind::SynAck);
    let (window, scale) = window(agreed, unit, opens);
    let mut options: Vec<u8> = Vec::new();
    if opens {
        options.extend([2, 4]);
        options.extend((unit.min(0xffff) as u16).to_be_bytes());
        if agreed.sack {
            options.extend([4, 2]);
        }
        options.extend([3, 3, scale]);
    }
    if agreed.timestamps {
        // RFC 7323: the sender's clock, then the echo, which the endpoints use in replies only.
        let (value, echo) =
            if segment.kind.is_reply() { (now_us, segment.stamp) } else { (segment.stamp, 0) };
        options.extend([1, 1, 8, 10]);
        options.extend([value, echo].map(u32::to_be_bytes).concat());
    }
    if agreed.sack && segment.kind == SegmentKind::Ack {
        // RFC 2018, in bytes.
        let blocks: Vec<[u32; 2]> =
            segment.sack.blocks(segment.number).map(|(from, to)| [byte(from), byte(to)]).collect();
        if !blocks.is_empty() {
            options.extend([1, 1, 5, 2 + 8 * blocks.len() as u8]);
            options.extend(blocks.as_flattened().iter().flat_map(|edge| edge.to_be_bytes()));
        }
    }
    options.resize(options.len().next_multiple_of(4), 1); // no operation
    bytes.extend(number.to_be_bytes());
    bytes.extend(acknowledged.to_be_bytes());
    bytes.extend([((5 + options.len() / 4) << 4) as u8, flags]);
    bytes.extend(window.to_be_bytes());
    bytes.extend([0, 0, 0, 0]);
    bytes.extend(options);
}

/// The window field, and the scale of those that are not on a segment that opens (RFC 7323 section 2.2): the least at which the
/// receiver's window can be said.
fn window(agreed: &Agreed, unit: u32, opens: bool) -> (u16, u8) {
    let window = u64::from(agreed.window) * u64::from(unit);
    let most = u64::from(u16::MAX);
    let scale = (0..14).find(|scale| window.div_ceil(1 << scale) <= most).unwrap_or(14);
    let said = if opens || !agreed.handshake { window } else { window.div_ceil(1 << scale) };
    (said.min(most) as u16, scale)
}

/// Flags, rate and channel (radiotap.org: bits 1, 2 and 3; the channel is aligned to two bytes), and the antenna.
fn radiotap(timing: &MacTiming, rate: Rate, decoded: bool, out: &mut Vec<u8>) {
    out.extend([0, 0]);
    out.extend(RADIOTAP_LENGTH.to_le_bytes());
    out.extend((1u32 << 1 | 1 << 2 | 1 << 3 | 1 << 11).to_le_bytes());
    out.push(if decoded { FLAG_FCS_AT_END } else { FLAG_FCS_AT_END | FLAG_BAD_FCS });
    out.push((rate.as_bps() / 500_000) as u8);
    let (frequency, band): (u16, u16) = match timing.phy.standard {
        evenair_wifi::PhyStandard::A => (5180, CHANNEL_5_GHZ | CHANNEL_OFDM),
        evenair_wifi::PhyStandard::G => (2412, CHANNEL_2_4_GHZ | CHANNEL_OFDM),
        evenair_wifi::PhyStandard::B => (2412, CHANNEL_2_4_GHZ | CHANNEL_CCK),
    };
    out.extend(frequency.to_le_bytes());
    out.extend(band.to_le_bytes());
    out.push(0);
}

fn mac_address(node: u32) -> [u8; 6] {
    if node == BROADCAST {
        return [0xff; 6];
    }
    let [a, b, c, d] = (node + 1).to_be_bytes();
    [0x02, 0, a, b, c, d]
}

fn ip_address(node: u32) -> [u8; 4] {
    if node == BROADCAST {
        return [255; 4];
    }
    let [_, b, c, d] = (node + 1).to_be_bytes();
    [10, b, c, d]
}

/// The Internet checksum (RFC 1071), over parts of which all but the last have even lengths.
pub fn internet_checksum(parts: &[&[u8]]) -> u16 {
    let of_part = |part: &&[u8]| {
        let (pairs, odd) = part.as_chunks();
        let words: u32 = pairs.iter().map(|&pair| u32::from(u16::from_be_bytes(pair))).sum();
        words + odd.first().map_or(0, |&last| u32::from(last) << 8)
    };
    let mut sum: u32 = parts.iter().map(of_part).sum();
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    !(sum as u16)
}

#[cfg(test)]
mod tests {
    use super::*;

    const AGREED: Agreed = Agreed { headers: 40, window: 64, handshake: true, sack: true, timestamps: false };

    /// A segment's options and window as Wireshark would see them.
    fn header(segment: Segment, agreed: Agreed) -> (Vec<u8>, u16) {
        let mut bytes = vec![0; 4];
        tcp_header(&segment, 1000, &agreed, 7, &mut bytes);
        assert_eq!(bytes.len(), usize::from(bytes[12] >> 4) * 4, "the data offset is the header's end");
        (bytes[20..].to_vec(), u16::from_be_bytes([bytes[14], bytes[15]]))
    }

    #[test]
    fn a_syn_agrees_on_the_windows_scale_and_later_windows_have_it() {
        // 64 segments of 1000 bytes fit 16 bits; 200 need a scale of 2: 200,000/4 = 50,000.
        let syn = Segment::plain(SegmentKind::Syn, 0);
        let (options, window) = header(syn, AGREED);
        assert_eq!((options, window), (vec![2, 4, 3, 232, 4, 2, 3, 3, 0, 1, 1, 1], 64_000));
        let wide = Agreed { window: 200, ..AGREED };
        let (options, window) = header(syn, wide);
        assert_eq!((options[8], window), (2, u16::MAX), "a SYN's own window has no scale");
        assert_eq!(header(Segment::plain(SegmentKind::Data, 3), wide), (vec![], 50_000));
        let ns2 = Agreed { handshake: false, ..wide };
        assert_eq!(header(Segment::plain(SegmentKind::Ack, 3), ns2).1, u16::MAX, "no SYN, no scale");
    }

    #[test]
    fn timestamps_are_written_where_the_endpoints_have_them() {
        let stamped = Agreed { timestamps: true, ..AGREED };
        let data = Segment { stamp: 5, ..Segment::plain(SegmentKind::Data, 0) };
        assert_eq!(header(data, stamped).0, [1, 1, 8, 10, 0, 0, 0, 5, 0, 0, 0, 0]);
        let ack = Segment { kind: SegmentKind::Ack, ..data };
        assert_eq!(header(ack, stamped).0, [1, 1, 8, 10, 0, 0, 0, 7, 0, 0, 0, 5]);
    }

    #[test]
    fn the_checksum_of_a_known_header() {
        // RFC 1071's method on a header whose checksum is b861.
        let header =
            [0x45, 0, 0, 0x73, 0, 0, 0x40, 0, 0x40, 0x11, 0, 0, 0xc0, 0xa8, 0, 0x01, 0xc0, 0xa8, 0, 0xc7];
        assert_eq!(internet_checksum(&[&header]), 0xb861);
        assert_eq!(
            internet_checksum(&[&header[..3]]),
            !(0x4500),
            "a last odd byte is the high one of a word"
        );
    }
}
