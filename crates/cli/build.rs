//! Tells the program which commit it is built from; nothing, outside of a clone or without git. Finds the playground's simulator.
//!
//! It runs again after a commit or a change of the program's sources: then the program is built again in any case.

use std::path::{Path, PathBuf};
use std::process::Command;

fn main() {
    // Asked for now, not when this script was compiled: a copy of a build folder may come from another place.
    let root = PathBuf::from(std::env::var_os("CARGO_MANIFEST_DIR").expect("cargo sets it")).join("../..");
    // Only a clone of evenair itself, not one that a package of it is unpacked in.
    let commit = if root.join(".git").exists() { commit(&root) } else { None };
    let version = std::env::var("CARGO_PKG_VERSION").expect("cargo sets it");
    let long = commit.as_ref().map_or_else(|| version.clone(), |commit| format!("{version} ({commit})"));
    println!("cargo::rustc-env=EVENAIR_COMMIT={}", commit.unwrap_or_default());
    println!("cargo::rustc-env=EVENAIR_VERSION={long}");
    println!("cargo::rerun-if-changed={}", root.join("crates/cli/build.rs").display());
    println!("cargo::rustc-check-cfg=cfg(has_playground)");
    println!("cargo::rerun-if-env-changed=EVENAIR_WASM");
    if std::env::var_os("CARGO_FEATURE_PLAY").is_some() {
        embed_simulator(&root);
    }
}

/// Names the playground's simulator for the program to embed, where `cargo xtask play` has built it.
fn embed_simulator(root: &Path) {
    let named = std::env::var_os("EVENAIR_WASM").map(PathBuf::from);
    let file = named.unwrap_or_else(|| root.join("target/play/evenair.wasm"));
    println!("cargo::rerun-if-changed={}", file.display());
    if let Ok(file) = file.canonicalize() {
        println!("cargo::rustc-cfg=has_playground");
        println!("cargo::rustc-env=EVENAIR_WASM={}", file.display());
    }
}

/// The commit, with `-dirty` behind it where the program's sources have changed since.
fn commit(root: &Path) -> Option<String> {
    let mut made_of = vec!["Cargo.lock".into(), "Cargo.toml".into(), "scenarios".into(), "studies".into()];
    let crates = std::fs::read_dir(root.join("crates")).ok()?;
    let names = crates.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    made_of.extend(names.filter(|name| name != "agreement").map(|name| format!("crates/{name}/src")));
    // The log of HEAD grows with every commit and every change of branch.
    let heads = ["HEAD", "logs/HEAD"].iter().filter_map(|file| git(root, &["rev-parse", "--git-path", file]));
    for path in heads.chain(made_of.iter().cloned()).map(|path| root.join(path)).filter(|path| path.exists())
    {
        println!("cargo::rerun-if-changed={}", path.display());
    }
    let commit = git(root, &["rev-parse", "HEAD"])?;
    let status: Vec<&str> =
        ["status", "--porcelain", "--"].into_iter().chain(made_of.iter().map(String::as_str)).collect();
    let changes = git(root, &status)?;
    Some(if changes.is_empty() { commit } else { format!("{commit}-dirty") })
}

/// Git's answer; nothing, if it has none.
fn git(root: &Path, arguments: &[&str]) -> Option<String> {
    let output =
        Command::new("git").arg("--no-optional-locks").arg("-C").arg(root).args(arguments).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    output.status.success().then(|| text.trim().to_string())
}
