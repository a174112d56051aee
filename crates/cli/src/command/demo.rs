//! `evenair demo`.

use super::study::conduct;
use crate::interrupt;
use crate::output::{Place, print};
use crate::progress::Bar;
use crate::{terminal, text};
use anyhow::Result;
use clap::Args;
use evenair_results::digits::{self, counted};
use evenair_results::document::document;
use evenair_study::document::StudyDocument;
use evenair_study::{Metric, Outcome, Progress as _, Row, Study, Sweep};

#[derive(Debug, Args)]
#[command(
    after_help = "Writes into DIR (by default evenair-results/demo) report.html, result.json, figures.json, tables and a manifest.\n\
    Finished runs are kept: running again does only the missing ones.\n\n\
    Example:\n  \
    evenair demo --quick"
)]
pub(crate) struct DemoOptions {
    #[command(flatten)]
    pub(crate) place: Place,
    /// Fewer seeds and shorter runs
    #[arg(long)]
    pub(crate) quick: bool,
    /// Print the result as JSON instead of text
    #[arg(long)]
    pub(crate) json: bool,
}

pub(crate) fn demo(options: &DemoOptions) -> Result<()> {
    let folder = options.place.or("evenair-results/demo");
    let output = options.place.prepare_at(&folder, &super::study::writes())?;
    interrupt::watch();
    let study = Study::builtin("demo")?;
    let sweep = Sweep::new(&study, options.quick)?;
    let command = if options.quick { "evenair demo --quick" } else { "evenair demo" };
    let bar = Bar::new(&study.id);
    bar.expected(sweep.work());
    let outcome = conduct(&sweep, study, output, command, false, &bar)?;
    drop(bar);
    if options.json {
        return print(&format!("{}\n", document("demo", &StudyDocument::of(&outcome))));
    }
    print(&shown(&outcome))?;
    let report = folder.join("report.html");
    print(&format!(
        "\nReport with figures: {}\nWords: evenair glossary. This network with laws of your choice: evenair run chen10/a --help\n",
        report.display()
    ))
}

/// The flow that the demo is about.
const STARVED: &str = "2";

/// The demo's result, explained to a reader that knows TCP.
fn shown(outcome: &Outcome) -> String {
    let study = &outcome.study;
    let mut out = format!("\n{}\n\n", outcome.headline());
    out += &text::wrapped("", &study.about, terminal::width());
    let goodput = Metric::Goodput.into();
    let flows: Vec<&str> = outcome.shape().next().map(|(_, flows)| flows).unwrap_or_default();
    out += &format!(
        "\ngoodput [packets/s], mean over {} ± half of the 95 % interval\n{}",
        counted(outcome.seeds, "seed", "seeds"),
        text::quantity_table(outcome, goodput, &flows)
    );
    out += &format!("\nwhere the time of flow {STARVED}'s sender goes\n{}\n", ledger(outcome));
    for (variant, _) in outcome.shape() {
        out += &text::wrapped("  ", &sentence(outcome, variant).unwrap_or_default(), terminal::width());
    }
    out + &text::claims(outcome)
}

/// A row per part of the time, a column per variant.
fn ledger(outcome: &Outcome) -> String {
    let columns: Vec<_> = outcome
        .shape()
        .map(|(variant, _)| (outcome.label(variant), outcome.ledger(variant, STARVED)))
        .collect();
    let head = columns.iter().map(|(label, _)| label.clone());
    let mut rows = vec![std::iter::once(String::new()).chain(head).collect::<Vec<_>>()];
    for (k, (part, _)) in columns[0].1.iter().enumerate() {
        let name = if part == BLOCKED { "waits for others".into() } else { part.clone() };
        let shares = columns.iter().map(|(_, parts)| digits::percent(parts[k].1));
        rows.push(std::iter::once(name).chain(shares).collect());
    }
    text::columns(&rows)
}

/// The ledger's name of the time in which others are heard.
const BLOCKED: &str = "blocked";

/// The verdict on one variant, and the starved flow's reason.
fn sentence(outcome: &Outcome, variant: &str) -> Option<String> {
    let verdict = outcome.verdict(variant)?;
    let mut text = format!("{}: {}", outcome.label(variant), verdict.headline);
    let starved = verdict.flows.iter().find(|flow| flow.flow == STARVED);
    if let Some(reason) = starved.and_then(|flow| flow.sentence.as_deref()) {
        text += &format!(" {reason}");
    }
    let spread = |row: &Row| row.half_width.is_some_and(|half| half > row.mean / 2.0);
    if outcome.row(variant, Some(STARVED), Metric::Goodput).is_some_and(spread) {
        text += " Its goodput differs much from seed to seed.";
    }
    Some(text)
}
