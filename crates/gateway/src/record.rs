//! What the daemon writes down: a line for all that happened, which is the law's tape at the same time.

use crate::Side;
use crate::config::Mode;
use evenair_laws::gateway::{AnyGateway, GatewayAnswer, GatewayParams, GatewayRole, GatewayTold};
use serde::{Deserialize, Serialize};

/// The form of the lines: it grows by one where a reader would have to know.
pub const SCHEMA: u32 = 1;

/// A line of the record.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Line {
    /// [`SCHEMA`].
    pub schema: u32,
    /// By the clock on the wall \[ms since 1970\].
    pub at_ms: u64,
    /// What.
    pub what: What,
}

/// What happened.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[allow(clippy::large_enum_variant, reason = "a line of a file; boxed, its fields would not be its own")]
pub enum What {
    /// A file begins, or another law: all that a replay needs to know.
    Begin {
        /// The law's parameters.
        law: GatewayParams,
        /// What it has found so far.
        state: AnyGateway,
        /// The gateway, for another law that is to begin here.
        role: GatewayRole,
        /// Whose the classes are, in the law's order.
        classes: Vec<(String, Side)>,
    },
    /// The law was told something, and answered.
    Heard(Heard),
    /// Something else.
    Event(Event),
}

/// What the law was told and answered.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Heard {
    /// What it was told.
    pub told: GatewayTold,
    /// What it answered.
    pub answer: GatewayAnswer,
    /// Whose the classes are from now on, where they are others.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub classes: Option<Vec<(String, Side)>>,
}

/// What else happens.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Event {
    /// The daemon begins.
    Started(Mode),
    /// It ends, and why.
    Stopped(String),
    /// The kernel or a file did not do what it was asked.
    Trouble(String),
    /// What stands in the kernel is not what was put there: so many changes mend it, the first of them these.
    Mended(usize, Vec<String>),
    /// So many classes have rates that somebody else gave them, and keep them: the operator wants it so. The first of them are these.
    Left(usize, Vec<String>),
    /// So many changes would be made, the first of them these.
    WouldChange(usize, Vec<String>),
    /// Packets of these subscribers do not come to their classes.
    Astray(Vec<String>),
    /// All packets come to their classes again.
    NotAstray,
    /// Nothing was to be read for so long that the limits are opened.
    Opened,
    /// There is something to be read again, and the limits hold.
    Closed,
    /// The operator opens the limits.
    Paused,
    /// The operator lets them hold again.
    Resumed,
    /// The operator says that all is well.
    Confirmed,
    /// The operator's file was read again.
    Reloaded,
}
