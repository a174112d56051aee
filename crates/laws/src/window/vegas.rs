//! TCP Vegas.
//!
//! # Law
//! Once per round trip: `Δ = w·(1 − d/D)` packets wait in the network, with `d` the least round trip so far and `D` the least
//! of the round trip that is over. Fewer than α: one packet more; more than β: one less. Slow start ends when `Δ > γ`, at
//! the window that the network delivers without a queue, `⌊w·d/D⌋ + 1`.
//!
//! # Source
//! L. Brakmo and L. Peterson, "TCP Vegas: end to end congestion avoidance on a global Internet", IEEE JSAC 13(8), 1995,
//! section III; the form of Linux's `tcp_vegas`; [QCSMA] section IV-C (thresholds of 200 and 203 packets).
//!
//! # Symbols
//! `α` → [`VegasParams::alpha`], `β` → [`VegasParams::beta`], `γ` → [`VegasParams::gamma`] \[packets\].
//!
//! # Signals
//! Deliveries: the round trip of each acknowledgement. Losses and time-outs as Reno.
//!
//! # Deviations
//! From the paper, as Linux: slow start grows in every round trip, not in every other. The endpoint finds and
//! repairs losses and cuts the window in half. A decision takes three round-trip samples, else the round trip
//! is Reno's. The law starts again after a recovery, a time-out, and when nothing was under way, the last two
//! with no memory of `d`; until it has a new `d` it is Reno's. From Linux: since 2.6.27 it compares
//! `w·(D/d − 1)` with the thresholds, which exceeds the backlog by the factor `D/d`. This is
//! [`VegasMeasure::Linux`]; the paper's measure is the default. A window that is not in use does not grow
//! (RFC 7661). Between α and β nothing moves, and elsewhere it moves by a whole packet: the drift is the
//! sign.
//!
//! # Example
//! ```
//! use evenair_laws::window::VegasParams;
//! let law = VegasParams::linux();
//! // 20 packets in a round trip of 120 ms that takes 100 ms without a queue: 3.3 of them wait, as many as wanted.
//! assert!(law.drift(20.0, 100.0 / 120.0).abs() < 1e-12);
//! ```

use super::{Acked, Delivery, Loss, Reno, Repair, WINDOW_MAX, WindowLaw, WindowStart};
use crate::{BadParameter, Parameters, check};
use evenair_units::Duration;

/// The quantity that is compared with the thresholds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "kebab-case"))]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub enum VegasMeasure {
    /// The packets that wait, `w·(1 − d/D)`: the paper's.
    #[default]
    Waiting,
    /// `w·(D/d − 1)`: Linux's measure.
    Linux,
}

/// Parameters of the law.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(default, deny_unknown_fields)
)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct VegasParams {
    /// α: the window grows while fewer wait [packets].
    pub alpha: f64,
    /// β: it shrinks while more wait [packets].
    pub beta: f64,
    /// γ: slow start ends when more wait [packets].
    pub gamma: f64,
    /// The quantity that is compared with them.
    pub measure: VegasMeasure,
}

impl VegasParams {
    /// Linux: α = 2, β = 4, γ = 1.
    pub const fn linux() -> Self {
        Self { alpha: 2.0, beta: 4.0, gamma: 1.0, measure: VegasMeasure::Waiting }
    }

    /// [QCSMA] section IV-C: α = 200, β = 203. γ is not given: Linux's.
    pub const fn qcsma() -> Self {
        Self { alpha: 200.0, beta: 203.0, ..Self::linux() }
    }

    /// The quantity that is compared with the thresholds; `share` is `d/D`, the part of the round trip that is not queueing.
    fn excess(&self, window: f64, share: f64) -> f64 {
        match self.measure {
            VegasMeasure::Waiting => window - window * share,
            VegasMeasure::Linux => window / share - window,
        }
    }

    /// The fluid face: by how many packets the window moves in a round trip.
    pub fn drift(&self, window: f64, share: f64) -> f64 {
        let excess = self.excess(window, share);
        f64::from(i8::from(excess < self.alpha) - i8::from(excess > self.beta))
    }
}

impl Default for VegasParams {
    fn default() -> Self {
        Self::linux()
    }
}

impl Parameters for VegasParams {
    type Surroundings = ();
    type Place = WindowStart;
    type Law = Vegas;

