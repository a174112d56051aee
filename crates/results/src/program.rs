//! The program that made a result: its version, the commit that it was built from, its hash.

use crate::output::SCHEMA_VERSION;
use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};
use std::fs;
use std::path::PathBuf;
use std::sync::{LazyLock, OnceLock};

/// The origin of a result, as its manifest begins: the command line, the program, the machine.
pub fn manifest(command_line: &str) -> Map<String, Value> {
    let Value::Object(manifest) = json!({
        "schema_version": SCHEMA_VERSION,
        "command_line": command_line,
        "evenair": env!("CARGO_PKG_VERSION"),
        "commit": commit(),
        "program_sha256": program_hash(),
        "generator": "xoshiro256++, one stream per (seed, entity, purpose)",
        "machine": format!("{} {}", std::env::consts::OS, std::env::consts::ARCH),
    }) else {
        unreachable!("an object was written")
    };
    manifest
}

/// A program's word of itself, said when it begins.
#[derive(Debug)]
struct Program {
    commit: Option<&'static str>,
    file: Option<PathBuf>,
}

static PROGRAM: OnceLock<Program> = OnceLock::new();

/// Names the commit that the program is built from, as `git describe --always --dirty --abbrev=40` does, and the file that holds this
/// code, where that is not the running program but a library that it has loaded; said before anything runs, and once. Which commit it
/// is only the outermost crate knows, so that a commit costs no more than building that one again.
pub fn program_is(commit: Option<&'static str>, file: Option<PathBuf>) {
    let commit = commit.filter(|commit| !commit.is_empty());
    let _ = PROGRAM.set(Program { commit, file });
}

/// The commit that the program is built from, with `-dirty` behind it where files were changed since; nothing if it was not built from a
/// clone.
pub fn commit() -> Option<&'static str> {
    PROGRAM.get()?.commit
}

/// The version, with the commit in short: `0.1.0 (898a2d7e1f00)`.
pub fn version() -> String {
    let version = env!("CARGO_PKG_VERSION");
    commit().map_or_else(|| version.into(), |commit| format!("{version} ({})", short(commit)))
}

/// Twelve digits of a commit, and whether files were changed since.
fn short(commit: &str) -> String {
    let (hash, dirty) =
        commit.split_once('-').map_or((commit, String::new()), |(hash, dirty)| (hash, format!("-{dirty}")));
    format!("{}{dirty}", hash.get(..12).unwrap_or(hash))
}

/// A hash of the program: another build may simulate something else.
pub fn program_hash() -> &'static str {
    // Megabytes to read, and a reproduction of all studies asks for it at every one.
    static HASH: LazyLock<String> = LazyLock::new(|| {
        let file =
            PROGRAM.get().and_then(|program| program.file.clone()).map_or_else(std::env::current_exe, Ok);
        let program = file.and_then(fs::read).unwrap_or_default();
        format!("{:x}", Sha256::digest(program))
    });
    &HASH
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_commit_is_told_in_short() {
        assert_eq!(short("0123456789abcdef-dirty"), "0123456789ab-dirty");
        assert_eq!(short("0123"), "0123");
        assert!(version().starts_with(env!("CARGO_PKG_VERSION")));
    }
}
