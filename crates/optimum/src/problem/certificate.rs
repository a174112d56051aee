//! The checker of every solution: optimality conditions, from the problem and the answer alone.

use super::{Failure, Problem, Residuals, Solution, schedule::Pricing};
use crate::ProductForm;
use crate::max_min::Demand;

/// A solver's answer: rates and prices, and shares of time or, with entropy, the links' airtimes.
pub(super) struct Found {
    pub(super) rates: Vec<f64>,
    pub(super) prices: Vec<f64>,
    pub(super) airtime: Vec<f64>,
    pub(super) schedule: Vec<(Vec<u32>, f64)>,
    pub(super) entropy: f64,
    pub(super) steps: u32,
}

impl Problem {
    /// Checks the conditions of a solver's answer and makes a solution of it.
    ///
    /// # Errors
    /// If its numbers are not finite.
    pub(super) fn certified(&self, found: Found, pricing: Option<&Pricing<'_>>) -> Result<Solution, Failure> {
        let Found { rates, prices, airtime, schedule, entropy, steps } = found;
        let loads = self.loads(&rates);
        let priced = |l: usize| l.checked_sub(self.air.links()).and_then(|w| self.wires[w].price(loads[l]));
        let utility: f64 =
            self.flows.iter().zip(&rates).map(|(f, &x)| f.utility.of(x) - f.fixed_price * x).sum();
        let cost: f64 = (0..self.wires.len()).map(|w| self.wires[w].cost(loads[self.air.links() + w])).sum();
        let scale: f64 = self.flows.iter().zip(&rates).map(|(f, &x)| x * f.utility.price(x)).sum();
        let nats = self.beta.map_or(0.0, |beta| entropy / beta);
        let (bound, mut stationarity) = self.bound(&prices, &airtime, pricing)?;
        let mut residuals = Residuals {
            primal: 0.0,
            dual: 0.0,
            stationarity: 0.0,
            complementarity: 0.0,
            gap: (bound - (utility - cost + nats)).abs() / scale,
        };
        for (flow, &x) in self.flows.iter().zip(&rates) {
            stationarity = stationarity.max(flow.utility.mismatch(x, flow.price(&prices)) / scale);
        }
        residuals.stationarity = stationarity;
        for l in 0..self.links() {
            residuals.dual = residuals.dual.max(-prices[l]);
            if let Some(price) = priced(l) {
                let off = (price - prices[l]).abs() * loads[l] / scale;
                residuals.complementarity = residuals.complementarity.max(off);
                continue;
            }
            let capacity = match l.checked_sub(self.air.links()) {
                Some(w) => self.wires[w].capacity(),
                None => airtime[l],
            };
            let slack = capacity - loads[l] - self.background_of(l);
            let unit = if l < self.air.links() { 1.0 } else { capacity };
            residuals.primal = residuals.primal.max(-slack / unit);
            residuals.complementarity = residuals.complementarity.max((prices[l] * slack).abs() / scale);
        }
        let total: f64 = schedule.iter().map(|(_, share)| share).sum();
        if !schedule.is_empty() && self.air.links() > 0 {
            residuals.primal = residuals.primal.max((total - 1.0).abs());
        }
        if !(residuals.worst().is_finite() && bound.is_finite()) {
            return Err(Failure::NotConverged(residuals));
        }
        // Sums of so many terms are off by their rounding, and a value that is infeasible by the primal residual by that.
        let terms: f64 = self.flows.iter().zip(&rates).map(|(f, &x)| f.utility.of(x).abs()).sum();
        let gap = (bound - (utility - cost + nats)).abs() + f64::EPSILON * terms + residuals.primal * scale;
        let rates_within = self.rates_within(&rates, &prices, gap);
        Ok(Solution {
            rates,
            prices,
            airtime,
            schedule,
            utility: utility - cost,
            entropy,
            bound,
            residuals,
            rates_within,
            steps,
            by_clarabel: false,
        })
    }

    /// By which part each flow's best rate may differ from the one that was found, given what all are worth more at most.
    ///
    /// At the best rates `x*` the bound exceeds the objective by what each flow loses at these prices, `U*(q) − (U(x*) − qx*)`, and other
    /// terms, none below zero. So no flow loses more than the gap; near its own choice a flow loses `½|U''|·(x* − x)²`.
    fn rates_within(&self, rates: &[f64], prices: &[f64], gap: f64) -> Vec<f64> {
        let of = |(flow, &found): (&super::Flow, &f64)| {
            let price = flow.price(prices);
            let wanted = flow.utility.rate(price);
            let slope = flow.utility.slope(price); // −1/U''
            let away = (2.0 * gap * slope).sqrt() / wanted + (wanted / found - 1.0).abs();
            // The parabola is the loss itself only close by.
            if away < 0.5 { away } else { f64::INFINITY }
        };
        self.flows.iter().zip(rates).map(of).collect()
    }

