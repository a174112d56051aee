//! The likely meaning of an unknown word.

/// Returns a question that names the known words most like a word, at most three, the most alike first;
/// `None` if no word is like it.
pub fn did_you_mean<Word: AsRef<str>>(word: &str, known: impl IntoIterator<Item = Word>) -> Option<String> {
    let plain = plain(word);
    let likeness = |known: &str| strsim::normalized_damerau_levenshtein(&plain, &self::plain(known));
    let mut near: Vec<(f64, Word)> = known
        .into_iter()
        .map(|known| (likeness(known.as_ref()), known))
        .filter(|&(likeness, _)| likeness > 0.7)
        .collect();
    near.sort_by(|one, other| other.0.total_cmp(&one.0));
    // A word that differs by capitals and hyphens alone has one meaning.
    if near.first().is_some_and(|(likeness, _)| *likeness >= 1.0) {
        near.retain(|(likeness, _)| *likeness >= 1.0);
    }
    let meant: Vec<&str> = near.iter().take(3).map(|(_, known)| known.as_ref()).collect();
    (!meant.is_empty()).then(|| format!("did you mean {}?", meant.join(" or ")))
}

/// Returns a word without the differences of capitals and hyphens.
fn plain(word: &str) -> String {
    word.to_lowercase().replace('_', "-")
}

/// Returns a parser's message with the likely meaning of its unknown word in the place of all known
/// words.
pub fn explained(message: String) -> String {
    let meant = Unknown::of(&message).and_then(|unknown| {
        let meant = did_you_mean(unknown.word, &unknown.known)?;
        Some(format!("{} `{}`; {meant}", unknown.begin, unknown.word))
    });
    meant.unwrap_or(message)
}

/// A message about an unknown word, as serde and the families of laws write it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unknown<'a> {
    /// The message before the word, such as "unknown field".
    pub begin: &'a str,
    /// The word.
    pub word: &'a str,
    /// The known words.
    pub known: Vec<&'a str>,
}

impl<'a> Unknown<'a> {
    /// Returns the parts of a message, if it is about an unknown word.
    pub fn of(message: &'a str) -> Option<Self> {
        let (begin, rest) = message.split_once(" `")?;
        let (word, rest) = rest.split_once('`')?;
        let is_unknown =
            ["unknown variant", "unknown field"].contains(&begin) || begin.starts_with("there is no ");
        let (_, list) = rest.split_once("expected ").or_else(|| rest.split_once("there are "))?;
        let list = list.strip_prefix("one of ").unwrap_or(list);
        let known = list
            .split([',', ' '])
            .map(|word| word.trim_matches('`'))
            .filter(|word| !word.is_empty() && *word != "or");
        is_unknown.then(|| Self { begin, word, known: known.collect() })
    }

    /// Returns whether the word is a key.
    pub fn is_key(&self) -> bool {
        self.begin == "unknown field"
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn misspelt_word_gets_a_question() {
        let known = ["cubic", "reno", "newreno"];
        assert_eq!(did_you_mean("CUBIC", known).unwrap(), "did you mean cubic?");
        assert_eq!(did_you_mean("data-rate", ["data_rate"]).unwrap(), "did you mean data_rate?");
        assert_eq!(did_you_mean("new_reno", known).unwrap(), "did you mean newreno?");
        assert_eq!(did_you_mean("vegas", known), None);
    }

    #[test]
    fn message_names_the_likely_word_alone() {
        for (message, expected) in [
            (
                "unknown field `identy`, expected `identity` or `at`",
                "unknown field `identy`; did you mean identity?",
            ),
            (
                "unknown variant `enforc`, expected one of `observe`, `dry-run`, `enforce`",
                "unknown variant `enforc`; did you mean enforce?",
            ),
            (
                "unknown field `x`, expected `identity` or `at`",
                "unknown field `x`, expected `identity` or `at`",
            ),
            ("unknown field `x`, there are no fields", "unknown field `x`, there are no fields"),
            ("missing field `mesh`", "missing field `mesh`"),
        ] {
            assert_eq!(explained(message.into()), expected);
        }
    }
}
