//! Lists that stand in the scenario or in a file of their own.

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::value::{MapAccessDeserializer, SeqAccessDeserializer};
use serde::de::{Deserializer, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Serialize, Serializer};
use std::fmt;
use std::marker::PhantomData;

/// A list: its entries, or `{ file = "name.csv" }`, a CSV file that has them. The file is looked for beside the scenario; beside the
/// working directory, where the scenario is no file.
#[derive(Clone, Debug, PartialEq)]
pub enum Listed<T> {
    /// Its entries.
    Here(Vec<T>),
    /// Where they are.
    File(String),
}

#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct InFile {
    /// A CSV file, with or without a header; links may stand in a `GeoJSON` or `GraphML` file, too.
    file: String,
}

impl<T> Default for Listed<T> {
    fn default() -> Self {
        Self::Here(Vec::new())
    }
}

impl<T> Listed<T> {
    /// Whether there is nothing; a file counts as something.
    pub fn is_empty(&self) -> bool {
        matches!(self, Self::Here(entries) if entries.is_empty())
    }

    /// The entries that stand here.
    pub fn here(&self) -> &[T] {
        match self {
            Self::Here(entries) => entries,
            Self::File(_) => &[],
        }
    }
}

impl<T: Serialize> Serialize for Listed<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Here(entries) => entries.serialize(serializer),
            Self::File(file) => InFile { file: file.clone() }.serialize(serializer),
        }
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Listed<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Either<T>(PhantomData<T>);
        impl<'de, T: Deserialize<'de>> Visitor<'de> for Either<T> {
            type Value = Listed<T>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a list, or { file = \"name.csv\" }")
            }
            fn visit_seq<A: SeqAccess<'de>>(self, entries: A) -> Result<Listed<T>, A::Error> {
                Vec::deserialize(SeqAccessDeserializer::new(entries)).map(Listed::Here)
            }
            fn visit_map<A: MapAccess<'de>>(self, table: A) -> Result<Listed<T>, A::Error> {
                InFile::deserialize(MapAccessDeserializer::new(table)).map(|table| Listed::File(table.file))
            }
        }
        deserializer.deserialize_any(Either(PhantomData))
    }
}

impl<T: JsonSchema> JsonSchema for Listed<T> {
    fn inline_schema() -> bool {
        true
    }
    fn schema_name() -> std::borrow::Cow<'static, str> {
        format!("Listed{}", T::schema_name()).into()
    }
    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let list = generator.subschema_for::<Vec<T>>();
        let file = generator.subschema_for::<InFile>();
        json_schema!({ "anyOf": [list, file] })
    }
}
