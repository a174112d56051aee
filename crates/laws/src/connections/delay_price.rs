//! The number of connections that brings a rate to what its utility wants at the price that the queues' delay tells: one law against
//! interference and channel errors.
//!
//! # Law
//! Each interval `n ← n·(k²·U'(x) / r̂)^(g/2)`, `r̂ = a·x·(T − T₀)`: the flow's packets that wait, by Little's law, times the
//! price of each.
//!
//! At rest `k²·U'(x) = r̂`, [Chen10] eq. (5.19): problem MP's optimum where the price is the queues'. What the channel loses
//! does not appear. TCP's answer to loss, `x = (n/T)·√(2/p)` with `p = r + ε`, makes the rest need `n = kT·√((r + ε)/r)`
//! connections; the law finds them by its integral, whatever `ε` is and whatever a connection's window does with a loss.
//! Without errors it rests where `n = kT` does.
//!
//! # Source
//! Ours: an answer to [Chen10] section 7.2, which asks for one solution of both; utility and weight are those of [Chen10] eq.
//! (5.1), (5.29).
//!
//! # Symbols
//! `k` → [`DelayPriceParams::per_second`]; `U'(x)` → [`DelayPriceParams::marginal_utility`]; `a` →
//! [`DelayPriceParams::per_packet`]; `g` → [`DelayPriceParams::gain`]; `T` → [`DelayPriceParams::samples`] \[s\]; `T₀` →
//! [`FlowView::least_round_trip`] \[s\]; `x` → [`FlowView::sent`] \[segments/s\]; `n` → `connections`.
//!
//! # Signals
//! Round trips and the least of them, and how many segments were sent; of these, how many a second time, but only to know where to
//! stop: with errors the loss rate is no price.
//!
//! # Deviations
//! - `a` is the network's: A-CSMA's α times a packet's time at the data rate. Who takes it `f` times too high rests where `k/√f`
//!   would.
//! - An AQM that marks packets instead of dropping them (C4's other form) would tell `r` itself, apart from errors, shared queues
//!   included; evenair's TCP has no ECN.
//! - `T₀` is the least round trip so far, with the access delay of an idle medium in it; a head of line that waits for the medium
//!   counts as one packet that waits; it is of segments, so that probes, which are shorter, tell a little less. Acknowledgements that queue count, too (n-ACK with one unit for all packets).
//! - The price counts the flow's own packets. Where `m` flows share a queue each sees its part, and they rest as `m` flows of
//!   a larger `k` would; where queues are per link, as in [Chen10] topology a, own and whole are one.
//! - A wire's price in [Chen10] eq. (5.34) is its loss, not its delay: behind a shallow buffer the law cannot see it. It opens
//!   nothing while more than [`LOSS_MOST`] of what it sends is sent again, whatever loses it.
//! - A single connection that can be worth a real number of them (TFRC's) is given `n` itself, not rounded.
//! - `T₀` is never forgotten: where the way becomes longer for good the law takes the difference for waiting.
//! - The number is multiplied by 2 at most, and by 1/2 at least, per interval; one without a round trip holds it.
//!
//! # Example
//! ```
//! use evenair_laws::Parameters;
//! use evenair_laws::connections::{ConnectionLaw, DelayPriceParams};
//! use evenair_laws::flow::{FlowRole, FlowView};
//! use evenair_units::{Bytes, Duration};
//! let second = Duration::from_secs_f64;
//! let mut law = DelayPriceParams::default().begin(&FlowRole { payload: Bytes::new(1000) });
//! // 200 segments/s want a price of 2·10²/200² = 0.005; 20 that wait tell 20·7.3e-5 = 0.00145. n grows by √√3.4.
//! let flow = FlowView {
//!     interval: second(5.0),
//!     round_trip: Some(second(0.11)),
//!     least_round_trip: Some(second(0.01)),
//!     sent: 1000,
//!     ..FlowView::default()
//! };
//! assert_eq!([1, 1, 2].map(|_| law.on_interval(&flow)), [1, 2, 3]); // 1.36, 1.85, 2.53: rounded
//! ```

use super::{ConnectionLaw, RoundTripSamples, whole};
use crate::flow::{FlowRole, FlowView, Signal};
use crate::{BadParameter, Parameters, check, check_interval};
use alloc::vec::Vec;
use core::f64::consts::LN_2;
use evenair_units::Duration;

/// Where so much is lost more connections would send little but repetitions: TCP lives on time-outs there.
pub const LOSS_MOST: f64 = 0.25;

