//! A bill of materials: the crates of a program, in `CycloneDX` 1.6 (ECMA-424), from cargo's resolution and the sums in
//! `Cargo.lock`.
//!
//! Other tools put a serial number and a time of their own into it; here the same commit makes the same bytes.

use crate::run::{cargo_command, root};
use anyhow::{Context, Result, ensure};
use serde::Deserialize;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::process::{Command, Stdio};

/// The fields of `cargo metadata` that are read here.
#[derive(Deserialize)]
struct Resolved {
    packages: Vec<Package>,
    resolve: Graph,
}

#[derive(Deserialize)]
struct Package {
    id: String,
    name: String,
    version: String,
    source: Option<String>,
    license: Option<String>,
    targets: Vec<Target>,
}

#[derive(Deserialize)]
struct Target {
    kind: Vec<String>,
}

#[derive(Deserialize)]
struct Graph {
    nodes: Vec<Node>,
}

#[derive(Deserialize)]
struct Node {
    id: String,
    deps: Vec<Edge>,
}

#[derive(Deserialize)]
struct Edge {
    pkg: String,
    dep_kinds: Vec<Kind>,
}

#[derive(Deserialize)]
struct Kind {
    /// `dev` or `build`; none for code that becomes part of a program.
    kind: Option<String>,
}

#[derive(Deserialize)]
struct Lock {
    package: Vec<Locked>,
}

#[derive(Deserialize)]
struct Locked {
    name: String,
    version: String,
    checksum: Option<String>,
}

/// The head of a bill.
struct Head<'a> {
    commit: &'a str,
    /// The commit's time, as RFC 3339 has it.
    time: &'a str,
    /// The version of the compiler; its own library is in the program.
    compiler: &'a str,
}

/// The bill of the command for a target, with some features; `seconds` is the time of the commit since 1970.
pub(crate) fn written(triple: &str, features: &str, commit: &str, seconds: &str) -> Result<String> {
    let mut metadata = cargo_command();
    metadata.args(["metadata", "--format-version=1", "--locked", "--manifest-path", "crates/cli/Cargo.toml"]);
    metadata.args(["--features", features, "--filter-platform", triple]);
    let resolved: Resolved = serde_json::from_str(&printed(&mut metadata)?).context("cargo metadata")?;
    let lock: Lock = toml::from_str(&fs::read_to_string(root().join("Cargo.lock"))?).context("Cargo.lock")?;
    let time =
        printed(Command::new("date").args(["--utc", "+%Y-%m-%dT%H:%M:%SZ", &format!("--date=@{seconds}")]))?;
    let compiler = printed(Command::new("rustc").arg("--version").current_dir(root()))?;
    let compiler = compiler.split(' ').nth(1).context("rustc has a version")?;
    let bill = bill(&resolved, &lock, &Head { commit, time: time.trim(), compiler })?;
    Ok(serde_json::to_string_pretty(&bill)? + "\n")
}

fn printed(command: &mut Command) -> Result<String> {
    let output = command.stderr(Stdio::inherit()).output().context("a program to ask")?;
    ensure!(output.status.success(), "{} failed", command.get_program().display());
    Ok(String::from_utf8(output.stdout)?)
}

fn bill(resolved: &Resolved, lock: &Lock, head: &Head<'_>) -> Result<Value> {
    let packages: BTreeMap<&str, &Package> =
        resolved.packages.iter().map(|package| (package.id.as_str(), package)).collect();
    let command = resolved.packages.iter().find(|package| package.name == "evenair-cli");
    let command = command.context("cargo knows no evenair-cli")?;
    let below = below(resolved, &packages, &command.id);
    let name = |id: &str| packages.get(id).map(|package| format!("{}@{}", package.name, package.version));
    let compiled = below.keys().filter(|id| **id != command.id).filter_map(|id| packages.get(id));
    let mut components: Vec<Value> = compiled.map(|package| component(package, lock)).collect();
    // A static program holds the compiler's library, too, and the C library that comes with it.
    components.push(
        json!({ "type": "library", "bom-ref": "rust-std", "name": "rust-std", "version": head.compiler,
        "licenses": [{ "expression": "MIT OR Apache-2.0" }] }),
    );
    components.push(json!({ "type": "library", "bom-ref": "musl", "name": "musl",
        "description": "as the compiler brings it", "licenses": [{ "expression": "MIT" }] }));
    let dependencies: Vec<Value> = below
        .iter()
        .map(|(id, on)| json!({ "ref": name(id), "dependsOn": on.iter().filter_map(|id| name(id)).collect::<Vec<_>>() }))
        .collect();
    Ok(json!({
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {
            "timestamp": head.time,
            "component": {
                "type": "application",
                "bom-ref": name(&command.id),
                "name": "evenair",
                "version": command.version,
                "licenses": licences(command),
                "properties": [{ "name": "commit", "value": head.commit }],
            },
        },
        "components": components,
        "dependencies": dependencies,
    }))
}

