//! The registers of 802.11e hardware: a law's answer as a real transmitter takes it.
//!
//! A driver takes four numbers for each access category: `CWmin`, `CWmax`, AIFSN and the TXOP limit. [`Registers::of`] reads
//! them off a law's [`Access`] and [`Space`], [`Registers::within`] bounds them as Linux does
//! (`ieee80211_regulatory_limit_wmm_params` in net/mac80211/util.c): windows and AIFSN from below, TXOP from above.
//!
//! ```
//! use evenair_laws::Parameters;
//! use evenair_laws::backoff::{BackoffLaw, Execution, Intensity, LinkRole, OptimalParams, Registers};
//! let intensity = Intensity { execution: Execution::Hardware, aifsn: 3, ..Intensity::lee12() };
//! let law = OptimalParams { intensity, ..OptimalParams::lee12() }.begin(&LinkRole::data(Default::default()));
//! let registers = Registers::of(&law.access(), law.space()).unwrap();
//! assert_eq!((registers.window_max, registers.aifsn, registers.txop_units), (1023, 3, 0));
//! ```

use super::{Access, Category, Draw, Edca, Holding, OnFailure, PhysicalLayer, Space, When};
use core::fmt;
use evenair_units::Duration;

/// The unit of TXOP limits (IEEE 802.11-2016 clause 9.4.2.29).
pub(super) const TXOP_UNIT: Duration = Duration::from_micros(32);

/// DIFS as an AIFSN: SIFS and two slots (IEEE 802.11-2016 clause 10.3.7).
const DIFS_SLOTS: u32 = 2;

/// The settings of one access category.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(deny_unknown_fields))]
pub struct Registers {
    /// `CWmin`, 2^k − 1 \[slots\].
    pub window_min: u32,
    /// `CWmax`, 2^k − 1 \[slots\].
    pub window_max: u32,
    /// AIFSN \[slots\].
    pub aifsn: u32,
    /// The TXOP limit \[32 µs\]; 0 is one packet.
    pub txop_units: u32,
}

/// An answer that registers do not render.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NoRegisters(&'static str);

impl fmt::Display for NoRegisters {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "no register holds {}; begin the law with execution = \"hardware\"", self.0)
    }
}

impl core::error::Error for NoRegisters {}

impl Registers {
    /// Returns the registers of a law's answer.
    ///
    /// # Errors
    /// If the answer is not a window of 2^k − 1 slots that failures double, drawn after each transmission, for a packet
    /// or a burst.
    pub fn of(access: &Access, space: Space) -> Result<Self, NoRegisters> {
        let Draw::Slots { window: window_min, end_included: true } = access.draw else {
            return Err(NoRegisters("this distribution of back-offs"));
        };
        let OnFailure::Double { window_max } = access.on_failure else {
            return Err(NoRegisters("a window that failures do not double"));
        };
        if access.when != When::AfterTransmission {
            return Err(NoRegisters("a back-off before each packet"));
        }
        let txop_units = match access.holding {
            Holding::Packet => 0,
            Holding::Burst(limit) => u32::try_from(limit.whole(TXOP_UNIT)).unwrap_or(u32::MAX),
            _ => return Err(NoRegisters("a holding time that is drawn")),
        };
        let is_window = |window: u32| window > 0 && window.checked_add(1).is_some_and(u32::is_power_of_two);
        if !is_window(window_min) || !is_window(window_max) || window_min > window_max {
            return Err(NoRegisters("a window other than 2^k - 1 slots, or above its largest"));
        }
        let aifsn = match space {
            Space::Difs => DIFS_SLOTS,
            Space::Aifs { slots } => slots,
        };
        Ok(Self { window_min, window_max, aifsn, txop_units })
    }

    /// Returns the standard's registers of a category (IEEE 802.11-2016 table 9-137): those of a station.
    pub fn standard(category: Category, layer: PhysicalLayer) -> Self {
        let Edca { window_min, window_max, aifsn, txop_limit, .. } = Edca::standard(category, layer);
        let txop_units = u32::try_from(txop_limit.whole(TXOP_UNIT)).unwrap_or(u32::MAX);
        Self { window_min, window_max, aifsn, txop_units }
    }

