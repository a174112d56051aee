//! The tests of the workspace, in the profile that users build, and its lints.

use crate::Outcome;
use crate::run::{cargo, cargo_command, succeed};
use anyhow::Result;
use std::thread::available_parallelism;

/// The options that all of them compile with: one choice of features, so that they share their crates.
const ALL: [&str; 4] = ["--release", "--locked", "--workspace", "--all-features"];

/// Crates that compute nothing.
const OTHERS: [&str; 3] = ["evenair-cli", "evenair-python", "xtask"];

pub(crate) fn clippy() -> Result<Outcome> {
    cargo(&[&["clippy", "--quiet"], &ALL[..], &["--all-targets", "--", "-D", "warnings"]].concat())
}

/// Builds everything that is tested, the command and the Python module among it, and runs the Rust tests.
pub(crate) fn run() -> Result<Outcome> {
    build()?;
    succeed(with_threads().args(["test", "--no-fail-fast"]).args(ALL))?;
    Ok(Outcome::Passed)
}

/// With the tests as targets, because their dependencies' features are then the tests'.
pub(crate) fn build() -> Result<()> {
    cargo(&[&["build"], &ALL[..], &["--lib", "--bins", "--tests"]].concat()).map(|_| ())
}

/// The tests with debug assertions and overflow checks, of all that computes: against the same fingerprints.
pub(crate) fn debug() -> Result<Outcome> {
    let without = OTHERS.iter().flat_map(|name| ["--exclude", name]);
    succeed(with_threads().args(["test", "--no-fail-fast", "--locked", "--workspace"]).args(without))?;
    Ok(Outcome::Passed)
}

/// The end-to-end tests with the command as `cargo install --profile dist` builds it.
pub(crate) fn installed() -> Result<Outcome> {
    let tests = "test --no-fail-fast --locked --profile dist --package evenair-cli --test all";
    succeed(with_threads().args(tests.split(' ')))?;
    Ok(Outcome::Passed)
}

/// A thread more than processors: some tests wait for a kernel's clock.
fn with_threads() -> std::process::Command {
    let processors = available_parallelism().map_or(1, usize::from);
    let mut command = cargo_command();
    command.env("RUST_TEST_THREADS", (processors + 1).to_string());
    command
}
