//! Tables of a best allocation: flows, links, conflicts, and independent sets with their shares of time.

use super::{Column, Table, write_table};
use evenair_scenario::Optimum;
use std::io;
use std::path::Path;

/// Writes [`optimum`] as tables into a folder.
///
/// # Errors
/// If a file cannot be written.
pub fn write_optimum(folder: &Path, optimum: &Optimum) -> Result<(), io::Error> {
    self::optimum(optimum).iter().try_for_each(|(name, table)| write_table(folder, name, table))
}

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
    let count = |of: fn(usize, usize) -> usize| {
        let sets = optimum.schedule.iter().enumerate();
        Column::Count(sets.map(|(number, (set, _))| (of(number, set.len()) as u64).cast_signed()).collect())
    };
    vec![
        ("set", count(|number, _| number)),
        ("share", Column::Number(optimum.schedule.iter().map(|(_, share)| *share).collect())),
        ("links", count(|_, links| links)),
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