    /// Returns the registers that limits leave, which are valid: 1 ≤ `CWmin` ≤ `CWmax` ≤ 1023, both 2^k − 1, AIFSN from 2 to
    /// 15, TXOP up to 8160 µs.
    #[must_use]
    pub fn within(self, limits: &RegisterLimits) -> Self {
        let &RegisterLimits { window_min, window_max, aifsn, txop_units } = limits;
        let (hardest, least) = (RegisterLimits::VALID_MAX, RegisterLimits::VALID);
        let window_min =
            window(self.window_min.max(window_min).max(least.window_min).min(hardest.window_min));
        let window_max = window(self.window_max.max(window_max).min(hardest.window_max)).max(window_min);
        let aifsn = self.aifsn.max(aifsn).max(least.aifsn).min(hardest.aifsn);
        let txop_units = self.txop_units.min(txop_units).min(least.txop_units);
        Self { window_min, window_max, aifsn, txop_units }
    }

    /// The TXOP limit.
    pub fn txop(&self) -> Duration {
        TXOP_UNIT * u64::from(self.txop_units)
    }
}

impl fmt::Display for Registers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { window_min, window_max, aifsn, .. } = self;
        write!(f, "CWmin {window_min}, CWmax {window_max}, AIFSN {aifsn}, TXOP {} us", self.txop_units * 32)
    }
}

/// Limits of a category's registers: the least windows and AIFSN, and the longest TXOP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct RegisterLimits {
    /// The least `CWmin` \[slots\].
    pub window_min: u32,
    /// The least `CWmax` \[slots\].
    pub window_max: u32,
    /// The least AIFSN \[slots\].
    pub aifsn: u32,
    /// The longest TXOP \[32 µs\].
    pub txop_units: u32,
}

impl RegisterLimits {
    /// The limits of every access point: AIFSN 2 as DIFS is, and the eight bits of a QoS Control field's TXOP limit
    /// (IEEE 802.11-2016 clause 9.2.4.5.6).
    pub const VALID: Self = Self { window_min: 1, window_max: 1, aifsn: 2, txop_units: 255 };
    /// The largest values: windows of ten bits, which every driver holds, and AIFSN of four
    /// (IEEE 802.11-2016 clause 9.4.2.29).
    const VALID_MAX: Registers = Registers { window_min: 1023, window_max: 1023, aifsn: 15, txop_units: 255 };

    /// Returns the stricter of both limits, number by number.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Self {
            window_min: self.window_min.max(other.window_min),
            window_max: self.window_max.max(other.window_max),
            aifsn: self.aifsn.max(other.aifsn),
            txop_units: self.txop_units.min(other.txop_units),
        }
    }
}

