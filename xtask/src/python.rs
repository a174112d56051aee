//! All that is written in Python: typed, linted and formatted (`ruff.toml` says how).

use crate::Outcome;
use crate::run::{root, succeed, succeeds};
use anyhow::Result;
use std::fs;
use std::path::PathBuf;
use std::process::Command;

/// One version, so that a new rule of ruff's does not break an old commit.
const RUFF: &str = "ruff==0.17.6";

pub(crate) fn run() -> Result<Outcome> {
    let Some(python) = environment("python", RUFF)? else {
        return Ok(Outcome::Skipped(format!("no python3 with venv, or {RUFF} cannot be had")));
    };
    let ruff = || {
        let mut command = Command::new(&python);
        command.current_dir(root()).args(["-m", "ruff"]);
        command
    };
    succeed(ruff().args(["check", "--quiet", "validation", "python", "docs"]))?;
    succeed(ruff().args(["format", "--check", "--quiet", "validation", "python", "docs"]))?;
    Ok(Outcome::Passed)
}

/// The Python of an environment in the build folder with one package, of the version that is said; nothing is installed outside the
/// repository. None, if there is no Python for it, or the package cannot be had.
pub(crate) fn environment(name: &str, package: &str) -> Result<Option<PathBuf>> {
    let folder = root().join("target").join(name);
    let (python, done) = (folder.join("bin/python"), folder.join("installed"));
    if fs::read_to_string(&done).is_ok_and(|installed| installed == package) {
        return Ok(Some(python));
    }
    let has = succeeds(Command::new("python3").args(["-m", "venv"]).arg(&folder))
        && succeeds(Command::new(&python).args(["-m", "pip", "install", "--quiet", package]));
    if !has {
        return Ok(None);
    }
    fs::write(done, package)?;
    Ok(Some(python))
}
