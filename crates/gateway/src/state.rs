//! What a daemon must find again, in a file, and the lock that keeps a second one out.

use crate::kernel::Failure;
use crate::{Kept, Written};
use evenair_units::plain_message;
use rustix::fs::{FlockOperation, flock};
use serde::Serialize;
use std::fs::{self, File, OpenOptions};
use std::io::Write as _;
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
        let lock = open_lock(&folder.join("lock")).map_err(|error| failed(&error))?;
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
        match fs::read_to_string(self.path()) {
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
        serde_json::from_slice(&fs::read(folder.join(WORKED)).ok()?).ok()
    }
}

/// Writes a file in the place of the one before.
fn keep(path: &Path, what: &impl Serialize) -> Result<(), Failure> {
    let new = path.with_extension("json.new");
    let write = || {
        let mut file = File::create(&new)?;
        file.write_all(&serde_json::to_vec(what)?)?;
        file.sync_data()?;
        fs::rename(&new, path)
    };
    write().map_err(|error: std::io::Error| Failure::new(path.display().to_string(), error))
}

/// Opens a lock, or makes it. Who may not write it may still hold it: one that root made is no bar to the service's own user.
fn open_lock(path: &Path) -> std::io::Result<File> {
    match File::open(path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            OpenOptions::new().create(true).truncate(false).write(true).open(path)
        }
        opened => opened,
    }
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