/// The next window of 2^k − 1 slots, up to 1023.
fn window(slots: u32) -> u32 {
    (slots.saturating_add(1).min(1024).next_power_of_two() - 1).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Parameters;
    use crate::backoff::{
        BackoffLaw, Dcf, Execution, Intensity, LinkRole, LinkView, OptimalParams, Surroundings,
    };
    use alloc::string::ToString;
    use evenair_units::Volume;
    use proptest::prelude::*;

    /// The regulatory database's rule of best effort for clients in ETSI countries: `CWmin` 15, `CWmax` 1023, AIFSN 3,
    /// 6 ms.
    const ETSI: RegisterLimits =
        RegisterLimits { window_min: 15, window_max: 1023, aifsn: 3, txop_units: 6_000 / 32 };

    fn hardware(aifsn: u32) -> OptimalParams {
        let intensity = Intensity { execution: Execution::Hardware, aifsn, ..Intensity::lee12() };
        OptimalParams { intensity, ..OptimalParams::lee12() }
    }

    /// As seen at the driver of Linux 6.1 in country DE, channel 36: `CWmin` 3, `CWmax` 7, AIFSN 1 and a TXOP of 200 units
    /// were asked, and an access point's rule left `CWmin` 15, `CWmax` 63, AIFSN 3 and 187 units.
    #[test]
    fn limits_cut_as_the_kernel_does() {
        let asked = Registers { window_min: 3, window_max: 7, aifsn: 1, txop_units: 200 };
        let rule = RegisterLimits { window_max: 63, ..ETSI };
        let left = Registers { window_min: 15, window_max: 63, aifsn: 3, txop_units: 187 };
        assert_eq!(asked.within(&rule), left);
        assert_eq!(left.within(&rule), left);
    }

    #[test]
    fn an_answer_becomes_registers() {
        let access = Access {
            draw: Draw::Slots { window: 31, end_included: true },
            on_failure: OnFailure::Double { window_max: 255 },
            when: When::AfterTransmission,
            holding: Holding::Burst(Duration::from_micros(3_000)),
        };
        // 93 units are 2976 us.
        let registers = Registers { window_min: 31, window_max: 255, aifsn: 7, txop_units: 93 };
        assert_eq!(Registers::of(&access, Space::Aifs { slots: 7 }), Ok(registers));
        assert_eq!(registers.txop(), Duration::from_micros(2_976));
        let plain = Access { holding: Holding::Packet, ..access };
        assert_eq!(Registers::of(&plain, Space::Difs).map(|one| (one.aifsn, one.txop_units)), Ok((2, 0)));
        // A window that does not grow is one, too.
        let steady = Access { on_failure: OnFailure::Double { window_max: 31 }, ..access };
        assert_eq!(Registers::of(&steady, Space::Difs).map(|one| one.window_max), Ok(31));
    }

    #[test]
    fn value_without_register_is_refused() {
        let good = Dcf::of(PhysicalLayer::Ofdm).access();
        assert!(Registers::of(&good, Space::Difs).is_ok());
        let slots = |window, end_included| Access { draw: Draw::Slots { window, end_included }, ..good };
        let bad = [
            slots(20, true),
            slots(0, true),
            slots(u32::MAX, true),
            slots(2047, true),
            slots(15, false),
            Access { draw: Draw::ExponentialOfFrame { factor: 1.0, slotted: true }, ..good },
            Access { on_failure: OnFailure::Redraw, ..good },
            Access { when: When::BeforeFrame, ..good },
            Access { holding: Holding::Span(Duration::from_millis(1)), ..good },
        ];
        for access in bad {
            let error = Registers::of(&access, Space::Difs).unwrap_err().to_string();
            assert!(error.ends_with("begin the law with execution = \"hardware\""), "{error}");
        }
    }

    /// IEEE 802.11-2016 table 9-137, OFDM: best effort 15, 1023, 3, 0; voice 3, 7, 2, 1.504 ms.
    #[test]
    fn the_standard_has_a_row_for_each_category() {
        let of = |category| Registers::standard(category, PhysicalLayer::Ofdm);
        let best_effort = Registers { window_min: 15, window_max: 1023, aifsn: 3, txop_units: 0 };
        assert_eq!(of(Category::BestEffort), best_effort);
        let voice = of(Category::Voice);
        assert_eq!(voice, Registers { window_min: 3, window_max: 7, aifsn: 2, txop_units: 47 });
        assert_eq!(voice.to_string(), "CWmin 3, CWmax 7, AIFSN 2, TXOP 1504 us");
    }

    proptest! {
        /// Any registers become valid ones within the limits, which leave them alone then.
        #[test]
        fn rest_is_valid(
            asked in any::<[u32; 4]>(), rule in (0u32..=1023, 0u32..=1023, 0u32..=15, any::<u32>()),
        ) {
            let [window_min, window_max, aifsn, txop_units] = asked;
            let limits =
                RegisterLimits { window_min: rule.0, window_max: rule.1, aifsn: rule.2, txop_units: rule.3 };
            let left = Registers { window_min, window_max, aifsn, txop_units }.within(&limits);
            for window in [left.window_min, left.window_max] {
                prop_assert!((1..=1023).contains(&window) && (window + 1).is_power_of_two(), "{left}");
            }
            prop_assert!(left.window_min <= left.window_max);
            prop_assert!((2..=15).contains(&left.aifsn) && left.txop_units <= 255);
            prop_assert!(left.window_min >= rule.0 && left.window_max >= rule.1);
            prop_assert!(left.aifsn >= rule.2 && left.txop_units <= rule.3);
            prop_assert_eq!(left.within(&limits), left);
        }

        /// More aggressive is never more restrained: no larger window and no shorter TXOP.
        #[test]
        fn registers_follow_the_exponent(queues in [0u64..2_000, 0u64..2_000], aifsn in 1u32..=15) {
            let [fewer, more] = [queues[0].min(queues[1]), queues[0].max(queues[1])].map(|packets| {
                let mut law = hardware(aifsn).begin(&LinkRole::data(Surroundings::default()));
                let backlog = Volume { packets, bytes: packets * 1000 };
                law.on_update(&LinkView { backlog, ..LinkView::default() });
                Registers::of(&law.access(), law.space()).expect("registers").within(&ETSI)
            });
            prop_assert!(fewer.window_min >= more.window_min, "{fewer}; {more}");
            prop_assert!(fewer.txop_units <= more.txop_units, "{fewer}; {more}");
            prop_assert_eq!(fewer.aifsn, aifsn.max(3));
        }
    }
}
