//! The inverse problem: which exponents give wanted shares.

use super::ProductForm;
use crate::{Failure, Flow, Problem, Utility, newton};

/// Beyond this an exponent is infinite for every purpose: `e^700` is the largest power of e that a number holds.
const EXPONENT_MAX: f64 = 700.0;
/// So far inside the region shares must lie, relatively.
const MARGIN: f64 = 1e-9;

impl ProductForm {
    /// The exponents `βr` at which ideal CSMA gives each link the wanted share of time; unique where there are any.
    ///
    /// The maximum of `Σ y_l z_l − log Z(z)`, by Newton's method: its gradient is wanted less given shares
    /// and its Hessian the covariance.
    ///
    /// # Errors
    /// [`Failure::Infeasible`] if a share is not between 0 and 1, or the shares lie on the boundary of the capacity region
    /// or beyond it: only those strictly inside are reached with finite exponents ([Chen10] section 3.3).
    /// [`Failure::BadlyScaled`] if exponents would be too large for a number.
    pub fn exponents_for(&self, wanted: &[f64]) -> Result<Vec<f64>, Failure> {
        assert_eq!(self.links(), wanted.len(), "one share per link");
        if let Some(l) = wanted.iter().position(|&y| !(y > 0.0 && y < 1.0)) {
            let what =
                format!("link {l} shall transmit {} of the time: between 0 and 1, both left out", wanted[l]);
            return Err(Failure::Infeasible(what));
        }
        // One flow over all links shows how many times the wanted shares fit.
        let all = Flow {
            utility: Utility::log(1.0),
            fixed_price: 0.0,
            loads: wanted.iter().copied().enumerate().collect(),
        };
        let times =
            Problem { air: self.graph.clone(), flows: vec![all], ..Problem::default() }.solve()?.rates[0];
        if times <= 1.0 + MARGIN {
            let what = format!(
                "the wanted shares fit {times:.6} times: they lie on the boundary of the capacity region or beyond, where no \
                 finite exponents lead"
            );
            return Err(Failure::Infeasible(what));
        }
        let mut z: Vec<f64> = wanted.iter().map(|&y| libm::log(y / (1.0 - y))).collect();
        for _ in 0..200 {
            let shares = self.shares(&z);
            let gradient: Vec<f64> = shares.links.iter().zip(wanted).map(|(given, y)| given - y).collect();
            // Relative to the wanted share, so that small shares count.
            let worst = gradient.iter().zip(wanted).map(|(g, y)| g.abs() / y).fold(0.0, f64::max);
            if worst < 1e-11 {
                return Ok(z);
            }
            let Some(step) = newton::solve(&self.covariance(&shares), &gradient) else { break };
            match self.descend(&z, wanted, &gradient, &step) {
                Some(to) if to.iter().all(|z| z.abs() < EXPONENT_MAX) => z = to,
                None if worst < 1e-8 => return Ok(z), // as close as the arithmetic goes
                _ => break,
            }
        }
        Err(Failure::BadlyScaled(format!("exponents beyond {EXPONENT_MAX} would be needed")))
    }

    /// A step along a direction, halved until the slope of `log Z − Σ y z` has not turned to more than half of its first value.
    fn descend(&self, z: &[f64], wanted: &[f64], gradient: &[f64], step: &[f64]) -> Option<Vec<f64>> {
        let slope: f64 = gradient.iter().zip(step).map(|(g, d)| g * d).sum();
        let mut t = 1.0;
        while t > 1e-12 {
            let to: Vec<f64> = z.iter().zip(step).map(|(z, d)| z + t * d).collect();
            let given = self.shares(&to).links;
            let turned: f64 = given.iter().zip(wanted).zip(step).map(|((g, y), d)| (g - y) * d).sum();
            if turned <= 0.5 * slope.abs() {
                return Some(to);
            }
            t *= 0.5;
        }
        None
    }
}
