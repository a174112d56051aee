//! A bar per flow and variant.

use crate::chart::{Axis, Bar, Chart, Height, Marks, Panel, Series, Span, Ticks, distinct, fills, wrapped};
use crate::metric::Metric;
use crate::outcome::{Outcome, VariantOutcome};
use crate::quantity::Quantity;

/// The widest that upright bars and their words may be \[px\]; where they need more, they lie.
const WIDEST: f64 = 560.0;
/// The narrowest panel \[px\].
const NARROWEST: f64 = 240.0;
/// How much of the room of one flow its bars take.
const FILLED: f64 = 0.8;

/// What is known of one bar.
struct Known<'a> {
    group: &'a str,
    label: &'a str,
    flow: &'a str,
    mean: f64,
    interval: Option<(f64, f64)>,
    optimum: Option<f64>,
}

pub(super) fn bars(outcome: &Outcome, variants: &[&VariantOutcome], quantity: Quantity) -> Chart {
    let known = known(outcome, variants, quantity);
    let with_optimum = known.iter().any(|k| k.optimum.is_some());
    let values = known.iter().flat_map(|k| {
        let (low, high) = k.interval.unwrap_or((k.mean, k.mean));
        [Some(low), Some(high), k.optimum].into_iter().flatten()
    });
    let scale = Axis::of(quantity.label(), Span::of(values).with_zero(), Ticks::Numbers);
    let labels = distinct(variants.iter().map(|v| v.label.as_str()));
    let groups = distinct(known.iter().map(|k| k.group));
    // As wide as the panel with most bars needs.
    let need = |group: &&str| {
        let flows = distinct(known.iter().filter(|k| k.group == *group).map(|k| k.flow));
        let letters = flows.iter().map(|f| f.chars().count()).max().unwrap_or(0) as f64;
        (flows.len() as f64) * f64::max(7.0 * letters + 8.0, 7.0 * labels.len() as f64 + 6.0)
    };
    let need = groups.iter().map(need).fold(0.0, f64::max);
    let lying = need > WIDEST;
    let panel = |group: &&str| {
        let here: Vec<&Known> = known.iter().filter(|k| k.group == *group).collect();
        panel(group, &here, &scale, lying)
    };
    Chart {
        note: note(with_optimum, known.iter().any(|k| k.interval.is_some())),
        colours: fills(&labels),
        panels: groups.iter().map(panel).collect(),
        width: (if lying { 280.0 } else { need.max(NARROWEST) }, 900.0),
        ..Chart::default()
    }
}

fn note(with_optimum: bool, with_intervals: bool) -> String {
    let bars = if with_intervals { "Bars: means over seeds, with their 95 % intervals." } else { "" };
    let ticks = if with_optimum { "Strokes across bars: the fair optimum." } else { "" };
    format!("{bars} {ticks}").trim().into()
}

fn known<'a>(outcome: &Outcome, variants: &[&'a VariantOutcome], quantity: Quantity) -> Vec<Known<'a>> {
    let with_optimum = quantity == Metric::Goodput.into();
    let mut known = Vec::new();
    for variant in variants {
        for flow in variant.flow_names() {
            let Some(estimate) = outcome.estimate(&variant.id, quantity, Some(flow)) else { continue };
            let optimum = || outcome.estimate(&variant.id, Metric::Optimum, Some(flow)).map(|e| e.mean);
            known.push(Known {
                group: &variant.group,
                label: &variant.label,
                flow,
                mean: estimate.mean,
                interval: super::interval(estimate.mean, estimate.half_width),
                optimum: with_optimum.then(optimum).flatten(),
            });
        }
    }
    known
}

fn panel(group: &str, here: &[&Known], scale: &Axis, lying: bool) -> Panel {
    let flows = distinct(here.iter().map(|k| k.flow));
    let labels = distinct(here.iter().map(|k| k.label));
    let words = Axis::of_words("flow", flows.iter().map(|f| wrapped(f, 24)).collect());
    let mut panel = if lying {
        let height = flows.len() as f64 * (labels.len() as f64 * 8.0 + 5.0).max(15.0);
        Panel::new(group, scale.clone(), words.downwards(), Height::Pixels(height))
    } else {
        Panel::new(group, words, scale.clone(), Height::Pixels(260.0))
    };
    let thick = FILLED / labels.len() as f64;
    let sides = |k: &Known| {
        let position = |all: &[&str], one: &str| all.iter().position(|o| *o == one).unwrap_or(0) as f64;
        let begin = position(&flows, k.flow) - FILLED / 2.0 + thick * position(&labels, k.label);
        (begin, begin + thick)
    };
    for label in &labels {
        let of_label = here.iter().filter(|k| k.label == *label);
        let bar = |k: &&Known| Bar {
            of: k.flow.into(),
            sides: sides(k),
            from: 0.0,
            to: k.mean,
            interval: k.interval,
        };
        let bars = of_label.map(bar).collect();
        panel.series.push(Series::coloured(*label, *label, Marks::Bars { bars, lying }));
    }
    let stroke = |k: &&Known| {
        let ((a, b), at) = (sides(k), k.optimum?);
        Some(if lying { [at, a, at, b] } else { [a, at, b, at] })
    };
    let segments: Vec<[f64; 4]> = here.iter().filter_map(stroke).collect();
    if !segments.is_empty() {
        panel.series.push(Series::ink("fair optimum", Marks::Segments { segments, thick: 2.5 }));
    }
    panel
}
