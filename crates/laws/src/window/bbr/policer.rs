//! BBR's detection of policers: token buckets that drop traffic above a rate, and never delay it.
//!
//! Between losses the average rate is taken over four round trips at least. The path counts as policed at it
//! for 48 round trips, if a fifth was lost in two such intervals in a row and both had the same rate.

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
/// How long a rate is used \[round trips\].
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
    fn two_lossy_intervals_of_one_rate_are_a_policer() {
        assert_eq!(rounds(30, 5).rate_pps(), None, "one interval is not enough");
        let rate = rounds(30, 12).rate_pps().expect("a policer");
        assert!((rate - 70.0 / 0.05).abs() < 1e-9, "{rate}");
        assert_eq!(rounds(10, 100).rate_pps(), None, "a tenth is not enough");
    }

    /// Linux's `bbr_lt_bw_sampling`: an interval begins with the first loss and has four round trips at least (`lt_intvl_min_rtts`), four
    /// times as many at most; the application's limit ends it.
    #[test]
    fn interval_has_from_four_to_sixteen_rounds() {
        let told = |loss_rounds: &[u64], limited: Option<u64>| {
            let mut policer = Policer::default();
            for round in 0..20 {
                let is_lost = loss_rounds.contains(&round);
                let at = Instant::ZERO + Duration::from_millis(50) * round;
                let now = Delivered { at, total: 70 * round, lost: 30 * round };
                policer.learn(now, is_lost, limited == Some(round), true);
            }
            policer.rate_pps
        };
        assert_eq!(told(&[], None), None, "no loss, no interval");
        // The round in which it begins is counted.
        assert_eq!(told(&[1, 3], None), None);
        assert_eq!(told(&[1, 4], None).map(f64::round), Some(1400.0), "70 in 50 ms");
        assert_eq!(told(&[1, 16], None).map(f64::round), Some(1400.0));
        assert_eq!(told(&[1, 17], None), None);
        assert_eq!(told(&[1, 4], Some(2)), None);
    }

    /// Without a delivery there is no rate; 50 of 256 lost is the least that is much.
    #[test]
    fn interval_needs_deliveries_and_losses() {
        for (total, lost, counts) in [(0, 30, false), (256, 49, false), (256, 50, true)] {
            let mut policer = Policer::default();
            for round in 0..5 {
                let at = Instant::ZERO + Duration::from_millis(50) * round;
                let share = |all: u64| if round == 4 { all } else { 0 };
                policer.learn(Delivered { at, total: share(total), lost: share(lost) }, true, false, true);
            }
            assert_eq!(policer.rate_pps.is_some(), counts, "{lost} lost, {total} delivered");
        }
    }

    /// `bbr_lt_bw_interval_done`: within an eighth, or within 4 kb/s: 0.342 segments of 1460 bytes a second. Their mean is the rate.
    #[test]
    fn rates_are_the_same_within_an_eighth_or_4_kbps() {
        let now = Delivered::default();
        for (before, rate, same) in [
            (100.0, 112.5, true),
            (100.0, 112.6, false),
            (100.0, 87.5, true),
            (100.0, 87.4, false),
            (1.0, 1.34, true),
            (1.0, 1.35, false),
        ] {
            let mut policer = Policer { rate_pps: Some(before), ..Policer::default() };
            policer.end_interval(now, rate);
            assert_eq!(policer.is_used(), same, "{before} {rate}");
            assert!(policer.rate_pps().is_none_or(|mean| (mean - f64::midpoint(before, rate)).abs() < 1e-12));
        }
    }

    #[test]
    fn policer_rate_lasts_48_round_trips() {
        let mut policer = rounds(30, 12);
        let round = (1..100).find(|_| policer.is_stale());
        assert_eq!(round, Some(48));
    }
}
