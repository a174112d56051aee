//! The file of authorised keys: the keys that may use a relay, one table each.
//!
//! ```toml
//! [[key]]
//! name = "anna"
//! key = "ed25519:…"
//! destinations = ["*:443", "10.1.0.0/16:22"]
//! expires = 2027-01-01T00:00:00Z     # never if left out
//! connections = 16                   # the most connections of a session
//! rate_most = "5 Mbps"               # the most that the relay sends to it; no bound if left out
//! ```

use crate::Mistake;
use crate::destination::Destination;
use crate::keys::PublicKey;
use evenair_service::document::{parse, place_of};
use evenair_service::{KeyPath, file};
use evenair_units::Rate;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

/// A key and its permissions.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Entry {
    /// Its owner's name, for messages.
    pub name: String,
    /// The key.
    pub key: PublicKey,
    /// Destinations that its streams may reach; none by default.
    #[serde(default)]
    pub destinations: Vec<Destination>,
    /// The time at which the key expires.
    #[serde(default)]
    expires: Option<toml::value::Datetime>,
    /// The most connections of a session.
    #[serde(default = "usual_connections")]
    pub connections: u16,
    /// The most sessions at once.
    #[serde(default = "usual_sessions")]
    pub sessions: u16,
    /// The most streams of a session at once.
    #[serde(default = "usual_streams")]
    pub streams: u32,
    /// The most memory of all its sessions for bytes of streams \[MB\].
    #[serde(default = "usual_memory")]
    pub memory_mb: u64,
    /// The highest rate at which the relay sends stream bytes to all its sessions together; no bound if left
    /// out.
    #[serde(default)]
    pub rate_most: Option<Rate>,
}

const fn usual_connections() -> u16 {
    16
}

const fn usual_sessions() -> u16 {
    8
}

const fn usual_streams() -> u32 {
    1024
}

const fn usual_memory() -> u64 {
    256
}

impl Entry {
    /// Returns an entry with the default caps and without destinations.
    pub fn new(name: &str, key: PublicKey) -> Self {
        Self {
            name: name.into(),
            key,
            destinations: Vec::new(),
            expires: None,
            connections: usual_connections(),
            sessions: usual_sessions(),
            streams: usual_streams(),
            memory_mb: usual_memory(),
            rate_most: None,
        }
    }

    /// Returns whether the key is valid at a time.
    pub fn holds(&self, at: SystemTime) -> bool {
        self.expires.as_ref().and_then(seconds).is_none_or(|until| {
            at.duration_since(UNIX_EPOCH).is_ok_and(|since| since.as_secs().cast_signed() < until)
        })
    }

    fn wrong(&self) -> Option<(&'static str, String)> {
        if self.name.is_empty() || self.name.chars().any(char::is_control) {
            return Some(("name", "give it a name".into()));
        }
        if let Some(expires) = &self.expires
            && seconds(expires).is_none()
        {
            return Some(("expires", format!("{expires}: give a day and a time, as 2027-01-01T00:00:00Z")));
        }
        if let Some(why) = crate::config::wrong_rate(self.rate_most) {
            return Some(("rate_most", why));
        }
        let caps = [
            ("connections", u64::from(self.connections), 64),
            ("sessions", self.sessions.into(), 1024),
            ("streams", self.streams.into(), 65_536),
            ("memory_mb", self.memory_mb, 1 << 20),
        ];
        let wrong = caps.into_iter().find(|(_, value, most)| !(1..=*most).contains(value));
        wrong.map(|(key, value, most)| (key, format!("{value} is not from 1 to {most}")))
    }
}

/// Returns the seconds since 1970 of a date and time, which is UTC without an offset.
fn seconds(at: &toml::value::Datetime) -> Option<i64> {
    let date = at.date?;
    let time = at.time;
    let offset = match at.offset {
        Some(toml::value::Offset::Custom { minutes }) => i64::from(minutes) * 60,
        _ => 0,
    };
    // Counts days of the civil calendar, with years that begin in March.
    let (month, day) = (i64::from(date.month), i64::from(date.day));
    let year = i64::from(date.year) - i64::from(month < 3);
    let of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    let days = year * 365 + year / 4 - year / 100 + year / 400 + of_year - 719_468;
    let in_day = time.map_or(0, |time| {
        i64::from(time.hour) * 3600 + i64::from(time.minute) * 60 + i64::from(time.second.unwrap_or(0))
    });
    Some(days * 86_400 + in_day - offset)
}

/// All authorised keys.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Authorised {
    entries: BTreeMap<PublicKey, Arc<Entry>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(default)]
    key: Vec<Entry>,
}

