//! A single file, put in place when it is whole; it never replaces a file of another origin.
//!
//! A file that evenair did not write is never overwritten. In a result's folder the manifest lists evenair's files (`output.rs`).
//! A single file carries a mark where its form has room: a comment in its last line, a text chunk of a PNG, a field of a
//! capture's head that readers ignore. Except in captures, the mark has a hash of all before it, so a file that was edited since
//! is the user's.

use crate::output::{OutputError, error_at, free_place};
use evenair_netsim::pcap;
use evenair_service::file as service;
use sha2::{Digest, Sha256};
use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

/// The beginning of a mark; a hash follows.
const MARK: &str = "evenair sha256:";
/// Digits of the hash.
const HASH: usize = 64;
/// The largest file that is looked into for a mark: figures and reports are smaller \[bytes\].
const LOOKED_INTO_MAX: u64 = 1 << 28;

/// A single file. A pipe, such as one to Wireshark, is written as it is.
#[derive(Debug)]
pub struct OutputFile {
    path: PathBuf,
    draft: Option<PathBuf>,
    file: File,
}

impl OutputFile {
    /// Opens it for writing, in a folder that is there. `force` takes the place of a file of the user's own, too.
    ///
    /// # Errors
    /// If it cannot be opened, or a file that is not evenair's is there.
    pub fn create(path: &Path, force: bool) -> Result<Self, OutputError> {
        if path.is_dir() {
            return Err(error_at("write", path)(io::ErrorKind::IsADirectory.into()));
        }
        if !force && path.is_file() && !is_own(path) {
            return Err(OutputError::Taken(path.into()));
        }
        let path = path.canonicalize().unwrap_or_else(|_| path.into()); // a link stays one
        let draft = (!path.exists() || path.is_file()).then(|| {
            let mut name = path.file_name().unwrap_or_default().to_os_string();
            name.push(format!(".part-{}", std::process::id()));
            path.with_file_name(name)
        });
        let file = match &draft {
            Some(draft) => File::create(draft),
            None => File::options().write(true).open(&path),
        };
        let file = file.map_err(error_at("write", &path))?;
        Ok(Self { path, draft, file })
    }

    /// Lets only its owner read it, since it has the data of other hosts. A pipe stays as it is.
    ///
    /// # Errors
    /// If the file system has no permissions.
    pub fn keep_private(&self) -> Result<(), OutputError> {
        #[cfg(unix)]
        if self.draft.is_some() {
            use std::os::unix::fs::PermissionsExt;
            let private = fs::Permissions::from_mode(0o600);
            self.file.set_permissions(private).map_err(error_at("write", &self.path))?;
        }
        Ok(())
    }

    /// Fills it, with the mark that goes with its name's ending, and puts it in place.
    ///
    /// # Errors
    /// As [`Self::finish`].
    pub fn fill(mut self, contents: &[u8]) -> Result<Option<PathBuf>, OutputError> {
        let ending = self.path.extension().and_then(|ending| ending.to_str()).unwrap_or_default();
        let marked = marked(contents, &ending.to_lowercase());
        self.write_all(&marked).map_err(error_at("write", &self.path))?;
        self.finish()
    }

    /// Puts it in place. A file of the user's own that is there is kept beside, and its new place given.
    ///
    /// # Errors
    /// If it cannot be.
    pub fn finish(mut self) -> Result<Option<PathBuf>, OutputError> {
        let Some(draft) = self.draft.take() else { return Ok(None) };
        let put = || {
            self.file.sync_all()?;
            let kept = (self.path.is_file() && !is_own(&self.path)).then(|| free_place(&self.path));
            kept.as_ref().map_or(Ok(()), |place| fs::rename(&self.path, place))?;
            service::put(&draft, &self.path).map(|()| kept)
        };
        put().inspect_err(|_| drop(fs::remove_file(&draft))).map_err(error_at("write", &self.path))
    }
}

impl Write for OutputFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

impl Drop for OutputFile {
    fn drop(&mut self) {
        if let Some(draft) = &self.draft {
            let _ = fs::remove_file(draft);
        }
    }
}

/// Whether a file is as evenair wrote it. Of an empty one nothing is lost.
pub(crate) fn is_own(path: &Path) -> bool {
    let read = || {
        let mut file = File::open(path)?;
        let size = file.metadata()?.len();
        let mut start = Vec::new();
        (&mut file).take(pcap::HEAD.len() as u64).read_to_end(&mut start)?;
        if size == 0 || start == pcap::HEAD {
            return Ok(true);
        }
        if size > LOOKED_INTO_MAX {
            return Ok(false);
        }
        file.read_to_end(&mut start)?;
        Ok::<_, io::Error>(is_marked(&start))
    };
    path.is_file() && read().unwrap_or(false)
}

/// Contents with a mark, where files of this ending have a place for one.
fn marked(contents: &[u8], ending: &str) -> Vec<u8> {
    let (open, close) = match ending {
        "svg" | "html" | "htm" | "graphml" | "xml" => ("<!-- ", " -->"),
        "dot" | "gv" => ("// ", ""),
        "tex" => ("% ", ""),
        "1" => (".\\\" ", ""), // a page of the manual
        "png" => return png_marked(contents),
        _ => return contents.into(),
    };
    let mut marked = contents.to_vec();
    if !marked.ends_with(b"\n") {
        marked.push(b'\n');
    }
    let line = format!("{open}{MARK}{:x}{close}\n", Sha256::digest(&marked));
    marked.extend(line.as_bytes());
    marked
}

