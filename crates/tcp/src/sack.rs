//! Selective acknowledgement: the blocks on the wire (RFC 2018).

use std::collections::VecDeque;

/// How many blocks fit beside the timestamps option.
const BLOCKS: usize = 3;

/// Up to three ranges of segments that arrived beyond the acknowledged ones, as distances from the acknowledgement's
/// number; segments more than 65 535 ahead are not reported.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SackBlocks([[u16; 2]; BLOCKS]);

impl SackBlocks {
    /// No block.
    pub const NONE: Self = Self([[0; 2]; BLOCKS]);

    /// The report of a receiver that expects `expected` and has marked in `ahead` the segments after it that are here, the
    /// block with `latest` first.
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
