//! The verdict of runs, as text: starving flows, their causes, and remedies to try.

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
        let more = counted(rest.len() as u64, "more flow", "more flows");
        let of_them = if starving > 0 { format!(", {starving} starving") } else { String::new() };
        let _ = writeln!(text, "  … {more}{of_them} (--all)");
    }
    for (k, (command, why)) in verdict.commands(run).into_iter().enumerate() {
        text += if k == 0 { "try\n" } else { "" };
        text += &folded(&command, terminal::width());
        text += &wrapped("      ", &why, terminal::width());
    }
    text + "\n"
}

/// A command in lines of a width, as far as its options allow, of which each but the last ends as a shell takes it.
fn folded(command: &str, width: usize) -> String {
    let mut lines: Vec<String> = Vec::new();
    for (index, part) in command.split(" --set ").enumerate() {
        let part = if index == 0 { part.to_string() } else { format!("--set {part}") };
        match lines.last_mut() {
            Some(line) if line.chars().count() + part.chars().count() + 5 <= width => {
                line.push(' ');
                line.push_str(&part);
            }
            _ => lines.push(part),
        }
    }
    format!("  {}\n", lines.join(" \\\n      "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_command_goes_on_in_the_next_line() {
        let command = "evenair run a --set b=1 --set 'c=2 s'";
        assert_eq!(folded(command, 80), format!("  {command}\n"));
        assert_eq!(folded(command, 30), "  evenair run a --set b=1 \\\n      --set 'c=2 s'\n");
    }
}
