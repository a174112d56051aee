//! QUIC-TCP, a window law that keeps `p` packets of each flow in the network's queues. It has nothing to do with the IETF
//! protocol QUIC.
//!
//! # Law
//! `ẇ = −κ·(d/D)·w^(1−2ρ)·v` with `v = w − x·d − p`, the packets that wait beyond those wanted, and `D = d + q` the round trip
//! with its queueing delay. ρ = 1 is Mo and Walrand's law, ρ = ½ close to FAST's.
//!
//! # Source
//! [QCSMA] eq. (10), (15), (17).
//!
//! # Derivation
//! Our copy of (15), (17) and (26) is damaged; that the exponent is `1 − 2ρ` follows from the paper's own
//! proof. The matrices `W`, `X`, `D = diag(d)`, `D̄ = diag(d + q)`, `P`, `V` are diagonal, and `X = W·D̄⁻¹`
//! (10). Differentiating (10) and the links' constraints gives `J = ∂x/∂w = D̄⁻¹(I − X·M·D̄⁻¹)`. Here
//! `M = Aᵀ(N + A·D̄⁻¹X·Aᵀ)⁻¹A` is positive semi-definite: `A` has the rows of the bottlenecks, and `N` is
//! zero on wires and Lemma 1's `∂R/∂q` on the air. Let `Y = ½ Σ (v/w^ρ)²` and `ẇ = −κ·(d/D)·w^e·v`:
//!
//! `Ẏ = −κ vᵀ W^−2ρ [(I − D·J) − ρ·V·W⁻¹] D·D̄⁻¹ W^e v`. Since `I − D·J = (I − D·D̄⁻¹) + D·D̄⁻¹·X·M·D̄⁻¹` and
//! `V·W⁻¹ = (I − D·D̄⁻¹) − P·W⁻¹`, the bracket is `(1 − ρ)(I − D·D̄⁻¹) + ρ·P·W⁻¹ + W·D·D̄⁻²·M·D̄⁻¹`.
//!
//! Its first two terms are diagonal and not negative. The third makes `W^(1−2ρ)·D·D̄⁻² · M · D·D̄⁻²·W^e`. For
//! every `M` it is symmetric, and so never negative, just if `e = 1 − 2ρ` (and just with the factor `d/D`):
//! that is (26). It is zero off `v = 0` only at `ρ = 0`, along flows without waiting packets (`d = D`,
//! `v = −p`): there the paper's strict decrease does not hold. A test follows the formula on two flows.
//!
//! # Symbols
//! `p` → [`QuicTcpParams::target`] \[packets\]; `κ` → [`QuicTcpParams::gain`]; `ρ` → [`QuicTcpParams::shape`]; `d` → the least
//! round-trip time (`BaseRTT`), `D` → its low-pass filtered average (`AvgRTT`), in any unit, since only their ratio counts.
//!
//! # Signals
//! Round-trip samples, those of in-order acknowledgements; losses and time-outs as Reno.
//!
//! # Deviations
//! The paper does not define how often (17) is applied. Here it is once per round trip, as in FAST: when all
//! segments under way at the last step are acknowledged. The filter's numbers are damaged, too; it keeps
//! 31/32 at each acknowledgement ("e.g."); where an endpoint takes one sample per round trip it moves that
//! much more slowly. Slow start, fast recovery and time-outs are those of standard TCP, as in the paper; slow
//! start ends at the threshold or with a loss, and begins again after a time-out only. A window that is not
//! in use is held (RFC 7661). It stops at [`WINDOW_MAX`].
//!
//! The paper's `d` is a constant of the path. With [`QuicTcpParams::round_trip_holds`] it is measured again
//! when it has held for that long. For two round trips the window is half of the path's content without a
//! queue: in the first the queue drains, in the second the law measures; then the window is restored. Other
//! flows' packets that wait during the measurement count as part of `d`.
//!
//! # Example
//! ```
//! use evenair_laws::window::QuicTcpParams;
//! let law = QuicTcpParams::qcsma();
//! // 300 packets in a round trip of which two thirds is queueing: as many wait as are wanted.
//! assert!(law.drift(300.0, 1.0 / 3.0).abs() < 1e-9);
//! ```

