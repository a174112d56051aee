//! RED: arrivals are refused with a probability that grows with the average of the queue, so that sources learn of congestion
//! before the queue is full.
//!
//! # Law
//! At each arrival `avg ← (1 − w)·avg + w·q`; where nothing waits, `avg ← (1 − w)^m·avg` with `m` the packets
//! that could have been sent since then. Below `min_th` nothing is refused. From there to `max_th` `p_b`
//! grows from 0 to `max_p`, and `p_a = p_b/(1 − count·p_b)`; `count` are the arrivals since the last refusal,
//! so that refusals are spread evenly. From `max_th` on all is refused, or, if [`RedParams::gentle`], `p_b`
//! grows on to 1 at `2·max_th`.
//!
//! # Source
//! S. Floyd, V. Jacobson, "Random Early Detection Gateways for Congestion Avoidance", 1993, Fig. 2 and section 7; gentle: S.
//! Floyd, "Recommendations on using the gentle variant of RED", 2000; [Jam10] section 6.2.2 (J8).
//!
//! # Symbols
//! `min_th`, `max_th` → [`RedParams::threshold_min`], [`RedParams::threshold_max`] \[packets\]; `w_q` → [`RedParams::weight`];
//! `max_p` → [`RedParams::probability_max`]; `s`, the time that a packet takes, is that of one of [`RedParams::packet`], or of a
//! full packet, at the queue's rate.
//!
//! # Signals
//! The backlog when a packet comes, whether that was accepted, and when the queue became empty.
//!
//! # Deviations
//! None of the two papers. ns-2 2.35 differs in four points. It refuses nothing where no more than one packet
//! waits. Its refusals are two intervals apart at least (`wait_`, which is [`RedParams::wait`]). An idle
//! queue counts from the end of its last transmission, not from its begin. By default it counts bytes, 500 of
//! which are a packet ([`RedParams::packet`]), with `w` from the link's rate. Linux counts bytes and is never
//! gentle. Packets are dropped, none is marked.
//!
//! # Example
//! ```
//! use evenair_laws::marking::RedParams;
//! let red = RedParams::default();
//! // Half way between 5 and 15 packets: half of 0.1. Half way between 15 and 30: half way from 0.1 to 1.
//! assert!((red.price(10.0) - 0.05).abs() < 1e-12 && (red.price(22.5) - 0.55).abs() < 1e-12);
//! ```

use super::{MarkingLaw, QueueRole, QueueView, Verdict};
use crate::{BadParameter, Parameters, check};
use evenair_units::{Bytes, Duration, Instant, Probability};

/// Parameters of the law.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(default, deny_unknown_fields)
)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct RedParams {
    /// The average queue below which nothing is refused [packets].
    pub threshold_min: f64,
    /// The average queue at which `probability_max` is reached [packets].
    pub threshold_max: f64,
    /// How much an arrival moves the average towards the queue that it finds.
    pub weight: f64,
    /// The probability at `threshold_max`.
    #[cfg_attr(feature = "serde", serde(deserialize_with = "evenair_units::percent"))]
    #[cfg_attr(feature = "schemars", schemars(with = "evenair_units::Probability"))]
    pub probability_max: f64,
    /// Beyond `threshold_max` the probability grows on to 1 at twice that, and does not jump there.
    pub gentle: bool,
    /// After each refusal none follows for `1/p_b` arrivals, as in ns-2.
    pub wait: bool,
    /// The queue is counted in bytes, so many of which are one packet, and large packets are refused more often.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "Option::is_none"))]
    pub packet: Option<Bytes>,
}

/// Five and fifteen packets, 0.002 (Floyd and Jacobson, sections 5 and 6), 0.1 and gentle (Floyd 1997, 2000).
impl Default for RedParams {
    fn default() -> Self {
        Self {
            threshold_min: 5.0,
            threshold_max: 15.0,
            weight: 0.002,
            probability_max: 0.1,
            gentle: true,
            wait: false,
            packet: None,
        }
    }
}

