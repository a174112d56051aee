//! What a daemon must find again, in a file, and the lock that keeps a second one out.

use crate::kernel::Failure;
use crate::{Kept, Written, file};
use evenair_units::plain_message;
use rustix::fs::{FlockOperation, flock};
use serde::Serialize;
use std::fs::{self, File};
use std::path::{Path, PathBuf};

/// The folder of a daemon's state, as long as nobody else has it.
#[derive(Debug)]
pub struct State {
    folder: PathBuf,
    /// Held until the process ends, however it ends.
    _lock: File,
}

/// The name of what worked last.
const WORKED: &str = "worked.json";

impl State {
    /// Takes the folder, and makes it where it is not there.
    ///
    /// # Errors
    /// If another daemon has it, or it cannot be made.
    pub fn take(folder: &Path) -> Result<Self, Failure> {
        let failed = |error: &dyn std::fmt::Display| Failure::new(folder.display().to_string(), error);
        fs::create_dir_all(folder).map_err(|error| failed(&error))?;
        file::check_folder(folder).map_err(|error| failed(&error))?;
        let lock = file::open_lock(&folder.join("lock")).map_err(|error| failed(&error))?;
        match flock(&lock, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => Ok(Self { folder: folder.into(), _lock: lock }),
            Err(rustix::io::Errno::WOULDBLOCK) => {
                Err(failed(&"another gateway runs with this state folder; see: evenair gateway status"))
            }
            Err(error) => Err(failed(&error)),
        }
    }

    fn path(&self) -> PathBuf {
        self.folder.join("state.json")
    }

    /// What the last daemon left; none, if there was none, or if it restored everything and forgot it.
    ///
    /// # Errors
    /// If there is something that cannot be read: then nobody knows what was there before.
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

    /// Keeps it: after a power cut there is either this or what was kept before.
    ///
    /// # Errors
    /// If the disk is full.
    pub fn keep(&self, kept: &Kept) -> Result<(), Failure> {
        keep(&self.path(), kept)
    }

    /// Keeps what the operator wrote and what has worked.
    ///
    /// # Errors
    /// As [`keep`](Self::keep).
    pub fn keep_written(&self, written: &Written) -> Result<(), Failure> {
        keep(&self.folder.join(WORKED), written)
    }

    /// What the operator wrote that worked last, of a folder whoever has it; none, if nothing has, or it cannot be read.
    pub fn worked(folder: &Path) -> Option<Written> {
        serde_json::from_str(&file::read(&folder.join(WORKED)).ok()?).ok()
    }
}

/// Writes a file in the place of the one before.
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
        let kernel = crate::memory::Memory::default();
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
