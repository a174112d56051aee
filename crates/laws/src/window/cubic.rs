//! TCP CUBIC.
//!
//! # Law
//! In congestion avoidance the window follows `W(t) = C(t − K)³ + W_max`, `t` the time since the last reduction and `K =
//! ∛((W_max − W_start)/C)`; where Reno's estimate `W_est` is larger, it follows that. A loss leaves `β` of the window.
//!
//! # Source
//! RFC 9438: eq. (1), (2) sections 4.2, (4) section 4.3, sections 4.4 to 4.8.
//!
//! # Symbols
//! `C` → [`SCALE`] \[segments/s³\]; `β` → [`BETA`]; `W_max` → `peak`; `W_est` → `reno_estimate` \[segments\].
//!
//! # Signals
//! Acknowledgements with their instants, the smoothed round-trip time, losses, time-outs.
//!
//! # Deviations
//! Windows and targets are whole segments, rounded towards the plateau, and the round trip looked ahead is the least one
//! seen: Linux's arithmetic, which is what runs. It reaches the plateau up to ∛(1/C) = 1.36 s before the RFC's real
//! numbers do (docs/validation.md, section on a real kernel). Slow start ends at the threshold or with a loss: `HyStart++` (RFC 9406), which the RFC recommends, is not built. The
//! epoch is not shifted for idle times (section 5.8).

use super::{Acked, Loss, WindowLaw, WindowParams, slow_start_growth};
use evenair_units::Instant;

/// `C` \[segments/s³\] (RFC 9438 section 5).
pub const SCALE: f64 = 0.4;
/// `β`: what a loss leaves of the window (section 4.6).
pub const BETA: f64 = 0.7;
/// Reno's slope that is as fair at this `β`: `3(1 − β)/(1 + β)` (section 4.3).
const ALPHA: f64 = 3.0 * (1.0 - BETA) / (1.0 + BETA);

/// Segments per window that a flow on its plateau still grows by: Linux's 1/100.
const PLATEAU_STEP: f64 = 0.01;

/// One stretch of congestion avoidance.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Epoch {
    start: Instant,
    /// `K`: how long the cubic takes to reach its plateau \[s\].
    plateau_after_s: f64,
    /// `W_est`.
    reno_estimate: f64,
}

/// The state of one sender.
#[derive(Clone, Debug, PartialEq)]
pub struct Cubic {
    window: f64,
    ssthresh: f64,
    byte_counting: bool,
    /// `W_max`: the plateau of the cubic.
    peak: f64,
    /// `cwnd_prior`: the window before the last reduction.
    prior: f64,
    /// The next epoch begins after a time-out: it starts on its plateau (section 4.8).
    after_timeout: bool,
    epoch: Option<Epoch>,
}

impl Cubic {
    /// The state at the start of a connection.
    pub const fn new(params: WindowParams) -> Self {
        Self {
            window: params.initial_window,
            ssthresh: params.initial_ssthresh,
            byte_counting: params.byte_counting,
            peak: 0.0,
            prior: 0.0,
            after_timeout: true,
            epoch: None,
        }
    }

    fn reduce(&mut self, loss: Loss) {
        // Section 4.7, fast convergence: a flow that lost below its last peak makes room. In whole segments, as Linux
        // counts: otherwise a flow alone, whose peaks differ by a fraction, makes room every second time.
        let below = libm::floor(self.window) < libm::floor(self.peak);
        self.peak = if below { self.window * (1.0 + BETA) / 2.0 } else { self.window };
        self.prior = self.window;
        self.ssthresh = (loss.flight * BETA).max(2.0); // section 4.6
        self.epoch = None;
    }

    fn begin_epoch(&mut self, now: Instant) -> Epoch {
        if core::mem::take(&mut self.after_timeout) || self.peak < self.window {
            self.peak = self.window;
        }
        // Eq. (2).
        let plateau_after_s = libm::cbrt((self.peak - self.window) / SCALE);
        Epoch { start: now, plateau_after_s, reno_estimate: self.window }
    }

    fn avoid_congestion(&mut self, acked: Acked) {
        let mut epoch = match self.epoch {
            Some(epoch) => epoch,
            None => self.begin_epoch(acked.now),
        };
        let segments = if self.byte_counting { f64::from(acked.segments) } else { 1.0 };
        let window = libm::floor(self.window);
        // Eq. (1) a round trip on, in whole segments, rounded towards the plateau.
        let ahead_s = acked.min_round_trip.unwrap_or_default().as_secs_f64();
        let from_plateau = acked.now.since(epoch.start).as_secs_f64() + ahead_s - epoch.plateau_after_s;
        let distance = libm::floor(SCALE * libm::pow(libm::fabs(from_plateau), 3.0));
        let plateau = libm::floor(self.peak);
        let target = if from_plateau < 0.0 { plateau - distance } else { plateau + distance };
        // Eq. (4): what Reno would have, with the same mean window at this β.
        let slope = if epoch.reno_estimate < self.prior { ALPHA } else { 1.0 };
        epoch.reno_estimate += slope * segments / self.window;
        let ahead = target.max(libm::floor(epoch.reno_estimate)) - window;
        // At most half a segment for each acknowledged (section 4.4), and on the plateau hardly any.
        let step = if ahead > 0.0 { (ahead / window).min(0.5) } else { PLATEAU_STEP / window };
        self.window += step * segments;
        self.epoch = Some(epoch);
    }
}

impl WindowLaw for Cubic {
    fn on_ack(&mut self, acked: Acked) {
        if self.window < self.ssthresh {
            self.window += slow_start_growth(acked.segments, self.byte_counting);
        } else {
            self.avoid_congestion(acked);
        }
    }

