//! One scenario, one idealisation after the other taken away.

use crate::live::Live;
use crate::run::Aside;
use crate::sweep::{Sweep, SweepError};
use crate::watch::Progress;
use crate::world::World;
use evenair_laws::backoff::{AckPriority, AdaptiveParams, BackoffParams};
use evenair_netsim::{LinkResult, MacSpec};
use evenair_results::{Comparison, RecordOptions, RunRecord, Stage, digits};
use evenair_scenario::{Failure, Objective, Optimum, Question, Resolved};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// The stage over real sockets.
const LINUX: &str = "Linux";
/// Totals and rates nearer to the optimum's than this share are not above or below it.
const ABOVE: f64 = 0.01;
/// The most flows that a note names on each side.
const NAMED: usize = 4;

/// Compares the worlds of a scenario's laws. Worlds with packets run with so many seeds each, one of them over real sockets
/// where `live` is given.
///
/// # Errors
/// If the theory has no answer, `stop` was set, or the machine cannot run the live world.
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
    let sweep = |(name, adds, world): Simulated| {
        let sweep = Sweep::of_scenario(world.clone(), seeds, keep);
        progress.expected(sweep.work());
        (name, adds, world, sweep)
    };
    let mut sweeps: Vec<_> = simulated_worlds(base)?.into_iter().map(sweep).collect();
    if let Some(live) = live {
        let mut over_linux = sweep((LINUX, "this machine's own TCP: its timers, its recovery", base.clone()));
        over_linux.3.set_live(live);
        over_linux.3.cases[0].world = World::Linux;
        sweeps.push(over_linux);
    }
    for (name, adds, world, sweep) in sweeps {
        progress.stage(name);
        let capacity = optimum(&world, Objective::Fair, stop).map_err(unanswered)?.capacity_pps;
        let runs = sweep.run_in_memory(&Aside::default(), stop, progress)?;
        let mean = |s: usize| runs.iter().map(|r| r.flows[s].goodput_pps).sum::<f64>() / runs.len() as f64;
        let rates: Vec<f64> = (0..capacity.len()).map(mean).collect();
        let shares = rates.iter().zip(&capacity).map(|(x, c)| x / c).collect();
        let mut time = Vec::new();
        if name != LINUX {
            time = senders_time(&runs);
            comparison.senders_time.clone_from(&time);
        }
        let gap = format!("{adds}. Measured: {}.", measured(&runs, &time));
        comparison.stages.push(Stage { name, gap, shares, counted_pps: Some(rates) });
    }
    let above = above_fair(&comparison);
    comparison.notes.extend(above);
    Ok(comparison)
}

/// Shares and rates below this are not told.
const LEAST: f64 = 5e-4;

