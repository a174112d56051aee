//! The surroundings of a relay in tests.

#![allow(dead_code, reason = "each test takes what it needs")]

use evenair_laws::connections::{ConnectionParams, FixedParams};
use evenair_multiconn::keys::SecretKey;
use evenair_multiconn::listen::{Source, Watcher};
use evenair_multiconn::target::{Host, Target};
use evenair_multiconn::{Client, ConnectOptions, ListenOptions, listen, relay};
use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

/// A running relay, and the data to reach it.
pub(crate) struct Relay {
    pub(crate) key: SecretKey,
    pub(crate) client_key: SecretKey,
    pub(crate) address: SocketAddr,
    pub(crate) authorised: PathBuf,
    pub(crate) watcher: Watcher,
    serves: JoinHandle<()>,
    folder: Arc<tempfile::TempDir>,
}

impl Drop for Relay {
    fn drop(&mut self) {
        self.serves.abort();
    }
}

impl Relay {
    pub(crate) async fn start() -> Self {
        Self::start_at("127.0.0.1:0".parse().unwrap()).await
    }

    pub(crate) async fn start_at(at: SocketAddr) -> Self {
        let folder = Arc::new(tempfile::tempdir().unwrap());
        let (key, client_key) = (SecretKey::generate(), SecretKey::generate());
        let authorised = folder.path().join("authorised.toml");
        std::fs::write(&authorised, entry("me", &client_key, "\"127.0.0.0/8:*\"")).unwrap();
        Self::begin(folder, key, client_key, at).await
    }

    async fn begin(
        folder: Arc<tempfile::TempDir>,
        key: SecretKey,
        client_key: SecretKey,
        at: SocketAddr,
    ) -> Self {
        let authorised = folder.path().join("authorised.toml");
        let options = ListenOptions::new(at, key.clone(), Source::File(authorised.clone()));
        let listener = listen(options).await.unwrap();
        let (address, watcher) = (listener.addresses()[0], listener.watcher());
        let serves = tokio::spawn(relay::serve(listener));
        Self { key, client_key, address, authorised, watcher, serves, folder }
    }

    /// Restarts the same relay, without its state.
    pub(crate) async fn again(self) -> Self {
        self.serves.abort();
        tokio::time::sleep(Duration::from_millis(300)).await;
        let folder = Arc::clone(&self.folder);
        Self::begin(folder, self.key.clone(), self.client_key.clone(), self.address).await
    }

    pub(crate) fn options(&self) -> ConnectOptions {
        ConnectOptions::new(self.address.to_string(), self.key.public(), self.client_key.clone())
    }

    /// Replaces the authorised keys, and waits until the relay has read the file again. It reports a mistake
    /// in the file first.
    pub(crate) async fn authorise(&self, entries: &[String]) {
        let write = |text: &str| {
            let new = self.authorised.with_extension("new");
            std::fs::write(&new, text).unwrap();
            std::fs::rename(&new, &self.authorised).unwrap();
        };
        write("a mistake");
        assert!(checked(20, || self.watcher.trouble().is_some()).await, "the file is not read");
        write(&entries.concat());
        assert!(checked(20, || self.watcher.trouble().is_none()).await, "{:?}", self.watcher.trouble());
    }
}

/// Returns a table of a file of authorised keys.
pub(crate) fn entry(name: &str, key: &SecretKey, destinations: &str) -> String {
    format!("[[key]]\nname = \"{name}\"\nkey = \"{}\"\ndestinations = [{destinations}]\n", key.public())
}

pub(crate) fn fixed(connections: u32) -> ConnectionParams {
    FixedParams { connections }.into()
}

pub(crate) fn target(address: SocketAddr) -> Target {
    Target { host: Host::Address(address.ip()), port: address.port() }
}

/// Returns bytes of which no two stretches are the same.
pub(crate) fn pattern(count: usize) -> Vec<u8> {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut bytes = Vec::with_capacity(count + 8);
    while bytes.len() < count {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        bytes.extend_from_slice(&(state >> 32).to_le_bytes()[..4]);
    }
    bytes.truncate(count);
    bytes
}

pub(crate) fn digest(bytes: &[u8]) -> (usize, u64) {
    let hash = bytes.iter().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
    });
    (bytes.len(), hash)
}

/// Sends bytes to an address through a client, ends, and returns the answer.
pub(crate) async fn go(client: &Client, to: SocketAddr, bytes: Vec<u8>) -> io::Result<Vec<u8>> {
    let mut stream = client.open().await.map_err(io::Error::other)?;
    stream.write_all(&target(to).encode()).await?;
    let outcome = stream.read_u8().await?;
    if outcome != 0 {
        return Err(io::Error::other(format!("outcome {outcome}")));
    }
    let (mut hears, mut says) = tokio::io::split(stream);
    let sends = async {
        says.write_all(&bytes).await?;
        says.shutdown().await
    };
    let mut back = Vec::new();
    let ((), _) = tokio::try_join!(sends, hears.read_to_end(&mut back))?;
    Ok(back)
}

pub(crate) async fn within<T>(seconds: u64, what: impl Future<Output = T>) -> T {
    tokio::time::timeout(Duration::from_secs(seconds), what).await.expect("it takes too long")
}