    fn validated(self) -> Result<Self, BadParameter> {
        let Self { alpha, beta, gamma, .. } = self;
        check("alpha", alpha, alpha > 0.0 && alpha.is_finite(), "above 0")?;
        check("beta", beta, beta >= alpha && beta.is_finite(), "alpha or more")?;
        check("gamma", gamma, gamma > 0.0 && gamma.is_finite(), "above 0")?;
        Ok(self)
    }

    fn begin(&self, start: &WindowStart) -> Vegas {
        Vegas::new(*self, start)
    }
}

/// Samples in a round trip on which a decision is made: one of so many is not a delayed acknowledgement's (Linux).
const SAMPLES_MIN: u32 = 3;

/// The least window that the law leaves by itself (Linux).
const WINDOW_MIN: f64 = 2.0;

/// The state of one sender.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Vegas {
    params: VegasParams,
    /// The window, and its reaction to slow start and losses.
    reno: Reno,
    /// `d`.
    least: Option<Duration>,
    /// The least of this round trip, and how many samples it has.
    of_round: Option<Duration>,
    samples: u32,
    /// Segments to be acknowledged before this round trip is over.
    left: u32,
    repair: Repair,
}

impl Vegas {
    /// The state at the start of a connection.
    pub const fn new(params: VegasParams, start: &WindowStart) -> Self {
        Self {
            params,
            reno: Reno::new(start),
            least: None,
            of_round: None,
            samples: 0,
            left: 1,
            repair: Repair::None,
        }
    }

    /// Starts a round trip; it ends with the first acknowledgement of a segment sent after those now under
    /// way.
    fn begin_round(&mut self, under_way: u32) {
        (self.of_round, self.samples) = (None, 0);
        self.left = under_way.saturating_add(1);
    }

    /// `d/D`, where there are samples enough.
    fn share(&self) -> Option<f64> {
        let (least, of_round) = (self.least?, self.of_round?);
        debug_assert!(least <= of_round, "the least of all is no more than the least of some");
        (self.samples >= SAMPLES_MIN).then(|| least.as_secs_f64() / of_round.as_secs_f64())
    }

    fn decide(&mut self, share: f64, segments: u32) {
        let slow_start = self.reno.is_in_slow_start();
        if slow_start && self.params.excess(self.reno.window, share) > self.params.gamma {
            self.reno.window = self.reno.window.min(libm::floor(self.reno.window * share) + 1.0);
            self.reno.ssthresh = self.reno.ssthresh.min(self.reno.window);
        } else if slow_start {
            self.reno.grow(segments);
        } else {
            self.reno.window += self.params.drift(self.reno.window, share);
            self.reno.ssthresh = self.reno.ssthresh.min(self.reno.window);
        }
        self.reno.window = self.reno.window.max(WINDOW_MIN);
        // As Linux: three quarters of the window are the least threshold for the next slow start.
        self.reno.ssthresh = self.reno.ssthresh.max(0.75 * self.reno.window);
    }
}

impl WindowLaw for Vegas {
    fn begin(&mut self, start: &WindowStart) {
        *self = Self::new(self.params, start);
    }

    fn sees_deliveries(&self) -> bool {
        true
    }

    fn on_delivery(&mut self, delivery: &Delivery) {
        if delivery.after_idle {
            self.least = None;
            self.begin_round(delivery.flight);
        }
        if self.repair != Repair::None && delivery.repair == Repair::None {
            self.begin_round(delivery.flight);
        }
        self.repair = delivery.repair;
        if let Some(sample) = delivery.round_trip {
            // A round trip takes time: a nanosecond at least, so that shares are of something.
            let sample = sample.max(Duration::from_nanos(1));
            self.least = Some(self.least.map_or(sample, |least| least.min(sample)));
            self.of_round = Some(self.of_round.map_or(sample, |least| least.min(sample)));
            self.samples += 1;
        }
    }

    fn on_ack(&mut self, acked: &Acked) {
        self.left = self.left.saturating_sub(acked.segments);
        if !acked.grows() {
            return;
        }
        if self.repair != Repair::None {
            self.reno.grow(acked.segments);
        } else if self.left == 0 {
            match self.share() {
                Some(share) => self.decide(share, acked.segments),
                None => self.reno.grow(acked.segments),
            }
            self.begin_round(acked.flight.saturating_sub(acked.segments));
        } else if self.reno.is_in_slow_start() {
            self.reno.grow(acked.segments);
        }
        self.reno.window = self.reno.window.min(WINDOW_MAX);
    }

