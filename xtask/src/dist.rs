//! `cargo xtask dist`: the command for permanent installations, optimised by a profile of its runs.
//!
//! It is built twice: with counters in it, and, after the runs below, by their counts. The training runs are
//! not those of docs/performance.md, so that the gain is that of a scenario the compiler has not seen. A
//! build from a clone needs none of this: results are the same to the bit, and the tests run a build without
//! a profile.

use crate::run::{cargo_command, root, succeed, target};
use anyhow::{Context, Result, ensure};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The training runs: meshes, chains and a cell by both presets of 802.11, a wired path, theory. Short runs,
/// since only the relative frequency of each path counts.
const TRAINING: &[&str] = &[
    "run chen10/c --set preset=ns2 --set duration=200s",
    "run chen10/d --set duration=100s",
    "run chen10/b --set backoff.law=adaptive --set connections.k=10 --set duration=100s",
    "run lee12/tcp-ubc --set duration=60s",
    "run qcsma/mesh-packets --set duration=60s",
    "run jam10/chain-7-mixed --set preset=ns2 --set duration=300s",
    "run jam10/two-leaves --set preset=ns2 --set duration=300s",
    "run jam10/random --set preset=ns2 --set duration=200s",
    "run jam10/three-levels-tcp --set duration=300s",
    "run cell --set preset=ns2 --set duration=100s --json",
    "run cz06/dumbbell --set duration=30s",
    "solve jam10/random --json",
    "solve chen10/c --objective fixed-point --set backoff.law=adaptive --set connections.k=10",
    "solve lee12/multi-hop --objective max-min",
];

pub(crate) fn run(options: &[&str]) -> Result<()> {
    let folder = std::path::absolute(target().join("profile"))?; // each crate is compiled in its own folder
    let profile = folder.join("merged.profdata");
    let merger = merger()?;
    let flag = if merger.is_file() {
        let counts = folder.join("counts");
        if counts.exists() {
            fs::remove_dir_all(&counts)?; // an older program's
        }
        let counting = build(&folder, options, &format!("-Cprofile-generate={}", counts.display()))?;
        train(&counting, &counts)?;
        succeed(Command::new(merger).arg("merge").arg("--output").arg(&profile).arg(&counts))?;
        format!("-Cprofile-use={}", profile.display())
    } else {
        println!("without a profile: {} is missing (rustup component add llvm-tools)", merger.display());
        String::new()
    };
    let program = build(&folder, options, &flag)?;
    println!("{}", program.display());
    Ok(())
}

/// The compiler's own `llvm-profdata`: another version's does not read these counts.
fn merger() -> Result<PathBuf> {
    let libraries = PathBuf::from(printed(&["--print", "target-libdir"])?.trim());
    let folder = libraries.parent().context("the compiler's libraries lie nowhere")?;
    Ok(folder.join("bin").join("llvm-profdata").with_extension(std::env::consts::EXE_EXTENSION))
}

/// Builds the command in the profile `dist` and returns its path.
fn build(folder: &Path, options: &[&str], flag: &str) -> Result<PathBuf> {
    let version = printed(&["--version", "--verbose"])?;
    let host = version.lines().find_map(|l| l.strip_prefix("host: ")).context("rustc names no host")?;
    let mut cargo = cargo_command();
    cargo.args(["build", "--locked", "--profile", "dist", "--package", "evenair-cli"]).args(options);
    // With a target named, build scripts and macros are not counted.
    cargo.args(["--target", host, "--target-dir"]).arg(folder);
    cargo.env("CARGO_ENCODED_RUSTFLAGS", flag);
    succeed(&mut cargo)?;
    Ok(folder.join(host).join("dist/evenair").with_extension(std::env::consts::EXE_EXTENSION))
}

fn train(program: &Path, counts: &Path) -> Result<()> {
    for arguments in TRAINING {
        println!("evenair {arguments}");
        let mut command = Command::new(program);
        command.args(arguments.split_whitespace()).current_dir(root()).stdout(Stdio::null());
        succeed(command.env("LLVM_PROFILE_FILE", counts.join("%p-%m.profraw")))?;
    }
    Ok(())
}

/// The compiler's output with these arguments.
fn printed(arguments: &[&str]) -> Result<String> {
    let output = Command::new("rustc").current_dir(root()).args(arguments).output().context("rustc")?;
    ensure!(output.status.success(), "rustc {} failed", arguments.join(" "));
    Ok(String::from_utf8(output.stdout)?)
}
