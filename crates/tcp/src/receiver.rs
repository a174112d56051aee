//! The receiving endpoint: puts segments in order and acknowledges them.

use crate::ecn::Echo;
use crate::{SackBlocks, Segment, SegmentKind};
use evenair_units::{Duration, Instant};
use std::collections::VecDeque;

/// When acknowledgements are sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum AckPolicy {
    /// For each segment.
    EachSegment,
    /// For every second segment in order, or after `delay`; at once for a segment out of order (RFC 5681 section 4.2).
    Delayed {
        /// How long an acknowledgement may wait.
        delay: Duration,
        /// So many segments are acknowledged each at the start and after each gap, so that a small window grows again at
        /// once: Linux's 16.
        quick: u32,
    },
}

/// The receiving endpoint of one connection.
#[derive(Clone, Debug)]
pub struct Receiver {
    policy: AckPolicy,
    expected: u32,
    /// Whether each segment after the expected segment is here.
    ahead: VecDeque<bool>,
    /// The last segment that came out of order: its block is reported first (RFC 2018 section 4).
    latest: u32,
    /// Timestamp of the segment that the next acknowledgement answers (RFC 7323 section 4.3).
    echo: u32,
    unacknowledged: u32,
    ack_due: Instant,
    /// How many more segments are acknowledged one by one.
    quick: u32,
    duplicates: u64,
    echo_of_marks: Echo,
}

impl Receiver {
    /// Nothing received yet.
    pub const fn new(policy: AckPolicy) -> Self {
        Self {
            policy,
            expected: 0,
            ahead: VecDeque::new(),
            latest: 0,
            echo: 0,
            unacknowledged: 0,
            ack_due: Instant::NEVER,
            quick: match policy {
                AckPolicy::EachSegment => 0,
                AckPolicy::Delayed { quick, .. } => quick,
            },
            duplicates: 0,
            echo_of_marks: Echo::OFF,
        }
    }

    /// How many segments were handed to the application, in order, each once.
    pub const fn in_order(&self) -> u32 {
        self.expected
    }

    /// How many segments arrived again.
    pub const fn duplicates(&self) -> u64 {
        self.duplicates
    }

    /// A segment arrives; gives the answer to send at once, if any.
    pub fn handle_segment(&mut self, now: Instant, segment: Segment) -> Option<Segment> {
        match segment.kind {
            SegmentKind::Syn => {
                Some(Segment { stamp: segment.stamp, ..Segment::plain(SegmentKind::SynAck, 0) })
            }
            SegmentKind::Fin => Some(Segment::plain(SegmentKind::FinAck, self.expected)),
            SegmentKind::Data => {
                self.echo_of_marks.handle_data(segment.ecn);
                // The oldest segment that is not acknowledged yet, so that a delayed acknowledgement measures the delay.
                if self.unacknowledged == 0 && segment.number <= self.expected {
                    self.echo = segment.stamp;
                }
                self.handle_data(now, segment.number)
            }
            _ => None,
        }
    }

    fn handle_data(&mut self, now: Instant, number: u32) -> Option<Segment> {
        let had_gap = !self.ahead.is_empty();
        let in_order = number == self.expected;
        self.keep(number);
        match self.policy {
            AckPolicy::EachSegment => Some(self.acknowledge()),
            AckPolicy::Delayed { delay, quick } => {
                self.unacknowledged += 1;
                // RFC 5681 section 4.2: at once when a gap appears, persists or is filled.
                if !in_order || had_gap {
                    self.quick = quick;
                    return Some(self.acknowledge());
                }
                if self.unacknowledged >= 2 || self.quick > 0 {
                    self.quick = self.quick.saturating_sub(1);
                    return Some(self.acknowledge());
                }
                self.ack_due = now + delay;
                None
            }
        }
    }

    fn keep(&mut self, number: u32) {
        let Some(offset) = number.checked_sub(self.expected) else {
            self.duplicates += 1;
            return;
        };
        if offset == 0 {
            self.expected += 1;
            while self.ahead.pop_front() == Some(true) {
                self.expected += 1;
            }
            // The slot popped last stood for the segment that is expected now.
            return;
        }
        self.latest = number;
        let index = offset as usize - 1;
        if self.ahead.len() <= index {
            self.ahead.resize(index + 1, false);
        }
        self.duplicates += u64::from(std::mem::replace(&mut self.ahead[index], true));
    }

    fn acknowledge(&mut self) -> Segment {
        self.unacknowledged = 0;
        self.ack_due = Instant::NEVER;
        let sack = SackBlocks::of(self.expected, &self.ahead, self.latest);
        let ecn = self.echo_of_marks.told();
        Segment { stamp: self.echo, sack, ecn, ..Segment::plain(SegmentKind::Ack, self.expected) }
    }

    /// When a delayed acknowledgement is due.
    pub const fn poll_timeout(&self) -> Instant {
        self.ack_due
    }

