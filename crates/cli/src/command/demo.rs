//! `evenair demo`.

use super::study::conduct;
use crate::interrupt;
use crate::output::{Force, print};
use crate::text;
use anyhow::Result;
use clap::Args;
use evenair_study::{Outcome, Study, Sweep};
use std::path::PathBuf;

#[derive(Debug, Args)]
#[command(after_help = "Writes DIR/report.html, result.json, tables and a manifest.\n\
    Runs that are finished are kept: running again does only what is missing.")]
pub(crate) struct DemoOptions {
    /// Where results go
    #[arg(long, value_name = "DIR", default_value = "evenair-results/demo")]
    pub(crate) out: PathBuf,
    #[command(flatten)]
    pub(crate) force: Force,
    /// Fewer seeds and shorter runs
    #[arg(long)]
    pub(crate) quick: bool,
    /// Print the result as JSON instead of text
    #[arg(long)]
    pub(crate) json: bool,
}

pub(crate) fn demo(options: &DemoOptions) -> Result<()> {
    let output = options.force.prepare(&options.out)?;
    interrupt::watch();
    let study = Study::builtin("demo")?;
    let sweep = Sweep::new(&study, options.quick)?;
    let command = if options.quick { "evenair demo --quick" } else { "evenair demo" };
    let outcome = conduct(&sweep, study, output, command, false)?;
    if options.json {
        return print(&format!("{}\n", outcome.to_json()));
    }
    print(&text::outcome(&outcome))?;
    print(&starvation_story(&outcome))?;
    print(&format!("\nReport with figures: {}\n", options.out.join("report.html").display()))
}

/// Why flow 2 starves, from the ledger, in a few lines.
fn starvation_story(outcome: &Outcome) -> String {
    let mut lines = String::from("\nwhere the time of flow 2's sender goes\n");
    let mut rows: Vec<Vec<String>> = Vec::new();
    for (variant, _) in outcome.shape() {
        let parts = outcome.ledger(variant, "2");
        if rows.is_empty() {
            let head = [""].into_iter().map(String::from).chain(parts.iter().map(|(part, _)| part.clone()));
            rows.push(head.collect());
        }
        let cells = parts.iter().map(|(_, share)| format!("{:.1} %", share * 100.0));
        rows.push([outcome.label(variant)].into_iter().chain(cells).collect());
    }
    lines.push_str(&text::columns(&rows));
    lines
}
