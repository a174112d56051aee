//! Dropping in proportion to the backlog, for queues whose MAC has no aggressiveness of its own.
//!
//! # Law
//! An arrival is dropped with probability `min(c·q, 1)`, `q` the number of packets that wait.
//!
//! # Source
//! [Chen10] section 5.2, C4. Under A-CSMA the probability is the aggressiveness itself
//! ([`AdaptiveBackoff::drop_probability`](crate::backoff::AdaptiveBackoff::drop_probability)), which follows the
//! backlog once per update interval; this law follows it at each arrival and serves DCF and wired queues.

use evenair_units::Probability;

/// The law's parameter.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Proportional {
    /// `c`: drop probability per packet that waits.
    pub per_packet: f64,
}

impl Proportional {
    /// The probability with which an arrival is dropped when so many wait.
    pub fn drop_probability(self, waiting_packets: u32) -> Probability {
        Probability::clamped(self.per_packet * f64::from(waiting_packets))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_probability_grows_with_the_queue_and_stops_at_one() {
        let law = Proportional { per_packet: 7.3e-5 };
        assert!((law.drop_probability(51).value() - 3.7e-3).abs() < 1e-4);
        assert_eq!(law.drop_probability(1_000_000), Probability::ONE);
    }
}
