//! The place of a key within a file.

use std::fmt;

/// The path of a key, such as `flows[2].to`. Entries of a list are numbered from zero.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KeyPath(Vec<Step>);

/// One step of a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// A key of a table.
    Key(String),
    /// An entry of a list, from zero.
    Index(usize),
}

impl KeyPath {
    /// Returns a path by its words: `mac.data_rate`.
    pub fn key(key: &str) -> Self {
        Self(key.split('.').map(|k| Step::Key(k.into())).collect())
    }

    /// Returns the path of a key of an entry of a list of tables.
    pub fn entry(table: &str, index: usize, key: &str) -> Self {
        Self(vec![Step::Key(table.into()), Step::Index(index), Step::Key(key.into())])
    }

    /// Returns the path of the whole file.
    pub fn root() -> Self {
        Self::default()
    }

    /// Returns whether it is the path of the whole file.
    pub fn is_root(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the steps.
    pub fn steps(&self) -> &[Step] {
        &self.0
    }

    /// Adds a key.
    #[must_use]
    pub fn then(mut self, key: &str) -> Self {
        self.0.push(Step::Key(key.into()));
        self
    }

    /// Adds an entry of a list.
    #[must_use]
    pub fn at(mut self, index: usize) -> Self {
        self.0.push(Step::Index(index));
        self
    }

    /// Returns the path without its last step; `None` for a path of one step.
    pub fn parent(&self) -> Option<Self> {
        let (_, parents) = self.0.split_last()?;
        (!parents.is_empty()).then(|| Self(parents.to_vec()))
    }

    /// Returns the path in which the first list's entry has another number.
    #[must_use]
    pub fn renumbered(mut self, number: impl FnOnce(&str, usize) -> usize) -> Self {
        if let [Step::Key(list), Step::Index(index), ..] = &mut self.0[..] {
            *index = number(list, *index);
        }
        self
    }

    /// Returns the path within an entry of a list.
    #[must_use]
    pub fn within(mut self, list: &str, index: usize) -> Self {
        self.0.splice(0..0, [Step::Key(list.into()), Step::Index(index)]);
        self
    }
}

impl From<&str> for KeyPath {
    fn from(key: &str) -> Self {
        Self::key(key)
    }
}

impl From<String> for KeyPath {
    fn from(key: String) -> Self {
        Self::key(&key)
    }
}

impl FromIterator<Step> for KeyPath {
    fn from_iter<I: IntoIterator<Item = Step>>(steps: I) -> Self {
        Self(steps.into_iter().collect())
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn path_is_printed_with_entries_in_brackets() {
        let path = KeyPath::entry("flows", 2, "tcp").then("window");
        assert_eq!(path.to_string(), "flows[2].tcp.window");
        assert_eq!(path.parent(), Some(KeyPath::entry("flows", 2, "tcp")));
        assert_eq!(KeyPath::key("mesh").parent(), None);
        assert_eq!(path.renumbered(|_, i| i + 1).to_string(), "flows[3].tcp.window");
        assert_eq!(KeyPath::key("rate").within("key", 0).to_string(), "key[0].rate");
    }
}
