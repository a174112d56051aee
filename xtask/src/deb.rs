//! The package for Debian, in target/debian: built by cargo-deb, then installed, upgraded and purged on a copy of this machine
//! (lab/package.sh).

use crate::bundle::{bring_what_goes_beside, bytes_of};
use crate::run::{cargo_command, root, succeed, succeeds, target};
use crate::tally::Tally;
use anyhow::{Context, Result};
use evenair_needs::Missing;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

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
    succeed(Command::new(root().join("lab/package.sh")).arg(&package))?;
    Ok(Tally::passed())
}

/// Builds the package. Without cargo-deb there is none.
pub(crate) fn build() -> Result<Result<PathBuf, Missing>> {
    if !succeeds(cargo_command().args(["deb", "--version"])) {
        return Ok(Err(Missing::new("cargo-deb", "the package is not built")));
    }
    let mut build = cargo_command();
    build.args(["build", "--locked", "--release", "--package", "evenair-cli", "--features", "live,parquet"]);
    succeed(&mut build)?;
    let share = root().join("target/deb");
    if share.exists() {
        fs::remove_dir_all(&share)?;
    }
    bring_what_goes_beside(&std::path::absolute(target().join("release/evenair"))?, &share)?;
    let package = package()?;
    println!("{} ({:.1} MB)", package.display(), bytes_of(&package)? as f64 / 1e6);
    Ok(Ok(package))
}

fn package() -> Result<PathBuf> {
    let folder = root().join("target/debian");
    let mut deb = cargo_command();
    deb.args(["deb", "--no-build", "--package", "evenair-cli", "--output"]).arg(&folder);
    succeed(&mut deb)?;
    let packages = folder.read_dir().with_context(|| folder.display().to_string())?;
    let packages = packages.filter_map(|entry| Some(entry.ok()?.path()));
    let packages = packages.filter(|path| path.extension().is_some_and(|ending| ending == "deb"));
    packages.max_by_key(|path| fs::metadata(path).and_then(|file| file.modified()).ok()).context("no package")
}
