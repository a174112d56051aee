//! With entropy: projected Newton on the dual.
//!
//! The dual has one price per link, the transmission aggressiveness: minimise `Σ_s U*_s(q_s) + (1/β) log Z(βr) + Σ_w C_w p_w`
//! over prices `≥ 0`, `q_s` the price of the flow's way ([Chen10] eq. (5.17); [QCSMA] problem (2)). Its gradient is airtime
//! less load ([Chen10] eq. (5.20)), its Hessian the covariance of the product form plus each flow's own curvature. In
//! `z = βr` the airtimes know no β.

use super::certificate::Found;
use super::{Failure, Problem, Solution, unless_stopped};
use crate::product_form::Shares;
use crate::{ProductForm, newton};
use evenair_topology::IndependentSets;
use nalgebra::{DMatrix, DVector};
use std::sync::atomic::{AtomicBool, Ordering};

const STEPS_MAX: u32 = 300;
/// The objective's scale, in units of the entropy, beyond which the solution without entropy is where to start.
const FAINT: f64 = 100.0;
/// Up to so many sums the Hessian is written out; beyond, it is known by its products.
const DENSE_MAX: usize = 400_000_000;

pub(super) fn solve(problem: &Problem, stop: &AtomicBool) -> Result<Solution, Failure> {
    let beta = problem.beta.expect("called with entropy only");
    let form = unless_stopped(stop, Ok(ProductForm::new_unless(&problem.air, ProductForm::SIZE_MAX, stop)))??;
    let dual = Dual { problem, form: &form, beta, stop };
    let mut steps = 0;
    // Where the entropy counts for little the dual is nearly a polyhedron, and the prices are nearly those without entropy.
    let start = match beta * problem.worth() {
        x if x > FAINT => super::schedule::rough_prices(problem, stop)?.iter().map(|r| r * beta).collect(),
        _ => dual.start(),
    };
    let z = dual.minimise(start, &mut steps);
    if dual.is_stopped() {
        return Err(Failure::Stopped);
    }
    let prices: Vec<f64> = z.iter().map(|z| z / beta).collect();
    let shares = dual.form.shares(&z[..problem.air.links()]);
    let rates = problem.flows.iter().map(|f| f.utility.rate(f.price(&prices))).collect();
    let mean: f64 = shares.links.iter().zip(&z).map(|(y, z)| y * z).sum();
    let schedule = listed(problem, &z, shares.log_partition);
    let entropy = shares.log_partition - mean;
    let found = Found { rates, prices, airtime: shares.links, schedule, entropy, steps };
    let solution = problem.certified(found, None)?;
    if solution.is_exact() { Ok(solution) } else { Err(Failure::NotConverged(solution.residuals)) }
}

/// Solves problems that differ in their utilities only, one after the other: each search begins where the last one ended.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Near {
    form: ProductForm,
}

impl Near {
    /// Prepares for problems on this one's links.
    ///
    /// # Errors
    /// If there are too many independent sets to sum over.
    pub fn new(problem: &Problem) -> Result<Self, Failure> {
        Ok(Self { form: ProductForm::new(&problem.air)? })
    }

    /// The product form of the links.
    pub const fn form(&self) -> &ProductForm {
        &self.form
    }

    /// Prices and the links' airtime, from prices close by; from anywhere, if these are none. Nothing is checked: the problem
    /// has been solved once with other utilities.
    pub fn solve(&self, problem: &Problem, from: &[f64]) -> (Vec<f64>, Vec<f64>) {
        let beta = problem.beta.expect("called with entropy only");
        let stop = &AtomicBool::new(false);
        let dual = Dual { problem, form: &self.form, beta, stop };
        let start = if from.len() == problem.links() {
            from.iter().map(|r| r * beta).collect()
        } else {
            dual.start()
        };
        let z = dual.minimise(start, &mut 0);
        let airtime = self.form.shares(&z[..problem.air.links()]).links;
        (z.iter().map(|z| z / beta).collect(), airtime)
    }
}

/// Every independent set with its share, if they are few.
fn listed(problem: &Problem, z: &[f64], log_partition: f64) -> Vec<(Vec<u32>, f64)> {
    let Ok(sets) = IndependentSets::of(&problem.air) else { return Vec::new() };
    if sets.len() > Solution::SETS_LISTED {
        return Vec::new();
    }
    let share = |&mask: &u64| {
        let weight: f64 = IndependentSets::members(mask).map(|l| z[l]).sum();
        (IndependentSets::members(mask).map(|l| l as u32).collect(), libm::exp(weight - log_partition))
    };
    sets.masks().iter().map(share).collect()
}

struct Dual<'a> {
    problem: &'a Problem,
    form: &'a ProductForm,
    beta: f64,
    stop: &'a AtomicBool,
}

