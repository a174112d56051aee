//! Messages and files of a command.

use crate::terminal;
use anyhow::{Context, Result, ensure};
use clap::Args;
use evenair_laws::backoff::BackoffParams;
use evenair_results::{OutputFile, OutputFolder};
use evenair_scenario::Resolved;
use serde_json::{Map, Value};
use std::io::Write;
use std::path::{Path, PathBuf};

/// Where a result goes.
#[derive(Clone, Debug, Args)]
pub(crate) struct Place {
    /// Write results to this folder (study, sweep and demo: one below evenair-results by default). An earlier result there is
    /// replaced; your own files stay
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) overwrite: Overwrite,
}

/// The treatment of files that evenair did not write.
#[derive(Clone, Copy, Debug, Args)]
pub(crate) struct Overwrite {
    /// Replace files of your own, too; each is kept as NAME.before
    #[arg(long)]
    pub(crate) force: bool,
}

impl Overwrite {
    /// Refuses --force where nothing is written; `how` names the option that writes.
    pub(crate) fn check(self, writes: bool, how: &str) -> Result<()> {
        ensure!(writes || !self.force, "--force has no effect: give {how} with it");
        Ok(())
    }

    /// Tries the place of a single file before anything is computed.
    pub(crate) fn create(self, path: &Path) -> Result<OutputFile> {
        Ok(OutputFile::create(path, self.force)?)
    }

    /// Writes a single file.
    pub(crate) fn write(self, path: &Path, contents: &[u8]) -> Result<()> {
        say_kept(self.create(path)?.fill(contents)?);
        Ok(())
    }

    /// Writes some files, in folders that are made; none, if one of them is in the way.
    pub(crate) fn write_all(self, files: &[(PathBuf, Vec<u8>)]) -> Result<()> {
        let opened = files.iter().map(|(path, _)| {
            let folder = path.parent().unwrap_or(path);
            std::fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
            self.create(path)
        });
        let opened = opened.collect::<Result<Vec<_>>>()?;
        for (file, (_, contents)) in opened.into_iter().zip(files) {
            say_kept(file.fill(contents)?);
        }
        Ok(())
    }
}

/// Says where files are kept that were in the way.
pub(crate) fn say_kept(files: impl IntoIterator<Item = PathBuf>) {
    for kept in files {
        terminal::warn(format_args!("a file there that evenair did not write is kept as {}", kept.display()));
    }
}

impl Place {
    /// Tries the folder that is named, if one is, before anything is computed; `names` are the files that may be written there.
    pub(crate) fn prepare(&self, names: &[&str]) -> Result<Option<OutputFolder>> {
        self.overwrite.check(self.out.is_some(), "--out DIR")?;
        self.prepare_if_any(names)
    }

    /// The same, where a command has files outside of the folder, too, which --force is for.
    pub(crate) fn prepare_if_any(&self, names: &[&str]) -> Result<Option<OutputFolder>> {
        self.out.as_deref().map(|folder| self.prepare_at(folder, names)).transpose()
    }

    /// Tries a folder of a result that has one in any case.
    pub(crate) fn prepare_at(&self, folder: &Path, names: &[&str]) -> Result<OutputFolder> {
        Ok(OutputFolder::prepare(folder, names, self.overwrite.force)?)
    }

    /// The folder that is named, or else this one.
    pub(crate) fn or(&self, default: impl Into<PathBuf>) -> PathBuf {
        self.out.clone().unwrap_or_else(|| default.into())
    }
}

/// Puts a result in place, with its manifest, and names the files that were in its way.
pub(crate) fn finish(output: OutputFolder, manifest: Map<String, Value>) -> Result<()> {
    if let Some(rival) = output.rival()? {
        terminal::warn(rival);
    }
    say_kept(output.finish(manifest)?);
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

pub(crate) fn resolved(scenario: &Resolved) -> Result<String> {
    scenario.to_toml().context("the scenario cannot be written as TOML")
}

/// Prints the warnings of a scenario's reader.
pub(crate) fn warn(scenario: &Resolved) {
    for warning in scenario.warnings() {
        terminal::warn(warning);
    }
}

/// The same of many: each doubt once, and of how many it is.
pub(crate) fn warn_of_all<'a>(scenarios: impl Iterator<Item = &'a Resolved>) {
    let (mut doubts, mut all) = (Vec::<(String, usize)>::new(), 0);
    for scenario in scenarios {
        all += 1;
        for warning in scenario.warnings() {
            match doubts.iter_mut().find(|(known, _)| *known == warning) {
                Some((_, count)) => *count += 1,
                None => doubts.push((warning, 1)),
            }
        }
    }
    for (warning, count) in doubts {
        let of = if count == all { String::new() } else { format!(" (in {count} of {all} scenarios)") };
        terminal::warn(format_args!("{warning}{of}"));
    }
}

/// The drops of a back-off law that the scenario does not name: adaptive back-off drops at its queues.
pub(crate) fn drops_of_backoff(scenario: &Resolved) -> Option<&'static str> {
    let settings = scenario.settings();
    let of_nodes = settings.queues.iter().filter_map(|queue| queue.backoff.as_ref());
    let drops = |law: &BackoffParams| matches!(law, BackoffParams::Adaptive(law) if law.drop);
    std::iter::once(&settings.backoff).chain(of_nodes).any(drops).then_some(
        "adaptive back-off drops arriving packets, too, with its aggressiveness r as probability ([Chen10] section 5.2; \
         backoff.drop = false: only a full queue drops)",
    )
}

/// Names the parts of a scenario that the theory leaves out or reads in a certain way.
pub(crate) fn warn_of_theory(scenario: &Resolved) {
    if let Some(warning) = scenario.conflicts_added() {
        terminal::warn(warning);
    }
    let settings = scenario.settings();
    if settings.gateway.is_some() || settings.source_limit.is_some() {
        terminal::warn("theory has neither gateways nor limited sources: this answer leaves them out");
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
