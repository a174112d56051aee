//! The relay: streams of authorised keys to their permitted destinations.

mod names;
mod own;
mod turns;

use crate::authorised::Entry;
use crate::destination::{Destination, allows, may_resolve};
use crate::frame::Broken;
use crate::listen::{Accepted, Listener, Watcher};
use crate::pump::pump;
use crate::session::Stream;
use crate::shares::Shares;
use crate::status::{SCHEMA, Status};
use crate::target::{Host, Outcome, TARGET_MAX, Target};
use names::Names;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

/// The time limit of a stream's destination header.
const HEAD: Duration = Duration::from_secs(30);
/// The time limit for connecting to a destination.
const DIAL: Duration = Duration::from_secs(15);
/// The time before the next address of a name is tried \[s\].
const ADDRESS: Duration = Duration::from_secs(5);
/// Descriptors that are reserved for purposes other than streams' sockets.
const RESERVED: u64 = 256;
/// The time between two removals of expired resolver answers.
const TIDY: Duration = Duration::from_secs(60);

/// Serves until the listener ends.
pub async fn serve(mut listener: Listener) {
    let watcher = listener.watcher();
    let (places, names) = (places(), Names::of_system());
    let mut tidies = tokio::time::interval(TIDY);
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            _ = tidies.tick() => {
                names.tidy();
                continue;
            }
        };
        let Some(accepted) = accepted else { return };
        let Some(place) = places.take(accepted.entry.key, watcher.keys()) else {
            accepted.stream.reset(Broken::Overloaded);
            continue;
        };
        let (watcher, names) = (watcher.clone(), Arc::clone(&names));
        tokio::spawn(async move {
            serve_one(accepted, &watcher, &names).await;
            drop(place);
        });
    }
}

/// Returns a relay's status.
pub fn status(watcher: &Watcher) -> Status {
    Status {
        schema: SCHEMA,
        role: "relay",
        sessions: watcher.sessions(),
        trouble: watcher.trouble(),
        handshakes: Some(watcher.handshakes_so_far()),
    }
}

/// Returns the places of sockets to destinations, which the descriptor limit bounds.
fn places() -> Arc<Shares> {
    let limit = rustix::process::getrlimit(rustix::process::Resource::Nofile);
    Shares::new(limit.current.unwrap_or(1 << 20).saturating_sub(RESERVED).max(16))
}

async fn serve_one(accepted: Accepted, watcher: &Watcher, names: &Arc<Names>) {
    let Accepted { mut stream, entry } = accepted;
    let Ok(Some((target, rest))) = tokio::time::timeout(HEAD, head(&mut stream)).await else {
        return stream.reset(Broken::Aborted);
    };
    // The present permissions: reading the header may have taken a while.
    let Some(entry) = watcher.find(entry.key) else { return stream.reset(Broken::Aborted) };
    if target.is_discard() {
        return discard(stream).await;
    }
    let dialled = tokio::select! {
        dialled = tokio::time::timeout(DIAL, dial(&target, &entry, names)) => dialled,
        // A stream that was broken off in between holds nothing.
        () = stream.broken() => return,
    };
    match dialled.unwrap_or(Err(Outcome::TimedOut)) {
        Ok(socket) => {
            if stream.write_all(&[Outcome::Connected.code()]).await.is_ok() {
                pump(socket, stream, &rest).await;
            }
        }
        Err(outcome) => {
            let _ = stream.write_all(&[outcome.code()]).await;
            let _ = stream.shutdown().await;
            // Its further data is discarded; its end is awaited, so that the client gets the reason.
            let _ = tokio::time::timeout(Duration::from_secs(5), stream.discard()).await;
        }
    }
}

/// Reads a survey's data and discards it.
async fn discard(mut stream: Stream) {
    if stream.write_all(&[Outcome::Connected.code()]).await.is_ok() {
        stream.discard().await;
    }
}

/// Reads a stream's destination, and the bytes after it.
async fn head(stream: &mut Stream) -> Option<(Target, Vec<u8>)> {
    let mut held = Vec::new();
    let mut batch = [0; TARGET_MAX];
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

/// Connects to a destination, if the rules allow its resolved address.
async fn dial(target: &Target, entry: &Entry, names: &Arc<Names>) -> Result<TcpStream, Outcome> {
    let rules = &entry.destinations;
    let (name, addresses) = match &target.host {
        Host::Address(address) => (None, [*address].into()),
        Host::Name(name) => {
            if !may_resolve(rules, name, target.port) {
                return Err(Outcome::NotAllowed);
            }
            let found = names.look_up(entry.key, name).await;
            (Some(name.as_str()), if found.is_empty() { return Err(Outcome::HostUnreachable) } else { found })
        }
    };
    let mut last = Outcome::NotAllowed;
    for address in addresses.iter().map(|address| SocketAddr::new(*address, target.port)) {
        if !leads_out(rules, name, address)? {
            continue;
        }
        match tokio::time::timeout(ADDRESS, TcpStream::connect(address)).await {
            Ok(Ok(socket)) => {
                socket.set_nodelay(true).map_err(|error| Outcome::of_error(&error))?;
                return Ok(socket);
            }
            Ok(Err(error)) => last = Outcome::of_error(&error),
            Err(_) => last = Outcome::TimedOut,
        }
    }
    Err(last)
}

/// Returns whether an address is allowed, before any packet is sent to it, so that a refusal reveals nothing
/// about it. A public address of this machine leads into the relay, so a rule must name it, too.
fn leads_out(rules: &[Destination], name: Option<&str>, address: SocketAddr) -> Result<bool, Outcome> {
    if !allows(rules, name, address) {
        return Ok(false);
    }
    let is_named = rules.iter().any(|rule| rule.names_address(address));
    Ok(is_named || !own::is_own(address.ip()).map_err(|error| Outcome::of_error(&error))?)
}
