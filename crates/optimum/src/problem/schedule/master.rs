//! The master problem: a primal-dual interior-point method over the sets that are known.

use super::super::Problem;
use super::Pricing;
use crate::newton;
use nalgebra::{Cholesky, DMatrix, DVector, Dyn};

/// A smaller share of time is rounding.
const ROUNDING: f64 = 1e-12;

/// An independent set of the master.
pub(in crate::problem) struct Column {
    /// Places of its links among the active ones.
    links: Vec<usize>,
    component: usize,
}

/// The state of the method: prices `λ` and component values `μ` with their slacks, shares `τ`, and unused capacity `v`.
pub(super) struct Master<'a> {
    problem: &'a Problem,
    /// Links that carry anything, wires included; everything below is numbered by places in this list.
    active: Vec<usize>,
    place: Vec<usize>,
    /// The worth of a price of one, so that the objective is about one.
    unit: f64,
    columns: Vec<Column>,
    lambda: Vec<f64>,
    mu: Vec<f64>,
    tau: Vec<f64>,
    v: Vec<f64>,
    pub(super) steps: u32,
}

/// The residuals of the present state.
struct Measure {
    /// How much heavier each set might be.
    slack: Vec<f64>,
    /// By how much shares less loads and unused capacity are off, per link, and the shares' sums, per component.
    links: Vec<f64>,
    components: Vec<f64>,
    /// Sum of the products that are zero at the optimum.
    complementarity: f64,
}

impl Measure {
    fn residual(&self) -> f64 {
        self.links.iter().chain(&self.components).map(|r| r.abs()).fold(0.0, f64::max)
    }

    fn gap(&self) -> f64 {
        self.complementarity.max(self.residual())
    }

    fn norm(&self) -> f64 {
        self.links.iter().chain(&self.components).map(|r| r * r).sum::<f64>().sqrt()
    }
}

/// A change of the state.
struct Step {
    lambda: Vec<f64>,
    mu: Vec<f64>,
    tau: Vec<f64>,
    v: Vec<f64>,
    slack: Vec<f64>,
}

/// Steps after which the master is left as it is: some new set will help more.
const STEPS_MAX: u32 = 60;
/// How many sets one search brings at most, per component.
const FOUND_MAX: usize = 12;
/// How close to the boundary a step may go.
const BOUNDARY: f64 = 0.99;

impl<'a> Master<'a> {
    /// A master with the first sets only; `unit` is the worth of a price of one.
    pub(super) fn new(problem: &'a Problem, pricing: &Pricing<'_>) -> Self {
        let mut master = Self::empty(problem, pricing, problem.worth());
        let mut columns = Vec::new();
        for component in 0..pricing.components() {
            for set in pricing.first(component) {
                let links = set.iter().map(|&l| master.place[l as usize]).collect();
                columns.push(Column { links, component });
            }
        }
        master.add(columns);
        master
    }

    /// A master of a problem that is in units of its own, with prices to begin with, and sets that another one knew.
    pub(super) fn again(
        problem: &'a Problem,
        pricing: &Pricing<'_>,
        prices: &[f64],
        sets: Vec<Column>,
    ) -> Self {
        let mut master = Self::empty(problem, pricing, 1.0);
        let n = master.active.len() as f64;
        for i in 0..master.active.len() {
            let (l, capacity) = (master.active[i], problem.capacity(master.active[i]));
            master.lambda[i] = prices[l].max(1e-8 / capacity);
            master.v[i] = (1.0 / (n * master.lambda[i])).min(capacity).max(1e-6 * capacity);
        }
        master.add(sets);
        master
    }

    /// Its sets, for another master.
    pub(super) fn into_sets(self) -> Vec<Column> {
        self.columns
    }

    fn empty(problem: &'a Problem, pricing: &Pricing<'_>, unit: f64) -> Self {
        let mut active: Vec<usize> =
            (0..pricing.components()).flat_map(|c| pricing.links(c)).map(|&l| l as usize).collect();
        active.sort_unstable();
        active.extend(problem.air.links()..problem.links());
        let mut place = vec![usize::MAX; problem.links()];
        for (i, &l) in active.iter().enumerate() {
            place[l] = i;
        }
        let n = active.len();
        let mut master = Self {
            problem,
            place,
            unit,
            lambda: vec![1.0 / n as f64; n],
            mu: vec![0.0; pricing.components()],
            tau: Vec::new(),
            v: vec![1.0 / n as f64; n],
            columns: Vec::new(),
            active,
            steps: 0,
        };
        for i in 0..n {
            let capacity = problem.capacity(master.active[i]);
            master.lambda[i] = (master.lambda[i] / capacity).min(0.5 * master.price_max(i));
            master.v[i] *= capacity;
        }
        master
    }

