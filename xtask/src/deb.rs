//! The package for Debian, in target/debian: built by cargo-deb, then installed, upgraded and purged on a copy of this machine
//! (lab/package.sh).

use crate::bundle::{bring_what_goes_beside, bytes_of};
use crate::run::{cargo_command, root, succeed, succeeds, target};
use crate::tally::Tally;
use anyhow::{Context, Result};
use evenair_needs::{Missing, find};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The folder of documents and completions; the assets in `crates/cli/Cargo.toml` name it.
pub(crate) const SHARE: &str = "target/deb";

pub(crate) fn run() -> Result<Tally> {
    let package = match build()? {
        Ok(package) => package,
        Err(lack) => return Ok(Tally::skipped(&[lack], true)),
    };
    let is_root = Command::new("id").arg("-u").output().is_ok_and(|output| output.stdout == b"0\n");
    if !is_root || !Path::new("/etc/debian_version").exists() {
        return Ok(Tally::lacks_for_a_part(
            "root",
            "the package is not installed: that takes root on Debian",
        ));
    }
    if find("ping").is_none() {
        return Ok(Tally::lacks_for_a_part(
            "ping",
            "the package is not installed: its upgrade is under traffic",
        ));
    }
    succeed(Command::new(root().join("lab/package.sh")).arg(&package))?;
    Ok(Tally::passed())
}

/// Builds the package of this machine's own build. Without cargo-deb there is none.
pub(crate) fn build() -> Result<Result<PathBuf, Missing>> {
    if let Some(lack) = lack() {
        return Ok(Err(lack));
    }
    let mut build = cargo_command();
    build.args(["build", "--locked", "--release", "--package", "evenair-cli", "--features", "live,parquet"]);
    succeed(&mut build)?;
    let share = root().join(SHARE);
    if share.exists() {
        fs::remove_dir_all(&share)?;
    }
    bring_what_goes_beside(&std::path::absolute(target().join("release/evenair"))?, &share)?;
    package(&[]).map(Ok)
}

/// Packs a static program that `cargo xtask release` has built for a target, with the files in [`SHARE`]. Without cargo-deb there is
/// none.
pub(crate) fn of_static_program(triple: &str) -> Result<Result<PathBuf, Missing>> {
    if let Some(lack) = lack() {
        return Ok(Err(lack));
    }
    package(&["--target", triple, "--profile", "dist", "--no-strip"]).map(Ok)
}

fn lack() -> Option<Missing> {
    let is_there = succeeds(cargo_command().args(["deb", "--version"]));
    (!is_there).then(|| Missing::new("cargo-deb", "the package is not built"))
}

/// Packs a program that is built, with its documents.
fn package(options: &[&str]) -> Result<PathBuf> {
    let folder = root().join("target/debian");
    if folder.exists() {
        fs::remove_dir_all(&folder)?;
    }
    let mut deb = cargo_command();
    deb.args(["deb", "--no-build", "--package", "evenair-cli", "--output"]).arg(&folder).args(options);
    succeed(&mut deb)?;
    let packages = folder.read_dir().with_context(|| folder.display().to_string())?;
    let mut packages = packages.filter_map(|entry| Some(entry.ok()?.path()));
    let package = packages.find(|path| path.extension().is_some_and(|ending| ending == "deb"));
    let package = package.context("cargo-deb wrote no package")?;
    println!("{} ({:.1} MB)", package.display(), bytes_of(&package)? as f64 / 1e6);
    Ok(package)
}
