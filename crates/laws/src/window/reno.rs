//! TCP Reno.
//!
//! # Law
//! Slow start adds one segment per acknowledgement, congestion avoidance `1/W`; a loss halves the window, a time-out
//! leaves one segment. Recovery (the inflation by duplicates, NewReno's partial acknowledgements, SACK) is the
//! endpoint's: NewReno is this law with another recovery.
//!
//! # Source
//! RFC 5681 sections 3.1 and 3.2; [Jam10] section 2.4 (J4); fluid form [Chen10] eq. (3.6), (5.5),
//! [CZ06] eq. (3).
//!
//! # Symbols
//! `W` → window \[segments\]; `T` → round-trip time \[s\]; `p` → loss probability. The increase of one and the decrease to a
//! half are the law, not parameters of it: [`RenoParams`] is empty.
//!
//! # Signals
//! Acknowledgements, losses, time-outs.
//!
//! # Deviations
//! Half of the flight is rounded down to whole segments, and never below two (RFC 5681 eq. (4)), as ns-2 and Linux do.
//!
//! # Example
//! ```
//! use evenair_laws::Parameters;
//! use evenair_laws::window::{Loss, RenoParams, WindowLaw, WindowStart};
//! let start = WindowStart { initial_window: 20.0, initial_ssthresh: 64.0, byte_counting: true, ..WindowStart::default() };
//! let mut law = RenoParams {}.begin(&start);
//! law.on_loss(&Loss { flight: 20.0, ..Loss::default() });
//! assert!((law.congestion_window() - 10.0).abs() < 1e-12);
//! ```

use super::{Acked, Loss, WindowLaw, WindowStart, counted, half, slow_start_growth};
use crate::{BadParameter, Parameters};

/// Parameters of the law: none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(default, deny_unknown_fields)
)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct RenoParams {}

impl Parameters for RenoParams {
    type Surroundings = ();
    type Place = WindowStart;
    type Law = Reno;

    fn validated(self) -> Result<Self, BadParameter> {
        Ok(self)
    }

    fn begin(&self, start: &WindowStart) -> Reno {
        Reno::new(start)
    }
}

/// The state of one sender.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Reno {
    pub(super) window: f64,
    pub(super) ssthresh: f64,
    pub(super) byte_counting: bool,
}

impl Reno {
    /// The state at the start of a connection.
    pub const fn new(start: &WindowStart) -> Self {
        Self {
            window: start.initial_window,
            ssthresh: start.initial_ssthresh,
            byte_counting: start.byte_counting,
        }
    }

    pub(super) fn is_in_slow_start(&self) -> bool {
        self.window < self.ssthresh
    }

    /// An acknowledgement of new data opens the window: slow start, or congestion avoidance.
    pub(super) fn grow(&mut self, segments: u32) {
        self.window += if self.is_in_slow_start() {
            slow_start_growth(segments, self.byte_counting)
        } else {
            counted(segments, self.byte_counting) / self.window
        };
    }
}

impl WindowLaw for Reno {
    fn begin(&mut self, start: &WindowStart) {
        *self = Self::new(start);
    }

    fn on_ack(&mut self, acked: &Acked) {
        if acked.grows() {
            self.grow(acked.segments);
        }
    }

    fn on_loss(&mut self, loss: &Loss) {
        self.ssthresh = half(loss.flight);
        self.window = self.ssthresh;
    }

    fn on_timeout(&mut self, loss: &Loss) {
        if !loss.repeated {
            self.ssthresh = half(loss.flight);
        }
        self.window = 1.0;
    }

    fn deflate(&mut self, segments: f64) {
        self.window = (self.window - segments).max(1.0);
    }

    fn congestion_window(&self) -> f64 {
        self.window
    }

    fn slow_start_threshold(&self) -> f64 {
        self.ssthresh
    }
}

/// The fluid face of congestion avoidance, [Chen10] eq. (5.5): `Ẇ = 1/T − (W²/2T)·p`, window in segments, `T` in
/// seconds, `p` the probability that a segment is lost.
pub fn window_drift(window: f64, round_trip_s: f64, loss: f64) -> f64 {
    (1.0 - window * window * loss / 2.0) / round_trip_s
}

