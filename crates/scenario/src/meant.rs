//! The meaning of an unknown word: another that it is like, or something that evenair does not have.

mod not_built;

use self::not_built::{called_otherwise, not_built};
use crate::error::{KeyPath, Step};

/// Asks whether a misspelt word is meant to be one of these: the likeliest first, at most three; none, if it is like none.
pub fn did_you_mean<Word: AsRef<str>>(word: &str, known: impl IntoIterator<Item = Word>) -> Option<String> {
    let plain = plain(word);
    let likeness = |known: &str| strsim::normalized_damerau_levenshtein(&plain, &self::plain(known));
    let mut near: Vec<(f64, Word)> = known
        .into_iter()
        .map(|known| (likeness(known.as_ref()), known))
        .filter(|&(likeness, _)| likeness > 0.7)
        .collect();
    near.sort_by(|one, other| other.0.total_cmp(&one.0));
    // Whoever wrote a word but for its capitals and hyphens means no other.
    if near.first().is_some_and(|(likeness, _)| *likeness >= 1.0) {
        near.retain(|(likeness, _)| *likeness >= 1.0);
    }
    let meant: Vec<&str> = near.iter().take(3).map(|(_, known)| known.as_ref()).collect();
    (!meant.is_empty()).then(|| format!("did you mean {}?", meant.join(" or ")))
}

/// A word without what people write in different ways.
fn plain(word: &str) -> String {
    word.to_lowercase().replace('_', "-")
}

/// A mistake's message, with the likely meaning in the place of a long list of words that would be right.
pub fn explained(key: Option<&KeyPath>, message: String) -> String {
    let Some(Unknown { begin, word, known, is_key }) = Unknown::of(&message) else {
        return of_value(message);
    };
    let asked = asked(word);
    // A key so short may be anything.
    let is_told = !is_key || asked.len() > 2;
    if let Some(what) = not_built(&asked).filter(|_| is_told) {
        let is_law = matches!(key.and_then(|key| key.0.last()), Some(Step::Key(key)) if ["law", "window"].contains(&key.as_str()));
        let built = match (is_key, is_law) {
            (true, _) => "evenair schema tells every key that is".into(),
            (_, true) => "evenair list laws shows what is".into(),
            _ => format!("what is built: {}", known.join(", ")),
        };
        return format!("not built: `{word}`, {what}; {built}");
    }
    let meant = did_you_mean(word, &known);
    match called_otherwise(&asked).filter(|_| is_told) {
        Some(name) if meant.is_none() => format!("{begin} `{word}`; {name}"),
        _ => meant.map_or_else(|| message.clone(), |meant| format!("{begin} `{word}`; {meant}")),
    }
}

/// A word as the tables have it: small letters and digits.
fn asked(word: &str) -> String {
    word.to_lowercase().chars().filter(char::is_ascii_alphanumeric).collect()
}

/// The message of a quantity that is none, such as `"EHT-MCS7" has no number; write it as "11 Mbps"`.
fn of_value(message: String) -> String {
    let parts = message.strip_prefix('"').and_then(|rest| rest.split_once('"'));
    let Some((word, rest)) = parts else { return message };
    let asked = asked(word);
    match (not_built(&asked), called_otherwise(&asked), rest.split_once("; ")) {
        (Some(what), _, Some((_, remedy))) => format!("not built: `{word}`, {what}; {remedy}"),
        (None, Some(name), _) => format!("{message}; {name}"),
        _ => message,
    }
}

/// A message that begins with `unknown field` or the like, names the word, and then those that are known.
struct Unknown<'a> {
    begin: &'a str,
    word: &'a str,
    known: Vec<&'a str>,
    is_key: bool,
}

impl<'a> Unknown<'a> {
    /// As serde and the families of laws have it.
    fn of(message: &'a str) -> Option<Self> {
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
        is_unknown.then(|| Self { begin, word, known: known.collect(), is_key: begin == "unknown field" })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_misspelt_word_is_asked_after() {
        let known = ["cubic", "reno", "newreno"];
        assert_eq!(did_you_mean("CUBIC", known).unwrap(), "did you mean cubic?");
        assert_eq!(did_you_mean("data-rate", ["data_rate"]).unwrap(), "did you mean data_rate?");
        assert_eq!(did_you_mean("new_reno", known).unwrap(), "did you mean newreno?");
        assert_eq!(did_you_mean("vegas", known), None);
    }

    #[test]
    fn what_is_not_built_is_said_to_be_so() {
        let variant = |word: &str| {
            format!("unknown variant `{word}`, expected one of `802.11b`, `802.11a`, `802.11g`, `ideal`")
        };
        let mac = Some(KeyPath::key("mac.kind"));
        assert_eq!(
            explained(mac.as_ref(), variant("802.11be")),
            "not built: `802.11be`, 802.11be and later, OFDMA, several users at once and spatial reuse; evenair has one user per \
             transmission; what is built: 802.11b, 802.11a, 802.11g, ideal"
        );
        assert_eq!(
            explained(mac.as_ref(), variant("802.11B")),
            "unknown variant `802.11B`; did you mean 802.11b?"
        );
        assert_eq!(explained(mac.as_ref(), variant("token-ring")), variant("token-ring"));
        let law = explained(
            Some(&KeyPath::key("tcp.window")),
            "there is no window law `bbr2`; there are reno, cubic".into(),
        );
        assert_eq!(law, "not built: `bbr2`, this window law; evenair list laws shows what is");
        let key = explained(None, "unknown field `mobility`, expected one of `name`, `nodes`".into());
        assert_eq!(
            key,
            "not built: `mobility`, mobility; nodes stay where they are; evenair schema tells every key that is"
        );
        let two = explained(None, "unknown field `identy`, expected `identity` or `at`".into());
        assert_eq!(two, "unknown field `identy`; did you mean identity?");
    }
}
