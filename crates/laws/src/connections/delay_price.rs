//! The number of connections that brings a rate to its utility's optimum at the price that the queues' delay
//! shows: one law against interference and channel errors.
//!
//! # Law
//! Each interval `n ← n·(k²·U'(x) / r̂)^(g/2)`, `r̂ = a·x·(T − T₀)`: the flow's packets that wait, by Little's law, times the
//! price of each.
//!
//! At rest `k²·U'(x) = r̂`, [Chen10] eq. (5.19): problem MP's optimum where the price is the queues'. Channel
//! losses do not appear. TCP's answer to loss, `x = (n/T)·√(2/p)` with `p = r + ε`, requires
//! `n = kT·√((r + ε)/r)` connections at rest. The law finds them by its integral, for any `ε` and any window
//! law of a connection. Without errors it rests where `n = kT` does.
//!
//! # Source
//! Ours: an answer to [Chen10] section 7.2, which calls for one solution of both; utility and weight are
//! those of [Chen10] eq. (5.1), (5.29).
//!
//! ## With less told
//! - `T₀` may be measured, as BBR does. When it has not been seen for [`DelayPriceParams::round_trip_holds`],
//!   the flow's connections drain to [`DRAINED`](super::DRAINED) segments in all; the least round trip of the
//!   next [`DelayPriceParams::drain`] becomes `T₀`.
//! - The price may be learnt ([`Price::Learnt`]): loss is a linear function of the queueing delay,
//!   `p = ε + c·(T − T₀)`, fitted by least squares to the intervals of [`DelayPriceParams::memory`], drained
//!   ones too; `r̂ = c·(T − T₀)`. All flows of a queue have the same delay, and so the same price: a flow's
//!   own packets are only a part of the backlog.
//! - Or marked ([`Price::Marks`]): where queues mark packets instead of dropping them and the channel does
//!   not mark, `r̂` is the share of marks, and neither `a` nor `T₀` nor `ε` is needed. The step is then
//!   linear in `r̂`, so that its chance errors average out.
//!
//! # Symbols
//! `k` → [`DelayPriceParams::per_second`]; `U'(x)` → [`DelayPriceParams::marginal_utility`]; `a` →
//! [`DelayPriceParams::per_packet`]; `g` → [`DelayPriceParams::gain`]; `T` → [`DelayPriceParams::samples`] \[s\]; `T₀` →
//! [`FlowView::least_round_trip`] or [`FlowView::least_in_interval`] \[s\]; `x` → [`FlowView::sent`] \[segments/s\]; `n` →
//! `connections`; `c` \[1/s\] → the slope of `line`.
//!
//! # Signals
//! Round trips and the least of them, and how many segments were sent; of these, how many a second time: to know where to stop, and
//! for a price that is learnt. Marks, where they are the price.
//!
//! # Deviations
//! - A configured `a` is the network's: A-CSMA's α times a packet's time at the data rate. A flow with an `f`
//!   times too high value rests where `k/√f` would. A learnt price begins with it, with an uncertainty of its
//!   own size, and forgets it as losses come.
//! - A configured price counts the flow's own packets. Where `m` flows share a queue each sees its part, and
//!   they rest as `m` flows of a larger `k` would; where queues are per link, as in [Chen10] topology a, own
//!   and whole are one.
//! - `T₀` includes the access delay of an idle medium; the first packet of a queue, which waits for the
//!   medium, counts as one that waits. `T₀` is of segments, so that probes, which are shorter, show a little
//!   less. Acknowledgements that queue count, too (n-ACK with one unit for all packets).
//! - A wire's price in [Chen10] eq. (5.34) is its loss, not its delay: behind a shallow buffer a configured
//!   price cannot see it; a learnt one does as far as drained intervals lose less than others. No connection
//!   opens while more than [`LOSS_MOST`] of the segments are retransmissions, for any cause of loss.
//!   Connections are bounded by the segments outstanding, which include those that wait for a time-out, and
//!   by [`DelayPriceParams::connections_max`].
//! - A connection's window answers one mark a round trip (RFC 3168), so that one socket with many segments under way answers too few of
//!   them: marks price many sockets, and losses, of which scaled AIMD answers each, price one.
//! - A single connection that can be worth a real number of them (scaled AIMD, TFRC's) is given `n` itself, not rounded.
//! - Without `round_trip_holds` `T₀` is never forgotten: if the path becomes longer for good, the law takes
//!   the difference for waiting. With it, flows that share the queue and do not drain at the same time leave
//!   some of their waiting in `T₀`.
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

