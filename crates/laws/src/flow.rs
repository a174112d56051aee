//! What laws see of a flow: those of its connections ([`connections`](crate::connections)) and of its rate
//! ([`rate`](crate::rate)) are called in one form, once per interval.

use evenair_units::{Bytes, Duration, Instant, Rate, Volume};

/// The flow that a law's state is made for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct FlowRole {
    /// Payload of a segment.
    #[cfg_attr(feature = "serde", serde(with = "crate::tape::exact"))]
    pub payload: Bytes,
}

/// What a law sees of its flow after an interval.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct FlowView {
    /// When.
    pub now: Instant,
    /// The time since the law ran last, or since the flow started.
    #[cfg_attr(feature = "serde", serde(with = "crate::tape::exact"))]
    pub interval: Duration,
    /// The mean round-trip time of all segments that were acknowledged in the interval, if any were.
    #[cfg_attr(feature = "serde", serde(with = "crate::tape::exact"))]
    pub round_trip: Option<Duration>,
    /// The mean of what the retransmission timers sampled: one segment a window (RFC 6298 section 3).
    #[cfg_attr(feature = "serde", serde(with = "crate::tape::exact"))]
    pub round_trip_of_windows: Option<Duration>,
    /// The mean round-trip time of the probe packets that came back in the interval, where the law wants them sent
    /// ([`RoundTripSamples::Probes`](crate::connections::RoundTripSamples::Probes)).
    #[cfg_attr(feature = "serde", serde(with = "crate::tape::exact"))]
    pub round_trip_of_probes: Option<Duration>,
    /// The least round-trip time so far, of segments.
    #[cfg_attr(feature = "serde", serde(with = "crate::tape::exact"))]
    pub least_round_trip: Option<Duration>,
    /// The path was another one at the end of the interval than at its beginning, as far as the host can tell.
    pub route_changed: bool,
    /// Payload that was delivered in the interval \[segments; bytes\].
    pub delivered: Volume,
    /// Segments that were sent in the interval, repetitions included.
    pub sent: u64,
    /// Repetitions among them.
    pub retransmitted: u64,
    /// Packets of the flow that were dropped on their way in the interval, neither acknowledgements nor probes counted.
    pub lost: u64,
    /// What waits at the flow's first link, where the host knows.
    pub first_backlog: Option<Volume>,
    /// What waits at all links on the flow's way to its destination together, for laws that ask for it.
    pub path_backlog: Option<Volume>,
}

impl FlowView {
    /// Payload delivered per time.
    pub fn goodput(&self) -> Rate {
        let seconds = self.interval.as_secs_f64();
        // The cast saturates, and maps nothing in no time to zero.
        Rate::from_bps((self.delivered.bytes as f64 * 8.0 / seconds) as u64)
    }
}
