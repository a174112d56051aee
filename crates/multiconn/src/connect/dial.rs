//! One connection to a relay: name resolution, TCP, TLS, greeting.

use super::{ConnectOptions, Current, budget};
use crate::bucket::Bucket;
use crate::control::{Refused, with_start};
use crate::core::{AHEAD_MOST, OpenError, Side};
use crate::governor::Governor;
use crate::hello::{
    Answer, Exported, HELLO_MAX, Hello, JOIN_LABEL, Refusal, SESSION_LABEL, SessionId, proof,
};
use crate::notice::Lasting;
use crate::paths::{Known, Seen};
use crate::probe::{End, Party, live};
use crate::prompt::Prompt;
use crate::session::Session;
use evenair_units::{Bytes, printable};
use rustls::pki_types::ServerName;
use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::os::fd::AsFd as _;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpSocket, TcpStream, lookup_host};
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

/// The time limit of one address before the next is tried.
const ADDRESS: Duration = Duration::from_secs(4);
/// The time limit of the whole attempt.
const WHOLE: Duration = Duration::from_secs(10);
/// The most characters kept of the relay's description of its law.
const LAW_MAX: usize = 200;
/// The pause before a failed probe socket is replaced.
const REOPENS: Duration = Duration::from_millis(500);

/// The reason why there is no session, or no stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ConnectError {
    /// The relay cannot be reached.
    Unreachable(String),
    /// The relay has none of the given keys.
    OtherRelay,
    /// The relay has not authorised the client's key, or the key has expired.
    UnknownKey,
    /// TLS failed in another way.
    Tls(String),
    /// The relay refuses.
    Refused(Refusal),
    /// Its answer is malformed.
    Nonsense,
    /// The law cannot run on this host.
    Law(String),
    /// A socket does not get the congestion control that it needs.
    Congestion(String),
    /// There is a session, but no stream.
    Open(OpenError),
    /// The time limit passed.
    TimedOut,
}

impl fmt::Display for ConnectError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unreachable(why) => write!(f, "the relay cannot be reached: {why}"),
            Self::OtherRelay => f.write_str(
                "the relay has another key than the one given: it was changed, or another host answers there",
            ),
            Self::UnknownKey => {
                f.write_str("the relay does not know this key, or it has expired; is it in the relay's file of authorised keys?")
            }
            Self::Tls(why) => write!(f, "no TLS with the relay: {why}"),
            Self::Refused(why) => why.fmt(f),
            Self::Nonsense => f.write_str("the relay's answer makes no sense; is it of another version?"),
            Self::Law(why) => f.write_str(why),
            Self::Congestion(why) => write!(f, "congestion control: {why}"),
            Self::Open(why) => why.fmt(f),
            Self::TimedOut => f.write_str("the relay did not answer in time"),
        }
    }
}

impl std::error::Error for ConnectError {}

impl From<Refused> for ConnectError {
    fn from(refused: Refused) -> Self {
        Self::Law(refused.to_string())
    }
}

/// Opens sessions and connections to one relay.
#[derive(Clone)]
pub(crate) struct Dialler {
    pub(super) options: ConnectOptions,
    /// The rate bound of its sessions, which follow one another.
    bucket: Arc<Bucket>,
    tls: TlsConnector,
    name: ServerName<'static>,
    /// The relay that answers no probes.
    silent: Silent,
}

/// The address from which no probe returns.
type Silent = Arc<Mutex<Lasting<SocketAddr>>>;

impl fmt::Debug for Dialler {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Dialler({:?})", self.options.relay)
    }
}

/// A connection after its TLS handshake.
struct Open {
    tls: TlsStream<Prompt>,
    peer: String,
}