use super::{Acked, Loss, Reno, WINDOW_MAX, WindowLaw, WindowStart};
use crate::{BadParameter, Parameters, check, check_time};
use evenair_units::{Duration, Instant};

/// The share that the average round-trip time keeps at each sample.
const MEMORY: f64 = 31.0 / 32.0;

/// Parameters of the law.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(default, deny_unknown_fields)
)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct QuicTcpParams {
    /// p: how many packets wait at the equilibrium; the flow's weight [packets].
    #[cfg_attr(feature = "serde", serde(rename = "p"))]
    pub target: f64,
    /// κ, the gain.
    #[cfg_attr(feature = "serde", serde(rename = "kappa"))]
    pub gain: f64,
    /// ρ, the shape, from 0 to 1.
    #[cfg_attr(feature = "serde", serde(rename = "rho"))]
    pub shape: f64,
    /// How long the least round trip holds before it is measured again; for ever by default.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "Option::is_none"))]
    pub round_trip_holds: Option<Duration>,
}

impl QuicTcpParams {
    /// [QCSMA] section IV-C: p = 200, κ = 1.5, ρ = ½. The least round trip holds for ever.
    pub const fn qcsma() -> Self {
        Self { target: 200.0, gain: 1.5, shape: 0.5, round_trip_holds: None }
    }

    /// `v`: by how many packets more wait than are wanted; `share` is `d/D`, the part of the round trip that is not queueing.
    pub fn excess(&self, window: f64, share: f64) -> f64 {
        window - share * window - self.target
    }

    /// The fluid face, [QCSMA] eq. (15).
    pub fn drift(&self, window: f64, share: f64) -> f64 {
        -self.gain * share * libm::pow(window, 1.0 - 2.0 * self.shape) * self.excess(window, share)
    }

    /// [QCSMA] eq. (17): the window after one round trip, at least one packet.
    pub fn next(&self, window: f64, share: f64) -> f64 {
        (window + self.drift(window, share)).clamp(1.0, WINDOW_MAX)
    }
}

impl Default for QuicTcpParams {
    fn default() -> Self {
        Self::qcsma()
    }
}

impl Parameters for QuicTcpParams {
    type Surroundings = ();
    type Place = WindowStart;
    type Law = QuicTcp;

    fn validated(self) -> Result<Self, BadParameter> {
        let Self { target, gain, shape, round_trip_holds } = self;
        check("p", target, target > 0.0 && target.is_finite(), "above 0")?;
        check("kappa", gain, gain > 0.0 && gain.is_finite(), "above 0")?;
        check("rho", shape, (0.0..=1.0).contains(&shape), "from 0 to 1")?;
        round_trip_holds.map_or(Ok(()), |holds| check_time("round_trip_holds", holds))?;
        Ok(self)
    }

    fn begin(&self, start: &WindowStart) -> QuicTcp {
        QuicTcp::new(*self, start)
    }
}

/// The state of one sender.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct QuicTcp {
    params: QuicTcpParams,
    /// The window, and its reaction to slow start and losses.
    reno: Reno,
    /// The least and the average round-trip time \[s\].
    round_trip: Option<(f64, f64)>,
    /// Segments to be acknowledged before this round trip is over.
    left: u32,
    /// Since when the least round trip holds; none before there is one.
    holds_since: Option<Instant>,
    refresh: Refresh,
}

/// The stage of a new measurement of the least round trip.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
enum Refresh {
    /// It is not.
    Not,
    /// Segments that were sent with a full window, to which it returns, are still under way.
    Draining(f64),
    /// Nothing of its own waits: round trips are measured.
    Measuring(f64),
}

/// The least window during a new measurement of the least round trip: enough for samples in every round trip
/// (BBR's).
const REFRESH_WINDOW: f64 = 4.0;

impl QuicTcp {
    /// The state at the start of a connection.
    pub const fn new(params: QuicTcpParams, start: &WindowStart) -> Self {
        Self {
            params,
            reno: Reno::new(start),
            round_trip: None,
            left: 0,
            holds_since: None,
            refresh: Refresh::Not,
        }
    }

