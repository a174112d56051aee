//! TCP Reno.
//!
//! # Law
//! Slow start adds one segment per acknowledgement, congestion avoidance `1/W`; a third duplicate acknowledgement
//! halves the window, and recovery inflates it by one per further duplicate until any new acknowledgement ends it; a
//! time-out leaves one segment.
//!
//! # Source
//! RFC 5681 sections 3.1 and 3.2, without RFC 6582's partial acknowledgements; fluid form [Chen10] eq. (3.6), (5.5),
//! [CZ06] eq. (3).
//!
//! # Symbols
//! `W` → window \[segments\]; `T` → round-trip time \[s\]; `p` → loss probability.
//!
//! # Signals
//! Acknowledgements, losses, time-outs.
//!
//! # Deviations
//! Half of the flight is rounded down to whole segments, and never below two (RFC 5681 eq. (4)), as ns-2 and Linux do.

use super::{Loss, Recovery, WindowLaw, WindowParams};

/// The state of one sender.
#[derive(Clone, Debug, PartialEq)]
pub struct Reno {
    window: f64,
    ssthresh: f64,
    /// Segments that duplicate acknowledgements report to have left the network.
    inflation: f64,
}

impl Reno {
    /// The state at the start of a connection.
    pub const fn new(params: WindowParams) -> Self {
        Self { window: params.initial_window, ssthresh: params.initial_ssthresh, inflation: 0.0 }
    }

    /// RFC 5681 eq. (4): half of the flight, at least two segments.
    fn halve(&mut self, loss: Loss) {
        self.ssthresh = libm::floor(loss.flight / 2.0).max(2.0);
    }

    /// NewReno's partial deflation (RFC 6582 section 3.2 step 5): what was acknowledged leaves, one segment returns.
    pub(super) fn deflate(&mut self, segments: u32) {
        self.inflation = (self.inflation - f64::from(segments) + 1.0).max(0.0);
    }

    /// Recovery ends: the window deflates to the threshold.
    pub(super) fn leave_recovery(&mut self) {
        self.inflation = 0.0;
    }
}

impl WindowLaw for Reno {
    fn on_ack(&mut self, _segments: u32) {
        // RFC 5681 section 3.1: by acknowledgement, as Reno counted before appropriate byte counting.
        self.window += if self.window < self.ssthresh { 1.0 } else { 1.0 / self.window };
    }

    fn on_fast_retransmit(&mut self, loss: Loss) {
        self.halve(loss);
        self.window = self.ssthresh;
        self.inflation = 3.0; // RFC 5681 section 3.2 step 3
    }

    fn on_duplicate_in_recovery(&mut self) {
        self.inflation += 1.0; // step 4
    }

    fn on_ack_in_recovery(&mut self, _segments: u32, _partial: bool) -> Recovery {
        self.leave_recovery(); // step 6
        Recovery::Leave
    }

    fn on_timeout(&mut self, loss: Loss) {
        self.halve(loss);
        self.window = 1.0;
        self.inflation = 0.0;
    }

    fn window(&self) -> f64 {
        self.window + self.inflation
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
    use proptest::prelude::*;

    fn reno(window: f64, ssthresh: f64) -> Reno {
        Reno::new(WindowParams { initial_window: window, initial_ssthresh: ssthresh })
    }

    #[test]
    fn slow_start_doubles_per_round_trip() {
        let mut law = reno(2.0, 64.0);
        for _ in 0..2 {
            law.on_ack(1);
        }
        assert!((law.window() - 4.0).abs() < 1e-12);
    }

    #[test]
    fn congestion_avoidance_adds_one_per_window() {
        let mut law = reno(10.0, 5.0);
        for _ in 0..10 {
            law.on_ack(1);
        }
        // 10 acknowledgements of a growing window: a little less than 11
        assert!((law.window() - 11.0).abs() < 0.05, "{}", law.window());
    }

    #[test]
    fn the_third_duplicate_halves_and_inflates() {
        // RFC 5681 section 3.2: flight 20 → ssthresh 10, window 10 + 3
        let mut law = reno(20.0, 64.0);
        law.on_fast_retransmit(Loss { flight: 20.0 });
        assert!((law.window() - 13.0).abs() < 1e-12);
        law.on_duplicate_in_recovery();
        assert!((law.window() - 14.0).abs() < 1e-12);
        assert_eq!(law.on_ack_in_recovery(5, true), Recovery::Leave);
        assert!((law.window() - 10.0).abs() < 1e-12);
    }

    #[test]
    fn a_timeout_leaves_one_segment() {
        let mut law = reno(9.0, 4.0);
        law.on_timeout(Loss { flight: 9.0 });
        assert!((law.window() - 1.0).abs() < 1e-12);
        assert!((law.slow_start_threshold() - 4.0).abs() < 1e-12);
        law.on_timeout(Loss { flight: 1.0 });
        assert!((law.slow_start_threshold() - 2.0).abs() < 1e-12, "never below two");
    }

    /// The machine's mean step equals the drift: per segment sent, +1/W with probability 1−p and −W/2 with p, at W/T
    /// segments per second.
    #[test]
    fn the_mean_step_of_the_machine_is_the_drift() {
        let (window, round_trip_s, loss) = (20.0, 0.1, 1e-3);
        let mut up = reno(window, 2.0);
        up.on_ack(1);
        let mut down = reno(window, 2.0);
        down.on_fast_retransmit(Loss { flight: window });
        let mean_step =
            (1.0 - loss) * (up.congestion_window() - window) + loss * (down.congestion_window() - window);
        let per_second = mean_step * window / round_trip_s;
        let drift = window_drift(window, round_trip_s, loss);
        // They differ by the factor 1−p on the increase.
        assert!((per_second - drift).abs() < loss / round_trip_s * 1.001, "{per_second} {drift}");
    }

    #[test]
    fn n_connections_settle_where_the_square_root_law_says() {
        // x = (n/T)·√(2/q): the drift vanishes there.
        let x = 9.0 / 0.2 * libm::sqrt(2.0 / 4e-3);
        assert!(aggregate_rate_drift(x, 9.0, 0.2, 4e-3).abs() < 1e-9);
    }

    proptest! {
        #[test]
        fn the_window_is_always_at_least_one(events in prop::collection::vec(0u8..5, 0..400)) {
            let mut law = reno(1.0, 2.0);
            for event in events {
                let flight = law.window();
                match event {
                    0 => law.on_ack(1),
                    1 => law.on_fast_retransmit(Loss { flight }),
                    2 => law.on_duplicate_in_recovery(),
                    3 => { law.on_ack_in_recovery(1, true); }
                    _ => law.on_timeout(Loss { flight }),
                }
                prop_assert!(law.window() >= 1.0 && law.window().is_finite());
                prop_assert!(law.slow_start_threshold() >= 2.0);
            }
        }
    }
}
