//! The state that a killed daemon leaves to the next: the registers that are to be put back.
//!
//! The folder lies below /run by default. After a boot hostapd sets all registers again, and nothing is left to put
//! back.

use crate::config::check_restore;
use evenair_laws::backoff::{Category, Registers};
use evenair_service::file;
use rustix::fs::{FlockOperation, flock};
use serde::{Deserialize, Serialize};
use std::fs::{self, File};
use std::io;
use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::net::{SocketAddr, UnixDatagram};
use std::path::{Path, PathBuf};

/// The version of the file's format.
const VERSION: u32 = 1;

/// A category and its registers from before the law.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Kept {
    version: u32,
    /// The boot of the kernel that has the law's registers.
    boot: String,
    /// The category.
    pub category: Category,
    /// Its registers before the law.
    pub restore: Registers,
}

impl Kept {
    /// Returns the registers of a category from before the law, on the running kernel.
    pub fn new(category: Category, restore: Registers) -> Self {
        Self { version: VERSION, boot: boot(), category, restore }
    }

    /// Whether the running kernel has the law's registers. After a boot hostapd has set all registers again.
    pub fn is_of_this_boot(&self) -> bool {
        self.boot == boot()
    }
}

/// Returns the number of the running kernel's boot, which no other machine has; empty without /proc.
fn boot() -> String {
    let number = fs::read_to_string("/proc/sys/kernel/random/boot_id");
    number.map(|number| number.trim().into()).unwrap_or_default()
}

/// The right to set an interface's registers. One process of a network namespace has it, in whichever folder its state is.
#[derive(Debug)]
pub struct Hold {
    /// Addresses end with the process, however it ends.
    _sockets: [UnixDatagram; 2],
}

impl Hold {
    /// Takes the right to an interface by its name and by its number: one of them stays if it is renamed or made again.
    ///
    /// # Errors
    /// If another process has it.
    pub fn take(interface: &str, index: u32) -> io::Result<Self> {
        let take = |key: String| {
            let name = format!("evenair-backoff/{key}");
            let address = SocketAddr::from_abstract_name(&name)?;
            UnixDatagram::bind_addr(&address).map_err(|error| match error.kind() {
                io::ErrorKind::AddrInUse => io::Error::new(
                    error.kind(),
                    format!(
                        "another process sets registers of {interface}, with another --state; find it: ss -xap | grep {name}"
                    ),
                ),
                _ => error,
            })
        };
        Ok(Self { _sockets: [take(interface.into())?, take(format!("#{index}"))?] })
    }
}

/// The locked state of an interface.
#[derive(Debug)]
pub struct State {
    path: PathBuf,
    /// Held until the process ends, however it ends.
    _lock: File,
}

impl State {
    /// Locks an interface's state, and creates its folder if needed.
    ///
    /// # Errors
    /// If another daemon has it, or the folder is not writable.
    pub fn take(folder: &Path, interface: &str) -> io::Result<Self> {
        let failed = |error: io::Error| {
            let why = format!(
                "cannot use the folder {}: {error}; name one of your own: --state FOLDER",
                folder.display()
            );
            io::Error::new(error.kind(), why)
        };
        fs::create_dir_all(folder).map_err(failed)?;
        file::check_folder(folder).map_err(failed)?;
        let lock = file::open_lock(&folder.join(format!("{interface}.lock"))).map_err(failed)?;
        match flock(&lock, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => Ok(Self { path: folder.join(format!("{interface}.json")), _lock: lock }),
            Err(rustix::io::Errno::WOULDBLOCK) => Err(io::Error::new(
                io::ErrorKind::AddrInUse,
                format!(
                    "another evenair backoff runs on {interface}; see: evenair backoff status {interface}"
                ),
            )),
            Err(error) => Err(failed(error.into())),
        }
    }