mod learnt;

use super::{ConnectionLaw, Reason, RoundTripSamples, check_worth, whole};
use crate::flow::{FlowRole, FlowView, Signal};
use crate::{BadParameter, Parameters, check, check_interval};
use alloc::vec::Vec;
use core::f64::consts::LN_2;
use evenair_units::{Duration, Instant};
use learnt::Line;

/// Where so much is lost more connections would send little but repetitions: TCP lives on time-outs there.
pub const LOSS_MOST: f64 = 0.25;
/// The least time for a backlog to drain.
const EMPTIES_MIN: Duration = Duration::from_millis(100);

/// The source of the price of a waiting packet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "kebab-case"))]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub enum Price {
    /// `per_packet` is the price of each of the flow's own waiting packets.
    #[default]
    Told,
    /// The slope of loss over queueing delay, learnt from both; `per_packet` is its first value.
    Learnt,
    /// The share of the flow's segments that queues mark (RFC 3168); neither delay nor `per_packet` is used.
    Marks,
}

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
    /// α of the α-fair utility: 1 is proportional fairness, 2 the aim of n = kT.
    #[cfg_attr(feature = "serde", serde(rename = "alpha"))]
    pub fairness: f64,
    /// The utility's weight.
    pub weight: f64,
    /// Where the price comes from.
    pub price: Price,
    /// Price of a waiting packet: its share of the aggressiveness of its link \[1/packet\].
    pub per_packet: f64,
    /// How much of the past a learnt price keeps.
    pub memory: Duration,
    /// How long the least round trip holds; then the flow's connections drain to measure it again. For ever
    /// by default.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "Option::is_none"))]
    pub round_trip_holds: Option<Duration>,
    /// How long it then measures, after the backlog has drained.
    pub drain: Duration,
    /// How far one interval goes towards the price that is wanted: 1 is all the way, as n = kT goes.
    pub gain: f64,
    /// How often the number is evaluated.
    pub interval: Duration,
    /// The least number: one where connections are whole; the worth of a single one may be less (scaled
    /// AIMD).
    #[cfg_attr(feature = "serde", serde(rename = "min"))]
    pub connections_min: f64,
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
            price: Price::Told,
            per_packet: 0.1 * 8000.0 / 11e6,
            memory: Duration::from_secs(500),
            round_trip_holds: None,
            drain: Duration::from_millis(500),
            gain: 0.5,
            interval: Duration::from_secs(5),
            connections_min: 1.0,
            connections_max: 1000,
            samples: RoundTripSamples::Segments,
        }
    }

    /// `U'(x) = w·x^(−α)`, at a rate \[segments/s\].
    pub fn marginal_utility(&self, rate: f64) -> f64 {
        self.weight * libm::pow(rate, -self.fairness)
    }

    /// `k²·U'(x)`: the price at which the flow would rest at this rate \[segments/s\].
    pub fn wanted(&self, rate: f64) -> f64 {
        self.per_second * self.per_second * self.marginal_utility(rate)
    }

    /// The configured price of packets with this wait \[s\] at this rate \[segments/s\].
    pub fn told(&self, rate: f64, waiting_s: f64) -> f64 {
        self.per_packet * rate * waiting_s
    }

    /// `ln n` grows by so much per interval where a flow has this rate \[segments/s\] at that price.
    pub fn growth(&self, rate: f64, price: f64) -> f64 {
        let ratio = price / self.wanted(rate);
        // Marks of an interval are few and may be none: their number averages out, not its logarithm.
        let towards = if self.price == Price::Marks { 1.0 - ratio } else { -libm::log(ratio) };
        let growth = self.gain / 2.0 * towards;
        if growth.is_nan() { 0.0 } else { growth.clamp(-LN_2, LN_2) }
    }

    /// The law's fluid face \[1/s\]: `ṅ = n·(g/2τ)·ln(k²U'(x)/r̂)`, bounded as the machine's steps are.
    pub fn connections_drift(&self, connections: f64, rate: f64, waiting_s: f64) -> f64 {
        connections * self.growth(rate, self.told(rate, waiting_s)) / self.interval.as_secs_f64()
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
        check_interval("drain", self.drain)?;
        check_interval("memory", self.memory)?;
        self.round_trip_holds.map_or(Ok(()), |holds| check_interval("round_trip_holds", holds))?;
        check_worth(self.connections_min)?;
        check("max", f64::from(self.connections_max), self.connections_max >= 1, "at least 1")?;
        Ok(self)
    }

    /// A flow starts with one connection.
    fn begin(&self, _: &FlowRole) -> DelayPrice {
        DelayPrice {
            params: *self,
            connections: 1.0,
            phase: Phase::Steers,
            least: None,
            line: Line::default(),
        }
    }
}

