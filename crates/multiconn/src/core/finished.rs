//! The numbers of the other side's finished streams, as ranges.

use std::collections::BTreeMap;

/// A set of numbers that grows towards all of them.
#[derive(Debug, Default)]
pub(super) struct Finished {
    /// First and last of each range; none touch.
    ranges: BTreeMap<u32, u32>,
}

impl Finished {
    pub(super) fn contains(&self, number: u32) -> bool {
        self.ranges.range(..=number).next_back().is_some_and(|(_, last)| number <= *last)
    }

    pub(super) fn insert(&mut self, number: u32) {
        if self.contains(number) {
            return;
        }
        let before = self.ranges.range(..number).next_back().filter(|(_, last)| **last + 1 == number);
        let first = before.map_or(number, |(first, _)| *first);
        let after = number.checked_add(1).and_then(|after| self.ranges.remove(&after));
        self.ranges.insert(first, after.unwrap_or(number));
    }

    /// Returns the number of ranges.
    pub(super) fn ranges(&self) -> usize {
        self.ranges.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn it_is_the_set_of_its_inputs(numbers in prop::collection::vec(0..60_u32, 0..60)) {
            let (mut finished, mut model) = (Finished::default(), std::collections::BTreeSet::new());
            for number in numbers {
                finished.insert(number);
                model.insert(number);
                prop_assert!((0..62).all(|n| finished.contains(n) == model.contains(&n)));
                let ranges = model.iter().filter(|n| **n == 0 || !model.contains(&(**n - 1))).count();
                prop_assert_eq!(finished.ranges(), ranges);
            }
        }
    }
}
