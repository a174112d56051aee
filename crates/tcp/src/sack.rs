//! Selective acknowledgement: the blocks on the wire (RFC 2018).

use std::collections::VecDeque;
use std::ops::Range;

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
        if ahead.is_empty() {
            return Self::NONE;
        }
        let mut blocks = Self::NONE;
        // Segment `expected + 1 + index` is at `index`.
        let latest = latest.checked_sub(expected + 1).map(|index| index as usize);
        let first = runs(ahead).find(|run| latest.is_some_and(|index| run.contains(&index)));
        let others = runs(ahead).filter(|run| Some(run) != first.as_ref());
        let in_reach =
            first.iter().cloned().chain(others).filter_map(|run| {
                Some([u16::try_from(run.start + 1).ok()?, u16::try_from(run.end + 1).ok()?])
            });
        blocks.0.iter_mut().zip(in_reach).for_each(|(block, run)| *block = run);
        blocks
    }

    /// The blocks as segment numbers, the end excluded, of an acknowledgement with this number.
    pub fn blocks(&self, acknowledged: u32) -> impl Iterator<Item = (u32, u32)> + '_ {
        self.0.iter().filter(|block| block[1] > block[0]).map(move |&[from, to]| {
            (acknowledged.saturating_add(u32::from(from)), acknowledged.saturating_add(u32::from(to)))
        })
    }
}

/// The runs of marks, as ranges of indices.
fn runs(ahead: &VecDeque<bool>) -> impl Iterator<Item = Range<usize>> + '_ {
    let mut end = 0;
    std::iter::from_fn(move || {
        let start = end + ahead.range(end..).position(|&here| here)?;
        end = ahead.range(start..).position(|&here| !here).map_or(ahead.len(), |length| start + length);
        Some(start..end)
    })
}
