//! The subscribers that have classes, in the law's order.

use crate::config::Config;
use crate::handles::Handles;
use crate::{Side, Subscriber, Subscribers};
use evenair_laws::gateway::{ClassRole, GatewayRole, NewClasses};
use evenair_units::Rate;
use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

/// Epochs without a packet after which a class is deleted again, if it was added when its subscriber
/// was first seen.
const FORGOTTEN: u32 = 360;

/// A class of the law: one direction of one subscriber.
pub(crate) type ClassName = (String, Side);

/// The subscribers and their classes.
#[derive(Clone, Debug, Default)]
pub(crate) struct ClassTable {
    subscribers: Subscribers,
    pub(crate) handles: Handles,
    /// The subscribers with classes, in the law's order. Each has its download class first, then its
    /// upload class.
    members: Vec<String>,
    /// The place of each in that order.
    places: BTreeMap<String, usize>,
    /// The number of consecutive epochs without a packet.
    silent: BTreeMap<String, u32>,
    /// Whether classes are added when their subscribers are first seen.
    is_lazy: bool,
    link_rate: Option<Rate>,
    eager: usize,
}

impl ClassTable {
    /// Creates a table with earlier class numbers; `had` lists the subscribers that had classes.
    pub(crate) fn new(config: &Config, subscribers: Subscribers, handles: Handles, had: &[String]) -> Self {
        let mut table = Self { handles, link_rate: config.link_rate, eager: config.eager, ..Self::default() };
        table.set(subscribers);
        for id in had {
            table.join(id);
        }
        table
    }

    /// Replaces the subscribers.
    fn set(&mut self, subscribers: Subscribers) {
        self.is_lazy = subscribers.len() > self.eager;
        self.subscribers = subscribers;
        let subscribers = std::mem::take(&mut self.subscribers);
        self.keep(|id| subscribers.get(id).is_some());
        self.subscribers = subscribers;
        if !self.is_lazy {
            let all: Vec<String> = self.subscribers.iter().map(|subscriber| subscriber.id.clone()).collect();
            all.iter().for_each(|id| self.join(id));
        }
    }

    fn join(&mut self, id: &str) {
        if self.subscribers.get(id).is_some() && !self.places.contains_key(id) {
            self.handles.of(id, |other| self.subscribers.get(other).is_some());
            self.places.insert(id.into(), self.members.len());
            self.members.push(id.into());
        }
    }

    /// Keeps only the classes of subscribers for which `stays` returns true.
    fn keep(&mut self, stays: impl Fn(&str) -> bool) {
        self.members.retain(|id| stays(id));
        self.places = self.members.iter().cloned().zip(0..).collect();
    }

    /// Replaces the subscribers. Returns the new classes, or `None` if nothing changes for the law.
    pub(crate) fn on_subscribers(
        &mut self,
        subscribers: Subscribers,
        link_rate: Option<Rate>,
    ) -> Option<NewClasses> {
        self.changed(|table| {
            table.link_rate = link_rate;
            table.set(subscribers);
        })
    }

    /// Adds classes for subscribers that were seen. Returns the new classes, or `None` if none is
    /// added.
    pub(crate) fn on_seen(&mut self, ids: &BTreeSet<String>) -> Option<NewClasses> {
        self.changed(|table| {
            // Ordered by id, not by arrival, so that a replay has the same order.
            ids.iter().for_each(|id| table.join(id));
        })
    }

    /// Counts an epoch in which some were active. Returns the new classes, or `None` if no class is
    /// deleted for silence.
    pub(crate) fn on_epoch(&mut self, is_active: impl Fn(&str) -> bool) -> Option<NewClasses> {
        for id in &self.members {
            let silent = self.silent.entry(id.clone()).or_default();
            *silent = if is_active(id) { 0 } else { silent.saturating_add(1) };
        }
        if !self.is_lazy {
            return None;
        }
        self.changed(|table| {
            let silent = std::mem::take(&mut table.silent);
            table.keep(|id| silent.get(id).is_none_or(|&epochs| epochs < FORGOTTEN));
            table.silent = silent.into_iter().filter(|(_, epochs)| *epochs < FORGOTTEN).collect();
        })
    }

    /// Returns the new classes after a change, with their earlier places.
    fn changed(&mut self, change: impl FnOnce(&mut Self)) -> Option<NewClasses> {
        let (before, role_before) = (self.members.clone(), self.role());
        change(self);
        let role = self.role();
        if self.members == before && role == role_before {
            return None;
        }
        let places: BTreeMap<&String, usize> = before.iter().zip(0..).collect();
        let was = |id: &String| {
            let place = places.get(id).copied();
            [0, 1].map(|way| place.map(|place| (2 * place + way) as u32))
        };
        Some(NewClasses { role, was: self.members.iter().flat_map(was).collect() })
    }

