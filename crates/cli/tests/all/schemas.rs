//! End to end: what is built in, and what commands print, is as the schemas say.

use crate::{evenair, json, stderr, stdout};
use jsonschema::Validator;
use serde_json::{Value, json as value};

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

/// What every command prints has the keys that `evenair schema result` tells, of the kinds that it tells, and no others.
#[test]
fn documents_are_as_their_schema_says() {
    let mut schema = json(&evenair(&["schema", "result"]));
    fits(
        &form(&schema),
        "a document of another program",
        &value!({}).as_object().map_or(Value::Null, |_| {
            // The whole takes any of its forms.
            json(&evenair(&["list", "--json"]))
        }),
    );
    strict(&mut schema);
    let check = |document: &Value, name: &str| {
        let mut of_name = schema.clone();
        of_name["anyOf"] = value!([{ "$ref": format!("#/$defs/{name}") }]);
        fits(&form(&of_name), name, document);
    };
    let folder = tempfile::tempdir().unwrap();
    let place = |name: &str| folder.path().join(name).to_str().unwrap().to_string();
    let read =
        |name: &str| -> Value { serde_json::from_slice(&std::fs::read(place(name)).unwrap()).unwrap() };
    let with = |arguments: &[&str], more: &[&str]| {
        let output = evenair(&[arguments, more].concat());
        assert!(output.status.success(), "{arguments:?}: {}", stderr(&output));
        stdout(&output).lines().map(|line| serde_json::from_str(line).unwrap()).collect::<Vec<Value>>()
    };
    let all =
        ["--json", "--ledger", "--series", "--timeline", "1s..1.2s", "--seeds", "2", "--out", &place("run")];
    let lines = with(&["run", "chen10/a"], &[&all[..], &SHORT].concat());
    assert_eq!(lines.len(), 2);
    lines.iter().for_each(|line| check(line, "run"));
    check(&read("run/result.json"), "run-result");
    check(&read("run/manifest.json"), "manifest");
    // Gateways, web pages, transfers, probes and resequencing, datagrams, TFRC.
    for scenario in ["gateway/community", "cz06/lossy", "jam10/chain-udp"] {
        if evenair_study::builtin_scenario(scenario).is_some() {
            with(&["run", scenario], &["--json", "--series", "--set", "duration=2 s"])
                .iter()
                .for_each(|line| check(line, "run"));
        }
    }
    for more in
        [&[][..], &["--objective", "max-min"], &["--objective", "proportional", "--solver", "clarabel"]]
    {
        check(&json(&evenair(&[&["solve", "chen10/a", "--json"], more].concat())), "solve");
    }
    check(&json(&evenair(&["solve", "chen10/a", "--json", "--exponents", "1,1,1,1"])), "solve-product-form");
    check(&json(&evenair(&["fluid", "cz06/one", "--json"])), "fluid");
    check(
        &json(&evenair(&[&["compare", "chen10/a", "--json", "--seeds", "1"], &SHORT[..]].concat())),
        "compare",
    );
    for kind in [&[][..], &["laws"], &["metrics"], &["studies"], &["scenarios"]] {
        check(&json(&evenair(&[&["list", "--json"], kind].concat())), "list");
    }
    check(&json(&evenair(&["glossary", "--json"])), "glossary");
    let sweep = [
        "sweep",
        "chen10/a",
        "--world",
        "fair",
        "--vary",
        "connections.k=5,10",
        "--json",
        "--out",
        &place("sweep"),
    ];
    check(&json(&evenair(&sweep)), "sweep");
    check(&read("sweep/manifest.json"), "manifest");
    let out = place("studies");
    check(&json(&evenair(&["study", "jam10/fig-7-1", "--json", "--out", &out])), "study");
    check(&read("studies/jam10/fig-7-1/result.json"), "study");
    check(&read("studies/jam10/fig-7-1/manifest.json"), "manifest");
}