    fn on_loss(&mut self, loss: Loss) {
        self.reduce(loss);
        self.after_timeout = false;
        self.window = self.ssthresh;
    }

    fn on_timeout(&mut self, loss: Loss) {
        self.reduce(loss);
        self.after_timeout = true;
        self.window = 1.0;
    }

    fn congestion_window(&self) -> f64 {
        self.window
    }

    fn slow_start_threshold(&self) -> f64 {
        self.ssthresh
    }
}

/// The time between two losses and the mean window of a flow in the cubic region that loses one segment in `1/loss`, RFC
/// 9438 eq. (5): `AVG_W = ⁴√(C(3 + β)/(4(1 − β))) · (RTT/p)^¾` \[segments\].
pub fn mean_window(round_trip_s: f64, loss: f64) -> f64 {
    let constant = libm::pow(SCALE * (3.0 + BETA) / (4.0 * (1.0 - BETA)), 0.25);
    constant * libm::pow(round_trip_s / loss, 0.75)
}

#[cfg(test)]
mod tests {
    use super::*;
    use evenair_units::Duration;
    use proptest::prelude::*;

    fn cubic(window: f64, ssthresh: f64) -> Cubic {
        Cubic::new(WindowParams { initial_window: window, initial_ssthresh: ssthresh, byte_counting: true })
    }

    fn ack(law: &mut Cubic, at_s: f64, round_trip: Duration) {
        let now = Instant::ZERO + Duration::from_secs_f64(at_s);
        law.on_ack(Acked {
            now,
            segments: 1,
            round_trip: Some(round_trip),
            min_round_trip: Some(round_trip),
        });
    }

    #[test]
    fn a_loss_leaves_seventy_percent_and_the_plateau_comes_back_after_k() {
        // W_max 1000, window 700: K = ∛(300/0.4) = 9.0856 s.
        let mut law = cubic(1000.0, 2.0);
        law.on_loss(Loss { flight: 1000.0 });
        assert!((law.congestion_window() - 700.0).abs() < 1e-9);
        let round_trip = Duration::from_millis(100);
        let mut t = 0.0;
        while t < 9.0856 {
            ack(&mut law, t, round_trip);
            t += 0.1 / law.congestion_window(); // acknowledgements come at window per round trip
        }
        assert!((law.congestion_window() - 1000.0).abs() < 2.0, "{}", law.congestion_window());
    }

    #[test]
    fn below_its_last_peak_a_loss_makes_room() {
        let mut law = cubic(100.0, 2.0);
        law.on_loss(Loss { flight: 100.0 });
        law.on_loss(Loss { flight: 70.0 });
        // 70·(1 + 0.7)/2 = 59.5
        assert!((law.peak - 59.5).abs() < 1e-9);
        assert!((law.congestion_window() - 49.0).abs() < 1e-9);
    }

    #[test]
    fn a_short_round_trip_makes_it_reno_friendly() {
        // At 10 ms and 20 segments Reno's estimate grows faster: α = 0.529 per round trip, 5.3 in ten.
        let mut law = cubic(20.0, 2.0);
        law.on_loss(Loss { flight: 20.0 });
        let before = law.congestion_window();
        let mut t = 0.0;
        for _ in 0..10 {
            for _ in 0..law.congestion_window() as u32 {
                ack(&mut law, t, Duration::from_millis(10));
                t += 0.01 / law.congestion_window();
            }
        }
        let grown = law.congestion_window() - before;
        assert!((grown - 10.0 * ALPHA).abs() < 1.0, "{grown}");
    }

    #[test]
    fn the_plateau_is_reached_a_segments_distance_early() {
        // Within ∛(1/0.4) = 1.357 s of K = 9.0856 s less than one segment is missing: Linux's target is the plateau.
        let mut law = cubic(1000.0, 2.0);
        law.on_loss(Loss { flight: 1000.0 });
        ack(&mut law, 0.0, Duration::ZERO);
        law.window = 900.0;
        let step = |law: &mut Cubic, at_s| {
            let before = law.congestion_window();
            ack(law, at_s, Duration::ZERO);
            (law.congestion_window() - before) * 900.0
        };
        assert!((step(&mut law.clone(), 7.70) - 99.0).abs() < 1e-6);
        assert!((step(&mut law, 7.75) - 100.0).abs() < 1e-6);
    }

    #[test]
    fn the_mean_window_of_the_rfcs_table() {
        // RFC 9438 table 1, round trip 0.1 s: p = 1e-4 → 187 segments of Reno's 122; CUBIC's average of eq. (6) 1.054·…
        let expected = 1.054 * libm::pow(0.1 / 1e-4, 0.75);
        assert!((mean_window(0.1, 1e-4) - expected).abs() < 0.01 * expected);
    }

    proptest! {
        #[test]
        fn the_window_is_always_at_least_one(events in prop::collection::vec((0u8..4, 0u32..4, 0.0f64..5.0), 0..400)) {
            let mut law = cubic(1.0, 2.0);
            let mut now = Instant::ZERO;
            for (event, segments, wait_s) in events {
                now += Duration::from_secs_f64(wait_s);
                let flight = law.congestion_window();
                match event {
                    0 | 1 => {
                        let round_trip = Some(Duration::from_millis(50));
                        law.on_ack(Acked { now, segments, round_trip, min_round_trip: round_trip });
                    },
                    2 => law.on_loss(Loss { flight }),
                    _ => law.on_timeout(Loss { flight }),
                }
                prop_assert!(law.congestion_window() >= 1.0 && law.congestion_window().is_finite());
                prop_assert!(law.slow_start_threshold() >= 2.0);
            }
        }
    }
}
