//! The measures of [Jam10] section 2.1.5, and how fast and how calmly rates settle.
//!
//! All stand on one notion of fair: the max-min rates over the collision domains as the thesis computes them
//! ([`Resolved::fair_shares`]).

use crate::metric::Metric;
use crate::quantity::Quantity;
use evenair_netsim::FlowResult;
use evenair_results::RunRecord;
use evenair_scenario::Resolved;
use evenair_units::Duration;

/// The bins of convergence and oscillation \[s\]: the resolution of the thesis's plots over time.
const BIN_S: f64 = 5.0;
/// A rate has come to where it settles when it is within a fifth of it.
const NEAR: f64 = 0.2;

/// Each flow's fair share in a scenario, and how far it goes.
#[derive(Clone, Debug)]
pub(crate) struct Fair {
    /// Fair rates \[bit/s\].
    rates_bps: Vec<f64>,
    /// Hops over the air.
    hops: Vec<f64>,
}

impl Fair {
    /// None where a flow has no fair rate, as a broadcast.
    pub(crate) fn of(scenario: &Resolved) -> Option<Self> {
        let fair = scenario.fair_shares().ok()?;
        let rates_bps = fair.rates_pps.iter().zip(&fair.theory.flows).map(|(x, f)| x * f.payload_bits);
        let wires = &scenario.network().wires;
        let wired = |hop: &[u32]| wires.iter().any(|w| hop == [w.from, w.to]);
        let hops = scenario.network().flows.iter().map(|flow| {
            let hops = flow.path.windows(2).filter(|hop| !wired(hop)).count();
            hops as f64
        });
        Some(Self { rates_bps: rates_bps.collect(), hops: hops.collect() })
    }

    /// A metric of one flow.
    pub(crate) fn of_flow(&self, metric: Metric, flows: &[FlowResult], index: usize) -> Option<f64> {
        match metric {
            Metric::FairRate => Some(self.rates_bps[index] / 1e3),
            Metric::OverFair => Some(flows[index].goodput_bps / self.rates_bps[index]),
            _ => None,
        }
    }

    /// A metric of all flows together.
    pub(crate) fn of_network(&self, metric: Metric, flows: &[FlowResult]) -> Option<f64> {
        let over: Vec<f64> =
            flows.iter().zip(&self.rates_bps).map(|(f, fair)| f.goodput_bps / fair).collect();
        match metric {
            Metric::JainOverFair => evenair_topology::jain_index(&over),
            Metric::MinOverFair => over.into_iter().reduce(f64::min),
            Metric::MaxOverFair => over.into_iter().reduce(f64::max),
            Metric::Utilisation => {
                let carried: f64 = flows.iter().zip(&self.hops).map(|(f, l)| f.goodput_bps * l).sum();
                let best: f64 = self.rates_bps.iter().zip(&self.hops).map(|(fair, l)| fair * l).sum();
                (best > 0.0).then(|| carried / best)
            }
            Metric::WorstNode => self.worst_node(flows),
            _ => None,
        }
    }

    /// The least ratio of a node's rate to its fair rate, over all nodes; a node's rate is the sum over its flows.
    fn worst_node(&self, flows: &[FlowResult]) -> Option<f64> {
        let gateway = gateway_of(flows)?;
        let node = |f: &'_ FlowResult| if f.from == gateway { f.to.clone() } else { f.from.clone() };
        let mut nodes: Vec<(String, f64, f64)> = Vec::new();
        for (flow, fair) in flows.iter().zip(&self.rates_bps) {
            let name = node(flow);
            match nodes.iter_mut().find(|(other, ..)| *other == name) {
                Some((_, got, share)) => (*got, *share) = (*got + flow.goodput_bps, *share + fair),
                None => nodes.push((name, flow.goodput_bps, *fair)),
            }
        }
        nodes.into_iter().map(|(_, got, share)| got / share).reduce(f64::min)
    }
}

/// The node that is an end of the most flows; the first of several.
fn gateway_of(flows: &[FlowResult]) -> Option<&str> {
    let ends = || flows.iter().flat_map(|f| [f.from.as_str(), f.to.as_str()]);
    let count = |node: &str| flows.iter().filter(|f| f.from == node || f.to == node).count();
    ends().rev().max_by_key(|node| count(node))
}

/// Convergence time or oscillation of one flow, over the quantity's window.
pub(crate) fn over_window(
    quantity: Quantity,
    run: &RunRecord,
    index: usize,
    warmup: Duration,
) -> Option<f64> {
    let from_s = quantity.from.unwrap_or(warmup).as_secs_f64();
    let to_s = quantity.to.map_or(f64::INFINITY, Duration::as_secs_f64);
    let course = Quantity { from: None, to: None, ..Metric::Goodput.into() };
    let (times_s, values) = course.course(run, index)?;
    let bins = bins(times_s, &values, from_s, to_s);
    match quantity.metric {
        Metric::ConvergenceTime => convergence_s(&bins),
        Metric::Oscillation => oscillation(&bins),
        _ => None,
    }
}

/// Means over bins of 5 s from an instant on; a sample speaks for the time since the one before, and a bin that is not whole is
/// left out.
fn bins(times_s: &[f64], values: &[f64], from_s: f64, to_s: f64) -> Vec<f64> {
    let end_s = times_s.last().copied().unwrap_or(0.0).min(to_s);
    let count = ((end_s - from_s) / BIN_S + 1e-9).floor().max(0.0) as usize;
    let mut sums = vec![0.0; count];
    let before = std::iter::once(0.0).chain(times_s.iter().copied());
    for ((before_s, &at_s), value) in before.zip(times_s).zip(values) {
        for (k, sum) in sums.iter_mut().enumerate() {
            let (low, high) = (from_s + k as f64 * BIN_S, from_s + (k + 1) as f64 * BIN_S);
            *sum += value * (at_s.min(high) - before_s.max(low)).max(0.0);
        }
    }
    sums.into_iter().map(|sum| sum / BIN_S).collect()
}

