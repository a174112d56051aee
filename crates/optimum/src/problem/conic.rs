//! The second choice of solver: the same problems as cones, for Clarabel's interior-point method.

use super::certificate::Found;
use super::schedule::{AGAIN, Pricing, Rung, ladder};
use super::{Failure, Problem, Solution, Wire, unless_stopped};
use crate::Utility;
use clarabel::algebra::CscMatrix;
use clarabel::solver::{
    DefaultSettingsBuilder, DefaultSolution, DefaultSolver, IPSolver, SolverStatus, SupportedConeT,
};
use evenair_topology::IndependentSets;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Rows `a·x + s = b`, `s` in the cone that the row belongs to.
#[derive(Default)]
struct Rows {
    entries: Vec<(usize, usize, f64)>,
    right: Vec<f64>,
    cones: Vec<SupportedConeT<f64>>,
}

impl Rows {
    fn push(&mut self, row: &[(usize, f64)], right: f64) {
        let i = self.right.len();
        self.entries.extend(row.iter().map(|&(j, x)| (i, j, x)));
        self.right.push(right);
    }
}

/// Up to so many independent sets all are written out; beyond, and without entropy, they are generated.
const SETS_MAX: usize = 20_000;
const ROUNDS_MAX: usize = 100;
/// A solution further from its optimality conditions than this is not even a second opinion.
const OPINION: f64 = 1e-4;
/// How many sets a round brings.
const FOUND_MAX: usize = 8;

/// Clarabel's answer.
struct Point {
    x: Vec<f64>,
    multipliers: Vec<f64>,
    steps: u32,
}

impl Problem {
    /// Solves the problem by Clarabel, for α-fair utilities, tables of points, and wires with a bound; every independent set is written out where they
    /// are few, and with entropy, else they are generated.
    ///
    /// Variables: rates x, then u with utility = weight·u (`u ≤ x^(1−α)/(1−α)` or `u ≤ log x`), shares τ, entropies
    /// `h ≤ −τ log τ`.
    ///
    /// # Errors
    /// As [`Self::solve`], and if the problem is not of this kind or Clarabel does not converge.
    pub fn solve_by_cones(&self) -> Result<Solution, Failure> {
        self.solve_by_cones_unless(&AtomicBool::new(false))
    }

    /// The same, unless the caller stops it.
    ///
    /// # Errors
    /// As [`Self::solve_by_cones`], and [`Failure::Stopped`].
    pub fn solve_by_cones_unless(&self, stop: &AtomicBool) -> Result<Solution, Failure> {
        self.check()?;
        unless_stopped(stop, self.by_clarabel(stop))
    }

    pub(super) fn by_clarabel(&self, stop: &AtomicBool) -> Result<Solution, Failure> {
        let pricing = self.beta.is_none().then(|| Pricing::new(self, stop)).transpose()?;
        let rungs = ladder::alphas(self).filter(|_| self.beta.is_none());
        let solution = if let Some(alphas) = rungs {
            self.by_rungs(&alphas, pricing.as_ref(), stop)?
        } else {
            let (sets, point) = self.by_cones(pricing.as_ref(), stop)?;
            self.read_off(sets, point, pricing.as_ref())?
        };
        // A bound of an unproven heaviest set is no evidence against the allocation.
        let is_sure = pricing.as_ref().is_none_or(Pricing::is_exact);
        if is_sure && solution.residuals.worst() > OPINION {
            return Err(Failure::NotConverged(solution.residuals));
        }
        Ok(Solution { by_clarabel: true, ..solution })
    }

