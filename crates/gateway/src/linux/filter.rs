//! The packet filter: the class of each address, and the volume that each address offers.

use super::{Linux, map, range};
use crate::config::Forwarding;
use crate::kernel::{Failure, Offered};
use crate::plan::Change;
use crate::reconcile::TABLE;
use crate::tree::{ACKNOWLEDGEMENTS, EXEMPT, MAJOR, UNKNOWN};
use crate::{Prefix, Side};
use evenair_linux::nft::{
    self, Action, Chain, Entry, Family, Hook, Match, Rule, Set, SetKind, Table, Version,
};
use evenair_linux::tc::Handle;
use evenair_units::Duration;
use std::collections::BTreeMap;
use std::io;

/// Silence after which the kernel forgets an address.
const FORGOTTEN: Duration = Duration::from_secs(600);
const VERSIONS: [(Version, bool); 2] = [(Version::V4, false), (Version::V6, true)];
/// The chain that classifies packets.
const CHAIN: &str = "forward";
const TCP: u8 = 6;
const UDP: u8 = 17;
/// An acknowledgement has this one of TCP's flags, and none of FIN, SYN and RST (RFC 9293 §3.1).
const ACK: u8 = 0x10;
const ACK_ALONE: u8 = ACK | 0x07;
/// Length of TCP's header with all its options and of IP's without options \[bytes\]. Full segments are
/// longer: Linux sends none of less than 48 bytes of data and options (`tcp_min_snd_mss`).
const HEADERS: [(Version, u16); 2] = [(Version::V4, 20 + 60), (Version::V6, 40 + 60)];

/// Returns an entry's change: its side, its prefix, whether the map has it already, and its new class.
const fn entry(change: &Change) -> Option<(Side, Prefix, bool, Option<u16>)> {
    Some(match change {
        Change::AddEntry(side, prefix, minor) => (*side, *prefix, false, Some(*minor)),
        Change::ChangeEntry(side, prefix, _, minor) => (*side, *prefix, true, Some(*minor)),
        Change::DeleteEntry(side, prefix, _) => (*side, *prefix, true, None),
        _ => return None,
    })
}

fn classes(side: Side, (version, is_v6): (Version, bool)) -> Set {
    Set { name: map(side, is_v6), version, kind: SetKind::Classes { counts: false } }
}

fn seen_set(size: u32, (version, is_v6): (Version, bool)) -> Set {
    let name = format!("seen{}", if is_v6 { 6 } else { 4 });
    Set { name, version, kind: SetKind::Seen { size, timeout: FORGOTTEN } }
}

fn failed(doing: &'static str) -> impl Fn(io::Error) -> Failure {
    move |error| Failure::new(format!("nftables, {doing}"), error)
}

/// Merges adjacent ports into ranges, because each range costs every packet a comparison.
fn spans(ports: &[u16]) -> Vec<(u16, u16)> {
    let mut ports = ports.to_vec();
    ports.sort_unstable();
    let mut spans: Vec<(u16, u16)> = Vec::new();
    for port in ports {
        match spans.last_mut() {
            Some((_, last)) if port <= last.saturating_add(1) => *last = port,
            _ => spans.push((port, port)),
        }
    }
    spans
}

/// Returns the gateway's table of the packet filter.
pub(super) fn table(forwarding: Forwarding) -> Table {
    let family = match forwarding {
        Forwarding::Routed => Family::Inet,
        Forwarding::Bridged => Family::Bridge,
    };
    Table { family, name: TABLE.into() }
}

impl Linux {
    /// Returns the gateway's existing tables. Routed and bridged forwarding use different families, so
    /// a table of the other family may be left over.
    fn own_tables(&mut self) -> Result<Vec<Table>, Failure> {
        let tables = self.filter.tables().map_err(failed("its tables"))?;
        let is_ours = |table: &Table| table.name == TABLE && !matches!(table.family, Family::Other(_));
        Ok(tables.into_iter().filter(is_ours).collect())
    }

