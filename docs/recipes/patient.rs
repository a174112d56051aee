//! Patience in proportion to idleness: a node with little to send waits long.
//!
//! # Law
//! Back-offs are exponential, their mean `a / (1 + Q)` airtimes of the frame that waits.
//!
//! # Source
//! None: this law is CONTRIBUTING.md's.
//!
//! # Symbols
//! `a` → [`PatientParams::airtimes`]; `Q` → [`LinkView::backlog`] \[packets\].
//!
//! # Signals
//! The backlog of the own queue, once per interval.
//!
//! # Deviations
//! None. There is no fluid drift: no equation is behind it.
//!
//! # Example
//! ```
//! use evenair_laws::Parameters;
//! use evenair_laws::backoff::{BackoffLaw, Draw, LinkRole, Surroundings, patient::PatientParams};
//! let law = PatientParams { airtimes: 4.0, ..Default::default() }.begin(&LinkRole::data(Surroundings::default()));
//! assert_eq!(law.access().draw, Draw::ExponentialOfFrame { factor: 4.0, slotted: false });
//! ```

use super::{Access, BackoffLaw, Draw, Holding, LinkRole, LinkView, OnFailure, Scope, Surroundings, When};
use crate::{BadParameter, Parameters, check};
use evenair_units::Duration;

/// Parameters of the law.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(default, deny_unknown_fields)
)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct PatientParams {
    /// Mean back-off with nothing to send, in airtimes of the frame that waits.
    pub airtimes: f64,
    /// How often the law looks at its queue.
    pub interval: Duration,
}

impl Default for PatientParams {
    fn default() -> Self {
        Self { airtimes: 2.0, interval: Duration::from_millis(100) }
    }
}

impl Parameters for PatientParams {
    type Surroundings = Surroundings;
    type Place = LinkRole;
    type Law = Patient;

    fn validated(self) -> Result<Self, BadParameter> {
        let (airtimes, interval) = (self.airtimes, self.interval);
        check("airtimes", airtimes, airtimes > 0.0 && airtimes.is_finite(), "above 0")?;
        check("interval", interval.as_secs_f64(), !interval.is_zero(), "longer than no time")?;
        Ok(self)
    }

    fn begin(&self, role: &LinkRole) -> Patient {
        Patient { params: *self, holding: role.surroundings.holding, waiting: 0 }
    }
}

/// The state at one queue.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Patient {
    params: PatientParams,
    holding: Holding,
    waiting: u64,
}

impl BackoffLaw for Patient {
    fn scope(&self) -> Scope {
        Scope::NextHop
    }

    fn update_interval(&self) -> Option<Duration> {
        Some(self.params.interval)
    }

    fn on_update(&mut self, link: &LinkView) {
        self.waiting = link.backlog.packets;
    }

    fn access(&self) -> Access {
        let factor = self.params.airtimes / (1.0 + self.waiting as f64);
        Access {
            draw: Draw::ExponentialOfFrame { factor, slotted: false },
            on_failure: OnFailure::Redraw,
            when: When::BeforeFrame,
            holding: self.holding,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use evenair_units::Volume;

    #[test]
    fn three_packets_wait_a_quarter_as_long() {
        let mut law = PatientParams { airtimes: 2.0, ..Default::default() }
            .begin(&LinkRole::data(Surroundings::default()));
        law.on_update(&LinkView { backlog: Volume { packets: 3, bytes: 3000 }, ..LinkView::default() });
        assert_eq!(law.access().draw, Draw::ExponentialOfFrame { factor: 0.5, slotted: false });
    }
}