    fn wire(&self, i: usize) -> Option<crate::Wire> {
        self.active[i].checked_sub(self.problem.air.links()).map(|w| self.problem.wires[w])
    }

    fn price_max(&self, i: usize) -> f64 {
        self.wire(i).map_or(f64::INFINITY, |wire| wire.price_max() / self.unit)
    }

    /// Each link's price, in the problem's unit.
    pub(super) fn prices(&self) -> Vec<f64> {
        let mut prices = vec![0.0; self.problem.links()];
        for (i, &l) in self.active.iter().enumerate() {
            prices[l] = self.lambda[i] * self.unit;
        }
        prices
    }

    /// Sets and their shares, adding up to one over each component of the conflict graph; components are joined at will,
    /// since nothing binds them.
    pub(super) fn schedule(&self) -> Vec<(Vec<u32>, f64)> {
        let mut parts: Vec<Vec<(Vec<u32>, f64)>> = vec![Vec::new(); self.mu.len()];
        for (column, &share) in self.columns.iter().zip(&self.tau) {
            let set = column.links.iter().map(|&i| self.active[i] as u32).collect();
            parts[column.component].push((set, share));
        }
        let mut joined: Vec<(Vec<u32>, f64)> = vec![(Vec::new(), 1.0)];
        for mut part in parts {
            let greatest = part.iter().map(|(_, share)| *share).fold(0.0, f64::max);
            part.retain(|(_, share)| *share > ROUNDING * greatest);
            part.sort_by(|a, b| b.1.total_cmp(&a.1));
            let total: f64 = part.iter().map(|(_, share)| share).sum();
            part.iter_mut().for_each(|(_, share)| *share /= total);
            joined = side_by_side(joined, &part);
        }
        joined.retain(|(_, share)| *share > ROUNDING); // the residue of joining is no set of its own
        for (set, _) in &mut joined {
            set.sort_unstable();
        }
        joined
    }

    /// Sets that are heavier than the master allows, and by how much the heaviest are altogether, in units of the objective.
    pub(super) fn priced(&self, pricing: &Pricing<'_>, prices: &[f64]) -> (Vec<Column>, f64) {
        let (mut columns, mut worst) = (Vec::new(), 0.0);
        for component in 0..pricing.components() {
            let allowed = self.mu[component] * self.unit;
            let sets = pricing.heavy(component, prices, allowed, FOUND_MAX);
            for (found, set) in sets.into_iter().enumerate() {
                let weight: f64 = set.iter().map(|&l| prices[l as usize]).sum();
                let excess = weight / self.unit - self.mu[component];
                if found == 0 {
                    worst += excess.max(0.0);
                }
                let links: Vec<usize> = set.iter().map(|&l| self.place[l as usize]).collect();
                let is_known = self.columns.iter().any(|c| c.component == component && c.links == links);
                if excess > 0.0 && !is_known {
                    columns.push(Column { links, component });
                }
            }
        }
        (columns, worst)
    }

    /// Takes new sets in: component values rise until they are allowed.
    pub(super) fn add(&mut self, columns: Vec<Column>) {
        let count = (self.tau.len() + self.v.len()).max(1) as f64;
        let average = if self.tau.is_empty() {
            1.0 / self.active.len() as f64
        } else {
            self.measure().complementarity / count
        };
        for column in &columns {
            let weight: f64 = column.links.iter().map(|&i| self.lambda[i]).sum();
            let least = weight * (1.0 + 1e-3)
                + if self.tau.is_empty() { 0.1 } else { 1e-3 * self.mu[column.component] };
            self.mu[column.component] = self.mu[column.component].max(least);
        }
        let first = self.columns.len();
        self.columns.extend(columns);
        self.tau.resize(self.columns.len(), 0.0);
        let slack = self.slacks();
        for (tau, slack) in self.tau.iter_mut().zip(&slack).skip(first) {
            *tau = (average / slack).min(1.0);
        }
    }

    /// How much heavier each set might be.
    fn slacks(&self) -> Vec<f64> {
        let slack = |c: &Column| self.mu[c.component] - c.links.iter().map(|&i| self.lambda[i]).sum::<f64>();
        self.columns.iter().map(slack).collect()
    }

    /// How far the master is from solved.
    pub(super) fn gap(&self) -> f64 {
        self.measure().gap()
    }

