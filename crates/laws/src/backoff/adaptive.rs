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
//! `α` → [`AdaptiveParams::alpha`] \[1/s of backlog\]; `β` → [`AdaptiveParams::beta`]; `r_max` →
//! [`AdaptiveParams::r_max`]; update interval → [`AdaptiveParams::interval`]; `Q` → [`LinkView`]; `r` →
//! [`BackoffLaw::aggressiveness`].
//!
//! # Signals
//! The backlog of the own queue, once per update interval.
//!
//! # Deviations
//! - The unit of `Q` is not given. The thesis's numbers agree with each other only if it is the time the backlog needs
//!   at the data rate \[s\], so a 1000-byte packet at 11 Mb/s adds 7.3·10⁻⁵ to `r` at α = 0.1. A backlog measured in
//!   packets counts each packet as a full one ([`FullPacket::payload`]).
//! - Over 802.11 the rendering is not slotted and does not double after a collision: the law is memoryless,
//!   and Alg. 1 has neither. Slots are a switch ([`AdaptiveParams::slotted`]). So is the back-off after a
//!   collision ([`AdaptiveParams::redraw`]): Alg. 1 sets a back-off "before transmitting a packet"; each
//!   attempt transmits it, so each draws.
//! - Alg. 1's `PKT` is the airtime of the waiting frame, preamble and MAC header included
//!   ([`BackoffUnit::OwnPacket`]): line 6 has "a packet with size `PKT`". Only so does a link's share of the
//!   air in ideal CSMA agree with (5.42) for any packet sizes. Other units are there to compare with. With
//!   one unit for all packets as many acknowledgements queue as data, and where one clock updates all nodes
//!   data and acknowledgements of a flow take turns, one interval each: a limit cycle at the thesis's
//!   interval. The thesis's section 6.1.2, acknowledgements piled up where queues are counted in bytes, is
//!   only seen with it (docs/notes/readings-chen10.md).
//! - On 802.11e hardware ([`Execution::Hardware`]) `β r` is the exponent of an [`Intensity`], as in
//!   [`optimal`](super::optimal): a window of 2^k − 1 slots that collisions double, and a TXOP where the least
//!   window is not enough. `PKT` is then the link's largest packet, and [`AdaptiveParams::unit`], `slotted` and
//!   `redraw` mean nothing.
//!
//! # Example
//! ```
//! use evenair_laws::Parameters;
//! use evenair_laws::backoff::{AdaptiveParams, BackoffLaw, LinkRole, LinkView};
//! use evenair_units::{Rate, Volume};
//! let mut law = AdaptiveParams::chen10().begin(&LinkRole::data(Default::default()));
//! let backlog = Volume { packets: 51, bytes: 51_000 };
//! law.on_update(&LinkView { backlog, data_rate: Rate::from_kbps(11_000), ..LinkView::default() });
//! assert!((law.aggressiveness().unwrap() - 3.7e-3).abs() < 1e-4); // section 6.1.7: 51 packets, r = 3.7e-3
//! ```

use super::{
    Access, BackoffLaw, Draw, Execution, FullPacket, Intensity, LinkRole, LinkView, OnFailure, Scope, Space,
    Surroundings, When,
};
use crate::{BadParameter, Parameters, check, check_interval};
use evenair_units::{Bytes, Duration, Probability};

/// The unit of a backlog.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "kebab-case"))]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub enum QueueMeasure {
    /// Packets, each as one full data packet.
    #[default]
    Packets,
    /// Bytes.
    Bytes,
}

/// `PKT`: the unit of back-offs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "kebab-case"))]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub enum BackoffUnit {
    /// Each packet's own airtime: that of its frame, preamble and MAC header included.
    #[default]
    OwnPacket,
    /// A full data packet's airtime, for every packet alike.
    DataPacket,
    /// Each packet's own bits at its rate, without preamble and MAC header.
    OwnBits,
    /// A full data packet's bits at the data rate, for every packet alike.
    DataBits,
}

