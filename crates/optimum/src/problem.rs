//! Problem MP of [Chen10], eq. (5.8), (5.9), and its dual Newton method.
//!
//! `max Σ U_s(x_s) − (1/β) Σ τ_i log τ_i` subject to `Σ_{s∋l} x_s ≤ Σ_{i∋l} τ_i` and `Σ τ_i = 1`. The dual has one
//! price per link, the transmission aggressiveness: minimise `Σ_s U*_s(q_s) + (1/β) log Z(βr)` over `r ≥ 0`, `q_s` the
//! sum of the prices on the flow's way ([Chen10] eq. (5.17)). In `z = βr` only `β·U` is left, so the entropy is a
//! matter of scale; without entropy the problem is solved for growing β, and the certified gap says how close it is.

use crate::{ProductForm, Utility};
use evenair_topology::IndependentSets;
use nalgebra::{DMatrix, DVector};
use std::fmt;

/// A utility maximisation over the capacity region of a conflict graph; rates in units of a link's capacity.
#[derive(Clone, Debug, PartialEq)]
pub struct Problem<'a> {
    /// What may transmit at once.
    pub sets: &'a IndependentSets,
    /// Each flow's utility, and the links it crosses.
    pub flows: Vec<(Utility, Vec<usize>)>,
    /// The entropy's weight is 1/β; none leaves the entropy out.
    pub beta: Option<f64>,
}

/// How far a solution is from its optimality conditions; all relative to one, the capacity.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Residuals {
    /// By how much a link's flows exceed its airtime.
    pub primal: f64,
    /// `|x_s·(U'_s(x_s) − q_s)|` over the objective's scale, and each set's share against the Gibbs form.
    pub stationarity: f64,
    /// `r_l·(airtime − load)` over the objective's scale.
    pub complementarity: f64,
    /// Dual less primal objective over the objective's scale: how much better any allocation could be.
    pub gap: f64,
}

impl Residuals {
    /// The worst of them.
    pub fn worst(&self) -> f64 {
        self.primal.max(self.stationarity).max(self.complementarity).max(self.gap)
    }
}

/// The best allocation.
#[derive(Clone, Debug, PartialEq)]
pub struct Solution {
    /// Each flow's rate, in units of the capacity.
    pub rates: Vec<f64>,
    /// Each link's price, the transmission aggressiveness `r`.
    pub prices: Vec<f64>,
    /// Share of time in which each link transmits.
    pub airtime: Vec<f64>,
    /// Share of time of each independent set.
    pub sets: Vec<f64>,
    /// `Σ U_s(x_s)`, the entropy left out.
    pub utility: f64,
    /// The optimality conditions, checked.
    pub residuals: Residuals,
    /// Newton steps taken.
    pub steps: u32,
}

/// Why there is no solution.
#[derive(Clone, Debug, PartialEq)]
pub enum Failure {
    /// The problem is not one: what is wrong with it.
    Malformed(String),
    /// The Newton method stopped before its conditions held.
    NotConverged(Residuals),
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Malformed(what) => write!(f, "the problem is malformed: {what}"),
            Self::NotConverged(residuals) => {
                write!(f, "the solver stopped {:.1e} away from the optimality conditions", residuals.worst())
            }
        }
    }
}

impl std::error::Error for Failure {}

const STEPS_MAX: u32 = 200;
/// Optimality conditions hold at least this well in every solution that is returned.
const TOLERANCE: f64 = 1e-6;

