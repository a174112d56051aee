//! The dialling side: a session with a relay, its wanted number of connections, and a new session after a
//! loss.

mod dial;
mod keep;
mod learn;

pub use dial::ConnectError;
pub(crate) use dial::prepare;
pub(crate) use keep::LINGER;

use crate::budget::Budget;
use crate::core::Limits;
use crate::frame::Closed;
use crate::governor::Governor;
use crate::keys::{PublicKey, SecretKey};
use crate::paths::{Known, Paths, Seen};
use crate::session::{Session, Stream};
use crate::status::{Direction, SessionStatus};
use dial::Dialler;
use evenair_laws::connections::ConnectionParams;
use evenair_units::Rate;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::sync::Notify;

/// A stream waits this long for a session before it fails.
const OPENING_TIME_MAX: Duration = Duration::from_secs(15);

/// The client's options.
#[derive(Clone, Debug)]
pub struct ConnectOptions {
    /// The relay's host and port.
    pub relay: String,
    /// The relay's public keys; two while keys are rotated.
    pub relay_keys: Vec<PublicKey>,
    /// The client's secret key.
    pub key: SecretKey,
    /// The law of this side's sending direction.
    pub law: ConnectionParams,
    /// The law requested for the relay's sending direction; the relay's own if not given.
    pub down: Option<ConnectionParams>,
    /// The most connections, the spare one included.
    pub most: u32,
    /// The congestion control of each connection; the system's default if not given and the law requires
    /// none.
    pub congestion: Option<String>,
    /// Whether probes may be sent: datagrams to the relay's port.
    pub probes: bool,
    /// The store of path observations, from which later sessions begin; nothing is stored if not given.
    pub paths: Option<Paths>,
    /// The highest rate of stream bytes over all connections; no bound if not given.
    pub rate_most: Option<Rate>,
    /// Memory for bytes of streams \[bytes\].
    pub memory: u64,
    /// Limits of streams.
    pub limits: Limits,
}

impl ConnectOptions {
    /// Returns the default options: the law `guarded` both ways, up to 16 connections.
    ///
    /// # Panics
    /// Never: the law exists.
    pub fn new(relay: impl Into<String>, relay_key: PublicKey, key: SecretKey) -> Self {
        let law = crate::control::law("guarded").expect("there is such a law");
        Self {
            relay: relay.into(),
            relay_keys: vec![relay_key],
            key,
            law,
            down: None,
            most: 16,
            congestion: None,
            probes: true,
            paths: None,
            rate_most: None,
            memory: 256 << 20,
            limits: Limits::default(),
        }
    }
}

/// Connects to a relay.
///
/// # Errors
/// If the relay cannot be reached, refuses, or has another key.
pub async fn connect(options: ConnectOptions) -> Result<Client, ConnectError> {
    let dialler = Dialler::new(options)?;
    let first = dialler.begin().await?;
    let shared = Arc::new(Shared {
        dialler,
        current: Mutex::new(Some(first)),
        trouble: Mutex::new(None),
        changed: Notify::new(),
        wanted: Notify::new(),
        closed: Notify::new(),
    });
    let keeps = tokio::spawn(keep::keep(Arc::clone(&shared)));
    Ok(Client(Arc::new(Owner { shared, keeps })))
}

/// A client, which opens streams to a relay. Clones share one session, which ends with the last clone.
#[derive(Clone, Debug)]
pub struct Client(Arc<Owner>);

#[derive(Debug)]
struct Owner {
    shared: Arc<Shared>,
    keeps: tokio::task::JoinHandle<()>,
}

impl Drop for Owner {
    fn drop(&mut self) {
        self.keeps.abort();
        if let Some(current) = self.shared.current() {
            current.session.close(Closed::Done);
        }
    }
}

#[derive(Debug)]
pub(crate) struct Shared {
    dialler: Dialler,
    current: Mutex<Option<Current>>,
    /// The reason why there is no session.
    trouble: Mutex<Option<ConnectError>>,
    changed: Notify,
    /// Notified when a stream waits for a session.
    wanted: Notify,
    closed: Notify,
}

