//! Max-min fairness by water-filling ([Jam10] section 7.2): all rates grow together until something is full; the flows that
//! are held by it stay, the others grow on.
//!
//! Two regions: constraints that are each a sum of loads ([Jam10] eq. (4.7): wires, cliques, collision domains), where the
//! next to fill is a division; and the exact capacity region of CSMA, where it is a linear programme over independent sets.

use crate::problem::{Failure, Flow, Problem};
use crate::{Utility, Wire};
use evenair_topology::ConflictGraph;

/// A flow that wants as much as it can get.
#[derive(Clone, Debug, PartialEq)]
pub struct Demand {
    /// Rates are fair in proportion to this.
    pub weight: f64,
    /// `G(s)`: more than this the flow does not want ([Jam10] section 4.1.3); infinity, if there is no end.
    pub limit: f64,
    /// What a unit of its rate loads each link, or each constraint, with.
    pub loads: Vec<(usize, f64)>,
}

impl Demand {
    /// A flow without end, of weight one.
    pub const fn new(loads: Vec<(usize, f64)>) -> Self {
        Self { weight: 1.0, limit: f64::INFINITY, loads }
    }
}

/// The fair rates.
#[derive(Clone, Debug, PartialEq)]
pub struct Fair {
    /// Each flow's rate.
    pub rates: Vec<f64>,
    /// What holds each flow: its constraint, or, over the exact region, the round of filling in which it stopped; none where
    /// its own limit does.
    pub held_by: Vec<Option<usize>>,
}

/// Groups of links of which at most one transmits at a time, as constraints: the load of a flow on a group is the sum of its
/// loads on the group's links ([Jam10] eq. (4.4) to (4.8), `M·L`).
pub fn grouped(demands: &[Demand], groups: &[Vec<u32>]) -> Vec<Demand> {
    let grouped = |demand: &Demand| {
        let load = |group: &Vec<u32>| {
            let inside = demand.loads.iter().filter(|(l, _)| group.binary_search(&(*l as u32)).is_ok());
            inside.map(|(_, a)| a).sum::<f64>()
        };
        let loads = groups.iter().map(load).enumerate().filter(|(_, a)| *a > 0.0).collect();
        Demand { loads, ..demand.clone() }
    };
    demands.iter().map(grouped).collect()
}

/// The collision domains as groups: each link with its neighbours in the graph of [`Medium::collision_domains`].
///
/// [`Medium::collision_domains`]: evenair_topology::Medium::collision_domains
pub fn domains(graph: &ConflictGraph) -> Vec<Vec<u32>> {
    let domain = |l: usize| {
        let mut domain = graph.neighbours(l).to_vec();
        domain.push(l as u32);
        domain.sort_unstable();
        domain
    };
    (0..graph.links()).map(domain).collect()
}

fn check(demands: &[Demand], links: usize) -> Result<(), Failure> {
    if demands.is_empty() {
        return Err(Failure::Malformed("there is no flow".into()));
    }
    for (s, demand) in demands.iter().enumerate() {
        let Demand { weight, limit, loads } = demand;
        if !(*weight > 0.0 && weight.is_finite()) {
            return Err(Failure::Malformed(format!("flow {s} has the weight {weight}; it must be above 0")));
        }
        if *limit <= 0.0 || limit.is_nan() {
            return Err(Failure::Malformed(format!("flow {s} wants {limit}; it must be above 0")));
        }
        if let Some((l, a)) = loads.iter().find(|(l, a)| *l >= links || !(*a > 0.0 && a.is_finite())) {
            return Err(Failure::Malformed(format!("flow {s} loads link {l} of {links} with {a}")));
        }
        if loads.is_empty() && limit.is_infinite() {
            return Err(Failure::Unbounded(format!("flow {s} crosses no link, so nothing bounds its rate")));
        }
    }
    Ok(())
}