/// Whether there is a mark at the end that is right.
fn is_marked(contents: &[u8]) -> bool {
    if contents.starts_with(&PNG) {
        let place = contents.len().checked_sub(PNG_END + PNG_CHUNK);
        return place.is_some_and(|place| {
            png_marked(&[&contents[..place], &contents[contents.len() - PNG_END..]].concat()) == contents
        });
    }
    let body = contents.strip_suffix(b"\n").unwrap_or(contents);
    let (before, line) = body.split_at(body.iter().rposition(|&byte| byte == b'\n').map_or(0, |at| at + 1));
    let told = std::str::from_utf8(line).ok().and_then(|line| line.split_once(MARK)?.1.get(..HASH));
    told.is_some_and(|told| told == format!("{:x}", Sha256::digest(before)))
}

const PNG: [u8; 8] = *b"\x89PNG\r\n\x1a\n";
/// The last chunk of a PNG, which is empty: length, kind, checksum \[bytes\].
const PNG_END: usize = 12;
/// The head of a chunk's text, as PNG asks for it.
const PNG_KEY: &str = "Software\0";
/// The mark as a chunk \[bytes\].
const PNG_CHUNK: usize = 12 + PNG_KEY.len() + MARK.len() + HASH;

/// A PNG with the mark as its last text. (PNG, 3rd edition, 11.3.3.2: tEXt.)
fn png_marked(contents: &[u8]) -> Vec<u8> {
    let (image, end) = contents.split_at(contents.len().saturating_sub(PNG_END));
    let text = format!("{PNG_KEY}{MARK}{:x}", Sha256::digest(image));
    let chunk = [b"tEXt", text.as_bytes()].concat();
    let length = (text.len() as u32).to_be_bytes();
    [image, &length, &chunk, &crc32(&chunk).to_be_bytes(), end].concat()
}

/// The checksum of PNG's chunks. (PNG, 3rd edition, 5.5: polynomial 0xEDB88320, reflected.)
fn crc32(bytes: &[u8]) -> u32 {
    let step = |crc: u32, _| if crc & 1 == 1 { crc >> 1 ^ 0xEDB8_8320 } else { crc >> 1 };
    !bytes.iter().fold(!0, |crc, &byte| (0..8).fold(crc ^ u32::from(byte), step))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(folder: &Path) -> Vec<String> {
        let entries =
            folder.read_dir().unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let mut names: Vec<String> = entries.collect();
        names.sort();
        names
    }

    fn write(path: &Path, contents: &str) -> Result<Option<PathBuf>, OutputError> {
        OutputFile::create(path, false)?.fill(contents.as_bytes())
    }

    #[test]
    fn a_file_is_there_whole_or_not_at_all() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.pcap");
        let mut file = OutputFile::create(&path, false).unwrap();
        file.write_all(b"half").unwrap();
        drop(file);
        assert!(names(folder.path()).is_empty());
        let mut file = OutputFile::create(&path, false).unwrap();
        file.write_all(b"whole").unwrap();
        assert_eq!(file.finish().unwrap(), None);
        assert_eq!(
            (fs::read(&path).unwrap(), names(folder.path())),
            (b"whole".to_vec(), vec!["a.pcap".into()])
        );
        assert!(OutputFile::create(folder.path(), false).unwrap_err().to_string().contains("directory"));
        assert!(OutputFile::create(&folder.path().join("no/such.pcap"), false).is_err());
    }

    #[test]
    fn only_unedited_files_are_replaced() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["a.svg", "a.HTML", "a.graphml", "a.dot", "a.tex", "a.1"] {
            let path = folder.path().join(name);
            fs::write(&path, "").unwrap(); // an empty file is nobody's loss
            for text in ["one", "two\n", "three\nlines\n"] {
                assert_eq!(write(&path, text).unwrap(), None, "{name}");
            }
            let own = fs::read_to_string(&path).unwrap();
            assert!(own.starts_with("three\nlines\n") && own.lines().count() == 3, "{own}");
            fs::write(&path, own.replace("lines", "lives")).unwrap();
            let refused = write(&path, "four").unwrap_err().to_string();
            assert!(
                refused.contains("edited since") && refused.contains(&format!("{name}.before")),
                "{refused}"
            );
            let kept = OutputFile::create(&path, true).unwrap().fill(b"five").unwrap().unwrap();
            assert!(fs::read_to_string(kept).unwrap().contains("lives") && is_own(&path));
        }
        // Without room for a mark every file is the user's.
        let path = folder.path().join("a.toml");
        write(&path, "one").unwrap();
        assert!(matches!(write(&path, "two"), Err(OutputError::Taken(_))));
    }

    #[test]
    fn a_file_that_came_meanwhile_is_kept() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.svg");
        let file = OutputFile::create(&path, false).unwrap();
        fs::write(&path, "mine").unwrap();
        let kept = file.fill(b"new").unwrap().unwrap();
        assert_eq!(
            (kept.file_name().unwrap().to_str().unwrap(), fs::read(&kept).unwrap()),
            ("a.svg.before", b"mine".to_vec())
        );
    }

    #[test]
    fn a_png_and_a_capture_keep_their_form() {
        assert_eq!(crc32(b"IEND"), 0xAE42_6082, "as every PNG ends");
        let end = [&[0; 4], &b"IEND"[..], &0xAE42_6082u32.to_be_bytes()].concat();
        let image = [&PNG[..], b"image", &end].concat();
        let marked = png_marked(&image);
        assert!(marked.ends_with(&end) && is_marked(&marked) && !is_marked(&image));
        assert_eq!(marked.len(), image.len() + PNG_CHUNK);
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.pcap");
        fs::write(&path, [&pcap::HEAD[..], b"frames"].concat()).unwrap();
        assert!(is_own(&path));
        let others = [&pcap::HEAD[..12], &[0; 4], &pcap::HEAD[16..]].concat();
        fs::write(&path, others).unwrap();
        assert!(!is_own(&path), "another program's capture");
    }
}
