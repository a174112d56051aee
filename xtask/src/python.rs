//! Pythons, environments of theirs in the build folder, and ruff over all Python code (by `ruff.toml`).

use crate::run::{root, succeed, succeeds};
use crate::tally::Tally;
use anyhow::{Context, Result};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// One version, so that a new rule of ruff's does not break an old commit.
const RUFF: &str = "ruff==0.17.6";
/// The minor version of the oldest Python 3 for which the module is built (pyproject.toml).
pub(crate) const OLDEST: u32 = 10;
/// The newest version that is searched for.
const NEWEST: u32 = 20;

pub(crate) fn run() -> Result<Tally> {
    let Some(python) = environment("python", Path::new("python3"), &[RUFF.into()])? else {
        return Ok(Tally::lacks("Python packages", RUFF));
    };
    for check in [&["check", "--quiet"][..], &["format", "--check", "--quiet"]] {
        succeed(at_root(&python).args(["-m", "ruff"]).args(check).args(["validation", "python", "docs"]))?;
    }
    Ok(Tally::passed())
}

/// A Python, at the root of the repository.
pub(crate) fn at_root(program: &Path) -> Command {
    let mut command = Command::new(program);
    command.current_dir(root());
    command
}

/// The Python of an environment in the build folder with packages of the given versions; nothing is installed
/// outside the repository. None, if there is no Python for it, or the packages cannot be had.
pub(crate) fn environment(name: &str, program: &Path, packages: &[String]) -> Result<Option<PathBuf>> {
    let folder = root().join("target").join(name);
    let (python, done) = (folder.join("bin/python"), folder.join("installed"));
    let wanted = packages.join("\n");
    if fs::read_to_string(&done).is_ok_and(|installed| installed == wanted) {
        return Ok(Some(python));
    }
    let has = succeeds(Command::new(program).args(["-m", "venv", "--clear"]).arg(&folder))
        && succeeds(Command::new(&python).args(["-m", "pip", "install", "--quiet"]).args(packages));
    if !has {
        return Ok(None);
    }
    fs::write(done, wanted)?;
    Ok(Some(python))
}

/// The Pythons of this machine by their minor version: those on the path, and pyenv's.
pub(crate) fn interpreters() -> BTreeMap<u32, PathBuf> {
    let named = (OLDEST..=NEWEST).map(|minor| PathBuf::from(format!("python3.{minor}")));
    let pyenv = Command::new("pyenv").arg("root").output().ok().filter(|output| output.status.success());
    let versions = pyenv.map(|o| Path::new(String::from_utf8_lossy(&o.stdout).trim()).join("versions"));
    let of_pyenv = versions.and_then(|folder| folder.read_dir().ok()).into_iter().flatten();
    let of_pyenv = of_pyenv.filter_map(|entry| Some(entry.ok()?.path().join("bin/python3")));
    let all = [PathBuf::from("python3")].into_iter().chain(named).chain(of_pyenv);
    all.filter_map(|program| Some((minor(&program)?, program))).filter(|(m, _)| *m >= OLDEST).collect()
}

/// The minor version of a Python 3, if the program is one and runs.
fn minor(program: &Path) -> Option<u32> {
    let ask = "import sys; print(sys.version_info.major, sys.version_info.minor)";
    let output = Command::new(program).args(["-c", ask]).output().ok()?;
    let answer = String::from_utf8(output.stdout).ok()?;
    answer.trim().strip_prefix("3 ")?.parse().ok()
}

/// The parts of pyproject.toml that list the needs of an extra of the module.
#[derive(Deserialize)]
struct Pyproject {
    project: Project,
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
struct Project {
    optional_dependencies: BTreeMap<String, Vec<String>>,
}

/// The requirements of an extra of the module, other extras that it names among them, without those that are left out.
pub(crate) fn extra(name: &str, without: &[&str]) -> Result<Vec<String>> {
    let text = fs::read_to_string(root().join("pyproject.toml")).context("pyproject.toml")?;
    let pyproject: Pyproject = toml::from_str(&text).context("pyproject.toml")?;
    let mut found = Vec::new();
    expand(&pyproject.project.optional_dependencies, name, without, &mut found)?;
    Ok(found)
}

fn expand(
    extras: &BTreeMap<String, Vec<String>>,
    name: &str,
    without: &[&str],
    found: &mut Vec<String>,
) -> Result<()> {
    for needed in extras.get(name).with_context(|| format!("pyproject.toml has no extra {name}"))? {
        match needed.strip_prefix("evenair[").and_then(|rest| rest.strip_suffix(']')) {
            Some(others) => others
                .split(',')
                .filter(|other| !without.contains(other))
                .try_for_each(|other| expand(extras, other, without, found))?,
            None => found.push(needed.clone()),
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn extras_name_others() {
        let extras: BTreeMap<String, Vec<String>> =
            [("test", &["evenair[all,ray]", "pytest"][..]), ("all", &["pandas>=2"]), ("ray", &["ray"])]
                .map(|(name, of)| (name.into(), of.iter().map(|&s| s.into()).collect()))
                .into();
        let mut found = Vec::new();
        expand(&extras, "test", &["ray"], &mut found).unwrap();
        assert_eq!(found, ["pandas>=2", "pytest"]);
    }
}
