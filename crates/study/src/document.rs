//! The JSON documents: what `--json` prints and a result's folder holds.
//!
//! Each form is a type here or one that it is made of, so that its schema is made and not written: a field's documentation is its
//! meaning, and `evenair schema result` prints them all.

mod folder;
mod lists;
mod run;
mod study;
mod sweep;
mod theory;

pub use lists::{GlossaryDocument, ListedEntry, ListedMetric};
pub use run::{FlowMeans, RunMeans, SeedTotals};
pub use study::{ClaimRow, StudyDocument, TableRow, TallyDocument};
pub use sweep::SweepDocument;
pub use theory::{
    CompareDocument, ComparedFlow, ComparedStage, FluidDocument, FluidFlow, FluidLink, FluidRest, Load,
    OverloadedLink, ProductFormDocument, ProductFormLink, ResidualsDocument, SetShare, SolveDocument,
    SolvedFlow, SolvedLink, Trajectory,
};

use crate::output::SCHEMA_VERSION;
use crate::record::RunRecord;
use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, SchemaGenerator};
use serde::Serialize;
use serde_json::{Map, Value, json};

/// A document of a command, as all of them begin.
pub fn document(command: &str, content: &impl Serialize) -> Value {
    let mut document = json!({ "schema_version": SCHEMA_VERSION, "command": command });
    let content = serde_json::to_value(content).expect("a document is plain data");
    let Value::Object(content) = content else { unreachable!("documents are objects") };
    document.as_object_mut().expect("so is this").extend(content);
    document
}

/// The same as text of many lines, written as it is read: a value of every part between would cost as much as solving.
pub fn written(command: &str, content: &impl Serialize) -> String {
    #[derive(Serialize)]
    struct Document<'a, T> {
        schema_version: u32,
        command: &'a str,
        #[serde(flatten)]
        content: &'a T,
    }
    let document = Document { schema_version: SCHEMA_VERSION, command, content };
    serde_json::to_string_pretty(&document).expect("a document is plain data") + "\n"
}

/// What is in each document, by the names of their definitions.
fn contents(generator: &mut SchemaGenerator) -> Vec<(&'static str, &'static str, Value)> {
    fn of<T: JsonSchema>(generator: &mut SchemaGenerator) -> Value {
        T::json_schema(generator).to_value()
    }
    vec![
        ("run", "run", of::<RunRecord>(generator)),
        ("run-result", "run", of::<RunMeans>(generator)),
        ("solve", "solve", of::<SolveDocument>(generator)),
        ("solve-product-form", "solve", of::<ProductFormDocument>(generator)),
        ("fluid", "fluid", of::<FluidDocument>(generator)),
        ("compare", "compare", of::<CompareDocument>(generator)),
        ("study", "study", of::<StudyDocument>(generator)),
        ("demo", "demo", of::<StudyDocument>(generator)),
        ("sweep", "sweep", of::<SweepDocument>(generator)),
        ("list", "list", of::<lists::ListDocument>(generator)),
        ("glossary", "glossary", of::<GlossaryDocument<'_>>(generator)),
    ]
}

/// What each is, for whom it is printed.
const ABOUT: [(&str, &str); 12] = [
    ("run", "evenair run --json, and a line of runs.jsonl: a document a line and seed."),
    ("run-result", "result.json of evenair run --out: means over seeds, and each seed."),
    ("solve", "evenair solve --json, and result.json of its --out."),
    (
        "solve-product-form",
        "evenair solve --json with --exponents or --wanted: how ideal CSMA shares the air.",
    ),
    ("fluid", "evenair fluid --json, and result.json of its --out."),
    ("compare", "evenair compare --json, and result.json of its --out."),
    ("study", "evenair study --json, a document a line and study, and result.json of a study."),
    ("demo", "evenair demo --json."),
    ("sweep", "evenair sweep --json, and result.json of a sweep."),
    ("list", "evenair list --json: one of the lists."),
    ("glossary", "evenair glossary --json."),
    ("manifest", "manifest.json of an output folder: what made the result, and its files."),
];

/// The JSON Schema of all documents: a definition for each.
pub fn schema() -> Value {
    let mut generator = SchemaSettings::draft2020_12().for_serialize().into_generator();
    let mut definitions = Map::new();
    for (name, command, mut content) in contents(&mut generator) {
        let mut properties = Map::new();
        let grows = "Grows when a key goes or changes its meaning, not when one is added.";
        properties.insert("schema_version".into(), json!({ "const": SCHEMA_VERSION, "description": grows }));
        properties.insert("command".into(), json!({ "const": command, "description": "The command." }));
        properties.extend(content["properties"].as_object().cloned().unwrap_or_default());
        content["properties"] = properties.into();
        let required = content["required"].as_array().cloned().unwrap_or_default();
        content["required"] =
            [json!("schema_version"), json!("command")].into_iter().chain(required).collect();
        definitions.insert(name.into(), content);
    }
    let manifest = folder::ManifestDocument::json_schema(&mut generator).to_value();
    definitions.insert("manifest".into(), manifest);
    for (name, about) in ABOUT {
        definitions[name]["description"] = about.into();
    }
    let forms: Vec<Value> =
        definitions.keys().map(|name| json!({ "$ref": format!("#/$defs/{name}") })).collect();
    definitions.extend(generator.take_definitions(true));
    let mut schema = json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Result",
        "description": "What evenair prints with --json and writes beside tables: a definition for each command. What is not known is null, or missing. \
            Keys may be added; programs should skip what they do not know.",
        "anyOf": forms,
        "$defs": definitions,
    });
    plain(&mut schema);
    schema
}

/// Descriptions as they are read: units stand in brackets, which rustdoc wants escaped.
fn plain(schema: &mut Value) {
    match schema {
        Value::Object(object) => {
            if let Some(Value::String(text)) = object.get_mut("description") {
                *text = text.replace("\\[", "[").replace("\\]", "]");
            }
            object.values_mut().for_each(plain);
        }
        Value::Array(values) => values.iter_mut().for_each(plain),
        _ => (),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_the_document() {
        let content = ProductFormDocument {
            scenario: "a \"b\"".into(),
            links: vec![ProductFormLink { link: "1".into(), exponent: f64::NAN, airtime: 0.1 }],
        };
        assert_eq!(written("solve", &content), format!("{:#}\n", document("solve", &content)));
    }

    #[test]
    fn every_key_of_every_document_has_its_meaning() {
        let schema = schema();
        let definitions = schema["$defs"].as_object().unwrap();
        assert_eq!(schema["anyOf"].as_array().unwrap().len(), ABOUT.len());
        for (table, definition) in definitions {
            for (key, property) in definition["properties"].as_object().into_iter().flatten() {
                let told = property["description"].as_str().is_some_and(|text| !text.is_empty());
                assert!(told, "{table}.{key}: {property}");
            }
        }
    }
}