    /// A round trip is over: measures the least one again if it has held for long enough. Returns whether the
    /// law is measuring.
    fn refresh(&mut self, acked: &Acked) -> bool {
        let since = *self.holds_since.get_or_insert(acked.now);
        match self.refresh {
            Refresh::Not => {
                let due = self.params.round_trip_holds.is_some_and(|holds| acked.now.since(since) >= holds);
                if !due {
                    return false;
                }
                // Half of the path's content without a queue: the flow's own backlog drains.
                self.refresh = Refresh::Draining(self.reno.window);
                let least = REFRESH_WINDOW.min(self.reno.window);
                self.reno.window = (0.5 * self.share() * self.reno.window).max(least);
            }
            Refresh::Draining(window) => {
                self.refresh = Refresh::Measuring(window);
                // Any round trip counts: without a sample the least is the average.
                self.round_trip = self.round_trip.map(|(_, average)| (average, average));
            }
            Refresh::Measuring(window) => {
                self.refresh = Refresh::Not;
                (self.reno.window, self.holds_since) = (window, Some(acked.now));
            }
        }
        true
    }

    fn measure(&mut self, sample: Duration) {
        // A round trip takes time: a nanosecond at least, so that shares are of something.
        let sample = sample.as_secs_f64().max(1e-9);
        self.round_trip = Some(match self.round_trip {
            None => (sample, sample),
            Some((least, average)) if self.refresh == Refresh::Not => {
                (least.min(sample), MEMORY * average + (1.0 - MEMORY) * sample)
            }
            // The average is of full windows.
            Some((least, average)) => (least.min(sample), average),
        });
    }

    /// `d/D`.
    fn share(&self) -> f64 {
        // The average of samples is no less than the least of them, but for the last digit.
        self.round_trip.map_or(1.0, |(least, average)| (least / average).min(1.0))
    }
}

impl WindowLaw for QuicTcp {
    fn begin(&mut self, start: &WindowStart) {
        *self = Self::new(self.params, start);
    }

    fn on_ack(&mut self, acked: &Acked) {
        if let Some(sample) = acked.sample.filter(|_| acked.advances) {
            self.measure(sample);
        }
        self.left = self.left.saturating_sub(acked.segments);
        if !acked.grows() {
            return;
        }
        if self.reno.is_in_slow_start() {
            self.reno.grow(acked.segments);
        } else if self.left == 0 && self.round_trip.is_some() {
            if !self.refresh(acked) {
                self.reno.window = self.params.next(self.reno.window, self.share()); // [QCSMA] eq. (17)
            }
            // Slow start is over: a window that falls below its threshold does not begin it again, as under Vegas. Thresholds are
            // of whole segments.
            self.reno.ssthresh = self.reno.ssthresh.min(libm::floor(self.reno.window));
            self.left = acked.flight.saturating_sub(acked.segments);
        }
    }

    fn on_loss(&mut self, loss: &Loss) {
        self.refresh = Refresh::Not;
        self.reno.on_loss(loss);
    }