    /// The dual function at these prices, which no objective exceeds; and, with entropy, how far the airtimes are from the
    /// product form at these prices.
    fn bound(
        &self,
        prices: &[f64],
        airtime: &[f64],
        pricing: Option<&Pricing<'_>>,
    ) -> Result<(f64, f64), Failure> {
        let air = self.air.links();
        let flows: f64 = self.flows.iter().map(|f| f.utility.conjugate(f.price(prices))).sum();
        let wires: f64 = self.wires.iter().zip(&prices[air..]).map(|(w, &p)| w.conjugate(p.max(0.0))).sum();
        let background: f64 = (0..self.links()).map(|l| prices[l] * self.background_of(l)).sum();
        let rest = flows + wires - background;
        match (self.beta, pricing) {
            (Some(beta), None) => {
                let exponents: Vec<f64> = prices[..air].iter().map(|r| beta * r).collect();
                let shares = ProductForm::new(&self.air)?.shares(&exponents);
                let off = shares.links.iter().zip(airtime).map(|(y, z)| (y - z).abs()).fold(0.0, f64::max);
                Ok((rest + shares.log_partition / beta, off))
            }
            (beta, Some(pricing)) => {
                // The entropy is at most the logarithm of the number of sets, and that is bounded by a cover by cliques.
                let nats: f64 = evenair_topology::clique_cover(&self.air)
                    .iter()
                    .map(|c| libm::log1p(c.len() as f64))
                    .sum();
                Ok((rest + pricing.bound(prices) + beta.map_or(0.0, |beta| nats / beta), 0.0))
            }
            (None, None) => unreachable!("without entropy the schedule is priced"),
        }
    }
}

/// The answer of water-filling: rates, the round in which each flow is held, airtimes, and each round's prices.
pub(crate) struct Filled<'a> {
    pub(crate) rates: &'a [f64],
    pub(crate) held_by: &'a [Option<usize>],
    pub(crate) airtime: &'a [f64],
    pub(crate) prices: &'a [Vec<f64>],
}

/// Max-min fairness by its definition: no flow can have more unless a flow that has no more, in proportion, gets less.
///
/// Prices of links prove it. Rates that the region allows pay at most its worth at these prices. Where the flows that have no more
/// than a flow pay that already, the flow cannot pay more unless one of them pays less. The rest, relative to the flow's own
/// payment, bounds the growth of its rate.
pub(crate) fn max_min_residuals(
    problem: &Problem,
    pricing: &Pricing<'_>,
    demands: &[Demand],
    filled: &Filled<'_>,
) -> Residuals {
    let Filled { rates, held_by, airtime, prices } = *filled;
    let (loads, air) = (problem.loads(rates), problem.air.links());
    let mut residuals = Residuals::NONE;
    for (demand, rate) in demands.iter().zip(rates) {
        // A link that is too full by this takes so much from each of its flows.
        for &(l, _) in &demand.loads {
            let has = if l < air { airtime[l] } else { problem.capacity(l) };
            residuals.primal = residuals.primal.max((loads[l] - has) / loads[l]);
        }
        residuals.primal = residuals.primal.max((rate - demand.limit) / rate);
    }
    let level = |s: usize| rates[s] / demands[s].weight;
    for (round, prices) in prices.iter().enumerate() {
        let held = || (0..demands.len()).filter(|&s| held_by[s] == Some(round));
        let wires: f64 = (air..problem.links()).map(|l| prices[l] * problem.capacity(l)).sum();
        let worth = wires + pricing.bound(prices);
        residuals.dual = prices.iter().fold(residuals.dual, |worst, p| worst.max(-p));
        for s in held() {
            let pay = |r: usize| problem.flows[r].price(prices) * rates[r];
            let paid: f64 =
                (0..demands.len()).filter(|&r| level(r) <= level(s) * (1.0 + 1e-9)).map(pay).sum();
            residuals.gap = residuals.gap.max((worth - paid) / pay(s));
        }
    }
    // A flow that nothing holds has all it wants.
    for s in (0..demands.len()).filter(|&s| held_by[s].is_none()) {
        residuals.gap = residuals.gap.max((demands[s].limit - rates[s]) / rates[s]);
    }
    residuals
}
