//! What can be measured, compared and drawn.

use crate::experiment::{ModelError, with_the_words_of};
use crate::measure::{self, Fair};
use crate::quantity::{Of, Quantity};
use crate::record::{LinkRecord, RunRecord};
use evenair_laws::connections::HostCosts;
use evenair_netsim::{FlowResult, WebResult};
use evenair_scenario::{Optimum, Settings};
use serde::{Deserialize, Serialize};

/// A metric of a variant, of one flow or of all together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(remote = "Self", rename_all = "kebab-case")]
pub enum Metric {
    /// Data handed to the application [packets/s]; of all flows, the sum.
    Goodput,
    /// A flow's part of all flows' goodput, in packets.
    Share,
    /// The same [kb/s].
    GoodputKbps,
    /// Datagrams that the source handed down [packets/s].
    Offered,
    /// Share of the datagrams, or of the TCP segments, that were lost or sent again; of acknowledgements (`of = "acks"`), of those
    /// that did not come back although each frame was repeated.
    Loss,
    /// Mean one-way delay of datagrams [s].
    Delay,
    /// Mean congestion window of all connections together [segments].
    CongestionWindow,
    /// Jain's index of the goodputs; of all flows only.
    Jain,
    /// The fair optimum without entropy [packets/s]; of all flows, the sum.
    Optimum,
    /// The fixed point of the scenario's own laws, problem MP [packets/s].
    FixedPoint,
    /// The aggressiveness at that fixed point; of all flows, the greatest over the least.
    FixedPointAggressiveness,
    /// `Σ (U(x) − U(x*))` with `U = −1/x`, x in the study's unit and x* the fair optimum. A flow that got nothing
    /// counts as having got one packet.
    UtilityGap,
    /// `Σ w log x`, w the flow's weight (1, if the scenario gives none) and x in the study's unit. A flow that got nothing counts
    /// as having got one packet.
    LogUtility,
    /// Mean number of connections; of all flows, the mean.
    Connections,
    /// Mean memory that its connections hold, [Chen10] eq. (5.45) \[bytes\]; of all flows, the sum.
    ConnectionMemory,
    /// Share of the processor time that goes into data and not into opening and closing connections, [Chen10] eq. (5.50),
    /// over the measured time, at whose ends there are none; of all flows, the mean.
    Efficiency,
    /// Mean aggressiveness at the flow's source; of all flows, the greatest over the least.
    Aggressiveness,
    /// Mean round-trip time [s].
    RoundTrip,
    /// Mean time for which the flow's data waited in queues, all on the way together [s].
    QueueingDelay,
    /// Mean backlog at the flow's source [packets].
    Backlog,
    /// Packets dropped by the queue at the flow's source, for whatever cause, whosever they are [packets/s].
    Drops,
    /// The flow's own packets dropped anywhere on their way, for whatever cause [packets/s].
    Lost,
    /// Loss events that TFRC receivers measured, over packets sent.
    LossEventRate,
    /// Data segments or datagrams sent, repetitions included [1/s].
    Sent,
    /// Segments sent again [1/s].
    Retransmissions,
    /// Retransmission time-outs [1/s].
    Timeouts,
    /// The longest time in which the flow delivered nothing [s]; of all flows, the greatest.
    Silence,
    /// Mean round trip of the probes of the flow's path [s].
    ProbeRoundTrip,
    /// Share of the bytes sent by the flow's source that probes are.
    ProbeShare,
    /// Mean time that the flow's data waited at its receiver for what other connections carried before them [s].
    ResequencingDelay,
    /// The longest such time [s]; of all flows, the greatest.
    ResequencingDelayMax,
    /// Mean number of segments that waited there.
    ResequencingBuffer,
    /// The most; of all flows, the greatest.
    ResequencingBufferMax,
    /// Share of a web client's requests, made in the measured time, whose replies were whole when it ended.
    Completed,
    /// Mean time from such a request to the last byte of its reply, of those that were [s].
    CompletionTime,
    /// The time within which 95 % of those were whole [s]; of all flows, the greatest.
    LateCompletion,
    /// Share of the frames sent by the flow's source that were lost.
    FrameLoss,
    /// Jain's index of the goodputs over the optimum; of all flows only.
    Fairness,
    /// The flow's fair rate o [kb/s]: max-min over the collision domains, back-off and acknowledgements counted, as [Jam10]
    /// computes it (chapter 4, section 7.2.2); of all flows, the sum.
    FairRate,
    /// The flow's goodput over its fair rate, r/o; of all flows, the mean.
    OverFair,
    /// Jain's index of all r/o ([Jam10] section 2.1.5, normalized); of all flows only, as the next four.
    JainOverFair,
    /// The least r/o: [Jam10]'s min. flow rate/fair rate, each flow over its own fair rate.
    MinOverFair,
    /// The greatest r/o.
    MaxOverFair,
    /// [Jam10]'s `U/U_opt`: `Σ r·l / Σ o·l`, l the hops of a flow over the air.
    Utilisation,
    /// The least of what a node gets over what is fair to it, all of its flows together; a flow is its end's that is not the
    /// gateway, the node at which the most flows end or begin.
    WorstNode,
    /// How long after the beginning of its window (`from`; the warm-up's end) a flow's goodput first comes to where it settles [s]:
    /// the end of the first bin of 5 s whose goodput lies within a fifth of its mean over the second half of the window; the whole
    /// window, if there is none; nothing, if it settles at nothing. Of all flows, the greatest.
    ConvergenceTime,
    /// Standard deviation over mean of a flow's goodput in bins of 5 s of its window; of all flows, the mean.
    Oscillation,
    /// The worst residual of an optimum's conditions; of all flows only, as all that follow.
    Residual,
    /// The greatest real part of the eigenvalues at rest [1/s].
    Eigenvalue,
    /// The greatest growth of a Lyapunov function, over its first value.
    LyapunovGrowth,
    /// How far a fluid model's rates are from rest at the end, relatively.
    OffRest,
    /// What an experiment found.
    #[serde(skip)]
    Experiment(ModelError),
}

