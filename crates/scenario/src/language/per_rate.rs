//! One value for all rates, or one for each.

use crate::quantity::{Length, Power, RateQuantity};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{Deserialize, Deserializer, Error, MapAccess, Visitor};
use serde::{Serialize, Serializer};
use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;
use std::str::FromStr;

/// One value for all rates, such as "250 m", or one for each: `{ "6 Mbps" = "150 m", "54 Mbps" = "30 m" }`.
#[derive(Clone, Debug, PartialEq)]
pub enum PerRate<T> {
    /// One for all.
    All(T),
    /// One for each of these, in the order in which they were given.
    Each(Vec<(RateQuantity, T)>),
}

/// A value that rates have.
pub trait OfRate: FromStr<Err: fmt::Display> {
    /// How it is written.
    const EXPECTED: &str;
}

impl OfRate for Length {
    const EXPECTED: &str = "a distance such as \"250 m\"";
}

impl OfRate for Threshold {
    const EXPECTED: &str = "a power such as \"-82 dBm\", or \"standard\"";
}

impl<T: fmt::Display> Serialize for PerRate<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::All(value) => serializer.collect_str(value),
            Self::Each(values) => serializer
                .collect_map(values.iter().map(|(rate, value)| (rate.to_string(), value.to_string()))),
        }
    }
}

impl<'de, T: OfRate> Deserialize<'de> for PerRate<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Values<T>(PhantomData<T>);
        impl<'de, T: OfRate> Visitor<'de> for Values<T> {
            type Value = PerRate<T>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{}, or a table with one for each rate", T::EXPECTED)
            }
            fn visit_str<E: Error>(self, text: &str) -> Result<PerRate<T>, E> {
                text.parse().map(PerRate::All).map_err(E::custom)
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<PerRate<T>, A::Error> {
                let mut values = Vec::new();
                while let Some((rate, value)) = map.next_entry::<String, String>()? {
                    let rate: RateQuantity = rate.parse().map_err(A::Error::custom)?;
                    let value: T = value.parse().map_err(|why| A::Error::custom(format!("{rate}: {why}")))?;
                    values.push((rate, value));
                }
                Ok(PerRate::Each(values))
            }
        }
        deserializer.deserialize_any(Values(PhantomData))
    }
}

impl<T> JsonSchema for PerRate<T> {
    fn schema_name() -> Cow<'static, str> {
        "PerRate".into()
    }
    fn inline_schema() -> bool {
        true
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "anyOf": [{ "type": "string" }, { "type": "object", "additionalProperties": { "type": "string" } }]
        })
    }
}

/// The power from which on a rate is decoded.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Threshold {
    /// The standard's minimum input sensitivity.
    Standard,
    /// This power.
    Power(Power),
}

impl FromStr for Threshold {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        if text == "standard" {
            return Ok(Self::Standard);
        }
        text.parse().map(Self::Power).map_err(|why: String| format!("{why}, or \"standard\""))
    }
}

impl fmt::Display for Threshold {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Standard => f.write_str("standard"),
            Self::Power(power) => power.fmt(f),
        }
    }
}

impl Serialize for Threshold {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Threshold {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(D::Error::custom)
    }
}

impl JsonSchema for Threshold {
    fn schema_name() -> Cow<'static, str> {
        "Threshold".into()
    }
    fn inline_schema() -> bool {
        true
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string" })
    }
}