/// Fills constraints `Σ load·rate ≤ capacity`.
///
/// # Errors
/// If a weight, limit, load or capacity is not above 0, or nothing bounds a flow.
pub fn fill(demands: &[Demand], capacities: &[f64]) -> Result<Fair, Failure> {
    check(demands, capacities.len())?;
    if let Some(c) = capacities.iter().find(|c| !(**c > 0.0 && c.is_finite())) {
        return Err(Failure::Malformed(format!("a capacity is {c}; it must be above 0")));
    }
    let mut rates: Vec<Option<f64>> = vec![None; demands.len()];
    let mut held_by = vec![None; demands.len()];
    while rates.iter().any(Option::is_none) {
        let mut left = capacities.to_vec();
        let mut growing = vec![0.0; capacities.len()];
        for (demand, rate) in demands.iter().zip(&rates) {
            for &(c, a) in &demand.loads {
                match rate {
                    Some(rate) => left[c] -= a * rate,
                    None => growing[c] += a * demand.weight,
                }
            }
        }
        // The level at which the next constraint is full, or the next flow has what it wants.
        let full =
            (0..left.len()).filter(|&c| growing[c] > 0.0).map(|c| (left[c].max(0.0) / growing[c], Some(c)));
        let content = (0..demands.len())
            .filter(|&s| rates[s].is_none())
            .map(|s| (demands[s].limit / demands[s].weight, None));
        let (level, constraint) =
            full.chain(content).min_by(|a, b| a.0.total_cmp(&b.0)).expect("some flow still grows");
        for (s, demand) in demands.iter().enumerate().filter(|(s, _)| rates[*s].is_none()).collect::<Vec<_>>()
        {
            let is_held = constraint.is_some_and(|c| demand.loads.iter().any(|&(d, _)| d == c));
            if is_held {
                (rates[s], held_by[s]) = (Some(level * demand.weight), constraint);
            } else if demand.limit / demand.weight <= level {
                rates[s] = Some(demand.limit);
            }
        }
    }
    Ok(Fair { rates: rates.into_iter().flatten().collect(), held_by })
}

/// So much of a frozen load is taken off, relatively, that the next programme has an inside.
const ROOM: f64 = 1e-5;
/// A flow whose share of the prices is greater is held by what is full. The prices are those of the analytic centre, where
/// every flow that is held by anything has one; a flow that could still grow has one of the solver's accuracy.
const HELD: f64 = 1e-5;

/// Fills the exact capacity region: links of the air by their conflict graph, then wires.
///
/// # Errors
/// As [`fill`], and if the region has too many independent sets for an exact solution.
pub fn fill_exactly(air: &ConflictGraph, wires: &[f64], demands: &[Demand]) -> Result<Fair, Failure> {
    let links = air.links() + wires.len();
    check(demands, links)?;
    let mut rates: Vec<Option<f64>> = vec![None; demands.len()];
    let mut held_by = vec![None; demands.len()];
    let mut round = 0;
    while rates.iter().any(Option::is_none) {
        let (mut growing, mut background) = (vec![0.0; links], vec![0.0; links]);
        for (demand, rate) in demands.iter().zip(&rates) {
            for &(l, a) in &demand.loads {
                match rate {
                    Some(rate) => background[l] += a * rate * (1.0 - ROOM),
                    None => growing[l] += a * demand.weight,
                }
            }
        }
        let loads: Vec<(usize, f64)> = growing.into_iter().enumerate().filter(|(_, a)| *a > 0.0).collect();
        let waiting: Vec<usize> = (0..demands.len()).filter(|&s| rates[s].is_none()).collect();
        let content =
            waiting.iter().map(|&s| demands[s].limit / demands[s].weight).fold(f64::INFINITY, f64::min);
        let (mut level, mut prices) = (f64::INFINITY, vec![0.0; links]);
        if !loads.is_empty() {
            let all = Flow { utility: Utility::log(1.0), fixed_price: 0.0, loads };
            let wires = wires.iter().map(|&c| Wire::Capacity(c)).collect();
            let problem = Problem { air: air.clone(), wires, flows: vec![all], beta: None, background };
            let solution = problem.solve()?;
            if !solution.is_exact() {
                return Err(Failure::NotConverged(solution.residuals));
            }
            // The prices say what the level is worth when the room is taken back: the bound log(1/q) − 1 + (what the air carries
            // − the frozen loads) of the dual, linear in the frozen loads, at its minimum over the level.
            let price: f64 = problem.flows[0].price(&solution.prices);
            let room: f64 = problem.background.iter().zip(&solution.prices).map(|(e, r)| e * r).sum::<f64>()
                * (ROOM / (1.0 - ROOM));
            level = (solution.bound + libm::log(price) + 1.0 - room) / price;
            prices = solution.prices;
        }
        if content <= level {
            for s in waiting.into_iter().filter(|&s| demands[s].limit / demands[s].weight <= content) {
                rates[s] = Some(demands[s].limit);
            }
            continue;
        }
        let price = |s: usize| {
            let sum: f64 = demands[s].loads.iter().map(|&(l, a)| a * prices[l]).sum();
            sum * demands[s].weight * level
        };
        let greatest = waiting.iter().map(|&s| price(s)).fold(0.0, f64::max);
        for s in waiting.into_iter().filter(|&s| price(s) > HELD.min(0.5 * greatest)) {
            (rates[s], held_by[s]) = (Some(level * demands[s].weight), Some(round));
        }
        round += 1;
    }
    Ok(Fair { rates: rates.into_iter().flatten().collect(), held_by })
}

#[cfg(test)]
mod tests;
