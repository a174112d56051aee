//! How well do the capacity models predict where a mesh begins to lose? [Jam10] section 4.1.4.
//!
//! A random placement, 25 to 40 streams to the gateway. The clique model and the collision-domain model each give every
//! stream's share; the streams of the least share are constrained by the first bottleneck. All are then simulated at the same
//! source rate, from half of the computed share to one and a half times, five seeds each. A stream is lost where its
//! throughput is more than 5 % below its rate at four successive rates, at the first of these; the fair-share point is the
//! rate at which more than a third of the constrained streams are lost.

use crate::watch::{NoRecord, Watched};
use crate::world::blank;
use evenair_des::Stream;
use evenair_netsim::{Network, Watchers};
use evenair_optimum::max_min::{Demand, domains, fill, grouped};
use evenair_results::{ModelError, RunRecord};
use evenair_scenario::{At, RateQuantity, Resolved, Scenario, Size};
use evenair_topology::{Medium, Position, Router, generate, maximal_cliques};
use evenair_units::Rate;
use serde::{Deserialize, Serialize};
use std::ops::ControlFlow;

/// Between a half and one and a half of the computed share, so many rates.
const RATES: u32 = 41;
/// Seeds of each rate.
const SEEDS: u64 = 5;
/// A placement is drawn at most so often until it is connected.
const DRAWS: u32 = 10_000;

/// The experiment, as a world of a study's variants.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum FairShare {
    /// On a random placement of the scenario's nodes, drawn with the seed; simulated with the seeds 1 to 5.
    #[serde(rename = "fair-share-point")]
    RandomPlacement,
    /// On the scenario's own placement, with all of its streams; simulated with five seeds of its own for each seed.
    #[serde(rename = "fair-share-point-here")]
    OwnPlacement,
}

impl FairShare {
    /// How many runs of the scenario one of the experiment is.
    pub(crate) const RUNS: u64 = RATES as u64 * SEEDS;

    /// One run.
    pub(crate) fn run(
        self,
        scenario: &Resolved,
        seed: u64,
        watched: &mut Watched<'_>,
    ) -> Result<RunRecord, NoRecord> {
        match self {
            Self::RandomPlacement => experiment(&placed(scenario, seed)?, seed, 1, watched),
            Self::OwnPlacement => experiment(scenario, seed, seed * SEEDS + 1, watched),
        }
    }
}

fn experiment(
    scenario: &Resolved,
    seed: u64,
    first_seed: u64,
    watched: &mut Watched<'_>,
) -> Result<RunRecord, NoRecord> {
    // B, the throughput of one hop: the mean back-off belongs to each packet's time.
    let theory = scenario.theory_with_backoff()?;
    let unlimited = |demand| Demand { limit: f64::INFINITY, ..demand };
    let demands: Vec<Demand> = theory.demands().into_iter().map(unlimited).collect();
    let cliques = maximal_cliques(&theory.conflicts, 1_000_000).map_err(|e| e.to_string())?;
    let domains = domains(&theory.domains);
    let shares = [cliques, domains].map(|groups| {
        let fair =
            fill(&grouped(&demands, &groups), &vec![1.0; groups.len()]).expect("every stream crosses a link");
        let least = fair.rates.iter().copied().fold(f64::INFINITY, f64::min);
        let held: Vec<usize> =
            (0..fair.rates.len()).filter(|&s| fair.rates[s] <= least * (1.0 + 1e-9)).collect();
        (least, held)
    });
    let (low, high) = (shares[0].0.min(shares[1].0) * 0.5, shares[0].0.max(shares[1].0) * 1.5);
    let rates: Vec<f64> =
        (0..RATES).map(|i| low + (high - low) * f64::from(i) / f64::from(RATES - 1)).collect();
    let mut delivered: Vec<Vec<f64>> = Vec::new();
    for (i, &rate) in rates.iter().enumerate() {
        let mut go_on = || watched.reached(i as f64 / f64::from(RATES));
        delivered.push(delivered_at(scenario, rate, first_seed, &mut go_on)?);
    }
    let mut record = blank(scenario, &theory);
    record.seed = seed;
    for (s, flow) in record.flows.iter_mut().enumerate() {
        flow.goodput_pps = delivered[RATES as usize / 2][s];
        flow.goodput_bps = flow.goodput_pps * theory.flows[s].payload_bits;
    }
    for ((share, held), model) in shares.iter().zip([ModelError::CliqueError, ModelError::DomainError]) {
        if let Some(point) = fair_share_point(&rates, &delivered, held) {
            record.findings.push((model, (share - point) / point));
        }
    }
    Ok(record)
}

