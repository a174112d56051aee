//! Dropping in proportion to the backlog, for queues of a MAC without aggressiveness.
//!
//! # Law
//! An arrival is dropped with probability `min(c·q, 1)`, `q` the number of packets that wait.
//!
//! # Source
//! [Chen10] section 5.2, C4.
//!
//! # Symbols
//! `c` → [`Proportional::per_packet`].
//!
//! # Signals
//! How many packets wait. Under A-CSMA the probability is the aggressiveness itself
//! ([`BackoffLaw::drop_probability`](crate::backoff::BackoffLaw::drop_probability)), which follows the backlog once per
//! update interval; this law follows it at each arrival and serves DCF and wired queues.
//!
//! # Deviations
//! The thesis gives `c` only where it is the A-CSMA's: α = 0.1 per second of backlog is 7.27·10⁻⁵ per packet of 1000 bytes at
//! 11 Mb/s, the default here. It has no state, so that its parameters are the law; its fluid face is the same function of a
//! fluid queue ([`Proportional::price`]).
//!
//! # Example
//! ```
//! use evenair_laws::marking::Proportional;
//! // [Chen10] section 6.1.7: 51 packets, 3.7e-3
//! assert!((Proportional::default().drop_probability(51).value() - 3.7e-3).abs() < 1e-4);
//! ```

use super::{MarkingLaw, QueueRole, QueueView};
use crate::{BadParameter, Parameters, check};
use evenair_units::{Instant, Probability};

/// The law's parameter.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(default, deny_unknown_fields)
)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct Proportional {
    /// Drop probability per packet that waits.
    #[cfg_attr(feature = "serde", serde(deserialize_with = "evenair_units::percent"))]
    #[cfg_attr(feature = "schemars", schemars(with = "evenair_units::Probability"))]
    pub per_packet: f64,
}

impl Proportional {
    /// The fluid face: the price of a queue of so many packets.
    pub fn price(self, queue: f64) -> f64 {
        (self.per_packet * queue).clamp(0.0, 1.0)
    }

    /// The probability with which an arrival is dropped when so many wait.
    pub fn drop_probability(self, waiting_packets: u32) -> Probability {
        Probability::clamped(self.price(f64::from(waiting_packets)))
    }
}

/// α = 0.1 per second of a backlog of 1000-byte packets at 11 Mb/s.
impl Default for Proportional {
    fn default() -> Self {
        Self { per_packet: 0.1 * 8000.0 / 11e6 }
    }
}

impl Parameters for Proportional {
    type Surroundings = ();
    type Place = QueueRole;
    type Law = Self;

    fn validated(self) -> Result<Self, BadParameter> {
        let range = (0.0..=1.0).contains(&self.per_packet);
        check("per_packet", self.per_packet, range, "between 0 and 1")?;
        Ok(self)
    }

    fn begin(&self, _: &QueueRole) -> Self {
        *self
    }
}

impl MarkingLaw for Proportional {
    fn on_arrival(&mut self, _: Instant, queue: &QueueView) -> Probability {
        Probability::clamped(self.price(queue.waiting.packets as f64))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use evenair_units::Volume;

    #[test]
    fn probability_grows_with_queue_and_stops_at_one() {
        let mut law = Proportional { per_packet: 7.3e-5 };
        assert!((law.drop_probability(51).value() - 3.7e-3).abs() < 1e-4);
        assert_eq!(law.drop_probability(1_000_000), Probability::ONE);
        for packets in [0, 51, 1_000_000] {
            let view = QueueView::of(Volume { packets, bytes: 0 });
            let price = law.price(packets as f64);
            assert!((law.on_arrival(Instant::ZERO, &view).value() - price).abs() < 1e-15);
        }
    }

    #[test]
    fn a_share_beyond_one_is_refused() {
        assert_eq!(Proportional { per_packet: 1.5 }.validated().unwrap_err().name, "per_packet");
    }
}
