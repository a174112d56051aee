//! FAST TCP.
//!
//! # Law
//! Every so many round trips `w ← min(2w, (1 − γ)·w + γ·(d/D·w + α))`, with `d` the least and `D` the average round-trip time:
//! the window moves by a share γ towards that at which α packets wait.
//!
//! # Source
//! D. Wei, C. Jin, S. Low and S. Hegde, "FAST TCP: motivation, architecture, algorithms, performance", IEEE/ACM Transactions
//! on Networking 14(6), 2006: the window's update (section IV-C) and the averages (section IV-A); [QCSMA] section IV-C, which
//! compares QUIC-TCP with it.
//!
//! # Symbols
//! `α` → [`FastParams::alpha`] \[packets\], [QCSMA]'s `p`; `γ` → [`FastParams::gamma`], [QCSMA]'s `κ`: at ρ = ½ and long
//! queues QUIC-TCP's step is FAST's times `d/D`.
//!
//! # Signals
//! Deliveries: the round trip of each acknowledgement. Losses and time-outs as Reno.
//!
//! # Deviations
//! The paper's γ is in (0, 1]. Values up to 2, beyond which no window settles, are accepted for [QCSMA]'s κ =
//! 1.5, with which the window overshoots and comes back. If it moves in every round trip and the queue is
//! short against the path, it then swings for good (α = 20 of 100 ms: 97 % of the rate). So every other round
//! trip is the default. Slow start is the law's own doubling; the threshold is kept for the endpoint's
//! recovery alone. The burstiness control and the two-ways adaptation of α are not built. A window that is
//! not in use is held (RFC 7661). It stops at [`WINDOW_MAX`], and at two packets.
//!
//! # Example
//! ```
//! use evenair_laws::window::FastParams;
//! let law = FastParams::default();
//! // 300 packets in a round trip of which two thirds is queueing: 200 wait, as many as are wanted.
//! assert!(law.drift(300.0, 1.0 / 3.0).abs() < 1e-9);
//! ```

use super::{Acked, Delivery, Loss, Reno, WINDOW_MAX, WindowLaw, WindowStart};
use crate::{BadParameter, Parameters, check};
use evenair_units::Duration;

/// Parameters of the law.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(default, deny_unknown_fields)
)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct FastParams {
    /// α: how many packets wait at the equilibrium [packets].
    pub alpha: f64,
    /// γ: the share of the way to it that a step takes.
    pub gamma: f64,
    /// A step every so many round trips.
    pub rounds: u32,
}

impl FastParams {
    /// The parameters of the source's authors: α = 200 packets, γ = ½, a step in every other round trip.
    pub const fn published() -> Self {
        Self { alpha: 200.0, gamma: 0.5, rounds: 2 }
    }

    /// [QCSMA] section IV-C: p and κ of QUIC-TCP, a step as often.
    pub const fn qcsma() -> Self {
        Self { alpha: 200.0, gamma: 1.5, rounds: 1 }
    }

    /// The fluid face: by how many packets the window moves with a step; `share` is `d/D`.
    pub fn drift(&self, window: f64, share: f64) -> f64 {
        -self.gamma * (window - share * window - self.alpha)
    }

    /// The window after a step, at most doubled.
    pub fn next(&self, window: f64, share: f64) -> f64 {
        (window + self.drift(window, share)).min(2.0 * window).clamp(WINDOW_MIN, WINDOW_MAX)
    }
}

impl Default for FastParams {
    fn default() -> Self {
        Self::published()
    }
}

impl Parameters for FastParams {
    type Surroundings = ();
    type Place = WindowStart;
    type Law = Fast;

    fn validated(self) -> Result<Self, BadParameter> {
        let Self { alpha, gamma, rounds } = self;
        check("alpha", alpha, alpha > 0.0 && alpha.is_finite(), "above 0")?;
        check("gamma", gamma, gamma > 0.0 && gamma < 2.0, "above 0 and below 2")?;
        check("rounds", f64::from(rounds), rounds > 0, "1 or more")?;
        Ok(self)
    }

    fn begin(&self, start: &WindowStart) -> Fast {
        Fast::new(*self, start)
    }
}

/// The least window that the law leaves by itself: with one segment there is hardly a round trip to average.
const WINDOW_MIN: f64 = 2.0;

/// The average of round trips moves by three samples' worth of a window's at each, at most by a quarter: the source.
const SAMPLES_OF_WINDOW: f64 = 3.0;
const STEP_MAX: f64 = 0.25;

