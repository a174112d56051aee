//! A controller's record: the inputs and answers of its law and the resulting decisions; and its replay.

use super::{Caps, bounded};
use evenair_laws::Parameters;
use evenair_laws::connections::{
    AnyConnections, ConnectionAnswer, ConnectionLaw, ConnectionParams, ConnectionTold,
};
use evenair_laws::flow::FlowRole;
use evenair_laws::tape::Taped;
use serde::{Deserialize, Serialize};

/// The version of the line format, raised by one when a reader must be changed.
pub const SCHEMA: u32 = 1;

/// A line of the record.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Line {
    /// [`SCHEMA`].
    pub schema: u32,
    /// The controller's time \[ns\].
    pub at_ns: u64,
    /// The event.
    pub what: What,
}

/// An event of a record.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[allow(clippy::large_enum_variant, reason = "a line of a file; boxed, its fields would not be its own")]
pub enum What {
    /// A law begins, with all that a replay needs.
    Begin {
        /// Its parameters.
        law: ConnectionParams,
        /// The flow.
        role: FlowRole,
        /// The host's limits on its answers.
        caps: Caps,
    },
    /// The law ran for an interval.
    Heard {
        /// Its input.
        told: ConnectionTold,
        /// Its answer.
        answer: ConnectionAnswer,
        /// The number of open connections then.
        open: u32,
        /// The number of connections decided.
        wanted: u32,
    },
    /// The direction was idle for a part of the interval: the law did not run.
    Held,
}

/// One replayed decision beside the recorded one.
#[derive(Clone, Debug, PartialEq)]
pub struct Again {
    /// The time \[ns\].
    pub at_ns: u64,
    /// The recorded number of connections.
    pub recorded: u32,
    /// The replayed number of connections.
    pub replayed: u32,
    /// Whether the law's whole answer is the same to the last bit.
    pub is_same: bool,
}

/// Replays a record through a law, line by line.
#[derive(Clone, Debug)]
pub struct Replay {
    other: Option<ConnectionParams>,
    law: Option<(AnyConnections, Caps)>,
}

impl Replay {
    /// Returns a replay with another law, or with the recorded one.
    pub const fn new(other: Option<ConnectionParams>) -> Self {
        Self { other, law: None }
    }

    /// Replays one more line; returns the decision, if the line is one.
    ///
    /// # Errors
    /// If the record does not begin with its law, or has another format.
    pub fn hear(&mut self, line: &Line) -> Result<Option<Again>, String> {
        if line.schema != SCHEMA {
            return Err(format!("a line of form {}, this program reads form {SCHEMA}", line.schema));
        }
        match &line.what {
            What::Begin { law, role, caps } => {
                self.law = Some((self.other.as_ref().unwrap_or(law).begin(role), *caps));
                Ok(None)
            }
            What::Held => Ok(None),
            What::Heard { told, answer, open, wanted } => {
                let (law, caps) =
                    self.law.as_mut().ok_or("the record does not begin with its law (\"begin\")")?;
                let again = ConnectionParams::tell(law, told);
                let asked = again.on_interval.unwrap_or_else(|| law.at_start());
                Ok(Some(Again {
                    at_ns: line.at_ns,
                    recorded: *wanted,
                    replayed: bounded(asked, *open, *caps).0,
                    // The `Debug` text of a number differs from that of every other number.
                    is_same: format!("{again:?}") == format!("{answer:?}"),
                }))
            }
        }
    }
}
