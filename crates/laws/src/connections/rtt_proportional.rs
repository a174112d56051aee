//! Connections in proportion to the round-trip time: [Chen10]'s multi-connection TCP.
//!
//! # Law
//! `n = max(1, int(k·T))`, evaluated every 5 s.
//!
//! # Source
//! [Chen10] eq. (5.1), section 5.2, C6.
//!
//! # Symbols
//! `k` → [`RttProportionalParams::per_second`] \[connections/s\]; `T` → [`RttProportionalParams::samples`] \[s\]; `n` →
//! `connections`.
//!
//! # Signals
//! The round-trip time at an interval's end that brought an acknowledgement: TCP's own smoothed one, its mean over the open
//! connections; or the interval's mean of all segments, of one a window, or of probes ([`RoundTripSamples`]).
//!
//! # Deviations
//! Section 5.2 has an intermediate layer keep `kT` connections "from monitored RTT", and offers an
//! application a UDP connection to measure it. The layer has TCP's own estimate (RFC 6298; `srtt_` of ns-2's
//! agents), so that is `T` here. The mean over all segments is longer in time-outs, and makes `n` larger at
//! large `k`. The thesis does not define `n` after an interval without an acknowledgement; [`Unsampled`]
//! offers three answers. Only holding `n` relies on measurements alone. If all connections wait for their
//! retransmission timers, the round trip shows these timers and not the queue; a law that takes it for a long
//! round trip opens connections, which lengthen every flow's queue.
//!
//! Ours, all off by default: `base` connections stand beside `int(k·T)` more. `hysteresis` keeps `n` while
//! `k·T` lies within that distance of the whole numbers that would give it. `smoothed` takes the mean of the
//! new and the last `n` (the option of section 6.1.1). A bound on `n` protects the host from a flow that is
//! cut off for good. A single connection that can be worth a real number of them (scaled AIMD, TFRC's) is
//! given `k·T` itself, not its whole part, unless `hysteresis` or `smoothed` is on. There is no drift: `n`
//! jumps to `k·T`. Its fluid models and the fixed point take `n = kT`, without `base` (`evenair-fluid`).
//!
//! # Example
//! ```
//! use evenair_laws::Parameters;
//! use evenair_laws::connections::{ConnectionLaw, RttProportionalParams};
//! use evenair_laws::flow::{FlowRole, FlowView};
//! use evenair_units::{Bytes, Duration};
//! let mut law = RttProportionalParams::chen10().begin(&FlowRole { payload: Bytes::new(1000) });
//! // [Chen10] section 6.1.7, user 2: T = 2·129/149 s, so k·T = 17.3
//! let smoothed_round_trip = Some(Duration::from_secs_f64(2.0 * 129.0 / 149.0));
//! assert_eq!(law.on_interval(&FlowView { smoothed_round_trip, ..FlowView::default() }), 17);
//! assert_eq!(law.on_interval(&FlowView::default()), 17);
//! ```

use super::{ConnectionLaw, Reason, RoundTripSamples, check_worth, whole};
use crate::flow::{FlowRole, FlowView, Signal};
use crate::{BadParameter, Parameters, check, check_interval};
use alloc::vec::Vec;
use evenair_units::Duration;

/// The effect on the number of connections of an interval without a round trip.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "kebab-case"))]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub enum Unsampled {
    /// The number is held: an unknown round trip changes nothing.
    #[default]
    Hold,
    /// It is halved, down to one.
    Halve,
    /// `T` grows by the interval each time, as the age of a segment without acknowledgement does. `n` runs
    /// away.
    Grow,
}

/// Parameters of the law.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(default, deny_unknown_fields)
)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct RttProportionalParams {
    /// Connections per second of round-trip time \[1/s\].
    #[cfg_attr(feature = "serde", serde(rename = "k"))]
    pub per_second: f64,
    /// How often the number is evaluated.
    pub interval: Duration,
    /// Connections that a flow keeps besides those of k·T. At 0, [Chen10]'s, it has one at least.
    pub base: u32,
    /// How far k·T must move beyond its whole number before n follows.
    pub hysteresis: f64,
    /// Whether n is the mean of its new and its last value.
    pub smoothed: bool,
    /// The least number of a single connection that can be worth a real one (scaled AIMD); whole ones are one at least.
    #[cfg_attr(feature = "serde", serde(rename = "min"))]
    pub connections_min: f64,
    /// The most connections that are kept.
    #[cfg_attr(feature = "serde", serde(rename = "max"))]
    pub connections_max: u32,
    /// Which round trips make T.
    pub samples: RoundTripSamples,
    /// The effect on n of an interval without any.
    pub unsampled: Unsampled,
}

