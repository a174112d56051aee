//! Figures of a study's results, and maps of networks, as [`Chart`]s.

mod bars;
mod course;
mod gateway;
mod graph;
mod ledger;
mod map;
mod names;
mod spread;
mod timeline;

pub(crate) use ledger::{OWN_PARTS, ledger_parts};

use crate::chart::{At, Chart, Figures, Observation, Titles};
use crate::language::{Figure, FigureKind};
use crate::outcome::{Outcome, VariantOutcome};
use crate::quantity::Quantity;
use evenair_scenario::Resolved;

impl Figures {
    /// The figures of a study's results, or of a scenario's runs.
    pub fn of(outcome: &Outcome) -> Self {
        Self::new(&outcome.study.id, charts(outcome))
    }
}

/// All figures of a study, each with a name of its own.
fn charts(outcome: &Outcome) -> Vec<Chart> {
    let mut charts: Vec<Chart> = Vec::new();
    for figure in &outcome.study.figures {
        let mut chart = chart(outcome, figure);
        chart.title.clone_from(&figure.title);
        chart.name = name(figure);
        let others =
            charts.iter().filter(|c| c.name == chart.name || c.name.starts_with(&format!("{}-", chart.name)));
        let number = others.count() + 1;
        if charts.iter().any(|c| c.name == chart.name) {
            chart.name += &format!("-{number}");
        }
        charts.push(chart);
    }
    charts
}

/// A scenario's map: nodes where they stand, the ways of flows, ranges; its conflict graph, where nodes have no positions.
pub fn map(scenario: &Resolved) -> Chart {
    let settings = scenario.settings();
    Chart { name: "map".into(), title: settings.name.clone(), ..map::map(scenario, None) }
}

/// A figure's part of a file name: its kind, or the metric that it draws.
fn name(figure: &Figure) -> String {
    let quantity = figure.quantity().metric.name();
    match figure.kind {
        FigureKind::Bars | FigureKind::Lines | FigureKind::Spread => quantity,
        FigureKind::Series => format!("{quantity}-over-time"),
        FigureKind::Phase => format!("{quantity}-phase"),
        FigureKind::ConflictGraph => "conflict-graph".into(),
        FigureKind::Ledger => "ledger".into(),
        FigureKind::Timeline => "timeline".into(),
        FigureKind::Map => "map".into(),
        FigureKind::Gateway => "gateway".into(),
    }
}

fn chart(outcome: &Outcome, figure: &Figure) -> Chart {
    let named =
        |id: &String, v: &VariantOutcome| *id == v.id || v.point.as_ref().is_some_and(|p| p.curve == *id);
    let chosen =
        |v: &&VariantOutcome| figure.variants.is_empty() || figure.variants.iter().any(|id| named(id, v));
    let chosen: Vec<&VariantOutcome> = outcome.variants.iter().filter(chosen).collect();
    match figure.kind {
        FigureKind::Bars => bars::bars(outcome, &chosen, figure.quantity(), figure.total).legible(),
        FigureKind::Series => course::series(&chosen, figure.quantity()).legible(),
        FigureKind::Spread => spread::spread(outcome, &chosen, figure.quantity()),
        FigureKind::Phase => course::phase(&chosen, figure.quantity(), figure.against.map(Into::into)),
        FigureKind::ConflictGraph => graph::conflict_graphs(&chosen),
        FigureKind::Map => {
            let verdict = |v: &VariantOutcome| outcome.verdict(&v.id).filter(|_| outcome.variants.len() == 1);
            chosen.first().map(|v| map::map(v.scenario(), verdict(v).as_ref())).unwrap_or_default()
        }
        FigureKind::Ledger => ledger::ledger(&chosen),
        FigureKind::Gateway => gateway::gateways(&chosen).legible(),
        FigureKind::Timeline => timeline::timeline(&chosen),
        FigureKind::Lines => lines(outcome, &chosen, figure.quantity(), figure.total),
    }
}

/// A quantity over a swept parameter.
fn lines(outcome: &Outcome, variants: &[&VariantOutcome], quantity: Quantity, total: bool) -> Chart {
    let mut rows = Vec::new();
    let mut titles = Titles { y: quantity.label(), ..Titles::default() };
    for variant in variants {
        let Some(point) = &variant.point else { continue };
        titles.x.clone_from(&point.parameter);
        let names: Vec<Option<&str>> =
            if total { vec![None] } else { variant.flow_names().into_iter().map(Some).collect() };
        for flow in names {
            let Some(row) = outcome.row(&variant.id, flow, quantity) else { continue };
            rows.push(Observation {
                panel: variant.group.clone(),
                colour: flow.map_or_else(|| format!("all flows, {}", row.flow), |f| format!("flow {f}")),
                dash: variant.label.clone(),
                x: At::Number(point.x),
                y: row.mean,
                interval: interval(quantity, row.mean, row.half_width),
                paper: row.paper,
                reference: row.reference.as_ref().map(|r| r.value),
            });
        }
    }
    Chart::lines(&titles, &rows)
}

/// The ends of an interval, if it is one. However few the seeds, it is not drawn where the quantity cannot be.
fn interval(quantity: Quantity, mean: f64, half_width: Option<f64>) -> Option<(f64, f64)> {
    let half = half_width.filter(|half| *half > 0.0)?;
    let (least, greatest) = quantity.bounds();
    Some(((mean - half).max(least.min(mean)), (mean + half).min(greatest.max(mean))))
}
