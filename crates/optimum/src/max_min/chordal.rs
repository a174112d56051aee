//! Water-filling where cliques describe the whole region: chordal conflict graphs, as of chains, cells and
//! trees, are perfect, so that every load that no clique forbids can be scheduled. Filling is a division per
//! round and the schedule a greedy colouring, exact at any size and for any rates.

use super::{Demand, Fair, Proof, fill as fill_groups, grouped};
use crate::problem::{Failure, Filled, Pricing, Problem, Solution, max_min_residuals};
use evenair_topology::ConflictGraph;

/// Links with their earlier neighbours, in an order in which these are a clique; none, if there is no such order (maximum
/// cardinality search, Tarjan and Yannakakis 1984).
fn order(graph: &ConflictGraph) -> Option<Vec<(u32, Vec<u32>)>> {
    let mut seen = vec![0usize; graph.links()];
    let mut is_done = vec![false; graph.links()];
    let mut order = Vec::with_capacity(graph.links());
    for _ in 0..graph.links() {
        let next =
            (0..graph.links()).filter(|&l| !is_done[l]).max_by_key(|&l| (seen[l], std::cmp::Reverse(l)))?;
        let near: Vec<u32> =
            graph.neighbours(next).iter().copied().filter(|&m| is_done[m as usize]).collect();
        let is_clique = near
            .iter()
            .enumerate()
            .all(|(i, &l)| near[..i].iter().all(|&m| graph.conflict(l as usize, m as usize)));
        if !is_clique {
            return None;
        }
        is_done[next] = true;
        graph.neighbours(next).iter().for_each(|&m| seen[m as usize] += 1);
        order.push((next as u32, near));
    }
    debug_assert_eq!(order.len(), graph.links());
    Some(order)
}

/// The fair rates; none, if the graph is not chordal or rounding leaves no proof.
pub(super) fn fill(
    problem: &Problem,
    pricing: &Pricing<'_>,
    demands: &[Demand],
) -> Result<Option<Fair>, Failure> {
    let Some(order) = order(&problem.air) else { return Ok(None) };
    let air = problem.air.links();
    let mut groups: Vec<Vec<u32>> = order
        .iter()
        .map(|(link, near)| {
            let mut group = near.clone();
            group.push(*link);
            group.sort_unstable();
            group
        })
        .collect();
    groups.extend((air..problem.links()).map(|w| vec![w as u32]));
    let capacity = |group: &Vec<u32>| problem.capacity(group[0] as usize);
    let capacities: Vec<f64> = groups.iter().map(capacity).collect();
    let fair = fill_groups(&grouped(demands, &groups), &capacities)?;
    let mut airtime = problem.loads(&fair.rates);
    airtime.truncate(air);
    let schedule = schedule(&order, &airtime);
    // A round is a group that holds flows; its links cost the same.
    let mut rounds: Vec<usize> = fair.held_by.iter().flatten().copied().collect();
    rounds.sort_unstable();
    rounds.dedup();
    let held_by: Vec<Option<usize>> =
        fair.held_by.iter().map(|held| held.and_then(|group| rounds.binary_search(&group).ok())).collect();
    let price = |&group: &usize| {
        let mut prices = vec![0.0; problem.links()];
        groups[group].iter().for_each(|&l| prices[l as usize] = 1.0);
        prices
    };
    let prices: Vec<Vec<f64>> = rounds.iter().map(price).collect();
    let filled = Filled { rates: &fair.rates, held_by: &held_by, airtime: &airtime, prices: &prices };
    let residuals = max_min_residuals(problem, pricing, demands, &filled);
    if residuals.worst() > Solution::TOLERANCE || !residuals.worst().is_finite() {
        return Ok(None); // rates so far apart that sums of loads lose the small ones
    }
    let proof = Proof { airtime, schedule, prices, residuals };
    Ok(Some(Fair { rates: fair.rates, held_by, proof: Some(proof) }))
}

/// Each link in turn takes the first times at which none of its earlier neighbours transmits: these are a clique, so that enough
/// is left.
fn schedule(order: &[(u32, Vec<u32>)], airtime: &[f64]) -> Vec<(Vec<u32>, f64)> {
    let mut times: Vec<Vec<(f64, f64)>> = vec![Vec::new(); airtime.len()];
    for (link, near) in order {
        let mut taken: Vec<(f64, f64)> =
            near.iter().flat_map(|&m| times[m as usize].iter().copied()).collect();
        taken.sort_by(|a, b| a.0.total_cmp(&b.0));
        let (mut left, mut at, mut own) = (airtime[*link as usize], 0.0f64, Vec::new());
        for (from, to) in taken.into_iter().chain([(1.0, 1.0)]) {
            let length = (from - at).min(left);
            if length > 0.0 {
                own.push((at, at + length));
                left -= length;
            }
            at = at.max(to);
        }
        times[*link as usize] = own;
    }
    let mut marks: Vec<f64> =
        times.iter().flatten().flat_map(|&(from, to)| [from, to]).chain([0.0, 1.0]).collect();
    marks.sort_by(f64::total_cmp);
    marks.dedup();
    let piece = |pair: &[f64]| {
        let middle = f64::midpoint(pair[0], pair[1]);
        let sends = |l: &u32| times[*l as usize].iter().any(|&(from, to)| from <= middle && middle < to);
        ((0..airtime.len() as u32).filter(sends).collect(), pair[1] - pair[0])
    };
    marks.windows(2).map(piece).collect()
}
