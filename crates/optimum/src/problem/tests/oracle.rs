//! The same problems by Clarabel, a conic interior-point solver.

use super::super::{Problem, Wire};
use crate::Utility;
use clarabel::algebra::CscMatrix;
use clarabel::solver::{DefaultSettingsBuilder, DefaultSolver, IPSolver, SolverStatus, SupportedConeT};
use evenair_topology::IndependentSets;

/// What Clarabel found.
pub(super) struct Oracle {
    pub(super) rates: Vec<f64>,
    pub(super) objective: f64,
}

/// Rows `a·x + s = b`, `s` in the cone that the row belongs to.
#[derive(Default)]
struct Rows {
    entries: Vec<(usize, usize, f64)>,
    right: Vec<f64>,
}

impl Rows {
    fn push(&mut self, row: &[(usize, f64)], right: f64) {
        let i = self.right.len();
        self.entries.extend(row.iter().map(|&(j, x)| (i, j, x)));
        self.right.push(right);
    }
}

/// Variables: rates x, then u with utility = weight·u (u ≤ −1/x or u ≤ log x), shares τ, entropies h ≤ −τ log τ.
pub(super) fn clarabel(problem: &Problem) -> Oracle {
    let sets = IndependentSets::of(&problem.air).unwrap();
    let (n, m) = (problem.flows.len(), sets.len());
    let (u, tau, h) = (n, 2 * n, 2 * n + m);
    let columns = 2 * n + 2 * m;
    let mut rows = Rows::default();
    rows.push(&(0..m).map(|i| (tau + i, 1.0)).collect::<Vec<_>>(), 1.0);
    for l in 0..problem.links() {
        let load =
            |s: usize| problem.flows[s].loads.iter().filter(|(m, _)| *m == l).map(|(_, a)| a).sum::<f64>();
        let mut row: Vec<(usize, f64)> = (0..n).map(|s| (s, load(s))).filter(|(_, a)| *a > 0.0).collect();
        let right = match l.checked_sub(problem.air.links()).map(|w| problem.wires[w]) {
            Some(Wire::Capacity(capacity)) => capacity,
            Some(_) => unimplemented!("the oracle knows bounds only"),
            None => {
                row.extend((0..m).filter(|&i| sets.masks()[i] >> l & 1 == 1).map(|i| (tau + i, -1.0)));
                0.0
            }
        };
        rows.push(&row, right);
    }
    for i in 0..m {
        rows.push(&[(tau + i, -1.0)], 0.0);
    }
    let mut cones = vec![SupportedConeT::ZeroConeT(1), SupportedConeT::NonnegativeConeT(problem.links() + m)];
    let mut objective = vec![0.0; columns];
    for (s, flow) in problem.flows.iter().enumerate() {
        let Utility::AlphaFair { weight, alpha } = flow.utility else {
            unimplemented!("the oracle knows α only")
        };
        objective[u + s] = -weight;
        if (alpha - 1.0).abs() < 1e-12 {
            // (u, 1, x) in the exponential cone: e^u ≤ x
            rows.push(&[(u + s, -1.0)], 0.0);
            rows.push(&[], 1.0);
            rows.push(&[(s, -1.0)], 0.0);
            cones.push(SupportedConeT::ExponentialConeT());
        } else {
            // −u·x ≥ 1: (x − u, x + u, 2) in the second-order cone
            rows.push(&[(s, -1.0), (u + s, 1.0)], 0.0);
            rows.push(&[(s, -1.0), (u + s, -1.0)], 0.0);
            rows.push(&[], 2.0);
            cones.push(SupportedConeT::SecondOrderConeT(3));
        }
    }
    for i in 0..m {
        // (h, τ, 1) in the exponential cone: h ≤ −τ log τ
        rows.push(&[(h + i, -1.0)], 0.0);
        rows.push(&[(tau + i, -1.0)], 0.0);
        rows.push(&[], 1.0);
        cones.push(SupportedConeT::ExponentialConeT());
        objective[h + i] = -problem.beta.map_or(0.0, |beta| 1.0 / beta);
    }
    let (is, (js, xs)): (Vec<usize>, (Vec<usize>, Vec<f64>)) =
        rows.entries.into_iter().map(|(i, j, x)| (i, (j, x))).unzip();
    let matrix = CscMatrix::new_from_triplets(rows.right.len(), columns, is, js, xs);
    let settings = DefaultSettingsBuilder::default().verbose(false).build().unwrap();
    let quadratic = CscMatrix::zeros((columns, columns));
    let mut solver =
        DefaultSolver::new(&quadratic, &objective, &matrix, &rows.right, &cones, settings).unwrap();
    solver.solve();
    let status = solver.solution.status;
    assert!(matches!(status, SolverStatus::Solved | SolverStatus::AlmostSolved), "{status:?}");
    Oracle { rates: solver.solution.x[..n].to_vec(), objective: -solver.solution.obj_val }
}
