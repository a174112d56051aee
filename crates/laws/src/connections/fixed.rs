//! A fixed number of connections.
//!
//! # Law
//! `n` keeps its set value.
//!
//! # Source
//! The pools of today's multi-connection tools, and [CZ06]'s boundary system (15), where `n` is a constant.
//!
//! # Symbols
//! `n` → [`FixedParams::connections`].
//!
//! # Signals
//! None.
//!
//! # Deviations
//! None. Its drift is zero.
//!
//! # Example
//! ```
//! use evenair_laws::Parameters;
//! use evenair_laws::connections::{ConnectionLaw, FixedParams};
//! use evenair_laws::flow::{FlowRole, FlowView};
//! let mut law = FixedParams { connections: 4 }.begin(&FlowRole { payload: evenair_units::Bytes::new(1000) });
//! assert_eq!((law.at_start(), law.on_interval(&FlowView::default())), (4, 4));
//! ```

use super::{ConnectionLaw, Reason};
use crate::flow::{FlowRole, FlowView, Signal};
use crate::{BadParameter, Parameters, check};
use alloc::vec::Vec;
use evenair_units::Duration;

/// Parameters of the law.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(default, deny_unknown_fields)
)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct FixedParams {
    /// How many.
    #[cfg_attr(feature = "serde", serde(rename = "n"))]
    pub connections: u32,
}

impl Default for FixedParams {
    /// One: plain TCP.
    fn default() -> Self {
        Self { connections: 1 }
    }
}

impl Parameters for FixedParams {
    type Surroundings = ();
    type Place = FlowRole;
    type Law = Fixed;

    fn validated(self) -> Result<Self, BadParameter> {
        let n = self.connections;
        check("n", f64::from(n), (1..=100_000).contains(&n), "from 1 to 100000")?;
        Ok(self)
    }

    fn begin(&self, _: &FlowRole) -> Fixed {
        Fixed { connections: self.connections }
    }
}

/// The law's state for one flow.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Fixed {
    connections: u32,
}

impl ConnectionLaw for Fixed {
    /// The law has no input; the interval only sets how often the host runs it.
    fn interval(&self) -> Duration {
        Duration::from_secs(60)
    }

    fn at_start(&self) -> u32 {
        self.connections
    }

    fn needs(&self) -> Vec<Signal> {
        Vec::new()
    }

    fn reason(&self) -> Reason {
        Reason::Configured
    }

    fn on_interval(&mut self, _: &FlowView) -> u32 {
        self.connections
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::connections::{AnyConnections, ConnectionParams};
    use evenair_units::Bytes;

    #[test]
    fn it_begins_with_all_of_them() {
        let params = ConnectionParams::from(FixedParams { connections: 8 });
        let mut law: AnyConnections = params.begin(&FlowRole { payload: Bytes::new(1000) });
        assert_eq!(law.at_start(), 8);
        assert!((0..100).all(|_| law.on_interval(&FlowView::default()) == 8));
    }

    #[test]
    fn there_is_at_least_one() {
        let n = |connections| FixedParams { connections };
        crate::ranges::assert_range("n", n, &[1, 100_000], &[0, 100_001]);
    }
}
