//! Dormand and Prince's pair of orders 5 and 4 (Hairer, Nørsett, Wanner, Solving Ordinary Differential Equations I, table
//! II.5.2).

use super::{Attempt, norm};
use crate::system::{Piece, System};

const A: [&[f64]; 6] = [
    &[1.0 / 5.0],
    &[3.0 / 40.0, 9.0 / 40.0],
    &[44.0 / 45.0, -56.0 / 15.0, 32.0 / 9.0],
    &[19372.0 / 6561.0, -25360.0 / 2187.0, 64448.0 / 6561.0, -212.0 / 729.0],
    &[9017.0 / 3168.0, -355.0 / 33.0, 46732.0 / 5247.0, 49.0 / 176.0, -5103.0 / 18656.0],
    &[35.0 / 384.0, 0.0, 500.0 / 1113.0, 125.0 / 192.0, -2187.0 / 6784.0, 11.0 / 84.0],
];
/// Weights of the difference between the two solutions.
const E: [f64; 7] =
    [71.0 / 57600.0, 0.0, -71.0 / 16695.0, 71.0 / 1920.0, -17253.0 / 339_200.0, 22.0 / 525.0, -1.0 / 40.0];

pub(super) fn step<S: System + ?Sized>(
    piece: &Piece<'_, S>,
    state: &[f64],
    h: f64,
    tolerance: f64,
) -> Attempt {
    let mut stages = vec![piece.drift(state)];
    let mut next = state.to_vec();
    for row in A {
        for (i, x) in next.iter_mut().enumerate() {
            *x = state[i] + h * row.iter().zip(&stages).map(|(a, k)| a * k[i]).sum::<f64>();
        }
        stages.push(piece.drift(&next));
    }
    let errors = (0..state.len()).map(|i| h * E.iter().zip(&stages).map(|(e, k)| e * k[i]).sum::<f64>());
    let error = norm(piece, errors, state, &next, tolerance);
    Attempt { state: next, error }
}
