//! The report: one HTML file that works offline.

use crate::chart::file_name;
use crate::claim::Verdict;
use crate::figure;
use crate::language::{Reference, Summary};
use crate::outcome::Outcome;
use serde_json::Value;
use std::fmt::Write;

const STYLE: &str = include_str!("../assets/report.css");
/// The figures' runtime, vendored (see assets/README.md), and what lays them out.
const RUNTIME: [&str; 4] = [
    include_str!("../assets/vega.min.js"),
    include_str!("../assets/vega-lite.min.js"),
    include_str!("../assets/vega-embed.min.js"),
    include_str!("../assets/figures.js"),
];
const LICENCES: [&str; 3] = [
    include_str!("../assets/LICENSE-vega"),
    include_str!("../assets/LICENSE-vega-lite"),
    include_str!("../assets/LICENSE-vega-embed"),
];

/// Draws what a study found into one self-contained page; `command` is the line that made it.
pub fn report(outcome: &Outcome, command: &str) -> String {
    let mut page = String::with_capacity(1 << 20);
    let study = &outcome.study;
    let put = |page: &mut String, text: &str| page.push_str(text);
    put(&mut page, "<!doctype html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n");
    put(&mut page, "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n");
    let _ = writeln!(page, "<title>{}</title>\n<style>{STYLE}</style>\n<main>", escape(&study.title));
    let _ = writeln!(
        page,
        "<p class=\"source\">evenair · {} · {}</p>\n<h1>{}</h1>\n<p class=\"about\">{}</p>",
        escape(&study.id),
        escape(&study.source),
        escape(&study.title),
        escape(&study.about)
    );
    claims(&mut page, outcome);
    let charts = figure::charts(outcome);
    for (index, chart) in charts.iter().enumerate() {
        let (title, note) = (escape(&chart.title), escape(&chart.note));
        let _ = writeln!(
            page,
            "<figure><h2>{title}</h2><div id=\"figure-{index}\" class=\"chart\"></div><figcaption>{note}</figcaption></figure>"
        );
    }
    for summary in &study.tables {
        let _ = writeln!(page, "<h2>{}</h2>", escape(&summary.title));
        page.push_str(&summary_table(outcome, summary));
    }
    table(&mut page, outcome);
    provenance(&mut page, outcome, command);
    put(&mut page, "</main>\n");
    for script in RUNTIME {
        let _ = writeln!(page, "<script>{script}</script>");
    }
    put(&mut page, "<script>\n");
    for (index, chart) in charts.iter().enumerate() {
        let file = file_name(&study.id, chart);
        let _ = writeln!(page, "drawFigure('figure-{index}', {});", for_script(&chart.vega(&file)));
    }
    put(&mut page, "</script>\n</html>\n");
    page
}

fn claims(page: &mut String, outcome: &Outcome) {
    let _ = writeln!(
        page,
        "<h2>Claims: {}</h2>\n<p>A claim is decided where all of the 95 % interval is on one side.</p>\n<table><thead><tr><th></th><th>claim</th><th>measured</th><th>needed</th><th>paper</th></tr></thead><tbody>",
        outcome.tally()
    );
    for claim in &outcome.claims {
        let mark = match claim.verdict {
            Verdict::Holds => "✓",
            Verdict::Fails => "✗",
            Verdict::Undecided => "?",
        };
        let place = claim.place.as_ref().map(|p| format!("<br><small>{}</small>", escape(p)));
        let _ = writeln!(
            page,
            "<tr class=\"{0}\"><td title=\"{0}\">{mark}</td><td>{1}{2}</td><td class=\"n\">{3}</td><td class=\"n\">{4}</td><td class=\"n\">{5}</td></tr>",
            claim.verdict.name(),
            escape(&claim.claim),
            place.unwrap_or_default(),
            claim.measured.map_or("–".into(), |m| with_interval(m, claim.half_width)),
            claim.required,
            printed(claim.paper, claim.reference.as_ref())
        );
    }
    page.push_str("</tbody></table>\n");
}

