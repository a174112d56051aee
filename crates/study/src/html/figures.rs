//! The figures' places on a page: what is seen, what it is drawn from, and how it is made again.

use super::{Page, escape};
use crate::chart::Figures;
use serde_json::json;

pub(super) fn figures(page: &mut Page, all: &Figures, command: &str) {
    if all.figures.is_empty() {
        return;
    }
    page.section("figures", "Figures");
    for (index, chart) in all.figures.iter().enumerate() {
        let name = all.file_name(chart);
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
