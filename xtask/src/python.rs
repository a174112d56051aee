//! All that is written in Python: typed, linted and formatted (`ruff.toml` says how).

use crate::Outcome;
use crate::run::{root, succeed, succeeds};
use anyhow::Result;
use std::process::Command;

/// One version, so that a new rule of ruff's does not break an old commit.
const RUFF: &str = "0.17.6";

pub(crate) fn run() -> Result<Outcome> {
    // In the build folder: nothing is installed outside the repository.
    let folder = root().join("target/python");
    let ruff = folder.join("bin/ruff");
    let is_there = || {
        let output = Command::new(&ruff).arg("--version").output();
        output.is_ok_and(|o| String::from_utf8_lossy(&o.stdout).trim() == format!("ruff {RUFF}"))
    };
    if !is_there() {
        if !succeeds(Command::new("python3").args(["-m", "venv"]).arg(&folder)) {
            return Ok(Outcome::Skipped("no python3 with venv".into()));
        }
        let pip = folder.join("bin/pip");
        if !succeeds(Command::new(pip).args(["install", "--quiet", &format!("ruff=={RUFF}")])) {
            return Ok(Outcome::Skipped(format!("ruff {RUFF} cannot be had from the package index")));
        }
    }
    let ruff = || {
        let mut command = Command::new(&ruff);
        command.current_dir(root());
        command
    };
    succeed(ruff().args(["check", "--quiet", "validation", "python"]))?;
    succeed(ruff().args(["format", "--check", "--quiet", "validation", "python"]))?;
    Ok(Outcome::Passed)
}
