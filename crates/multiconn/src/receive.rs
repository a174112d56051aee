//! The receiving half of a stream: chunks arrive on several connections, in any order and more than once;
//! bytes leave in order, once.
//!
//! Received bytes never change: a later chunk only fills gaps. Adjacent chunks become one, so only gaps are
//! counted, and a peer that makes many of them breaks its own stream.

use crate::frame::OFFSET_MAX;
use std::collections::{BTreeMap, VecDeque};

/// The most pieces with gaps between them that a stream may hold.
pub const PIECES_MAX: usize = 1024;
/// A piece of this length is not extended.
const PIECE: usize = 32 << 10;
/// Shorter pieces are merged with adjacent ones.
const SMALL: usize = 4 << 10;

/// The error of a chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wrong {
    /// It goes beyond the limit, or beyond the stream's end, or moves the end.
    Beyond,
    /// There are too many gaps.
    Gaps,
}

/// The receiving half.
#[derive(Debug, Default)]
pub struct Receive {
    /// All bytes before this number were received.
    next: u64,
    /// All bytes before this number were read.
    read: u64,
    /// The bytes from `read` to `next`, and the number of bytes of the first piece that were read.
    ordered: VecDeque<Vec<u8>>,
    of_first: usize,
    /// Pieces that arrived too early, by the number of their first byte: not empty, not touching `next`, not
    /// overlapping.
    early: BTreeMap<u64, Vec<u8>>,
    /// The number of the end, once known.
    end: Option<u64>,
    /// No byte from this number on is allowed.
    limit: u64,
}

impl Receive {
    /// Returns a half with an initial limit.
    pub fn new(limit: u64) -> Self {
        Self { limit, ..Self::default() }
    }

    /// Processes a chunk. Returns whether there is more to read than before, the end included.
    ///
    /// # Errors
    /// If the chunk is invalid: then nothing has changed, or the stream is unusable.
    pub fn chunk(&mut self, offset: u64, bytes: &[u8], ends: bool) -> Result<bool, Wrong> {
        let until = offset.checked_add(bytes.len() as u64).filter(|until| *until <= OFFSET_MAX);
        let until = until.ok_or(Wrong::Beyond)?;
        let known_end = self.end.is_some_and(|end| until > end || (ends && until != end));
        if until > self.limit || known_end || (ends && until < self.seen()) {
            return Err(Wrong::Beyond);
        }
        let ended = self.is_complete();
        if ends {
            self.end = Some(until);
        }
        let before = self.next;
        self.insert(offset, bytes);
        if self.early.len() > PIECES_MAX {
            return Err(Wrong::Gaps);
        }
        Ok(self.next > before || ended != self.is_complete())
    }

    /// Inserts the new part of a chunk.
    fn insert(&mut self, offset: u64, bytes: &[u8]) {
        let until = offset + bytes.len() as u64;
        let mut at = offset;
        loop {
            // Skips the bytes that are held already.
            at = at.max(self.next);
            if at >= until {
                return;
            }
            let before = self.early.range(..=at).next_back().map(|(start, piece)| start + piece.len() as u64);
            if let Some(held) = before.filter(|held| *held > at) {
                at = held;
                continue;
            }
            let free = self.early.range(at..).next().map_or(until, |(start, _)| until.min(*start));
            let fresh = &bytes[(at - offset) as usize..(free - offset) as usize];
            if at == self.next {
                append(&mut self.ordered, fresh);
                self.next = free;
                self.follow();
            } else if let Some((_, piece)) =
                self.early.range_mut(..at).next_back().filter(|(start, piece)| {
                    **start + piece.len() as u64 == at && piece.len() + fresh.len() <= PIECE
                })
            {
                grow(piece, fresh);
            } else {
                self.early.insert(at, fresh.to_vec());
            }
            at = free;
        }
    }

    /// Moves pieces that touch the ordered bytes behind them.
    fn follow(&mut self) {
        while let Some(piece) = self.early.remove(&self.next) {
            self.next += piece.len() as u64;
            if piece.len() < SMALL {
                append(&mut self.ordered, &piece);
            } else {
                self.ordered.push_back(piece);
            }
        }
    }

    /// Copies bytes in order, without consuming them; returns the number.
    pub fn peek(&self, into: &mut [u8]) -> usize {
        let (mut done, mut of_piece) = (0, self.of_first);
        for piece in &self.ordered {
            let count = (piece.len() - of_piece).min(into.len() - done);
            into[done..done + count].copy_from_slice(&piece[of_piece..of_piece + count]);
            done += count;
            of_piece = 0;
            if done == into.len() {
                break;
            }
        }
        done
    }

