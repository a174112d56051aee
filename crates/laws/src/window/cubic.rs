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
//! `C` → [`CubicParams::scale`] \[segments/s³\]; `β` → [`CubicParams::beta`]; `W_max` → `peak`; `W_est` → `reno_estimate`
//! \[segments\].
//!
//! # Signals
//! Acknowledgements with their instants, the smoothed round-trip time, losses, time-outs.
//!
//! # Deviations
//! The arithmetic is Linux's, because that is the deployed one. Windows, targets and the acknowledgements
//! needed for the next segment are whole numbers, rounded so that the plateau is reached up to ∛(1/C) = 1.36
//! s early. The round trip looked ahead is the least observed one; a time-out forgets `W_max`. `W_est` always
//! grows by α. Section 4.3 lets it grow by one segment per round trip once it has passed the window before
//! the last loss. Under random loss that makes the RFC's CUBIC a third faster than Reno, and Linux's is as
//! fast as Reno (docs/notes/tcp.md). Slow start ends at the threshold or with a loss: `HyStart++` (RFC 9406),
//! which the RFC recommends, is not built. The epoch is not shifted for idle times (section 5.8). There is no
//! drift of the window alone: its motion depends on the time since the last loss. Its fluid face is the mean
//! window under random loss, [`mean_window`].
//!
//! # Example
//! ```
//! use evenair_laws::Parameters;
//! use evenair_laws::window::{CubicParams, Loss, WindowLaw, WindowStart};
//! let start = WindowStart { initial_window: 100.0, initial_ssthresh: 64.0, byte_counting: true, ..WindowStart::default() };
//! let mut law = CubicParams::rfc9438().begin(&start);
//! law.on_loss(&Loss { flight: 100.0, ..Loss::default() });
//! assert!((law.congestion_window() - 70.0).abs() < 1e-12);
//! ```

use super::{Acked, Loss, WindowLaw, WindowStart, counted, slow_start_growth};
use crate::{BadParameter, Parameters, check};
use evenair_units::{Duration, Instant};

/// Parameters of the law.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(default, deny_unknown_fields)
)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct CubicParams {
    /// C: how steep the cubic is [segments/s³] (RFC 9438 section 5).
    pub scale: f64,
    /// β: the share of the window that remains after a loss (RFC 9438 section 4.6).
    pub beta: f64,
}

impl CubicParams {
    /// RFC 9438: C = 0.4, β = 0.7.
    pub const fn rfc9438() -> Self {
        Self { scale: 0.4, beta: 0.7 }
    }

    /// Reno's slope that is as fair at this `β`: `3(1 − β)/(1 + β)` (section 4.3).
    fn alpha(&self) -> f64 {
        3.0 * (1.0 - self.beta) / (1.0 + self.beta)
    }
}

impl Default for CubicParams {
    fn default() -> Self {
        Self::rfc9438()
    }
}

impl Parameters for CubicParams {
    type Surroundings = ();
    type Place = WindowStart;
    type Law = Cubic;

    fn validated(self) -> Result<Self, BadParameter> {
        check("scale", self.scale, self.scale > 0.0 && self.scale.is_finite(), "above 0")?;
        check("beta", self.beta, self.beta > 0.0 && self.beta < 1.0, "above 0 and below 1")?;
        Ok(self)
    }

    fn begin(&self, start: &WindowStart) -> Cubic {
        Cubic::new(*self, start)
    }
}

/// Acknowledged segments per window that a flow on its plateau still takes to grow by one: Linux's hundred windows.
const PLATEAU_WINDOWS: f64 = 100.0;

/// Without a plateau, after a time-out, one segment for every twenty acknowledged: Linux.
const ACKNOWLEDGED_MAX_WITHOUT_PEAK: f64 = 20.0;

/// The pace of growth is computed again when the window has changed, or after this time: Linux's HZ/32.
const PACE_HOLDS: Duration = Duration::from_nanos(1_000_000_000 / 32);

