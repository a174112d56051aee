//! Records which of the parts that do not always run passed last, and on which sources.
//!
//! `xtask/passed.toml` is part of the repository: a line for each part, a digest of the compiler's version
//! and of all files that concern it. While the digest is the same, the part would give the same result.

use crate::parts::Part;
use crate::run::root;
use crate::suite::stands_on;
use anyhow::{Context, Result, bail};
use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::process::{Command, Stdio};

const FILE: &str = "xtask/passed.toml";
const HEAD: &str = "# Written by `cargo xtask test --due`, `--all` and `--everything`: the sources with which each part passed (xtask/src/passed.rs).\n";

pub(crate) struct Passed(BTreeMap<String, String>);

impl Passed {
    pub(crate) fn read() -> Result<Self> {
        let text = fs::read_to_string(root().join(FILE)).unwrap_or_default();
        Ok(Self(toml::from_str(&text).context(FILE)?))
    }

    /// Whether a file that concerns a part has changed since it passed; true where git cannot tell.
    pub(crate) fn is_due(&self, part: &Part) -> Result<bool> {
        let Some(now) = digest(part)? else { return Ok(true) };
        Ok(self.0.get(part.name) != Some(&now))
    }

    pub(crate) fn remember(&mut self, part: &Part) -> Result<()> {
        let Some(now) = digest(part)? else { return Ok(()) };
        self.0.insert(part.name.into(), now);
        fs::write(root().join(FILE), HEAD.to_string() + &toml::to_string(&self.0)?).context(FILE)
    }
}

/// Of the files as they lie there, whether they are committed or not.
fn digest(part: &Part) -> Result<Option<String>> {
    let files = Command::new("git")
        .args(["ls-files", "--cached", "--others", "--exclude-standard", "--"])
        .args(part.concerns)
        .args(stands_on(part.packages)?)
        .current_dir(root())
        .output();
    let Some(files) = files.ok().filter(|listed| listed.status.success()) else { return Ok(None) };
    let files = String::from_utf8(files.stdout).context("names of files")?;
    let there: Vec<&str> = files.lines().filter(|file| root().join(file).is_file()).collect();
    let each = git_hash(&["--stdin-paths"], &(there.join("\n") + "\n"))?;
    let compiler = Command::new("rustc").arg("--version").output().context("rustc --version")?;
    let compiler = String::from_utf8_lossy(&compiler.stdout).into_owned();
    git_hash(&["--stdin"], &(there.join("\n") + &each + &compiler)).map(|hash| Some(hash.trim().into()))
}

fn git_hash(arguments: &[&str], input: &str) -> Result<String> {
    let mut child = Command::new("git")
        .arg("hash-object")
        .args(arguments)
        .current_dir(root())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()?;
    let mut pipe = child.stdin.take().context("stdin or stdout is piped")?;
    let input = input.to_string();
    let writer = std::thread::spawn(move || pipe.write_all(input.as_bytes()));
    let output = child.wait_with_output()?;
    writer.join().expect("writing does not panic")?;
    if !output.status.success() {
        bail!("git hash-object failed");
    }
    Ok(String::from_utf8(output.stdout)?)
}
