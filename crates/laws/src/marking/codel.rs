//! `CoDel`: packets are dropped when they leave, once none has waited for less than a target during an interval.
//!
//! # Law
//! If every packet of the last [`CodelParams::interval`] has stayed for [`CodelParams::target`] or longer, the next to leave
//! is dropped, and another after `interval/√count`, `count` the drops of this spell, until one has stayed shorter. A spell
//! that follows a recent one goes on about where that was.
//!
//! # Source
//! RFC 8289 sections 4 and 5; the pseudo-code of its section 5.
//!
//! # Symbols
//! `TARGET` → [`CodelParams::target`]; `INTERVAL` → [`CodelParams::interval`]; `maxpacket` → [`QueueRole::full_packet`];
//! `first_above_time_`, `drop_next_`, `count_`, `lastcount_`, `dropping_` keep their names.
//!
//! # Signals
//! The sojourn time of each packet that leaves, and the backlog behind it.
//!
//! # Deviations
//! The RFC's loop over departures is the host's: it calls the law for each packet in turn. It drops, and
//! marks nothing (ECN, RFC 8289 section 3.4, is not built). It has no drift: it holds the least delay of an
//! interval to a target, not a mean. Tests check the control law instead.
//!
//! # Example
//! ```
//! use evenair_laws::Parameters;
//! use evenair_laws::marking::{CodelParams, MarkingLaw, QueueRole, QueueView, Verdict};
//! use evenair_units::{Bytes, Duration, Instant, Rate, Volume};
//! let mut law = CodelParams::rfc8289().begin(&QueueRole { full_packet: Bytes::new(1500), rate: Rate::from_kbps(1_000) });
//! let behind = QueueView::of(Volume { packets: 20, bytes: 30_000 });
//! let mut leaves = |ms: u64| law.on_departure(Instant::from_nanos(ms * 1_000_000), Duration::from_millis(20), &behind);
//! // 20 ms is above the target of 5 ms; for 100 ms that is tolerated.
//! assert_eq!([0, 50, 99, 100, 101].map(&mut leaves).map(|v| v == Verdict::Drop), [false, false, false, true, false]);
//! ```

use super::{MarkingLaw, QueueRole, QueueView, Verdict};
use crate::{BadParameter, Parameters, check, check_time};
use evenair_units::{Bytes, Duration, Instant};

/// A spell that begins within so many intervals of the last one's end remembers it (RFC 8289 section 5.5).
const MEMORY_INTERVALS: u64 = 16;

/// Parameters of the law.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(default, deny_unknown_fields)
)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct CodelParams {
    /// The delay that a queue may keep.
    pub target: Duration,
    /// How long it may be exceeded: about the longest round trip.
    pub interval: Duration,
}

impl CodelParams {
    /// RFC 8289 sections 4.2 and 4.3: 5 ms, 100 ms.
    pub const fn rfc8289() -> Self {
        Self { target: Duration::from_millis(5), interval: Duration::from_millis(100) }
    }
}

impl Default for CodelParams {
    fn default() -> Self {
        Self::rfc8289()
    }
}

impl Parameters for CodelParams {
    type Surroundings = ();
    type Place = QueueRole;
    type Law = Codel;

    fn validated(self) -> Result<Self, BadParameter> {
        check_time("target", self.target)?;
        check("interval", self.interval.as_secs_f64(), self.interval >= self.target, "at least the target")?;
        Ok(self)
    }

    fn begin(&self, queue: &QueueRole) -> Codel {
        Codel {
            params: *self,
            full_packet: queue.full_packet,
            first_above_time: None,
            drop_next: Instant::ZERO,
            count: 0,
            lastcount: 0,
            dropping: false,
            advances: false,
        }
    }
}

/// The law's state at one queue.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Codel {
    params: CodelParams,
    full_packet: Bytes,
    /// When the delay will have been above the target for an interval.
    first_above_time: Option<Instant>,
    drop_next: Instant,
    count: u32,
    lastcount: u32,
    dropping: bool,
    /// A packet was dropped within a spell: if the next is late too, `drop_next` moves on.
    advances: bool,
}

impl Codel {
    /// RFC 8289 section 5.6, `dodequeue`: whether the delay has been above the target for an interval.
    fn is_late(&mut self, now: Instant, sojourn: Duration, queue: &QueueView) -> bool {
        if sojourn < self.params.target || queue.waiting.bytes <= u64::from(self.full_packet.count()) {
            self.first_above_time = None;
            return false;
        }
        now >= *self.first_above_time.get_or_insert(now + self.params.interval)
    }

    /// RFC 8289 section 5.4: `t + interval/√count`.
    fn control_law(&self, from: Instant) -> Instant {
        from + self.params.interval.mul_f64(1.0 / libm::sqrt(f64::from(self.count.max(1))))
    }

