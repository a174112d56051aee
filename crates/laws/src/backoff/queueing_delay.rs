//! Queueing-delay CSMA: aggressiveness in proportion to how long the queue takes.
//!
//! # Law
//! `ρ = b·q`: a link of capacity `b` whose packets queue for `q` backs off for `exp(−b·q)/b` in the mean.
//!
//! # Source
//! [QCSMA] eq. (13), (14), (18).
//!
//! # Symbols
//! `b` \[packets per unit of time\], `q` \[unit of time\], `QueLEN`/`AveR`: packets that wait over the rate at which they are
//! served, an estimate of `q`.
//!
//! # Signals
//! The own queue's delay.
//!
//! # Deviations
//! None.
//!
//! # Example
//! ```
//! use evenair_laws::backoff::queueing_delay;
//! assert!((queueing_delay::aggressiveness(2.0, 1.5) - 3.0).abs() < 1e-12);
//! ```

/// [QCSMA] eq. (13): `ρ = b·q`, the logarithm of holding over back-off time.
pub fn aggressiveness(capacity: f64, queueing_delay: f64) -> f64 {
    capacity * queueing_delay
}

/// [QCSMA] eq. (18): the mean back-off of a link whose `backlog` packets are served at `rate`.
pub fn mean_backoff(capacity: f64, backlog: f64, rate: f64) -> f64 {
    libm::exp(-aggressiveness(capacity, backlog / rate)) / capacity
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_empty_queue_waits_one_service_time() {
        assert!((mean_backoff(4.0, 0.0, 1.0) - 0.25).abs() < 1e-15);
        assert!(mean_backoff(4.0, 2.0, 1.0) < mean_backoff(4.0, 1.0, 1.0));
    }
}
