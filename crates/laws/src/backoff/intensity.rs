//! How a transmission intensity becomes back-offs and holding times: the common answer of all laws of optimal
//! CSMA to the MAC.
//!
//! A law gives the intensity's logarithm, `p·μ = exp(x)`; only the product matters to how links share the air
//! ([Lee12] Alg. 1 line 3, L1). One of the two follows the queue and the other is fixed ([`Adapts`]). When
//! the following one reaches its bound, the other one makes up for it.
//!
//! Two renderings: exponential continuous back-offs with holding times of any length; and the registers of
//! ordinary 802.11e hardware (L6): a window of 2^k − 1 slots, AIFSN, a TXOP limit in steps of 32 µs. There
//! the product is met within a window's step, a factor of √2 up or down, and a TXOP holds whole packets. A
//! collision doubles the window as hardware does; in the continuous rendering the next back-off is drawn from
//! the same distribution.

use super::dcf::doubled;
use super::registers::TXOP_UNIT;
use super::{Access, Dcf, Draw, Holding, LinkRole, OnFailure, Space, Surroundings, When};
use crate::{BadParameter, check, check_time};
use evenair_units::Duration;

/// Where `exp(x)` leaves the range of numbers.
const EXPONENT_MAX: f64 = 700.0;

/// The longest TXOP that any hardware can be set to, sixteen bits of it.
const LONGEST: Duration = Duration::from_micros(65_535 * 32);

/// The longest TXOP that the eight bits of a QoS Control field hold (IEEE 802.11-2016 clause 9.2.4.5.6).
const TXOP_MAX: Duration = Duration::from_micros(255 * 32);

/// Which of back-off and holding time follows the queue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "kebab-case"))]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub enum Adapts {
    /// The mean back-off 1/p, "for a given μ" ([Lee12] section II).
    #[default]
    Backoff,
    /// The mean holding time μ.
    Holding,
}

/// The means that execute the intensity.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "kebab-case"))]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub enum Execution {
    /// Exponential back-offs without slots, and holding times of this mean.
    #[default]
    Continuous,
    /// The registers of ordinary 802.11e hardware: windows of 2^k − 1 slots that collisions double, AIFSN, a TXOP limit in
    /// steps of 32 us. By the standard, over 802.11 only.
    Hardware,
}

impl Execution {
    /// Whether it is the default of laws without this choice; it is then left out where parameters are written.
    #[cfg_attr(not(feature = "serde"), allow(dead_code, reason = "asked by serde"))]
    #[allow(clippy::trivially_copy_pass_by_ref, reason = "as serde asks")]
    pub(super) fn is_continuous(&self) -> bool {
        *self == Self::Continuous
    }
}

/// How an intensity is rendered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(default))]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct Intensity {
    /// Which of back-off and holding time follows the queue.
    pub adapts: Adapts,
    /// The mean of the other: of the holding time, by default each packet's own airtime; of the back-off, by default that of
    /// the largest packet that the link carries.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "Option::is_none"))]
    pub fixed: Option<Duration>,
    /// The longest mean holding time.
    pub holding_max: Duration,
    /// The means that execute it.
    pub execution: Execution,
    /// The least window that hardware is given, 2^k − 1 [slots]; by default the physical layer's.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "Option::is_none"))]
    pub window_min: Option<u32>,
    /// The largest one, which collisions end at, too, 2^k − 1 [slots].
    pub window_max: u32,
    /// AIFSN: hardware waits for SIFS and so many slots before it counts down; 2 is DCF's.
    pub aifsn: u32,
}

impl Intensity {
    /// The mean back-off follows the queue, the holding time is the packet's airtime, and it is continuous.
    pub const fn lee12() -> Self {
        Self {
            adapts: Adapts::Backoff,
            fixed: None,
            holding_max: TXOP_MAX,
            execution: Execution::Continuous,
            window_min: None,
            window_max: 1023,
            aifsn: 2,
        }
    }

    /// Checks them.
    ///
    /// # Errors
    /// Names the first one outside its range.
    pub(super) fn validated(self) -> Result<Self, BadParameter> {
        if let Some(fixed) = self.fixed {
            check_time("fixed", fixed)?;
            check("fixed", fixed.as_secs_f64(), fixed <= LONGEST, "at most 2.09712 s")?;
        }
        check_time("holding_max", self.holding_max)?;
        let longest = self.holding_max.as_secs_f64();
        check("holding_max", longest, self.holding_max <= LONGEST, "at most 2.09712 s")?;
        let most = self.window_max;
        check_register("window_max", most)?;
        let least = self.window_min.unwrap_or(most);
        check_register("window_min", least)?;
        check("window_min", f64::from(least), least <= most, "at most window_max")?;
        check_aifsn(self.aifsn)?;
        Ok(self)
    }