/// The purpose of the interval under way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
enum Phase {
    /// Steering: the interval measures the effect of the connections.
    Steers,
    /// Draining: the flow's backlog leaves, for this time.
    Empties(Duration),
    /// Measuring: the interval measures the round trip without a backlog.
    Looks,
}

/// A least round trip, and when it was seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
struct Least {
    round_trip: Duration,
    at: Instant,
}

/// The law's state for one flow.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct DelayPrice {
    params: DelayPriceParams,
    /// `n`, a real number.
    connections: f64,
    phase: Phase,
    /// `T₀`, where it is the law's to remember.
    least: Option<Least>,
    /// Loss over queueing delay, where that is learnt.
    line: Line,
}

/// The measurements of an interval.
#[derive(Clone, Copy, Debug)]
struct Seen {
    /// `x` \[segments/s\].
    rate: f64,
    /// `T − T₀` \[s\].
    waiting_s: f64,
    /// Segments under way at the interval's end, not acknowledged; over another transport than TCP `x·T`.
    window: f64,
    /// The share that was sent again.
    again: f64,
    /// The share that queues marked.
    marked: Option<f64>,
}

impl DelayPrice {
    /// One interval.
    fn step(&mut self, seen: Seen) {
        let Some(price) = self.price(seen) else { return };
        let (least, most) = (self.params.connections_min, f64::from(self.params.connections_max));
        // A connection without a segment sends nothing, and of one socket's worth beyond it no loss takes a segment.
        let most = seen.window.clamp(1.0, most);
        let growth = self.params.growth(seen.rate, price);
        let growth = if seen.again > LOSS_MOST { growth.min(0.0) } else { growth };
        self.connections = (self.connections * libm::exp(growth)).clamp(least, most);
        debug_assert!((least..=most).contains(&self.connections), "{self:?}");
    }

    fn price(&self, seen: Seen) -> Option<f64> {
        let told = self.params.told(seen.rate, seen.waiting_s);
        match self.params.price {
            Price::Told => Some(told),
            Price::Learnt => Some(self.line.slope(self.params.per_packet) * seen.waiting_s),
            Price::Marks => seen.marked,
        }
    }

    /// The interval's measurements, if it has enough; updates `T₀` if the law has to remember it.
    fn see(&mut self, flow: &FlowView) -> Option<Seen> {
        let average = self.params.samples.of(flow);
        if self.params.round_trip_holds.is_some() {
            let looked = self.phase == Phase::Looks;
            if let Some(least) = flow.least_in_interval.or(average)
                && (looked || self.least.is_none_or(|known| least <= known.round_trip))
            {
                self.least = Some(Least { round_trip: least, at: flow.now });
            }
        }
        let least = self.least.map_or(flow.least_round_trip, |least| Some(least.round_trip))?;
        let sent = flow.sent as f64;
        let rate = sent / flow.interval.as_secs_f64();
        let average = average?;
        let waiting_s = average.saturating_sub(least).as_secs_f64();
        let seen = Seen {
            rate,
            waiting_s,
            window: flow.outstanding.map_or(rate * average.as_secs_f64(), |outstanding| outstanding as f64),
            again: flow.retransmitted as f64 / sent,
            marked: flow.marked.map(|marked| marked as f64 / sent),
        };
        (rate > 0.0 && rate.is_finite()).then_some(seen)
    }

