//! Rate control: which modes a frame is sent in, one after another, until it is acknowledged.
//!
//! The host asks the law for a [`Chain`] before each frame, tries its steps in order, and tells the law how the frame ended. A driver
//! is told no more than that: no power, no noise, and no reason of a loss. [`ideal`] alone asks the medium.

pub mod aarf;
pub mod arf;
mod chain;
pub mod fixed;
pub mod ideal;
pub mod minstrel_ht;

pub use aarf::AarfParams;
pub use arf::{Arf, ArfParams};
pub use chain::{
    CHAIN_MAX, Chain, FrameStatus, FrameView, RateFormat, RateMode, RateRole, Step, TRIES_MAX, Tried,
};
pub use fixed::{Fixed, FixedModeParams};
pub use ideal::{Ideal, IdealParams};
pub use minstrel_ht::{MinstrelHt, MinstrelHtParams};

use crate::family::family;

/// A law of the modes of one sender's frames to one receiver.
pub trait RateControl {
    /// The law of a user's own is put in its place; built-in laws are made for theirs.
    fn begin(&mut self, _link: &RateRole) {}
    /// Whether the host asks the medium for [`FrameView::best`].
    fn asks_medium(&self) -> bool {
        false
    }
    /// Returns the modes of the next frame.
    fn on_frame(&mut self, frame: &FrameView) -> Chain;
    /// A frame has ended: it was acknowledged, or no step of its chain is left, or its packets were given up.
    fn on_status(&mut self, status: &FrameStatus);
}

family! {
    /// Which rate control, with its parameters.
    parameters RateControlParams,
    /// A rate control's state at one link.
    state AnyRateControl: RateControl,
    /// A rate control of a user's own.
    own OwnRateControl: OwnRateControlLaw,
    place () => RateRole,
    tape RateControlTold => RateControlAnswer,
    default None,
    told {
        OnFrame: on_frame(frame: &FrameView) -> Chain;
        OnStatus: on_status(status: &FrameStatus);
    }
    asked {
        asks_medium() -> bool;
    }
    laws {
        /// The fastest mode of the link, always.
        Fixed(FixedModeParams => Fixed),
        /// The mode with the greatest expected rate, by the medium itself.
        Ideal(IdealParams => Ideal),
        /// A faster mode after ten acknowledgements, a slower one after two failures.
        Arf(ArfParams => Arf),
        /// ARF that tries faster modes less often after each vain try.
        Aarf(AarfParams => Arf),
        /// Rates sorted by their measured throughput, as in Linux.
        MinstrelHt(MinstrelHtParams => MinstrelHt),
    }
}

impl RateControlParams {
    /// The greatest share of packets that [`FrameView::best`] may lose; without it, it is the mode that delivers most.
    pub const fn loss_max(&self) -> Option<f64> {
        if let Self::Ideal(ideal) = self { ideal.loss } else { None }
    }
}

#[cfg(test)]
mod tests;
