//! `cargo xtask test`: everything that CI checks, in one local command.
//!
//! Parts are named by what they prove; `cargo xtask PART` runs one of them. What costs minutes and rarely finds anything is asked
//! for before a release (`--everything`), and by CI where what concerns it has changed (`--due`): `passed.rs` remembers.
#![allow(clippy::print_stdout, reason = "a task runner tells what it does")]

mod citations;
mod compiler;
mod deb;
mod dependencies;
mod dist;
mod docs;
mod foreign;
mod labels;
mod minimum;
mod module;
mod packages;
mod packaging;
mod passed;
mod python;
mod recipe;
mod routers;
mod run;
mod stub;
mod tests;
mod tidy;
mod wheel;

use anyhow::{Result, bail};
use passed::Passed;
use run::cargo;
use std::process::ExitCode;
use std::time::{Duration, Instant};

/// How a part ended, if it did not fail.
enum Outcome {
    Passed,
    /// What was not looked at, and why: this machine lacks something that the check needs.
    Skipped(String),
}

struct Part {
    name: &'static str,
    proves: &'static str,
    run: fn() -> Result<Outcome>,
    /// What concerns it, as git's paths: it is due where these changed. Nothing, if it is always due.
    concerns: &'static [&'static str],
}

const fn always(name: &'static str, proves: &'static str, run: fn() -> Result<Outcome>) -> Part {
    Part { name, proves, run, concerns: &[] }
}

/// What is computed with, and compared with what was computed before: where a fault of the compiler or an overflow would change
/// results. All crates but those that compute nothing (`tests.rs`).
const COMPUTES: &[&str] = &[
    "Cargo.lock",
    "Cargo.toml",
    "crates",
    ":!crates/cli",
    ":!crates/python",
    "scenarios",
    "studies",
    "validation",
    "xtask/src/compiler.rs",
];

/// The parts, in the order in which they fail fastest.
const PARTS: [Part; 19] = [
    always("tidy", "floors, long functions, equations cited by paper, labels, paths", tidy::run),
    always("formatting", "cargo fmt --check", || cargo(&["fmt", "--all", "--check"])),
    always("python", "ruff over validation/, python/ and docs/", python::run),
    always("dependencies", "licences, versions, sources (deny.toml)", dependencies::run),
    always(
        "packaging",
        "services, scripts and OpenWrt's files: as their own tools read them, with the keys that the gateway has",
        packaging::run,
    ),
    always("clippy", "lints, with warnings as errors", tests::clippy),
    always(
        "tests",
        "unit, property, golden, agreement and end-to-end tests of the release build",
        tests::run,
    ),
    always("module", "the Python module of the release build: its tests, schemas, mypy", module::run),
    always("docs", "rustdoc and the site of docs/ with links and figures, warnings as errors", docs::run),
    Part {
        name: "minimum",
        proves: "the least Rust that Cargo.toml promises; laws without std",
        run: minimum::run,
        concerns: &["Cargo.lock", "Cargo.toml", "crates/*/Cargo.toml", "crates/units", "crates/laws"],
    },
    Part {
        name: "packages",
        proves: "the crates that can be used alone build from their packages",
        run: packages::run,
        concerns: &["Cargo.lock", "Cargo.toml", "crates/*/Cargo.toml", "xtask/src/packages.rs"],
    },
    Part {
        name: "deb",
        proves: "the package for Debian is built, installed, upgraded and purged in a root of its own",
        run: deb::run,
        concerns: &["Cargo.lock", "crates/cli/Cargo.toml", "packaging", "xtask/src/deb.rs"],
    },
    Part {
        name: "routers",
        proves: "the command for routers links (aarch64, musl), and how large it is",
        run: routers::run,
        concerns: &[
            "Cargo.lock",
            "Cargo.toml",
            "crates/*/Cargo.toml",
            "crates/linux",
            "xtask/src/routers.rs",
        ],
    },
    Part {
        name: "foreign",
        proves: "the gateway's tests on Debian's stock kernel, in qemu: what this machine's kernel lacks",
        run: foreign::run,
        concerns: &["crates/linux", "crates/gateway", "crates/kernel", "xtask/src/foreign.rs"],
    },
    Part {
        name: "recipe",
        proves: "CONTRIBUTING's recipe for a law, done on a copy of the tree",
        run: recipe::run,
        concerns: &[
            "CONTRIBUTING.md",
            "docs/recipes",
            "crates/laws/src/backoff/mod.rs",
            "crates/laws/src/family.rs",
            "xtask/src/recipe.rs",
        ],
    },
    Part {
        name: "wheel",
        proves: "the wheel for every Linux since glibc 2.17, alone, on the oldest and newest Python, with dask and ray",
        run: wheel::run,
        concerns: &["Cargo.lock", "pyproject.toml", "crates/python", "python", "xtask/src/wheel.rs"],
    },
    Part {
        name: "installed",
        proves: "the end-to-end tests again with the command that cargo installs (profile dist)",
        run: tests::installed,
        concerns: &["Cargo.lock", "Cargo.toml", "crates", ":!crates/python", "scenarios", "studies"],
    },
    Part {
        name: "debug",
        proves: "the tests again with debug assertions and overflow checks",
        run: tests::debug,
        concerns: COMPUTES,
    },
    Part {
        name: "compiler",
        proves: "nothing in the release build that rustc 1.88 to 1.96 compiles wrongly",
        run: compiler::run,
        concerns: COMPUTES,
    },
];