/// A package and all that becomes part of its program, each with its dependencies. Macros run in the compiler alone.
fn below<'a>(
    resolved: &'a Resolved,
    packages: &BTreeMap<&str, &Package>,
    top: &'a str,
) -> BTreeMap<&'a str, BTreeSet<&'a str>> {
    let is_macro = |id: &str| {
        packages.get(id).is_some_and(|p| p.targets.iter().any(|t| t.kind.iter().any(|k| k == "proc-macro")))
    };
    let nodes: BTreeMap<&str, &Node> =
        resolved.resolve.nodes.iter().map(|node| (node.id.as_str(), node)).collect();
    let (mut found, mut open) = (BTreeMap::new(), vec![top]);
    while let Some(id) = open.pop() {
        let edges = nodes.get(id).map(|node| node.deps.as_slice()).unwrap_or_default();
        let on = edges.iter().filter(|edge| edge.dep_kinds.iter().any(|kind| kind.kind.is_none()));
        let on: BTreeSet<&str> = on.map(|edge| edge.pkg.as_str()).filter(|id| !is_macro(id)).collect();
        open.extend(on.iter().filter(|id| !found.contains_key(*id)));
        found.insert(id, on);
    }
    found
}

/// A crate. One of a registry has an address there, and the sum of its file.
fn component(package: &Package, lock: &Lock) -> Value {
    let name = format!("{}@{}", package.name, package.version);
    let mut component = json!({
        "type": "library",
        "bom-ref": name,
        "name": package.name,
        "version": package.version,
        "licenses": licences(package),
    });
    if package.source.is_some() {
        component["purl"] = format!("pkg:cargo/{name}").into();
    }
    let locked = lock.package.iter().find(|one| one.name == package.name && one.version == package.version);
    if let Some(sum) = locked.and_then(|one| one.checksum.as_ref()) {
        component["hashes"] = json!([{ "alg": "SHA-256", "content": sum }]);
    }
    component
}

/// The licence as SPDX has it: some crates write an older form.
fn licences(package: &Package) -> Value {
    let expression = package.license.as_ref().map(|text| text.replace('/', " OR "));
    expression.map_or_else(|| json!([]), |expression| json!([{ "expression": expression }]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bill_has_what_is_compiled_in() {
        let package = |name: &str, license: &str, kind: &str| {
            json!({ "id": name, "name": name, "version": "1.0.0", "source": (name != "evenair-cli").then_some("registry"),
                "license": license, "targets": [{ "kind": [kind] }] })
        };
        let edge = |to: &str, kind: Option<&str>| json!({ "pkg": to, "dep_kinds": [{ "kind": kind }] });
        let resolved = json!({
            "packages": [package("evenair-cli", "MIT", "bin"), package("used", "MIT/Apache-2.0", "lib"),
                package("below", "ISC", "lib"), package("derive", "MIT", "proc-macro"), package("tests", "MIT", "lib"),
                package("script", "MIT", "lib")],
            "resolve": { "nodes": [
                { "id": "evenair-cli", "deps": [edge("used", None), edge("derive", None), edge("tests", Some("dev")), edge("script", Some("build"))] },
                { "id": "used", "deps": [edge("below", None)] },
                { "id": "below", "deps": [] },
            ] },
        });
        let lock = toml::from_str("[[package]]\nname = \"used\"\nversion = \"1.0.0\"\nchecksum = \"abc\"\n")
            .unwrap();
        let head = Head { commit: "f00", time: "2026-01-01T00:00:00Z", compiler: "1.90.0" };
        let bill = bill(&serde_json::from_value(resolved).unwrap(), &lock, &head).unwrap();
        let names: Vec<&str> =
            bill["components"].as_array().unwrap().iter().map(|one| one["name"].as_str().unwrap()).collect();
        assert_eq!(names, ["below", "used", "rust-std", "musl"]);
        let used = &bill["components"][1];
        assert_eq!(used["licenses"][0]["expression"], "MIT OR Apache-2.0");
        assert_eq!(
            (&used["hashes"][0]["content"], &used["purl"]),
            (&json!("abc"), &json!("pkg:cargo/used@1.0.0"))
        );
        assert_eq!(
            bill["dependencies"][1],
            json!({ "ref": "evenair-cli@1.0.0", "dependsOn": ["used@1.0.0"] })
        );
        assert_eq!(bill["metadata"]["component"]["properties"][0]["value"], "f00");
    }
}