impl Dialler {
    pub(super) fn new(options: ConnectOptions) -> Result<Self, ConnectError> {
        let tls = |error: &dyn fmt::Display| ConnectError::Tls(error.to_string());
        let first = options.relay_keys.first().ok_or(ConnectError::OtherRelay)?;
        let name = ServerName::try_from(first.server_name()).map_err(|error| tls(&error))?;
        let config = crate::tls::client(&options.key, options.relay_keys.clone()).map_err(|e| tls(&e))?;
        // A law that cannot run is refused before the first connection.
        Governor::new(options.law.clone(), options.most, options.probes)?;
        let bucket = Bucket::new(options.rate_most);
        Ok(Self { options, bucket, tls: Arc::new(config).into(), name, silent: Silent::default() })
    }

    /// Returns a message if probes have no answer; it names the remedy.
    pub(super) fn silence(&self) -> Option<String> {
        let silent = self.silent.lock().unwrap_or_else(PoisonError::into_inner).now(Instant::now());
        silent.map(|relay| {
            format!(
                "no probe to {relay} has an answer: UDP is dropped on the way, or the relay takes none, and the law goes by TCP's own figures; let UDP to that port \
                pass, or send none: --no-probes"
            )
        })
    }

    /// Begins a session with its first connection.
    pub(super) async fn begin(&self) -> Result<Current, ConnectError> {
        within(self.begin_unbounded()).await
    }

    async fn begin_unbounded(&self) -> Result<Current, ConnectError> {
        let options = &self.options;
        let governor = |start| {
            let law = with_start(options.law.clone(), start);
            Governor::new(law, options.most, options.probes)
        };
        let mut open = self.open(&governor(1)?).await?;
        let seen = options.paths.as_ref().and_then(|_| self.seen(&open));
        let known = self.known(seen.as_ref());
        let governor = governor(known.up)?;
        let down = options.down.as_ref().map(|law| with_start(law.clone(), known.down));
        let law = down.and_then(|law| serde_json::to_string(&law).ok()).unwrap_or_default();
        let streams = options.limits.their_streams;
        let hello = Hello::New { streams, connections: options.most.min(64) as u16, law };
        let answer = greet(&mut open.tls, &hello).await?;
        let Answer::Welcome { session: id, streams, connections, law } = answer else {
            return Err(ConnectError::Nonsense);
        };
        let key = exported(&open.tls, SESSION_LABEL)?;
        let mut limits = options.limits;
        limits.own_streams = limits.own_streams.min(streams);
        let session = Session::new(Side::Client, limits, budget(options));
        session.bound(Arc::clone(&self.bucket));
        add(&session, open);
        tokio::spawn(governor.clone().run(session.clone(), false));
        if options.probes {
            tokio::spawn(probe(session.clone(), governor.clone(), key, Arc::clone(&self.silent)));
        }
        let most = options.most.min(connections.into()).max(1);
        let relay_law = printable(&law, LAW_MAX);
        Ok(Current { session, id, key, most, governor, relay_law, seen, known })
    }

    /// Returns the path of a connection, if its socket has a round trip.
    fn seen(&self, open: &Open) -> Option<Seen> {
        let socket = open.tls.get_ref().0.socket();
        let round_trip = evenair_linux::tcp::info(socket).ok()?.least_round_trip?;
        Some(Seen::new(&self.options.relay, socket.local_addr().ok()?, round_trip))
    }

    /// Returns the numbers remembered of a path, within the configured limit.
    fn known(&self, seen: Option<&Seen>) -> Known {
        let known = self.options.paths.as_ref().zip(seen).map(|(paths, seen)| paths.recall(seen));
        let within = |connections: u32| connections.clamp(1, self.options.most);
        known.map_or(Known::NOTHING, |known| Known { up: within(known.up), down: within(known.down) })
    }

    /// Adds a connection to a session.
    pub(super) async fn join(&self, current: &Current) -> Result<(), ConnectError> {
        within(self.join_unbounded(current)).await
    }