impl BackoffUnit {
    /// A back-off of so many times this unit in the mean.
    fn draw(self, factor: f64, packet: &FullPacket, slotted: bool) -> Draw {
        match self {
            Self::OwnPacket => Draw::ExponentialOfFrame { factor, slotted },
            Self::OwnBits => Draw::ExponentialOfPacket { factor, slotted },
            Self::DataPacket => Draw::Exponential { mean: packet.frame.mul_f64(factor), slotted },
            Self::DataBits => Draw::Exponential { mean: packet.bits.mul_f64(factor), slotted },
        }
    }
}

/// How queues that carry nothing but TCP acknowledgements contend.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "kebab-case"))]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub enum AckPriority {
    /// Like any other (n-ACK).
    #[default]
    Normal,
    /// With the bound `r_max` (h-ACK).
    High,
}

/// Parameters of the law.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(default, deny_unknown_fields)
)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct AdaptiveParams {
    /// Step size: aggressiveness per second of backlog.
    pub alpha: f64,
    /// Weight of the aggressiveness in the exponent.
    pub beta: f64,
    /// Bound of the aggressiveness; by default 8/beta.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "Option::is_none"))]
    pub r_max: Option<f64>,
    /// How often the aggressiveness follows the backlog.
    pub interval: Duration,
    /// The unit of the backlog.
    pub measure: QueueMeasure,
    /// The unit of back-offs: each packet's own airtime, or a full data packet's for all.
    pub unit: BackoffUnit,
    /// How queues of TCP acknowledgements contend: h-ACK or n-ACK.
    pub acks: AckPriority,
    /// Drop arrivals with the aggressiveness as probability (the AQM; Alg. 1 line 14).
    pub drop: bool,
    /// Send dummy packets when a queue is empty (Alg. 1 lines 17–19).
    pub dummies: bool,
    /// Round back-offs to whole slots.
    pub slotted: bool,
    /// Draw another back-off after a collision; if not, the packet's own is counted down once more.
    pub redraw: bool,
    /// The means that execute it.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "Execution::is_continuous"))]
    pub execution: Execution,
    /// The least window that hardware is given, 2^k − 1 [slots]; by default the physical layer's.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "Option::is_none"))]
    pub window_min: Option<u32>,
    /// The largest one, which collisions end at, too, 2^k − 1 [slots]; by default 1023.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "Option::is_none"))]
    pub window_max: Option<u32>,
    /// AIFSN of hardware; by default 2, DCF's.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "Option::is_none"))]
    pub aifsn: Option<u32>,
    /// The longest TXOP of hardware; by default 8160 us.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "Option::is_none"))]
    pub holding_max: Option<Duration>,
}

impl AdaptiveParams {
    /// [Chen10] chapter 6: α = 0.1, β = 200, updates every second. The thesis gives no bound there; ours is 8/β, the
    /// same least back-off `e⁻⁸·PKT` as chapter 4's 0.01 at β = 800.
    pub const fn chen10() -> Self {
        Self {
            alpha: 0.1,
            beta: 200.0,
            r_max: None,
            interval: Duration::from_secs(1),
            measure: QueueMeasure::Packets,
            unit: BackoffUnit::OwnPacket,
            acks: AckPriority::Normal,
            drop: true,
            dummies: false,
            slotted: false,
            redraw: true,
            execution: Execution::Continuous,
            window_min: None,
            window_max: None,
            aifsn: None,
            holding_max: None,
        }
    }

    /// [Chen10] chapter 4: α = 0.05, β = 800, updates every 2 s, `r_max` = 0.01, nothing dropped but by a full queue.
    pub const fn chen10_chapter4() -> Self {
        Self {
            alpha: 0.05,
            beta: 800.0,
            r_max: Some(0.01),
            interval: Duration::from_secs(2),
            drop: false,
            ..Self::chen10()
        }
    }

