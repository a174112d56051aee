//! `cargo xtask test`: everything that CI checks, in one local command.
//!
//! Parts are named by what they prove; `cargo xtask PART` runs one of them.
#![allow(clippy::print_stdout, reason = "a task runner tells what it does")]

mod citations;
mod dependencies;
mod docs;
mod labels;
mod minimum;
mod module;
mod python;
mod recipe;
mod run;
mod tidy;

use anyhow::{Result, bail};
use run::cargo;
use std::process::ExitCode;
use std::time::Instant;

/// How a part ended, if it did not fail.
enum Outcome {
    Passed,
    /// What was not looked at, and why: this machine lacks something that the check needs.
    Skipped(String),
}

/// A part: its name, what it proves, and how.
type Part = (&'static str, &'static str, fn() -> Result<Outcome>);

/// The parts of `test`, in the order in which they fail fastest.
const PARTS: [Part; 10] = [
    ("tidy", "floors, long functions, equations cited by paper, labels, paths", tidy::run),
    ("formatting", "cargo fmt --check", || cargo(&["fmt", "--all", "--check"])),
    ("python", "ruff over validation/, python/ and docs/", python::run),
    ("dependencies", "licences, versions, sources (deny.toml)", dependencies::run),
    ("clippy", "lints, with warnings as errors", || {
        cargo(&[
            "clippy",
            "--quiet",
            "--locked",
            "--workspace",
            "--all-targets",
            "--all-features",
            "--",
            "-D",
            "warnings",
        ])
    }),
    ("minimum", "the least Rust that Cargo.toml promises; laws without std", minimum::run),
    ("tests", "unit, property, golden, agreement and end-to-end tests", || {
        cargo(&["test", "--locked", "--workspace", "--all-features", "--no-fail-fast"])
    }),
    ("module", "the Python module: its wheel, its tests on the oldest and newest Python, mypy", module::run),
    ("recipe", "CONTRIBUTING's recipe for a law, done on a copy of the tree", recipe::run),
    ("docs", "rustdoc and the site of docs/ with their links, warnings as errors", docs::run),
];

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("xtask: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<()> {
    let part = std::env::args().nth(1).unwrap_or_else(|| "help".into());
    if part == "test" {
        let mut skipped = Vec::new();
        for (name, _, run) in PARTS {
            if let Outcome::Skipped(why) = timed(name, run)? {
                skipped.push(format!("{name}: {why}"));
            }
        }
        println!("all parts passed: {}", PARTS.map(|(name, ..)| name).join(", "));
        for what in skipped {
            println!("skipped in {what}");
        }
        return Ok(());
    }
    if let Some((name, _, run)) = PARTS.iter().find(|(name, ..)| *name == part) {
        return timed(name, *run).map(|_| ());
    }
    println!("cargo xtask test          everything below, in this order");
    for (name, what, _) in PARTS {
        println!("cargo xtask {name:13} {what}");
    }
    if part == "help" { Ok(()) } else { bail!("there is no part \"{part}\"") }
}

#[allow(clippy::disallowed_methods, reason = "a task runner may look at the clock")]
fn timed(name: &str, run: fn() -> Result<Outcome>) -> Result<Outcome> {
    println!("== {name}");
    let start = Instant::now();
    let outcome = run()?;
    let seconds = start.elapsed().as_secs_f64();
    match &outcome {
        Outcome::Passed => println!("== {name} passed in {seconds:.1} s"),
        Outcome::Skipped(why) => println!("== {name} passed in {seconds:.1} s; skipped: {why}"),
    }
    Ok(outcome)
}
