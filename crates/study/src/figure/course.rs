//! What changes over time.

use crate::chart::{
    Axis, Chart, Height, Key, Marks, Panel, Point, Series, Span, Symbol, Ticks, distinct, strokes,
};
use crate::outcome::VariantOutcome;
use crate::quantity::Quantity;

/// More names than this in one legend are of no use.
const NAMES_MAX: usize = 24;

/// A metric over time, of the first seed: a panel per variant, a line per flow.
pub(super) fn series(variants: &[&VariantOutcome], quantity: Quantity) -> Chart {
    let mut courses = Vec::new();
    for variant in variants {
        let run = &variant.runs[0];
        for (index, flow) in run.flows.iter().enumerate() {
            if let Some((times, values)) = quantity.course(run, index) {
                courses.push((variant, flow.flow.as_str(), times, values));
            }
        }
    }
    let times = Span::of(courses.iter().flat_map(|(_, _, times, _)| times.iter().copied()));
    let values = Span::of(courses.iter().flat_map(|(_, _, _, values)| values.iter().copied()));
    let x = Axis::of("time [s]", times.tight(), Ticks::Numbers);
    let y = Axis::of(quantity.label(), values.near_zero(), Ticks::Numbers);
    let (colours, dashes, shorten) = flow_keys(&distinct(courses.iter().map(|(_, flow, ..)| *flow)));
    let panel = |variant: &&VariantOutcome| {
        let mut panel = Panel::new(&variant.label, x.clone(), y.clone(), Height::Pixels(150.0));
        for (_, flow, times, values) in courses.iter().filter(|(v, ..)| v.id == variant.id) {
            let point = |(&x, &y): (&f64, &f64)| Point { x, y, interval: None };
            let points = times.iter().zip(values).map(point).collect();
            panel.series.push(Series {
                name: format!("flow {flow}"),
                colour: Some(name_of(flow, shorten)),
                dash: (!dashes.is_empty()).then(|| name_of(flow, shorten)),
                marks: Marks::Line { points, stepped: true, dotted: false },
            });
        }
        panel
    };
    Chart {
        note: "One run, that of the first seed.".into(),
        panels: variants.iter().map(panel).filter(|p| !p.series.is_empty()).collect(),
        colours,
        dashes,
        width: (460.0, 1000.0),
        ..Chart::default()
    }
}

/// Colours and dashes of flows, and whether they are called by what their names begin with, because they are too many.
fn flow_keys(flows: &[&str]) -> (Vec<Key>, Vec<Key>, bool) {
    let shorten = flows.len() > NAMES_MAX;
    let names: Vec<String> = flows.iter().map(|flow| name_of(flow, shorten)).collect();
    let names = distinct(names.iter().map(String::as_str));
    let (colours, dashes) = strokes(&names);
    let dashes = if names.len() > 8 { dashes } else { Vec::new() };
    (colours, dashes, shorten)
}

/// What a flow is called in a legend: "flow 3"; or the beginning of its name alone, "web" of "web-12".
fn name_of(flow: &str, shorten: bool) -> String {
    let begin = flow.trim_end_matches(|c: char| c.is_ascii_digit()).trim_end_matches(['-', '_', ' ']);
    match (shorten, begin.is_empty()) {
        (true, true) => "flows".into(),
        (true, false) => begin.into(),
        (false, _) => format!("flow {flow}"),
    }
}

/// Trajectories in the plane: a dot where each begins.
pub(super) fn phase(variants: &[&VariantOutcome], quantity: Quantity, against: Option<Quantity>) -> Chart {
    let (x_title, y_title) = match against {
        Some(other) => (other.label(), quantity.label()),
        None => (format!("flow 1: {}", quantity.label()), format!("flow 2: {}", quantity.label())),
    };
    let mut trajectories = Vec::new();
    for variant in variants {
        let run = &variant.runs[0];
        let (across, up) = match against {
            Some(other) => (other.course(run, 0), quantity.course(run, 0)),
            None => (quantity.course(run, 0), quantity.course(run, 1)),
        };
        let (Some((_, across)), Some((_, up))) = (across, up) else { continue };
        let point = |(&x, y): (&f64, f64)| Point { x, y, interval: None };
        trajectories.push((variant.label.as_str(), across.iter().zip(up).map(point).collect::<Vec<_>>()));
    }
    let span = |of: fn(&Point) -> f64| Span::of(trajectories.iter().flat_map(|(_, t)| t.iter().map(of)));
    let x = Axis::of(x_title, span(|p| p.x).near_zero(), Ticks::Numbers);
    let y = Axis::of(y_title, span(|p| p.y).near_zero(), Ticks::Numbers);
    let (colours, dashes) = strokes(&distinct(trajectories.iter().map(|(label, _)| *label)));
    let mut panel = Panel::new("", x, y, Height::Pixels(400.0));
    for (label, points) in trajectories {
        let at = points.first().map(|p| [p.x, p.y]).into_iter().collect();
        let line = Marks::Line { points, stepped: false, dotted: false };
        panel.series.push(Series {
            dash: (colours.len() > 8).then(|| label.into()),
            ..Series::coloured(label, label, line)
        });
        panel.series.push(Series::coloured(label, label, Marks::Symbols { symbol: Symbol::Dot, at }));
    }
    Chart {
        note: "Dots: where each begins.".into(),
        dashes: if colours.len() > 8 { dashes } else { Vec::new() },
        colours,
        panels: vec![panel],
        width: (300.0, 620.0),
        ..Chart::default()
    }
}
