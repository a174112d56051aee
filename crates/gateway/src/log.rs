//! The files of the record of decisions. Each begins with all that a replay needs; files that are too
//! many or too old are deleted.

use crate::config::Log as Options;
use crate::record::{Line, SCHEMA, What};
use evenair_service::file;
use evenair_units::plain_message;
use std::fs::{self, File, OpenOptions};
use std::io::{self, BufRead as _, BufReader, BufWriter, Write as _};
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};

/// File names have the time of the first entry.
const PREFIX: &str = "gateway-";
const SUFFIX: &str = ".jsonl";

/// The writer of the record.
#[derive(Debug)]
pub struct Log {
    folder: PathBuf,
    options: Options,
    file: Option<(BufWriter<File>, u64)>,
}

impl Log {
    /// Opens a record in a folder, and creates the folder if needed.
    ///
    /// # Errors
    /// If it cannot be created.
    pub fn new(folder: &Path, options: Options) -> io::Result<Self> {
        // The record has each subscriber's usage: only the daemon's own user may read it.
        fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
        file::check_folder(folder)?;
        Ok(Self { folder: folder.into(), options, file: None })
    }

    /// Writes entries with a time \[ms since 1970\]; `beginning` returns the first entry of a new file.
    ///
    /// # Errors
    /// If the disk is full; the next entries start another file.
    pub fn write(&mut self, at_ms: u64, what: Vec<What>, beginning: impl Fn() -> What) -> io::Result<()> {
        for what in what {
            let is_full =
                self.file.as_ref().is_some_and(|(_, size)| *size >= self.options.megabytes * 1_000_000);
            if self.file.is_none() || is_full {
                self.next(at_ms)?;
                if !matches!(what, What::Begin { .. }) {
                    self.line(&Line { schema: SCHEMA, at_ms, what: beginning() })?;
                }
            }
            self.line(&Line { schema: SCHEMA, at_ms, what })?;
        }
        let Some((file, _)) = &mut self.file else { return Ok(()) };
        file.flush()
    }

    fn line(&mut self, line: &Line) -> io::Result<()> {
        let Some((file, size)) = &mut self.file else { return Ok(()) };
        let mut text = serde_json::to_vec(line)?;
        text.push(b'\n');
        let written = file.write_all(&text);
        *size += text.len() as u64;
        if written.is_err() {
            self.file = None;
        }
        written
    }

    /// Opens the next file, and deletes files that are too many or too old.
    fn next(&mut self, at_ms: u64) -> io::Result<()> {
        let mut number = at_ms;
        let file = loop {
            let path = self.folder.join(format!("{PREFIX}{number:013}{SUFFIX}"));
            match OpenOptions::new().create_new(true).append(true).open(path) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => number += 1,
                opened => break opened?,
            }
        };
        self.file = Some((BufWriter::new(file), 0));
        let oldest = at_ms.saturating_sub(u64::from(self.options.days) * 86_400_000);
        let mut files = files(&self.folder)?;
        let surplus = files.len().saturating_sub(self.options.files as usize);
        files.pop();
        for (i, (began, path)) in files.iter().enumerate() {
            // A file covers the time up to the start of the next one.
            let ended = files.get(i + 1).map_or(at_ms, |(began, _)| *began);
            if i < surplus || ended.max(*began) < oldest {
                fs::remove_file(path)?;
            }
        }
        Ok(())
    }
}

/// Returns the files of a record, oldest first, with their start times \[ms since 1970\].
///
/// # Errors
/// If the folder cannot be read.
pub fn files(folder: &Path) -> io::Result<Vec<(u64, PathBuf)>> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        let began = name.strip_prefix(PREFIX).and_then(|name| name.strip_suffix(SUFFIX)?.parse().ok());
        files.extend(began.map(|began| (began, path)));
    }
    files.sort();
    Ok(files)
}

/// Reads a record line by line: a file, or all files of a folder.
///
/// # Errors
/// If a file cannot be read, or `hear` refuses a line; the message has the line's place. Skips a last
/// line that a crash cut off.
pub fn read(path: &Path, mut hear: impl FnMut(&Line) -> Result<(), String>) -> Result<(), String> {
    let paths = if path.is_dir() {
        files(path)
            .map_err(|error| format!("{}: {error}", path.display()))?
            .into_iter()
            .map(|(_, path)| path)
            .collect()
    } else {
        vec![path.to_path_buf()]
    };
    for path in paths {
        let name = path.display();
        let failed = |number: usize, why: &dyn std::fmt::Display| format!("{name}:{number}: {why}");
        let file = File::open(&path).map_err(|error| format!("{name}: {error}"))?;
        let mut reader = BufReader::new(file);
        let mut text = String::new();
        for number in 1.. {
            text.clear();
            let length = reader.read_line(&mut text).map_err(|error| failed(number, &error))?;
            if length == 0 || !text.ends_with('\n') {
                break;
            }
            let line = serde_json::from_str(&text)
                .map_err(|error| failed(number, &plain_message(&error.to_string())))?;
            hear(&line).map_err(|why| failed(number, &why))?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::Event;
    use evenair_laws::Parameters;
    use evenair_laws::gateway::{GatewayParams, GatewayRole, PfrcParams};

    fn beginning() -> What {
        let law: GatewayParams = PfrcParams::corrected().into();
        let role = GatewayRole::default();
        What::Begin { state: law.begin(&role), law, role, classes: Vec::new() }
    }

    fn count(path: &Path) -> Result<usize, String> {
        let mut heard = 0;
        read(path, |_| {
            heard += 1;
            Ok(())
        })?;
        Ok(heard)
    }

    #[test]
    fn each_file_begins_with_its_law_and_old_ones_go() {
        let folder = tempfile::tempdir().unwrap();
        let options = Options { folder: None, megabytes: 1, files: 3, days: 1 };
        let mut log = Log::new(folder.path(), options).unwrap();
        let mut write = |ms, count| {
            let long = vec![What::Event(Event::Trouble("x".repeat(1000))); count];
            log.write(ms, long, beginning).unwrap();
        };
        (0..6).for_each(|i| write(1000 * i, 1000));
        let there = files(folder.path()).unwrap();
        assert!(there.len() <= 3 && there.len() > 1, "{there:?}");
        for (_, path) in &there {
            let mut first = None;
            let mut hear = |line: &Line| {
                first.get_or_insert_with(|| line.what.clone());
                Ok(())
            };
            read(path, &mut hear).unwrap();
            assert_eq!(first, Some(beginning()));
        }
        write(200_000_000, 1000);
        write(200_000_001, 1000);
        let there: Vec<u64> = files(folder.path()).unwrap().into_iter().map(|(began, _)| began).collect();
        assert!(there.iter().all(|began| *began >= 200_000_000 - 86_400_000 || *began == 5_000), "{there:?}");
        assert!(count(folder.path()).unwrap() > 1000);
    }

    #[test]
    fn torn_line_is_skipped_and_nonsense_has_a_place() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("log");
        let line = serde_json::to_string(&Line { schema: 1, at_ms: 0, what: beginning() }).unwrap();
        fs::write(&path, format!("{line}\n{{\"schema\":1,\"at")).unwrap();
        assert_eq!(count(&path), Ok(1));
        fs::write(&path, format!("{line}\n5\n")).unwrap();
        let refused = count(&path).unwrap_err();
        assert!(refused.contains("log:2: "), "{refused}");
    }
}
