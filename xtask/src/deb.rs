//! The package for Debian, in target/debian: built by cargo-deb, then installed, upgraded and purged on a copy of this machine
//! (lab/package.sh).

use crate::run::{cargo_command, root, succeed, succeeds, target};
use crate::tally::Tally;
use anyhow::{Context, Result, ensure};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

pub(crate) fn run() -> Result<Tally> {
    if !succeeds(cargo_command().args(["deb", "--version"])) {
        return Ok(Tally::lacks("cargo-deb", "the package is not built"));
    }
    let mut build = cargo_command();
    build.args([
        "build",
        "--locked",
        "--release",
        "--package",
        "evenair-cli",
        "--features",
        "live,parquet",
    ]);
    succeed(&mut build)?;
    stage(&std::path::absolute(target().join("release/evenair"))?)?;
    let package = package()?;
    println!("{} ({:.1} MB)", package.display(), fs::metadata(&package)?.len() as f64 / 1e6);
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

/// What the command itself writes of what goes into the package.
fn stage(program: &Path) -> Result<()> {
    let folder = root().join("target/deb");
    if folder.exists() {
        fs::remove_dir_all(&folder)?;
    }
    fs::create_dir_all(folder.join("man"))?;
    succeed(Command::new(program).arg("man").arg(folder.join("man")))?;
    for (shell, file) in [("bash", "evenair.bash"), ("zsh", "_evenair")] {
        let output = Command::new(program).args(["completions", shell]).output()?;
        ensure!(output.status.success(), "evenair completions {shell}");
        fs::write(folder.join(file), output.stdout)?;
    }
    Ok(())
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