/// Returns whether a condition becomes true in time.
pub(crate) async fn checked(seconds: u64, what: impl Fn() -> bool) -> bool {
    let begun = Instant::now();
    while begun.elapsed() < Duration::from_secs(seconds) {
        if what() {
            return true;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    what()
}

#[expect(
    clippy::unused_async,
    reason = "it spawns, which is for a runtime only, as all that is awaited has one"
)]
async fn server<F, W>(serves: F) -> SocketAddr
where
    F: Fn(TcpStream) -> W + Send + Sync + 'static,
    W: Future<Output = ()> + Send + 'static,
{
    // The backlog has room for all connections at once: with a full queue the kernel sends SYN cookies, and
    // some connections are reset.
    let socket = tokio::net::TcpSocket::new_v4().unwrap();
    socket.bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let listener = socket.listen(4096).unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        while let Ok((socket, _)) = listener.accept().await {
            tokio::spawn(serves(socket));
        }
    });
    address
}

/// Starts a server that echoes.
pub(crate) async fn echo() -> SocketAddr {
    server(|mut socket| async move {
        let (mut hears, mut says) = socket.split();
        if tokio::io::copy(&mut hears, &mut says).await.is_ok() {
            let _ = says.shutdown().await;
        }
    })
    .await
}

/// Starts a server that accepts connections and never reads.
pub(crate) async fn sink() -> (SocketAddr, Arc<Mutex<Vec<TcpStream>>>) {
    let held = Arc::new(Mutex::new(Vec::new()));
    let keeps = Arc::clone(&held);
    let address = server(move |socket| {
        keeps.lock().unwrap().push(socket);
        async {}
    })
    .await;
    (address, held)
}

/// Starts a server that answers once the other side has ended.
pub(crate) async fn after_the_end() -> SocketAddr {
    server(|mut socket| async move {
        let mut heard = Vec::new();
        if socket.read_to_end(&mut heard).await.is_ok() {
            let _ = socket.write_all(format!("{} bytes, and then the end", heard.len()).as_bytes()).await;
        }
    })
    .await
}

/// Starts a server that returns the error of its only connection.
pub(crate) async fn who_sees_the_reset() -> (SocketAddr, JoinHandle<io::ErrorKind>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let seen = tokio::spawn(async move {
        let (mut socket, _) = listener.accept().await.unwrap();
        let mut heard = Vec::new();
        match socket.read_to_end(&mut heard).await {
            Ok(_) => io::ErrorKind::UnexpectedEof,
            Err(error) => error.kind(),
        }
    });
    (address, seen)
}

/// A proxy between client and relay, which can break a connection, or drop its bytes.
pub(crate) struct Between {
    pub(crate) address: SocketAddr,
    connections: Arc<Mutex<Vec<Passing>>>,
}

struct Passing {
    task: JoinHandle<()>,
    swallows: Arc<std::sync::atomic::AtomicBool>,
}

impl Between {
    pub(crate) async fn start(relay: SocketAddr) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let connections = Arc::new(Mutex::new(Vec::new()));
        let all = Arc::clone(&connections);
        tokio::spawn(async move {
            while let Ok((here, _)) = listener.accept().await {
                let swallows = Arc::new(std::sync::atomic::AtomicBool::new(false));
                let task = tokio::spawn(pass(here, relay, Arc::clone(&swallows)));
                all.lock().unwrap().push(Passing { task, swallows });
            }
        });
        Self { address, connections }
    }

    /// Breaks one of the open connections.
    pub(crate) fn kill(&self, number: usize) {
        let connections = self.connections.lock().unwrap();
        let alive: Vec<_> = connections.iter().filter(|one| !one.task.is_finished()).collect();
        if let Some(one) = alive.get(number % alive.len().max(1)) {
            one.task.abort();
        }
    }

    /// Drops all bytes of one connection from now on, both ways.
    pub(crate) fn swallow(&self, number: usize) {
        let connections = self.connections.lock().unwrap();
        connections[number].swallows.store(true, std::sync::atomic::Ordering::Relaxed);
    }
}

async fn pass(mut here: TcpStream, relay: SocketAddr, swallows: Arc<std::sync::atomic::AtomicBool>) {
    let Ok(mut there) = TcpStream::connect(relay).await else { return };
    let (mut from_here, mut to_here) = here.split();
    let (mut from_there, mut to_there) = there.split();
    let swallows = &swallows;
    tokio::join!(one(&mut from_here, &mut to_there, swallows), one(&mut from_there, &mut to_here, swallows));
}

/// Copies one direction of it.
async fn one(
    from: &mut (impl tokio::io::AsyncRead + Unpin),
    to: &mut (impl tokio::io::AsyncWrite + Unpin),
    swallows: &std::sync::atomic::AtomicBool,
) {
    let mut held = vec![0; 64 << 10];
    while let Ok(count @ 1..) = from.read(&mut held).await {
        if swallows.load(std::sync::atomic::Ordering::Relaxed) {
            std::future::pending::<()>().await;
        }
        if to.write_all(&held[..count]).await.is_err() {
            return;
        }
    }
    let _ = to.shutdown().await;
}
