//! A limited number of places, shared by key. Half of them is divided among all keys, so that each has its
//! part at any load; the other half is first come, first served.

use crate::keys::PublicKey;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The places, and their holders.
#[derive(Debug)]
pub(crate) struct Shares {
    most: u64,
    taken: Mutex<BTreeMap<PublicKey, u64>>,
}

/// A taken place, until it is dropped.
#[derive(Debug)]
pub(crate) struct Place {
    shares: Arc<Shares>,
    key: PublicKey,
}

impl Shares {
    /// Returns this many places.
    pub(crate) fn new(most: u64) -> Arc<Self> {
        Arc::new(Self { most, taken: Mutex::default() })
    }

    fn taken(&self) -> MutexGuard<'_, BTreeMap<PublicKey, u64>> {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the number of places taken.
    pub(crate) fn all(&self) -> u64 {
        self.taken().values().sum()
    }

    /// Returns a place for a key, given the number of authorised keys; none, if its own part and the common
    /// half are used up.
    pub(crate) fn take(self: &Arc<Self>, key: PublicKey, keys: usize) -> Option<Place> {
        let part = self.most / 2 / (keys as u64).max(1);
        let mut taken = self.taken();
        let own = taken.get(&key).copied().unwrap_or(0);
        let all: u64 = taken.values().sum();
        let beyond: u64 = taken.values().map(|own| own.saturating_sub(part)).sum();
        let common = self.most.saturating_sub(part * keys as u64);
        if all >= self.most || (own >= part && beyond >= common) {
            return None;
        }
        taken.insert(key, own + 1);
        Some(Place { shares: Arc::clone(self), key })
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut taken = self.shares.taken();
        match taken.get_mut(&self.key) {
            Some(own) if *own > 1 => *own -= 1,
            _ => {
                taken.remove(&self.key);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::keys::SecretKey;

    /// Takes all places that a key can have.
    fn all_for(shares: &Arc<Shares>, key: PublicKey, keys: usize) -> Vec<Place> {
        std::iter::from_fn(|| shares.take(key, keys)).collect()
    }

    #[test]
    fn each_key_keeps_its_part() {
        let keys: Vec<PublicKey> = (0..5).map(|_| SecretKey::generate().public()).collect();
        let shares = Shares::new(100);
        let greedy: Vec<_> = keys[..4].iter().map(|key| all_for(&shares, *key, 5)).collect();
        let counts: Vec<_> = greedy.iter().map(Vec::len).collect();
        assert_eq!(counts, [60, 10, 10, 10], "the first has the common half, too");
        let last = all_for(&shares, keys[4], 5);
        assert_eq!(last.len(), 10);
        drop(greedy);
        assert_eq!(all_for(&shares, keys[4], 5).len(), 50, "and what others give back");
        drop(last);
        assert!(shares.taken().is_empty(), "nothing is kept of who has gone");
    }

    #[test]
    fn lone_key_has_all_and_many_share_by_order() {
        let (one, other) = (SecretKey::generate().public(), SecretKey::generate().public());
        let shares = Shares::new(3);
        let all = all_for(&shares, one, 1);
        assert_eq!(all.len(), 3);
        assert!(shares.take(other, 2).is_none(), "a second key came meanwhile, and there is nothing left");
        drop(all);
        assert_eq!(all_for(&shares, other, 1000).len(), 3);
    }
}
