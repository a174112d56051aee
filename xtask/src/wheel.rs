//! The wheel, built as `pip install .` builds it, and its tests on the oldest and the newest Python, clusters' engines among them.

use crate::Outcome;
use crate::python::{OLDEST, at_root, environment, interpreters};
use crate::run::{root, succeed};
use anyhow::{Context, Result};
use std::fs;
use std::path::{Path, PathBuf};

pub(crate) fn run() -> Result<Outcome> {
    let found = interpreters();
    let Some((newest, last)) = found.last_key_value() else {
        return Ok(Outcome::Skipped(format!("there is no python3 of version 3.{OLDEST} or later")));
    };
    let Some(python) = environment(&format!("wheel-python3.{newest}"), last, &["pip".into()])? else {
        return Ok(Outcome::Skipped("no python3 with venv and pip".into()));
    };
    let wheel = build(&python)?;
    let (oldest, first) = found.first_key_value().context("there is one")?;
    for (minor, program) in [(oldest, first), (newest, last)].into_iter().skip(usize::from(oldest == newest))
    {
        let python = environment(&format!("wheel-python3.{minor}"), program, &["pip".into()])?;
        test(*minor, &python.context("no venv and pip in the oldest Python")?, &wheel)?;
    }
    Ok(Outcome::Passed)
}

fn build(python: &Path) -> Result<PathBuf> {
    let folder = root().join("target/wheels");
    if folder.exists() {
        fs::remove_dir_all(&folder).with_context(|| folder.display().to_string())?;
    }
    let arguments = ["-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir"];
    succeed(at_root(python).args(arguments).arg(&folder).arg("."))?;
    let mut wheels = folder.read_dir().with_context(|| folder.display().to_string())?;
    wheels.find_map(|entry| Some(entry.ok()?.path())).context("pip built no wheel")
}

/// Installs the wheel and runs all tests, examples in docstrings and notebooks among them.
fn test(minor: u32, python: &Path, wheel: &Path) -> Result<()> {
    println!("Python 3.{minor}");
    let wanted = format!("{}[test]", wheel.display());
    succeed(at_root(python).args(["-m", "pip", "install", "--quiet", &wanted]))?;
    // The same version may have been installed before, of another commit.
    let again = ["-m", "pip", "install", "--quiet", "--force-reinstall", "--no-deps"];
    succeed(at_root(python).args(again).arg(wheel))?;
    succeed(at_root(python).args(["-m", "pytest"]))
}
