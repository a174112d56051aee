//! One scenario, one idealisation after the other taken away.

use crate::live::Live;
use crate::run::Aside;
use crate::sweep::{Sweep, SweepError};
use crate::watch::Progress;
use crate::world::World;
use evenair_laws::backoff::{AckPriority, AdaptiveParams, BackoffParams};
use evenair_netsim::MacSpec;
use evenair_results::{Comparison, RecordOptions, RunRecord, Stage};
use evenair_scenario::{Failure, Objective, Optimum, Question, Resolved};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// The stage over real sockets.
const LINUX: &str = "Linux";

/// Compares the worlds that a scenario's laws have; those with packets run with so many seeds each, one over real sockets where
/// `live` is given.
///
/// # Errors
/// If the theory has no answer, `stop` was set, or the machine does not do what is live.
pub fn compare(
    base: &Resolved,
    seeds: u32,
    live: Option<Arc<dyn Live>>,
    stop: &AtomicBool,
    progress: &dyn Progress,
) -> Result<Comparison, SweepError> {
    let flows = base.theory().map_err(unanswered)?.flows.iter().map(|f| f.name.clone()).collect();
    progress.stage("theory");
    let mut comparison = theory_stages(base, flows, stop)?;
    let keep = RecordOptions { ledger: true, ..RecordOptions::default() };
    let sweep = |(name, gap, world): Simulated| {
        let sweep = Sweep::of_scenario(world.clone(), seeds, keep);
        progress.expected(sweep.work());
        (name, gap, world, sweep)
    };
    let mut sweeps: Vec<_> = simulated_worlds(base)?.into_iter().map(sweep).collect();
    if let Some(live) = live {
        let mut over_linux = sweep((LINUX, "this machine's own TCP: its timers, its recovery", base.clone()));
        over_linux.3.set_live(live);
        over_linux.3.cases[0].world = World::Linux;
        sweeps.push(over_linux);
    }
    for (name, gap, world, sweep) in sweeps {
        progress.stage(name);
        let capacity = optimum(&world, Objective::Fair, stop).map_err(unanswered)?.capacity_pps;
        let runs = sweep.run_in_memory(&Aside::default(), stop, progress)?;
        let mean = |s: usize| runs.iter().map(|r| r.flows[s].goodput_pps).sum::<f64>() / runs.len() as f64;
        let rates: Vec<f64> = (0..capacity.len()).map(mean).collect();
        let shares = rates.iter().zip(&capacity).map(|(x, c)| x / c).collect();
        if name != LINUX {
            comparison.senders_time = senders_time(&runs);
        }
        comparison.stages.push(Stage { name, gap, shares, counted_pps: Some(rates) });
    }
    Ok(comparison)
}

fn unanswered(failure: Failure) -> SweepError {
    match failure {
        Failure::Stopped => SweepError::Stopped { finished: 0, all: 0, kept: false },
        failure => SweepError::Scenario(failure.to_string()),
    }
}

fn optimum(scenario: &Resolved, objective: Objective, stop: &AtomicBool) -> Result<Optimum, Failure> {
    scenario.answer_unless(Question::new(objective), stop)
}

/// The stages that need no simulation.
fn theory_stages(base: &Resolved, flows: Vec<String>, stop: &AtomicBool) -> Result<Comparison, SweepError> {
    let fair = optimum(base, Objective::Fair, stop).map_err(unanswered)?;
    let capacity = fair.capacity_pps.clone();
    let stage = |name, gap, rates: Vec<f64>| {
        let shares = rates.iter().zip(&capacity).map(|(x, c)| x / c).collect();
        Stage { name, gap, shares, counted_pps: None }
    };
    let mut notes = Vec::new();
    let mut stages = vec![stage("fair optimum", "", fair.rates_pps.clone())];
    if let Ok(point) = optimum(base, Objective::FixedPoint, stop) {
        stages.push(stage(
            "fixed point of the laws",
            "entropy: links are idle and wrong ones busy",
            point.rates_pps.clone(),
        ));
        if let Ok(run) = base.fluid_unless(stop)
            && let warning = run.warning()
            && let Some((_, view)) = run.rest
        {
            if run.overloaded.is_empty() {
                stages.push(stage("fluid model at rest", "the law, against the fixed point", view.rates));
            } else {
                notes.extend(warning.map(|w| format!("The fluid model at rest is left out. {w}")));
            }
        }
        let delivered = point.theory.flows.iter().zip(&point.rates_pps).map(|(flow, x)| {
            let lost: f64 = flow.loads.iter().map(|&(l, _)| point.prices[l]).sum();
            x * (1.0 - lost).max(0.0)
        });
        stages.push(stage("… less what is dropped", "dropping by the AQM", delivered.collect()));
    }
    Ok(Comparison { flows, stages, capacity_pps: capacity, senders_time: Vec::new(), notes })
}

/// A world to simulate: what it is called, what the gap before it is due to, and its scenario.
type Simulated = (&'static str, &'static str, Resolved);

fn simulated_worlds(base: &Resolved) -> Result<Vec<Simulated>, SweepError> {
    let mut worlds: Vec<Simulated> = Vec::new();
    // What the ideal MAC does not have, such as channel errors, leaves its stages out.
    if let Ok(ideal) = base.over_ideal_csma() {
        // Acknowledgements go first at r_max, which must then be a bound.
        if let BackoffParams::Adaptive(law) = ideal.settings().backoff
            && law.acks != AckPriority::High
            && law.r_max.is_some_and(f64::is_finite)
        {
            let mut first = ideal.written_out();
            first.backoff = AdaptiveParams { acks: AckPriority::High, ..law }.into();
            worlds.push((
                "ideal CSMA, ACKs first",
                "TCP: windows, queues, whole connections",
                first.resolve().map_err(|e| SweepError::Scenario(e.to_string()))?,
            ));
            worlds.push(("ideal CSMA", "ACK traffic that contends", ideal));
        } else {
            worlds.push(("ideal CSMA", "TCP: windows and queues", ideal));
        }
    }
    if base.network().mac != MacSpec::Ideal {
        worlds.push((
            "802.11",
            "collisions, spaces, back-offs that are short beside an exchange",
            base.clone(),
        ));
    }
    Ok(worlds)
}

/// Mean shares of the time of the flows' sources.
fn senders_time(runs: &[RunRecord]) -> Vec<(&'static str, f64)> {
    let mut sums = [0.0; 5];
    let mut count = 0.0;
    for run in runs {
        for flow in &run.flows {
            let Some(time) =
                run.links.iter().find(|l| l.queue == flow.queue).and_then(|l| l.airtime.as_ref())
            else {
                continue;
            };
            let parts = [time.own, time.collided, time.backoff, time.interframe, time.empty];
            sums.iter_mut().zip(parts).for_each(|(sum, part)| *sum += part);
            count += 1.0;
        }
    }
    let names = ["own exchanges", "failed exchanges", "back-off", "inter-frame spaces", "nothing to send"];
    names
        .into_iter()
        .zip(sums)
        .map(|(name, sum)| (name, if count > 0.0 { sum / count } else { 0.0 }))
        .collect()
}
