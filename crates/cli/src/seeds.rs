//! Runs of several seeds: a row for each, and what they are in the mean.

use crate::output::document;
use crate::text::{columns, number, row};
use evenair_netsim::FlowResult;
use evenair_study::digits;
use evenair_study::{Estimate, RunRecord};
use evenair_topology::jain_index;
use serde_json::{Value, json};

/// The most seeds that are printed, and the most flows beside the total.
const ROWS_MAX: usize = 40;
const FLOWS_MAX: usize = 12;

fn goodputs(run: &RunRecord) -> Vec<f64> {
    run.flows.iter().map(|flow| flow.goodput_pps).collect()
}

fn total(run: &RunRecord) -> f64 {
    goodputs(run).iter().sum()
}

/// Jain's index of the goodputs; 0 where nothing was delivered.
fn jain(run: &RunRecord) -> f64 {
    jain_index(&goodputs(run)).unwrap_or(0.0)
}

fn estimate(runs: &[RunRecord], of: impl Fn(&RunRecord) -> f64) -> Estimate {
    Estimate::from_samples(&runs.iter().map(of).collect::<Vec<_>>())
}

/// A table of goodputs, a row per seed; nothing for a single one.
pub(crate) fn as_text(runs: &[RunRecord]) -> String {
    if runs.len() < 2 {
        return String::new();
    }
    let flows = if runs[0].flows.len() > FLOWS_MAX { 0 } else { runs[0].flows.len() };
    let mut rows = vec![row(&["seed", "total", "Jain's index"])];
    rows[0].extend(runs[0].flows[..flows].iter().map(|flow| format!("flow {}", flow.flow)));
    for run in runs.iter().take(ROWS_MAX) {
        let mut cells = vec![run.seed.to_string(), number(total(run)), number(jain(run))];
        cells.extend(goodputs(run)[..flows].iter().map(|x| number(*x)));
        rows.push(cells);
    }
    let mean = |of: &dyn Fn(&RunRecord) -> f64| {
        let Estimate { mean, half_width } = estimate(runs, of);
        digits::measured(mean, half_width)
    };
    let mut cells = vec!["mean".into(), mean(&total), mean(&jain)];
    cells.extend((0..flows).map(|f| mean(&|run| run.flows[f].goodput_pps)));
    rows.push(cells);
    let more = runs.len().saturating_sub(ROWS_MAX);
    let more =
        if more > 0 { format!("  … {more} more (--json and --out have all)\n") } else { String::new() };
    format!("\ngoodput [packets/s] seed by seed\n{}{more}", columns(&rows))
}

/// Means over seeds with their intervals, and each seed.
pub(crate) fn as_json(scenario: &str, runs: &[RunRecord]) -> Value {
    let mean = |of: &dyn Fn(&RunRecord) -> f64| {
        let Estimate { mean, half_width } = estimate(runs, of);
        json!({ "mean": mean, "half_width_95": half_width })
    };
    let flows = runs[0].flows.iter().enumerate().map(|(f, flow)| {
        let of = |of: &dyn Fn(&FlowResult) -> f64| mean(&|run| of(&run.flows[f]));
        let round_trip = flow.round_trip_s.map(|_| of(&|flow| flow.round_trip_s.unwrap_or(0.0)));
        json!({
            "flow": flow.flow,
            "goodput_pps": of(&|flow| flow.goodput_pps),
            "goodput_bps": of(&|flow| flow.goodput_bps),
            "round_trip_s": round_trip,
            "connections": of(&|flow| flow.connections),
            "congestion_window": of(&|flow| flow.congestion_window),
            "retransmitted": of(&|flow| flow.retransmitted as f64),
            "timeouts": of(&|flow| flow.timeouts as f64),
        })
    });
    let seeds = runs.iter().map(|run| {
        json!({
            "seed": run.seed, "fingerprint": run.fingerprint, "goodput_pps": total(run), "jain": jain(run),
            "flows_pps": goodputs(run),
        })
    });
    let content = json!({
        "scenario": scenario,
        "measured_s": runs[0].measured_s,
        "flows": flows.collect::<Vec<_>>(),
        "goodput_pps": mean(&total),
        "goodput_bps": mean(&|run| run.flows.iter().map(|flow| flow.goodput_bps).sum()),
        "jain": mean(&jain),
        "seeds": seeds.collect::<Vec<_>>(),
    });
    document("run", content)
}
