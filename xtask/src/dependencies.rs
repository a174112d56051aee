//! The dependencies of evenair: licences, sources, versions, by the rules of `deny.toml`.
//!
//! The rules are cargo-deny's. cargo-deny takes minutes to install from source. So the rules that
//! `cargo metadata` can answer are checked here on every machine, with the licence expressions read by
//! cargo-deny's own library. Where cargo-deny is installed, it checks all of them itself. Only cargo-deny has
//! advisories and yanked versions.

use crate::metadata::{Metadata, Package, version};
use crate::run::{cargo_command, root, succeed, succeeds};
use crate::tally::Tally;
use anyhow::{Context, Result, bail, ensure};
use serde::Deserialize;
use spdx::{Expression, Licensee, ParseMode};
use std::collections::BTreeMap;
use std::process::Command;

/// The keys of deny.toml that are read here.
#[derive(Deserialize)]
struct Rules {
    licenses: Licences,
}

#[derive(Deserialize)]
struct Licences {
    allow: Vec<String>,
}

pub(crate) fn run() -> Result<Tally> {
    let text = std::fs::read_to_string(root().join("deny.toml")).context("deny.toml")?;
    let rules: Rules = toml::from_str(&text).context("deny.toml")?;
    let metadata = Metadata::read(&["--all-features"])?;
    let mut findings = licences(&metadata, &rules.licenses)?;
    findings.extend(sources(&metadata));
    findings.extend(wildcards(&metadata));
    findings.extend(too_new(&metadata));
    findings.extend(built_twice()?);
    for finding in &findings {
        println!("dependencies: {finding}");
    }
    if !findings.is_empty() {
        bail!("{} findings", findings.len());
    }
    if !succeeds(Command::new("cargo-deny").arg("--version")) {
        return Ok(Tally::lacks_for_a_part("cargo-deny", "advisories and yanked versions"));
    }
    let deny = |checks: &[&str]| {
        let mut command = Command::new("cargo-deny");
        command.current_dir(root()).args(["--locked", "check"]).args(checks);
        command
    };
    succeed(&mut deny(&["licenses", "bans", "sources"]))?;
    // Apart, because an advisory published later is no fault of this commit's.
    if succeeds(&mut deny(&["advisories"])) {
        Ok(Tally::passed())
    } else {
        let found = "there are some, or their list is out of reach";
        Ok(Tally::lacks_for_a_part("advisories", found))
    }
}

fn foreign(metadata: &Metadata) -> impl Iterator<Item = &Package> {
    metadata.packages.iter().filter(|p| p.source.is_some())
}

fn licences(metadata: &Metadata, rules: &Licences) -> Result<Vec<String>> {
    let allowed = rules
        .allow
        .iter()
        .map(|name| Licensee::parse(name).with_context(|| format!("deny.toml: {name}")))
        .collect::<Result<Vec<_>>>()?;
    Ok(foreign(metadata)
        .filter(|package| !is_allowed(package.license.as_deref().unwrap_or_default(), &allowed))
        .map(|p| format!("{} {}: its licence {:?} is not in deny.toml", p.name, p.version, p.license))
        .collect())
}

/// Lax: older crates write `MIT/Apache-2.0`.
fn is_allowed(licence: &str, allowed: &[Licensee]) -> bool {
    Expression::parse_mode(licence, ParseMode::LAX)
        .is_ok_and(|expression| expression.evaluate(|one| allowed.iter().any(|a| a.satisfies(one))))
}

/// Everything comes from one registry, the one that clap comes from; nothing from a repository.
fn sources(metadata: &Metadata) -> Vec<String> {
    let registry = foreign(metadata).find(|p| p.name == "clap").and_then(|p| p.source.clone());
    let known = registry.filter(|source| source.starts_with("registry+"));
    foreign(metadata)
        .filter(|p| known.is_none() || p.source != known)
        .map(|p| format!("{} {}: comes from {:?}", p.name, p.version, p.source))
        .collect()
}

/// A requirement of ours has to name a version; crates of the workspace are found by their path.
fn wildcards(metadata: &Metadata) -> Vec<String> {
    let ours = metadata.packages.iter().filter(|p| p.source.is_none());
    ours.flat_map(|p| p.dependencies.iter().map(move |d| (p, d)))
        .filter(|(_, d)| d.path.is_none() && d.req == "*")
        .map(|(p, d)| format!("{} takes any version of {}", p.name, d.name))
        .collect()
}

/// No dependency needs a newer Rust than Cargo.toml promises.
fn too_new(metadata: &Metadata) -> Vec<String> {
    let ours = metadata.packages.iter().filter(|p| p.source.is_none());
    let Some(promised) = ours.filter_map(|p| p.rust_version.as_deref()).min_by_key(|text| version(text))
    else {
        return vec!["Cargo.toml states no rust-version".into()];
    };
    let asks = |p: &Package| p.rust_version.clone().unwrap_or("1.0".into());
    foreign(metadata)
        .filter(|p| version(&asks(p)) > version(promised))
        .map(|p| format!("{} {} needs Rust {}, Cargo.toml promises {promised}", p.name, p.version, asks(p)))
        .collect()
}

/// A crate that the first command has with other features than the whole workspace is built twice, with all that stands on it.
fn built_twice() -> Result<Vec<String>> {
    let (first, all) = (features(&["--package=evenair-cli"])?, features(&["--workspace", "--all-features"])?);
    let differs = |(package, own): (&String, &String)| {
        let wanted = all.get(package).filter(|wanted| *wanted != own)?;
        Some(format!(
            "{package} has the features {own:?}, elsewhere {wanted:?}: name them in crates/cli/Cargo.toml"
        ))
    };
    Ok(first.iter().filter(|(package, _)| !package.starts_with("evenair")).filter_map(differs).collect())
}

/// Each package of a build, and its features.
fn features(options: &[&str]) -> Result<BTreeMap<String, String>> {
    let shown = ["--edges=normal,build", "--prefix=none", "--no-dedupe", "--format={p}|{f}", "--locked"];
    let output = cargo_command().arg("tree").args(options).args(shown).output().context("cargo tree")?;
    ensure!(output.status.success(), "cargo tree: {}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout)?;
    // "serde_derive v1.0.229 (proc-macro)|default"
    let line = |line: &str| {
        let (package, features) = line.split_once('|')?;
        Some((package.split(" (").next()?.to_owned(), features.to_owned()))
    };
    Ok(text.lines().filter_map(line).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn licence_choice_needs_one_and_pair_needs_both() {
        let allowed = ["MIT", "Zlib"].map(|name| Licensee::parse(name).unwrap());
        for (licence, expected) in [
            ("MIT OR LGPL-2.1-or-later", true),
            ("Apache-2.0/MIT", true),
            ("MIT AND Zlib", true),
            ("MIT AND GPL-3.0-only", false),
            ("GPL-3.0-only", false),
            ("", false),
        ] {
            assert_eq!(is_allowed(licence, &allowed), expected, "{licence}");
        }
    }
}