impl RedParams {
    /// The fluid face: the probability of a refusal at this average queue \[packets\], `p_b`.
    pub fn price(&self, average: f64) -> f64 {
        let Self { threshold_min, threshold_max, probability_max, gentle, .. } = *self;
        if average < threshold_min {
            0.0
        } else if average < threshold_max {
            probability_max * (average - threshold_min) / (threshold_max - threshold_min)
        } else if gentle {
            (probability_max + (1.0 - probability_max) * (average - threshold_max) / threshold_max).min(1.0)
        } else {
            1.0
        }
    }

    /// How far an arrival moves the average of a queue that is not empty.
    pub fn drift(&self, average: f64, queue: f64) -> f64 {
        self.weight * (queue - average)
    }
}

impl Parameters for RedParams {
    type Surroundings = ();
    type Place = QueueRole;
    type Law = Red;

    fn validated(self) -> Result<Self, BadParameter> {
        let Self { threshold_min, threshold_max, weight, probability_max, packet, .. } = self;
        check("threshold_min", threshold_min, threshold_min >= 0.0, "at least 0 packets")?;
        let above = threshold_max > threshold_min && threshold_max.is_finite();
        check("threshold_max", threshold_max, above, "above threshold_min")?;
        check("weight", weight, weight > 0.0 && weight <= 1.0, "above 0, at most 1")?;
        let share = (0.0..=1.0).contains(&probability_max);
        check("probability_max", probability_max, share, "between 0 and 1")?;
        let bytes = packet.map_or(1, Bytes::count);
        check("packet", f64::from(bytes), bytes > 0, "at least 1 byte")?;
        Ok(self)
    }

    fn begin(&self, queue: &QueueRole) -> Red {
        let packet_time = queue.rate.time_for(self.packet.unwrap_or(queue.full_packet));
        Red { params: *self, average: Average::new(self.weight, packet_time), count: -1 }
    }
}

/// The law's state at one queue.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Red {
    params: RedParams,
    average: Average,
    /// Arrivals since the last that was refused; below zero outside the range in which any is.
    count: i64,
}

impl Red {
    /// The average queue \[packets\].
    pub const fn average(&self) -> f64 {
        self.average.packets
    }
}

impl MarkingLaw for Red {
    fn on_arrival(&mut self, now: Instant, queue: &QueueView) -> Probability {
        let (waiting, share) = match self.params.packet {
            Some(packet) => {
                let packet = f64::from(packet.count());
                (queue.waiting.bytes as f64 / packet, f64::from(queue.size.count()) / packet)
            }
            None => (queue.waiting.packets as f64, 1.0),
        };
        if queue.waiting.packets == 0 {
            self.average.idle_until(now);
        } else {
            self.average.sample(waiting);
        }
        if self.average.packets < self.params.threshold_min {
            self.count = -1;
            return Probability::ZERO;
        }
        self.count += 1;
        let price = self.params.price(self.average.packets);
        if price >= 1.0 {
            return Probability::ONE;
        }
        Probability::clamped(spread(price * share, self.count, self.params.wait))
    }

    fn after_arrival(&mut self, _: Instant, _: &QueueView, accepted: bool) {
        if !accepted {
            self.count = self.count.min(0);
        }
    }

    fn on_departure(&mut self, now: Instant, _: Duration, behind: &QueueView) -> Verdict {
        self.average.left(now, behind);
        Verdict::Send
    }

    fn on_removal(&mut self, now: Instant, behind: &QueueView) {
        self.average.left(now, behind);
    }
}

/// Spreads refusals with a mean probability of `p_b` evenly, after `count` arrivals without one (Floyd and Jacobson, section 7).
pub(super) fn spread(p_b: f64, count: i64, wait: bool) -> f64 {
    let (since, intervals) = (count as f64 * p_b, if wait { 2.0 } else { 1.0 });
    if wait && since < 1.0 {
        0.0
    } else if since < intervals {
        p_b / (intervals - since)
    } else {
        1.0
    }
}

