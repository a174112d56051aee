//! FRED: RED for flows that hold more than their share of the queue; the others are left alone.
//!
//! # Law
//! Each flow that has packets in the queue is known by how many, `qlen_i`, and by how often it overran. An arrival is
//! refused, and its flow's overruns counted, if `qlen_i ≥ max_q`, or if `avg ≥ max_th` and `qlen_i > 2·avgcq`, or if
//! `qlen_i ≥ avgcq` and it overran more than once; `avgcq` is the average queue over the active flows, at least one packet.
//! Otherwise, while `min_th ≤ avg < max_th`, it is accepted if `qlen_i < max(min_q, avgcq)`, and else refused as RED would; from
//! `max_th` on all are refused. With many flows ([`FredParams::many_flows`]) each may instead have two packets there.
//!
//! # Source
//! [Jam10] section 6.2.2 (J8); D. Lin, R. Morris, "Dynamics of Random Early Detection", 1997, the pseudo-code of its sections
//! 4 and 5, for all that the thesis leaves open.
//!
//! # Symbols
//! `min_th`, `max_th` → [`FredParams::threshold_min`], [`FredParams::threshold_max`] \[packets\]; `w_q` →
//! [`FredParams::weight`]; `max_p` → [`FredParams::probability_max`]; `min_q`, `max_q` → [`FredParams::flow_min`],
//! [`FredParams::flow_max`] \[packets\]; `strike_i` → the overruns.
//!
//! # Signals
//! The backlog when a packet comes or leaves, the packet's flow, and whether it was accepted.
//!
//! # Deviations
//! The thesis accepts all arrivals while `avg < min_th`. Lin and Morris, and we, cap each flow at `max_q`
//! there too; the thesis defines its `max_q` as this cap. The thesis takes "the default values in ns-2", but
//! ns-2 has no FRED of its own: the default thresholds, `w_q` and `max_p` are those of its RED, `min_q` that
//! of Lin and Morris for small buffers. Theirs are a quarter and a half of the buffer, and `max_p` = 0.02. A
//! refusal that finds the buffer full counts as RED's do: the distance to the next is drawn again.
//!
//! # Example
//! ```
//! use evenair_laws::Parameters;
//! use evenair_laws::marking::{FredParams, MarkingLaw, QueueRole, QueueView};
//! use evenair_units::{Bytes, Instant, Probability, Rate, Volume};
//! let role = QueueRole { full_packet: Bytes::new(1500), rate: Rate::from_kbps(1_000) };
//! let mut law = FredParams::default().begin(&role);
//! // One flow may have five packets, min_th, in the queue; then another comes.
//! let refused = [0, 1, 2, 3, 4, 5].map(|packets| {
//!     let waiting = Volume { packets, bytes: 1500 * packets };
//!     let view = QueueView { waiting, flow: 0, size: Bytes::new(1500) };
//!     let refusal = law.on_arrival(Instant::ZERO, &view);
//!     law.after_arrival(Instant::ZERO, &view, refusal == Probability::ZERO);
//!     refusal
//! });
//! assert_eq!(refused.map(Probability::value), [0.0, 0.0, 0.0, 0.0, 0.0, 1.0]);
//! ```

use super::red::{Average, RedParams, spread};
use super::{MarkingLaw, QueueRole, QueueView, Verdict};
use crate::{BadParameter, Parameters, check};
use alloc::collections::BTreeMap;
use evenair_units::{Duration, Instant, Probability};

/// The packets that a flow may have in the queue where many flows share it and it is long (Lin and Morris, section 5).
const TWO_PACKETS: f64 = 2.0;

