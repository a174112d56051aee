//! A scenario's result as if it were a study's: the code that draws studies then draws a run, a fluid model, an allocation and a
//! comparison, too.

use super::Outcome;
use crate::language::{Figure, FigureKind, Study, Variant};
use crate::metric::Metric;
use crate::quantity::{Of, Statistic};
use crate::sweep::{Case, Sweep};
use crate::world::{World, blank, of_fluid, of_optimum, set_rates};
use evenair_results::Comparison;
use evenair_results::{RecordOptions, RunRecord};
use evenair_scenario::{FluidRun, Optimum, Resolved, Theory};

/// The metrics told of each flow of a run, where they have a meaning for it.
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

/// One world of the scenario: its name, its description and its results.
struct Seen {
    label: String,
    world: World,
    runs: Vec<RunRecord>,
}

impl Outcome {
    /// The result of a scenario's runs: the network, goodputs, and the other kept figures. `name` is the scenario's name on the
    /// command line.
    pub fn of_run(name: &str, sweep: &Sweep, runs: Vec<RunRecord>) -> Self {
        let scenario = &sweep.cases[0].scenarios[0];
        // The map, with flows coloured by their shares, answers first.
        let mut figures = of_packets(&runs[0]);
        let map = usize::from(scenario.layout().positions.is_none());
        figures.splice(map..map, network(scenario));
        let seen = Seen { label: titled(name, scenario), world: World::Packets, runs };
        Self::of_scenario(name, scenario, vec![seen], figures, &TOLD)
    }

    /// Where a scenario's fluid model went.
    pub fn of_fluid(name: &str, scenario: &Resolved, run: &FluidRun) -> Self {
        let record = of_fluid(scenario, run, RecordOptions { series: true, ..RecordOptions::default() });
        let mut figures = vec![
            figure(FigureKind::Bars, "Flows' rates at the end", Some(Metric::Goodput)),
            figure(FigureKind::Series, "Rates over time", Some(Metric::Goodput)),
        ];
        if record.flows.len() == 2 {
            let title = "The rates of both flows, one over the other";
            figures.push(figure(FigureKind::Phase, title, Some(Metric::Goodput)));
        }
        let moves = |of: fn(&evenair_netsim::FlowSeries) -> &Vec<f64>| {
            let flows = record.series.iter().flat_map(|series| &series.flows);
            flows.map(of).any(|course| course.iter().any(|x| x.total_cmp(&course[0]).is_ne()))
        };
        let course = |title, metric| figure(FigureKind::Series, title, Some(metric));
        if moves(|flow| &flow.congestion_window) {
            figures.push(course("Congestion windows", Metric::CongestionWindow));
        }
        if moves(|flow| &flow.connections) {
            figures.push(course("TCP connections of each flow", Metric::Connections));
        }
        if moves(|flow| &flow.round_trip_s) {
            figures.push(course("Round-trip times", Metric::RoundTrip));
        }
        let seen = Seen { label: titled(name, scenario), world: World::Fluid, runs: vec![record] };
        Self::of_scenario(name, scenario, vec![seen], figures, &[Metric::Goodput])
    }

    /// A scenario's best allocation.
    pub fn of_optimum(name: &str, scenario: &Resolved, optimum: &Optimum) -> Self {
        let mut figures = vec![figure(FigureKind::Bars, "Flows' optimal rates", Some(Metric::Goodput))];
        figures.extend(network(scenario));
        let runs = vec![of_optimum(scenario, optimum)];
        let seen = Seen { label: titled(name, scenario), world: World::Fair, runs };
        Self::of_scenario(name, scenario, vec![seen], figures, &[Metric::Goodput])
    }

    /// One scenario in several worlds: a bar per flow and world.
    pub fn of_comparison(name: &str, scenario: &Resolved, theory: &Theory, found: &Comparison) -> Self {
        let seen = found.stages.iter().map(|stage| {
            let mut record = blank(scenario, theory);
            set_rates(&mut record, theory, &stage.rates_pps(&found.capacity_pps));
            Seen { label: stage.name.into(), world: World::Fair, runs: vec![record] }
        });
        let figures = vec![figure(FigureKind::Bars, "Flows' rates, world by world", Some(Metric::Goodput))];
        Self::of_scenario(name, scenario, seen.collect(), figures, &[Metric::Goodput])
    }

