//! Adaptive CSMA with transmission aggressiveness proportional to the backlog, [Chen10]'s A-CSMA.
//!
//! # Law
//! At each update `r ← min(α·Q, r_max)`; before a packet of airtime `PKT` the back-off is exponential with mean
//! `PKT·exp(−β r)`, frozen while the medium is busy.
//!
//! # Source
//! [Chen10] eq. (3.4), Alg. 1; `r_max` chapter 4; h-ACK and n-ACK (C8) section 5.3.3.
//!
//! # Symbols
//! `α` → [`AdaptiveParams::step`] \[1/s of backlog\]; `β` → [`AdaptiveParams::beta`]; `r_max` →
//! [`AdaptiveParams::aggressiveness_max`]; update interval → [`AdaptiveParams::update_interval`]; `Q` →
//! [`LinkView`]; `r` → [`AdaptiveBackoff::aggressiveness`].
//!
//! # Signals
//! The backlog of the own queue, once per update interval.
//!
//! # Deviations
//! - The unit of `Q` is not given. The thesis's numbers agree with each other only if it is the time the backlog needs
//!   at the data rate \[s\], so a 1000-byte packet at 11 Mb/s adds 7.3·10⁻⁵ to `r` at α = 0.1. A backlog measured in
//!   packets counts each packet as [`AdaptiveParams::packet_bytes`].
//! - Over 802.11 the rendering is not slotted and does not double after a collision: the law is memoryless, and Alg. 1
//!   has neither. Slots are a switch ([`AdaptiveParams::slotted`]). So is what follows a collision
//!   ([`AdaptiveParams::redraws`]): Alg. 1 sets a back-off "before transmitting a packet"; each attempt transmits it, so
//!   each draws.
//! - Alg. 1's `PKT` is the airtime of the frame that waits, preamble and MAC header included ([`BackoffUnit::Frame`]):
//!   line 6 says "a packet with size `PKT`", and only so is a link's share of the air, in ideal CSMA, what (5.42) takes
//!   it for, whatever its packets' sizes. Other units are there to compare with. With one unit for all packets as many
//!   acknowledgements queue as data, and data and acknowledgements of a flow take turns, one interval each: a limit
//!   cycle at the thesis's interval. The thesis's section 6.1.2, acknowledgements piled up where queues are counted in
//!   bytes, is only seen with it (docs/validation.md section 6).
//!
//! # Example
//! ```
//! use evenair_laws::backoff::{AdaptiveBackoff, AdaptiveParams, LinkView};
//! use evenair_units::Rate;
//! let mut law = AdaptiveBackoff::new(AdaptiveParams::chen10());
//! law.on_update(&LinkView { backlog_packets: 51, backlog_bytes: 51_000, data_rate: Rate::from_kbps(11_000) });
//! assert!((law.aggressiveness() - 3.7e-3).abs() < 1e-4); // section 6.1.7: 51 packets, r = 3.7e-3
//! ```

use super::{Access, Draw, LinkView, OnFailure, When};
use crate::{BadParameter, check};
use evenair_units::{Bytes, Duration, Probability};

/// What a backlog is counted in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum QueueMeasure {
    /// In packets, each counted as one of [`AdaptiveParams::packet_bytes`].
    #[default]
    Packets,
    /// In bytes.
    Bytes,
}

/// `PKT`: what back-offs are measured in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum BackoffUnit {
    /// The airtime of the frame that waits, preamble and MAC header included.
    #[default]
    Frame,
    /// The bits of the packet that waits over its rate.
    Packet,
    /// One time for all.
    Common(Duration),
}

/// Parameters of the law.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AdaptiveParams {
    /// Step size α: aggressiveness per second of backlog.
    pub step: f64,
    /// Weight β of the aggressiveness in the exponent.
    pub beta: f64,
    /// Upper bound of the aggressiveness; infinity where the thesis gives none.
    pub aggressiveness_max: f64,
    /// How often the aggressiveness follows the backlog.
    pub update_interval: Duration,
    /// What the backlog is counted in.
    pub measure: QueueMeasure,
    /// `PKT`, the unit of back-offs.
    pub unit: BackoffUnit,
    /// What a packet counts as when the backlog is counted in packets.
    pub packet_bytes: Bytes,
    /// Round back-offs to whole slots.
    pub slotted: bool,
    /// Draw anew after a collision; if not, the packet's back-off is counted down once more.
    pub redraws: bool,
    /// Send a dummy packet when the queue is empty (Alg. 1 lines 17–19).
    pub dummy_packets: bool,
    /// Drop arrivals with probability `min(r, 1)` (Alg. 1 line 14).
    pub drops: bool,
    /// Keep the aggressiveness at its bound: the links of TCP's acknowledgements under h-ACK.
    pub pinned_at_max: bool,
}

