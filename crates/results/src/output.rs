//! Where results go: a folder that holds one result. (A single file: `file.rs`.)
//!
//! It is tried before anything is computed, takes drafts while it is, and puts them in place when all of it is there.
//! A folder's manifest names the command that made the result and lists its files. The next result replaces them all; files of
//! the user's own stay beside it. One with the name of a result's file is in the way; an error names it before anything is
//! computed.

use crate::file::is_own;
use evenair_service::file;
use serde_json::{Map, Value};
use sha2::{Digest, Sha256};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::fs::{self, File};
use std::io;
use std::path::{Component, Path, PathBuf};

/// The version of the form of all JSON documents. It grows when a key goes or changes its meaning, not when one is added.
pub const SCHEMA_VERSION: u32 = 1;

const MANIFEST: &str = "manifest.json";
/// The beginning of a draft folder's name, before the number of the process that fills it.
const DRAFTS: &str = ".evenair-drafts-";

/// The files that every result has.
const COMMON: [&str; 4] = [MANIFEST, "result.json", "scenario.toml", "figures.json"];

/// Why a result has no place to go.
#[derive(Debug)]
pub enum OutputError {
    /// Files that are not evenair's have names of a result's.
    InTheWay(PathBuf, Vec<String>),
    /// A file that is not evenair's is where a single one should go.
    Taken(PathBuf),
    /// It cannot be made, read or written; with the failed action.
    Io(&'static str, PathBuf, io::Error),
}

impl fmt::Display for OutputError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::InTheWay(folder, names) => {
                let (is, it) = if names.len() == 1 { ("is", "it") } else { ("are", "them") };
                write!(
                    f,
                    "{} {is} in the way: evenair did not write {it} and has results of such names; move {it}, choose another folder \
                     than {}, or say --force to have {it} kept under other names",
                    names.join(", "),
                    folder.display()
                )
            }
            Self::Taken(path) => write!(
                f,
                "{} is in the way: evenair did not write it, or it has been edited since; give another name, move it, or say --force to \
                 have it kept as {}",
                path.display(),
                free_place(path).display()
            ),
            Self::Io(what, path, error) => write!(f, "cannot {what} {}: {error}", path.display()),
        }
    }
}

impl std::error::Error for OutputError {}

pub(crate) fn error_at(what: &'static str, path: &Path) -> impl FnOnce(io::Error) -> OutputError {
    let path = path.to_path_buf();
    move |error| OutputError::Io(what, path, error)
}

/// Why something cannot be the name of a file, or of a folder, on every machine; nothing, if it can.
pub fn file_name_fault(name: &str) -> Option<&'static str> {
    let is_bad = |c: char| c.is_control() || "/\\:*?\"<>|".contains(c);
    match name {
        "" => Some("is empty"),
        _ if name.contains(is_bad) => Some("has one of / \\ : * ? \" < > | or a control character"),
        _ if name.starts_with('.') || name.ends_with(['.', ' ']) => {
            Some("begins with a dot, or ends with one or a space")
        }
        _ => None,
    }
}

/// A folder that holds one result, and drafts of the next.
#[derive(Debug)]
pub struct OutputFolder {
    folder: PathBuf,
    drafts: PathBuf,
    /// The folders that were made for it, the outermost first.
    made: Vec<PathBuf>,
    /// The manifest that was there when this began.
    before: Option<Vec<u8>>,
    finished: bool,
}

impl OutputFolder {
    /// Makes or opens a folder, and tries to write there. Its content stays until [`Self::finish`]; without that nothing changes.
    /// `names` are files that the result may have beside those of every result; of a table its CSV. `force` also takes a folder
    /// with the user's files in the way.
    ///
    /// # Errors
    /// If it cannot be written, or holds files that are not evenair's and have names of a result's.
    pub fn prepare(folder: &Path, names: &[&str], force: bool) -> Result<Self, OutputError> {
        let made: Vec<PathBuf> = folder
            .ancestors()
            .take_while(|f| !f.as_os_str().is_empty() && !f.exists())
            .map(Into::into)
            .collect();
        fs::create_dir_all(folder).map_err(error_at("make", folder))?;
        let in_the_way = if force { Vec::new() } else { in_the_way(folder, names)? };
        if !in_the_way.is_empty() {
            return Err(OutputError::InTheWay(folder.into(), in_the_way));
        }
        remove_forgotten_drafts(folder)?;
        let drafts = folder.join(format!("{DRAFTS}{}", std::process::id()));
        fs::create_dir_all(&drafts).map_err(error_at("write", folder))?;
        let made = made.into_iter().rev().collect();
        let before = fs::read(folder.join(MANIFEST)).ok();
        Ok(Self { folder: folder.into(), drafts, made, before, finished: false })
    }

