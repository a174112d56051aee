//! Steep α-fair utilities, by cliques and in logarithms.
//!
//! With a large α prices of flows differ by `(x/x')^α`: by fifty orders of magnitude and more, which no
//! difference of prices survives. So nothing is subtracted here. Links of a clique of the conflict graph
//! transmit one at a time, so that each clique, and each wire, is a bound `Σ_s a_ks x_s ≤ c_k`. A flow's
//! price is a *sum* of prices of these, `q_s = Σ_k a_ks λ_k`, and the dual `min Σ_s U*_s(q_s) + Σ_k c_k λ_k`
//! is solved for `log λ`. It moves one price at a time, which makes its bound tight or becomes nothing; then
//! Newton's method on the logarithms of the loads takes over, with a matrix of shares between zero and one.
//! The dearest flows settle first, and the others' prices, however small, are as exact, each relative to its
//! own.
//!
//! Cliques bound the capacity region and are all of it where the graph is perfect. Elsewhere the rates are tried: where a schedule
//! carries them they are the best. Where none does, the prices that prove it are a bound `Σ_l p_l load_l ≤ the heaviest set's` that the rates
//! exceed, such as an odd ring's; with it the dual is solved again. There are finitely many such bounds, and few are met on the way.

mod dual;
mod pivots;

use super::certificate::Found;
use super::schedule::Pricing;
use super::{Failure, Problem, Solution};
use crate::max_min::{Demand, Fair, fill_exactly_unless};
use crate::{Utility, Wire};
use dual::Dual;
use evenair_topology::maximal_cliques;
use libm::{exp, log};

/// The most bounds: the matrix is dense.
const BOUNDS_MAX: usize = 400;
/// A schedule carries the rates within this of each.
const CARRIED: f64 = 1e-9;
/// How often bounds are sought that the rates exceed.
const TRIES_MAX: usize = 200;
/// Coefficients of a bound below this part of the greatest are rounding, and those this close to whole numbers are whole: all are, in
/// units of some, since the region's corners are sets.
const WHOLE: f64 = 1e-6;

/// Links with coefficients; their loads add up to one at most.
type Bound = Vec<(usize, f64)>;

/// The answer, if the problem is one of steep utilities and bounds alone, and has not too many of these.
pub(super) fn solve(problem: &Problem, pricing: &Pricing<'_>) -> Result<Option<Solution>, Failure> {
    let Some(flows) = steep_flows(problem) else { return Ok(None) };
    let Ok(cliques) = maximal_cliques(&problem.air, BOUNDS_MAX) else { return Ok(None) };
    let mut bounds: Vec<Bound> =
        cliques.into_iter().map(|clique| clique.into_iter().map(|l| (l as usize, 1.0)).collect()).collect();
    bounds.extend((problem.air.links()..problem.links()).map(|w| vec![(w, 1.0 / problem.capacity(w))]));
    let mut dual = Dual::new(flows);
    for _ in 0..TRIES_MAX {
        if dual.bounds.len() + bounds.len() > BOUNDS_MAX {
            return Ok(None);
        }
        bounds.drain(..).for_each(|bound| dual.bind(problem, bound));
        let Some(off) = dual.minimise(pricing) else { return Ok(None) };
        let rates: Vec<f64> = (0..problem.flows.len()).map(|s| exp(dual.log_rate(s))).collect();
        match carried(problem, &rates, pricing)? {
            Carried::By(airtime, schedule) => {
                return dual.certified(problem, pricing, (airtime, schedule), off);
            }
            Carried::Never(exceeded) => {
                bounds.extend(exceeded.into_iter().filter(|bound| !dual.bounds.contains(bound)));
                if bounds.is_empty() {
                    return Ok(None);
                }
            }
        }
    }
    Ok(None)
}

fn steep_flows(problem: &Problem) -> Option<Vec<(f64, f64)>> {
    let has_bounds_alone = problem.wires.iter().all(|wire| matches!(wire, Wire::Capacity(_)))
        && problem.background.iter().all(|e| *e == 0.0)
        && problem.beta.is_none();
    let of = |flow: &super::Flow| match flow.utility {
        Utility::AlphaFair { weight, alpha } if flow.fixed_price == 0.0 => Some((log(weight), alpha)),
        _ => None,
    };
    if has_bounds_alone { problem.flows.iter().map(of).collect() } else { None }
}

