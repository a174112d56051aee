//! The 802.11 distributed coordination function's back-off, [Chen10]'s L-CSMA.
//!
//! # Law
//! Draw uniformly from `0..=CW` slots; after a failure `CW ← min(2(CW+1) − 1, CWmax)`, after a success or a drop
//! `CW ← CWmin`.
//!
//! # Source
//! IEEE 802.11-2016 clauses 10.3.3 and 10.3.4; [Jam10] section 2.3.2 (J3); [Chen10] C2.
//!
//! # Symbols
//! `CWmin`, `CWmax` → [`DcfParams::window_min`], [`DcfParams::window_max`] \[slots\].
//!
//! # Signals
//! Outcomes only; the MAC applies the doubling, because it is data ([`OnFailure::Double`]).
//!
//! # Deviations
//! ns-2 2.35 draws from `0..CW`, the end excluded, and before every frame: [`Dcf::ns2`].
//! It has no fluid drift: no state of it follows the load. Its mean throughput is compared with Bianchi's fixed point
//! (docs/notes/single-cell.md).
//!
//! # Example
//! ```
//! use evenair_laws::backoff::{BackoffLaw, Dcf, Draw};
//! assert_eq!(Dcf::dsss().access().draw, Draw::Slots { window: 31, end_included: true });
//! ```

use super::{
    Access, BackoffLaw, Draw, Holding, LinkRole, OnFailure, PhysicalLayer, Rendering, Scope, Surroundings,
    When,
};
use crate::{BadParameter, Parameters, check};

/// Parameters of the law; the physical layer gives the defaults.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(default, deny_unknown_fields)
)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct DcfParams {
    /// Window before the first attempt [slots].
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "Option::is_none"))]
    pub window_min: Option<u32>,
    /// Window that failures end at [slots].
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "Option::is_none"))]
    pub window_max: Option<u32>,
}

impl Parameters for DcfParams {
    type Surroundings = Surroundings;
    type Place = LinkRole;
    type Law = Dcf;

    /// Windows up to 65535 slots, in the right order; a draw without its end must not be empty.
    fn validated(self) -> Result<Self, BadParameter> {
        check_windows(self.window_min, self.window_max)?;
        Ok(self)
    }

    fn resolve(&mut self, surroundings: &Surroundings) {
        let standard = Dcf::of(surroundings.physical_layer);
        self.window_min.get_or_insert(standard.window_min);
        self.window_max.get_or_insert(standard.window_max);
    }

    fn begin(&self, role: &LinkRole) -> Dcf {
        let Surroundings { physical_layer, rendering, holding, .. } = role.surroundings;
        let standard = Dcf::of(physical_layer);
        let law = Dcf {
            window_min: self.window_min.unwrap_or(standard.window_min),
            window_max: self.window_max.unwrap_or(standard.window_max),
            holding,
            ..standard
        };
        if rendering == Rendering::Ns2 { law.ns2() } else { law }
    }
}

/// Checks a table's contention windows for their order; those left to the standard are in order.
pub(super) fn check_windows(window_min: Option<u32>, window_max: Option<u32>) -> Result<(), BadParameter> {
    let (least, most) = (window_min.unwrap_or(0), window_max.unwrap_or(65_535));
    check("window_min", f64::from(least), least <= 65_535, "at most 65535 slots")?;
    let ordered = (least..=65_535).contains(&most);
    check("window_max", f64::from(most), ordered, "from window_min to 65535 slots")
}

/// The law, which has no state: the window in force is the MAC's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Dcf {
    /// Contention window before the first attempt \[slots\].
    pub window_min: u32,
    /// Contention window that repeated failures end at \[slots\].
    pub window_max: u32,
    /// Draw before every frame, even on an idle medium.
    pub before_every_frame: bool,
    /// Exclude the window's end from the draw.
    pub end_excluded: bool,
    /// How long the medium is held: DCF leaves it open.
    pub holding: Holding,
}

