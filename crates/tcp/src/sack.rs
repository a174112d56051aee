//! Selective acknowledgement: the blocks on the wire (RFC 2018) and the sender's scoreboard (RFC 6675).

use std::collections::VecDeque;

/// How many blocks fit beside the timestamps option.
const BLOCKS: usize = 3;

/// Up to three ranges of segments that arrived beyond the acknowledged ones, as distances from the acknowledgement's
/// number; what lies more than 65 535 segments ahead is not reported.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SackBlocks([[u16; 2]; BLOCKS]);

impl SackBlocks {
    /// No block.
    pub const NONE: Self = Self([[0; 2]; BLOCKS]);

    /// What a receiver reports that expects `expected` and has marked in `ahead` which of the segments after it are here,
    /// the block with `latest` first.
    pub(crate) fn of(expected: u32, ahead: &VecDeque<bool>, latest: u32) -> Self {
        let mut blocks = Self::NONE;
        if ahead.is_empty() {
            return blocks;
        }
        let mut next = 0;
        let mut add = |(from, to): (usize, usize)| {
            // Segment `expected + 1 + index` is at `index`.
            if let (Ok(from), Ok(to)) = (u16::try_from(from + 1), u16::try_from(to + 1))
                && next < BLOCKS
            {
                blocks.0[next] = [from, to];
                next += 1;
            }
        };
        let first = latest.checked_sub(expected + 1).and_then(|at| block_around(ahead, at as usize));
        if let Some(block) = first {
            add(block);
        }
        let mut at = 0;
        let mut others = 0;
        while at < ahead.len() && others < BLOCKS {
            match block_around(ahead, at) {
                Some(block) => {
                    if Some(block) != first {
                        add(block);
                        others += 1;
                    }
                    at = block.1;
                }
                None => at += 1,
            }
        }
        blocks
    }

    /// The blocks as segment numbers, the end excluded, of an acknowledgement with this number.
    pub fn blocks(&self, acknowledged: u32) -> impl Iterator<Item = (u32, u32)> + '_ {
        self.0.iter().filter(|block| block[1] > block[0]).map(move |&[from, to]| {
            (acknowledged.saturating_add(u32::from(from)), acknowledged.saturating_add(u32::from(to)))
        })
    }
}

/// The run of marks around an index, its end excluded.
fn block_around(ahead: &VecDeque<bool>, at: usize) -> Option<(usize, usize)> {
    if !ahead.get(at).copied().unwrap_or(false) {
        return None;
    }
    let from = (0..at).rev().find(|&i| !ahead[i]).map_or(0, |gap| gap + 1);
    let to = (at..ahead.len()).find(|&i| !ahead[i]).unwrap_or(ahead.len());
    Some((from, to))
}

/// Duplicates that tell a loss from reordering (RFC 6675 section 2).
pub(crate) const DUPLICATE_THRESHOLD: u32 = 3;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Mark {
    arrived: bool,
    retransmitted: bool,
}

/// What the sender knows of each segment between the oldest unacknowledged and the highest sent.
#[derive(Clone, Debug, Default)]
pub(crate) struct Scoreboard {
    marks: VecDeque<Mark>,
    arrived: u32,
}

impl Scoreboard {
    /// A new segment is sent.
    pub(crate) fn push(&mut self) {
        self.marks.push_back(Mark::default());
    }

    /// The oldest `count` segments are acknowledged; gives how many of them were not known to have arrived.
    pub(crate) fn pop(&mut self, count: u32) -> u32 {
        let before = self.arrived;
        for _ in 0..count {
            let mark = self.marks.pop_front().unwrap_or_default();
            self.arrived -= u32::from(mark.arrived);
        }
        count - (before - self.arrived)
    }

