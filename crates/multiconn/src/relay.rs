//! The relay: streams of those who are known, to where they may go.

use crate::destination::{allows, may_resolve};
use crate::frame::Broken;
use crate::listen::{Accepted, Listener, Watcher};
use crate::pump::pump;
use crate::session::Stream;
use crate::shares::Shares;
use crate::status::{SCHEMA, Status};
use crate::target::{Host, Outcome, TARGET_MAX, Target};
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpStream, lookup_host};

/// A stream has so long to say where it is to go.
const HEAD: Duration = Duration::from_secs(30);
/// A destination has so long to answer.
const DIAL: Duration = Duration::from_secs(15);
/// Before the next address of a name is tried \[s\].
const ADDRESS: Duration = Duration::from_secs(5);
/// Descriptors that are kept for everything but streams' sockets.
const RESERVED: u64 = 256;

/// Serves until the listener ends.
pub async fn serve(mut listener: Listener) {
    let watcher = listener.watcher();
    let places = places();
    while let Some(accepted) = listener.accept().await {
        let Some(place) = places.take(accepted.entry.key, watcher.keys()) else {
            accepted.stream.reset(Broken::Overloaded);
            continue;
        };
        let watcher = watcher.clone();
        tokio::spawn(async move {
            serve_one(accepted, &watcher).await;
            drop(place);
        });
    }
}

/// How a relay stands.
pub fn status(watcher: &Watcher) -> Status {
    Status {
        schema: SCHEMA,
        role: "relay",
        sessions: watcher.sessions(),
        trouble: watcher.trouble(),
        handshakes: Some(watcher.handshakes_so_far()),
    }
}

/// Sockets to destinations: there are only so many descriptors.
fn places() -> Arc<Shares> {
    let limit = rustix::process::getrlimit(rustix::process::Resource::Nofile);
    Shares::new(limit.current.unwrap_or(1 << 20).saturating_sub(RESERVED).max(16))
}

async fn serve_one(accepted: Accepted, watcher: &Watcher) {
    let Accepted { mut stream, entry } = accepted;
    let Ok(Some((target, rest))) = tokio::time::timeout(HEAD, head(&mut stream)).await else {
        return stream.reset(Broken::Aborted);
    };
    // As it stands now: the head may have taken a while.
    let Some(entry) = watcher.find(entry.key) else { return stream.reset(Broken::Aborted) };
    if target.is_discard() {
        return discard(stream).await;
    }
    let dialled = tokio::time::timeout(DIAL, dial(&target, &entry.destinations)).await;
    match dialled.unwrap_or(Err(Outcome::TimedOut)) {
        Ok(socket) => {
            if stream.write_all(&[Outcome::Connected.code()]).await.is_ok() {
                pump(socket, stream, &rest).await;
            }
        }
        Err(outcome) => {
            let _ = stream.write_all(&[outcome.code()]).await;
            let _ = stream.shutdown().await;
            // What it still sends is for nobody; its end is awaited, so that it hears why.
            let drains = async {
                let mut nothing = [0; 4096];
                while matches!(stream.read(&mut nothing).await, Ok(1..)) {}
            };
            let _ = tokio::time::timeout(Duration::from_secs(5), drains).await;
        }
    }
}

/// Takes what a survey sends, and throws it away.
async fn discard(mut stream: Stream) {
    let mut nothing = vec![0; 64 << 10];
    if stream.write_all(&[Outcome::Connected.code()]).await.is_ok() {
        while matches!(stream.read(&mut nothing).await, Ok(1..)) {}
    }
}

/// Where a stream is to go, and what came with it.
async fn head(stream: &mut Stream) -> Option<(Target, Vec<u8>)> {
    let mut held = Vec::new();
    let mut batch = [0; 1024];
    loop {
        match Target::decode(&held) {
            Ok(Some((target, used))) => return Some((target, held.split_off(used))),
            Ok(None) if held.len() < TARGET_MAX => {}
            _ => return None,
        }
        let count = stream.read(&mut batch).await.ok().filter(|count| *count > 0)?;
        held.extend_from_slice(&batch[..count]);
    }
}

/// Connects to a destination, if the rules allow the address that it turns out to have.
async fn dial(target: &Target, rules: &[crate::destination::Destination]) -> Result<TcpStream, Outcome> {
    let (name, addresses) = match &target.host {
        Host::Address(address) => (None, vec![SocketAddr::new(*address, target.port)]),
        Host::Name(name) => {
            if !may_resolve(rules, name, target.port) {
                return Err(Outcome::NotAllowed);
            }
            let found = lookup_host((name.as_str(), target.port)).await;
            (Some(name.as_str()), found.map_err(|_| Outcome::HostUnreachable)?.collect())
        }
    };
    let allowed: Vec<SocketAddr> =
        addresses.into_iter().filter(|address| allows(rules, name, *address)).collect();
    let mut last = Outcome::NotAllowed;
    for address in allowed {
        match tokio::time::timeout(ADDRESS, TcpStream::connect(address)).await {
            Ok(Ok(socket)) => return own_or_not(socket, rules, address),
            Ok(Err(error)) => last = Outcome::of_error(&error),
            Err(_) => last = Outcome::TimedOut,
        }
    }
    Err(last)
}

/// A public address of the relay's own leads into the relay: it must be named, too.
fn own_or_not(
    socket: TcpStream,
    rules: &[crate::destination::Destination],
    address: SocketAddr,
) -> Result<TcpStream, Outcome> {
    let is_own = |socket: &TcpStream| -> io::Result<bool> {
        Ok(socket.local_addr()?.ip().to_canonical() == address.ip().to_canonical())
    };
    let is_own = is_own(&socket).map_err(|error| Outcome::of_error(&error))?;
    if is_own && !rules.iter().any(|rule| rule.names_address(address)) {
        return Err(Outcome::NotAllowed);
    }
    socket.set_nodelay(true).map_err(|error| Outcome::of_error(&error))?;
    Ok(socket)
}