    /// Writes out the values that follow from the physical layer.
    pub(super) fn resolve(&mut self, surroundings: &Surroundings) {
        if self.execution == Execution::Hardware {
            self.window_min = Some(self.least_window(surroundings));
        }
    }

    /// The inter-frame space before countdowns.
    pub(super) fn space(&self) -> Space {
        match self.execution {
            Execution::Continuous => Space::Difs,
            Execution::Hardware => Space::Aifs { slots: self.aifsn },
        }
    }

    /// The MAC's settings for `p·μ = exp(exponent)`.
    pub(super) fn access(&self, exponent: f64, role: &LinkRole) -> Access {
        debug_assert!(exponent >= 0.0, "an intensity below one: {exponent}");
        let exponent = exponent.min(EXPONENT_MAX);
        match self.execution {
            Execution::Continuous => self.continuous(exponent, role),
            Execution::Hardware => self.hardware(exponent, role),
        }
    }

    fn continuous(&self, exponent: f64, role: &LinkRole) -> Access {
        let factor = libm::exp(-exponent);
        let (on_failure, when) = (OnFailure::Redraw, When::BeforeFrame);
        if self.adapts == Adapts::Backoff && self.fixed.is_none() {
            let draw = Draw::ExponentialOfFrame { factor, slotted: false };
            return Access { draw, on_failure, when, holding: role.surroundings.holding };
        }
        let packet = role.packet.frame;
        let holding = self.holding(exponent, packet, packet);
        let draw = Draw::Exponential { mean: holding.mul_f64(factor), slotted: false };
        Access { draw, on_failure, when, holding: Holding::Span(holding) }
    }

    /// The window nearest to the wanted mean back-off; the TXOP makes up for the rest.
    fn hardware(&self, exponent: f64, role: &LinkRole) -> Access {
        let &LinkRole { packet, surroundings, .. } = role;
        let (least, most, slot) = (self.least_window(&surroundings), self.window_max, surroundings.slot);
        let default = match self.adapts {
            Adapts::Backoff => packet.frame,
            Adapts::Holding => Duration::from_secs_f64(mean_s(least, slot)), // hardware's default
        };
        let wanted = self.holding(exponent, packet.frame, default);
        let window = nearest(wanted.as_secs_f64() * libm::exp(-exponent), slot, least, most);
        let follows = self.adapts == Adapts::Holding || window == least || window == most;
        let holding = if follows {
            self.bounded(mean_s(window, slot) * libm::exp(exponent), packet.frame)
        } else {
            wanted
        };
        // Less than two packets are one, for which no TXOP is needed.
        let units = if holding < packet.frame * 2 { 0 } else { holding.whole(TXOP_UNIT) };
        Access {
            draw: Draw::Slots { window, end_included: true },
            on_failure: OnFailure::Double { window_max: most },
            when: When::AfterTransmission,
            holding: Holding::Burst(TXOP_UNIT * units),
        }
    }

    /// μ, not below a packet's airtime, where nothing bounds back-offs.
    fn holding(&self, exponent: f64, packet: Duration, default: Duration) -> Duration {
        let fixed = self.fixed.unwrap_or(default);
        match self.adapts {
            Adapts::Backoff => fixed.max(packet),
            Adapts::Holding => self.bounded(fixed.as_secs_f64() * libm::exp(exponent), packet),
        }
    }

    /// A holding time \[s\], not below a packet's, and not above its bound.
    fn bounded(&self, holding_s: f64, packet: Duration) -> Duration {
        let longest = self.holding_max.max(packet).as_secs_f64();
        Duration::from_secs_f64(holding_s.min(longest)).max(packet)
    }

    /// Values that are not given are the physical layer's.
    fn least_window(&self, surroundings: &Surroundings) -> u32 {
        let standard = Dcf::of(surroundings.physical_layer).window_min;
        self.window_min.unwrap_or(standard.min(self.window_max))
    }
}

impl Default for Intensity {
    fn default() -> Self {
        Self::lee12()
    }
}

/// Accepts a window that registers hold.
pub(super) fn check_register(name: &'static str, window: u32) -> Result<(), BadParameter> {
    let is_register = (1..=32_767).contains(&window) && (window + 1).is_power_of_two();
    check(name, f64::from(window), is_register, "2^k - 1 slots, between 1 and 32767")
}

/// Accepts an AIFSN.
pub(super) fn check_aifsn(aifsn: u32) -> Result<(), BadParameter> {
    check("aifsn", f64::from(aifsn), (1..=15).contains(&aifsn), "between 1 and 15")
}