    /// One α after the other, each in units in which the last one's rates are one: with a large α the terms of the objective
    /// differ by `(x/x')^α`, and Clarabel would see the greatest only. The best of the last α's answers.
    fn by_rungs(
        &self,
        alphas: &[f64],
        pricing: Option<&Pricing<'_>>,
        stop: &AtomicBool,
    ) -> Result<Solution, Failure> {
        let mut rates = self.even_rates();
        let mut best: Option<Solution> = None;
        let mut failure =
            Failure::BadlyScaled("prices of the flows differ beyond what the arithmetic holds".into());
        let again = alphas.last().into_iter().cycle().take(AGAIN);
        for (i, &alpha) in alphas.iter().chain(again).enumerate() {
            let rung = Rung::new(self, alpha, &rates);
            let (sets, mut point) = match rung.problem.by_cones(pricing, stop) {
                Ok(found) => found,
                Err(why) if best.is_none() => {
                    failure = why;
                    continue;
                }
                Err(_) => break,
            };
            for (x, unit) in point.x.iter_mut().zip(&rates) {
                *x = (*x * unit).max(1e-300);
            }
            let prices = rung.own_prices(&point.multipliers[1..=self.links()]);
            point.multipliers[1..=self.links()].copy_from_slice(&prices);
            rates.copy_from_slice(&point.x[..self.flows.len()]);
            if i + 1 < alphas.len() {
                continue;
            }
            match self.read_off(sets, point, pricing) {
                Ok(found) if best.as_ref().is_none_or(|b| found.residuals.worst() < b.residuals.worst()) => {
                    best = Some(found);
                }
                Ok(_) => break, // no longer better: as close as Clarabel comes
                Err(why) => failure = why,
            }
            if best.as_ref().is_some_and(|b| b.residuals.worst() < 1e-2 * Solution::TOLERANCE) {
                break;
            }
        }
        best.ok_or(failure)
    }

    fn by_cones(
        &self,
        pricing: Option<&Pricing<'_>>,
        stop: &AtomicBool,
    ) -> Result<(Vec<Vec<u32>>, Point), Failure> {
        let all = IndependentSets::of(&self.air).map_err(Failure::from).and_then(|sets| {
            let limit = SETS_MAX;
            if sets.len() > limit {
                return Err(Failure::TooLarge(evenair_topology::TooLarge { links: self.air.links(), limit }));
            }
            let set = |&mask: &u64| IndependentSets::members(mask).map(|l| l as u32).collect::<Vec<u32>>();
            Ok(sets.masks().iter().map(set).collect::<Vec<_>>())
        });
        match (all, pricing) {
            (Ok(sets), _) => {
                let point = self.with_sets(&sets, stop)?;
                Ok((sets, point))
            }
            (Err(_), Some(pricing)) => self.with_generated(pricing),
            (Err(failure), None) => Err(failure),
        }
    }

    /// Clarabel's variables and multipliers as a solution, checked.
    fn read_off(
        &self,
        sets: Vec<Vec<u32>>,
        point: Point,
        pricing: Option<&Pricing<'_>>,
    ) -> Result<Solution, Failure> {
        let Point { x, multipliers, steps } = point;
        debug_assert!(x.len() >= 2 * self.flows.len() + sets.len() && multipliers.len() > self.links());
        let first = 2 * self.flows.len();
        let mut airtime = vec![0.0; self.air.links()];
        let mut schedule = Vec::new();
        for (set, share) in sets.into_iter().zip(&x[first..]).filter(|(_, share)| **share > 0.0) {
            set.iter().for_each(|&l| airtime[l as usize] += share);
            schedule.push((set, *share));
        }
        let entropy = schedule.iter().map(|(_, p)| -p * libm::log(*p)).sum();
        let prices = multipliers[1..=self.links()].iter().map(|p| p.max(0.0)).collect();
        let rates = x[..self.flows.len()].to_vec();
        let found = Found { rates, prices, airtime, schedule, entropy, steps };
        self.certified(found, pricing)
    }

    /// Sets that are generated until none is heavier than Clarabel's multipliers allow.
    fn with_generated(&self, pricing: &Pricing<'_>) -> Result<(Vec<Vec<u32>>, Point), Failure> {
        let mut sets: Vec<Vec<u32>> = vec![Vec::new()];
        for component in 0..pricing.components() {
            // Components are independent: their sets are joined at will.
            for (i, set) in pricing.first(component).into_iter().enumerate() {
                if i == sets.len() {
                    sets.push(Vec::new());
                }
                sets[i].extend(set);
            }
        }
        let mut point = self.with_sets(&sets, pricing.stop())?;
        for _ in 0..ROUNDS_MAX {
            let prices: Vec<f64> = point.multipliers[1..=self.links()].iter().map(|p| p.max(0.0)).collect();
            let allowed = point.multipliers[0];
            let mut weights = prices.clone();
            let known = sets.len();
            for _ in 0..FOUND_MAX {
                let set: Vec<u32> =
                    (0..pricing.components()).flat_map(|c| pricing.heaviest(c, &weights)).collect();
                let weight: f64 = set.iter().map(|&l| prices[l as usize]).sum();
                if weight <= allowed * (1.0 + 1e-10) || sets.contains(&set) {
                    break;
                }
                set.iter().for_each(|&l| weights[l as usize] *= 0.7);
                sets.push(set);
            }
            if sets.len() == known {
                break;
            }
            point = self.with_sets(&sets, pricing.stop())?;
        }
        Ok((sets, point))
    }

