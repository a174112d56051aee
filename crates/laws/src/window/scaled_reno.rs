//! So many TCP Renos in one connection: additive increase and multiplicative decrease, scaled by a real number.
//!
//! # Law
//! In congestion avoidance `n` segments are added per round trip, `n²` where `n < 1`. A round trip in which
//! `m` segments were lost leaves `1 − (1 − (1 − 1/n)^m)/2` of the window: `m` losses fall on `n` connections
//! at random, and each connection hit is halved. The others grow on. Where several segments are lost in most
//! round trips, as with many connections on a lossy path, recovery never ends. Where `n ≤ 1` half is left,
//! and nothing grows during recovery. With `n = 1` it is Reno.
//!
//! # Source
//! J. Crowcroft, P. Oechslin: "Differentiated end-to-end Internet services using a weighted proportional fair
//! sharing TCP" (`MulTCP`), ACM Computer Communication Review 28(3), 1998; [Chen10] eq. (5.2), with a real
//! number `n`. The form for several losses, and for less than one connection, is ours.
//!
//! # Symbols
//! `n` → [`be_worth`](WindowLaw::be_worth)'s argument; `W` → window \[segments\]; `m` → `lost`. The law has no parameters.
//!
//! # Signals
//! Those of Reno; and deliveries, for how many segments a recovery found lost.
//!
//! # Deviations
//! `MulTCP` takes `1/2n` of the window for any number of losses in a round trip. Slow start and time-outs are
//! those of one connection: where all segments under way are silent, all of its `n` would have timed out.
//! Only selective acknowledgements tell several losses of a round trip apart; without them, and of marks (RFC
//! 3168), each has one. `n ≥ 0.01`. It reacts less to losses of a full queue than `n` connections do: over 4
//! Mb/s and 40 packets `n = 3` gets 7.2 times the rate of one, three connections 3.1 times.
//!
//! # Example
//! ```
//! use evenair_laws::Parameters;
//! use evenair_laws::window::{Loss, ScaledRenoParams, WindowLaw, WindowStart};
//! let start = WindowStart { initial_window: 40.0, initial_ssthresh: 20.0, byte_counting: true, ..WindowStart::default() };
//! let mut law = ScaledRenoParams {}.begin(&start);
//! law.be_worth(2.5);
//! // One of two and a half is halved: a fifth of all goes.
//! law.on_loss(&Loss { flight: 40.0, ..Loss::default() });
//! assert!((law.congestion_window() - 32.0).abs() < 1e-12);
//! ```

use super::{Acked, Delivery, Loss, Reno, Repair, WindowLaw, WindowStart, counted};
use crate::{BadParameter, Parameters};

/// Parameters of the law: none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(default, deny_unknown_fields)
)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct ScaledRenoParams {}

impl Parameters for ScaledRenoParams {
    type Surroundings = ();
    type Place = WindowStart;
    type Law = ScaledReno;

    fn validated(self) -> Result<Self, BadParameter> {
        Ok(self)
    }

    /// It is worth one connection.
    fn begin(&self, start: &WindowStart) -> ScaledReno {
        ScaledReno { reno: Reno::new(start), worth: 1.0, cut: None }
    }
}

/// The least that a connection is worth.
const WORTH_MIN: f64 = 0.01;

/// The state of one sender.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct ScaledReno {
    reno: Reno,
    /// `n`.
    worth: f64,
    cut: Option<Cut>,
}

/// The cut of the recovery under way.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
struct Cut {
    /// `m`: segments found lost since it began, one at least.
    lost: u32,
    /// Whether the loss that began it came with a delivery, too.
    is_told: bool,
}

/// The share of so many connections that `lost` losses in a round trip spare.
pub fn spared(connections: f64, lost: u32) -> f64 {
    libm::pow((1.0 - 1.0 / connections).max(0.0), f64::from(lost))
}

/// The share of the total window that remains.
pub fn left(connections: f64, lost: u32) -> f64 {
    f64::midpoint(1.0, spared(connections, lost))
}

impl ScaledReno {
    /// The window is cut to this.
    fn cut_to(&mut self, window: f64) {
        self.reno.ssthresh = window.max(2.0);
        self.reno.window = self.reno.ssthresh;
    }