    /// How hardware renders `exp(β r)`.
    fn intensity(&self) -> Intensity {
        let given = Intensity::lee12();
        Intensity {
            execution: self.execution,
            window_min: self.window_min,
            window_max: self.window_max.unwrap_or(given.window_max),
            aifsn: self.aifsn.unwrap_or(given.aifsn),
            holding_max: self.holding_max.unwrap_or(given.holding_max),
            ..given
        }
    }

    /// `r_max`, given or not; infinity where nothing bounds it.
    pub fn bound(&self) -> f64 {
        self.r_max.unwrap_or(8.0 / self.beta.abs()) // -0.0 is no bound either
    }
}

impl Default for AdaptiveParams {
    fn default() -> Self {
        Self::chen10()
    }
}

impl Parameters for AdaptiveParams {
    type Surroundings = Surroundings;
    type Place = LinkRole;
    type Law = Adaptive;

    fn validated(self) -> Result<Self, BadParameter> {
        check("alpha", self.alpha, self.alpha >= 0.0 && self.alpha.is_finite(), "0 or more, and finite")?;
        check("beta", self.beta, self.beta >= 0.0 && self.beta.is_finite(), "0 or more, and finite")?;
        check("r_max", self.bound(), self.bound() > 0.0, "above 0")?;
        check_interval("interval", self.interval)?;
        check(
            "r_max",
            self.bound(),
            self.acks == AckPriority::Normal || self.bound().is_finite(),
            "finite where acknowledgements are sent at r_max",
        )?;
        self.intensity().validated()?;
        Ok(self)
    }

    /// The thesis gives a bound only in chapter 4, where it is 8/β.
    fn resolve(&mut self, _: &Surroundings) {
        if self.beta > 0.0 {
            self.r_max.get_or_insert(8.0 / self.beta);
        }
    }

    fn begin(&self, role: &LinkRole) -> Adaptive {
        let mut params = *self;
        params.resolve(&role.surroundings);
        let is_pinned = role.acknowledgements_only && self.acks == AckPriority::High;
        let aggressiveness = if is_pinned { self.bound() } else { 0.0 };
        Adaptive { params, role: *role, is_pinned, aggressiveness }
    }
}

/// The law's state at one link.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Adaptive {
    params: AdaptiveParams,
    role: LinkRole,
    /// The aggressiveness stays at its bound: a queue of acknowledgements under h-ACK.
    is_pinned: bool,
    aggressiveness: f64,
}

impl Adaptive {
    /// `Q`: the time that the backlog needs at the data rate \[s\].
    fn backlog_seconds(&self, link: &LinkView) -> f64 {
        let bits = match self.params.measure {
            QueueMeasure::Packets => {
                link.backlog.packets as f64 * self.role.surroundings.packet.payload.bits() as f64
            }
            QueueMeasure::Bytes => link.backlog.bytes as f64 * 8.0,
        };
        bits / (link.data_rate.as_bps() as f64).max(1.0)
    }
}

impl BackoffLaw for Adaptive {
    fn scope(&self) -> Scope {
        Scope::NextHop
    }

    fn update_interval(&self) -> Option<Duration> {
        Some(self.params.interval)
    }

    /// [Chen10] Alg. 1 line 3.
    fn on_update(&mut self, link: &LinkView) {
        if !self.is_pinned {
            let target = self.params.alpha * self.backlog_seconds(link);
            self.aggressiveness = target.min(self.params.bound());
        }
    }

    /// [Chen10] Alg. 1 line 7: exponential with mean `PKT·exp(−β r)`.
    fn access(&self) -> Access {
        let exponent = self.params.beta * self.aggressiveness;
        if self.params.execution == Execution::Hardware {
            return self.params.intensity().access(exponent, &self.role);
        }
        let factor = libm::exp(-exponent);
        let on_failure = if self.params.redraw { OnFailure::Redraw } else { OnFailure::Repeat };
        let Surroundings { packet, holding, .. } = self.role.surroundings;
        let draw = self.params.unit.draw(factor, &packet, self.params.slotted);
        Access { draw, on_failure, when: When::BeforeFrame, holding }
    }

