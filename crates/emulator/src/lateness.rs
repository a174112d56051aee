//! The lateness of packets against their simulated instants.

use evenair_netsim::Histogram;
use evenair_results::Lateness;
use evenair_units::Duration;

/// The distribution of the lateness.
#[derive(Debug, Default)]
pub(crate) struct Clockwork {
    times: Histogram,
    most: Duration,
    beyond: u64,
}

impl Clockwork {
    /// Counts a packet that was written this long after its instant.
    pub(crate) fn add(&mut self, late: Duration) {
        self.times.add(late);
        self.most = self.most.max(late);
        self.beyond += u64::from(late > Duration::from_millis(1));
    }

    pub(crate) fn most(&self) -> Duration {
        self.most
    }

    pub(crate) fn result(&self) -> Lateness {
        let packets = self.times.count();
        let share = |share| self.times.quantile_s(share).unwrap_or(0.0);
        Lateness {
            packets,
            p50_s: share(0.5),
            p99_s: share(0.99),
            p999_s: share(0.999),
            most_s: self.most.as_secs_f64(),
            beyond_1ms: self.beyond as f64 / packets.max(1) as f64,
        }
    }
}