    /// The next interval's purpose, at the end of one with this mean wait of its packets.
    fn turn(&mut self, now: Instant, waited: Option<f64>) {
        let Some(holds) = self.params.round_trip_holds else { return };
        self.phase = match self.phase {
            Phase::Steers if self.least.is_some_and(|least| now.since(least.at) >= holds) => {
                // The backlog drains within its own waiting time, which may be longer than the mean.
                let empties = Duration::from_secs_f64(2.0 * waited.unwrap_or(0.0));
                Phase::Empties(empties.clamp(EMPTIES_MIN, self.params.interval.max(EMPTIES_MIN)))
            }
            Phase::Empties(_) => Phase::Looks,
            Phase::Steers | Phase::Looks => Phase::Steers,
        };
    }
}

impl ConnectionLaw for DelayPrice {
    fn interval(&self) -> Duration {
        match self.phase {
            Phase::Steers => self.params.interval,
            Phase::Empties(time) => time,
            Phase::Looks => self.params.drain,
        }
    }

    fn needs(&self) -> Vec<Signal> {
        let DelayPriceParams { price, samples, round_trip_holds, .. } = self.params;
        let least = if round_trip_holds.is_some() { Signal::LeastInInterval } else { Signal::LeastRoundTrip };
        let marked = (price == Price::Marks).then_some(Signal::Marked);
        [samples.signal(), least].into_iter().chain(marked).collect()
    }

    fn exact(&self) -> Option<f64> {
        Some(self.connections)
    }

    fn drains(&self) -> bool {
        self.phase != Phase::Steers
    }

    fn reason(&self) -> Reason {
        Reason::Priced
    }

    fn on_interval(&mut self, flow: &FlowView) -> u32 {
        let seen = self.see(flow);
        if let Some(seen) = seen
            && !matches!(self.phase, Phase::Empties(_))
        {
            if self.params.price == Price::Learnt {
                self.line.add(flow, seen.waiting_s, self.params.memory);
            }
            if self.phase == Phase::Steers {
                self.step(seen);
            }
        }
        self.turn(flow.now, seen.map(|seen| seen.waiting_s));
        whole(libm::round(self.connections), self.params.connections_max)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::conformance::drift;
    use crate::ranges::{POSITIVE, assert_range};
    use crate::window::reno::aggregate_rate_drift;
    use alloc::vec::Vec;
    use evenair_units::Bytes;
    use proptest::prelude::*;

    fn law(connections: f64) -> DelayPrice {
        let begun = DelayPriceParams::chen10().begin(&FlowRole { payload: Bytes::new(1000) });
        DelayPrice { connections, ..begun }
    }

    /// 200 segments/s that wait so long \[s\], that share of them sent again.
    fn seen(waiting_s: f64, again: f64) -> Seen {
        Seen { rate: 200.0, waiting_s, window: f64::INFINITY, again, marked: None }
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
            let step = |law: &mut DelayPrice| law.step(seen(waiting_s(r), 0.1));
            drift(&before, |law| libm::log(law.connections), &[(1.0, &step)], drifts, 1e-12);
        }
    }

    #[test]
    fn number_rests_at_the_price_for_any_loss() {
        // [Chen10] eq. (5.25): 2k²/x² = r, 0.005 at x = 200. TCP holds x with n = kT·√((r + ε)/r).
        let (r, rate) = (0.005, 200.0);
        let params = DelayPriceParams::chen10();
        assert!(params.growth(rate, params.told(rate, waiting_s(r))).abs() < 1e-12);
        for errors in [0.0, 0.01, 0.1] {
            let round_trip_s = 0.01 + waiting_s(r);
            let n = params.per_second * round_trip_s * libm::sqrt((r + errors) / r);
            let moves = aggregate_rate_drift(rate, n, round_trip_s, r + errors);
            assert!(moves.abs() < 1e-9, "{errors}: {moves}");
        }
    }

    #[test]
    fn opens_without_waiting_and_closes_with_much() {
        // √√(0.005/0.0025) = 1.19
        for (waits, factor) in [(0.0, 2.0), (1e9, 0.5), (waiting_s(0.0025), libm::pow(2.0, 0.25))] {
            let mut law = law(4.0);
            law.step(seen(waits, 0.0));
            assert!((law.connections - 4.0 * factor).abs() < 1e-12, "{waits}: {law:?}");
        }
    }

    #[test]
    fn heavy_loss_opens_none_and_may_close_some() {
        for (waits, left) in [(0.0, 30.0), (1e9, 15.0)] {
            let mut law = law(30.0);
            law.step(seen(waits, 0.26));
            assert!((law.connections - left).abs() < 1e-12, "{waits}: {law:?}");
        }
    }