impl AdaptiveParams {
    /// [Chen10] chapter 6: α = 0.1, β = 200, updates every second. The thesis gives no bound there; ours is 8/β, the
    /// same least back-off `e⁻⁸·PKT` as chapter 4's 0.01 at β = 800.
    pub const fn chen10() -> Self {
        Self {
            step: 0.1,
            beta: 200.0,
            aggressiveness_max: 0.04,
            update_interval: Duration::from_secs(1),
            measure: QueueMeasure::Packets,
            unit: BackoffUnit::Frame,
            packet_bytes: Bytes::new(1000),
            slotted: false,
            redraws: true,
            dummy_packets: false,
            drops: true,
            pinned_at_max: false,
        }
    }

    /// [Chen10] chapter 4: α = 0.05, β = 800, updates every 2 s, `r_max` = 0.01, nothing dropped but by a full queue.
    pub const fn chen10_chapter4() -> Self {
        Self {
            step: 0.05,
            beta: 800.0,
            aggressiveness_max: 0.01,
            update_interval: Duration::from_secs(2),
            drops: false,
            ..Self::chen10()
        }
    }

    /// Checks the parameters.
    ///
    /// # Errors
    /// Names the first one outside its range.
    pub fn validated(self) -> Result<Self, BadParameter> {
        check("alpha", self.step, self.step >= 0.0 && self.step.is_finite(), "0 or more, and finite")?;
        check("beta", self.beta, self.beta >= 0.0 && self.beta.is_finite(), "0 or more, and finite")?;
        check("r_max", self.aggressiveness_max, self.aggressiveness_max > 0.0, "above 0")?;
        check(
            "update_interval",
            self.update_interval.as_secs_f64(),
            !self.update_interval.is_zero(),
            "longer than no time",
        )?;
        check(
            "packet_bytes",
            f64::from(self.packet_bytes.count()),
            self.packet_bytes.count() > 0,
            "at least 1 byte",
        )?;
        check(
            "r_max",
            self.aggressiveness_max,
            !self.pinned_at_max || self.aggressiveness_max.is_finite(),
            "finite where acknowledgements are sent at r_max",
        )?;
        Ok(self)
    }
}

/// The law's state at one link.
#[derive(Clone, Debug, PartialEq)]
pub struct AdaptiveBackoff {
    params: AdaptiveParams,
    aggressiveness: f64,
}

impl AdaptiveBackoff {
    /// The state at the start: an empty queue, no aggressiveness unless it is pinned.
    pub const fn new(params: AdaptiveParams) -> Self {
        let aggressiveness = if params.pinned_at_max { params.aggressiveness_max } else { 0.0 };
        Self { params, aggressiveness }
    }

    /// The parameters.
    pub const fn params(&self) -> &AdaptiveParams {
        &self.params
    }

    /// [Chen10] Alg. 1 line 3, once per update interval.
    pub fn on_update(&mut self, link: &LinkView) {
        if !self.params.pinned_at_max {
            let target = self.params.step * self.backlog_seconds(link);
            self.aggressiveness = target.min(self.params.aggressiveness_max);
        }
    }

    /// `Q`: the time that the backlog needs at the data rate \[s\].
    fn backlog_seconds(&self, link: &LinkView) -> f64 {
        let bits = match self.params.measure {
            QueueMeasure::Packets => f64::from(link.backlog_packets) * self.params.packet_bytes.bits() as f64,
            QueueMeasure::Bytes => link.backlog_bytes as f64 * 8.0,
        };
        bits / (link.data_rate.as_bps() as f64).max(1.0)
    }

    /// `r`, the transmission aggressiveness.
    pub const fn aggressiveness(&self) -> f64 {
        self.aggressiveness
    }

    /// [Chen10] Alg. 1 line 14: the probability with which an arrival is dropped.
    pub fn drop_probability(&self) -> Probability {
        if self.params.drops && !self.params.pinned_at_max {
            Probability::clamped(self.aggressiveness)
        } else {
            Probability::ZERO
        }
    }

    /// [Chen10] Alg. 1 lines 17–19: whether an empty queue sends a dummy packet. A queue at the bound does not: its
    /// dummies would hold the medium for ever.
    pub const fn sends_dummies(&self) -> bool {
        self.params.dummy_packets && !self.params.pinned_at_max
    }

    /// [Chen10] Alg. 1 line 7: exponential with mean `PKT·exp(−β r)`.
    pub fn access(&self) -> Access {
        let factor = libm::exp(-self.params.beta * self.aggressiveness);
        let slotted = self.params.slotted;
        let draw = match self.params.unit {
            BackoffUnit::Frame => Draw::ExponentialOfFrame { factor, slotted },
            BackoffUnit::Packet => Draw::ExponentialOfPacket { factor, slotted },
            BackoffUnit::Common(airtime) => Draw::Exponential { mean: airtime.mul_f64(factor), slotted },
        };
        let on_failure = if self.params.redraws { OnFailure::Redraw } else { OnFailure::Repeat };
        Access { draw, on_failure, when: When::BeforeFrame }
    }
}

