//! Drops the daemon's privileges after its set-up: only the capability to set queues and filters and
//! its own folders remain.

use crate::Config;
use crate::kernel::Failure;
use evenair_linux::confinement::Confinement;
use std::fs;
use std::path::{Path, PathBuf};

/// Returns the folders that a gateway with this file works in.
pub(crate) fn folders(path: &Path, config: &Config) -> Confinement {
    // Editors and DHCP servers replace files by renaming: access is to a file's folder, not to the
    // file.
    let files = [Some(path), config.subscribers.as_deref()].into_iter().flatten();
    let files = files.chain(config.leases.iter().map(|lease| lease.file.as_path()));
    let reads =
        files.flat_map(|file| [Some(folder(file)), fs::canonicalize(file).ok().map(|real| folder(&real))]);
    let own = [config.state.clone(), config.log_folder(), folder(&config.socket())];
    Confinement { administers: true, reads: whole(reads.flatten()), writes: whole(own) }
}

/// Returns a file's folder.
fn folder(file: &Path) -> PathBuf {
    match file.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder.into(),
        _ => ".".into(),
    }
}

/// Returns folders by their canonical paths, each once; a missing folder keeps its given path.
fn whole(folders: impl IntoIterator<Item = PathBuf>) -> Vec<PathBuf> {
    let whole = |folder: PathBuf| fs::canonicalize(&folder).unwrap_or(folder);
    let mut folders: Vec<PathBuf> = folders.into_iter().map(whole).collect();
    folders.sort();
    folders.dedup();
    folders
}

/// Checks whether a confined daemon can go on with another file.
///
/// # Errors
/// If the file names other files in folders that the daemon may not read.
pub(crate) fn still_reaches(held: &Confinement, path: &Path, config: &Config) -> Result<(), Failure> {
    let within = |folder: &Path| held.reads.iter().chain(&held.writes).any(|held| folder.starts_with(held));
    match folders(path, config).reads.iter().find(|folder| !within(folder)) {
        None => Ok(()),
        Some(other) => Err(Failure::new(
            other.display().to_string(),
            "the daemon has not been let read this folder since it began: stop, and run again",
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks that no source of this crate starts a program; the daemon's filter of system calls
    /// refuses that too.
    #[test]
    fn no_source_starts_a_program() {
        let mut folders = vec![Path::new(env!("CARGO_MANIFEST_DIR")).join("src")];
        let mut read = 0;
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    folders.push(path);
                } else {
                    let text = fs::read_to_string(&path).unwrap();
                    assert!(!text.contains(concat!("process::", "Command")), "{}", path.display());
                    read += 1;
                }
            }
        }
        assert!(read > 30, "{read} files");
    }

    #[test]
    fn gateway_works_in_its_own_folders_only() {
        let place = tempfile::tempdir().unwrap();
        let place = fs::canonicalize(place.path()).unwrap();
        for folder in ["etc", "leases", "real", "state"] {
            fs::create_dir(place.join(folder)).unwrap();
        }
        fs::write(place.join("real/kea"), "").unwrap();
        std::os::unix::fs::symlink(place.join("real/kea"), place.join("leases/kea")).unwrap();
        let path = place.join("etc/gateway.toml");
        let write = |leases: &str| {
            let text =
                format!("mesh = \"a\"\nuplink = \"b\"\nstate = \"{}/state\"\n{leases}", place.display());
            fs::write(&path, text).unwrap();
            Config::load(&path).unwrap()
        };
        let lease =
            |file: &str| format!("[[leases]]\nformat = \"kea\"\nfile = \"{}/{file}\"\n", place.display());
        let held = folders(&path, &write(&lease("leases/kea")));
        assert_eq!(held.reads, ["etc", "leases", "real"].map(|folder| place.join(folder)));
        assert_eq!(held.writes, [place.join("state"), place.join("state/log")]);
        assert_eq!(still_reaches(&held, &path, &write("")), Ok(()));
        assert_eq!(still_reaches(&held, &path, &write(&lease("leases/other"))), Ok(()));
        let refused = still_reaches(&held, &path, &write(&lease("elsewhere"))).unwrap_err().to_string();
        assert!(refused.contains("stop, and run again"), "{refused}");
    }
}
