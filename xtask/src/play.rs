//! The playground: the simulator compiled for browsers, and the page beside it, in target/play. The site has both (`docs.rs`), and
//! `evenair play`, where the command is built with the feature `play`.

use crate::run::{cargo_command, root, succeed, target};
use crate::tally::Tally;
use anyhow::{Context, Result, ensure};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Browsers run it without bindings: the module has a C interface and imports nothing.
const TARGET: &str = "wasm32-unknown-unknown";
/// The most that a browser is to load, compressed \[bytes\].
const COMPRESSED_MAX: usize = 2_500_000;

/// Builds the playground; the tests of the command compare a run in Chromium with one of its own.
pub(crate) fn run() -> Result<Tally> {
    let Some(folder) = build()? else {
        return Ok(Tally::lacks("the browsers' target", format!("no target {TARGET}")));
    };
    println!("the playground: {}", folder.display());
    Ok(Tally::passed())
}

/// Builds the playground; its folder, or none without the target.
pub(crate) fn build() -> Result<Option<PathBuf>> {
    let folder = target().join("play");
    place_page(&folder)?;
    let installed =
        Command::new("rustup").args(["target", "list", "--installed"]).output().context("rustup")?;
    if !String::from_utf8_lossy(&installed.stdout).lines().any(|line| line == TARGET) {
        return Ok(None);
    }
    let mut cargo = cargo_command();
    cargo.args(["rustc", "--quiet", "--locked", "--profile", "wasm", "--package", "evenair-wasm", "--lib"]);
    succeed(cargo.args(["--crate-type", "cdylib", "--target", TARGET]))?;
    let built = target().join(TARGET).join("wasm/evenair_wasm.wasm");
    let place = folder.join("evenair.wasm");
    fs::copy(&built, &place).with_context(|| built.display().to_string())?;
    let size = fs::metadata(&place)?.len();
    if let Some(compressed) = compressed(&place) {
        println!("evenair.wasm: {:.2} MB, {:.2} MB compressed", size as f64 / 1e6, compressed as f64 / 1e6);
        ensure!(compressed < COMPRESSED_MAX, "evenair.wasm is more than {COMPRESSED_MAX} bytes compressed");
    }
    Ok(Some(folder))
}

/// Puts the page in place, alone.
fn place_page(folder: &Path) -> Result<()> {
    if folder.exists() {
        fs::remove_dir_all(folder).with_context(|| folder.display().to_string())?;
    }
    fs::create_dir_all(folder)?;
    for entry in fs::read_dir(root().join("crates/wasm/page"))? {
        let file = entry?.path();
        fs::copy(&file, folder.join(file.file_name().context("a file has a name")?))?;
    }
    Ok(())
}

/// The size of a file as servers send it \[bytes\]; none without gzip.
fn compressed(file: &Path) -> Option<usize> {
    let output = Command::new("gzip").args(["-9", "-c"]).arg(file).output().ok()?;
    output.status.success().then_some(output.stdout.len())
}
