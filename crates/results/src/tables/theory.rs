//! Tables of the theory's answers: a best allocation, a fluid model's way, one scenario in several worlds.

use super::{Column, Table};
use crate::comparison::Comparison;
use crate::document::{
    CompareDocument, ComparedFlow, FluidDocument, FluidFlow, FluidLink, SetShare, SolveDocument, SolvedFlow,
    SolvedLink,
};
use evenair_scenario::{FluidRun, Optimum};

/// `flows` has a row per flow; `links` one per link; `conflicts` one per pair of links that may not transmit at once, in the form
/// that a scenario reads. `sets` has one per independent set, and `set_links` one per set and link of it, where sets are known.
pub fn optimum(optimum: &Optimum) -> Vec<(&'static str, Table)> {
    let SolveDocument { flows, links, conflicts, independent_sets, .. } = SolveDocument::of("", optimum);
    let (one, other) = conflicts.into_iter().map(<(String, String)>::from).unzip();
    let conflicts = vec![("link_a", Column::Text(one)), ("link_b", Column::Text(other))];
    let mut tables = vec![
        ("flows", SolvedFlow::table(flows)),
        ("links", SolvedLink::table(links)),
        ("conflicts", conflicts),
    ];
    if !independent_sets.is_empty() {
        tables.extend([("sets", sets(&independent_sets)), ("set_links", set_links(&independent_sets))]);
    }
    tables
}

fn sets(sets: &[SetShare]) -> Table {
    vec![
        ("set", Column::Count((0..).take(sets.len()).collect())),
        ("share", Column::of(sets.iter().map(|set| set.share))),
        ("links", Column::of(sets.iter().map(|set| set.links.join(" + ")))),
    ]
}

fn set_links(sets: &[SetShare]) -> Table {
    let of_set =
        |(number, set): (i64, &SetShare)| set.links.clone().into_iter().map(move |link| (number, link));
    let (set, link) = (0..).zip(sets).flat_map(of_set).unzip();
    vec![("set", Column::Count(set)), ("link", Column::Text(link))]
}

/// `flows` has a row per flow and `links` one per link, both at the end; `trajectory` has one per time, with each component of the state
/// and each flow's rate.
pub fn fluid(run: &FluidRun) -> Vec<(&'static str, Table<String>)> {
    let FluidDocument { flows, links, .. } = FluidDocument::of("", run);
    let named = |table: Table| table.into_iter().map(|(name, column)| (name.into(), column)).collect();
    vec![
        ("flows", named(FluidFlow::table(flows))),
        ("links", named(FluidLink::table(links))),
        ("trajectory", trajectory(run)),
    ]
}

fn trajectory(run: &FluidRun) -> Table<String> {
    let mut table = vec![("time_s".to_string(), Column::Number(run.times.clone()))];
    let components = run.components.iter().enumerate();
    table.extend(
        components.map(|(i, name)| {
            (name.clone(), Column::Number(run.states.iter().map(|state| state[i]).collect()))
        }),
    );
    let flows = run.theory.flows.iter().enumerate();
    table.extend(flows.map(|(s, flow)| {
        let rates = run.views.iter().map(|view| view.rates[s]).collect();
        (format!("rate_pps[{}]", flow.name), Column::Number(rates))
    }));
    table
}

/// `stages` has a row per world and flow, in the order of the worlds.
pub fn comparison(found: &Comparison) -> Vec<(&'static str, Table)> {
    let CompareDocument { stages, .. } = CompareDocument::of("", found);
    let worlds = || stages.iter().flat_map(|stage| stage.flows.iter().map(move |_| stage));
    let mut table = vec![
        ("stage", Column::of(worlds().map(|world| world.stage.to_string()))),
        ("gap", Column::of(worlds().map(|world| world.gap.clone()))),
    ];
    table.extend(ComparedFlow::table(stages.iter().flat_map(|stage| stage.flows.clone())));
    vec![("stages", table)]
}