/// The dual at a point.
struct Point {
    z: Vec<f64>,
    shares: Shares,
    /// Airtime or capacity less load, per link.
    gradient: Vec<f64>,
    /// How fast each flow's rate falls with the sum of `z` on its way.
    slopes: Vec<f64>,
    /// How fast a wire's load grows with its `z`.
    wires: Vec<f64>,
}

impl Dual<'_> {
    /// Prices to begin with: one for each link that carries something.
    fn start(&self) -> Vec<f64> {
        let mut start = vec![0.0; self.problem.links()];
        for &(l, _) in self.problem.flows.iter().flat_map(|f| &f.loads) {
            start[l] = (0.5 * self.z_max(l)).min(1.0);
        }
        start
    }

    fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// Goes down from a point.
    fn minimise(&self, from: Vec<f64>, steps: &mut u32) -> Vec<f64> {
        let mut at = self.point(from);
        let mut last = f64::INFINITY;
        while *steps < STEPS_MAX && !self.is_stopped() {
            // The gain of a price at zero from falling does not count.
            let slack = (0..at.z.len())
                .filter(|&l| at.z[l] > 0.0 || at.gradient[l] < 0.0)
                .map(|l| at.gradient[l].abs() / self.problem.capacity(l))
                .fold(0.0, f64::max);
            // The last digits are reached when steps no longer help.
            if slack < 1e-12 || (slack < 1e-9 && slack >= last) {
                break;
            }
            last = slack;
            *steps += 1;
            let Some(direction) = self.direction(&at, slack) else { break };
            match self.step(&at, &direction) {
                Some(next) => at = next,
                None => break, // as close as the arithmetic goes
            }
        }
        at.z
    }

    /// Where a priced wire's price ends, in `z`.
    fn z_max(&self, link: usize) -> f64 {
        link.checked_sub(self.problem.air.links())
            .map_or(f64::INFINITY, |w| self.problem.wires[w].price_max() * self.beta)
    }

    fn point(&self, z: Vec<f64>) -> Point {
        let (problem, air) = (self.problem, self.problem.air.links());
        let shares = self.form.shares(&z[..air]);
        let prices: Vec<f64> = z.iter().map(|z| z / self.beta).collect();
        let mut gradient = shares.links.clone();
        let mut wires = Vec::with_capacity(problem.wires.len());
        for (wire, &price) in problem.wires.iter().zip(&prices[air..]) {
            let (load, slope) = wire.load(price);
            gradient.push(load);
            wires.push(slope / self.beta);
        }
        for (l, gradient) in gradient.iter_mut().enumerate() {
            *gradient -= problem.background_of(l);
        }
        let mut slopes = Vec::with_capacity(problem.flows.len());
        for flow in &problem.flows {
            let price = flow.price(&prices);
            let rate = flow.utility.rate(price);
            slopes.push(flow.utility.slope(price) / self.beta);
            for &(l, a) in &flow.loads {
                gradient[l] -= a * rate;
            }
        }
        Point { z, shares, gradient, slopes, wires }
    }

    /// The Newton direction: the least of the quadratic model over prices `≥ 0`, by an active-set method.
    fn direction(&self, at: &Point, slack: f64) -> Option<Vec<f64>> {
        let hessian = Hessian::new(self, at, slack);
        let n = at.z.len();
        let mut fixed: Vec<bool> = (0..n).map(|l| at.z[l] == 0.0 && at.gradient[l] >= 0.0).collect();
        let mut direction = vec![0.0; n];
        for _ in 0..3 * n + 10 {
            if self.is_stopped() {
                return None;
            }
            let free: Vec<usize> = (0..n).filter(|&l| !fixed[l]).collect();
            for l in 0..n {
                direction[l] = if fixed[l] { -at.z[l] } else { 0.0 };
            }
            let bent = hessian.times(&direction);
            let gradient: Vec<f64> = free.iter().map(|&l| at.gradient[l] + bent[l]).collect();
            for (&l, d) in free.iter().zip(hessian.solve(&free, &gradient)?) {
                direction[l] = d;
            }
            let crossed: Vec<usize> = free.into_iter().filter(|&l| at.z[l] + direction[l] < 0.0).collect();
            if crossed.is_empty() {
                // Prices at zero that the model would raise are let go, the most eager first.
                let bent = hessian.times(&direction);
                let eager = (0..n).filter(|&l| fixed[l]).map(|l| (at.gradient[l] + bent[l], l));
                match eager.min_by(|a, b| a.0.total_cmp(&b.0)) {
                    Some((pull, l)) if pull < -1e-3 * slack * self.problem.capacity(l) => fixed[l] = false,
                    _ => break,
                }
            }
            crossed.into_iter().for_each(|l| fixed[l] = true);
        }
        (0..n).for_each(|l| direction[l] = direction[l].max(-at.z[l]));
        Some(direction)
    }

    /// The Hessian without the covariance: the terms of flows and wires for each pair of links.
    fn add_curvature(&self, at: &Point, mut add: impl FnMut(usize, usize, f64)) {
        for (flow, slope) in self.problem.flows.iter().zip(&at.slopes) {
            for &(l, a) in &flow.loads {
                for &(m, b) in &flow.loads {
                    add(l, m, a * b * slope);
                }
            }
        }
        for (w, &slope) in at.wires.iter().enumerate() {
            let l = self.problem.air.links() + w;
            add(l, l, slope);
        }
    }

    /// A step along the direction, halved until it does not overshoot: the dual is convex, so a slope that has not turned to
    /// more than half of its first value cannot have passed far beyond the minimum.
    fn step(&self, at: &Point, direction: &[f64]) -> Option<Point> {
        let along = |gradient: &[f64]| {
            gradient.iter().zip(direction).filter(|(_, d)| **d != 0.0).map(|(g, d)| g * d).sum()
        };
        let slope: f64 = along(&at.gradient);
        let mut t = 1.0f64;
        for (l, &d) in direction.iter().enumerate() {
            if d > 0.0 && self.z_max(l).is_finite() {
                t = t.min(0.95 * (self.z_max(l) - at.z[l]) / d);
            }
            // A smoothed price is never zero.
            let wire = l.checked_sub(self.problem.air.links()).map(|w| self.problem.wires[w]);
            if d < 0.0 && matches!(wire, Some(crate::Wire::Smoothed { .. })) {
                t = t.min(-0.99 * at.z[l] / d);
            }
        }
        while t > 1e-14 && !self.is_stopped() {
            let next = self.point(at.z.iter().zip(direction).map(|(z, d)| (z + t * d).max(0.0)).collect());
            let turned: f64 = along(&next.gradient);
            if turned <= 0.5 * slope.abs() {
                return Some(next);
            }
            t *= 0.5;
        }
        None
    }
}

