//! Measurements of full runs, kept as files beside each other, one for each study.

use anyhow::{Context, Error, Result, bail};
use evenair_study::verdicts::{Record, digests};
use evenair_study::{Outcome, Study};
use evenair_units::plain_message;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

/// A folder of records, of one program and one day.
pub(crate) struct Recorder {
    folder: PathBuf,
    commit: &'static str,
    date: String,
}

impl Recorder {
    /// Refuses, before anything runs, a program that does not have its commit.
    pub(crate) fn new(folder: &Path) -> Result<Self> {
        let commit = match evenair_results::commit() {
            Some(commit) if !commit.contains("-dirty") => commit,
            Some(_) => bail!(
                "--record names the commit of the program, and this was built with changes: commit and build first"
            ),
            None => bail!("--record names the commit of the program, and this was not built from a clone"),
        };
        let now =
            SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).context("the clock is before 1970")?;
        Ok(Self { folder: folder.into(), commit, date: date(now) })
    }

    /// Keeps the measurements of a study's runs, which took so long, in the place of an earlier record.
    pub(crate) fn keep(&self, outcome: &Outcome, command: &str, took: Duration) -> Result<()> {
        let variants = digests(&outcome.study)?;
        let seconds = (took.as_secs_f64() * 10.0).round() / 10.0;
        let record = Record::of(outcome, variants, [command, self.commit, &self.date], Some(seconds));
        self.read(&outcome.study.id)?;
        let path = self.path(&outcome.study.id);
        let told = || told(&path);
        fs::create_dir_all(path.parent().unwrap_or(&self.folder)).with_context(told)?;
        fs::write(&path, record.to_json()).with_context(told)
    }

    /// Whether a study's record is missing or of other runs than it would make at present, and that record.
    pub(crate) fn is_due(&self, study: &Study) -> Result<(bool, Option<Record>)> {
        let Some(record) = self.read(&study.id)? else { return Ok((true, None)) };
        let due = record.is_due(study, &digests(study)?);
        Ok((due, Some(record)))
    }

    fn path(&self, study: &str) -> PathBuf {
        self.folder.join(study).with_extension("json")
    }

    /// The record of a study, if there is any.
    fn read(&self, study: &str) -> Result<Option<Record>> {
        let path = self.path(study);
        if !path.exists() {
            return Ok(None);
        }
        let text = fs::read_to_string(&path).with_context(|| told(&path))?;
        let read = serde_json::from_str(&text).map_err(|error| Error::msg(plain_message(&error.to_string())));
        read.with_context(|| told(&path)).context("the file there is no record").map(Some)
    }
}

fn told(path: &Path) -> String {
    format!("--record {}", path.display())
}

/// The day in UTC of so much time since 1970, by a calendar with years that begin in March, so that leap days come
/// last.
fn date(since_1970: Duration) -> String {
    const DAYS_OF_400_YEARS: u64 = 146_097;
    let days = since_1970.as_secs() / 86_400 + 719_468; // since the first of March of the year 0
    let (era, day) = (days / DAYS_OF_400_YEARS, days % DAYS_OF_400_YEARS);
    let year = (day - day / 1_460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let day = day - (153 * month + 2) / 5 + 1;
    let (month, later) = if month < 10 { (month + 3, 0) } else { (month - 9, 1) };
    format!("{:04}-{month:02}-{day:02}", era * 400 + year + later)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_are_those_of_the_calendar() {
        for (days, expected) in [
            (0, "1970-01-01"),
            (59, "1970-03-01"),
            (11_016, "2000-02-29"),
            (14_852, "2010-08-31"),
            (19_782, "2024-02-29"),
            (19_783, "2024-03-01"),
            (20_819, "2027-01-01"),
        ] {
            assert_eq!(date(Duration::from_secs(days * 86_400 + 86_399)), expected);
        }
    }
}
