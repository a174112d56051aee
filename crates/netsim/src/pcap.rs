//! Frames as Wireshark and tshark read them: a pcap file with radiotap headers.
//!
//! The capture is that of an observer who hears everything at once: every frame is in it, with the time at which it
//! *began*; one that its addressee did not decode carries radiotap's "bad checksum" flag. Addresses are made from node
//! numbers: 02:00:00:00:00:05 and 10.0.0.5 are node 5. Payload beyond the TCP or UDP header is left out, as a capture
//! with a snap length does; the original length is kept. Lengths are the standard's, also where a preset counts others;
//! TCP options are not shown.

use crate::packet::{Body, TcpPacket};
use crate::trace::{FrameSink, Sent};
use evenair_tcp::{Segment, SegmentKind};
use evenair_units::{Bytes, Rate};
use evenair_wifi::{BROADCAST, FrameKind, FrameRecord, MacTiming};
use std::io::{self, Write};

/// `LINKTYPE_IEEE802_11_RADIOTAP`.
const LINK_TYPE: u32 = 127;
/// The magic number of captures with nanoseconds.
const MAGIC_NANOSECONDS: u32 = 0xa1b2_3c4d;
/// Nothing is cut off: what is not written was never there.
const SNAP_LENGTH: u32 = 262_144;
/// Bytes of LLC and SNAP in front of IP.
const LLC: [u8; 8] = [0xaa, 0xaa, 0x03, 0, 0, 0, 0x08, 0x00];
/// The frame check sequence, which is counted and not written.
const CHECKSUM_BYTES: u32 = 4;
const RADIOTAP_LENGTH: u16 = 15;
const FLAG_FCS_AT_END: u8 = 0x10;
const FLAG_BAD_FCS: u8 = 0x40;
const CHANNEL_2_4_GHZ: u16 = 0x0080;
const CHANNEL_5_GHZ: u16 = 0x0100;
const CHANNEL_CCK: u16 = 0x0020;
const CHANNEL_OFDM: u16 = 0x0040;

/// Writes frames into a capture.
///
/// Frames are handed over in the order of their ends; a capture is in the order of their beginnings. What has ended
/// waits until nothing can have begun before it.
#[derive(Debug)]
pub struct PcapWriter<W: Write> {
    out: W,
    timing: MacTiming,
    receiver_window: u16,
    /// The longest a frame can be on the air \[ns\].
    longest_ns: u64,
    waiting: std::collections::BTreeMap<(u64, u32), Vec<u8>>,
    sequence: Vec<u16>,
    error: Option<io::Error>,
}

impl<W: Write> PcapWriter<W> {
    /// A capture of a network of so many nodes.
    ///
    /// # Errors
    /// If the header cannot be written.
    pub fn new(mut out: W, nodes: usize, timing: MacTiming) -> io::Result<Self> {
        let mut header = Vec::new();
        header.extend(MAGIC_NANOSECONDS.to_le_bytes());
        header.extend([2, 0, 4, 0]); // version 2.4
        header.extend([0; 8]); // UTC, accuracy
        header.extend(SNAP_LENGTH.to_le_bytes());
        header.extend(LINK_TYPE.to_le_bytes());
        out.write_all(&header)?;
        let slowest = timing.phy.rates()[0];
        let longest_ns = timing.data(Bytes::new(u32::from(u16::MAX)), slowest).as_nanos();
        let waiting = std::collections::BTreeMap::new();
        let sequence = vec![0; nodes];
        Ok(Self { out, timing, receiver_window: u16::MAX, longest_ns, waiting, sequence, error: None })
    }

    /// Writes what still waits.
    ///
    /// # Errors
    /// If anything could not be written, now or before.
    pub fn finish(mut self) -> io::Result<W> {
        self.write_before(u64::MAX);
        if let Some(error) = self.error {
            return Err(error);
        }
        self.out.flush()?;
        Ok(self.out)
    }

    fn write_before(&mut self, start_ns: u64) {
        while let Some(entry) = self.waiting.first_entry()
            && entry.key().0 < start_ns
        {
            let record = entry.remove();
            if self.error.is_none()
                && let Err(error) = self.out.write_all(&record)
            {
                self.error = Some(error);
            }
        }
    }

