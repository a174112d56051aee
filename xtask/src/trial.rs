//! Trials of released files without Rust: each is unpacked into an empty root, and its program runs there. Another machine's program
//! runs in an emulator.

use crate::bundle::bytes_of;
use crate::run::{succeed, succeeds};
use anyhow::{Context, Result, ensure};
use evenair_needs::{Missing, find};
use std::env::consts::ARCH;
use std::fs;
use std::path::Path;
use std::process::Command;

/// Commands that run in an empty root: each world, each live command, files written. The live commands' own tests cover their work
/// on the kernel.
const TRIALS: &[&str] = &[
    "--version",
    "--help",
    "man",
    "completions bash",
    "run chen10/a --set duration=2s --set warmup=1s --out result",
    "plot result goodput --out goodput.png",
    "plot result goodput --out goodput.pdf",
    "solve chen10/a",
    "list laws cubic",
    "play --help",
    "emulate --help",
    "doctor --help",
    "gateway --help",
    "multiconn keygen relay.key",
    "backoff --help",
    "cc --help",
];

/// The demo, which an emulator would take minutes for.
const DEMO: &str = "demo --quick --out demo";

/// Files that lie beside a program, below `share`; packages compress the first.
const BESIDE: [&str; 2] = ["man/man1/evenair.1", "bash-completion/completions/evenair"];

/// Files that the commands write.
const WRITTEN: [&str; 4] = ["result/flows.csv", "goodput.png", "goodput.pdf", "relay.key"];

/// Tries the program of an archive. Returns the need that this machine lacks for it.
pub(crate) fn archive(machine: &str, archive: &Path) -> Result<Option<Missing>> {
    let room = tempfile::tempdir()?;
    let local = room.path().join("usr/local");
    fs::create_dir_all(&local)?;
    let mut unpack = Command::new("tar");
    unpack.args(["--extract", "--strip-components=1", "--file"]).arg(archive).arg("--directory").arg(&local);
    succeed(&mut unpack)?;
    beside(&local.join("share"))?;
    in_room(machine, room.path(), "usr/local/bin/evenair")
}

/// Tries the program of a package for Debian, which depends on no other. Returns the need that this machine lacks for it.
pub(crate) fn package(machine: &str, package: &Path) -> Result<Option<Missing>> {
    if !succeeds(Command::new("dpkg-deb").arg("--version")) {
        return Ok(Some(Missing::new("dpkg-deb", "the packages are not tried")));
    }
    let needs = Command::new("dpkg-deb").arg("--field").arg(package).arg("Depends").output()?;
    let needs = String::from_utf8(needs.stdout)?;
    ensure!(needs.trim().is_empty(), "{}: a static program depends on {needs}", package.display());
    let room = tempfile::tempdir()?;
    succeed(Command::new("dpkg-deb").arg("--extract").arg(package).arg(room.path()))?;
    beside(&room.path().join("usr/share"))?;
    in_room(machine, room.path(), "usr/bin/evenair")
}

/// Checks that the files beside a program are there.
fn beside(share: &Path) -> Result<()> {
    for file in BESIDE {
        let places = [share.join(file), share.join(format!("{file}.gz"))];
        ensure!(places.iter().any(|place| place.exists()), "{} is missing", places[0].display());
    }
    Ok(())
}

/// Runs the trials with a folder as the root, or, of another machine's program, in the folder.
fn in_room(machine: &str, room: &Path, program: &str) -> Result<Option<Missing>> {
    let emulator = find("qemu-aarch64").filter(|_| machine == "aarch64");
    if machine != ARCH && emulator.is_none() {
        return Ok(Some(Missing::new("qemu-aarch64", format!("the program for {machine} is not tried"))));
    }
    if machine == ARCH && !succeeds(Command::new("unshare").args(["--map-root-user", "--root", "/", "true"]))
    {
        return Ok(Some(Missing::new("user namespaces", "the program is not tried in an empty root")));
    }
    let demo = (machine == ARCH).then_some(DEMO);
    for trial in TRIALS.iter().copied().chain(demo) {
        let mut enter = if machine == ARCH {
            let mut enter = Command::new("unshare");
            enter.args(["--map-root-user", "--root"]).arg(room).arg(format!("/{program}"));
            enter
        } else {
            let mut enter = Command::new(emulator.as_deref().context("an emulator was found")?);
            enter.arg(room.join(program));
            enter
        };
        let output = enter.args(trial.split(' ')).current_dir(room).env_clear().env("HOME", "/").output()?;
        let told = String::from_utf8_lossy(&output.stderr);
        ensure!(output.status.success(), "evenair {trial} fails where nothing else is: {told}");
    }
    for file in WRITTEN {
        ensure!(bytes_of(&room.join(file))? > 0, "evenair wrote an empty {file}");
    }
    Ok(None)
}
