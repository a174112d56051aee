//! The numbers of subscribers' classes. A subscriber keeps its number, even while it is absent, as long
//! as there are free ones.

use crate::config::SUBSCRIBERS_MAX;
use crate::tree::{FIRST, LAST};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The class number of each subscriber.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "BTreeMap<String, u16>", into = "BTreeMap<String, u16>")]
pub struct Handles {
    by_id: BTreeMap<String, u16>,
    by_minor: BTreeMap<u16, String>,
}

impl Handles {
    /// Returns a subscriber's number: its own, else a free one, else one of a subscriber that is not
    /// `there`. At most [`SUBSCRIBERS_MAX`] subscribers are there.
    pub fn of(&mut self, id: &str, there: impl Fn(&str) -> bool) -> u16 {
        if let Some(&minor) = self.by_id.get(id) {
            return minor;
        }
        if self.by_id.len() >= SUBSCRIBERS_MAX {
            self.by_id.retain(|other, _| there(other));
            self.by_minor.retain(|_, other| there(other));
        }
        // Numbers are dense, so the search usually ends at once.
        let likely = FIRST + self.by_id.len() as u16;
        let free = (likely..=LAST).chain(FIRST..likely).find(|minor| !self.by_minor.contains_key(minor));
        let minor = free.expect("there is room for all who are there");
        self.by_id.insert(id.into(), minor);
        self.by_minor.insert(minor, id.into());
        minor
    }

    /// Returns a subscriber's number, if it has one.
    pub fn find(&self, id: &str) -> Option<u16> {
        self.by_id.get(id).copied()
    }

    /// Returns the subscriber that has a number.
    pub fn owner(&self, minor: u16) -> Option<&str> {
        self.by_minor.get(&minor).map(String::as_str)
    }
}

/// Reads the saved form; an entry with a duplicate number, or one of the gateway's own, is left out.
impl From<BTreeMap<String, u16>> for Handles {
    fn from(read: BTreeMap<String, u16>) -> Self {
        let mut handles = Self::default();
        for (id, minor) in read {
            if (FIRST..=LAST).contains(&minor) && !handles.by_minor.contains_key(&minor) {
                handles.by_minor.insert(minor, id.clone());
                handles.by_id.insert(id, minor);
            }
        }
        handles
    }
}

impl From<Handles> for BTreeMap<String, u16> {
    fn from(handles: Handles) -> Self {
        handles.by_id
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_stay_until_there_is_no_room() {
        let mut handles = Handles::default();
        assert_eq!(["a", "b", "a"].map(|id| handles.of(id, |_| true)), [0x10, 0x11, 0x10]);
        assert_eq!((handles.owner(0x11), handles.owner(0x12)), (Some("b"), None));
        for id in 2..SUBSCRIBERS_MAX {
            handles.of(&id.to_string(), |_| true);
        }
        assert_eq!(handles.of("late", |id| id != "b"), 0x11, "that of who has gone");
        assert_eq!(handles.of("a", |_| true), 0x10);
        let kept = serde_json::to_string(&handles).unwrap();
        assert_eq!(serde_json::from_str::<Handles>(&kept).unwrap(), handles);
        let odd: Handles = serde_json::from_str(r#"{"a": 16, "b": 16, "c": 1}"#).unwrap();
        assert_eq!(serde_json::to_string(&odd).unwrap(), r#"{"a":16}"#);
    }
}