with_the_words_of!(ModelError, Metric);

/// What the column for all flows together holds, by metric.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OverFlows {
    /// The sum.
    Total,
    /// The mean.
    Mean,
    /// The greatest.
    Greatest,
    /// The greatest over the least.
    Spread,
    /// The metric is one of the network, not of its flows.
    Network,
}

impl OverFlows {
    /// Its name in tables.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Total => "total",
            Self::Mean => "mean",
            Self::Greatest => "greatest",
            Self::Spread => "greatest/least",
            Self::Network => "network",
        }
    }
}

impl Metric {
    /// A label with its unit.
    pub const fn label(self) -> &'static str {
        match self {
            Self::Goodput => "goodput [packets/s]",
            Self::Share => "share of all goodput",
            Self::GoodputKbps => "goodput [kb/s]",
            Self::Offered => "offered [packets/s]",
            Self::Loss => "lost or sent again",
            Self::Delay => "one-way delay [s]",
            Self::CongestionWindow => "congestion window [segments]",
            Self::Jain => "Jain's index of goodput",
            Self::Optimum => "optimum [packets/s]",
            Self::FixedPoint => "fixed point [packets/s]",
            Self::FixedPointAggressiveness => "fixed-point aggressiveness r",
            Self::UtilityGap => "utility gap ΔU",
            Self::LogUtility => "utility Σ w log x",
            Self::Connections => "connections n",
            Self::ConnectionMemory => "memory of connections [bytes]",
            Self::Efficiency => "efficiency of processor time",
            Self::Aggressiveness => "aggressiveness r",
            Self::RoundTrip => "round-trip time [s]",
            Self::QueueingDelay => "queueing delay [s]",
            Self::Backlog => "backlog [packets]",
            Self::Drops => "drops [packets/s]",
            Self::Lost => "lost [packets/s]",
            Self::LossEventRate => "loss events per packet",
            Self::Sent => "sent [packets/s]",
            Self::Retransmissions => "sent again [segments/s]",
            Self::Timeouts => "time-outs [1/s]",
            Self::Silence => "longest silence [s]",
            Self::ProbeRoundTrip => "round-trip time of probes [s]",
            Self::ProbeShare => "share of probes in the bytes sent",
            Self::ResequencingDelay => "resequencing delay [s]",
            Self::ResequencingDelayMax => "longest resequencing delay [s]",
            Self::ResequencingBuffer => "resequencing buffer [segments]",
            Self::ResequencingBufferMax => "most in the resequencing buffer [segments]",
            Self::Completed => "requests completed",
            Self::CompletionTime => "time to completion [s]",
            Self::LateCompletion => "time to completion of 95 % [s]",
            Self::FrameLoss => "frames lost",
            Self::Fairness => "Jain's index of goodput/optimum",
            Self::FairRate => "fair rate [kb/s]",
            Self::OverFair => "goodput/fair rate",
            Self::JainOverFair => "Jain's index of goodput/fair rate",
            Self::MinOverFair => "least goodput/fair rate",
            Self::MaxOverFair => "greatest goodput/fair rate",
            Self::Utilisation => "network utilisation U/U_opt",
            Self::WorstNode => "worst node's goodput/fair rate",
            Self::ConvergenceTime => "convergence time [s]",
            Self::Oscillation => "oscillation (deviation/mean)",
            Self::Residual => "worst residual of the optimality conditions",
            Self::Eigenvalue => "greatest real part of the eigenvalues [1/s]",
            Self::LyapunovGrowth => "greatest growth of the Lyapunov function",
            Self::OffRest => "distance from rest",
            Self::Experiment(finding) => finding.label(),
        }
    }

    /// Its word in study files.
    pub(crate) fn name(self) -> String {
        let name = serde_json::to_value(self).expect("a metric has a name");
        name.as_str().unwrap_or_default().into()
    }

    /// What the column for all flows together holds; its name stands in the place of a flow's.
    pub fn over_flows_name(self) -> &'static str {
        self.over_flows().name()
    }

    pub(crate) const fn over_flows(self) -> OverFlows {
        match self {
            Self::Goodput
            | Self::Share
            | Self::GoodputKbps
            | Self::Offered
            | Self::Optimum
            | Self::FixedPoint
            | Self::UtilityGap
            | Self::LogUtility
            | Self::ConnectionMemory
            | Self::Drops
            | Self::Lost
            | Self::Sent
            | Self::Retransmissions
            | Self::Timeouts
            | Self::FairRate => OverFlows::Total,
            Self::Loss
            | Self::Delay
            | Self::CongestionWindow
            | Self::Connections
            | Self::Efficiency
            | Self::RoundTrip
            | Self::QueueingDelay
            | Self::Backlog
            | Self::ProbeRoundTrip
            | Self::ProbeShare
            | Self::ResequencingDelay
            | Self::ResequencingBuffer
            | Self::Completed
            | Self::CompletionTime
            | Self::LossEventRate
            | Self::FrameLoss
            | Self::OverFair
            | Self::Oscillation => OverFlows::Mean,
            Self::ConvergenceTime
            | Self::Silence
            | Self::ResequencingDelayMax
            | Self::ResequencingBufferMax
            | Self::LateCompletion => OverFlows::Greatest,
            Self::Aggressiveness | Self::FixedPointAggressiveness => OverFlows::Spread,
            Self::Jain
            | Self::Fairness
            | Self::JainOverFair
            | Self::MinOverFair
            | Self::MaxOverFair
            | Self::Utilisation
            | Self::WorstNode
            | Self::Residual
            | Self::Eigenvalue
            | Self::LyapunovGrowth
            | Self::OffRest
            | Self::Experiment(_) => OverFlows::Network,
        }
    }

    /// Whether runs keep its course over time.
    pub(crate) const fn has_series(self) -> bool {
        matches!(
            self,
            Self::Goodput
                | Self::GoodputKbps
                | Self::CongestionWindow
                | Self::Connections
                | Self::RoundTrip
                | Self::Aggressiveness
                | Self::Backlog
        )
    }

    /// Whether it is known from the scenario alone, without chance.
    pub(crate) const fn is_exact(self) -> bool {
        matches!(self, Self::Optimum | Self::FixedPoint | Self::FixedPointAggressiveness | Self::FairRate)
    }

    /// Whether it is made of the fair optimum.
    pub(crate) const fn is_of_optimum(self) -> bool {
        matches!(self, Self::Optimum | Self::UtilityGap | Self::Fairness)
    }

    /// Whether it is made of the fixed point of the scenario's laws.
    pub(crate) const fn is_of_fixed_point(self) -> bool {
        matches!(self, Self::FixedPoint | Self::FixedPointAggressiveness)
    }

    /// Whether it is made of the fair rates.
    pub(crate) const fn is_of_fair(self) -> bool {
        matches!(
            self,
            Self::FairRate
                | Self::OverFair
                | Self::JainOverFair
                | Self::MinOverFair
                | Self::MaxOverFair
                | Self::Utilisation
                | Self::WorstNode
        )
    }

    /// Whether it says how rates move within a window of time.
    pub(crate) const fn is_of_window(self) -> bool {
        matches!(self, Self::ConvergenceTime | Self::Oscillation)
    }

    /// The least and the greatest that it can be.
    pub(crate) const fn bounds(self) -> (f64, f64) {
        match self {
            Self::Share
            | Self::FrameLoss
            | Self::LossEventRate
            | Self::ProbeShare
            | Self::Completed
            | Self::Jain
            | Self::Fairness
            | Self::JainOverFair
            | Self::Efficiency => (0.0, 1.0),
            // What was under way when the measured time began makes more arrive than was sent: a loss below zero.
            Self::Loss | Self::UtilityGap | Self::LogUtility | Self::Eigenvalue | Self::Experiment(_) => {
                (f64::NEG_INFINITY, f64::INFINITY)
            }
            _ => (0.0, f64::INFINITY),
        }
    }
}

