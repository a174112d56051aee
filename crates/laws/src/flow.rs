//! The view that laws have of a flow: those of its connections ([`connections`](crate::connections)) and of its rate
//! ([`rate`](crate::rate)) are called in one form, once per interval.
//!
//! A host fills in the fields that it can measure. Every host has its senders' counters. Each other field may
//! be none for two reasons: the interval brought no sample, or the host can never measure it. Linux'
//! `TCP_INFO` has the smoothed and the least round trip and counts retransmissions; it has no round trips of
//! single segments, no losses on the path, no queues, no routes. The simulator has all of these. So a law
//! lists the signals that it needs ([`Signal`]). A host that lacks one refuses the law before it runs
//! ([`check_needs`]); in an interval without a sample the law holds.

use core::fmt;
use evenair_units::{Bytes, Duration, Instant, Rate, Volume};

/// The flow that a law's state is made for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct FlowRole {
    /// Payload of a segment.
    #[cfg_attr(feature = "serde", serde(with = "crate::tape::exact"))]
    pub payload: Bytes,
}

/// A law's view of its flow after an interval.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct FlowView {
    /// When.
    pub now: Instant,
    /// The time since the law ran last, or since the flow started.
    #[cfg_attr(feature = "serde", serde(with = "crate::tape::exact"))]
    pub interval: Duration,
    /// The mean round-trip time of all segments that were acknowledged in the interval; none, if none was, or where the host sees
    /// no single segments, as over `TCP_INFO`.
    #[cfg_attr(feature = "serde", serde(with = "crate::tape::exact"))]
    pub round_trip: Option<Duration>,
    /// The mean of the retransmission timers' samples: one segment a window (RFC 6298 section 3). None as
    /// above.
    #[cfg_attr(feature = "serde", serde(with = "crate::tape::exact"))]
    pub round_trip_of_windows: Option<Duration>,
    /// The mean round-trip time of the probe packets that came back in the interval, where the law wants them sent
    /// ([`RoundTripSamples::Probes`](crate::connections::RoundTripSamples::Probes)); none, if none came back, or where the host
    /// sends none.
    #[cfg_attr(feature = "serde", serde(with = "crate::tape::exact"))]
    pub round_trip_of_probes: Option<Duration>,
    /// The mean, over the open connections, of the smoothed round trip at the interval's end (RFC 6298
    /// section 2; Linux' `tcpi_rtt`). With timestamps every acknowledgement is a sample, as in Linux; without
    /// them, one segment a window. None, if no segment was acknowledged in the interval.
    #[cfg_attr(feature = "serde", serde(with = "crate::tape::exact"))]
    pub smoothed_round_trip: Option<Duration>,
    /// The least round-trip time so far, of segments; none before the first. Linux' own value
    /// (`tcpi_min_rtt`) forgets samples older than five minutes, so its host keeps the least that it has
    /// read.
    #[cfg_attr(feature = "serde", serde(with = "crate::tape::exact"))]
    pub least_round_trip: Option<Duration>,
    /// The least round-trip time of the segments that were acknowledged in the interval; none, if none was, or where the host sees no
    /// single segments.
    #[cfg_attr(feature = "serde", serde(with = "crate::tape::exact"))]
    pub least_in_interval: Option<Duration>,
    /// Whether the path at the end of the interval was another one than at its beginning; none if the host
    /// does not trace routes.
    pub route_changed: Option<bool>,
    /// Payload that was handed to the receiving application in the interval \[segments; bytes\]. A host that
    /// sees only the sender counts acknowledged payload: the same, half a round trip later.
    pub delivered: Volume,
    /// Segments that were sent in the interval, repetitions included.
    pub sent: u64,
    /// Retransmissions among them: all that a sender counts of losses (Linux' `tcpi_total_retrans`).
    pub retransmitted: u64,
    /// Segments sent and not acknowledged at the interval's end, over all open connections (Linux'
    /// `tcpi_unacked`). Segments that wait for a time-out are included. None over another transport than TCP.
    pub outstanding: Option<u64>,
    /// Segments that queues marked, as the interval's acknowledgements count them (accurate ECN, RFC 9768).
    /// None if nothing is marked or the host cannot count marks: with ECN of RFC 3168 an echo lasts for a
    /// round trip, however many marks it stands for.
    pub marked: Option<u64>,
    /// Packets of the flow that were dropped on their path in the interval, neither acknowledgements nor
    /// probes counted; none but where the host sees the whole path, as the simulator does.
    pub lost: Option<u64>,
    /// The backlog at the flow's first link; none if the host cannot read that queue.
    pub first_backlog: Option<Volume>,
    /// The backlog of all links on the flow's path to its destination together, for laws that need it; none
    /// but where the host sees the whole path.
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

