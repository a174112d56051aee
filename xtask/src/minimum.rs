//! The promises of Cargo.toml: the least Rust, and laws that need no standard library.

use crate::metadata::{self, Metadata};
use crate::run::{root, succeed, succeeds};
use crate::tally::Tally;
use anyhow::{Context, Result};
use std::process::Command;

/// A processor without an operating system, hence without `std`: a microcontroller's.
const BARE: &str = "thumbv7em-none-eabi";

pub(crate) fn run() -> Result<Tally> {
    let metadata = Metadata::of_workspace()?;
    let versions = metadata.packages.iter().filter_map(|p| p.rust_version.as_deref()).map(metadata::version);
    let [major, minor, _] = versions.max().context("Cargo.toml states no rust-version")?;
    let version = format!("{major}.{minor}");
    if !succeeds(Command::new("rustup").args(["run", &version, "rustc", "--version"])) {
        return Ok(Tally::lacks("the least Rust", format!("no Rust {version}")));
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
        return Ok(Tally::lacks_for_a_part("the least Rust", format!("laws without std: no target {BARE}")));
    }
    succeed(check().args(["--package", "evenair-laws", "--no-default-features", "--target", BARE]))?;
    Ok(Tally::passed())
}