    fn space(&self) -> Space {
        self.params.intensity().space()
    }

    /// [Chen10] Alg. 1 line 14. Without it nothing but a full queue drops.
    fn drop_probability(&self) -> Option<Probability> {
        let drops = self.params.drop && !self.is_pinned;
        Some(if drops { Probability::clamped(self.aggressiveness) } else { Probability::ZERO })
    }

    /// [Chen10] Alg. 1 lines 17–19. A queue at the bound sends none: its dummies would hold the medium for ever.
    fn dummy_packet(&self) -> Option<Bytes> {
        (self.params.dummies && !self.is_pinned).then_some(self.role.surroundings.packet.payload)
    }

    /// `r`.
    fn aggressiveness(&self) -> Option<f64> {
        Some(self.aggressiveness)
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
    use crate::backoff::Registers;
    use crate::ranges::{NOT_NEGATIVE, assert_range};
    use evenair_units::{Rate, Volume};
    use proptest::prelude::*;

    const ELEVEN: Rate = Rate::from_kbps(11_000);

    fn backlog(packets: u64) -> LinkView {
        let backlog = Volume { packets, bytes: packets * 1000 };
        LinkView { backlog, data_rate: ELEVEN, ..LinkView::default() }
    }

    fn begin(params: AdaptiveParams) -> Adaptive {
        params.validated().unwrap().begin(&LinkRole::data(Surroundings::default()))
    }

    #[test]
    fn section_6_1_7_gives_its_aggressiveness() {
        // [Chen10] section 6.1.7: backlogs [51, 129, 62, 67] packets and r = [3.7, 9.4, 4.5, 4.9]e-3.
        for (packets, r) in [(51, 3.7e-3), (129, 9.4e-3), (62, 4.5e-3), (67, 4.9e-3)] {
            let mut law = begin(AdaptiveParams::chen10());
            law.on_update(&backlog(packets));
            assert!((law.aggressiveness - r).abs() < 0.05e-3, "{packets}: {}", law.aggressiveness);
        }
    }

    #[test]
    fn chapter_4_is_bounded_at_275_packets() {
        let mut law = begin(AdaptiveParams::chen10_chapter4());
        law.on_update(&backlog(274));
        assert!(law.aggressiveness < 0.01);
        law.on_update(&backlog(276));
        assert!((law.aggressiveness - 0.01).abs() < 1e-15);
        // e^-8 of the packet's airtime
        assert_eq!(law.access().draw, Draw::ExponentialOfFrame { factor: libm::exp(-8.0), slotted: false });
        assert_eq!(law.drop_probability(), Some(Probability::ZERO));
    }

    #[test]
    fn a_common_unit_makes_a_backoff_a_time() {
        let packet = Surroundings::default().packet;
        for (unit, whole) in [(BackoffUnit::DataPacket, packet.frame), (BackoffUnit::DataBits, packet.bits)] {
            let mut law = begin(AdaptiveParams { unit, ..AdaptiveParams::chen10() });
            assert_eq!(law.access().draw, Draw::Exponential { mean: whole, slotted: false });
            law.on_update(&backlog(1000)); // bounded at 8/β
            let mean = whole.mul_f64(libm::exp(-8.0));
            assert_eq!(law.access().draw, Draw::Exponential { mean, slotted: false });
        }
    }

    #[test]
    fn acknowledgements_count_in_packets_or_in_bytes() {
        let acks = LinkView { backlog: Volume { packets: 100, bytes: 4_000 }, ..backlog(0) };
        let r = |measure| {
            let mut law = begin(AdaptiveParams { measure, ..AdaptiveParams::chen10() });
            law.on_update(&acks);
            law.aggressiveness
        };
        assert!((r(QueueMeasure::Packets) / r(QueueMeasure::Bytes) - 25.0).abs() < 1e-9);
    }

    #[test]
    fn pinned_link_stays_at_bound_and_drops_nothing() {
        let params = AdaptiveParams { acks: AckPriority::High, ..AdaptiveParams::chen10() };
        let role = LinkRole { acknowledgements_only: true, ..LinkRole::data(Surroundings::default()) };
        let mut law = params.begin(&role);
        law.on_update(&backlog(0));
        assert!((law.aggressiveness - 0.04).abs() < 1e-15);
        assert_eq!(law.drop_probability(), Some(Probability::ZERO));
        // A queue of data is not pinned, and none is under n-ACK.
        assert!(begin(params).aggressiveness.abs() < 1e-15);
        assert!(AdaptiveParams::chen10().begin(&role).aggressiveness.abs() < 1e-15);
        let unbounded = AdaptiveParams { r_max: Some(f64::INFINITY), ..params };
        assert_eq!(unbounded.validated().unwrap_err().name, "r_max");
    }

    /// The machine's mean step equals the fluid drift: over one interval the backlog, in seconds at the data rate,
    /// grows by (arrival − service)·interval, and r follows it.
    #[test]
    fn the_machine_follows_its_fluid_drift() {
        let params = AdaptiveParams { r_max: Some(1.0), ..AdaptiveParams::chen10() };
        let mut law = begin(params);
        let (arrival, service) = (0.4, 0.3); // of the data rate
        let packets_per_s = 11e6 / 8000.0;
        let mut fluid = 0.0;
        for second in 1..=60 {
            let packets = ((arrival - service) * packets_per_s * f64::from(second)) as u64;
            law.on_update(&backlog(packets));
            fluid += aggressiveness_drift(params.alpha, fluid, arrival, service);
            assert!((law.aggressiveness - fluid).abs() < 7.3e-5, "second {second}");
        }
    }

    #[test]
    fn each_parameter_has_its_range() {
        let params = AdaptiveParams::chen10();
        let (good, bad) = NOT_NEGATIVE;
        assert_range("alpha", |alpha| AdaptiveParams { alpha, ..params }, good, bad);
        assert_range("beta", |beta| AdaptiveParams { beta, ..params }, good, bad);
        let bound = |r_max| AdaptiveParams { r_max: Some(r_max), ..params };
        assert_range("r_max", bound, &[1e-9, f64::INFINITY], &[0.0, -1.0, f64::NAN]);
        let high = |beta| AdaptiveParams { beta, acks: AckPriority::High, ..params };
        assert_range("r_max", high, &[200.0], &[0.0]);
        let interval = |us| AdaptiveParams { interval: Duration::from_micros(us), ..params };
        assert_range("interval", interval, &[10], &[0, 9]);
    }

    /// [Chen10] Alg. 1 line 7 on registers, 802.11b at 11 Mb/s with 20 us slots and `CWmin` 31: `PKT` is 968.7 us. At r = 0 the
    /// mean back-off is PKT: 127 slots have 1270 us, 63 have 630, and 968.7 is nearer 1270 by ratio. 165 packets are
    /// r = 0.012, so βr = 2.4: 87.9 us, less than the least window's 310, and 310·e^2.4 = 3417 us are 106 units.
    #[test]
    fn on_hardware_it_sets_registers() {
        let params =
            AdaptiveParams { execution: Execution::Hardware, aifsn: Some(3), ..AdaptiveParams::chen10() };
        let mut law = begin(params);
        let registers = |law: &Adaptive| Registers::of(&law.access(), law.space()).expect("registers");
        let idle = Registers { window_min: 127, window_max: 1023, aifsn: 3, txop_units: 0 };
        assert_eq!(registers(&law), idle);
        law.on_update(&backlog(165));
        assert_eq!(registers(&law), Registers { window_min: 31, txop_units: 106, ..idle });
        law.on_update(&backlog(275)); // βr = 4: 310·e^4 = 16925 us, bounded at 8160
        assert_eq!(registers(&law), Registers { window_min: 31, txop_units: 255, ..idle });
        // 63 slots have 630 us, and 630·e^2.4 = 6945 us are bounded at 93 units, 2976 us.
        let holding_max = Some(Duration::from_millis(3));
        let mut bounded = begin(AdaptiveParams { window_min: Some(63), holding_max, ..params });
        bounded.on_update(&backlog(165));
        assert_eq!(registers(&bounded), Registers { window_min: 63, txop_units: 93, ..idle });
        let bad = |params: AdaptiveParams| params.validated().unwrap_err().name;
        assert_eq!(bad(AdaptiveParams { window_max: Some(100), ..params }), "window_max");
        assert_eq!(bad(AdaptiveParams { aifsn: Some(0), ..params }), "aifsn");
    }

    #[test]
    fn the_default_bound_is_written_out() {
        let resolved = |beta, r_max| {
            let mut params = AdaptiveParams { beta, r_max, ..AdaptiveParams::chen10() };
            params.resolve(&Surroundings::default());
            params.r_max
        };
        assert_eq!(resolved(200.0, None), Some(0.04));
        assert_eq!(resolved(200.0, Some(0.5)), Some(0.5));
        assert_eq!(resolved(0.0, None), None, "nothing bounds it");
        let unbounded = AdaptiveParams { beta: 0.0, ..AdaptiveParams::chen10() };
        assert_eq!(unbounded.bound().to_bits(), f64::INFINITY.to_bits());
    }

    /// [Chen10] Alg. 1 line 14: the aggressiveness is the drop probability; lines 17 to 19: an empty queue sends dummies.
    #[test]
    fn queue_drops_by_intensity_and_sends_dummies() {
        let mut law = begin(AdaptiveParams { dummies: true, ..AdaptiveParams::chen10() });
        law.on_update(&backlog(55)); // 55 · 8000 bit / 11 Mb/s = 40 ms, by α = 0.1
        assert!((law.drop_probability().unwrap().value() - 0.004).abs() < 1e-15);
        assert_eq!(law.dummy_packet(), Some(Surroundings::default().packet.payload));
        let role = LinkRole { acknowledgements_only: true, ..LinkRole::data(Surroundings::default()) };
        let pinned = AdaptiveParams { acks: AckPriority::High, ..law.params }.begin(&role);
        assert_eq!(pinned.dummy_packet(), None, "its dummies would hold the medium for ever");
    }

    /// [Chen10] eq. (3.4): the drift is projected where it would leave `r ≥ 0`.
    #[test]
    fn the_drift_is_projected_at_zero_only() {
        assert!(aggressiveness_drift(0.1, 0.0, 0.2, 0.7).abs() < 1e-15);
        assert!((aggressiveness_drift(0.1, 1e-3, 0.2, 0.7) + 0.05).abs() < 1e-15);
        assert!((aggressiveness_drift(0.1, 0.0, 0.7, 0.2) - 0.05).abs() < 1e-15);
    }

    proptest! {
        #[test]
        fn aggressiveness_never_leaves_its_range(packets in 0u64..1_000_000) {
            let mut law = begin(AdaptiveParams::chen10());
            law.on_update(&backlog(packets));
            prop_assert!((0.0..=0.04).contains(&law.aggressiveness));
            let Draw::ExponentialOfFrame { factor, .. } = law.access().draw else { panic!("not exponential") };
            prop_assert!(factor > 0.0 && factor <= 1.0);
        }
    }

    /// [Chen10] section 4.5: α = 0.05, β = 800, every 2 s, `r_max` = 0.01.
    #[test]
    fn chapter_4_has_its_own_parameters() {
        let params = AdaptiveParams::chen10_chapter4();
        assert_eq!((params.r_max, params.interval), (Some(0.01), Duration::from_secs(2)));
    }
}