impl Authorised {
    /// Builds the table from entries.
    ///
    /// # Errors
    /// If a cap is out of its bounds, or two entries have the same key.
    pub fn new(file: &str, all: Vec<Entry>) -> Result<Self, Mistake> {
        let mut entries = BTreeMap::new();
        for (number, entry) in all.into_iter().enumerate() {
            let key = |key: &str| KeyPath::entry("key", number, key);
            if let Some((at, why)) = entry.wrong() {
                return Err(Mistake::of(file, why).of_key(key(at)));
            }
            let name = entry.name.clone();
            if let Some(other) = entries.insert(entry.key, Arc::new(entry)) {
                let why = format!("\"{name}\" has the key of \"{}\"; each needs its own", other.name);
                return Err(Mistake::of(file, why).of_key(key("key")));
            }
        }
        Ok(Self { entries })
    }

    /// Parses the text of a file.
    ///
    /// # Errors
    /// Names line, key and value of the first mistake.
    pub fn parse(file: &str, text: &str) -> Result<Self, Mistake> {
        let placed = |mistake: Mistake| {
            let place = mistake.key.as_ref().and_then(|key| place_of(text, key));
            mistake.placed(place)
        };
        Self::new(file, parse::<File>(file, text)?.key).map_err(placed)
    }

    /// Reads a file.
    ///
    /// # Errors
    /// As [`parse`](Self::parse).
    pub fn load(path: &Path) -> Result<Self, Mistake> {
        Self::parse(&path.display().to_string(), &file::text(path)?)
    }

    /// Returns the entry of a key, if the key is authorised and valid at a time.
    pub fn find(&self, key: PublicKey, at: SystemTime) -> Option<Arc<Entry>> {
        self.entries.get(&key).filter(|entry| entry.holds(at)).cloned()
    }

    /// Iterates over all entries.
    pub fn iter(&self) -> impl Iterator<Item = &Entry> {
        self.entries.values().map(AsRef::as_ref)
    }

    /// Returns the number of entries.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Returns whether there are no entries.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::keys::SecretKey;
    use proptest::prelude::*;
    use std::time::Duration;

    fn text(rest: &str) -> String {
        format!("[[key]]\nname = \"anna\"\nkey = \"{}\"\n{rest}", SecretKey::generate().public())
    }

    #[test]
    fn a_key_holds_until_it_expires() {
        let all = Authorised::parse("a", &text("expires = 2001-09-09T03:46:40+02:00\n")).unwrap();
        let key = all.iter().next().unwrap().key;
        let at = |seconds| UNIX_EPOCH + Duration::from_secs(seconds);
        assert!(all.find(key, at(999_999_999)).is_some() && all.find(key, at(1_000_000_000)).is_none());
        let days = [("1970-01-01", 0), ("2000-02-29", 951_782_400), ("2027-12-31", 1_830_211_200)];
        for (day, expected) in days {
            assert_eq!(seconds(&day.parse().unwrap()), Some(expected), "{day}");
        }
        let other = SecretKey::generate().public();
        assert!(all.find(other, at(1)).is_none());
    }

    #[test]
    fn mistakes_have_a_place() {
        let cases = [
            ("destination = []\n", "a:4:1: unknown field `destination`; did you mean destinations?"),
            ("destinations = [\"*\"]\n", "is no destination"),
            ("connections = 0\n", "a:4:15: key[0].connections: 0 is not from 1 to 64"),
            ("expires = 07:32:00\n", "a:4:11: key[0].expires: 07:32:00"),
            ("streams = -1\n", "a:4:11: key[0].streams: "),
            ("rate_most = \"5\"\n", "a:4:13: key[0].rate_most: \"5\" has no unit; write it as \"5 Mbps\""),
            ("rate_most = \"1 bps\"\n", "a:4:13: key[0].rate_most: 1 bps is not from 8 kbps to 100000 Mbps"),
        ];
        for (rest, expected) in cases {
            let error = Authorised::parse("a", &text(rest)).unwrap_err().to_string();
            assert!(error.contains(expected), "{rest}: {error}");
        }
        let twice = text("");
        let error = Authorised::parse("a", &format!("{twice}{twice}")).unwrap_err().to_string();
        assert!(error.contains("has the key of \"anna\""), "{error}");
        let error = Authorised::parse("a", "[[key]]\nname = 'b'\nkey = 'ssh-rsa'\n").unwrap_err().to_string();
        assert!(error.contains("keygen"), "{error}");
    }

    proptest! {
        #[test]
        fn damaged_files_are_refused_or_read(place in 0..200_usize, with: char) {
            let mut chars: Vec<char> = text("destinations = ['*:443']\nexpires = 2027-01-01T00:00:00Z\n").chars().collect();
            let length = chars.len();
            chars[place % length] = with;
            let _ = Authorised::parse("a", &chars.into_iter().collect::<String>());
        }
    }
}
