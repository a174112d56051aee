//! The status of a client or a relay, and its socket: a line each way.

use crate::control;
use crate::session::Session;
use evenair_linux::server::{Limits, Owner, Service, Text};
use evenair_linux::socket::{self, Access, Socket, Trusted};
use serde::Serialize;
use std::collections::BTreeMap;
use std::io;
use std::os::fd::BorrowedFd;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The version of the answer's format, raised by one when a reader must be changed.
pub const SCHEMA: u32 = 1;

/// The status of a client or a relay.
#[derive(Clone, Debug, Serialize)]
pub struct Status {
    /// [`SCHEMA`].
    pub schema: u32,
    /// "connect" or "relay".
    pub role: &'static str,
    /// The sessions.
    pub sessions: Vec<SessionStatus>,
    /// The present faults, if there are any.
    pub trouble: Option<String>,
    /// A relay's handshakes.
    pub handshakes: Option<Handshakes>,
}

/// Incoming connections, until they belong to a session.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Handshakes {
    /// Unfinished now.
    pub open: u32,
    /// Handshakes by outcome since the start. They are accepted, displaced by newer ones, late,
    /// `unknown_key`, failed (no TLS, or closed), or refused (over the key's limits).
    pub ended: BTreeMap<&'static str, u64>,
}

/// A session.
#[derive(Clone, Debug, Serialize)]
pub struct SessionStatus {
    /// The relay's address, or the name of the client's key.
    pub peer: String,
    /// Its number, unique in this program.
    pub number: u64,
    /// This side's sending direction.
    pub sending: Direction,
    /// The other side's sending direction.
    pub receiving: Direction,
    /// Streams that are open.
    pub streams: u32,
    /// Streams so far.
    pub streams_so_far: u64,
    /// Bytes of streams sent.
    pub sent_bytes: u64,
    /// Bytes sent again on another connection.
    pub again_bytes: u64,
    /// Bytes of streams received, repetitions included.
    pub received_bytes: u64,
    /// Connections that broke.
    pub lost: u64,
    /// Times at which a connection was found stuck.
    pub stuck: u64,
    /// The connections.
    pub connections: Vec<Connection>,
}

/// A direction.
#[derive(Clone, Debug, Serialize)]
pub struct Direction {
    /// The number of connections that its sender wants.
    pub wanted: u32,
    /// Its law, if this side is the sender, with the reason for n.
    pub law: Option<control::Status>,
    /// The bound of stream bytes \[bit/s\], if this side is the sender and there is one.
    pub rate_most_bps: Option<u64>,
}

impl Direction {
    pub(crate) fn sent(session: &Session, wanted: u32, law: control::Status) -> Self {
        let rate_most_bps = session.rate_most().map(evenair_units::Rate::as_bps);
        Self { wanted, law: Some(law), rate_most_bps }
    }

    pub(crate) fn received(session: &Session) -> Self {
        Self { wanted: session.they_want(), law: None, rate_most_bps: None }
    }
}

/// A connection.
#[derive(Clone, Debug, Serialize)]
pub struct Connection {
    /// Its number within the session, at this end.
    pub id: u32,
    /// The other end's address.
    pub peer: String,
    /// Whether this side sends on it.
    pub active: bool,
    /// Whether it has made no progress for a while.
    pub stuck: bool,
    /// Whether it retires.
    pub retires: bool,
    /// Smoothed round trip \[ms\].
    pub round_trip_ms: Option<f64>,
    /// The least round trip of the last minutes \[ms\].
    pub least_round_trip_ms: Option<f64>,
    /// Its congestion control, by the kernel's name.
    pub congestion_control: Option<String>,
    /// Congestion window \[segments\].
    pub congestion_window: Option<u32>,
    /// Data of a full segment \[bytes\].
    pub segment_bytes: Option<u32>,
    /// Segments sent again.
    pub retransmitted: Option<u64>,
    /// Retransmission time-outs; none before Linux 6.7.
    pub timeouts: Option<u64>,
    /// The last measured rate at which data reached the other side \[bytes/s\].
    pub delivery_rate_bytes_per_s: Option<u64>,
    /// Bytes sent, frames included.
    pub sent_bytes: u64,
    /// Bytes of streams received.
    pub received_bytes: u64,
}

