//! Steep α-fair utilities, by cliques and in logarithms.
//!
//! With a large α prices of flows differ by `(x/x')^α`: by fifty orders of magnitude and more, which no difference of prices survives. So
//! nothing is subtracted here. Links of a clique of the conflict graph transmit one at a time, so that each clique, and each wire, is a
//! bound `Σ_s a_ks x_s ≤ c_k`; a flow's price is a *sum* of prices of these, `q_s = Σ_k a_ks λ_k`, and the dual `min Σ_s U*_s(q_s) + Σ_k
//! c_k λ_k` is solved for `log λ`: by one price at a time, which makes its bound tight or is nothing, and by Newton's method on the
//! logarithms of the loads, whose matrix holds shares between zero and one. What the dearest flows do is settled first, and the others' prices,
//! however small, are as exact, each relative to its own.
//!
//! Cliques bound the capacity region and are all of it where the graph is perfect. Elsewhere the rates are tried: where a schedule
//! carries them they are the best. Where none does, the prices that prove it are a bound `Σ_l p_l load_l ≤ the heaviest set's` that the rates
//! exceed, such as an odd ring's; with it the dual is solved again. There are finitely many such bounds, and few are met on the way.

use super::certificate::Found;
use super::schedule::Pricing;
use super::{Failure, Problem, Solution};
use crate::max_min::{Demand, Fair, fill_exactly_unless};
use crate::{Utility, Wire, newton};
use evenair_topology::maximal_cliques;
use libm::{exp, log};
use nalgebra::DMatrix;

/// The most bounds: the matrix is dense.
const BOUNDS_MAX: usize = 400;
/// Loads are their bounds within this.
const TIGHT: f64 = 1e-12;
/// Sweeps over all prices, each with a Newton step.
const SWEEPS_MAX: usize = 500;
/// A schedule carries the rates within this of each.
const CARRIED: f64 = 1e-9;
/// How often bounds are sought that the rates exceed.
const TRIES_MAX: usize = 200;
/// Coefficients of a bound below this part of the greatest are rounding, and those this close to whole numbers are whole: all are, in
/// units of some, since the region's corners are sets.
const WHOLE: f64 = 1e-6;

/// Links with coefficients, whose loads add up to one at most.
type Bound = Vec<(usize, f64)>;

/// A flow: the logarithm of its weight, α, and its logarithmic load on each bound of its way.
struct Steep {
    log_weight: f64,
    alpha: f64,
    loads: Vec<(usize, f64)>,
}

impl Steep {
    /// The logarithm of the rate that it wants.
    fn log_rate(&self, log_price: f64) -> f64 {
        (self.log_weight - log_price) / self.alpha
    }
}

/// The dual: prices in logarithms, minus infinity for nothing.
struct Dual {
    flows: Vec<Steep>,
    bounds: Vec<Bound>,
    /// The flows on each bound, with their logarithmic loads.
    on: Vec<Vec<(usize, f64)>>,
    log_prices: Vec<f64>,
}

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
        prices.iter().all(|&p| (clean(p) * unit - (clean(p) * unit).round()).abs() < WHOLE * clean(p) * unit)
    });
    let coefficient = |p: f64| whole.map_or(clean(p), |unit| (clean(p) * unit).round());
    let prices: Vec<f64> = prices.iter().map(|&p| coefficient(p)).collect();
    let heaviest = pricing.bound(&prices);
    prices.iter().enumerate().filter(|(_, p)| **p > 0.0).map(|(l, p)| (l, p / heaviest)).collect()
}

impl Dual {
    /// Without any bound.
    fn new(flows: Vec<(f64, f64)>) -> Self {
        let flow = |(log_weight, alpha)| Steep { log_weight, alpha, loads: Vec::new() };
        let flows = flows.into_iter().map(flow).collect();
        Self { flows, bounds: Vec::new(), on: Vec::new(), log_prices: Vec::new() }
    }

