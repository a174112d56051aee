//! The verdict of runs, as text: which flows starve, why, and what to try.

use crate::terminal;
use crate::text::wrapped;
use evenair_results::digits::counted;
use evenair_results::verdict::{Standing, Verdict};
use std::fmt::Write;

/// The most flows that are told of, if not all are wanted.
const TOLD: usize = 5;

/// The headline, a sentence for each flow that gets little or is finished, and commands to try; `run` is the command that made the
/// runs.
pub(crate) fn as_text(verdict: &Verdict, run: &str, all: bool) -> String {
    let style = if verdict.starving > 0 { terminal::BAD } else { terminal::GOOD };
    let headline = wrapped("", &verdict.headline, terminal::width());
    let mut text = format!("{style}{}{style:#}\n", headline.trim_end());
    let told = verdict.told();
    let shown = if all { told.len() } else { told.len().min(TOLD) };
    for flow in &told[..shown] {
        text += &wrapped("  ", flow.sentence.as_deref().unwrap_or_default(), terminal::width());
    }
    if shown < told.len() {
        let rest = &told[shown..];
        let starving = rest.iter().filter(|flow| flow.standing == Standing::Starves).count();
        let more = counted(rest.len() as u64, "flow", "flows");
        let of_them = if starving > 0 { format!(", {starving} of which starve") } else { String::new() };
        let _ = writeln!(text, "  … {more} more{of_them} (--all)");
    }
    for (k, (command, why)) in verdict.commands(run).into_iter().enumerate() {
        text += if k == 0 { "try\n" } else { "" };
        let _ = writeln!(text, "  {command}");
        text += &wrapped("      ", &why, terminal::width());
    }
    text + "\n"
}
