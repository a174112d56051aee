//! Words of the field, and of the papers, explained to a reader that knows TCP.
//!
//! They stand in `glossary.toml`, once for reports, for `evenair glossary` and for the documentation.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::sync::LazyLock;

/// A word and its meaning.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Entry {
    /// The word, as it stands in the list.
    pub word: String,
    /// Other forms in which tables and texts have it.
    #[serde(default)]
    pub forms: Vec<String>,
    /// Heads of tables that mean it, too short to be looked for in texts.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub heads: Vec<String>,
    /// Its meaning.
    pub means: String,
    /// The title of its subject, such as "Tables of a run".
    pub topic: String,
    /// Whether it explains itself in most texts: it is listed, and not marked in reports.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub plain: bool,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Glossary {
    entry: Vec<Entry>,
}

static ENTRIES: LazyLock<Vec<Entry>> = LazyLock::new(|| {
    let glossary: Glossary = toml::from_str(include_str!("glossary.toml")).expect("a test reads it");
    glossary.entry
});

/// All words, by topic.
pub fn entries() -> &'static [Entry] {
    &ENTRIES
}

/// The entries of a word: those equal to it in any case; else those that contain it.
pub fn look_up(word: &str) -> Vec<&'static Entry> {
    let word = word.to_lowercase();
    let is = |text: &String| text.to_lowercase() == word;
    let exactly: Vec<_> =
        ENTRIES.iter().filter(|e| is(&e.word) || e.forms.iter().chain(&e.heads).any(is)).collect();
    if !exactly.is_empty() {
        return exactly;
    }
    let within = |text: &String| text.to_lowercase().contains(&word);
    ENTRIES.iter().filter(|e| within(&e.word) || within(&e.means) || e.forms.iter().any(within)).collect()
}

/// Where a text's words are that need explaining: offset, length and entry, each entry once.
pub(crate) fn found(text: &str) -> Vec<(usize, usize, &'static Entry)> {
    static FORMS: LazyLock<Vec<(&str, &Entry)>> = LazyLock::new(|| {
        let of = |entry: &'static Entry| {
            std::iter::once(&entry.word).chain(&entry.forms).map(move |form| (form.as_str(), entry))
        };
        let mut forms: Vec<_> = ENTRIES.iter().filter(|entry| !entry.plain).flat_map(of).collect();
        // "h-ACK" before "ACK", wherever they stand in the list.
        forms.sort_by_key(|(form, _)| std::cmp::Reverse(form.len()));
        forms
    });
    let mut found: Vec<(usize, usize, &Entry)> = Vec::new();
    let mut at = 0;
    while let Some(rest) = text.get(at..).filter(|rest| !rest.is_empty()) {
        let begins = !text[..at].chars().next_back().is_some_and(is_of_word);
        let hit = FORMS.iter().find(|(form, _)| begins && begins_with(rest, form));
        let len = match hit {
            Some((form, entry)) => {
                if !found.iter().any(|(_, _, known)| known.word == entry.word) {
                    found.push((at, form.len(), entry));
                }
                form.len()
            }
            None => rest.chars().next().map_or(1, char::len_utf8),
        };
        at += len;
    }
    found
}

/// Whether a text begins with a word as a whole; its first letter may be a capital.
fn begins_with(text: &str, form: &str) -> bool {
    let Some(head) = text.get(..form.len()) else { return false };
    let ends = !text[form.len()..].chars().next().is_some_and(is_of_word);
    // A capital alone, such as the problem MP, is another word than a small letter.
    let same = head == form || form.len() > 2 && head.eq_ignore_ascii_case(form) && head[1..] == form[1..];
    ends && same
}

fn is_of_word(c: char) -> bool {
    c.is_alphanumeric() || c == '-' || c == '_'
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_word_is_there_once_and_says_something() {
        let mut words: Vec<&str> = entries()
            .iter()
            .flat_map(|e| std::iter::once(&e.word).chain(&e.forms).chain(&e.heads))
            .map(String::as_str)
            .collect();
        let all = words.len();
        words.sort_unstable();
        words.dedup();
        assert_eq!(words.len(), all);
        assert!(entries().iter().all(|e| e.means.ends_with('.') && e.means.len() > 20));
    }

    #[test]
    fn words_are_found_as_wholes_and_once() {
        let of = |text: &'static str| -> Vec<&str> {
            found(text).into_iter().map(|(at, len, _)| &text[at..at + len]).collect()
        };
        assert_eq!(of("h-ACK beats n-ACK, and h-ACK is fair"), ["h-ACK", "n-ACK"]);
        assert_eq!(of("Goodput: the rate r of user 2"), ["Goodput", "r"]);
        assert_eq!(of("error, our, nr"), [""; 0]);
        assert_eq!(of("ΔU of A-CSMA"), ["A-CSMA"]);
    }

    #[test]
    fn lookup_ignores_case() {
        assert_eq!(look_up("H-ack").len(), 1);
        assert!(look_up("back-off").iter().any(|e| e.word == "back-off"));
        assert!(look_up("zzz").is_empty());
    }
}