    /// So many segments were acknowledged, while that share of its connections grows.
    fn grow(&mut self, segments: u32, share: f64) {
        let per_round_trip = self.worth * self.worth.min(1.0) * share;
        self.reno.window += per_round_trip * counted(segments, self.reno.byte_counting) / self.reno.window;
    }
}

impl WindowLaw for ScaledReno {
    fn begin(&mut self, start: &WindowStart) {
        (self.reno, self.cut) = (Reno::new(start), None);
    }

    fn sees_deliveries(&self) -> bool {
        true
    }

    fn on_delivery(&mut self, delivery: &Delivery) {
        if delivery.repair != Repair::Recovery {
            self.cut = None;
        } else if let Some(cut) = &mut self.cut
            && delivery.lost > 0
        {
            let told = u32::from(!core::mem::replace(&mut cut.is_told, true));
            let (before, lost) = (cut.lost, cut.lost.saturating_add(delivery.lost - told));
            cut.lost = lost;
            self.cut_to(self.reno.window * left(self.worth, lost) / left(self.worth, before));
        }
    }

    fn on_ack(&mut self, acked: &Acked) {
        if let Some(Cut { lost, .. }) = self.cut
            && acked.in_recovery
        {
            self.grow(acked.segments, spared(self.worth, lost));
            self.reno.ssthresh = self.reno.window.max(2.0); // where the endpoint's reduction leads to
        } else if acked.grows() && !self.reno.is_in_slow_start() {
            self.grow(acked.segments, 1.0);
        } else {
            self.reno.on_ack(acked);
        }
    }

    fn on_loss(&mut self, loss: &Loss) {
        self.cut = Some(Cut { lost: 1, is_told: false });
        self.cut_to(libm::floor(loss.flight * left(self.worth, 1)));
    }

    fn on_timeout(&mut self, loss: &Loss) {
        self.cut = None;
        self.reno.on_timeout(loss);
    }

    fn deflate(&mut self, segments: f64) {
        self.reno.deflate(segments);
    }

    fn can_be_worth_several(&self) -> bool {
        true
    }

    fn be_worth(&mut self, connections: f64) {
        self.worth = connections.max(WORTH_MIN);
    }

    fn congestion_window(&self) -> f64 {
        self.reno.congestion_window()
    }

    fn slow_start_threshold(&self) -> f64 {
        self.reno.slow_start_threshold()
    }
}