impl Problem<'_> {
    /// Solves the problem.
    ///
    /// # Errors
    /// If a flow crosses no link or one that does not exist, a weight or β is not positive, or the residuals stay
    /// above 1e-6.
    pub fn solve(&self) -> Result<Solution, Failure> {
        self.check()?;
        let mut z = vec![0.0; self.sets.links()];
        for (_, way) in &self.flows {
            for &l in way {
                z[l] = 1.0;
            }
        }
        let mut steps = 0;
        if let Some(beta) = self.beta {
            self.minimise(beta, &mut z, &mut steps);
            return self.solution(beta, Some(beta), &z, steps);
        }
        // Without entropy: β grows until the bound log|I|/β is negligible beside the utility.
        let mut beta = 1.0 / self.scale_of_weights();
        loop {
            self.minimise(beta, &mut z, &mut steps);
            let now = self.solution(beta, None, &z, steps);
            if let Ok(solution) = now
                && solution.residuals.worst() < TOLERANCE / 10.0
            {
                return Ok(solution);
            }
            if beta * self.scale_of_weights() > 1e12 {
                return self.solution(beta, None, &z, steps);
            }
            beta *= 4.0;
            for price in &mut z {
                *price *= 4.0; // the prices r = z/β stay
            }
        }
    }

    fn check(&self) -> Result<(), Failure> {
        let fail = |what: String| Err(Failure::Malformed(what));
        if self.flows.is_empty() {
            return fail("it has no flow".into());
        }
        for (s, (utility, way)) in self.flows.iter().enumerate() {
            let (Utility::Inverse { weight } | Utility::Log { weight }) = utility;
            if !(*weight > 0.0 && weight.is_finite()) {
                return fail(format!("flow {s} has the weight {weight}; it must be above 0"));
            }
            if way.is_empty() {
                return fail(format!("flow {s} crosses no link, so its rate has no bound"));
            }
            if let Some(l) = way.iter().find(|&&l| l >= self.sets.links()) {
                return fail(format!("flow {s} crosses link {l}; there are {} links", self.sets.links()));
            }
        }
        match self.beta {
            Some(beta) if !(beta > 0.0 && beta.is_finite()) => {
                fail(format!("beta = {beta}; it must be above 0"))
            }
            _ => Ok(()),
        }
    }

    fn scale_of_weights(&self) -> f64 {
        let weight =
            |&(Utility::Inverse { weight } | Utility::Log { weight }, _): &(Utility, Vec<usize>)| weight;
        self.flows.iter().map(weight).fold(0.0, f64::max)
    }

    fn price(way: &[usize], prices: &[f64]) -> f64 {
        way.iter().map(|&l| prices[l]).sum()
    }

    /// The dual function in `z = βr`, times β.
    fn dual(&self, beta: f64, z: &[f64]) -> f64 {
        let flows: f64 = self
            .flows
            .iter()
            .map(|(utility, way)| match Self::price(way, z) {
                q if q > 0.0 => utility.scaled(beta).conjugate(q),
                _ => f64::INFINITY, // a flow without a price wants everything
            })
            .sum();
        flows + ProductForm::new(self.sets, z).log_partition
    }

    /// Projected Newton on `z ≥ 0` with a backtracking line search.
    fn minimise(&self, beta: f64, z: &mut Vec<f64>, steps: &mut u32) {
        let links = self.sets.links();
        let mut last = f64::INFINITY;
        for _ in 0..STEPS_MAX {
            let form = ProductForm::new(self.sets, z);
            let (gradient, hessian) = self.derivatives(beta, z, &form);
            let free: Vec<usize> = (0..links).filter(|&l| z[l] > 0.0 || gradient[l] < 0.0).collect();
            let slack = free.iter().map(|&l| gradient[l].abs()).fold(0.0, f64::max);
            // The last digits are reached when steps no longer help.
            if slack < 1e-13 || (slack < 1e-9 && slack >= last) {
                return;
            }
            last = slack;
            *steps += 1;
            let Some(direction) = newton_direction(&free, &gradient, &hessian) else { return };
            let slope: f64 = free.iter().zip(&direction).map(|(&l, d)| gradient[l] * d).sum();
            let here = self.dual(beta, z);
            let step = |t: f64| {
                let mut to = z.clone();
                for (&l, d) in free.iter().zip(&direction) {
                    to[l] = (to[l] + t * d).max(0.0);
                }
                to
            };
            let mut t = 1.0;
            let to = loop {
                let to = step(t);
                // The rounding of the dual itself must not stop a step whose gain lies below it.
                let rounding = 8.0 * f64::EPSILON * here.abs();
                if self.dual(beta, &to) <= here + 1e-4 * t * slope + rounding {
                    break to;
                }
                t *= 0.5;
                if t < 1e-12 {
                    return; // as close as the arithmetic goes
                }
            };
            *z = to;
        }
    }

    /// Gradient `airtime − load`, and Hessian: covariance of the links plus each flow's own curvature.
    fn derivatives(&self, beta: f64, z: &[f64], form: &ProductForm) -> (Vec<f64>, DMatrix<f64>) {
        let links = self.sets.links();
        let mut gradient = form.links.clone();
        let mut hessian = DMatrix::zeros(links, links);
        for (&share, &mask) in form.sets.iter().zip(self.sets.masks()) {
            for l in IndependentSets::members(mask) {
                for m in IndependentSets::members(mask) {
                    hessian[(l, m)] += share;
                }
            }
        }
        for l in 0..links {
            for m in 0..links {
                hessian[(l, m)] -= form.links[l] * form.links[m];
            }
        }
        for (utility, way) in &self.flows {
            let (utility, q) = (utility.scaled(beta), Self::price(way, z));
            let (rate, slope) = (utility.rate(q), utility.slope(q));
            for &l in way {
                gradient[l] -= rate;
                for &m in way {
                    hessian[(l, m)] += slope;
                }
            }
        }
        (gradient, hessian)
    }

    fn solution(&self, beta: f64, entropy: Option<f64>, z: &[f64], steps: u32) -> Result<Solution, Failure> {
        let form = ProductForm::new(self.sets, z);
        let prices: Vec<f64> = z.iter().map(|z| z / beta).collect();
        let wanted: Vec<f64> = self.flows.iter().map(|(u, way)| u.rate(Self::price(way, &prices))).collect();
        let mut load = vec![0.0; self.sets.links()];
        for (x, (_, way)) in wanted.iter().zip(&self.flows) {
            for &l in way {
                load[l] += x;
            }
        }
        let primal = load.iter().zip(&form.links).map(|(x, y)| (x - y).max(0.0)).fold(0.0, f64::max);
        let utility: f64 = wanted.iter().zip(&self.flows).map(|(&x, (u, _))| u.of(x)).sum();
        let scale =
            self.flows.iter().zip(&wanted).map(|((u, _), &x)| x * u.price(x)).sum::<f64>().max(1e-300);
        let stationarity = self
            .flows
            .iter()
            .zip(&wanted)
            .map(|((u, way), &x)| (x * (u.price(x) - Self::price(way, &prices))).abs() / scale);
        let slack = (0..load.len()).map(|l| prices[l] * (form.links[l] - load[l]).abs() / scale);
        // Entropy as a number of nats; without it, what the smoothing still hides counts as gap.
        let nats: f64 = form.sets.iter().filter(|&&p| p > 0.0).map(|&p| -p * libm::log(p)).sum();
        let (bonus, dual) = match entropy {
            Some(beta) => (nats / beta, self.dual(beta, z) / beta),
            None => (0.0, self.dual_without_entropy(&prices)),
        };
        let residuals = Residuals {
            primal,
            stationarity: stationarity.fold(0.0, f64::max),
            complementarity: slack.fold(0.0, f64::max),
            gap: ((dual - utility - bonus) / scale).abs(),
        };
        if residuals.worst() > TOLERANCE || !residuals.worst().is_finite() {
            return Err(Failure::NotConverged(residuals));
        }
        Ok(Solution {
            rates: wanted,
            prices,
            airtime: form.links,
            sets: form.sets,
            utility,
            residuals,
            steps,
        })
    }

    fn dual_without_entropy(&self, prices: &[f64]) -> f64 {
        let flows: f64 = self.flows.iter().map(|(u, way)| u.conjugate(Self::price(way, prices))).sum();
        let weight = |&mask: &u64| IndependentSets::members(mask).map(|l| prices[l]).sum::<f64>();
        flows + self.sets.masks().iter().map(weight).fold(0.0, f64::max)
    }
}

/// Solves the Newton system on the free prices; a ridge is added if it is singular to working precision.
fn newton_direction(free: &[usize], gradient: &[f64], hessian: &DMatrix<f64>) -> Option<Vec<f64>> {
    let n = free.len();
    let right = DVector::from_iterator(n, free.iter().map(|&l| -gradient[l]));
    let mut ridge = 0.0;
    for _ in 0..20 {
        let system =
            DMatrix::from_fn(n, n, |i, j| hessian[(free[i], free[j])] + if i == j { ridge } else { 0.0 });
        if let Some(factor) = system.cholesky() {
            return Some(factor.solve(&right).iter().copied().collect());
        }
        ridge = if ridge > 0.0 { ridge * 10.0 } else { 1e-14 };
    }
    None
}

#[cfg(test)]
mod tests;