/// Parameters of the law.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(default, deny_unknown_fields)
)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct FredParams {
    /// The average queue below which nothing is refused at random [packets].
    pub threshold_min: f64,
    /// The average queue from which on all is refused [packets].
    pub threshold_max: f64,
    /// How much a packet that comes or leaves moves the average towards the queue.
    pub weight: f64,
    /// The probability just below `threshold_max`.
    #[cfg_attr(feature = "serde", serde(deserialize_with = "evenair_units::percent"))]
    #[cfg_attr(feature = "schemars", schemars(with = "evenair_units::Probability"))]
    pub probability_max: f64,
    /// A flow with fewer packets in the queue is never refused at random [packets].
    pub flow_min: u32,
    /// The most packets that a flow may have in the queue; `threshold_min`, if not given [packets].
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "Option::is_none"))]
    pub flow_max: Option<u32>,
    /// Beyond `threshold_max` each flow may have two packets in the queue, and not all arrivals are refused.
    pub many_flows: bool,
}

impl Default for FredParams {
    fn default() -> Self {
        let RedParams { threshold_min, threshold_max, weight, probability_max, .. } = RedParams::default();
        Self {
            threshold_min,
            threshold_max,
            weight,
            probability_max,
            flow_min: 2,
            flow_max: None,
            many_flows: false,
        }
    }
}

impl FredParams {
    /// The parameters of RED; in its range of averages flows are refused at random.
    const fn red(&self) -> RedParams {
        let Self { threshold_min, threshold_max, weight, probability_max, .. } = *self;
        let (gentle, wait, packet) = (false, false, None);
        RedParams { threshold_min, threshold_max, weight, probability_max, gentle, wait, packet }
    }
}

impl Parameters for FredParams {
    type Surroundings = ();
    type Place = QueueRole;
    type Law = Fred;

    fn validated(self) -> Result<Self, BadParameter> {
        self.red().validated()?;
        if let Some(most) = self.flow_max {
            let holds = most >= 1 && most >= self.flow_min;
            check("flow_max", f64::from(most), holds, "at least 1 packet, and flow_min")?;
        }
        Ok(self)
    }

    fn begin(&self, queue: &QueueRole) -> Fred {
        let average = Average::new(self.weight, queue.rate.time_for(queue.full_packet));
        Fred { params: *self, average, count: -1, flows: BTreeMap::new() }
    }
}

/// A flow that has packets in the queue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
struct Active {
    packets: u64,
    overruns: u32,
}

/// The law's state at one queue.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Fred {
    params: FredParams,
    average: Average,
    /// Arrivals since the last that was refused; below zero outside the range in which any is at random.
    count: i64,
    flows: BTreeMap<u32, Active>,
}

impl Fred {
    /// The average queue of an active flow, `avgcq` \[packets\].
    fn share(&self) -> f64 {
        (self.average.packets / self.flows.len().max(1) as f64).max(1.0)
    }

    /// A packet of this flow has left the queue.
    fn left(&mut self, now: Instant, behind: &QueueView) {
        let Some(flow) = self.flows.get_mut(&behind.flow) else {
            return; // it came before the law did
        };
        flow.packets -= 1;
        if flow.packets == 0 {
            self.flows.remove(&behind.flow);
        }
        self.average.sample(behind.waiting.packets as f64);
        self.average.left(now, behind);
    }
}

impl MarkingLaw for Fred {
    fn on_arrival(&mut self, now: Instant, queue: &QueueView) -> Probability {
        if queue.waiting.packets == 0 {
            self.average.idle_until(now);
        }
        let (average, share) = (self.average.packets, self.share());
        let FredParams { threshold_min, threshold_max, flow_min, flow_max, many_flows, .. } = self.params;
        let is_long = average >= threshold_max;
        let most = flow_max.map_or(threshold_min.max(1.0), f64::from);
        let most = if many_flows && is_long { TWO_PACKETS.min(most) } else { most };
        let Active { packets, overruns } = self.flows.get(&queue.flow).copied().unwrap_or_default();
        let packets = packets as f64;
        let holds_twice = !many_flows && is_long && packets > 2.0 * share;
        if packets >= most || holds_twice || (packets >= share && overruns > 1) {
            if let Some(flow) = self.flows.get_mut(&queue.flow) {
                flow.overruns = flow.overruns.saturating_add(1);
            }
            return Probability::ONE;
        }
        if is_long {
            self.count = 0;
            return if many_flows { Probability::ZERO } else { Probability::ONE };
        }
        if average < threshold_min {
            self.count = -1;
            return Probability::ZERO;
        }
        self.count += 1;
        if packets < share.max(flow_min.into()) {
            return Probability::ZERO;
        }
        Probability::clamped(spread(self.params.red().price(average), self.count, false))
    }

