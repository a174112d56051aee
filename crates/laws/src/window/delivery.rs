//! Signals of an acknowledgement for laws that watch rates and delays: segments that arrived or were lost,
//! the round trip of the segment sent last, and the network's delivery rate (delivery-rate samples).

use evenair_units::{Duration, Instant};

/// The repair under way at the endpoint.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Repair {
    /// Nothing.
    #[default]
    None,
    /// Segments found lost by acknowledgements (fast recovery).
    Recovery,
    /// Segments that a time-out gave up.
    Timeout,
}

/// An acknowledgement for a law that needs deliveries ([`WindowLaw::sees_deliveries`](super::WindowLaw)).
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Delivery {
    /// When it came.
    pub now: Instant,
    /// Segments that it reports to have arrived and none did before.
    pub segments: u32,
    /// Segments that have arrived in all, these among them.
    pub total: u64,
    /// Segments that were found lost with it.
    pub lost: u32,
    /// Segments found lost so far, by any event.
    pub lost_total: u64,
    /// Segments thought to be in the network before it came.
    pub flight_before: u32,
    /// Segments thought to be in the network now.
    pub flight: u32,
    /// The repair under way at the endpoint now.
    pub repair: Repair,
    /// Round-trip time of the segment sent last of those that it reports; none, if a repetition makes it ambiguous.
    #[cfg_attr(feature = "serde", serde(with = "crate::tape::exact"))]
    pub round_trip: Option<Duration>,
    /// The smoothed round-trip time, once there is one.
    #[cfg_attr(feature = "serde", serde(with = "crate::tape::exact"))]
    pub smoothed: Option<Duration>,
    /// The segment that it reports was sent after all before had been acknowledged.
    pub after_idle: bool,
    /// When the next segment may leave, of a law that paces; past, if it may leave now.
    pub paced_until: Instant,
    /// The network's delivery rate, if it can be measured.
    pub rate: Option<RateSample>,
}

/// How fast the network delivered while the segment was under way that was sent last of those acknowledged.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct RateSample {
    /// Segments that had arrived in all when it was sent.
    pub before: u64,
    /// Segments that have arrived since.
    pub segments: u64,
    /// Their time: the longer one of the times in which they were sent, and acknowledged.
    #[cfg_attr(feature = "serde", serde(with = "crate::tape::exact"))]
    pub interval: Duration,
    /// The application, not the network, may have limited the sender.
    pub application_limited: bool,
}

impl RateSample {
    /// Segments per second.
    pub fn rate_pps(&self) -> f64 {
        // An interval takes time: a nanosecond at least.
        self.segments as f64 / self.interval.as_secs_f64().max(1e-9)
    }
}
