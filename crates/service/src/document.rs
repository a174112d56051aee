//! TOML files. A mistake has its file, line, column and key, and one wording for every format.
//!
//! # Example
//! ```
//! use evenair_service::document::parse;
//!
//! #[derive(Debug, serde::Deserialize)]
//! #[serde(deny_unknown_fields)]
//! struct Config {
//!     rate: u32,
//! }
//!
//! let mistake = parse::<Config>("a.toml", "rate = \"x\"").unwrap_err();
//! assert_eq!(mistake.to_string(), "a.toml:1:8: rate: invalid type: string \"x\", expected a whole number");
//! let mistake = parse::<Config>("a.toml", "rate = 5\nraet = 6\n").unwrap_err();
//! assert_eq!(mistake.to_string(), "a.toml:2:1: unknown field `raet`; did you mean rate?");
//! ```

mod syntax;
#[cfg(test)]
mod tests;

pub use syntax::is_empty;

use crate::meant::{Unknown, explained};
use crate::{KeyPath, Mistake, Step};
use evenair_units::plain_message;
use serde::de::DeserializeOwned;
use serde_path_to_error::Segment;
use std::ops::Range;
use toml::de::{DeTable, DeValue, Error};
use toml::{Table, Value};

/// A mistake in a document before its place in the text is known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// The key; an unknown key is the last step.
    pub key: KeyPath,
    /// The parser's message in plain words, with all known words.
    pub message: String,
}

impl Fault {
    /// Returns the mistake in a text. A message about an unknown key names it itself.
    pub fn in_text(
        self,
        file: &str,
        text: &str,
        explained: impl Fn(Option<&KeyPath>, String) -> String,
    ) -> Mistake {
        let place = self.place(text);
        let is_named = self.is_of_unknown_key();
        let key = Some(self.key).filter(|key| !key.is_root());
        let message = explained(key.as_ref(), self.message);
        Mistake { key: key.filter(|_| !is_named), ..Mistake::of(file, message).placed(place) }
    }

    /// Returns whether the last step is an unknown key.
    pub fn is_of_unknown_key(&self) -> bool {
        is_of_unknown_key(&self.message)
    }

    /// Returns line and column in a text, from one: of an unknown key, else of a value.
    pub fn place(&self, text: &str) -> Option<(usize, usize)> {
        let key = is_of_unknown_key(&self.message).then(|| key_of(text, &self.key)).flatten();
        key.or_else(|| place_of(text, &self.key))
    }
}

/// Parses a document.
///
/// # Errors
/// Names the place of the first mistake, its key and value, and the allowed values.
pub fn parse<T: DeserializeOwned>(file: &str, text: &str) -> Result<T, Mistake> {
    parse_with(file, text, |_, message| explained(message))
}

/// Parses a document of a format that explains unknown words itself, from their key and the parser's
/// message.
///
/// # Errors
/// As [`parse`].
pub fn parse_with<T: DeserializeOwned>(
    file: &str,
    text: &str,
    explained: impl Fn(Option<&KeyPath>, String) -> String,
) -> Result<T, Mistake> {
    of_table(&table(file, text)?).map_err(|fault| fault.in_text(file, text, explained))
}

/// Parses a document as a table of values.
///
/// # Errors
/// If it is not TOML.
pub fn table(file: &str, text: &str) -> Result<Table, Mistake> {
    text.parse().map_err(|error| broken(file, text, &error))
}

/// Reads a value from a table.
///
/// # Errors
/// Names the key of the first mistake.
pub fn of_table<T: DeserializeOwned>(table: &Table) -> Result<T, Fault> {
    read(table.clone()).map_err(|error| fault::<T>(table, &error))
}

/// Reads a value from a table, which is the only source of it: each further one would compile the types once more.
fn read<T: DeserializeOwned>(table: Table) -> Result<T, serde_path_to_error::Error<Error>> {
    serde_path_to_error::deserialize(Value::Table(table))
}

/// Returns the mistake of a text that is not TOML.
fn broken(file: &str, text: &str, error: &Error) -> Mistake {
    let (message, offset) = (plain_message(error.message()), error.span().map(|span| span.start));
    let message = syntax::fault(text, offset, &message).unwrap_or(message);
    let place = offset.map(|offset| line_and_column(text, offset));
    Mistake::of(file, message).placed(place)
}

/// Returns the fault of a table that was refused.
fn fault<T: DeserializeOwned>(table: &Table, error: &serde_path_to_error::Error<Error>) -> Fault {
    let mut key: KeyPath = steps(error.path()).collect();
    let mut message = plain_message(error.inner().message());
    if message == "invalid socket address syntax" {
        let address = value_at(table, &key).and_then(Value::as_str).unwrap_or_default();
        message = format!("\"{address}\" is no address with a port; write \"127.0.0.1:9180\"");
    }
    match Unknown::of(&message) {
        Some(unknown) if unknown.is_key() => {
            let last = key.steps().last();
            if last != Some(&Step::Key(unknown.word.into())) {
                key = key.then(unknown.word);
            }
        }
        // Serde holds a tagged table whole before it reads it, and then names the table alone.
        unknown => {
            let named = unknown.and_then(|unknown| chooser(table, &key, unknown.word));
            if let Some(within) = named.or_else(|| blamed::<T>(table, &key)) {
                key = key.then(&within);
            }
        }
    }
    Fault { key, message }
}

