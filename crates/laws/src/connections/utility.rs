//! As many connections as an arbitrary utility wants.
//!
//! # Law
//! `n = k·√(U'(x)·T²·x²/2)`, whose fixed point with TCP Reno is `k²·U'(x) = Σr`: the fixed point of problem MP with `U` in the
//! place of `−1/x`.
//!
//! # Source
//! [Chen10] eq. (5.29) (C7).
//!
//! # Symbols
//! `k`, `U'`, `T` \[s\], `x` \[segments/s\], `n`.
//!
//! # Signals
//! The flow's own rate and round-trip time.
//!
//! # Deviations
//! The thesis says that `U = −1/x` gives back `n = kT`; it gives `kT/√2`, and `U = −2/x` gives `kT`.
//!
//! # Example
//! ```
//! let n = evenair_laws::connections::for_utility(10.0, 2.0 / (300.0 * 300.0), 0.4, 300.0);
//! assert!((n - 10.0 * 0.4).abs() < 1e-12); // U = −2/x: n = kT
//! ```

/// [Chen10] eq. (5.29): the number of connections at a rate \[segments/s\], its marginal utility, and a round-trip time \[s\].
pub fn for_utility(k: f64, marginal_utility: f64, round_trip_s: f64, rate: f64) -> f64 {
    k * round_trip_s * rate * libm::sqrt(marginal_utility / 2.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::window::reno::aggregate_rate_drift;

    #[test]
    fn the_fixed_point_is_the_utilitys() {
        // U = log x: at price q = k²·U'(x) = k²/x the drift of (5.2) vanishes.
        let (k, rate, round_trip_s) = (3.0, 40.0, 0.2);
        let n = for_utility(k, 1.0 / rate, round_trip_s, rate);
        let drift = aggregate_rate_drift(rate, n, round_trip_s, k * k / rate);
        assert!(drift.abs() < 1e-9, "{drift}");
    }

    #[test]
    fn the_thesis_own_case_is_a_root_of_two_off() {
        let n = for_utility(10.0, 1.0 / (300.0 * 300.0), 0.4, 300.0);
        assert!((n - 10.0 * 0.4 / core::f64::consts::SQRT_2).abs() < 1e-12);
    }
}
