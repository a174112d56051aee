//! The listening side: one port, sessions of authorised keys, and their streams.

mod admission;
#[cfg(test)]
mod attack;
mod clock;
mod greet;
mod returns;
mod sessions;
mod troubles;

use crate::authorised::{Authorised, Entry};
use crate::budget::Budget;
use crate::keys::SecretKey;
use crate::probe::live::Desk;
use crate::session::Stream;
use crate::status::{Handshakes, SessionStatus};
use crate::{Mistake, tls};
use admission::{Admission, OUTCOMES};
pub use clock::TimeOfDay;
use evenair_laws::connections::ConnectionParams;
use evenair_units::Rate;
use returns::{CONNECTION, Returns};
use sessions::Sessions;
use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::os::unix::fs::MetadataExt as _;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};
use std::time::{Duration, Instant};
use tokio::net::{TcpListener, UdpSocket};
use tokio::sync::mpsc;
use troubles::Troubles;

/// The time between two checks of the file of authorised keys and of expiries: a revoked key's sessions end
/// within a second.
const LOOK: Duration = Duration::from_millis(300);

/// The listener's options.
#[derive(Clone, Debug)]
pub struct ListenOptions {
    /// Addresses to listen on.
    pub listen: Vec<SocketAddr>,
    /// Its keys: the one that a client requests answers it, else the first.
    pub keys: Vec<SecretKey>,
    /// The authorised keys.
    pub authorised: Source,
    /// The law of its sending direction; the client's request if not given, and `guarded` without a request.
    pub law: Option<ConnectionParams>,
    /// The congestion control of each connection; the system's default if not given and the law requires
    /// none.
    pub congestion: Option<String>,
    /// The highest rate of stream bytes to all clients together; no bound if not given.
    pub rate_most: Option<Rate>,
    /// Memory for bytes of all streams \[bytes\].
    pub memory: u64,
    /// The most connections in all. Half of them is shared among keys; the other half is first come, first
    /// served.
    pub connections: u32,
    /// The most unauthenticated connections at once.
    pub handshakes: u32,
    /// The most unauthenticated connections from one address, or one /64 of IPv6.
    pub handshakes_per_source: u32,
    /// The clock by which keys expire, the system's by default.
    pub time_of_day: TimeOfDay,
}

impl ListenOptions {
    /// Returns the default options.
    pub fn new(listen: SocketAddr, key: SecretKey, authorised: Source) -> Self {
        Self {
            listen: vec![listen],
            keys: vec![key],
            authorised,
            law: None,
            congestion: None,
            rate_most: None,
            memory: 1 << 30,
            connections: 4096,
            handshakes: 256,
            handshakes_per_source: 32,
            time_of_day: TimeOfDay::default(),
        }
    }
}

/// The source of the authorised keys.
#[derive(Clone, Debug)]
pub enum Source {
    /// A file, which is read again when it changes.
    File(PathBuf),
    /// The keys themselves.
    These(Authorised),
}

/// The reason why the listener cannot start.
#[derive(Debug)]
pub enum ListenError {
    /// A file is wrong.
    Mistake(Mistake),
    /// An address is not available.
    Address(SocketAddr, io::Error),
    /// The configuration would serve no client.
    Nobody(&'static str),
    /// The law cannot run here.
    Law(String),
    /// The kernel does not give connections their congestion control.
    Congestion(String),
    /// TLS cannot be set up.
    Tls(String),
}

impl fmt::Display for ListenError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Mistake(mistake) => mistake.fmt(f),
            Self::Address(address, why) => write!(f, "{address}: {why}"),
            Self::Nobody(why) => f.write_str(why),
            Self::Law(why) => f.write_str(why),
            Self::Congestion(why) => write!(f, "congestion control: {why}"),
            Self::Tls(why) => write!(f, "TLS: {why}"),
        }
    }
}

impl std::error::Error for ListenError {}

impl From<Mistake> for ListenError {
    fn from(mistake: Mistake) -> Self {
        Self::Mistake(mistake)
    }
}

/// The authorised keys at present.
#[derive(Debug)]
pub(crate) struct Known {
    all: RwLock<Arc<Authorised>>,
    time_of_day: TimeOfDay,
}

impl Known {
    fn all(&self) -> Arc<Authorised> {
        Arc::clone(&self.all.read().unwrap_or_else(PoisonError::into_inner))
    }

    fn set(&self, all: Authorised) {
        *self.all.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(all);
    }

    pub(crate) fn find(&self, key: crate::keys::PublicKey) -> Option<Arc<Entry>> {
        self.all().find(key, self.time_of_day.now())
    }
}

impl tls::Knows for Known {
    fn knows(&self, key: crate::keys::PublicKey) -> bool {
        self.find(key).is_some()
    }
}

/// A stream that a client opened.
#[derive(Debug)]
pub struct Accepted {
    /// The stream.
    pub stream: Stream,
    /// The client's key and its present permissions.
    pub entry: Arc<Entry>,
}