    #[test]
    fn an_interval_without_a_round_trip_holds() {
        let second = |s| Some(Duration::from_secs_f64(s));
        let flow = FlowView {
            interval: Duration::from_secs(5),
            round_trip: second(0.1),
            least_round_trip: second(0.1),
            sent: 1000,
            ..FlowView::default()
        };
        let mut law = DelayPriceParams::chen10().begin(&FlowRole { payload: Bytes::new(1000) });
        assert_eq!([1, 2].map(|_| law.on_interval(&flow)), [2, 4]);
        assert_eq!(law.exact(), Some(4.0), "the worth of a single connection");
        assert_eq!(law.on_interval(&FlowView { round_trip: None, ..flow }), 4);
        assert_eq!(law.on_interval(&FlowView { sent: 0, ..flow }), 4);
        assert_eq!(law.on_interval(&FlowView { retransmitted: 300, ..flow }), 4);
        assert_eq!(law.line, Line::default(), "its price is configured, not learnt");
        let params = DelayPriceParams { price: Price::Learnt, ..DelayPriceParams::chen10() };
        let mut learns = params.begin(&FlowRole { payload: Bytes::new(1000) });
        learns.on_interval(&flow);
        assert_ne!(learns.line, Line::default());
    }

    fn ms(millis: u64) -> Duration {
        Duration::from_millis(millis)
    }

    #[test]
    fn old_least_round_trip_is_drained_and_replaced() {
        let params = DelayPriceParams { round_trip_holds: Some(ms(30_000)), ..DelayPriceParams::chen10() };
        let mut law = params.begin(&FlowRole { payload: Bytes::new(1000) });
        assert_eq!(law.needs(), [Signal::RoundTrip, Signal::LeastInInterval]);
        let mut now = Instant::ZERO;
        let mut see = |law: &mut DelayPrice, least: u64, mean: u64| {
            now += law.interval();
            let flow = FlowView {
                now,
                interval: law.interval(),
                round_trip: Some(ms(mean)),
                least_in_interval: Some(ms(least)),
                sent: 1000,
                ..FlowView::default()
            };
            law.on_interval(&flow);
            (law.drains(), law.interval())
        };
        assert_eq!(see(&mut law, 20, 300), (false, ms(5_000)));
        // The path is longer from here on. The backlog drains within twice 280 ms; then half a second of
        // measuring.
        let drains: Vec<_> = (0..6).map(|_| see(&mut law, 100, 300)).collect();
        assert_eq!(&drains[4..], [(false, ms(5_000)), (true, ms(560))]);
        let before = law.connections;
        assert_eq!(see(&mut law, 100, 200), (true, ms(500)));
        assert_eq!(see(&mut law, 90, 95), (false, ms(5_000)));
        assert_eq!(law.least.unwrap().round_trip, ms(90), "not the 20 ms of long ago");
        assert!((law.connections - before).abs() < 1e-12, "an interval that drains steers nothing");
    }

    /// The law's next intervals, of five seconds where it steers, if each has this least and this mean round trip \[ms\].
    fn intervals(holds_ms: u64, seen: &[(u64, u64)]) -> Vec<Duration> {
        let round_trip_holds = Some(ms(holds_ms));
        let mut law = DelayPriceParams { round_trip_holds, ..DelayPriceParams::chen10() }
            .begin(&FlowRole { payload: Bytes::new(1000) });
        let mut now = Instant::ZERO;
        let mut see = |&(least, mean): &(u64, u64)| {
            now += law.interval();
            let flow = FlowView {
                now,
                interval: law.interval(),
                round_trip: Some(ms(mean)),
                least_in_interval: Some(ms(least)),
                sent: 1000,
                ..FlowView::default()
            };
            law.on_interval(&flow);
            law.interval()
        };
        seen.iter().map(&mut see).collect()
    }

    #[test]
    fn queue_is_given_a_tenth_of_a_second_to_leave() {
        // 40 ms wait, and twice that is less; 400 ms wait; 4 s wait, and no more than an interval is given.
        for (mean, empties) in [(60, 100), (420, 800), (4_020, 5_000)] {
            let told = intervals(5_000, &[(20, mean), (30, mean)]);
            assert_eq!(told, [ms(5_000), ms(empties)], "{mean}");
        }
    }

