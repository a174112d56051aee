//! Cargo's metadata of the packages, and of the programs that it builds.

use crate::run::cargo_command;
use anyhow::{Context, Result, ensure};
use serde::Deserialize;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead as _, BufReader};
use std::path::PathBuf;
use std::process::{Command, Stdio};

/// The fields of `cargo metadata` that are read here.
#[derive(Deserialize)]
pub(crate) struct Metadata {
    pub(crate) packages: Vec<Package>,
    pub(crate) workspace_root: PathBuf,
}

#[derive(Deserialize)]
pub(crate) struct Package {
    pub(crate) name: String,
    pub(crate) version: String,
    /// The registry that it comes from; none for the workspace's own.
    pub(crate) source: Option<String>,
    pub(crate) license: Option<String>,
    pub(crate) readme: Option<String>,
    pub(crate) rust_version: Option<String>,
    pub(crate) manifest_path: PathBuf,
    pub(crate) dependencies: Vec<Dependency>,
}

#[derive(Deserialize)]
pub(crate) struct Dependency {
    pub(crate) name: String,
    pub(crate) req: String,
    pub(crate) path: Option<PathBuf>,
    /// `dev` or `build`; none for the ordinary ones.
    pub(crate) kind: Option<String>,
}

impl Metadata {
    /// Of the workspace alone.
    pub(crate) fn of_workspace() -> Result<Self> {
        Self::read(&["--no-deps"])
    }

    pub(crate) fn read(options: &[&str]) -> Result<Self> {
        let mut command = cargo_command();
        command.args(["metadata", "--format-version=1", "--locked"]).args(options);
        let output = command.stderr(Stdio::inherit()).output().context("cargo metadata")?;
        ensure!(output.status.success(), "cargo metadata failed");
        serde_json::from_slice(&output.stdout).context("cargo metadata")
    }

    /// The folders, from the workspace's, of some of its packages and of all that these depend on or, `above`, that depend on these.
    pub(crate) fn closure(&self, names: &BTreeSet<String>, above: bool) -> Result<BTreeMap<String, PathBuf>> {
        let ours: Vec<&Package> = self.packages.iter().filter(|package| package.source.is_none()).collect();
        let mut found = names.clone();
        loop {
            let before = found.len();
            for package in &ours {
                let below = package.dependencies.iter().filter(|d| d.path.is_some()).map(|d| d.name.clone());
                let below: Vec<String> = below.collect();
                if above && below.iter().any(|name| found.contains(name)) {
                    found.insert(package.name.clone());
                } else if !above && found.contains(&package.name) {
                    found.extend(below);
                }
            }
            if found.len() == before {
                break;
            }
        }
        let folder = |package: &&&Package| -> Result<(String, PathBuf)> {
            let folder = package.manifest_path.parent().context("a manifest lies in a folder")?;
            Ok((package.name.clone(), folder.strip_prefix(&self.workspace_root)?.to_path_buf()))
        };
        ours.iter().filter(|package| found.contains(&package.name)).map(|package| folder(&package)).collect()
    }
}

/// A program that cargo has built.
#[derive(Clone, Debug)]
pub(crate) struct Program {
    /// The package's folder.
    pub(crate) folder: PathBuf,
    /// The name of the target: `family`, or the library's.
    pub(crate) target: String,
    /// `lib`, `bin`, `test`, `example`.
    pub(crate) kind: String,
    pub(crate) path: PathBuf,
}

impl Program {
    /// Whether it runs the program of its package, which cargo may build after it.
    pub(crate) fn runs_its_package(&self) -> bool {
        self.kind == "test" && self.folder.join("src/main.rs").exists()
    }
}

/// Builds by a command of cargo, with its progress and warnings shown; hands over each test as soon as it is built.
pub(crate) fn built_tests(cargo: &mut Command, mut each: impl FnMut(Program) -> Result<()>) -> Result<()> {
    cargo.arg("--message-format=json-render-diagnostics").stdout(Stdio::piped());
    let mut child = cargo.spawn().context("cargo")?;
    let messages = BufReader::new(child.stdout.take().context("stdout is piped")?);
    // Cargo is waited for in any case, so that nothing is built behind an error.
    let read = messages.lines().try_for_each(|line| match test_in(&line?)? {
        Some(program) => each(program),
        None => Ok(()),
    });
    ensure!(child.wait()?.success(), "the tests do not compile");
    read
}

/// The test that a message of cargo is about; nothing for other messages.
fn test_in(line: &str) -> Result<Option<Program>> {
    let message: Value = serde_json::from_str(line).context("cargo's messages")?;
    let is_test = message["reason"] == "compiler-artifact" && message["profile"]["test"] == true;
    let (Some(path), true) = (message["executable"].as_str(), is_test) else { return Ok(None) };
    let text = |value: &Value| value.as_str().unwrap_or_default().to_string();
    let manifest = PathBuf::from(text(&message["manifest_path"]));
    Ok(Some(Program {
        folder: manifest.parent().context("a manifest lies in a folder")?.to_path_buf(),
        target: text(&message["target"]["name"]),
        kind: text(&message["target"]["kind"][0]),
        path: path.into(),
    }))
}

/// A version's first three numbers.
pub(crate) fn version(text: &str) -> [u32; 3] {
    let mut numbers = text.split(['.', '-', '+']).map_while(|part| part.parse().ok());
    [0; 3].map(|_: u32| numbers.next().unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_have_an_order() {
        assert_eq!(version("1.88"), [1, 88, 0]);
        assert!(version("1.9.1") < version("1.88.0"));
    }

    #[test]
    fn crates_above_and_below_are_found() {
        let of = |name: &str, below: &[&str]| Package {
            name: name.into(),
            version: "0.1.0".into(),
            source: None,
            license: None,
            readme: None,
            rust_version: None,
            manifest_path: format!("/w/crates/{name}/Cargo.toml").into(),
            dependencies: below
                .iter()
                .map(|name| Dependency {
                    name: (*name).into(),
                    req: "*".into(),
                    path: Some("x".into()),
                    kind: None,
                })
                .collect(),
        };
        let packages =
            vec![of("top", &["middle"]), of("middle", &["low"]), of("low", &[]), of("aside", &["low"])];
        let metadata = Metadata { packages, workspace_root: "/w".into() };
        let names = |above: bool| -> Vec<String> {
            metadata.closure(&["middle".to_string()].into(), above).unwrap().into_keys().collect()
        };
        assert_eq!(names(true), ["middle", "top"]);
        assert_eq!(names(false), ["low", "middle"]);
    }
}
