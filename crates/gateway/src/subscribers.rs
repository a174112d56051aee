//! The subscribers behind the gateway, by stable ids, with their addresses.

mod csv;
mod leases;

pub use csv::from_csv;
pub use leases::{LeaseFormat, Leased, Leases, from_leases};
pub(crate) use leases::{hardware_id, read_leases};

use crate::config::SUBSCRIBERS_MAX;
use crate::{Mistake, Prefix};
use evenair_service::quoted;
use evenair_units::Rate;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::net::IpAddr;

/// A subscriber with all its addresses.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Subscriber {
    /// The stable identifier: class and history follow it, whichever addresses the subscriber has.
    pub id: String,
    /// The name for people; the id by default.
    #[serde(default)]
    pub name: String,
    /// Its addresses.
    #[serde(default)]
    pub prefixes: Vec<Prefix>,
    /// Its weight relative to others.
    #[serde(default = "one")]
    pub weight: f64,
    /// Its highest rate in each direction: the customer's plan.
    #[serde(default)]
    pub cap: Option<Rate>,
    /// The capacity of the gateway's own link towards it, if it differs from the common one.
    #[serde(default)]
    pub link_rate: Option<Rate>,
}

const fn one() -> f64 {
    1.0
}

/// The largest weight: a share of a millionth would be none.
const WEIGHT_MAX: f64 = 1000.0;

impl Subscriber {
    /// Creates a subscriber with a weight of one and no address.
    pub fn new(id: impl Into<String>) -> Self {
        let id = id.into();
        Self { name: String::new(), id, prefixes: Vec::new(), weight: 1.0, cap: None, link_rate: None }
    }

    /// Returns its name, or its id.
    pub fn called(&self) -> &str {
        if self.name.is_empty() { &self.id } else { &self.name }
    }

    /// Returns the key of its first mistake and the reason.
    fn wrong(&self) -> Option<(&'static str, String)> {
        let is_id = !self.id.is_empty() && self.id.len() <= 64;
        if !is_id || self.id.chars().any(|c| c.is_control() || c.is_whitespace()) {
            return Some(("id", format!("{} is no id: one to 64 letters without blanks", quoted(&self.id))));
        }
        if self.name.chars().any(char::is_control) || self.name.len() > 200 {
            return Some(("name", "a name is one line of at most 200 letters".into()));
        }
        if !(self.weight >= 1.0 / WEIGHT_MAX && self.weight <= WEIGHT_MAX) {
            return Some((
                "weight",
                format!("{:?} is no weight: from 0.001 to 1000, 1 is usual", self.weight),
            ));
        }
        let zero = |rate: Option<Rate>| rate.is_some_and(|rate| rate.as_bps() < 8_000);
        if zero(self.cap) || zero(self.link_rate) {
            let key = if zero(self.cap) { "cap" } else { "link_rate" };
            return Some((key, "a rate below 8 kbps closes the line; leave the key out for no limit".into()));
        }
        None
    }
}

/// The place where a subscriber was read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Place {
    /// The file.
    pub file: String,
    /// The line, if known.
    pub line: Option<usize>,
}

impl Place {
    fn mistake(&self, key: &str, message: String) -> Mistake {
        Mistake { line: self.line, ..Mistake::of(&self.file, message).of_key(key) }
    }

    fn words(&self) -> String {
        self.line.map_or_else(|| self.file.clone(), |line| format!("{}:{line}", self.file))
    }
}

/// All subscribers: ids are unique, and no two share an address.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Subscribers {
    by_id: BTreeMap<String, Subscriber>,
    owners: BTreeMap<Prefix, String>,
}

impl Subscribers {
    /// Checks subscribers together.
    ///
    /// # Errors
    /// Names the first that is invalid by itself, or that shares an id or an address with another.
    pub fn new(read: impl IntoIterator<Item = (Place, Subscriber)>) -> Result<Self, Mistake> {
        let mut places: BTreeMap<String, Place> = BTreeMap::new();
        let mut all = Self::default();
        for (place, subscriber) in read {
            if let Some((key, why)) = subscriber.wrong() {
                return Err(place.mistake(key, why));
            }
            let id = &subscriber.id;
            if let Some(first) = places.get(id) {
                let why =
                    format!("\"{id}\" is the id of another at {}; ids tell subscribers apart", first.words());
                return Err(place.mistake("id", why));
            }
            for &prefix in &subscriber.prefixes {
                if let Some((theirs, owner)) = all.overlapping(prefix) {
                    let whose =
                        if owner == id { "this subscriber's own".into() } else { format!("\"{owner}\"'s") };
                    let why =
                        format!("{prefix} overlaps {whose} {theirs}; an address is one subscriber's, once");
                    return Err(place.mistake("prefixes", why));
                }
                all.owners.insert(prefix, id.clone());
            }
            places.insert(id.clone(), place);
            all.by_id.insert(id.clone(), subscriber);
        }
        Ok(all)
    }