impl RttProportionalParams {
    /// [Chen10] chapter 6: k = 10, every 5 s.
    pub const fn chen10() -> Self {
        Self {
            per_second: 10.0,
            interval: Duration::from_secs(5),
            base: 0,
            hysteresis: 0.0,
            smoothed: false,
            connections_min: 1.0,
            connections_max: 1000,
            samples: RoundTripSamples::Smoothed,
            unsampled: Unsampled::Hold,
        }
    }
}

impl Default for RttProportionalParams {
    fn default() -> Self {
        Self::chen10()
    }
}

impl Parameters for RttProportionalParams {
    type Surroundings = ();
    type Place = FlowRole;
    type Law = RttProportional;

    fn validated(self) -> Result<Self, BadParameter> {
        let k = self.per_second;
        check("k", k, k > 0.0 && k.is_finite(), "above 0, and finite")?;
        check_interval("interval", self.interval)?;
        check("hysteresis", self.hysteresis, self.hysteresis >= 0.0, "0 or more")?;
        check_worth(self.connections_min)?;
        check("max", f64::from(self.connections_max), self.connections_max >= 1, "at least 1")?;
        Ok(self)
    }

    /// A flow starts with one connection.
    fn begin(&self, _: &FlowRole) -> RttProportional {
        RttProportional { params: *self, connections: 1, round_trip: Duration::ZERO }
    }
}

/// The law's state for one flow.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct RttProportional {
    params: RttProportionalParams,
    connections: u32,
    /// `T` as last measured or assumed.
    round_trip: Duration,
}

impl ConnectionLaw for RttProportional {
    fn interval(&self) -> Duration {
        self.params.interval
    }

    fn needs(&self) -> Vec<Signal> {
        [self.params.samples.signal()].into()
    }

    fn exact(&self) -> Option<f64> {
        let wanted = self.wanted();
        let most = f64::from(self.params.connections_max);
        let follows = self.params.hysteresis > 0.0 || self.params.smoothed;
        (!follows && !self.round_trip.is_zero()).then(|| wanted.clamp(self.params.connections_min, most))
    }

    fn reason(&self) -> Reason {
        Reason::Followed
    }

    fn on_interval(&mut self, flow: &FlowView) -> u32 {
        match (self.params.samples.of(flow), self.params.unsampled) {
            (Some(round_trip), _) => self.follow(round_trip),
            (None, Unsampled::Hold) => (),
            (None, Unsampled::Halve) => {
                (self.connections, self.round_trip) = ((self.connections / 2).max(1), self.round_trip / 2);
            }
            (None, Unsampled::Grow) => self.follow(self.round_trip + self.params.interval),
        }
        self.connections
    }
}

impl RttProportional {
    /// [Chen10] eq. (5.1), as a real number.
    fn wanted(&self) -> f64 {
        f64::from(self.params.base) + self.params.per_second * self.round_trip.as_secs_f64()
    }

