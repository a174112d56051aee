//! Laws in scenarios: their parameters are those of `evenair-laws`, read, checked and written alike for every family.

use crate::error::Mistake;
use evenair_laws::connections::ConnectionParams;
use evenair_laws::{BadParameter, Parameters};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Serialize, Serializer};

/// The schema of a law: its name, where its defaults will do, or a table with its name and its parameters.
pub(crate) fn schema<P: JsonSchema>(generator: &mut SchemaGenerator) -> Schema {
    let table = generator.subschema_for::<P>();
    json_schema!({ "anyOf": [{ "type": "string", "enum": names::<P>(&[]) }, table] })
}

/// The same of connections: a table without a law's name is n = kT's.
pub(crate) fn schema_of_connections(generator: &mut SchemaGenerator) -> Schema {
    let schema = schema::<ConnectionParams>(generator);
    let table = generator.definitions_mut().get_mut(ConnectionParams::schema_name().as_ref());
    let laws = table.and_then(|table| table["oneOf"].as_array_mut()).into_iter().flatten();
    for law in laws.filter(|law| law["properties"]["law"]["const"] == DEFAULT_CONNECTIONS) {
        if let Some(required) = law["required"].as_array_mut() {
            required.retain(|key| key != "law");
        }
    }
    schema
}

/// The law of a table of connections that names none.
const DEFAULT_CONNECTIONS: &str = "rtt-proportional";

/// The names of a family's laws, and others.
pub(crate) fn names<P: JsonSchema>(others: &[&str]) -> Vec<String> {
    let schema = SchemaGenerator::default().into_root_schema_for::<P>().to_value();
    let laws = schema["oneOf"].as_array().into_iter().flatten();
    let names = laws.filter_map(|law| law["properties"]["law"]["const"].as_str());
    names.chain(others.iter().copied()).map(Into::into).collect()
}

/// The parameters, complete and checked; `table` is where they stand.
pub(crate) fn complete<P: Parameters>(
    table: &str,
    mut params: P,
    surroundings: &P::Surroundings,
) -> Result<P, Mistake> {
    params.resolve(surroundings);
    params.validated().map_err(|error| mistake(table, error))
}

/// The same, where there may be none.
pub(crate) fn complete_any<P: Parameters<Surroundings = ()>>(
    table: &str,
    law: &mut Option<P>,
) -> Result<(), Mistake> {
    *law = law.take().map(|law| complete(table, law, &())).transpose()?;
    Ok(())
}

/// A law's objection to a parameter.
pub(crate) fn mistake(table: &str, error: BadParameter) -> Mistake {
    let why = format!("{} is not allowed: {}", error.value, error.allowed);
    Mistake::at(&format!("{table}.{}", error.name), why)
}

#[derive(Serialize)]
#[serde(tag = "law", rename = "own")]
struct Own {
    identity: String,
}

/// Writes a law; one of a user's own, which no file can name, by its identity.
pub(crate) fn write<P: Parameters + Serialize, S: Serializer>(
    law: &P,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    match law.identity() {
        Some(identity) => Own { identity }.serialize(serializer),
        None => law.serialize(serializer),
    }
}

/// The same, where there may be none.
#[allow(clippy::ref_option, reason = "serde passes a reference to the field")]
pub(crate) fn write_any<P: Parameters + Serialize, S: Serializer>(
    law: &Option<P>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    match law {
        Some(law) => write(law, serializer),
        None => serializer.serialize_none(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn connections_without_law_are_those_of_schema() {
        let read: ConnectionParams = serde_json::from_value(serde_json::json!({ "k": 10 })).unwrap();
        assert_eq!(serde_json::to_value(&read).unwrap()["law"], DEFAULT_CONNECTIONS);
        let schema = crate::schema();
        let laws = schema["$defs"]["ConnectionParams"]["oneOf"].as_array().unwrap();
        let nameless = laws.iter().filter(|law| !law["required"].to_string().contains("\"law\""));
        assert_eq!(nameless.count(), 1);
        assert!(
            schema["required"].as_array().is_none_or(Vec::is_empty),
            "nothing but nodes and flows is needed"
        );
    }
}