    fn with_sets(&self, sets: &[Vec<u32>], stop: &AtomicBool) -> Result<Point, Failure> {
        let (n, m) = (self.flows.len(), sets.len());
        let (u, tau, h) = (n, 2 * n, 2 * n + m);
        let columns = 2 * n + m + if self.beta.is_some() { m } else { 0 };
        let mut objective = vec![0.0; columns];
        let mut rows = self.link_rows(sets)?;
        for (s, flow) in self.flows.iter().enumerate() {
            objective[u + s] = -Self::utility_rows(flow, s, u + s, &mut rows)?;
            objective[s] = flow.fixed_price;
        }
        if let Some(beta) = self.beta {
            for i in 0..m {
                // (h, τ, 1) in the exponential cone: h ≤ −τ log τ
                rows.push(&[(h + i, -1.0)], 0.0);
                rows.push(&[(tau + i, -1.0)], 0.0);
                rows.push(&[], 1.0);
                rows.cones.push(SupportedConeT::ExponentialConeT());
                objective[h + i] = -1.0 / beta;
            }
        }
        run(&rows, &objective, stop)
    }

    /// Shares add up to one, loads fit, shares are not negative.
    fn link_rows(&self, sets: &[Vec<u32>]) -> Result<Rows, Failure> {
        let (n, m) = (self.flows.len(), sets.len());
        let mut rows = Rows::default();
        rows.push(&(0..m).map(|i| (2 * n + i, 1.0)).collect::<Vec<_>>(), 1.0);
        let mut links: Vec<Vec<(usize, f64)>> = vec![Vec::new(); self.links()];
        for (s, flow) in self.flows.iter().enumerate() {
            flow.loads.iter().for_each(|&(l, a)| links[l].push((s, a)));
        }
        for (i, set) in sets.iter().enumerate() {
            set.iter().for_each(|&l| links[l as usize].push((2 * n + i, -1.0)));
        }
        for (l, row) in links.iter().enumerate() {
            let right = match l.checked_sub(self.air.links()).map(|w| self.wires[w]) {
                Some(Wire::Capacity(capacity)) => capacity,
                Some(_) => {
                    return Err(Failure::Malformed("Clarabel gets wires with a bound only".into()));
                }
                None => 0.0,
            };
            rows.push(row, right - self.background_of(l));
        }
        for i in 0..m {
            rows.push(&[(2 * n + i, -1.0)], 0.0);
        }
        rows.cones = vec![SupportedConeT::ZeroConeT(1), SupportedConeT::NonnegativeConeT(self.links() + m)];
        Ok(rows)
    }

