//! The JSON Schema of the study language: the types' own, and the forms that repetition (`each`) allows beside it.

use crate::language::Study;
use crate::metric::Metric;
use crate::quantity::{Quantity, Statistic};
use crate::world::World;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde_json::{Map, Value, json};
use std::borrow::Cow;

/// The JSON Schema of the study language, for editors.
pub fn schema() -> Value {
    let mut schema = schemars::schema_for!(Study).to_value();
    if let Some(definitions) = schema["$defs"].as_object_mut() {
        for (name, definition) in definitions.iter_mut().filter(|(name, _)| *name != "Quick") {
            open(definition);
            if REPEATED.contains(&name.as_str()) {
                definition["properties"]["each"] = json!({
                    "description": EACH,
                    "anyOf": [
                        { "type": "object", "additionalProperties": { "type": "array" } },
                        { "type": "array", "items": { "type": "object" } },
                    ],
                });
            }
        }
    }
    schema
}

/// Tables that may stand for many.
const REPEATED: [&str; 4] = ["Variant", "Claim", "Published", "Figure"];

const EACH: &str = "The table stands for many: `{ flow = [\"1\", \"2\"], k = [5, 10] }` for every combination of words, a list of \
    tables for one each. `{flow}` in a text is the word's place; \"{k}\" alone becomes the number.";

/// Lets a word in braces stand where a number, a list or one of some words is due.
fn open(schema: &mut Value) {
    match schema {
        Value::Object(object) => {
            for (_, value) in object.iter_mut() {
                open(value);
            }
            open_values(object);
        }
        Value::Array(values) => values.iter_mut().for_each(open),
        _ => (),
    }
}

fn open_values(object: &mut Map<String, Value>) {
    let types = match object.get("type") {
        Some(Value::String(one)) => vec![one.clone()],
        Some(Value::Array(several)) => several.iter().filter_map(Value::as_str).map(String::from).collect(),
        _ => return,
    };
    if types.iter().any(|of| ["number", "integer", "boolean", "array"].contains(&of.as_str())) {
        let types: Vec<String> = types.into_iter().chain(["string".into()]).collect();
        object.insert("type".into(), json!(types));
        object.insert("pattern".into(), json!(WORD)); // of texts alone
    } else if let Some(form) =
        object.get("pattern").and_then(Value::as_str).filter(|form| !form.contains(WITHIN))
    {
        // A text of some form, such as a time, may have words in it.
        let form = format!("(?:{form})|{WITHIN}");
        object.insert("pattern".into(), json!(form));
    }
}

/// A word in braces, and nothing else.
const WORD: &str = r"^\{[A-Za-z0-9_-]+\}$";
/// A word in braces, anywhere.
const WITHIN: &str = r"\{[A-Za-z0-9_-]+\}";

/// One of some words, each with its meaning, or a word in braces.
fn words(all: impl Iterator<Item = (String, &'static str)>) -> Schema {
    let one = |(word, about): (String, &str)| {
        if about.is_empty() {
            json!({ "const": word })
        } else {
            json!({ "const": word, "description": about })
        }
    };
    let known: Vec<Value> = all.map(one).collect();
    json_schema!({ "anyOf": [{ "oneOf": known }, { "type": "string", "pattern": WORD }] })
}

impl JsonSchema for Metric {
    fn schema_name() -> Cow<'static, str> {
        "Metric".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        words(Self::all().map(|metric| (metric.name(), metric.about())))
    }
}

impl JsonSchema for World {
    fn schema_name() -> Cow<'static, str> {
        "World".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        words(Self::ALL.into_iter().map(|world| (world.name(), world.about())))
    }
}

impl JsonSchema for Statistic {
    fn schema_name() -> Cow<'static, str> {
        "Statistic".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "anyOf": [
            { "oneOf": [
                { "const": "mean", "description": "Its mean." },
                { "const": "deviation", "description": "Its standard deviation over time." },
                { "const": "least", "description": "Its least sample." },
                { "const": "greatest", "description": "Its greatest sample." },
                { "const": "spread", "description": "The standard deviation of several flows' means from each other." },
            ] },
            { "type": "string", "pattern": r"^p[0-9]{1,2}(\.[0-9]{1,2})?$", "description": "The value that so many per cent do not exceed." },
            { "type": "string", "pattern": WORD },
        ] })
    }
}

impl JsonSchema for Quantity {
    fn schema_name() -> Cow<'static, str> {
        "Quantity".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string", "description": "A metric in one word: \"delay\", \"delay-p95\", \"ack-loss\"." })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_key_has_its_meaning() {
        let schema = schema();
        let study = "Study".to_string();
        let tables = schema["$defs"].as_object().unwrap().iter().chain([(&study, &schema)]);
        for (table, definition) in tables {
            for (key, property) in definition["properties"].as_object().into_iter().flatten() {
                assert!(property["description"].is_string(), "{table}.{key}: {property}");
            }
        }
    }

    #[test]
    fn repeated_tables_may_have_words_for_numbers() {
        let schema = schema();
        let claim = &schema["$defs"]["Claim"]["properties"];
        assert!(claim["each"]["anyOf"].is_array());
        assert_eq!(claim["paper"]["pattern"], WORD);
        assert_eq!(schema["$defs"]["Variant"]["properties"]["set"]["pattern"], WORD);
        assert!(schema["properties"]["precision"]["pattern"].is_null(), "the study itself is not repeated");
        let metrics = &schema["$defs"]["Metric"]["anyOf"][0]["oneOf"];
        assert_eq!(metrics.as_array().map(Vec::len), Some(Metric::all().count()));
    }
}