impl SessionStatus {
    pub(crate) fn of(peer: &str, session: &Session, sending: Direction, receiving: Direction) -> Self {
        let counts = session.counts();
        let connections = session.subflows().into_iter().map(|subflow| {
            let ms = |time: evenair_units::Duration| time.as_secs_f64() * 1e3;
            let info = subflow.info;
            Connection {
                id: subflow.state.id,
                peer: subflow.peer,
                active: subflow.state.is_active,
                stuck: subflow.state.is_stuck,
                retires: subflow.state.retires,
                round_trip_ms: info.and_then(|info| info.smoothed_round_trip).map(ms),
                least_round_trip_ms: info.and_then(|info| info.least_round_trip).map(ms),
                congestion_control: subflow.congestion_control,
                congestion_window: info.map(|info| info.congestion_window),
                segment_bytes: info.map(|info| info.segment.count()),
                retransmitted: info.map(|info| info.retransmitted),
                timeouts: info.and_then(|info| info.timeouts),
                delivery_rate_bytes_per_s: info.and_then(|info| info.delivery_rate),
                sent_bytes: subflow.state.sent,
                received_bytes: subflow.state.received,
            }
        });
        Self {
            peer: peer.into(),
            number: session.number(),
            sending,
            receiving,
            streams: session.open_streams(),
            streams_so_far: counts.streams,
            sent_bytes: counts.sent,
            again_bytes: counts.again,
            received_bytes: counts.received,
            lost: counts.lost,
            stuck: counts.stuck,
            connections: connections.collect(),
        }
    }
}

/// Returns the default socket of a running program: in the user's runtime directory, or `/run/evenair`.
pub fn usual_socket(role: &str) -> PathBuf {
    let folder = std::env::var_os("RUNTIME_DIRECTORY")
        .map(PathBuf::from)
        .or_else(|| std::env::var_os("XDG_RUNTIME_DIR").map(|folder| PathBuf::from(folder).join("evenair")));
    folder.unwrap_or_else(|| "/run/evenair".into()).join(format!("multiconn-{role}.sock"))
}

/// Bounds of the clients, which are the program's own user and root.
const LIMITS: Limits = Limits {
    trusted: 16,
    others: 0,
    per_user: 0,
    requests: 0,
    request_bytes: 64,
    time: Duration::from_secs(1),
};

/// Answers requests of the program's own user and of root, in a thread without rights of its own.
///
/// # Errors
/// If another program answers there, or the folder is not writable.
pub fn serve(path: &Path, status: impl Fn() -> Status + Send + 'static) -> io::Result<Socket> {
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder)?;
    }
    Socket::serve(path, Access::Own, LIMITS, Desk(Trusted::new(None), status))
}

/// The thread's end of the socket.
struct Desk<F>(Trusted, F);

impl<F: Fn() -> Status + Send + 'static> Service for Desk<F> {
    fn owner(&self, stream: BorrowedFd<'_>) -> io::Result<Owner> {
        let owner = self.0.owner(stream)?;
        // The mode of the socket's file admits no other user; the kernel's word counts all the same.
        if owner.is_trusted { Ok(owner) } else { Err(io::ErrorKind::PermissionDenied.into()) }
    }

    fn is_whole(&self, text: &[u8]) -> bool {
        text.contains(&b'\n')
    }

    fn answer(&mut self, _id: u64, _owner: Owner, request: &[u8]) -> Option<Text> {
        let mut text = match request.trim_ascii() {
            b"status" => serde_json::to_vec(&(self.1)()).unwrap_or_default(),
            b"metrics" => crate::metrics::text(&(self.1)()).into_bytes(),
            _ => br#"{"error":"ask for: status, metrics"}"#.to_vec(),
        };
        if !text.ends_with(b"\n") {
            text.push(b'\n');
        }
        Some(text.into())
    }

    fn too_often(&self) -> Text {
        Vec::new().into()
    }
}

/// A request to a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Question {
    /// Its status, as JSON.
    Status,
    /// The same, in Prometheus' format.
    Metrics,
}

/// Longest wait for an answer.
const ANSWER_TIME: Duration = Duration::from_secs(5);

/// Requests the status of a running program.
///
/// # Errors
/// If none runs there.
pub fn ask(path: &Path, question: Question) -> io::Result<String> {
    let line = match question {
        Question::Status => "status",
        Question::Metrics => "metrics",
    };
    socket::ask(path, line, ANSWER_TIME).map_err(|error| {
        let missing = "nothing runs there; start one: evenair multiconn connect, or relay";
        let why = socket::why(&error, missing, ANSWER_TIME);
        io::Error::new(error.kind(), format!("{}: {why}", path.display()))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn silent_clients_leave_others_their_answer() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("s");
        let status = || Status {
            schema: SCHEMA,
            role: "relay",
            sessions: Vec::new(),
            trouble: Some("x".repeat(1 << 20)),
            handshakes: None,
        };
        let _serves = serve(&path, status).unwrap();
        let connect = || std::os::unix::net::UnixStream::connect(&path).unwrap();
        let _silent: Vec<_> = (0..LIMITS.trusted / 2).map(|_| connect()).collect();
        let mut deaf: Vec<_> = (0..LIMITS.trusted / 2 - 1).map(|_| connect()).collect();
        deaf.iter_mut().for_each(|one| io::Write::write_all(one, b"status\n").unwrap());
        let asked = std::time::Instant::now();
        let answer = ask(&path, Question::Status);
        assert!(answer.unwrap().contains("xxx"));
        // One after the other they would take fifteen times as long as one.
        assert!(asked.elapsed() < LIMITS.time * 4, "it waits for none of them: {:?}", asked.elapsed());
    }
}