    /// Returns the gateway's role for the law.
    pub(crate) fn role(&self) -> GatewayRole {
        let classes = self.classes().map(|(subscriber, minor, side)| ClassRole {
            weight: subscriber.weight,
            direction: side.direction(),
            link_rate: subscriber.link_rate.or(self.link_rate),
            subscriber: Some(minor.into()),
        });
        GatewayRole { classes: classes.collect() }
    }

    /// Returns the law's classes, in their order: subscriber, number, direction.
    pub(crate) fn classes(&self) -> impl Iterator<Item = (&Subscriber, u16, Side)> {
        self.taking_part().flat_map(|(subscriber, minor)| Side::ALL.map(|side| (subscriber, minor, side)))
    }

    /// Returns the subscribers with classes, with their numbers.
    pub(crate) fn taking_part(&self) -> impl Iterator<Item = (&Subscriber, u16)> {
        self.members.iter().map(|id| {
            let subscriber = self.subscribers.get(id).expect("members subscribe");
            (subscriber, self.minor(id).expect("members have numbers"))
        })
    }

    /// Returns the ids of the subscribers with classes.
    pub(crate) fn members(&self) -> &[String] {
        &self.members
    }

    /// Returns the names of the law's classes.
    pub(crate) fn names(&self) -> Vec<ClassName> {
        self.classes().map(|(subscriber, _, side)| (subscriber.id.clone(), side)).collect()
    }

    /// Returns the place of a number's subscriber in the law's order.
    pub(crate) fn place(&self, minor: u16) -> Option<usize> {
        let owner = self.handles.owner(minor)?;
        self.places.get(owner).copied()
    }

    pub(crate) fn minor(&self, id: &str) -> Option<u16> {
        self.handles.find(id)
    }

    pub(crate) fn subscribers(&self) -> &Subscribers {
        &self.subscribers
    }

    /// Returns the subscriber of an address, and whether it has a class.
    pub(crate) fn owner(&self, address: IpAddr) -> Option<(&Subscriber, bool)> {
        let subscriber = self.subscribers.owner(address)?;
        let has = !self.is_lazy || self.places.contains_key(&subscriber.id);
        Some((subscriber, has))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::subscribers::Place;

    fn subscribers(ids: &[&str]) -> Subscribers {
        let all = ids.iter().map(|id| (Place::default(), Subscriber::new(*id)));
        Subscribers::new(all).unwrap()
    }

    fn config(eager: usize) -> Config {
        let text = format!("mesh = \"a\"\nuplink = \"b\"\neager = {eager}\nlink_rate = \"900 kbps\"\n");
        Config::parse("g.toml", &text).unwrap()
    }

    #[test]
    fn staying_subscriber_keeps_place_and_number() {
        let mut table = ClassTable::new(&config(10), subscribers(&["a", "b"]), Handles::default(), &[]);
        assert_eq!(table.role().classes.len(), 4);
        let change = table.on_subscribers(subscribers(&["b", "c"]), None).unwrap();
        assert_eq!(change.was, [Some(2), Some(3), None, None]);
        assert_eq!(
            change.role.classes.iter().map(|c| c.subscriber).collect::<Vec<_>>(),
            [Some(0x11), Some(0x11), Some(0x12), Some(0x12)]
        );
        assert_eq!(table.on_subscribers(subscribers(&["b", "c"]), None), None, "nothing is new");
    }

    #[test]
    fn hosts_come_when_seen_and_go_when_silent() {
        let mut table = ClassTable::new(&config(1), subscribers(&["a", "b", "c"]), Handles::default(), &[]);
        assert_eq!(table.members().len(), 0);
        let seen = |ids: &[&str]| ids.iter().map(|id| String::from(*id)).collect();
        assert_eq!(table.on_seen(&seen(&["c", "a", "nobody"])).unwrap().was, [None; 4]);
        assert_eq!(table.members(), ["a", "c"]);
        for _ in 1..FORGOTTEN {
            assert_eq!(table.on_epoch(|id| id == "c"), None);
        }
        assert_eq!(table.on_epoch(|id| id == "c").unwrap().was, [Some(2), Some(3)]);
        assert_eq!((table.members(), table.minor("a")), (&["c".to_string()][..], Some(0x10)));
    }
}
