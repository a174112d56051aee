//! The command for routers (`crates/operator`): one file for Linux on aarch64 that needs no C library, as OpenWrt's packages do not share one with Rust's.

use crate::run::{cargo_command, root, succeed};
use crate::tally::Tally;
use anyhow::{Context, Result};
use std::fs;
use std::process::Command;

/// Most routers with room for this.
const TARGET: &str = "aarch64-unknown-linux-musl";

pub(crate) fn run() -> Result<Tally> {
    let installed =
        Command::new("rustup").args(["target", "list", "--installed"]).output().context("rustup")?;
    if !String::from_utf8_lossy(&installed.stdout).lines().any(|line| line == TARGET) {
        return Ok(Tally::lacks("static targets", format!("no target {TARGET}")));
    }
    let folder = root().join("target/routers");
    let mut cargo = cargo_command();
    // Nothing in it is written in C, so that no compiler of C for the target is needed.
    cargo.args(["build", "--locked", "--profile", "router", "--package", "evenair-operator"]);
    cargo.args(["--target", TARGET, "--target-dir"]).arg(&folder);
    // Rust brings a C library and a linker of its own for this target.
    cargo.env("CARGO_TARGET_AARCH64_UNKNOWN_LINUX_MUSL_LINKER", "rust-lld");
    succeed(&mut cargo)?;
    let program = folder.join(TARGET).join("router/evenair-router");
    let size = fs::metadata(&program).with_context(|| program.display().to_string())?.len();
    println!("{}: {:.1} MB", program.display(), size as f64 / 1e6);
    Ok(Tally::passed())
}
