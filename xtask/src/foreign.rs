//! Runs the gateway's tests on Debian's stock kernel, in qemu (lab/foreign.sh), and checks that it refuses
//! window laws: tests there cover features that this machine's kernel lacks. Nothing is measured: the machine
//! is emulated, and slow.

use crate::metadata::built_tests;
use crate::run::{cargo_command, root, succeed, target};
use crate::tally::Tally;
use anyhow::{Context, Result, bail, ensure};
use std::path::PathBuf;
use std::process::Command;
use std::time::Instant;

/// The program's output for a skipped test.
const SKIPPED: &str = "skipped";

/// Crates with kernel tests that run there, and the tests of them that need no rates.
const TAKEN: [(&str, &[&str]); 3] = [
    (
        "evenair-linux",
        &[
            "link",
            "tc::settings",
            "tc::disciplines",
            "tc::tc_prints",
            "tc::a_foreign",
            "nft::nft_prints",
            "nft::entries",
        ],
    ),
    (
        "evenair-gateway",
        &[
            "flowtables",
            "leaves",
            "vlans",
            "bridged",
            "what_leads",
            "strangers",
            "killed_is",
            "neighbours",
            "renamed",
        ],
    ),
    ("evenair-kernel", &["an_older"]),
];

pub(crate) fn run() -> Result<Tally> {
    for (package, tests) in TAKEN {
        let program = timed(&format!("build of {package}"), || program(package, "kernel"))?;
        let mut lab = Command::new(root().join("lab/foreign.sh"));
        lab.arg(target().join("foreign")).arg(program).args(tests);
        let output = timed(package, || lab.output().context("lab/foreign.sh"))?;
        let told = String::from_utf8_lossy(&output.stdout);
        println!("{told}");
        match output.status.code() {
            Some(0) => (),
            Some(77) => return Ok(Tally::lacks("qemu-system-x86_64", told.trim())),
            _ => bail!(
                "{package}'s tests fail on Debian's kernel: {}",
                String::from_utf8_lossy(&output.stderr)
            ),
        }
        ensure!(
            !told.to_lowercase().contains(SKIPPED),
            "that kernel has everything: nothing is skipped on it"
        );
        let is_run = |name: &&str| told.lines().any(|line| line.starts_with("test ") && line.contains(name));
        let unknown = tests.iter().find(|name| !is_run(name));
        ensure!(unknown.is_none(), "{package} has no test {}", unknown.unwrap_or(&""));
    }
    wireless()
}

/// The back-off daemon on Debian's kernel with simulated radios.
fn wireless() -> Result<Tally> {
    let program = timed("build of evenair-access", || program("evenair-access", "wireless"))?;
    let mut cargo = cargo_command();
    cargo.args(["build", "--release", "--package", "evenair-cli", "--features", "live"]);
    timed("build of the command", || succeed(&mut cargo))?;
    let evenair = target().join("release/evenair");
    let mut lab = Command::new(root().join("lab/wireless.sh"));
    lab.arg(target().join("wireless")).arg(program).arg(evenair);
    let output = timed("evenair-access", || lab.output().context("lab/wireless.sh"))?;
    let told = String::from_utf8_lossy(&output.stdout);
    println!("{told}");
    match output.status.code() {
        Some(0) => Ok(Tally::passed()),
        Some(77) => Ok(Tally::lacks_for_a_part("qemu-system-x86_64", told.trim())),
        _ => {
            bail!("the back-off daemon fails on Debian's kernel: {}", String::from_utf8_lossy(&output.stderr))
        }
    }
}

/// Takes a step, and prints its time.
fn timed<T>(step: &str, take: impl FnOnce() -> Result<T>) -> Result<T> {
    let begun = Instant::now();
    let taken = take();
    println!("foreign: {step}: {:.0} s", begun.elapsed().as_secs_f64());
    taken
}

/// Builds tests of a crate; where they are.
fn program(package: &str, test: &str) -> Result<PathBuf> {
    let mut cargo = cargo_command();
    cargo.args(["test", "--release", "--package", package, "--test", test, "--no-run"]);
    let mut programs = Vec::new();
    built_tests(&mut cargo, |program| {
        programs.push(program);
        Ok(())
    })?;
    Ok(programs.into_iter().next().context("cargo built no tests of the kernel")?.path)
}
