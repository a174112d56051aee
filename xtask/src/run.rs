//! Other programs, and where the repository lies.

use crate::tally::Tally;
use anyhow::{Context, Result, bail, ensure};
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;
use std::time::{SystemTime, UNIX_EPOCH};

/// The folder of the workspace.
pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("xtask lies in the workspace").to_path_buf()
}

/// Where cargo builds.
pub(crate) fn target() -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), PathBuf::from)
}

/// The seed of property tests, where it is not the one in `.cargo/config.toml`.
static SEED: OnceLock<String> = OnceLock::new();

/// Draws a new seed for the property tests of this run.
pub(crate) fn draw_seed() -> &'static str {
    SEED.get_or_init(|| {
        SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_secs()).to_string()
    })
}

/// Gives tests the seed that was drawn, if one was.
pub(crate) fn with_seed(command: &mut Command) -> &mut Command {
    if let Some(seed) = SEED.get() {
        command.env("PROPTEST_RNG_SEED", seed);
    }
    command
}

/// The cargo that runs us, at the root of the workspace.
pub(crate) fn cargo_command() -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.current_dir(root());
    command
}

pub(crate) fn cargo(arguments: &[&str]) -> Result<Tally> {
    succeed(cargo_command().args(arguments))?;
    Ok(Tally::passed())
}

/// Runs a command that has to succeed.
pub(crate) fn succeed(command: &mut Command) -> Result<()> {
    let status = command.status().with_context(|| format!("{}", command.get_program().display()))?;
    if status.success() { Ok(()) } else { bail!("{} failed", line(command)) }
}

/// Git's answer about this repository.
pub(crate) fn git(arguments: &[&str]) -> Result<String> {
    let output = Command::new("git").args(arguments).current_dir(root()).output().context("git")?;
    let words = arguments.join(" ");
    ensure!(output.status.success(), "git {words}: {}", String::from_utf8_lossy(&output.stderr));
    Ok(String::from_utf8(output.stdout)?.trim().to_string())
}

/// Whether a command succeeds; its output is not shown.
pub(crate) fn succeeds(command: &mut Command) -> bool {
    command.stdout(Stdio::null()).stderr(Stdio::null()).status().is_ok_and(|status| status.success())
}

fn line(command: &Command) -> String {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    words.map(OsStr::to_string_lossy).collect::<Vec<_>>().join(" ")
}