    #[test]
    fn repeated_least_round_trip_is_renewed() {
        // Believed for ten seconds: from the first interval, or from the second, which has the same.
        assert_eq!(intervals(10_000, &[(20, 60), (21, 60), (21, 60)])[2], ms(100));
        assert_eq!(intervals(10_000, &[(20, 60), (20, 60), (21, 60), (21, 60)])[2..], [ms(5_000), ms(100)]);
    }

    #[test]
    fn learnt_slope_stays_within_a_hundredfold() {
        // Delays of 0.1 and 1.1 s, of a million segments/s that lose p = 0.2 + c·(d − 0.1 s).
        let slope = |told: f64, per_delay: f64| {
            let mut line = Line::default();
            for step in 0..400u32 {
                let delay_s = 0.1 + f64::from(step % 2);
                let lost = 1e6 * (0.2 + per_delay * (delay_s - 0.1));
                let flow = FlowView {
                    interval: ms(1_000_000),
                    sent: 1_000_000_000,
                    retransmitted: (lost * 1000.0) as u64,
                    ..FlowView::default()
                };
                line.add(&flow, delay_s, ms(500_000_000));
            }
            line.slope(told)
        };
        // Told 1e-6 a packet, 1/s at that rate; and a thousandth of it.
        assert!((slope(1e-6, 0.5) - 0.5).abs() < 0.005, "{}", slope(1e-6, 0.5));
        assert!((slope(1e-6, -0.1) - 0.01).abs() < 1e-12, "{}", slope(1e-6, -0.1));
        assert!((slope(1e-9, 0.5) - 0.1).abs() < 1e-12, "{}", slope(1e-9, 0.5));
    }

    #[test]
    fn slope_is_learnt_from_any_first_value() {
        // p = 0.03 + 0.01 d, of a thousand segments at 0.1, 0.2, … 1 s.
        for told in [1e-6, 7.3e-5, 3e-4] {
            let mut line = Line::default();
            for step in 0..200u32 {
                let delay_s = f64::from(step % 10 + 1) / 10.0;
                let lost = 10_000.0 * (0.03 + 0.01 * delay_s);
                let flow = FlowView {
                    interval: ms(5_000),
                    sent: 10_000,
                    retransmitted: lost as u64,
                    ..FlowView::default()
                };
                line.add(&flow, delay_s, ms(500_000));
            }
            let slope = line.slope(told);
            assert!((slope / 0.01 - 1.0).abs() < 0.3, "{told}: {slope}");
        }
        // Delays that never differ teach nothing: the slope keeps its first value, 7.3e-5 · 200 segments/s.
        let mut line = Line::default();
        let flow = FlowView { interval: ms(5_000), sent: 1000, retransmitted: 30, ..FlowView::default() };
        (0..200).for_each(|_| line.add(&flow, 0.5, ms(500_000)));
        assert!((line.slope(7.3e-5) / 7.3e-5 / 200.0 - 1.0).abs() < 1e-6);
    }

    #[test]
    fn connections_never_exceed_segments_in_flight() {
        let mut law = law(30.0);
        law.step(Seen { window: 12.5, ..seen(0.0, 0.0) });
        assert!((law.connections - 12.5).abs() < 1e-12, "{law:?}");
        law.step(Seen { window: 0.2, ..seen(0.0, 0.0) });
        assert!((law.connections - 1.0).abs() < 1e-12, "{law:?}");
    }

    /// 20 segments/s of 10 ms each: a fifth of one under way in the mean, while thirty connections wait for their time-outs.
    #[test]
    fn segments_awaiting_time_out_are_outstanding() {
        let after = |outstanding| {
            let mut law = law(30.0);
            let flow = FlowView {
                interval: ms(5_000),
                round_trip: Some(ms(10)),
                least_round_trip: Some(ms(10)),
                sent: 100,
                outstanding,
                ..FlowView::default()
            };
            law.on_interval(&flow);
            law.connections
        };
        assert!((after(Some(30)) - 30.0).abs() < 1e-12 && (after(Some(12)) - 12.0).abs() < 1e-12);
        assert!((after(None) - 1.0).abs() < 1e-12, "datagrams");
    }

