//! Subscribers that no file lists. One kind are hosts that answer on the mesh's own link, by hardware
//! address. The other kind are prefixes of a given length within a range, such as a home's /56, once an
//! address of it is seen.
//!
//! Any host of the mesh can invent both. So few are added in a second, and if there is no room, the one
//! without packets for the longest time is removed.

use crate::Prefix;
use crate::kernel::Neighbour;
use crate::subscribers::{Leased, hardware_id};
use evenair_units::{Duration, Instant};
use std::collections::{BTreeMap, BTreeSet};

/// Time without a sign of life after which a subscriber is forgotten; its class number is kept.
const FORGOTTEN: Duration = Duration::from_secs(3600);
/// Largest number of newcomers of each kind per second: this part of the room, and `NEWCOMERS_LEAST` at
/// least.
const NEWCOMERS: usize = 64;
const NEWCOMERS_LEAST: usize = 8;

/// The subscriber of each discovered address or prefix.
#[derive(Clone, Debug, Default)]
pub(crate) struct Discovered {
    owners: BTreeMap<Prefix, Entry>,
    /// The end of the last epoch.
    epoch: Instant,
    /// The budgets for new neighbours and for new prefixes.
    budgets: [Budget; 2],
    /// Whether the set changed since the last call of [`take_other`](Self::take_other).
    is_other: bool,
}

#[derive(Clone, Debug)]
struct Entry {
    id: String,
    /// The time of the last sign of life.
    seen: Instant,
    /// The time of the last packets, or of the discovery.
    used: Instant,
}

/// A bound of newcomers per second, with a round-robin position among more.
#[derive(Clone, Copy, Debug, Default)]
struct Budget {
    begun: Option<Instant>,
    taken: usize,
    turn: usize,
}

impl Budget {
    /// Returns as many as may be added now; if there are more, different ones each time.
    fn take<T>(&mut self, now: Instant, mut newcomers: Vec<T>, most: usize) -> Vec<T> {
        if self.begun.is_none_or(|begun| now.since(begun) >= Duration::from_secs(1)) {
            (self.begun, self.taken) = (Some(now), 0);
        }
        let left = most.saturating_sub(self.taken);
        if newcomers.len() > left {
            let turn = self.turn % newcomers.len();
            newcomers.rotate_left(turn);
            newcomers.truncate(left);
            self.turn = self.turn.wrapping_add(left);
        }
        self.taken += newcomers.len();
        newcomers
    }
}

impl Discovered {
    /// Creates the set that an earlier daemon saved.
    pub(crate) fn new(now: Instant, owners: BTreeMap<Prefix, String>) -> Self {
        let entry = |id| Entry { id, seen: now, used: now };
        let owners = owners.into_iter().map(|(prefix, id)| (prefix, entry(id))).collect();
        Self { owners, epoch: now, ..Self::default() }
    }

    /// Returns the set to save.
    pub(crate) fn owners(&self) -> BTreeMap<Prefix, String> {
        self.owners.iter().map(|(prefix, entry)| (*prefix, entry.id.clone())).collect()
    }

    /// Adds hosts that answer on the mesh's link; `room` is the largest size of the set.
    pub(crate) fn add_neighbours(&mut self, now: Instant, neighbours: &[Neighbour], room: usize) {
        let met = neighbours.iter().map(|one| (Prefix::host(one.address), hardware_id(&one.hardware)));
        self.see(now, met.collect(), (0, room));
    }

    /// Adds prefixes that were seen; each is one subscriber's.
    pub(crate) fn see_prefixes(&mut self, now: Instant, prefixes: BTreeSet<Prefix>, room: usize) {
        let seen = prefixes.into_iter().map(|prefix| (prefix, format!("net-{prefix}")));
        self.see(now, seen.collect(), (1, room));
    }

    fn see(&mut self, now: Instant, seen: Vec<(Prefix, String)>, (kind, room): (usize, usize)) {
        let mut newcomers = Vec::new();
        for (prefix, id) in seen {
            let Some(known) = self.owners.get_mut(&prefix) else {
                newcomers.push((prefix, id));
                continue;
            };
            // An address that other hardware answers for changes its subscriber.
            self.is_other |= known.id != id;
            (known.id, known.seen) = (id, now);
        }
        for (prefix, id) in self.budgets[kind].take(now, newcomers, (room / NEWCOMERS).max(NEWCOMERS_LEAST)) {
            if self.owners.len() >= room && !self.make_room() {
                return;
            }
            self.owners.insert(prefix, Entry { id, seen: now, used: now });
            self.is_other = true;
        }
    }

    /// Removes the entry without packets for the longest time; returns false if all had packets in the
    /// last epoch.
    fn make_room(&mut self) -> bool {
        let idle = self.owners.iter().min_by_key(|(_, entry)| entry.used);
        let idle = idle.filter(|(_, entry)| entry.used < self.epoch).map(|(prefix, _)| *prefix);
        idle.is_some_and(|prefix| self.owners.remove(&prefix).is_some())
    }

