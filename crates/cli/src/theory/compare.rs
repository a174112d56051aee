//! `evenair compare`: one scenario, one idealisation after the other taken away.

use crate::arguments::CompareOptions;
use crate::commands::{STOP, print, scenario, watch_for_interrupt};
use crate::progress::Bar;
use crate::text;
use crate::theory::row;
use anyhow::Result;
use evenair_laws::backoff::{AckPriority, AdaptiveParams, BackoffParams};
use evenair_scenario::{Objective, Resolved};
use evenair_study::{RecordOptions, RunRecord, Sweep};
use serde_json::json;

/// One world: what each flow gets, as a share of what it would get alone there.
struct Stage {
    name: &'static str,
    /// What the difference to the stage before is due to.
    gap: &'static str,
    rates_pps: Vec<f64>,
    shares: Vec<f64>,
}

pub(crate) fn compare(options: &CompareOptions) -> Result<()> {
    let base = scenario(&options.scenario, &options.set)?;
    watch_for_interrupt();
    let names: Vec<String> = base.theory()?.flows.iter().map(|f| f.name.clone()).collect();
    let mut stages = theory_stages(&base)?;
    let ledger = simulated_stages(options, &base, &mut stages)?;
    if options.json {
        let stages = stages.iter().map(|stage| {
            let flows: Vec<_> = names
                .iter()
                .enumerate()
                .map(|(s, name)| json!({"flow": name, "rate_pps": stage.rates_pps[s], "share": stage.shares[s]}))
                .collect();
            json!({"stage": stage.name, "gap": stage.gap, "flows": flows})
        });
        let document = json!({"scenario": options.scenario, "stages": stages.collect::<Vec<_>>(), "senders_time": ledger});
        return print(&format!("{document:#}\n"));
    }
    print(&as_text(&names, &stages, &ledger))
}

/// The stages that need no simulation.
fn theory_stages(base: &Resolved) -> Result<Vec<Stage>> {
    let fair = base.optimum(Objective::Fair)?;
    let capacity = fair.capacity_pps.clone();
    let stage = |name, gap, rates: Vec<f64>| {
        let shares = rates.iter().zip(&capacity).map(|(x, c)| x / c).collect();
        Stage { name, gap, rates_pps: rates, shares }
    };
    let mut stages = vec![stage("fair optimum", "", fair.rates_pps.clone())];
    if let Ok(point) = base.optimum(Objective::FixedPoint) {
        stages.push(stage(
            "fixed point of the laws",
            "entropy: links are idle and wrong ones busy",
            point.rates_pps.clone(),
        ));
        if let Ok(run) = base.fluid()
            && let Some((_, view)) = run.rest
        {
            stages.push(stage("fluid model at rest", "the law, against the fixed point", view.rates));
        }
        let delivered = point.theory.flows.iter().zip(&point.rates_pps).map(|(flow, x)| {
            let lost: f64 = flow.loads.iter().map(|&(l, _)| point.prices[l]).sum();
            x * (1.0 - lost).max(0.0)
        });
        stages.push(stage("… less what is dropped", "dropping by the AQM", delivered.collect()));
    }
    Ok(stages)
}

/// The stages that are simulated; and where the senders' time goes in the last.
fn simulated_stages(
    options: &CompareOptions,
    base: &Resolved,
    stages: &mut Vec<Stage>,
) -> Result<Vec<(&'static str, f64)>> {
    let mut worlds: Vec<(&'static str, &'static str, Resolved)> = Vec::new();
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
                first.resolve()?,
            ));
            worlds.push(("ideal CSMA", "ACK traffic that contends", ideal));
        } else {
            worlds.push(("ideal CSMA", "TCP: windows and queues", ideal));
        }
    }
    if !base.settings().mac.is_ideal() {
        worlds.push((
            "802.11",
            "collisions, spaces, back-offs that are short beside an exchange",
            base.clone(),
        ));
    }
    let mut ledger = Vec::new();
    for (name, gap, world) in worlds {
        let capacity = world.optimum(Objective::Fair)?.capacity_pps;
        let keep = RecordOptions { ledger: true, ..RecordOptions::default() };
        let sweep = Sweep::of_scenario(world, options.seeds, keep);
        let bar = Bar::new(name);
        let runs = sweep.run_in_memory(&STOP, &bar);
        bar.clear();
        let runs = runs?;
        let mean = |s: usize| runs.iter().map(|r| r.flows[s].goodput_pps).sum::<f64>() / runs.len() as f64;
        let rates: Vec<f64> = (0..capacity.len()).map(mean).collect();
        let shares = rates.iter().zip(&capacity).map(|(x, c)| x / c).collect();
        ledger = senders_time(&runs);
        stages.push(Stage { name, gap, rates_pps: rates, shares });
    }
    Ok(ledger)
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

fn as_text(names: &[String], stages: &[Stage], ledger: &[(&str, f64)]) -> String {
    let mut head = row(&["share of what a flow gets alone"]);
    head.extend(names.iter().take(8).map(|name| format!("flow {name}")));
    head.extend(row(&["all", "gap", "packets/s"]));
    let mut rows = vec![head];
    let mut before: Option<f64> = None;
    for stage in stages {
        let mut cells = vec![stage.name.to_string()];
        cells.extend(stage.shares.iter().take(8).map(|share| format!("{:.1} %", 100.0 * share)));
        let all: f64 = stage.shares.iter().sum();
        cells.push(format!("{:.1} %", 100.0 * all));
        cells.push(before.map_or(String::new(), |b| format!("{:+.1}", 100.0 * (all - b))));
        cells.push(text::number(stage.rates_pps.iter().sum()));
        before = Some(all);
        rows.push(cells);
    }
    let mut out = text::columns(&rows);
    out += "\nwhat the gaps are\n";
    for pair in stages.windows(2) {
        out += &format!("  {} → {}: {}\n", pair[0].name, pair[1].name, pair[1].gap);
    }
    if !ledger.is_empty() {
        let parts: Vec<String> =
            ledger.iter().map(|(name, share)| format!("{name} {:.1} %", 100.0 * share)).collect();
        out += &format!(
            "\nthe senders' time in the last, in the mean: {}; else others' exchanges\n",
            parts.join(", ")
        );
    }
    out
}
