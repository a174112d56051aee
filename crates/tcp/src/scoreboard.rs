//! A sender's knowledge of each segment under way, by selective acknowledgements (RFC 6675 section 3, RFC 8985 section 5).

use crate::SackBlocks;
use evenair_units::Instant;
use std::collections::VecDeque;

/// Arrivals beyond a segment that distinguish its loss from reordering (RFC 6675 section 2).
pub(crate) const DUPLICATE_THRESHOLD: u32 = 3;

/// A segment's presumed state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fate {
    /// In the network.
    UnderWay,
    /// In the network twice: sent again without a sign of loss.
    Doubled,
    /// Lost, and not sent again yet.
    Lost,
    /// Lost, and its repetition is in the network.
    SentAgain,
    /// Selectively acknowledged.
    Arrived,
}

impl Fate {
    /// How many copies are in the network.
    const fn copies(self) -> u32 {
        match self {
            Self::Lost | Self::Arrived => 0,
            Self::UnderWay | Self::SentAgain => 1,
            Self::Doubled => 2,
        }
    }
}

/// One segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Mark {
    pub(crate) fate: Fate,
    /// When it was sent last.
    pub(crate) sent: Instant,
    /// It was sent more than once: its round trip is ambiguous (Karn).
    pub(crate) repeated: bool,
}

/// The segments between the oldest unacknowledged and the highest sent, by their distance from the former.
#[derive(Clone, Debug, Default)]
pub(crate) struct Scoreboard {
    marks: VecDeque<Mark>,
    arrived: u32,
    /// Lost and not sent again.
    lost: u32,
    /// Lost and sent again.
    sent_again: u32,
    /// Copies thought to be in the network.
    pipe: u32,
}

impl Scoreboard {
    /// A new segment is sent.
    pub(crate) fn push(&mut self, now: Instant) {
        self.marks.push_back(Mark { fate: Fate::UnderWay, sent: now, repeated: false });
        self.pipe += 1;
    }

    /// The oldest segment is acknowledged.
    pub(crate) fn pop(&mut self) -> Option<Mark> {
        let mark = self.marks.pop_front()?;
        self.forget(mark.fate);
        Some(mark)
    }

    fn forget(&mut self, fate: Fate) {
        self.arrived -= u32::from(fate == Fate::Arrived);
        self.lost -= u32::from(fate == Fate::Lost);
        self.sent_again -= u32::from(fate == Fate::SentAgain);
        self.pipe -= fate.copies();
    }

    fn set(&mut self, offset: u32, fate: Fate) {
        let Some(mark) = self.marks.get_mut(offset as usize) else { return };
        let before = std::mem::replace(&mut mark.fate, fate);
        self.arrived += u32::from(fate == Fate::Arrived);
        self.lost += u32::from(fate == Fate::Lost);
        self.sent_again += u32::from(fate == Fate::SentAgain);
        self.pipe += fate.copies();
        self.forget(before);
    }

    /// A segment is sent again.
    pub(crate) fn send_again(&mut self, offset: u32, now: Instant) {
        let Some(mark) = self.marks.get_mut(offset as usize) else { return };
        (mark.sent, mark.repeated) = (now, true);
        let fate = if mark.fate == Fate::UnderWay { Fate::Doubled } else { Fate::SentAgain };
        self.set(offset, fate);
    }

    /// A segment is found lost, and its repetition too.
    #[cfg(test)]
    pub(crate) fn lose(&mut self, offset: u32) {
        self.set(offset, Fate::Lost);
    }

    /// Declares lost the segments in the network for which this is true, and their repetitions; gives how many.
    pub(crate) fn lose_where(&mut self, mut is_lost: impl FnMut(u32, Mark) -> bool) -> u32 {
        let mut count = 0;
        for offset in 0..self.marks.len() as u32 {
            let mark = self.marks[offset as usize];
            if mark.fate.copies() > 0 && is_lost(offset, mark) {
                self.set(offset, Fate::Lost);
                count += 1;
            }
        }
        count
    }

    /// Takes in the blocks of an acknowledgement; calls `arrival` for each segment that they report for the
    /// first time.
    pub(crate) fn update(&mut self, oldest: u32, blocks: &SackBlocks, mut arrival: impl FnMut(u32, Mark)) {
        for (from, to) in blocks.blocks(oldest) {
            for offset in from - oldest..to - oldest {
                if let Some(&mark) = self.marks.get(offset as usize)
                    && mark.fate != Fate::Arrived
                {
                    self.set(offset, Fate::Arrived);
                    arrival(oldest + offset, mark);
                }
            }
        }
    }