    /// The folder itself: for files that outlive a result, such as finished runs of a sweep.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Describes another process's work in the folder at the same time: it has put a result there since this began, which
    /// [`Self::finish`] replaces, or is at work and will replace this one.
    ///
    /// # Errors
    /// If the folder cannot be read.
    pub fn rival(&self) -> Result<Option<String>, OutputError> {
        let folder = self.folder.display();
        if fs::read(self.folder.join(MANIFEST)).ok() != self.before {
            return Ok(Some(format!(
                "another evenair put a result into {folder} while this one ran; this one replaces it: give each its own folder"
            )));
        }
        let is_other = |name: &&String| name.starts_with(DRAFTS) && self.folder.join(name) != self.drafts;
        Ok(entries(&self.folder)?.iter().find(is_other).map(|name| {
            let process = name.trim_start_matches(DRAFTS);
            format!(
                "another evenair, process {process}, writes to {folder}, too, and will replace this result: give each its own folder"
            )
        }))
    }

    /// The folder of drafts. Every file below it when the result is finished is part of it.
    pub fn drafts(&self) -> &Path {
        &self.drafts
    }

    /// Writes a draft; its name may have folders.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn write(&self, name: &str, contents: &str) -> Result<(), OutputError> {
        assert!(is_below(Path::new(name)), "{name} leaves the folder of its result");
        let path = self.drafts.join(name);
        let parent = path.parent().unwrap_or(&self.drafts);
        fs::create_dir_all(parent).map_err(error_at("make", parent))?;
        fs::write(&path, contents).map_err(error_at("write", &self.folder.join(name)))
    }

    /// Puts all drafts in place and removes the earlier result's files that this one lacks. Returns the places of files
    /// that were there and are no part of either: they are kept beside.
    ///
    /// # Errors
    /// If a file cannot be put in place.
    pub fn finish(mut self, mut manifest: Map<String, Value>) -> Result<Vec<PathBuf>, OutputError> {
        let mut names = Vec::new();
        files_below(&self.drafts, Path::new(""), &mut names)?;
        names.sort();
        let mut files = Map::new();
        for name in &names {
            files.insert(written(name), hash(&self.drafts.join(name))?.into());
        }
        manifest.insert("files".into(), files.into());
        self.write(MANIFEST, &format!("{:#}\n", Value::Object(manifest)))?;
        let mut old = listed(&self.folder).unwrap_or_default();
        for (name, hash) in old.iter().filter(|(name, _)| !names.contains(name)) {
            self.remove(name, hash.as_deref())?;
        }
        let mut kept = Vec::new();
        for name in &names {
            kept.extend(self.put(name, &old)?);
        }
        // The names are on the disk before the manifest that lists them, and then its own is.
        let sync = |below: &Path| {
            let folder = self.folder.join(below);
            file::sync_folder(&folder).map_err(error_at("write", &folder))
        };
        names
            .iter()
            .filter_map(|name| name.parent())
            .collect::<BTreeSet<_>>()
            .into_iter()
            .try_for_each(sync)?;
        old.insert(MANIFEST.into(), None); // a manifest is evenair's wherever there is one
        self.put(Path::new(MANIFEST), &old)?;
        sync(Path::new(""))?;
        self.finished = true;
        Ok(kept)
    }

    /// Removes a file of the result before, unless it has been edited since; and its folder, if that is empty then.
    fn remove(&self, name: &Path, written: Option<&str>) -> Result<(), OutputError> {
        let path = self.folder.join(name);
        if !path.is_file() || written.is_some_and(|written| hash(&path).is_ok_and(|now| now != written)) {
            return Ok(());
        }
        fs::remove_file(&path).map_err(error_at("remove", &path))?;
        let folders = name.ancestors().skip(1).filter(|folder| !folder.as_os_str().is_empty());
        folders.for_each(|folder| drop(fs::remove_dir(self.folder.join(folder)))); // one that is not empty stays
        Ok(())
    }

    /// Moves a draft to its place. A file that is there and not of the earlier result is moved aside; its new place is
    /// returned.
    fn put(
        &self,
        name: &Path,
        old: &BTreeMap<PathBuf, Option<String>>,
    ) -> Result<Option<PathBuf>, OutputError> {
        let path = self.folder.join(name);
        let parent = path.parent().unwrap_or(&self.folder);
        fs::create_dir_all(parent).map_err(error_at("make", parent))?;
        let is_ours = || match old.get(name) {
            Some(Some(written)) => hash(&path).is_ok_and(|now| now == *written),
            Some(None) => path.is_file(),
            None => is_own(&path),
        };
        let mut aside = None;
        if path.symlink_metadata().is_ok() && !is_ours() {
            let place = free_place(&path);
            fs::rename(&path, &place).map_err(error_at("keep", &path))?;
            aside = Some(place);
        }
        fs::rename(self.drafts.join(name), &path).map_err(error_at("write", &path))?;
        Ok(aside)
    }
}

