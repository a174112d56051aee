//! The linear systems of Newton's method.

use nalgebra::{Cholesky, DMatrix, DVector, Dyn};

/// The Cholesky factor; a ridge is added if the matrix is singular to working precision, to each row in its own scale.
pub(crate) fn factor(matrix: &DMatrix<f64>) -> Option<Cholesky<f64, Dyn>> {
    let scale = matrix.diagonal().amax().max(1e-300);
    if let Some(factor) = matrix.clone().cholesky() {
        return Some(factor);
    }
    let ridges = (-16..-3).map(|power| libm::pow(10.0, f64::from(power)));
    ridges.into_iter().find_map(|ridge| {
        let mut system = matrix.clone();
        for i in 0..system.nrows() {
            system[(i, i)] += ridge * system[(i, i)].abs().max(1e-16 * scale);
        }
        system.cholesky()
    })
}

/// The direction `−H⁻¹g`.
pub(crate) fn solve(hessian: &DMatrix<f64>, gradient: &[f64]) -> Option<Vec<f64>> {
    let direction = factor(hessian)?.solve(&-DVector::from_column_slice(gradient));
    direction.iter().all(|d| d.is_finite()).then(|| direction.iter().copied().collect())
}

/// The solution of a system of any matrix; none, if it is singular.
pub(crate) fn solve_any(matrix: DMatrix<f64>, right: &[f64]) -> Option<Vec<f64>> {
    if right.is_empty() {
        return Some(Vec::new());
    }
    let solution = matrix.lu().solve(&DVector::from_column_slice(right))?;
    solution.iter().all(|x| x.is_finite()).then(|| solution.iter().copied().collect())
}

/// The same by conjugate gradients with a diagonal preconditioner, for matrices that are known by their products only;
/// stops when the residual is `tolerance` times the gradient.
pub(crate) fn solve_by_products(
    times: impl Fn(&[f64]) -> Vec<f64>,
    diagonal: &[f64],
    gradient: &[f64],
    tolerance: f64,
) -> Vec<f64> {
    let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
    let scaled = |r: &[f64]| r.iter().zip(diagonal).map(|(r, d)| r / d.max(1e-300)).collect::<Vec<f64>>();
    let mut direction = vec![0.0; gradient.len()];
    let mut residual: Vec<f64> = gradient.iter().map(|g| -g).collect();
    let mut search = scaled(&residual);
    let mut rho = dot(&residual, &search);
    let goal = tolerance * tolerance * rho;
    for _ in 0..gradient.len().max(20) {
        if rho <= goal || rho == 0.0 {
            break;
        }
        let product = times(&search);
        let curvature = dot(&search, &product);
        if curvature <= 0.0 {
            break; // singular to working precision: the present vector is a direction of descent
        }
        let step = rho / curvature;
        for i in 0..direction.len() {
            direction[i] += step * search[i];
            residual[i] -= step * product[i];
        }
        let next = scaled(&residual);
        let rho_next = dot(&residual, &next);
        let share = rho_next / rho;
        rho = rho_next;
        for (s, n) in search.iter_mut().zip(next) {
            *s = n + share * *s;
        }
    }
    direction
}
