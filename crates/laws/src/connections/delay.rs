//! Connection laws' use of round trips: the kind of sample, and whether the samples show congestion of the
//! path.

use crate::flow::{FlowView, Signal};
use crate::{BadParameter, check, check_time};
use alloc::vec::Vec;
use evenair_units::{Duration, Instant};

/// Which round trips a law sees.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "kebab-case"))]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub enum RoundTripSamples {
    /// The round trips of all segments that are acknowledged.
    #[default]
    Segments,
    /// The samples of the retransmission timer, one a window.
    Windows,
    /// The round trips of small packets that are sent for this alone, as many as there are data packets ([CZ06] section IV-A).
    Probes,
    /// The connections' smoothed round trips at the interval's end: the only ones that Linux reports.
    Smoothed,
}

impl RoundTripSamples {
    /// The signal that a host must have for them.
    pub const fn signal(self) -> Signal {
        match self {
            Self::Segments => Signal::RoundTrip,
            Self::Windows => Signal::RoundTripOfWindows,
            Self::Probes => Signal::RoundTripOfProbes,
            Self::Smoothed => Signal::SmoothedRoundTrip,
        }
    }

    /// Their mean over the flow's last interval, if there were any.
    pub const fn of(self, flow: &FlowView) -> Option<Duration> {
        match self {
            Self::Segments => flow.round_trip,
            Self::Windows => flow.round_trip_of_windows,
            Self::Probes => flow.round_trip_of_probes,
            Self::Smoothed => flow.smoothed_round_trip,
        }
    }
}

/// How round trips become [CZ06]'s one bit: `ave_rtt − rtt_min > γ·rtt_min`, (20).
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub(crate) struct DelayParams {
    /// γ.
    pub(crate) threshold: f64,
    pub(crate) samples: RoundTripSamples,
    /// How long a least average holds at most; for ever, if it is not given.
    pub(crate) window: Option<Duration>,
    /// Whether the least is measured again when the host reports that the path has changed.
    pub(crate) route_changes: bool,
}

impl DelayParams {
    /// Checks the laws' keys `gamma` and `window`.
    pub(crate) fn check(&self) -> Result<(), BadParameter> {
        let threshold = self.threshold;
        check("gamma", threshold, threshold > 0.0 && threshold.is_finite(), "above 0")?;
        self.window.map_or(Ok(()), |window| check_time("window", window))
    }
}

/// The congestion bit, and the least round trip that it needs.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub(crate) struct Delay {
    params: DelayParams,
    /// The least average of this half of the window, and of the half before; all of time is one half, without a window.
    least: Option<Duration>,
    least_before: Option<Duration>,
    half_began: Instant,
}

impl Delay {
    pub(crate) const fn new(params: DelayParams) -> Self {
        Self { params, least: None, least_before: None, half_began: Instant::ZERO }
    }

    /// Round trips; and changes of route, where they are to be heeded and nothing else would have a longer path learnt.
    pub(crate) fn needs(&self) -> Vec<Signal> {
        let DelayParams { samples, window, route_changes, .. } = self.params;
        let view_with = Some(Signal::RouteChanged).filter(|_| route_changes && window.is_none());
        [samples.signal()].into_iter().chain(view_with).collect()
    }

    /// `rtt_min`: the least average that is remembered.
    pub(crate) fn least(&self) -> Option<Duration> {
        self.least.into_iter().chain(self.least_before).min()
    }

    /// Whether the path was congested in the interval; none where it brought no sample, or the average is of two paths.
    pub(crate) fn congested(&mut self, flow: &FlowView) -> Option<bool> {
        if self.params.route_changes && flow.route_changed == Some(true) {
            *self = Self::new(self.params); // [CZ06] section IV-C: reset to a new value
            return None;
        }
        let average = self.params.samples.of(flow)?;
        if let Some(window) = self.params.window
            && flow.now.since(self.half_began) >= window / 2
        {
            self.least_before = self.least.take();
            self.half_began = flow.now;
        }
        self.least = Some(self.least.map_or(average, |least| least.min(average)));
        let least = self.least()?;
        debug_assert!(least <= average, "the least is no average that was seen");
        Some(average.saturating_sub(least) > least.mul_f64(self.params.threshold))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn delay(window_s: Option<u64>, route_changes: bool) -> Delay {
        let window = window_s.map(Duration::from_secs);
        let samples = RoundTripSamples::Probes;
        Delay::new(DelayParams { threshold: 0.2, samples, window, route_changes })
    }

    /// The bits of averages \[ms\], one every 20 s from 20 s on; `changed` are the intervals in which the path changes.
    fn bits(mut delay: Delay, averages: &[u64], changed: &[usize]) -> Vec<Option<bool>> {
        let seen = |(index, &ms): (usize, &u64)| FlowView {
            now: Instant::ZERO + Duration::from_secs(20) * (index as u64 + 1),
            round_trip_of_probes: Some(Duration::from_millis(ms)),
            route_changed: Some(changed.contains(&index)),
            ..FlowView::default()
        };
        averages.iter().enumerate().map(|average| delay.congested(&seen(average))).collect()
    }

    const NO: Option<bool> = Some(false);
    const YES: Option<bool> = Some(true);

    #[test]
    fn more_than_fifth_above_least_is_congestion() {
        // 168 ms · 1.2 = 201.6 ms
        assert_eq!(bits(delay(None, false), &[200, 168, 201, 202, 168], &[]), [NO, NO, NO, YES, NO]);
    }

    #[test]
    fn longer_path_stays_congested_without_window() {
        let averages: Vec<u64> = [100; 3].into_iter().chain([200; 100]).collect();
        assert!(bits(delay(None, false), &averages, &[]).iter().skip(3).all(|bit| *bit == YES));
    }

    #[test]
    fn window_forgets_the_least_within_its_length() {
        let averages: Vec<u64> = [100; 3].into_iter().chain([200; 40]).collect();
        let bits = bits(delay(Some(200), false), &averages, &[]);
        let known = bits.iter().skip(3).position(|bit| *bit == NO).unwrap();
        assert!((5..=10).contains(&known), "{known} intervals of 20 s");
        assert!(bits.iter().skip(3 + known).all(|bit| *bit == NO));
    }

    #[test]
    fn reported_longer_path_is_learnt_at_once() {
        // The interval of the change mixes both paths: it is not judged.
        assert_eq!(
            bits(delay(None, true), &[100, 100, 150, 200, 200, 241], &[2]),
            [NO, NO, None, NO, NO, YES]
        );
    }

    #[test]
    fn a_shorter_path_is_learnt_by_itself() {
        assert_eq!(bits(delay(None, false), &[200, 150, 100, 100, 121], &[1]), [NO, NO, NO, NO, YES]);
    }

    /// [CZ06] eq. (20) has `>`: 50 ms over a least of 100 ms are not above half of it.
    #[test]
    fn a_delay_at_the_threshold_is_not_above_it() {
        let mut params = delay(None, false).params;
        params.threshold = 0.5;
        assert_eq!(bits(Delay::new(params), &[100, 150, 151], &[]), [NO, NO, YES]);
    }

    #[test]
    fn route_changes_matter_without_a_window() {
        let needs = |window, route_changes| delay(window, route_changes).needs();
        let probes = Signal::RoundTripOfProbes;
        assert_eq!(needs(None, true), [probes, Signal::RouteChanged]);
        assert_eq!(needs(None, false), [probes]);
        assert_eq!(needs(Some(200), true), [probes]);
        assert_eq!(needs(Some(200), false), [probes]);
    }
}
