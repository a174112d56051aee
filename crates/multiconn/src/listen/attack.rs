//! Attacks on a relay that is a separate process: its counters and its whole memory are compared with its
//! limits.

use super::{ListenOptions, Source, listen};
use crate::authorised::Authorised;
use crate::core::Limits;
use crate::frame::Frame;
use crate::hello::{Answer, Hello, Refusal};
use crate::keys::{PublicKey, SecretKey};
use crate::target::{Host, Target};
use crate::{Client, ConnectOptions, connect, relay};
use evenair_laws::connections::FixedParams;
use serde::{Deserialize, Serialize};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::time::{Duration, Instant};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::client::TlsStream;

const MEMORY: u64 = 96 << 20;
const HANDSHAKES: u32 = 24;
const CONNECTIONS: u32 = 40;
/// The memory that the process may use beyond the counted: TLS and read buffers of each connection, and
/// memory that the allocator keeps \[bytes\].
const BESIDE: u64 = (CONNECTIONS + HANDSHAKES) as u64 * (320 << 10) + (24 << 20);
const FOLDER: &str = "EVENAIR_ATTACKED";

/// The relay's counters, and their maxima.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
struct Stands {
    memory: u64,
    memory_most: u64,
    handshakes: u32,
    handshakes_most: u32,
    sessions: usize,
    connections: usize,
    resident: u64,
    resident_most: u64,
}