impl Drop for OutputFolder {
    /// An unfinished result leaves nothing behind but files that outlive it. Failing here costs only tidiness.
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.drafts);
        if !self.finished {
            self.made.iter().rev().for_each(|folder| drop(fs::remove_dir(folder))); // one that is not empty stays
        }
    }
}

/// Files of a folder that are not evenair's and have names of a result's.
fn in_the_way(folder: &Path, names: &[&str]) -> Result<Vec<String>, OutputError> {
    let ours = listed(folder);
    let is_listed = |name: &str| {
        ours.as_ref().is_some_and(|files| name == MANIFEST || files.contains_key(Path::new(name)))
    };
    let is_ours = |name: &str| is_listed(name) || is_own(&folder.join(name));
    let is_of_a_result = |name: &str| {
        let table = name.strip_suffix(".parquet").filter(|_| cfg!(feature = "parquet"));
        let table = table.map(|table| format!("{table}.csv"));
        let is = |known: &&str| *known == name || table.as_deref() == Some(*known);
        COMMON.iter().chain(names).any(is)
    };
    let mut found = entries(folder)?;
    found.retain(|name| is_of_a_result(name) && !is_ours(name));
    found.sort();
    Ok(found)
}

/// The files that a folder's manifest lists, with their hashes as written; none without a manifest of evenair's.
fn listed(folder: &Path) -> Option<BTreeMap<PathBuf, Option<String>>> {
    let manifest: Value = serde_json::from_slice(&fs::read(folder.join(MANIFEST)).ok()?).ok()?;
    manifest.get("evenair")?;
    let files: Vec<(&str, Option<String>)> = match manifest.get("files")? {
        Value::Object(files) => {
            files.iter().map(|(name, hash)| (name.as_str(), hash.as_str().map(Into::into))).collect()
        }
        // Before schema_version 1 a manifest had names alone.
        Value::Array(names) => names.iter().filter_map(|name| Some((name.as_str()?, None))).collect(),
        _ => return None,
    };
    // A manifest from elsewhere must not reach outside of its folder.
    let files = files.into_iter().map(|(name, hash)| (PathBuf::from(name), hash));
    Some(files.filter(|(path, _)| is_below(path)).collect())
}

/// Whether a path stays in the folder that it begins in.
fn is_below(path: &Path) -> bool {
    path.components().all(|part| matches!(part, Component::Normal(_)))
}

fn entries(folder: &Path) -> Result<Vec<String>, OutputError> {
    let list = || fs::read_dir(folder)?.map(|e| Ok(e?.file_name().to_string_lossy().into())).collect();
    let list: io::Result<Vec<String>> = list();
    list.map_err(error_at("read", folder))
}

/// Names with `/` between folders, on every machine.
fn written(name: &Path) -> String {
    let parts: Vec<_> = name.iter().map(|part| part.to_string_lossy()).collect();
    parts.join("/")
}

fn files_below(root: &Path, folder: &Path, files: &mut Vec<PathBuf>) -> Result<(), OutputError> {
    for name in entries(&root.join(folder))? {
        let name = folder.join(name);
        if root.join(&name).is_dir() { files_below(root, &name, files)? } else { files.push(name) }
    }
    Ok(())
}

/// A file's SHA-256, as `sha256sum` prints it, of the bytes on the disk.
fn hash(path: &Path) -> Result<String, OutputError> {
    let read = || {
        let mut file = File::open(path)?;
        file.sync_all()?;
        let mut hasher = Sha256::new();
        io::copy(&mut file, &mut hasher)?;
        Ok(format!("{:x}", hasher.finalize()))
    };
    read().map_err(error_at("read", path))
}