/// Parameters of the law.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(default, deny_unknown_fields)
)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct DelayPriceParams {
    /// k: the flow's weight, as that of n = kT connections per second of round-trip time \[1/s\].
    #[cfg_attr(feature = "serde", serde(rename = "k"))]
    pub per_second: f64,
    /// α of the α-fair utility: 1 is proportional fairness, 2 what n = kT aims at.
    #[cfg_attr(feature = "serde", serde(rename = "alpha"))]
    pub fairness: f64,
    /// The utility's weight.
    pub weight: f64,
    /// Price of a packet that waits, what it adds to the aggressiveness of its link \[1/packet\].
    pub per_packet: f64,
    /// How far one interval goes towards the price that is wanted: 1 is all the way, as n = kT goes.
    pub gain: f64,
    /// How often the number is evaluated.
    pub interval: Duration,
    /// The most connections that are kept.
    #[cfg_attr(feature = "serde", serde(rename = "max"))]
    pub connections_max: u32,
    /// Which round trips make T.
    pub samples: RoundTripSamples,
}

impl DelayPriceParams {
    /// [Chen10] chapter 6: k = 10, α = 0.1 per second of backlog, 1000-byte packets at 11 Mb/s, every 5 s; the gain is ours.
    pub const fn chen10() -> Self {
        Self {
            per_second: 10.0,
            fairness: 2.0,
            weight: 2.0,
            per_packet: 0.1 * 8000.0 / 11e6,
            gain: 0.5,
            interval: Duration::from_secs(5),
            connections_max: 1000,
            samples: RoundTripSamples::Segments,
        }
    }

    /// `U'(x) = w·x^(−α)`, at a rate \[segments/s\].
    pub fn marginal_utility(&self, rate: f64) -> f64 {
        self.weight * libm::pow(rate, -self.fairness)
    }

    /// `ln n` grows by so much per interval where a flow has this rate \[segments/s\] and its packets wait so long \[s\].
    pub fn growth(&self, rate: f64, waiting_s: f64) -> f64 {
        let wanted = self.per_second * self.per_second * self.marginal_utility(rate);
        let told = self.per_packet * rate * waiting_s;
        let growth = self.gain / 2.0 * libm::log(wanted / told);
        if growth.is_nan() { 0.0 } else { growth.clamp(-LN_2, LN_2) }
    }

    /// The law's fluid face \[1/s\]: `ṅ = n·(g/2τ)·ln(k²U'(x)/r̂)`, bounded as the machine's steps are.
    pub fn connections_drift(&self, connections: f64, rate: f64, waiting_s: f64) -> f64 {
        connections * self.growth(rate, waiting_s) / self.interval.as_secs_f64()
    }
}

impl Default for DelayPriceParams {
    fn default() -> Self {
        Self::chen10()
    }
}

impl Parameters for DelayPriceParams {
    type Surroundings = ();
    type Place = FlowRole;
    type Law = DelayPrice;

    fn validated(self) -> Result<Self, BadParameter> {
        let positive = |name, x: f64| check(name, x, x > 0.0 && x.is_finite(), "above 0, and finite");
        positive("k", self.per_second)?;
        positive("weight", self.weight)?;
        positive("per_packet", self.per_packet)?;
        check("alpha", self.fairness, (0.0..=100.0).contains(&self.fairness), "from 0 to 100")?;
        check("gain", self.gain, self.gain > 0.0 && self.gain <= 1.0, "above 0, 1 at most")?;
        check_interval("interval", self.interval)?;
        check("max", f64::from(self.connections_max), self.connections_max >= 1, "at least 1")?;
        Ok(self)
    }

    /// A flow starts with one connection.
    fn begin(&self, _: &FlowRole) -> DelayPrice {
        DelayPrice { params: *self, connections: 1.0 }
    }
}

/// The law's state for one flow.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct DelayPrice {
    params: DelayPriceParams,
    /// `n`, a real number.
    connections: f64,
}

impl DelayPrice {
    /// One interval at a rate \[segments/s\], its packets having waited so long \[s\], and that share of them sent again.
    fn step(&mut self, rate: f64, waiting_s: f64, again: f64) {
        let most = f64::from(self.params.connections_max);
        let growth = self.params.growth(rate, waiting_s);
        let growth = if again > LOSS_MOST { growth.min(0.0) } else { growth };
        self.connections = (self.connections * libm::exp(growth)).clamp(1.0, most);
        debug_assert!((1.0..=most).contains(&self.connections), "{self:?}");
    }
}

impl ConnectionLaw for DelayPrice {
    fn interval(&self) -> Duration {
        self.params.interval
    }

    fn needs(&self) -> Vec<Signal> {
        [self.params.samples.signal(), Signal::LeastRoundTrip].into()
    }

    fn exact(&self) -> Option<f64> {
        Some(self.connections)
    }