    /// Consumes bytes in order, at most those available.
    pub fn consume(&mut self, count: usize) {
        let mut left = count.min(self.readable() as usize);
        self.read += left as u64;
        while left > 0 {
            let Some(first) = self.ordered.front() else { break };
            let taken = (first.len() - self.of_first).min(left);
            left -= taken;
            self.of_first += taken;
            if self.of_first == first.len() {
                self.ordered.pop_front();
                self.of_first = 0;
            }
        }
        // If a piece is mostly read, only the rest is kept.
        if let Some(first) = self.ordered.front_mut().filter(|first| first.len() > SMALL)
            && self.of_first > first.len() / 2
        {
            *first = first[self.of_first..].to_vec();
            self.of_first = 0;
        }
    }

    /// Reads bytes in order; returns the number.
    #[cfg(test)]
    fn read(&mut self, into: &mut [u8]) -> usize {
        let count = self.peek(into);
        self.consume(count);
        count
    }

    /// Returns the number after the last byte that has arrived, with or without gaps before it.
    pub fn seen(&self) -> u64 {
        self.early.last_key_value().map_or(self.next, |(at, piece)| at + piece.len() as u64)
    }

    /// Returns whether all was received, the end included.
    pub fn is_complete(&self) -> bool {
        self.end == Some(self.next)
    }

    /// Returns whether all was received and read.
    pub fn is_over(&self) -> bool {
        self.end == Some(self.read)
    }

    /// Returns the count of numbers received without a gap, the end's included.
    pub fn received(&self) -> u64 {
        self.next + u64::from(self.is_complete())
    }

    /// Returns the number of bytes that were read.
    pub fn consumed(&self) -> u64 {
        self.read
    }

    /// Returns the number of bytes that can be read.
    pub fn readable(&self) -> u64 {
        self.next - self.read
    }

    /// Returns the number from which on no byte is allowed.
    pub fn limit(&self) -> u64 {
        self.limit
    }

    /// Raises the limit.
    pub fn allow(&mut self, limit: u64) {
        self.limit = self.limit.max(limit).min(OFFSET_MAX);
    }

    /// Returns whether chunks may still arrive.
    pub fn is_open(&self) -> bool {
        !self.is_complete()
    }

    /// Returns the number of pieces that arrived too early.
    pub fn gaps(&self) -> usize {
        self.early.len()
    }

    /// Returns the number of bytes held.
    #[cfg(test)]
    fn held(&self) -> u64 {
        self.readable() + self.early.values().map(|piece| piece.len() as u64).sum::<u64>()
    }
}

/// Appends bytes, in pieces that are neither tiny nor huge.
fn append(pieces: &mut VecDeque<Vec<u8>>, fresh: &[u8]) {
    match pieces.back_mut() {
        Some(last) if last.len() + fresh.len() <= last.capacity().max(SMALL) => grow(last, fresh),
        _ => pieces.push_back(fresh.to_vec()),
    }
}