/// A listener.
#[derive(Debug)]
pub struct Listener {
    shared: Arc<Shared>,
    accepted: mpsc::Receiver<Accepted>,
    tasks: Vec<tokio::task::JoinHandle<()>>,
    addresses: Vec<SocketAddr>,
}

/// The state that the tasks of a listener share.
#[derive(Debug)]
pub(crate) struct Shared {
    options: ListenOptions,
    /// The congestion control of connections if the law requires none.
    congestion: String,
    known: Arc<Known>,
    sessions: Sessions,
    /// Receives the probes.
    desk: Desk,
    admission: Arc<Admission>,
    accepted: mpsc::Sender<Accepted>,
    /// Held by the handshake that takes a step.
    handshaking: tokio::sync::Mutex<()>,
    troubles: Mutex<Troubles>,
}

impl Shared {
    fn troubles(&self) -> MutexGuard<'_, Troubles> {
        self.troubles.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The congestion control with which connections begin. A client's law is read only from its greeting, and a
/// connection that began with BBR stays paced (see `dial`).
const UNTIL_GREETED: &str = "reno";

/// Returns the congestion control of accepted connections if the law requires none: the configured one, else
/// the system's default. The socket itself is left with [`UNTIL_GREETED`].
fn congestion_at(listener: &TcpListener, asked: Option<&str>) -> io::Result<String> {
    let own = match asked {
        Some(name) => {
            evenair_linux::tcp::set_congestion_control(listener, name)?;
            name.into()
        }
        None => evenair_linux::tcp::congestion_control(listener)?,
    };
    evenair_linux::tcp::set_congestion_control(listener, UNTIL_GREETED)?;
    Ok(own)
}

/// Starts a listener.
///
/// # Errors
/// If no client could be served, the address is taken, or the kernel lacks the congestion control.
pub async fn listen(options: ListenOptions) -> Result<Listener, ListenError> {
    // Taken before the file is read, so that no change is missed.
    let (seen, authorised) = match &options.authorised {
        Source::File(path) => (stamp(path), Authorised::load(path)?),
        Source::These(these) => (None, these.clone()),
    };
    if authorised.is_empty() {
        return Err(ListenError::Nobody(
            "no key is authorised, so no client could use it; see: evenair multiconn keygen",
        ));
    }
    if options.keys.is_empty() {
        return Err(ListenError::Nobody("it has no key of its own; make one: evenair multiconn keygen"));
    }
    if let Some(law) = &options.law {
        let most = crate::control::MOST;
        crate::governor::Governor::new(law.clone(), most, false)
            .map_err(|refused| ListenError::Law(refused.to_string()))?;
    }
    let time_of_day = options.time_of_day.clone();
    let known = Arc::new(Known { all: RwLock::new(Arc::new(authorised)), time_of_day });
    let config = tls::relay(&options.keys, Arc::clone(&known) as Arc<dyn tls::Knows>)
        .map_err(|error| ListenError::Tls(error.to_string()))?;
    let (mut listeners, mut congestion) = (Vec::new(), String::new());
    for address in &options.listen {
        let bound = TcpListener::bind(address).await;
        let bound = bound.map_err(|error| ListenError::Address(*address, error))?;
        let of_address = congestion_at(&bound, options.congestion.as_deref());
        congestion = of_address.map_err(|error| ListenError::Congestion(error.to_string()))?;
        listeners.push(bound);
    }
    let (sender, accepted) = mpsc::channel(1024);
    let shared = Arc::new(Shared {
        sessions: Sessions::new(Budget::new(options.memory), options.memory, options.rate_most),
        admission: Admission::new(options.handshakes, options.handshakes_per_source, options.connections),
        known,
        desk: Desk::default(),
        accepted: sender,
        handshaking: tokio::sync::Mutex::default(),
        troubles: Mutex::default(),
        congestion,
        options,
    });
    shared.sessions.share(&shared.known.all());
    let addresses: Vec<SocketAddr> =
        listeners.iter().filter_map(|listener| listener.local_addr().ok()).collect();
    let acceptor = tokio_rustls::TlsAcceptor::from(Arc::new(config));
    let mut tasks = vec![tokio::spawn(watch(Arc::clone(&shared), seen))];
    for address in &addresses {
        // Without the UDP port there are no probes, and laws use TCP's round trips.
        if let Ok(socket) = UdpSocket::bind(address).await {
            let desk = shared.desk.clone();
            tasks.push(tokio::spawn(async move {
                let _ = desk.serve(socket).await;
            }));
        }
    }
    for listener in listeners {
        tasks.push(tokio::spawn(greet::accept(Arc::clone(&shared), listener, acceptor.clone())));
    }
    Ok(Listener { shared, accepted, tasks, addresses })
}

impl Listener {
    /// Returns the next stream that a client opens.
    pub async fn accept(&mut self) -> Option<Accepted> {
        self.accepted.recv().await
    }