    #[test]
    fn rests_where_marks_equal_the_utilitys_price() {
        let params = DelayPriceParams { price: Price::Marks, ..DelayPriceParams::chen10() };
        let mut law = params.begin(&FlowRole { payload: Bytes::new(1000) });
        // 200 segments/s want 0.005: five of a thousand. The delay is no signal here.
        let flow = |marked| FlowView {
            interval: ms(5_000),
            round_trip: Some(ms(900)),
            least_round_trip: Some(ms(10)),
            sent: 1000,
            retransmitted: 100,
            marked,
            ..FlowView::default()
        };
        law.connections = 8.0;
        law.on_interval(&flow(Some(5)));
        assert!((law.connections - 8.0).abs() < 1e-9, "{law:?}");
        // None and ten are as far from it, one up, one down.
        law.on_interval(&flow(Some(0)));
        law.on_interval(&flow(Some(10)));
        assert!((law.connections - 8.0).abs() < 1e-9, "{law:?}");
        law.on_interval(&flow(None));
        assert!((law.connections - 8.0).abs() < 1e-9, "a host that does not tell changes nothing");
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
                law.step(seen(waiting_s(r), errors));
            }
            prop_assert!((r / wanted - 1.0).abs() < 1e-6, "{r} {law:?}");
        }
    }

    #[test]
    fn each_parameter_has_its_range() {
        let params = DelayPriceParams::chen10();
        let (good, bad) = POSITIVE;
        assert_range("k", |per_second| DelayPriceParams { per_second, ..params }, good, bad);
        assert_range("weight", |weight| DelayPriceParams { weight, ..params }, good, bad);
        assert_range("per_packet", |per_packet| DelayPriceParams { per_packet, ..params }, good, bad);
        let alpha = |fairness| DelayPriceParams { fairness, ..params };
        assert_range("alpha", alpha, &[0.0, 100.0], &[-0.1, 100.1, f64::NAN]);
        let gain = |gain| DelayPriceParams { gain, ..params };
        assert_range("gain", gain, &[1e-9, 1.0], &[0.0, -1.0, 1.001, f64::NAN]);
        let min = |connections_min| DelayPriceParams { connections_min, ..params };
        assert_range("min", min, &[0.01, 1.0], &[0.0, 0.009, 1.1, f64::NAN]);
        assert_range("max", |connections_max| DelayPriceParams { connections_max, ..params }, &[1], &[0]);
    }

    /// 1000 segments in 5 s are 200 a second; of 300 ms 200 are waited, and 200/s · 0.3 s are under way.
    #[test]
    fn interval_has_rate_wait_window_and_shares() {
        let flow = FlowView {
            interval: Duration::from_secs(5),
            sent: 1000,
            retransmitted: 50,
            marked: Some(20),
            round_trip: Some(Duration::from_millis(300)),
            least_round_trip: Some(Duration::from_millis(100)),
            ..FlowView::default()
        };
        let mut law = law(4.0);
        let seen = law.see(&flow).unwrap();
        let told = [seen.rate, seen.waiting_s, seen.window, seen.again, seen.marked.unwrap()];
        for (told, expected) in told.into_iter().zip([200.0, 0.2, 60.0, 0.05, 0.02]) {
            assert!((told - expected).abs() < 1e-12, "{seen:?}");
        }
        // A learnt price is the line's slope by the wait.
        law.params.price = Price::Learnt;
        law.line.add(&flow, 0.2, law.params.memory);
        let slope = law.line.slope(law.params.per_packet);
        assert!((law.price(seen).unwrap() - 0.2 * slope).abs() < 1e-15);
    }

    #[test]
    fn only_steering_changes_the_number() {
        let flow = FlowView {
            interval: Duration::from_secs(5),
            sent: 1000,
            round_trip: Some(Duration::from_millis(101)),
            least_round_trip: Some(Duration::from_millis(100)),
            ..FlowView::default()
        };
        let mut steers = law(4.0);
        steers.on_interval(&flow);
        assert!(steers.connections > 4.1, "cheap: {steers:?}");
        let mut looks = DelayPrice { phase: Phase::Looks, ..law(4.0) };
        looks.on_interval(&flow);
        assert!((looks.connections - 4.0).abs() < 1e-12);
    }

    #[test]
    fn more_than_the_most_loss_lets_nothing_grow() {
        let grown = |again| {
            let mut law = law(4.0);
            law.step(seen(1e-6, again));
            law.connections > 4.0
        };
        assert!(grown(LOSS_MOST) && !grown(LOSS_MOST + 1e-9));
    }
}