/// The fluid face of congestion avoidance, [Chen10] eq. (5.2) in terms of the window: `Ẇ = n/T − (W²/2nT)·p` for `n ≥ 1`, window
/// in segments, `T` in seconds, `p` the probability that a segment is lost.
pub fn window_drift(window: f64, connections: f64, round_trip_s: f64, loss: f64) -> f64 {
    (connections - window * window * loss / (2.0 * connections)) / round_trip_s
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::conformance::{Outcome, drift};
    use crate::window::RenoParams;
    use crate::window::reno::aggregate_rate_drift;

    fn law(window: f64, worth: f64) -> ScaledReno {
        let mut law = ScaledRenoParams {}.begin(&WindowStart {
            initial_window: window,
            initial_ssthresh: 2.0,
            ..WindowStart::default()
        });
        law.be_worth(worth);
        law
    }

    fn ack(law: &mut impl WindowLaw) {
        law.on_ack(&Acked { segments: 1, advances: true, window_limited: true, ..Acked::default() });
    }

    fn lose(law: &mut impl WindowLaw) {
        let flight = law.congestion_window();
        law.on_loss(&Loss { flight, ..Loss::default() });
    }

    fn repairs(lost: u32) -> Delivery {
        Delivery { lost, repair: Repair::Recovery, ..Delivery::default() }
    }

    #[test]
    fn worth_one_it_is_reno() {
        let start = WindowStart { initial_window: 21.0, initial_ssthresh: 30.0, ..WindowStart::default() };
        let (mut scaled, mut reno) = (ScaledRenoParams {}.begin(&start), RenoParams {}.begin(&start));
        for step in 0..200 {
            if step % 40 == 39 {
                lose(&mut scaled);
                lose(&mut reno);
            }
            scaled.on_delivery(&Delivery::default());
            ack(&mut scaled);
            ack(&mut reno);
            assert_eq!(scaled.reno, reno);
        }
    }

    #[test]
    fn further_losses_of_a_trip_hit_fewer_spared() {
        // Four connections of ten segments: one loss halves one, 35; two halve 1.75, 31.25; very many all four.
        let mut law = law(40.0, 4.0);
        lose(&mut law);
        let mut windows = alloc::vec::Vec::from([law.congestion_window()]);
        for lost in [1, 1, 100] {
            law.on_delivery(&repairs(lost));
            windows.push(law.congestion_window());
        }
        let off = windows.iter().zip([35.0, 35.0, 31.25, 20.0]).map(|(window, to)| (window - to).abs());
        assert!(off.fold(0.0, f64::max) < 1e-9, "{windows:?}");
        // A later loss belongs to another recovery.
        law.on_delivery(&Delivery { lost: 1, ..Delivery::default() });
        law.on_delivery(&repairs(5));
        assert!((law.congestion_window() - 20.0).abs() < 1e-9);
    }

    #[test]
    fn spared_connections_grow_on() {
        let (mut law, mut reno) = (law(40.0, 4.0), law(40.0, 1.0));
        lose(&mut law);
        law.on_delivery(&repairs(1));
        // Three of four grow: 3/35 for each segment.
        law.on_ack(&Acked { segments: 1, in_recovery: true, ..Acked::default() });
        assert!((law.congestion_window() - 35.0 - 3.0 / 35.0).abs() < 1e-12);
        lose(&mut reno);
        reno.on_ack(&Acked { segments: 1, in_recovery: true, ..Acked::default() });
        assert!((reno.congestion_window() - 20.0).abs() < 1e-12, "of one none is");
    }

    #[test]
    fn the_mean_step_of_the_machine_is_the_drift() {
        let (window, connections, round_trip_s, loss) = (60.0, 3.5, 0.1, 1e-3);
        let per_segment = window_drift(window, connections, round_trip_s, loss) * round_trip_s / window;
        // They differ by the factor 1−p on the increase, and by whole segments: 60·(1 − 1/7) is 51.43.
        let off = loss * (connections / window + 0.5);
        let outcomes: [Outcome<'_, ScaledReno>; 2] = [(1.0 - loss, &ack), (loss, &lose)];
        drift(&law(window, connections), ScaledReno::congestion_window, &outcomes, per_segment, off);
    }

    #[test]
    fn its_rest_is_that_of_n_connections() {
        for (connections, loss, round_trip_s) in [(1.0, 0.01, 0.2), (2.5, 4e-3, 0.2), (9.0, 4e-3, 0.1)] {
            let window = connections * libm::sqrt(2.0 / loss);
            assert!(window_drift(window, connections, round_trip_s, loss).abs() < 1e-9);
            let rate = window / round_trip_s;
            assert!(aggregate_rate_drift(rate, connections, round_trip_s, loss).abs() < 1e-9);
        }
    }

    #[test]
    fn less_than_one_grows_by_its_square() {
        // n²/W up and half down rest at n·√(2/p), as for n ≥ 1.
        let (worth, window) = (0.5, 20.0);
        let mut law = law(window, worth);
        ack(&mut law);
        let grown = law.congestion_window() - window;
        let loss = 2.0 * worth * worth / (window * window);
        assert!((grown - 0.25 / 20.0).abs() < 1e-12 && (grown / (window / 2.0) - loss).abs() < 1e-12);
        lose(&mut law);
        assert!((law.congestion_window() - 10.0).abs() < 1e-12);
    }

    /// As much as one connection for each segment that is counted: two of them in a window of ten.
    #[test]
    fn each_segment_that_counts_grows_the_window() {
        let mut law = law(10.0, 1.0);
        law.reno.byte_counting = true;
        law.grow(2, 1.0);
        assert!((law.reno.window - 10.2).abs() < 1e-12, "{}", law.reno.window);
    }
}
