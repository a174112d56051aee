//! The side that is dialled: one port, sessions of those whom it knows, and their streams.

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

/// How often the file of authorised keys is looked at, and expiries with it: what is revoked ends within a second.
const LOOK: Duration = Duration::from_millis(300);

/// What a listener is told.
#[derive(Clone, Debug)]
pub struct ListenOptions {
    /// Where it listens.
    pub listen: Vec<SocketAddr>,
    /// Its keys: the one that a client asks for answers it, else the first.
    pub keys: Vec<SecretKey>,
    /// Whom it knows.
    pub authorised: Source,
    /// The law of what it sends; what a client wishes, where it is not given, and `guarded` where that has no wish.
    pub law: Option<ConnectionParams>,
    /// The congestion control of each connection; the system's, where it is not given and the law needs none.
    pub congestion: Option<String>,
    /// The most that it sends of streams to all together; no bound, where it is not given.
    pub rate_most: Option<Rate>,
    /// Memory for bytes of all streams \[bytes\].
    pub memory: u64,
    /// The most connections in all: half of them is shared out among keys, the other half is for whoever comes first.
    pub connections: u32,
    /// The most connections at once of whom it is not known yet who they are.
    pub handshakes: u32,
    /// The most of them from one address, or one /64 of IPv6.
    pub handshakes_per_source: u32,
    /// By what keys expire: the system's clock, if nothing is said.
    pub time_of_day: TimeOfDay,
}

impl ListenOptions {
    /// The usual ones.
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

/// Where it stands who may come.
#[derive(Clone, Debug)]
pub enum Source {
    /// In a file, which is read again when it changes.
    File(PathBuf),
    /// Here.
    These(Authorised),
}

/// Why nothing listens.
#[derive(Debug)]
pub enum ListenError {
    /// A file is wrong.
    Mistake(Mistake),
    /// An address cannot be had.
    Address(SocketAddr, io::Error),
    /// It would serve nobody.
    Nobody(&'static str),
    /// The law cannot be hosted here.
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

/// Whom a listener knows, as it stands now.
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

/// A stream that somebody opened.
#[derive(Debug)]
pub struct Accepted {
    /// The stream.
    pub stream: Stream,
    /// Whose it is, and what he may do, as it stands now.
    pub entry: Arc<Entry>,
}

/// What listens.
#[derive(Debug)]
pub struct Listener {
    shared: Arc<Shared>,
    accepted: mpsc::Receiver<Accepted>,
    tasks: Vec<tokio::task::JoinHandle<()>>,
    addresses: Vec<SocketAddr>,
}

/// What the tasks of a listener have in common.
#[derive(Debug)]
pub(crate) struct Shared {
    options: ListenOptions,
    /// The congestion control of connections whose law needs none.
    congestion: String,
    known: Arc<Known>,
    sessions: Sessions,
    /// Where probes come in.
    desk: Desk,
    admission: Arc<Admission>,
    accepted: mpsc::Sender<Accepted>,
    /// Whose turn it is to take a step of its handshake.
    handshaking: tokio::sync::Mutex<()>,
    troubles: Mutex<Troubles>,
}

impl Shared {
    fn troubles(&self) -> MutexGuard<'_, Troubles> {
        self.troubles.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What connections begin with: which law a client wishes is known after its greeting, and who once had BBR stays paced (see `dial`).
const UNTIL_GREETED: &str = "reno";

/// The congestion control of what comes in here where the law needs none: the one that is asked for, else the system's own. The socket
/// itself is left with [`UNTIL_GREETED`].
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

/// Listens.
///
/// # Errors
/// If nobody could be served, the address is taken, or the kernel does not have the congestion control.
pub async fn listen(options: ListenOptions) -> Result<Listener, ListenError> {
    // Before it is read, so that no change is missed.
    let (seen, authorised) = match &options.authorised {
        Source::File(path) => (stamp(path), Authorised::load(path)?),
        Source::These(these) => (None, these.clone()),
    };
    if authorised.is_empty() {
        return Err(ListenError::Nobody(
            "no key is authorised, so nobody could use it; see: evenair multiconn keygen",
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
        // Without the port of datagrams there are no probes, and laws go by what TCP tells.
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
    /// The next stream that somebody opens.
    pub async fn accept(&mut self) -> Option<Accepted> {
        self.accepted.recv().await
    }

    /// Where it listens.
    pub fn addresses(&self) -> &[SocketAddr] {
        &self.addresses
    }

    /// Who asks how it stands.
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

/// Sees how a listener stands.
#[derive(Clone, Debug)]
pub struct Watcher(Arc<Shared>);

impl Watcher {
    /// Its sessions.
    pub fn sessions(&self) -> Vec<SessionStatus> {
        self.0.sessions.status()
    }

    /// What is wrong now, if something is.
    pub fn trouble(&self) -> Option<String> {
        self.0.troubles().now(Instant::now(), self.0.options.handshakes)
    }

    /// What became of handshakes.
    pub fn handshakes_so_far(&self) -> Handshakes {
        let ended = OUTCOMES.iter().map(|(outcome, name)| (*name, self.0.admission.so_far(*outcome)));
        Handshakes { open: self.handshakes(), ended: ended.collect() }
    }

    /// Connections of whom it is not known yet who they are.
    pub fn handshakes(&self) -> u32 {
        self.0.admission.handshakes()
    }

    /// Bytes of memory that streams have.
    pub fn memory(&self) -> u64 {
        self.0.sessions.memory()
    }

    /// How many keys it knows.
    pub(crate) fn keys(&self) -> usize {
        self.0.known.all().len()
    }

    /// What a key may do now, if anything.
    pub(crate) fn find(&self, key: crate::keys::PublicKey) -> Option<Arc<Entry>> {
        self.0.known.find(key)
    }
}

/// What tells a file that was written from what it was before.
type Stamp = (i64, i64, u64, u64);

fn stamp(path: &std::path::Path) -> Option<Stamp> {
    let there = std::fs::metadata(path).ok()?;
    Some((there.mtime(), there.mtime_nsec(), there.ino(), there.len()))
}

/// Tells when a file has changed and rests: a file that is being written, empty at first, may parse, and authorises nobody.
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

/// Reads the file of authorised keys again when it changes, and ends the sessions of keys that hold no more.
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
                // What was right before still holds.
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
    async fn who_comes_in_was_never_paced() {
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
