//! The daemon's persistent state, in a file, and the lock that excludes a second daemon.

use crate::kernel::Failure;
use crate::{Kept, OperatorFiles};
use evenair_service::file;
use evenair_units::plain_message;
use rustix::fs::{FlockOperation, flock};
use serde::Serialize;
use std::fs::{self, File};
use std::path::{Path, PathBuf};

/// The locked folder of a daemon's state.
#[derive(Debug)]
pub struct State {
    folder: PathBuf,
    /// Held until the process ends, however it ends.
    _lock: File,
}

/// The file with the last working configuration.
const WORKED: &str = "worked.json";

impl State {
    /// Locks the folder, and creates it if needed.
    ///
    /// # Errors
    /// If another daemon has it, or it cannot be created.
    pub fn take(folder: &Path) -> Result<Self, Failure> {
        let failed = |error: &dyn std::fmt::Display| Failure::new(folder.display().to_string(), error);
        fs::create_dir_all(folder).map_err(|error| failed(&error))?;
        file::check_folder(folder).map_err(|error| failed(&error))?;
        let lock = file::open_lock(&folder.join("lock")).map_err(|error| failed(&error))?;
        match flock(&lock, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => {
                file::remove_drafts(folder).map_err(|error| failed(&error))?;
                Ok(Self { folder: folder.into(), _lock: lock })
            }
            Err(rustix::io::Errno::WOULDBLOCK) => {
                Err(failed(&"another gateway runs with this state folder; see: evenair gateway status"))
            }
            Err(error) => Err(failed(&error)),
        }
    }

    fn path(&self) -> PathBuf {
        self.folder.join("state.json")
    }

    /// Reads the state of the last daemon. Returns `None` if there was none, or if it restored the
    /// earlier settings and removed its state.
    ///
    /// # Errors
    /// If the file cannot be read: then the earlier settings are unknown.
    pub fn read(&self) -> Result<Option<Kept>, Failure> {
        let failed = |error: &dyn std::fmt::Display| {
            let why = format!(
                "{error}; if nothing of it is needed, remove the file, and then: evenair gateway clear --all"
            );
            Failure::new(self.path().display().to_string(), why)
        };
        match file::read(&self.path()) {
            Ok(text) => serde_json::from_str(&text)
                .map(Some)
                .map_err(|error| failed(&plain_message(&error.to_string()))),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(failed(&error)),
        }
    }

    /// Writes the state: after a power cut either this state or the earlier one exists.
    ///
    /// # Errors
    /// If the disk is full.
    pub fn keep(&self, kept: &Kept) -> Result<(), Failure> {
        keep(&self.path(), kept)
    }

    /// Writes the operator's files that have worked.
    ///
    /// # Errors
    /// As [`keep`](Self::keep).
    pub fn keep_files(&self, files: &OperatorFiles) -> Result<(), Failure> {
        keep(&self.folder.join(WORKED), files)
    }

    /// Reads the operator's files that last worked, with or without the lock. Returns `None` if there
    /// are none, or they cannot be read.
    pub fn worked(folder: &Path) -> Option<OperatorFiles> {
        serde_json::from_str(&file::read(&folder.join(WORKED)).ok()?).ok()
    }
}

/// Replaces a file.
fn keep(path: &Path, what: &impl Serialize) -> Result<(), Failure> {
    let written =
        serde_json::to_vec(what).map_err(std::io::Error::from).and_then(|text| file::replace(path, &text));
    written.map_err(|error| Failure::new(path.display().to_string(), error))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Config, Daemon, Subscribers};
    use evenair_units::Instant;

    #[test]
    fn a_folder_is_one_daemons_and_reads_back() {
        let folder = tempfile::tempdir().unwrap();
        let state = State::take(folder.path()).unwrap();
        let refused = State::take(folder.path()).unwrap_err().to_string();
        assert!(refused.contains("another gateway runs"), "{refused}");
        assert_eq!(state.read().unwrap(), None);
        let config = Config::parse("g", "mesh = \"a\"\nuplink = \"b\"\nmode = \"enforce\"\n").unwrap();
        let kernel = crate::memory::MemoryKernel::default();
        let daemon =
            Daemon::new(Instant::ZERO, &config, Subscribers::default(), kernel, (None, false)).unwrap();
        state.keep(&daemon.kept()).unwrap();
        assert_eq!(state.read().unwrap(), Some(daemon.kept()));
        drop(state);
        let state = State::take(folder.path()).unwrap();
        fs::write(folder.path().join("state.json"), "{").unwrap();
        assert!(state.read().unwrap_err().to_string().contains("clear --all"));
    }
}