    /// Returns the addresses that it listens on.
    pub fn addresses(&self) -> &[SocketAddr] {
        &self.addresses
    }

    /// Returns a handle that reads the listener's status.
    pub fn watcher(&self) -> Watcher {
        Watcher(Arc::clone(&self.shared))
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        self.tasks.iter().for_each(tokio::task::JoinHandle::abort);
        self.shared.sessions.close_all(crate::frame::Closed::Done);
    }
}

/// Reads a listener's status.
#[derive(Clone, Debug)]
pub struct Watcher(Arc<Shared>);

impl Watcher {
    /// Returns its sessions.
    pub fn sessions(&self) -> Vec<SessionStatus> {
        self.0.sessions.status()
    }

    /// Returns the present fault, if there is one.
    pub fn trouble(&self) -> Option<String> {
        self.0.troubles().now(Instant::now(), self.0.options.handshakes)
    }

    /// Returns the outcomes of handshakes.
    pub fn handshakes_so_far(&self) -> Handshakes {
        let ended = OUTCOMES.iter().map(|(outcome, name)| (*name, self.0.admission.so_far(*outcome)));
        Handshakes { open: self.handshakes(), ended: ended.collect() }
    }

    /// Returns the number of unauthenticated connections.
    pub fn handshakes(&self) -> u32 {
        self.0.admission.handshakes()
    }

    /// Returns the memory in use by streams \[bytes\].
    pub fn memory(&self) -> u64 {
        self.0.sessions.memory()
    }

    /// Returns the number of authorised keys.
    pub(crate) fn keys(&self) -> usize {
        self.0.known.all().len()
    }

    /// Returns the present permissions of a key, if it is authorised.
    pub(crate) fn find(&self, key: crate::keys::PublicKey) -> Option<Arc<Entry>> {
        self.0.known.find(key)
    }
}

/// Identifies a version of a file.
type Stamp = (i64, i64, u64, u64);

fn stamp(path: &std::path::Path) -> Option<Stamp> {
    let there = std::fs::metadata(path).ok()?;
    Some((there.mtime(), there.mtime_nsec(), there.ino(), there.len()))
}

/// Detects that a file has changed and is no longer being written: a half-written file, empty at first, may
/// parse, and authorises no key.
struct Rests {
    read: Option<Stamp>,
    seen: Option<Stamp>,
}

impl Rests {
    fn is_to_be_read(&mut self, now: Option<Stamp>) -> bool {
        let rests = std::mem::replace(&mut self.seen, now) == now;
        rests && std::mem::replace(&mut self.read, now) != now
    }
}

/// Reads the file of authorised keys again when it changes, and ends the sessions of keys that are no longer
/// valid.
async fn watch(shared: Arc<Shared>, read: Option<Stamp>) {
    let mut file = Rests { read, seen: read };
    let mut returns = Returns::default();
    loop {
        tokio::time::sleep(LOOK).await;
        if let Source::File(path) = &shared.options.authorised
            && file.is_to_be_read(stamp(path))
        {
            let trouble = match Authorised::load(path) {
                Ok(all) => {
                    shared.sessions.share(&all);
                    shared.known.set(all);
                    None
                }
                // The previous keys stay valid.
                Err(mistake) => Some(mistake.to_string()),
            };
            shared.troubles().file = trouble;
            shared.admission.retain(|key| shared.known.find(key).is_some());
        }
        shared.sessions.reap(&shared.known);
        if returns
            .is_due(shared.sessions.memory() + shared.admission.connections() * CONNECTION, Instant::now())
        {
            let _ = tokio::task::spawn_blocking(evenair_linux::memory::trim).await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn file_is_read_once_it_rests() {
        let [old, half, whole] = [(0, 0, 1, 200), (1, 0, 1, 0), (1, 0, 1, 150)].map(Some);
        let mut file = Rests { read: old, seen: old };
        let looks = [old, half, whole, whole, whole, None, None, whole, whole];
        let read = looks.map(|now| file.is_to_be_read(now));
        assert_eq!(read, [false, false, false, true, false, false, true, false, true]);
    }

    #[tokio::test]
    async fn accepted_connection_was_never_paced() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let own = evenair_linux::tcp::congestion_control(&listener).unwrap();
        let of = |socket: &TcpListener| evenair_linux::tcp::congestion_control(socket).unwrap();
        assert_eq!(congestion_at(&listener, None).unwrap(), own);
        assert_eq!(of(&listener), UNTIL_GREETED);
        assert_eq!(congestion_at(&listener, Some("cubic")).unwrap(), "cubic");
        let (came, _) =
            tokio::join!(listener.accept(), tokio::net::TcpStream::connect(listener.local_addr().unwrap()));
        assert_eq!(evenair_linux::tcp::congestion_control(came.unwrap().0).unwrap(), UNTIL_GREETED);
    }
}
