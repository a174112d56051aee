//! The times at which free memory is returned to the system: the allocator keeps it, in pieces between those
//! that are in use.

use std::time::{Duration, Instant};

/// The memory of a connection beside the bytes of streams, for TLS and for read and write buffers \[bytes\].
pub(super) const CONNECTION: u64 = 320 << 10;
/// A fall by this many bytes causes a return.
const LESS: u64 = 16 << 20;
/// So does a fall to less than half of the peak, if it is by this many bytes.
const LESS_BY_HALF: u64 = 1 << 20;
/// The least time between two returns.
const PAUSE: Duration = Duration::from_secs(5);

/// The peak of the memory in use since the last return.
#[derive(Debug, Default)]
pub(super) struct Returns {
    peak: u64,
    last: Option<Instant>,
}

impl Returns {
    /// Returns whether to return memory now, with `in_use` bytes in use \[bytes\].
    pub(super) fn is_due(&mut self, in_use: u64, now: Instant) -> bool {
        self.peak = self.peak.max(in_use);
        let rests = self.last.is_none_or(|last| now.duration_since(last) >= PAUSE);
        let less = self.peak - in_use;
        let is_worth_it = less >= LESS || (less >= LESS_BY_HALF && less > in_use);
        if !is_worth_it || !rests {
            return false;
        }
        (self.peak, self.last) = (in_use, Some(now));
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_given_back_once_it_falls() {
        let begun = Instant::now();
        let mut returns = Returns::default();
        let mut due = |seconds, mb: u64| returns.is_due(mb << 20, begun + Duration::from_secs(seconds));
        assert!(!due(0, 10) && !due(1, 200) && !due(2, 190));
        assert!(due(3, 100) && !due(4, 100), "once");
        assert!(!due(5, 10) && due(8, 10), "a while after the last time");
        assert!(!due(20, 10) && !due(21, 6), "a little less is not worth it");
        assert!(due(22, 4) && due(30, 0), "unless it is most of what was there");
        assert!(!due(40, 0));
    }
}
