//! The report: one HTML file that works offline.

use crate::figure;
use crate::metric::Metric;
use crate::outcome::Outcome;
use serde_json::Value;
use std::fmt::Write;

const STYLE: &str = include_str!("../assets/report.css");
/// The figures' runtime, vendored: see assets/README.md.
const RUNTIME: [&str; 3] = [
    include_str!("../assets/vega.min.js"),
    include_str!("../assets/vega-lite.min.js"),
    include_str!("../assets/vega-embed.min.js"),
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
    for (index, figure) in study.figures.iter().enumerate() {
        let note = match figure.metric {
            Some(_) if matches!(figure.kind, crate::FigureKind::Lines) => {
                "Lines: means over seeds, bands their 95 % intervals. Crosses: the paper's numbers."
            }
            Some(_) if matches!(figure.kind, crate::FigureKind::Spread) => {
                "Ticks: seeds. Dots: their means. Crosses: the paper's numbers."
            }
            Some(Metric::Goodput) if matches!(figure.kind, crate::FigureKind::Bars) => {
                "Bars: mean over seeds, with its 95 % interval. Black ticks: the fair optimum."
            }
            _ => "",
        };
        let title = escape(&figure.title);
        let _ = writeln!(
            page,
            "<figure><h2>{title}</h2><div id=\"figure-{index}\"></div><figcaption>{note}</figcaption></figure>"
        );
    }
    table(&mut page, outcome);
    provenance(&mut page, outcome, command);
    put(&mut page, "</main>\n");
    for script in RUNTIME {
        let _ = writeln!(page, "<script>{script}</script>");
    }
    put(&mut page, "<script>\n");
    for (index, figure) in study.figures.iter().enumerate() {
        let spec = for_script(&figure::spec(outcome, figure));
        let _ = writeln!(
            page,
            "vegaEmbed('#figure-{index}', {spec}, {{renderer: 'svg', actions: {{export: true, source: false, compiled: false, editor: false}}}}).catch(e => {{ document.querySelector('#figure-{index}').textContent = e; }});"
        );
    }
    put(&mut page, "</script>\n</html>\n");
    page
}

fn claims(page: &mut String, outcome: &Outcome) {
    let held = outcome.claims.iter().filter(|c| c.holds).count();
    let _ = writeln!(
        page,
        "<h2>Claims: {held} of {} hold</h2>\n<table><thead><tr><th></th><th>claim</th><th>measured</th><th>needed</th><th>paper</th></tr></thead><tbody>",
        outcome.claims.len()
    );
    for claim in &outcome.claims {
        let (class, mark) = if claim.holds { ("holds", "✓") } else { ("fails", "✗") };
        let _ = writeln!(
            page,
            "<tr class=\"{class}\"><td>{mark}</td><td>{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td></tr>",
            escape(&claim.claim),
            claim.measured.map_or("–".into(), |m| with_interval(m, claim.half_width)),
            claim.required,
            claim.paper.map_or(String::new(), short)
        );
    }
    page.push_str("</tbody></table>\n");
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
            row.metric.label(),
            escape(&row.flow),
            with_interval(row.mean, row.half_width),
            row.paper.map_or(String::new(), short)
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
