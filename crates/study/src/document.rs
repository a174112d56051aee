//! The JSON documents of studies, sweeps and lists, and the schema of all documents.

mod lists;
mod study;
mod sweep;

pub use lists::{GlossaryDocument, ListedEntry, ListedMetric};
pub use study::{ClaimRow, StudyDocument, TableRow, TallyDocument};
pub use sweep::SweepDocument;

use crate::verdicts::Verdicts;
use evenair_results::document::{self, FORMS, Form};
use serde_json::Value;

const ABOUT_STUDY: &str = "evenair study --json, a document a line and study, and result.json of a study.";

/// The JSON Schema of all documents: a definition for each.
pub fn schema() -> Value {
    let own = [
        Form::of::<StudyDocument>("study", "study", ABOUT_STUDY),
        Form::of::<StudyDocument>("demo", "demo", "evenair demo --json."),
        Form::of::<SweepDocument>("sweep", "sweep", "evenair sweep --json, and result.json of a sweep."),
        Form::of::<lists::ListDocument>("list", "list", "evenair list --json: one of the lists."),
        Form::of::<GlossaryDocument<'_>>("glossary", "glossary", "evenair glossary --json."),
        Form::of::<Verdicts>("verdicts", "verdicts", "evenair verdicts --json."),
    ];
    document::schema(&[&FORMS[..], &own].concat())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_key_of_every_document_has_its_meaning() {
        let schema = schema();
        let definitions = schema["$defs"].as_object().unwrap();
        assert_eq!(schema["anyOf"].as_array().unwrap().len(), 13);
        for (table, definition) in definitions {
            for (key, property) in definition["properties"].as_object().into_iter().flatten() {
                let told = property["description"].as_str().is_some_and(|text| !text.is_empty());
                assert!(told, "{table}.{key}: {property}");
            }
        }
    }
}