    fn on_loss(&mut self, loss: &Loss) {
        self.reno.on_loss(loss);
    }

    fn on_timeout(&mut self, loss: &Loss) {
        self.reno.on_timeout(loss);
        self.least = None;
        self.begin_round(0);
    }

    fn deflate(&mut self, segments: f64) {
        self.reno.deflate(segments);
    }

    fn congestion_window(&self) -> f64 {
        self.reno.congestion_window()
    }

    fn slow_start_threshold(&self) -> f64 {
        self.reno.slow_start_threshold()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::conformance::drift;

    fn vegas(params: VegasParams, window: f64, ssthresh: f64) -> Vegas {
        let start = WindowStart {
            initial_window: window,
            initial_ssthresh: ssthresh,
            byte_counting: true,
            ..WindowStart::default()
        };
        params.validated().unwrap().begin(&start)
    }

    fn ack(law: &mut Vegas, segments: u32, round_trip_us: u64) {
        let flight = law.reno.window as u32;
        let round_trip = Some(Duration::from_micros(round_trip_us));
        let flight_after = flight.saturating_sub(segments);
        law.on_delivery(&Delivery { segments, round_trip, flight: flight_after, ..Delivery::default() });
        let (advances, window_limited) = (true, true);
        law.on_ack(&Acked { segments, advances, window_limited, flight, ..Acked::default() });
    }

    /// One round trip of acknowledgements, each of one segment.
    fn round(law: &mut Vegas, round_trip_us: u64) {
        (0..=law.reno.window as u32).for_each(|_| ack(law, 1, round_trip_us));
    }

    #[test]
    fn alpha_opens_the_window_and_beta_closes_it() {
        // 20·(1 − 100/D): 1 at 105.3 ms, 3 at 117.6, 5 at 133.3.
        for (round_trip_us, moved) in [(105_263, 1.0), (117_647, 0.0), (133_334, -1.0)] {
            let mut law = vegas(VegasParams::linux(), 20.0, 2.0);
            law.least = Some(Duration::from_millis(100));
            round(&mut law, round_trip_us);
            let before = law.reno.window; // the first acknowledgement ended a round of no samples: Reno's 1/20
            round(&mut law, round_trip_us);
            assert!(
                (law.reno.window - before - moved).abs() < 1e-9,
                "{round_trip_us}: {before} {}",
                law.reno.window
            );
        }
    }

    #[test]
    fn two_measures_differ_by_round_trips_ratio() {
        // Of 20 packets in 125 ms, without a queue 100: 4 wait; Linux computes 5.
        let paper = VegasParams::linux();
        let linux = VegasParams { measure: VegasMeasure::Linux, ..paper };
        assert!((paper.excess(20.0, 0.8) - 4.0).abs() < 1e-12);
        assert!((linux.excess(20.0, 0.8) - 5.0).abs() < 1e-12);
        assert!(paper.drift(20.0, 0.8).abs() < 1e-12, "four are no more than β");
        assert!((linux.drift(20.0, 0.8) + 1.0).abs() < 1e-12);
    }

    #[test]
    fn slow_start_ends_at_the_delivery_rate() {
        let mut law = vegas(VegasParams::linux(), 32.0, 1e6);
        law.least = Some(Duration::from_millis(100));
        law.begin_round(31);
        (0..31).for_each(|_| ack(&mut law, 1, 150_000));
        let before = law.reno.window;
        assert!((before - 63.0).abs() < 1e-12, "slow start goes on until the round trip is over");
        ack(&mut law, 1, 150_000);
        // ⌊63·100/150⌋ + 1
        assert!((law.reno.window - 43.0).abs() < 1e-12, "{}", law.reno.window);
        assert!((law.reno.ssthresh - 43.0).abs() < 1e-12);
    }

    #[test]
    fn two_samples_are_not_enough() {
        let mut law = vegas(VegasParams::linux(), 20.0, 2.0);
        law.least = Some(Duration::from_millis(100));
        law.begin_round(19);
        ack(&mut law, 10, 200_000);
        ack(&mut law, 10, 200_000);
        assert!((law.reno.window - 20.5).abs() < 1e-9, "Reno's ten segments of twenty: {}", law.reno.window);
        law.begin_round(19);
        (0..4).for_each(|_| ack(&mut law, 5, 200_000));
        assert!((law.reno.window - 19.5).abs() < 1e-9, "four samples: ten packets wait");
    }

    #[test]
    fn after_recovery_whole_round_trip_is_waited_for() {
        let mut law = vegas(VegasParams::linux(), 20.0, 2.0);
        law.least = Some(Duration::from_millis(100));
        (0..10).for_each(|_| ack(&mut law, 1, 200_000));
        law.on_loss(&Loss { flight: 20.0, ..Loss::default() });
        law.on_delivery(&Delivery { repair: Repair::Recovery, ..Delivery::default() });
        assert!((law.reno.window - 10.0).abs() < 1e-12);
        law.on_delivery(&Delivery { repair: Repair::None, flight: 10, ..Delivery::default() });
        assert_eq!((law.samples, law.left), (0, 11), "nothing of before counts");
        law.on_timeout(&Loss { flight: 10.0, ..Loss::default() });
        assert_eq!(law.least, None, "nor does the least round trip after a time-out");
    }

    #[test]
    fn the_step_of_the_machine_is_the_drift() {
        for (share, per_round_trip) in [(0.95, 1.0), (0.85, 0.0), (0.5, -1.0)] {
            let mut law = vegas(VegasParams::linux(), 20.0, 2.0);
            law.least = Some(Duration::from_millis(100));
            law.begin_round(0);
            (0..2).for_each(|_| law.on_delivery(&sampled(share)));
            assert!((law.params.drift(20.0, share) - per_round_trip).abs() < 1e-12);
            let step = |law: &mut Vegas| {
                law.on_delivery(&sampled(share));
                let (advances, window_limited) = (true, true);
                law.on_ack(&Acked { segments: 1, advances, window_limited, ..Acked::default() });
            };
            drift(&law, Vegas::congestion_window, &[(1.0, &step)], per_round_trip, 1e-12);
        }
    }

    fn sampled(share: f64) -> Delivery {
        let round_trip = Some(Duration::from_secs_f64(0.1 / share));
        Delivery { segments: 1, round_trip, ..Delivery::default() }
    }

    #[test]
    fn thresholds_the_wrong_way_round_are_refused() {
        let bad = VegasParams { alpha: 5.0, beta: 4.0, ..VegasParams::linux() };
        assert_eq!(bad.validated().unwrap_err().name, "beta");
        assert!(VegasParams::qcsma().validated().is_ok());
    }

    #[test]
    fn each_parameter_has_its_range() {
        let params = VegasParams { alpha: 1e-10, ..VegasParams::linux() };
        let (good, bad) = crate::ranges::POSITIVE;
        let alpha = |alpha| VegasParams { alpha, beta: 1e10, ..params };
        crate::ranges::assert_range("alpha", alpha, good, bad);
        crate::ranges::assert_range("gamma", |gamma| VegasParams { gamma, ..params }, good, bad);
        let beta = |beta| VegasParams { beta, ..VegasParams::linux() };
        crate::ranges::assert_range("beta", beta, &[2.0, 9.0], &[1.9, f64::INFINITY, f64::NAN]);
    }

    /// [QCSMA] section IV-C.
    #[test]
    fn the_papers_thresholds_are_200_and_203() {
        let VegasParams { alpha, beta, .. } = VegasParams::qcsma();
        assert_eq!((alpha, beta), (200.0, 203.0));
    }

    /// Of a window of 10, 2 wait at a share of 0.8: α = 2 is not above them. Of 40, 3 do at 37/40: between both.
    #[test]
    fn window_stays_between_thresholds() {
        assert!(VegasParams::linux().drift(10.0, 0.8).abs() < 1e-12);
        let start = WindowStart { initial_window: 40.0, initial_ssthresh: 4.0, ..WindowStart::default() };
        let mut law = VegasParams::linux().begin(&start);
        law.decide(37.0 / 40.0, 1);
        assert_eq!((law.congestion_window(), law.slow_start_threshold()), (40.0, 30.0), "0.75 of it");
        // Slow start goes on while no more than γ = 1 wait: 8 · 1/8.
        let start = WindowStart { initial_window: 8.0, initial_ssthresh: 40.0, ..WindowStart::default() };
        let mut law = VegasParams::linux().begin(&start);
        law.decide(7.0 / 8.0, 1);
        assert!((law.congestion_window() - 9.0).abs() < 1e-12);
    }
}