    /// Takes in the blocks of an acknowledgement; gives how many segments they report for the first time.
    pub(crate) fn update(&mut self, oldest: u32, blocks: &SackBlocks) -> u32 {
        let before = self.arrived;
        for (from, to) in blocks.blocks(oldest) {
            for number in from..to {
                if let Some(mark) = self.marks.get_mut((number - oldest) as usize)
                    && !mark.arrived
                {
                    mark.arrived = true;
                    self.arrived += 1;
                }
            }
        }
        self.arrived - before
    }

    /// How many segments are known to have arrived out of order.
    pub(crate) const fn arrived(&self) -> u32 {
        self.arrived
    }

    pub(crate) fn has_arrived(&self, offset: u32) -> bool {
        self.marks.get(offset as usize).is_some_and(|mark| mark.arrived)
    }

    pub(crate) fn mark_retransmitted(&mut self, offset: u32) {
        if let Some(mark) = self.marks.get_mut(offset as usize) {
            mark.retransmitted = true;
        }
    }

    /// After a time-out nothing counts as retransmitted; what arrived stays so (the receivers here never renege).
    pub(crate) fn forget_retransmissions(&mut self) {
        for mark in &mut self.marks {
            mark.retransmitted = false;
        }
    }

    /// Segments below this offset that have not arrived are lost: three or more beyond them have (`IsLost`).
    pub(crate) fn lost_below(&self) -> u32 {
        if self.arrived < DUPLICATE_THRESHOLD {
            return 0;
        }
        let mut seen = 0;
        for (offset, mark) in self.marks.iter().enumerate().rev() {
            seen += u32::from(mark.arrived);
            if seen == DUPLICATE_THRESHOLD {
                return offset as u32;
            }
        }
        0
    }

    /// How many segments are thought to be in the network (`SetPipe`).
    pub(crate) fn pipe(&self, lost_below: u32) -> u32 {
        let in_network = |(offset, mark): (usize, &Mark)| {
            if mark.arrived {
                return 0;
            }
            u32::from(offset as u32 >= lost_below) + u32::from(mark.retransmitted)
        };
        self.marks.iter().enumerate().map(in_network).sum()
    }

    /// The first segment from `from` on that is lost and not retransmitted yet (`NextSeg` rule 1).
    pub(crate) fn next_lost(&self, from: u32, lost_below: u32) -> Option<u32> {
        (from..lost_below).find(|&offset| {
            let mark = self.marks[offset as usize];
            !mark.arrived && !mark.retransmitted
        })
    }

    /// The first from `from` on below the highest arrival that has not arrived and was not retransmitted (rule 3).
    pub(crate) fn next_missing(&self, from: u32) -> Option<u32> {
        let highest = self.marks.iter().rposition(|mark| mark.arrived)? as u32;
        (from..highest).find(|&offset| {
            let mark = self.marks[offset as usize];
            !mark.arrived && !mark.retransmitted
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn board(sent: u32, arrived: &[u32]) -> Scoreboard {
        let mut board = Scoreboard::default();
        for _ in 0..sent {
            board.push();
        }
        for &n in arrived {
            board.marks[n as usize].arrived = true;
            board.arrived += 1;
        }
        board
    }

    #[test]
    fn three_arrivals_beyond_a_segment_make_it_lost() {
        assert_eq!(board(10, &[4, 5]).lost_below(), 0);
        // 3 is beyond 0, 1, 2; only two arrived beyond 4.
        assert_eq!(board(10, &[3, 5, 6]).lost_below(), 3);
    }

    #[test]
    fn the_pipe_counts_what_is_neither_lost_nor_arrived_and_what_was_sent_again() {
        let mut board = board(10, &[3, 5, 6]);
        // Lost: 0, 1, 2. Arrived: 3, 5, 6. In the network: 4, 7, 8, 9.
        assert_eq!(board.pipe(board.lost_below()), 4);
        board.mark_retransmitted(0);
        assert_eq!(board.pipe(board.lost_below()), 5);
        assert_eq!(board.next_lost(0, 3), Some(1));
        assert_eq!(board.next_missing(3), Some(4));
    }
}