    /// The segments, the oldest first.
    pub(crate) fn marks(&self) -> impl DoubleEndedIterator<Item = (u32, Mark)> + '_ {
        self.marks.iter().enumerate().map(|(offset, &mark)| (offset as u32, mark))
    }

    /// The oldest segment.
    pub(crate) fn oldest(&self) -> Option<Mark> {
        self.marks.front().copied()
    }

    /// How many segments are known to have arrived out of order.
    pub(crate) const fn arrived(&self) -> u32 {
        self.arrived
    }

    /// How many were found lost and are not known to have arrived, sent again or not.
    pub(crate) const fn missing(&self) -> u32 {
        self.lost + self.sent_again
    }

    /// How many are lost and not sent again.
    #[cfg(test)]
    pub(crate) const fn lost(&self) -> u32 {
        self.lost
    }

    /// How many copies are thought to be in the network (`SetPipe`).
    pub(crate) const fn pipe(&self) -> u32 {
        self.pipe
    }

    /// Whether all segments are in the network, each once: nothing can be found lost.
    pub(crate) fn is_settled(&self) -> bool {
        self.arrived == 0 && self.lost == 0 && self.marks.front().is_none_or(|mark| !mark.repeated)
    }

    /// Segments below this offset that have not arrived are lost: three or more beyond them have arrived (`IsLost`).
    pub(crate) fn lost_below(&self) -> u32 {
        if self.arrived < DUPLICATE_THRESHOLD {
            return 0;
        }
        let mut seen = 0;
        for (offset, mark) in self.marks().rev() {
            seen += u32::from(mark.fate == Fate::Arrived);
            if seen == DUPLICATE_THRESHOLD {
                return offset;
            }
        }
        0
    }

    /// The first segment that is lost and not sent again (`NextSeg` rule 1).
    pub(crate) fn next_lost(&self) -> Option<u32> {
        if self.lost == 0 {
            return None;
        }
        self.marks().find(|(_, mark)| mark.fate == Fate::Lost).map(|(offset, _)| offset)
    }

    /// The first below the highest arrival that has neither arrived nor been sent again (`NextSeg` rule 3).
    pub(crate) fn next_missing(&self) -> Option<u32> {
        let highest = self.marks.iter().rposition(|mark| mark.fate == Fate::Arrived)?;
        let missing = self.marks.iter().take(highest).position(|mark| mark.fate == Fate::UnderWay);
        missing.map(|offset| offset as u32)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn board(sent: u32, arrived: &[u32]) -> Scoreboard {
        let mut board = Scoreboard::default();
        for _ in 0..sent {
            board.push(Instant::ZERO);
        }
        for &n in arrived {
            board.set(n, Fate::Arrived);
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
    fn pipe_counts_outstanding_and_retransmitted() {
        let mut board = board(10, &[3, 5, 6]);
        assert_eq!(board.pipe(), 7);
        for offset in 0..3 {
            board.lose(offset);
        }
        // Lost: 0, 1, 2. Arrived: 3, 5, 6. In the network: 4, 7, 8, 9.
        assert_eq!((board.pipe(), board.lost, board.missing()), (4, 3, 3));
        board.send_again(0, Instant::ZERO);
        assert_eq!((board.pipe(), board.lost, board.missing()), (5, 2, 3));
        assert_eq!(board.next_lost(), Some(1));
        assert_eq!(board.next_missing(), Some(4));
        board.send_again(9, Instant::ZERO);
        assert_eq!(board.pipe(), 6, "a probe is in the network beside its original");
        board.send_again(4, Instant::ZERO);
        assert_eq!(
            board.next_missing(),
            None,
            "RFC 6675 section 4, NextSeg rule 3: nothing beyond the last report"
        );
    }

    #[test]
    fn acknowledged_segments_leave_all_counts() {
        let mut board = board(4, &[1]);
        board.lose(0);
        board.send_again(2, Instant::ZERO);
        while board.pop().is_some() {}
        assert_eq!((board.pipe(), board.missing(), board.arrived()), (0, 0, 0));
        assert!(board.is_settled());
    }
}
