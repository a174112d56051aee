//! Without entropy: which independent sets to send, and how long each.
//!
//! The dual is `min Σ_s U*_s(q_s) + Σ_k μ_k + Σ_w cost*_w(p_w)` over prices `≥ 0`, `μ_k` at least the weight
//! of every independent set of component k of the conflict graph. The sets are too many to list, so they are
//! generated. A *master* problem has some of them and is solved by a primal-dual interior-point method.
//! *Pricing* searches for a set heavier than the master allows, the heaviest independent set under the
//! current prices. None left is the certificate of the optimum; a bound on the heaviest is a bound on how far
//! the optimum can be.

mod branching;
pub(super) mod ladder;
mod master;
mod nearby;
mod pricing;

pub(crate) use master::side_by_side;
pub(crate) use pricing::Pricing;

use super::certificate::Found;
use super::{Failure, Problem, Solution};
use crate::Watch;
pub(super) use ladder::Rung;
use master::Master;
use std::sync::atomic::AtomicBool;

/// Complementarity at which the master counts as solved, relative to the objective's scale.
const GAP: f64 = 1e-11;
/// Up to this α prices differ little enough to be found at once.
const GENTLE: f64 = 2.5;
/// How often the last α is taken.
pub(super) const AGAIN: usize = 6;
const ROUNDS_MAX: u32 = 2_000;
/// Links beyond which the master's dense matrices would take hours.
const LINKS_MAX: usize = 2_000;
/// The same where the heaviest set may not be known: the rest then shows in the bound.
const ROUNDS_MAX_INEXACT: u32 = 1_000;

pub(super) fn solve(problem: &Problem, watch: Watch<'_>) -> Result<Solution, Failure> {
    if problem.links() > LINKS_MAX {
        return Err(Failure::TooLarge(evenair_topology::TooLarge {
            links: problem.links(),
            limit: LINKS_MAX,
        }));
    }
    check_background(problem, watch.stop)?;
    let pricing = Pricing::new(problem, watch.stop)?.told_by(watch.done);
    match ladder::alphas(problem) {
        Some(alphas) if alphas.last().is_some_and(|alpha| *alpha > GENTLE) => {
            match super::steep::solve(problem, &pricing)? {
                Some(solution) => Ok(solution),
                None => climb(problem, &pricing, &alphas),
            }
        }
        rungs => {
            let mut master = Master::new(problem, &pricing);
            generate(&mut master, &pricing, GAP);
            if pricing.is_stopped() {
                return Err(Failure::Stopped);
            }
            match (finish(problem, &pricing, &master), rungs) {
                (Err(Failure::NotConverged(_)), Some(alphas)) => climb(problem, &pricing, &alphas),
                (Ok(direct), Some(alphas)) if !direct.is_exact() => {
                    Ok(better(climb(problem, &pricing, &alphas), direct))
                }
                (done, _) => done,
            }
        }
    }
}

/// The one of two solutions that is known to be nearer to the best.
fn better(one: Result<Solution, Failure>, other: Solution) -> Solution {
    one.ok().filter(|one| one.residuals.gap < other.residuals.gap).unwrap_or(other)
}

/// Solves for one α after the other, each from where the last one ended.
fn climb(problem: &Problem, pricing: &Pricing<'_>, alphas: &[f64]) -> Result<Solution, Failure> {
    let mut rates = problem.even_rates();
    let mut sets = Master::new(problem, pricing).into_sets();
    let mut before: Option<(Rung, Vec<f64>)> = None;
    let mut steps = 0;
    let mut best =
        Err(Failure::BadlyScaled("prices of the flows differ beyond what the arithmetic holds".into()));
    // The last α is taken again in its own rates until it is exact.
    let again = alphas.last().into_iter().cycle().take(AGAIN);
    for (i, &alpha) in alphas.iter().chain(again).enumerate() {
        if pricing.is_stopped() {
            return Err(Failure::Stopped);
        }
        pricing.stage(i, alphas.len() + 1);
        let mut rung = Rung::new(problem, alpha, &rates);
        if let Some((before, prices)) = &before {
            rung.follow(before, prices);
        }
        let mut master = Master::again(&rung.problem, pricing, &rung.prices, sets);
        generate(&mut master, pricing, if i < alphas.len() { 1e-6 } else { GAP });
        let prices = master.prices();
        steps += master.steps;
        if i >= alphas.len() {
            let found = Ended { prices: rung.own_prices(&prices), schedule: master.schedule(), steps };
            match certify(problem, pricing, found) {
                Ok(solution) if solution.is_exact() => return Ok(solution),
                Ok(solution) => best = Ok(better(best, solution)),
                Err(failure) if best.is_err() => best = Err(failure),
                Err(_) => (),
            }
        }
        let next = rung.rates(&prices);
        if next.iter().all(|x| x.is_finite() && *x > 0.0) {
            rates = next;
        }
        sets = master.into_sets();
        before = Some((rung, prices));
    }
    best
}

