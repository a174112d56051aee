//! What a controller writes down: its law's tape, and what became of each answer; and a record heard again.

use super::{Caps, bounded};
use evenair_laws::Parameters;
use evenair_laws::connections::{
    AnyConnections, ConnectionAnswer, ConnectionLaw, ConnectionParams, ConnectionTold,
};
use evenair_laws::flow::FlowRole;
use evenair_laws::tape::Taped;
use serde::{Deserialize, Serialize};

/// The form of the lines: it grows by one where a reader would have to know.
pub const SCHEMA: u32 = 1;

/// A line of the record.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Line {
    /// [`SCHEMA`].
    pub schema: u32,
    /// By the controller's clock \[ns\].
    pub at_ns: u64,
    /// What.
    pub what: What,
}

/// What happened.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[allow(clippy::large_enum_variant, reason = "a line of a file; boxed, its fields would not be its own")]
pub enum What {
    /// A law begins: all that a replay needs to know.
    Begin {
        /// Its parameters.
        law: ConnectionParams,
        /// The flow.
        role: FlowRole,
        /// The host's bounds on its answers.
        caps: Caps,
    },
    /// The law was told of an interval, and answered.
    Heard {
        /// What it was told.
        told: ConnectionTold,
        /// What it answered.
        answer: ConnectionAnswer,
        /// How many connections were open then.
        open: u32,
        /// How many there were to be after it.
        wanted: u32,
    },
    /// There was not always something to send: the law was told nothing.
    Held,
}

/// One decision, beside the one on record.
#[derive(Clone, Debug, PartialEq)]
pub struct Again {
    /// When \[ns\].
    pub at_ns: u64,
    /// How many connections the record says.
    pub recorded: u32,
    /// How many the law that hears it again leads to.
    pub replayed: u32,
    /// Whether all that the law answers is the same to the last bit.
    pub is_same: bool,
}

/// A law that hears a record, line by line.
#[derive(Clone, Debug)]
pub struct Replay {
    other: Option<ConnectionParams>,
    law: Option<(AnyConnections, Caps)>,
}

impl Replay {
    /// By another law, or by the one on record.
    pub const fn new(other: Option<ConnectionParams>) -> Self {
        Self { other, law: None }
    }

    /// One more line; gives the decision, if it is one.
    ///
    /// # Errors
    /// If the record does not begin with its law, or is of another form.
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
                    // What `Debug` prints of a number tells it from every other.
                    is_same: format!("{again:?}") == format!("{answer:?}"),
                }))
            }
        }
    }
}
