//! PIE: arrivals are refused with a probability that a proportional-integral controller sets, so that the delay of the queue
//! stays near a target.
//!
//! # Law
//! Every [`PieParams::update`] `p ← p + s·(α·(d − d_ref) + β·(d − d_old))`, `d` the queue's delay, `d_old` that of the last
//! update, `s` from 1/2048 to 1 with `p`; no more than 0.02 is added from 0.1 on, and where both delays are below half the
//! target `p` decays. Arrivals are refused with probability `p`, but not until a burst of [`PieParams::burst`] has passed, nor
//! while `d_old` is below half the target and `p < 0.2`, nor where no more than two full packets wait.
//!
//! # Source
//! RFC 8033 sections 4 and 5.2 to 5.5, and the pseudo-code of its appendices A and B.
//!
//! # Symbols
//! `QDELAY_REF` → [`PieParams::target`]; `T_UPDATE` → [`PieParams::update`]; `alpha`, `beta` → [`PieParams::alpha`],
//! [`PieParams::beta`] \[1/s\]; `MAX_BURST` → [`PieParams::burst`]; `MEAN_PKTSIZE` → [`QueueRole::full_packet`];
//! `drop_prob_`, `accu_prob_`, `burst_allowance_`, `qdelay_old_` keep their names.
//!
//! # Signals
//! When packets come and leave, the sojourn time of those that leave, and the backlog.
//!
//! # Deviations
//! The delay is that of the packet that left last (RFC 8033 section 5.2, with time stamps), zero where
//! nothing waits. A law has no timer: updates that are due run when the next packet comes or leaves, in
//! order, each with the state at its own instant, so the result is the same. PIE is on from the start, and
//! not only while a third of the buffer is used (an option of section 5.1's pseudo-code). It drops, and marks
//! nothing.
//!
//! # Example
//! ```
//! use evenair_laws::marking::PieParams;
//! use evenair_units::Duration;
//! let pie = PieParams::rfc8033();
//! // 30 ms where 15 are wanted, and 15 at the last update: 0.125·0.015 + 1.25·0.015.
//! let [now, before] = [30, 15].map(Duration::from_millis);
//! assert!((pie.drift(0.5, now, before) - 0.020_625f64.min(0.02)).abs() < 1e-12);
//! ```

use super::{MarkingLaw, QueueRole, QueueView, Verdict};
use crate::{BadParameter, Parameters, check, check_interval, check_time};
use evenair_units::{Bytes, Duration, Instant, Probability};

/// Where arrivals that add up to this many expected refusals begin to be refused, and where one is refused for certain (RFC 8033
/// section 5.4).
const SPREAD: (f64, f64) = (0.85, 8.5);
/// The rest of the probability after an update without congestion: RFC 8033 appendix A has 0.98 and allows
/// this.
const DECAY: f64 = 1.0 - 1.0 / 64.0;
/// The most that is added at once from this probability on (RFC 8033 section 5.5).
const CAP: (f64, f64) = (0.1, 0.02);
/// With a lower probability and a short queue nothing is refused (RFC 8033 section 4.1).
const SAFE: f64 = 0.2;

/// Parameters of the law.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(default, deny_unknown_fields)
)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct PieParams {
    /// The delay that a queue may keep.
    pub target: Duration,
    /// How often the probability is set.
    pub update: Duration,
    /// How strongly it follows how far the delay is from the target [1/s].
    pub alpha: f64,
    /// How strongly it follows whether the delay grows [1/s].
    pub beta: f64,
    /// How long a burst after a quiet time is let through.
    pub burst: Duration,
    /// Refusals are spread, so that none follows closely on another, and none is long in coming.
    pub spread: bool,
}

impl PieParams {
    /// RFC 8033 section 4 and appendix A: 15 ms, 15 ms, 1/8, 1 + 1/4, 150 ms.
    pub const fn rfc8033() -> Self {
        Self {
            target: Duration::from_millis(15),
            update: Duration::from_millis(15),
            alpha: 0.125,
            beta: 1.25,
            burst: Duration::from_millis(150),
            spread: true,
        }
    }

    /// The fluid form: the change of the probability in one update, before it is limited to 0 … 1.
    pub fn drift(&self, probability: f64, delay: Duration, delay_before: Duration) -> f64 {
        let [delay, before, target] = [delay, delay_before, self.target].map(Duration::as_secs_f64);
        let step = scale(probability) * (self.alpha * (delay - target) + self.beta * (delay - before));
        let (from, most) = CAP;
        if probability >= from { step.min(most) } else { step }
    }
}