impl Dcf {
    /// Windows of the DSSS physical layers: 31 to 1023 (IEEE 802.11-2016 clause 16.3.4).
    pub const fn dsss() -> Self {
        Self {
            window_min: 31,
            window_max: 1023,
            before_every_frame: false,
            end_excluded: false,
            holding: Holding::Packet,
        }
    }

    /// Windows of the OFDM physical layers: 15 to 1023 (IEEE 802.11-2016 clause 17.4.4).
    pub const fn ofdm() -> Self {
        Self { window_min: 15, ..Self::dsss() }
    }

    /// Windows of a physical layer.
    pub const fn of(layer: PhysicalLayer) -> Self {
        match layer {
            PhysicalLayer::Dsss => Self::dsss(),
            PhysicalLayer::Ofdm | PhysicalLayer::HighThroughput => Self::ofdm(),
        }
    }

    /// ns-2 2.35's use of these windows.
    #[must_use]
    pub const fn ns2(self) -> Self {
        Self { before_every_frame: true, end_excluded: true, ..self }
    }
}

impl BackoffLaw for Dcf {
    fn scope(&self) -> Scope {
        Scope::Node
    }

    /// It never changes.
    fn access(&self) -> Access {
        let draw = Draw::Slots { window: self.window_min, end_included: !self.end_excluded };
        let when = if self.before_every_frame {
            When::AfterTransmissionAndBeforeFrame
        } else {
            When::AfterTransmission
        };
        let on_failure = OnFailure::Double { window_max: self.window_max };
        Access { draw, on_failure, when, holding: self.holding }
    }
}

/// The window after one more failure (IEEE 802.11-2016 clause 10.3.3).
pub const fn doubled(window: u32, window_max: u32) -> u32 {
    let next = window.saturating_mul(2).saturating_add(1);
    if next < window_max { next } else { window_max }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn windows_double_as_the_standard_lists_them() {
        // IEEE 802.11-2016 figure 10-13: 31, 63, 127, 255, 511, 1023, 1023
        let mut window = 31;
        let mut seen = std::vec::Vec::new();
        for _ in 0..7 {
            seen.push(window);
            window = doubled(window, 1023);
        }
        assert_eq!(seen, [31, 63, 127, 255, 511, 1023, 1023]);
    }

    #[test]
    fn ns2_draws_one_slot_less() {
        assert_eq!(Dcf::dsss().ns2().access().draw, Draw::Slots { window: 31, end_included: false });
    }

    #[test]
    fn defaults_are_the_physical_layers() {
        let mut params = DcfParams { window_max: Some(255), ..DcfParams::default() };
        let ofdm = Surroundings { physical_layer: PhysicalLayer::Ofdm, ..Surroundings::default() };
        let law = params.begin(&LinkRole::data(ofdm));
        assert_eq!((law.window_min, law.window_max), (15, 255));
        params.resolve(&ofdm);
        assert_eq!(params.begin(&LinkRole::data(Surroundings::default())), law, "resolved, it is complete");
    }

    #[test]
    fn windows_in_the_wrong_order_are_refused() {
        let bad = DcfParams { window_min: Some(63), window_max: Some(31) };
        assert_eq!(bad.validated().unwrap_err().name, "window_max");
    }

    #[test]
    fn the_rendering_chooses_the_draws() {
        let role = |rendering| LinkRole::data(Surroundings { rendering, ..Surroundings::default() });
        assert_eq!(DcfParams::default().begin(&role(Rendering::Standard)), Dcf::dsss());
        let ns2 = DcfParams::default().begin(&role(Rendering::Ns2));
        assert_eq!(ns2.access().draw, Draw::Slots { window: 31, end_included: false });
        assert_eq!(ns2.access().when, When::AfterTransmissionAndBeforeFrame);
        assert_eq!(Dcf::dsss().access().when, When::AfterTransmission);
    }

    #[test]
    fn medium_is_held_as_configured() {
        let holding = Holding::Burst(evenair_units::Duration::from_millis(1));
        let place = LinkRole::data(Surroundings { holding, ..Surroundings::default() });
        assert_eq!(DcfParams::default().begin(&place).access().holding, holding);
    }
}