    /// Takes a bound in.
    fn bind(&mut self, problem: &Problem, bound: Bound) {
        let k = self.bounds.len();
        let of = |l: usize| bound.binary_search_by_key(&l, |&(l, _)| l).map_or(0.0, |i| bound[i].1);
        let mut on = Vec::new();
        for (s, flow) in problem.flows.iter().enumerate() {
            let load: f64 = flow.loads.iter().map(|&(l, a)| of(l) * a).sum();
            if load > 0.0 {
                self.flows[s].loads.push((k, log(load)));
                on.push((s, log(load)));
            }
        }
        self.bounds.push(bound);
        self.on.push(on);
        self.log_prices.push(f64::NEG_INFINITY);
    }

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
        // All conditions together say little of flows that are worth little; the bounds' loads say it of each.
        let rates_within = self.rates_within(off);
        Ok(solution.is_exact().then_some(Solution { rates_within, ..solution }))
    }

    /// The logarithm of a flow's price, one bound left out.
    fn log_price(&self, flow: usize, without: usize) -> f64 {
        let terms = || {
            let loads = self.flows[flow].loads.iter().filter(move |(k, _)| *k != without);
            loads.map(|&(k, a)| a + self.log_prices[k])
        };
        log_sum(terms)
    }

    fn log_rate(&self, flow: usize) -> f64 {
        self.flows[flow].log_rate(self.log_price(flow, usize::MAX))
    }

    /// The logarithm of a bound's load, over its capacity.
    fn log_load(&self, bound: usize) -> f64 {
        log_sum(|| self.on[bound].iter().map(|&(s, a)| a + self.log_rate(s)))
    }

    /// Goes down until every bound is tight or without a price: by how much the worst is off; none, if it does not get there.
    fn minimise(&mut self, pricing: &Pricing<'_>) -> Option<f64> {
        let mut last = f64::INFINITY;
        for sweep in 0..SWEEPS_MAX {
            if pricing.is_stopped() {
                return None;
            }
            (0..self.on.len()).for_each(|k| self.fit(k));
            self.newton();
            let off = self.off();
            // The last digits come and go.
            if off < 1e-14 || (off < TIGHT && off >= last) {
                return Some(off);
            }
            last = if sweep % 8 == 0 { off } else { off.min(last) };
        }
        let off = self.off();
        (off < TIGHT).then_some(off)
    }

    /// By how much a bound with a price is not tight, or one without is exceeded.
    fn off(&self) -> f64 {
        let of = |k: usize| {
            let over = self.log_load(k);
            if self.log_prices[k] > f64::NEG_INFINITY { over.abs() } else { over.max(0.0) }
        };
        (0..self.on.len()).filter(|&k| !self.on[k].is_empty()).map(of).fold(0.0, f64::max)
    }

    /// The price at which one bound is tight, the others staying; nothing, if it is not full without.
    fn fit(&mut self, bound: usize) {
        let others: Vec<(usize, f64, f64)> =
            self.on[bound].iter().map(|&(s, a)| (s, a, self.log_price(s, bound))).collect();
        let over = |log_price: f64| {
            log_sum(|| {
                others.iter().map(|&(s, a, other)| {
                    let price = log_sum(|| [other, a + log_price].into_iter());
                    a + self.flows[s].log_rate(price)
                })
            })
        };
        if others.is_empty() || over(f64::NEG_INFINITY) <= 0.0 {
            self.log_prices[bound] = f64::NEG_INFINITY;
            return;
        }
        // Alone a flow would pay so much to fill the bound; all together no more than the dearest times their number to the α.
        let alone =
            others.iter().map(|&(s, a, _)| self.flows[s].log_weight + (self.flows[s].alpha - 1.0) * a);
        let dearest = alone.fold(f64::NEG_INFINITY, f64::max);
        let steepest = others.iter().map(|&(s, ..)| self.flows[s].alpha).fold(0.0, f64::max);
        let mut high = dearest + steepest * log(others.len() as f64) + 1.0;
        let mut low = high - 1.0;
        let mut reach = 1.0;
        while over(low) <= 0.0 {
            high = low;
            reach *= 2.0;
            low -= reach;
        }
        for _ in 0..200 {
            let middle = f64::midpoint(low, high);
            if middle <= low || middle >= high {
                break;
            }
            if over(middle) > 0.0 { low = middle } else { high = middle }
        }
        self.log_prices[bound] = f64::midpoint(low, high);
    }

    /// A Newton step on the logarithms of the loads of bounds with a price, where it helps.
    fn newton(&mut self) {
        let priced: Vec<usize> =
            (0..self.on.len()).filter(|&k| self.log_prices[k] > f64::NEG_INFINITY).collect();
        let place = |k: usize| priced.binary_search(&k).ok();
        let n = priced.len();
        // −∂ log load_j/∂ log λ_k = Σ_s (s's share of the load)·(k's share of s's price)/α
        let mut matrix = DMatrix::zeros(n, n);
        let mut right = Vec::with_capacity(n);
        for (j, &bound) in priced.iter().enumerate() {
            let load = self.log_load(bound);
            right.push(-load);
            for &(s, a) in &self.on[bound] {
                let flow = &self.flows[s];
                let price = self.log_price(s, usize::MAX);
                let share = exp(a + flow.log_rate(price) - load) / flow.alpha;
                for &(k, b) in &flow.loads {
                    if let Some(k) = place(k) {
                        matrix[(j, k)] += share * exp(b + self.log_prices[priced[k]] - price);
                    }
                }
            }
        }
        let Some(step) = newton::solve_any(matrix, &right) else { return };
        let (before, off) = (self.log_prices.clone(), self.off());
        let mut t = 1.0f64;
        while t > 1e-3 {
            for (&k, d) in priced.iter().zip(&step) {
                self.log_prices[k] = before[k] - (t * d).clamp(-20.0, 20.0);
            }
            if self.off() < off {
                return;
            }
            t *= 0.5;
        }
        self.log_prices = before;
    }

    /// By which part each flow's rate may be off: what its bounds' loads are, beside its own share of them.
    fn rates_within(&self, off: f64) -> Vec<f64> {
        let of = |s: usize| {
            let rate = self.log_rate(s);
            let least = self.flows[s].loads.iter().map(|&(_, a)| a + rate).fold(f64::INFINITY, f64::min);
            off.max(f64::EPSILON) * exp(-least)
        };
        (0..self.flows.len()).map(of).collect()
    }
}

/// `log Σ e^x` without overflow.
fn log_sum<I: Iterator<Item = f64>>(terms: impl Fn() -> I) -> f64 {
    let most = terms().fold(f64::NEG_INFINITY, f64::max);
    if most.is_infinite() { most } else { most + log(terms().map(|x| exp(x - most)).sum::<f64>()) }
}