/// The mean of a draw from a window \[s\].
fn mean_s(window: u32, slot: Duration) -> f64 {
    f64::from(window) / 2.0 * slot.as_secs_f64()
}

/// The window of 2^k − 1 slots with the nearest mean, by ratio.
pub(super) fn nearest(mean: f64, slot: Duration, least: u32, most: u32) -> u32 {
    let mut window = least;
    while window < most {
        let next = doubled(window, most);
        // Beyond the geometric mean of both the larger one is nearer.
        if mean * mean < mean_s(window, slot) * mean_s(next, slot) {
            break;
        }
        window = next;
    }
    window
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::backoff::{AdaptiveParams, FullPacket, PhysicalLayer};
    use proptest::prelude::*;

    /// 802.11a at 6 Mb/s with packets of 1064 bytes.
    fn role() -> LinkRole {
        let packet = FullPacket { frame: Duration::from_micros(1480), ..Surroundings::default().packet };
        LinkRole::data(Surroundings {
            physical_layer: PhysicalLayer::Ofdm,
            slot: Duration::from_micros(9),
            packet,
            ..Surroundings::default()
        })
    }

    /// Holding and back-off time of full packets, as the MAC receives them [s].
    fn means(access: &Access) -> (f64, f64) {
        let packet = role().packet.frame.as_secs_f64();
        let backoff = match access.draw {
            Draw::ExponentialOfFrame { factor, .. } => packet * factor,
            Draw::Exponential { mean, .. } => mean.as_secs_f64(),
            Draw::Slots { window, .. } => mean_s(window, role().surroundings.slot),
            _ => panic!("{access:?}"),
        };
        let holding = match access.holding {
            Holding::Packet => packet,
            Holding::Span(time) | Holding::Burst(time) => time.as_secs_f64().max(packet),
            _ => panic!("{access:?}"),
        };
        (holding, backoff)
    }

    #[test]
    fn hardware_takes_nearest_window_and_a_txop() {
        let params = Intensity { execution: Execution::Hardware, ..Intensity::lee12() };
        let settings = |exponent: f64| {
            let access = params.access(exponent, &role());
            let (Draw::Slots { window, .. }, Holding::Burst(limit)) = (access.draw, access.holding) else {
                panic!("{access:?}")
            };
            assert_eq!(access.on_failure, OnFailure::Double { window_max: 1023 });
            (window, limit.as_nanos() / 1000)
        };
        // 1480 us of back-off: 255 slots have a mean of 1147.5 us, 511 of 2299.5.
        assert_eq!(settings(0.0), (255, 0));
        // 1480·e^-2 = 200.3 us: 63 slots, 283.5 us, against 31, 139.5.
        assert_eq!(settings(2.0), (63, 0));
        // 1480·e^-4 = 27 us, less than the least window's 67.5: 67.5·e^4 = 3685 us, 115 steps of 32 us.
        assert_eq!(settings(4.0), (15, 3680));
        assert_eq!(settings(9.0), (15, 8160), "the longest TXOP");
        assert_eq!(params.space(), Space::Aifs { slots: 2 });
    }

    #[test]
    fn adaptive_holding_leaves_the_back_off_alone() {
        let params = Intensity { adapts: Adapts::Holding, holding_max: LONGEST, ..Intensity::lee12() };
        let access = params.access(2.0, &role());
        let holding = Duration::from_micros(1480).mul_f64(libm::exp(2.0));
        assert_eq!(access.holding, Holding::Span(holding));
        let Draw::Exponential { mean, .. } = access.draw else { panic!("{access:?}") };
        assert!((mean.as_secs_f64() - 1480e-6).abs() < 2e-9, "{mean}");
        // At its bound the back-off makes up: 8160·e^-9 us.
        let access = Intensity { holding_max: TXOP_MAX, ..params }.access(9.0, &role());
        assert_eq!(access.holding, Holding::Span(TXOP_MAX));
        let Draw::Exponential { mean, .. } = access.draw else { panic!("{access:?}") };
        assert!((mean.as_secs_f64() - 8160e-6 * libm::exp(-9.0)).abs() < 2e-9, "{mean}");
    }

    #[test]
    fn registers_are_checked() {
        let bad = |params: Intensity| params.validated().unwrap_err().name;
        assert_eq!(bad(Intensity { window_max: 1000, ..Intensity::lee12() }), "window_max");
        assert_eq!(bad(Intensity { window_min: Some(2047), ..Intensity::lee12() }), "window_min");
        assert_eq!(bad(Intensity { window_min: Some(0), ..Intensity::lee12() }), "window_min");
        assert_eq!(bad(Intensity { aifsn: 0, ..Intensity::lee12() }), "aifsn");
        assert_eq!(bad(Intensity { fixed: Some(Duration::ZERO), ..Intensity::lee12() }), "fixed");
    }

    /// Older files have no `execution`; a law that is written as it was by default reads back from them.
    #[cfg(feature = "serde")]
    #[test]
    fn only_hardware_is_written() {
        let written = |execution| {
            let params = AdaptiveParams { execution, ..AdaptiveParams::chen10() };
            serde_json::to_value(params).unwrap().get("execution").cloned()
        };
        assert_eq!(written(Execution::Continuous), None);
        assert_eq!(written(Execution::Hardware), Some("hardware".into()));
    }

    #[test]
    fn times_fit_a_txop_of_sixteen_bits() {
        let (fixed, holding_max) = (Some(LONGEST), LONGEST);
        let longest = Intensity { fixed, holding_max, ..Intensity::lee12() };
        // 65535 units of 32 us
        assert_eq!(LONGEST, Duration::from_micros(2_097_120));
        assert_eq!(longest.validated(), Ok(longest));
        let more = LONGEST + Duration::from_nanos(1);
        let bad = |params: Intensity| params.validated().unwrap_err().name;
        assert_eq!(bad(Intensity { fixed: Some(more), ..longest }), "fixed");
        assert_eq!(bad(Intensity { holding_max: more, ..longest }), "holding_max");
        assert_eq!(bad(Intensity { holding_max: Duration::ZERO, ..longest }), "holding_max");
        // 255 units are the longest of 8 bits.
        assert_eq!(TXOP_MAX, Duration::from_micros(8_160));
    }

    #[test]
    fn mean_holding_stays_within_the_windows() {
        let settings = |fixed_us, exponent: f64| {
            let fixed = Some(Duration::from_micros(fixed_us));
            let params = Intensity { execution: Execution::Hardware, fixed, ..Intensity::lee12() };
            let access = params.access(exponent, &role());
            let (Draw::Slots { window, .. }, Holding::Burst(limit)) = (access.draw, access.holding) else {
                panic!("{access:?}")
            };
            (window, limit.as_nanos() / 1000)
        };
        // 5000·e^-2 = 676.7 us: 127 slots, 571.5 us, against 255, 1147.5; 156 steps of 32 us.
        assert_eq!(settings(5_000, 2.0), (127, 4_992));
        // 2960·e^-2 = 400.6 us: 63 slots, below √(283.5·571.5) = 402.5 us; two packets of 1480 us are a burst of 92 steps.
        assert_eq!(settings(2_960, 2.0), (63, 2_944));
        assert_eq!(settings(2_959, 2.0), (63, 0), "less than two packets");
        // 20 ms of back-off: the largest window has 4603.5 us, and the holding time follows it, 143 steps.
        assert_eq!(settings(20_000, 0.0), (1023, 4_576));
    }

    #[test]
    fn hardware_has_its_least_window_written_out() {
        let resolved = |execution, window_max| {
            let mut params = Intensity { execution, window_max, ..Intensity::lee12() };
            params.resolve(&role().surroundings);
            params.window_min
        };
        assert_eq!(resolved(Execution::Hardware, 1023), Some(15));
        assert_eq!(resolved(Execution::Hardware, 7), Some(7));
        assert_eq!(resolved(Execution::Continuous, 1023), None);
    }

    proptest! {
        /// [Lee12] Alg. 1 line 3: `p·μ = exp(x)`, whichever of both adapts; with hardware within half a window's step and a
        /// TXOP's, where its registers reach.
        #[test]
        fn the_product_is_the_exponential(
            exponent in 0.0f64..9.0,
            holding: bool,
            fixed in prop::option::of(2_000u64..8_000),
            hardware: bool,
        ) {
            let adapts = if holding { Adapts::Holding } else { Adapts::Backoff };
            let execution = if hardware { Execution::Hardware } else { Execution::Continuous };
            let fixed = fixed.map(Duration::from_micros);
            let params = Intensity { adapts, execution, fixed, holding_max: LONGEST, ..Intensity::lee12() };
            let (holding, backoff) = means(&params.access(exponent, &role()));
            let off = libm::log(holding / backoff) - exponent;
            // Mean back-offs are whole nanoseconds; a window is within √2, and a TXOP of one packet within 2.
            let tolerance = if hardware { 1.05 } else { 1.5e-9 / backoff };
            prop_assert!(off.abs() < tolerance, "{off}");
        }
    }
}
