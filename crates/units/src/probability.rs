//! A number between zero and one.

use alloc::format;
use alloc::string::{String, ToString};
use core::fmt;

/// A probability in \[0, 1\].
#[derive(Clone, Copy, Debug, Default, PartialEq, PartialOrd)]
pub struct Probability(f64);

/// The value that was not a probability.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NotAProbability(pub f64);

impl fmt::Display for NotAProbability {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} is not a probability: it must lie between 0 and 1 (five in a hundred is 0.05 or \"5%\")",
            self.0
        )
    }
}

impl core::error::Error for NotAProbability {}

/// Parses a share: "5%", or "0.05".
fn share(text: &str) -> Result<f64, String> {
    let text = text.trim();
    let (number, unit) = text.strip_suffix('%').map_or((text, 1.0), |percent| (percent.trim_end(), 100.0));
    let value: Result<f64, _> = number.parse();
    value
        .map(|value| value / unit)
        .map_err(|_| format!("\"{text}\" is not a probability; write it as 0.05 or \"5%\""))
}

impl core::str::FromStr for Probability {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        Self::new(share(text)?).map_err(|error| error.to_string())
    }
}

/// Serialization: files have a probability as a number, or as "5%".
#[cfg(feature = "serde")]
mod files {
    use super::{Probability, fmt, share};
    use serde::de::{Deserialize, Deserializer, Error, Visitor};

    impl serde::Serialize for Probability {
        fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
            serializer.serialize_f64(self.0)
        }
    }

    impl<'de> Deserialize<'de> for Probability {
        fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
            Self::new(percent(deserializer)?).map_err(D::Error::custom)
        }
    }

    /// Reads a number that may be written as "5%", for parameters with a range that is checked
    /// elsewhere.
    ///
    /// # Errors
    /// If it is neither.
    pub fn percent<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
        struct Share;
        impl Visitor<'_> for Share {
            type Value = f64;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a probability such as 0.05 or \"5%\"")
            }
            fn visit_f64<E: Error>(self, value: f64) -> Result<f64, E> {
                Ok(value)
            }
            fn visit_i64<E: Error>(self, value: i64) -> Result<f64, E> {
                Ok(value as f64)
            }
            fn visit_u64<E: Error>(self, value: u64) -> Result<f64, E> {
                Ok(value as f64)
            }
            fn visit_str<E: Error>(self, text: &str) -> Result<f64, E> {
                share(text).map_err(E::custom)
            }
        }
        deserializer.deserialize_any(Share)
    }
}

#[cfg(feature = "serde")]
pub use files::percent;

#[cfg(feature = "schemars")]
impl schemars::JsonSchema for Probability {
    fn schema_name() -> alloc::borrow::Cow<'static, str> {
        "Probability".into()
    }
    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({
            "description": "a probability, e.g. 0.05 or \"5%\"",
            "anyOf": [
                { "type": "number", "minimum": 0, "maximum": 1 },
                { "type": "string", "pattern": r"^\s*[-+0-9.eE]+\s*%?\s*$" },
            ],
            "examples": [0.05, "5%"],
        })
    }
}

impl Probability {
    /// The probability 0.
    pub const ZERO: Self = Self(0.0);
    /// The probability 1.
    pub const ONE: Self = Self(1.0);

    /// Creates a probability from a value between zero and one.
    ///
    /// # Errors
    /// Names the value if it lies outside, or is not a number.
    #[inline]
    pub fn new(value: f64) -> Result<Self, NotAProbability> {
        if (0.0..=1.0).contains(&value) { Ok(Self(value)) } else { Err(NotAProbability(value)) }
    }

    /// Returns the nearest probability: zero below zero and for NaN, one above one.
    #[inline]
    pub const fn clamped(value: f64) -> Self {
        if value >= 1.0 {
            Self(1.0)
        } else if value > 0.0 {
            Self(value)
        } else {
            Self(0.0)
        }
    }

    /// Returns the value.
    #[inline]
    pub const fn value(self) -> f64 {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn value_out_of_range_is_named() {
        assert_eq!(Probability::new(1.5), Err(NotAProbability(1.5)));
        assert!(Probability::new(f64::NAN).is_err());
        assert_eq!(Probability::clamped(f64::NAN), Probability::ZERO);
        assert_eq!(Probability::clamped(7.0), Probability::ONE);
    }

    #[test]
    fn percents_are_understood() {
        for text in ["5%", " 5 % ", "0.05"] {
            assert_eq!(text.parse(), Ok(Probability(0.05)), "{text}");
        }
        assert!("500%".parse::<Probability>().unwrap_err().contains("5 is not a probability"));
        assert!("five".parse::<Probability>().unwrap_err().contains("write it as 0.05"));
    }

    #[cfg(feature = "serde")]
    #[test]
    fn files_have_numbers_or_percents() {
        for text in ["0.05", "\"5%\""] {
            let read: Probability = serde_json::from_str(text).unwrap();
            assert_eq!(serde_json::to_string(&read).unwrap(), "0.05");
        }
        assert!(serde_json::from_str::<Probability>("5").unwrap_err().to_string().contains("\"5%\""));
        assert!(
            serde_json::from_str::<Probability>("true").unwrap_err().to_string().contains("such as 0.05")
        );
    }
}
