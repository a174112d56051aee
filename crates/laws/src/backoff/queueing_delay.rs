//! Queueing-delay CSMA: aggressiveness in proportion to how long the queue takes.
//!
//! # Law
//! `ρ = b·q`: a link of capacity `b` whose packets queue for `q` backs off for `exp(−b·q)/b` in the mean. In practice `q` is
//! estimated by `QueLEN/AveR`.
//!
//! # Source
//! [QCSMA] eq. (13), (14), (18).
//!
//! # Symbols
//! `b` → the full packet's bits at the data rate, inverted \[packets/s\]; `q` \[s\]; `QueLEN` → [`LinkView::backlog`] \[packets\];
//! `AveR` → `average_rate`, low-pass filtered \[packets/s\]; the filter's memory → [`QueueingDelayParams::memory`].
//!
//! # Signals
//! The own queue's backlog, and what was served of it.
//!
//! # Deviations
//! The paper says of `AveR` only that it is filtered as the round-trip time of its (17) is, which keeps 31/32 per sample
//! (damaged in our copy); how often it samples is not said: [`QueueingDelayParams::interval`], 10 ms, is ours. It begins at
//! `b`. `ρ` stops at 700, where `exp(−ρ)` leaves the range of numbers.
//! A machine and its fluid form, not a word of the language yet: its 802.11 rendering (the contention window of
//! [`contention_window`], doubled after collisions) is still to be built into a MAC.
//!
//! # Example
//! ```
//! use evenair_laws::Parameters;
//! use evenair_laws::backoff::queueing_delay::QueueingDelayParams;
//! use evenair_laws::backoff::{BackoffLaw, LinkRole, LinkView, Volume};
//! let mut law = QueueingDelayParams { memory: 0.0, ..Default::default() }.begin(&LinkRole::data(Default::default()));
//! // Ten packets wait; in 10 ms one was served of the 13.2 that the link could have: ρ = 10·13.2/1.
//! let (backlog, service) = (Volume { packets: 10, bytes: 10_400 }, Volume { packets: 1, bytes: 1_040 });
//! let interval = law.update_interval().unwrap();
//! law.on_update(&LinkView { interval, backlog, service, ..LinkView::default() });
//! assert!((law.aggressiveness().unwrap() - 132.2).abs() < 0.1);
//! ```

use super::{Access, BackoffLaw, Draw, Holding, LinkRole, LinkView, OnFailure, Scope, Surroundings, When};
use crate::{BadParameter, Parameters, check, check_time};
use evenair_units::Duration;

/// Where `exp(−ρ)` is the least number that there is.
const AGGRESSIVENESS_MAX: f64 = 700.0;

/// Parameters of the law.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(default, deny_unknown_fields)
)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct QueueingDelayParams {
    /// How much of the average rate each interval keeps, from 0 to 1.
    pub memory: f64,
    /// How often the queue is looked at.
    pub interval: Duration,
}

impl QueueingDelayParams {
    /// [QCSMA]'s filter, every 10 ms.
    pub const fn qcsma() -> Self {
        Self { memory: 31.0 / 32.0, interval: Duration::from_millis(10) }
    }
}

impl Default for QueueingDelayParams {
    fn default() -> Self {
        Self::qcsma()
    }
}

impl Parameters for QueueingDelayParams {
    type Surroundings = Surroundings;
    type Place = LinkRole;
    type Law = QueueingDelay;

    fn validated(self) -> Result<Self, BadParameter> {
        check("memory", self.memory, (0.0..1.0).contains(&self.memory), "0 or more, and below 1")?;
        check_time("interval", self.interval)?;
        Ok(self)
    }

    fn begin(&self, role: &LinkRole) -> QueueingDelay {
        let Surroundings { packet, holding, .. } = role.surroundings;
        // A packet of no bits would be served at once.
        let capacity = 1.0 / packet.bits.as_secs_f64().max(1e-9);
        QueueingDelay { params: *self, capacity, average_rate: capacity, aggressiveness: 0.0, holding }
    }
}

/// The law's state at one link.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct QueueingDelay {
    params: QueueingDelayParams,
    /// `b` \[packets/s\].
    capacity: f64,
    /// `AveR` \[packets/s\].
    average_rate: f64,
    aggressiveness: f64,
    holding: Holding,
}

impl BackoffLaw for QueueingDelay {
    fn scope(&self) -> Scope {
        Scope::NextHop
    }