/// The factor of the gains (RFC 8033 section 5.2's table).
fn scale(probability: f64) -> f64 {
    let steps = [(1e-6, 2048.0), (1e-5, 512.0), (1e-4, 128.0), (1e-3, 32.0), (1e-2, 8.0), (1e-1, 2.0)];
    let below = steps.iter().find(|(bound, _)| probability < *bound);
    below.map_or(1.0, |(_, divisor)| 1.0 / divisor)
}

impl Default for PieParams {
    fn default() -> Self {
        Self::rfc8033()
    }
}

impl Parameters for PieParams {
    type Surroundings = ();
    type Place = QueueRole;
    type Law = Pie;

    fn validated(self) -> Result<Self, BadParameter> {
        check_time("target", self.target)?;
        check_interval("update", self.update)?;
        for (name, gain) in [("alpha", self.alpha), ("beta", self.beta)] {
            check(name, gain, gain >= 0.0 && gain.is_finite(), "at least 0")?;
        }
        Ok(self)
    }

    fn begin(&self, queue: &QueueRole) -> Pie {
        Pie {
            params: *self,
            full_packet: queue.full_packet,
            drop_prob: 0.0,
            accu_prob: 0.0,
            burst_allowance: self.burst,
            delay: Duration::ZERO,
            qdelay_old: Duration::ZERO,
            update_at: Instant::ZERO + self.update,
        }
    }
}

/// The law's state at one queue.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Pie {
    params: PieParams,
    full_packet: Bytes,
    drop_prob: f64,
    accu_prob: f64,
    burst_allowance: Duration,
    /// That of the packet that left last.
    delay: Duration,
    qdelay_old: Duration,
    update_at: Instant,
}

impl Pie {
    /// The probability with which arrivals are refused.
    pub const fn probability(&self) -> f64 {
        self.drop_prob
    }

    /// Makes the updates that are due.
    fn catch_up(&mut self, now: Instant) {
        while self.update_at <= now {
            if self.is_at_rest() {
                // Nothing changes any more: the next update that does is the next of all.
                let left = now.since(self.update_at).as_nanos() / self.params.update.as_nanos();
                self.update_at += self.params.update * (left + 1);
                return;
            }
            self.update();
            self.update_at += self.params.update;
        }
    }

    fn is_at_rest(&self) -> bool {
        self.drop_prob <= 0.0
            && self.delay.is_zero()
            && self.qdelay_old.is_zero()
            && self.burst_allowance == self.params.burst
    }

    /// RFC 8033 section 4.2 and appendix A, `calculate_drop_prob`.
    fn update(&mut self) {
        let half = self.params.target / 2;
        let is_calm = self.delay < half && self.qdelay_old < half;
        self.drop_prob += self.params.drift(self.drop_prob, self.delay, self.qdelay_old);
        if is_calm {
            self.drop_prob *= DECAY;
        }
        self.drop_prob = self.drop_prob.clamp(0.0, 1.0);
        self.burst_allowance = self.burst_allowance.saturating_sub(self.params.update);
        if self.drop_prob <= 0.0 && is_calm {
            self.burst_allowance = self.params.burst;
        }
        self.qdelay_old = self.delay;
    }
}

impl MarkingLaw for Pie {
    fn on_arrival(&mut self, now: Instant, queue: &QueueView) -> Probability {
        self.catch_up(now);
        let is_short = self.qdelay_old < self.params.target / 2 && self.drop_prob < SAFE;
        let full = u64::from(self.full_packet.count());
        if !self.burst_allowance.is_zero() || is_short || queue.waiting.bytes <= 2 * full {
            return Probability::ZERO;
        }
        if !self.params.spread {
            return Probability::clamped(self.drop_prob);
        }
        self.accu_prob = if self.drop_prob > 0.0 { self.accu_prob + self.drop_prob } else { 0.0 };
        let (first, last) = SPREAD;
        if self.accu_prob < first {
            Probability::ZERO
        } else if self.accu_prob >= last {
            Probability::ONE
        } else {
            Probability::clamped(self.drop_prob)
        }
    }

    fn after_arrival(&mut self, _: Instant, _: &QueueView, accepted: bool) {
        if !accepted {
            self.accu_prob = 0.0;
        }
    }

    fn on_departure(&mut self, now: Instant, sojourn: Duration, behind: &QueueView) -> Verdict {
        self.catch_up(now);
        self.delay = if behind.waiting.packets == 0 { Duration::ZERO } else { sojourn };
        Verdict::Send
    }

