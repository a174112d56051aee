//! Faults put into the code, one at a time, by cargo-mutants: the tests of its crate have to find each.
//!
//! All of them take days, so that each run takes a share, another one each day. Faults that change nothing a test could see are listed in
//! `validation/mutants/` with the reason.
//!
//! Faults are put into a copy of the tree below `target`, which the runs keep: cargo builds again only the changed crates.

use crate::run::{cargo_command, git, root, succeeds, target};
use crate::tally::Tally;
use anyhow::{Context, Result, ensure};
use serde::Deserialize;
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

/// Of so many shares one is tried: some 25 faults of 9 800.
const SHARES: u64 = 400;

/// Where faults are put, and the unit tests that have to find them.
struct Subject {
    package: &'static str,
    files: &'static [&'static str],
    /// Names of tests begin so; all, if there is none.
    tests: &'static [&'static str],
}

const SUBJECTS: [Subject; 7] = [
    Subject { package: "evenair-laws", files: &["crates/laws/src/**"], tests: &[] },
    Subject { package: "evenair-tcp", files: &["crates/tcp/src/**"], tests: &[] },
    Subject { package: "evenair-wifi", files: &["crates/wifi/src/**"], tests: &[] },
    Subject { package: "evenair-netsim", files: &["crates/netsim/src/queue/**"], tests: &["queue::"] },
    Subject {
        package: "evenair-linux",
        files: &[
            "crates/linux/src/netlink.rs",
            "crates/linux/src/netlink/**",
            "crates/linux/src/tc*",
            "crates/linux/src/tc/**",
            "crates/linux/src/nft*",
            "crates/linux/src/nft/**",
        ],
        tests: &[],
    },
    Subject {
        package: "evenair-multiconn",
        files: &[
            "crates/multiconn/src/core*",
            "crates/multiconn/src/core/**",
            "crates/multiconn/src/frame.rs",
        ],
        tests: &["core::", "frame::"],
    },
    Subject {
        package: "evenair-optimum",
        files: &["crates/optimum/src/problem/certificate.rs"],
        tests: &["problem::certificate::"],
    },
];

/// A fault that no test can see.
#[derive(Deserialize)]
struct Equivalent {
    name: String,
    reason: String,
}

#[derive(Default, Deserialize)]
struct List {
    #[serde(default, rename = "mutant")]
    mutants: Vec<Equivalent>,
}

pub(crate) fn run() -> Result<Tally> {
    if !succeeds(cargo_command().args(["mutants", "--version"])) {
        return Ok(Tally::lacks("cargo-mutants", "no fault is tried"));
    }
    let tree = target().join("mutants").join("tree");
    copy_tree(&tree)?;
    let known = equivalent()?;
    let day = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_secs() / 86_400);
    let share = format!("{}/{SHARES}", day % SHARES);
    println!("share {share} of all faults");
    let mut tally = Tally::default();
    tally.failed.extend(stale(&known, &tree)?);
    for subject in &SUBJECTS {
        try_faults(subject, &share, &tree, &known, &mut tally)?;
    }
    Ok(tally)
}

/// Tries a share of the faults of a subject.
fn try_faults(
    subject: &Subject,
    share: &str,
    tree: &Path,
    known: &BTreeSet<String>,
    tally: &mut Tally,
) -> Result<()> {
    let Subject { package, files, tests } = subject;
    let folder = target().join("mutants").join(package);
    fs::create_dir_all(&folder)?;
    // The time that tests may take follows from that of the unchanged tree: on a busy machine a fixed one would take all faults for
    // found. Foreign crates are those of other builds.
    let mut mutants = cargo_command();
    mutants.env("CARGO_TARGET_DIR", target()).env("CARGO_PROFILE_DEV_DEBUG", "false");
    mutants.args(["mutants", "--in-place", "--package", package, "--shard", share]);
    mutants.args(["--sharding", "round-robin", "--colors=never", "--dir"]).arg(tree);
    mutants.args(files.iter().flat_map(|file| ["--file", file])).arg("--output").arg(&folder);
    mutants.args(["--", "--lib", "--"]).args(*tests);
    let status = mutants.status().context("cargo mutants")?;
    // 2 and 3: some were missed, or took too long.
    ensure!(matches!(status.code(), Some(0 | 2 | 3)), "cargo mutants fails on {package}");
    let read = |file: &str| fs::read_to_string(folder.join("mutants.out").join(file)).unwrap_or_default();
    tally.passed += read("caught.txt").lines().count() + read("timeout.txt").lines().count();
    for line in read("missed.txt").lines() {
        if known.contains(&without_place(line)) {
            tally.passed += 1;
        } else {
            tally.failed.push(format!("no test finds: {line}"));
        }
    }
    Ok(())
}

