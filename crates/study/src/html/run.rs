//! The report of a run.

use super::{Page, figures, head, provenance, tables, words};
use crate::outcome::Outcome;

/// Draws what a scenario's runs show ([`Outcome::of_run`]) into one self-contained page. `command` is the line that made it, `gateway` a
/// text of what the gateway did, empty where there is none.
pub fn run_report(outcome: &Outcome, command: &str, gateway: &str) -> String {
    let mut page = Page::default();
    head::head(&mut page, outcome, command);
    tables::tables(&mut page, outcome);
    figures::figures(&mut page, outcome, command);
    if !gateway.is_empty() {
        page.section("gateway", "What the gateway did");
        page.put(format_args!("<pre>{}</pre>", words::escape(gateway)));
    }
    words::glossary(&mut page);
    provenance(&mut page, outcome, command);
    page.whole(outcome)
}