/// The scenario's nodes at random places, connected, and some of its streams.
fn placed(base: &Resolved, seed: u64) -> Result<Resolved, String> {
    let mut scenario = base.written_out();
    let layout = base.layout();
    let (Some(places), Some((transmission_m, _))) = (&layout.positions, layout.ranges_m) else {
        return Err("the fair-share point needs nodes with positions and a radio".into());
    };
    let bound = |of: fn(&Position) -> f64| places.iter().flatten().map(of).fold(0.0, f64::max);
    // The area is that of the scenario's own placement, rounded up to 100 m.
    let round = |x: f64| (x / 100.0).ceil() * 100.0;
    let (width_m, height_m) = (round(bound(|p| p.x_m)), round(bound(|p| p.y_m)));
    let radio = evenair_topology::ThresholdRadio {
        transmission_range_m: transmission_m,
        carrier_sense_range_m: transmission_m,
        interference_range_m: transmission_m,
        propagation: evenair_topology::Propagation::default(),
    };
    let mut stream = Stream::named(seed, "nodes", "placement");
    let connected = (0..DRAWS).find_map(|_| {
        let at = generate::random(scenario.nodes.len(), width_m, height_m, || stream.unit());
        (Router::new(&Medium::from_positions(&at, &radio)).reachable(0) == at.len()).then_some(at)
    });
    let at = connected.ok_or("no placement was connected")?;
    for (node, p) in scenario.nodes.iter_mut().zip(at) {
        node.at = Some(At::ground(p.x_m, p.y_m));
    }
    // 25 to 40 streams, drawn among the scenario's own.
    let wanted = 25 + (stream.unit() * 16.0) as usize;
    while scenario.flows.len() > wanted {
        let gone = (stream.unit() * scenario.flows.len() as f64) as usize;
        scenario.flows.remove(gone.min(scenario.flows.len() - 1));
    }
    scenario.resolve().map_err(|e| e.to_string())
}

/// Each stream's delivery at a source rate \[packets/s\], the mean over seeds.
fn delivered_at(
    scenario: &Resolved,
    rate_pps: f64,
    first_seed: u64,
    go_on: &mut dyn FnMut() -> ControlFlow<()>,
) -> Result<Vec<f64>, NoRecord> {
    let scenario = at_rate(scenario.written_out(), rate_pps).resolve().map_err(|e| e.to_string())?;
    let network = scenario.network();
    let mut sums = vec![0.0; network.flows.len()];
    for seed in first_seed..first_seed + SEEDS {
        let mut progress = |_| go_on();
        let watchers = Watchers { progress: Some(&mut progress), ..Watchers::default() };
        let result = Network::run_watched(network, scenario.run_spec(seed), watchers);
        let result = result.ok_or(NoRecord::Stopped)?;
        for (sum, flow) in sums.iter_mut().zip(&result.flows) {
            // Relative to the offered rate: intervals are whole nanoseconds, and the window cuts some off.
            *sum += flow.goodput_pps / flow.offered_pps.unwrap_or(rate_pps).max(1e-9) / SEEDS as f64;
        }
    }
    Ok(sums.iter().map(|share| share * rate_pps).collect())
}

/// The scenario with all streams at one rate.
fn at_rate(mut scenario: Scenario, rate_pps: f64) -> Scenario {
    for flow in &mut scenario.flows {
        let bits = flow.size.map_or(12_000, |Size(size)| size.bits());
        flow.rate = Some(RateQuantity(Rate::from_bps((rate_pps * bits as f64) as u64)));
        flow.interval = None;
    }
    scenario
}

/// The first rate at which more than a third of some streams are lost.
fn fair_share_point(rates: &[f64], delivered: &[Vec<f64>], held: &[usize]) -> Option<f64> {
    let lost_at = |s: usize| {
        let below = |i: usize| delivered[i][s] < 0.95 * rates[i];
        (0..rates.len().saturating_sub(3)).find(|&i| (i..i + 4).all(below))
    };
    let mut lost: Vec<usize> = held.iter().filter_map(|&s| lost_at(s)).collect();
    lost.sort_unstable();
    // More than a third: the element after the first third.
    lost.get(held.len() / 3).map(|&i| rates[i])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn knee_is_where_a_third_is_lost_four_times() {
        let rates: Vec<f64> = (1..=10).map(f64::from).collect();
        // Stream s delivers all until rate 2 + 2s, then nothing more; the third dips once.
        let until = |s: usize, rate: f64| {
            if s == 2 && (rate - 3.0).abs() < 0.1 { 1.0 } else { rate.min(2.0 + 2.0 * s as f64) }
        };
        let delivered: Vec<Vec<f64>> =
            rates.iter().map(|&rate| (0..3).map(|s| until(s, rate)).collect()).collect();
        assert_eq!(fair_share_point(&rates, &delivered, &[0]), Some(3.0));
        assert_eq!(
            fair_share_point(&rates, &delivered, &[0, 1, 2]),
            Some(5.0),
            "one of three is not more than a third"
        );
        assert_eq!(fair_share_point(&rates, &delivered, &[2]), Some(7.0), "a single dip is none");
    }
}