/// The Hessian at a point: written out where that is cheap, else known by its products.
struct Hessian<'a> {
    dual: &'a Dual<'a>,
    at: &'a Point,
    dense: Option<DMatrix<f64>>,
    /// How exactly systems are solved by products: ever more towards the end, so that the last steps converge faster than
    /// linearly.
    tolerance: f64,
}

impl<'a> Hessian<'a> {
    fn new(dual: &'a Dual<'a>, at: &'a Point, slack: f64) -> Self {
        let (n, air) = (at.z.len(), dual.problem.air.links());
        let dense = (dual.form.size() * air <= DENSE_MAX).then(|| {
            let mut hessian = DMatrix::zeros(n, n);
            hessian.view_mut((0, 0), (air, air)).copy_from(&dual.form.covariance(&at.shares));
            dual.add_curvature(at, |l, m, x| hessian[(l, m)] += x);
            hessian
        });
        Self { dual, at, dense, tolerance: slack.min(0.1) }
    }

    fn times(&self, v: &[f64]) -> Vec<f64> {
        if v.iter().all(|v| *v == 0.0) {
            return vec![0.0; v.len()];
        }
        if let Some(dense) = &self.dense {
            return (dense * DVector::from_column_slice(v)).iter().copied().collect();
        }
        let air = self.dual.problem.air.links();
        let mut product = self.dual.form.covariance_times(&self.at.shares, &v[..air]);
        product.resize(v.len(), 0.0);
        self.dual.add_curvature(self.at, |l, m, x| product[l] += x * v[m]);
        product
    }

    /// The direction that solves for a gradient on the free prices.
    fn solve(&self, free: &[usize], gradient: &[f64]) -> Option<Vec<f64>> {
        if let Some(dense) = &self.dense {
            return newton::solve(&dense.select_rows(free).select_columns(free), gradient);
        }
        let mut diagonal: Vec<f64> = self.at.shares.links.iter().map(|y| y * (1.0 - y)).collect();
        diagonal.resize(self.at.z.len(), 0.0);
        self.dual.add_curvature(self.at, |l, m, x| diagonal[l] += if l == m { x } else { 0.0 });
        let diagonal: Vec<f64> = free.iter().map(|&l| diagonal[l]).collect();
        let times = |v: &[f64]| {
            if self.dual.is_stopped() {
                return vec![0.0; v.len()]; // without curvature the search ends
            }
            let mut whole = vec![0.0; self.at.z.len()];
            free.iter().zip(v).for_each(|(&l, v)| whole[l] = *v);
            let product = self.times(&whole);
            free.iter().map(|&l| product[l]).collect()
        };
        Some(newton::solve_by_products(times, &diagonal, gradient, self.tolerance))
    }
}
