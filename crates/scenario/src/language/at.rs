//! The place of a node: two coordinates, or three.

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{Error, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::borrow::Cow;
use std::fmt;

/// East, north and, where it is given, up \[m\].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct At {
    /// East \[m\].
    pub east_m: f64,
    /// North \[m\].
    pub north_m: f64,
    /// Up \[m\]; on the ground, if it is not given.
    pub up_m: Option<f64>,
}

impl At {
    /// A place on the ground \[m\].
    pub const fn ground(east_m: f64, north_m: f64) -> Self {
        Self { east_m, north_m, up_m: None }
    }

    /// The coordinates that are given \[m\].
    pub fn coordinates(&self) -> impl Iterator<Item = f64> {
        [Some(self.east_m), Some(self.north_m), self.up_m].into_iter().flatten()
    }
}

impl Serialize for At {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.coordinates())
    }
}

const WANTED: &str = "two coordinates, east and north, or three: and up";

impl<'de> Deserialize<'de> for At {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Coordinates;
        impl<'de> Visitor<'de> for Coordinates {
            type Value = At;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(WANTED)
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut all: A) -> Result<At, A::Error> {
                let mut given: Vec<f64> = Vec::new();
                while let Some(next) = all.next_element()? {
                    given.push(next);
                }
                match given[..] {
                    [east_m, north_m] => Ok(At::ground(east_m, north_m)),
                    [east_m, north_m, up_m] => Ok(At { up_m: Some(up_m), ..At::ground(east_m, north_m) }),
                    _ => Err(A::Error::invalid_length(given.len(), &WANTED)),
                }
            }
        }
        deserializer.deserialize_seq(Coordinates)
    }
}

impl JsonSchema for At {
    fn schema_name() -> Cow<'static, str> {
        "At".into()
    }
    fn inline_schema() -> bool {
        true
    }
    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let number = generator.subschema_for::<f64>();
        json_schema!({ "type": "array", "items": number, "minItems": 2, "maxItems": 3 })
    }
}