    fn of_scenario(
        name: &str,
        scenario: &Resolved,
        seen: Vec<Seen>,
        figures: Vec<Figure>,
        asked: &[Metric],
    ) -> Self {
        let mut study = Study::blank(titled(name, scenario));
        study.id = name.into();
        study.seeds = seen.iter().map(|seen| seen.runs.len() as u32).max().unwrap_or(1);
        study.figures = figures;
        study.asked = Some(asked.iter().map(|&metric| metric.into()).collect());
        let mut sweep = Sweep::of_scenarios([], study.seeds, RecordOptions::default());
        let (mut runs, is_alone) = (Vec::new(), seen.len() == 1);
        for Seen { label, world, runs: of_world } in seen {
            let id = if is_alone { "run".into() } else { label.clone() };
            study.variants.push(variant(name, id.clone(), label, world));
            let scenarios = vec![scenario.clone()];
            sweep.cases.push(Case { variant: id, scenarios, world, every_series: false });
            runs.push(of_world);
        }
        Self::new(study, &sweep, runs)
    }
}

/// A scenario's own name, or the name that it is asked for by.
fn titled(name: &str, scenario: &Resolved) -> String {
    let own = &scenario.settings().name;
    if own.is_empty() { name.into() } else { own.clone() }
}

fn variant(scenario: &str, id: String, label: String, world: World) -> Variant {
    Variant {
        id,
        label,
        scenario: scenario.into(),
        scenarios: Vec::new(),
        world,
        set: Vec::new(),
        group: String::new(),
        sweep: None,
        point: None,
        number: 0,
    }
}

fn figure(kind: FigureKind, title: &str, metric: Option<Metric>) -> Figure {
    Figure {
        kind,
        title: title.into(),
        variants: Vec::new(),
        metric,
        statistic: Statistic::Mean,
        of: Of::Data,
        against: None,
        total: false,
        around: None,
    }
}

/// The network before anything happens.
fn network(scenario: &Resolved) -> Vec<Figure> {
    let map = figure(FigureKind::Map, "The network", None);
    let graph = figure(FigureKind::ConflictGraph, "Which links must not send at once", None);
    let placed = scenario.layout().positions.is_some();
    if placed { vec![map, graph] } else { vec![graph] }
}

/// Figures of a run's record, but for its network.
fn of_packets(run: &RunRecord) -> Vec<Figure> {
    let mut all = vec![figure(FigureKind::Bars, "Flows' rates", Some(Metric::Goodput))];
    if run.links.iter().any(|link| link.airtime.is_some()) {
        all.push(figure(FigureKind::Ledger, "Where each sender's time goes", None));
    }
    if !run.frames.is_empty() {
        all.push(figure(FigureKind::Timeline, "A part of the air, frame by frame", None));
    }
    if run.series.is_none() {
        return all;
    }
    let course = |title, metric| figure(FigureKind::Series, title, Some(metric));
    all.push(course("Goodput over time", Metric::Goodput));
    all.push(course("Queues over time", Metric::Backlog));
    if run.gateway.as_ref().is_some_and(|gateway| gateway.series.is_some()) {
        all.push(figure(FigureKind::Gateway, "Allowed and passed rates of the gateway", None));
    }
    let is_tcp = run.flows.iter().any(|flow| flow.offered_pps.is_none());
    if is_tcp {
        all.push(course("Round-trip times", Metric::RoundTrip));
        all.push(course("Congestion windows", Metric::CongestionWindow));
    }
    if run.flows.iter().any(|flow| flow.connections > 1.0) {
        all.push(course("TCP connections of each flow", Metric::Connections));
    }
    if run.links.iter().any(|link| link.aggressiveness.is_some()) {
        all.push(course("Aggressiveness of each sender", Metric::Aggressiveness));
    }
    all
}
