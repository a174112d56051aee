//! The second choice of solver: the same problems as cones, for Clarabel's interior-point method.

use super::certificate::Found;
use super::schedule::Pricing;
use super::{Failure, Problem, Solution, Wire};
use crate::Utility;
use clarabel::algebra::CscMatrix;
use clarabel::solver::{DefaultSettingsBuilder, DefaultSolver, IPSolver, SolverStatus, SupportedConeT};
use evenair_topology::IndependentSets;

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

/// The most independent sets that are written out.
const SETS_MAX: usize = 20_000;

impl Problem {
    /// Solves the problem by Clarabel, with every independent set written out; for α of 1 and 2 and wires with a bound.
    ///
    /// Variables: rates x, then u with utility = weight·u (`u ≤ −1/x` or `u ≤ log x`), shares τ, entropies `h ≤ −τ log τ`.
    ///
    /// # Errors
    /// As [`Self::solve`], and if the problem is not of this kind or Clarabel does not converge.
    pub fn solve_by_cones(&self) -> Result<Solution, Failure> {
        self.check()?;
        let sets = IndependentSets::of(&self.air)?;
        if sets.len() > SETS_MAX {
            let limit = SETS_MAX;
            return Err(Failure::TooLarge(evenair_topology::TooLarge { links: self.air.links(), limit }));
        }
        let (n, m) = (self.flows.len(), sets.len());
        let (u, tau, h) = (n, 2 * n, 2 * n + m);
        let columns = 2 * n + m + if self.beta.is_some() { m } else { 0 };
        let mut objective = vec![0.0; columns];
        let mut rows = self.link_rows(&sets)?;
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
        let (x, z, steps) = run(&rows, &objective)?;
        let share = |i: usize| x[tau + i].max(0.0);
        let mut airtime = vec![0.0; self.air.links()];
        let mut schedule = Vec::new();
        for (i, &mask) in sets.masks().iter().enumerate() {
            IndependentSets::members(mask).for_each(|l| airtime[l] += share(i));
            schedule.push((IndependentSets::members(mask).map(|l| l as u32).collect::<Vec<u32>>(), share(i)));
        }
        let entropy = schedule.iter().filter(|(_, p)| *p > 0.0).map(|(_, p)| -p * libm::log(*p)).sum();
        let prices = z[1..=self.links()].iter().map(|p| p.max(0.0)).collect();
        let found = Found { rates: x[..n].to_vec(), prices, airtime, schedule, entropy, steps };
        let pricing = self.beta.is_none().then(|| Pricing::new(self));
        self.certified(found, pricing.as_ref())
    }

    /// Shares add up to one, loads fit, shares are not negative.
    fn link_rows(&self, sets: &IndependentSets) -> Result<Rows, Failure> {
        let (n, m) = (self.flows.len(), sets.len());
        let mut rows = Rows::default();
        rows.push(&(0..m).map(|i| (2 * n + i, 1.0)).collect::<Vec<_>>(), 1.0);
        for l in 0..self.links() {
            let load =
                |s: usize| self.flows[s].loads.iter().filter(|(k, _)| *k == l).map(|(_, a)| a).sum::<f64>();
            let mut row: Vec<(usize, f64)> = (0..n).map(|s| (s, load(s))).filter(|(_, a)| *a > 0.0).collect();
            let right = match l.checked_sub(self.air.links()).map(|w| self.wires[w]) {
                Some(Wire::Capacity(capacity)) => capacity,
                Some(_) => {
                    return Err(Failure::Malformed("Clarabel is asked for wires with a bound only".into()));
                }
                None => {
                    row.extend((0..m).filter(|&i| sets.masks()[i] >> l & 1 == 1).map(|i| (2 * n + i, -1.0)));
                    0.0
                }
            };
            rows.push(&row, right - self.background_of(l));
        }
        for i in 0..m {
            rows.push(&[(2 * n + i, -1.0)], 0.0);
        }
        rows.cones = vec![SupportedConeT::ZeroConeT(1), SupportedConeT::NonnegativeConeT(self.links() + m)];
        Ok(rows)
    }

    /// What binds a flow's rate and utility; the utility's weight.
    fn utility_rows(flow: &super::Flow, x: usize, u: usize, rows: &mut Rows) -> Result<f64, Failure> {
        let is = |alpha: f64, one: f64| (alpha - one).abs() < f64::EPSILON;
        match flow.utility {
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
            _ => Err(Failure::Malformed("Clarabel is asked for α = 1 and α = 2 only".into())),
        }
    }
}

/// Clarabel's variables and multipliers, and its iterations.
fn run(rows: &Rows, objective: &[f64]) -> Result<(Vec<f64>, Vec<f64>, u32), Failure> {
    let (is, (js, xs)): (Vec<usize>, (Vec<usize>, Vec<f64>)) =
        rows.entries.iter().map(|&(i, j, x)| (i, (j, x))).unzip();
    let matrix = CscMatrix::new_from_triplets(rows.right.len(), objective.len(), is, js, xs);
    let settings = DefaultSettingsBuilder::default().verbose(false).build().expect("the defaults are valid");
    let quadratic = CscMatrix::zeros((objective.len(), objective.len()));
    let failed = |what: String| Failure::BadlyScaled(format!("Clarabel gives up: {what}"));
    let mut solver = DefaultSolver::new(&quadratic, objective, &matrix, &rows.right, &rows.cones, settings)
        .map_err(|e| failed(e.to_string()))?;
    solver.solve();
    match solver.solution.status {
        SolverStatus::Solved | SolverStatus::AlmostSolved => {
            Ok((solver.solution.x, solver.solution.z, solver.solution.iterations))
        }
        SolverStatus::PrimalInfeasible => Err(Failure::Infeasible("Clarabel finds no allocation".into())),
        status => Err(failed(format!("{status:?}"))),
    }
}
