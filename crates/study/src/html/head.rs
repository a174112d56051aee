//! A page's subject in plain words: its headline with the verdict on it, and, behind the figure that answers, the rest.

use super::Page;
use super::words::{escape, explained};
use crate::outcome::Outcome;
use crate::papers::Paper;
use std::collections::BTreeSet;

pub(super) fn head(page: &mut Page, outcome: &Outcome, command: &str) {
    let study = &outcome.study;
    let verb = command.split_whitespace().nth(1).unwrap_or("study");
    page.contents.push(("top".into(), "Summary".into(), false));
    page.put(format_args!(
        "<header id=\"top\">\n<p class=\"source\">evenair {} {}</p>",
        escape(verb),
        escape(if study.id == verb { "" } else { study.id.trim_start_matches("sweep of ") })
    ));
    page.put(format_args!("<h1>{}</h1>", escape(&outcome.headline())));
    if !outcome.claims.is_empty() {
        page.put(format_args!("<p>{}</p>", verdicts(outcome)));
    }
    if let Some(why) = outcome.cannot_judge() {
        page.put(format_args!("<p>{}</p>", escape(&why)));
    }
    page.body.push_str("</header>\n");
}

/// The question, the paper that it is of, and the scenarios computed.
pub(super) fn about(page: &mut Page, outcome: &Outcome) {
    let study = &outcome.study;
    if !study.about.is_empty() {
        page.put(format_args!("<p class=\"about\">{}</p>", explained(study.about.trim())));
    }
    page.body.push_str("<dl class=\"facts\">\n");
    let mut fact = |name: &str, text: String| page.put(format_args!("<dt>{name}</dt><dd>{text}</dd>"));
    for paper in Paper::cited(&study.source) {
        fact("Paper", format!("{}<br><small>{}</small>", escape(&paper.to_string()), escape(paper.about)));
    }
    if !study.source.is_empty() {
        fact("Source", escape(&study.source));
    }
    fact("Computed", escape(&computed(outcome)));
    if let Some(text) = outcome.in_real_time() {
        fact("In real time", escape(&text));
    }
    page.body.push_str("</dl>\n");
}

/// The verdicts on the claims that the headline sums up, beside the headline's own statement.
fn verdicts(outcome: &Outcome) -> String {
    let tally = outcome.tally();
    let chip = |class: &str, count: usize, what: &str| {
        if count == 0 {
            String::new()
        } else {
            format!("<a class=\"chip {class}\" href=\"#claims\">{count} {what}</a> ")
        }
    };
    let all = match tally.all() {
        1 => "of the one claim behind this headline".into(),
        all => format!("of the {all} claims behind this headline"),
    };
    let none = if tally.hold == 0 { ", none of which holds" } else { "" };
    format!(
        "{}{}{}<small>{all}{none}</small>",
        chip("holds", tally.hold, if tally.hold == 1 { "holds" } else { "hold" }),
        chip("fails", tally.fail, if tally.fail == 1 { "fails" } else { "fail" }),
        chip("undecided", tally.undecided, "undecided"),
    )
}

/// How many variants and seeds, and for how long.
fn computed(outcome: &Outcome) -> String {
    let count = outcome.study.variants.len();
    let variants = if count == 1 { "one network".into() } else { format!("{count} variants") };
    let packets: Vec<_> = outcome
        .study
        .variants
        .iter()
        .zip(&outcome.variants)
        .filter(|(variant, _)| variant.world.has_packets())
        .map(|(_, found)| found.scenario().settings())
        .collect();
    if packets.is_empty() {
        return format!("{variants}, from equations: no packet is simulated");
    }
    let times: BTreeSet<_> = packets.iter().map(|s| (s.duration.to_string(), s.warmup.to_string())).collect();
    let mut text = format!("{variants}, packet by packet, {} each", seeds(outcome));
    if let (1, Some((duration, warmup))) = (times.len(), times.first()) {
        text += &format!("; {duration} of simulated time are measured, after {warmup} of warm-up");
    }
    if packets.len() < count {
        text += &format!("; {} of them from equations", count - packets.len());
    }
    text
}

/// "one seed", "10 seeds", "10 to 40 seeds".
pub(super) fn seeds(outcome: &Outcome) -> String {
    let runs = outcome.variants.iter().filter(|v| v.is_random).map(|v| v.runs.len());
    let (least, most) = (runs.clone().min().unwrap_or(1), runs.max().unwrap_or(1));
    match (least, most) {
        (1, 1) => "one seed".into(),
        _ if least == most => format!("{most} seeds"),
        _ => format!("{least} to {most} seeds"),
    }
}
