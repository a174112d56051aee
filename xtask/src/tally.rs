//! Counts of tests passed, failed and skipped, and the lines at the end of a run.

use evenair_needs::{Missing, remedy};
use std::collections::BTreeMap;
use std::fmt::{Display, Write as _};
use std::time::Duration;

/// How many of the slowest tests are named.
const SLOWEST: usize = 5;

/// Something that was not tried, because the machine lacks something.
#[derive(Debug)]
pub(crate) struct Skip {
    /// The test, or the part of `cargo xtask test`.
    pub(crate) what: String,
    /// An entry of `evenair_needs::NEEDS`.
    pub(crate) need: String,
    pub(crate) details: String,
    /// Of a test that is not whole the rest was tried.
    pub(crate) is_whole: bool,
}

/// How tests ended.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    pub(crate) passed: usize,
    pub(crate) skipped: usize,
    pub(crate) failed: Vec<String>,
    pub(crate) skips: Vec<Skip>,
    pub(crate) times: Vec<(String, Duration)>,
}

impl Tally {
    /// A check that passed.
    pub(crate) fn passed() -> Self {
        Self { passed: 1, ..Self::default() }
    }

    /// A check that this machine cannot make.
    pub(crate) fn lacks(need: &'static str, details: impl Display) -> Self {
        Self::skipped(&[Missing::new(need, details)], true)
    }

    /// A check that this machine can make but for a part.
    pub(crate) fn lacks_for_a_part(need: &'static str, details: impl Display) -> Self {
        Self::skipped(&[Missing::new(need, details)], false)
    }

    /// A check for which something is missing: for the whole of it or for parts; if nothing is, it passed.
    pub(crate) fn skipped(missing: &[Missing], is_whole: bool) -> Self {
        let skip = |one: &Missing| Skip {
            what: String::new(),
            need: one.need.into(),
            details: one.details.clone(),
            is_whole,
        };
        let (passed, skipped) = if is_whole { (0, 1) } else { (1, 0) };
        Self { passed, skipped, skips: missing.iter().map(skip).collect(), ..Self::default() }
    }

    /// Names the part of skips without a name.
    pub(crate) fn of(mut self, part: &str) -> Self {
        self.skips.iter_mut().filter(|skip| skip.what.is_empty()).for_each(|skip| skip.what = part.into());
        self
    }

    pub(crate) fn failed(part: &str) -> Self {
        Self { failed: vec![part.into()], ..Self::default() }
    }

    pub(crate) fn count(&self) -> usize {
        self.passed + self.skipped + self.failed.len()
    }

    pub(crate) fn add(&mut self, other: Self) {
        self.passed += other.passed;
        self.skipped += other.skipped;
        self.failed.extend(other.failed);
        self.skips.extend(other.skips);
        self.times.extend(other.times);
    }

    /// "812 passed, 0 failed, 3 skipped", the form that other tools read.
    pub(crate) fn line(&self) -> String {
        format!("{} passed, {} failed, {} skipped", self.passed, self.failed.len(), self.skipped)
    }

    /// Each thing that the machine lacks, with the tests that need it and its remedy; each failure.
    pub(crate) fn details(&self) -> String {
        let mut text = String::new();
        let mut needs: BTreeMap<&str, Vec<&Skip>> = BTreeMap::new();
        self.skips.iter().for_each(|skip| needs.entry(&skip.need).or_default().push(skip));
        for (need, skips) in needs {
            let (whole, parts) = (skips.iter().filter(|skip| skip.is_whole).count(), skips.len());
            let count = match (whole, parts - whole) {
                (whole, 0) => format!("{whole}"),
                (0, parts) => format!("parts of {parts}"),
                (whole, parts) => format!("{whole}, and parts of {parts}"),
            };
            let _ = writeln!(text, "skipped {count} for lack of {need}: {}", remedy(need));
            let _ = writeln!(text, "    such as {}: {}", skips[0].what, skips[0].details);
        }
        for name in &self.failed {
            let _ = writeln!(text, "FAILED {name}");
        }
        text
    }

    /// The tests that took longest.
    pub(crate) fn slowest(&self) -> String {
        let mut times: Vec<&(String, Duration)> = self.times.iter().collect();
        times.sort_by_key(|(_, time)| std::cmp::Reverse(*time));
        let line = |(name, time): &&(String, Duration)| format!("{:8.1} s  {name}\n", time.as_secs_f64());
        times.iter().take(SLOWEST).map(line).collect()
    }

    /// Skips of needs that this machine should have: all but those given.
    pub(crate) fn unexpected(&self, may_lack: &[String]) -> Vec<&Skip> {
        self.skips.iter().filter(|skip| !may_lack.contains(&skip.need)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_skip_is_no_pass() {
        let mut tally = Tally::passed();
        tally.add(Tally::lacks("nft", "not installed"));
        tally.add(Tally::lacks_for_a_part("ping", "not installed"));
        tally.add(Tally::failed("docs"));
        assert_eq!(tally.line(), "2 passed, 1 failed, 1 skipped");
        let details = tally.details();
        assert!(details.contains("skipped 1 for lack of nft: apt install nftables\n"), "{details}");
        assert!(details.contains("skipped parts of 1 for lack of ping"), "{details}");
        assert!(details.ends_with("FAILED docs\n"), "{details}");
        assert_eq!(tally.unexpected(&["ping".into()]).len(), 1);
    }
}
