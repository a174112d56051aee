//! The report of a run.

use super::{Page, figures, gateway, head, provenance, tables, verdict, words};
use crate::chart::Figures;
use crate::outcome::Outcome;

/// Draws the results of a scenario's runs ([`Outcome::of_run`]) into one self-contained page. `command` is the line
/// that made it.
pub fn run_report(outcome: &Outcome, figures: &Figures, command: &str) -> String {
    let mut page = Page::default();
    head::head(&mut page, outcome, command);
    verdict::of_run(&mut page, outcome, command);
    figures::answer(&mut page, figures, command);
    head::about(&mut page, outcome);
    tables::tables(&mut page, outcome);
    figures::others(&mut page, figures, command);
    gateway::gateway(&mut page, outcome);
    words::glossary(&mut page);
    provenance(&mut page, outcome, command);
    page.whole(outcome)
}
