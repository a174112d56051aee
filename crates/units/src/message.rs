//! Parsers' messages in words for the authors of files.

use alloc::format;
use alloc::string::{String, ToString};

/// Returns the message of a TOML or JSON parser on one line, with no type of Rust in it: `expected f64`
/// becomes `expected a number`.
///
/// Only the parser's own words change: a quoted value, and a quantity's own message, stay as they are.
///
/// # Example
/// ```
/// use evenair_units::plain_message;
///
/// assert_eq!(
///     plain_message("invalid type: string \"abc\", expected f64"),
///     "invalid type: string \"abc\", expected a number"
/// );
/// ```
pub fn plain_message(message: &str) -> String {
    let message = message.trim().replace('\n', "; ");
    // The TOML parser reports a missing enum word in these forms.
    let is_no_word = message == "invalid type: unit variant, expected string only";
    if is_no_word || message.starts_with("wanted exactly 1 element, ") {
        return "expected a word".into();
    }
    // The last one, because quoted values come before it.
    let Some((found, wanted)) = message.rsplit_once(", expected ") else { return message };
    // A message of the JSON parser ends with the place.
    let (wanted, place) = match wanted.find(" at line ") {
        Some(place) => wanted.split_at(place),
        None => (wanted, ""),
    };
    let is_beyond = found.starts_with("invalid value: ");
    let wanted = kind(wanted, is_beyond).unwrap_or_else(|| wanted.into());
    format!("{}, expected {wanted}{place}", plain_found(found))
}

/// Rewrites the found value, if the message names it by a type.
fn plain_found(found: &str) -> String {
    let Some((begin, value)) = found.split_once(": ").filter(|(begin, _)| begin.starts_with("invalid "))
    else {
        return found.into();
    };
    let value = match value {
        "sequence" => "a list".into(),
        "map" => "a table".into(),
        "unit value" | "null" | "Option value" => "nothing".into(),
        _ => match value.strip_prefix("floating point ") {
            Some(number) => format!("number {number}"),
            None => value.to_string(),
        },
    };
    format!("{begin}: {value}")
}