    fn measure(&self) -> Measure {
        let (links, components) = self.residuals();
        let slack = self.slacks();
        let sets: f64 = slack.iter().zip(&self.tau).map(|(s, t)| s * t).sum();
        let complementarity = sets + self.lambda.iter().zip(&self.v).map(|(l, v)| l * v).sum::<f64>();
        Measure { slack, links, components, complementarity }
    }

    /// By how much shares less loads and unused capacity, and the shares' sums, are off.
    fn residuals(&self) -> (Vec<f64>, Vec<f64>) {
        let mut links: Vec<f64> = (0..self.active.len())
            .map(|i| {
                let carried = self.wire(i).map_or(0.0, |wire| wire.load(self.lambda[i] * self.unit).0);
                carried - self.problem.background_of(self.active[i]) - self.v[i]
            })
            .collect();
        let mut components = vec![1.0; self.mu.len()];
        for (column, tau) in self.columns.iter().zip(&self.tau) {
            components[column.component] -= tau;
            for &i in &column.links {
                links[i] += tau;
            }
        }
        for flow in &self.problem.flows {
            let rate = flow.utility.rate(self.price(flow));
            for &(l, a) in &flow.loads {
                links[self.place[l]] -= a * rate;
            }
        }
        (links, components)
    }

    /// A flow's price, in the problem's unit.
    fn price(&self, flow: &super::super::Flow) -> f64 {
        flow.fixed_price
            + self.unit * flow.loads.iter().map(|&(l, a)| a * self.lambda[self.place[l]]).sum::<f64>()
    }

    /// Steps until the master is solved this well, or many times; false if it cannot be solved better.
    pub(super) fn improve(&mut self, goal: f64, pricing: &Pricing<'_>) -> bool {
        let last = self.steps + STEPS_MAX;
        let mut now = self.measure();
        while now.gap() > goal && self.steps < last && !pricing.is_stopped() {
            self.steps += 1;
            let Some(factor) = self.factor(&now.slack) else { return false };
            let count = (self.tau.len() + self.v.len()) as f64;
            let average = now.complementarity / count;
            // Mehrotra's predictor shows how much centring the step needs, and corrects for its own
            // curvature.
            let affine = self.solve(&factor, &now, 0.0, None);
            let reach = self.reach(&affine, &now.slack, 1.0);
            let after = self.after(&affine, &now.slack, reach) / count;
            let ratio = (after / average).clamp(0.0, 1.0);
            // Products that outrun the residuals would leave them no room to be solved.
            let lags = now.residual() > average * count;
            let target = average * if lags { 0.5 } else { (ratio * ratio * ratio).max(1e-3) };
            let step = self.solve(&factor, &now, target, Some(&affine));
            match self.apply(&step, &now) {
                Some(next) => now = next,
                None => return false,
            }
        }
        true
    }

    /// The Newton matrix in `λ` and `μ`, factored.
    fn factor(&self, slack: &[f64]) -> Option<Cholesky<f64, Dyn>> {
        let n = self.active.len();
        let mut matrix = DMatrix::zeros(n + self.mu.len(), n + self.mu.len());
        for flow in &self.problem.flows {
            let slope = flow.utility.slope(self.price(flow)) * self.unit;
            for &(l, a) in &flow.loads {
                for &(m, b) in &flow.loads {
                    matrix[(self.place[l], self.place[m])] += a * b * slope;
                }
            }
        }
        for i in 0..n {
            let wire = self.wire(i).map_or(0.0, |wire| wire.load(self.lambda[i] * self.unit).1 * self.unit);
            matrix[(i, i)] += self.v[i] / self.lambda[i] + wire;
        }
        for ((column, tau), slack) in self.columns.iter().zip(&self.tau).zip(slack) {
            let (weight, k) = (tau / slack, n + column.component);
            for &i in &column.links {
                for &j in &column.links {
                    matrix[(i, j)] += weight;
                }
                matrix[(i, k)] -= weight;
                matrix[(k, i)] -= weight;
            }
            matrix[(k, k)] += weight;
        }
        newton::factor(&matrix)
    }