    /// Returns whether the gateway's table exists.
    pub(super) fn has_table(&mut self) -> Result<bool, Failure> {
        Ok(!self.own_tables()?.is_empty())
    }

    /// Returns whether the rules are those that this daemon set for these devices. Rules of an earlier
    /// daemon are unknown and are set again.
    pub(super) fn has_rules(&mut self) -> Result<bool, Failure> {
        let Ok(devices) = self.both_indices() else { return Ok(false) };
        let rules = self.filter.rules(&self.table, CHAIN).map_err(failed("its rules"))?;
        Ok(self.rules.as_ref() == Some(&(devices, rules)))
    }

    /// Returns the class of each address, or `None` if a map is missing.
    pub(super) fn entries(&mut self, side: Side) -> Result<Option<BTreeMap<Prefix, u16>>, Failure> {
        let mut entries = BTreeMap::new();
        for version in VERSIONS {
            let found = match self.filter.elements(&self.table, &classes(side, version)) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
                found => found.map_err(failed("its map"))?,
            };
            for element in found {
                let prefix = Prefix::between(element.range.first(), element.range.last());
                entries.extend(prefix.zip(element.class.map(|class| class.minor)));
            }
        }
        Ok(Some(entries))
    }

    /// Returns the volumes that addresses offered.
    pub(super) fn seen(&mut self) -> Result<Vec<Offered>, Failure> {
        let mut seen = Vec::new();
        for version in VERSIONS {
            let set = seen_set(self.strangers, version);
            let found = self.filter.elements(&self.table, &set).map_err(failed("its counts"))?;
            seen.extend(found.iter().map(|one| Offered { address: one.range.first(), volume: one.volume }));
        }
        Ok(seen)
    }

    /// Makes the first change, together with the ones after it that fit into the same batch. Returns
    /// the rest.
    pub(super) fn filter<'a>(&mut self, changes: &'a [Change]) -> Result<&'a [Change], Failure> {
        match &changes[0] {
            Change::AddTable => self.create()?,
            Change::SetRules => self.set_rules()?,
            Change::DeleteTable => self.delete_tables()?,
            first => {
                let of = |change: &Change| entry(change).map(|(side, prefix, _, _)| (side, prefix.is_v6()));
                let count = changes.iter().take_while(|change| of(change) == of(first)).count();
                self.change(&changes[..count])?;
                return Ok(&changes[count..]);
            }
        }
        Ok(&changes[1..])
    }

    /// Changes entries of one map.
    fn change(&mut self, changes: &[Change]) -> Result<(), Failure> {
        let entries: Vec<_> = changes.iter().filter_map(entry).collect();
        let Some(&(side, prefix, _, _)) = entries.first() else { return Ok(()) };
        let set = classes(side, VERSIONS[usize::from(prefix.is_v6())]);
        let remove: Vec<_> = entries.iter().filter(|entry| entry.2).map(|entry| range(entry.1)).collect();
        let add = |&(_, prefix, _, minor): &(Side, Prefix, bool, Option<u16>)| {
            minor.map(|minor| Entry { range: range(prefix), class: Handle::new(MAJOR, minor) })
        };
        let add: Vec<_> = entries.iter().filter_map(add).collect();
        self.filter.change(&self.table, &set, &remove, &add).map_err(failed("its map"))
    }

    fn delete_tables(&mut self) -> Result<(), Failure> {
        for table in self.own_tables()? {
            self.filter.delete(&table).map_err(failed("its table"))?;
        }
        Ok(())
    }

    /// Creates the table with its maps and sets.
    fn create(&mut self) -> Result<(), Failure> {
        for other in self.own_tables()?.iter().filter(|table| **table != self.table) {
            self.filter.delete(other).map_err(failed("its table"))?;
        }
        let maps = Side::ALL.into_iter().flat_map(|side| VERSIONS.map(|version| classes(side, version)));
        let sets: Vec<Set> = maps.chain(VERSIONS.map(|version| seen_set(self.strangers, version))).collect();
        self.filter.create(&self.table, &sets).map_err(failed("its table"))
    }

    /// Sets the rules for the present device numbers.
    fn set_rules(&mut self) -> Result<(), Failure> {
        let devices = self.both_indices()?;
        let of = |(side, device): (Side, &u32)| self.rules_of(side, Match::Out(*device));
        let rules: Vec<Rule> = Side::ALL.into_iter().zip(&devices).flat_map(of).collect();
        // On this hook addresses are the subscribers' own, before any masquerading. Bridges have a hook
        // of this name too, where the devices are the ports.
        let chain = Chain { name: CHAIN.into(), hook: Hook::Forward, priority: 0 };
        self.filter.set_rules(&self.table, &chain, &rules).map_err(failed("its rules"))?;
        let own = self.filter.rules(&self.table, CHAIN).map_err(failed("its rules"))?;
        self.rules = Some((devices, own));
        Ok(())
    }

    /// Returns the rules for packets that leave by a device. Their class is the unknown one, unless a
    /// map has the address, unless they are exempt. Packets that are not exempt are counted.
    fn rules_of(&self, side: Side, out: Match) -> Vec<Rule> {
        let end = if side == Side::Down { nft::Side::Destination } else { nft::Side::Source };
        let rule = |matches: &[Match], action| Rule { matches: [&[out], matches].concat(), action };
        let class = |minor| Action::Class(Handle::new(MAJOR, minor));
        let mut rules = vec![rule(&[], class(UNKNOWN))];
        for (version, is_v6) in VERSIONS {
            rules.push(rule(&[], Action::ClassFrom { set: map(side, is_v6), version, side: end }));
        }
        for (version, most) in HEADERS.into_iter().filter(|_| self.exempt.acknowledgements) {
            let somebodys = Match::NotClass(Handle::new(MAJOR, UNKNOWN));
            let no_data = [Match::Length { version, most }, Match::Flags { mask: ACK_ALONE, set: ACK }];
            let matches = [&[Match::Protocol(TCP), somebodys][..], &no_data].concat();
            rules.push(rule(&matches, class(ACKNOWLEDGEMENTS)));
        }
        for (first, last) in spans(&self.exempt.ports) {
            for (protocol, side) in
                [TCP, UDP].into_iter().flat_map(|of| [(of, nft::Side::Source), (of, nft::Side::Destination)])
            {
                let ports = Match::Ports { side, first, last };
                rules.push(rule(&[Match::Protocol(protocol), ports], class(EXEMPT)));
            }
        }
        for prefix in &self.exempt.prefixes {
            let matched = Match::Address { side: end, address: prefix.address(), prefix: prefix.length() };
            rules.push(rule(&[matched], class(EXEMPT)));
        }
        // Counts packets of the subscribers' and the unknown class: a class that gets fewer than that
        // shows a diversion.
        let led = [EXEMPT, ACKNOWLEDGEMENTS].map(|minor| Match::NotClass(Handle::new(MAJOR, minor)));
        for (version, is_v6) in VERSIONS {
            let set = seen_set(self.strangers, (version, is_v6)).name;
            let prefix = if is_v6 { 128 } else { 32 };
            rules.push(rule(&led, Action::Count { set, version, side: end, prefix }));
        }
        rules
    }
}

#[cfg(test)]
mod tests {
    use super::spans;

    #[test]
    fn ports_that_follow_each_other_are_one_span() {
        assert_eq!(spans(&[547, 53, 67, 68, 546, 53]), [(53, 53), (67, 68), (546, 547)]);
        assert_eq!(spans(&[u16::MAX, u16::MAX]), [(u16::MAX, u16::MAX)]);
    }
}
