//! `evenair solve`.

use crate::arguments::{ObjectiveName, RegionName, SolveOptions, SolverName};
use crate::commands::{print, scenario};
use crate::progress::Waiting;
use crate::text;
use crate::theory::row;
use anyhow::Result;
use evenair_scenario::{Objective, Optimum, Question, Region, Resolved, Solver};
use serde_json::{Value, json};

pub(crate) fn solve(options: &SolveOptions) -> Result<()> {
    let scenario = scenario(&options.scenario, &options.set)?;
    super::warn_of_shapers(&scenario);
    if !options.exponents.is_empty() || !options.wanted.is_empty() {
        return product_form(options, &scenario);
    }
    let objective = match options.objective {
        ObjectiveName::Fair => Objective::Fair,
        ObjectiveName::FixedPoint => Objective::FixedPoint,
        ObjectiveName::Proportional => Objective::Proportional,
        ObjectiveName::AlphaFair => Objective::AlphaFair(options.alpha),
        ObjectiveName::MaxMin => Objective::MaxMin,
    };
    let region = match options.region {
        RegionName::Exact => Region::Exact,
        RegionName::Cliques => Region::Cliques,
        RegionName::CollisionDomains => Region::CollisionDomains,
    };
    let solver = match options.solver {
        SolverName::Own => Solver::Own,
        SolverName::Clarabel => Solver::Clarabel,
    };
    let waiting = Waiting::new(format!(
        "solving for {} flows over {} links",
        scenario.network().flows.len(),
        scenario.layout().links.len()
    ));
    let optimum = scenario.answer(Question { objective, region, solver, beta: options.beta })?;
    drop(waiting);
    if options.json {
        return print(&format!("{:#}\n", as_json(&options.scenario, &optimum)));
    }
    let given_up = optimum.by_clarabel && solver == Solver::Own;
    let note =
        if given_up { "Found by Clarabel: evenair's own method stopped short of the optimum.\n" } else { "" };
    print(&(as_text(&optimum) + note))
}

/// Shares of time from exponents, or exponents from rates.
fn product_form(options: &SolveOptions, scenario: &Resolved) -> Result<()> {
    let exponents = if options.wanted.is_empty() {
        options.exponents.clone()
    } else {
        scenario.exponents_for(&options.wanted)?.1
    };
    let (theory, shares) = scenario.shares_at(&exponents)?;
    if options.json {
        let links = theory.links.iter().zip(&exponents).zip(&shares);
        let links = links.map(|((name, z), y)| json!({"link": name, "exponent": z, "airtime": y}));
        let document = json!({"scenario": options.scenario, "links": links.collect::<Vec<_>>()});
        return print(&format!("{document:#}\n"));
    }
    let mut rows = vec![row(&["link", "exponent βr", "airtime"])];
    for ((name, z), y) in theory.links.iter().zip(&exponents).zip(&shares) {
        rows.push(vec![name.clone(), text::number(*z), format!("{:.1} %", 100.0 * y)]);
    }
    print(&text::columns(&rows))
}

/// What is not there is null.
fn as_json(scenario: &str, optimum: &Optimum) -> Value {
    let flows = optimum.theory.flows.iter().zip(&optimum.rates_pps).zip(&optimum.capacity_pps);
    let flows = flows.map(|((flow, rate), capacity)| {
        let loads = flow.loads.iter().map(|&(l, a)| json!({"link": optimum.theory.links[l], "airtime_s": a}));
        json!({
            "flow": flow.name, "rate_pps": rate, "rate_bps": rate * flow.payload_bits, "capacity_pps": capacity,
            "loads": loads.collect::<Vec<_>>(),
        })
    });
    let conflicts = optimum.theory.conflicts.edges();
    let conflicts = conflicts.map(|(l, m)| json!([optimum.theory.links[l], optimum.theory.links[m]]));
    let links = optimum.theory.links.iter().enumerate().map(|(l, name)| {
        json!({"link": name, "price": optimum.prices.get(l), "load": optimum.load[l], "airtime": optimum.airtime.get(l)})
    });
    let sets = optimum.schedule.iter().map(|(set, share)| {
        let links: Vec<&String> = set.iter().map(|&l| &optimum.theory.links[l as usize]).collect();
        json!({"links": links, "share": share})
    });
    json!({
        "scenario": scenario,
        "flows": flows.collect::<Vec<_>>(),
        "links": links.collect::<Vec<_>>(),
        "conflicts": conflicts.collect::<Vec<_>>(),
        "independent_sets": sets.collect::<Vec<_>>(),
        "objective": optimum.value.map(|(value, _)| value),
        "bound": optimum.value.map(|(_, bound)| bound),
        "solver": if optimum.by_clarabel { "clarabel" } else { "own" },
        "residuals": optimum.residuals.map(|r| json!({
            "primal": r.primal, "dual": r.dual, "stationarity": r.stationarity,
            "complementarity": r.complementarity, "gap": r.gap,
        })),
    })
}

