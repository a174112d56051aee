//! Starving flows, their causes, and remedies to try.

use super::Page;
use super::tables::Table;
use super::words::{escape, explained};
use crate::outcome::Outcome;
use evenair_results::digits::{self, exact};
use evenair_results::verdict::{FlowVerdict, Verdict};

/// The most sentences that are seen before the list is unfolded.
const SEEN: usize = 6;

/// The verdict on a run, before its figures; `command` is the line that made it.
pub(super) fn of_run(page: &mut Page, outcome: &Outcome, command: &str) {
    let Some(verdict) = outcome.variants.first().and_then(|variant| outcome.verdict(&variant.id)) else {
        return;
    };
    page.put(format_args!(
        "<section id=\"verdict\">\n<p class=\"lead\">{}</p>",
        explained(&verdict.headline)
    ));
    let told = verdict.told();
    let (seen, folded) = told.split_at(told.len().min(SEEN));
    sentences(page, seen);
    if !folded.is_empty() {
        page.put(format_args!("<details><summary>{} more</summary>", folded.len()));
        sentences(page, folded);
        page.body.push_str("</details>\n");
    }
    let commands = verdict.commands(&plain(command));
    if !commands.is_empty() {
        page.body.push_str("<p>To try:</p>\n<dl class=\"try\">\n");
        for (command, why) in commands {
            page.put(format_args!("<dt><code>{}</code></dt><dd>{}</dd>", escape(&command), explained(&why)));
        }
        page.body.push_str("</dl>\n");
    }
    page.body.push_str("</section>\n");
}

/// The flows' rates beside the fair optimum, among the page's tables.
pub(super) fn table(page: &mut Page, verdict: &Verdict) {
    let cells = |flow: &FlowVerdict| {
        let dash = || "–".to_string();
        let share = |share: f64| format!("{} %", digits::fixed(share * 100.0, 0));
        let cells = vec![
            exact(flow.rate_pps),
            flow.fair_pps.map_or_else(dash, exact),
            flow.share.map_or_else(dash, share),
            flow.standing.word().to_string(),
        ];
        (format!("flow {}", escape(&flow.flow)), cells)
    };
    let heads = ["packets/s while active", "fair optimum", "of it", ""];
    let without = verdict.without_fair.as_ref().map(|why| format!("The fair optimum is not solved: {why}."));
    Table {
        title: "Goodput beside the fair optimum".into(),
        note: escape(&without.unwrap_or_default()),
        first: String::new(),
        heads: heads.iter().map(|head| explained(head)).collect(),
        rows: verdict.flows.iter().map(cells).collect(),
    }
    .put(page);
}

/// The verdicts of a sweep's points.
pub(super) fn by_variant(page: &mut Page, outcome: &Outcome) {
    let verdicts = outcome.shape().filter_map(|(id, _)| Some((outcome.label(id), outcome.verdict(id)?)));
    let rows: Vec<(String, String)> = verdicts.map(|(label, verdict)| (label, verdict.headline)).collect();
    if rows.is_empty() {
        return;
    }
    page.section("verdict", "Starving flows");
    page.body.push_str("<dl class=\"try\">\n");
    for (label, headline) in rows {
        page.put(format_args!("<dt>{}</dt><dd>{}</dd>", escape(&label), explained(&headline)));
    }
    page.body.push_str("</dl>\n");
}

fn sentences(page: &mut Page, flows: &[&FlowVerdict]) {
    page.body.push_str("<ul>\n");
    for flow in flows {
        let sentence = flow.sentence.as_deref().unwrap_or_default();
        page.put(format_args!("<li>{}</li>", explained(sentence)));
    }
    page.body.push_str("</ul>\n");
}

/// The command without the options that say where its result and its messages go.
fn plain(command: &str) -> String {
    let mut words = Vec::new();
    let mut is_value = false;
    for word in command.split(' ') {
        let goes = word.starts_with("--report") || is_value || ["--out", "-q", "--quiet"].contains(&word);
        is_value = word == "--out";
        if !goes {
            words.push(word);
        }
    }
    words.join(" ")
}