/// Brings the copy of the tree up to date. Files that are the same keep their times, by which cargo tells what to build.
fn copy_tree(tree: &Path) -> Result<()> {
    // Those that git has, or would add.
    let listed = git(&["ls-files", "--cached", "--others", "--exclude-standard"])?;
    let listed: BTreeSet<PathBuf> = listed.lines().map(PathBuf::from).collect();
    for file in &listed {
        let (from, to) = (root().join(file), tree.join(file));
        let Ok(text) = fs::read(&from) else { continue }; // a link, or deleted
        if fs::read(&to).is_ok_and(|there| there == text) {
            continue;
        }
        fs::create_dir_all(to.parent().context("a file lies in a folder")?)?;
        fs::write(&to, text).with_context(|| to.display().to_string())?;
    }
    let mut folders = vec![tree.join("crates"), tree.join("xtask"), tree.join("benches")];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).with_context(|| folder.display().to_string())? {
            let path = entry?.path();
            let file = path.strip_prefix(tree).expect("it lies in the copy").to_path_buf();
            if path.is_dir() {
                folders.push(path);
            } else if !listed.contains(&file) || !root().join(&file).exists() {
                fs::remove_file(&path).with_context(|| path.display().to_string())?;
            }
        }
    }
    Ok(())
}

/// Listed faults that do not exist: their code has moved, so that the reason may not hold.
fn stale(known: &BTreeSet<String>, tree: &Path) -> Result<Vec<String>> {
    let mut list = cargo_command();
    list.args(["mutants", "--list", "--colors=never", "--dir"]).arg(tree);
    list.args(SUBJECTS.iter().flat_map(|subject| ["--package", subject.package]));
    let listed = list.output().context("cargo mutants --list")?;
    ensure!(listed.status.success(), "cargo mutants --list fails");
    let there: BTreeSet<String> =
        String::from_utf8_lossy(&listed.stdout).lines().map(without_place).collect();
    let gone = known.iter().filter(|name| !there.contains(*name));
    Ok(gone.map(|name| format!("validation/mutants lists a fault that there is not: {name}")).collect())
}

fn equivalent() -> Result<BTreeSet<String>> {
    let mut known = BTreeSet::new();
    for entry in fs::read_dir(root().join("validation/mutants")).context("validation/mutants")? {
        let path = entry?.path();
        if path.extension().is_some_and(|ending| ending == "toml") {
            let list: List =
                toml::from_str(&fs::read_to_string(&path)?).with_context(|| path.display().to_string())?;
            for mutant in list.mutants {
                ensure!(
                    !mutant.reason.trim().is_empty(),
                    "{}: {} has no reason",
                    path.display(),
                    mutant.name
                );
                known.insert(mutant.name);
            }
        }
    }
    Ok(known)
}

/// A mutant's name without the line and column, which move: "crates/x.rs:10:5: replace a" becomes "crates/x.rs: replace a".
fn without_place(line: &str) -> String {
    let mut fields = line.splitn(4, ':');
    match (fields.next(), fields.next(), fields.next(), fields.next()) {
        (Some(file), Some(_), Some(_), Some(what)) => format!("{file}:{what}"),
        _ => line.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_stay_when_lines_move() {
        let line = "crates/tcp/src/sender.rs:10:5: replace > with >= in Sender::poll_transmit";
        assert_eq!(
            without_place(line),
            "crates/tcp/src/sender.rs: replace > with >= in Sender::poll_transmit"
        );
    }
}
