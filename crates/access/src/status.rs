//! The status of a running daemon, and the socket that gives it.

use crate::Mode;
use evenair_laws::backoff::{Category, RegisterLimits, Registers};
use evenair_linux::server::{Limits, Owner, Service, Text};
use evenair_linux::socket::{self, Access, Socket, Trusted};
use serde::{Deserialize, Serialize};
use std::io;
use std::os::fd::BorrowedFd;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// A daemon's status.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Status {
    /// The interface.
    pub interface: String,
    /// Whether registers are set.
    pub mode: Mode,
    /// The category.
    pub category: Category,
    /// The law's name.
    pub law: String,
    /// Why the law does not act now; none if it does.
    pub waits: Option<String>,
    /// The logarithm of the divisor of the mean back-off, if the law has one.
    pub aggressiveness: Option<f64>,
    /// Packets that wait.
    pub backlog_packets: u64,
    /// The rate of the last packets \[bit/s\].
    pub rate_bps: u64,
    /// The registers that the law wants.
    pub wanted: Option<Registers>,
    /// The limits.
    pub limits: RegisterLimits,
    /// The registers that the kernel accepted last. This is no measurement: a driver may round or ignore them.
    pub accepted: Option<Registers>,
    /// The registers that are put back at the end.
    pub restore: Registers,
    /// Updates of the law.
    pub updates: u64,
    /// Looks at the interface because of the kernel's messages about it.
    pub looks: u64,
    /// Requests that the kernel accepted.
    pub sets: u64,
    /// Updates at which limits cut the law's registers.
    pub cuts: u64,
    /// Whether the channel is one of 802.11n or later, on which a channel access carries an aggregate.
    pub aggregates: bool,
}

/// Bounds of the socket's clients.
const LIMITS: Limits = Limits {
    trusted: 8,
    others: 8,
    per_user: 2,
    requests: 10,
    request_bytes: 64,
    time: Duration::from_secs(5),
};
/// Longest wait for an answer.
const ANSWER_TIME: Duration = Duration::from_secs(5);

/// Returns the path of an interface's socket.
pub fn socket(folder: &Path, interface: &str) -> PathBuf {
    folder.join(format!("{interface}.sock"))
}

/// The status that the daemon showed last.
#[derive(Clone, Debug)]
struct Shown {
    text: Arc<Mutex<Text>>,
    trusted: Trusted,
}

impl Shown {
    fn text(&self) -> std::sync::MutexGuard<'_, Text> {
        self.text.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Service for Shown {
    fn owner(&self, stream: BorrowedFd<'_>) -> io::Result<Owner> {
        self.trusted.owner(stream)
    }

    fn is_whole(&self, text: &[u8]) -> bool {
        text.ends_with(b"\n")
    }

    fn answer(&mut self, _: u64, _: Owner, _: &[u8]) -> Option<Text> {
        Some(Arc::clone(&self.text()))
    }

    fn too_often(&self) -> Text {
        Arc::from(*b"")
    }
}

/// The daemon's end of the socket. Dropping it removes the socket.
#[derive(Debug)]
pub struct Listener {
    shown: Shown,
    _socket: Socket,
}

impl Listener {
    /// Opens the socket, for every user of this machine: a status changes nothing.
    ///
    /// # Errors
    /// If the folder is not writable.
    pub fn new(path: &Path) -> io::Result<Self> {
        let shown = Shown { text: Arc::default(), trusted: Trusted::new(None) };
        let socket = Socket::serve(path, Access::Everyone(None), LIMITS, shown.clone())?;
        Ok(Self { shown, _socket: socket })
    }

    /// Shows a status from now on.
    pub fn show(&self, status: &Status) {
        let text = serde_json::to_vec(status).unwrap_or_default();
        *self.shown.text() = text.into();
    }
}

/// Asks the daemon of an interface for its status.
///
/// # Errors
/// If none runs there, or it does not answer.
pub fn ask(folder: &Path, interface: &str) -> io::Result<Status> {
    let path = socket(folder, interface);
    let missing =
        format!("no evenair backoff runs on {interface}; start one: evenair backoff run {interface}");
    let answer = socket::ask(&path, "status", ANSWER_TIME)
        .map_err(|error| io::Error::new(error.kind(), socket::why(&error, &missing, ANSWER_TIME)))?;
    serde_json::from_str(&answer).map_err(io::Error::from)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::restore;
    use std::io::Write as _;
    use std::os::unix::net::UnixStream;

    #[test]
    fn status_is_asked_by_the_socket() {
        let folder = tempfile::tempdir().unwrap();
        let refused = ask(folder.path(), "wlan0").unwrap_err().to_string();
        assert!(refused.contains("start one: evenair backoff run wlan0"), "{refused}");
        let listener = Listener::new(&socket(folder.path(), "wlan0")).unwrap();
        let status = Status {
            interface: "wlan0".into(),
            mode: Mode::Observe,
            category: Category::BestEffort,
            law: "virtual-queue".into(),
            waits: Some("no station".into()),
            aggressiveness: Some(0.01),
            backlog_packets: 3,
            rate_bps: 54_000_000,
            wanted: None,
            limits: RegisterLimits::VALID,
            accepted: None,
            restore: restore::default(Category::BestEffort),
            updates: 7,
            looks: 1,
            sets: 0,
            cuts: 0,
            aggregates: false,
        };
        listener.show(&status);
        assert_eq!(ask(folder.path(), "wlan0").unwrap(), status);
        // Clients that send nothing, half a request, or more than one: the next is answered all the same.
        let path = socket(folder.path(), "wlan0");
        let idle: Vec<_> = (0..40).map(|_| UnixStream::connect(&path)).collect();
        for bytes in [&b"stat"[..], &[0xff; 4096], b"status\nstatus\n"] {
            let _ = UnixStream::connect(&path).and_then(|mut stream| stream.write_all(bytes));
        }
        assert_eq!(ask(folder.path(), "wlan0").unwrap(), status);
        drop(idle);
        drop(listener);
        assert!(!socket(folder.path(), "wlan0").exists());
    }
}