/// The present session.
#[derive(Clone, Debug)]
pub(crate) struct Current {
    session: Session,
    id: crate::hello::SessionId,
    /// The key that proves joins.
    key: crate::hello::Exported,
    most: u32,
    governor: Governor,
    relay_law: String,
    /// Its path, if paths are remembered, and the remembered numbers of connections.
    seen: Option<Seen>,
    known: Known,
}

impl Shared {
    fn current(&self) -> Option<Current> {
        self.current.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn set(&self, current: Option<Current>, trouble: Option<ConnectError>) {
        *self.current.lock().unwrap_or_else(PoisonError::into_inner) = current;
        *self.trouble.lock().unwrap_or_else(PoisonError::into_inner) = trouble;
        self.changed.notify_waiters();
    }
}

impl Client {
    /// Opens a stream; waits for a session for a limited time.
    ///
    /// # Errors
    /// The reason why no stream opens.
    pub async fn open(&self) -> Result<Stream, ConnectError> {
        let shared = &self.0.shared;
        let opens = async {
            loop {
                let changed = shared.changed.notified();
                if let Some(current) = shared.current() {
                    match current.session.open() {
                        Err(crate::core::OpenError::Closed(_)) => {}
                        other => return other.map_err(ConnectError::Open),
                    }
                }
                shared.wanted.notify_one();
                changed.await;
            }
        };
        let opened = tokio::time::timeout(OPENING_TIME_MAX, opens).await;
        opened.unwrap_or_else(|_| Err(self.trouble().unwrap_or(ConnectError::TimedOut)))
    }

    /// Returns the status of the session, if there is one.
    pub fn status(&self) -> Vec<SessionStatus> {
        let Some(current) = self.0.shared.current() else { return Vec::new() };
        let options = &self.0.shared.dialler.options;
        let up = Direction::sent(&current.session, current.governor.wanted(), current.governor.status());
        let down = Direction::received(&current.session);
        vec![SessionStatus::of(&options.relay, &current.session, up, down)]
    }

    /// Returns the key of the session's probes and their destination.
    pub(crate) fn probed(&self) -> Option<(crate::hello::Exported, std::net::SocketAddr)> {
        let current = self.0.shared.current()?;
        let relay = current.session.subflows().first()?.peer.parse().ok()?;
        Some((current.key, relay))
    }

    /// Returns the session's number, which no other client learns.
    #[cfg(test)]
    pub(crate) fn session_id(&self) -> Option<crate::hello::SessionId> {
        self.0.shared.current().map(|current| current.id)
    }

    /// Returns the reason why there is no session, if there is none.
    pub fn trouble(&self) -> Option<ConnectError> {
        self.0.shared.trouble.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Returns a message while probes are sent and none returns; it names the remedy.
    pub fn silence(&self) -> Option<String> {
        self.0.shared.dialler.silence()
    }

    /// Returns the remembered numbers of connections with which its session began.
    pub fn known(&self) -> Known {
        self.0.shared.current().map_or(Known::NOTHING, |current| current.known)
    }

    /// Returns the relay's description of its own law.
    pub fn relay_law(&self) -> Option<String> {
        self.0.shared.current().map(|current| current.relay_law)
    }

    /// Waits, for a few seconds at most, until all written bytes have reached the relay; then ends the
    /// session.
    pub async fn finish(self) {
        if let Some(current) = self.0.shared.current() {
            let begun = std::time::Instant::now();
            while current.session.open_streams() > 0 && begun.elapsed() < Duration::from_secs(5) {
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
            current.session.close(Closed::Done);
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        self.0.shared.closed.notify_waiters();
    }
}

/// Returns a memory budget for a client's sessions.
fn budget(options: &ConnectOptions) -> Arc<Budget> {
    Budget::new(options.memory)
}