    fn on_timeout(&mut self, loss: &Loss) {
        self.refresh = Refresh::Not;
        self.reno.on_timeout(loss);
        self.left = 0;
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
    use evenair_units::Instant;

    #[test]
    fn rho_of_one_is_mo_and_walrands_law() {
        // ẇ = −κ d v/(D w)
        let law = QuicTcpParams { target: 3.0, gain: 0.7, shape: 1.0, ..QuicTcpParams::qcsma() };
        let (window, share) = (12.0, 0.6);
        let expected = -0.7 * share * law.excess(window, share) / window;
        assert!((law.drift(window, share) - expected).abs() < 1e-12);
    }

    /// Two flows over one link with a capacity that may depend on its queueing delay.
    struct Shared {
        law: QuicTcpParams,
        delays: [f64; 2],
        capacity: fn(f64) -> f64,
    }

    impl Shared {
        /// [QCSMA] eq. (10) to (12): the queueing delay at which the rates equal the link's capacity.
        fn queueing(&self, windows: [f64; 2]) -> f64 {
            let excess = |q: f64| {
                windows.iter().zip(self.delays).map(|(w, d)| w / (d + q)).sum::<f64>() - (self.capacity)(q)
            };
            let (mut low, mut high) = (0.0, 1e3);
            for _ in 0..200 {
                let q = 0.5 * (low + high);
                if excess(q) > 0.0 { low = q } else { high = q }
            }
            low
        }

        fn shares(&self, windows: [f64; 2]) -> [f64; 2] {
            let q = self.queueing(windows);
            self.delays.map(|d| d / (d + q))
        }

        fn lyapunov(&self, windows: [f64; 2]) -> f64 {
            let shares = self.shares(windows);
            let part = |s: usize| {
                let v = self.law.excess(windows[s], shares[s]) / libm::pow(windows[s], self.law.shape);
                0.5 * v * v
            };
            part(0) + part(1)
        }

        /// [QCSMA] eq. (26), its terms as the derivation above has them; `slope` is `∂R/∂q`.
        fn decrease(&self, windows: [f64; 2], slope: f64) -> f64 {
            let QuicTcpParams { target, gain, shape: rho, .. } = self.law;
            let q = self.queueing(windows);
            let (mut diagonal, mut weighted, mut inner) = (0.0, 0.0, slope);
            for (w, d) in windows.into_iter().zip(self.delays) {
                let (whole, share) = (d + q, d / (d + q));
                let v = self.law.excess(w, share);
                let alone = (1.0 - rho) * libm::pow(w, 1.0 - 4.0 * rho) * (1.0 - share)
                    + rho * target * libm::pow(w, -4.0 * rho);
                diagonal += v * v * alone * share;
                weighted += libm::pow(w, 1.0 - 2.0 * rho) * share / whole * v;
                inner += w / (whole * whole);
            }
            -gain * (diagonal + weighted * weighted / inner)
        }
    }

    /// The Lyapunov function of Theorem 2 falls along the law as in the derivation, over a wire and over a
    /// link of ideal CSMA alone in the air, `R = b·e^bq/(1 + e^bq)`.
    #[test]
    fn lyapunov_function_falls_as_in_eq_26() {
        const B: f64 = 50.0;
        let logistic = |q: f64| 1.0 / (1.0 + libm::exp(-B * q));
        let wire: fn(f64) -> f64 = |_| 40.0;
        let air: fn(f64) -> f64 = |q| B / (1.0 + libm::exp(-B * q));
        for shape in [0.0, 0.25, 0.5, 1.0] {
            for (capacity, is_air) in [(wire, false), (air, true)] {
                let law = QuicTcpParams { target: 3.0, gain: 0.7, shape, ..QuicTcpParams::qcsma() };
                let network = Shared { law, delays: [0.05, 0.2], capacity };
                for windows in [[4.0, 9.0], [12.0, 5.0], [2.0, 30.0]] {
                    let shares = network.shares(windows);
                    let step = 1e-5;
                    let at = |time: f64| {
                        let moved = |s: usize| windows[s] + time * law.drift(windows[s], shares[s]);
                        network.lyapunov([moved(0), moved(1)])
                    };
                    let measured = (at(step) - at(-step)) / (2.0 * step);
                    let u = logistic(network.queueing(windows));
                    let slope = if is_air { B * B * u * (1.0 - u) } else { 0.0 }; // Lemma 1: b² Var(r)
                    let expected = network.decrease(windows, slope);
                    assert!(expected < 0.0, "{shape} {windows:?}");
                    let off = (measured / expected - 1.0).abs();
                    assert!(off < 1e-5, "{shape} {windows:?}: {measured} against {expected}");
                }
            }
        }
    }

    #[test]
    fn few_waiting_open_the_window_many_close_it() {
        for shape in [0.0, 0.5, 1.0] {
            let law = QuicTcpParams { target: 5.0, gain: 0.1, shape, ..QuicTcpParams::qcsma() }
                .validated()
                .unwrap();
            assert!(law.next(10.0, 0.9) > 10.0, "one waits");
            assert!(law.next(20.0, 0.5) < 20.0, "ten wait");
            assert!((law.next(10.0, 0.5) - 10.0).abs() < 1e-12, "five wait");
        }
        let bad = QuicTcpParams { target: 5.0, gain: 0.1, shape: 1.5, ..QuicTcpParams::qcsma() };
        assert_eq!(bad.validated().unwrap_err().name, "rho");
    }

    /// One flow over a link of 1000 packets/s and 50 ms: acknowledgements come at the link's rate, and the
    /// part of the window above 50 packets is queued.
    fn over_a_link(law: &mut QuicTcp, acks: u32) {
        for number in 0..acks {
            let flight = law.reno.window as u32;
            let queued = (law.reno.window - 50.0).max(0.0);
            let sample = Some(Duration::from_secs_f64(0.05 + queued / 1000.0));
            let now = Instant::ZERO + Duration::from_millis(1) * u64::from(number);
            let (advances, window_limited) = (true, true);
            let acked =
                Acked { now, segments: 1, advances, window_limited, flight, sample, ..Acked::default() };
            law.on_ack(&acked);
        }
    }

    #[test]
    fn as_many_wait_as_are_wanted() {
        for shape in [0.5, 1.0] {
            let gain = if shape < 1.0 { 0.5 } else { 35.0 };
            let params = QuicTcpParams { target: 20.0, gain, shape, ..QuicTcpParams::qcsma() };
            let start = WindowStart {
                initial_window: 10.0,
                initial_ssthresh: 10.0,
                byte_counting: true,
                ..WindowStart::default()
            };
            let mut law = params.begin(&start);
            over_a_link(&mut law, 40_000);
            assert!((law.congestion_window() - 70.0).abs() < 0.1, "{shape}: {}", law.congestion_window());
        }
    }

    /// The same over a path of so long a round trip, from an instant on; gives the window, and the most that were under way.
    fn over_a_path(law: &mut QuicTcp, base_ms: u64, from_ms: u64, acks: u64) -> (f64, f64) {
        let mut most: f64 = 0.0;
        for number in 0..acks {
            let queued = (law.reno.window - base_ms as f64).max(0.0);
            let sample = Some(Duration::from_millis(base_ms) + Duration::from_secs_f64(queued / 1000.0));
            let now = Instant::ZERO + Duration::from_millis(from_ms + number);
            let (advances, window_limited, flight) = (true, true, law.reno.window as u32);
            let acked =
                Acked { now, segments: 1, advances, window_limited, flight, sample, ..Acked::default() };
            law.on_ack(&acked);
            most = most.max(law.reno.window);
        }
        (law.reno.window, most)
    }

    /// 20 of 1000 packets/s wait on a path of 50 ms that becomes one of 100 ms. Without a new measurement the
    /// least stays 50 ms: the law takes half of the round trip for a queue, and 40 under way for enough. With
    /// a measurement every ten seconds, 120 are under way again.
    #[test]
    fn longer_path_is_learnt_by_a_new_measurement() {
        let start = WindowStart { initial_window: 10.0, initial_ssthresh: 10.0, ..WindowStart::default() };
        let window = |round_trip_holds| {
            let params =
                QuicTcpParams { target: 20.0, gain: 0.5, round_trip_holds, ..QuicTcpParams::qcsma() };
            let mut law = params.begin(&start);
            let (_, most) = over_a_path(&mut law, 50, 0, 60_000);
            // It does not creep up, since the queue leaves before the round trip is measured.
            assert!(most < 72.0, "{round_trip_holds:?}: {most}");
            over_a_path(&mut law, 100, 60_000, 58_000).0
        };
        assert!((window(None) - 40.0).abs() < 0.5, "{}", window(None));
        let anew = window(Some(Duration::from_secs(10)));
        assert!((anew - 120.0).abs() < 1.0, "{anew}");
    }

    /// Slow start ends far above the equilibrium, with 200 packets on a path of 50 that is to hold 20 more: the law takes the
    /// window down, and slow start does not take it up again.
    #[test]
    fn window_falls_below_threshold_of_slow_start() {
        let start = WindowStart { initial_window: 10.0, initial_ssthresh: 200.0, ..WindowStart::default() };
        let params = QuicTcpParams { target: 20.0, gain: 0.5, ..QuicTcpParams::qcsma() };
        let mut law = params.begin(&start);
        let (window, most) = over_a_path(&mut law, 50, 0, 60_000);
        assert!((most - 200.0).abs() < 1.0, "slow start comes to {most}");
        assert!((window - 70.0).abs() < 0.5, "{window}");
    }

    #[test]
    fn a_loss_ends_the_measuring() {
        let start = WindowStart { initial_window: 60.0, initial_ssthresh: 10.0, ..WindowStart::default() };
        let holds = Some(Duration::from_millis(500));
        let params = QuicTcpParams { target: 20.0, round_trip_holds: holds, ..QuicTcpParams::qcsma() };
        let mut law = params.begin(&start);
        let mut at_ms = 0;
        while !matches!(law.refresh, Refresh::Measuring(_)) {
            over_a_path(&mut law, 50, at_ms, 1);
            at_ms += 1;
            assert!(at_ms < 10_000, "{law:?}");
        }
        law.on_loss(&Loss { flight: 20.0, ..Loss::default() });
        assert_eq!(law.refresh, Refresh::Not);
        assert!(law.share().is_finite() && law.share() > 0.0, "{law:?}");
    }

    /// The machine's step over one round trip is the drift over one unit of its time.
    #[test]
    fn the_step_of_the_machine_is_the_drift() {
        let start = WindowStart {
            initial_window: 64.0,
            initial_ssthresh: 2.0,
            byte_counting: true,
            ..WindowStart::default()
        };
        let mut law = QuicTcpParams { target: 20.0, gain: 0.5, ..QuicTcpParams::qcsma() }.begin(&start);
        law.measure(Duration::from_millis(50));
        (0..2_000).for_each(|_| law.measure(Duration::from_millis(64)));
        let per_round_trip = law.params.drift(law.reno.window, law.share());
        let window = QuicTcp::congestion_window;
        drift(&law, window, &[(1.0, &|law| over_a_link(law, 1))], per_round_trip, 0.01);
        over_a_link(&mut law, 1);
        assert_eq!(law.left, 63, "the rest of the flight, before the next step");
        let stepped = law.reno.window;
        over_a_link(&mut law, 63);
        assert!((law.reno.window - stepped).abs() > 1e-6, "and then the next");
    }

    #[test]
    fn a_window_that_is_not_in_use_is_held() {
        let start = WindowStart {
            initial_window: 64.0,
            initial_ssthresh: 2.0,
            byte_counting: true,
            ..WindowStart::default()
        };
        let mut law = QuicTcpParams::qcsma().begin(&start);
        let sample = Some(Duration::from_millis(50));
        law.on_ack(&Acked { segments: 1, advances: true, flight: 4, sample, ..Acked::default() });
        assert!((law.reno.window - 64.0).abs() < 1e-12);
    }

    #[test]
    fn each_parameter_has_its_range() {
        let params = QuicTcpParams::default();
        let (good, bad) = crate::ranges::POSITIVE;
        crate::ranges::assert_range("p", |target| QuicTcpParams { target, ..params }, good, bad);
        crate::ranges::assert_range("kappa", |gain| QuicTcpParams { gain, ..params }, good, bad);
        let rho = |shape| QuicTcpParams { shape, ..params };
        crate::ranges::assert_range("rho", rho, &[0.0, 1.0], &[-0.1, 1.1, f64::NAN]);
    }

    /// Half of the path's content: of 40 segments half wait, so 20 fill the path and 10 are left.
    #[test]
    fn half_of_the_paths_content_drains_the_queue() {
        let params =
            QuicTcpParams { round_trip_holds: Some(Duration::from_secs(10)), ..QuicTcpParams::default() };
        let start = WindowStart { initial_window: 40.0, ..WindowStart::default() };
        let mut law = params.begin(&start);
        (law.round_trip, law.holds_since) = (Some((0.1, 0.2)), Some(Instant::ZERO));
        assert!(law.refresh(&Acked { now: Instant::ZERO + Duration::from_secs(10), ..Acked::default() }));
        assert!((law.congestion_window() - 10.0).abs() < 1e-12);
    }
}
