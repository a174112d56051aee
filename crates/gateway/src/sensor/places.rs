//! Places that classes share: no class takes the last places of the others.
//!
//! A class may keep as many entries as there are free places (the dynamic thresholds of Choudhury and
//! Hahne, IEEE/ACM Transactions on Networking 6(2), 1998, with α = 1). One class that opens entries
//! without end gets half of all places, and each of n such classes 1/(n + 1). A few places are reserved
//! for every class. If classes have filled the places one after the other, [`Places::level`] takes the
//! surplus from those with the most.

use std::collections::BTreeMap;

/// Number of places that every class has, however many are taken.
const OWN: usize = 16;
/// The places are levelled when more than this share of them is taken, in eighths; `LEVELLED` eighths
/// then stay taken.
const FULL: usize = 7;
const LEVELLED: usize = 6;

/// The entries of all classes.
#[derive(Clone, Debug)]
pub(super) struct Places<C, K, V> {
    of: BTreeMap<C, BTreeMap<K, V>>,
    count: usize,
    most: usize,
}

impl<C: Copy + Ord, K: Ord, V> Places<C, K, V> {
    /// Returns room for `most` entries, and a few of each class.
    pub(super) const fn new(most: usize) -> Self {
        Self { of: BTreeMap::new(), count: 0, most }
    }

    pub(super) fn get(&self, class: C, key: &K) -> Option<&V> {
        self.of.get(&class)?.get(key)
    }

    pub(super) fn get_mut(&mut self, class: C, key: &K) -> Option<&mut V> {
        self.of.get_mut(&class)?.get_mut(key)
    }

    /// Returns the entry of a key, and inserts it if needed; `None` if the class has no place left.
    pub(super) fn get_or_insert(&mut self, class: C, key: K, new: impl FnOnce() -> V) -> Option<&mut V> {
        let free = self.most.saturating_sub(self.count);
        let own = self.of.entry(class).or_default();
        let has_room = own.len() < free.max(OWN);
        match own.entry(key) {
            std::collections::btree_map::Entry::Occupied(known) => Some(known.into_mut()),
            std::collections::btree_map::Entry::Vacant(place) if has_room => {
                self.count += 1;
                Some(place.insert(new()))
            }
            std::collections::btree_map::Entry::Vacant(_) => None,
        }
    }

    pub(super) fn remove(&mut self, class: C, key: &K) -> Option<V> {
        let removed = self.of.get_mut(&class)?.remove(key)?;
        self.count -= 1;
        Some(removed)
    }

    /// Keeps the entries for which `stays` returns true.
    pub(super) fn retain(&mut self, mut stays: impl FnMut(C, &K, &mut V) -> bool) {
        for (class, own) in &mut self.of {
            own.retain(|key, value| stays(*class, key, value));
        }
        self.of.retain(|_, own| !own.is_empty());
        self.count = self.of.values().map(BTreeMap::len).sum();
    }

    /// Removes the surplus from the classes with the most entries, and passes it to `each` with its
    /// class.
    pub(super) fn level(&mut self, mut each: impl FnMut(C, V)) {
        if self.count <= self.most / 8 * FULL {
            return;
        }
        let level = self.fair(self.most / 8 * LEVELLED).max(OWN);
        for (class, own) in &mut self.of {
            while own.len() > level {
                let (_, removed) = own.pop_last().expect("it has more than the level");
                self.count -= 1;
                each(*class, removed);
            }
        }
    }

    /// Returns the largest number of entries per class for which the sum is `all` at most (max-min).
    fn fair(&self, all: usize) -> usize {
        let mut counts: Vec<usize> = self.of.values().map(BTreeMap::len).collect();
        counts.sort_unstable();
        let (mut left, mut classes) = (all, counts.len());
        for count in counts {
            if count * classes > left {
                return left / classes;
            }
            (left, classes) = (left - count, classes - 1);
        }
        all
    }

    pub(super) fn clear(&mut self) {
        (self.of, self.count) = (BTreeMap::new(), 0);
    }

    /// Returns all entries, by class.
    pub(super) fn iter(&self) -> impl Iterator<Item = (C, &V)> {
        self.of.iter().flat_map(|(class, own)| own.values().map(|value| (*class, value)))
    }

    #[cfg(test)]
    pub(super) const fn len(&self) -> usize {
        self.count
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the number of new entries that find a place.
    fn fill(places: &mut Places<u16, usize, u8>, class: u16, wanted: usize) -> usize {
        (0..wanted).take_while(|key| places.get_or_insert(class, *key, || 0).is_some()).count()
    }

    fn own(places: &Places<u16, usize, u8>, class: u16) -> usize {
        places.of.get(&class).map_or(0, BTreeMap::len)
    }

    #[test]
    fn class_without_end_has_half() {
        let mut places = Places::new(65_536);
        assert_eq!(fill(&mut places, 0, 100_000), 32_768);
        assert_eq!(fill(&mut places, 1, 10_000), 10_000, "another class has what it wants");
        places.level(|_, _| panic!("there is room"));
        assert_eq!(fill(&mut places, 0, 32_768), 32_768, "what is there stays");
    }

    #[test]
    fn places_that_were_filled_in_turn_are_levelled() {
        let mut places = Places::new(65_536);
        for class in 0..100 {
            assert!(fill(&mut places, class, 100_000) >= OWN);
        }
        let mut lost = 0;
        places.level(|_, _| lost += 1);
        // The classes had 32 768, 16 384, 8 192 and so on.
        assert!(lost > 16_384 && own(&places, 0) < 16_384, "{lost} {}", own(&places, 0));
        // A modest class comes last, and then another flood.
        assert_eq!(fill(&mut places, 200, 200), 200);
        for _ in 0..10 {
            for class in 0..100 {
                fill(&mut places, class, 100_000);
            }
            places.level(|_, _| ());
        }
        assert_eq!(own(&places, 200), 200);
        assert!(places.len() <= 65_536 / 8 * 7, "an eighth is free for the next: {}", places.len());
        assert!(fill(&mut places, 201, 10_000) >= 4_096, "at least half of an eighth");
    }

    #[test]
    fn counts_follow_kept_places() {
        let mut places = Places::new(64);
        assert_eq!((fill(&mut places, 0, 100), fill(&mut places, 1, 100)), (32, 16));
        assert_eq!(places.remove(0, &3), Some(0));
        assert_eq!(places.remove(0, &3), None);
        places.retain(|class, _, _| class == 0);
        assert_eq!((places.len(), places.iter().count()), (31, 31));
        places.clear();
        assert_eq!(places.len(), 0);
    }
}
