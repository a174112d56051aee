//! `cargo xtask test`: everything that CI checks, in one local command.
//!
//! Parts are named by what they prove; `cargo xtask PART` runs one of them.
#![allow(clippy::print_stdout, reason = "a task runner tells what it does")]

mod citations;
mod recipe;
mod tidy;

use anyhow::{Result, bail};
use std::process::{Command, ExitCode};
use std::time::Instant;

/// A part: its name, what it proves, and how.
type Part = (&'static str, &'static str, fn() -> Result<()>);

/// The parts of `test`, in the order in which they fail fastest.
const PARTS: [Part; 6] = [
    ("tidy", "floors, long functions, equations, citations, paths", tidy::run),
    ("formatting", "cargo fmt --check", || cargo(&["fmt", "--all", "--check"], &[])),
    ("clippy", "lints, with warnings as errors", || {
        cargo(&["clippy", "--quiet", "--workspace", "--all-targets", "--", "-D", "warnings"], &[])
    }),
    ("tests", "unit, property, golden, agreement and end-to-end tests", || {
        cargo(&["test", "--workspace", "--no-fail-fast"], &[])
    }),
    ("recipe", "CONTRIBUTING's recipe for a law, done on a copy of the tree", recipe::run),
    ("docs", "rustdoc, with warnings as errors", || {
        cargo(
            &["doc", "--quiet", "--workspace", "--no-deps", "--document-private-items"],
            &[("RUSTDOCFLAGS", "-D warnings")],
        )
    }),
];

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("xtask: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<()> {
    let part = std::env::args().nth(1).unwrap_or_else(|| "help".into());
    if part == "test" {
        for (name, _, run) in PARTS {
            timed(name, run)?;
        }
        println!("all parts passed: {}", PARTS.map(|(name, ..)| name).join(", "));
        return Ok(());
    }
    if let Some((name, _, run)) = PARTS.iter().find(|(name, ..)| *name == part) {
        return timed(name, *run);
    }
    println!("cargo xtask test     everything below, in this order");
    for (name, what, _) in PARTS {
        println!("cargo xtask {name:10} {what}");
    }
    if part == "help" { Ok(()) } else { bail!("there is no part \"{part}\"") }
}

#[allow(clippy::disallowed_methods, reason = "a task runner may look at the clock")]
fn timed(name: &str, run: fn() -> Result<()>) -> Result<()> {
    println!("== {name}");
    let start = Instant::now();
    run()?;
    println!("== {name} passed in {:.1} s", start.elapsed().as_secs_f64());
    Ok(())
}

fn cargo(arguments: &[&str], environment: &[(&str, &str)]) -> Result<()> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let status = Command::new(cargo).args(arguments).envs(environment.iter().copied()).status()?;
    if status.success() { Ok(()) } else { bail!("cargo {} failed", arguments.join(" ")) }
}