fn is_of_unknown_key(message: &str) -> bool {
    message.starts_with("unknown field")
}

/// Returns the steps of a deserialiser's path.
fn steps(path: &serde_path_to_error::Path) -> impl Iterator<Item = Step> {
    path.iter().filter_map(|segment| match segment {
        Segment::Seq { index } => Some(Step::Index(*index)),
        Segment::Map { key: word } | Segment::Enum { variant: word } => Some(Step::Key(word.clone())),
        Segment::Unknown => None,
    })
}

/// Keys that give the other keys of their table a meaning.
const CHOOSING: [&str; 3] = ["kind", "law", "model"];

/// Returns the choosing key of a table that has this word.
fn chooser(table: &Table, at: &KeyPath, word: &str) -> Option<String> {
    let table = value_at(table, at).and_then(Value::as_table)?;
    let is_meant = |key: &&str| table.get(*key).and_then(Value::as_str) == Some(word);
    CHOOSING.into_iter().find(is_meant).map(Into::into)
}

/// Returns the only key of a table without which a document has another mistake, or none.
fn blamed<T: DeserializeOwned>(document: &Table, at: &KeyPath) -> Option<String> {
    let message =
        |document: Table| read::<T>(document).err().map(|error| plain_message(error.inner().message()));
    let whole = message(document.clone())?;
    let keys = value_at(document, at)?.as_table()?.keys().map(String::as_str);
    let without = |key: &str| {
        let mut document = Value::Table(document.clone());
        let table = at.steps().iter().try_fold(&mut document, |value, step| match step {
            Step::Key(key) => value.get_mut(key),
            Step::Index(index) => value.get_mut(*index),
        });
        table?.as_table_mut()?.remove(key);
        message(Table::try_from(document).ok()?)
    };
    to_blame(keys, &whole, without).map(Into::into)
}

/// Returns the key that a message is about: the only one without which there is another message, or none.
/// Returns `None` if the message itself names a key, or is about several.
pub fn to_blame<'a>(
    keys: impl IntoIterator<Item = &'a str>,
    message: &str,
    without: impl Fn(&str) -> Option<String>,
) -> Option<&'a str> {
    let names_a_key = is_of_unknown_key(message) || message.starts_with("missing field");
    let keys = keys.into_iter().filter(|key| !names_a_key && !CHOOSING.contains(key));
    let mut blamed = keys.filter(|key| without(key).as_deref() != Some(message));
    blamed.next().filter(|_| blamed.next().is_none())
}

fn value_at<'a>(table: &'a Table, key: &KeyPath) -> Option<&'a Value> {
    let (first, rest) = key.steps().split_first()?;
    let Step::Key(first) = first else { return None };
    rest.iter().try_fold(table.get(first)?, |value, step| match step {
        Step::Key(key) => value.get(key),
        Step::Index(index) => value.get(*index),
    })
}

/// Returns line and column of an offset in a text, from one.
pub fn line_and_column(text: &str, offset: usize) -> (usize, usize) {
    let before = text.get(..offset).unwrap_or(text);
    let line = before.matches('\n').count() + 1;
    let column = before.rsplit('\n').next().unwrap_or("").chars().count() + 1;
    (line, column)
}

/// Returns line and column of a key's value in a TOML text, from one; of the nearest table around it, if
/// the key is not written.
pub fn place_of(text: &str, key: &KeyPath) -> Option<(usize, usize)> {
    find(text, key).value.map(|span| line_and_column(text, span.start))
}

/// Returns line and column of a key itself, if it is written.
fn key_of(text: &str, key: &KeyPath) -> Option<(usize, usize)> {
    find(text, key).key.map(|span| line_and_column(text, span.start))
}

/// The spans of a key in a text.
struct Found {
    /// The key itself.
    key: Option<Range<usize>>,
    /// The value, or the nearest table around it.
    value: Option<Range<usize>>,
}

fn find(text: &str, path: &KeyPath) -> Found {
    // The whole file is a table, too.
    let mut found = Found { key: None, value: Some(0..0) };
    let Ok(table) = DeTable::parse(text) else { return Found { key: None, value: None } };
    let root = DeValue::Table(table.into_inner());
    let mut value = &root;
    for step in path.steps() {
        let (key, next) = match (step, value) {
            (Step::Key(word), DeValue::Table(table)) => match table.get_key_value(word.as_str()) {
                Some((key, next)) => (Some(key.span()), next),
                None => return Found { key: None, ..found },
            },
            (Step::Index(index), DeValue::Array(list)) => match list.get(*index) {
                Some(next) => (None, next),
                None => return Found { key: None, ..found },
            },
            _ => return Found { key: None, ..found },
        };
        found = Found { key, value: Some(next.span()) };
        value = next.get_ref();
    }
    found
}
