//! Courses over time.

use crate::chart::{
    Axis, Chart, Height, Key, Marks, Panel, Point, STROKES, Series, Span, Symbol, Ticks, dashes, distinct,
    strokes,
};
use crate::outcome::VariantOutcome;
use crate::quantity::Quantity;
use evenair_results::digits::exact;

/// More names than this in one legend are of no use.
pub(super) const NAMES_MAX: usize = 24;
/// More points than this of a line are closer to each other than can be seen; each is then the mean of as many as leave so few.
const POINTS_MAX: usize = 400;
/// With more panels than this, two stand beside each other where there is room.
const WIDE_PANELS: usize = 4;
/// More lines than this need a higher panel.
pub(super) const LINES_MAX: usize = 6;

/// One flow's course in one variant.
struct Course<'a> {
    variant: &'a str,
    flow: &'a str,
    line: Thinned,
}

/// A course with no more points than can be seen.
pub(super) struct Thinned {
    pub(super) times: Vec<f64>,
    pub(super) values: Vec<f64>,
    /// Whether a value is that of the time until the next: a sample of a run, not a state of a fluid model.
    stepped: bool,
    /// Of how long each value is the mean \[s\], if it is one of several.
    pub(super) step: Option<f64>,
}

/// A metric over time, of the first seed: a panel per variant, a line per flow.
pub(super) fn series(variants: &[&VariantOutcome], quantity: Quantity) -> Chart {
    let mut courses = Vec::new();
    let mut step = None;
    for variant in variants {
        let run = &variant.runs[0];
        for (index, flow) in run.flows.iter().enumerate() {
            if let Some((times, values)) = quantity.course(run, index) {
                let line = thinned(times, values);
                step = step.or(line.step);
                courses.push(Course { variant: &variant.id, flow: &flow.flow, line });
            }
        }
    }
    let times = Span::of(courses.iter().flat_map(|c| c.line.times.iter().copied()));
    let values = Span::of(courses.iter().flat_map(|c| c.line.values.iter().copied()));
    let x = Axis::of("time [s]", times.tight(), Ticks::Numbers);
    let y = Axis::of(quantity.label(), values.near_zero(), Ticks::Numbers);
    let flows = distinct(courses.iter().map(|c| c.flow));
    let (colours, dashes, shorten) = flow_keys(&flows, coincide(&courses, values));
    let height = Height::Pixels(if flows.len() > LINES_MAX { 240.0 } else { 150.0 });
    let panel = |variant: &&VariantOutcome| {
        let mut panel = Panel::new(&variant.label, x.clone(), y.clone(), height);
        for course in courses.iter().filter(|c| c.variant == variant.id) {
            let point = |(&x, &y): (&f64, &f64)| Point { x, y, interval: None };
            let points = course.line.times.iter().zip(&course.line.values).map(point).collect();
            panel.series.push(Series {
                name: format!("flow {}", course.flow),
                colour: Some(name_of(course.flow, shorten)),
                dash: (!dashes.is_empty()).then(|| name_of(course.flow, shorten)),
                marks: Marks::Line { points, stepped: course.line.stepped, dotted: false },
            });
        }
        panel
    };
    let panels: Vec<Panel> = variants.iter().map(panel).filter(|p| !p.series.is_empty()).collect();
    Chart {
        note: format!("One run, that of the first seed.{}", told_step(step)),
        width: (if panels.len() > WIDE_PANELS { 300.0 } else { 460.0 }, 1000.0),
        panels,
        colours,
        dashes,
        ..Chart::default()
    }
}

/// A course with no more points than can be seen: of samples the means of several, of a solver's steps some.
pub(super) fn thinned(times: &[f64], values: Vec<f64>) -> Thinned {
    let of = times.len().div_ceil(POINTS_MAX).max(1);
    let stepped = is_regular(times);
    let (step, (times, values)) = match (of, stepped) {
        (1, _) => (None, (times.to_vec(), values)),
        (_, true) => (Some(times[of] - times[0]), means(times, &values, of)),
        (_, false) => (None, some(times, &values, of)),
    };
    Thinned { times, values, stepped, step }
}

/// Says of how long a point is the mean.
pub(super) fn told_step(step: Option<f64>) -> String {
    step.map(|step| format!(" Each point is a mean of {} s.", exact(step))).unwrap_or_default()
}

/// Whether samples follow each other in equal steps, as those of a run do, and those of a solver that chooses its steps do not.
fn is_regular(times: &[f64]) -> bool {
    let steps = || times.windows(2).map(|pair| pair[1] - pair[0]);
    let longest = steps().fold(0.0, f64::max);
    // The first and the last may be shorter.
    steps().skip(1).take(times.len().saturating_sub(3)).all(|step| (step - longest).abs() <= 0.02 * longest)
}

