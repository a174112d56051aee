//! The figures' places on a page: the picture, its data, and the command that draws it again.

use super::{Page, escape};
use crate::chart::{Chart, Figures};
use serde_json::{Value, json};

/// The first figure, which answers the page's question.
pub(super) fn answer(page: &mut Page, all: &Figures, command: &str) {
    all.figures.iter().take(1).for_each(|chart| figure(page, all, chart, command));
}

/// All other figures.
pub(super) fn others(page: &mut Page, all: &Figures, command: &str) {
    if all.figures.len() > 1 {
        page.section("figures", "Figures");
    }
    all.figures.iter().skip(1).for_each(|chart| figure(page, all, chart, command));
}

fn figure(page: &mut Page, all: &Figures, chart: &Chart, command: &str) {
    let (index, name) = (page.figures.len(), all.file_name(chart));
    page.body.push_str("<figure>\n");
    page.part(&format!("{}-{}", chart.name, index + 1), &chart.title);
    page.put(format_args!("<div class=\"drawing\" data-figure=\"{index}\">\n{}</div>", chart.svg_within()));
    moments(page, chart);
    page.put(format_args!(
        "<figcaption>{} <span class=\"data\" data-figure=\"{index}\"></span></figcaption>\n</figure>",
        escape(&chart.note)
    ));
    page.figures.push(json!({ "name": name, "command": command, "panels": short(json!(chart.panels)) }));
}

/// The same figure at other instants, which the page's script shows one by one; without it the first stands alone.
fn moments(page: &mut Page, chart: &Chart) {
    if chart.moments.is_empty() {
        return;
    }
    page.body.push_str("<div class=\"moments\">\n");
    for moment in &chart.moments {
        let then = Chart { panels: moment.panels.clone(), moments: Vec::new(), ..chart.clone() };
        page.put(format_args!(
            "<div class=\"drawing\" data-time=\"{}\" hidden>\n{}</div>",
            moment.time_s,
            then.svg_in_text(MOMENT_WIDTH)
        ));
    }
    page.body.push_str("</div>\n");
}

/// The width for which a moment's figure is laid out \[px\].
const MOMENT_WIDTH: f64 = 800.0;

/// The same with no more digits than can be seen.
fn short(mut value: Value) -> Value {
    match &mut value {
        Value::Number(number) => {
            if let Some(x) = number.as_f64().filter(|x| *x != 0.0) {
                let scale = 10f64.powi(6 - x.abs().log10().floor() as i32);
                let x = if scale.is_finite() { (x * scale).round() / scale } else { x };
                value = if x.fract() == 0.0 && x.abs() < 1e15 { json!(x as i64) } else { json!(x) };
            }
        }
        Value::Array(values) => values.iter_mut().for_each(|value| *value = short(value.take())),
        Value::Object(object) => object.values_mut().for_each(|value| *value = short(value.take())),
        _ => (),
    }
    value
}
