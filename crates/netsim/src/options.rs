//! The options of a TCP segment's header.
//!
//! A scenario's `tcp.headers` is the whole header of each segment, as in the simulators of the papers; with `tcp.options` the options
//! come on top of it, as a kernel sends them. A capture writes those that fit the frame's length.

use crate::trace::Agreed;
use evenair_tcp::{Segment, SegmentKind};

/// A segment's options, one after the other as Linux lays them out: each fills whole words of four bytes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Options {
    bytes: [u8; Self::BYTES_MAX],
    length: usize,
    room: usize,
}

impl Options {
    /// The most that a header has room for (RFC 9293 section 3.1: its length is four bits, in words, of which five are fixed).
    pub(crate) const BYTES_MAX: usize = 40;

    /// Those that have room in so many bytes, the most needed first. `unit` is the payload that one sequence number stands for,
    /// `now_us` the clock that timestamps show.
    pub(crate) fn of(segment: &Segment, agreed: &Agreed, unit: u32, now_us: u32, room: usize) -> Self {
        let mut options =
            Self { bytes: [0; Self::BYTES_MAX], length: 0, room: room.min(Self::BYTES_MAX) & !3 };
        if matches!(segment.kind, SegmentKind::Syn | SegmentKind::SynAck) {
            let [high, low] = (unit.min(0xffff) as u16).to_be_bytes();
            options.put(&[2, 4, high, low]);
            options.put(&[1, 3, 3, window_scale(agreed, unit)]);
            if agreed.sack {
                options.put(&[1, 1, 4, 2]);
            }
        }
        if agreed.timestamps {
            // RFC 7323: the sender's clock, then the echo, which the endpoints use in replies only.
            let (value, echo) =
                if segment.kind.is_reply() { (now_us, segment.stamp) } else { (segment.stamp, 0) };
            let ([a, b, c, d], [e, f, g, h]) = (value.to_be_bytes(), echo.to_be_bytes());
            options.put(&[1, 1, 8, 10, a, b, c, d, e, f, g, h]);
        }
        if agreed.sack && segment.kind == SegmentKind::Ack {
            options.put_blocks(segment, unit);
        }
        options
    }

    /// How many bytes a segment's options need.
    pub(crate) fn length(segment: &Segment, agreed: &Agreed) -> u32 {
        Self::of(segment, agreed, 1, 0, Self::BYTES_MAX).length as u32
    }

    /// They, and no operations for the rest of their room.
    pub(crate) fn padded(&self) -> Vec<u8> {
        let mut bytes = self.bytes[..self.length].to_vec();
        bytes.resize(self.room, 1);
        bytes
    }

    /// Writes an option, if there is room.
    fn put(&mut self, option: &[u8]) {
        let end = self.length + option.len();
        if end <= self.room {
            self.bytes[self.length..end].copy_from_slice(option);
            self.length = end;
        }
    }

    /// Blocks that arrived out of order (RFC 2018), in bytes: as many as have room.
    fn put_blocks(&mut self, segment: &Segment, unit: u32) {
        let room = (self.room - self.length).saturating_sub(4) / 8;
        let mut option = [1; Self::BYTES_MAX];
        let mut end = 4;
        for (from, to) in segment.sack.blocks(segment.number).take(room) {
            for edge in [from, to] {
                option[end..end + 4].copy_from_slice(&sequence(edge, unit).to_be_bytes());
                end += 4;
            }
        }
        if end > 4 {
            [option[2], option[3]] = [5, end as u8 - 2];
            self.put(&option[..end]);
        }
    }
}

/// A segment's sequence number, which counts bytes on the wire: a SYN takes the first.
pub(crate) const fn sequence(number: u32, unit: u32) -> u32 {
    number.wrapping_mul(unit).wrapping_add(1)
}

