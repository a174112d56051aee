//! Subscribers that stand in no file: whoever answers on the mesh's own link, by the hardware's address, and every prefix of a length within
//! a range, such as the /56 that homes are given, once an address of it is seen.
//!
//! Both can be invented by any host of the mesh. So few come in a second, and where there is no room those give way that have been without
//! packets for the longest time.

use crate::Prefix;
use crate::kernel::Neighbour;
use crate::subscribers::{Leased, hardware_id};
use evenair_units::{Duration, Instant};
use std::collections::{BTreeMap, BTreeSet};

/// Who shows no sign of life for so long is forgotten; the number of the class is not.
const FORGOTTEN: Duration = Duration::from_secs(3600);
/// Newcomers of each kind per second: this part of those that are remembered, and no fewer than so many.
const NEWCOMERS: usize = 64;
const NEWCOMERS_LEAST: usize = 8;

/// Whose an address or prefix is, by what was seen.
#[derive(Clone, Debug, Default)]
pub(crate) struct Sighted {
    owners: BTreeMap<Prefix, Sight>,
    /// When the last epoch ended.
    epoch: Instant,
    /// Neighbours' room for newcomers, and prefixes'.
    budgets: [Budget; 2],
    /// Whether others are there than were told last.
    is_other: bool,
}

#[derive(Clone, Debug)]
struct Sight {
    id: String,
    /// When there was a sign of life last.
    seen: Instant,
    /// When packets passed last, or when it came.
    used: Instant,
}

/// A bound of newcomers per second, and whose turn it is among more.
#[derive(Clone, Copy, Debug, Default)]
struct Budget {
    begun: Option<Instant>,
    taken: usize,
    turn: usize,
}

impl Budget {
    /// As many of these as may come now; of more than that others each time.
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

impl Sighted {
    /// What a daemon before had seen.
    pub(crate) fn new(now: Instant, owners: BTreeMap<Prefix, String>) -> Self {
        let sight = |id| Sight { id, seen: now, used: now };
        let owners = owners.into_iter().map(|(prefix, id)| (prefix, sight(id))).collect();
        Self { owners, epoch: now, ..Self::default() }
    }

    /// What the next daemon is to know.
    pub(crate) fn owners(&self) -> BTreeMap<Prefix, String> {
        self.owners.iter().map(|(prefix, sight)| (*prefix, sight.id.clone())).collect()
    }

    /// These answer on the mesh's link; so many are remembered in all.
    pub(crate) fn meet(&mut self, now: Instant, neighbours: &[Neighbour], room: usize) {
        let met = neighbours.iter().map(|one| (Prefix::host(one.address), hardware_id(&one.hardware)));
        self.see(now, met.collect(), (0, room));
    }

