//! Conflict graphs.

use super::names::{Named, beside};
use crate::chart::{Axis, Chart, Height, Key, Label, Marks, Panel, Series, Side, Span, Symbol, text_width};
use crate::outcome::VariantOutcome;
use evenair_scenario::Resolved;
use std::f64::consts::{FRAC_PI_2, PI, TAU};

/// With more links than this, names stand around the circle, not in it.
const DISCS_MAX: usize = 10;
/// The longest name that a disc has room for \[letters\].
const DISC_LETTERS: usize = 4;
const LINKS: &str = "links";
/// More conflicts than this are drawn thin and faint.
const EDGES_MAX: usize = 150;
/// With more links than this, names around the circle have no room.
const NAMES_MAX: usize = 60;
/// The least width of a panel with names around its circle \[px\].
const NARROW: f64 = 260.0;

/// The conflict graphs of the variants' scenarios, one panel each.
pub(super) fn conflict_graphs(variants: &[&VariantOutcome]) -> Chart {
    let mut scenarios: Vec<&Resolved> = Vec::new();
    for scenario in variants.iter().map(|v| v.scenario()) {
        if !scenarios.iter().any(|s| s.settings().name == scenario.settings().name) {
            scenarios.push(scenario);
        }
    }
    chart(&scenarios)
}

/// The conflict graph of a scenario.
pub(super) fn conflict_graph(scenario: &Resolved) -> Chart {
    let mut chart = chart(&[scenario]);
    chart.panels.iter_mut().for_each(|panel| panel.title.clear());
    chart
}

fn chart(scenarios: &[&Resolved]) -> Chart {
    let drawn: Vec<(Panel, bool)> = scenarios.iter().map(|scenario| panel(scenario)).collect();
    let beside = drawn.iter().any(|(_, within)| !within);
    let panels: Vec<Panel> = drawn.into_iter().map(|(panel, _)| panel).collect();
    let unnamed = panels.iter().map(unnamed).sum::<usize>();
    let mut note = String::from("Dots: links. Two that are joined may not transmit at once.");
    match unnamed {
        0 => (),
        1 => note += " The name of one link does not fit.",
        n => note += &format!(" The names of {n} links do not fit."),
    }
    Chart {
        note,
        colours: vec![Key { name: LINKS.into(), look: "#0072b2".into() }],
        panels,
        width: match (beside, scenarios.len()) {
            (true, _) => (NARROW, 620.0),
            (false, 1) => (170.0, 400.0),
            (false, _) => (170.0, 230.0),
        },
        ..Chart::default()
    }
}

/// How many links of a panel have no name.
fn unnamed(panel: &Panel) -> usize {
    let count = |of: fn(&Marks) -> usize| panel.series.iter().map(|series| of(&series.marks)).sum::<usize>();
    let links = count(|marks| if let Marks::Symbols { at, .. } = marks { at.len() } else { 0 });
    let names = count(|marks| if let Marks::Labels { labels } = marks { labels.len() } else { 0 });
    links - names
}

/// The panel of a scenario, and whether its names stand within its discs.
fn panel(scenario: &Resolved) -> (Panel, bool) {
    let layout = scenario.layout();
    let count = layout.links.len();
    // The first is at the top; two are beside each other.
    let first = if count == 2 { PI } else { -FRAC_PI_2 };
    let place = |l: usize| {
        let angle = TAU * l as f64 / count as f64 + first;
        [angle.cos(), -angle.sin()]
    };
    let segment = |(l, m): (usize, usize)| {
        let ([x, y], [x2, y2]) = (place(l), place(m));
        [x, y, x2, y2]
    };
    let names: Vec<String> = (0..count).map(|l| name(scenario, l)).collect();
    let within = count <= DISCS_MAX && names.iter().all(|n| n.chars().count() <= DISC_LETTERS);
    // Names beside the circle need room.
    let around = |of: usize, room: f64| {
        let (low, high) = Span::of((0..count).map(|l| place(l)[of])).ends();
        (low - room, high + room)
    };
    // The margin beside the circle is as wide as the longest name, where a unit has so many pixels as the narrowest panel
    // leaves.
    let is_named = count <= NAMES_MAX;
    let beside_px = names.iter().map(|name| text_width(name)).fold(0.0, f64::max) + 9.0;
    let (across, up) = match (within, is_named) {
        (true, _) => (0.3, 0.3),
        (false, true) => ((2.0 * beside_px / (NARROW - 2.0 * beside_px).max(1.0)).clamp(0.3, 0.9), 0.3),
        (false, false) => (0.1, 0.1),
    };
    let (across, up) = (around(0, across), around(1, up));
    let ratio = (up.1 - up.0) / (across.1 - across.0);
    let mut panel =
        Panel::new(&scenario.settings().name, Axis::hidden(across), Axis::hidden(up), Height::OfWidth(ratio));
    let segments: Vec<[f64; 4]> = layout.conflicts.edges().map(segment).collect();
    // So many lines would be one black disc.
    let thick = if segments.len() > EDGES_MAX { 0.5 } else { 1.5 };
    panel.series.push(Series::ink("conflicts", Marks::Segments { segments, thick }));
    let symbol = if within { Symbol::Disc } else { Symbol::Node };
    let at = (0..count).map(place).collect();
    panel.series.push(Series::coloured(LINKS, LINKS, Marks::Symbols { symbol, at }));
    let named = |(l, text): (usize, String)| {
        let at = place(l);
        Named { at, text, side: outside(at) }
    };
    let named: Vec<Named> = names.into_iter().enumerate().map(named).collect();
    let labels = if within {
        let label = |Named { at: [x, y], text, .. }| Label { x, y, text, side: Side::Within };
        named.into_iter().map(label).collect()
    } else if !is_named {
        Vec::new()
    } else {
        beside(named, [NARROW, NARROW * ratio], across, up)
    };
    panel.series.push(Series::ink("names", Marks::Labels { labels }));
    (panel, within)
}

/// On which side of a place on the circle there is nothing.
fn outside([x, y]: [f64; 2]) -> Side {
    match (x.abs() < 0.1, x > 0.0, y > 0.0) {
        (true, _, true) => Side::Above,
        (true, _, false) => Side::Below,
        (false, true, _) => Side::Right,
        (false, false, _) => Side::Left,
    }
}

/// A link is called by the flow that alone uses it, if there is one.
fn name(scenario: &Resolved, l: usize) -> String {
    let (name, link) = &scenario.layout().links[l];
    let uses = |path: &[u32]| path.windows(2).any(|hop| [hop[0], hop[1]] == [link.from, link.to]);
    let mut users = scenario.network().flows.iter().filter(|f| uses(&f.path));
    match (users.next(), users.next()) {
        (Some(flow), None) if flow.path.len() == 2 => flow.name.clone(),
        _ => name.clone(),
    }
}
