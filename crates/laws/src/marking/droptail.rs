//! DropTail: an arrival at a full queue is refused.
//!
//! # Source
//! [Chen10] eq. (3.7) for its fluid price; [Jam10] section 6.2 (J8).

/// A limit on the number of packets that wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DropTail {
    /// The most packets that wait, the one in service not counted.
    pub limit_packets: u32,
}

impl DropTail {
    /// Whether an arrival is accepted when so many wait.
    pub const fn accepts(self, waiting_packets: u32) -> bool {
        waiting_packets < self.limit_packets
    }
}

/// The fluid price of a DropTail link, [Chen10] eq. (3.7) and (5.34), [CZ06] eq. (2): the share of the arrivals beyond
/// its capacity.
pub fn loss_price(arrival: f64, capacity: f64) -> f64 {
    if arrival > capacity { (arrival - capacity) / arrival } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_queue_refuses() {
        let queue = DropTail { limit_packets: 50 };
        assert!(queue.accepts(49));
        assert!(!queue.accepts(50));
    }

    #[test]
    fn the_price_is_the_share_that_does_not_fit() {
        assert!((loss_price(1.25, 1.0) - 0.2).abs() < 1e-15);
        assert!(loss_price(0.5, 1.0).abs() < 1e-15);
        assert!(loss_price(0.0, 0.0).abs() < 1e-15);
    }
}