    async fn join_unbounded(&self, current: &Current) -> Result<(), ConnectError> {
        let mut open = self.open(&current.governor).await?;
        let own = exported(&open.tls, JOIN_LABEL)?;
        let session: SessionId = current.id;
        let hello = Hello::Join { session, proof: proof(&current.key, &session, &own) };
        match greet(&mut open.tls, &hello).await? {
            Answer::Joined => {
                add(&current.session, open);
                Ok(())
            }
            _ => Err(ConnectError::Nonsense),
        }
    }

    async fn open(&self, governor: &Governor) -> Result<Open, ConnectError> {
        let relay = &self.options.relay;
        let unreachable = |error: io::Error| ConnectError::Unreachable(format!("{relay}: {error}"));
        let addresses = lookup_host(relay).await.map_err(unreachable)?;
        let mut last = io::Error::new(io::ErrorKind::NotFound, "its name has no address");
        for address in addresses {
            let congestion = self.congestion(governor);
            match tokio::time::timeout(ADDRESS, dial(address, congestion.as_deref())).await {
                Ok(Ok(socket)) => return self.encrypt(socket, congestion.as_deref()).await,
                Ok(Err(error)) => last = error,
                Err(_) => last = io::ErrorKind::TimedOut.into(),
            }
        }
        Err(unreachable(last))
    }

    /// Returns the congestion control that each connection needs.
    fn congestion(&self, governor: &Governor) -> Option<String> {
        governor.congestion_control().map(String::from).or_else(|| self.options.congestion.clone())
    }

    async fn encrypt(&self, socket: TcpStream, congestion: Option<&str>) -> Result<Open, ConnectError> {
        let set = prepare(&socket).and_then(|()| {
            congestion.map_or(Ok(()), |name| evenair_linux::tcp::set_congestion_control(&socket, name))
        });
        set.map_err(|error| ConnectError::Congestion(error.to_string()))?;
        let peer = socket.peer_addr().map(|peer| peer.to_string()).unwrap_or_default();
        let tls =
            self.tls.connect(self.name.clone(), Prompt::new(socket)).await.map_err(|error| of_tls(&error))?;
        Ok(Open { tls, peer })
    }
}

/// Connects with the congestion control set beforehand. If the system's default is BBR, a later change leaves
/// the connection paced, and CUBIC then misses the end of slow start. The caller checks after connecting
/// whether the setting took effect.
async fn dial(address: SocketAddr, congestion: Option<&str>) -> io::Result<TcpStream> {
    let socket = if address.is_ipv4() { TcpSocket::new_v4() } else { TcpSocket::new_v6() }?;
    let _ = congestion.map(|name| evenair_linux::tcp::set_congestion_control(&socket, name));
    socket.connect(address).await
}

/// Sends the session's probes and answers the relay's until the session ends. A socket that fails, as after a
/// change of address or route, is replaced. Without a socket no probe returns, and the law uses TCP's round
/// trips.
async fn probe(session: Session, governor: Governor, key: Exported, silent: Silent) {
    let mut party = Party::new(&key, End::Caller, live::now());
    let calls = async {
        loop {
            let subflows = session.subflows();
            let newest = subflows.iter().rev().find(|subflow| !subflow.state.is_stuck);
            if let Some(relay) = newest.and_then(|subflow| subflow.peer.parse().ok())
                && let Ok(socket) = live::socket(relay).await
            {
                let why = live::call(socket, &mut party, &governor).await;
                if why.kind() == io::ErrorKind::TimedOut {
                    silent.lock().unwrap_or_else(PoisonError::into_inner).happens(Instant::now(), relay);
                }
            }
            tokio::time::sleep(REOPENS).await;
        }
    };
    tokio::select! {
        () = calls => {}
        _ = session.ended() => {}
    }
}

/// Sets the socket options of a session's connection, on both sides. Once its window is known, the socket
/// takes less ahead.
pub(crate) fn prepare(socket: &TcpStream) -> io::Result<()> {
    socket.set_nodelay(true)?;
    evenair_linux::tcp::set_unsent(socket, Bytes::new(AHEAD_MOST as u32))
}

