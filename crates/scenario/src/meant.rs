//! The meaning of an unknown word: another that it is like, or something that evenair does not have.

mod not_built;

use self::not_built::{called_otherwise, not_built};
use evenair_service::meant::{Unknown, did_you_mean};
use evenair_service::{KeyPath, Step};

/// A mistake's message, with the likely meaning in the place of a long list of words that would be right.
pub fn explained(key: Option<&KeyPath>, message: String) -> String {
    if let Some(form) = key.and_then(|key| written_so(&key.to_string())) {
        if message.starts_with("invalid type: ") {
            return format!("{message}; {form}");
        }
        if let Some(Unknown { begin, word, .. }) = Unknown::of(&message) {
            return format!("{begin} `{word}`; {form}");
        }
    }
    let Some(unknown) = Unknown::of(&message) else { return of_value(message) };
    let is_key = unknown.is_key();
    let Unknown { begin, word, known } = unknown;
    let asked = asked(word);
    // A key so short may be anything.
    let is_told = !is_key || asked.len() > 2;
    if let Some(what) = not_built(&asked).filter(|_| is_told) {
        let is_law = matches!(key.and_then(|key| key.steps().last()), Some(Step::Key(key)) if ["law", "window"].contains(&key.as_str()));
        let built = match (is_key, is_law) {
            (true, _) => "evenair schema lists all keys".into(),
            (_, true) => "evenair list laws shows all".into(),
            _ => format!("built: {}", known.join(", ")),
        };
        return format!("not built: `{word}`, {what}; {built}");
    }
    let is_of_backoff = key.is_some_and(|key| key.steps().contains(&Step::Key("backoff".into())));
    if is_of_backoff && ["exponential", "exp", "beb", "binaryexponential"].contains(&&*asked) {
        return format!("{begin} `{word}`; binary exponential back-off is \"dcf\", the default");
    }
    if let Some(name) =
        called_otherwise(&asked).filter(|_| !known.iter().any(|known| self::asked(known) == asked))
    {
        return format!("{begin} `{word}`; {name}");
    }
    did_you_mean(word, &known).map_or_else(|| message.clone(), |meant| format!("{begin} `{word}`; {meant}"))
}

/// The form of a key that newcomers give another value, or take for another key.
fn written_so(key: &str) -> Option<&'static str> {
    Some(match key {
        "connections" => "several connections for each flow are connections = { k = 10 }",
        "mac" | "preset" => "an amendment is mac = { kind = \"802.11g\" }",
        "mac.rate" => "the rate of frames is `mac.data_rate`",
        "queue" => "the room of all queues is queue = { limit = \"50 packets\" }",
        "tcp" => "a window law is tcp = { window = \"cubic\" }",
        "tcp.law" => "a window law is `tcp.window`",
        _ => return None,
    })
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_of_another_form_is_shown_its_form() {
        let told = |key: &str, message: &str| explained(Some(&KeyPath::key(key)), message.into());
        assert_eq!(
            told("connections", "invalid type: integer `10`, expected a table"),
            "invalid type: integer `10`, expected a table; several connections for each flow are connections = { k = 10 }"
        );
        assert_eq!(
            told("mac.rate", "unknown field `rate`, expected one of `kind`, `band`"),
            "unknown field `rate`; the rate of frames is `mac.data_rate`"
        );
        let other = "invalid type: integer `10`, expected a string";
        assert_eq!(told("name", other), other);
    }

    #[test]
    fn unbuilt_feature_is_named() {
        let variant = |word: &str| {
            format!("unknown variant `{word}`, expected one of `802.11b`, `802.11a`, `802.11g`, `ideal`")
        };
        let mac = Some(KeyPath::key("mac.kind"));
        assert_eq!(
            explained(mac.as_ref(), variant("802.11be")),
            "not built: `802.11be`, 802.11be and later, OFDMA, several users at once and spatial reuse; evenair has one user per \
             transmission; built: 802.11b, 802.11a, 802.11g, ideal"
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
        assert_eq!(law, "not built: `bbr2`, this window law; evenair list laws shows all");
        let key = explained(None, "unknown field `fragmentation`, expected one of `name`, `nodes`".into());
        assert!(
            key.starts_with("not built: `fragmentation`") && key.ends_with("evenair schema lists all keys"),
            "{key}"
        );
    }
}
