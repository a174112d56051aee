//! A fixed mode: the link's own.
//!
//! # Law
//! Each frame has the fastest mode that the link is allowed, as without rate control.
//!
//! # Source
//! None: the reference that rate control is compared with.
//!
//! # Signals
//! None.
//!
//! # Example
//! ```
//! use evenair_laws::Parameters;
//! use evenair_laws::rates::{FixedModeParams, FrameView, RateControl, RateRole};
//! let mut law = FixedModeParams {}.begin(&RateRole { own: 7, ..RateRole::default() });
//! assert_eq!(law.on_frame(&FrameView::default()).steps()[0].mode, 7);
//! ```

use super::{Chain, FrameStatus, FrameView, RateControl, RateRole, TRIES_MAX};
use crate::{BadParameter, Parameters};

/// Parameters of the law: none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(default, deny_unknown_fields)
)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct FixedModeParams {}

impl Parameters for FixedModeParams {
    type Surroundings = ();
    type Place = RateRole;
    type Law = Fixed;

    fn validated(self) -> Result<Self, BadParameter> {
        Ok(self)
    }

    fn begin(&self, link: &RateRole) -> Fixed {
        Fixed { own: link.own }
    }
}

/// The law's state at one link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Fixed {
    own: u16,
}

impl RateControl for Fixed {
    fn on_frame(&mut self, _: &FrameView) -> Chain {
        Chain::of(self.own, TRIES_MAX)
    }

    fn on_status(&mut self, _: &FrameStatus) {}
}
