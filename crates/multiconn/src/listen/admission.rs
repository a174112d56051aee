//! Who may come in: so many at once of whom it is not known who they are, of them so many from one place, and so many in all, which
//! keys share.

use crate::keys::PublicKey;
use crate::shares::{Place, Shares};
use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Counts.
#[derive(Debug)]
pub(super) struct Admission {
    handshakes_most: u32,
    per_source_most: u32,
    connections: Arc<Shares>,
    counts: Mutex<Counts>,
}

#[derive(Debug, Default)]
struct Counts {
    handshakes: u32,
    sources: BTreeMap<IpAddr, u32>,
}

impl Admission {
    pub(super) fn new(handshakes_most: u32, per_source_most: u32, connections_most: u32) -> Arc<Self> {
        let (connections, counts) = (Shares::new(connections_most.into()), Mutex::default());
        Arc::new(Self { handshakes_most, per_source_most, connections, counts })
    }

    fn counts(&self) -> MutexGuard<'_, Counts> {
        self.counts.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A connection from an address: it may go on, or is closed at once.
    pub(super) fn handshake(self: &Arc<Self>, from: IpAddr) -> Option<Handshake> {
        let source = source(from);
        let mut counts = self.counts();
        let own = counts.sources.get(&source).copied().unwrap_or(0);
        if counts.handshakes >= self.handshakes_most || own >= self.per_source_most {
            return None;
        }
        counts.handshakes += 1;
        counts.sources.insert(source, own + 1);
        Some(Handshake { admission: Arc::clone(self), source })
    }

    /// It is known who it is, among so many keys.
    pub(super) fn connection(&self, key: PublicKey, keys: usize) -> Option<Place> {
        self.connections.take(key, keys)
    }

    pub(super) fn handshakes(&self) -> u32 {
        self.counts().handshakes
    }
}

/// Its address, or its network where one has more addresses than can be counted.
fn source(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(six) => IpAddr::V6((six.to_bits() & !u128::from(u64::MAX)).into()),
        four @ IpAddr::V4(_) => four,
    }
}

/// One of whom it is not known who he is.
#[derive(Debug)]
pub(super) struct Handshake {
    admission: Arc<Admission>,
    source: IpAddr,
}

impl Drop for Handshake {
    fn drop(&mut self) {
        let mut counts = self.admission.counts();
        counts.handshakes -= 1;
        match counts.sources.get_mut(&self.source) {
            Some(own) if *own > 1 => *own -= 1,
            _ => {
                counts.sources.remove(&self.source);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_source_cannot_take_all_and_what_is_given_back_is_free() {
        let admission = Admission::new(3, 2, 1);
        let from = |text: &str| admission.handshake(text.parse().unwrap());
        let first = [from("2001:db8::1"), from("2001:db8::2")];
        assert!(first.iter().all(Option::is_some) && from("2001:db8::3").is_none());
        let other = from("192.0.2.1");
        assert!(other.is_some() && from("192.0.2.2").is_none(), "three in all");
        drop(first);
        assert!(from("::ffff:192.0.2.1").is_some(), "the same address in another form");
        assert_eq!(admission.handshakes(), 1);
        let key = crate::keys::SecretKey::generate().public();
        let one = admission.connection(key, 1);
        assert!(one.is_some() && admission.connection(key, 1).is_none());
        drop(one);
        assert!(admission.connection(key, 1).is_some());
    }
}
