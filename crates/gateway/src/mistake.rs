//! What is wrong with what the operator wrote.

use std::fmt;
use std::io::Read as _;
use std::path::Path;

/// A mistake in a file: where, and what to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mistake {
    /// The file.
    pub file: String,
    /// The line, from one, where it is known.
    pub line: Option<usize>,
    /// The key or column, where it is one.
    pub key: Option<String>,
    /// What is wrong, with the value, and what would be right.
    pub message: String,
}

impl Mistake {
    /// Of a whole file.
    pub fn of(file: &str, message: impl Into<String>) -> Self {
        Self { file: file.into(), line: None, key: None, message: message.into() }
    }

    /// At a line, from one.
    #[must_use]
    pub fn at(self, line: usize) -> Self {
        Self { line: Some(line), ..self }
    }

    /// At a key or column.
    #[must_use]
    pub fn of_key(self, key: impl Into<String>) -> Self {
        Self { key: Some(key.into()), ..self }
    }
}

impl fmt::Display for Mistake {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.file)?;
        if let Some(line) = self.line {
            write!(f, ":{line}")?;
        }
        f.write_str(": ")?;
        if let Some(key) = &self.key {
            write!(f, "{key}: ")?;
        }
        f.write_str(&self.message)
    }
}

impl std::error::Error for Mistake {}

/// A file of text.
pub(crate) fn read(path: &Path) -> Result<String, Mistake> {
    let file = path.display().to_string();
    let bytes =
        std::fs::read(path).map_err(|error| Mistake::of(&file, format!("cannot be read: {error}")))?;
    String::from_utf8(bytes).map_err(|error| {
        let good = error.utf8_error().valid_up_to();
        let line = String::from_utf8_lossy(&error.as_bytes()[..good]).matches('\n').count() + 1;
        let byte = error.as_bytes().get(good).copied().unwrap_or_default();
        Mistake::of(&file, format!("the byte {byte:02x} is not UTF-8; save the file as UTF-8")).at(line)
    })
}

/// The longest file of leases \[bytes\]: what servers append to between two clean-ups, many times over.
const LEASES_MAX: u64 = 64 << 20;

/// A file of which clients of its server choose parts: a byte that is not UTF-8 costs no more than the line that it is in.
pub(crate) fn read_foreign(path: &Path) -> Result<String, Mistake> {
    let wrong = |why: String| Mistake::of(&path.display().to_string(), why);
    let mut bytes = Vec::new();
    std::fs::File::open(path)
        .and_then(|file| file.take(LEASES_MAX + 1).read_to_end(&mut bytes))
        .map_err(|error| wrong(format!("cannot be read: {error}")))?;
    if bytes.len() as u64 > LEASES_MAX {
        return Err(wrong(format!("is longer than {} MB", LEASES_MAX >> 20)));
    }
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// What somebody wrote, quoted for a message: without control characters, and no more of it than one reads.
pub(crate) fn quoted(text: &str) -> String {
    const MOST: usize = 64;
    let shown: String = text.chars().take(MOST).flat_map(char::escape_debug).collect();
    let rest = if text.chars().nth(MOST).is_some() { "…" } else { "" };
    format!("\"{shown}{rest}\"")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_text_has_a_line() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("s.csv");
        std::fs::write(&path, b"id,prefixes\n\xe5sa,10.0.0.1\n").unwrap();
        let refused = read(&path).unwrap_err().to_string();
        assert!(refused.ends_with("s.csv:2: the byte e5 is not UTF-8; save the file as UTF-8"), "{refused}");
    }

    #[test]
    fn what_is_quoted_is_short_and_harmless() {
        assert_eq!(quoted("\x1b[31m"), "\"\\u{1b}[31m\"");
        assert_eq!(quoted(&"å".repeat(3000)), format!("\"{}…\"", "å".repeat(64)));
    }
}