/// Independent sets with their shares of time.
type Schedule = Vec<(Vec<u32>, f64)>;

/// Whether a schedule carries some rates.
enum Carried {
    /// One does, with these airtimes of links.
    By(Vec<f64>, Schedule),
    /// None does, since the rates exceed these bounds; none of them, if that is not known.
    Never(Vec<Bound>),
}

fn carried(problem: &Problem, rates: &[f64], pricing: &Pricing<'_>) -> Result<Carried, Failure> {
    let mut loads = problem.loads(rates);
    loads.truncate(problem.air.links());
    let busy: Vec<(usize, f64)> = loads.into_iter().enumerate().filter(|(_, load)| *load > 0.0).collect();
    if busy.is_empty() {
        return Ok(Carried::By(vec![0.0; problem.air.links()], Vec::new()));
    }
    let demand = |&(l, load): &(usize, f64)| Demand { weight: load, limit: load, loads: vec![(l, 1.0)] };
    let demands: Vec<Demand> = busy.iter().map(demand).collect();
    let fair = match fill_exactly_unless(&problem.air, &[], &demands, pricing.stop()) {
        Ok(fair) => fair,
        Err(Failure::Stopped) => return Err(Failure::Stopped),
        Err(_) => return Ok(Carried::Never(Vec::new())),
    };
    let Fair { rates, held_by, proof } = fair;
    let Some(proof) = proof else { return Ok(Carried::Never(Vec::new())) };
    let short = |s: usize| rates[s] < busy[s].1 * (1.0 - CARRIED);
    let mut rounds: Vec<usize> = (0..busy.len()).filter(|&s| short(s)).filter_map(|s| held_by[s]).collect();
    rounds.sort_unstable();
    rounds.dedup();
    if rounds.is_empty() {
        return Ok(Carried::By(proof.airtime, proof.schedule));
    }
    Ok(Carried::Never(rounds.into_iter().map(|round| bound(&proof.prices[round], pricing)).collect()))
}

/// No schedule is worth more than the heaviest set at these prices.
fn bound(prices: &[f64], pricing: &Pricing<'_>) -> Bound {
    let most = prices.iter().copied().fold(0.0, f64::max);
    let clean = |p: f64| if p > WHOLE * most { p } else { 0.0 };
    let least = prices.iter().map(|&p| clean(p)).filter(|p| *p > 0.0).fold(f64::INFINITY, f64::min);
    // In which unit all are whole is tried.
    let whole = (1..=6).map(|parts| f64::from(parts) / least).find(|unit| {
        prices.iter().all(|&p| (clean(p) * unit - (clean(p) * unit).round()).abs() <= WHOLE * clean(p) * unit)
    });
    let coefficient = |p: f64| whole.map_or(clean(p), |unit| (clean(p) * unit).round());
    let prices: Vec<f64> = prices.iter().map(|&p| coefficient(p)).collect();
    let heaviest = pricing.bound(&prices);
    prices.iter().enumerate().filter(|(_, p)| **p > 0.0).map(|(l, p)| (l, p / heaviest)).collect()
}

impl Dual {
    /// The solution, if its conditions hold.
    fn certified(
        self,
        problem: &Problem,
        pricing: &Pricing<'_>,
        (airtime, schedule): (Vec<f64>, Schedule),
        off: f64,
    ) -> Result<Option<Solution>, Failure> {
        let rates: Vec<f64> = (0..problem.flows.len()).map(|s| exp(self.log_rate(s))).collect();
        let mut prices = vec![0.0; problem.links()];
        for (bound, log_price) in self.bounds.iter().zip(&self.log_prices) {
            bound.iter().for_each(|&(l, c)| prices[l] += exp(*log_price) * c);
        }
        let entropy = schedule.iter().map(|(_, share)| -share * log(*share)).sum();
        let found = Found { rates, prices, airtime, schedule, entropy, steps: 0 };
        let solution = problem.certified(found, Some(pricing))?;
        // All conditions together do not determine flows that are worth little; the bounds' loads determine
        // each.
        let rates_within = self.rates_within(off);
        Ok(solution.is_exact().then_some(Solution { rates_within, ..solution }))
    }
}
