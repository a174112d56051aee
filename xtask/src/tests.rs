//! The tests of the workspace, in the profile that users build, its lints, and the builds that other parts use.

use crate::pool::skip;
use crate::run::{cargo, cargo_command, succeed, with_seed};
use crate::suite::{Suite, live_options};
use crate::tally::{Skip, Tally};
use anyhow::{Context as _, Result};
use evenair_needs::SKIPS;
use std::fs;
use std::thread::available_parallelism;

/// Crates that compute nothing.
const OTHERS: [&str; 4] = ["evenair-cli", "evenair-python", "evenair-stub", "xtask"];

/// Theory and packets.
pub(crate) fn packets() -> Result<Tally> {
    Suite::packets().run()
}

/// Everything that wants the kernel.
pub(crate) fn live() -> Result<Tally> {
    Suite::live().run()
}

/// Lints of all crates with all features, then of the command as the README's first command builds it. The program that `cargo xtask
/// foreign` takes into its guest is no test of this machine: "all targets" leave it out.
pub(crate) fn lints() -> Result<Tally> {
    clippy(&["--all-targets", "--workspace", "--all-features"])?;
    clippy(&["--test=wireless", "--workspace", "--all-features"])?;
    clippy(&["--all-targets", "--package=evenair-results", "--package=evenair-cli"])
}

fn clippy(options: &[&str]) -> Result<Tally> {
    let words = ["clippy", "--quiet", "--release", "--locked"];
    cargo(&[&words, options, &["--", "-D", "warnings"]].concat())
}

/// Builds the command with everything that it can have, into the place of the first command's.
pub(crate) fn build_command() -> Result<()> {
    let options = live_options();
    let options: Vec<&str> = options.iter().map(String::as_str).collect();
    cargo(&[&["build", "--quiet", "--release", "--locked", "--bins"], &options[..]].concat()).map(|_| ())
}

/// Builds the Python module as users do, and reads the input of its stub from it. Also builds the program
/// that reads this, and the command that its tests compare it with. Together they have one choice of
/// features.
pub(crate) fn build_module() -> Result<()> {
    let packages = ["--package=evenair-python", "--package=evenair-stub", "--package=evenair-cli"];
    let features = ["--features=evenair-python/module,evenair-python/stubs"];
    cargo(&[&["build", "--quiet", "--release", "--locked"], &packages[..], &features].concat()).map(|_| ())
}

/// The tests with debug assertions and overflow checks, of all that computes: against the same fingerprints.
pub(crate) fn debug() -> Result<Tally> {
    let without: Vec<&str> = OTHERS.iter().flat_map(|name| ["--exclude", name]).collect();
    by_cargo(&[&["--workspace"], &without[..]].concat())
}

/// The end-to-end tests with the command as `cargo install --profile dist` builds it.
pub(crate) fn installed() -> Result<Tally> {
    by_cargo(&["--profile", "dist", "--package", "evenair-cli", "--test", "all"])
}

/// Tests that cargo runs, as one check. A thread more than processors: some tests wait for a kernel's clock.
fn by_cargo(options: &[&str]) -> Result<Tally> {
    let folder = tempfile::tempdir().context("a folder for the tests' skips")?;
    let skips = folder.path().join("skips");
    let processors = available_parallelism().map_or(1, usize::from);
    let mut command = cargo_command();
    with_seed(&mut command).env("RUST_TEST_THREADS", (processors + 1).to_string()).env(SKIPS, &skips);
    succeed(command.args(["test", "--no-fail-fast", "--locked"]).args(options))?;
    let lines = fs::read_to_string(&skips).unwrap_or_default();
    let skips = lines.lines().filter_map(|line| skip("", line)).map(|skip| Skip { is_whole: false, ..skip });
    Ok(Tally { skips: skips.collect(), ..Tally::passed() })
}
