//! The modes of frames under rate control.

use super::{columns, row};
use evenair_netsim::ModeResult;
use evenair_results::RunRecord;
use evenair_results::digits::exact;

/// A row per queue, next hop and mode, over all seeds; nothing, where no mode is chosen.
pub(super) fn table(runs: &[RunRecord], places: &[usize]) -> String {
    let mut rows = vec![row(&["queue", "to", "mode", "Mb/s", "% of frames", "% of packets acknowledged"])];
    for &i in places {
        let of_queue = || runs.iter().filter_map(|run| run.links.get(i)).flat_map(|link| &link.modes);
        let mut modes: Vec<&ModeResult> = Vec::new();
        for mode in of_queue() {
            if !modes.iter().any(|other| is_same(other, mode)) {
                modes.push(mode);
            }
        }
        modes.sort_by(|a, b| (&a.to, a.rate_bps).cmp(&(&b.to, b.rate_bps)));
        for mode in modes {
            let sum = |of: fn(&ModeResult) -> u64, is_counted: &dyn Fn(&ModeResult) -> bool| -> f64 {
                of_queue().filter(|other| is_counted(other)).map(of).sum::<u64>() as f64
            };
            let is_own = |other: &ModeResult| is_same(other, mode);
            let frames = sum(|m| m.frames, &is_own);
            let share = frames / sum(|m| m.frames, &|other| other.to == mode.to).max(1.0);
            let acknowledged = sum(|m| m.acknowledged, &is_own) / sum(|m| m.packets, &is_own).max(1.0);
            rows.push(vec![
                runs[0].links[i].queue.clone(),
                mode.to.clone(),
                mode.mode.clone(),
                exact(mode.rate_bps as f64 / 1e6),
                format!("{:.1}", 100.0 * share),
                format!("{:.1}", 100.0 * acknowledged),
            ]);
        }
    }
    if rows.len() > 1 { format!("\n{}", columns(&rows)) } else { String::new() }
}

fn is_same(one: &ModeResult, other: &ModeResult) -> bool {
    (&one.to, &one.mode) == (&other.to, &other.mode)
}
