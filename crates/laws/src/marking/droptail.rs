//! DropTail: an arrival at a full queue is refused.
//!
//! # Law
//! An arrival is refused if as many packets wait as may, or, where the limit is in bytes, if with it more bytes would wait than may.
//!
//! # Source
//! [Chen10] eq. (3.7) for its fluid price; [Jam10] section 6.2 (J8).
//!
//! # Symbols
//! The limit → [`DropTail::limit`] \[packets or bytes\], by default 50 packets, ns-2's and Chapter 6's of [Chen10].
//!
//! # Signals
//! How many packets wait, and their bytes.
//!
//! # Deviations
//! The limit in bytes is ours, after ns-2's `queue_in_bytes_`: where small packets wait among large ones it is about the delay, as a
//! limit in packets is not. The law has no state, so that its parameters are the law, and no drift but its price, [`loss_price`].
//!
//! # Example
//! ```
//! use evenair_laws::marking::DropTail;
//! use evenair_laws::marking::QueueView;
//! use evenair_units::{Amount, Bytes, PacketCount, Volume};
//! let packets = DropTail { limit: Amount::Packets(PacketCount(2)) };
//! let bytes = DropTail { limit: Amount::Bytes(3_000) };
//! let probe = QueueView { size: Bytes::new(28), ..QueueView::of(Volume { packets: 2, bytes: 1_500 }) };
//! assert!(!packets.accepts(&probe) && bytes.accepts(&probe));
//! ```

use super::{MarkingLaw, QueueRole, QueueView};
use crate::{BadParameter, Parameters, check};
use evenair_units::{Amount, Instant, PacketCount, Probability};

/// A limit on the backlog.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(default, deny_unknown_fields)
)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct DropTail {
    /// The most packets that wait, or bytes at the network layer, the packet in service not counted.
    pub limit: Amount,
}

impl DropTail {
    /// So many packets.
    pub const fn packets(limit: u32) -> Self {
        Self { limit: Amount::Packets(PacketCount(limit)) }
    }

    /// Whether an arrival is accepted.
    pub const fn accepts(&self, queue: &QueueView) -> bool {
        match self.limit {
            Amount::Packets(PacketCount(limit)) => queue.waiting.packets < limit as u64,
            Amount::Bytes(limit) => queue.waiting.bytes + queue.size.count() as u64 <= limit,
        }
    }
}

impl Default for DropTail {
    fn default() -> Self {
        Self::packets(50)
    }
}

impl Parameters for DropTail {
    type Surroundings = ();
    type Place = QueueRole;
    type Law = Self;

    fn validated(self) -> Result<Self, BadParameter> {
        let (Amount::Packets(PacketCount(0)) | Amount::Bytes(0)) = self.limit else { return Ok(self) };
        check("limit", 0.0, false, "at least 1 packet or 1 byte")?;
        Ok(self)
    }

    fn begin(&self, _: &QueueRole) -> Self {
        *self
    }
}

impl MarkingLaw for DropTail {
    fn on_arrival(&mut self, _: Instant, queue: &QueueView) -> Probability {
        if self.accepts(queue) { Probability::ZERO } else { Probability::ONE }
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
    use evenair_units::{Bytes, Volume};

    #[test]
    fn a_full_queue_refuses() {
        let mut queue = DropTail::packets(50);
        for (packets, refused) in [(49, Probability::ZERO), (50, Probability::ONE), (51, Probability::ONE)] {
            let view = QueueView::of(Volume { packets, bytes: packets * 1040 });
            assert_eq!(queue.on_arrival(Instant::ZERO, &view), refused);
        }
    }

    /// Twenty bytes of room are too few for a packet of 1500 bytes, and enough for a probe of 20.
    #[test]
    fn byte_queue_holds_more_small_packets() {
        let mut queue = DropTail { limit: Amount::Bytes(3_020) };
        let view =
            |size| QueueView { size: Bytes::new(size), ..QueueView::of(Volume { packets: 2, bytes: 3_000 }) };
        for (size, refused) in [(20, Probability::ZERO), (21, Probability::ONE), (1_500, Probability::ONE)] {
            assert_eq!(queue.on_arrival(Instant::ZERO, &view(size)), refused, "{size} bytes");
        }
        for limit in [Amount::Bytes(0), Amount::Packets(PacketCount(0))] {
            assert!(DropTail { limit }.validated().is_err());
        }
    }

    #[test]
    fn the_price_is_the_share_that_does_not_fit() {
        assert!((loss_price(1.25, 1.0) - 0.2).abs() < 1e-15);
        assert!(loss_price(0.5, 1.0).abs() < 1e-15);
        assert!(loss_price(0.0, 0.0).abs() < 1e-15);
    }

    /// Saturated by five arrivals for every four departures, the machine refuses the share that the price
    /// predicts.
    #[test]
    fn share_that_machine_refuses_is_price() {
        let mut queue = DropTail::packets(20);
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