    /// The step towards products of `target`, corrected for the products of an earlier step's changes.
    fn solve(&self, factor: &Cholesky<f64, Dyn>, now: &Measure, target: f64, earlier: Option<&Step>) -> Step {
        let n = self.active.len();
        let Measure { slack, links, components, .. } = now;
        // The next τ and v if prices stay.
        let tau: Vec<f64> = (0..slack.len())
            .map(|j| {
                let correction = earlier.map_or(0.0, |e| e.slack[j] * e.tau[j]);
                (target - correction) / slack[j] - self.tau[j]
            })
            .collect();
        let v: Vec<f64> = (0..n)
            .map(|i| {
                let correction = earlier.map_or(0.0, |e| e.lambda[i] * e.v[i]);
                (target - correction) / self.lambda[i] - self.v[i]
            })
            .collect();
        let mut right = DVector::zeros(n + self.mu.len());
        for i in 0..n {
            right[i] = v[i] - links[i];
        }
        for (k, r) in components.iter().enumerate() {
            right[n + k] = -r;
        }
        for (column, tau) in self.columns.iter().zip(&tau) {
            for &i in &column.links {
                right[i] -= tau;
            }
            right[n + column.component] += tau;
        }
        factor.solve_mut(&mut right);
        let lambda: Vec<f64> = right.iter().take(n).copied().collect();
        let mu: Vec<f64> = right.iter().skip(n).copied().collect();
        let change = |c: &Column| mu[c.component] - c.links.iter().map(|&i| lambda[i]).sum::<f64>();
        let slack_change: Vec<f64> = self.columns.iter().map(change).collect();
        let tau = (0..slack.len()).map(|j| tau[j] - self.tau[j] / slack[j] * slack_change[j]).collect();
        let v = (0..n).map(|i| v[i] - self.v[i] / self.lambda[i] * lambda[i]).collect();
        Step { lambda, mu, tau, v, slack: slack_change }
    }

    /// How far a step may go, at most once, until something reaches a share of the way to its boundary.
    fn reach(&self, step: &Step, slack: &[f64], share: f64) -> f64 {
        let mut reach = 1.0f64;
        let mut bound = |x: f64, dx: f64| {
            if dx < 0.0 {
                reach = reach.min(-share * x / dx);
            }
        };
        for (x, dx) in [(&self.lambda, &step.lambda), (&self.v, &step.v), (&self.tau, &step.tau)] {
            x.iter().zip(dx).for_each(|(&x, &dx)| bound(x, dx));
        }
        slack.iter().zip(&step.slack).for_each(|(&x, &dx)| bound(x, dx));
        for i in 0..self.active.len() {
            if self.price_max(i).is_finite() {
                bound(self.price_max(i) - self.lambda[i], -step.lambda[i]);
            }
        }
        reach
    }

    fn after(&self, step: &Step, slack: &[f64], t: f64) -> f64 {
        let sets: f64 =
            (0..slack.len()).map(|j| (slack[j] + t * step.slack[j]) * (self.tau[j] + t * step.tau[j])).sum();
        let links =
            (0..self.v.len()).map(|i| (self.lambda[i] + t * step.lambda[i]) * (self.v[i] + t * step.v[i]));
        sets + links.sum::<f64>()
    }

    /// Takes the step, shortened until it does not make the residuals worse; none if nothing is left of it.
    fn apply(&mut self, step: &Step, now: &Measure) -> Option<Measure> {
        let before = now.norm();
        let start = (self.lambda.clone(), self.mu.clone(), self.tau.clone(), self.v.clone());
        let mut t = self.reach(step, &now.slack, BOUNDARY);
        while t > 1e-10 {
            let moved =
                |x: &[f64], dx: &[f64]| x.iter().zip(dx).map(|(x, dx)| x + t * dx).collect::<Vec<f64>>();
            self.lambda = moved(&start.0, &step.lambda);
            self.mu = moved(&start.1, &step.mu);
            self.tau = moved(&start.2, &step.tau);
            self.v = moved(&start.3, &step.v);
            let next = self.measure();
            let after = next.norm();
            // Below the complementarity residuals may rise: they are solved for again in the next step.
            let is_better = after <= before * (1.0 - 0.01 * t) || after <= 0.5 * now.complementarity;
            if is_better && next.slack.iter().all(|s| *s > 0.0) {
                return Some(next);
            }
            t *= 0.5;
        }
        (self.lambda, self.mu, self.tau, self.v) = start;
        None
    }
}

/// Two schedules at once: both run through the same time, each in its own order.
pub(crate) fn side_by_side(a: Vec<(Vec<u32>, f64)>, b: &[(Vec<u32>, f64)]) -> Vec<(Vec<u32>, f64)> {
    let mut joined = Vec::with_capacity(a.len() + b.len());
    let mut rest = b.iter().cloned();
    let mut other = rest.next();
    for (set, mut share) in a {
        while share > 0.0 {
            let Some((with, left)) = &mut other else {
                joined.push((set.clone(), share));
                break;
            };
            let both = share.min(*left);
            let mut union = set.clone();
            union.extend(with.iter());
            joined.push((union, both));
            share -= both;
            *left -= both;
            if *left <= 0.0 {
                other = rest.next();
            }
        }
    }
    joined
}