/// The law's fluid face, [Chen10] eq. (3.4): `ṙ = α[x − y]⁺_r`, rates normalised to the link's data rate.
///
/// At `r = 0` a negative drift is projected to zero.
pub fn aggressiveness_drift(step: f64, aggressiveness: f64, arrival: f64, service: f64) -> f64 {
    let drift = step * (arrival - service);
    if aggressiveness <= 0.0 { drift.max(0.0) } else { drift }
}

#[cfg(test)]
mod tests {
    use super::*;
    use evenair_units::Rate;
    use proptest::prelude::*;

    const ELEVEN: Rate = Rate::from_kbps(11_000);

    fn backlog(packets: u32) -> LinkView {
        LinkView { backlog_packets: packets, backlog_bytes: u64::from(packets) * 1000, data_rate: ELEVEN }
    }

    #[test]
    fn the_backlogs_of_section_6_1_7_give_its_aggressiveness() {
        // [Chen10] section 6.1.7: backlogs [51, 129, 62, 67] packets and r = [3.7, 9.4, 4.5, 4.9]e-3.
        for (packets, r) in [(51, 3.7e-3), (129, 9.4e-3), (62, 4.5e-3), (67, 4.9e-3)] {
            let mut law = AdaptiveBackoff::new(AdaptiveParams::chen10());
            law.on_update(&backlog(packets));
            assert!((law.aggressiveness() - r).abs() < 0.05e-3, "{packets}: {}", law.aggressiveness());
        }
    }

    #[test]
    fn chapter_4_is_bounded_at_275_packets() {
        let mut law = AdaptiveBackoff::new(AdaptiveParams::chen10_chapter4());
        law.on_update(&backlog(274));
        assert!(law.aggressiveness() < 0.01);
        law.on_update(&backlog(276));
        assert!((law.aggressiveness() - 0.01).abs() < 1e-15);
        // e^-8 of the packet's airtime
        assert_eq!(law.access().draw, Draw::ExponentialOfFrame { factor: libm::exp(-8.0), slotted: false });
        assert_eq!(law.drop_probability(), Probability::ZERO);
    }

    #[test]
    fn a_common_unit_makes_a_backoff_a_time() {
        let unit = BackoffUnit::Common(Duration::from_micros(1000));
        let mut law = AdaptiveBackoff::new(AdaptiveParams { unit, ..AdaptiveParams::chen10() });
        assert_eq!(
            law.access().draw,
            Draw::Exponential { mean: Duration::from_micros(1000), slotted: false }
        );
        law.on_update(&backlog(1000)); // bounded at 8/β
        let mean = Duration::from_micros(1000).mul_f64(libm::exp(-8.0));
        assert_eq!(law.access().draw, Draw::Exponential { mean, slotted: false });
    }

    #[test]
    fn acknowledgements_count_in_packets_or_in_bytes() {
        let acks = LinkView { backlog_packets: 100, backlog_bytes: 4_000, data_rate: ELEVEN };
        let r = |measure| {
            let mut law = AdaptiveBackoff::new(AdaptiveParams { measure, ..AdaptiveParams::chen10() });
            law.on_update(&acks);
            law.aggressiveness()
        };
        assert!((r(QueueMeasure::Packets) / r(QueueMeasure::Bytes) - 25.0).abs() < 1e-9);
    }

    #[test]
    fn a_pinned_link_stays_at_its_bound_and_drops_nothing() {
        let mut law =
            AdaptiveBackoff::new(AdaptiveParams { pinned_at_max: true, ..AdaptiveParams::chen10() });
        law.on_update(&backlog(0));
        assert!((law.aggressiveness() - 0.04).abs() < 1e-15);
        assert_eq!(law.drop_probability(), Probability::ZERO);
    }

    /// The machine's mean step equals the fluid drift: over one interval the backlog, in seconds at the data rate,
    /// grows by (arrival − service)·interval, and r follows it.
    #[test]
    fn the_machine_follows_its_fluid_drift() {
        let params = AdaptiveParams { aggressiveness_max: 1.0, ..AdaptiveParams::chen10() };
        let mut law = AdaptiveBackoff::new(params);
        let (arrival, service) = (0.4, 0.3); // of the data rate
        let packets_per_s = 11e6 / 8000.0;
        let mut fluid = 0.0;
        for second in 1..=60 {
            let packets = ((arrival - service) * packets_per_s * f64::from(second)) as u32;
            law.on_update(&backlog(packets));
            fluid += aggressiveness_drift(params.step, fluid, arrival, service);
            assert!((law.aggressiveness() - fluid).abs() < 7.3e-5, "second {second}");
        }
    }

    proptest! {
        #[test]
        fn aggressiveness_never_leaves_its_range(packets in 0u32..1_000_000) {
            let mut law = AdaptiveBackoff::new(AdaptiveParams::chen10());
            law.on_update(&backlog(packets));
            prop_assert!((0.0..=0.04).contains(&law.aggressiveness()));
            let Draw::ExponentialOfFrame { factor, .. } = law.access().draw else { panic!("not exponential") };
            prop_assert!(factor > 0.0 && factor <= 1.0);
        }
    }
}
