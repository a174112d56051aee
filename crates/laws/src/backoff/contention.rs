//! How a link of aggressiveness `ρ` contends: the common answer of the laws of [QCSMA] to a MAC, for any
//! definition of `ρ`.
//!
//! On ideal CSMA back-offs are exponential with mean `exp(−ρ)/b`, drawn before each packet, so that the network's
//! independent sets have the shares of time of [QCSMA] eq. (1). On 802.11 the same mean is rendered as a contention window:
//! `CW = 2·exp(−ρ)/(b·T_slot) + 1`, of which a slot from `0` to `CW − 1` is drawn, doubled after a collision up to `CWmax`
//! ([QCSMA] section III-C). Where the window would be larger than `CWmax` it is `CWmax`.
//!
//! `b` is the link's capacity: one over the time that its own largest packet needs without interference. A
//! link of acknowledgements carries many more packets per second than one of data; with one `b` for both the
//! price of an acknowledgement's wait would count as often as a data packet's share of the medium is larger.

use super::intensity::nearest;
use super::{Access, Dcf, Draw, Holding, LinkRole, OnFailure, Rendering, Scope, Surroundings, When};
use crate::BadParameter;
use evenair_units::Duration;

/// Where `exp(−ρ)` is the least number that there is.
pub const AGGRESSIVENESS_MAX: f64 = 700.0;

/// The unit of a link's capacity `b`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "kebab-case"))]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub enum CapacityUnit {
    /// All that a packet costs the medium: spaces, headers, and the link-layer acknowledgement; back-off not.
    #[default]
    Exchange,
    /// The packet's bits at the link's rate, and nothing more.
    Bits,
    /// The frame that carries the packet, the whole aggregate where packets share frames: `ρ` is in aggregates, and `exp(−ρ)` of
    /// an aggregate's airtime is the mean back-off.
    Frame,
}

/// The rendering of an aggressiveness.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "kebab-case"))]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub enum BackoffForm {
    /// Exponential times before each frame, not slotted, and drawn again after a collision.
    Exponential,
    /// Contention windows in slots, doubled after collisions.
    Windows,
}

impl BackoffForm {
    /// Exponential times for ideal CSMA, which has no slots; windows for 802.11.
    pub(super) fn of(surroundings: &Surroundings) -> Self {
        if surroundings.is_ideal { Self::Exponential } else { Self::Windows }
    }
}

/// The queues of a node, each with a state of the law.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "kebab-case"))]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub enum QueuesOf {
    /// One for each next hop: the model's, where each link has a price.
    #[default]
    PerNextHop,
    /// One for the node, as ns-2's interface queue: "each wireless transmitter node read its queue length" ([QCSMA] section
    /// III-C). Over 802.11 only.
    PerNode,
}

impl QueuesOf {
    pub(super) const fn scope(self) -> Scope {
        match self {
            Self::PerNextHop => Scope::NextHop,
            Self::PerNode => Scope::Node,
        }
    }
}

/// How a link contends, but for its aggressiveness.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Contention {
    /// `1/b`.
    service: Duration,
    form: BackoffForm,
    slot: Duration,
    /// `CWmax`, of which draws include the end \[slots\].
    window_max: u32,
    /// ns-2's draws: before every frame, the window's end excluded.
    ns2: bool,
    holding: Holding,
}

impl Contention {
    /// Values that are not given are the MAC's own.
    pub(super) fn new(
        role: &LinkRole,
        capacity: CapacityUnit,
        form: Option<BackoffForm>,
        window_max: Option<u32>,
    ) -> Self {
        let Surroundings { physical_layer, rendering, slot, holding, .. } = role.surroundings;
        let service = match capacity {
            CapacityUnit::Exchange => role.packet.exchange,
            CapacityUnit::Bits => role.packet.bits,
            CapacityUnit::Frame => role.packet.frame,
        };
        Self {
            // A packet of no bits would be served at once.
            service: service.max(Duration::from_nanos(1)),
            form: form.unwrap_or_else(|| BackoffForm::of(&role.surroundings)),
            slot: slot.max(Duration::from_nanos(1)),
            window_max: window_max.unwrap_or(Dcf::of(physical_layer).window_max),
            ns2: rendering == Rendering::Ns2,
            holding,
        }
    }

    /// `b` \[packets/s\].
    pub fn capacity(&self) -> f64 {
        1.0 / self.service.as_secs_f64()
    }

    /// The mean back-off at this aggressiveness: `exp(−ρ)/b`.
    pub fn mean(&self, aggressiveness: f64) -> Duration {
        self.service.mul_f64(libm::exp(-aggressiveness))
    }

