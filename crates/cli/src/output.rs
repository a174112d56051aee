//! What is said and what is written.

use crate::terminal;
use anyhow::{Context, Result};
use clap::Args;
use evenair_scenario::Resolved;
use evenair_study::{OutputFolder, SCHEMA_VERSION};
use serde_json::{Map, Value, json};
use std::fmt::Display;
use std::io::Write;
use std::path::Path;

/// What goes with every `--out`.
#[derive(Clone, Copy, Debug, Args)]
pub(crate) struct Force {
    /// Take a folder for --out that is not empty and holds no result of evenair's; what is in it is kept
    #[arg(long, requires = "out")]
    pub(crate) force: bool,
}

impl Force {
    /// Tries a folder before anything is computed.
    pub(crate) fn prepare(self, folder: &Path) -> Result<OutputFolder> {
        Ok(OutputFolder::prepare(folder, self.force)?)
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

/// A JSON document of a command, as all of them begin.
pub(crate) fn document(command: &str, content: Value) -> Value {
    let mut document = json!({ "schema_version": SCHEMA_VERSION, "command": command });
    let Value::Object(content) = content else { unreachable!("documents are objects") };
    document.as_object_mut().expect("so is this").extend(content);
    document
}

pub(crate) fn write_file(path: &Path, contents: &str) -> Result<()> {
    std::fs::write(path, contents).with_context(|| format!("cannot write {}", path.display()))
}

pub(crate) fn resolved(scenario: &Resolved) -> Result<String> {
    scenario.to_toml().context("the scenario cannot be written as TOML")
}

/// So many of something: `1 study`, `2 studies`.
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
