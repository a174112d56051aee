//! ARF, automatic rate fallback: up after acknowledgements in a row, down after failures.
//!
//! # Law
//! After so many acknowledged frames in a row, or so many frames since the last change, the next mode up is tried. If its first frame
//! fails, the mode falls back at once; otherwise two failures in a row are needed.
//!
//! # Source
//! A. Kamerman and L. Monteban, "WaveLAN-II", Bell Labs Technical Journal 2(3), 1997: ten acknowledgements, two failures.
//!
//! # Symbols
//! The acknowledgements → [`ArfParams::successes`]; the failures → [`ArfParams::failures`]; the timer → [`ArfParams::timer`].
//!
//! # Signals
//! Whether each attempt was acknowledged.
//!
//! # Deviations
//! The timer counts attempts, as in simulators, since the paper gives it no length. The modes are those that differ from the
//! link's own in their index alone. An aggregate counts as acknowledged if at least half of its packets are, rounded down; the
//! paper has none.
//!
//! # Example
//! ```
//! use evenair_laws::Parameters;
//! use evenair_laws::rates::{ArfParams, FrameStatus, FrameView, RateControl, RateFormat, RateMode, RateRole, Tried};
//! use evenair_units::Rate;
//! let mode = |index: u8, mbps: u64| RateMode {
//!     format: RateFormat::Dsss, index, streams: 1, width_mhz: 20, guard_ns: 0, rate: Rate::from_kbps(mbps * 1000),
//! };
//! let link = RateRole { modes: vec![mode(0, 1), mode(1, 2)], own: 1, seed: 0 };
//! let mut law = ArfParams::default().begin(&link);
//! let mut status = FrameStatus { packets: 1, acknowledged: 1, ..FrameStatus::default() };
//! for _ in 0..10 {
//!     let mode = law.on_frame(&FrameView::default()).steps()[0].mode;
//!     assert_eq!(mode, 0, "it begins with the slowest");
//!     status.tried[0] = Tried { mode, tries: 1, packets: 1 };
//!     law.on_status(&status);
//! }
//! assert_eq!(law.on_frame(&FrameView::default()).steps()[0].mode, 1);
//! ```

use super::{Chain, FrameStatus, FrameView, RateControl, RateRole};
use crate::{BadParameter, Parameters, check};
use alloc::vec::Vec;

/// Parameters of the law.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(default, deny_unknown_fields)
)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct ArfParams {
    /// Acknowledged frames in a row after which the next mode up is tried.
    pub successes: u32,
    /// Failures in a row after which the mode falls.
    pub failures: u32,
    /// Frames after which the next mode up is tried in any case.
    pub timer: u32,
}

impl Default for ArfParams {
    fn default() -> Self {
        Self { successes: 10, failures: 2, timer: 15 }
    }
}

impl Parameters for ArfParams {
    type Surroundings = ();
    type Place = RateRole;
    type Law = Arf;

    fn validated(self) -> Result<Self, BadParameter> {
        for (name, value) in
            [("successes", self.successes), ("failures", self.failures), ("timer", self.timer)]
        {
            check(name, value.into(), value > 0, "1 or more")?;
        }
        Ok(self)
    }

    fn begin(&self, link: &RateRole) -> Arf {
        Arf::new(*self, Growth { factor: 1.0, successes_max: self.successes }, link)
    }
}

/// How the number of acknowledgements grows after a vain try of a faster mode.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub(super) struct Growth {
    pub(super) factor: f64,
    pub(super) successes_max: u32,
}

/// The law's state at one link.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Arf {
    params: ArfParams,
    growth: Growth,
    /// The modes, slowest first, and the present one's place among them.
    ladder: Vec<u16>,
    place: usize,
    /// Acknowledgements in a row that are needed at present.
    needed: u32,
    successes: u32,
    failures: u32,
    /// Attempts since the last change.
    since: u32,
    /// The next attempt is the first in a faster mode.
    tries_faster: bool,
}

impl Arf {
    pub(super) fn new(params: ArfParams, growth: Growth, link: &RateRole) -> Self {
        Self {
            params,
            growth,
            ladder: link.ladder(),
            place: 0,
            needed: params.successes,
            successes: 0,
            failures: 0,
            since: 0,
            tries_faster: false,
        }
    }

    fn succeed(&mut self) {
        self.tries_faster = false;
        self.failures = 0;
        self.successes = self.successes.saturating_add(1);
        let is_due = self.successes >= self.needed || self.since >= self.params.timer.max(self.needed);
        if is_due && self.place + 1 < self.ladder.len() {
            self.turn_to(self.place + 1);
            self.tries_faster = true;
        }
    }

    fn fail(&mut self) {
        self.successes = 0;
        self.failures = self.failures.saturating_add(1);
        if self.tries_faster {
            let grown = libm::round(f64::from(self.needed) * self.growth.factor) as u32;
            self.needed = grown.min(self.growth.successes_max);
        } else if self.failures >= self.params.failures {
            self.needed = self.params.successes;
        } else {
            return;
        }
        self.turn_to(self.place.saturating_sub(1));
    }

    fn turn_to(&mut self, place: usize) {
        (self.place, self.tries_faster) = (place, false);
        (self.successes, self.failures, self.since) = (0, 0, 0);
    }
}

impl RateControl for Arf {
    /// One try: each attempt changes the state.
    fn on_frame(&mut self, _: &FrameView) -> Chain {
        Chain::of(self.ladder[self.place], 1)
    }

    fn on_status(&mut self, status: &FrameStatus) {
        let tries: u32 = status.tried().map(|tried| u32::from(tried.tries)).sum();
        let succeeds = status.acknowledged > 0 && status.acknowledged >= status.packets / 2;
        for left in (0..tries).rev() {
            self.since = self.since.saturating_add(1);
            if left == 0 && succeeds { self.succeed() } else { self.fail() }
        }
    }
}
