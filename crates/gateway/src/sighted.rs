//! Subscribers that stand in no file: whoever answers on the mesh's own link, by the hardware's address, and every prefix of a length within
//! a range, such as the /56 that homes are given, once an address of it is seen.

use crate::Prefix;
use crate::kernel::Neighbour;
use crate::subscribers::{Leased, hardware_id};
use evenair_units::{Duration, Instant};
use std::collections::BTreeMap;

/// Who shows no sign of life for so long is forgotten; the number of the class is not.
const FORGOTTEN: Duration = Duration::from_secs(3600);

/// Whose an address or prefix is, by what was seen.
#[derive(Clone, Debug, Default)]
pub(crate) struct Sighted {
    owners: BTreeMap<Prefix, (String, Instant)>,
    /// Whether others are there than were told last.
    is_other: bool,
}

impl Sighted {
    /// What a daemon before had seen.
    pub(crate) fn new(now: Instant, owners: BTreeMap<Prefix, String>) -> Self {
        let owners = owners.into_iter().map(|(prefix, id)| (prefix, (id, now))).collect();
        Self { owners, is_other: false }
    }

    /// What the next daemon is to know.
    pub(crate) fn owners(&self) -> BTreeMap<Prefix, String> {
        self.owners.iter().map(|(prefix, (id, _))| (*prefix, id.clone())).collect()
    }

    /// These answer on the mesh's link; so many are remembered in all.
    pub(crate) fn meet(&mut self, now: Instant, neighbours: &[Neighbour], room: usize) {
        for neighbour in neighbours {
            self.see(now, Prefix::host(neighbour.address), hardware_id(&neighbour.hardware), room);
        }
    }

    /// Something of a prefix was seen that is a subscriber's own.
    pub(crate) fn see_prefix(&mut self, now: Instant, prefix: Prefix, room: usize) {
        self.see(now, prefix, format!("net-{prefix}"), room);
    }

    fn see(&mut self, now: Instant, prefix: Prefix, id: String, room: usize) {
        let has_room = self.owners.len() < room;
        match self.owners.get_mut(&prefix) {
            Some((owner, seen)) => {
                // An address that other hardware answers for is another's from now on.
                self.is_other |= *owner != id;
                (*owner, *seen) = (id, now);
            }
            None if has_room => {
                self.owners.insert(prefix, (id, now));
                self.is_other = true;
            }
            None => (),
        }
    }

    /// An epoch has passed in which some were active.
    pub(crate) fn on_epoch(&mut self, now: Instant, is_active: impl Fn(&str) -> bool) {
        let before = self.owners.len();
        self.owners.retain(|_, (id, seen)| {
            if is_active(id) {
                *seen = now;
            }
            now.since(*seen) < FORGOTTEN
        });
        self.is_other |= self.owners.len() < before;
    }

    /// Whether others are there since this was asked last.
    pub(crate) fn take_other(&mut self) -> bool {
        std::mem::take(&mut self.is_other)
    }

    /// All of them, as leases are told.
    pub(crate) fn leased(&self) -> Vec<Leased> {
        let of = |(prefix, (id, _)): (&Prefix, &(String, Instant))| Leased {
            id: id.clone(),
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

    #[test]
    fn who_is_silent_is_forgotten_and_strangers_fill_no_more_than_their_room() {
        let mut sighted = Sighted::default();
        for k in 0..1000 {
            sighted.see_prefix(
                at(0),
                format!("2001:db8:{:x}:{:x}00::/56", k / 256, k % 256).parse().unwrap(),
                100,
            );
        }
        assert_eq!(sighted.leased().len(), 100);
        sighted.take_other();
        sighted.on_epoch(at(3599), |id| id == "net-2001:db8:0:300::/56");
        assert!(!sighted.take_other());
        sighted.on_epoch(at(3600), |_| false);
        assert!(sighted.take_other());
        assert_eq!(sighted.leased().len(), 1);
    }
}
