//! The report of a run: a study of one variant, put together in code.

use super::{Page, figures, gateway, head, provenance, tables, words};
use crate::language::{Figure, FigureKind, Study, Variant};
use crate::metric::Metric;
use crate::outcome::Outcome;
use crate::quantity::{Of, Statistic};
use crate::record::RunRecord;
use crate::sweep::Sweep;
use crate::world::World;

/// What is told of each flow, where it has a meaning for one.
const TOLD: [Metric; 14] = [
    Metric::Goodput,
    Metric::Optimum,
    Metric::RoundTrip,
    Metric::Delay,
    Metric::QueueingDelay,
    Metric::CongestionWindow,
    Metric::Connections,
    Metric::Retransmissions,
    Metric::Timeouts,
    Metric::Silence,
    Metric::Backlog,
    Metric::Aggressiveness,
    Metric::FrameLoss,
    Metric::Fairness,
];

/// Draws what a scenario's runs show into one self-contained page. `name` is what the scenario was asked for by, `command` the line
/// that made it.
pub fn run_report(name: &str, sweep: &Sweep, runs: Vec<RunRecord>, command: &str) -> String {
    let scenario = &sweep.cases[0].scenarios[0];
    let title = if scenario.settings().name.is_empty() { name } else { &scenario.settings().name };
    let mut study = Study::blank(title.into());
    study.id = name.into();
    study.seeds = sweep.seeds;
    study.variants = vec![Variant {
        id: "run".into(),
        label: title.into(),
        scenario: name.into(),
        scenarios: Vec::new(),
        world: World::Packets,
        set: Vec::new(),
        group: String::new(),
        sweep: None,
        point: None,
        number: 0,
    }];
    study.figures = drawn(sweep, &runs[0]);
    study.asked = Some(TOLD.iter().map(|&metric| metric.into()).collect());
    let outcome = Outcome::new(study, sweep, vec![runs]);
    let mut page = Page::default();
    head::head(&mut page, &outcome, command);
    tables::tables(&mut page, &outcome);
    figures::figures(&mut page, &outcome, command);
    gateway::gateway(&mut page, &outcome);
    words::glossary(&mut page);
    provenance(&mut page, &outcome, command);
    page.whole(&outcome)
}

/// Figures of what there is to see.
fn drawn(sweep: &Sweep, run: &RunRecord) -> Vec<Figure> {
    let figure = |kind, title: &str, metric| Figure {
        kind,
        title: title.into(),
        variants: Vec::new(),
        metric,
        statistic: Statistic::Mean,
        of: Of::Data,
        against: None,
        total: false,
        around: None,
    };
    let mut all = Vec::new();
    if sweep.cases[0].scenarios[0].layout().positions.is_some() {
        all.push(figure(FigureKind::Map, "The network", None));
    }
    all.push(figure(FigureKind::ConflictGraph, "Which links must not send at once", None));
    all.push(figure(FigureKind::Bars, "What each flow gets", Some(Metric::Goodput)));
    if run.links.iter().any(|link| link.airtime.is_some()) {
        all.push(figure(FigureKind::Ledger, "Where each sender's time goes", None));
    }
    if !run.frames.is_empty() {
        all.push(figure(FigureKind::Timeline, "A part of the air, frame by frame", None));
    }
    let series = |title, metric| figure(FigureKind::Series, title, Some(metric));
    all.push(series("Goodput over time", Metric::Goodput));
    all.push(series("Queues over time", Metric::Backlog));
    if run.gateway.as_ref().is_some_and(|gateway| gateway.series.is_some()) {
        all.push(figure(FigureKind::Gateway, "What the gateway allows and passes", None));
    }
    let is_tcp = run.flows.iter().any(|flow| flow.offered_pps.is_none());
    if is_tcp {
        all.push(series("Round-trip times", Metric::RoundTrip));
        all.push(series("Congestion windows", Metric::CongestionWindow));
    }
    if run.flows.iter().any(|flow| flow.connections > 1.0) {
        all.push(series("TCP connections of each flow", Metric::Connections));
    }
    if run.links.iter().any(|link| link.aggressiveness.is_some()) {
        all.push(series("How hard each sender presses for the air", Metric::Aggressiveness));
    }
    all
}
