//! The tests of changed code: for work on one crate.

use crate::metadata::Metadata;
use crate::run::root;
use crate::suite::{PACKETS, Suite};
use crate::tally::Tally;
use anyhow::{Context, Result, ensure};
use std::collections::BTreeSet;
use std::process::Command;

/// Tests the crates of theory and packets in which something has changed since a commit, committed or not, and all above them.
pub(crate) fn run(since: &str) -> Result<Tally> {
    let mut files = git(&["diff", "--name-only", since])?;
    files.extend(git(&["ls-files", "--others", "--exclude-standard"])?);
    let metadata = Metadata::of_workspace()?;
    let everything = metadata.packages.iter().map(|package| package.name.clone()).collect();
    let folders = metadata.closure(&everything, true)?;
    let is_in =
        |file: &String| folders.iter().find(|(_, folder)| std::path::Path::new(file).starts_with(folder));
    let changed: BTreeSet<String> = files.iter().filter_map(is_in).map(|(name, _)| name.clone()).collect();
    let above: BTreeSet<String> = metadata.closure(&changed, true)?.into_keys().collect();
    if !above.iter().any(|name| PACKETS.contains(&name.as_str())) {
        println!("no crate of theory and packets has changed since {since}");
        return Ok(Tally::default());
    }
    println!("changed: {}", changed.into_iter().collect::<Vec<_>>().join(", "));
    Suite::of(&above).run()
}

fn git(words: &[&str]) -> Result<Vec<String>> {
    let output = Command::new("git").args(words).current_dir(root()).output().context("git")?;
    ensure!(output.status.success(), "git {}: {}", words.join(" "), String::from_utf8_lossy(&output.stderr));
    Ok(String::from_utf8(output.stdout)?.lines().map(String::from).collect())
}
