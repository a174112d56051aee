//! Admission control: a bounded number of places for unfinished handshakes, and another for authenticated
//! connections, shared among keys.
//!
//! A new handshake is never refused: if the places are full, an older one is closed for it. The choice makes
//! a flood displace itself ([`Waiting::gives_way`]). Sources that showed an authorised key within a day keep
//! half of the places. The network that holds most places loses the next one, and of its handshakes the
//! oldest is closed.

mod recent;

use crate::keys::PublicKey;
use crate::shares::{Place, Shares};
use recent::Recent;
use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;
use tokio::sync::Notify;

/// The outcome of a handshake.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Outcome {
    /// The connection belongs to a session.
    Accepted,
    /// It was closed for a newer one, since all places were taken.
    Displaced,
    /// It was not finished in time.
    Late,
    /// It showed a key that is not authorised.
    UnknownKey,
    /// It was not TLS of this protocol, or the peer closed it.
    Failed,
    /// Its key is authorised, and its request was refused.
    Refused,
}

/// All of them, with the values of the metric's label.
pub(super) const OUTCOMES: [(Outcome, &str); 6] = [
    (Outcome::Accepted, "accepted"),
    (Outcome::Displaced, "displaced"),
    (Outcome::Late, "late"),
    (Outcome::UnknownKey, "unknown_key"),
    (Outcome::Failed, "failed"),
    (Outcome::Refused, "refused"),
];

/// The places and their holders.
#[derive(Debug)]
pub(super) struct Admission {
    connections: Arc<Shares>,
    waiting: Mutex<Waiting>,
}

/// Unfinished handshakes.
#[derive(Debug)]
struct Waiting {
    most: usize,
    per_source_most: usize,
    /// The handshakes by number, the oldest first.
    all: BTreeMap<u64, Pending>,
    next: u64,
    /// The holders of places, by kind (recently authorised or not), level and network; each handshake holds
    /// one more reference.
    groups: BTreeMap<(bool, usize, IpAddr), Arc<()>>,
    recent: Recent,
    outcomes: BTreeMap<Outcome, u64>,
}

#[derive(Debug)]
struct Pending {
    networks: [IpAddr; 3],
    is_known: bool,
    groups: [Arc<()>; 3],
    displaced: Arc<Notify>,
}

impl Pending {
    /// Returns the places that its networks hold, the largest network first.
    fn held(&self) -> [usize; 3] {
        [0, 1, 2].map(|level| Arc::strong_count(&self.groups[level]))
    }
}

/// Returns the networks of an address, the largest first: /16, /24 and /32 of IPv4; /48, /56 and /64 of IPv6.
/// The latter are those of a site, a home and a link (RFC 6177 §2). The last one is its source.
fn networks(address: IpAddr) -> [IpAddr; 3] {
    match address.to_canonical() {
        IpAddr::V4(four) => [16, 8, 0].map(|host| IpAddr::V4((four.to_bits() >> host << host).into())),
        IpAddr::V6(six) => [80, 72, 64].map(|host| IpAddr::V6((six.to_bits() >> host << host).into())),
    }
}

/// Returns the middle one of a source's networks as text, for messages.
fn named(networks: &[IpAddr; 3]) -> String {
    let length = if networks[1].is_ipv4() { 24 } else { 56 };
    format!("{}/{length}", networks[1])
}

impl Waiting {
    /// Returns the handshake to close for a new one from a source, if one must be.
    fn gives_way(&self, source: IpAddr) -> Option<u64> {
        let mut own = self.all.iter().filter(|(_, one)| one.networks[2] == source);
        let oldest = own.next().map(|(number, _)| *number);
        if oldest.is_some() && own.count() + 1 >= self.per_source_most {
            return oldest;
        }
        if self.all.len() < self.most {
            return None;
        }
        // Each kind has half of the places: the kind with more loses one.
        let unknown = self.all.values().filter(|one| !one.is_known).count();
        let gives_known = unknown < self.most.div_ceil(2) && unknown < self.all.len();
        let candidates = self.all.iter().filter(|(_, one)| one.is_known == gives_known);
        candidates.max_by_key(|(number, one)| (one.held(), Reverse(**number))).map(|(number, _)| *number)
    }

