//! Rules that the compiler does not know.

use crate::metadata::Metadata;
use crate::parts::PARTS;
use crate::tally::Tally;
use crate::{citations, figures, labels, links, tables, words};
use anyhow::{Context, Result, bail};
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// The floor of each crate (ARCHITECTURE.md): dependencies point only to strictly lower floors.
const FLOORS: [(&str, u32); 27] = [
    ("evenair-units", 0),
    ("evenair-needs", 0),
    ("evenair-laws", 1),
    ("evenair-topology", 1),
    ("evenair-des", 1),
    ("evenair-linux", 1),
    ("evenair-optimum", 2),
    ("evenair-wifi", 2),
    ("evenair-tcp", 2),
    ("evenair-service", 2),
    ("evenair-fluid", 3),
    ("evenair-netsim", 3),
    ("evenair-access", 3),
    ("evenair-gateway", 3),
    ("evenair-kernel", 3),
    ("evenair-multiconn", 3),
    ("evenair-operator", 4),
    ("evenair-scenario", 4),
    ("evenair-results", 5),
    ("evenair-study", 6),
    ("evenair-emulator", 6),
    ("evenair-cli", 7),
    ("evenair-python", 7),
    ("evenair-wasm", 7),
    ("evenair-agreement", 8), // tests only: it sees every world
    ("evenair-stub", 0),      // a tool of xtask's
    ("evenair-benches", 9),
];

/// The most lines a function may have.
const LINES_MAX: usize = 70;
/// The most letters of a function's name; tests are `noun_verb_condition`.
const NAME_MAX: usize = 45;
/// The most lines a source file may have.
const FILE_LINES_MAX: usize = 1000;

pub(crate) fn run() -> Result<Tally> {
    let metadata = Metadata::of_workspace()?;
    let root = metadata.workspace_root.clone();
    let mut findings = floors(&metadata);
    for file in files(&root, &["rs"])? {
        let text = fs::read_to_string(&file)?;
        let name = file.strip_prefix(&root).unwrap_or(&file).display().to_string();
        findings.extend(long_functions(&name, &text));
        findings.extend(long_names(&name, &text));
        let lines = text.lines().count();
        if lines > FILE_LINES_MAX {
            findings.push(format!("{name}: {lines} lines, more than {FILE_LINES_MAX}"));
        }
    }
    findings.extend(citations::findings(&root)?);
    findings.extend(labels::unexplained(&root, &files(&root.join("crates"), &["rs"])?)?);
    findings.extend(links::findings(&root, &files(&root, &["md"])?)?);
    findings.extend(studies(&root)?);
    findings.extend(parts(&root)?);
    findings.extend(tables::findings(&root)?);
    findings.extend(figures::findings(&root)?);
    let (of_words, counts) = words::findings(&root)?;
    findings.extend(of_words);
    println!("tidy: {counts}");
    for finding in &findings {
        println!("tidy: {finding}");
    }
    if findings.is_empty() { Ok(Tally::passed()) } else { bail!("{} findings", findings.len()) }
}

fn floors(metadata: &Metadata) -> Vec<String> {
    let floor = |name: &str| FLOORS.iter().find(|(n, _)| *n == name).map(|(_, f)| *f);
    let mut findings = Vec::new();
    for package in metadata.packages.iter().filter(|p| p.name.starts_with("evenair-")) {
        let Some(own) = floor(&package.name) else {
            findings.push(format!("{}: has no floor; give it one in xtask/src/tidy.rs", package.name));
            continue;
        };
        // Dependencies of tests and build scripts obey, too: a test that looks up belongs to the floor above.
        for dependency in &package.dependencies {
            // A crate may switch features of its own on for its tests.
            if let Some(below) = floor(&dependency.name)
                && below >= own
                && dependency.name != package.name
            {
                findings.push(format!(
                    "{} (floor {own}) depends on {} (floor {below})",
                    package.name, dependency.name
                ));
            }
        }
        let pure = ["evenair-units", "evenair-laws"];
        let allowed = ["libm", "serde", "schemars"];
        if pure.contains(&package.name.as_str()) {
            for d in package.dependencies.iter().filter(|d| d.kind.is_none()) {
                if !d.name.starts_with("evenair-") && !allowed.contains(&d.name.as_str()) {
                    findings.push(format!(
                        "{} depends on {}; only {} are allowed",
                        package.name,
                        d.name,
                        allowed.join(", ")
                    ));
                }
            }
        }
    }
    findings
}

