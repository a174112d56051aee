//! Runs of several seeds: a row for each, and their means.

use crate::text::{columns, number, row};
use evenair_results::document::RunMeans;
use evenair_results::{Estimate, digits};

/// The most seeds that are printed, and the most flows beside the total.
const ROWS_MAX: usize = 40;
const FLOWS_MAX: usize = 12;

/// A table of goodputs, a row per seed; nothing for a single one, or where there are no flows.
pub(crate) fn as_text(means: &RunMeans) -> String {
    let RunMeans { flows, seeds, .. } = means;
    if seeds.len() < 2 || flows.is_empty() {
        return String::new();
    }
    let flows = if flows.len() > FLOWS_MAX { &[] } else { flows.as_slice() };
    let mut rows = vec![row(&["seed", "total", "Jain's index"])];
    rows[0].extend(flows.iter().map(|flow| format!("flow {}", flow.flow)));
    for seed in seeds.iter().take(ROWS_MAX) {
        let mut cells = vec![seed.seed.to_string(), number(seed.goodput_pps), number(seed.jain)];
        cells.extend(seed.flows_pps[..flows.len()].iter().map(|x| number(*x)));
        rows.push(cells);
    }
    let mean = |of: &Estimate| digits::measured(of.mean, of.half_width);
    let mut cells = vec!["mean".into(), mean(&means.goodput_pps), mean(&means.jain)];
    cells.extend(flows.iter().map(|flow| mean(&flow.goodput_pps)));
    rows.push(cells);
    let more = seeds.len().saturating_sub(ROWS_MAX);
    let more =
        if more > 0 { format!("  … {more} more (--json and --out have all)\n") } else { String::new() };
    format!("\ngoodput [packets/s] seed by seed\n{}{more}", columns(&rows))
}
