//! RODAS: a stiffly accurate Rosenbrock method of order 4 with an embedded one of order 3 (Hairer and Wanner, Solving Ordinary
//! Differential Equations II, section IV.7 and their code RODAS). One Jacobian and one factorisation a step.

use super::{Attempt, norm};
use crate::equilibrium::jacobian_of;
use crate::system::{Piece, System};
use nalgebra::{DMatrix, DVector};

const GAMMA: f64 = 0.25;
const A: [&[f64]; 5] = [
    &[],
    &[1.544],
    &[0.946_678_528_081_582_6, 0.255_701_169_898_328_4],
    &[3.314_825_187_068_521, 2.896_124_015_972_201, 0.998_641_913_997_781_7],
    &[1.221_224_509_226_641, 6.019_134_481_288_629, 12.537_083_329_320_87, -0.687_886_036_105_895],
];
const C: [&[f64]; 6] = [
    &[],
    &[-5.6688],
    &[-2.430_093_356_833_875, -0.206_359_915_709_191_5],
    &[-0.107_352_905_815_137_5, -9.594_562_251_023_355, -20.470_286_148_096_16],
    &[7.496_443_313_967_647, -10.246_804_314_643_52, -33.999_903_528_199_05, 11.708_908_932_061_6],
    &[
        8.083_246_795_921_522,
        -7.981_132_988_064_893,
        -31.521_594_328_743_71,
        16.319_305_431_231_36,
        -6.058_818_238_834_054,
    ],
];

pub(super) fn step<S: System + ?Sized>(
    piece: &Piece<'_, S>,
    state: &[f64],
    h: f64,
    tolerance: f64,
) -> Attempt {
    let n = state.len();
    let jacobian = jacobian_of(piece, state);
    let factor = (DMatrix::identity(n, n) / (h * GAMMA) - jacobian).lu();
    let failed = || Attempt { state: vec![f64::NAN; n], error: f64::INFINITY };
    let mut stages: Vec<Vec<f64>> = Vec::with_capacity(6);
    let mut at = state.to_vec();
    for stage in 0..6 {
        if stage < 5 {
            for (i, x) in at.iter_mut().enumerate() {
                *x = state[i] + A[stage].iter().zip(&stages).map(|(a, u)| a * u[i]).sum::<f64>();
            }
        } else {
            // The last stages add up: the method is stiffly accurate.
            at.iter_mut().zip(&stages[4]).for_each(|(x, u)| *x += u);
        }
        let mut right = DVector::from_vec(piece.drift(&at));
        for i in 0..n {
            right[i] += C[stage].iter().zip(&stages).map(|(c, u)| c * u[i]).sum::<f64>() / h;
        }
        let Some(solved) = factor.solve(&right) else { return failed() };
        stages.push(solved.iter().copied().collect());
    }
    let next: Vec<f64> = at.iter().zip(&stages[5]).map(|(x, u)| x + u).collect();
    let error = norm(piece, stages[5].iter().copied(), state, &next, tolerance);
    Attempt { state: next, error }
}