/// Which parts `cargo xtask test` runs.
#[derive(Clone, Copy, PartialEq)]
enum Extent {
    /// Those that are always due.
    Ordinary,
    /// Those and what concerns has changed since it passed.
    Due,
    Everything,
}

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
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match words[..] {
        ["test"] => test(Extent::Ordinary),
        ["test", "--due"] => test(Extent::Due),
        ["test", "--everything"] => test(Extent::Everything),
        ["dist", ref options @ ..] => dist::run(options),
        [] | ["help"] => {
            help();
            Ok(())
        }
        [name] if PARTS.iter().any(|part| part.name == name) => {
            let part = PARTS.iter().find(|part| part.name == name).expect("it was found");
            if let (Outcome::Passed, _) = timed(part)?
                && !part.concerns.is_empty()
            {
                Passed::read()?.remember(part)?;
            }
            Ok(())
        }
        _ => {
            help();
            bail!("there is no part \"{}\"", words.join(" "))
        }
    }
}

fn help() {
    println!("cargo xtask test               the parts below that are marked *, in this order");
    println!("cargo xtask test --due         these, and the others where what concerns them has changed: CI");
    println!("cargo xtask test --everything  all: before a release");
    for part in &PARTS {
        let mark = if part.concerns.is_empty() { '*' } else { ' ' };
        println!("cargo xtask {:16} {mark} {}", part.name, part.proves);
    }
    println!(
        "cargo xtask dist OPTIONS       the command, optimised by a profile of its own runs; cargo's options after it"
    );
}

#[allow(clippy::disallowed_methods, reason = "a task runner may look at the clock")]
fn test(extent: Extent) -> Result<()> {
    let start = Instant::now();
    let mut passed = Passed::read()?;
    let (mut times, mut skipped) = (Vec::new(), Vec::new());
    for part in &PARTS {
        let is_extra = !part.concerns.is_empty();
        if is_extra && (extent == Extent::Ordinary || extent == Extent::Due && !passed.is_due(part)?) {
            continue;
        }
        let (outcome, time) = timed(part)?;
        times.push((part.name, time));
        match outcome {
            Outcome::Skipped(why) => skipped.push(format!("{}: {why}", part.name)),
            Outcome::Passed if is_extra => passed.remember(part)?,
            Outcome::Passed => (),
        }
    }
    println!("all parts passed in {:.0} s:", start.elapsed().as_secs_f64());
    for (name, time) in times {
        println!("{:8.1} s  {name}", time.as_secs_f64());
    }
    for what in skipped {
        println!("skipped in {what}");
    }
    Ok(())
}

#[allow(clippy::disallowed_methods, reason = "a task runner may look at the clock")]
fn timed(part: &Part) -> Result<(Outcome, Duration)> {
    let name = part.name;
    println!("== {name}");
    let start = Instant::now();
    let outcome = (part.run)()?;
    let time = start.elapsed();
    let seconds = time.as_secs_f64();
    match &outcome {
        Outcome::Passed => println!("== {name} passed in {seconds:.1} s"),
        Outcome::Skipped(why) => println!("== {name} passed in {seconds:.1} s; skipped: {why}"),
    }
    Ok((outcome, time))
}
