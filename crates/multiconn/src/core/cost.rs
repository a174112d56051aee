//! The memory cost of a stream beside its bytes: a memory limit then bounds the resident size, however small
//! a peer's pieces are.

use super::Core;
use crate::budget::Share;
use crate::frame::StreamId;
use crate::send::CHUNKS_FREE;

/// A stream by itself: its state here, its task and socket, and the first pieces of both halves \[bytes\].
pub(crate) const STREAM: u64 = 12 << 10;
/// A piece received out of order, or a sent chunk that is not acknowledged: its list entries and the smallest
/// allocation \[bytes\].
const PIECE: u64 = 128;
/// Memory is taken for this many pieces at a time.
const BLOCK: usize = 32;

/// Blocks of pieces that memory was taken for, of the receiving half and of the sending half.
pub(super) type Paid = [u64; 2];

const RECEIVING: usize = 0;
const SENDING: usize = 1;

/// Returns the memory of a number of blocks \[bytes\].
pub(super) const fn of_blocks(blocks: u64) -> u64 {
    blocks * BLOCK as u64 * PIECE
}

/// Returns the blocks of a number of pieces, the first of which are free.
const fn blocks(pieces: usize) -> u64 {
    pieces.saturating_sub(CHUNKS_FREE).div_ceil(BLOCK) as u64
}

impl Core {
    /// Takes memory for the pieces that a stream received out of order. Returns whether there is enough.
    pub(super) fn pay_for_gaps(&mut self, stream: StreamId) -> bool {
        let Some(entry) = self.streams.get_mut(&stream).filter(|entry| !entry.is_over) else { return true };
        let (paid, needed) = (&mut entry.paid[RECEIVING], blocks(entry.receive.gaps()));
        if needed > *paid {
            if !self.budget.take(of_blocks(needed - *paid), Share::All) {
                return false;
            }
        } else if needed + 1 < *paid {
            self.budget.give(of_blocks(*paid - needed));
        } else {
            return true; // a block more than needed is kept
        }
        *paid = needed;
        true
    }

    /// Lets a stream send more unacknowledged chunks, if its bytes wait for that and there is memory.
    pub(super) fn pay_for_chunks(&mut self, stream: StreamId) {
        let Some(entry) = self.streams.get_mut(&stream).filter(|entry| !entry.is_over) else { return };
        if entry.send.is_crowded() && self.budget.take(of_blocks(1), Share::Most) {
            entry.paid[SENDING] += 1;
            entry.send.set_chunks_most(CHUNKS_FREE + entry.paid[SENDING] as usize * BLOCK);
        }
    }

    /// Gives back the memory of acknowledged chunks.
    pub(super) fn repay_chunks(&mut self, stream: StreamId) {
        let Some(entry) = self.streams.get_mut(&stream).filter(|entry| !entry.is_over) else { return };
        let (paid, needed) = (&mut entry.paid[SENDING], blocks(entry.send.chunks()));
        if needed + 1 < *paid {
            self.budget.give(of_blocks(*paid - needed));
            *paid = needed;
            entry.send.set_chunks_most(CHUNKS_FREE + needed as usize * BLOCK);
        }
    }
}
