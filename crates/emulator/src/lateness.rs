//! How late packets were against their simulated instants.

use evenair_netsim::Histogram;
use evenair_units::Duration;
use serde::Serialize;

/// How late packets were written, against the instant at which they came out of the simulated network.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Lateness {
    /// Packets that were written.
    pub packets: u64,
    /// The median \[s\], within 1 % as the other percentiles.
    pub p50_s: f64,
    /// The time that 99 % did not exceed \[s\].
    pub p99_s: f64,
    /// The time that 99.9 % did not exceed \[s\].
    pub p999_s: f64,
    /// The longest \[s\].
    pub most_s: f64,
    /// Share of the packets that were more than a millisecond late.
    pub beyond_1ms: f64,
}

/// The count of it.
#[derive(Debug, Default)]
pub(crate) struct Clockwork {
    times: Histogram,
    most: Duration,
    beyond: u64,
}

impl Clockwork {
    /// A packet was written this long after its instant.
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
