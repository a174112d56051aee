//! The figures' places on a page: what is seen, what it is drawn from, and how it is made again.

use super::{Page, escape};
use crate::chart::file_name;
use crate::figure;
use crate::outcome::Outcome;
use serde_json::json;

pub(super) fn figures(page: &mut Page, outcome: &Outcome, command: &str) {
    let charts = figure::charts(outcome);
    if charts.is_empty() {
        return;
    }
    page.section("figures", "Figures");
    for (index, chart) in charts.iter().enumerate() {
        let name = file_name(&outcome.study.id, chart);
        page.body.push_str("<figure>\n");
        page.part(&format!("{}-{}", chart.name, index + 1), &chart.title);
        page.put(format_args!(
            "<div class=\"drawing\"><div id=\"figure-{index}\" class=\"chart\"></div></div>"
        ));
        page.put(format_args!(
            "<figcaption>{} <span class=\"data\" data-figure=\"{index}\"></span></figcaption>\n</figure>",
            escape(&chart.note)
        ));
        page.figures.push(json!({ "name": name, "command": command, "spec": chart.vega(&name) }));
    }
}
