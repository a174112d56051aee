//! A gateway's grants and throughput.

use super::course::{LINES_MAX, NAMES_MAX, thinned};
use crate::chart::{Axis, Chart, Height, Marks, Panel, Point, STROKES, Series, Span, Ticks, strokes};
use crate::outcome::VariantOutcome;
use evenair_results::{GatewayColumns, is_limit};

/// Of a class at each look [kb/s].
type Rates = fn(&GatewayColumns, usize) -> Vec<f64>;

/// The columns told of a class at each look of a gateway, and their titles.
const TOLD: [(&str, Rates); 2] = [("allowed", allowed), ("passed", passed)];

/// Each class's grant and throughput over time, of the first seed: two panels per variant, a line per class.
pub(super) fn gateways(variants: &[&VariantOutcome]) -> Chart {
    let seen: Vec<(&str, &GatewayColumns)> = variants
        .iter()
        .filter_map(|v| Some((v.label.as_str(), v.runs[0].gateway.as_ref()?.series.as_ref()?)))
        .collect();
    let names: Vec<&str> = match seen.first() {
        Some((_, columns)) => columns.classes.iter().map(|class| class.class.as_str()).collect(),
        None => Vec::new(),
    };
    let crowded = names.len() > NAMES_MAX;
    let (colours, dashes) = strokes(if crowded { &["classes"] } else { &names });
    let dashes = if colours.len() > STROKES { dashes } else { Vec::new() };
    let mut lines = Vec::new();
    for (label, columns) in &seen {
        for (what, of) in TOLD {
            let title = if seen.len() > 1 { format!("{label}: {what}") } else { what.to_string() };
            let of_class = |class| thinned(&columns.time_s, of(columns, class));
            lines.push((title, (0..columns.classes.len()).map(of_class).collect::<Vec<_>>()));
        }
    }
    let all = || lines.iter().flat_map(|(_, lines)| lines);
    let times = Span::of(all().flat_map(|line| line.times.iter().copied()));
    let rates = Span::of(all().flat_map(|line| line.values.iter().copied()));
    let step = all().find_map(|line| line.step);
    let (x, y) = (
        Axis::of("time [s]", times.tight(), Ticks::Numbers),
        Axis::of("rate [kb/s]", rates.near_zero(), Ticks::Numbers),
    );
    let height = Height::Pixels(if names.len() > LINES_MAX { 240.0 } else { 150.0 });
    let panel = |(title, lines): &(String, Vec<super::course::Thinned>)| {
        let mut panel = Panel::new(title, x.clone(), y.clone(), height);
        for (line, name) in lines.iter().zip(&names) {
            let points = line.times.iter().zip(&line.values);
            let points = points.map(|(&x, &y)| Point { x, y, interval: None }).collect();
            let colour = if crowded { "classes" } else { name };
            panel.series.push(Series {
                dash: (!dashes.is_empty()).then(|| colour.to_string()),
                ..Series::coloured(*name, colour, Marks::Line { points, stepped: true, dotted: false })
            });
        }
        panel
    };
    let mut note = String::from("One run, that of the first seed: a line per subscriber and direction.");
    note += &super::course::told_step(step);
    Chart {
        note,
        panels: lines.iter().map(panel).collect(),
        colours,
        dashes,
        width: (460.0, 1000.0),
        ..Chart::default()
    }
}

/// A class's grant from each look on [kb/s].
fn allowed(columns: &GatewayColumns, class: usize) -> Vec<f64> {
    let allowed = columns.classes[class].allowed_bps.iter();
    allowed.map(|&bps| if is_limit(bps) { bps / 1e3 } else { f64::NAN }).collect()
}

/// A class's throughput from each look to the next [kb/s].
fn passed(columns: &GatewayColumns, class: usize) -> Vec<f64> {
    let bytes = columns.classes[class].served_bytes.iter().skip(1);
    let spans = columns.time_s.windows(2).map(|pair| pair[1] - pair[0]);
    let rates = bytes.zip(spans).map(|(&bytes, span)| bytes as f64 * 8.0 / 1e3 / span);
    rates.chain([f64::NAN]).take(columns.time_s.len()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use evenair_results::ClassColumns;

    #[test]
    fn rates_are_those_of_the_time_between_looks() {
        let none = || vec![0; 3];
        let class = ClassColumns {
            class: "3 down".into(),
            allowed_bps: vec![u64::MAX as f64, 64e3, 80e3],
            served_bytes: vec![0, 8_000, 20_000],
            arrived_packets: none(),
            served_packets: none(),
            dropped_packets: none(),
            held_packets: none(),
            backlog_packets: none(),
            busy_s: vec![None; 3],
        };
        let columns = GatewayColumns {
            time_s: vec![0.0, 1.0, 3.0],
            decision: vec![String::new(); 3],
            total_bps: vec![0.0; 3],
            classes: vec![class],
        };
        let (allowed, passed) = (allowed(&columns, 0), passed(&columns, 0));
        assert!(allowed[0].is_nan() && passed[2].is_nan());
        assert_eq!((&allowed[1..], &passed[..2]), (&[64.0, 80.0][..], &[64.0, 80.0][..]));
    }
}
