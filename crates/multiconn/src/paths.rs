//! A client's memory of the paths to its relays: the number of connections that proved useful each way, with
//! which its next session begins. A law takes that number for a guess and tests it (`start` of `guarded`).
//!
//! A path is a relay and the network from which it is reached. An entry is ignored if it is older than
//! [`HOLDS`], or if its least round trip differs: then the path has changed.

use crate::listen::TimeOfDay;
use serde::{Deserialize, Serialize};
use std::fs;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

/// The lifetime of an entry.
pub const HOLDS: Duration = Duration::from_secs(24 * 3600);
/// The change of the least round trip that is ignored: a share of it, or an amount \[s\], the resolution of a
/// clock or a radio.
const SAME: f64 = 0.25;
const SAME_S: f64 = 0.002;
/// The most paths kept, the latest.
const MOST: usize = 64;

/// The numbers of connections that proved useful.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Known {
    /// For the client's sending direction.
    pub up: u32,
    /// For the relay's sending direction.
    pub down: u32,
}

impl Known {
    /// No knowledge: a session begins with one connection.
    pub const NOTHING: Self = Self { up: 1, down: 1 };
}

/// A path as observed now.
#[derive(Clone, Debug, PartialEq)]
pub struct Seen {
    /// The relay, as configured.
    pub relay: String,
    /// The network from which it is reached.
    pub from: String,
    /// The least round trip \[s\].
    pub round_trip_s: f64,
}

impl Seen {
    /// Returns the path from an own address.
    pub fn new(relay: &str, own: SocketAddr, round_trip: evenair_units::Duration) -> Self {
        Self { relay: relay.into(), from: network(own.ip()), round_trip_s: round_trip.as_secs_f64() }
    }
}

/// Returns the network of an address, as far as the address shows it: a host that moves to another network
/// has another one.
pub(crate) fn network(own: IpAddr) -> String {
    match own.to_canonical() {
        IpAddr::V4(own) => {
            let [a, b, c, _] = own.octets();
            format!("{a}.{b}.{c}.0/24")
        }
        IpAddr::V6(own) => {
            let [a, b, c, d, ..] = own.segments();
            format!("{}/64", std::net::Ipv6Addr::new(a, b, c, d, 0, 0, 0, 0))
        }
    }
}

/// An entry of the file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Entry {
    relay: String,
    from: String,
    round_trip_s: f64,
    #[serde(flatten)]
    known: Known,
    /// Seconds since 1970.
    at_s: u64,
}

/// The format of the file.
#[derive(Debug, Default, Serialize, Deserialize)]
struct Written {
    paths: Vec<Entry>,
}

/// The file of paths.
#[derive(Clone, Debug)]
pub struct Paths {
    file: PathBuf,
    time_of_day: TimeOfDay,
}

impl Paths {
    /// Returns a store in a file, which need not exist yet.
    pub fn new(file: impl Into<PathBuf>) -> Self {
        Self { file: file.into(), time_of_day: TimeOfDay::default() }
    }

    /// Returns the default file; `None` if there is no state directory.
    pub fn usual() -> Option<Self> {
        let own = |name| std::env::var_os(name).filter(|folder| !folder.is_empty()).map(PathBuf::from);
        let folder = own("STATE_DIRECTORY")
            .or_else(|| own("XDG_STATE_HOME").map(|folder| folder.join("evenair")))
            .or_else(|| own("HOME").map(|home| home.join(".local/state/evenair")))?;
        Some(Self::new(folder.join("multiconn-paths.json")))
    }

    /// Returns the file's name.
    pub fn file(&self) -> &Path {
        &self.file
    }

    /// Returns the entry of a path. A missing or malformed file counts as empty.
    pub fn recall(&self, seen: &Seen) -> Known {
        let (entries, now) = (self.read(), self.time_of_day.now());
        let found =
            entries.iter().find(|entry| entry.is_of(seen) && entry.holds(now) && entry.is_alike(seen));
        found.map_or(Known::NOTHING, |entry| entry.known)
    }

    /// Writes the entry of a path, in place of an earlier one.
    ///
    /// # Errors
    /// If it cannot be written; the earlier entry then stays.
    pub fn note(&self, seen: &Seen, known: Known) -> io::Result<()> {
        let now = self.time_of_day.now();
        let Seen { relay, from, round_trip_s } = seen.clone();
        let mut paths = self.read();
        paths.retain(|entry| !entry.is_of(seen) && entry.holds(now));
        paths.push(Entry { relay, from, round_trip_s, known, at_s: seconds(now) });
        paths.sort_by_key(|entry| std::cmp::Reverse(entry.at_s));
        paths.truncate(MOST);
        let text = serde_json::to_string_pretty(&Written { paths })?;
        if let Some(folder) = self.file.parent() {
            fs::create_dir_all(folder)?;
        }
        evenair_service::file::replace(&self.file, (text + "\n").as_bytes())
    }