/// The same for the aggregate rate of `connections` connections, [Chen10] eq. (5.2): `ẋ = x²/2n·(2n²/T²x² − q)`, rate
/// in segments per second, `q` the path's price.
pub fn aggregate_rate_drift(rate: f64, connections: f64, round_trip_s: f64, price: f64) -> f64 {
    let n_over_t = connections / round_trip_s;
    (n_over_t * n_over_t - rate * rate * price / 2.0) / connections
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::conformance::{Outcome, drift};

    fn reno(window: f64, ssthresh: f64) -> Reno {
        counting(window, ssthresh, false)
    }

    fn counting(window: f64, ssthresh: f64, byte_counting: bool) -> Reno {
        Reno::new(&WindowStart {
            initial_window: window,
            initial_ssthresh: ssthresh,
            byte_counting,
            ..WindowStart::default()
        })
    }

    fn ack(law: &mut Reno, segments: u32) {
        law.on_ack(&Acked { segments, advances: true, window_limited: true, ..Acked::default() });
    }

    #[test]
    fn slow_start_doubles_per_round_trip() {
        let mut law = reno(2.0, 64.0);
        for _ in 0..2 {
            ack(&mut law, 1);
        }
        assert!((law.congestion_window() - 4.0).abs() < 1e-12);
    }

    #[test]
    fn delayed_acks_cost_nothing_by_segments() {
        for (byte_counting, grown) in [(true, 4.0), (false, 3.0)] {
            let mut law = counting(2.0, 64.0, byte_counting);
            ack(&mut law, 2);
            assert!((law.congestion_window() - grown).abs() < 1e-12);
        }
    }

    #[test]
    fn congestion_avoidance_adds_one_per_window() {
        let mut law = reno(10.0, 5.0);
        for _ in 0..10 {
            ack(&mut law, 1);
        }
        // 10 acknowledgements of a growing window: a little less than 11
        assert!((law.congestion_window() - 11.0).abs() < 0.05, "{}", law.congestion_window());
    }

    #[test]
    fn a_loss_halves() {
        let mut law = reno(21.0, 64.0);
        law.on_loss(&Loss { flight: 21.0, ..Loss::default() });
        assert!((law.congestion_window() - 10.0).abs() < 1e-12);
    }

    #[test]
    fn a_timeout_leaves_one_segment() {
        let mut law = reno(9.0, 4.0);
        law.on_timeout(&Loss { flight: 9.0, ..Loss::default() });
        assert!((law.congestion_window() - 1.0).abs() < 1e-12);
        assert!((law.slow_start_threshold() - 4.0).abs() < 1e-12);
        law.on_timeout(&Loss { flight: 1.0, ..Loss::default() });
        assert!((law.slow_start_threshold() - 2.0).abs() < 1e-12, "never below two");
    }

    #[test]
    fn only_advances_of_a_used_window_grow() {
        let grown = |change: fn(&mut Acked)| {
            let mut law = reno(10.0, 5.0);
            let mut acked = Acked { segments: 1, advances: true, window_limited: true, ..Acked::default() };
            change(&mut acked);
            law.on_ack(&acked);
            law.congestion_window() > 10.0
        };
        assert!(grown(|_| ()));
        assert!(!grown(|acked| acked.advances = false));
        assert!(!grown(|acked| acked.in_recovery = true));
        assert!(!grown(|acked| acked.window_limited = false));
    }

    /// Per segment sent, +1/W with probability 1−p and −W/2 with p, at W/T segments per second.
    #[test]
    fn the_mean_step_of_the_machine_is_the_drift() {
        let (window, round_trip_s, loss) = (20.0, 0.1, 1e-3);
        let lose = |law: &mut Reno| law.on_loss(&Loss { flight: window, ..Loss::default() });
        let per_segment = window_drift(window, round_trip_s, loss) * round_trip_s / window;
        // They differ by the factor 1−p on the increase.
        let off = loss / window * 1.001;
        let outcomes: [Outcome<'_, Reno>; 2] = [(1.0 - loss, &|law| ack(law, 1)), (loss, &lose)];
        drift(&reno(window, 2.0), Reno::congestion_window, &outcomes, per_segment, off);
    }

    #[test]
    fn n_connections_settle_by_the_square_root_law() {
        // x = (n/T)·√(2/q): the drift vanishes there.
        let x = 9.0 / 0.2 * libm::sqrt(2.0 / 4e-3);
        assert!(aggregate_rate_drift(x, 9.0, 0.2, 4e-3).abs() < 1e-9);
    }

    /// [Chen10] eq. (5.2): x = 10/s, n = 2, T = 0.5 s, q = 0.1: 100/4·(8/(0.25·100) − 0.1).
    #[test]
    fn the_drift_of_an_aggregate_is_the_papers() {
        assert!((aggregate_rate_drift(10.0, 2.0, 0.5, 0.1) - 25.0 * (0.32 - 0.1)).abs() < 1e-12);
    }
}
