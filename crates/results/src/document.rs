//! The JSON documents: the output of `--json` and the files of a result's folder.
//!
//! Each form is a type, here or as a part of one, so its schema is derived: a field's documentation is its
//! meaning, and `evenair schema result` prints them all.

mod folder;
mod run;
mod theory;

pub use run::{FlowMeans, RunMeans, SeedTotals, write_line};
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

/// A form of documents: the name of its definition, the command that prints it, its readers, and its content.
#[derive(Clone, Copy, Debug)]
pub struct Form {
    name: &'static str,
    command: &'static str,
    about: &'static str,
    content: fn(&mut SchemaGenerator) -> Value,
}

impl Form {
    /// The form of documents that hold a `T`.
    pub const fn of<T: JsonSchema>(name: &'static str, command: &'static str, about: &'static str) -> Self {
        Self { name, command, about, content: |generator| T::json_schema(generator).to_value() }
    }
}

/// The forms of results of runs and of the theory.
pub const FORMS: [Form; 6] = [
    Form::of::<RunRecord>(
        "run",
        "run",
        "evenair run --json, and a line of runs.jsonl: a document a line and seed.",
    ),
    Form::of::<RunMeans>(
        "run-result",
        "run",
        "result.json of evenair run --out: means over seeds, and each seed.",
    ),
    Form::of::<SolveDocument>("solve", "solve", "evenair solve --json, and result.json of its --out."),
    Form::of::<ProductFormDocument>(
        "solve-product-form",
        "solve",
        "evenair solve --json with --exponents or --wanted: how ideal CSMA shares the air.",
    ),
    Form::of::<FluidDocument>("fluid", "fluid", "evenair fluid --json, and result.json of its --out."),
    Form::of::<CompareDocument>(
        "compare",
        "compare",
        "evenair compare --json, and result.json of its --out.",
    ),
];

/// The JSON Schema of documents of such forms, and of manifests: a definition for each.
pub fn schema(forms: &[Form]) -> Value {
    let mut generator = SchemaSettings::draft2020_12().for_serialize().into_generator();
    let mut definitions = Map::new();
    for form in forms {
        let (command, mut content) = (form.command, (form.content)(&mut generator));
        let mut properties = Map::new();
        let grows = "Grows when a key goes or changes its meaning, not when one is added.";
        properties.insert("schema_version".into(), json!({ "const": SCHEMA_VERSION, "description": grows }));
        properties.insert("command".into(), json!({ "const": command, "description": "The command." }));
        properties.extend(content["properties"].as_object().cloned().unwrap_or_default());
        content["properties"] = properties.into();
        let required = content["required"].as_array().cloned().unwrap_or_default();
        content["required"] =
            [json!("schema_version"), json!("command")].into_iter().chain(required).collect();
        content["description"] = form.about.into();
        definitions.insert(form.name.into(), content);
    }
    let mut manifest = folder::ManifestDocument::json_schema(&mut generator).to_value();
    manifest["description"] =
        "manifest.json of an output folder: the command that made the result, and its files.".into();
    definitions.insert("manifest".into(), manifest);
    let forms: Vec<Value> =
        definitions.keys().map(|name| json!({ "$ref": format!("#/$defs/{name}") })).collect();
    definitions.extend(generator.take_definitions(true));
    let mut schema = json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Result",
        "description": "Output of --json and the files beside tables: a definition for each command. An unknown value is null, or missing. \
            Keys may be added; programs should skip unknown ones.",
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
    fn written_text_is_the_document() {
        let content = ProductFormDocument {
            scenario: "a \"b\"".into(),
            links: vec![ProductFormLink { link: "1".into(), exponent: f64::NAN, airtime: 0.1 }],
        };
        assert_eq!(written("solve", &content), format!("{:#}\n", document("solve", &content)));
    }
}