    /// Returns the state of a daemon that did not put back its registers.
    ///
    /// # Errors
    /// If the file is there and cannot be read.
    pub fn read(&self) -> io::Result<Option<Kept>> {
        let shown = self.path.display();
        let damaged = |why: String| {
            let why = format!("{shown}: {why}; remove the file and restart hostapd");
            io::Error::new(io::ErrorKind::InvalidData, why)
        };
        let text = match file::read(&self.path) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(io::Error::new(error.kind(), format!("{shown}: {error}"))),
        };
        let value: serde_json::Value =
            serde_json::from_str(&text).map_err(|error| damaged(error.to_string()))?;
        match value.get("version").and_then(serde_json::Value::as_u64) {
            Some(version) if version > u64::from(VERSION) => {
                return Err(damaged(format!(
                    "it is of a newer evenair, in format {version}; this one reads {VERSION}"
                )));
            }
            _ => (),
        }
        let kept: Kept = serde_json::from_value(value).map_err(|error| damaged(error.to_string()))?;
        check_restore(kept.restore).map_err(damaged)?;
        Ok(Some(kept))
    }

    /// Writes the registers to put back, before any are set.
    ///
    /// # Errors
    /// If the disk is full.
    pub fn keep(&self, kept: &Kept) -> io::Result<()> {
        file::replace(&self.path, &serde_json::to_vec(kept)?).map_err(|error| {
            let why =
                format!("cannot write {}: {error}; nothing is set; free some space", self.path.display());
            io::Error::new(error.kind(), why)
        })
    }

    /// Forgets it: all is put back.
    ///
    /// # Errors
    /// If the folder is not writable.
    pub fn forget(&self) -> io::Result<()> {
        match fs::remove_file(&self.path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::restore;
    use std::os::unix::fs::PermissionsExt as _;

    #[test]
    fn state_is_one_daemons_and_reads_back() {
        let folder = tempfile::tempdir().unwrap();
        let state = State::take(folder.path(), "wlan0").unwrap();
        let refused = State::take(folder.path(), "wlan0").unwrap_err().to_string();
        assert!(refused.contains("another evenair backoff runs on wlan0"), "{refused}");
        assert!(State::take(folder.path(), "wlan1").is_ok(), "another interface's");
        assert_eq!(state.read().unwrap(), None);
        let kept = Kept::new(Category::BestEffort, restore::default(Category::BestEffort));
        assert!(kept.is_of_this_boot() && !kept.boot.is_empty());
        state.keep(&kept).unwrap();
        drop(state);
        let state = State::take(folder.path(), "wlan0").unwrap();
        assert_eq!(state.read().unwrap(), Some(kept));
        state.forget().unwrap();
        state.forget().unwrap();
        assert_eq!(state.read().unwrap(), None);
        let path = folder.path().join("wlan0.json");
        let text =
            serde_json::to_string(&Kept::new(Category::BestEffort, restore::default(Category::BestEffort)))
                .unwrap();
        let other = |from: &str, to: &str| text.replacen(from, to, 1);
        let damaged = [
            other(":15", ":0"),
            other(":3,", ":300,"),
            other("\"restore\"", "\"before\""),
            other("{", "{\"more\":1,"),
            other("\"version\":1", "\"version\":\"1\""),
        ];
        let truncated = (0..text.len()).map(|length| text[..length].to_string());
        for text in truncated.chain(damaged).chain(["null".into(), "[1]".into()]) {
            fs::write(&path, &text).unwrap();
            let refused = state.read().unwrap_err().to_string();
            assert!(refused.ends_with("; remove the file and restart hostapd"), "{text}: {refused}");
        }
        fs::write(&path, other("\"version\":1", "\"version\":2,\"more\":[]")).unwrap();
        let refused = state.read().unwrap_err().to_string();
        assert!(refused.contains("of a newer evenair, in format 2; this one reads 1"), "{refused}");
        fs::write(&path, other("\"boot\":\"", "\"boot\":\"another")).unwrap();
        assert!(!state.read().unwrap().unwrap().is_of_this_boot());
        fs::remove_file(&path).unwrap();
        std::os::unix::fs::symlink("/etc/passwd", &path).unwrap();
        assert!(state.read().unwrap_err().to_string().ends_with("is a link; remove it"));
    }

    #[test]
    fn folder_that_cannot_be_used_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("file");
        fs::write(&file, "").unwrap();
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o777)).unwrap();
        for (folder, why) in [(file.join("below").as_path(), "Not a directory"), (folder.path(), "chmod o-w")]
        {
            let refused = State::take(folder, "wlan0").unwrap_err().to_string();
            let named = format!("cannot use the folder {}: ", folder.display());
            assert!(refused.starts_with(&named) && refused.contains(why), "{refused}");
            assert!(refused.ends_with("; name one of your own: --state FOLDER"), "{refused}");
        }
    }

    #[test]
    fn one_process_sets_an_interface() {
        // Names of this test's own: addresses are the whole machine's.
        let (name, number) = (format!("t{}", std::process::id()), std::process::id());
        let hold = Hold::take(&name, number).unwrap();
        for (interface, index) in [(name.as_str(), number ^ 1), ("other", number)] {
            let refused = Hold::take(interface, index).unwrap_err().to_string();
            let expected = format!(
                "another process sets registers of {interface}, with another --state; find it: ss -xap"
            );
            assert!(refused.starts_with(&expected), "{refused}");
        }
        drop(hold);
        assert!(Hold::take(&name, number).is_ok());
    }
}