/// Returns the memory of this process \[bytes\].
fn resident() -> u64 {
    let pages = std::fs::read_to_string("/proc/self/statm").unwrap();
    pages.split(' ').nth(1).unwrap().parse::<u64>().unwrap() * 4096
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "the relay of the other test, which begins it as a process of its own"]
async fn the_relay() {
    let Ok(folder) = std::env::var(FOLDER).map(PathBuf::from) else { return };
    let key = SecretKey::load(&folder.join("relay.key")).unwrap();
    let authorised = Authorised::load(&folder.join("authorised.toml")).unwrap();
    let mut options = ListenOptions::new("127.0.0.1:0".parse().unwrap(), key, Source::These(authorised));
    options.memory = MEMORY;
    (options.handshakes, options.handshakes_per_source) = (HANDSHAKES, HANDSHAKES);
    options.connections = CONNECTIONS;
    let listener = listen(options).await.unwrap();
    let (address, watcher) = (listener.addresses()[0], listener.watcher());
    tokio::spawn(relay::serve(listener));
    let mut stands = Stands::default();
    for _ in 0..6000 {
        let sessions = watcher.sessions();
        stands.memory = watcher.memory();
        stands.handshakes = watcher.handshakes();
        stands.sessions = sessions.len();
        stands.connections = sessions.iter().map(|session| session.connections.len()).sum();
        stands.resident = resident();
        stands.memory_most = stands.memory_most.max(stands.memory);
        stands.handshakes_most = stands.handshakes_most.max(stands.handshakes);
        stands.resident_most = stands.resident_most.max(stands.resident);
        let written = serde_json::to_vec(&(address, stands)).unwrap();
        std::fs::write(folder.join("new"), written).unwrap();
        std::fs::rename(folder.join("new"), folder.join("stands")).unwrap();
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

struct Attacked {
    process: Child,
    folder: tempfile::TempDir,
    key: PublicKey,
    address: SocketAddr,
    calm: Stands,
}

impl Drop for Attacked {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

impl Attacked {
    async fn begin(tenants: &[(&str, &SecretKey)]) -> Self {
        crate::run::more_descriptors(); // and the relay's, which inherits the limit
        let folder = tempfile::tempdir().unwrap();
        let key = SecretKey::generate();
        key.save(&folder.path().join("relay.key")).unwrap();
        let entry = |(name, key): &(&str, &SecretKey)| {
            let key = key.public();
            format!("[[key]]\nname = \"{name}\"\nkey = \"{key}\"\ndestinations = [\"127.0.0.0/8:*\"]\n")
        };
        let entries: String = tenants.iter().map(entry).collect();
        std::fs::write(folder.path().join("authorised.toml"), entries).unwrap();
        let process = Command::new(std::env::current_exe().unwrap())
            .args(["listen::attack::the_relay", "--exact", "--ignored"])
            .env(FOLDER, folder.path())
            .spawn()
            .unwrap();
        let begun = Instant::now();
        let (address, _) = loop {
            assert!(begun.elapsed() < Duration::from_secs(20), "the relay does not begin");
            if let Some(stands) = read(folder.path()) {
                break stands;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        };
        let mut attacked = Self { process, folder, key: key.public(), address, calm: Stands::default() };
        attacked.calm = attacked.stands().await;
        attacked
    }

    /// Returns the counters a little later.
    async fn stands(&self) -> Stands {
        tokio::time::sleep(Duration::from_millis(100)).await;
        read(self.folder.path()).unwrap().1
    }

    /// Returns whether the counters meet a condition in time.
    async fn comes_to(&self, seconds: u64, what: impl Fn(&Stands) -> bool) -> bool {
        let begun = Instant::now();
        while begun.elapsed() < Duration::from_secs(seconds) {
            if what(&self.stands().await) {
                return true;
            }
        }
        false
    }

    /// Returns a client with two connections each way. All come from one address here, so that a handshake
    /// may have to wait for a place.
    async fn client(&self, key: &SecretKey) -> Client {
        let mut options = ConnectOptions::new(self.address.to_string(), self.key, key.clone());
        options.law = FixedParams { connections: 2 }.into();
        options.down = Some(options.law.clone());
        let begun = Instant::now();
        loop {
            match connect(options.clone()).await {
                Ok(client) => return client,
                Err(why) => assert!(begun.elapsed() < Duration::from_secs(10), "{why}"),
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    }

    /// Returns an encrypted connection with an authorised key that has sent no greeting yet.
    async fn encrypted(&self, key: &SecretKey) -> std::io::Result<TlsStream<TcpStream>> {
        let socket = TcpStream::connect(self.address).await?;
        let config = crate::tls::client(key, vec![self.key]).unwrap();
        let connector = tokio_rustls::TlsConnector::from(std::sync::Arc::new(config));
        let name = rustls::pki_types::ServerName::try_from(self.key.server_name()).unwrap();
        connector.connect(name, socket).await
    }

    fn within_caps(&self, stands: &Stands) {
        assert!(stands.memory_most <= MEMORY, "{stands:?}");
        assert!(stands.handshakes_most <= HANDSHAKES, "{stands:?}");
        assert!(stands.connections <= CONNECTIONS as usize, "{stands:?}");
        assert!(stands.resident_most <= self.calm.resident + MEMORY + BESIDE, "{:?} {stands:?}", self.calm);
    }
}

fn read(folder: &Path) -> Option<(SocketAddr, Stands)> {
    serde_json::from_slice(&std::fs::read(folder.join("stands")).ok()?).ok()
}

fn go_to(address: SocketAddr) -> Vec<u8> {
    Target { host: Host::Address(address.ip()), port: address.port() }.encode()
}

/// Starts a server that never reads, or sends for ever.
fn server(talks: bool) -> SocketAddr {
    let socket = tokio::net::TcpSocket::new_v4().unwrap();
    socket.bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let listener: TcpListener = socket.listen(4096).unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        let mut held = Vec::new();
        while let Ok((mut socket, _)) = listener.accept().await {
            held.push(tokio::spawn(async move {
                let words = vec![7; 64 << 10];
                while talks && socket.write_all(&words).await.is_ok() {}
                std::future::pending::<()>().await;
                drop(socket);
            }));
        }
    });
    address
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn half_open_joins_hold_nothing() {
    let (anna, eve) = (SecretKey::generate(), SecretKey::generate());
    let relay = Attacked::begin(&[("anna", &anna), ("eve", &eve)]).await;
    let victim = relay.client(&anna).await;
    // One connection, and a spare one.
    assert!(relay.comes_to(10, |stands| stands.connections == 2).await);
    // Clients that begin TLS and do not finish, over and over.
    let mut open = Vec::new();
    for _ in 0..2000 {
        let Ok(mut socket) = TcpStream::connect(relay.address).await else { continue };
        let _ = socket.write_all(b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03").await;
        open.push(socket);
    }
    let flooded = relay.stands().await;
    relay.within_caps(&flooded);
    assert_eq!(flooded.sessions, 1, "{flooded:?}");
    drop(open);
    assert!(relay.comes_to(8, |stands| stands.handshakes == 0).await, "nothing is left of them");
    // Clients with an authorised key that then stay silent.
    let (mut silent, mut most) = (Vec::new(), 0);
    for _ in 0..HANDSHAKES {
        silent.push(relay.encrypted(&eve).await.unwrap());
        most = most.max(relay.stands().await.handshakes);
    }
    assert!(most > 0);
    assert!(relay.comes_to(8, |stands| stands.handshakes == 0).await, "nor of them");
    drop(silent);
    // Clients with an authorised key that attempt to join, by guessing and with an observed number.
    for turn in 0..300_u16 {
        let mut session = [0; 16];
        session[..2].copy_from_slice(&turn.to_be_bytes());
        if turn % 2 == 0 {
            session = victim.session_id().unwrap();
        }
        let mut tls = relay.encrypted(&eve).await.unwrap();
        tls.write_all(&Hello::Join { session, proof: [turn as u8; 32] }.encode()).await.unwrap();
        let length = tls.read_u16().await.unwrap();
        let mut body = vec![0; length.into()];
        tls.read_exact(&mut body).await.unwrap();
        assert_eq!(Answer::decode(&body), Ok(Answer::Refused(Refusal::NoSession)));
    }
    let after = relay.stands().await;
    relay.within_caps(&after);
    assert_eq!(after.sessions, 1, "{after:?}");
    assert!(after.connections <= 3, "the victim's own, and one in reserve: {after:?}");
    // The victim is unaffected.
    let mut stream = victim.open().await.unwrap();
    stream.write_all(&go_to(server(true))).await.unwrap();
    assert_eq!(stream.read_u8().await.unwrap(), 0);
    assert_eq!(stream.read_u8().await.unwrap(), 7);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn slow_readers_have_bounded_memory() {
    let (anna, eve) = (SecretKey::generate(), SecretKey::generate());
    let relay = Attacked::begin(&[("anna", &anna), ("eve", &eve)]).await;
    let (deaf, talks) = (server(false), server(true));
    let (mut clients, mut held) = (Vec::new(), Vec::new());
    // A key may have eight sessions; streams are opened until they are refused.
    for _ in 0..8 {
        let client = relay.client(&eve).await;
        for turn in 0..300 {
            let Ok(mut stream) = client.open().await else { break };
            let to = if turn % 2 == 0 { deaf } else { talks };
            let _ = stream.write_all(&go_to(to)).await;
            held.push(tokio::spawn(async move {
                // The client sends data that the server never reads, or reads none of the server's.
                let words = vec![1; 1 << 20];
                while turn % 2 == 0 && stream.write_all(&words).await.is_ok() {}
                std::future::pending::<()>().await;
                drop(stream);
            }));
        }
        clients.push(client);
    }
    tokio::time::sleep(Duration::from_secs(5)).await;
    let full = relay.stands().await;
    relay.within_caps(&full);
    assert!(full.memory_most <= MEMORY / 2, "the other key's half is its own: {full:?}");
    assert!(full.memory_most >= MEMORY / 4, "it was an attack: {full:?}");
    // Anna's transfers continue beside it.
    let client = relay.client(&anna).await;
    let mut stream = client.open().await.unwrap();
    stream.write_all(&go_to(talks)).await.unwrap();
    assert_eq!(stream.read_u8().await.unwrap(), 0);
    let mut batch = vec![0; 1 << 20];
    tokio::time::timeout(Duration::from_secs(20), stream.read_exact(&mut batch)).await.unwrap().unwrap();
    held.iter().for_each(tokio::task::JoinHandle::abort);
    drop((held, clients, client, stream));
    assert!(relay.comes_to(60, |stands| stands.memory == 0).await, "{:?}", relay.stands().await);
    // The process returns its memory to the system, too.
    let calm = relay.calm.resident + (16 << 20);
    assert!(relay.comes_to(20, |stands| stands.resident < calm).await, "{:?}", relay.stands().await);
    eprintln!("calm {:?}\nfull {full:?}\nafter {:?}", relay.calm, relay.stands().await);
}

/// Returns an address that answers no connection for as long as the listener is held: its backlog is full.
async fn mute() -> (SocketAddr, (TcpListener, Vec<TcpStream>)) {
    let socket = tokio::net::TcpSocket::new_v4().unwrap();
    socket.bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let listener = socket.listen(0).unwrap();
    let (address, mut held) = (listener.local_addr().unwrap(), Vec::new());
    let wait = Duration::from_millis(300);
    while let Ok(Ok(socket)) = tokio::time::timeout(wait, TcpStream::connect(address)).await {
        held.push(socket);
    }
    (address, (listener, held))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn single_bytes_cost_no_more_than_batches() {
    const STREAMS: u32 = 24;
    let eve = SecretKey::generate();
    let relay = Attacked::begin(&[("eve", &eve)]).await;
    let (to, _held) = mute().await;
    let mut tls = relay.encrypted(&eve).await.unwrap();
    let hello = Hello::New { streams: 1024, connections: 1, law: String::new() };
    tls.write_all(&hello.encode()).await.unwrap();
    // While a destination is dialled, none of its stream is read: every second byte arrives, and then those
    // between.
    let head = go_to(to);
    let window = Limits::default().window;
    for stream in (0..STREAMS).map(|number| 2 * number + 1) {
        let mut frames = Vec::new();
        Frame::Data { stream, offset: 0, end: false, bytes: &head }.encode(&mut frames);
        for first in (head.len() as u64..window - 2000).step_by(2000) {
            for offset in (1..2000).step_by(2).chain((0..2000).step_by(2)) {
                Frame::Data { stream, offset: first + offset, end: false, bytes: b"x" }.encode(&mut frames);
            }
        }
        tls.write_all(&frames).await.unwrap();
    }
    let counted = u64::from(STREAMS) * (window + (12 << 10));
    assert!(relay.comes_to(60, |stands| stands.memory_most >= counted).await, "{:?}", relay.stands().await);
    let full = relay.stands().await;
    // A connection, and the allocator's own memory.
    assert!(full.resident_most < relay.calm.resident + counted + (8 << 20), "{:?} {full:?}", relay.calm);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn greedy_key_leaves_others_their_connections() {
    let (anna, eve) = (SecretKey::generate(), SecretKey::generate());
    let relay = Attacked::begin(&[("anna", &anna), ("eve", &eve)]).await;
    let mut greedy = Vec::new();
    for _ in 0..8 {
        let mut options = ConnectOptions::new(relay.address.to_string(), relay.key, eve.clone());
        options.law = FixedParams { connections: 16 }.into();
        options.down = Some(options.law.clone());
        greedy.extend(connect(options).await.ok());
    }
    let most = CONNECTIONS as usize / 4 * 3;
    assert!(relay.comes_to(20, |stands| stands.connections == most).await, "{:?}", relay.stands().await);
    tokio::time::sleep(Duration::from_secs(1)).await;
    relay.within_caps(&relay.stands().await);
    // Each key's own quarter stays available for the other key.
    let client = relay.client(&anna).await;
    let mut stream = client.open().await.unwrap();
    stream.write_all(&go_to(server(true))).await.unwrap();
    assert_eq!(stream.read_u8().await.unwrap(), 0);
    assert!(relay.comes_to(10, |stands| stands.connections > most).await);
}
