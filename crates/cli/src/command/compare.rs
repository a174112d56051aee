//! `evenair compare`: one scenario, one idealisation after the other taken away.

use crate::arguments::ScenarioArguments;
use crate::interrupt::{self, STOP};
use crate::output::print;
use crate::progress::Bar;
use crate::text;
use anyhow::Result;
use clap::Args;
use evenair_laws::backoff::{AckPriority, AdaptiveParams, BackoffParams};
use evenair_scenario::{Failure, Objective, Optimum, Question, Resolved};
use evenair_study::{RecordOptions, RunRecord, Sweep};
use serde_json::json;

#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    evenair compare chen10/a --set backoff.law=adaptive --set connections.k=10\n  \
    evenair compare jam10/chain --seeds 10\n\n\
    Each step takes one idealisation away: the optimum without entropy, the fixed point of the laws with it, the fluid \
    model's rest, ideal CSMA frame by frame (no collisions, no spaces), 802.11. Steps that the scenario's laws do not have \
    are left out. The gap of a step is what its idealisation hid.")]
pub(crate) struct CompareOptions {
    #[command(flatten)]
    pub(crate) scenario: ScenarioArguments,
    /// How many seeds each simulation runs with
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub(crate) seeds: u32,
    /// Print the result as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// One world: what each flow gets, as a share of what it would get alone there.
struct Stage {
    name: &'static str,
    /// What the difference to the stage before is due to.
    gap: &'static str,
    shares: Vec<f64>,
    /// Packets per second that were counted, in a world that was simulated. An exchange of ideal CSMA has neither preambles nor
    /// spaces, so that a packet is less there: what is compared are the shares, and these in the scenario's own packets.
    counted_pps: Option<Vec<f64>>,
}

impl Stage {
    /// The shares in packets per second of the scenario's own air: one unit for all worlds.
    fn rates_pps(&self, capacity_pps: &[f64]) -> Vec<f64> {
        self.shares.iter().zip(capacity_pps).map(|(share, c)| share * c).collect()
    }
}

/// What the theory has to say.
struct Theoretical {
    stages: Vec<Stage>,
    capacity_pps: Vec<f64>,
    /// Why a stage is missing.
    notes: Vec<String>,
}

pub(crate) fn compare(options: &CompareOptions) -> Result<()> {
    let base = options.scenario.resolve()?;
    interrupt::watch();
    let names: Vec<String> = base.theory()?.flows.iter().map(|f| f.name.clone()).collect();
    let Theoretical { mut stages, capacity_pps, notes } = theory_stages(&base)?;
    let ledger = simulated_stages(options, &base, &mut stages)?;
    if options.json {
        let stages = stages.iter().map(|stage| {
            let rates = stage.rates_pps(&capacity_pps);
            let counted = |s: usize| stage.counted_pps.as_ref().map(|counted| counted[s]);
            let flow = |(s, name): (usize, &String)| {
                json!({"flow": name, "rate_pps": rates[s], "share": stage.shares[s], "counted_pps": counted(s)})
            };
            let flows: Vec<_> = names.iter().enumerate().map(flow).collect();
            json!({"stage": stage.name, "gap": stage.gap, "flows": flows})
        });
        let document = json!({"scenario": options.scenario.name, "stages": stages.collect::<Vec<_>>(), "senders_time": ledger, "notes": notes});
        return print(&format!("{document:#}\n"));
    }
    let mut out = as_text(&names, &stages, &capacity_pps, &ledger);
    notes.iter().for_each(|note| out += &format!("\n{note}\n"));
    print(&out)
}

fn optimum(scenario: &Resolved, objective: Objective) -> Result<Optimum, Failure> {
    scenario.answer_unless(Question::new(objective), &STOP)
}

/// The stages that need no simulation.
fn theory_stages(base: &Resolved) -> Result<Theoretical> {
    let fair = optimum(base, Objective::Fair)?;
    let capacity = fair.capacity_pps.clone();
    let stage = |name, gap, rates: Vec<f64>| {
        let shares = rates.iter().zip(&capacity).map(|(x, c)| x / c).collect();
        Stage { name, gap, shares, counted_pps: None }
    };
    let mut notes = Vec::new();
    let mut stages = vec![stage("fair optimum", "", fair.rates_pps.clone())];
    if let Ok(point) = optimum(base, Objective::FixedPoint) {
        stages.push(stage(
            "fixed point of the laws",
            "entropy: links are idle and wrong ones busy",
            point.rates_pps.clone(),
        ));
        if let Ok(run) = base.fluid_unless(&STOP)
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
    Ok(Theoretical { stages, capacity_pps: capacity, notes })
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
        let capacity = optimum(&world, Objective::Fair)?.capacity_pps;
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
        stages.push(Stage { name, gap, shares, counted_pps: Some(rates) });
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

fn as_text(names: &[String], stages: &[Stage], capacity_pps: &[f64], ledger: &[(&str, f64)]) -> String {
    let mut head = text::row(&["share of what a flow gets alone"]);
    head.extend(names.iter().take(8).map(|name| format!("flow {name}")));
    head.extend(text::row(&["all", "gap", "packets/s"]));
    let mut rows = vec![head];
    let mut before: Option<f64> = None;
    for stage in stages {
        let mut cells = vec![stage.name.to_string()];
        cells.extend(stage.shares.iter().take(8).map(|share| format!("{:.1} %", 100.0 * share)));
        let all: f64 = stage.shares.iter().sum();
        cells.push(format!("{:.1} %", 100.0 * all));
        cells.push(before.map_or(String::new(), |b| format!("{:+.1}", 100.0 * (all - b))));
        cells.push(text::number(stage.rates_pps(capacity_pps).iter().sum()));
        before = Some(all);
        rows.push(cells);
    }
    let mut out = text::columns(&rows);
    out +=
        "\nPackets/s are the shares of what flows get alone under the scenario's own MAC, in every world.\n";
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
