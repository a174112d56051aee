//! Mistakes in files and arguments.

use crate::KeyPath;
use std::fmt;

/// A mistake in a file: its place, cause and remedy. It is printed as
/// `FILE:LINE:COLUMN: KEY: MESSAGE`, without the parts that are not known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mistake {
    /// The file as the user named it, or another origin, such as "the command line".
    pub file: String,
    /// The line, from one.
    pub line: Option<usize>,
    /// The column of the line, from one.
    pub column: Option<usize>,
    /// The key, or a table's column.
    pub key: Option<KeyPath>,
    /// The cause with the value, and the remedy.
    pub message: String,
}

impl Mistake {
    /// Returns a mistake that concerns a whole file.
    pub fn of(file: &str, message: impl Into<String>) -> Self {
        Self { file: file.into(), line: None, column: None, key: None, message: message.into() }
    }

    /// Sets the line, from one.
    #[must_use]
    pub fn at(self, line: usize) -> Self {
        Self { line: Some(line), ..self }
    }

    /// Sets line and column, from one.
    #[must_use]
    pub fn placed(self, place: Option<(usize, usize)>) -> Self {
        Self { line: place.map(|(line, _)| line), column: place.map(|(_, column)| column), ..self }
    }

    /// Sets the key or column.
    #[must_use]
    pub fn of_key(self, key: impl Into<KeyPath>) -> Self {
        Self { key: Some(key.into()), ..self }
    }
}

impl fmt::Display for Mistake {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.file)?;
        for number in self.line.iter().chain(&self.column) {
            write!(f, ":{number}")?;
        }
        f.write_str(": ")?;
        if let Some(key) = &self.key {
            write!(f, "{key}: ")?;
        }
        f.write_str(&self.message)
    }
}

impl std::error::Error for Mistake {}

/// Quotes an input for a message: escaped, and cut to a readable length.
pub fn quoted(text: &str) -> String {
    const MOST: usize = 64;
    let shown: String = text.chars().take(MOST).flat_map(char::escape_debug).collect();
    let rest = if text.chars().nth(MOST).is_some() { "…" } else { "" };
    format!("\"{shown}{rest}\"")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quoted_text_is_short_and_harmless() {
        assert_eq!(quoted("\x1b[31m"), "\"\\u{1b}[31m\"");
        assert_eq!(quoted(&"å".repeat(3000)), format!("\"{}…\"", "å".repeat(64)));
    }
}