    fn after_arrival(&mut self, _: Instant, queue: &QueueView, accepted: bool) {
        if !accepted {
            self.count = self.count.min(0);
            return;
        }
        self.flows.entry(queue.flow).or_default().packets += 1;
        self.average.sample(queue.waiting.packets as f64 + 1.0);
    }

    fn on_departure(&mut self, now: Instant, _: Duration, behind: &QueueView) -> Verdict {
        self.left(now, behind);
        Verdict::Send
    }

    fn on_removal(&mut self, now: Instant, behind: &QueueView) {
        self.left(now, behind);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use evenair_units::{Bytes, Rate, Volume};
    use std::collections::VecDeque;

    /// A queue with its law; a uniform draw decides on refusals.
    struct Line {
        law: Fred,
        waiting: VecDeque<u32>,
        refused: BTreeMap<u32, u32>,
    }

    impl Line {
        fn new(params: FredParams) -> Self {
            let role = QueueRole { full_packet: Bytes::new(1000), rate: Rate::from_kbps(8_000) };
            Self { law: params.begin(&role), waiting: VecDeque::new(), refused: BTreeMap::new() }
        }

        fn view(&self, flow: u32) -> QueueView {
            let packets = self.waiting.len() as u64;
            QueueView { waiting: Volume { packets, bytes: 1000 * packets }, flow, size: Bytes::new(1000) }
        }

        fn arrive(&mut self, now: Instant, flow: u32, draw: f64) -> Probability {
            let view = self.view(flow);
            let refusal = self.law.on_arrival(now, &view);
            let accepted = draw >= refusal.value();
            self.law.after_arrival(now, &view, accepted);
            if accepted {
                self.waiting.push_back(flow);
            } else {
                *self.refused.entry(flow).or_default() += 1;
            }
            refusal
        }

        fn leave(&mut self, now: Instant) {
            if let Some(flow) = self.waiting.pop_front() {
                let view = self.view(flow);
                assert_eq!(self.law.on_departure(now, Duration::ZERO, &view), Verdict::Send);
            }
        }
    }

    /// The average follows the queue at once.
    fn immediate() -> FredParams {
        FredParams { weight: 1.0, ..FredParams::default() }
    }

    #[test]
    fn flow_is_capped_and_its_overruns_remembered() {
        let mut line = Line::new(FredParams::default());
        for _ in 0..7 {
            line.arrive(Instant::ZERO, 1, 0.5);
        }
        assert_eq!((line.waiting.len(), line.refused[&1]), (5, 2), "min_th packets, the rest refused");
        // It overran twice: from now on it may have no more than the average flow, one packet here.
        (0..3).for_each(|_| line.leave(Instant::ZERO));
        assert_eq!(line.arrive(Instant::ZERO, 1, 0.5), Probability::ONE);
        assert_eq!(line.arrive(Instant::ZERO, 2, 0.5), Probability::ZERO, "another flow is not its keeper");
        (0..2).for_each(|_| line.leave(Instant::ZERO));
        assert_eq!(line.arrive(Instant::ZERO, 1, 0.5), Probability::ZERO, "gone once, and all is forgotten");
    }

    #[test]
    fn only_flows_over_share_drop_between_thresholds() {
        let mut line = Line::new(FredParams { flow_max: Some(50), ..immediate() });
        for flow in [1, 1, 1, 1, 1, 1, 2, 3] {
            line.arrive(Instant::ZERO, flow, 1.0);
        }
        // Eight packets of three flows: 2.67 each. Flow 1 has six, flows 2 and 3 one each.
        assert_eq!(line.arrive(Instant::ZERO, 2, 1.0), Probability::ZERO);
        let robust = line.arrive(Instant::ZERO, 1, 1.0).value();
        // Nine packets: 0.1·(9 − 5)/10, and five arrivals above min_th without a refusal before this one.
        let price = 0.1 * 0.4;
        assert!((robust - price / (1.0 - 4.0 * price)).abs() < 1e-12, "{robust}");
    }

    #[test]
    fn upper_threshold_leaves_two_packets_a_flow() {
        let fill = |params: FredParams| {
            let mut line = Line::new(params);
            (0..16).for_each(|flow| _ = line.arrive(Instant::ZERO, flow, 1.0));
            (line.arrive(Instant::ZERO, 0, 1.0), line.arrive(Instant::ZERO, 0, 1.0))
        };
        let (first, _) = fill(immediate());
        assert_eq!(first, Probability::ONE);
        let (second_packet, third) = fill(FredParams { many_flows: true, ..immediate() });
        assert_eq!((second_packet, third), (Probability::ZERO, Probability::ONE));
    }

    /// One flow sends twice the queue's capacity, another a tenth of it: RED refuses both alike, FRED the
    /// first.
    #[test]
    fn a_flood_is_refused_and_a_calm_flow_is_not() {
        let mut line = Line::new(FredParams::default());
        for step in 0..20_000u64 {
            let now = Instant::from_nanos(step * 500_000);
            let draw = libm::fmod(step as f64 * 0.618_033_988_749_895, 1.0);
            line.arrive(now, 1, draw);
            if step % 20 == 0 {
                line.arrive(now, 2, draw);
            }
            if step % 2 == 0 {
                line.leave(now);
            }
        }
        assert_eq!(line.refused.get(&2), None);
        assert!(line.refused[&1] > 10_000, "{:?}", line.refused);
    }

    #[test]
    fn parameters_out_of_range_are_refused() {
        let refused = |params: FredParams| params.validated().unwrap_err().name;
        assert_eq!(refused(FredParams { threshold_max: 1.0, ..FredParams::default() }), "threshold_max");
        assert_eq!(refused(FredParams { flow_max: Some(1), ..FredParams::default() }), "flow_max");
    }

    #[test]
    fn a_flow_may_have_its_least_at_least() {
        let most = |flow_max| FredParams { flow_max: Some(flow_max), ..FredParams::default() };
        crate::ranges::assert_range("flow_max", most, &[2, 50], &[0, 1]);
        let least = |flow_max| FredParams { flow_min: 0, ..most(flow_max) };
        crate::ranges::assert_range("flow_max", least, &[1], &[0]);
    }

    /// A law with this average and with flows of these backlogs and overruns.
    fn with(params: FredParams, average: f64, flows: &[(u64, u32)]) -> Fred {
        let mut law = Line::new(params).law;
        law.average.packets = average;
        let flows = flows.iter().map(|&(packets, overruns)| Active { packets, overruns });
        law.flows = (0..).zip(flows).collect();
        law
    }

    fn of(flow: u32) -> QueueView {
        QueueView { waiting: Volume { packets: 9, bytes: 9_000 }, flow, size: Bytes::new(1000) }
    }

    #[test]
    fn share_is_mean_over_flows_at_least_one_packet() {
        let share = |average, flows: &[(u64, u32)]| with(FredParams::default(), average, flows).share();
        assert!((share(9.0, &[(3, 0), (3, 0), (3, 0)]) - 3.0).abs() < 1e-12);
        assert!((share(2.0, &[(1, 0), (1, 0), (1, 0)]) - 1.0).abs() < 1e-12);
        assert!((share(2.0, &[]) - 2.0).abs() < 1e-12);
    }

    /// Beyond `max_th` all are refused, and flows with more than twice their share, here 4 packets, overrun.
    #[test]
    fn twice_the_share_of_a_long_queue_is_an_overrun() {
        let overruns = |packets| {
            let mut law = with(FredParams { flow_max: Some(50), ..immediate() }, 16.0, &[(packets, 0); 8]);
            assert_eq!(law.on_arrival(Instant::ZERO, &of(0)), Probability::ONE);
            law.flows[&0].overruns
        };
        assert_eq!([1, 4, 5].map(overruns), [0, 0, 1]);
    }

    #[test]
    fn flow_that_overran_once_may_exceed_its_share() {
        let refused = |overruns| {
            let mut law = with(FredParams::default(), 2.0, &[(3, overruns)]);
            law.on_arrival(Instant::ZERO, &of(0))
        };
        assert_eq!((refused(1), refused(2)), (Probability::ZERO, Probability::ONE));
    }

    #[test]
    fn two_packets_a_flow_are_for_long_queues_only() {
        let mut law = with(FredParams { many_flows: true, ..FredParams::default() }, 2.0, &[(4, 0)]);
        assert_eq!(law.on_arrival(Instant::ZERO, &of(0)), Probability::ZERO);
    }

    #[test]
    fn arrivals_are_counted_from_lower_threshold_on() {
        assert_eq!(with(FredParams::default(), 0.0, &[]).count, -1);
        let mut law = with(FredParams::default(), 5.0, &[]);
        law.on_arrival(Instant::ZERO, &of(0));
        assert_eq!(law.count, 0);
    }

    /// 100 packets of 1 ms fit into 0.1 s: (1 − 0.002)^100 is left.
    #[test]
    fn the_average_fades_while_nothing_waits() {
        let after = |packets| {
            let mut law = with(FredParams::default(), 4.0, &[(1, 0)]);
            let waiting = Volume { packets, bytes: packets * 1000 };
            law.on_arrival(Instant::from_nanos(100_000_000), &QueueView { waiting, ..of(0) });
            law.average.packets
        };
        assert!((after(0) - 4.0 * libm::pow(0.998, 100.0)).abs() < 1e-9);
        assert!((after(1) - 4.0).abs() < 1e-12);
    }

    #[test]
    fn a_packet_that_is_taken_out_has_left() {
        let mut law = with(FredParams::default(), 4.0, &[(2, 0)]);
        law.on_removal(Instant::ZERO, &of(0));
        assert_eq!(law.flows[&0].packets, 1);
    }

    /// D. Lin, R. Morris: without `many_flows` a flow with more than twice the average number is refused and remembered while the queue is
    /// long: more than six, where 18 packets are of six flows.
    #[test]
    fn flow_with_more_than_twice_its_share_overruns() {
        for (packets, overruns) in [(6, 0), (7, 1)] {
            let params = FredParams { flow_max: Some(100), many_flows: false, ..immediate() };
            let mut law = Line::new(params).law;
            law.average.packets = 18.0;
            for flow in 0..6 {
                law.flows.insert(flow, Active { packets: if flow == 0 { packets } else { 2 }, overruns: 0 });
            }
            let view =
                QueueView { waiting: Volume { packets: 18, bytes: 18_000 }, flow: 0, size: Bytes::new(1000) };
            assert_eq!(law.on_arrival(Instant::ZERO, &view), Probability::ONE);
            assert_eq!(law.flows[&0].overruns, overruns, "{packets} packets");
        }
    }

    /// The same: below its share, and `min_q`, a flow's packets are always taken; at it as RED does.
    #[test]
    fn flow_at_its_share_is_refused_by_lot() {
        for (packets, is_certain) in [(1, true), (2, false)] {
            let mut law = Line::new(FredParams { flow_max: Some(100), flow_min: 2, ..immediate() }).law;
            law.average.packets = 10.0;
            for flow in 0..5 {
                law.flows.insert(flow, Active { packets: if flow == 0 { packets } else { 2 }, overruns: 0 });
            }
            let view =
                QueueView { waiting: Volume { packets: 10, bytes: 10_000 }, flow: 0, size: Bytes::new(1000) };
            let refusal = law.on_arrival(Instant::ZERO, &view).value();
            assert_eq!(refusal < 1e-12, is_certain, "{packets} packets: {refusal}");
        }
    }
}