    /// Ends an epoch in which some were active.
    pub(crate) fn on_epoch(&mut self, now: Instant, is_active: impl Fn(&str) -> bool) {
        let before = self.owners.len();
        self.epoch = now;
        self.owners.retain(|_, entry| {
            if is_active(&entry.id) {
                (entry.seen, entry.used) = (now, now);
            }
            now.since(entry.seen) < FORGOTTEN
        });
        self.is_other |= self.owners.len() < before;
    }

    /// Returns whether the set changed since the last call.
    pub(crate) fn take_other(&mut self) -> bool {
        std::mem::take(&mut self.is_other)
    }

    /// Returns the set as leases.
    pub(crate) fn leased(&self) -> Vec<Leased> {
        let of = |(prefix, entry): (&Prefix, &Entry)| Leased {
            id: entry.id.clone(),
            name: String::new(),
            prefix: *prefix,
        };
        self.owners.iter().map(of).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(s: u64) -> Instant {
        Instant::ZERO + Duration::from_secs(s)
    }

    fn neighbour(address: &str, hardware: &str) -> Neighbour {
        Neighbour { address: address.parse().unwrap(), hardware: hardware.into() }
    }

    #[test]
    fn address_follows_answering_hardware() {
        let mut discovered = Discovered::default();
        let two = [neighbour("10.0.0.5", "02:00:00:00:00:01"), neighbour("fd00::5", "02:00:00:00:00:01")];
        discovered.add_neighbours(at(0), &two, 10);
        assert!(discovered.take_other() && !discovered.take_other());
        let ids =
            |discovered: &Discovered| discovered.leased().into_iter().map(|one| one.id).collect::<Vec<_>>();
        assert_eq!(ids(&discovered), ["mac-02:00:00:00:00:01"; 2]);
        discovered.add_neighbours(at(1), &two, 10);
        assert!(!discovered.take_other(), "nothing is new");
        discovered.add_neighbours(at(2), &[neighbour("10.0.0.5", "02:00:00:00:00:02")], 10);
        assert!(discovered.take_other());
        assert_eq!(ids(&discovered), ["mac-02:00:00:00:00:02", "mac-02:00:00:00:00:01"]);
        let again = Discovered::new(at(0), discovered.owners());
        assert_eq!(again.leased(), discovered.leased());
    }

    /// Returns the /56 with this number.
    fn home(number: u32) -> Prefix {
        format!("2001:db8:{:x}:{:x}00::/56", number / 256, number % 256).parse().unwrap()
    }

    #[test]
    fn silent_ones_are_forgotten_after_an_hour() {
        let mut discovered = Discovered::default();
        discovered.see_prefixes(at(0), (0..10).map(home).collect(), 640);
        assert_eq!(discovered.leased().len(), 10);
        discovered.take_other();
        discovered.on_epoch(at(3599), |id| id == "net-2001:db8:0:300::/56");
        assert!(!discovered.take_other());
        discovered.on_epoch(at(3600), |_| false);
        assert!(discovered.take_other());
        assert_eq!(discovered.leased().len(), 1);
    }

    #[test]
    fn few_come_in_a_second_and_each_has_its_turn() {
        let mut discovered = Discovered::default();
        let all: BTreeSet<Prefix> = (0..35).map(home).collect();
        for second in 0..4 {
            for _ in 0..10 {
                discovered.see_prefixes(at(second), all.clone(), 640);
            }
            assert_eq!(discovered.leased().len(), (10 * (second as usize + 1)).min(35));
        }
        // Neighbours have a separate budget.
        discovered.add_neighbours(at(0), &[neighbour("10.0.0.5", "02:00:00:00:00:01")], 640);
        assert_eq!(discovered.leased().len(), 36);
    }

    /// A thousand others are invented each second. Two are active in each epoch, and one of them
    /// arrives when there is no room.
    #[test]
    fn invented_ones_give_way_to_active_ones() {
        let mut discovered = Discovered::default();
        let (room, active) = (128, [home(0xff_0000), home(0xff_0001)]);
        let is_active = |id: &str| active.iter().any(|prefix| id == format!("net-{prefix}"));
        discovered.see_prefixes(at(0), [active[0]].into(), room);
        let mut came = None;
        for second in 1..2_000 {
            let invented = |k| home(second as u32 * 8 % 0xf_0000 + k);
            let mut seen: BTreeSet<Prefix> = (0..1_000).map(invented).collect();
            if second > 500 {
                seen.insert(active[1]);
            }
            discovered.see_prefixes(at(second), seen, room);
            discovered.on_epoch(at(second), is_active);
            assert!(
                discovered.owners.len() <= room && discovered.owners.contains_key(&active[0]),
                "{second}"
            );
            if discovered.owners.contains_key(&active[1]) {
                came = came.or(Some(second));
            } else {
                assert_eq!(came, None, "it stays");
            }
        }
        assert!(came.is_some(), "it came");
        // If all are active, no other is added.
        let all = discovered.owners.clone();
        discovered.on_epoch(at(3_000), |_| true);
        discovered.see_prefixes(at(3_001), [home(7_000_000)].into(), room);
        assert_eq!(discovered.owners.len(), all.len());
        assert!(all.keys().all(|prefix| discovered.owners.contains_key(prefix)));
    }
}
