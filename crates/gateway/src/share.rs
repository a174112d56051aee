//! Divides one bucket for both directions between the kernel's two trees, one for each direction.
//!
//! One bucket would serve all backlogged classes packet by packet, by weight, and give no class more
//! than it needs. So each tree's ceiling is the sum of those rates over its direction's classes. It is
//! computed at every sample of the backlogs, every 0.1 s. So one direction keeps the other's rate for
//! 0.1 s at most, not for an epoch.

use crate::Side;
use crate::backlogs::SAMPLE_INTERVAL;
use evenair_units::Duration;
use std::collections::BTreeMap;

/// Time for which a class counts after its last backlog. A queue of four packets is empty now and then,
/// though TCP fills it.
const MEMORY: Duration = Duration::from_millis(500);
/// Smallest share of samples with a backlog that counts.
const NOTHING: f64 = 0.02;

/// The demand of a class on the common bucket.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Wish {
    /// The weight: two backlogged classes get rates in proportion to theirs.
    pub(crate) weight: f64,
    /// The largest rate that it takes \[bit/s\]; infinite for a class with a backlog in this bucket.
    pub(crate) up_to: f64,
}

/// Returns each direction's share of a bucket \[bit/s\]: max-min by weight. Backlogged classes get the
/// rate that others leave. Each direction gets `door`, the reserved minimum, at least (half of all, if
/// that is less), so that a new sender need not wait for the next sample.
///
/// The shares sum to the bucket's rate if both directions want more than they get. If one wants less,
/// its reserved minimum is also the other's. If no class is backlogged, each direction gets all that
/// the other does not take.
pub(crate) fn split(total: f64, door: f64, wishes: [&[Wish]; 2]) -> [f64; 2] {
    let door = door.min(total / 2.0);
    let level = level(total, wishes);
    let takes = wishes.map(|side| side.iter().map(|wish| wish.up_to.min(wish.weight * level)).sum::<f64>());
    let wants_more = wishes.map(|side| side.iter().any(|wish| wish.up_to > wish.weight * level));
    let [down, up] = [total - takes[1], total - takes[0]];
    match [down < door, up < door] {
        [true, _] => [door, if wants_more[0] { total - door } else { up }],
        [_, true] => [if wants_more[1] { total - door } else { down }, door],
        _ => [down, up],
    }
}

/// Returns the max-min rate of a backlogged class of weight 1 \[bit/s\]; infinite if no class is
/// backlogged.
fn level(total: f64, wishes: [&[Wish]; 2]) -> f64 {
    let mut all: Vec<Wish> = wishes.concat();
    all.retain(|wish| wish.weight > 0.0);
    all.sort_by(|a, b| (a.up_to / a.weight).total_cmp(&(b.up_to / b.weight)));
    let (mut left, mut weight) = (total, all.iter().map(|wish| wish.weight).sum::<f64>());
    for wish in all {
        let level = left.max(0.0) / weight;
        if wish.up_to > wish.weight * level {
            return level;
        }
        (left, weight) = (left - wish.up_to, weight - wish.weight);
    }
    f64::INFINITY
}

/// The backlogged classes, from the samples of the last half second.
#[derive(Clone, Debug, Default)]
pub(crate) struct Waiting(BTreeMap<(Side, u16), f64>);

impl Waiting {
    /// Adds a sample of a side's backlogs \[packets\], by class.
    pub(crate) fn look(&mut self, side: Side, lines: &BTreeMap<u16, u64>) {
        let gain = SAMPLE_INTERVAL.as_secs_f64() / MEMORY.as_secs_f64();
        for ((_, minor), part) in self.0.iter_mut().filter(|(class, _)| class.0 == side) {
            let waits = lines.get(minor).is_some_and(|&packets| packets > 0);
            *part += gain * (f64::from(u8::from(waits)) - *part);
        }
        for (&minor, _) in lines.iter().filter(|(_, packets)| **packets > 0) {
            self.0.entry((side, minor)).or_insert(gain);
        }
        self.0.retain(|_, part| *part > NOTHING);
    }

    /// Returns the backlogged classes, each with the part of the last half second in which it had a
    /// backlog.
    pub(crate) fn parts(&self) -> impl Iterator<Item = ((Side, u16), f64)> {
        self.0.iter().map(|(&class, &part)| (class, part))
    }

    /// Returns whether a class was backlogged.
    pub(crate) fn has(&self, class: (Side, u16)) -> bool {
        self.0.contains_key(&class)
    }
}