    /// A delayed acknowledgement, if it is due.
    pub fn handle_timeout(&mut self, now: Instant) -> Option<Segment> {
        (now >= self.ack_due).then(|| self.acknowledge())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn data(number: u32) -> Segment {
        Segment::plain(SegmentKind::Data, number)
    }

    #[test]
    fn gap_repeats_ack_until_it_is_filled() {
        let mut receiver = Receiver::new(AckPolicy::EachSegment);
        let acks: Vec<u32> = [0, 2, 3, 1, 1]
            .into_iter()
            .map(|n| receiver.handle_segment(Instant::ZERO, data(n)).unwrap().number)
            .collect();
        assert_eq!(acks, [1, 1, 1, 4, 4]);
        assert_eq!(receiver.duplicates(), 1);
    }

    /// RFC 7323 section 3.2: the SYN-ACK echoes the SYN's timestamp.
    #[test]
    fn syn_is_answered_with_its_stamp() {
        let mut receiver = Receiver::new(AckPolicy::EachSegment);
        let syn = Segment { stamp: 1234, ..Segment::plain(SegmentKind::Syn, 0) };
        let answer = receiver.handle_segment(Instant::ZERO, syn).unwrap();
        assert_eq!((answer.kind, answer.stamp, answer.number), (SegmentKind::SynAck, 1234, 0));
    }

    #[test]
    fn delayed_acks_come_in_pairs_late_or_at_once() {
        let delay = Duration::from_millis(100);
        let mut receiver = Receiver::new(AckPolicy::Delayed { delay, quick: 0 });
        assert_eq!(receiver.handle_segment(Instant::ZERO, data(0)), None);
        assert_eq!(receiver.handle_segment(Instant::ZERO, data(1)).unwrap().number, 2);
        assert_eq!(receiver.handle_segment(Instant::ZERO, data(2)), None);
        assert_eq!(receiver.poll_timeout(), Instant::ZERO + delay);
        assert_eq!(receiver.handle_timeout(Instant::ZERO + delay).unwrap().number, 3);
        assert_eq!(receiver.handle_segment(Instant::ZERO, data(4)).unwrap().number, 3);
        assert_eq!(receiver.handle_segment(Instant::ZERO, data(3)).unwrap().number, 5);
    }

    #[test]
    fn first_segments_and_those_after_gaps_are_acked() {
        let delay = Duration::from_millis(40);
        let mut receiver = Receiver::new(AckPolicy::Delayed { delay, quick: 2 });
        let mut answers = |numbers: &[u32]| -> Vec<bool> {
            numbers.iter().map(|&n| receiver.handle_segment(Instant::ZERO, data(n)).is_some()).collect()
        };
        assert_eq!(answers(&[0, 1, 2, 3, 4]), [true, true, false, true, false]);
        assert_eq!(answers(&[6, 5, 7, 8, 9, 10]), [true, true, true, true, false, true]);
    }

    /// RFC 7323 section 4.3: a delayed acknowledgement echoes the earliest segment that it acknowledges, and one for a
    /// segment out of order the last one that moved the window; the one that fills the hole is echoed itself.
    #[test]
    fn echo_is_the_earliest_unacked_stamp() {
        let policy = AckPolicy::Delayed { delay: Duration::from_millis(100), quick: 0 };
        let mut receiver = Receiver::new(policy);
        let mut answer = |number, stamp| {
            let segment = Segment { stamp, ..data(number) };
            receiver.handle_segment(Instant::ZERO, segment).map(|ack| (ack.number, ack.stamp))
        };
        assert_eq!(answer(0, 10), None);
        assert_eq!(answer(1, 20), Some((2, 10)), "the earlier of two");
        assert_eq!(answer(3, 30), Some((2, 10)), "2 is missing");
        assert_eq!(answer(2, 40), Some((4, 40)));
        assert_eq!(answer(4, 50), None);
        assert_eq!(answer(5, 60), Some((6, 50)));
    }

    #[test]
    fn blocks_report_the_latest_arrival_first() {
        let mut receiver = Receiver::new(AckPolicy::EachSegment);
        let mut last = Vec::new();
        for n in [2, 3, 5, 8, 3] {
            last = receiver.handle_segment(Instant::ZERO, data(n)).unwrap().sack.blocks(0).collect();
        }
        assert_eq!(last, [(2, 4), (5, 6), (8, 9)]);
        let with_9: Vec<_> =
            receiver.handle_segment(Instant::ZERO, data(9)).unwrap().sack.blocks(0).collect();
        assert_eq!(with_9, [(8, 10), (2, 4), (5, 6)]);
        let filled: Vec<_> =
            [0, 1].map(|n| receiver.handle_segment(Instant::ZERO, data(n)).unwrap()).to_vec();
        assert_eq!(filled[1].number, 4);
        assert_eq!(filled[1].sack.blocks(4).collect::<Vec<_>>(), [(8, 10), (5, 6)]);
    }

    proptest! {
        /// For any order and repetitions, each segment is handed up once and in order.
        #[test]
        fn every_segment_is_delivered_once(numbers in prop::collection::vec(0u32..40, 0..300)) {
            let mut receiver = Receiver::new(AckPolicy::EachSegment);
            let mut seen = std::collections::BTreeSet::new();
            let mut repeated = 0;
            for number in numbers {
                repeated += u64::from(!seen.insert(number));
                let ack = receiver.handle_segment(Instant::ZERO, data(number)).unwrap();
                let contiguous = (0..41).find(|n| !seen.contains(n)).unwrap();
                prop_assert_eq!(ack.number, contiguous);
            }
            prop_assert_eq!(receiver.duplicates(), repeated);
        }
    }
}