/// A name beside a file's that nothing has yet.
pub(crate) fn free_place(path: &Path) -> PathBuf {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let mut place = path.with_file_name(format!("{name}.before"));
    let mut number = 2;
    while place.symlink_metadata().is_ok() {
        place = path.with_file_name(format!("{name}.before-{number}"));
        number += 1;
    }
    place
}

/// Removes drafts of processes that were killed. Where the machine does not say which processes there are, they stay.
fn remove_forgotten_drafts(folder: &Path) -> Result<(), OutputError> {
    let knows = Path::new("/proc/self").exists();
    for name in entries(folder)?.iter().filter(|_| knows) {
        let process = name.strip_prefix(DRAFTS).and_then(|process| process.parse::<u32>().ok());
        if process.is_some_and(|process| !Path::new(&format!("/proc/{process}")).exists()) {
            remove_all(&folder.join(name))?;
        }
    }
    Ok(())
}

/// Removes a folder if it is there. Parts of a study that run side by side tidy up at once, and a draft's owner may end at
/// the same time, so a missing file is no error.
fn remove_all(path: &Path) -> Result<(), OutputError> {
    match fs::remove_dir_all(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error_at("remove", path)(error)),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::program::manifest;

    #[test]
    fn two_at_once_are_told_of_each_other() {
        let root = tempfile::tempdir().unwrap();
        let one = OutputFolder::prepare(root.path(), &[], false).unwrap();
        assert_eq!(one.rival().unwrap(), None);
        // Another process would have another number.
        let drafts = root.path().join(format!("{DRAFTS}0"));
        fs::create_dir(&drafts).unwrap();
        assert!(one.rival().unwrap().is_some_and(|told| told.contains("process 0, writes to")));
        fs::write(root.path().join(MANIFEST), "{}").unwrap();
        assert!(one.rival().unwrap().is_some_and(|told| told.contains("this one replaces it")));
    }

    fn names(folder: &Path) -> Vec<String> {
        let mut names = entries(folder).unwrap();
        names.sort();
        names
    }

    /// The size that these tests' results may have.
    const NAMES: &[&str] = &["study.toml", "table.csv"];

    /// A result of these files, each with its name and `version` as its text.
    fn result(folder: &Path, files: &[&str], version: &str) -> Vec<PathBuf> {
        let output = OutputFolder::prepare(folder, NAMES, false).unwrap();
        files.iter().for_each(|name| output.write(name, &format!("{name} {version}")).unwrap());
        output.finish(manifest("evenair run a")).unwrap()
    }

    #[test]
    fn next_result_replaces_all_files_of_the_last() {
        let folder = tempfile::tempdir().unwrap();
        let place = folder.path().join("deep/result");
        result(&place, &["flows.csv", "series.csv", "scenarios/a.toml"], "1");
        fs::write(place.join("notes.txt"), "the user's").unwrap();
        result(&place, &["flows.csv", "trajectory.csv"], "2");
        assert_eq!(names(&place), ["flows.csv", "manifest.json", "notes.txt", "trajectory.csv"]);
        assert_eq!(fs::read_to_string(place.join("flows.csv")).unwrap(), "flows.csv 2");
        let manifest: Value = serde_json::from_slice(&fs::read(place.join(MANIFEST)).unwrap()).unwrap();
        assert_eq!(manifest["command_line"], "evenair run a");
        let expected = format!("{:x}", Sha256::digest("flows.csv 2"));
        assert_eq!(manifest["files"]["flows.csv"], expected.as_str());
    }

    #[test]
    fn user_files_are_kept() {
        let folder = tempfile::tempdir().unwrap();
        result(folder.path(), &["a", "b", "c"], "1");
        fs::write(folder.path().join("a"), "edited").unwrap();
        fs::write(folder.path().join("c"), "edited").unwrap();
        fs::write(folder.path().join("d"), "new").unwrap();
        let kept = result(folder.path(), &["a", "b", "d"], "2");
        assert_eq!(kept, ["a.before", "d.before"].map(|name| folder.path().join(name)));
        assert_eq!(names(folder.path()), ["a", "a.before", "b", "c", "d", "d.before", "manifest.json"]);
        assert_eq!(fs::read_to_string(folder.path().join("a.before")).unwrap(), "edited");
        assert_eq!(fs::read_to_string(folder.path().join("a")).unwrap(), "a 2");
    }

    #[test]
    fn foreign_files_stay_and_block_a_results_names() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str| fs::write(folder.path().join(name), "years").unwrap();
        write("thesis.tex");
        result(folder.path(), &["flows.csv"], "1");
        assert_eq!(names(folder.path()), ["flows.csv", "manifest.json", "thesis.tex"]);
        write("table.csv");
        write("study.toml");
        let refused = || OutputFolder::prepare(folder.path(), NAMES, false).unwrap_err().to_string();
        let text = refused();
        assert!(
            text.starts_with("study.toml, table.csv are in the way") && text.contains("--force"),
            "{text}"
        );
        assert_eq!(names(folder.path()).len(), 5, "nothing has happened");
        let output = OutputFolder::prepare(folder.path(), NAMES, true).unwrap();
        output.write("table.csv", "new").unwrap();
        assert_eq!(output.finish(manifest("")).unwrap(), [folder.path().join("table.csv.before")]);
        let expected = ["manifest.json", "study.toml", "table.csv", "table.csv.before", "thesis.tex"];
        assert_eq!(names(folder.path()), expected);
        // A manifest of something else is a file of the user's, too.
        fs::write(folder.path().join(MANIFEST), "{\"name\": \"an extension\"}").unwrap();
        assert!(refused().contains("manifest.json"), "{}", refused());
        let file = folder.path().join("thesis.tex");
        assert!(OutputFolder::prepare(&file, NAMES, false).unwrap_err().to_string().contains("cannot make"));
    }

    #[test]
    fn part_of_a_sweep_leaves_its_runs_alone() {
        let folder = tempfile::tempdir().unwrap();
        let output = OutputFolder::prepare(folder.path(), NAMES, false).unwrap();
        fs::create_dir(output.folder().join("runs")).unwrap();
        drop(output);
        assert_eq!(names(folder.path()), ["runs"]);
        assert!(OutputFolder::prepare(folder.path(), NAMES, false).is_ok());
    }

    #[test]
    fn unfinished_result_leaves_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let place = folder.path().join("deep/result");
        let output = OutputFolder::prepare(&place, NAMES, false).unwrap();
        output.write("flows.csv", "half").unwrap();
        drop(output);
        assert!(names(folder.path()).is_empty(), "folders that were made are gone");
        result(&place, &["flows.csv"], "1");
        let output = OutputFolder::prepare(&place, NAMES, false).unwrap();
        output.write("flows.csv", "half").unwrap();
        drop(output);
        assert_eq!(fs::read_to_string(place.join("flows.csv")).unwrap(), "flows.csv 1");
        assert_eq!(names(&place), ["flows.csv", "manifest.json"]);
    }

    #[test]
    fn drafts_of_killed_process_are_removed() {
        let folder = tempfile::tempdir().unwrap();
        // Greater than any process's number.
        fs::create_dir_all(folder.path().join(format!("{DRAFTS}4194305/deep"))).unwrap();
        result(folder.path(), &["a"], "1");
        assert_eq!(names(folder.path()), ["a", "manifest.json"]);
        assert!(remove_all(&folder.path().join(format!("{DRAFTS}4194305"))).is_ok());
        let file = folder.path().join("a");
        assert!(remove_all(&file).unwrap_err().to_string().contains("cannot remove"));
    }

    #[test]
    fn lasting_files_are_found_again() {
        let folder = tempfile::tempdir().unwrap();
        let place = folder.path().join("study");
        let output = OutputFolder::prepare(&place, NAMES, false).unwrap();
        fs::create_dir_all(output.folder().join("runs")).unwrap();
        drop(output);
        assert_eq!(names(&place), ["runs"]);
        result(&place, &["report.html"], "1");
        assert_eq!(names(&place), ["manifest.json", "report.html", "runs"]);
    }

    #[test]
    fn manifest_reaches_no_file_outside() {
        let folder = tempfile::tempdir().unwrap();
        let place = folder.path().join("result");
        fs::create_dir(&place).unwrap();
        fs::write(folder.path().join("precious"), "").unwrap();
        fs::write(place.join("flows.csv"), "").unwrap();
        let files =
            r#"{"evenair": "0.1.0", "files": ["flows.csv", "../precious", "gone.csv", "scenarios/"]}"#;
        fs::write(place.join(MANIFEST), files).unwrap();
        result(&place, &["a"], "1");
        assert_eq!(names(&place), ["a", "manifest.json"]);
        assert_eq!(names(folder.path()), ["precious", "result"]);
    }
}
