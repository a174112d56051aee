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
use evenair_units::plain_message;
use serde::{Deserialize, Serialize};
use std::io::{self, BufRead as _, BufReader, Write as _};
use std::os::unix::net::UnixStream;
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

/// Number of attempts while the daemon closes connections unread.
const TRIES: u32 = 20;

/// Sends a request to a running gateway and returns its reply.
///
/// # Errors
/// If no gateway runs there, or it does not answer.
pub fn ask(path: &Path, request: &Request) -> Result<Answer, Failure> {
    // Under a flood of the same user's connections one may be closed before its request is read. The
    // kernel then refuses the request, or reports that the other end closed with bytes unread.
    let is_unread = |error: &io::Error| {
        matches!(error.kind(), io::ErrorKind::BrokenPipe | io::ErrorKind::ConnectionReset)
    };
    let ask = || {
        let mut stream = UnixStream::connect(path)?;
        stream.set_read_timeout(Some(Duration::from_secs(30)))?;
        let mut text = serde_json::to_vec(request)?;
        text.push(b'\n');
        stream.write_all(&text)?;
        let mut line = String::new();
        if BufReader::new(stream).read_line(&mut line)? == 0 {
            return Err(io::Error::other(
                "the gateway ended, or closed the connection, without an answer; ask again",
            ));
        }
        Ok(serde_json::from_str(&line)?)
    };
    let mut asked = ask();
    for _ in 1..TRIES {
        if !asked.as_ref().is_err_and(is_unread) {
            break;
        }
        asked = ask();
    }
    asked.map_err(|error: io::Error| {
        let why = match error.kind() {
            io::ErrorKind::NotFound | io::ErrorKind::ConnectionRefused => {
                "no gateway runs with this file; start one: evenair gateway run".into()
            }
            io::ErrorKind::PermissionDenied => {
                "only the socket's group may ask; ask as root or as a member of it (ls -l shows the group)"
                    .into()
            }
            io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => {
                "the gateway has not answered within 30 s; see its log".into()
            }
            _ => plain_message(&error.to_string()),
        };
        Failure::new(path.display().to_string(), why)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::net::UnixListener;

    #[test]
    fn request_that_was_left_unread_is_made_again() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("socket");
        let socket = UnixListener::bind(&path).unwrap();
        let daemon = std::thread::spawn(move || {
            for _ in 0..3 {
                drop(socket.accept().unwrap());
            }
            let (mut stream, _) = socket.accept().unwrap();
            BufReader::new(&stream).read_line(&mut String::new()).unwrap();
            stream.write_all(b"{\"done\":\"paused\"}\n").unwrap();
        });
        assert_eq!(ask(&path, &Request::Pause), Ok(Answer::Done("paused".into())));
        daemon.join().unwrap();
    }
}