/// Means with standard deviations over seeds in parentheses, and the paper's means below them.
fn summary_table(outcome: &Outcome, summary: &Summary) -> String {
    let mut page = String::from(
        "<p>Means over seeds, their standard deviations in parentheses.</p>\n<table><thead><tr><th></th>",
    );
    for metric in &summary.metrics {
        let _ = write!(page, "<th>{}</th>", metric.label());
    }
    page.push_str("</tr></thead><tbody>\n");
    for (label, cells) in outcome.summary(summary) {
        let _ = write!(page, "<tr><td>{}</td>", escape(&label));
        for cell in cells {
            let text = cell.map_or("–".into(), |cell| {
                let deviation = cell.deviation.map(|d| format!(" ({})", short(d))).unwrap_or_default();
                let paper = cell.paper.map(|p| format!("<br><small>paper {}</small>", short(p)));
                format!("{}{deviation}{}", short(cell.mean), paper.unwrap_or_default())
            });
            let _ = write!(page, "<td class=\"n\">{text}</td>");
        }
        page.push_str("</tr>\n");
    }
    page.push_str("</tbody></table>\n");
    page
}

fn table(page: &mut String, outcome: &Outcome) {
    let baseline = outcome.study.baseline.as_ref().map(|id| outcome.study.label_of(id));
    let extra =
        baseline.map(|label| format!("<th>minus {}, paired</th>", escape(&label))).unwrap_or_default();
    let _ = writeln!(
        page,
        "<h2>Table</h2>\n<table><thead><tr><th>variant</th><th>metric</th><th>flow</th><th>measured</th>{extra}<th>paper</th></tr></thead><tbody>"
    );
    for row in &outcome.table {
        let difference = match (extra.is_empty(), row.difference) {
            (true, _) => String::new(),
            (false, None) => "<td></td>".into(),
            (false, Some(d)) => format!("<td class=\"n\">{}</td>", with_interval(d.mean, d.half_width)),
        };
        let _ = writeln!(
            page,
            "<tr><td>{}</td><td>{}</td><td>{}</td><td class=\"n\">{}</td>{difference}<td class=\"n\">{}</td></tr>",
            escape(&outcome.label(&row.variant)),
            row.quantity.label(),
            escape(&row.flow),
            with_interval(row.mean, row.half_width),
            printed(row.paper, row.reference.as_ref())
        );
    }
    page.push_str("</tbody></table>\n");
}

fn provenance(page: &mut String, outcome: &Outcome, command: &str) {
    let study = &outcome.study;
    page.push_str("<h2>How this was made</h2>\n<ul>\n");
    let _ = writeln!(page, "<li>Command: <code>{}</code></li>", escape(command));
    let _ = writeln!(
        page,
        "<li>evenair {}, {} seeds per variant; intervals are 95 %, Student's t over seeds. The same version, scenario and seed give the same numbers on any machine.</li>",
        env!("CARGO_PKG_VERSION"),
        outcome.seeds
    );
    page.push_str("<li>The fair optimum maximises Σ −1/x over the capacity region without entropy; a link's capacity counts frames, acknowledgements and inter-frame spaces, and no back-off.</li>\n");
    for deviation in &study.deviations {
        let _ = writeln!(page, "<li>{}</li>", escape(deviation));
    }
    page.push_str("</ul>\n<details><summary>Every parameter of every variant</summary>\n<pre>");
    let json = outcome.to_json();
    page.push_str(&escape(&serde_json::to_string_pretty(&json["scenarios"]).unwrap_or_default()));
    page.push_str("</pre></details>\n<details><summary>Licences of the figures' runtime</summary><pre>");
    for licence in LICENCES {
        page.push_str(&escape(licence));
        page.push('\n');
    }
    page.push_str("</pre></details>\n");
}

/// Four significant digits.
pub(crate) fn short(x: f64) -> String {
    let digits = if x == 0.0 { 0 } else { (3 - x.abs().log10().floor() as i32).clamp(0, 6) };
    format!("{x:.*}", digits as usize)
}

/// The paper's number, and one of another origin with it.
fn printed(paper: Option<f64>, reference: Option<&Reference>) -> String {
    let paper = paper.map(short).unwrap_or_default();
    let Some(Reference { value, origin }) = reference else { return paper };
    let gap = if paper.is_empty() { "" } else { "<br>" };
    format!("{paper}{gap}<small>{} ({})</small>", short(*value), escape(origin))
}

fn with_interval(mean: f64, half_width: Option<f64>) -> String {
    match half_width {
        Some(half) => format!("{} ± {}", short(mean), short(half)),
        None => short(mean),
    }
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

/// JSON that may stand inside a script element.
fn for_script(value: &Value) -> String {
    value.to_string().replace("</", "<\\/")
}
