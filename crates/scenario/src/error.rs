//! Errors that say where, which key, and what would be right.

use std::fmt;

/// The way to a key: `flows[2].to`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KeyPath(pub(crate) Vec<Step>);

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    Key(String),
    Index(usize),
}

impl KeyPath {
    /// A key by its words: `mac.data_rate`.
    pub fn key(key: &str) -> Self {
        Self(key.split('.').map(|k| Step::Key(k.into())).collect())
    }

    /// A key of an entry of a list of tables.
    pub fn entry(table: &str, index: usize, key: &str) -> Self {
        Self(vec![Step::Key(table.into()), Step::Index(index), Step::Key(key.into())])
    }

    /// The way to all.
    pub fn root() -> Self {
        Self::default()
    }

    /// One key further.
    #[must_use]
    pub fn then(mut self, key: &str) -> Self {
        self.0.push(Step::Key(key.into()));
        self
    }

    /// One entry further.
    #[must_use]
    pub fn at(mut self, index: usize) -> Self {
        self.0.push(Step::Index(index));
        self
    }

    /// One step back; nothing, where there is none.
    pub fn parent(&self) -> Option<Self> {
        self.0
            .split_last()
            .filter(|(_, parents)| !parents.is_empty())
            .map(|(_, parents)| Self(parents.to_vec()))
    }

    /// The same key where the entries of the list that it begins with have other numbers.
    #[must_use]
    pub fn renumbered(mut self, number: impl FnOnce(&str, usize) -> usize) -> Self {
        if let [Step::Key(list), Step::Index(index), ..] = &mut self.0[..] {
            *index = number(list, *index);
        }
        self
    }
}

impl fmt::Display for KeyPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, step) in self.0.iter().enumerate() {
            match step {
                Step::Key(key) if i == 0 => write!(f, "{key}")?,
                Step::Key(key) => write!(f, ".{key}")?,
                Step::Index(index) => write!(f, "[{index}]")?,
            }
        }
        Ok(())
    }
}

/// A mistake in a scenario, and its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScenarioError {
    /// The file, as it was named.
    pub file: String,
    /// Line and column, from one.
    pub at: Option<(usize, usize)>,
    /// The key, where it is known.
    pub key: Option<KeyPath>,
    /// The mistake, and what is allowed.
    pub message: String,
    /// The change, of the form `key=value`, that the mistake came with: the file alone has it not.
    pub change: Option<String>,
}

impl fmt::Display for ScenarioError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Where the file does not have what is wrong, the change does.
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

/// A mistake in what was read, before it is known where.
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
        self.key.0.splice(0..0, [Step::Key(table.into()), Step::Index(index)]);
        self
    }
}