    /// Something was seen of prefixes each of which is a subscriber's own.
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
            // An address that other hardware answers for is another's from now on.
            self.is_other |= known.id != id;
            (known.id, known.seen) = (id, now);
        }
        for (prefix, id) in self.budgets[kind].take(now, newcomers, (room / NEWCOMERS).max(NEWCOMERS_LEAST)) {
            if self.owners.len() >= room && !self.make_room() {
                return;
            }
            self.owners.insert(prefix, Sight { id, seen: now, used: now });
            self.is_other = true;
        }
    }

    /// Forgets whatever has been without packets for the longest time; not, if all had some in the last epoch.
    fn make_room(&mut self) -> bool {
        let idle = self.owners.iter().min_by_key(|(_, sight)| sight.used);
        let idle = idle.filter(|(_, sight)| sight.used < self.epoch).map(|(prefix, _)| *prefix);
        idle.is_some_and(|prefix| self.owners.remove(&prefix).is_some())
    }

    /// An epoch has passed in which some were active.
    pub(crate) fn on_epoch(&mut self, now: Instant, is_active: impl Fn(&str) -> bool) {
        let before = self.owners.len();
        self.epoch = now;
        self.owners.retain(|_, sight| {
            if is_active(&sight.id) {
                (sight.seen, sight.used) = (now, now);
            }
            now.since(sight.seen) < FORGOTTEN
        });
        self.is_other |= self.owners.len() < before;
    }

    /// Whether others are there since this was asked last.
    pub(crate) fn take_other(&mut self) -> bool {
        std::mem::take(&mut self.is_other)
    }

    /// All of them, as leases are told.
    pub(crate) fn leased(&self) -> Vec<Leased> {
        let of = |(prefix, sight): (&Prefix, &Sight)| Leased {
            id: sight.id.clone(),
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
    fn hardware_keeps_its_id_and_addresses_go_to_who_answers_for_them() {
        let mut sighted = Sighted::default();
        let two = [neighbour("10.0.0.5", "02:00:00:00:00:01"), neighbour("fd00::5", "02:00:00:00:00:01")];
        sighted.meet(at(0), &two, 10);
        assert!(sighted.take_other() && !sighted.take_other());
        let ids = |sighted: &Sighted| sighted.leased().into_iter().map(|one| one.id).collect::<Vec<_>>();
        assert_eq!(ids(&sighted), ["mac-02:00:00:00:00:01"; 2]);
        sighted.meet(at(1), &two, 10);
        assert!(!sighted.take_other(), "nothing is new");
        sighted.meet(at(2), &[neighbour("10.0.0.5", "02:00:00:00:00:02")], 10);
        assert!(sighted.take_other());
        assert_eq!(ids(&sighted), ["mac-02:00:00:00:00:02", "mac-02:00:00:00:00:01"]);
        let again = Sighted::new(at(0), sighted.owners());
        assert_eq!(again.leased(), sighted.leased());
    }

    /// The /56 of this number.
    fn home(number: u32) -> Prefix {
        format!("2001:db8:{:x}:{:x}00::/56", number / 256, number % 256).parse().unwrap()
    }

    #[test]
    fn silent_ones_are_forgotten_after_an_hour() {
        let mut sighted = Sighted::default();
        sighted.see_prefixes(at(0), (0..10).map(home).collect(), 640);
        assert_eq!(sighted.leased().len(), 10);
        sighted.take_other();
        sighted.on_epoch(at(3599), |id| id == "net-2001:db8:0:300::/56");
        assert!(!sighted.take_other());
        sighted.on_epoch(at(3600), |_| false);
        assert!(sighted.take_other());
        assert_eq!(sighted.leased().len(), 1);
    }

    #[test]
    fn few_come_in_a_second_and_each_has_its_turn() {
        let mut sighted = Sighted::default();
        let all: BTreeSet<Prefix> = (0..35).map(home).collect();
        for second in 0..4 {
            for _ in 0..10 {
                sighted.see_prefixes(at(second), all.clone(), 640);
            }
            assert_eq!(sighted.leased().len(), (10 * (second as usize + 1)).min(35));
        }
        // Neighbours have a budget of their own.
        sighted.meet(at(0), &[neighbour("10.0.0.5", "02:00:00:00:00:01")], 640);
        assert_eq!(sighted.leased().len(), 36);
    }

    /// Each second a thousand others are invented; two are active in each epoch, and one of them comes when there is no room.
    #[test]
    fn invented_ones_give_way_to_active_ones() {
        let mut sighted = Sighted::default();
        let (room, active) = (128, [home(0xff_0000), home(0xff_0001)]);
        let is_active = |id: &str| active.iter().any(|prefix| id == format!("net-{prefix}"));
        sighted.see_prefixes(at(0), [active[0]].into(), room);
        let mut came = None;
        for second in 1..2_000 {
            let invented = |k| home(second as u32 * 8 % 0xf_0000 + k);
            let mut seen: BTreeSet<Prefix> = (0..1_000).map(invented).collect();
            if second > 500 {
                seen.insert(active[1]);
            }
            sighted.see_prefixes(at(second), seen, room);
            sighted.on_epoch(at(second), is_active);
            assert!(sighted.owners.len() <= room && sighted.owners.contains_key(&active[0]), "{second}");
            if sighted.owners.contains_key(&active[1]) {
                came = came.or(Some(second));
            } else {
                assert_eq!(came, None, "it stays");
            }
        }
        assert!(came.is_some(), "it came");
        // Where all are active no other comes.
        let all = sighted.owners.clone();
        sighted.on_epoch(at(3_000), |_| true);
        sighted.see_prefixes(at(3_001), [home(7_000_000)].into(), room);
        assert_eq!(sighted.owners.len(), all.len());
        assert!(all.keys().all(|prefix| sighted.owners.contains_key(prefix)));
    }
}
