//! Counts of queues, flows and hops, from the start of a run on: cheap enough to be always on.

use evenair_units::Duration;

/// Delays of packets: how many, and their sum.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Delays {
    pub(crate) count: u64,
    pub(crate) sum_ns: u64,
}

impl Delays {
    #[inline]
    pub(crate) fn add(&mut self, delay: Duration) {
        self.count += 1;
        self.sum_ns += delay.as_nanos();
    }

    pub(crate) fn since(self, then: Self) -> Self {
        debug_assert!(self.count >= then.count && self.sum_ns >= then.sum_ns, "a count went down");
        Self { count: self.count - then.count, sum_ns: self.sum_ns - then.sum_ns }
    }

    pub(crate) fn plus(self, other: Self) -> Self {
        Self { count: self.count + other.count, sum_ns: self.sum_ns + other.sum_ns }
    }

    /// Their mean \[s\]; none without any.
    pub(crate) fn mean_s(self) -> Option<f64> {
        (self.count > 0).then(|| self.sum_ns as f64 / 1e9 / self.count as f64)
    }
}

/// Packets that a queue gave up, by cause.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Dropped {
    pub(crate) queue_full: u64,
    pub(crate) by_law: u64,
    /// After the last retry, whether or not the receiver has them.
    pub(crate) retries: u64,
    /// Of those, the ones that the receiver has: only their acknowledgements failed.
    pub(crate) received: u64,
    pub(crate) on_wire: u64,
    /// For want of a route.
    pub(crate) no_route: u64,
}
