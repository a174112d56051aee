//! How much of one bucket for both directions each direction has, where the kernel has a tree for each.
//!
//! One bucket would serve, packet by packet, whoever waits: by weight, and nobody more than it wants. So the two trees' ceilings are what
//! that gives in sum to each direction's classes, found anew at every look at the lines: a tenth of a second, not an epoch, is how long
//! either direction may have what the other has begun to want.

use crate::Side;
use crate::looks::EVERY;
use evenair_units::Duration;
use std::collections::BTreeMap;

/// How long a class counts for something after its line was seen last: a line of four packets is empty now and then, though TCP fills it.
const MEMORY: Duration = Duration::from_millis(500);
/// Whose line was seen so seldom does not wait.
const NOTHING: f64 = 0.02;

/// What somebody would take of a bucket that all share.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Wish {
    /// Of two who wait, each has in proportion to this.
    pub(crate) weight: f64,
    /// It takes no more \[bit/s\]; infinite, of who waits for this bucket.
    pub(crate) up_to: f64,
}

/// The shares of a bucket that each direction has \[bit/s\]: max-min by weight. Whoever still waits has all that others leave; each direction has `door`
/// at least (half of all, if that is less), so that who begins there need not wait until he was seen.
///
/// The shares sum to the bucket's rate where both directions want more than they have. Where one wants less, what is kept open for it is the other's
/// as well, and where nobody waits each direction has all that the other does not take.
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

/// What one of weight 1 has who waits \[bit/s\]; infinite, where all have what they want.
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

/// Who waits, as the looks at the lines of the last half a second tell.
#[derive(Clone, Debug, Default)]
pub(crate) struct Waiting(BTreeMap<(Side, u16), f64>);

impl Waiting {
    /// So many packets wait of each class of a side that was looked at.
    pub(crate) fn look(&mut self, side: Side, lines: &BTreeMap<u16, u64>) {
        let gain = EVERY.as_secs_f64() / MEMORY.as_secs_f64();
        for ((_, minor), part) in self.0.iter_mut().filter(|(class, _)| class.0 == side) {
            let waits = lines.get(minor).is_some_and(|&packets| packets > 0);
            *part += gain * (f64::from(u8::from(waits)) - *part);
        }
        for (&minor, _) in lines.iter().filter(|(_, packets)| **packets > 0) {
            self.0.entry((side, minor)).or_insert(gain);
        }
        self.0.retain(|_, part| *part > NOTHING);
    }

    /// For which part of the last half a second each class waited, of those who did.
    pub(crate) fn parts(&self) -> impl Iterator<Item = ((Side, u16), f64)> {
        self.0.iter().map(|(&class, &part)| (class, part))
    }

    /// Whether a class waited.
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
    fn three_who_wait_beside_two_have_three_fifths() {
        let [three, two] = [[of(1.0, ALL); 3].to_vec(), [of(1.0, ALL); 2].to_vec()];
        assert_eq!(split(1000.0, 100.0, [&three, &two]), [600.0, 400.0]);
        // A page's 50 come off the top.
        let two_and_a_page = [two, vec![of(1.0, 50.0)]].concat();
        assert_eq!(split(1000.0, 100.0, [&three, &two_and_a_page]), [570.0, 430.0]);
        // A weight of two counts twice.
        assert_eq!(split(900.0, 100.0, [&[of(2.0, ALL)], &[of(1.0, ALL)]]), [600.0, 300.0]);
    }

    #[test]
    fn who_is_alone_has_all_and_a_door_stands_open() {
        assert_eq!(split(1000.0, 250.0, [&[of(1.0, ALL)], &[]]), [1000.0, 250.0]);
        assert_eq!(split(1000.0, 250.0, [&[of(1.0, ALL)], &[of(1.0, 100.0)]]), [900.0, 250.0]);
        assert_eq!(split(1000.0, 250.0, [&[], &[]]), [1000.0, 1000.0]);
        assert_eq!(split(1000.0, 250.0, [&[of(1.0, 300.0)], &[of(1.0, 100.0)]]), [900.0, 700.0]);
        // Hardly anybody, but one who waits: the door is his.
        assert_eq!(split(1000.0, 250.0, [&[of(0.9, ALL)], &[of(0.1, ALL)]]), [750.0, 250.0]);
    }

    fn wishes() -> impl Strategy<Value = Vec<Wish>> {
        let up_to = prop_oneof![Just(ALL), 0.0..2e6_f64];
        proptest::collection::vec((0.05..4.0_f64, up_to).prop_map(|(weight, up_to)| of(weight, up_to)), 0..8)
    }

    proptest! {
        #[test]
        fn shares_sum_to_the_rate_and_leave_nobody_without(
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
            // Who is alone has all.
            prop_assert_eq!(split(total, door, [&down, &[]])[0], total);
            prop_assert_eq!(split(total, door, [&[], &up])[1], total);
            // The directions' names say nothing.
            let [b, a] = split(total, door, [&up, &down]);
            prop_assert!((a - shares[0]).abs() <= slack && (b - shares[1]).abs() <= slack);
        }

        #[test]
        fn nobody_has_more_than_one_who_waits_has_by_weight(
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
    fn who_waits_is_told_from_half_a_second_of_looks() {
        let mut waiting = Waiting::default();
        let part = |waiting: &Waiting| waiting.parts().next().map_or(0.0, |(_, part)| part);
        waiting.look(Side::Up, &[(0x10, 3), (0x11, 0)].into());
        assert!((part(&waiting) - 0.2).abs() < 1e-9 && !waiting.has((Side::Up, 0x11)));
        for _ in 0..20 {
            waiting.look(Side::Up, &[(0x10, 3)].into());
            // The other side's lines say nothing of this one's.
            waiting.look(Side::Down, &BTreeMap::new());
        }
        assert!(part(&waiting) > 0.98);
        waiting.look(Side::Up, &[(0x10, 0)].into());
        assert!(part(&waiting) > 0.78, "one look without a line is no end");
        for _ in 0..20 {
            // Who is not looked at has none.
            waiting.look(Side::Up, &BTreeMap::new());
        }
        assert!(!waiting.has((Side::Up, 0x10)));
    }
}