    fn on_removal(&mut self, now: Instant, behind: &QueueView) {
        self.catch_up(now);
        if behind.waiting.packets == 0 {
            self.delay = Duration::ZERO;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use evenair_units::{Rate, Volume};

    const ROLE: QueueRole = QueueRole { full_packet: Bytes::new(1500), rate: Rate::from_kbps(10_000) };
    const LONG: QueueView = QueueView::of(Volume { packets: 100, bytes: 150_000 });

    fn ms(ms: u64) -> Instant {
        Instant::from_nanos(ms * 1_000_000)
    }

    /// A packet leaves every millisecond after so many in the queue.
    fn leave(law: &mut Pie, at: core::ops::Range<u64>, sojourn_ms: u64) {
        for at in at {
            assert_eq!(law.on_departure(ms(at), Duration::from_millis(sojourn_ms), &LONG), Verdict::Send);
        }
    }

    #[test]
    fn probability_follows_the_delay_as_in_the_rfc() {
        let params = PieParams::rfc8033();
        let mut law = params.begin(&ROLE);
        leave(&mut law, 0..15, 30);
        assert!(law.probability().abs() < 1e-15);
        leave(&mut law, 15..16, 30);
        // The first update: p = 0, so that the gains are divided by 2048.
        let first = (0.125 * 0.015 + 1.25 * 0.030) / 2048.0;
        assert!((law.probability() - first).abs() < 1e-15, "{}", law.probability());
        leave(&mut law, 16..31, 30);
        let second = first + 0.125 * 0.015 / 128.0;
        assert!((law.probability() - second).abs() < 1e-15, "{}", law.probability());
        // The integral is the sum of its steps.
        let mut p = second;
        for _ in 0..100 {
            p += params.drift(p, Duration::from_millis(30), Duration::from_millis(30));
        }
        leave(&mut law, 31..31 + 1_500, 30);
        assert!((law.probability() - p).abs() < 1e-12 && p > 0.01, "{} {p}", law.probability());
    }

    #[test]
    fn without_congestion_it_decays_by_a_64th() {
        let mut law = PieParams::rfc8033().begin(&ROLE);
        (law.drop_prob, law.burst_allowance) = (0.5, Duration::ZERO);
        leave(&mut law, 0..15, 3);
        (law.qdelay_old, law.delay) = (Duration::from_millis(3), Duration::from_millis(3));
        leave(&mut law, 15..16, 3);
        let p = (0.5 - 0.125 * 0.012) * (1.0 - 1.0 / 64.0);
        assert!((law.probability() - p).abs() < 1e-15, "{}", law.probability());
    }

    #[test]
    fn updates_follow_a_timer_not_packets() {
        let mut often = PieParams::rfc8033().begin(&ROLE);
        let mut rarely = often.clone();
        for law in [&mut often, &mut rarely] {
            leave(law, 0..300, 60);
        }
        for at in 300..2_000 {
            often.on_arrival(ms(at), &LONG);
        }
        rarely.on_arrival(ms(1_999), &LONG);
        assert!((often.drop_prob - rarely.drop_prob).abs() < 1e-15 && often.update_at == rarely.update_at);
        // Long after it has been empty everything is as at the start.
        often.on_departure(ms(2_000), Duration::from_millis(60), &QueueView::default());
        often.on_arrival(ms(2_000_000), &LONG);
        assert!(often.is_at_rest() && often.update_at > ms(2_000_000) && often.update_at <= ms(2_000_015));
    }

    #[test]
    fn a_burst_and_a_short_queue_are_spared() {
        let mut law = PieParams { spread: false, ..PieParams::rfc8033() }.begin(&ROLE);
        law.drop_prob = 0.5;
        leave(&mut law, 0..149, 30);
        assert_eq!(law.on_arrival(ms(149), &LONG), Probability::ZERO, "150 ms have not passed");
        leave(&mut law, 149..151, 30);
        assert!(law.on_arrival(ms(151), &LONG).value() > 0.5);
        let two = QueueView::of(Volume { packets: 2, bytes: 3_000 });
        assert_eq!(law.on_arrival(ms(151), &two), Probability::ZERO);
    }

    /// RFC 8033 section 5.4: at a probability of 0.1 none of eight arrivals after a refusal is refused, and the 85th is.
    #[test]
    fn refusals_are_spread() {
        let mut law = PieParams::rfc8033().begin(&ROLE);
        (law.drop_prob, law.burst_allowance) = (0.1, Duration::ZERO);
        law.qdelay_old = Duration::from_millis(20);
        let answers: std::vec::Vec<f64> = (0..90).map(|_| law.on_arrival(ms(1), &LONG).value()).collect();
        let (none, some) = (answers.iter().position(|&p| p > 0.0), answers.iter().position(|&p| p >= 1.0));
        assert!(none == Some(8) && (84..=85).contains(&some.unwrap()), "{none:?} {some:?}");
        law.after_arrival(ms(1), &LONG, false);
        assert_eq!(law.on_arrival(ms(1), &LONG), Probability::ZERO);
    }

    #[test]
    fn parameters_out_of_range_are_refused() {
        let refused = |params: PieParams| params.validated().unwrap_err().name;
        assert_eq!(refused(PieParams { target: Duration::ZERO, ..PieParams::rfc8033() }), "target");
        assert_eq!(refused(PieParams { beta: -1.0, ..PieParams::rfc8033() }), "beta");
    }

    /// RFC 8033 section 5.2: below 0.1 by 2, below 0.01 by 8, below 0.000001 by 2048; section 5.5: from 0.1 on no step is above
    /// 0.02.
    #[test]
    fn gains_are_scaled_below_their_bounds() {
        for (probability, divisor) in [(0.1, 1.0), (0.099, 2.0), (0.01, 2.0), (9e-7, 2048.0), (1e-6, 512.0)] {
            assert!((scale(probability) * divisor - 1.0).abs() < 1e-15, "{probability}");
        }
        let step = |p| PieParams::rfc8033().drift(p, Duration::from_millis(315), Duration::ZERO);
        let full = 0.125 * 0.3 + 1.25 * 0.315;
        assert!((step(0.1) - 0.02).abs() < 1e-15 && (step(0.099) - full / 2.0).abs() < 1e-15);
    }

    /// A law past its burst.
    fn law(drop_prob: f64, delay_us: u64, before_us: u64) -> Pie {
        let [delay, qdelay_old] = [delay_us, before_us].map(Duration::from_micros);
        let burst_allowance = Duration::ZERO;
        Pie { drop_prob, burst_allowance, delay, qdelay_old, ..PieParams::rfc8033().begin(&ROLE) }
    }

    /// RFC 8033 appendix A: both delays below half the target, 7.5 ms.
    #[test]
    fn calm_lets_probability_decay_and_a_burst_pass() {
        let decays = |delay_us, before_us| {
            let mut law = law(0.5, delay_us, before_us);
            let plain = 0.5 + law.params.drift(0.5, law.delay, law.qdelay_old);
            law.update();
            assert_eq!(law.burst_allowance, Duration::ZERO, "the probability is above zero");
            (law.drop_prob - plain).abs() > 1e-9
        };
        assert!(decays(7_400, 7_400));
        assert!(!decays(7_500, 7_400) && !decays(7_400, 7_500) && !decays(10_000, 10_000));
        let burst = |delay_us, before_us| {
            let mut law = law(0.0, delay_us, before_us);
            law.update();
            law.burst_allowance
        };
        assert_eq!(burst(3_000, 3_000), Duration::from_millis(150));
        assert_eq!(burst(8_000, 60_000), Duration::ZERO, "it falls, but is not calm");
    }

    /// RFC 8033 section 4.1: nothing is refused where the last delay is below half the target and the probability below 0.2.
    #[test]
    fn a_short_delay_is_safe_up_to_a_fifth() {
        let refusal = |drop_prob, before_us| {
            let mut law = law(drop_prob, before_us, before_us);
            law.params.spread = false;
            law.on_arrival(Instant::ZERO, &LONG).value()
        };
        assert!(refusal(0.19, 7_400) <= 0.0);
        for (p, before_us) in [(0.19, 7_500), (0.2, 7_400), (0.3, 7_400)] {
            assert!((refusal(p, before_us) - p).abs() < 1e-15, "{p} {before_us}");
        }
    }

    /// RFC 8033 section 5.4: `accu_prob < 0.85` is let through, and no probability ends the sum.
    #[test]
    fn the_sum_of_probabilities_begins_at_its_bound() {
        let mut at_bound = law(0.85, 20_000, 20_000);
        assert!((at_bound.on_arrival(Instant::ZERO, &LONG).value() - 0.85).abs() < 1e-15);
        let mut none = Pie { accu_prob: 0.5, ..law(0.0, 20_000, 20_000) };
        none.on_arrival(Instant::ZERO, &LONG);
        assert!(none.accu_prob <= 0.0);
    }

    #[test]
    fn empty_queue_has_no_delay() {
        let after = |behind: &QueueView| {
            let mut law = law(0.1, 20_000, 20_000);
            law.on_removal(Instant::ZERO, behind);
            law.delay
        };
        assert_eq!(after(&QueueView::default()), Duration::ZERO);
        assert_eq!(after(&LONG), Duration::from_millis(20));
    }
}
