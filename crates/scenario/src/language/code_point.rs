//! Differentiated services' code points as they are written: names or numbers.

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{Deserialize, Deserializer, Error, Visitor};
use serde::{Serialize, Serializer};
use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

/// A code point (DSCP) of a packet's header: 0 to 63.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CodePoint(u8);

/// The names (RFC 2474, RFC 2597, RFC 3246, RFC 5865, RFC 8622), the usual one of each number first.
const NAMES: [(&str, u8); 25] = [
    ("DF", 0),
    ("CS0", 0),
    ("BE", 0),
    ("LE", 1),
    ("CS1", 8),
    ("AF11", 10),
    ("AF12", 12),
    ("AF13", 14),
    ("CS2", 16),
    ("AF21", 18),
    ("AF22", 20),
    ("AF23", 22),
    ("CS3", 24),
    ("AF31", 26),
    ("AF32", 28),
    ("AF33", 30),
    ("CS4", 32),
    ("AF41", 34),
    ("AF42", 36),
    ("AF43", 38),
    ("CS5", 40),
    ("VA", 44),
    ("EF", 46),
    ("CS6", 48),
    ("CS7", 56),
];
/// The expected form.
const EXPECTED: &str = "a DSCP: a name such as \"EF\", \"AF41\" or \"CS1\", or a number from 0 to 63";

impl CodePoint {
    /// Its number.
    pub const fn number(self) -> u8 {
        self.0
    }

    fn of_number(number: u64) -> Option<Self> {
        u8::try_from(number).ok().filter(|&number| number < 64).map(Self)
    }
}

impl FromStr for CodePoint {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let named =
            NAMES.iter().find(|(name, _)| name.eq_ignore_ascii_case(text)).map(|&(_, number)| Self(number));
        let numbered = || text.parse().ok().and_then(Self::of_number);
        named.or_else(numbered).ok_or_else(|| format!("\"{text}\" is not {EXPECTED}"))
    }
}

impl fmt::Display for CodePoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match NAMES.iter().find(|(_, number)| *number == self.0) {
            Some((name, _)) => f.write_str(name),
            None => self.0.fmt(f),
        }
    }
}

impl Serialize for CodePoint {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for CodePoint {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Written;
        impl Visitor<'_> for Written {
            type Value = CodePoint;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(EXPECTED)
            }
            fn visit_u64<E: Error>(self, number: u64) -> Result<CodePoint, E> {
                CodePoint::of_number(number).ok_or_else(|| E::custom(format!("{number} is not {EXPECTED}")))
            }
            fn visit_i64<E: Error>(self, number: i64) -> Result<CodePoint, E> {
                // A negative number is none either.
                self.visit_u64(
                    u64::try_from(number).map_err(|_| E::custom(format!("{number} is not {EXPECTED}")))?,
                )
            }
            fn visit_str<E: Error>(self, text: &str) -> Result<CodePoint, E> {
                text.parse().map_err(E::custom)
            }
        }
        deserializer.deserialize_any(Written)
    }
}

impl JsonSchema for CodePoint {
    fn schema_name() -> Cow<'static, str> {
        "CodePoint".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": ["string", "integer"], "examples": ["EF", "AF41", 46] })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_numbers_are_read_and_written_alike() {
        for number in 0..64u8 {
            let point = CodePoint(number);
            assert_eq!(point.to_string().parse(), Ok(point));
            assert_eq!(number.to_string().parse(), Ok(point));
        }
        for (name, number) in NAMES {
            assert_eq!(name.to_lowercase().parse(), Ok(CodePoint(number)), "{name}");
        }
        for wrong in ["64", "-1", "EFF", "", "AF 41"] {
            assert!(wrong.parse::<CodePoint>().unwrap_err().contains("a number from 0 to 63"), "{wrong}");
        }
    }
}