    fn update_interval(&self) -> Option<Duration> {
        Some(self.params.interval)
    }

    /// [QCSMA] eq. (18).
    fn on_update(&mut self, link: &LinkView) {
        let rate = link.service.packets as f64 / link.interval.as_secs_f64().max(1e-9);
        self.average_rate = self.params.memory * self.average_rate + (1.0 - self.params.memory) * rate;
        let backlog = link.backlog.packets as f64;
        self.aggressiveness = if backlog > 0.0 {
            aggressiveness(self.capacity, backlog / self.average_rate).min(AGGRESSIVENESS_MAX)
        } else {
            0.0
        };
    }

    /// `exp(−ρ)/b` in the mean, of any continuous distribution.
    fn access(&self) -> Access {
        let mean = Duration::from_secs_f64(libm::exp(-self.aggressiveness) / self.capacity);
        let draw = Draw::Exponential { mean, slotted: false };
        Access { draw, on_failure: OnFailure::Redraw, when: When::BeforeFrame, holding: self.holding }
    }

    fn aggressiveness(&self) -> Option<f64> {
        Some(self.aggressiveness)
    }
}

/// The fluid face, [QCSMA] eq. (13): `ρ = b·q`, the logarithm of holding over back-off time.
pub fn aggressiveness(capacity: f64, queueing_delay: f64) -> f64 {
    capacity * queueing_delay
}

/// [QCSMA] eq. (18): the mean back-off of a link whose `backlog` packets are served at `rate`.
pub fn mean_backoff(capacity: f64, backlog: f64, rate: f64) -> f64 {
    libm::exp(-aggressiveness(capacity, backlog / rate)) / capacity
}

/// [QCSMA] eq. (18) for 802.11: the contention window whose uniform draw has this mean, `2·mean/slot + 1`, its end excluded
/// \[slots\].
pub fn contention_window(mean_s: f64, slot: Duration) -> u32 {
    // The cast truncates to whole slots and saturates.
    (2.0 * mean_s / slot.as_secs_f64()) as u32 + 1
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::backoff::Volume;

    #[test]
    fn an_empty_queue_waits_one_service_time() {
        assert!((mean_backoff(4.0, 0.0, 1.0) - 0.25).abs() < 1e-15);
        assert!(mean_backoff(4.0, 2.0, 1.0) < mean_backoff(4.0, 1.0, 1.0));
        // 1000 bytes at 11 Mb/s: 727 µs, a window of 72 slots and one, so that the mean is 36 slots.
        assert_eq!(contention_window(8000.0 / 11e6, Duration::from_micros(20)), 73);
    }

    /// In a steady state the machine is the fluid law: `AveR` is the rate, and ρ is b times the queueing delay.
    #[test]
    fn at_rest_the_machine_is_the_fluid_law() {
        let params = QueueingDelayParams::qcsma();
        let mut law = params.begin(&LinkRole::data(Surroundings::default()));
        let (packets, served) = (4, 2); // 200 packets/s
        let view = LinkView {
            interval: params.interval,
            backlog: Volume { packets, bytes: packets * 1040 },
            service: Volume { packets: served, bytes: served * 1040 },
            ..LinkView::default()
        };
        (0..2_000).for_each(|_| law.on_update(&view));
        let fluid = aggressiveness(law.capacity, 4.0 / 200.0);
        assert!((law.aggressiveness / fluid - 1.0).abs() < 1e-9, "{} {fluid}", law.aggressiveness);
        let Draw::Exponential { mean, .. } = law.access().draw else { panic!("{law:?}") };
        assert!((mean.as_secs_f64() - mean_backoff(law.capacity, 4.0, 200.0)).abs() < 1e-9);
    }

    #[test]
    fn a_queue_that_nothing_serves_is_as_aggressive_as_numbers_allow() {
        let mut law = QueueingDelayParams { memory: 0.0, ..QueueingDelayParams::qcsma() }
            .begin(&LinkRole::data(Surroundings::default()));
        let backlog = Volume { packets: 1, bytes: 40 };
        law.on_update(&LinkView { interval: Duration::from_millis(10), backlog, ..LinkView::default() });
        assert!((law.aggressiveness - AGGRESSIVENESS_MAX).abs() < 1e-12);
        law.on_update(&LinkView { interval: Duration::from_millis(10), ..LinkView::default() });
        assert!(law.aggressiveness.abs() < 1e-12, "an empty queue is in no hurry");
    }
}
