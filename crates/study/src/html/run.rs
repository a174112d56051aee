//! The report of a run.

use super::words::percent_encoded;
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
    playground(&mut page, outcome);
    head::about(&mut page, outcome);
    tables::tables(&mut page, outcome);
    figures::others(&mut page, figures, command);
    gateway::gateway(&mut page, outcome);
    words::glossary(&mut page);
    provenance(&mut page, outcome, command);
    page.whole(outcome)
}

/// A way to the playground that needs neither a site nor the file that was run: the scenario is in the page.
fn playground(page: &mut Page, outcome: &Outcome) {
    let written = outcome.scenarios().next().and_then(|(_, scenario)| scenario.to_toml().ok());
    let Some(scenario) = written else { return };
    page.put(format_args!(
        "<p>Move the nodes and watch each frame: <a download=\"scenario.toml\" href=\"data:application/toml,{}\">save the scenario</a>, and \
         open it in a browser with <code>evenair play scenario.toml</code>.</p>",
        percent_encoded(&scenario)
    ));
}
