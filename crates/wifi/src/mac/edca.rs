//! Enhanced distributed channel access: four queues per node that contend with their own spaces, windows and bursts.
//!
//! Channel access itself is [`dcf`](super::dcf)'s: a category differs in its [`Arbitration`] and its contention window.
//! Where EDCA departs from DCF: the inter-frame space depends on the category. A countdown is decremented at the
//! *beginning* of each slot, so that one interrupted in its first slot has still counted it. Categories of one node
//! settle a tie among themselves; and a category that won may keep the medium for a TXOP.

use crate::timing::MacTiming;
use evenair_laws::backoff::{Holding, Space};
use evenair_units::Duration;

/// How a contender waits for and keeps the medium, its back-off law left aside.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arbitration {
    /// The inter-frame space before countdowns run.
    pub space: Duration,
    /// How long it may keep the medium once it has won it; one packet only, if zero.
    pub txop_limit: Duration,
    /// Count a slot at its beginning (EDCA) instead of at its end (DCF).
    pub at_boundary: bool,
}

impl Arbitration {
    /// DCF's.
    pub const fn dcf(timing: &MacTiming) -> Self {
        Self { space: timing.difs, txop_limit: Duration::ZERO, at_boundary: false }
    }

    /// How long a holding lets its packets follow each other.
    pub(crate) const fn txop_limit(holding: Holding) -> Duration {
        match holding {
            Holding::Burst(limit) | Holding::Span(limit) => limit,
            _ => Duration::ZERO,
        }
    }

    /// That of a law which waits for this space and holds the medium so long.
    pub fn of(space: Space, holding: Holding, timing: &MacTiming) -> Self {
        let txop_limit = Self::txop_limit(holding);
        match space {
            Space::Difs => Self { txop_limit, ..Self::dcf(timing) },
            Space::Aifs { slots } => {
                let space = timing.sifs + timing.slot * u64::from(slots);
                Self { space, txop_limit, at_boundary: true }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ControlRate, MacTiming};

    /// A law keeps the medium for its span after a DIFS as well as after an AIFS.
    #[test]
    fn txop_of_a_law_is_its_holding() {
        let (timing, limit) = (MacTiming::a(ControlRate::Mandatory), Duration::from_micros(1_504));
        for space in [Space::Difs, Space::Aifs { slots: 2 }] {
            for holding in [Holding::Burst(limit), Holding::Span(limit)] {
                assert_eq!(Arbitration::of(space, holding, &timing).txop_limit, limit);
            }
            assert!(Arbitration::of(space, Holding::Packet, &timing).txop_limit.is_zero());
        }
    }
}
