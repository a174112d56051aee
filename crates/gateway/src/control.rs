//! The control socket of a running gateway: one line of JSON in each direction.
//!
//! Root, the daemon's own user, and the members of the operator's group may change the gateway. The
//! socket's mode decides which users may read the status: by default the daemon's group, or the
//! operator's. A separate thread answers ([`Listener`]) with the last status that the main loop
//! published. It passes requests for changes to the loop.

mod listener;

pub use listener::{Listener, Ticket};

use crate::kernel::Failure;
use crate::status::Status;
use evenair_linux::socket;
use evenair_units::plain_message;
use serde::{Deserialize, Serialize};
use std::io;
use std::path::Path;
use std::time::Duration;

/// A request to the daemon.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Request {
    /// Requests the status.
    Status,
    /// Opens the limits.
    Pause,
    /// Sets the limits again.
    Resume,
    /// Confirms a trial: its settings stay.
    Confirm,
    /// Reloads the operator's file.
    Reload,
    /// Ends the daemon and leaves the installed state to the next one.
    HandOver,
}

/// The daemon's reply to a request.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Answer {
    /// The status.
    Status(Box<Status>),
    /// The request was carried out; the text describes the result.
    Done(String),
    /// The request was refused; the text gives the reason.
    Refused(String),
}

impl Request {
    /// Returns whether the request changes something.
    pub fn changes(&self) -> bool {
        *self != Self::Status
    }
}

/// Longest wait for an answer: reading a large file of subscribers takes seconds.
const ANSWER_TIME: Duration = Duration::from_secs(30);

/// Sends a request to a running gateway and returns its reply.
///
/// # Errors
/// If no gateway runs there, or it does not answer.
pub fn ask(path: &Path, request: &Request) -> Result<Answer, Failure> {
    let ask = || {
        let answer = socket::ask(path, &serde_json::to_string(request)?, ANSWER_TIME)?;
        serde_json::from_str(&answer).map_err(|error| io::Error::other(plain_message(&error.to_string())))
    };
    ask().map_err(|error: io::Error| {
        let missing = "no gateway runs with this file; start one: evenair gateway run";
        Failure::new(path.display().to_string(), socket::why(&error, missing, ANSWER_TIME))
    })
}