    /// Merges leases: a known id gains an address, an unknown id becomes a subscriber. A configured
    /// address stays with its subscriber. Returns the number of leases without room
    /// ([`SUBSCRIBERS_MAX`]).
    pub fn lease(&mut self, leased: &[Leased]) -> usize {
        let mut left_out = 0;
        for lease in leased {
            let prefix = lease.prefix;
            if self.overlapping(prefix).is_some() {
                continue;
            }
            if self.by_id.len() >= SUBSCRIBERS_MAX && !self.by_id.contains_key(&lease.id) {
                left_out += 1;
                continue;
            }
            let named = || Subscriber { name: lease.name.clone(), ..Subscriber::new(lease.id.clone()) };
            let subscriber = self.by_id.entry(lease.id.clone()).or_insert_with(named);
            subscriber.prefixes.push(prefix);
            self.owners.insert(prefix, lease.id.clone());
        }
        left_out
    }

    /// Returns all subscribers, ordered by id.
    pub fn iter(&self) -> impl Iterator<Item = &Subscriber> {
        self.by_id.values()
    }

    /// Returns their number.
    pub fn len(&self) -> usize {
        self.by_id.len()
    }

    /// Returns whether there is none.
    pub fn is_empty(&self) -> bool {
        self.by_id.is_empty()
    }

    /// Returns the subscriber with an id.
    pub fn get(&self, id: &str) -> Option<&Subscriber> {
        self.by_id.get(id)
    }

    /// Returns the subscriber of an address.
    pub fn owner(&self, address: IpAddr) -> Option<&Subscriber> {
        let (_, owner) = self.overlapping(Prefix::host(address))?;
        self.by_id.get(owner)
    }

    /// Returns the prefix that overlaps this one, and its subscriber's id.
    fn overlapping(&self, prefix: Prefix) -> Option<(Prefix, &String)> {
        // Prefixes do not overlap, so only the neighbours in their order can contain it or be
        // contained.
        let before = self.owners.range(..=prefix).next_back();
        let after = self.owners.range(prefix..).next();
        let of = before.into_iter().chain(after).find(|(theirs, _)| theirs.overlaps(prefix));
        of.map(|(theirs, owner)| (*theirs, owner))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn subscriber(id: &str, prefixes: &[&str]) -> Subscriber {
        Subscriber {
            prefixes: prefixes.iter().map(|text| text.parse().unwrap()).collect(),
            ..Subscriber::new(id)
        }
    }

    fn at(line: usize, subscriber: Subscriber) -> (Place, Subscriber) {
        (Place { file: "s.csv".into(), line: Some(line) }, subscriber)
    }

    #[test]
    fn mistakes_name_place_and_remedy() {
        let refused = |all: Vec<(Place, Subscriber)>| Subscribers::new(all).unwrap_err().to_string();
        let twice = refused(vec![at(1, subscriber("a", &[])), at(2, subscriber("a", &[]))]);
        assert_eq!(twice, "s.csv:2: id: \"a\" is the id of another at s.csv:1; ids tell subscribers apart");
        let both =
            refused(vec![at(1, subscriber("a", &["10.0.0.0/8"])), at(2, subscriber("b", &["10.1.2.3"]))]);
        assert_eq!(
            both,
            "s.csv:2: prefixes: 10.1.2.3 overlaps \"a\"'s 10.0.0.0/8; an address is one subscriber's, once"
        );
        for weight in [0.0, -1.0, f64::NAN, f64::INFINITY, 1e4] {
            let heavy = Subscriber { weight, ..Subscriber::new("a") };
            assert!(refused(vec![at(1, heavy)]).contains("s.csv:1: weight: "));
        }
    }

    #[test]
    fn leases_add_addresses_and_take_none() {
        let mut all = Subscribers::new([at(1, subscriber("a", &["10.0.0.1"]))]).unwrap();
        let lease = |id: &str, prefix: &str| Leased {
            id: id.into(),
            name: String::new(),
            prefix: prefix.parse().unwrap(),
        };
        all.lease(&[lease("a", "fd00::1"), lease("b", "10.0.0.1"), lease("c", "10.0.0.2")]);
        let owner = |address: &str| all.owner(address.parse().unwrap()).map(|s| s.id.as_str());
        assert_eq!(
            [owner("10.0.0.1"), owner("fd00::1"), owner("10.0.0.2")],
            [Some("a"), Some("a"), Some("c")]
        );
        assert_eq!((owner("10.0.0.3"), all.len()), (None, 2));
    }

    proptest! {
        /// Of all accepted subscribers, one at most has a given address.
        #[test]
        fn an_address_is_of_one(prefixes in prop::collection::vec((any::<u16>(), 16u8..=32), 0..40), asked in any::<u16>()) {
            let make = |(bits, length): (u16, u8)| Prefix::new(IpAddr::from((u32::from(bits) << 8).to_be_bytes()), length).unwrap();
            let prefixes: Vec<Prefix> = prefixes.into_iter().map(make).collect();
            let all = prefixes.iter().enumerate().map(|(i, &prefix)| {
                at(i, Subscriber { prefixes: vec![prefix], ..Subscriber::new(format!("s{i}")) })
            });
            let overlap = (0..prefixes.len()).any(|i| prefixes[..i].iter().any(|other| other.overlaps(prefixes[i])));
            let made = Subscribers::new(all);
            prop_assert_eq!(made.is_err(), overlap);
            if let Ok(all) = made {
                let address = IpAddr::from((u32::from(asked) << 8).to_be_bytes());
                let by_hand = prefixes.iter().position(|prefix| prefix.contains(address)).map(|i| format!("s{i}"));
                prop_assert_eq!(all.owner(address).map(|s| s.id.clone()), by_hand);
            }
        }
    }
}
