//! The gateway's tests on Debian's stock kernel, in qemu (lab/foreign.sh), and that window laws are refused there: what this machine's
//! kernel lacks is tried there. Nothing is measured: the machine is emulated, and slow.

use crate::Outcome;
use crate::run::{cargo_command, root, target};
use anyhow::{Context, Result, bail, ensure};
use std::path::PathBuf;
use std::process::Command;

/// What the program prints where something is not tried.
const SKIPPED: &str = "skipped";

/// Crates whose tests of the kernel are taken there, and those of them that ask for no rates.
const TAKEN: [(&str, &[&str]); 3] = [
    (
        "evenair-linux",
        &[
            "link",
            "tc::what",
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

pub(crate) fn run() -> Result<Outcome> {
    for (package, tests) in TAKEN {
        let program = program(package)?;
        let mut lab = Command::new(root().join("lab/foreign.sh"));
        let output =
            lab.arg(target().join("foreign")).arg(program).args(tests).output().context("lab/foreign.sh")?;
        let told = String::from_utf8_lossy(&output.stdout);
        println!("{told}");
        match output.status.code() {
            Some(0) => (),
            Some(77) => return Ok(Outcome::Skipped(told.trim().into())),
            _ => bail!(
                "{package}'s tests fail on Debian's kernel: {}",
                String::from_utf8_lossy(&output.stderr)
            ),
        }
        ensure!(
            !told.to_lowercase().contains(SKIPPED),
            "that kernel has everything: nothing is skipped on it"
        );
    }
    Ok(Outcome::Passed)
}

/// Builds the tests of the kernel of a crate; where they are.
fn program(package: &str) -> Result<PathBuf> {
    let mut cargo = cargo_command();
    cargo.args([
        "test",
        "--release",
        "--package",
        package,
        "--test",
        "kernel",
        "--no-run",
        "--message-format",
        "json",
    ]);
    let output = cargo.output().context("cargo")?;
    ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let told = cargo_metadata::Message::parse_stream(&output.stdout[..]);
    let programs = told.filter_map(|message| match message.ok()? {
        cargo_metadata::Message::CompilerArtifact(artifact) if artifact.target.name == "kernel" => {
            artifact.executable
        }
        _ => None,
    });
    programs.last().map(Into::into).context("cargo built no tests of the kernel")
}
