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
//! ns-2 2.35 draws from `0..CW`, the end excluded, and before every frame: [`DcfParams::ns2`].
//!
//! # Example
//! ```
//! use evenair_laws::backoff::{DcfParams, Draw};
//! assert_eq!(DcfParams::dsss().access().draw, Draw::Slots { window: 31, end_included: true });
//! ```

use super::{Access, Draw, OnFailure, When};
use crate::{BadParameter, check};

/// Parameters of the law.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DcfParams {
    /// Contention window before the first attempt \[slots\].
    pub window_min: u32,
    /// Contention window that repeated failures end at \[slots\].
    pub window_max: u32,
    /// Draw before every frame, even on an idle medium.
    pub before_every_frame: bool,
    /// Exclude the window's end from the draw.
    pub end_excluded: bool,
}

impl DcfParams {
    /// Windows of the DSSS physical layers: 31 to 1023 (IEEE 802.11-2016 clause 16.3.4).
    pub const fn dsss() -> Self {
        Self { window_min: 31, window_max: 1023, before_every_frame: false, end_excluded: false }
    }

    /// Windows of the OFDM physical layers: 15 to 1023 (IEEE 802.11-2016 clause 17.4.4).
    pub const fn ofdm() -> Self {
        Self { window_min: 15, ..Self::dsss() }
    }

    /// What ns-2 2.35 does with these windows.
    #[must_use]
    pub const fn ns2(self) -> Self {
        Self { before_every_frame: true, end_excluded: true, ..self }
    }

    /// Checks the windows.
    ///
    /// # Errors
    /// If one is above 65535 slots, or they are in the wrong order, or a draw without its end would be empty.
    pub fn validated(self) -> Result<Self, BadParameter> {
        let least = u32::from(self.end_excluded);
        check(
            "window_min",
            f64::from(self.window_min),
            self.window_min >= least,
            "at least 1 slot if the draw excludes the window's end",
        )?;
        check(
            "window_max",
            f64::from(self.window_max),
            (self.window_min..=65_535).contains(&self.window_max),
            "from window_min to 65535 slots",
        )?;
        Ok(self)
    }

    /// The answer to the MAC: it never changes.
    pub const fn access(self) -> Access {
        let draw = Draw::Slots { window: self.window_min, end_included: !self.end_excluded };
        let when = if self.before_every_frame {
            When::AfterTransmissionAndBeforeFrame
        } else {
            When::AfterTransmission
        };
        Access { draw, on_failure: OnFailure::Double { window_max: self.window_max }, when }
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
        assert_eq!(DcfParams::dsss().ns2().access().draw, Draw::Slots { window: 31, end_included: false });
    }

    #[test]
    fn windows_in_the_wrong_order_are_refused() {
        let bad = DcfParams { window_min: 63, window_max: 31, ..DcfParams::dsss() };
        assert_eq!(bad.validated().unwrap_err().name, "window_max");
    }
}
