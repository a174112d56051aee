//! End to end: what is built in, and what commands print, is as the schemas say.

use crate::{evenair, json, stderr, stdout};
use jsonschema::Validator;
use serde_json::{Value, json as value};
use std::path::Path;

/// Whether a value is of a form; if not, where and why.
fn fits(form: &Validator, what: &str, value: &Value) {
    let faults: Vec<String> =
        form.iter_errors(value).map(|fault| format!("{}: {fault}", fault.instance_path())).take(5).collect();
    assert!(faults.is_empty(), "{what}\n{}", faults.join("\n"));
}

fn form(schema: &Value) -> Validator {
    jsonschema::validator_for(schema).expect("a schema")
}

fn as_json(toml: &str) -> Value {
    serde_json::to_value(toml.parse::<toml::Table>().expect("TOML")).expect("tables are plain data")
}

#[test]
fn every_study_is_as_its_schema_says() {
    let form = form(&json(&evenair(&["schema", "study"])));
    let mut count = 0;
    for id in evenair_study::study_ids() {
        fits(&form, id, &as_json(evenair_study::study_text(id).unwrap()));
        count += 1;
    }
    assert!(count > 80, "{count} studies");
    let wrong = value!({ "title": "A study", "variants": [], "claims": [{ "txet": "misspelt" }] });
    assert!(!form.is_valid(&wrong), "the schema knows what is wrong");
}

#[test]
fn every_scenario_is_as_its_schema_says() {
    let form = form(&json(&evenair(&["schema"])));
    let mut count = 0;
    for id in evenair_study::scenario_ids() {
        fits(&form, id, &as_json(evenair_study::builtin_scenario(id).unwrap()));
        count += 1;
    }
    assert!(count > 40, "{count} scenarios");
    assert!(!form.is_valid(&value!({ "nods": [] })), "the schema knows what is wrong");
    // What evenair writes itself, with all defaults, is a scenario, too.
    let resolved = evenair(&["show", "gateway/community", "--resolved"]);
    fits(&form, "gateway/community, resolved", &as_json(&stdout(&resolved)));
}

/// A schema that takes no key of which it does not tell.
fn strict(schema: &mut Value) {
    match schema {
        Value::Object(object) => {
            object.values_mut().for_each(strict);
            if object.get("properties").is_some_and(Value::is_object)
                && !object.contains_key("additionalProperties")
            {
                object.insert("additionalProperties".into(), false.into());
            }
        }
        Value::Array(values) => values.iter_mut().for_each(strict),
        _ => (),
    }
}

const SHORT: [&str; 4] = ["--set", "duration=2 s", "--set", "warmup=1 s"];

/// What commands print, held to what `evenair schema result` tells: the keys that it tells, of the kinds that it tells, and no others.
struct Told(Value);

impl Told {
    fn new() -> Self {
        let mut schema = json(&evenair(&["schema", "result"]));
        fits(&form(&schema), "any document", &json(&evenair(&["list", "--json"])));
        strict(&mut schema);
        Self(schema)
    }

    fn check(&self, document: &Value, name: &str) {
        let mut schema = self.0.clone();
        schema["anyOf"] = value!([{ "$ref": format!("#/$defs/{name}") }]);
        fits(&form(&schema), name, document);
    }
}

fn read(folder: &Path, name: &str) -> Value {
    serde_json::from_slice(&std::fs::read(folder.join(name)).unwrap()).unwrap()
}

#[test]
fn runs_are_as_their_schema_says() {
    let (told, folder) = (Told::new(), tempfile::tempdir().unwrap());
    let run = |arguments: &[&str]| {
        let output = evenair(&[&["run"], arguments, &["--json", "--series"]].concat());
        assert!(output.status.success(), "{arguments:?}: {}", stderr(&output));
        let lines: Vec<Value> =
            stdout(&output).lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        lines.iter().for_each(|line| told.check(line, "run"));
        lines.len()
    };
    let out = folder.path().to_str().unwrap();
    let all = ["chen10/a", "--ledger", "--timeline", "1s..1.2s", "--seeds", "2", "--out", out];
    assert_eq!(run(&[&all[..], &SHORT].concat()), 2);
    told.check(&read(folder.path(), "result.json"), "run-result");
    told.check(&read(folder.path(), "manifest.json"), "manifest");
    // Gateways and web pages; probes and resequencing; datagrams.
    for scenario in ["gateway/community", "cz06/one", "jam10/chain-udp"] {
        assert_eq!(run(&[scenario, "--set", "duration=2 s"]), 1);
    }
}

#[test]
fn theory_and_lists_are_as_their_schema_says() {
    let told = Told::new();
    for more in
        [&[][..], &["--objective", "max-min"], &["--objective", "proportional", "--solver", "clarabel"]]
    {
        told.check(&json(&evenair(&[&["solve", "chen10/a", "--json"], more].concat())), "solve");
    }
    let exponents = evenair(&["solve", "chen10/a", "--json", "--exponents", "1,1,1,1"]);
    told.check(&json(&exponents), "solve-product-form");
    told.check(&json(&evenair(&["fluid", "cz06/one", "--json"])), "fluid");
    let compare = [&["compare", "chen10/a", "--json", "--seeds", "1"], &SHORT[..]].concat();
    told.check(&json(&evenair(&compare)), "compare");
    for kind in [&[][..], &["laws"], &["metrics"], &["studies"], &["scenarios"]] {
        told.check(&json(&evenair(&[&["list", "--json"], kind].concat())), "list");
    }
    told.check(&json(&evenair(&["glossary", "--json"])), "glossary");
}

#[test]
fn sweeps_and_studies_are_as_their_schema_says() {
    let (told, folder) = (Told::new(), tempfile::tempdir().unwrap());
    let place = |name: &str| folder.path().join(name).to_str().unwrap().to_string();
    let sweep = ["sweep", "chen10/a", "--world", "fair", "--vary", "connections.k=5,10", "--json", "--out"];
    told.check(&json(&evenair(&[&sweep[..], &[&place("sweep")]].concat())), "sweep");
    told.check(&read(folder.path(), "sweep/manifest.json"), "manifest");
    let out = place("studies");
    told.check(&json(&evenair(&["study", "jam10/fig-7-1", "--json", "--out", &out])), "study");
    told.check(&read(folder.path(), "studies/jam10/fig-7-1/result.json"), "study");
    told.check(&read(folder.path(), "studies/jam10/fig-7-1/manifest.json"), "manifest");
}
