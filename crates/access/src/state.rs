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
use std::path::{Path, PathBuf};

/// A category and its registers from before the law.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Kept {
    /// The category.
    pub category: Category,
    /// Its registers before the law.
    pub restore: Registers,
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
        let failed =
            |error: io::Error| io::Error::new(error.kind(), format!("{}: {error}", folder.display()));
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
        let kept: Kept = serde_json::from_str(&text).map_err(|error| damaged(error.to_string()))?;
        check_restore(kept.restore).map_err(damaged)?;
        Ok(Some(kept))
    }

    /// Writes the registers to put back, before any are set.
    ///
    /// # Errors
    /// If the disk is full.
    pub fn keep(&self, kept: &Kept) -> io::Result<()> {
        file::replace(&self.path, &serde_json::to_vec(kept)?)
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

    #[test]
    fn state_is_one_daemons_and_reads_back() {
        let folder = tempfile::tempdir().unwrap();
        let state = State::take(folder.path(), "wlan0").unwrap();
        let refused = State::take(folder.path(), "wlan0").unwrap_err().to_string();
        assert!(refused.contains("another evenair backoff runs on wlan0"), "{refused}");
        assert!(State::take(folder.path(), "wlan1").is_ok(), "another interface's");
        assert_eq!(state.read().unwrap(), None);
        let category = Category::BestEffort;
        let kept = Kept { category, restore: crate::restore::default(category) };
        state.keep(&kept).unwrap();
        drop(state);
        let state = State::take(folder.path(), "wlan0").unwrap();
        assert_eq!(state.read().unwrap(), Some(kept));
        state.forget().unwrap();
        state.forget().unwrap();
        assert_eq!(state.read().unwrap(), None);
        let path = folder.path().join("wlan0.json");
        let zero = "{\"category\":\"best-effort\",\"restore\":{\"window_min\":0,\"window_max\":63,\"aifsn\":3,\"txop_units\":0}}";
        for text in ["", "{", "null", "[1]", "{\"category\":\"voice\"}", zero, &zero.replace("3,", "300,")] {
            fs::write(&path, text).unwrap();
            let refused = state.read().unwrap_err().to_string();
            assert!(refused.ends_with("; remove the file and restart hostapd"), "{text}: {refused}");
        }
        fs::write(&path, zero.replace(":0,\"window_max", ":15,\"window_max")).unwrap();
        assert!(state.read().unwrap().is_some());
        fs::remove_file(&path).unwrap();
        std::os::unix::fs::symlink("/etc/passwd", &path).unwrap();
        assert!(state.read().unwrap_err().to_string().ends_with("is a link; remove it"));
    }
}