/// Generates sets until none is heavier than the master allows, and the master is solved this well.
fn generate(master: &mut Master<'_>, pricing: &Pricing<'_>, gap: f64) {
    let rounds = if pricing.is_exact() { ROUNDS_MAX } else { ROUNDS_MAX_INEXACT };
    let (mut last, mut first) = (f64::INFINITY, None);
    for round in 0..rounds {
        if pricing.is_stopped() {
            return;
        }
        let (columns, worst) = master.priced(pricing, &master.prices());
        pricing.tell_gap(worst + master.gap());
        // The excess weight of sets falls round by round about as a power does.
        let first = *first.get_or_insert(worst);
        let fallen = libm::log(first / worst) / libm::log(first / (0.1 * gap));
        pricing.tell(fallen.max(f64::from(round) / f64::from(rounds)));
        let closed = columns.is_empty() || worst < 0.1 * gap;
        // Rounding may hold the gap above its goal: where many steps no longer halve it nothing will.
        if closed && (master.gap() < gap || master.gap() > 0.5 * last) {
            pricing.tell(1.0);
            return;
        }
        last = if closed { master.gap() } else { f64::INFINITY };
        if !closed {
            master.add(columns);
        }
        // Sets found at prices that are not final yet are as good: the master is solved ever more exactly.
        let goal = if closed { gap } else { (0.1 * worst).max(gap) };
        if !master.improve(goal, pricing) && closed {
            return;
        }
    }
}

/// Independent sets that a master came to know.
#[derive(Default)]
pub(crate) struct Sets(Vec<master::Column>);

/// Where the prices of a problem end, with shares of time of the sets that carry it; nothing is checked. Sets and prices that are
/// known from a like problem are gone on from: the same links must carry something.
pub(crate) fn priced(
    problem: &Problem,
    pricing: &Pricing<'_>,
    from: &[f64],
    sets: &mut Sets,
    gap: f64,
) -> (Vec<f64>, Vec<(Vec<u32>, f64)>) {
    if sets.0.is_empty() {
        sets.0 = Master::new(problem, pricing).into_sets();
    }
    let mut master = Master::again(problem, pricing, from, std::mem::take(&mut sets.0));
    generate(&mut master, pricing, gap);
    let found = (master.prices(), master.schedule());
    sets.0 = master.into_sets();
    found
}

/// Prices close to the best.
pub(super) fn rough_prices(problem: &Problem, stop: &AtomicBool) -> Result<Vec<f64>, Failure> {
    check_background(problem, stop)?;
    let pricing = Pricing::new(problem, stop)?;
    let mut master = Master::new(problem, &pricing);
    generate(&mut master, &pricing, 1e-4);
    Ok(master.prices())
}

/// The background alone must fit: how many times it fits is itself a problem, with one flow.
fn check_background(problem: &Problem, stop: &AtomicBool) -> Result<(), Failure> {
    for (w, wire) in problem.wires.iter().enumerate() {
        let load = problem.background_of(problem.air.links() + w);
        if matches!(wire, crate::Wire::Capacity(capacity) if load >= *capacity) {
            return Err(Failure::Infeasible(format!(
                "wire {w} carries {load} already, and no more than it can"
            )));
        }
    }
    let used: Vec<(usize, f64)> =
        (0..problem.air.links()).map(|l| (l, problem.background_of(l))).filter(|&(_, e)| e > 0.0).collect();
    if used.is_empty() {
        return Ok(());
    }
    let all = super::Flow { utility: crate::Utility::log(1.0), fixed_price: 0.0, loads: used };
    let alone = Problem { air: problem.air.clone(), flows: vec![all], ..Problem::default() };
    let pricing = Pricing::new(&alone, stop)?;
    let mut master = Master::new(&alone, &pricing);
    generate(&mut master, &pricing, 1e-9);
    let times = finish(&alone, &pricing, &master)?.rates[0];
    if times <= 1.0 + 1e-9 {
        let what = format!("of the links' present load only {:.4} fits", times.min(1.0));
        return Err(Failure::Infeasible(what));
    }
    Ok(())
}

fn finish(problem: &Problem, pricing: &Pricing<'_>, master: &Master<'_>) -> Result<Solution, Failure> {
    let found = Ended { prices: master.prices(), schedule: master.schedule(), steps: master.steps };
    certify(problem, pricing, found)
}

/// Where a master ended.
struct Ended {
    prices: Vec<f64>,
    schedule: Vec<(Vec<u32>, f64)>,
    steps: u32,
}

fn certify(problem: &Problem, pricing: &Pricing<'_>, ended: Ended) -> Result<Solution, Failure> {
    let Ended { prices, schedule, steps } = ended;
    let mut rates: Vec<f64> = problem.flows.iter().map(|f| f.utility.rate(f.price(&prices))).collect();
    let mut airtime = vec![0.0; problem.air.links()];
    for (set, share) in &schedule {
        for &l in set {
            airtime[l as usize] += share;
        }
    }
    // Where the prices are not final, the rates that they ask for may not fit.
    let loads = problem.loads(&rates);
    let mut fits = 1.0f64;
    for (l, load) in loads.iter().enumerate().filter(|(_, load)| **load > 0.0 && !pricing.is_exact()) {
        let room = match l.checked_sub(problem.air.links()).map(|w| problem.wires[w]) {
            None => airtime[l] - problem.background_of(l),
            Some(crate::Wire::Capacity(capacity)) => capacity - problem.background_of(l),
            Some(_) => continue,
        };
        fits = fits.min(room / load);
    }
    if fits <= 0.0 {
        fits = 1.0; // not solved at all: the certificate will say so
    }
    rates.iter_mut().for_each(|x| *x *= fits);
    let entropy = schedule.iter().map(|(_, share)| -share * libm::log(*share)).sum();
    let found = Found { rates, prices, airtime, schedule, entropy, steps };
    let solution = problem.certified(found, Some(pricing))?;
    let converged = solution.residuals.primal.max(solution.residuals.dual) < Solution::TOLERANCE;
    let exact = pricing.is_exact() && problem.beta.is_none();
    if converged && (solution.is_exact() || !exact) {
        Ok(solution)
    } else {
        Err(Failure::NotConverged(solution.residuals))
    }
}