    fn read(&self) -> Vec<Entry> {
        let text = fs::read_to_string(&self.file).unwrap_or_default();
        let written: Written = serde_json::from_str(&text).unwrap_or_default();
        written.paths
    }
}

impl Entry {
    fn is_of(&self, seen: &Seen) -> bool {
        (&self.relay, &self.from) == (&seen.relay, &seen.from)
    }

    /// Returns whether the entry is valid; one from the future, after a clock was set back, is not.
    fn holds(&self, now: SystemTime) -> bool {
        seconds(now).checked_sub(self.at_s).is_some_and(|age_s| age_s <= HOLDS.as_secs())
    }

    fn is_alike(&self, seen: &Seen) -> bool {
        let apart = (self.round_trip_s - seen.round_trip_s).abs();
        apart <= SAME_S.max(SAME * self.round_trip_s.min(seen.round_trip_s))
    }
}

fn seconds(at: SystemTime) -> u64 {
    at.duration_since(SystemTime::UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU64, Ordering};

    fn seen(relay: &str, own: &str, ms: u64) -> Seen {
        Seen::new(relay, own.parse().unwrap(), evenair_units::Duration::from_millis(ms))
    }

    const SIX: Known = Known { up: 2, down: 6 };
    const BEGUN: u64 = 1_800_000_000;

    /// Returns a store in a folder that does not exist yet, and its clock.
    fn paths(folder: &tempfile::TempDir) -> (Paths, Arc<AtomicU64>) {
        let clock = Arc::new(AtomicU64::new(BEGUN));
        let asked = Arc::clone(&clock);
        let now = move || SystemTime::UNIX_EPOCH + Duration::from_secs(asked.load(Ordering::Relaxed));
        let file = folder.path().join("is/made/paths.json");
        (Paths { file, time_of_day: TimeOfDay::new(now) }, clock)
    }

    #[test]
    fn path_is_known_for_a_day_by_relay_and_network() {
        let folder = tempfile::tempdir().unwrap();
        let (paths, clock) = paths(&folder);
        let here = seen("relay.example:7443", "192.168.1.7:5000", 52);
        assert_eq!(paths.recall(&here), Known::NOTHING, "there is no file");
        paths.note(&here, SIX).unwrap();
        assert_eq!(paths.recall(&here), SIX);
        assert_eq!(paths.recall(&seen("relay.example:7443", "192.168.1.9:1", 60)), SIX);
        for other in [
            seen("relay.example:7444", "192.168.1.7:1", 52),
            seen("relay.example:7443", "192.168.2.7:1", 52),
            seen("relay.example:7443", "192.168.1.7:1", 70),
            seen("relay.example:7443", "192.168.1.7:1", 39),
            seen("relay.example:7443", "[2001:db8::7]:1", 52),
        ] {
            assert_eq!(paths.recall(&other), Known::NOTHING, "{other:?}");
        }
        let day = HOLDS.as_secs();
        for (at, known) in
            [(BEGUN + day, SIX), (BEGUN + day + 1, Known::NOTHING), (BEGUN - 60, Known::NOTHING)]
        {
            clock.store(at, Ordering::Relaxed);
            assert_eq!(paths.recall(&here), known, "{at}: it is old, or a clock was set back");
        }
        clock.store(BEGUN, Ordering::Relaxed);
        paths.note(&here, Known { up: 3, down: 1 }).unwrap();
        assert_eq!(paths.recall(&here), Known { up: 3, down: 1 }, "in the place of what was");
        assert_eq!(paths.read().len(), 1);
    }

    #[test]
    fn latest_paths_are_kept_bad_file_is_ignored() {
        let folder = tempfile::tempdir().unwrap();
        let (paths, clock) = paths(&folder);
        let relay = |i| seen(&format!("r{i}:1"), "10.0.0.1:1", 10);
        for i in 0..2 * MOST {
            clock.fetch_add(1, Ordering::Relaxed);
            paths.note(&relay(i), SIX).unwrap();
        }
        assert_eq!(paths.read().len(), MOST);
        assert_eq!((paths.recall(&relay(127)), paths.recall(&relay(3))), (SIX, Known::NOTHING));
        for text in ["", "{", "[]", r#"{"paths": [{"relay": 5}]}"#, r#"{"paths": [{"up": -1}]}"#] {
            fs::write(paths.file(), text).unwrap();
            assert_eq!(paths.recall(&relay(127)), Known::NOTHING, "{text}");
            paths.note(&relay(1), SIX).unwrap();
            assert_eq!(paths.recall(&relay(1)), SIX);
        }
    }

    #[test]
    fn network_is_prefix_of_address() {
        for (own, expected) in [
            ("10.1.2.3", "10.1.2.0/24"),
            ("::ffff:10.1.2.3", "10.1.2.0/24"),
            ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"),
        ] {
            assert_eq!(network(own.parse().unwrap()), expected);
        }
    }
}