    /// The answer to the MAC.
    pub fn access(&self, aggressiveness: f64) -> Access {
        let mean = self.mean(aggressiveness);
        let (draw, on_failure, when) = match self.form {
            BackoffForm::Exponential => {
                (Draw::Exponential { mean, slotted: false }, OnFailure::Redraw, When::BeforeFrame)
            }
            BackoffForm::Windows => {
                let window_max = self.window_max;
                // The end of a draw is CW − 1. ns-2 excludes it, and doubles CW.
                let end = contention_window(mean, self.slot) - 1;
                let window = end.saturating_add(u32::from(self.ns2)).min(window_max);
                let when =
                    if self.ns2 { When::AfterTransmissionAndBeforeFrame } else { When::AfterTransmission };
                let draw = Draw::Slots { window, end_included: !self.ns2 };
                (draw, OnFailure::Double { window_max }, when)
            }
        };
        Access { draw, on_failure, when, holding: self.holding }
    }
}

/// The answer of 802.11e hardware: the window of 2^k − 1 slots with the nearest mean, by ratio, which collisions double.
impl Contention {
    /// The answer to the MAC, with windows from `window_min` on.
    pub(super) fn registers(&self, aggressiveness: f64, window_min: u32) -> Access {
        let (mean, window_max) = (self.service.as_secs_f64() * libm::exp(-aggressiveness), self.window_max);
        Access {
            draw: Draw::Slots {
                window: nearest(mean, self.slot, window_min.min(window_max), window_max),
                end_included: true,
            },
            on_failure: OnFailure::Double { window_max },
            when: When::AfterTransmission,
            holding: Holding::Packet,
        }
    }
}

/// [QCSMA] section III-C: the contention window `CW` with this mean of its uniform draw from `0` to `CW − 1`:
/// `2·mean/T_slot + 1` \[slots\].
pub fn contention_window(mean: Duration, slot: Duration) -> u32 {
    // The cast truncates to whole slots and saturates.
    ((2.0 * mean.as_secs_f64() / slot.as_secs_f64()) as u32).saturating_add(1)
}

/// Accepts a largest window.
pub(super) fn check_window_max(window_max: Option<u32>) -> Result<(), BadParameter> {
    let most = window_max.unwrap_or(1023);
    crate::check("window_max", f64::from(most), (1..=65_535).contains(&most), "from 1 to 65535 slots")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::backoff::FullPacket;

    fn contention(surroundings: Surroundings, service_us: u64) -> Contention {
        let exchange = Duration::from_micros(service_us);
        let packet = FullPacket { exchange, ..surroundings.packet };
        let role = LinkRole { packet, ..LinkRole::data(surroundings) };
        Contention::new(&role, CapacityUnit::Exchange, None, None)
    }

    fn window(access: &Access) -> u32 {
        let Draw::Slots { window, .. } = access.draw else { panic!("{access:?}") };
        window
    }

    /// 640 µs a packet: at ρ = 0 a mean of 32 slots of 20 µs, so CW = 65 and draws from 0 to 64. From ρ = ln 64 on,
    /// where the mean is less than half a slot, CW is 1: no back-off at all.
    #[test]
    fn a_window_has_the_mean_that_is_wanted() {
        let link = contention(Surroundings::default(), 640);
        assert_eq!(contention_window(link.mean(0.0), link.slot), 65);
        let access = link.access(0.0);
        assert_eq!(access.draw, Draw::Slots { window: 64, end_included: true });
        assert_eq!(access.on_failure, OnFailure::Double { window_max: 1023 });
        assert_eq!(window(&link.access(libm::log(2.0))), 32);
        assert_eq!(window(&link.access(4.15)), 1);
        assert_eq!(window(&link.access(4.16)), 0, "ln 64 = 4.16");
        assert_eq!(window(&link.access(AGGRESSIVENESS_MAX)), 0);
    }

    #[test]
    fn ns2_draws_from_as_many_slots() {
        let link = contention(Surroundings { rendering: Rendering::Ns2, ..Surroundings::default() }, 640);
        assert_eq!(link.access(0.0).draw, Draw::Slots { window: 65, end_included: false });
        assert_eq!(link.access(50.0).draw, Draw::Slots { window: 1, end_included: false });
    }

    #[test]
    fn a_slow_link_stops_at_the_largest_window() {
        let link = contention(Surroundings::default(), 20_000);
        assert_eq!(window(&link.access(0.0)), 1023, "2001 slots would be wanted");
    }

    #[test]
    fn ideal_csma_has_aggressiveness_of_product_form() {
        // log(a/b): the mean holding time over the mean back-off, [QCSMA] section II-A
        let link = contention(Surroundings { is_ideal: true, ..Surroundings::default() }, 8_000);
        let Draw::Exponential { mean, slotted: false } = link.access(2.0).draw else { panic!("{link:?}") };
        assert!((libm::log(0.008 / mean.as_secs_f64()) - 2.0).abs() < 1e-6);
    }
}