/// The most links and sets that are printed.
const ROWS_MAX: usize = 40;

fn as_text(optimum: &Optimum) -> String {
    let mut rows = vec![row(&["flow", "packets/s", "kb/s", "of capacity"])];
    let mut total = (0.0, 0.0);
    for ((flow, rate), capacity) in
        optimum.theory.flows.iter().zip(&optimum.rates_pps).zip(&optimum.capacity_pps)
    {
        let kbps = rate * flow.payload_bits / 1e3;
        total = (total.0 + rate, total.1 + kbps);
        let share = format!("{:.1} %", 100.0 * rate / capacity);
        rows.push(vec![flow.name.clone(), text::number(*rate), text::number(kbps), share]);
    }
    rows.push(vec!["all".into(), text::number(total.0), text::number(total.1)]);
    let mut out = text::columns(&rows);
    let mut rows = vec![row(&["link", "price", "load", "airtime"])];
    for (l, name) in optimum.theory.links.iter().enumerate().take(ROWS_MAX) {
        let percent = |x: f64| format!("{:.1} %", 100.0 * x);
        let price = optimum.prices.get(l).map_or("–".into(), |p| text::number(*p));
        let airtime = optimum.airtime.get(l).map_or("–".into(), |y| percent(*y));
        rows.push(vec![name.clone(), price, percent(optimum.load[l]), airtime]);
    }
    out += &format!("\n{}{}", text::columns(&rows), more(optimum.theory.links.len()));
    let mut sets: Vec<&(Vec<u32>, f64)> =
        optimum.schedule.iter().filter(|(_, share)| *share > 5e-4).collect();
    sets.sort_by(|a, b| b.1.total_cmp(&a.1));
    if !sets.is_empty() {
        out += "\nshare of time, and the links that transmit at once\n";
        for (set, share) in sets.iter().take(ROWS_MAX) {
            let names: Vec<&str> = set.iter().map(|&l| optimum.theory.links[l as usize].as_str()).collect();
            let names = if names.is_empty() { "none".to_string() } else { names.join(", ") };
            out += &format!("  {:5.1} %  {names}\n", 100.0 * share);
        }
        out += &more(sets.len());
    }
    match (&optimum.residuals, &optimum.value) {
        (Some(residuals), _) if residuals.worst() < 1e-6 => {
            out += &format!("\nOptimality conditions hold within {:.0e}.\n", residuals.worst().max(1e-16));
        }
        (Some(residuals), Some(_)) if optimum.by_clarabel => {
            out += &format!(
                "\nClarabel stopped {:.0e} away from the optimality conditions; exact means 1e-6.\n",
                residuals.worst()
            );
        }
        (Some(residuals), Some((value, bound))) => {
            out += &format!(
                "\nNot exact: the rates are feasible and reach {}; no allocation reaches more than {} ({:.1} % of the\n\
                 objective's scale). There are too many independent sets to be sure of more.\n",
                text::number(*value),
                text::number(*bound),
                100.0 * residuals.gap
            );
        }
        _ => (),
    }
    out
}

fn more(rows: usize) -> String {
    if rows > ROWS_MAX {
        format!("  … {} more (--json has them all)\n", rows - ROWS_MAX)
    } else {
        String::new()
    }
}