/// The least scale at which the receiver's window can be told (RFC 7323 section 2.2).
pub(crate) fn window_scale(agreed: &Agreed, unit: u32) -> u8 {
    let window = u64::from(agreed.window) * u64::from(unit);
    (0..14).find(|scale| u16::try_from(window.div_ceil(1 << scale)).is_ok()).unwrap_or(14)
}

#[cfg(test)]
mod tests {
    use super::*;
    use evenair_tcp::{AckPolicy, Receiver};
    use evenair_units::Instant;

    const AGREED: Agreed =
        Agreed { headers: 40, options: true, window: 64, handshake: true, sack: true, timestamps: false };
    const STAMPED: Agreed = Agreed { timestamps: true, ..AGREED };

    fn of(segment: &Segment, agreed: &Agreed, room: usize) -> Vec<u8> {
        Options::of(segment, agreed, 1000, 7, room).padded()
    }

    /// An acknowledgement of a receiver that has every second one of so many segments.
    fn gaps(count: u32) -> Segment {
        let mut receiver = Receiver::new(AckPolicy::EachSegment);
        let arrive = |i| receiver.handle_segment(Instant::ZERO, Segment::plain(SegmentKind::Data, 2 * i + 1));
        (0..count).rev().filter_map(arrive).last().expect("each segment is answered")
    }

    /// Linux's layout, by its `tcp_options_write`: a SYN 12 bytes, 20 with timestamps there; timestamps 12; so many
    /// blocks 4 + 8n.
    #[test]
    fn options_have_the_lengths_of_a_kernels() {
        let syn = Segment::plain(SegmentKind::Syn, 0);
        let data = Segment::plain(SegmentKind::Data, 3);
        assert_eq!(Options::length(&syn, &AGREED), 12);
        assert_eq!((Options::length(&data, &AGREED), Options::length(&data, &STAMPED)), (0, 12));
        for blocks in 1..=3 {
            let acknowledgement = gaps(blocks);
            let eight = 8 * blocks;
            assert_eq!(Options::length(&acknowledgement, &AGREED), 4 + eight);
            assert_eq!(Options::length(&acknowledgement, &STAMPED), 12 + 4 + eight);
        }
    }

    #[test]
    fn options_without_room_are_left_out() {
        let syn = Segment::plain(SegmentKind::Syn, 0);
        assert!(of(&syn, &AGREED, 0).is_empty());
        assert_eq!(of(&syn, &AGREED, 7), [2, 4, 3, 232]);
        assert_eq!(of(&syn, &AGREED, 12), [2, 4, 3, 232, 1, 3, 3, 0, 1, 1, 4, 2]);
        assert_eq!(of(&Segment::plain(SegmentKind::Data, 3), &AGREED, 8), [1; 8]);
        // Of three blocks one has room in 12 bytes: segment 1, which is bytes 1001 to 2000.
        assert_eq!(of(&gaps(3), &AGREED, 12)[..4], [1, 1, 5, 10]);
        assert_eq!(of(&gaps(3), &AGREED, 12)[4..], [1001_u32.to_be_bytes(), 2001_u32.to_be_bytes()].concat());
    }

    #[test]
    fn timestamps_are_the_senders_clock_echoed() {
        let data = Segment { stamp: 5, ..Segment::plain(SegmentKind::Data, 0) };
        assert_eq!(of(&data, &STAMPED, 12), [1, 1, 8, 10, 0, 0, 0, 5, 0, 0, 0, 0]);
        let ack = Segment { kind: SegmentKind::Ack, ..data };
        assert_eq!(of(&ack, &STAMPED, 12), [1, 1, 8, 10, 0, 0, 0, 7, 0, 0, 0, 5]);
    }

    #[test]
    fn a_wide_window_has_a_scale() {
        // 64 segments of 1000 bytes fit 16 bits; 200 need a scale of 2: 200,000/4 = 50,000.
        assert_eq!(window_scale(&AGREED, 1000), 0);
        assert_eq!(window_scale(&Agreed { window: 200, ..AGREED }, 1000), 2);
    }
}
