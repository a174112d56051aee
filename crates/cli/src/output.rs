//! Messages and files of a command.

use crate::terminal;
use anyhow::{Context, Result, ensure};
use clap::Args;
use evenair_results::OutputFolder;
use evenair_scenario::Resolved;
use serde_json::{Map, Value};
use std::fmt::Display;
use std::io::Write;
use std::path::{Path, PathBuf};

/// Where a result goes.
#[derive(Clone, Debug, Args)]
pub(crate) struct Place {
    /// The folder of the result, with what is said below; study, sweep and demo have one below evenair-results if none is named. The
    /// result that DIR had before goes, files of your own stay
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    /// Write the result though files of your own in its folder have names of its files; they are kept as NAME.before
    #[arg(long)]
    force: bool,
}

impl Place {
    /// Tries the folder that is named, if one is, before anything is computed; `names` are the files that may be written there.
    pub(crate) fn prepare(&self, names: &[&str]) -> Result<Option<OutputFolder>> {
        ensure!(!self.force || self.out.is_some(), "--force has no effect: say --out DIR with it");
        self.out.as_deref().map(|folder| self.prepare_at(folder, names)).transpose()
    }

    /// Tries a folder of a result that has one in any case.
    pub(crate) fn prepare_at(&self, folder: &Path, names: &[&str]) -> Result<OutputFolder> {
        Ok(OutputFolder::prepare(folder, names, self.force)?)
    }

    /// The folder that is named, or else this one.
    pub(crate) fn or(&self, default: impl Into<PathBuf>) -> PathBuf {
        self.out.clone().unwrap_or_else(|| default.into())
    }
}

/// Puts a result in place, with its manifest, and says what was in its way.
pub(crate) fn finish(output: OutputFolder, manifest: Map<String, Value>) -> Result<()> {
    for kept in output.finish(manifest)? {
        terminal::warn(format_args!("what evenair had not written there is kept as {}", kept.display()));
    }
    Ok(())
}

/// How this process was called, as a shell would take it.
pub(crate) fn command_line() -> String {
    let words = std::env::args().skip(1).map(|word| shell_word(&word));
    std::iter::once("evenair".to_string()).chain(words).collect::<Vec<_>>().join(" ")
}

/// A word as a shell takes it, in quotes where it needs them.
pub(crate) fn shell_word(word: &str) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || "-_./,:=+@%".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        return word.into();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

pub(crate) fn print(text: &str) -> Result<()> {
    Ok(anstream::stdout().lock().write_all(text.as_bytes())?)
}

pub(crate) fn write_file(path: &Path, contents: &str) -> Result<()> {
    std::fs::write(path, contents).with_context(|| format!("cannot write {}", path.display()))
}

pub(crate) fn resolved(scenario: &Resolved) -> Result<String> {
    scenario.to_toml().context("the scenario cannot be written as TOML")
}

/// A count with its noun: `1 study`, `2 studies`.
pub(crate) fn counted<N: Copy + Display + PartialEq + From<u8>>(count: N, one: &str, many: &str) -> String {
    let word = if count == N::from(1) { one } else { many };
    format!("{count} {word}")
}

/// Says what a scenario's reader is in doubt about.
pub(crate) fn warn(scenario: &Resolved) {
    for warning in scenario.warnings() {
        terminal::warn(warning);
    }
}

/// Says what the theory leaves out of a scenario.
pub(crate) fn warn_of_shapers(scenario: &Resolved) {
    let settings = scenario.settings();
    if settings.gateway.is_some() || settings.source_limit.is_some() {
        terminal::warn(
            "the theory knows neither gateways nor limited sources; it says what is so without them",
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_quoted_as_a_shell_needs_it() {
        assert_eq!(shell_word("mac.data_rate=2"), "mac.data_rate=2");
        assert_eq!(shell_word("duration=5 s"), "'duration=5 s'");
        assert_eq!(shell_word("it's"), r"'it'\''s'");
        assert_eq!(shell_word(""), "''");
    }
}
