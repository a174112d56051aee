//! The tests of changed code: for work on one crate.

use crate::metadata::{Metadata, Program};
use crate::run::{git, root};
use crate::suite::{PACKETS, Suite};
use crate::tally::Tally;
use anyhow::{Context, Result};
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

const LAWS: &str = "evenair-laws";
const COMMAND: &str = "evenair-cli";
/// The families of laws, each a folder of the crate: a crate that names none of the changed ones cannot see the change.
const FAMILIES: [&str; 7] = ["backoff", "connections", "gateway", "marking", "rate", "rates", "window"];

/// The crates that write all that programs print. A change below them reaches programs as other numbers alone, which the recorded
/// trajectories show.
const PRINTED: [&str; 5] =
    ["evenair-cli", "evenair-results", "evenair-scenario", "evenair-service", "evenair-study"];

/// The tests that are left to `cargo xtask test`, as the run says in the end.
const LEFT: &str = "\
left to cargo xtask test:
    the command and its own tests, unless it, its language, studies or results have changed
    the examples in documentation and on the site, quick claims of studies and claims of the theory
    comparisons with other simulators and with Linux, but for the recorded trajectories (crates/agreement)
left to cargo xtask live: gateway, transport, laws in the kernel, emulator";

/// Tests the crates of theory and packets in which something has changed since a commit, committed or not, and all above them.
pub(crate) fn run(since: &str) -> Result<Tally> {
    let changed = git(&["diff", "--name-only", since])?;
    let new = git(&["ls-files", "--others", "--exclude-standard"])?;
    let files: Vec<String> = changed.lines().chain(new.lines()).map(String::from).collect();
    let metadata = Metadata::of_workspace()?;
    let everything = metadata.packages.iter().map(|package| package.name.clone()).collect();
    let folders = metadata.closure(&everything, true)?;
    let is_in = |file: &String| folders.iter().find(|(_, folder)| Path::new(file).starts_with(folder));
    let changed: BTreeSet<String> = files.iter().filter_map(is_in).map(|(name, _)| name.clone()).collect();
    let mut concerned = changed.clone();
    let families = families(&files);
    if changed.contains(LAWS) {
        for (name, folder) in &folders {
            if names_one(&root().join(folder), &families)? {
                concerned.insert(name.clone());
            }
        }
        concerned.remove(LAWS);
    }
    let mut concerned: BTreeSet<String> = metadata.closure(&concerned, true)?.into_keys().collect();
    concerned.extend(changed.iter().cloned());
    if !PRINTED.iter().any(|name| changed.contains(*name)) {
        // Three programs fewer to compile and link. evenair-agreement chooses the same features of foreign crates.
        concerned.remove(COMMAND);
    }
    if !concerned.iter().any(|name| PACKETS.contains(&name.as_str())) {
        println!("no crate of theory and packets has changed since {since}");
        return Ok(Tally::default());
    }
    println!("changed: {}", changed.iter().cloned().collect::<Vec<_>>().join(", "));
    let tally =
        Suite::of(&concerned, move |program, name| is_wanted(program, name, &changed, &families)).run();
    println!("{LEFT}");
    tally
}

/// The families of laws in which files have changed: all, where one outside of their folders has.
fn families(files: &[String]) -> BTreeSet<&'static str> {
    let of = |file: &String| {
        let path = file.strip_prefix("crates/laws/")?;
        let folder =
            path.strip_prefix("src/").and_then(|path| path.split_once('/')).map(|(folder, _)| folder);
        Some(FAMILIES.into_iter().find(|family| folder == Some(*family)))
    };
    let found: Option<BTreeSet<&str>> = files.iter().filter_map(of).collect();
    found.unwrap_or_else(|| FAMILIES.into())
}

/// Whether a source of a crate names a family of laws.
fn names_one(folder: &Path, families: &BTreeSet<&str>) -> Result<bool> {
    let mut folders: Vec<PathBuf> = ["src", "tests"].iter().map(|name| folder.join(name)).collect();
    while let Some(folder) = folders.pop() {
        let Ok(entries) = fs::read_dir(&folder) else { continue };
        for entry in entries {
            let path = entry?.path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|end| end == "rs") {
                let text = fs::read_to_string(&path).with_context(|| path.display().to_string())?;
                if text.split("evenair_laws::").skip(1).any(|path| of_one(path, families)) {
                    return Ok(true);
                }
            }
        }
    }
    Ok(false)
}

/// Whether a path, or a group of paths in braces, begins with a family of laws.
fn of_one(path: &str, families: &BTreeSet<&str>) -> bool {
    let group = path.strip_prefix('{').and_then(|rest| rest.split('}').next());
    let begins = |path: &str| {
        let word = path.trim_start().split(|c: char| c != '_' && !c.is_ascii_alphanumeric()).next();
        word.is_some_and(|word| families.contains(word))
    };
    group.map_or_else(|| begins(path), |group| group.split(',').any(begins))
}

/// Whether a test of a chosen crate is run.
fn is_wanted(program: &Program, name: &str, changed: &BTreeSet<String>, families: &BTreeSet<&str>) -> bool {
    let is_long = ["documents::", "claims::"].iter().any(|begin| name.starts_with(begin));
    let is_of = |package: &str| program.folder.ends_with(package);
    if !is_of("agreement") || changed.contains("evenair-agreement") {
        return !is_long;
    }
    // Whether any frame has moved, and the suites that every law passes.
    match program.target.as_str() {
        "family" => changed.contains(LAWS),
        "gateway" => changed.contains(LAWS) && families.contains("gateway"),
        _ => name.contains("fingerprint"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn families_of_changed_files_are_known() {
        let of = |files: &[&str]| families(&files.iter().map(ToString::to_string).collect::<Vec<_>>());
        let law = "crates/laws/src/backoff/adaptive.rs";
        assert_eq!(of(&[law, "docs/index.md"]), ["backoff"].into());
        assert_eq!(of(&[law, "crates/laws/src/rate/tfrc.rs"]), ["backoff", "rate"].into());
        assert_eq!(of(&[law, "crates/laws/src/family.rs"]), FAMILIES.into());
        assert_eq!(of(&[law, "crates/laws/Cargo.toml"]), FAMILIES.into());
        assert_eq!(of(&["crates/tcp/src/sender.rs"]), [].into());
    }

    #[test]
    fn crates_that_cannot_see_a_law_are_left_out() {
        let names =
            |name: &str, family| names_one(&root().join("crates").join(name), &[family].into()).unwrap();
        assert!(names("wifi", "backoff") && names("netsim", "gateway") && names("tcp", "rate"));
        assert!(!names("tcp", "backoff") && !names("wifi", "rate") && !names("optimum", "marking"));
    }
}
