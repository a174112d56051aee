//! The mode with the greatest expected rate, by the medium itself.
//!
//! # Law
//! Before each attempt the medium is asked for the mode that maximises rate · (1 − loss of a packet of 1500 bytes), without
//! interference. No driver can do so: it is the bound that laws are compared with. With a greatest loss it is the fastest mode that
//! loses no more.
//!
//! # Source
//! None: ours, after the SNR-based laws of simulators. ns-3's `IdealWifiManager` takes the fastest mode with a bit error rate of 1e-6,
//! by its tables of short frames: a loss of 1.5 to 2 % of packets of 1500 bytes, 0.6 % of MCS 7.
//!
//! # Symbols
//! The greatest loss → [`IdealParams::loss`].
//!
//! # Signals
//! The best mode at the instant of the frame.
//!
//! # Example
//! ```
//! use evenair_laws::Parameters;
//! use evenair_laws::rates::{FrameView, IdealParams, RateControl, RateRole};
//! let mut law = IdealParams::default().begin(&RateRole::default());
//! assert!(law.asks_medium());
//! let chain = law.on_frame(&FrameView { best: Some(4), ..FrameView::default() });
//! assert_eq!(chain.steps()[0].mode, 4);
//! ```

use super::{Chain, FrameStatus, FrameView, RateControl, RateRole};
use crate::{BadParameter, Parameters, check};

/// Parameters of the law.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(default, deny_unknown_fields)
)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct IdealParams {
    /// The greatest share of packets of 1500 bytes that a mode may lose; without it the mode that delivers most. ns-3's law has 0.016.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "Option::is_none"))]
    pub loss: Option<f64>,
}

impl Parameters for IdealParams {
    type Surroundings = ();
    type Place = RateRole;
    type Law = Ideal;

    fn validated(self) -> Result<Self, BadParameter> {
        if let Some(loss) = self.loss {
            check("loss", loss, loss > 0.0 && loss < 1.0, "above 0 and below 1")?;
        }
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