/// The average of a queue over arrivals.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub(super) struct Average {
    pub(super) packets: f64,
    weight: f64,
    /// The time that a packet takes to be sent.
    packet_time: Duration,
    /// Since when nothing waits, while that is so.
    idle_since: Instant,
}

impl Average {
    pub(super) const fn new(weight: f64, packet_time: Duration) -> Self {
        Self { packets: 0.0, weight, packet_time, idle_since: Instant::ZERO }
    }

    /// The queue has this length.
    pub(super) fn sample(&mut self, queue: f64) {
        self.packets += self.weight * (queue - self.packets);
    }

    /// The queue has been empty until now.
    pub(super) fn idle_until(&mut self, now: Instant) {
        if !self.packet_time.is_zero() {
            let packets = now.since(self.idle_since).as_secs_f64() / self.packet_time.as_secs_f64();
            self.packets *= libm::pow(1.0 - self.weight, libm::floor(packets));
        }
        self.idle_since = now;
    }

    /// A packet has left.
    pub(super) fn left(&mut self, now: Instant, behind: &QueueView) {
        if behind.waiting.packets == 0 {
            self.idle_since = now;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use evenair_units::{Rate, Volume};

    /// Packets of 1000 bytes at 8 Mb/s: 1 ms each.
    fn red(params: RedParams) -> Red {
        params.begin(&QueueRole { full_packet: Bytes::new(1000), rate: Rate::from_kbps(8_000) })
    }

    fn waiting(packets: u64) -> QueueView {
        let waiting = Volume { packets, bytes: packets * 1000 };
        QueueView { waiting, flow: 0, size: Bytes::new(1000) }
    }

    fn ms(ms: u64) -> Instant {
        Instant::from_nanos(ms * 1_000_000)
    }

    #[test]
    fn average_follows_drift_and_forgets_when_empty() {
        let params = RedParams::default();
        let mut law = red(params);
        let (mut average, mut closed) = (0.0, 0.0);
        for _ in 0..500 {
            law.on_arrival(ms(1), &waiting(10));
            average += params.drift(average, 10.0);
            closed = 10.0 * (1.0 - (1.0 - closed / 10.0) * (1.0 - params.weight));
        }
        // Floyd and Jacobson section 6: after n arrivals at a constant queue it is q·(1 − (1 − w)^n).
        let exact = 10.0 * (1.0 - libm::pow(1.0 - params.weight, 500.0));
        assert!((law.average() - average).abs() < 1e-9 && (average - closed).abs() < 1e-9);
        assert!((law.average() - exact).abs() < 1e-9, "{} {exact}", law.average());
        // 250 packets fit into 250 ms.
        law.on_departure(ms(100), Duration::ZERO, &waiting(0));
        law.on_arrival(ms(350), &waiting(0));
        let forgot = exact * libm::pow(1.0 - params.weight, 250.0);
        assert!((law.average() - forgot).abs() < 1e-9, "{}", law.average());
    }

    /// Floyd and Jacobson section 7: with `p_b` constant the distance between refusals is uniform on `1 … 1/p_b − 1` (the count
    /// of Fig. 2 begins at one after a refusal).
    #[test]
    fn refusals_are_spread_evenly() {
        let p_b = 0.02;
        let (mut none, mut distances) = (1.0, std::vec::Vec::new());
        for count in 1..=49 {
            let now = spread(p_b, count, false);
            distances.push(none * now);
            none *= 1.0 - now;
        }
        assert!(none.abs() < 1e-12, "{none}");
        assert!(distances.iter().all(|share| (share - 1.0 / 49.0).abs() < 1e-12), "{distances:?}");
        // ns-2's: uniform on 1/p_b … 2/p_b, none before.
        assert!(spread(p_b, 49, true).abs() < 1e-12 && (spread(p_b, 50, true) - p_b).abs() < 1e-12);
        assert!((spread(p_b, 100, true) - 1.0).abs() < 1e-12);
    }

    #[test]
    fn a_queue_is_refused_by_its_average() {
        let at_once = RedParams { weight: 1.0, ..RedParams::default() };
        let mut law = red(at_once);
        assert_eq!(law.on_arrival(ms(1), &waiting(4)), Probability::ZERO);
        let first = law.on_arrival(ms(1), &waiting(10)).value();
        assert!((first - 0.05).abs() < 1e-12, "count is zero at the first: {first}");
        law.after_arrival(ms(1), &waiting(10), true);
        let second = law.on_arrival(ms(1), &waiting(10)).value();
        assert!((second - 0.05 / 0.95).abs() < 1e-12, "{second}");
        assert_eq!(law.on_arrival(ms(1), &waiting(30)), Probability::ONE);
        let steep = red(RedParams { gentle: false, ..at_once }).on_arrival(ms(1), &waiting(15));
        assert_eq!(steep, Probability::ONE);
    }

    #[test]
    fn in_bytes_small_packets_are_refused_less() {
        let params = RedParams { weight: 1.0, packet: Some(Bytes::new(500)), ..RedParams::default() };
        // 5000 bytes are ten packets of 500.
        let large = red(params).on_arrival(ms(1), &waiting(5)).value();
        let small = QueueView { size: Bytes::new(40), ..waiting(5) };
        let small = red(params).on_arrival(ms(1), &small).value();
        assert!((large - 0.1).abs() < 1e-12 && (small - 0.004).abs() < 1e-12, "{large} {small}");
    }

    #[test]
    fn parameters_out_of_range_are_refused() {
        let refused = |params: RedParams| params.validated().unwrap_err().name;
        assert_eq!(refused(RedParams { threshold_max: 5.0, ..RedParams::default() }), "threshold_max");
        assert_eq!(refused(RedParams { weight: 0.0, ..RedParams::default() }), "weight");
        assert_eq!(refused(RedParams { probability_max: 1.1, ..RedParams::default() }), "probability_max");
        assert_eq!(refused(RedParams { packet: Some(Bytes::new(0)), ..RedParams::default() }), "packet");
    }

    /// Half way from 5 to 15 packets half of 0.1; gentle, half way from 15 to 30, half way from 0.1 to 1.
    #[test]
    fn price_is_linear_between_and_beyond_thresholds() {
        let red = RedParams::default();
        for (average, price) in
            [(4.0, 0.0), (5.0, 0.0), (10.0, 0.05), (15.0, 0.1), (22.5, 0.55), (30.0, 1.0), (40.0, 1.0)]
        {
            assert!((red.price(average) - price).abs() < 1e-12, "{average}");
        }
    }

    #[test]
    fn arrivals_count_from_lower_threshold_and_drops() {
        let mut law = red(RedParams { weight: 1.0, ..RedParams::default() });
        law.on_arrival(ms(1), &waiting(4));
        assert_eq!(law.count, -1);
        for count in [0, 1, 2] {
            law.on_arrival(ms(1), &waiting(5));
            assert_eq!(law.count, count);
        }
        law.after_arrival(ms(1), &waiting(5), true);
        assert_eq!(law.count, 2);
        law.after_arrival(ms(1), &waiting(5), false);
        assert_eq!(law.count, 0);
    }

    /// 10 packets of 1 ms fit between 5 and 15 ms.
    #[test]
    fn a_queue_is_empty_however_it_was_emptied() {
        let mut law = red(RedParams::default());
        law.average.packets = 4.0;
        law.on_removal(ms(5), &waiting(0));
        law.on_arrival(ms(15), &waiting(0));
        assert!((law.average() - 4.0 * libm::pow(0.998, 10.0)).abs() < 1e-12);
    }
}
