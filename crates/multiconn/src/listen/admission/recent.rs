//! Sources that have recently shown an authorised key.

use crate::keys::PublicKey;
use std::collections::{BTreeMap, VecDeque};
use std::net::IpAddr;
use std::time::{Duration, Instant};

/// A source is remembered for this time after it has shown a key.
const KNOWN_FOR: Duration = Duration::from_secs(24 * 3600);
/// The most sources remembered of a key: a key that moves between many displaces only its own.
const SOURCES_MAX: usize = 8;

/// The last sources of each key, the latest at the end.
#[derive(Debug, Default)]
pub(super) struct Recent {
    of_key: BTreeMap<PublicKey, VecDeque<IpAddr>>,
    /// The time at which a source showed a key last, and the number of keys that list it.
    sources: BTreeMap<IpAddr, (Instant, usize)>,
}

impl Recent {
    /// Records that a source has shown a key.
    pub(super) fn remember(&mut self, key: PublicKey, source: IpAddr, now: Instant) {
        let own = self.of_key.entry(key).or_default();
        let before = own.iter().position(|one| *one == source).and_then(|place| own.remove(place));
        own.push_back(source);
        let gone = if own.len() > SOURCES_MAX { own.pop_front() } else { None };
        let (at, keys) = self.sources.entry(source).or_insert((now, 0));
        *at = now;
        *keys += usize::from(before.is_none());
        gone.iter().for_each(|gone| self.release(*gone));
    }

    /// Returns whether a source has shown a key within [`KNOWN_FOR`].
    pub(super) fn is_known(&self, source: IpAddr, now: Instant) -> bool {
        self.sources.get(&source).is_some_and(|(at, _)| now.duration_since(*at) < KNOWN_FOR)
    }

    /// Forgets the sources of some keys.
    pub(super) fn retain(&mut self, keeps: impl Fn(PublicKey) -> bool) {
        let gone: Vec<PublicKey> = self.of_key.keys().copied().filter(|key| !keeps(*key)).collect();
        for key in gone {
            for source in self.of_key.remove(&key).unwrap_or_default() {
                self.release(source);
            }
        }
    }

    fn release(&mut self, source: IpAddr) {
        if let Some((_, keys)) = self.sources.get_mut(&source) {
            *keys -= 1;
            if *keys == 0 {
                self.sources.remove(&source);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::keys::SecretKey;

    #[test]
    fn a_key_makes_few_sources_known_and_for_a_day() {
        let [anna, ben] = [(); 2].map(|()| SecretKey::generate().public());
        let source = |last: u8| IpAddr::from([192, 0, 2, last]);
        let (mut recent, begun) = (Recent::default(), Instant::now());
        recent.remember(ben, source(0), begun);
        (0..=SOURCES_MAX as u8).for_each(|last| recent.remember(anna, source(last), begun));
        assert!(recent.is_known(source(0), begun), "it is another key's, too");
        assert!(recent.is_known(source(1), begun) && !recent.is_known(source(99), begun));
        recent.remember(anna, source(2), begun);
        recent.remember(anna, source(50), begun);
        assert!(!recent.is_known(source(1), begun) && recent.is_known(source(2), begun), "the latest stay");
        assert!(!recent.is_known(source(2), begun + KNOWN_FOR));
        recent.retain(|key| key == ben);
        assert_eq!((recent.sources.len(), recent.of_key.len()), (1, 1));
    }
}
