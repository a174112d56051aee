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
        if !schedule.is_empty() {
            residuals.primal = residuals.primal.max((total - 1.0).abs());
        }
        // The greatest of numbers passes over one that is none; those of rates, prices and the bound are in the gap's sums.
        let are_numbers = total.is_finite() && airtime.iter().all(|share| share.is_finite());
        if !(residuals.worst().is_finite() && are_numbers) {
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

    /// The greatest relative distance of each flow's best rate from the found one, given the greatest
    /// possible gain of all.
    ///
    /// At the best rates `x*` the bound exceeds the objective by each flow's loss at these prices,
    /// `U*(q) − (U(x*) − qx*)`, and by other terms, none below zero. So no flow loses more than the gap; near
    /// its own choice a flow loses `½|U''|·(x* − x)²`.
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

#[cfg(test)]
mod tests {
    use super::super::Flow;
    use super::*;
    use crate::{Utility, Wire};
    use evenair_topology::ConflictGraph;
    use libm::{exp, log};
    use std::sync::atomic::AtomicBool;

    fn close(ours: f64, theirs: f64) {
        assert!((ours - theirs).abs() < 1e-12, "{ours} {theirs}");
    }

    /// A link of the air, 0, and wires that carry 3, bounded, and 1, priced; one flow over the first two, and one over the
    /// first, by half of its rate, and the third.
    fn problem() -> Problem {
        let first = Flow { fixed_price: 0.2, ..Flow::over(Utility::log(1.0), &[0, 1]) };
        let second = Flow { loads: vec![(0, 0.5), (2, 1.0)], ..Flow::over(Utility::log(2.0), &[]) };
        Problem {
            air: ConflictGraph::from_edges(1, &[]),
            wires: vec![Wire::Capacity(3.0), Wire::DropTail(1.0)],
            flows: vec![first, second],
            beta: Some(2.0),
            background: vec![0.1, 0.5, 0.0],
        }
    }

    fn found(prices: [f64; 3]) -> Found {
        Found {
            rates: vec![0.3, 2.0],
            prices: prices.to_vec(),
            airtime: vec![1.25],
            schedule: vec![(vec![0], 0.6), (vec![], 0.3)],
            entropy: 0.5,
            steps: 7,
        }
    }

    #[test]
    fn residuals_of_a_wrong_answer_are_their_sums() {
        let (r, q, p): (f64, f64, f64) = (0.7, 0.1, 0.2);
        let solution = problem().certified(found([r, q, p]), None).unwrap();
        // U = w·ln x: Σ x·U'(x) = 1 + 2. Loads: 0.3 + 0.5·2 on the air, 0.3 on the first wire, 2 on the second, which costs
        // ∫(1 − C/y)dy = y − C − C·ln(y/C).
        let (scale, cost) = (3.0, 1.0 - log(2.0));
        let utility = log(0.3) - 0.2 * 0.3 + 2.0 * log(2.0);
        close(solution.utility, utility - cost);
        // The dual adds five terms. Each flow: max U − qx = w·ln(w/q) − w. A bounded wire's worth: q·C. A
        // costly wire: −C·ln(1 − p), where y = C/(1 − p) is the most of p·y − cost. Less the payments of the
        // background. The one link: ln(1 + exp(β·r))/β.
        let prices = (0.2 + r + q, 0.5 * r + p);
        let flows = -log(prices.0) - 1.0 + 2.0 * log(2.0 / prices.1) - 2.0;
        let wires = q * 3.0 - log(1.0 - p);
        let bound = flows + wires - (r * 0.1 + q * 0.5) + log(1.0 + exp(2.0 * r)) / 2.0;
        close(solution.bound, bound);
        close(solution.residuals.gap, (bound - (utility - cost + 0.5 / 2.0)).abs() / scale);
        // |x·(U' − q)| = |w − x·q| of each flow over the scale; the airtime 1.25 against exp(βr)/(1 + exp(βr)).
        let share = exp(2.0 * r) / (1.0 + exp(2.0 * r));
        let flows = [1.0 - 0.3 * prices.0, 2.0 - 2.0 * prices.1].map(|off: f64| off.abs() / scale);
        close(solution.residuals.stationarity, flows[0].max(flows[1]).max(1.25 - share));
        // The air is over by 1.3 + 0.1 − 1.25; the shares' sum is short by 0.1.
        close(solution.residuals.primal, 0.15);
        close(solution.residuals.dual, 0.0);
        // Price times slack: 0.7·0.15, 0.1·(3 − 0.3 − 0.5); and the priced wire's (1 − 1/2 − 0.2)·2.
        close(solution.residuals.complementarity, (0.3 * 2.0) / scale);
        assert_eq!((solution.entropy, solution.steps, solution.by_clarabel), (0.5, 7, false));
        assert_eq!(solution.rates_within, [f64::INFINITY; 2], "they are far from it");
    }

    #[test]
    fn each_residual_is_the_worst_of_its_links() {
        let scale = 3.0;
        let residuals = |prices, change: fn(&mut Problem, &mut Found)| {
            let (mut problem, mut found) = (problem(), found(prices));
            change(&mut problem, &mut found);
            problem.certified(found, None).unwrap().residuals
        };
        // A price of a bounded wire below zero, and its slack of 2.2.
        let below = residuals([0.7, -0.4, 0.5], |_, _| ());
        close(below.dual, 0.4);
        close(below.complementarity, 0.4 * 2.2 / scale);
        // The air's own price and excess, where the wires' prices fit: 0.15 beyond 1.25.
        close(residuals([0.7, 0.0, 0.5], |_, _| ()).complementarity, 0.7 * 0.15 / scale);
        // Shares that sum to one, and a wire that is too full by 0.5 of its capacity 0.3 beside the air's 0.15.
        let full = residuals([0.7, 0.0, 0.5], |problem, found| {
            found.schedule[1].1 = 0.4;
            problem.wires[0] = Wire::Capacity(0.3);
        });
        close(full.primal, 0.5 / 0.3);
        // Shares of time count only where some are listed.
        let roomy = |_: &mut Problem, found: &mut Found| found.airtime[0] = 2.0;
        close(residuals([0.7, 0.0, 0.5], roomy).primal, 0.1);
        let unlisted = |_: &mut Problem, found: &mut Found| {
            found.airtime[0] = 2.0;
            found.schedule.clear();
        };
        close(residuals([0.7, 0.0, 0.5], unlisted).primal, 0.0);
    }

    #[test]
    fn gap_bounds_the_rates() {
        // U = ln x over one link: x = 1/r = 0.8 is its airtime where exp(βr) = 4; the best has the entropy of 0.8 and 0.2.
        let beta = log(4.0) / 1.25;
        let problem = Problem {
            air: ConflictGraph::from_edges(1, &[]),
            flows: vec![Flow::over(Utility::log(1.0), &[0])],
            beta: Some(beta),
            ..Problem::default()
        };
        let entropy = -(0.8 * log(0.8) + 0.2 * log(0.2));
        let solve = |missing: f64, rate: f64| {
            let found = Found {
                rates: vec![rate],
                prices: vec![1.25],
                airtime: vec![0.8],
                schedule: vec![(vec![0], 0.8), (vec![], 0.2)],
                entropy: entropy - missing * beta,
                steps: 0,
            };
            problem.certified(found, None).unwrap()
        };
        let exact = solve(0.0, 0.8);
        assert!(exact.residuals.worst() < 1e-12 && exact.is_exact(), "{:?}", exact.residuals);
        assert!(exact.rates_within[0] < 1e-6, "{:?}", exact.rates_within);
        close(exact.bound, log(0.8) + entropy / beta);
        // A loss of g near x is ½|U''|·(x* − x)², U'' = −1/x²: x* is within √(2g) of x, relatively.
        for gap in [0.02, 0.1] {
            let solution = solve(gap, 0.8);
            close(solution.residuals.gap, gap);
            assert!(
                (solution.rates_within[0] - (2.0 * gap).sqrt()).abs() < 1e-9,
                "{:?}",
                solution.rates_within
            );
        }
        // Half a rate off, the parabola proves nothing: √(2·0.13) = 0.51.
        assert_eq!(solve(0.13, 0.8).rates_within, [f64::INFINITY]);
        // A rate that is another than these prices' is further off by that.
        let (rate, gap) = (0.75, log(0.8) - log(0.75));
        let expected = (2.0 * gap).sqrt() + (0.8 / rate - 1.0);
        assert!((solve(0.0, rate).rates_within[0] - expected).abs() < 1e-9);
    }

    #[test]
    fn rates_of_exact_answer_are_known_to_rounding() {
        let over = |wire, utility, rate: f64, price: f64| {
            let problem =
                Problem { wires: vec![wire], flows: vec![Flow::over(utility, &[0])], ..Problem::default() };
            let (rates, prices) = (vec![rate], vec![price]);
            let found = Found { rates, prices, airtime: vec![], schedule: vec![], entropy: 0.0, steps: 0 };
            let stop = AtomicBool::new(false);
            let pricing = Pricing::new(&problem, &stop).unwrap();
            problem.certified(found, Some(&pricing)).unwrap().rates_within[0]
        };
        // U = −1/x, x = 1/2, price 1/x² = 4: the bound −4 + 4/2 is U = −2; only its rounding 2ε may be
        // missing; U'' = −2/x³.
        let within = over(Wire::Capacity(0.5), Utility::inverse(1.0), 0.5, 4.0);
        close(within, (2.0 * 2.0 * f64::EPSILON / 16.0).sqrt() / 0.5);
        // U = ln x over a priced wire of capacity 1: 1/x = 1 − 1/x at x = 2, of which the cost is a part of the objective.
        let within = over(Wire::DropTail(1.0), Utility::log(1.0), 2.0, 0.5);
        assert!(within < 1e-7, "{within}");
    }

    #[test]
    fn rates_of_infeasible_answer_are_known_by_less() {
        // U = 3·ln x, a price of 3/x: the airtime is short of the rate by 0.01, which is worth 0.01·x·U'(x) at most.
        let beta = log(4.0) / 3.75;
        let problem = Problem {
            air: ConflictGraph::from_edges(1, &[]),
            flows: vec![Flow::over(Utility::log(3.0), &[0])],
            beta: Some(beta),
            ..Problem::default()
        };
        let found = Found {
            rates: vec![0.8],
            prices: vec![3.75],
            airtime: vec![0.79],
            schedule: vec![(vec![0], 0.8), (vec![], 0.2)],
            entropy: -(0.8 * log(0.8) + 0.2 * log(0.2)),
            steps: 0,
        };
        let solution = problem.certified(found, None).unwrap();
        close(solution.residuals.primal, 0.01);
        close(solution.residuals.gap, 0.0);
        // ½·3·(x* − x)²/x² = 0.03.
        assert!((solution.rates_within[0] - 0.02_f64.sqrt()).abs() < 1e-9, "{:?}", solution.rates_within);
    }

    #[test]
    fn bound_of_a_schedule_is_its_heaviest_set() {
        // Links 0 and 1 conflict, link 2 is apart: at 0.7, 0.3 and 0.4 the heaviest set has 0 and 2. Σ
        // w·ln(w/q) − w of the flows; less the payments of the background.
        let flows = [(1.0, 0), (2.0, 1), (3.0, 2)].map(|(w, link)| Flow::over(Utility::log(w), &[link]));
        let flows_worth = log(1.0 / 0.7) - 1.0 + 2.0 * log(2.0 / 0.3) - 2.0 + 3.0 * log(3.0 / 0.4) - 3.0;
        let rest = flows_worth - 0.7 * 0.1;
        // An entropy of two cliques: of one with three sets, none among them, and of one with two.
        for (beta, nats) in [(None, 0.0), (Some(2.0), f64::midpoint(log(3.0), log(2.0)))] {
            let problem = Problem {
                air: ConflictGraph::from_edges(3, &[(0, 1)]),
                flows: flows.to_vec(),
                beta,
                background: vec![0.1, 0.0, 0.0],
                ..Problem::default()
            };
            let stop = AtomicBool::new(false);
            let pricing = Pricing::new(&problem, &stop).unwrap();
            let found = Found {
                rates: vec![1.0; 3],
                prices: vec![0.7, 0.3, 0.4],
                airtime: vec![0.5; 3],
                schedule: Vec::new(),
                entropy: 0.0,
                steps: 0,
            };
            close(problem.certified(found, Some(&pricing)).unwrap().bound, rest + 0.7 + 0.4 + nats);
        }
    }

    /// A pair of links of the air that conflict, 0 and 1, and a wire of capacity 2. Three flows: over link 0; over link 1, by half of
    /// its rate, and the wire; over the wire. By weight they have 0.4, 0.5 and 0.8.
    fn unfair(change: impl Fn(&mut Problem, &mut [Demand], &mut [Option<usize>])) -> Residuals {
        let loads = [vec![(0, 1.0)], vec![(1, 0.5), (2, 1.0)], vec![(2, 1.0)]];
        let mut demands = loads.map(Demand::new);
        (demands[1].weight, demands[2].limit) = (2.0, 3.0);
        let flow =
            |demand: &Demand| Flow { loads: demand.loads.clone(), ..Flow::over(Utility::log(1.0), &[]) };
        let mut problem = Problem {
            air: ConflictGraph::from_edges(2, &[(0, 1)]),
            wires: vec![Wire::Capacity(2.0)],
            flows: demands.iter().map(flow).collect(),
            ..Problem::default()
        };
        let mut held_by = [Some(0), Some(1), None];
        change(&mut problem, &mut demands, &mut held_by);
        let stop = AtomicBool::new(false);
        let pricing = Pricing::new(&problem, &stop).unwrap();
        let filled = Filled {
            rates: &[0.4, 1.0, 0.8],
            held_by: &held_by,
            airtime: &[0.45, 0.48],
            prices: &[vec![0.6, 0.5, 0.1], vec![0.2, -0.3, 0.25]],
        };
        max_min_residuals(&problem, &pricing, &demands, &filled)
    }

    #[test]
    fn rates_beyond_loads_or_limits_are_infeasible() {
        // Loads are 0.4, 0.5 and 1.8: link 1 has 0.48.
        close(unfair(|_, _, _| ()).primal, 0.02 / 0.5);
        close(unfair(|problem, _, _| problem.wires[0] = Wire::Capacity(1.5)).primal, 0.3 / 1.8);
        close(unfair(|_, demands, _| demands[0].limit = 0.35).primal, 0.05 / 0.4);
    }

    #[test]
    fn unfair_rates_gain_by_the_unpaid_price() {
        // The second round is worth 2·0.25 + 0.2, and the flows up to 0.5 pay 0.2·0.4 + (0.25 − 0.5·0.3)·1.
        let residuals = unfair(|_, _, _| ());
        close(residuals.gap, (0.7 - 0.18) / 0.1);
        close(residuals.dual, 0.3);
        // Where nothing holds the second flow, the third could grow from 0.8 to its limit.
        let free = |limit| {
            unfair(move |_, demands, held_by| {
                (held_by[1], demands[1].limit, demands[2].limit) = (None, 1.0, limit);
            })
        };
        close(free(3.0).gap, 2.2 / 0.8);
        // The first round is worth 2·0.1 + 0.6, and the first flow alone pays 0.6·0.4.
        close(free(0.8).gap, (0.8 - 0.24) / 0.24);
    }

    #[test]
    fn answer_that_is_no_number_is_none() {
        let mut wrong = found([0.7, 0.1, 0.2]);
        wrong.airtime[0] = f64::NAN;
        let mut others = [(); 3].map(|()| found([0.7, 0.1, 0.2]));
        others[0].rates[0] = f64::NAN;
        others[1].prices[0] = f64::NAN;
        others[2].schedule[0].1 = f64::NAN;
        for wrong in [wrong].into_iter().chain(others) {
            assert!(matches!(problem().certified(wrong, None), Err(Failure::NotConverged(_))));
        }
    }
}