    fn follow(&mut self, round_trip: Duration) {
        self.round_trip = round_trip;
        let wanted = self.wanted();
        let current = f64::from(self.connections);
        let inside =
            wanted >= current - self.params.hysteresis && wanted < current + 1.0 + self.params.hysteresis;
        if !inside {
            let whole = whole(wanted, self.params.connections_max);
            self.connections =
                if self.params.smoothed { (whole + self.connections).div_ceil(2) } else { whole };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use evenair_units::Bytes;
    use proptest::prelude::*;

    fn secs(seconds: f64) -> Duration {
        Duration::from_secs_f64(seconds)
    }

    fn law(change: impl Fn(&mut RttProportionalParams)) -> RttProportional {
        let mut params = RttProportionalParams::chen10();
        change(&mut params);
        params.validated().unwrap().begin(&FlowRole { payload: Bytes::new(1000) })
    }

    fn seen(smoothed_round_trip: Option<Duration>) -> FlowView {
        FlowView { smoothed_round_trip, ..FlowView::default() }
    }

    #[test]
    fn the_numbers_of_section_6_1_7() {
        // kT = [3.4, 17.4, 8.0, 8.3] gives whole numbers below them.
        for (round_trip_s, n) in [(0.343, 3), (1.732, 17), (0.795, 7), (0.822, 8)] {
            assert_eq!(law(|_| ()).on_interval(&seen(Some(secs(round_trip_s)))), n);
        }
    }

    #[test]
    fn there_is_always_one_connection() {
        assert_eq!(law(|_| ()).on_interval(&seen(Some(Duration::ZERO))), 1);
    }

    #[test]
    fn base_connections_are_kept_beside_those_of_kt() {
        for (round_trip_s, n) in [(0.05, 1), (0.343, 4), (1.732, 18)] {
            assert_eq!(law(|p| p.base = 1).on_interval(&seen(Some(secs(round_trip_s)))), n);
        }
    }

    #[test]
    fn hysteresis_holds_a_number_that_hovers() {
        let mut law = law(|p| p.hysteresis = 0.5);
        assert_eq!(law.on_interval(&seen(Some(secs(0.51)))), 5);
        assert_eq!(law.on_interval(&seen(Some(secs(0.62)))), 5, "6.2 lies within 5..6 ± 0.5");
        assert_eq!(law.on_interval(&seen(Some(secs(0.66)))), 6);
    }

    #[test]
    fn hysteresis_reaches_as_far_below_as_above() {
        // k·T from 5 − 0.5 up to 6 + 0.5 keep five; 4.49 gives its whole part, and so does 6.5.
        for (round_trip_s, n) in [(0.451, 5), (0.649, 5), (0.449, 4), (0.651, 6)] {
            let mut law = law(|p| p.hysteresis = 0.5);
            assert_eq!(law.on_interval(&seen(Some(secs(0.551)))), 5);
            assert_eq!(law.on_interval(&seen(Some(secs(round_trip_s)))), n, "{round_trip_s}");
        }
    }

    #[test]
    fn exact_number_is_kt_unless_held_or_smoothed() {
        let exact = |change: fn(&mut RttProportionalParams), round_trip_s| {
            let mut law = law(change);
            law.on_interval(&seen(Some(secs(round_trip_s))));
            law.exact()
        };
        assert_eq!(exact(|_| (), 0.25), Some(2.5)); // k = 10
        assert_eq!(exact(|p| p.hysteresis = 0.5, 0.25), None);
        assert_eq!(exact(|p| p.smoothed = true, 0.25), None);
        assert_eq!(law(|_| ()).exact(), None, "nothing was measured");
        assert_eq!(exact(|p| p.connections_min = 0.5, 0.01), Some(0.5));
        assert_eq!(exact(|p| p.base = 1, 0.25), Some(3.5));
        assert_eq!(exact(|p| p.connections_max = 2, 0.25), Some(2.0));
    }

    #[test]
    fn parameters_out_of_range_are_refused() {
        let refused = |change: &dyn Fn(&mut RttProportionalParams)| {
            let mut params = RttProportionalParams::chen10();
            change(&mut params);
            params.validated().err().map(|bad| bad.name)
        };
        assert_eq!(refused(&|p| p.connections_max = 1), None);
        assert_eq!(refused(&|p| p.connections_max = 0), Some("max"));
        assert_eq!(refused(&|p| p.hysteresis = 0.0), None);
        assert_eq!(refused(&|p| p.hysteresis = -0.1), Some("hysteresis"));
        for k in [0.0, -1.0, f64::INFINITY] {
            assert_eq!(refused(&|p| p.per_second = k), Some("k"));
        }
        for (least, bad) in [(0.01, None), (1.0, None), (0.009, Some("min")), (1.01, Some("min"))] {
            assert_eq!(refused(&|p| p.connections_min = least), bad);
        }
        for (micros, bad) in [(10, None), (9, Some("interval"))] {
            assert_eq!(refused(&|p| p.interval = Duration::from_micros(micros)), bad);
        }
    }

    #[test]
    fn smoothing_takes_the_mean() {
        let mut law = law(|p| p.smoothed = true);
        assert_eq!(law.on_interval(&seen(Some(secs(0.91)))), 5);
    }

    #[test]
    fn interval_without_sample_holds_halves_or_grows() {
        let after = |unsampled| {
            let mut law = law(|p| p.unsampled = unsampled);
            [Some(secs(0.9)), None, None, Some(secs(0.5))].map(|sample| law.on_interval(&seen(sample)))
        };
        assert_eq!(after(Unsampled::Hold), [9, 9, 9, 5]);
        assert_eq!(after(Unsampled::Halve), [9, 4, 2, 5]);
        assert_eq!(after(Unsampled::Grow), [9, 59, 109, 5], "T = 0.9, 5.9, 10.9 s");
    }

    #[test]
    fn samples_are_of_segments_windows_or_probes() {
        let flow = FlowView {
            round_trip_of_windows: Some(secs(0.3)),
            round_trip_of_probes: Some(secs(0.2)),
            round_trip: Some(secs(0.9)),
            ..seen(Some(secs(0.7)))
        };
        assert_eq!(law(|_| ()).on_interval(&flow), 7, "TCP's own by default");
        assert_eq!(law(|p| p.samples = RoundTripSamples::Segments).on_interval(&flow), 9);
        assert_eq!(law(|p| p.samples = RoundTripSamples::Windows).on_interval(&flow), 3);
        assert_eq!(law(|p| p.samples = RoundTripSamples::Probes).on_interval(&flow), 2);
    }

    #[test]
    fn held_number_stays_for_any_time() {
        let mut law = law(|p| p.smoothed = true);
        let n = law.on_interval(&seen(Some(secs(0.91))));
        assert!((0..10_000).all(|_| law.on_interval(&seen(None)) == n));
    }

    proptest! {
        #[test]
        fn n_stays_in_its_range(
            times in prop::collection::vec(prop::option::of(0u64..u64::MAX / 2), 1..50),
            hysteresis in 0.0f64..3.0,
            unsampled in prop::sample::select(&[Unsampled::Hold, Unsampled::Halve, Unsampled::Grow]),
        ) {
            let mut law = law(|p| (p.hysteresis, p.unsampled) = (hysteresis, unsampled));
            for ns in times {
                let n = law.on_interval(&seen(ns.map(Duration::from_nanos)));
                prop_assert!((1..=1000).contains(&n));
            }
        }

        /// Held, n never exceeds the value of the longest measured round trip.
        #[test]
        fn held_number_was_measured(millis in prop::collection::vec(prop::option::of(0u64..5_000), 1..50)) {
            let mut law = law(|_| ());
            let mut most = 1;
            for sample in millis {
                most = most.max(sample.map_or(1, |ms| (ms / 100) as u32));
                prop_assert!(law.on_interval(&seen(sample.map(Duration::from_millis))) <= most);
            }
        }
    }

    /// With k = 10/s: beyond 2 + 1 + 0.5 the number follows, 3.5 included.
    #[test]
    fn the_end_of_the_hysteresis_is_outside() {
        let params = RttProportionalParams { hysteresis: 0.5, ..RttProportionalParams::chen10() };
        let mut law = params.begin(&FlowRole { payload: Bytes::new(1000) });
        let follow = |law: &mut RttProportional, seconds| {
            law.follow(secs(seconds));
            law.connections
        };
        assert_eq!(follow(&mut law, 0.25), 2);
        assert_eq!(follow(&mut law, 0.349), 2);
        assert_eq!(follow(&mut law, 0.35), 3);
    }

    /// Halfway up, and rounded up: from 1 towards 9, 5, 7, 8, 9.
    #[test]
    fn a_smoothed_number_goes_halfway() {
        let params = RttProportionalParams { smoothed: true, ..RttProportionalParams::chen10() };
        let mut law = params.begin(&FlowRole { payload: Bytes::new(1000) });
        let seen = [(); 4].map(|()| {
            law.follow(secs(0.95));
            law.connections
        });
        assert_eq!(seen, [5, 7, 8, 9]);
    }

    #[test]
    fn interval_without_sample_may_halve_round_trip() {
        let params = RttProportionalParams { unsampled: Unsampled::Halve, ..RttProportionalParams::chen10() };
        let mut law = params.begin(&FlowRole { payload: Bytes::new(1000) });
        law.follow(secs(0.8));
        assert_eq!(law.on_interval(&FlowView::default()), 4);
        assert_eq!(law.exact(), Some(4.0), "10/s · 0.4 s");
    }
}
