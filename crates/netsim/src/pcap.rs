//! Frames as Wireshark and tshark read them: pcap files with radiotap headers.
//!
//! A capture of the whole air is that of an observer that receives everything at once: every frame is in it; one that its
//! addressee did not decode carries radiotap's "bad checksum" flag. A capture of one node is that of a monitor there: the frames
//! that it sent or decoded, for any addressee. Frames have the time at which they *began*. Addresses are made from the nodes'
//! order: 02:00:00:00:00:05 and 10.0.0.5 are the fifth node. Real packets from outside ([`FrameSink::real_frame`]) are there as they
//! are. Of simulated ones, payload beyond the TCP or UDP header is left out, as a capture with a snap length does; the original length
//! is kept. Payload is zeros: the checksums of IP, TCP and UDP are right for these over
//! the whole length. Each frame has the length and the rate that it had on the air; only ns-2's preset, which counts 34 bytes of the
//! MAC's, has here the standard's 36.
//!
//! # TCP
//! `packet` describes the lengths of headers. Sequence numbers count bytes. A connection that opens with a SYN (all but ns-2's)
//! agrees there on its options, where the header has room: the largest segment, the scale of the window, selective
//! acknowledgement, timestamps. The window of every segment is the receiver's: so many segments from the next one that it
//! expects on, always the same, since applications read at once; where no SYN tells a scale it is 65 535 bytes at most.
//! Timestamps count microseconds; a data segment's echo is zero, because the endpoints do not use it.

mod packet;
mod radiotap;

use crate::trace::{FrameSink, Sent};
use evenair_laws::backoff::Category;
use evenair_units::Bytes;
use evenair_wifi::{BROADCAST, FrameKind, FrameRecord, MacTiming, Overheard};
use packet::{ETHER_TYPE_IPV6, LLC};
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
/// Nothing is cut off: the capture never had the bytes left out.
const SNAP_LENGTH: u32 = 262_144;
/// The frame check sequence, which is counted and not written.
const CHECKSUM_BYTES: u32 = 4;
/// Length of a record's own header, before radiotap's.
const RECORD_HEADER: usize = 16;
/// Frames to stations far away are told of late, by up to the flight over 1,500 km.
const FLIGHT_NS_MAX: u64 = 5_000_000;

/// Writes frames into captures.
///
/// Frames are handed over in the order of their ends; a capture is in the order of their beginnings. An ended frame
/// waits until no other can have begun before it.
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
    /// One, or that of each packet of an aggregate with the node that it is for, if that did not decode it.
    records: Vec<(Vec<u8>, Option<u32>)>,
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

    /// Writes the frames that still wait; returns the outputs.
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
        let lost = (!frame.decoded).then_some(frame.to);
        self.waiting.entry((frame.start.as_nanos(), frame.from)).or_default().records.push((record, lost));
        self.write_before(frame.end.as_nanos().saturating_sub(self.longest_ns));
    }

    fn write_before(&mut self, start_ns: u64) {
        while let Some(entry) = self.waiting.first_entry()
            && entry.key().0 < start_ns
        {
            let ((_, from), Waiting { records, by }) = entry.remove_entry();
            // A frame without an end in the run has no record.
            for (record, lost) in records {
                self.write(record, lost, from, &by);
            }
        }
    }

    /// Writes a record that these nodes decoded, but for the one that lost it.
    fn write(&mut self, mut record: Vec<u8>, lost: Option<u32>, from: u32, by: &[u32]) {
        let mut write = |place: usize, record: &[u8]| {
            if self.error.is_none()
                && let Err(error) = self.outs[place].write_all(record)
            {
                self.error = Some(error);
            }
        };
        if !self.is_by_node {
            return write(0, &record);
        }
        // A node with the frame in its capture decoded it, or sent it.
        let flags_at = RECORD_HEADER + radiotap::flags_at(&record[RECORD_HEADER..]);
        record[flags_at] &= !radiotap::FLAG_BAD_FCS;
        let by = by.iter().filter(|&&node| Some(node) != lost);
        by.chain([&from]).for_each(|&node| write(node as usize, &record));
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
        let start_ns = frame.start.as_nanos();
        let radiotap = radiotap::header(&self.timing, frame);
        let captured = (radiotap.len() + bytes.len()) as u32;
        let mut record = Vec::with_capacity(RECORD_HEADER + captured as usize);
        record.extend(((start_ns / 1_000_000_000) as u32).to_le_bytes());
        record.extend(((start_ns % 1_000_000_000) as u32).to_le_bytes());
        record.extend(captured.to_le_bytes());
        record.extend((radiotap.len() as u32 + length).to_le_bytes());
        record.extend(radiotap);
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
            FrameKind::Cts | FrameKind::CtsToSelf => 0xc4,
            FrameKind::Rts => 0xb4,
            FrameKind::BlockAck => 0x94,
            FrameKind::BlockAckRequest => 0x84,
        };
        let retry = if frame.retry { 0x08 } else { 0 };
        let mut bytes = vec![control, retry];
        bytes.extend((frame.reserves_us.min(0x7fff) as u16).to_le_bytes());
        bytes.extend(mac_address(frame.to));
        match frame.kind {
            FrameKind::Ack | FrameKind::Cts | FrameKind::CtsToSelf => (bytes, frame.size.count()),
            FrameKind::Rts => {
                bytes.extend(mac_address(frame.from));
                (bytes, frame.size.count())
            }
            FrameKind::BlockAck | FrameKind::BlockAckRequest => {
                bytes.extend(mac_address(frame.from));
                block_ack(frame, packet, &mut bytes);
                (bytes, frame.size.count())
            }
            FrameKind::Data => {
                bytes.extend(mac_address(frame.from));
                bytes.extend([0x02, 0, 0, 0, 0xff, 0xff]); // BSSID
                bytes.extend((self.sequence_number(frame) << 4).to_le_bytes());
                if frame.qos {
                    bytes[0] |= 0x80; // QoS data
                    bytes.extend([packet.map_or(0, |packet| traffic_identifier(packet.category)), 0]);
                }
                let size = frame.size.count() - self.timing.with_qos(frame.qos).overhead.count();
                let length = (bytes.len() + LLC.len()) as u32 + size + CHECKSUM_BYTES;
                match real {
                    Some(real) => real_packet(real, &mut bytes),
                    None => packet::write(packet, (frame.start.as_nanos() / 1000) as u32, &mut bytes),
                }
                (bytes, length)
            }
        }
    }
}

