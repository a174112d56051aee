//! The mode with the greatest expected rate, by the medium itself.
//!
//! # Law
//! Before each attempt the medium is asked for the mode that maximises rate · (1 − loss of a packet of 1500 bytes), without
//! interference. No driver can do so: it is the bound that laws are compared with.
//!
//! # Source
//! None: ours, after the SNR-based laws of simulators.
//!
//! # Signals
//! The best mode at the instant of the frame.
//!
//! # Example
//! ```
//! use evenair_laws::Parameters;
//! use evenair_laws::rates::{FrameView, IdealParams, RateControl, RateRole};
//! let mut law = IdealParams {}.begin(&RateRole::default());
//! assert!(law.asks_medium());
//! let chain = law.on_frame(&FrameView { best: Some(4), ..FrameView::default() });
//! assert_eq!(chain.steps()[0].mode, 4);
//! ```

use super::{Chain, FrameStatus, FrameView, RateControl, RateRole};
use crate::{BadParameter, Parameters};

/// Parameters of the law: none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(default, deny_unknown_fields)
)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct IdealParams {}

impl Parameters for IdealParams {
    type Surroundings = ();
    type Place = RateRole;
    type Law = Ideal;

    fn validated(self) -> Result<Self, BadParameter> {
        Ok(self)
    }

    fn begin(&self, link: &RateRole) -> Ideal {
        Ideal { own: link.own }
    }
}

/// The law's state at one link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Ideal {
    own: u16,
}

impl RateControl for Ideal {
    fn asks_medium(&self) -> bool {
        true
    }

    /// One try: the medium is asked again before the next.
    fn on_frame(&mut self, frame: &FrameView) -> Chain {
        Chain::of(frame.best.unwrap_or(self.own), 1)
    }

    fn on_status(&mut self, _: &FrameStatus) {}
}
