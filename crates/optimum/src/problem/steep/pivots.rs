//! Linear complementarity: which of many bounds are tight.

use crate::newton;
use nalgebra::DMatrix;

/// Exchanges of all that is wrong at once that need not help, one after the other.
const VAIN_MAX: u32 = 10;
/// One exchange at a time may take thousands of steps to its end; prices that have moved on a little make another start.
const STEPS_MAX: usize = 20;
/// Below this, relative to the right-hand side's greatest, a value is rounding.
const ROUNDING: f64 = 1e-15;

/// `z ≥ 0` with `w = Mz − q ≥ 0`; in each place one of the two is zero. The matrix has positive principal
/// minors. None, if it is not found.
///
/// Block principal pivoting: all that is below zero changes sides at once and, where that goes in circles, only the last of them, which ends
/// (Júdice and Pires 1994, Murty 1974).
pub(super) fn complementary(matrix: &DMatrix<f64>, right: &[f64]) -> Option<Vec<f64>> {
    let n = right.len();
    let mut is_free: Vec<bool> = right.iter().map(|q| *q > 0.0).collect();
    let (mut fewest, mut vain) = (n + 1, 0);
    let least = -ROUNDING * right.iter().fold(0.0, |most: f64, q| most.max(q.abs()));
    for _ in 0..STEPS_MAX {
        let free: Vec<usize> = (0..n).filter(|&i| is_free[i]).collect();
        let system = DMatrix::from_fn(free.len(), free.len(), |i, k| matrix[(free[i], free[k])]);
        let values = newton::solve_any(system, &free.iter().map(|&i| right[i]).collect::<Vec<f64>>())?;
        let mut z = vec![0.0; n];
        free.iter().zip(values).for_each(|(&i, value)| z[i] = value);
        let rest = |i: usize| free.iter().map(|&k| matrix[(i, k)] * z[k]).sum::<f64>() - right[i];
        let wrong: Vec<usize> =
            (0..n).filter(|&i| if is_free[i] { z[i] < 0.0 } else { rest(i) < least }).collect();
        let Some(&last) = wrong.last() else { return Some(z) };
        if wrong.len() < fewest {
            (fewest, vain) = (wrong.len(), 0);
        } else {
            vain += 1;
        }
        if vain <= VAIN_MAX {
            wrong.iter().for_each(|&i| is_free[i] = !is_free[i]);
        } else {
            is_free[last] = !is_free[last];
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn one_of_each_pair_is_zero(
            entries in prop::collection::vec(-1.0f64..1.0, 36),
            right in prop::collection::vec(-1.0f64..1.0, 6),
        ) {
            let root = DMatrix::from_vec(6, 6, entries);
            let matrix = &root * root.transpose() + DMatrix::identity(6, 6) * 0.1;
            let z = complementary(&matrix, &right).unwrap();
            for i in 0..6 {
                let w = (0..6).map(|k| matrix[(i, k)] * z[k]).sum::<f64>() - right[i];
                prop_assert!(z[i] >= 0.0 && w > -1e-9 && (z[i] * w).abs() < 1e-9, "{i}: {} {w}", z[i]);
            }
        }
    }
}
