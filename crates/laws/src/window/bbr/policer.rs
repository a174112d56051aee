//! BBR's detection of policers: token buckets drop what exceeds a rate, and never delay it.
//!
//! Between losses the average rate is taken over four round trips at least; if a fifth was lost in two such intervals one after
//! the other, and both had the same rate, the path is taken to be policed at it, for 48 round trips.

use super::Delivered;
use evenair_units::Duration;

/// The least and the greatest length of an interval \[round trips\].
const ROUNDS_MIN: u32 = 4;
const ROUNDS_MAX: u32 = 16;
/// Lost of those delivered: 50 of 256.
const LOSS_MIN: f64 = 50.0 / 256.0;
/// Rates are the same within an eighth, or within 4 kb/s of segments of 1460 bytes.
const SAME_SHARE: f64 = 1.0 / 8.0;
const SAME_PPS: f64 = 4000.0 / 8.0 / 1460.0;
/// How long a rate is believed \[round trips\].
const ROUNDS_USED: u32 = 48;

#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub(super) struct Policer {
    /// The interval's beginning, once something was lost.
    from: Option<Delivered>,
    rounds: u32,
    /// The rate of the interval before, or the policer's \[segments/s\].
    rate_pps: Option<f64>,
    is_used: bool,
}

impl Policer {
    pub(super) const fn is_used(&self) -> bool {
        self.is_used
    }

    /// The policer's rate, if there is one \[segments/s\].
    pub(super) const fn rate_pps(&self) -> Option<f64> {
        if self.is_used { self.rate_pps } else { None }
    }

    /// Counts a round trip with the policer's rate; whether they have been enough.
    pub(super) const fn is_stale(&mut self) -> bool {
        self.rounds += 1;
        self.rounds >= ROUNDS_USED
    }

    /// An acknowledgement comes while no policer is known.
    pub(super) fn learn(&mut self, now: Delivered, lost: bool, limited: bool, round_starts: bool) {
        let from = match self.from {
            Some(from) => from,
            // The first loss: from here on its tokens are used up.
            None if lost => {
                self.rounds = 0;
                *self.from.insert(now)
            }
            None => return,
        };
        self.rounds += u32::from(round_starts);
        if limited || self.rounds > ROUNDS_MAX {
            *self = Self::default();
            return;
        }
        if self.rounds < ROUNDS_MIN || !lost {
            return;
        }
        let (delivered, gone) = ((now.total - from.total) as f64, (now.lost - from.lost) as f64);
        let time = now.at.since(from.at);
        if delivered > 0.0 && gone >= LOSS_MIN * delivered && time >= Duration::from_millis(1) {
            self.end_interval(now, delivered / time.as_secs_f64());
        }
    }

    fn end_interval(&mut self, now: Delivered, rate: f64) {
        let same = |before: &f64| {
            let apart = libm::fabs(rate - before);
            apart <= SAME_SHARE * before || apart <= SAME_PPS
        };
        self.rounds = 0;
        if let Some(before) = self.rate_pps.filter(same) {
            (self.rate_pps, self.is_used) = (Some(f64::midpoint(rate, before)), true);
        } else {
            (self.rate_pps, self.from) = (Some(rate), Some(now));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use evenair_units::Instant;

    /// Round trips of 50 ms in each of which so many of a hundred are lost.
    fn rounds(lost_of_100: u64, count: u64) -> Policer {
        let mut policer = Policer::default();
        for round in 0..count {
            let at = Instant::ZERO + Duration::from_millis(50) * round;
            let now = Delivered { at, total: (100 - lost_of_100) * round, lost: lost_of_100 * round };
            if !policer.is_used() {
                policer.learn(now, lost_of_100 > 0, false, true);
            }
        }
        policer
    }

    #[test]
    fn two_intervals_with_much_loss_and_one_rate_are_a_policer() {
        assert_eq!(rounds(30, 5).rate_pps(), None, "one interval is not enough");
        let rate = rounds(30, 12).rate_pps().expect("a policer");
        assert!((rate - 70.0 / 0.05).abs() < 1e-9, "{rate}");
        assert_eq!(rounds(10, 100).rate_pps(), None, "a tenth is not enough");
    }

    #[test]
    fn a_rate_is_believed_for_48_round_trips() {
        let mut policer = rounds(30, 12);
        let round = (1..100).find(|_| policer.is_stale());
        assert_eq!(round, Some(48));
    }
}
