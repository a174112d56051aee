//! Max-min fairness by water-filling ([Jam10] section 7.2): all rates grow together until a constraint is full; the flows
//! that it holds stay, the others grow on.
//!
//! Two regions: constraints that are each a sum of loads ([Jam10] eq. (4.7): wires, cliques, collision domains), where the
//! next to fill is a division; and the exact capacity region of CSMA, where it is a linear programme over independent sets.

mod chordal;
mod exact;
mod interior;

pub use exact::{fill_exactly, fill_exactly_unless};

use crate::problem::{Failure, Residuals};
use evenair_topology::ConflictGraph;

/// A flow that wants as much as it can get.
#[derive(Clone, Debug, PartialEq)]
pub struct Demand {
    /// Rates are fair in proportion to this.
    pub weight: f64,
    /// `G(s)`: the most that the flow wants ([Jam10] section 4.1.3); infinity, if there is no end.
    pub limit: f64,
    /// The load of a unit of its rate on each link, or each constraint.
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
    /// The constraint that holds each flow or, over the exact region, the round of filling in which it stopped; none where its
    /// own limit holds it.
    pub held_by: Vec<Option<usize>>,
    /// Over the exact region: the proof that no flow can have more.
    pub proof: Option<Proof>,
}

/// Shares of time that carry the rates, and prices that prove that no more is possible.
#[derive(Clone, Debug, PartialEq)]
pub struct Proof {
    /// Share of time in which each link of the air transmits.
    pub airtime: Vec<f64>,
    /// Independent sets and their shares of time.
    pub schedule: Vec<(Vec<u32>, f64)>,
    /// Each round's prices of the links: the flows that it holds pay all that the network is worth at these prices, together
    /// with flows that have no more, in proportion.
    pub prices: Vec<Vec<f64>>,
    /// The excess of loads over airtimes (`primal`), and the most that a flow could gain while no flow that has no more loses
    /// (`gap`), both relative to the flow's own rate.
    pub residuals: Residuals,
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
        // The level at which the next constraint is full, or the next flow has all it wants.
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
    Ok(Fair { rates: rates.into_iter().flatten().collect(), held_by, proof: None })
}

#[cfg(test)]
mod tests;
