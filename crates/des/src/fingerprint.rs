//! A hash of a run's trajectory: two runs with one fingerprint took the same path.

use evenair_units::Instant;
use std::fmt;

/// An order-sensitive hash over pairs of an instant and an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fingerprint(u64);

impl Default for Fingerprint {
    fn default() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }
}

impl Fingerprint {
    /// Adds one event.
    #[inline]
    pub fn add(&mut self, at: Instant, what: u64) {
        // One multiplication a word: this runs once a frame.
        for word in [at.as_nanos(), what] {
            self.0 = (self.0 ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29);
        }
    }

    /// The hash so far.
    pub fn value(self) -> u64 {
        self.0
    }
}

impl fmt::Display for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}