/// Appends bytes to a piece. Its capacity grows by an eighth at a time, so that little of it is unused.
fn grow(piece: &mut Vec<u8>, fresh: &[u8]) {
    if piece.capacity() - piece.len() < fresh.len() {
        piece.reserve_exact(fresh.len().max(piece.len() / 8));
    }
    piece.extend_from_slice(fresh);
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Returns the byte of a number, such that two neighbours differ.
    fn byte(number: u64) -> u8 {
        (number.wrapping_mul(151) >> 2) as u8
    }

    fn bytes(from: u64, until: u64) -> Vec<u8> {
        (from..until).map(byte).collect()
    }

    fn all_of(half: &mut Receive) -> Vec<u8> {
        let mut out = vec![0; 1 << 20];
        let count = half.read(&mut out);
        out.truncate(count);
        out
    }

    #[test]
    fn received_bytes_do_not_change() {
        let mut half = Receive::new(100);
        assert_eq!(half.chunk(2, b"cd", false), Ok(false));
        assert_eq!(half.chunk(0, b"XYZXYZ", false), Ok(true));
        assert_eq!(all_of(&mut half), b"XYcdYZ");
        assert_eq!(half.chunk(3, b"!!!", false), Ok(false));
        assert_eq!((half.received(), half.readable()), (6, 0));
    }

    /// Returns the memory of a half: the capacity of its pieces, and their number, which `core/cost.rs`
    /// charges for.
    fn resident(half: &Receive) -> (usize, usize) {
        let pieces = || half.ordered.iter().chain(half.early.values());
        (pieces().map(Vec::capacity).sum(), pieces().count())
    }

    #[test]
    fn small_pieces_are_joined_into_large_ones() {
        let mut half = Receive::new(1 << 16);
        // Every second byte, up to the limit of early pieces, and then the bytes between.
        for round in 0..32 {
            let first = round * 2048;
            (0..1024).for_each(|i| assert_eq!(half.chunk(first + 2 * i + 1, b"x", false), Ok(false)));
            (0..1024).for_each(|i| assert_eq!(half.chunk(first + 2 * i, b"y", false), Ok(true)));
        }
        let (bytes, pieces) = resident(&half);
        assert!(bytes <= (1 << 16) * 9 / 8 && pieces <= 17, "{bytes} bytes in {pieces} pieces");
        half.consume(60_000);
        let (bytes, _) = resident(&half);
        assert!(bytes <= 2 * 5536 + SMALL, "{bytes} bytes");
    }

    #[test]
    fn the_end_is_one_and_the_limit_holds() {
        let mut half = Receive::new(10);
        assert_eq!(half.chunk(5, b"123456", false), Err(Wrong::Beyond));
        assert_eq!(half.chunk(4, b"e", true), Ok(false));
        assert_eq!(half.chunk(3, b"d", true), Err(Wrong::Beyond), "it ended elsewhere");
        assert_eq!(half.chunk(5, b"x", false), Err(Wrong::Beyond), "beyond the end");
        assert_eq!(half.chunk(0, b"abcd", false), Ok(true));
        assert_eq!((half.received(), half.is_complete(), half.is_over()), (6, true, false));
        assert_eq!(all_of(&mut half), b"abcde");
        assert!(half.is_over());
        let mut late = Receive::new(10);
        assert_eq!(late.chunk(0, b"abc", false), Ok(true));
        assert_eq!(late.chunk(2, b"", true), Err(Wrong::Beyond), "it was longer already");
        assert_eq!(late.chunk(3, b"", true), Ok(true));
    }

    #[test]
    fn sender_of_gaps_is_stopped() {
        let mut half = Receive::new(1 << 20);
        let stopped = (0..5000).find(|i| half.chunk(2 * i + 1, b"x", false) == Err(Wrong::Gaps)).unwrap();
        assert_eq!(stopped, PIECES_MAX as u64);
        // Bytes one by one without gaps are one piece.
        let mut half = Receive::new(1 << 20);
        (1..20_000).for_each(|i| assert_eq!(half.chunk(i, b"x", false), Ok(false)));
        assert!(half.early.len() <= 2);
    }

    proptest! {
        /// In any order, with any overlaps and repetitions, and read at any time: the bytes of the stream,
        /// each once.
        #[test]
        fn chunks_in_any_order_are_the_stream(
            length in 1..3000_u64,
            chunks in prop::collection::vec((0..3000_u64, 1..400_u64, any::<bool>()), 0..80),
            seed: u64,
        ) {
            let mut half = Receive::new(length);
            let mut read = Vec::new();
            let mut model = vec![false; length as usize];
            // Some at random, then all of it in another order.
            let rest = (0..length.div_ceil(97)).map(|i| (i.wrapping_mul(seed | 1) % length.div_ceil(97) * 97, 97, true));
            let rest: Vec<_> = rest.chain((0..length.div_ceil(97)).map(|i| (i * 97, 97, false))).collect();
            for (from, count, reads) in chunks.into_iter().chain(rest) {
                let from = from % length;
                let until = (from + count).min(length);
                half.chunk(from, &bytes(from, until), until == length).unwrap();
                model[from as usize..until as usize].fill(true);
                let first = model.iter().position(|held| !held).unwrap_or(model.len()) as u64;
                prop_assert_eq!(half.received() - u64::from(half.is_complete()), first);
                let (bytes, pieces) = resident(&half);
                prop_assert!(bytes as u64 <= half.held() * 2 + 8 && pieces <= half.gaps() + 2);
                prop_assert_eq!(half.held() + half.consumed(), model.iter().filter(|held| **held).count() as u64);
                if reads {
                    read.extend(all_of(&mut half));
                }
            }
            read.extend(all_of(&mut half));
            prop_assert!(half.is_over());
            prop_assert_eq!(read, bytes(0, length));
        }
    }
}
