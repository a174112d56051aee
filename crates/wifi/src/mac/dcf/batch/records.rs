//! The frames of a batch in the timeline: each packet of an aggregate has a record.

use super::{Batch, State};
use crate::timeline::{FrameKind, FrameRecord, Part, Window};
use evenair_units::Bytes;

/// Sequence numbers have twelve bits (IEEE 802.11-2016 clause 9.2.4.4.2).
const NUMBERS: u16 = 4096;

impl Batch {
    /// The records of a frame that has ended: one, or one of each of its packets.
    pub(in crate::mac::dcf) fn records(&self, frame: FrameRecord) -> impl Iterator<Item = FrameRecord> {
        let is_data = frame.kind == FrameKind::Data;
        let window = match frame.kind {
            FrameKind::BlockAck => self.told,
            FrameKind::BlockAckRequest => Window { first: self.next_number(), ..Window::default() },
            _ => Window::default(),
        };
        let whole = (!is_data).then_some(FrameRecord { packet: self.composed, window, ..frame });
        let is_in = move |(_, mpdu): &(usize, &super::Mpdu)| is_data && mpdu.state.is(State::IN_FRAME);
        let of = self.mpdus.iter().enumerate().filter(is_in).count() as u16;
        let parts =
            self.mpdus.iter().enumerate().filter(is_in).zip(0..).map(move |((place, mpdu), index)| {
                let number = self.number_at(place);
                FrameRecord {
                    size: Bytes::new(mpdu.size.into()),
                    decoded: frame.decoded && !mpdu.state.is(State::SPOILT),
                    retry: mpdu.state.is(State::REPEATED),
                    packet: mpdu.packet,
                    part: Some(Part {
                        number,
                        index,
                        of,
                        frame: self.by << 20 | self.counters.aggregates as u32 & 0xf_ffff,
                    }),
                    ..frame
                }
            });
        parts.chain(whole)
    }

    /// Notes the receiver's window, as the block acknowledgement that it is about to send reports it.
    pub(in crate::mac::dcf) fn note_window(&mut self) {
        let words = if self.limits.window > 64 { 4 } else { 1 };
        let mut told = Window { first: self.number_at(0), words, received: [0; 4] };
        for (place, _) in self.mpdus.iter().enumerate().filter(|(_, mpdu)| mpdu.state.is(State::RECEIVED)) {
            if let Some(word) = told.received.get_mut(place / 64) {
                *word |= 1 << (place % 64);
            }
        }
        self.told = told;
    }

    fn number_at(&self, place: usize) -> u16 {
        self.first_number.wrapping_add(place as u16) % NUMBERS
    }

    /// The sequence number of the first packet that waits.
    fn next_number(&self) -> u16 {
        let first = self.mpdus.iter().position(|mpdu| !mpdu.state.is(State::DONE));
        self.number_at(first.unwrap_or(self.mpdus.len()))
    }
}