/// The state of one sender.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Fast {
    params: FastParams,
    /// The window, and its reaction to losses.
    reno: Reno,
    /// The least and the average round-trip time \[s\].
    round_trip: Option<(f64, f64)>,
    /// Segments to be acknowledged before this round trip is over, and round trips after it before the next step.
    left: u32,
    rounds_left: u32,
}

impl Fast {
    /// The state at the start of a connection.
    pub const fn new(params: FastParams, start: &WindowStart) -> Self {
        Self { params, reno: Reno::new(start), round_trip: None, left: 0, rounds_left: 0 }
    }

    fn measure(&mut self, sample: Duration) {
        // A round trip takes time: a nanosecond at least, so that shares are of something.
        let sample = sample.as_secs_f64().max(1e-9);
        let step = (SAMPLES_OF_WINDOW / self.reno.window).min(STEP_MAX);
        self.round_trip = Some(match self.round_trip {
            None => (sample, sample),
            Some((least, average)) => (least.min(sample), average + step * (sample - average)),
        });
    }

    /// `d/D`.
    fn share(&self) -> Option<f64> {
        // The average of samples is no less than the least of them, but for the last digit.
        self.round_trip.map(|(least, average)| (least / average).min(1.0))
    }
}

impl WindowLaw for Fast {
    fn begin(&mut self, start: &WindowStart) {
        *self = Self::new(self.params, start);
    }

    fn sees_deliveries(&self) -> bool {
        true
    }

    fn on_delivery(&mut self, delivery: &Delivery) {
        if let Some(sample) = delivery.round_trip {
            self.measure(sample);
        }
    }

    fn on_ack(&mut self, acked: &Acked) {
        self.left = self.left.saturating_sub(acked.segments);
        if self.left > 0 || !acked.grows() {
            return;
        }
        self.left = acked.flight.saturating_sub(acked.segments);
        // Below the doubling's end a step is not waited for: that is its slow start.
        let Some(share) = self.share() else { return };
        let next = self.params.next(self.reno.window, share);
        let doubles = next >= 2.0 * self.reno.window;
        if doubles || self.rounds_left == 0 {
            self.reno.window = next;
            self.rounds_left = self.params.rounds;
        }
        self.rounds_left = self.rounds_left.saturating_sub(1);
    }

    fn on_loss(&mut self, loss: &Loss) {
        self.reno.on_loss(loss);
    }

