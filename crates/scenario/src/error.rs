//! Errors with place, key and remedy.

use evenair_service::KeyPath;
use std::fmt;

/// A mistake in a scenario, and its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScenarioError {
    /// The file, as it was named.
    pub file: String,
    /// Line and column, from one.
    pub at: Option<(usize, usize)>,
    /// The key, where it is known.
    pub key: Option<KeyPath>,
    /// The mistake, and the allowed values.
    pub message: String,
    /// The change, of the form `key=value`, that the mistake came with: the file alone has it not.
    pub change: Option<String>,
}

impl fmt::Display for ScenarioError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Where the file does not have the mistake, the change does.
        match (&self.change, self.at) {
            (Some(change), None) => write!(f, "--set '{change}'")?,
            (_, Some((line, column))) => write!(f, "{}:{line}:{column}", self.file)?,
            (None, None) => f.write_str(&self.file)?,
        }
        f.write_str(": ")?;
        if let Some(key) = &self.key {
            write!(f, "{key}: ")?;
        }
        f.write_str(&self.message)?;
        if let (Some(change), Some(_)) = (&self.change, self.at) {
            write!(f, " (with --set '{change}')")?;
        }
        Ok(())
    }
}

impl std::error::Error for ScenarioError {}

impl From<evenair_service::Mistake> for ScenarioError {
    fn from(mistake: evenair_service::Mistake) -> Self {
        let evenair_service::Mistake { file, line, column, key, message } = mistake;
        Self { file, at: line.zip(column), key, message, change: None }
    }
}

/// A mistake without its place in the text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Mistake {
    pub(crate) key: KeyPath,
    pub(crate) message: String,
}

impl Mistake {
    pub(crate) fn at(key: &str, message: impl Into<String>) -> Self {
        Self { key: KeyPath::key(key), message: message.into() }
    }

    pub(crate) fn entry(table: &str, index: usize, key: &str, message: impl Into<String>) -> Self {
        Self { key: KeyPath::entry(table, index, key), message: message.into() }
    }

    /// The same mistake, in an entry of a table.
    pub(crate) fn within(mut self, table: &str, index: usize) -> Self {
        self.key = self.key.within(table, index);
        self
    }
}