/// The losses and waits of some runs in words: where the senders' time went, frames and packets lost, TCP's time-outs; means over seeds.
fn measured(runs: &[RunRecord], time: &[(&'static str, f64)]) -> String {
    let rest = 1.0 - time.iter().map(|(_, share)| share).sum::<f64>();
    let others = [("others' exchanges", rest)];
    let is_known = time.iter().any(|(_, share)| *share > 0.0);
    let parts = time.iter().chain(others.iter().filter(|_| is_known));
    let parts: Vec<String> = parts
        .filter(|(_, share)| *share >= LEAST)
        .map(|(name, share)| format!("{name} {}", digits::percent(*share)))
        .collect();
    let seconds: f64 = runs.iter().map(|run| run.measured_s).sum();
    let links = || runs.iter().flat_map(|run| &run.links);
    let total = |of: &dyn Fn(&LinkResult) -> u64| links().map(of).sum::<u64>() as f64;
    let (sent, lost) = (total(&|l| l.attempts), total(&|l| l.collided + l.receiver_busy + l.ack_lost));
    let dropped = total(&|l| l.dropped_queue_full + l.dropped_by_law + l.dropped_retries + l.lost_on_wire);
    let timeouts: u64 = runs.iter().flat_map(|run| &run.flows).map(|flow| flow.timeouts).sum();
    let mut all = Vec::new();
    if !parts.is_empty() {
        all.push(format!("of the senders' time {}", parts.join(", ")));
    }
    if lost > 0.0 {
        all.push(format!("{} % of the frames were lost", digits::exact(100.0 * lost / sent)));
    } else if sent > 0.0 {
        all.push("no frame was lost".into());
    }
    for (count, what) in [(dropped, "packets/s dropped"), (timeouts as f64, "time-outs/s")] {
        let per_second = count / seconds;
        if per_second >= LEAST {
            all.push(format!("{} {what}", digits::exact(per_second)));
        }
    }
    if all.is_empty() { "no losses".into() } else { all.join("; ") }
}

/// Worlds with a greater total than the fair optimum: which flows have more than is fair, and at the cost of which.
fn above_fair(found: &Comparison) -> Option<String> {
    let rates = |stage: &Stage| stage.rates_pps(&found.capacity_pps);
    let total = |rates: &[f64]| rates.iter().sum::<f64>();
    let fair = rates(found.stages.first()?);
    let above = |stage: &&Stage| total(&rates(stage)) > (1.0 + ABOVE) * total(&fair);
    let stage = found.stages.iter().skip(1).rfind(above)?;
    let got = rates(stage);
    let named = |is_more: bool| {
        let flows = found.flows.iter().zip(got.iter().zip(&fair));
        let far = flows.filter(
            |(_, (x, o))| if is_more { **x > (1.0 + ABOVE) * **o } else { **x < (1.0 - ABOVE) * **o },
        );
        let mut far: Vec<(&String, f64, f64)> = far.map(|(name, (x, o))| (name, *x, *o)).collect();
        far.sort_by(|a, b| (b.1 - b.2).abs().total_cmp(&(a.1 - a.2).abs()));
        let text = far
            .iter()
            .take(NAMED)
            .map(|(name, x, o)| format!("{name} ({} for {})", digits::exact(*x), digits::exact(*o)));
        text.collect::<Vec<_>>().join(", ")
    };
    let (more, less) = (named(true), named(false));
    let less = if less.is_empty() { String::new() } else { format!("; less: {less}") };
    Some(format!(
        "{} has {} packets/s in all, the fair optimum {}: fair is the greatest sum of -1/rate and not the greatest total. More than \
         fair: {more}{less}.",
        stage.name,
        digits::exact(total(&got)),
        digits::exact(total(&fair)),
    ))
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
    let stage = |name, adds: &str, rates: Vec<f64>| {
        let shares = rates.iter().zip(&capacity).map(|(x, c)| x / c).collect();
        Stage { name, gap: adds.into(), shares, counted_pps: None }
    };
    let mut notes = Vec::new();
    let mut stages = vec![stage("fair optimum", "", fair.rates_pps.clone())];
    if let Ok(point) = optimum(base, Objective::FixedPoint, stop) {
        stages.push(stage(
            "fixed point of the laws",
            "Access by chance: the laws weigh the entropy of the links' shares of time beside the utilities",
            point.rates_pps.clone(),
        ));
        if let Ok(run) = base.fluid_unless(stop)
            && let warning = run.warning()
            && let Some((_, view)) = run.rest
        {
            if run.overloaded.is_empty() {
                stages.push(stage(
                    "fluid model at rest",
                    "The laws' differential equations, followed to their rest",
                    view.rates,
                ));
            } else {
                notes.extend(warning.map(|w| format!("The fluid model at rest is left out. {w}")));
            }
        }
        let delivered = point.theory.flows.iter().zip(&point.rates_pps).map(|(flow, x)| {
            let lost: f64 = flow.loads.iter().map(|&(l, _)| point.prices[l]).sum();
            x * (1.0 - lost).max(0.0)
        });
        stages.push(stage(
            "… less drops",
            "Packets that queues drop are sent and do not arrive",
            delivered.collect(),
        ));
    }
    Ok(Comparison { flows, stages, capacity_pps: capacity, senders_time: Vec::new(), notes })
}

/// A world to simulate: its name, its additions to the world before it, and its scenario.
type Simulated = (&'static str, &'static str, Resolved);

/// Names the parts of a simulated world beyond the equations.
fn beyond_equations(base: &Resolved) -> &'static str {
    let tcp = base.network().flows.iter().filter(|flow| flow.traffic.tcp().is_some()).count();
    match base.network().flows.len() - tcp {
        0 => "Packets one by one: queues, TCP's windows, turns by chance",
        others if tcp > 0 && others > 0 => {
            "Packets one by one: queues, TCP's windows where flows have TCP, turns by chance"
        }
        _ => "Packets one by one: queues and turns by chance",
    }
}

fn simulated_worlds(base: &Resolved) -> Result<Vec<Simulated>, SweepError> {
    let mut worlds: Vec<Simulated> = Vec::new();
    let packets = beyond_equations(base);
    // Stages without a counterpart under the ideal MAC, such as channel errors, are left out.
    if let Ok(ideal) = base.over_ideal_csma() {
        // Acknowledgements go first at r_max, which must then be a bound.
        if let BackoffParams::Adaptive(law) = ideal.settings().backoff
            && law.acks != AckPriority::High
            && law.r_max.is_some_and(f64::is_finite)
        {
            let mut first = ideal.written_out();
            first.backoff = AdaptiveParams { acks: AckPriority::High, ..law }.into();
            let first = first.resolve().map_err(|e| SweepError::Scenario(e.to_string()))?;
            worlds.push(("ideal CSMA, ACKs first", packets, first));
            worlds.push(("ideal CSMA", "TCP acknowledgements that contend as data do", ideal));
        } else {
            worlds.push(("ideal CSMA", packets, ideal));
        }
    }
    if base.network().mac != MacSpec::Ideal {
        let adds = match (worlds.is_empty(), base.hidden_pairs().is_empty()) {
            (true, _) => packets,
            (false, true) => "802.11's slots, inter-frame spaces and back-off; frames that overlap",
            (false, false) => {
                "802.11's slots, inter-frame spaces and back-off; frames that overlap, those of hidden terminals too"
            }
        };
        worlds.push(("802.11", adds, base.clone()));
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

#[cfg(test)]
mod tests {
    use super::*;

    fn comparison(shares: &[[f64; 2]]) -> Comparison {
        let stage = |&shares: &[f64; 2]| Stage {
            name: "802.11",
            gap: String::new(),
            shares: shares.to_vec(),
            counted_pps: None,
        };
        Comparison {
            flows: vec!["a".into(), "b".into()],
            stages: shares.iter().map(stage).collect(),
            capacity_pps: vec![400.0, 400.0],
            senders_time: Vec::new(),
            notes: Vec::new(),
        }
    }

    /// Fair: 200 and 200 packets/s; then 400 and 8.
    #[test]
    fn more_than_optimum_is_at_cost_of_others() {
        let note = above_fair(&comparison(&[[0.5, 0.5], [1.0, 0.02]])).unwrap();
        assert!(note.contains("has 408 packets/s in all, the fair optimum 400"), "{note}");
        assert!(note.contains("More than fair: a (400 for 200); less: b (8 for 200)."), "{note}");
        assert_eq!(above_fair(&comparison(&[[0.5, 0.5], [0.6, 0.39]])), None, "less in all");
        assert_eq!(
            above_fair(&comparison(&[[0.5, 0.5], [0.501, 0.501]])),
            None,
            "as much, within a hundredth"
        );
    }

    #[test]
    fn worlds_of_datagrams_have_no_tcp() {
        let beyond = |traffic: &str| {
            let text = format!(
                "radio = {{ transmission_range = '250 m', carrier_sense_range = '550 m' }}
                nodes = [{{ id = 'a', at = [0, 0] }}, {{ id = 'b', at = [9, 0] }}]
                flows = [{{ id = '1', from = 'a', to = 'b'{traffic} }}]"
            );
            let scenario = Resolved::parse("two.toml", &text, &[]).unwrap();
            simulated_worlds(&scenario).unwrap().into_iter().map(|(_, adds, _)| adds).collect::<Vec<_>>()
        };
        let saturated = beyond(", traffic = 'saturated'");
        assert!(saturated.len() == 2 && saturated.iter().all(|adds| !adds.contains("TCP")), "{saturated:?}");
        assert!(beyond("")[0].contains("TCP's windows"));
    }
}