async fn within<T>(what: impl Future<Output = Result<T, ConnectError>>) -> Result<T, ConnectError> {
    tokio::time::timeout(WHOLE, what).await.unwrap_or(Err(ConnectError::TimedOut))
}

fn add(session: &Session, open: Open) {
    let socket = open.tls.get_ref().0.socket().as_fd().try_clone_to_owned().ok();
    session.add(open.tls, socket, open.peer, Box::new(()));
}

fn exported(tls: &TlsStream<Prompt>, label: &[u8]) -> Result<Exported, ConnectError> {
    let exported = tls.get_ref().1.export_keying_material([0; 32], label, None);
    exported.map_err(|error| ConnectError::Tls(error.to_string()))
}

/// Sends the greeting and reads the answer. In TLS 1.3 a client learns only here that its key was refused.
async fn greet(tls: &mut TlsStream<Prompt>, hello: &Hello) -> Result<Answer, ConnectError> {
    let words = async {
        // A refused client may find the connection closed already, and yet read an alert with the reason.
        let _ = tls.write_all(&hello.encode()).await;
        let _ = tls.flush().await;
        let length = usize::from(tls.read_u16().await?);
        if length > HELLO_MAX {
            return Ok(Vec::new());
        }
        let mut body = vec![0; length];
        tls.read_exact(&mut body).await?;
        Ok(body)
    };
    let body = words.await.map_err(|error: io::Error| of_tls(&error))?;
    match Answer::decode(&body) {
        Ok(Answer::Refused(why)) => Err(ConnectError::Refused(why)),
        Ok(answer) => Ok(answer),
        Err(_) => Err(ConnectError::Nonsense),
    }
}

fn of_tls(error: &io::Error) -> ConnectError {
    use rustls::{AlertDescription, Error};
    let inner = error.get_ref().and_then(|inner| inner.downcast_ref::<Error>());
    match inner {
        Some(Error::InvalidCertificate(_)) => ConnectError::OtherRelay,
        Some(Error::AlertReceived(
            AlertDescription::AccessDenied
            | AlertDescription::BadCertificate
            | AlertDescription::CertificateUnknown,
        )) => ConnectError::UnknownKey,
        _ => ConnectError::Tls(error.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::connect::connect;
    use crate::keys::{PublicKey, SecretKey};
    use tokio::net::TcpListener;

    #[derive(Debug)]
    struct Everybody;

    impl crate::tls::Knows for Everybody {
        fn knows(&self, _: PublicKey) -> bool {
            true
        }
    }

    /// Starts a relay with the right key; its welcome describes the law with this text.
    async fn welcomes(key: SecretKey, law: String) -> SocketAddr {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let config = crate::tls::relay(&[key], Arc::new(Everybody)).unwrap();
        tokio::spawn(async move {
            let (socket, _) = listener.accept().await.unwrap();
            let acceptor = tokio_rustls::TlsAcceptor::from(Arc::new(config));
            let mut tls = acceptor.accept(socket).await.unwrap();
            let answer = Answer::Welcome { session: [1; 16], streams: 1, connections: 1, law };
            tls.write_all(&answer.encode()).await.unwrap();
            std::future::pending::<()>().await;
        });
        address
    }

    #[tokio::test]
    async fn words_of_a_relay_are_made_printable() {
        let key = SecretKey::generate();
        let said = format!("guarded\u{1b}]0;owned\u{7}\u{1b}[2J\n\u{202e}{}", "x".repeat(1000));
        let relay = welcomes(key.clone(), said).await;
        let options = ConnectOptions::new(relay.to_string(), key.public(), SecretKey::generate());
        let law = connect(options).await.unwrap().relay_law().unwrap();
        assert!(law.starts_with("guarded\\u{1b}]0;owned\\u{7}\\u{1b}[2J\\n\\u{202e}xxx"), "{law}");
        assert!(law.chars().count() == LAW_MAX && law.ends_with('…'), "{law}");
    }
}
