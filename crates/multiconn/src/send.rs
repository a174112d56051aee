//! The sending half of a stream: bytes are cut into chunks when connections fetch them, and held until the
//! other side has received them.

use crate::frame::CHUNK_MAX;
use std::collections::{BTreeSet, VecDeque};

/// The number of a connection of a session.
pub type SubflowId = u32;

/// The most times that a chunk is sent again because its connection is stuck; after a loss it always is.
const COPIES_MAX: u8 = 2;

/// The most unacknowledged chunks of a stream: bytes written one by one then wait, and go out in larger
/// chunks.
const CHUNKS_MAX: usize = 4096;
/// The chunks that need no memory of their own; [`set_chunks_most`](Send::set_chunks_most) permits more.
pub const CHUNKS_FREE: usize = 16;

/// A chunk that was sent.
#[derive(Debug)]
struct Sent {
    offset: u64,
    bytes: Vec<u8>,
    end: bool,
    /// The connection on which it was last sent.
    subflow: SubflowId,
    copies: u8,
}

impl Sent {
    fn until(&self) -> u64 {
        self.offset + self.bytes.len() as u64 + u64::from(self.end)
    }
}

/// A chunk to be sent.
#[derive(Debug, PartialEq, Eq)]
pub struct Chunk<'a> {
    /// The number of its first byte.
    pub offset: u64,
    /// Its bytes.
    pub bytes: &'a [u8],
    /// Whether the stream ends after it.
    pub end: bool,
    /// Whether it was sent before.
    pub again: bool,
}

/// The sending half.
#[derive(Debug, Default)]
pub struct Send {
    /// Unacknowledged chunks, in order.
    sent: VecDeque<Sent>,
    /// The number of chunks removed from the front of `sent`: a chunk's number less this is its place.
    gone: u64,
    /// The numbers of chunks to be sent again.
    again: BTreeSet<u64>,
    /// Unsent bytes, and the number of bytes of the first piece that were sent.
    fresh: VecDeque<Vec<u8>>,
    of_first: usize,
    /// Unsent bytes in `fresh`.
    waiting: u64,
    /// The number of the next byte to be sent for the first time.
    next: u64,
    /// The other side has received all numbers before this one.
    acknowledged: u64,
    /// No byte from this number on may be sent.
    limit: u64,
    /// The most chunks in `sent`.
    chunks_most: usize,
    /// The program has ended the stream.
    ended: bool,
    end_sent: bool,
}

impl Send {
    /// Returns a half with an initial limit.
    pub fn new(limit: u64) -> Self {
        Self { limit, chunks_most: CHUNKS_FREE, ..Self::default() }
    }

    /// Returns the number of unacknowledged chunks.
    pub fn chunks(&self) -> usize {
        self.sent.len()
    }

    /// Returns whether only the number of chunks keeps bytes from being sent.
    pub fn is_crowded(&self) -> bool {
        self.has_fresh() && self.sent.len() >= self.chunks_most && self.chunks_most < CHUNKS_MAX
    }

    /// Sets the most unacknowledged chunks.
    pub fn set_chunks_most(&mut self, chunks: usize) {
        self.chunks_most = chunks.min(CHUNKS_MAX);
        self.sent.shrink_to(self.chunks_most);
    }

    fn has_fresh(&self) -> bool {
        self.waiting > 0 && self.next < self.limit
    }

    /// Appends bytes to be sent.
    pub fn write(&mut self, bytes: &[u8]) {
        debug_assert!(!self.ended);
        self.waiting += bytes.len() as u64;
        let mut rest = bytes;
        if let Some(last) = self.fresh.back_mut() {
            let (more, left) = rest.split_at(rest.len().min(CHUNK_MAX.saturating_sub(last.len())));
            last.extend_from_slice(more);
            rest = left;
        }
        // Cut like the later chunks, so that they are moved and not copied once more.
        self.fresh.extend(rest.chunks(CHUNK_MAX).map(<[u8]>::to_vec));
    }

    /// Ends the stream.
    pub fn end(&mut self) {
        self.ended = true;
    }

