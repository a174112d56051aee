//! Water-filling over the exact capacity region by the interior-point method that maximises utilities.
//!
//! A round is a problem with one flow, all growing flows in proportion; held flows are a background. Its price is the
//! inverse of the level. Sets and prices are kept from round to round. This takes far fewer searches than vertices do, and
//! leaves levels exact to some ten digits: where shares of the prices differ a million times the certificate may refuse that.

use super::{Demand, Fair, Proof};
use crate::problem::{Failure, Filled, Flow, Pricing, Problem, Sets, Solution, max_min_residuals, priced};
use crate::{Utility, Wire};

/// A flow with a greater share of the prices is held.
const HELD: f64 = 1e-3;
/// Held flows must be carried up to this: without any room a round would have no interior.
const ROOM: f64 = 1e-9;
/// How well a round is solved, relative to its level.
const GAP: f64 = 1e-11;

struct Filling<'a> {
    problem: &'a Problem,
    demands: &'a [Demand],
    rates: Vec<Option<f64>>,
    held_by: Vec<Option<usize>>,
    level: f64,
    /// The prices of each round.
    prices: Vec<Vec<f64>>,
    sets: Sets,
    schedule: Vec<(Vec<u32>, f64)>,
    pricing: &'a Pricing<'a>,
}

pub(super) fn fill<'a>(
    problem: &'a Problem,
    pricing: &'a Pricing<'a>,
    demands: &'a [Demand],
) -> Result<Fair, Failure> {
    let mut filling = Filling {
        problem,
        demands,
        rates: vec![None; demands.len()],
        held_by: vec![None; demands.len()],
        level: 0.0,
        prices: Vec::new(),
        sets: Sets::default(),
        schedule: Vec::new(),
        pricing,
    };
    while filling.rates.iter().any(Option::is_none) {
        if pricing.is_stopped() {
            return Err(Failure::Stopped);
        }
        filling.round()?;
    }
    filling.finish(pricing)
}

/// The growing flows as one flow, and the held flows as a background.
fn together(problem: &Problem, demands: &[Demand], rates: &[Option<f64>], until: f64) -> Problem {
    debug_assert_eq!(demands.len(), rates.len());
    let links = problem.links();
    let (mut growing, mut background) = (vec![0.0; links], vec![0.0; links]);
    for (demand, rate) in demands.iter().zip(rates) {
        for &(l, a) in &demand.loads {
            match rate {
                Some(rate) => background[l] += a * rate * (1.0 - ROOM),
                None => growing[l] += a * demand.weight,
            }
        }
    }
    let mut loads: Vec<(usize, f64)> = growing.into_iter().enumerate().filter(|(_, a)| *a > 0.0).collect();
    let mut wires = problem.wires.clone();
    if until.is_finite() {
        // The demand of the first of them is a wire of its own.
        loads.push((links, 1.0 / until));
        wires.push(Wire::Capacity(1.0));
        background.push(0.0);
    }
    let all = Flow { utility: Utility::log(1.0), fixed_price: 0.0, loads };
    Problem { air: problem.air.clone(), wires, flows: vec![all], beta: None, background }
}

/// Prices, and independent sets with their shares of time.
type Raised = (Vec<f64>, Vec<(Vec<u32>, f64)>);

/// Both at the highest level.
fn raised(together: &Problem, level: f64, sets: &mut Sets, pricing: &Pricing<'_>) -> Raised {
    let flow = &together.flows[0];
    let mut from = vec![0.0; together.links()];
    // Low prices to begin with, alike on all links that the growing flows load.
    flow.loads.iter().for_each(|&(l, a)| from[l] = level.max(1e-9) / (a * flow.loads.len() as f64));
    priced(together, &pricing.of(together), &from, sets, GAP)
}

impl Filling<'_> {
    fn round(&mut self) -> Result<(), Failure> {
        let waiting: Vec<usize> = (0..self.demands.len()).filter(|&s| self.rates[s].is_none()).collect();
        let content = |s: usize| self.demands[s].limit / self.demands[s].weight;
        let until = waiting.iter().map(|&s| content(s)).fold(f64::INFINITY, f64::min);
        let together = together(self.problem, self.demands, &self.rates, until);
        let (prices, schedule) = raised(&together, self.level, &mut self.sets, self.pricing);
        let price = together.flows[0].price(&prices);
        let failed = || Failure::BadlyScaled("the level of the growing flows is lost".into());
        if !(price > 0.0 && price.is_finite()) {
            return Err(failed());
        }
        self.level = self.level.max(1.0 / price);
        let own = |s: usize| self.demands[s].loads.iter().map(|&(l, a)| a * prices[l]).sum::<f64>();
        let shares: Vec<f64> = waiting.iter().map(|&s| self.demands[s].weight * own(s) / price).collect();
        let last = if until.is_finite() { prices[self.problem.links()] / (until * price) } else { 0.0 };
        let held = HELD.min(0.5 * shares.iter().fold(last, |most, share| most.max(*share)));
        for (&s, share) in waiting.iter().zip(&shares) {
            if last > held && content(s) <= until {
                self.rates[s] = Some(self.demands[s].limit);
            } else if *share > held {
                self.rates[s] = Some(self.level * self.demands[s].weight);
                self.held_by[s] = Some(self.prices.len());
            }
        }
        if waiting.iter().all(|&s| self.rates[s].is_none()) {
            return Err(failed());
        }
        self.prices.push(prices[..self.problem.links()].iter().map(|p| p.max(0.0) / price).collect());
        self.schedule = schedule;
        Ok(())
    }

    fn finish(self, pricing: &Pricing<'_>) -> Result<Fair, Failure> {
        let rates: Vec<f64> = self.rates.into_iter().flatten().collect();
        let mut airtime = vec![0.0; self.problem.air.links()];
        for (set, share) in &self.schedule {
            set.iter().for_each(|&l| airtime[l as usize] += share);
        }
        let filled =
            Filled { rates: &rates, held_by: &self.held_by, airtime: &airtime, prices: &self.prices };
        let residuals = max_min_residuals(self.problem, pricing, self.demands, &filled);
        if residuals.worst() > Solution::TOLERANCE || !residuals.worst().is_finite() {
            return Err(Failure::NotConverged(residuals));
        }
        let proof = Proof { airtime, schedule: self.schedule, prices: self.prices, residuals };
        Ok(Fair { rates, held_by: self.held_by, proof: Some(proof) })
    }
}
