//! DropTail: an arrival at a full queue is refused.
//!
//! # Law
//! An arrival is refused if as many packets wait as may.
//!
//! # Source
//! [Chen10] eq. (3.7) for its fluid price; [Jam10] section 6.2 (J8).
//!
//! # Symbols
//! The limit → [`DropTail::limit_packets`] \[packets\], by default 50, ns-2's and Chapter 6's of [Chen10].
//!
//! # Signals
//! How many packets wait.
//!
//! # Deviations
//! None. It has no state, so that its parameters are the law, and no drift but its price, [`loss_price`].
//!
//! # Example
//! ```
//! use evenair_laws::marking::DropTail;
//! assert!(!DropTail { limit_packets: 50 }.accepts(50));
//! ```

use super::{MarkingLaw, QueueRole, QueueView};
use crate::{BadParameter, Parameters, check};
use evenair_units::{Instant, Probability};

/// A limit on the number of packets that wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(default, deny_unknown_fields)
)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct DropTail {
    /// The most packets that wait, the one in service not counted.
    #[cfg_attr(feature = "serde", serde(rename = "limit", with = "packets"))]
    #[cfg_attr(feature = "schemars", schemars(with = "evenair_units::PacketCount"))]
    pub limit_packets: u32,
}

/// A count as files write it, "50 packets".
#[cfg(feature = "serde")]
mod packets {
    use evenair_units::PacketCount;
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    #[allow(clippy::trivially_copy_pass_by_ref, reason = "serde passes references")]
    pub(super) fn serialize<S: Serializer>(count: &u32, serializer: S) -> Result<S::Ok, S::Error> {
        PacketCount(*count).serialize(serializer)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u32, D::Error> {
        PacketCount::deserialize(deserializer).map(|count| count.0)
    }
}

impl DropTail {
    /// Whether an arrival is accepted when so many wait.
    pub const fn accepts(self, waiting_packets: u32) -> bool {
        waiting_packets < self.limit_packets
    }
}

impl Default for DropTail {
    fn default() -> Self {
        Self { limit_packets: 50 }
    }
}

impl Parameters for DropTail {
    type Surroundings = ();
    type Place = QueueRole;
    type Law = Self;

    fn validated(self) -> Result<Self, BadParameter> {
        check("limit", f64::from(self.limit_packets), self.limit_packets >= 1, "at least 1 packet")?;
        Ok(self)
    }

    fn begin(&self, _: &QueueRole) -> Self {
        *self
    }
}

impl MarkingLaw for DropTail {
    fn on_arrival(&mut self, _: Instant, queue: &QueueView) -> Probability {
        let is_full = queue.waiting.packets >= u64::from(self.limit_packets);
        if is_full { Probability::ONE } else { Probability::ZERO }
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
    use evenair_units::Volume;

    #[test]
    fn a_full_queue_refuses() {
        let mut queue = DropTail { limit_packets: 50 };
        for (packets, refused) in [(49, Probability::ZERO), (50, Probability::ONE), (51, Probability::ONE)] {
            let view = QueueView::of(Volume { packets, bytes: packets * 1040 });
            assert_eq!(queue.on_arrival(Instant::ZERO, &view), refused);
            assert_eq!(queue.accepts(packets as u32), refused == Probability::ZERO);
        }
    }

    #[test]
    fn the_price_is_the_share_that_does_not_fit() {
        assert!((loss_price(1.25, 1.0) - 0.2).abs() < 1e-15);
        assert!(loss_price(0.5, 1.0).abs() < 1e-15);
        assert!(loss_price(0.0, 0.0).abs() < 1e-15);
    }

    /// Saturated by five arrivals for every four departures, the machine refuses the share that the price says.
    #[test]
    fn the_share_that_the_machine_refuses_is_the_price() {
        let mut queue = DropTail { limit_packets: 20 };
        let (mut waiting, mut refused) = (0u64, 0u32);
        for arrival in 0..10_000u32 {
            waiting -= u64::from(arrival % 5 > 0).min(waiting);
            let view = QueueView::of(Volume { packets: waiting, bytes: waiting });
            if queue.on_arrival(Instant::ZERO, &view) == Probability::ONE {
                refused += 1;
            } else {
                waiting += 1;
            }
        }
        assert!((f64::from(refused) / 1e4 - loss_price(1.25, 1.0)).abs() < 0.003, "{refused}");
    }
}