    /// The constraints that bind a flow's rate and utility; gives the utility's weight.
    fn utility_rows(flow: &super::Flow, x: usize, u: usize, rows: &mut Rows) -> Result<f64, Failure> {
        let is = |alpha: f64, one: f64| (alpha - one).abs() < f64::EPSILON;
        match flow.utility {
            Utility::Points(ref table) => {
                // Below each of its lines, between no rate and the last.
                let lines: Vec<(f64, f64)> = table.pieces().collect();
                lines.iter().for_each(|&(slope, at_zero)| rows.push(&[(u, 1.0), (x, -slope)], at_zero));
                rows.push(&[(x, -1.0)], 0.0);
                rows.push(&[(x, 1.0)], table.most());
                rows.cones.push(SupportedConeT::NonnegativeConeT(lines.len() + 2));
                Ok(1.0)
            }
            Utility::AlphaFair { weight, alpha } if is(alpha, 1.0) => {
                // (u, 1, x) in the exponential cone: e^u ≤ x
                rows.push(&[(u, -1.0)], 0.0);
                rows.push(&[], 1.0);
                rows.push(&[(x, -1.0)], 0.0);
                rows.cones.push(SupportedConeT::ExponentialConeT());
                Ok(weight)
            }
            Utility::AlphaFair { weight, alpha } if is(alpha, 2.0) => {
                // −u·x ≥ 1: (x − u, x + u, 2) in the second-order cone
                rows.push(&[(x, -1.0), (u, 1.0)], 0.0);
                rows.push(&[(x, -1.0), (u, -1.0)], 0.0);
                rows.push(&[], 2.0);
                rows.cones.push(SupportedConeT::SecondOrderConeT(3));
                Ok(weight)
            }
            Utility::AlphaFair { weight, alpha } if alpha > 1.0 => {
                // s = −(α−1)u, s·x^(α−1) ≥ 1: (s, x, 1) in the power cone of 1/α
                rows.push(&[(u, alpha - 1.0)], 0.0);
                rows.push(&[(x, -1.0)], 0.0);
                rows.push(&[], 1.0);
                rows.cones.push(SupportedConeT::PowerConeT(1.0 / alpha));
                Ok(weight)
            }
            Utility::AlphaFair { weight, alpha } => {
                // (1−α)u ≤ x^(1−α): (x, 1, (1−α)u) in the power cone of 1−α
                rows.push(&[(x, -1.0)], 0.0);
                rows.push(&[], 1.0);
                rows.push(&[(u, alpha - 1.0)], 0.0);
                rows.cones.push(SupportedConeT::PowerConeT(1.0 - alpha));
                Ok(weight)
            }
            Utility::LossyConnections { .. } | Utility::Given(_) => {
                Err(Failure::Malformed("Clarabel knows α-fair utilities and tables of points only".into()))
            }
        }
    }
}

/// Clarabel's variables and multipliers, and its iterations.
fn run(rows: &Rows, objective: &[f64], stop: &AtomicBool) -> Result<Point, Failure> {
    let (is, (js, xs)): (Vec<usize>, (Vec<usize>, Vec<f64>)) =
        rows.entries.iter().map(|&(i, j, x)| (i, (j, x))).unzip();
    let matrix = CscMatrix::new_from_triplets(rows.right.len(), objective.len(), is, js, xs);
    let settings = DefaultSettingsBuilder::default().verbose(false).build().expect("the defaults are valid");
    let quadratic = CscMatrix::zeros((objective.len(), objective.len()));
    let failed = |what: String| Failure::BadlyScaled(format!("Clarabel gives up: {what}"));
    let mut solver = DefaultSolver::new(&quadratic, objective, &matrix, &rows.right, &rows.cones, settings)
        .map_err(|e| failed(e.to_string()))?;
    solve_unless(&mut solver, stop);
    match solver.solution.status {
        SolverStatus::Solved | SolverStatus::AlmostSolved => {
            let DefaultSolution { x, z, iterations, .. } = solver.solution;
            Ok(Point { x, multipliers: z, steps: iterations })
        }
        SolverStatus::PrimalInfeasible => Err(Failure::Infeasible("Clarabel finds no allocation".into())),
        SolverStatus::CallbackTerminated => Err(Failure::Stopped),
        status => Err(failed(format!("{status:?}"))),
    }
}

/// The interval between two checks of the stop flag for Clarabel.
const LOOK: Duration = Duration::from_millis(50);

/// Clarabel calls back between two iterations, but only a callback that it may keep for ever, so a second
/// thread copies the stop flag.
fn solve_unless(solver: &mut DefaultSolver<f64>, stop: &AtomicBool) {
    let (told, done) = (Arc::new(AtomicBool::new(false)), AtomicBool::new(false));
    let asked = Arc::clone(&told);
    solver.set_termination_callback(move |_| asked.load(Ordering::Relaxed));
    std::thread::scope(|scope| {
        let carrier = scope.spawn(|| {
            while !done.load(Ordering::Relaxed) {
                told.store(stop.load(Ordering::Relaxed), Ordering::Relaxed);
                std::thread::park_timeout(LOOK);
            }
        });
        solver.solve();
        done.store(true, Ordering::Relaxed);
        carrier.thread().unpark();
    });
}
