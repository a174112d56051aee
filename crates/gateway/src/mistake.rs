//! Mistakes in the operator's files.

use std::fmt;
use std::io::Read as _;
use std::path::Path;

/// A mistake in a file: its place, cause and remedy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mistake {
    /// The file.
    pub file: String,
    /// The line, from one, if known.
    pub line: Option<usize>,
    /// The key or column, if there is one.
    pub key: Option<String>,
    /// The cause with the value, and the remedy.
    pub message: String,
}

impl Mistake {
    /// Creates a mistake that concerns a whole file.
    pub fn of(file: &str, message: impl Into<String>) -> Self {
        Self { file: file.into(), line: None, key: None, message: message.into() }
    }

    /// Sets the line, from one.
    #[must_use]
    pub fn at(self, line: usize) -> Self {
        Self { line: Some(line), ..self }
    }

    /// Sets the key or column.
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

/// Reads a text file.
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

/// The longest file of leases \[bytes\]: many times the volume that servers append between two
/// clean-ups.
const LEASES_MAX: u64 = 64 << 20;

/// Reads a file that a server's clients can influence: a byte that is not UTF-8 spoils only its own
/// line.
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

/// Quotes an input for a message: escaped, and cut to a readable length.
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