/// One stretch of congestion avoidance.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
struct Epoch {
    start: Instant,
    /// Where the cubic turns: `W_max`, or the window at the start where that is larger \[segments\].
    plateau: f64,
    /// `K`: how long the cubic takes to get there \[s\].
    plateau_after_s: f64,
    /// `W_est`, and the segments that were acknowledged towards its next one.
    reno_estimate: f64,
    reno_credit: f64,
}

impl Epoch {
    /// Eq. (1) a round trip on, rounded towards the plateau \[segments\].
    fn target(&self, scale: f64, acked: &Acked) -> f64 {
        let ahead_s = acked.least.unwrap_or_default().as_secs_f64();
        let from_plateau = acked.now.since(self.start).as_secs_f64() + ahead_s - self.plateau_after_s;
        let distance = libm::floor(scale * libm::pow(libm::fabs(from_plateau), 3.0));
        if from_plateau < 0.0 { self.plateau - distance } else { self.plateau + distance }
    }
}

/// The state of one sender.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Cubic {
    params: CubicParams,
    window: f64,
    /// Segments that were acknowledged towards the window's next one.
    credit: f64,
    ssthresh: f64,
    byte_counting: bool,
    /// `W_max`: the window before the last loss, less the room made for others; none after a time-out.
    peak: f64,
    epoch: Option<Epoch>,
    pace: Pace,
}

/// How fast the window grows, and the inputs of that computation.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
struct Pace {
    /// How many segments must be acknowledged for each that the window grows by.
    per_segment: f64,
    window: f64,
    at: Instant,
}

impl Cubic {
    /// The state at the start of a connection.
    pub const fn new(params: CubicParams, start: &WindowStart) -> Self {
        Self {
            params,
            window: start.initial_window,
            credit: 0.0,
            ssthresh: start.initial_ssthresh,
            byte_counting: start.byte_counting,
            peak: 0.0,
            epoch: None,
            pace: Pace { per_segment: 2.0, window: 0.0, at: Instant::ZERO },
        }
    }

    fn reduce(&mut self, loss: &Loss) {
        let beta = self.params.beta;
        // Section 4.7, fast convergence: a flow that lost below its last peak makes room.
        let below = self.window < self.peak;
        self.peak = if below { libm::floor(self.window * (1.0 + beta) / 2.0) } else { self.window };
        self.ssthresh = libm::floor(loss.flight * beta).max(2.0); // section 4.6
    }

    fn restart(&mut self, window: f64) {
        (self.window, self.credit, self.epoch) = (window, 0.0, None);
    }

    fn begin_epoch(&self, now: Instant) -> Epoch {
        let plateau = self.peak.max(self.window);
        let plateau_after_s = libm::cbrt((plateau - self.window) / self.params.scale); // eq. (2)
        Epoch { start: now, plateau, plateau_after_s, reno_estimate: self.window, reno_credit: 0.0 }
    }

    fn avoid_congestion(&mut self, acked: &Acked, segments: f64) {
        let mut epoch = self.epoch.unwrap_or_else(|| self.begin_epoch(acked.now));
        epoch.reno_credit += segments;
        #[allow(clippy::float_cmp, reason = "whole numbers")]
        let holds = self.pace.window == self.window && acked.now.since(self.pace.at) <= PACE_HOLDS;
        if !holds {
            self.set_pace(acked, &mut epoch);
        }
        self.epoch = Some(epoch);
        self.credit_window(segments, self.pace.per_segment);
    }

    fn set_pace(&mut self, acked: &Acked, epoch: &mut Epoch) {
        // Eq. (4): Reno's window, with the same mean window at this β.
        let per_segment = self.window / self.params.alpha();
        while epoch.reno_credit > per_segment {
            epoch.reno_credit -= per_segment;
            epoch.reno_estimate += 1.0;
        }
        let mut per_segment = self
            .acknowledged_per_segment(epoch.target(self.params.scale, acked), PLATEAU_WINDOWS * self.window);
        if self.peak <= 0.0 {
            per_segment = per_segment.min(ACKNOWLEDGED_MAX_WITHOUT_PEAK);
        }
        per_segment = self.acknowledged_per_segment(epoch.reno_estimate, per_segment).min(per_segment);
        // Half a segment for each acknowledged (section 4.4).
        self.pace = Pace { per_segment: per_segment.max(2.0), window: self.window, at: acked.now };
    }

