//! Records that a test was skipped, for `cargo xtask test` to count.
//!
//! libtest has only two outcomes of a test, and captures its output. A skip is therefore a line in a
//! file that the runner names. Without a runner it is a line on the standard error, past libtest.

use std::fmt::{self, Display};
use std::fs::{self, OpenOptions};
use std::io::Write as _;
use std::path::PathBuf;

/// The variable that names the file for the skips of a test. A line has three fields between tabs: the
/// effect (`test` or `part`), the need, details.
pub const SKIPS: &str = "EVENAIR_SKIPS";

/// The variable that names a folder for facts about the machine, which the tests of a run share.
pub const FOLDER: &str = "EVENAIR_TESTS";

/// The first field of a line: the skipped unit.
pub const EFFECT: [&str; 2] = ["test", "part"];

/// A need that the machine lacks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Missing {
    /// The name of an entry of [`crate::NEEDS`].
    pub need: &'static str,
    /// The attempt and its result.
    pub details: String,
}

impl Missing {
    /// Returns a need of the list with details.
    ///
    /// # Panics
    /// If the list has no such need.
    pub fn new(need: &'static str, details: impl Display) -> Self {
        assert!(!crate::remedy(need).is_empty(), "NEEDS lacks \"{need}\"");
        Self { need, details: details.to_string() }
    }

    /// Counts the calling test as skipped for this need; the caller returns.
    pub fn skip(&self) {
        skip(self.need, &self.details);
    }
}

impl Display for Missing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.need, self.details)
    }
}

/// Counts the calling test as skipped, because the machine lacks an entry of [`crate::NEEDS`]; the caller returns.
pub fn skip(need: &'static str, details: impl Display) {
    record(EFFECT[0], &Missing::new(need, details));
}

/// Counts a part of the calling test as skipped; the rest of it counts as run.
pub fn skip_part(need: &'static str, details: impl Display) {
    record(EFFECT[1], &Missing::new(need, details));
}

fn record(effect: &str, missing: &Missing) {
    let details = missing.details.split_whitespace().collect::<Vec<_>>().join(" ");
    let written = if let Some(file) = std::env::var_os(SKIPS) {
        let line = format!("{effect}\t{}\t{details}\n", missing.need);
        let file = OpenOptions::new().create(true).append(true).open(file);
        file.and_then(|mut file| file.write_all(line.as_bytes()))
    } else {
        let thread = std::thread::current();
        let test = thread.name().unwrap_or("a test");
        let line = format!("skipped {test}: {}: {details} ({})\n", missing.need, crate::remedy(missing.need));
        // eprintln! would be captured by libtest.
        std::io::stderr().write_all(line.as_bytes())
    };
    written.expect("a skip can be recorded");
}

/// Runs a probe once in a run of `cargo xtask test`, which has a process for each test; later calls
/// return the saved result.
///
/// # Errors
/// Those of the probe.
pub fn once(name: &str, probe: impl FnOnce() -> Result<String, String>) -> Result<String, String> {
    let Some(folder) = std::env::var_os(FOLDER).map(PathBuf::from) else { return probe() };
    let kept = folder.join(name);
    if let Ok(text) = fs::read_to_string(&kept) {
        return match text.split_once('\n') {
            Some(("yes", found)) => Ok(found.into()),
            Some((_, why)) => Err(why.into()),
            None => Err(text),
        };
    }
    let found = probe();
    let text = match &found {
        Ok(found) => format!("yes\n{found}"),
        Err(why) => format!("no\n{why}"),
    };
    // Renaming makes the file appear complete: other tests may read it at the same time.
    let draft = folder.join(format!("{name}.{}", std::process::id()));
    if fs::write(&draft, text).is_ok() {
        let _ = fs::rename(draft, kept);
    }
    found
}