impl Encoder {
    /// A frame's sequence number: of a packet that was staged its own, else the next of its sender.
    fn sequence_number(&mut self, frame: &FrameRecord) -> u16 {
        if let Some(part) = frame.part {
            return part.number;
        }
        let sequence = &mut self.sequence[frame.from as usize];
        *sequence = sequence.wrapping_add(u16::from(!frame.retry));
        *sequence
    }
}

/// The control field of a block acknowledgement, or a request for one, of the compressed variant, which names the category; the
/// first sequence number, and the bitmap of an acknowledgement (IEEE 802.11-2016 clauses 9.3.1.8 and 9.3.1.9).
fn block_ack(frame: &FrameRecord, packet: Option<&Sent>, bytes: &mut Vec<u8>) {
    const COMPRESSED: u16 = 2 << 1;
    /// In the fragment number of the first sequence number: a bitmap of 256 packets (IEEE 802.11ax-2021 table 9-28).
    const LONG: u16 = 2 << 1;
    let category = packet.map_or(0, |packet| traffic_identifier(packet.category));
    bytes.extend((COMPRESSED | u16::from(category) << 12).to_le_bytes());
    let is_long = frame.kind == FrameKind::BlockAck && frame.window.words > 1;
    let first = frame.window.first << 4 | if is_long { LONG } else { 0 };
    bytes.extend(first.to_le_bytes());
    if frame.kind == FrameKind::BlockAck {
        let words = &frame.window.received[..frame.window.words.into()];
        bytes.extend(words.iter().flat_map(|word| word.to_le_bytes()));
    }
}

/// A packet as it is, behind an LLC header that says which IP it is of.
fn real_packet(packet: &[u8], bytes: &mut Vec<u8>) {
    bytes.extend(LLC);
    if packet.first().is_some_and(|first| first >> 4 == 6) {
        let ether_type = bytes.len() - 2;
        bytes[ether_type..].copy_from_slice(&ETHER_TYPE_IPV6);
    }
    bytes.extend(packet);
}

/// A user priority of the category (IEEE 802.11-2016 table 10-1, where each has two).
const fn traffic_identifier(category: Category) -> u8 {
    match category {
        Category::Background => 1,
        Category::BestEffort => 0,
        Category::Video => 5,
        Category::Voice => 6,
    }
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

    #[test]
    fn the_checksum_of_a_known_header() {
        // RFC 1071's method on a header with the checksum b861.
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