    /// A spell begins with the packet that leaves now (RFC 8289 section 5.5).
    fn begin_spell(&mut self, now: Instant) {
        let delta = self.count.saturating_sub(self.lastcount);
        let is_recent = now.since(self.drop_next) < self.params.interval * MEMORY_INTERVALS;
        self.count = if is_recent { delta.max(1) } else { 1 };
        self.lastcount = self.count;
        self.drop_next = self.control_law(now);
        self.dropping = true;
        self.advances = false;
    }
}

impl MarkingLaw for Codel {
    fn on_departure(&mut self, now: Instant, sojourn: Duration, queue: &QueueView) -> Verdict {
        let is_late = self.is_late(now, sojourn, queue);
        if !self.dropping {
            if !is_late {
                return Verdict::Send;
            }
            self.begin_spell(now);
            return Verdict::Drop;
        }
        if !is_late {
            self.dropping = false;
            return Verdict::Send;
        }
        if core::mem::take(&mut self.advances) {
            self.drop_next = self.control_law(self.drop_next);
        }
        if now < self.drop_next {
            return Verdict::Send;
        }
        self.count = self.count.saturating_add(1);
        self.advances = true;
        Verdict::Drop
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use evenair_units::{Rate, Volume};
    use std::vec::Vec;

    const LONG: QueueView = QueueView::of(Volume { packets: 20, bytes: 30_000 });

    fn codel() -> Codel {
        CodelParams::rfc8289()
            .begin(&QueueRole { full_packet: Bytes::new(1500), rate: Rate::from_kbps(1_000) })
    }

    /// Instants \[ms\] of drops while a packet leaves every millisecond after so many in the queue.
    fn drops(law: &mut Codel, ms: core::ops::Range<u64>, sojourn_ms: u64) -> Vec<u64> {
        let mut dropped = Vec::new();
        for at in ms {
            let now = Instant::from_nanos(at * 1_000_000);
            while law.on_departure(now, Duration::from_millis(sojourn_ms), &LONG) == Verdict::Drop {
                dropped.push(at);
            }
        }
        dropped
    }

    #[test]
    fn drops_come_closer_as_the_root_of_their_number() {
        // From 100 ms on: 100/√1 later, 100/√2 after that, 100/√3, …
        let times = drops(&mut codel(), 0..400, 20);
        let mut expected = std::vec![100];
        let mut next = 200.0;
        for count in 2..=5u32 {
            expected.push(libm::ceil(next) as u64);
            next += 100.0 / libm::sqrt(f64::from(count));
        }
        assert_eq!(times[..5], expected[..]);
    }

    #[test]
    fn a_packet_below_the_target_ends_the_spell() {
        let mut law = codel();
        assert_eq!(drops(&mut law, 0..150, 20), [100]);
        assert!(drops(&mut law, 150..151, 4).is_empty());
        assert!(!law.dropping);
        // An interval above the target begins the next.
        assert_eq!(drops(&mut law, 151..260, 20), [251]);
    }

    #[test]
    fn soon_repeated_spell_continues_the_last() {
        let mut law = codel();
        let first = drops(&mut law, 0..1_000, 20).len() as u32;
        assert_eq!(law.count, first);
        drops(&mut law, 1_000..1_001, 4);
        drops(&mut law, 1_001..1_102, 20);
        assert_eq!(law.count, first - 1, "the drops that the last spell added to its first");
        let mut late = codel();
        drops(&mut late, 0..1_000, 20);
        drops(&mut late, 1_000..1_001, 4);
        drops(&mut late, 10_000..10_101, 20);
        assert_eq!(late.count, 1, "sixteen intervals later all is forgotten");
    }

    #[test]
    fn one_packet_that_waits_is_never_dropped() {
        let mut law = codel();
        let alone = QueueView::of(Volume { packets: 1, bytes: 1500 });
        for at in 0..1_000 {
            let now = Instant::from_nanos(at * 1_000_000);
            assert_eq!(law.on_departure(now, Duration::from_secs(1), &alone), Verdict::Send);
        }
    }

    #[test]
    fn the_interval_is_no_shorter_than_the_target() {
        let interval = |ms| CodelParams { interval: Duration::from_millis(ms), ..CodelParams::rfc8289() };
        crate::ranges::assert_range("interval", interval, &[5, 100], &[4]);
    }

    /// RFC 8289 section 5.6: a sojourn is below the target only if `sojourn_time < TARGET`.
    #[test]
    fn a_delay_at_the_target_is_too_long() {
        assert_eq!(drops(&mut codel(), 0..150, 5), [100]);
    }

    /// RFC 8289 section 5.5: `now − drop_next < 16·INTERVAL`, 1.6 s.
    #[test]
    fn spell_is_forgotten_after_sixteen_intervals() {
        let count = |ms: u64| {
            let mut law = Codel { count: 9, lastcount: 1, ..codel() };
            law.begin_spell(Instant::from_nanos(ms * 1_000_000));
            law.count
        };
        assert_eq!((count(1_599), count(1_600)), (8, 1));
    }
}