    fn add(&mut self, networks: [IpAddr; 3], is_known: bool) -> (u64, Arc<Notify>) {
        let group = |level: usize| (is_known, level, networks[level]);
        let groups = [0, 1, 2].map(|level| Arc::clone(self.groups.entry(group(level)).or_default()));
        let (number, displaced) = (self.next, Arc::new(Notify::new()));
        self.next += 1;
        self.all.insert(number, Pending { networks, is_known, groups, displaced: Arc::clone(&displaced) });
        (number, displaced)
    }

    fn remove(&mut self, number: u64) -> Option<Pending> {
        let gone = self.all.remove(&number)?;
        for (level, group) in gone.groups.iter().enumerate() {
            // The map's reference and this one's.
            if Arc::strong_count(group) == 2 {
                self.groups.remove(&(gone.is_known, level, gone.networks[level]));
            }
        }
        Some(gone)
    }
}

impl Admission {
    pub(super) fn new(handshakes_most: u32, per_source_most: u32, connections_most: u32) -> Arc<Self> {
        let waiting = Waiting {
            most: handshakes_most.max(1) as usize,
            per_source_most: per_source_most.max(1) as usize,
            all: BTreeMap::new(),
            next: 0,
            groups: BTreeMap::new(),
            recent: Recent::default(),
            outcomes: OUTCOMES.iter().map(|(outcome, _)| (*outcome, 0)).collect(),
        };
        Arc::new(Self { connections: Shares::new(connections_most.into()), waiting: Mutex::new(waiting) })
    }

    fn waiting(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Begins the handshake of a connection from an address. Returns its place, and the network of the
    /// handshake that was closed for it.
    pub(super) fn handshake(self: &Arc<Self>, from: IpAddr, now: Instant) -> (Handshake, Option<String>) {
        let mut waiting = self.waiting();
        let networks = networks(from);
        let is_known = waiting.recent.is_known(networks[2], now);
        let gone = waiting.gives_way(networks[2]).and_then(|number| waiting.remove(number));
        if let Some(gone) = &gone {
            gone.displaced.notify_one();
        }
        let (number, displaced) = waiting.add(networks, is_known);
        let handshake = Handshake { admission: Arc::clone(self), number, source: networks[2], displaced };
        (handshake, gone.map(|gone| named(&gone.networks)))
    }

    /// Returns a place for a connection of a key, if there is one, given the number of authorised keys.
    pub(super) fn connection(&self, key: PublicKey, keys: usize) -> Option<Place> {
        self.connections.take(key, keys)
    }

    /// Returns the number of connections with a place.
    pub(super) fn connections(&self) -> u64 {
        self.connections.all()
    }

    /// Counts the outcome of a handshake.
    pub(super) fn ended(&self, outcome: Outcome) {
        *self.waiting().outcomes.entry(outcome).or_default() += 1;
    }

    /// Returns the number of handshakes with an outcome since the start.
    pub(super) fn so_far(&self, outcome: Outcome) -> u64 {
        self.waiting().outcomes.get(&outcome).copied().unwrap_or(0)
    }

    /// Forgets the sources of keys that are no longer authorised.
    pub(super) fn retain(&self, is_authorised: impl Fn(PublicKey) -> bool) {
        self.waiting().recent.retain(is_authorised);
    }

    pub(super) fn handshakes(&self) -> u32 {
        self.waiting().all.len() as u32
    }
}

/// The place of an unfinished handshake, until it is dropped.
#[derive(Debug)]
pub(super) struct Handshake {
    admission: Arc<Admission>,
    number: u64,
    source: IpAddr,
    displaced: Arc<Notify>,
}

impl Handshake {
    /// Waits until the place is given to a newer handshake.
    pub(super) async fn displaced(&self) {
        self.displaced.notified().await;
    }

    /// Records that the connection has shown an authorised key.
    pub(super) fn shows(&self, key: PublicKey, now: Instant) {
        self.admission.waiting().recent.remember(key, self.source, now);
    }
}

impl Drop for Handshake {
    fn drop(&mut self) {
        self.admission.waiting().remove(self.number);
    }
}

#[cfg(test)]
mod tests;