/// The signals of a flow that a host may lack: each is the field of [`FlowView`] of its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "snake_case"))]
pub enum Signal {
    /// [`FlowView::round_trip`].
    RoundTrip,
    /// [`FlowView::round_trip_of_windows`].
    RoundTripOfWindows,
    /// [`FlowView::round_trip_of_probes`]; a host sends probes only where they are needed.
    RoundTripOfProbes,
    /// [`FlowView::smoothed_round_trip`].
    SmoothedRoundTrip,
    /// [`FlowView::least_round_trip`].
    LeastRoundTrip,
    /// [`FlowView::least_in_interval`]; a host with it can hold connections back, too, when the law requires
    /// it ([`ConnectionLaw::drains`](crate::connections::ConnectionLaw::drains)).
    LeastInInterval,
    /// [`FlowView::marked`].
    Marked,
    /// [`FlowView::route_changed`].
    RouteChanged,
    /// [`FlowView::lost`].
    Lost,
    /// [`FlowView::first_backlog`].
    FirstBacklog,
    /// [`FlowView::path_backlog`]; a host adds it up only where it is needed.
    PathBacklog,
}

impl fmt::Display for Signal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::RoundTrip => "the round trip of every segment",
            Self::RoundTripOfWindows => "the round trips that retransmission timers sample",
            Self::RoundTripOfProbes => "the round trip of probes",
            Self::SmoothedRoundTrip => "the smoothed round trip",
            Self::LeastRoundTrip => "the least round trip",
            Self::LeastInInterval => "the least round trip of an interval in which connections are held back",
            Self::Marked => "the marks of queues",
            Self::RouteChanged => "whether the route has changed",
            Self::Lost => "how many packets were lost on the way",
            Self::FirstBacklog => "the backlog at the first link",
            Self::PathBacklog => "the backlog of the whole path",
        })
    }
}

/// The host lacks a signal that the law needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Untold {
    /// The signal that it needs.
    pub signal: Signal,
    /// The reason why the host lacks it and a remedy; the text follows "because".
    pub because: &'static str,
}

impl fmt::Display for Untold {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the law needs {}, which cannot be told here because {}", self.signal, self.because)
    }
}

impl core::error::Error for Untold {}

/// Checks that a host has every signal that a law needs; `why_not` gives the host's reason for a signal that
/// it lacks.
///
/// ```
/// use evenair_laws::Parameters;
/// use evenair_laws::connections::{ConnectionLaw, IimdParams, RoundTripSamples};
/// use evenair_laws::flow::{FlowRole, Signal, check_needs};
/// let tcp_info = |signal| match signal {
///     Signal::SmoothedRoundTrip | Signal::LeastRoundTrip => None,
///     Signal::RoundTripOfProbes => Some("no probes are sent: set samples = \"smoothed\""),
///     _ => Some("TCP_INFO does not have it"),
/// };
/// let role = FlowRole { payload: evenair_units::Bytes::new(1448) };
/// let law = IimdParams::cz06().begin(&role);
/// let refused = check_needs(&law.needs(), tcp_info).unwrap_err();
/// assert_eq!(
///     refused.to_string(),
///     "the law needs the round trip of probes, which cannot be told here because no probes are sent: set samples = \"smoothed\""
/// );
/// let law = IimdParams { samples: RoundTripSamples::Smoothed, ..IimdParams::cz06() }.begin(&role);
/// assert_eq!(check_needs(&law.needs(), tcp_info), Ok(()));
/// ```
///
/// # Errors
/// Names the first signal that the host lacks.
pub fn check_needs(needs: &[Signal], why_not: impl Fn(Signal) -> Option<&'static str>) -> Result<(), Untold> {
    let untold = |&signal: &Signal| why_not(signal).map(|because| Untold { signal, because });
    needs.iter().find_map(untold).map_or(Ok(()), Err)
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString;

    #[test]
    fn missing_signal_is_named_with_the_reason() {
        let needs = [Signal::RoundTrip, Signal::Marked];
        let why_not = |signal| (signal == Signal::Marked).then_some("nothing marks");
        let untold = check_needs(&needs, why_not).unwrap_err();
        assert_eq!(untold, Untold { signal: Signal::Marked, because: "nothing marks" });
        assert_eq!(
            untold.to_string(),
            "the law needs the marks of queues, which cannot be told here because nothing marks"
        );
        assert_eq!(check_needs(&needs[..1], why_not), Ok(()));
    }
}