/// A metric of a web client.
fn of_web(metric: Metric, web: &WebResult) -> Option<f64> {
    match metric {
        Metric::Completed => Some(web.completed as f64 / (web.requests as f64).max(1.0)),
        Metric::CompletionTime => web.mean_s,
        _ => web.late_s,
    }
}

/// The share of acknowledgements that did not come back; probes' answers come back, too.
fn ack_loss(flow: &FlowResult) -> Option<f64> {
    let all = (flow.acks + flow.acks_lost) as f64;
    flow.probes.is_none().then_some(flow.acks_lost as f64 / all.max(1.0))
}

/// What a quantity is taken from: one run, and the optima of its scenario.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Subject<'a> {
    pub(crate) run: &'a RunRecord,
    pub(crate) optimum: Option<&'a Optimum>,
    pub(crate) fixed_point: Option<&'a Optimum>,
    pub(crate) fair: Option<&'a Fair>,
    pub(crate) utility_unit: f64,
    pub(crate) settings: &'a Settings,
}

impl Subject<'_> {
    /// The quantity of one flow, of the mean of several ("1..8", "web-*"), or of all; none where it has no meaning.
    pub(crate) fn take(&self, quantity: Quantity, flow: Option<&str>) -> Option<f64> {
        let Some(flow) = flow else { return self.of_all(quantity) };
        let flows = self.named(flow);
        let sum = flows.iter().map(|&index| self.of_one(quantity, index)).sum::<Option<f64>>()?;
        (!flows.is_empty()).then(|| sum / flows.len() as f64)
    }

    /// The flow of this name; "1..8": these and those between them; "web-*": all whose names begin so.
    fn named(&self, flow: &str) -> Vec<usize> {
        let flows = &self.run.flows;
        let place = |name: &str| flows.iter().position(|f| f.flow == name);
        if let Some(index) = place(flow) {
            return vec![index];
        }
        if let Some(begins) = flow.strip_suffix('*') {
            return (0..flows.len()).filter(|&index| flows[index].flow.starts_with(begins)).collect();
        }
        let ends = flow.split_once("..").and_then(|(first, last)| Some(place(first)?..=place(last)?));
        ends.map(Iterator::collect).unwrap_or_default()
    }

    fn of_one(&self, quantity: Quantity, index: usize) -> Option<f64> {
        let warmup = self.settings.warmup.0;
        if quantity.metric.is_of_window() {
            measure::over_window(quantity, self.run, index, warmup)
        } else if quantity.is_over_time() {
            quantity.over_time(self.run, index, warmup)
        } else {
            self.of_flow(quantity, index)
        }
    }

    fn of_flow(&self, quantity: Quantity, index: usize) -> Option<f64> {
        let flow = &self.run.flows[index];
        let link = || self.link(quantity, index);
        let per_second = |count: u64| Some(count as f64 / self.run.measured_s);
        match quantity.metric {
            Metric::Goodput => Some(flow.goodput_pps),
            Metric::Share => {
                let total: f64 = self.run.flows.iter().map(|f| f.goodput_pps).sum();
                (total > 0.0).then_some(flow.goodput_pps / total)
            }
            Metric::GoodputKbps => Some(flow.goodput_bps / 1e3),
            Metric::Offered => flow.offered_pps,
            Metric::Loss if quantity.of == Of::Acks => ack_loss(flow),
            Metric::Loss => match flow.offered_pps {
                Some(offered) => Some(1.0 - flow.goodput_pps / offered.max(1e-12)),
                None => Some(flow.retransmitted as f64 / (flow.sent as f64).max(1.0)),
            },
            Metric::Delay => flow.delay_s,
            Metric::CongestionWindow => Some(flow.congestion_window),
            Metric::Optimum => Some(self.optimum?.rates_pps[index]),
            Metric::FixedPoint => Some(self.fixed_point?.rates_pps[index]),
            Metric::FixedPointAggressiveness => self.fixed_point?.prices.get(index).copied(),
            Metric::UtilityGap => {
                Some(self.utility(flow.goodput_pps) - self.utility(self.optimum?.rates_pps[index]))
            }
            Metric::LogUtility => {
                let weight = self.settings.flows.get(index)?.weight.unwrap_or(1.0);
                Some(weight * (self.at_least_one(flow.goodput_pps) / self.utility_unit).ln())
            }
            Metric::Connections => Some(flow.connections),
            Metric::ConnectionMemory => Some(HostCosts::chen10().memory_of(flow.connections)),
            Metric::Efficiency => self.efficiency(index),
            Metric::Aggressiveness => link()?.aggressiveness,
            Metric::RoundTrip => flow.round_trip_s,
            Metric::QueueingDelay if quantity.of == Of::Acks => flow.ack_queueing_delay_s,
            Metric::QueueingDelay => flow.queueing_delay_s,
            Metric::Backlog => Some(link()?.backlog),
            Metric::Drops => {
                let link = link()?;
                per_second(link.dropped_queue_full + link.dropped_by_law + link.dropped_retries)
            }
            Metric::FrameLoss => {
                let link = link()?;
                let lost = link.collided + link.receiver_busy + link.ack_lost;
                Some(lost as f64 / (link.attempts as f64).max(1.0))
            }
            Metric::Lost if quantity.of == Of::Acks => per_second(flow.acks_lost),
            Metric::Lost => per_second(flow.lost),
            Metric::Sent => per_second(flow.sent),
            Metric::LossEventRate => flow.loss_event_rate,
            Metric::ProbeRoundTrip => flow.probes?.round_trip_s,
            Metric::ProbeShare => Some(flow.probes?.share),
            Metric::ResequencingDelay => Some(flow.resequencing?.delay_s),
            Metric::ResequencingDelayMax => Some(flow.resequencing?.delay_s_max),
            Metric::ResequencingBuffer => Some(flow.resequencing?.buffer),
            Metric::ResequencingBufferMax => Some(flow.resequencing?.buffer_max as f64),
            Metric::Completed | Metric::CompletionTime | Metric::LateCompletion => {
                of_web(quantity.metric, flow.web.as_ref()?)
            }
            Metric::Retransmissions => per_second(flow.retransmitted),
            Metric::Timeouts => per_second(flow.timeouts),
            Metric::Silence => Some(flow.silence_s),
            Metric::FairRate | Metric::OverFair => {
                self.fair?.of_flow(quantity.metric, &self.run.flows, index)
            }
            // Of the network, or of a window of time.
            _ => None,
        }
    }

    /// A metric of the network.
    fn of_network(&self, metric: Metric) -> Option<f64> {
        let flows = &self.run.flows;
        match metric {
            _ if metric.is_of_fair() => return self.fair?.of_network(metric, flows),
            Metric::Jain => {
                let goodputs: Vec<f64> = flows.iter().map(|f| f.goodput_pps).collect();
                return evenair_topology::jain_index(&goodputs);
            }
            Metric::Fairness => {
                let optimum = self.optimum?;
                let shares = flows.iter().zip(&optimum.rates_pps).map(|(f, x)| f.goodput_pps / x);
                return evenair_topology::jain_index(&shares.collect::<Vec<_>>());
            }
            Metric::Experiment(finding) => {
                let found = self.run.findings.iter().find(|(of, _)| *of == finding);
                return found.map(|(_, value)| *value);
            }
            _ => (),
        }
        let theory = self.run.theory?;
        match metric {
            Metric::Residual => theory.residual,
            Metric::Eigenvalue => theory.eigenvalue_per_s,
            Metric::LyapunovGrowth => theory.lyapunov_growth,
            Metric::OffRest => theory.off_rest,
            _ => None,
        }
    }

    fn of_all(&self, quantity: Quantity) -> Option<f64> {
        let over = quantity.metric.over_flows();
        if over == OverFlows::Network {
            return self.of_network(quantity.metric);
        }
        if quantity.is_over_time() && !quantity.metric.is_of_window() {
            return None;
        }
        let flows = 0..self.run.flows.len();
        let each: Vec<f64> = flows.map(|i| self.of_one(quantity, i)).collect::<Option<_>>()?;
        let sum: f64 = each.iter().sum();
        let greatest = each.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        Some(match over {
            OverFlows::Total => sum,
            OverFlows::Mean => sum / each.len() as f64,
            OverFlows::Greatest => greatest,
            OverFlows::Spread => greatest / each.iter().copied().fold(f64::INFINITY, f64::min),
            OverFlows::Network => return None,
        })
    }

    /// [Chen10] eq. (5.50) of the course of a flow's connections through the measured time.
    fn efficiency(&self, flow: usize) -> Option<f64> {
        let series = self.run.series.as_ref()?;
        let connections = &series.flows.get(flow)?.connections;
        let from = self.settings.warmup.0.as_secs_f64();
        let measured = series.time_s.iter().zip(connections).filter(|(at, _)| **at > from);
        let packets = self.run.flows[flow].goodput_pps * self.run.measured_s;
        Some(HostCosts::chen10().efficiency(measured.map(|(_, n)| *n), packets))
    }

    fn utility(&self, rate_pps: f64) -> f64 {
        -self.utility_unit / self.at_least_one(rate_pps)
    }

    /// The rate, or that of one packet in all of the measured time.
    fn at_least_one(&self, rate_pps: f64) -> f64 {
        rate_pps.max(1.0 / self.run.measured_s)
    }

    fn link(&self, quantity: Quantity, flow: usize) -> Option<&LinkRecord> {
        let queue = quantity.queue(self.run, flow)?;
        self.run.links.iter().find(|l| l.queue == queue)
    }
}
