//! The dual over given bounds, in logarithms.

use super::super::{Problem, schedule::Pricing};
use super::{Bound, pivots};
use crate::newton;
use libm::{exp, log};
use nalgebra::DMatrix;

/// Loads are their bounds within this.
const TIGHT: f64 = 1e-12;
/// Sweeps over all prices, each with a step of all at once.
const SWEEPS_MAX: usize = 500;
/// Where bounds are equivalent, their prices are not unique: this much of its own effect is added to each.
const RIDGE: f64 = 1e-12;

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
pub(super) struct Dual {
    flows: Vec<Steep>,
    pub(super) bounds: Vec<Bound>,
    /// The flows on each bound, with their logarithmic loads.
    on: Vec<Vec<(usize, f64)>>,
    pub(super) log_prices: Vec<f64>,
}

impl Dual {
    /// Without any bound.
    pub(super) fn new(flows: Vec<(f64, f64)>) -> Self {
        let flow = |(log_weight, alpha)| Steep { log_weight, alpha, loads: Vec::new() };
        let flows = flows.into_iter().map(flow).collect();
        Self { flows, bounds: Vec::new(), on: Vec::new(), log_prices: Vec::new() }
    }

    /// Takes a bound in.
    pub(super) fn bind(&mut self, problem: &Problem, bound: Bound) {
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

    /// The logarithm of a flow's price, one bound left out.
    fn log_price(&self, flow: usize, without: usize) -> f64 {
        let terms = || {
            let loads = self.flows[flow].loads.iter().filter(move |(k, _)| *k != without);
            loads.map(|&(k, a)| a + self.log_prices[k])
        };
        log_sum(terms)
    }

    pub(super) fn log_rate(&self, flow: usize) -> f64 {
        self.flows[flow].log_rate(self.log_price(flow, usize::MAX))
    }

    /// The logarithm of a bound's load, over its capacity.
    fn log_load(&self, bound: usize) -> f64 {
        log_sum(|| self.on[bound].iter().map(|&(s, a)| a + self.log_rate(s)))
    }

    /// Goes down until every bound is tight or without a price: by how much the worst is off; none, if it does not get there.
    pub(super) fn minimise(&mut self, pricing: &Pricing<'_>) -> Option<f64> {
        let mut last = f64::INFINITY;
        for sweep in 0..SWEEPS_MAX {
            if pricing.is_stopped() {
                return None;
            }
            (0..self.on.len()).for_each(|k| self.fit(k));
            self.newton();
            self.complement();
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

    /// A step to where the linear approximation of the logarithms of the loads is complementary: each bound tight or without a price.
    ///
    /// Near the end this settles which bounds have a price, where one price at a time would fall for ever.
    fn complement(&mut self) {
        let bounds: Vec<usize> = (0..self.on.len()).filter(|&k| !self.on[k].is_empty()).collect();
        let flows: Vec<(f64, f64)> = (0..self.flows.len())
            .map(|s| {
                let price = self.log_price(s, usize::MAX);
                (price, self.flows[s].log_rate(price) - log(self.flows[s].alpha))
            })
            .collect();
        if flows.iter().any(|(price, _)| price.is_infinite()) {
            return;
        }
        let loads: Vec<f64> = bounds.iter().map(|&k| self.log_load(k)).collect();
        // In this unit the effect of a price on its own load is one.
        let unit = |(&k, load): (&usize, &f64)| {
            load - log_sum(|| self.on[k].iter().map(|&(s, a)| 2.0 * a + flows[s].1 - flows[s].0))
        };
        let units: Vec<f64> = bounds.iter().zip(&loads).map(unit).collect();
        let n = bounds.len();
        let mut matrix = DMatrix::zeros(n, n);
        for (i, (&j, load)) in bounds.iter().zip(&loads).enumerate() {
            for &(s, a) in &self.on[j] {
                for &(k, b) in &self.flows[s].loads {
                    if let Ok(k) = bounds.binary_search(&k) {
                        matrix[(i, k)] += exp(a + flows[s].1 - load + b + units[k] - flows[s].0);
                    }
                }
            }
            matrix[(i, i)] += RIDGE;
        }
        let from: Vec<f64> = bounds.iter().zip(&units).map(|(&k, u)| exp(self.log_prices[k] - u)).collect();
        let right: Vec<f64> =
            (0..n).map(|i| loads[i] + (0..n).map(|k| matrix[(i, k)] * from[k]).sum::<f64>()).collect();
        let Some(to) = pivots::complementary(&matrix, &right) else { return };
        let (before, off) = (self.log_prices.clone(), self.off());
        for t in [1.0, 0.5, 0.25] {
            for (i, &k) in bounds.iter().enumerate() {
                self.log_prices[k] = units[i] + log((from[i] + t * (to[i] - from[i])).max(0.0));
            }
            if self.off() < off {
                return;
            }
        }
        self.log_prices = before;
    }

    /// The greatest relative error of each flow's rate: the error of its bounds' loads, over its own share of
    /// them.
    pub(super) fn rates_within(&self, off: f64) -> Vec<f64> {
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
