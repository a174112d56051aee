//! A run in real time: the accuracy of its figures, and the machine that made them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Results of a run over real sockets beyond those of a simulated one.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LiveRecord {
    /// How late packets were.
    pub lateness: Lateness,
    /// Packets that did not pass through the simulated network.
    pub strays: Strays,
    /// The kernels of the hosts.
    pub host: HostReport,
}

/// How late packets were written, against the instant at which they came out of the simulated network.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
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

impl Lateness {
    /// Whether more than a thousandth of the packets were later than a millisecond, and more than a few.
    pub fn is_late(&self) -> bool {
        self.beyond_1ms * self.packets as f64 > (self.packets as f64 / 1000.0).max(10.0)
    }

    /// How much to trust the figures, in a sentence without its full stop.
    pub fn verdict(&self) -> String {
        let &Self { p50_s, p99_s, most_s, beyond_1ms, packets, .. } = self;
        let verdict = if self.is_late() { ": do not trust figures that hang on milliseconds" } else { "" };
        format!(
            "{packets} packets, late by {:.0} µs in the median, {:.0} µs at the 99th percentile, {:.1} ms at most; {:.2} % later than 1 ms{verdict}",
            p50_s * 1e6,
            p99_s * 1e6,
            most_s * 1e3,
            beyond_1ms * 100.0
        )
    }
}

/// Packets that never were in the network, or were lost beside it, by cause.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Strays {
    /// Their destination is no node, or no route leads there.
    pub no_route: u64,
    /// They are no IP packets.
    pub no_packet: u64,
    /// Their hops were used up on the way (TTL).
    pub hops_used_up: u64,
    /// The kernel of their destination did not take them.
    pub refused: u64,
    /// Their node's device dropped them, since too many waited to be read: the drive was late, or a program sent too many. The
    /// simulated queue would have had to decide.
    pub unread: u64,
}

/// The hosts' kernels, so that a reader can set up the same.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct HostReport {
    /// The kernel's release.
    pub kernel: String,
    /// Its congestion controls.
    pub congestion_controls: Vec<String>,
    /// Settings that it does not have, or did not take.
    pub unset: Vec<String>,
    /// How all this was scheduled.
    pub scheduling: Scheduling,
    /// Flows that real sockets carry.
    pub real_flows: Vec<String>,
    /// Those of them of which not every connection could be opened, and why.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub failed_flows: Vec<String>,
    /// Packets that found no room at their node stayed with their kernel, instead of being lost there.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub backpressure: bool,
}

/// How an emulation is scheduled.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Scheduling {
    /// The drive's real-time priority (`SCHED_FIFO`); none, if the kernel refuses it.
    pub real_time: Option<u8>,
    /// Why it does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refused: Option<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn run_is_late_by_shares_and_not_by_few_packets() {
        let of = |packets, late: u64| Lateness {
            packets,
            beyond_1ms: late as f64 / packets as f64,
            ..Lateness::default()
        };
        assert!(!of(100, 10).is_late() && of(100, 11).is_late());
        assert!(!of(1_000_000, 1_000).is_late() && of(1_000_000, 1_001).is_late());
        assert!(of(100, 11).verdict().contains("11.00 % later than 1 ms: do not trust"));
    }
}