    fn on_interval(&mut self, flow: &FlowView) -> u32 {
        let sent = flow.sent as f64;
        let rate = sent / flow.interval.as_secs_f64();
        if let (Some(average), Some(least)) = (self.params.samples.of(flow), flow.least_round_trip)
            && rate > 0.0
            && rate.is_finite()
        {
            let again = flow.retransmitted as f64 / sent;
            self.step(rate, average.saturating_sub(least).as_secs_f64(), again);
        }
        whole(libm::round(self.connections), self.params.connections_max)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::conformance::drift;
    use crate::window::reno::aggregate_rate_drift;
    use evenair_units::Bytes;
    use proptest::prelude::*;

    fn law(connections: f64) -> DelayPrice {
        DelayPrice { params: DelayPriceParams::chen10(), connections }
    }

    /// How long 200 segments/s wait where the price is r.
    fn waiting_s(r: f64) -> f64 {
        r / DelayPriceParams::chen10().per_packet / 200.0
    }

    #[test]
    fn the_mean_step_of_the_machine_is_the_drift() {
        // It is n's logarithm that steps by the drift: ṅ/n.
        for r in [1e-3, 5e-3, 2e-2] {
            let before = law(4.0);
            let drifts = before.params.connections_drift(4.0, 200.0, waiting_s(r)) / 4.0 * 5.0;
            let step = |law: &mut DelayPrice| law.step(200.0, waiting_s(r), 0.1);
            drift(&before, |law| libm::log(law.connections), &[(1.0, &step)], drifts, 1e-12);
        }
    }

    #[test]
    fn it_rests_at_the_utilitys_price_whatever_the_channel_loses() {
        // [Chen10] eq. (5.25): 2k²/x² = r, 0.005 at x = 200. TCP holds x with n = kT·√((r + ε)/r).
        let (r, rate) = (0.005, 200.0);
        let params = DelayPriceParams::chen10();
        assert!(params.growth(rate, waiting_s(r)).abs() < 1e-12);
        for errors in [0.0, 0.01, 0.1] {
            let round_trip_s = 0.01 + waiting_s(r);
            let n = params.per_second * round_trip_s * libm::sqrt((r + errors) / r);
            let moves = aggregate_rate_drift(rate, n, round_trip_s, r + errors);
            assert!(moves.abs() < 1e-9, "{errors}: {moves}");
        }
    }

    #[test]
    fn it_opens_where_nothing_waits_and_closes_where_much_does() {
        // √√(0.005/0.0025) = 1.19
        for (waits, factor) in [(0.0, 2.0), (1e9, 0.5), (waiting_s(0.0025), libm::pow(2.0, 0.25))] {
            let mut law = law(4.0);
            law.step(200.0, waits, 0.0);
            assert!((law.connections - 4.0 * factor).abs() < 1e-12, "{waits}: {law:?}");
        }
    }

    #[test]
    fn where_more_than_a_quarter_is_lost_none_opens_but_some_may_close() {
        for (waits, left) in [(0.0, 30.0), (1e9, 15.0)] {
            let mut law = law(30.0);
            law.step(200.0, waits, 0.26);
            assert!((law.connections - left).abs() < 1e-12, "{waits}: {law:?}");
        }
    }

    #[test]
    fn an_interval_without_a_round_trip_holds() {
        let second = |s| Some(Duration::from_secs_f64(s));
        let flow = FlowView {
            interval: Duration::from_secs(5),
            round_trip: second(0.01),
            least_round_trip: second(0.01),
            sent: 1000,
            ..FlowView::default()
        };
        let mut law = DelayPriceParams::chen10().begin(&FlowRole { payload: Bytes::new(1000) });
        assert_eq!([1, 2].map(|_| law.on_interval(&flow)), [2, 4]);
        assert_eq!(law.exact(), Some(4.0), "what a single connection may be worth");
        assert_eq!(law.on_interval(&FlowView { round_trip: None, ..flow }), 4);
        assert_eq!(law.on_interval(&FlowView { sent: 0, ..flow }), 4);
        assert_eq!(law.on_interval(&FlowView { retransmitted: 300, ..flow }), 4);
    }

    proptest! {
        /// Over TCP that has settled on a link of its own, of 200 segments/s, n comes to where 2k²/x² = r from everywhere.
        #[test]
        fn it_gets_there_from_everywhere(start in 1.0f64..500.0, errors in 0.0f64..0.1) {
            let (rate, wanted, base_s) = (200.0, 0.005, 0.01);
            let mut law = law(start);
            let mut r = 0.0;
            for _ in 0..200 {
                // The price at which n connections send 200/s: r + ε = 2n²/(T·200)², T with r. It rises with r on both sides.
                let (mut low, mut high) = (0.0, 1.0);
                for _ in 0..60 {
                    r = f64::midpoint(low, high);
                    let window = (base_s + waiting_s(r)) * rate;
                    let asked = 2.0 * law.connections * law.connections / (window * window) - errors;
                    if asked > r { low = r } else { high = r }
                }
                law.step(rate, waiting_s(r), errors);
            }
            prop_assert!((r / wanted - 1.0).abs() < 1e-6, "{r} {law:?}");
        }
    }
}
