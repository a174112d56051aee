//! Files in folders that another user may own.

use rustix::fs::{CWD, FileType, Mode, OFlags, fstat, openat};
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

/// The longest file that is read \[bytes\].
const LENGTH_MAX: u64 = 256 << 20;

/// Opens a plain file. A pipe in its place does not block.
///
/// # Errors
/// If it is a link, or no plain file.
pub fn open(path: &Path) -> io::Result<File> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = openat(CWD, path, flags, Mode::empty()).map_err(|error| match error {
        rustix::io::Errno::LOOP => io::Error::other("is a link; remove it"),
        error => error.into(),
    })?;
    if FileType::from_raw_mode(fstat(&file)?.st_mode) != FileType::RegularFile {
        return Err(io::Error::other("is no plain file; remove it"));
    }
    Ok(File::from(file))
}

/// Reads a plain file.
///
/// # Errors
/// If it is no plain file, cannot be read, or is too long.
pub fn read(path: &Path) -> io::Result<String> {
    let mut text = String::new();
    open(path)?.take(LENGTH_MAX + 1).read_to_string(&mut text)?;
    if text.len() as u64 > LENGTH_MAX {
        return Err(io::Error::other(format!("is longer than {} MB", LENGTH_MAX >> 20)));
    }
    Ok(text)
}

/// Opens a lock file, or creates it. The lock needs no write permission: the service's own user can
/// hold one that root created.
///
/// # Errors
/// As [`open`].
pub fn open_lock(path: &Path) -> io::Result<File> {
    match OpenOptions::new().write(true).create_new(true).open(path) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => open(path),
        made => made,
    }
}

/// Checks that a folder is not writable for every user.
///
/// # Errors
/// If it is; the message names the remedy.
pub fn check_folder(folder: &Path) -> io::Result<()> {
    if fs::metadata(folder)?.mode() & 0o002 == 0 {
        return Ok(());
    }
    let why = "every user may put files there, and the daemon trusts files there: chmod o-w, or name a folder of its own";
    Err(io::Error::other(why))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::file::replace;
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    /// The folder's owner puts links, pipes and folders in the places of the daemon's files.
    #[test]
    fn links_and_pipes_are_not_followed() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        fs::write(at("victim"), "precious").unwrap();
        let draft = format!("state.json.{}.new", std::process::id());
        for name in [&draft, "state.json", "lock", "worked.json"] {
            symlink(at("victim"), at(name)).unwrap();
        }
        replace(&at("state.json"), b"{}").unwrap();
        assert_eq!(
            (read(&at("victim")).unwrap(), read(&at("state.json")).unwrap()),
            ("precious".into(), "{}".into())
        );
        assert!(!at("state.json").is_symlink() && !at(&draft).exists());
        for name in ["lock", "worked.json"] {
            let refused = read(&at(name)).unwrap_err().to_string();
            assert!(refused.contains("is a link"), "{refused}");
            assert!(open_lock(&at(name)).is_err());
        }
        // A link to a missing file creates no file there.
        symlink(at("elsewhere"), at("other")).unwrap();
        assert!(open_lock(&at("other")).is_err() && !at("elsewhere").exists());
        // A pipe without a writer does not block the daemon.
        let pipe = at("pipe");
        rustix::fs::mknodat(CWD, &pipe, FileType::Fifo, Mode::from_raw_mode(0o600), 0).unwrap();
        assert!(read(&pipe).unwrap_err().to_string().contains("no plain file"));
        fs::create_dir(at("folder")).unwrap();
        assert!(read(&at("folder")).is_err());
    }

    #[test]
    fn folders_for_every_user_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        assert!(check_folder(folder.path()).is_ok());
        for mode in [0o777, 0o1777] {
            fs::set_permissions(folder.path(), fs::Permissions::from_mode(mode)).unwrap();
            let refused = check_folder(folder.path()).unwrap_err().to_string();
            assert!(refused.contains("chmod o-w"), "{refused}");
        }
    }
}
