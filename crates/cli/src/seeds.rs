//! Runs of several seeds: a row for each, and what they are in the mean.

use crate::text::{columns, number, row};
use evenair_study::digits;
use evenair_study::{Estimate, RunRecord};
use evenair_topology::jain_index;

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
