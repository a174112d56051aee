//! A fault of the compiler, and that nothing here meets it.
//!
//! rustc 1.88 to 1.96 can lose a comparison (rust-lang/rust 158206; its pass `SimplifyComparisonIntegral`). A
//! function is affected if it compares with a constant, uses the answer (counts it, stores it), returns it,
//! and is inlined where the answer is branched on. Then the branch is right and the counted or stored value
//! is not. The release build once sent no transfer by it:
//!
//! ```text
//! let takes = self.state == State::Established;
//! self.supplied += u32::from(takes); // lost
//! takes
//! ```
//!
//! The pass's input shows it: a block that has read a comparison's answer and ends in a branch on that
//! answer, moved. So the whole release build, dependencies too, is compiled once more with this input
//! printed, and the output is searched. `docs/dependencies.md` explains why the least Rust is one that has
//! the fault.

use crate::run::{cargo_command, root, succeed};
use crate::tally::Tally;
use anyhow::{Context, Result, bail};
use std::fs;
use std::process::Command;

const PASS: &str = "SimplifyComparisonIntegral";
/// The minor versions of Rust that have the fault.
const FAULTY: std::ops::RangeInclusive<u32> = 88..=96;

pub(crate) fn run() -> Result<Tally> {
    let version = Command::new("rustc").arg("--version").output().context("rustc --version")?;
    let version = String::from_utf8_lossy(&version.stdout).into_owned();
    if !minor(&version).is_some_and(|minor| FAULTY.contains(&minor)) {
        println!("{} does not have the fault", version.trim());
        return Ok(Tally::passed());
    }
    let dump = tempfile::tempdir()?;
    let flags = format!("-Zdump-mir={PASS} -Zdump-mir-dir={}", dump.path().display());
    succeed(
        cargo_command()
            .args(["build", "--quiet", "--release", "--locked", "--all-features"])
            .args(["--package", "evenair-cli", "--package", "evenair-python", "--target-dir"])
            .arg(root().join("target/compiler"))
            .env("RUSTC_BOOTSTRAP", "1") // the flags are the compiler's own, for its developers
            .env("RUSTFLAGS", flags),
    )?;
    fs::remove_dir_all(root().join("target/compiler"))?; // or the next look would find nothing compiled
    let (mut looked, mut findings) = (0, 0);
    for entry in fs::read_dir(dump.path())? {
        let path = entry?.path();
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        if !name.ends_with(".before.mir") {
            continue;
        }
        looked += 1;
        for comparison in lost(&String::from_utf8_lossy(&fs::read(&path)?)) {
            let function = name.split(".3-").next().unwrap_or(name);
            println!("compiler: {function}: its answer is used, returned and branched on: {comparison}");
            findings += 1;
        }
    }
    if looked < 1000 {
        bail!("the compiler printed {looked} functions only: the flags must have changed");
    }
    if findings > 0 {
        bail!("{findings} findings in {looked} functions");
    }
    Ok(Tally::passed())
}

/// Of "rustc 1.95.0 (…)".
fn minor(version: &str) -> Option<u32> {
    version.strip_prefix("rustc 1.")?.split('.').next()?.parse().ok()
}

/// The comparisons of a function, as the compiler writes it, that the pass would lose.
fn lost(function: &str) -> Vec<&str> {
    function.split("\n    bb").skip(1).filter_map(lost_in_block).collect()
}

fn lost_in_block(block: &str) -> Option<&str> {
    let (_label, statements) = block.split_once('{')?;
    let (before, branch) = statements.split_once("switchInt(move ")?;
    let (answer, _) = branch.split_once(')')?;
    let statements: Vec<&str> = before.split(';').map(str::trim).collect();
    let is_comparison = |statement: &&str| {
        statement.strip_prefix(answer).is_some_and(|rest| {
            (rest.starts_with(" = Eq(") || rest.starts_with(" = Ne(")) && rest.contains("const ")
        })
    };
    let at = statements.iter().rposition(is_comparison)?;
    let reads = |statement: &str| {
        ["copy ", "move "].iter().any(|how| {
            statement.match_indices(&format!("{how}{answer}")).any(|(start, found)| {
                !statement[start + found.len()..].starts_with(|c: char| c.is_ascii_digit())
            })
        })
    };
    statements[at + 1..].iter().copied().any(reads).then(|| statements[at])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answer_that_is_read_before_its_branch_is_lost() {
        let block = |between: &str| {
            format!(
                "fn f() {{\n    bb1: {{\n        _4 = Eq(copy _7, const 1_isize);\n        {between}        switchInt(move _4) -> [0: bb3, otherwise: bb2];\n    }}\n}}"
            )
        };
        assert_eq!(lost(&block("_6 = copy _4 as u32 (IntToInt);\n")), ["_4 = Eq(copy _7, const 1_isize)"]);
        assert_eq!(lost(&block("((*_1).2: bool) = copy _4;\n")).len(), 1);
        assert!(lost(&block("")).is_empty());
        assert!(lost(&block("_6 = copy _41;\nStorageDead(_4);\n")).is_empty());
        assert!(lost("bb1: {\n switchInt(copy _4)").is_empty());
    }

    #[test]
    fn versions_are_read() {
        assert_eq!(minor("rustc 1.95.0 (59807616e 2026-04-14)"), Some(95));
        assert_eq!(minor("something else"), None);
    }
}
