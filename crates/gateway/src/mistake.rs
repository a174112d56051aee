//! What is wrong with what the operator wrote.

use std::fmt;
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
    std::fs::read_to_string(path).map_err(|error| Mistake::of(&file, format!("cannot be read: {error}")))
}
