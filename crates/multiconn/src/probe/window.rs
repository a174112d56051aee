//! The numbers that have arrived: each is accepted once, and none that is too old to be remembered (RFC
//! 6479).

/// The numbers remembered: the greatest that arrived, and those below it.
const REMEMBERED: u64 = 64;

/// The numbers that have arrived.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Window {
    /// One more than the greatest that arrived; zero before the first.
    next: u64,
    /// The lowest bit is that of the greatest.
    came: u64,
}

impl Window {
    /// No number has arrived.
    pub const NONE: Self = Self { next: 0, came: 0 };

    /// Accepts a number; returns whether it is new.
    pub const fn take(&mut self, number: u64) -> bool {
        let Some(after) = number.checked_add(1) else { return false };
        if after > self.next {
            let ahead = after - self.next;
            self.came = if ahead >= REMEMBERED { 0 } else { self.came << ahead };
            self.came |= 1;
            self.next = after;
            return true;
        }
        let behind = self.next - after;
        if behind >= REMEMBERED || self.came >> behind & 1 == 1 {
            return false;
        }
        self.came |= 1 << behind;
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    proptest! {
        /// Compared with a set that remembers all.
        #[test]
        fn each_number_is_taken_once(numbers in prop::collection::vec(0u64..300, 1..400)) {
            let (mut window, mut came) = (Window::default(), BTreeSet::new());
            for number in numbers {
                let greatest = came.last().copied().unwrap_or(0);
                let is_remembered = came.is_empty() || number + REMEMBERED > greatest;
                prop_assert_eq!(window.take(number), is_remembered && came.insert(number));
            }
        }
    }

    #[test]
    fn largest_number_is_refused_and_leaps_pass() {
        let mut window = Window::default();
        assert!(!window.take(u64::MAX));
        assert!(window.take(3) && window.take(u64::MAX - 1) && !window.take(3));
    }
}
