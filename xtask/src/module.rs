//! The Python module: its wheel, built as `pip install .` builds it, and its tests on the oldest and the newest Python.

use crate::Outcome;
use crate::run::{root, succeed, succeeds};
use anyhow::{Context, Result, bail};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The minor version of the oldest Python 3 for which the wheel is built (pyproject.toml).
const OLDEST: u32 = 10;
/// The newest that is looked for.
const NEWEST: u32 = 20;
/// One version, so that a new check of mypy's does not break an old commit.
const MYPY: &str = "mypy==2.4.1";

pub(crate) fn run() -> Result<Outcome> {
    let found = interpreters();
    let (Some((oldest, first)), Some((newest, last))) = (found.first_key_value(), found.last_key_value())
    else {
        return Ok(Outcome::Skipped(format!("there is no python3 of version 3.{OLDEST} or later")));
    };
    let Some(pip) = environment(*newest, last)? else {
        return Ok(Outcome::Skipped("no python3 with venv and pip".into()));
    };
    let wheel = build(&pip)?;
    test(*newest, &pip, &wheel)?;
    succeed(python(&pip).args(["-m", "pip", "install", "--quiet", MYPY]))?;
    succeed(python(&pip).args(["-m", "mypy"]))?;
    if oldest != newest {
        let pip = environment(*oldest, first)?.context("no venv and pip in the oldest Python")?;
        test(*oldest, &pip, &wheel)?;
    }
    Ok(Outcome::Passed)
}

/// The Pythons of this machine by their minor version: those on the path, and pyenv's.
fn interpreters() -> BTreeMap<u32, PathBuf> {
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

/// The Python of an environment of its own in the build folder, made if it is not there.
fn environment(minor: u32, program: &Path) -> Result<Option<PathBuf>> {
    let folder = root().join(format!("target/python3.{minor}"));
    let python = folder.join("bin/python");
    let works = || succeeds(Command::new(&python).args(["-m", "pip", "--version"]));
    if !works() && !succeeds(Command::new(program).args(["-m", "venv", "--clear"]).arg(&folder)) {
        return Ok(None);
    }
    if works() { Ok(Some(python)) } else { bail!("{} has no pip", python.display()) }
}

/// A Python of an environment, at the root of the repository.
fn python(program: &Path) -> Command {
    let mut command = Command::new(program);
    command.current_dir(root());
    command
}

/// Builds the wheel, with the profile that the other tests are compiled with.
fn build(program: &Path) -> Result<PathBuf> {
    let folder = root().join("target/wheels");
    if folder.exists() {
        std::fs::remove_dir_all(&folder).with_context(|| folder.display().to_string())?;
    }
    let arguments = ["-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir"];
    succeed(
        python(program)
            .args(arguments)
            .arg(&folder)
            .args(["--config-settings=build-args=--profile=dev", "."]),
    )?;
    let mut wheels = folder.read_dir().with_context(|| folder.display().to_string())?;
    let wheel = wheels.find_map(|entry| Some(entry.ok()?.path()));
    wheel.context("pip built no wheel")
}

/// Installs the wheel and runs all tests, examples in docstrings and notebooks among them.
fn test(minor: u32, program: &Path, wheel: &Path) -> Result<()> {
    println!("Python 3.{minor}");
    let wanted = format!("{}[test]", wheel.display());
    succeed(python(program).args(["-m", "pip", "install", "--quiet", &wanted]))?;
    // The same version may have been installed before, of another commit.
    let again = ["-m", "pip", "install", "--quiet", "--force-reinstall", "--no-deps"];
    succeed(python(program).args(again).arg(wheel))?;
    succeed(python(program).args(["-m", "pytest"]))
}
