//! Tables of the theory's answers: a best allocation, a fluid model's way, one scenario in several worlds.

use super::{Column, Table};
use crate::comparison::{Comparison, Stage};
use crate::document::{FluidDocument, FluidFlow, FluidLink};
use evenair_scenario::{FluidRun, Optimum};

/// `flows` has a row per flow; `links` one per link; `conflicts` one per pair of links that may not transmit at once, in the form in
/// which a scenario reads them; `sets` one per independent set, and `set_links` one per set and link of it, where sets are known.
pub fn optimum(optimum: &Optimum) -> Vec<(&'static str, Table)> {
    let mut tables =
        vec![("flows", flows(optimum)), ("links", links(optimum)), ("conflicts", conflicts(optimum))];
    if !optimum.schedule.is_empty() {
        tables.extend([("sets", sets(optimum)), ("set_links", set_links(optimum))]);
    }
    tables
}

fn flows(optimum: &Optimum) -> Table {
    let flows = &optimum.theory.flows;
    let payload: Vec<f64> = flows.iter().map(|flow| flow.payload_bits).collect();
    let rates = &optimum.rates_pps;
    vec![
        ("flow", Column::Text(flows.iter().map(|flow| flow.name.clone()).collect())),
        ("weight", Column::Number(flows.iter().map(|flow| flow.weight).collect())),
        ("alpha", Column::Optional(flows.iter().map(|flow| optimum.objective.alpha_of(flow)).collect())),
        ("rate_pps", Column::Number(rates.clone())),
        ("rate_bps", Column::Number(rates.iter().zip(&payload).map(|(rate, bits)| rate * bits).collect())),
        ("capacity_pps", Column::Number(optimum.capacity_pps.clone())),
    ]
}

fn links(optimum: &Optimum) -> Table {
    let links = &optimum.theory.links;
    let known = |values: &[f64]| Column::Optional((0..links.len()).map(|l| values.get(l).copied()).collect());
    vec![
        ("link", Column::Text(links.clone())),
        ("price", known(&optimum.prices)),
        ("load", Column::Number(optimum.load.clone())),
        ("airtime", known(&optimum.airtime)),
    ]
}

fn conflicts(optimum: &Optimum) -> Table {
    let links = &optimum.theory.links;
    let (one, other) =
        optimum.theory.conflicts.edges().map(|(l, m)| (links[l].clone(), links[m].clone())).unzip();
    vec![("link_a", Column::Text(one)), ("link_b", Column::Text(other))]
}

fn sets(optimum: &Optimum) -> Table {
    let names = |(set, _): &(Vec<u32>, f64)| {
        let names = set.iter().map(|&l| optimum.theory.links[l as usize].as_str());
        names.collect::<Vec<_>>().join(" + ")
    };
    vec![
        ("set", Column::Count((0..optimum.schedule.len() as u64).map(u64::cast_signed).collect())),
        ("share", Column::Number(optimum.schedule.iter().map(|(_, share)| *share).collect())),
        ("links", Column::Text(optimum.schedule.iter().map(names).collect())),
    ]
}

fn set_links(optimum: &Optimum) -> Table {
    let of_set = |(number, (set, _)): (usize, &(Vec<u32>, f64))| {
        set.iter()
            .map(|&l| ((number as u64).cast_signed(), optimum.theory.links[l as usize].clone()))
            .collect::<Vec<_>>()
    };
    let (set, link) = optimum.schedule.iter().enumerate().flat_map(of_set).unzip();
    vec![("set", Column::Count(set)), ("link", Column::Text(link))]
}

/// `flows` has a row per flow and `links` one per link, both at the end; `trajectory` has one per time, with each component of the state
/// and each flow's rate.
pub fn fluid(run: &FluidRun) -> Vec<(&'static str, Table<String>)> {
    let FluidDocument { flows, links, .. } = FluidDocument::of("", run);
    let of_flows = |of: fn(&FluidFlow) -> f64| Column::Number(flows.iter().map(of).collect());
    let of_links = |of: fn(&FluidLink) -> Option<f64>| Column::Optional(links.iter().map(of).collect());
    let named = |columns: Vec<(&str, Column)>| -> Table<String> {
        columns.into_iter().map(|(name, column)| (name.into(), column)).collect()
    };
    let flows_table = named(vec![
        ("flow", Column::Text(flows.iter().map(|flow| flow.flow.clone()).collect())),
        ("rate_pps", of_flows(|flow| flow.rate_pps)),
        ("rest_pps", Column::Optional(flows.iter().map(|flow| flow.rest_pps).collect())),
        ("connections", of_flows(|flow| flow.connections)),
        ("window", of_flows(|flow| flow.window)),
        ("round_trip_s", of_flows(|flow| flow.round_trip_s)),
    ]);
    let links_table = named(vec![
        ("link", Column::Text(links.iter().map(|link| link.link.clone()).collect())),
        ("price", of_links(|link| link.price)),
        ("airtime", of_links(|link| link.airtime)),
    ]);
    vec![("flows", flows_table), ("links", links_table), ("trajectory", trajectory(run))]
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
    let rows = || found.stages.iter().flat_map(|stage| (0..found.flows.len()).map(move |flow| (stage, flow)));
    let text = |of: &dyn Fn(&Stage, usize) -> String| Column::Text(rows().map(|(s, f)| of(s, f)).collect());
    let rates = found.stages.iter().flat_map(|stage| stage.rates_pps(&found.capacity_pps));
    let counted = rows().map(|(stage, flow)| stage.counted_pps.as_ref().map(|counted| counted[flow]));
    let stages = vec![
        ("stage", text(&|stage, _| stage.name.into())),
        ("gap", text(&|stage, _| stage.gap.into())),
        ("flow", text(&|_, flow| found.flows[flow].clone())),
        ("rate_pps", Column::Number(rates.collect())),
        ("share", Column::Number(rows().map(|(stage, flow)| stage.shares[flow]).collect())),
        ("counted_pps", Column::Optional(counted.collect())),
    ];
    vec![("stages", stages)]
}
