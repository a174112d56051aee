//! Finds faults of memory by the address sanitizer: it fuzzes the readers of outside input for a minute a
//! target, and runs the unit tests of the crate that has unsafe code.
//!
//! The build is cargo-fuzz's own (its flags are below), so that nothing but a nightly compiler is needed.

use crate::run::{root, succeed, succeeds, target};
use crate::tally::Tally;
use anyhow::{Context, Result};
use std::fs;
use std::process::Command;

/// Seconds that each target is fuzzed.
const SECONDS: u32 = 60;
const TRIPLE: &str = "x86_64-unknown-linux-gnu";
const ADDRESS: &str = "-Zsanitizer=address";
/// The options that make a program report its coverage to libFuzzer.
const COVERAGE: &str = "-Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4 \
    -Cllvm-args=-sanitizer-coverage-inline-8bit-counters -Cllvm-args=-sanitizer-coverage-pc-table \
    -Cllvm-args=-sanitizer-coverage-trace-compares -Cllvm-args=-simplifycfg-branch-fold-threshold=0 \
    --cfg fuzzing -Cdebug-assertions -Ccodegen-units=1";

pub(crate) fn run() -> Result<Tally> {
    let nightly = || {
        let mut rustup = Command::new("rustup");
        rustup.args(["run", "nightly", "cargo"]).current_dir(root());
        // Else rustup's own choice of compiler would be this one's.
        rustup.env_remove("RUSTUP_TOOLCHAIN").env_remove("CARGO").env_remove("RUSTC");
        rustup
    };
    if !succeeds(nightly().arg("--version")) {
        return Ok(Tally::lacks("nightly Rust", "nothing is fuzzed, and no access to memory is checked"));
    }
    let mut tally = Tally::default();
    let folder = target().join("sanitizer");
    let tests = nightly()
        .args(["test", "--quiet", "--package", "evenair-linux", "--lib", "--target", TRIPLE, "--target-dir"])
        .arg(&folder)
        // The sanitizer's allocator is its own: it returns no memory at glibc's call.
        .args(["--", "--skip", "memory::tests::"])
        .env("RUSTFLAGS", ADDRESS)
        // Tests hold some memory for good.
        .env("ASAN_OPTIONS", "detect_leaks=0")
        .status()
        .context("the tests of evenair-linux")?;
    note(&mut tally, "unit tests of evenair-linux", tests.success());
    succeed(
        nightly()
            .args(["build", "--quiet", "--release", "--manifest-path", "fuzz/Cargo.toml", "--target", TRIPLE])
            .arg("--target-dir")
            .arg(folder.join("fuzz"))
            .env("RUSTFLAGS", format!("{COVERAGE} {ADDRESS}")),
    )?;
    for entry in fs::read_dir(root().join("fuzz/targets")).context("fuzz/targets")? {
        let path = entry?.path();
        let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let corpus = folder.join("corpus").join(&name);
        fs::create_dir_all(&corpus)?;
        let status = Command::new(folder.join("fuzz").join(TRIPLE).join("release").join(&name))
            .current_dir(&corpus)
            .arg(format!("-max_total_time={SECONDS}"))
            .args(["-verbosity=0", "-print_final_stats=1"])
            .arg(&corpus)
            .status()
            .with_context(|| name.clone())?;
        note(&mut tally, &format!("fuzz target {name}"), status.success());
    }
    Ok(tally)
}

fn note(tally: &mut Tally, what: &str, passed: bool) {
    if passed {
        tally.passed += 1;
    } else {
        tally.failed.push(format!("{what} under the address sanitizer"));
    }
}