#[cfg(test)]
#[expect(clippy::float_cmp, reason = "whole numbers, and what is left as it is")]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const ALL: f64 = f64::INFINITY;

    fn of(weight: f64, up_to: f64) -> Wish {
        Wish { weight, up_to }
    }

    #[test]
    fn three_backlogged_of_five_get_three_fifths() {
        let [three, two] = [[of(1.0, ALL); 3].to_vec(), [of(1.0, ALL); 2].to_vec()];
        assert_eq!(split(1000.0, 100.0, [&three, &two]), [600.0, 400.0]);
        // A page's demand of 50 is subtracted first.
        let two_and_a_page = [two, vec![of(1.0, 50.0)]].concat();
        assert_eq!(split(1000.0, 100.0, [&three, &two_and_a_page]), [570.0, 430.0]);
        // A weight of two counts twice.
        assert_eq!(split(900.0, 100.0, [&[of(2.0, ALL)], &[of(1.0, ALL)]]), [600.0, 300.0]);
    }

    #[test]
    fn lone_class_has_all_but_reserve() {
        assert_eq!(split(1000.0, 250.0, [&[of(1.0, ALL)], &[]]), [1000.0, 250.0]);
        assert_eq!(split(1000.0, 250.0, [&[of(1.0, ALL)], &[of(1.0, 100.0)]]), [900.0, 250.0]);
        assert_eq!(split(1000.0, 250.0, [&[], &[]]), [1000.0, 1000.0]);
        assert_eq!(split(1000.0, 250.0, [&[of(1.0, 300.0)], &[of(1.0, 100.0)]]), [900.0, 700.0]);
        // Hardly any load, but one backlogged class: it has the reserved minimum.
        assert_eq!(split(1000.0, 250.0, [&[of(0.9, ALL)], &[of(0.1, ALL)]]), [750.0, 250.0]);
    }

    fn wishes() -> impl Strategy<Value = Vec<Wish>> {
        let up_to = prop_oneof![Just(ALL), 0.0..2e6_f64];
        proptest::collection::vec((0.05..4.0_f64, up_to).prop_map(|(weight, up_to)| of(weight, up_to)), 0..8)
    }

    proptest! {
        #[test]
        fn shares_sum_to_rate_and_are_positive(
            total in 1e4..1e7_f64, door in 0.0..1e7_f64, down in wishes(), up in wishes(),
        ) {
            let shares = split(total, door, [&down, &up]);
            let (door, sum) = (door.min(total / 2.0), shares[0] + shares[1]);
            let slack = total * 1e-9;
            for share in shares {
                prop_assert!(share >= door - slack && share <= total + slack, "{shares:?}");
            }
            prop_assert!(sum >= total - slack, "nothing is lost: {shares:?}");
            let wants = [&down, &up].map(|side| side.iter().map(|wish| wish.up_to).sum::<f64>());
            if wants[0] > shares[0] + slack && wants[1] > shares[1] + slack {
                prop_assert!((sum - total).abs() <= slack, "both want more: {shares:?} of {total}");
            }
            if wants[0].is_infinite() || wants[1].is_infinite() {
                prop_assert!(sum <= total + door + slack, "no more than a door is given twice: {shares:?} of {total}");
            }
            // A direction that is alone gets all.
            prop_assert_eq!(split(total, door, [&down, &[]])[0], total);
            prop_assert_eq!(split(total, door, [&[], &up])[1], total);
            // The result does not depend on the order of the directions.
            let [b, a] = split(total, door, [&up, &down]);
            prop_assert!((a - shares[0]).abs() <= slack && (b - shares[1]).abs() <= slack);
        }

        #[test]
        fn no_class_exceeds_backlogged_by_weight(
            total in 1e4..1e7_f64, down in wishes(), up in wishes(),
        ) {
            let [a, b] = [&down, &up].map(|side| side.iter().filter(|wish| wish.up_to.is_infinite()).map(|wish| wish.weight).sum::<f64>());
            prop_assume!(a > 0.0 && b > 0.0);
            let level = level(total, [&down, &up]);
            let shares = split(total, 0.0, [&down, &up]);
            for (side, share) in [&down, &up].into_iter().zip(shares) {
                let takes: f64 = side.iter().map(|wish| wish.up_to.min(level * wish.weight)).sum();
                prop_assert!((takes - share).abs() <= total * 1e-9, "{takes} of {share}");
            }
        }
    }

    #[test]
    fn backlog_is_known_after_half_a_second() {
        let mut waiting = Waiting::default();
        let part = |waiting: &Waiting| waiting.parts().next().map_or(0.0, |(_, part)| part);
        waiting.look(Side::Up, &[(0x10, 3), (0x11, 0)].into());
        assert!((part(&waiting) - 0.2).abs() < 1e-9 && !waiting.has((Side::Up, 0x11)));
        for _ in 0..20 {
            waiting.look(Side::Up, &[(0x10, 3)].into());
            // The other side's samples do not change this one.
            waiting.look(Side::Down, &BTreeMap::new());
        }
        assert!(part(&waiting) > 0.98);
        waiting.look(Side::Up, &[(0x10, 0)].into());
        assert!(part(&waiting) > 0.78, "one look without a line is no end");
        for _ in 0..20 {
            // A class without samples has no backlog.
            waiting.look(Side::Up, &BTreeMap::new());
        }
        assert!(!waiting.has((Side::Up, 0x10)));
    }
}