    /// Returns whether the stream was ended.
    pub fn has_ended(&self) -> bool {
        self.ended
    }

    /// Returns whether all was sent once, the end included.
    pub fn has_sent_all(&self) -> bool {
        self.end_sent
    }

    /// Returns whether the other side has received all, the end included.
    pub fn is_over(&self) -> bool {
        self.end_sent && self.sent.is_empty()
    }

    /// Returns whether sent data is unacknowledged.
    pub fn is_in_doubt(&self) -> bool {
        !self.sent.is_empty()
    }

    /// Returns the bytes held: unsent, or unacknowledged.
    pub fn held(&self) -> u64 {
        let acknowledged = self.acknowledged.min(self.next);
        self.waiting + self.next - acknowledged
    }

    /// Returns whether a chunk can be sent now.
    pub fn is_ready(&self) -> bool {
        let fresh = self.has_fresh() && self.sent.len() < self.chunks_most;
        !self.again.is_empty() || fresh || (self.ended && self.waiting == 0 && !self.end_sent)
    }

    /// Returns the next chunk for a connection: of up to `most` bytes, if it was not sent before.
    pub fn chunk(&mut self, subflow: SubflowId, most: usize) -> Option<Chunk<'_>> {
        if let Some(number) = self.again.pop_first() {
            let place = (number - self.gone) as usize;
            let chunk = &mut self.sent[place];
            chunk.subflow = subflow;
            return Some(Chunk { offset: chunk.offset, bytes: &chunk.bytes, end: chunk.end, again: true });
        }
        if !self.is_ready() {
            return None;
        }
        let room = self.limit.saturating_sub(self.next).min(most.min(CHUNK_MAX) as u64) as usize;
        let bytes = if room > 0 { self.cut(room) } else { Vec::new() };
        let end = self.ended && self.waiting == 0 && !self.end_sent;
        if bytes.is_empty() && !end {
            return None;
        }
        let offset = self.next;
        self.next += bytes.len() as u64;
        self.end_sent |= end;
        self.sent.push_back(Sent { offset, bytes, end, subflow, copies: 0 });
        self.sent.back().map(|chunk| Chunk {
            offset: chunk.offset,
            bytes: &chunk.bytes,
            end: chunk.end,
            again: false,
        })
    }

    /// Cuts up to `room` bytes off the unsent ones.
    fn cut(&mut self, room: usize) -> Vec<u8> {
        let Some(first) = self.fresh.front() else { return Vec::new() };
        if self.of_first == 0 && first.len() <= room && first.len() * 2 >= room {
            let first = self.fresh.pop_front().unwrap_or_default();
            self.waiting -= first.len() as u64;
            return first;
        }
        let mut cut = Vec::with_capacity(room.min(self.waiting as usize));
        while cut.len() < room {
            let Some(first) = self.fresh.front() else { break };
            let count = (first.len() - self.of_first).min(room - cut.len());
            cut.extend_from_slice(&first[self.of_first..self.of_first + count]);
            self.of_first += count;
            if self.of_first == first.len() {
                self.fresh.pop_front();
                self.of_first = 0;
            }
        }
        self.waiting -= cut.len() as u64;
        cut
    }

    /// Processes a credit: the other side has received all numbers before `received`, and allows bytes up to
    /// `limit`. An older credit changes nothing. Returns none if it acknowledges unsent data.
    pub fn credit(&mut self, received: u64, limit: u64) -> Option<()> {
        if received > self.next + u64::from(self.end_sent) {
            return None;
        }
        self.limit = self.limit.max(limit);
        self.acknowledged = self.acknowledged.max(received);
        while self.sent.front().is_some_and(|chunk| chunk.until() <= received) {
            self.sent.pop_front();
            self.again.remove(&self.gone);
            self.gone += 1;
        }
        Some(())
    }

    /// Records that the other side has received everything.
    pub fn all_there(&mut self) {
        let all = self.next + u64::from(self.end_sent);
        let _ = self.credit(all, self.limit);
    }

    /// Queues the chunks of a lost connection for sending again. Returns whether there are any.
    pub fn lost(&mut self, subflow: SubflowId) -> bool {
        let numbers = self.sent.iter().enumerate().filter(|(_, chunk)| chunk.subflow == subflow);
        self.again.extend(numbers.map(|(place, _)| self.gone + place as u64));
        !self.again.is_empty()
    }

    /// Queues the first chunks of a stuck connection for sending once more, up to `most` bytes. Returns the
    /// number of bytes.
    pub fn stuck(&mut self, subflow: SubflowId, most: u64) -> u64 {
        let mut bytes = 0;
        for (place, chunk) in self.sent.iter_mut().enumerate() {
            if bytes >= most {
                break;
            }
            let number = self.gone + place as u64;
            if chunk.subflow == subflow && chunk.copies < COPIES_MAX && self.again.insert(number) {
                chunk.copies += 1;
                bytes += chunk.bytes.len() as u64 + 1;
            }
        }
        bytes
    }
    /// Removes the queued copies of a connection that makes progress again.
    pub fn freed(&mut self, subflow: SubflowId) {
        let (gone, sent) = (self.gone, &mut self.sent);
        self.again.retain(|number| {
            let Some(chunk) =
                sent.get_mut((*number - gone) as usize).filter(|chunk| chunk.subflow == subflow)
            else {
                return true;
            };
            chunk.copies = chunk.copies.saturating_sub(1);
            false
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chunks_are_cut_on_demand_within_the_limit() {
        let mut half = Send::new(5);
        half.write(b"abc");
        half.write(b"defg");
        assert_eq!(
            half.chunk(1, CHUNK_MAX),
            Some(Chunk { offset: 0, bytes: b"abcde", end: false, again: false })
        );
        assert_eq!(half.chunk(1, CHUNK_MAX), None);
        assert_eq!((half.is_ready(), half.held()), (false, 7));
        half.end();
        assert!(!half.is_ready(), "the end comes after the bytes");
        assert_eq!(half.credit(0, 20), Some(()));
        assert_eq!(
            half.chunk(2, CHUNK_MAX),
            Some(Chunk { offset: 5, bytes: b"fg", end: true, again: false })
        );
        assert_eq!(half.credit(9, 20), None, "there were 8 numbers");
        assert_eq!((half.credit(7, 20), half.is_over(), half.held()), (Some(()), false, 0));
        assert_eq!((half.credit(8, 20), half.is_over()), (Some(()), true));
    }

    #[test]
    fn lost_subflow_data_go_first() {
        let mut half = Send::new(1 << 20);
        for (subflow, bytes) in [(1, "a"), (2, "b"), (1, "c")] {
            half.write(bytes.as_bytes());
            assert!(half.chunk(subflow, CHUNK_MAX).is_some());
        }
        half.write(b"d");
        assert!(half.lost(1));
        let again: Vec<_> =
            std::iter::from_fn(|| half.chunk(2, CHUNK_MAX).map(|c| (c.offset, c.again))).collect();
        assert_eq!(again, [(0, true), (2, true), (3, false)]);
        assert!(!half.lost(1), "nothing is on it any more");
    }

    #[test]
    fn stuck_connection_repeats_first_chunks_bounded() {
        let mut half = Send::new(1 << 20);
        for _ in 0..4 {
            half.write(&[0; 100]);
            assert!(half.chunk(1, CHUNK_MAX).is_some());
        }
        assert_eq!(half.stuck(1, 150), 202);
        assert_eq!(half.chunk(2, CHUNK_MAX).map(|c| c.offset), Some(0));
        assert_eq!(half.stuck(1, 1000), 202, "the last two; the second waits already");
        // Queued copies are not sent once the connection makes progress.
        half.freed(1);
        assert!(!half.is_ready());
        assert_eq!(half.stuck(1, 1000), 303);
        // Data that is acknowledged in between is not sent again.
        assert_eq!(half.credit(400, 1 << 20), Some(()));
        assert!(!half.is_ready() && half.chunk(2, CHUNK_MAX).is_none());
    }
}
