//! A metric of one run: of a flow, of several, of the network.

use super::{Metric, OverFlows};
use crate::measure::{self, Fair};
use crate::quantity::{Of, Quantity, Statistic};
use evenair_laws::connections::HostCosts;
use evenair_netsim::{FlowResult, Histogram, LinkResult, Times, TransferResult};
use evenair_results::RunRecord;
use evenair_scenario::{Optimum, Scenario};

/// A metric of transfers.
fn of_transfers(metric: Metric, transfers: &TransferResult) -> Option<f64> {
    match metric {
        Metric::Completed => Some(transfers.completed as f64 / (transfers.requests as f64).max(1.0)),
        Metric::Completions => Some(transfers.completed as f64),
        _ => transfers.took.as_ref().map(|took| took.mean_s),
    }
}

/// The share of a link's data frames that some count names.
fn share_of_frames(link: &LinkResult, count: impl Fn(&LinkResult) -> u64) -> f64 {
    count(link) as f64 / (link.attempts as f64).max(1.0)
}

/// The share of acknowledgements that did not come back; probes' answers come back, too.
fn ack_loss(flow: &FlowResult) -> Option<f64> {
    let all = (flow.acks + flow.acks_lost) as f64;
    flow.probes.is_none().then_some(flow.acks_lost as f64 / all.max(1.0))
}

/// The standard deviation of some values from each other; none of fewer than two.
fn spread(values: &[f64]) -> Option<f64> {
    let count = values.len() as f64;
    let mean = values.iter().sum::<f64>() / count;
    let squares: f64 = values.iter().map(|x| (x - mean) * (x - mean)).sum();
    (values.len() > 1).then(|| (squares / (count - 1.0)).sqrt())
}

/// The source of a quantity: one run, and the optima of its scenario.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Subject<'a> {
    pub(crate) run: &'a RunRecord,
    pub(crate) optimum: Option<&'a Optimum>,
    pub(crate) fixed_point: Option<&'a Optimum>,
    pub(crate) fair: Option<&'a Fair>,
    pub(crate) utility_unit: f64,
    pub(crate) settings: &'a Scenario,
}

impl Subject<'_> {
    /// The quantity of one flow, of the mean of several ("1..8", "web-*"), or of all; none where it has no meaning.
    pub(crate) fn take(&self, quantity: Quantity, flow: Option<&str>) -> Option<f64> {
        if let Some(share) = quantity.percentile_of_times() {
            let flows = flow.map_or_else(|| (0..self.run.flows.len()).collect(), |flow| self.named(flow));
            return self.pooled(quantity, &flows).quantile_s(share);
        }
        if quantity.statistic == Statistic::Spread {
            let flows = flow.map_or_else(|| (0..self.run.flows.len()).collect(), |flow| self.named(flow));
            return spread(&flows.iter().map(|&i| self.of_one(quantity, i)).collect::<Option<Vec<_>>>()?);
        }
        let Some(flow) = flow else { return self.of_all(quantity) };
        let flows = self.named(flow);
        let sum = flows.iter().map(|&index| self.of_one(quantity, index)).sum::<Option<f64>>()?;
        (!flows.is_empty()).then(|| sum / flows.len() as f64)
    }

    fn named(&self, flow: &str) -> Vec<usize> {
        let names: Vec<&str> = self.run.flows.iter().map(|f| f.flow.as_str()).collect();
        flows_named(&names, flow)
    }

    /// The times of some flows together; of queues, of each that is one of theirs.
    fn pooled(&self, quantity: Quantity, flows: &[usize]) -> Histogram {
        let mut pooled = Histogram::default();
        let mut queues = Vec::new();
        for &index in flows {
            let queue = quantity.queue(self.run, index);
            if quantity.metric == Metric::Waiting && queues.contains(&queue) {
                continue;
            }
            queues.push(queue);
            let times = self.times(quantity, index);
            times.iter().for_each(|times| pooled.merge(&times.histogram));
        }
        pooled
    }

    /// The times that a flow's metric is the mean of.
    fn times(&self, quantity: Quantity, index: usize) -> Option<&Times> {
        let flow = &self.run.flows[index];
        match quantity.metric {
            Metric::Delay => flow.delay.as_ref(),
            Metric::CompletionTime => flow.transfers.as_ref()?.took.as_ref(),
            _ => self.link(quantity, index)?.waiting.as_ref(),
        }
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
            Metric::Loss => flow.loss(),
            Metric::Delay | Metric::Waiting => self.times(quantity, index).map(|times| times.mean_s),
            Metric::Jitter => flow.jitter_s,
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
                let given_up = link.dropped_retries - link.received_despite;
                per_second(link.dropped_queue_full + link.dropped_by_law + link.dropped_no_route + given_up)
            }
            Metric::EarlyDrops => per_second(link()?.dropped_by_law),
            Metric::Overflows => per_second(link()?.dropped_queue_full),
            Metric::FrameCollisions => Some(share_of_frames(link()?, |link| link.collided)),
            Metric::FrameLoss => Some(share_of_frames(link()?, |link| {
                link.collided + link.receiver_busy + link.ack_lost + link.ack_late
            })),
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
            Metric::Completed | Metric::Completions | Metric::CompletionTime => {
                of_transfers(quantity.metric, flow.transfers.as_ref()?)
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

    fn link(&self, quantity: Quantity, flow: usize) -> Option<&LinkResult> {
        let queue = quantity.queue(self.run, flow)?;
        self.run.links.iter().find(|l| l.queue == queue)
    }
}

/// Indices of the flows of a name; "1..8" means these and those between them; "web-*" means every name that begins so.
pub(crate) fn flows_named(names: &[&str], flow: &str) -> Vec<usize> {
    let place = |name: &str| names.iter().position(|known| *known == name);
    if let Some(index) = place(flow) {
        return vec![index];
    }
    if let Some(begins) = flow.strip_suffix('*') {
        return (0..names.len()).filter(|&index| names[index].starts_with(begins)).collect();
    }
    let ends = flow.split_once("..").and_then(|(first, last)| Some(place(first)?..=place(last)?));
    ends.map(Iterator::collect).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::spread;

    /// 2, 4 and 9 are 3, 1 and 4 from their mean: 26 over two degrees of freedom.
    #[test]
    fn flows_lie_apart_by_their_standard_deviation() {
        assert_eq!(spread(&[2.0, 4.0, 9.0]), Some(13f64.sqrt()));
        assert_eq!((spread(&[7.0]), spread(&[])), (None, None));
    }
}