/// One of so many points after each other, and the last.
fn some(times: &[f64], values: &[f64], of: usize) -> (Vec<f64>, Vec<f64>) {
    let last = times.len().saturating_sub(1);
    (0..times.len()).filter(|k| k % of.max(1) == 0 || *k == last).map(|k| (times[k], values[k])).unzip()
}

/// Means of so many points after each other, each at the time of its first; values that are not finite are left out.
fn means(times: &[f64], values: &[f64], of: usize) -> (Vec<f64>, Vec<f64>) {
    let of = of.max(1);
    let mean = |part: &[f64]| {
        let known = part.iter().filter(|v| v.is_finite());
        known.clone().sum::<f64>() / known.count() as f64
    };
    (times.iter().copied().step_by(of).collect(), values.chunks(of).map(mean).collect())
}

/// Whether two lines of one panel lie upon each other nearly everywhere, so that one would hide the other.
fn coincide(courses: &[Course], span: Span) -> bool {
    let near = 0.01 * span.reach();
    let upon = |a: &Course, b: &Course| {
        let close =
            a.line.values.iter().zip(&b.line.values).filter(|(a, b)| (**a - **b).abs() <= near).count();
        a.variant == b.variant && 10 * close >= 9 * a.line.values.len().max(1)
    };
    courses.iter().enumerate().any(|(k, a)| courses[k + 1..].iter().any(|b| upon(a, b)))
}

/// Colours and dashes of flows, and whether flows too many to name are grouped by the beginnings of their names. Lines have
/// dashes where there are more than colours, or where they would hide each other.
fn flow_keys(flows: &[&str], hidden: bool) -> (Vec<Key>, Vec<Key>, bool) {
    let shorten = flows.len() > NAMES_MAX;
    let names: Vec<String> = flows.iter().map(|flow| name_of(flow, shorten)).collect();
    let names = distinct(names.iter().map(String::as_str));
    let (colours, further) = strokes(&names);
    match (names.len() > STROKES, hidden) {
        (true, _) => (colours, further, shorten),
        (false, true) => (colours, dashes(&names), shorten),
        (false, false) => (colours, Vec::new(), shorten),
    }
}

/// A flow's name in a legend: "flow 3"; or the beginning of its name alone, "web" of "web-12".
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
            dash: (colours.len() > STROKES).then(|| label.into()),
            ..Series::coloured(label, label, line)
        });
        panel.series.push(Series::coloured(label, label, Marks::Symbols { symbol: Symbol::Dot, at }));
    }
    Chart {
        note: "Dots: where each begins.".into(),
        dashes: if colours.len() > STROKES { dashes } else { Vec::new() },
        colours,
        panels: vec![panel],
        width: (300.0, 620.0),
        ..Chart::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_course_is_drawn_as_means() {
        let times: Vec<f64> = (0..9).map(f64::from).collect();
        let values = [1.0, 3.0, f64::NAN, 5.0, f64::NAN, f64::NAN, 2.0, 2.0, 8.0];
        let (at, means) = means(&times, &values, 2);
        assert_eq!(at, [0.0, 2.0, 4.0, 6.0, 8.0]);
        assert_eq!((means[0], means[1], means[3], means[4]), (2.0, 5.0, 2.0, 8.0));
        assert!(means[2].is_nan());
    }

    #[test]
    fn a_solver_s_steps_are_not_averaged() {
        assert!(is_regular(&[0.5, 1.0, 2.0, 3.0, 3.2]) && !is_regular(&[0.0, 1e-3, 0.1, 0.5, 4.0]));
        let (at, values) = some(&[0.0, 0.1, 0.4, 0.9, 2.0], &[5.0, 4.0, 3.0, 2.0, 1.0], 3);
        assert_eq!((at, values), (vec![0.0, 0.9, 2.0], vec![5.0, 2.0, 1.0]));
    }

    #[test]
    fn lines_that_hide_each_other_have_dashes() {
        let course = |flow, value: f64| Course {
            variant: "one",
            flow,
            line: thinned(&[0.0, 1.0, 2.0], vec![value; 3]),
        };
        let span = Span::of([0.0, 100.0]);
        assert!(coincide(&[course("1", 4.0), course("2", 50.0), course("3", 50.5)], span));
        assert!(!coincide(&[course("1", 4.0), course("2", 50.0), course("3", 60.0)], span));
        let (_, dashes, _) = flow_keys(&["1", "2", "3"], true);
        assert!(dashes[1].look != dashes[2].look);
        assert!(flow_keys(&["1", "2", "3"], false).1.is_empty());
    }
}