    fn on_timeout(&mut self, loss: &Loss) {
        self.reno.on_timeout(loss);
        (self.left, self.rounds_left) = (0, 0);
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

    fn fast(params: FastParams, window: f64) -> Fast {
        let start = WindowStart {
            initial_window: window,
            initial_ssthresh: 1e6,
            byte_counting: true,
            ..WindowStart::default()
        };
        params.validated().unwrap().begin(&start)
    }

    #[test]
    fn the_arithmetic_of_a_step() {
        let law = FastParams { alpha: 10.0, gamma: 0.5, rounds: 1 };
        // (1 − ½)·60 + ½·(100/150·60 + 10) = 30 + 25
        assert!((law.next(60.0, 100.0 / 150.0) - 55.0).abs() < 1e-12);
        // Without a queue ½·4 + ½·(4 + 10) = 9 would be more than twice 4.
        assert!((law.next(4.0, 1.0) - 8.0).abs() < 1e-12);
    }

    /// One flow over a link of 1000 packets/s and 50 ms: acknowledgements come at the link's rate, and the
    /// part of the window above 50 packets is queued.
    fn over_a_link(law: &mut Fast, acks: u32) {
        for _ in 0..acks {
            let flight = law.reno.window as u32;
            let queued = (law.reno.window - 50.0).max(0.0);
            let round_trip = Some(Duration::from_secs_f64(0.05 + queued / 1000.0));
            law.on_delivery(&Delivery { segments: 1, round_trip, ..Delivery::default() });
            let (advances, window_limited) = (true, true);
            law.on_ack(&Acked { segments: 1, advances, window_limited, flight, ..Acked::default() });
        }
    }

    #[test]
    fn as_many_wait_as_are_wanted() {
        for (gamma, rounds) in [(0.5, 1), (0.5, 2), (1.5, 1)] {
            let mut law = fast(FastParams { alpha: 20.0, gamma, rounds }, 2.0);
            over_a_link(&mut law, 40_000);
            assert!((law.reno.window - 70.0).abs() < 0.1, "{gamma}, {rounds}: {}", law.reno.window);
        }
    }

    #[test]
    fn window_doubles_each_then_every_other_trip() {
        let mut law = fast(FastParams { alpha: 100.0, gamma: 0.5, rounds: 2 }, 2.0);
        let mut windows = std::vec::Vec::new();
        for _ in 0..6 {
            let flight = law.reno.window as u32;
            (0..flight).for_each(|_| over_a_link(&mut law, 1));
            windows.push(law.reno.window);
        }
        // Doubling to 32; then half of the way to 100 that wait, and a pause.
        assert!((windows[2] / windows[1] - 2.0).abs() < 1e-9, "{windows:?}");
        let steps = windows.windows(2).filter(|pair| (pair[0] - pair[1]).abs() > 1e-9).count();
        assert!(steps < 6, "{windows:?}");
    }

    #[test]
    fn the_step_of_the_machine_is_the_drift() {
        let mut law = fast(FastParams { alpha: 20.0, gamma: 0.5, rounds: 1 }, 64.0);
        law.measure(Duration::from_millis(50));
        (0..1_000).for_each(|_| law.measure(Duration::from_millis(64)));
        let per_step = law.params.drift(64.0, law.share().unwrap());
        drift(&law, Fast::congestion_window, &[(1.0, &|law| over_a_link(law, 1))], per_step, 1e-9);
        over_a_link(&mut law, 1);
        assert_eq!(law.left, 63, "the rest of the flight, before the next step");
    }

    #[test]
    fn losses_halve_and_a_gain_of_two_is_refused() {
        let mut law = fast(FastParams::published(), 64.0);
        law.on_loss(&Loss { flight: 64.0, ..Loss::default() });
        assert!((law.reno.window - 32.0).abs() < 1e-12);
        let bad = FastParams { gamma: 2.0, ..FastParams::published() };
        assert_eq!(bad.validated().unwrap_err().name, "gamma");
        assert!(FastParams::qcsma().validated().is_ok());
    }

    #[test]
    fn each_parameter_has_its_range() {
        let params = FastParams::default();
        let (good, bad) = crate::ranges::POSITIVE;
        crate::ranges::assert_range("alpha", |alpha| FastParams { alpha, ..params }, good, bad);
        let gamma = |gamma| FastParams { gamma, ..params };
        crate::ranges::assert_range("gamma", gamma, &[1e-9, 1.999], &[0.0, -1.0, 2.0, f64::NAN]);
        crate::ranges::assert_range("rounds", |rounds| FastParams { rounds, ..params }, &[1], &[0]);
    }

    /// [QCSMA] section IV-C: p = 200 and κ = 1.5 of QUIC-TCP.
    #[test]
    fn the_papers_numbers_are_quic_tcps() {
        assert_eq!(FastParams::qcsma(), FastParams { alpha: 200.0, gamma: 1.5, rounds: 1 });
    }

    /// Three of twenty segments' samples: 100 + 0.15·(200 − 100) ms; of ten, a quarter at most.
    #[test]
    fn average_moves_by_three_samples_of_window() {
        let average = |window| {
            let mut law = FastParams::default()
                .begin(&WindowStart { initial_window: window, ..WindowStart::default() });
            law.measure(Duration::from_millis(100));
            law.measure(Duration::from_millis(200));
            law.round_trip.unwrap().1
        };
        assert!((average(20.0) - 0.115).abs() < 1e-12 && (average(10.0) - 0.125).abs() < 1e-12);
    }

    /// Without a queue the window grows by γα; a step that does not double it waits for its round trip.
    #[test]
    fn only_doubling_is_not_waited_for() {
        let params = FastParams { alpha: 3.0, gamma: 1.0, rounds: 2 };
        let after = |window, rounds_left| {
            let start =
                WindowStart { initial_window: window, initial_ssthresh: 1.0, ..WindowStart::default() };
            let mut law = Fast { rounds_left, round_trip: Some((0.1, 0.1)), ..params.begin(&start) };
            law.on_ack(&Acked { segments: 1, advances: true, window_limited: true, ..Acked::default() });
            law.congestion_window()
        };
        assert_eq!((after(10.0, 5), after(10.0, 0)), (10.0, 13.0));
        assert!((after(2.0, 5) - 4.0).abs() < 1e-12, "doubled at most");
    }
}
