//! Problems of α-fair utilities in units of their own: the master's numbers are of order one for any rates,
//! weights and α.
//!
//! With a large α the prices of flows differ by `(x/x')^α`, many orders of magnitude, and their order is not
//! known beforehand. So α climbs by doubling from one, where a flow's rate is free of units. Each rung uses
//! the last one's rates as units, its prices raised to the new α as a start, and its independent sets.
//! Weights climb along: a flow's rate is compared in units of `weight^(1/α)`, towards which α-fairness goes
//! as α grows.

use super::super::{Flow, Problem, Wire};
use crate::Utility;

/// A problem in units of its own.
pub(in crate::problem) struct Rung {
    pub(in crate::problem) problem: Problem,
    /// A rate of one, in the problem's own unit.
    rates: Vec<f64>,
    /// Logarithm of a price of one, in the problem's own unit.
    log_unit: f64,
    /// Prices to begin with.
    pub(in crate::problem) prices: Vec<f64>,
}

/// A flow worth less than this beside the dearest has no influence; but it stays a number.
const FAINTEST: f64 = -500.0;

/// The α of each rung; none, if the problem is not one of α-fair utilities and bounds alone.
pub(in crate::problem) fn alphas(problem: &Problem) -> Option<Vec<f64>> {
    let alpha = |flow: &Flow| match flow.utility {
        Utility::AlphaFair { alpha, .. } => Some(alpha),
        Utility::LossyConnections { .. } | Utility::Given(_) | Utility::Points(_) => None,
    };
    let alphas: Option<Vec<f64>> = problem.flows.iter().map(alpha).collect();
    let greatest = alphas?.into_iter().fold(0.0, f64::max);
    if problem.wires.iter().any(|wire| !matches!(wire, Wire::Capacity(_))) {
        return None;
    }
    let mut rungs = vec![greatest.min(1.0)];
    while let Some(&last) = rungs.last().filter(|last| **last < greatest) {
        rungs.push((2.0 * last).min(greatest));
    }
    Some(rungs)
}

impl Rung {
    /// The rung of this α at most, in these rates.
    pub(in crate::problem) fn new(problem: &Problem, alpha_max: f64, rates: &[f64]) -> Self {
        let own = |flow: &Flow| match flow.utility {
            Utility::AlphaFair { weight, alpha } => (weight, alpha),
            Utility::LossyConnections { .. } | Utility::Given(_) | Utility::Points(_) => {
                unreachable!("a ladder is one of α-fair utilities")
            }
        };
        let log_worth: Vec<f64> = problem
            .flows
            .iter()
            .zip(rates)
            .map(|(flow, rate)| {
                let (weight, alpha) = own(flow);
                let to = alpha.min(alpha_max);
                to / alpha * libm::log(weight) + (1.0 - to) * libm::log(*rate)
            })
            .collect();
        let dearest = log_worth.iter().fold(f64::NEG_INFINITY, |most, w| most.max(*w));
        let sum: f64 = log_worth.iter().map(|w| libm::exp(w - dearest)).sum();
        let log_unit = dearest + libm::log(sum);
        let flows: Vec<Flow> = problem
            .flows
            .iter()
            .zip(rates.iter().zip(&log_worth))
            .map(|(flow, (rate, worth))| Flow {
                utility: Utility::AlphaFair {
                    weight: libm::exp((worth - log_unit).max(FAINTEST)),
                    alpha: own(flow).1.min(alpha_max),
                },
                fixed_price: flow.fixed_price * rate * libm::exp(-log_unit),
                loads: flow.loads.iter().map(|&(l, a)| (l, a * rate)).collect(),
            })
            .collect();
        let mut rung = Self {
            problem: Problem { flows, ..problem.clone() },
            rates: rates.to_vec(),
            log_unit,
            prices: Vec::new(),
        };
        rung.prices = rung.guess();
        rung
    }

    /// The worth of the flows on each link over their load on it.
    fn guess(&self) -> Vec<f64> {
        let (mut worth, mut load) = (vec![0.0; self.problem.links()], vec![0.0; self.problem.links()]);
        for flow in &self.problem.flows {
            let hops = flow.loads.len() as f64;
            for &(l, a) in &flow.loads {
                worth[l] += flow.utility.price(1.0) / hops;
                load[l] += a;
            }
        }
        worth.iter().zip(load).map(|(w, a)| if a > 0.0 { w / a } else { 0.0 }).collect()
    }

    /// Takes over which links were dear on the rung before: a link's price changes as those of its flows do.
    pub(in crate::problem) fn follow(&mut self, before: &Self, prices: &[f64]) {
        let (mut old, mut new) = (vec![0.0; prices.len()], vec![0.0; prices.len()]);
        for (s, (then, now)) in before.problem.flows.iter().zip(&self.problem.flows).enumerate() {
            // A rate of one was another then, and so was its price.
            for &(l, a) in &now.loads {
                old[l] += a * then.price(prices) / before.rates[s];
                new[l] += a * now.utility.price(1.0) / self.rates[s];
            }
        }
        for l in (0..prices.len()).filter(|&l| old[l] > 0.0) {
            self.prices[l] = (prices[l] * new[l] / old[l]).max(1e-3 * self.prices[l]);
        }
    }

    /// Rates in the problem's own unit, from those of the rung.
    pub(in crate::problem) fn rates(&self, prices: &[f64]) -> Vec<f64> {
        let rate = |(flow, unit): (&Flow, &f64)| unit * flow.utility.rate(flow.price(prices));
        self.problem.flows.iter().zip(&self.rates).map(rate).collect()
    }

    /// Prices in the problem's own unit.
    pub(in crate::problem) fn own_prices(&self, prices: &[f64]) -> Vec<f64> {
        prices.iter().map(|p| p * libm::exp(self.log_unit)).collect()
    }
}