    /// How many segments must be acknowledged for each that the window grows by, to reach a target in a round trip.
    fn acknowledged_per_segment(&self, target: f64, otherwise: f64) -> f64 {
        let ahead = target - self.window;
        if ahead > 0.0 { libm::floor(self.window / ahead) } else { otherwise }
    }

    fn credit_window(&mut self, segments: f64, per_segment: f64) {
        // Credit collected at a slower pace is worth one segment at the new one.
        if self.credit >= per_segment {
            self.credit = 0.0;
            self.window += 1.0;
        }
        self.credit += segments;
        let grown = libm::floor(self.credit / per_segment);
        self.credit -= grown * per_segment;
        self.window += grown;
    }
}

impl WindowLaw for Cubic {
    fn begin(&mut self, start: &WindowStart) {
        *self = Self::new(self.params, start);
    }

    fn on_ack(&mut self, acked: &Acked) {
        if !acked.grows() {
            return;
        }
        let mut segments = counted(acked.segments, self.byte_counting);
        if self.window < self.ssthresh {
            let grown =
                slow_start_growth(acked.segments, self.byte_counting).min(self.ssthresh - self.window);
            self.window += grown;
            segments -= grown;
        }
        if segments > 0.0 && self.window >= self.ssthresh {
            self.avoid_congestion(acked, segments);
        }
    }

    fn on_loss(&mut self, loss: &Loss) {
        self.reduce(loss);
        self.restart(self.ssthresh);
    }

