//! The socket by which a running gateway is asked and told: a line of JSON each way.
//!
//! Root, the daemon's own user, and the members of the operator's group may change something. The socket's mode decides who may ask:
//! the daemon's group, or the operator's, by default. A thread of its own answers ([`Listener`]), from the status that the loop
//! showed last; what changes something is put to the loop.

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

/// A question, or a wish.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Request {
    /// How all fare.
    Status,
    /// The limits are to open.
    Pause,
    /// The limits are to hold again.
    Resume,
    /// All is well: what was begun on trial stays.
    Confirm,
    /// The operator's file is to be read again.
    Reload,
    /// The daemon is to end, and leave all as it is to the next one.
    HandOver,
}

/// An answer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Answer {
    /// How all fare.
    Status(Box<Status>),
    /// It is done: what, in words.
    Done(String),
    /// It is not done: why.
    Refused(String),
}

impl Request {
    /// Whether it changes something.
    pub fn changes(&self) -> bool {
        *self != Self::Status
    }
}

/// So often a request is made that the daemon left unread.
const TRIES: u32 = 20;

/// Asks a running gateway.
///
/// # Errors
/// If none runs there.
pub fn ask(path: &Path, request: &Request) -> Result<Answer, Failure> {
    // Under a flood of the same user's connections one may be closed before its request is read: the kernel refuses to take the
    // request, or says that the other end closed with bytes unread.
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
