//! RACK-TLP (RFC 8985): losses are found by time, and the end of the data is probed.
//!
//! A segment is lost if a later segment has arrived and the last round trip has passed since; repetitions are judged
//! like originals. If acknowledgements stop coming, one segment more provokes another before the timer gives all up.
//!
//! Here packets of one flow keep their order, so the reordering window is a quarter of the least round trip while nothing is
//! known lost, and none in recovery (section 6.2 step 4); it never adapts.

use super::Phase;
use crate::scoreboard::{DUPLICATE_THRESHOLD, Mark, Scoreboard};
use evenair_units::{Duration, Instant};

/// The time that a receiver may add to a lone segment's round trip before it acknowledges (RFC 8985 section 7.2,
/// `max_ack_delay`; Linux's 200 ms).
pub(super) const ACK_DELAY_MAX: Duration = Duration::from_millis(200);

/// How much later than their events timers of RACK and of probes expire (Linux's `TCP_TIMEOUT_MIN_US`).
pub(super) const TIMER_SLACK: Duration = Duration::from_millis(2);

/// Among the segments known to have arrived, the one sent last.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Rack {
    newest: Option<(Instant, u32)>,
    /// Its round-trip time.
    round_trip: Duration,
}

/// The result of a search for losses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Found {
    /// Segments that are newly lost.
    pub(super) lost: u32,
    /// Repetitions among them.
    pub(super) repetitions: u32,
    /// After this long all segments that are doubtful now will be lost.
    pub(super) look_again_after: Option<Duration>,
}

impl Rack {
    /// A segment is known to have arrived (section 6.2 steps 1 and 2).
    pub(super) fn on_arrival(&mut self, now: Instant, number: u32, mark: Mark, least: Option<Duration>) {
        let round_trip = now.since(mark.sent);
        // Too soon for a repetition: it is the original's acknowledgement.
        if mark.repeated && least.is_some_and(|least| round_trip < least) {
            return;
        }
        self.round_trip = round_trip;
        self.newest = self.newest.max(Some((mark.sent, number)));
    }

    /// How long a segment may stay unacknowledged after a later one has arrived (section 6.2 step 4).
    pub(super) fn reordering_window(
        phase: Phase,
        arrived: u32,
        least: Option<Duration>,
        smoothed: Option<Duration>,
    ) -> Duration {
        if phase != Phase::Open || arrived >= DUPLICATE_THRESHOLD {
            return Duration::ZERO;
        }
        let quarter = least.unwrap_or_default() / 4;
        smoothed.map_or(quarter, |smoothed| quarter.min(smoothed))
    }

    /// How much of a segment's time is left; nothing if it is overdue.
    pub(super) fn left(&self, now: Instant, mark: Mark, window: Duration) -> Duration {
        (self.round_trip + window).saturating_sub(now.since(mark.sent))
    }

    /// Marks the lost segments (section 6.2 step 5).
    pub(super) fn detect(
        &self,
        now: Instant,
        board: &mut Scoreboard,
        oldest: u32,
        window: Duration,
    ) -> Found {
        let mut found = Found::default();
        if board.is_settled() {
            return found;
        }
        found.lost = board.lose_where(|offset, mark| {
            // A later segment has arrived; among segments of one instant the number decides.
            if self.newest <= Some((mark.sent, oldest + offset)) {
                return false;
            }
            let left = self.left(now, mark, window);
            if left.is_zero() {
                found.repetitions += u32::from(mark.repeated);
            } else {
                found.look_again_after = found.look_again_after.max(Some(left));
            }
            left.is_zero()
        });
        found
    }
}

/// A probe of the data's end that is not answered yet (section 7.4).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TailProbe {
    /// Where the data ended when it was sent.
    pub(super) end: u32,
    /// It repeated a segment: if that was needed, a loss has been repaired unseen.
    pub(super) repeated: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn at(ms: u64) -> Instant {
        Instant::from_nanos(ms * 1_000_000)
    }

    /// Segments sent 10 ms apart.
    fn board(sent: u32) -> Scoreboard {
        let mut board = Scoreboard::default();
        (0..sent).for_each(|n| board.push(at(u64::from(n) * 10)));
        board
    }

    fn arrive(rack: &mut Rack, board: &mut Scoreboard, now: Instant, number: u32) {
        let ahead = std::iter::repeat_n(false, number as usize - 1).chain([true]).collect();
        let blocks = crate::SackBlocks::of(0, &ahead, number);
        board.update(0, &blocks, |n, mark| rack.on_arrival(now, n, mark, None));
    }

    #[test]
    fn later_arrival_beyond_reordering_is_a_loss() {
        let (mut rack, mut board) = (Rack::default(), board(4));
        arrive(&mut rack, &mut board, at(110), 1); // round trip 100 ms
        let window = Duration::from_millis(25);
        let found = rack.detect(at(110), &mut board, 0, window);
        // Segment 0 is 110 ms old, and lost at 125; 2 and 3 were sent later than the newest arrival.
        assert_eq!(found, Found { look_again_after: Some(Duration::from_millis(15)), ..Found::default() });
        assert_eq!(rack.detect(at(125), &mut board, 0, window).lost, 1);
        assert_eq!(board.next_lost(), Some(0));
    }

    #[test]
    fn a_lost_repetition_is_found_too() {
        let (mut rack, mut board) = (Rack::default(), board(4));
        board.lose(0);
        board.send_again(0, at(50));
        arrive(&mut rack, &mut board, at(130), 3); // sent at 30: before the repetition
        let found = rack.detect(at(200), &mut board, 0, Duration::ZERO);
        assert_eq!((found.lost, found.repetitions), (2, 0), "1 and 2");
        board.push(at(60));
        arrive(&mut rack, &mut board, at(160), 4);
        let found = rack.detect(at(160), &mut board, 0, Duration::ZERO);
        assert_eq!((found.lost, found.repetitions), (1, 1));
    }

    /// Nothing has been reported out of order: the oldest, sent again at 60 ms, is lost all the same once one that was sent at 200 ms
    /// has arrived.
    #[test]
    fn repetition_is_lost_after_all_before_arrived() {
        let (mut rack, mut board) = (Rack::default(), board(2));
        board.send_again(1, at(60));
        board.send_again(0, at(200));
        rack.on_arrival(at(300), 0, board.pop().unwrap(), None);
        let found = rack.detect(at(300), &mut board, 1, Duration::ZERO);
        assert_eq!((found.lost, found.repetitions), (1, 1));
    }

    #[test]
    fn ack_too_soon_is_of_the_original() {
        let (mut rack, mut board) = (Rack::default(), board(1));
        board.send_again(0, at(99));
        let mark = board.oldest().unwrap();
        rack.on_arrival(at(100), 0, mark, Some(Duration::from_millis(50)));
        assert_eq!(rack.newest, None);
    }
}
