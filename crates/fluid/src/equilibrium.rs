//! Where a system rests, and how it returns there.

use crate::system::{Hold, Piece, System};
use nalgebra::{Complex, DMatrix, DVector};

/// A state in which nothing moves.
#[derive(Clone, Debug, PartialEq)]
pub struct Equilibrium {
    /// The state.
    pub state: Vec<f64>,
    /// Components that rest at a bound.
    pub held: Vec<bool>,
    /// Eigenvalues of the linearisation in the free components \[1/s\], the slowest first: real and imaginary parts.
    pub eigenvalues: Vec<(f64, f64)>,
    /// The greatest drift that is left, over the size of its component \[1/s\].
    pub residual: f64,
}

impl Equilibrium {
    /// Finds one from a state close by: Newton's method on the drift of the free components, with a line search. None if it
    /// does not converge, as where there is no equilibrium.
    pub fn near(system: &dyn System, start: &[f64]) -> Option<Self> {
        let mut state = start.to_vec();
        let mut piece = Piece::new(system, &mut state);
        let size = |i: usize, x: f64| x.abs().max(system.scale(i));
        let off = |piece: &Piece<'_, dyn System + '_>, state: &[f64]| {
            let drift = piece.drift(state);
            drift.iter().enumerate().map(|(i, d)| d.abs() / size(i, state[i])).fold(0.0, f64::max)
        };
        let mut residual = off(&piece, &state);
        for _ in 0..200 {
            let speed = fastest(&piece, &state);
            if residual < 1e-12 * speed.max(1e-300) {
                break;
            }
            let free: Vec<usize> = (0..state.len()).filter(|&i| piece.held[i] == Hold::Free).collect();
            let jacobian = jacobian_of(&piece, &state).select_rows(&free).select_columns(&free);
            let drift = piece.drift(&state);
            let right = DVector::from_iterator(free.len(), free.iter().map(|&i| -drift[i]));
            let step = jacobian.lu().solve(&right)?;
            let mut t = 1.0;
            let next = loop {
                let mut to = state.clone();
                free.iter().zip(&step).for_each(|(&i, d)| to[i] += t * d);
                let inside = to.iter().enumerate().all(|(i, x)| {
                    let (low, high) = system.bounds(i);
                    *x >= low && *x <= high
                });
                let next = if inside { off(&piece, &to) } else { f64::INFINITY };
                if next < residual {
                    break Some((to, next));
                }
                t *= 0.5;
                if t < 1e-8 {
                    break None;
                }
            };
            let Some((to, next)) = next else { break };
            (state, residual) = (to, next);
            piece = Piece::new(system, &mut state);
        }
        let speed = fastest(&piece, &state);
        (residual <= 1e-6 * speed).then(|| Self::at(&piece, state, residual))
    }

    fn at<S: System + ?Sized>(piece: &Piece<'_, S>, state: Vec<f64>, residual: f64) -> Self {
        let free: Vec<usize> = (0..state.len()).filter(|&i| piece.held[i] == Hold::Free).collect();
        let jacobian = jacobian_of(piece, &state).select_rows(&free).select_columns(&free);
        let eigenvalues = if free.is_empty() {
            Vec::new()
        } else {
            jacobian.complex_eigenvalues().iter().copied().collect()
        };
        let mut eigenvalues: Vec<(f64, f64)> =
            eigenvalues.into_iter().map(|Complex { re, im }| (re, im)).collect();
        eigenvalues.sort_by(|a, b| b.0.total_cmp(&a.0).then(b.1.total_cmp(&a.1)));
        let held = piece.held.iter().map(|h| *h != Hold::Free).collect();
        Self { state, held, eigenvalues, residual }
    }

    /// Whether small deviations die out: every eigenvalue has a negative real part.
    pub fn is_stable(&self) -> bool {
        self.eigenvalues.iter().all(|(re, _)| *re < 0.0)
    }
}

/// The fastest rate of change in the linearisation \[1/s\].
fn fastest<S: System + ?Sized>(piece: &Piece<'_, S>, state: &[f64]) -> f64 {
    jacobian_of(piece, state).diagonal().amax()
}

/// The matrix of derivatives of a system's drift, held components at rest, by central differences.
pub fn jacobian(system: &dyn System, state: &[f64]) -> DMatrix<f64> {
    let mut state = state.to_vec();
    let piece = Piece::new(system, &mut state);
    jacobian_of(&piece, &state)
}

pub(crate) fn jacobian_of<S: System + ?Sized>(piece: &Piece<'_, S>, state: &[f64]) -> DMatrix<f64> {
    let n = state.len();
    let mut matrix = DMatrix::zeros(n, n);
    let mut at = state.to_vec();
    for j in 0..n {
        if piece.held[j] != Hold::Free {
            continue;
        }
        // The cube root of the precision balances rounding against curvature.
        let h = 6e-6 * state[j].abs().max(1e-3 * piece.system.scale(j));
        let (low, high) = piece.system.bounds(j);
        let (up, down) = ((state[j] + h).min(high), (state[j] - h).max(low));
        at[j] = up;
        let above = piece.drift(&at);
        at[j] = down;
        let below = piece.drift(&at);
        at[j] = state[j];
        for i in 0..n {
            matrix[(i, j)] = (above[i] - below[i]) / (up - down);
        }
    }
    matrix
}
