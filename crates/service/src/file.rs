//! Files of a program's own. A file is replaced whole, and survives a power cut; links are not followed,
//! because another user may own the folder.

use crate::Mistake;
use crate::document::line_and_column;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::path::Path;

/// Reads an operator's text file.
///
/// # Errors
/// If it cannot be read, or is not UTF-8.
pub fn text(path: &Path) -> Result<String, Mistake> {
    let file = path.display().to_string();
    let bytes = fs::read(path).map_err(|error| Mistake::of(&file, format!("cannot be read: {error}")))?;
    String::from_utf8(bytes).map_err(|error| {
        let valid = error.utf8_error().valid_up_to();
        let before = String::from_utf8_lossy(&error.as_bytes()[..valid]);
        let byte = error.as_bytes().get(valid).copied().unwrap_or_default();
        Mistake::of(&file, format!("the byte {byte:02x} is not UTF-8; save the file as UTF-8"))
            .placed(Some(line_and_column(&before, before.len())))
    })
}

/// Replaces a file: after a power cut the old or the new one exists. The draft beside it has the ending
/// `.new`, and the number of the process, because two processes may replace one file at once.
///
/// # Errors
/// If the disk is full, or the folder is not writable. The old file then stays.
pub fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut draft = path.file_name().unwrap_or_default().to_os_string();
    draft.push(format!(".{}.new", std::process::id()));
    let draft = path.with_file_name(draft);
    match fs::remove_file(&draft) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => (),
    }
    // `O_EXCL` follows no link that is created in between.
    let mut file = OpenOptions::new().write(true).create_new(true).open(&draft)?;
    let written = file.write_all(bytes).and_then(|()| file.sync_all());
    written.and_then(|()| put(&draft, path)).inspect_err(|_| drop(fs::remove_file(&draft)))
}

/// Moves a synced file to its place in the same folder, and syncs the folder.
///
/// # Errors
/// If it cannot be moved.
pub fn put(draft: &Path, path: &Path) -> io::Result<()> {
    fs::rename(draft, path)?;
    path.parent().map_or(Ok(()), sync_folder)
}

/// Removes the drafts of processes that ended in the middle of [`replace`]. The caller is the only one that
/// writes to the folder.
///
/// # Errors
/// If the folder cannot be read.
pub fn remove_drafts(folder: &Path) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.extension().is_some_and(|ending| ending == "new") {
            fs::remove_file(path)?;
        }
    }
    Ok(())
}

/// Writes a folder's list of names to the disk: until then a power cut may undo a new name.
///
/// # Errors
/// If the disk fails.
pub fn sync_folder(folder: &Path) -> io::Result<()> {
    // Other systems than Unix open no folder, and file systems without the operation say so.
    if !cfg!(unix) {
        return Ok(());
    }
    let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    match File::open(folder)?.sync_all() {
        Err(error) if error.kind() == io::ErrorKind::InvalidInput => Ok(()),
        done => done,
    }
}

#[cfg(target_os = "linux")]
pub use linux::{check_folder, open, open_lock, read};

#[cfg(target_os = "linux")]
mod linux;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn byte_that_is_not_utf8_has_a_place() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("s.csv");
        fs::write(&path, b"id,prefixes\n\xc3\xa5\xe5sa,10.0.0.1\n").unwrap();
        let refused = text(&path).unwrap_err().to_string();
        assert!(
            refused.ends_with("s.csv:2:2: the byte e5 is not UTF-8; save the file as UTF-8"),
            "{refused}"
        );
        let missing = text(&folder.path().join("none")).unwrap_err().to_string();
        assert!(missing.contains("none: cannot be read: "), "{missing}");
    }

    #[test]
    fn file_is_replaced_and_no_draft_remains() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("state.json");
        for text in ["one", "two"] {
            replace(&path, text.as_bytes()).unwrap();
            assert_eq!(fs::read_to_string(&path).unwrap(), text);
        }
        assert!(replace(&folder.path().join("no/such"), b"x").is_err());
        fs::create_dir(folder.path().join("taken")).unwrap();
        assert!(replace(&folder.path().join("taken"), b"x").is_err());
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2, "the failed draft is removed");
        fs::write(folder.path().join("state.json.7.new"), "half").unwrap();
        remove_drafts(folder.path()).unwrap();
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2, "so is one of a killed process");
    }
}