    /// The frame's bytes as far as they are known, and its length with payload and checksum.
    fn frame_bytes(&mut self, frame: &FrameRecord, packet: Option<&Sent>) -> (Vec<u8>, u32) {
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
                let size = packet.map_or(0, |p| p.size);
                let headers = bytes.len() as u32;
                if let Some(packet) = packet {
                    self.network_layer(packet, &mut bytes);
                }
                (bytes, headers + u32::from(size) + CHECKSUM_BYTES)
            }
        }
    }

    fn network_layer(&self, packet: &Sent, bytes: &mut Vec<u8>) {
        let protocol = if matches!(packet.body, Body::Tcp(_)) { 6 } else { 17 };
        let start = bytes.len();
        bytes.extend([0x45, 0]);
        bytes.extend(packet.size.to_be_bytes());
        bytes.extend([0, 0, 0x40, 0, 64, protocol, 0, 0]);
        bytes.extend(ip_address(packet.ends.0));
        bytes.extend(ip_address(packet.ends.1));
        let checksum = internet_checksum(&bytes[start..]);
        bytes[start + 10..start + 12].copy_from_slice(&checksum.to_be_bytes());
        // The flow's ports: data to 5000 + flow, from 10000 + connection.
        let server = 5000u16.wrapping_add(packet.flow as u16).to_be_bytes();
        let connection = if let Body::Tcp(carried) = packet.body { carried.connection } else { 0 };
        let client = 10_000u16.wrapping_add(connection as u16).to_be_bytes();
        match packet.body {
            // What a packet from outside is, is not known here; it is shown as a datagram.
            Body::Datagram { .. }
            | Body::TfrcData { .. }
            | Body::TfrcReport { .. }
            | Body::Probe { .. }
            | Body::Foreign(_) => {
                bytes.extend(client);
                bytes.extend(server);
                bytes.extend(packet.size.saturating_sub(20).to_be_bytes());
                bytes.extend([0, 0]);
            }
            Body::Tcp(TcpPacket { segment, .. }) => {
                let reply = segment.kind.is_reply();
                bytes.extend(if reply { server } else { client });
                bytes.extend(if reply { client } else { server });
                self.tcp_header(&segment, packet, bytes);
            }
        }
    }

    /// On the wire sequence numbers count bytes.
    fn tcp_header(&self, segment: &Segment, packet: &Sent, bytes: &mut Vec<u8>) {
        let place = segment.number.wrapping_mul(packet.payload).wrapping_add(1);
        let (number, acknowledged, flags): (u32, u32, u8) = match segment.kind {
            SegmentKind::Syn => (0, 0, 0x02),
            SegmentKind::SynAck => (0, 1, 0x12),
            SegmentKind::Data => (place, 1, 0x10),
            SegmentKind::Ack => (1, place, 0x10),
            SegmentKind::Fin => (place, 1, 0x11),
            SegmentKind::FinAck => (1, place.wrapping_add(1), 0x11),
        };
        bytes.extend(number.to_be_bytes());
        bytes.extend(acknowledged.to_be_bytes());
        bytes.extend([5 << 4, flags]);
        bytes.extend(self.receiver_window.to_be_bytes());
        bytes.extend([0, 0, 0, 0]);
    }
}

impl<W: Write> FrameSink for PcapWriter<W> {
    fn frame(&mut self, frame: &FrameRecord, packet: Option<&Sent>) {
        let (bytes, length) = self.frame_bytes(frame, packet);
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
        self.waiting.insert((start_ns, frame.from), record);
        self.write_before(frame.end.as_nanos().saturating_sub(self.longest_ns));
    }
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
    let [a, b, c, d] = node.to_be_bytes();
    [0x02, 0, a, b, c, d]
}

fn ip_address(node: u32) -> [u8; 4] {
    if node == BROADCAST {
        return [255; 4];
    }
    let [_, b, c, d] = node.to_be_bytes();
    [10, b, c, d]
}

/// RFC 1071.
fn internet_checksum(header: &[u8]) -> u16 {
    let words = header.chunks(2).map(|pair| u32::from(pair[0]) << 8 | u32::from(pair[1]));
    let mut sum: u32 = words.sum();
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    !(sum as u16)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_checksum_of_a_known_header() {
        // RFC 1071's method on a header whose checksum is b861.
        let header =
            [0x45, 0, 0, 0x73, 0, 0, 0x40, 0, 0x40, 0x11, 0, 0, 0xc0, 0xa8, 0, 0x01, 0xc0, 0xa8, 0, 0xc7];
        assert_eq!(internet_checksum(&header), 0xb861);
    }
}
