//! Mistakes in files and arguments: their place, and the remedy.

use evenair_units::plain_message;
use serde::de::DeserializeOwned;
use serde_path_to_error::Segment;
use std::fmt;
use std::path::Path;

/// A mistake in a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mistake {
    /// The file, or the argument.
    pub file: String,
    /// The line, from one, if known.
    pub line: Option<usize>,
    /// The key, if the mistake is at one.
    pub key: Option<String>,
    /// The mistake, with the value and a valid one.
    pub message: String,
}

impl Mistake {
    /// Returns a mistake of a whole file.
    pub fn of(file: &str, message: impl Into<String>) -> Self {
        Self { file: file.into(), line: None, key: None, message: message.into() }
    }

    /// Returns the mistake at a key.
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
    std::fs::read_to_string(path).map_err(|error| Mistake::of(&file, format!("cannot be read: {error}")))
}

/// Parses a TOML text.
pub(crate) fn parse<T: DeserializeOwned>(file: &str, text: &str) -> Result<T, Mistake> {
    let of = |error: &toml::de::Error| {
        let line = error.span().and_then(|span| text.get(..span.start));
        let line = line.map(|before| before.matches('\n').count() + 1);
        Mistake { line, ..Mistake::of(file, plain_message(error.message())) }
    };
    let deserializer = toml::Deserializer::parse(text).map_err(|error| of(&error))?;
    serde_path_to_error::deserialize(deserializer).map_err(|error| {
        let words = error.path().iter().filter_map(|segment| match segment {
            Segment::Seq { index } => Some((index + 1).to_string()),
            Segment::Map { key } => Some(key.clone()),
            _ => None,
        });
        let path = words.collect::<Vec<_>>().join(".");
        let mistake = of(error.inner());
        // The message itself names an unknown key.
        let key = (!path.is_empty() && !mistake.message.starts_with("unknown field")).then_some(path);
        Mistake { key, ..mistake }
    })
}