/// Returns the words for an expected type, or `None` if it is no type's name. For a number out of range
/// they include the range.
fn kind(wanted: &str, is_beyond: bool) -> Option<String> {
    let within =
        |ends: &str| if is_beyond { format!("a whole number{ends}") } else { "a whole number".into() };
    Some(match wanted {
        "f64" | "f32" => "a number".into(),
        "u8" => within(" from 0 to 255"),
        "u16" => within(" from 0 to 65535"),
        "u32" => within(" from 0 to 4294967295"),
        "u64" | "usize" | "u128" => within(", 0 or more"),
        "i8" | "i16" | "i32" | "i64" | "i128" | "isize" => "a whole number".into(),
        "a boolean" => "true or false".into(),
        "a sequence" => "a list".into(),
        "a map" => "a table".into(),
        "unit" => "nothing".into(),
        // The parsers' names for an enum's words, from TOML and from a parsed table.
        "variant identifier" | "string or map" => "a word".into(),
        _ => {
            let name = |kind: &str| {
                let rest = wanted.strip_prefix(kind)?;
                let name = rest.split_once(" with ").map_or(rest, |(name, _)| name);
                name.chars().all(|c| c.is_alphanumeric() || c == ':' || c == '_').then_some(())
            };
            if ["struct ", "struct variant ", "internally tagged enum "]
                .into_iter()
                .any(|k| name(k).is_some())
            {
                "a table".into()
            } else if name("enum ").is_some() {
                "a word".into()
            } else {
                let count = ["a tuple of size ", "an array of length "];
                let count = count.into_iter().find_map(|kind| wanted.strip_prefix(kind))?;
                format!("a list of {count}")
            }
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::collections::BTreeMap;
    use alloc::vec::Vec;
    use serde::Deserialize;
    use serde::de::DeserializeOwned;

    /// Returns the message for a JSON text that is parsed as a type.
    fn said<T: DeserializeOwned>(text: &str) -> String {
        let value: serde_json::Value = serde_json::from_str(text).unwrap();
        plain_message(&serde_json::from_value::<T>(value).err().unwrap().to_string())
    }

    #[derive(Deserialize)]
    struct Table {
        #[allow(dead_code, reason = "it is only read")]
        key: f64,
    }

    #[derive(Deserialize)]
    #[serde(tag = "kind")]
    enum Tagged {
        #[allow(dead_code, reason = "it is only read")]
        One { key: Word },
    }

    #[derive(Deserialize)]
    enum Word {
        Here,
    }

    #[test]
    fn message_names_no_type_of_rust() {
        for (said, plain) in [
            (said::<f64>("\"abc\""), "invalid type: string \"abc\", expected a number"),
            (said::<f64>("[1]"), "invalid type: a list, expected a number"),
            (said::<f64>("null"), "invalid type: nothing, expected a number"),
            (said::<u32>("1.5"), "invalid type: number `1.5`, expected a whole number"),
            (said::<u32>("-1"), "invalid value: integer `-1`, expected a whole number from 0 to 4294967295"),
            (said::<u16>("99999"), "invalid value: integer `99999`, expected a whole number from 0 to 65535"),
            (said::<u8>("256"), "invalid value: integer `256`, expected a whole number from 0 to 255"),
            (said::<u64>("-1"), "invalid value: integer `-1`, expected a whole number, 0 or more"),
            (said::<usize>("true"), "invalid type: boolean `true`, expected a whole number"),
            (said::<i64>("\"1\""), "invalid type: string \"1\", expected a whole number"),
            (said::<bool>("1"), "invalid type: integer `1`, expected true or false"),
            (said::<Vec<f64>>("{}"), "invalid type: a table, expected a list"),
            (said::<BTreeMap<String, f64>>("5"), "invalid type: integer `5`, expected a table"),
            (said::<Table>("5"), "invalid type: integer `5`, expected a table"),
            (said::<Table>("[]"), "invalid length 0, expected a table"),
            (said::<Tagged>("5"), "invalid type: integer `5`, expected a table"),
            (said::<Tagged>("{\"kind\": 7}"), "invalid type: integer `7`, expected a word"),
            (said::<Tagged>("{\"kind\": \"One\", \"key\": 7}"), "invalid type: integer `7`, expected a word"),
            (said::<(f64, f64)>("[1]"), "invalid length 1, expected a list of 2"),
            (said::<[f64; 2]>("[1]"), "invalid length 1, expected a list of 2"),
        ] {
            assert_eq!(said, plain);
        }
        assert!(matches!(serde_json::from_str("\"Here\"").unwrap(), Word::Here));
        assert_eq!(plain_message("invalid type: unit variant, expected string only"), "expected a word");
        assert_eq!(plain_message("wanted exactly 1 element, found 0 elements"), "expected a word");
        let placed = serde_json::from_str::<f64>("true").unwrap_err().to_string();
        let plain = "invalid type: boolean `true`, expected a number at line 1 column 4";
        assert_eq!(plain_message(&placed), plain);
    }

    #[test]
    fn other_words_stay() {
        for message in [
            "unknown variant `x, expected f64`, expected one of `a`, `b`",
            "unknown field `u64`, expected `f64` or `u32`",
            "missing field `u32`",
            "invalid type: integer `5`, expected a time such as \"50 us\"",
            "invalid type: string \"map, expected u64\", expected a string",
            "invalid length 3, expected two values",
            "\"5, expected f64\" has no unit",
            "unclosed array, expected `]`",
            "a struct of Vec<u8>",
            "",
        ] {
            assert_eq!(plain_message(message), message);
            // A second pass changes nothing.
            assert_eq!(plain_message(&plain_message(message)), message);
        }
        assert_eq!(plain_message("\nunclosed\nmore\n"), "unclosed; more");
    }

    /// Any user's text is quoted as it was written.
    #[test]
    fn a_quoted_value_is_left_alone() {
        for value in
            ["f64", "map", ", expected f64", "invalid type: map, expected u64", "\" at line ", "`u32`"]
        {
            let message = serde_json::from_value::<f64>(value.into()).unwrap_err().to_string();
            let quoted = format!("invalid type: string {value:?}, expected a number");
            assert_eq!(plain_message(&message), quoted);
        }
    }
}
