//! The record of decisions: one line for each event. It is also the law's tape for a replay.

use crate::Side;
use crate::config::Mode;
use evenair_laws::gateway::{AnyGateway, GatewayAnswer, GatewayParams, GatewayRole, GatewayTold};
use serde::{Deserialize, Serialize};

/// The version of the line format; it grows by one with each incompatible change.
pub const SCHEMA: u32 = 1;

/// A line of the record.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Line {
    /// The version, [`SCHEMA`].
    pub schema: u32,
    /// The wall clock \[ms since 1970\].
    pub at_ms: u64,
    /// The event.
    pub what: What,
}

/// An entry of the record.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[allow(clippy::large_enum_variant, reason = "a line of a file; boxed, its fields would not be its own")]
pub enum What {
    /// The start of a file, or of another law, with all that a replay needs.
    Begin {
        /// The law's parameters.
        law: GatewayParams,
        /// The law's present state.
        state: AnyGateway,
        /// The gateway, for a replay by another law.
        role: GatewayRole,
        /// Subscriber and direction of each class, in the law's order.
        classes: Vec<(String, Side)>,
    },
    /// A call of the law, and its answer.
    Heard(Heard),
    /// Any other event.
    Event(Event),
}

/// A call of the law.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Heard {
    /// The input.
    pub told: GatewayTold,
    /// The answer.
    pub answer: GatewayAnswer,
    /// Subscriber and direction of each class, if they changed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub classes: Option<Vec<(String, Side)>>,
}

/// An event of the daemon.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Event {
    /// The daemon has started.
    Started(Mode),
    /// The daemon has stopped, with the reason.
    Stopped(String),
    /// An operation on the kernel or a file has failed.
    Trouble(String),
    /// Another program changed the installed state: the number of repairs, and the first of them.
    Mended(usize, Vec<String>),
    /// Classes keep the rates that another program set, as configured: their number, and the first of
    /// them.
    Left(usize, Vec<String>),
    /// Changes that a dry run would make: their number, and the first of them.
    WouldChange(usize, Vec<String>),
    /// Packets of these subscribers are diverted from their classes.
    #[serde(rename = "astray")]
    Diverted(Vec<String>),
    /// All packets reach their classes again.
    #[serde(rename = "not-astray")]
    NotDiverted,
    /// Nothing could be read for so long that the limits are open.
    Opened,
    /// Counters can be read again, and the limits hold.
    Closed,
    /// The operator opened the limits.
    Paused,
    /// The operator set the limits again.
    Resumed,
    /// The operator confirmed a trial.
    Confirmed,
    /// The operator's file was read again.
    Reloaded,
}
