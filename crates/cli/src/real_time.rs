//! Runs in real time, for people: how far to trust them.

use crate::terminal;
use evenair_results::{LiveRecord, RunRecord, Strays};
use std::fmt::Write as _;

/// The heading of such runs; nothing for simulated ones.
pub(crate) fn head(runs: &[RunRecord]) -> Option<String> {
    let LiveRecord { host, .. } = runs[0].live.as_ref()?;
    let count = if runs.len() == 1 { String::new() } else { format!(", means over {} runs", runs.len()) };
    Some(format!("{:.1} s measured in real time, over Linux {}{count}", runs[0].measured_s, host.kernel))
}

/// The notes under the tables of such runs; nothing for simulated ones.
pub(crate) fn as_text(runs: &[RunRecord]) -> String {
    let Some(LiveRecord { host, .. }) = &runs[0].live else { return String::new() };
    let simulated: Vec<&str> = (runs[0].flows.iter().map(|flow| flow.flow.as_str()))
        .filter(|flow| !host.real_flows.iter().any(|real| real == flow))
        .collect();
    let mut text = String::new();
    if !simulated.is_empty() {
        let _ = writeln!(
            text,
            "\nSimulated, as they ask for or since Linux has nothing like them: flows {}",
            simulated.join(", ")
        );
    }
    text += "\n";
    for (run, number) in runs.iter().zip(1..) {
        let Some(live) = &run.live else { continue };
        let which = if runs.len() == 1 { String::new() } else { format!("run {number}: ") };
        for failed in &live.host.failed_flows {
            terminal::warn(format_args!("{which}a connection could not be opened: flow {failed}"));
        }
        let _ = writeln!(text, "{which}{}", live.lateness.verdict());
        text += &beside(live.strays, live.host.backpressure);
    }
    text
}

/// Says of runs that print nothing where they are not to be trusted.
pub(crate) fn warn(runs: &[RunRecord]) {
    for live in runs.iter().filter_map(|run| run.live.as_ref()) {
        if live.lateness.is_late() {
            terminal::warn(live.lateness.verdict());
        }
        if live.strays.unread > 0 && !live.host.backpressure {
            terminal::warn(beside(live.strays, false).trim_end());
        }
    }
}

/// Packets that did not pass through the air.
fn beside(strays: Strays, held_back: bool) -> String {
    if strays == Strays::default() {
        return String::new();
    }
    let Strays { no_route, no_packet, hops_used_up, refused, unread } = strays;
    let verdict = if held_back {
        ", by devices that were full while their nodes held packets back"
    } else if unread > 0 {
        ": do not trust the figures of their senders"
    } else {
        ""
    };
    format!(
        "Beside the air: {no_route} packets without a route, {no_packet} that are no IP packets, {hops_used_up} without hops left, {refused} refused by their kernel, {unread} dropped before they were read{verdict}\n"
    )
}