    fn on_timeout(&mut self, loss: &Loss) {
        if !loss.repeated {
            self.reduce(loss);
        }
        // A time-out forgets the path: the next epoch starts on its plateau (section 4.8).
        self.peak = 0.0;
        self.restart(1.0);
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
pub fn mean_window(params: CubicParams, round_trip_s: f64, loss: f64) -> f64 {
    let CubicParams { scale, beta } = params;
    let constant = libm::pow(scale * (3.0 + beta) / (4.0 * (1.0 - beta)), 0.25);
    constant * libm::pow(round_trip_s / loss, 0.75)
}

#[cfg(test)]
mod tests {
    use super::*;

    const RFC: CubicParams = CubicParams::rfc9438();

    fn cubic(window: f64, ssthresh: f64) -> Cubic {
        RFC.begin(&WindowStart {
            initial_window: window,
            initial_ssthresh: ssthresh,
            byte_counting: true,
            ..WindowStart::default()
        })
    }

    const fn loss(flight: f64) -> Loss {
        Loss { now: Instant::ZERO, flight, repeated: false }
    }

    fn acked(at_s: f64, round_trip: Duration) -> Acked {
        let now = Instant::ZERO + Duration::from_secs_f64(at_s);
        let (smoothed, least) = (Some(round_trip), Some(round_trip));
        Acked { now, segments: 1, advances: true, window_limited: true, smoothed, least, ..Acked::default() }
    }

    fn ack(law: &mut Cubic, at_s: f64, round_trip: Duration) {
        law.on_ack(&acked(at_s, round_trip));
    }

    #[test]
    fn loss_leaves_seventy_percent_plateau_after_k() {
        // W_max 1000, window 700: K = ∛(300/0.4) = 9.0856 s.
        let mut law = cubic(1000.0, 2.0);
        law.on_loss(&loss(1000.0));
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
        law.on_loss(&loss(100.0));
        law.on_loss(&loss(70.0));
        // 70·(1 + 0.7)/2 = 59.5, in whole segments
        assert!((law.peak - 59.0).abs() < 1e-9);
        assert!((law.congestion_window() - 49.0).abs() < 1e-9);
    }

    #[test]
    fn a_short_round_trip_makes_it_reno_friendly() {
        // At 10 ms and 20 segments Reno's estimate grows faster: α = 0.529 per round trip, 26.5 in fifty.
        let mut law = cubic(20.0, 2.0);
        law.on_loss(&loss(20.0));
        let before = law.congestion_window();
        let mut t = 0.0;
        for _ in 0..50 {
            for _ in 0..law.congestion_window() as u32 {
                ack(&mut law, t, Duration::from_millis(10));
                t += 0.01 / law.congestion_window();
            }
        }
        let grown = law.congestion_window() - before;
        // Less the cost of whole segments and of a pace that holds for three round trips: 24.
        assert!((grown / (50.0 * RFC.alpha()) - 1.0).abs() < 0.1, "{grown}");
    }

    #[test]
    fn plateau_is_reached_segments_distance_early() {
        // Within ∛(1/0.4) = 1.357 s of K = 9.0856 s less than one segment is missing: Linux's target is the plateau.
        let mut law = cubic(1000.0, 2.0);
        law.on_loss(&loss(1000.0));
        let epoch = law.begin_epoch(Instant::ZERO);
        assert!((epoch.target(RFC.scale, &acked(7.70, Duration::ZERO)) - 999.0).abs() < 1e-9);
        assert!((epoch.target(RFC.scale, &acked(7.75, Duration::ZERO)) - 1000.0).abs() < 1e-9);
    }

    #[test]
    fn the_mean_window_of_the_rfcs_table() {
        // RFC 9438 table 1, round trip 0.1 s: p = 1e-4 → 187 segments of Reno's 122; CUBIC's average of eq. (6) 1.054·…
        let expected = 1.054 * libm::pow(0.1 / 1e-4, 0.75);
        assert!((mean_window(RFC, 0.1, 1e-4) - expected).abs() < 0.01 * expected);
    }

    #[test]
    fn each_parameter_has_its_range() {
        let (good, bad) = crate::ranges::POSITIVE;
        crate::ranges::assert_range("scale", |scale| CubicParams { scale, ..RFC }, good, bad);
        let beta = |beta| CubicParams { beta, ..RFC };
        crate::ranges::assert_range("beta", beta, &[1e-9, 0.999], &[0.0, -1.0, 1.0, f64::NAN]);
    }

    /// RFC 9438 section 4.3: 3·0.3/1.7 = 0.53; with Reno's half of the window, Reno's one.
    #[test]
    fn the_slope_of_reno_follows_beta() {
        assert!((RFC.alpha() - 9.0 / 17.0).abs() < 1e-12);
        assert!((CubicParams { beta: 0.5, ..RFC }.alpha() - 1.0).abs() < 1e-12);
    }

    fn sender(window: f64, ssthresh: f64) -> Cubic {
        let start = WindowStart {
            initial_window: window,
            initial_ssthresh: ssthresh,
            byte_counting: true,
            ..WindowStart::default()
        };
        RFC.begin(&start)
    }

    fn segments(count: u32) -> Acked {
        Acked { segments: count, advances: true, window_limited: true, ..Acked::default() }
    }

    /// RFC 9438 eq. (1): 0.4·(t − K)³ from the plateau, t a round trip on.
    #[test]
    fn the_target_is_the_cubic_a_round_trip_on() {
        let target = |seconds, ahead_ms, plateau_after_s| {
            let sender = sender(100.0, 2.0);
            let epoch = Epoch { plateau_after_s, ..sender.begin_epoch(Instant::ZERO) };
            let now = Instant::ZERO + Duration::from_secs(seconds);
            epoch.target(0.4, &Acked { now, least: Some(Duration::from_millis(ahead_ms)), ..segments(1) })
        };
        // 2 + 1 − 1 = 2 s: 3.2 above; 0 + 0.5 − 3 = −2.5 s: 6.25 below.
        assert!((target(2, 1000, 1.0) - 103.0).abs() < 1e-12);
        assert!((target(0, 500, 3.0) - 94.0).abs() < 1e-12);
    }

    /// RFC 9438 section 4.7: below the last peak, (1 + 0.7)/2 of the window; section 4.6: 0.7 of the flight.
    #[test]
    fn a_flow_that_lost_below_its_peak_makes_room() {
        let peak = |window| {
            let mut sender = Cubic { peak: 100.0, ..sender(window, 2.0) };
            sender.on_loss(&Loss { flight: window, ..Loss::default() });
            sender.peak
        };
        assert_eq!((peak(100.0), peak(99.0)), (100.0, 84.0));
    }

    #[test]
    fn a_repeated_timeout_holds_the_threshold() {
        let threshold = |repeated| {
            let mut sender = sender(10.0, 40.0);
            sender.on_timeout(&Loss { flight: 10.0, repeated, ..Loss::default() });
            assert!((sender.congestion_window() - 1.0).abs() < 1e-12);
            sender.slow_start_threshold()
        };
        assert_eq!((threshold(false), threshold(true)), (7.0, 40.0));
    }

    #[test]
    fn rest_of_an_acknowledgement_is_credit() {
        let mut crosses = sender(3.0, 4.0);
        crosses.on_ack(&segments(2));
        assert_eq!((crosses.window, crosses.credit), (4.0, 1.0));
        let mut reaches = sender(3.0, 4.0);
        reaches.on_ack(&segments(1));
        assert_eq!((reaches.window, reaches.epoch), (4.0, None));
        let mut beyond = sender(4.0, 4.0);
        beyond.on_ack(&segments(1));
        assert_eq!((beyond.window, beyond.credit), (4.0, 1.0));
    }

    #[test]
    fn credit_becomes_whole_segments() {
        let credited = |credit, segments, per_segment| {
            let mut sender = Cubic { credit, ..sender(10.0, 2.0) };
            sender.credit_window(segments, per_segment);
            (sender.window, sender.credit)
        };
        assert_eq!(credited(1.0, 6.0, 3.0), (12.0, 1.0));
        assert_eq!(credited(5.0, 1.0, 5.0), (11.0, 1.0), "collected at a slower pace");
    }

    /// Eq. (4): ten segments of a window of ten are credit for the next one only when more come (Linux's `ack_cnt > delta`).
    #[test]
    fn renos_estimate_takes_more_than_a_window() {
        let mut sender = sender(10.0, 2.0);
        sender.params.beta = 0.5;
        let estimate = |credit| {
            let mut sender = sender.clone();
            let mut epoch = Epoch { reno_credit: credit, ..sender.begin_epoch(Instant::ZERO) };
            sender.set_pace(&segments(1), &mut epoch);
            (epoch.reno_estimate, epoch.reno_credit)
        };
        assert_eq!((estimate(10.0), estimate(11.0)), ((10.0, 10.0), (11.0, 1.0)));
        assert!((sender.acknowledged_per_segment(13.0, 0.0) - 3.0).abs() < 1e-12, "10 of a window make 3.3");
    }

    /// Linux's `bictcp_update`: `last_cwnd == cwnd && tcp_jiffies32 - last_time <= HZ / 32` computes nothing.
    #[test]
    fn pace_holds_for_a_thirty_second_of_a_second() {
        let mut law = cubic(1000.0, 2.0);
        law.on_loss(&loss(1000.0));
        let round_trip = Duration::from_millis(100);
        let told = [1.0, 1.01, 1.03125, 1.032, 1.04].map(|at_s| {
            ack(&mut law, at_s, round_trip);
            law.pace.at.since(Instant::ZERO).as_secs_f64()
        });
        assert_eq!(told.map(|at_s| (at_s * 1e3).round() as u32), [1000, 1000, 1000, 1032, 1032]);
    }
}
