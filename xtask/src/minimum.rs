//! The promises of Cargo.toml: the least Rust, and laws that need no standard library.

use crate::Outcome;
use crate::run::{root, succeed, succeeds};
use anyhow::{Context, Result};
use cargo_metadata::MetadataCommand;
use std::process::Command;

/// A processor without an operating system, hence without `std`: a microcontroller's.
const BARE: &str = "thumbv7em-none-eabi";

pub(crate) fn run() -> Result<Outcome> {
    let metadata = MetadataCommand::new().no_deps().exec().context("cargo metadata")?;
    let versions: Vec<_> = metadata.packages.iter().filter_map(|p| p.rust_version.as_ref()).collect();
    let version = versions.iter().max().context("Cargo.toml states no rust-version")?;
    let version = format!("{}.{}", version.major, version.minor);
    if !succeeds(Command::new("rustup").args(["run", &version, "rustc", "--version"])) {
        return Ok(Outcome::Skipped(format!("Rust {version} is not installed (rustup toolchain install)")));
    }
    // A folder of its own: the compilers' outputs do not mix, and a second run is quick.
    let check = || {
        let mut command = Command::new("rustup");
        command.current_dir(root()).env_remove("RUSTUP_TOOLCHAIN").env_remove("CARGO");
        command.args(["run", &version, "cargo", "check", "--quiet", "--locked", "--target-dir"]);
        command.arg(root().join("target/minimum"));
        command
    };
    succeed(check().args(["--package", "evenair-cli"]))?;
    let bare =
        Command::new("rustup").args(["target", "list", "--installed", "--toolchain", &version]).output()?;
    if !String::from_utf8_lossy(&bare.stdout).lines().any(|l| l == BARE) {
        return Ok(Outcome::Skipped(format!(
            "laws without std: target {BARE} is not installed (rustup target add)"
        )));
    }
    succeed(check().args(["--package", "evenair-laws", "--no-default-features", "--target", BARE]))?;
    Ok(Outcome::Passed)
}
