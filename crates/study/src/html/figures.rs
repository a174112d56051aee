//! The figures' places on a page: what is seen, what it is drawn from, and how it is made again.

use super::{Page, escape, file_name};
use crate::figure;
use crate::language::{Figure, FigureKind};
use crate::metric::Metric;
use crate::outcome::Outcome;
use serde_json::json;

pub(super) fn figures(page: &mut Page, outcome: &Outcome, command: &str) {
    let study = &outcome.study;
    if study.figures.is_empty() {
        return;
    }
    page.section("figures", "Figures");
    for (index, drawn) in study.figures.iter().enumerate() {
        let name = format!("{}-{}", file_name(&study.id), file_name(&drawn.title));
        page.body.push_str("<figure>\n");
        page.part(&format!("figure-{}", index + 1), &drawn.title);
        page.put(format_args!("<div class=\"drawing\" data-figure=\"{index}\"></div>"));
        page.put(format_args!(
            "<figcaption>{} <span class=\"data\" data-figure=\"{index}\"></span></figcaption>\n</figure>",
            escape(note(drawn))
        ));
        page.figures.push(json!({
            "name": name,
            "command": command,
            "spec": figure::spec(outcome, drawn),
        }));
    }
}

/// How a figure is read.
fn note(figure: &Figure) -> &'static str {
    match figure.kind {
        FigureKind::Lines => {
            "Lines: means over seeds; bands: their 95 % intervals. Crosses: the paper's numbers; diamonds: numbers of another origin."
        }
        FigureKind::Spread => {
            "Ticks: one a seed. Dots: their means. Crosses: the paper's numbers; diamonds: numbers of another origin."
        }
        FigureKind::Bars if figure.quantity() == Metric::Goodput.into() => {
            "Bars: means over seeds, with their 95 % intervals. Ticks across: the fair optimum."
        }
        FigureKind::Bars => "Bars: means over seeds, with their 95 % intervals.",
        FigureKind::Series => "One run, that of the first seed.",
        FigureKind::Phase => "One run, that of the first seed; a dot where it begins.",
        FigureKind::Timeline => {
            "Frames on the air, a row per node, in one run; light: the short acknowledgement of each frame by its receiver. A lost frame is one that its receiver could not decode."
        }
        FigureKind::Ledger => {
            "Where the time of each flow's sender went, means over seeds: what it sent, what it waited for, whom it heard meanwhile."
        }
        FigureKind::ConflictGraph => "",
    }
}