/// Functions over the limit, found by indentation: rustfmt puts the closing brace under the `fn`.
fn long_functions(name: &str, text: &str) -> Vec<String> {
    let mut findings = Vec::new();
    let lines: Vec<&str> = text.lines().collect();
    for (start, line) in lines.iter().enumerate() {
        let trimmed = line.trim_start();
        let head = trimmed.split('(').next().unwrap_or("");
        let is_function = head.split_whitespace().any(|word| word == "fn") && !trimmed.starts_with("//");
        if !is_function || line.trim_end().ends_with([';', '}', ',']) {
            // A declaration, a function of one line, or a field.
            continue;
        }
        let indent = line.len() - trimmed.len();
        let close = format!("{}}}", " ".repeat(indent));
        if let Some(length) = lines[start..].iter().position(|l| *l == close)
            && length + 1 > LINES_MAX
        {
            findings.push(format!(
                "{name}:{}: a function of {} lines, more than {LINES_MAX}",
                start + 1,
                length + 1
            ));
        }
    }
    findings
}

/// Functions with names over the limit.
fn long_names(file: &str, text: &str) -> Vec<String> {
    let heads = text.lines().filter(|line| !line.trim_start().starts_with("//"));
    let names = heads.filter_map(|line| line.split_once("fn ")?.1.split_once('(')).map(|(name, _)| name);
    let long = names.filter(|name| {
        name.len() > NAME_MAX && name.chars().all(|letter| letter.is_ascii_alphanumeric() || letter == '_')
    });
    long.map(|name| format!("{file}: {name} has more than {NAME_MAX} letters")).collect()
}

fn value_of(text: &str, key: &str) -> Option<String> {
    let line = text
        .lines()
        .find(|l| l.trim_start().strip_prefix(key).is_some_and(|rest| rest.trim_start().starts_with('=')))?;
    Some(line.split('"').nth(1)?.to_string())
}

/// Every scenario that a study names is there, and every study calls itself by its file's name.
fn studies(root: &Path) -> Result<Vec<String>> {
    let mut findings = Vec::new();
    let mut ids = BTreeSet::new();
    for file in files(&root.join("studies"), &["toml"])? {
        let text = fs::read_to_string(&file)?;
        let id = value_of(&text, "id").unwrap_or_default();
        let expected = file.strip_prefix(root.join("studies"))?.with_extension("").display().to_string();
        if id != expected || !ids.insert(id) {
            findings.push(format!("{}: its id is not {expected}", file.display()));
        }
        for line in text.lines().filter_map(|l| l.strip_prefix("scenario = ")) {
            let scenario = line.trim().trim_matches('"');
            // A repetition's scenarios are checked where it is written out, by the tests of the studies.
            if !scenario.contains('{')
                && !root.join("scenarios").join(scenario).with_extension("toml").exists()
            {
                findings.push(format!("{}: there is no scenario {scenario}", file.display()));
            }
        }
    }
    Ok(findings)
}

/// Every part that a document names is one.
fn parts(root: &Path) -> Result<Vec<String>> {
    let mut findings = Vec::new();
    for file in files(root, &["md"])? {
        for part in fs::read_to_string(&file)?.split("cargo xtask ").skip(1) {
            let name = part.split(|c: char| !c.is_ascii_lowercase()).next().unwrap_or_default();
            if !["", "dist", "help", "needs", "test"].contains(&name)
                && !PARTS.iter().any(|part| part.name == name)
            {
                findings.push(format!("{}: there is no cargo xtask {name}", file.display()));
            }
        }
    }
    Ok(findings)
}

/// All files with these endings below a folder, build output left out, in order.
pub(crate) fn files(folder: &Path, endings: &[&str]) -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_path_buf()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).with_context(|| format!("{}", folder.display()))? {
            let path = entry?.path();
            let name = path.file_name().and_then(|n| n.to_str()).unwrap_or_default();
            if path.is_dir() && !["target", ".git"].contains(&name) {
                folders.push(path);
            } else if path.extension().and_then(|e| e.to_str()).is_some_and(|e| endings.contains(&e)) {
                found.push(path);
            }
        }
    }
    found.sort();
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_function_is_found() {
        let body = "    x();\n".repeat(LINES_MAX);
        let text = format!("fn long() {{\n{body}}}\n\nfn short() {{\n}}\n");
        assert_eq!(long_functions("x.rs", &text).len(), 1);
    }

    #[test]
    fn long_name_is_found() {
        let text = format!("fn {}() {{}}\nfn short(x: u8) {{}}\n", "a".repeat(NAME_MAX + 1));
        assert_eq!(long_names("x.rs", &text).len(), 1);
    }
}