/// The end of the first bin within a fifth of the mean of the second half of all; of all bins, if there is none.
fn convergence_s(bins: &[f64]) -> Option<f64> {
    let settled = &bins[bins.len() / 2..];
    let rate = settled.iter().sum::<f64>() / settled.len() as f64;
    let near = |bin: &f64| (bin / rate - 1.0).abs() <= NEAR;
    let count = bins.iter().position(near).map_or(bins.len(), |k| k + 1);
    (rate > 0.0).then_some(count as f64 * BIN_S)
}

/// Standard deviation over mean.
fn oscillation(bins: &[f64]) -> Option<f64> {
    let mean = bins.iter().sum::<f64>() / bins.len() as f64;
    let variance = bins.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>() / bins.len() as f64;
    (mean > 0.0).then(|| variance.sqrt() / mean)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn flow(from: &str, to: &str, goodput_bps: f64) -> FlowResult {
        let scenario = crate::builtin_scenario("jam10/chain").expect("built in");
        let scenario = Resolved::parse("jam10/chain.toml", scenario, &[]).expect("it is right");
        let theory = scenario.theory().expect("it has no broadcast");
        let blank = crate::world::blank(&scenario, &theory).flows.remove(0);
        FlowResult { from: from.into(), to: to.into(), goodput_bps, ..blank }
    }

    /// Table 6.1 of [Jam10]: 3.18, 1.73 and 0.03 of the fair rate over 1, 2 and 3 hops.
    fn table_6_1() -> (Fair, Vec<FlowResult>) {
        let fair = Fair { rates_bps: vec![100.0; 3], hops: vec![1.0, 2.0, 3.0] };
        (fair, vec![flow("0", "1", 318.0), flow("0", "2", 173.0), flow("0", "3", 3.0)])
    }

    #[test]
    fn the_measures_of_a_row_of_the_thesis() {
        let (fair, flows) = table_6_1();
        let of = |metric| fair.of_network(metric, &flows).unwrap();
        // (3.18 + 1.73 + 0.03)² / (3 (3.18² + 1.73² + 0.03²)) = 24.4036/39.3186; the thesis prints 0.63
        assert!((of(Metric::JainOverFair) - 0.62066).abs() < 1e-4, "{}", of(Metric::JainOverFair));
        assert!((of(Metric::MinOverFair) - 0.03).abs() < 1e-12);
        assert!((of(Metric::MaxOverFair) - 3.18).abs() < 1e-12);
        assert!((of(Metric::Utilisation) - (3.18 + 2.0 * 1.73 + 3.0 * 0.03) / 6.0).abs() < 1e-12);
        assert_eq!(fair.of_flow(Metric::OverFair, &flows, 1), Some(1.73));
        assert_eq!(fair.of_flow(Metric::FairRate, &flows, 1), Some(0.1));
    }

    #[test]
    fn a_node_with_two_flows_is_one_node() {
        let (fair, mut flows) = table_6_1();
        assert!((fair.of_network(Metric::WorstNode, &flows).unwrap() - 0.03).abs() < 1e-12);
        // Node 2's second flow is the other way: node 2 has 173 and 3 of 200.
        flows[2] = flow("2", "0", 3.0);
        assert!((fair.of_network(Metric::WorstNode, &flows).unwrap() - 0.88).abs() < 1e-12);
    }

    #[test]
    fn bins_are_means_from_their_beginning_on() {
        let times: Vec<f64> = (1..=12).map(f64::from).collect();
        let values: Vec<f64> = (1..=12).map(f64::from).collect();
        assert_eq!(bins(&times, &values, 0.0, f64::INFINITY), [3.0, 8.0], "the last two seconds are no bin");
        assert_eq!(bins(&times, &values, 2.0, 12.0), [5.0, 10.0]);
        assert_eq!(bins(&times, &values, 9.0, 12.0), [0.0; 0]);
        // Samples of 2 s: a bin weights each sample with the overlap. (2·1 + 2·2 + 1·3)/5
        assert_eq!(bins(&[2.0, 4.0, 6.0], &[1.0, 2.0, 3.0], 0.0, 6.0), [1.8]);
    }

    #[test]
    fn rate_converges_near_its_final_value() {
        assert_eq!(convergence_s(&[10.0, 50.0, 85.0, 99.0, 101.0, 100.0]), Some(15.0));
        assert_eq!(convergence_s(&[100.0; 6]), Some(5.0));
        assert_eq!(convergence_s(&[0.0, 0.0, 0.0, 200.0, 0.0, 100.0]), Some(30.0));
        assert_eq!(convergence_s(&[100.0, 0.0, 0.0, 0.0]), None, "it settles at nothing");
        assert_eq!(convergence_s(&[]), None);
    }

    #[test]
    fn oscillation_is_deviation_over_mean() {
        assert_eq!(oscillation(&[1.0, 3.0, 1.0, 3.0]), Some(0.5));
        assert_eq!(oscillation(&[2.0; 4]), Some(0.0));
        assert_eq!(oscillation(&[0.0; 4]), None);
        assert_eq!(oscillation(&[]), None);
    }
}
