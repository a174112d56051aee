//! A test says that it was skipped, for `cargo xtask test` to count.
//!
//! libtest has two ends of a test, and holds back what a test prints. A skip is therefore a line in a file that the runner names; without a
//! runner it is a line on the standard error, past libtest.

use std::fmt::{self, Display};
use std::fs::{self, OpenOptions};
use std::io::Write as _;
use std::path::PathBuf;

/// The variable that names the file for the skips of a test. A line has three fields between tabs: what is skipped (`test` or
/// `part`), the need, details.
pub const SKIPS: &str = "EVENAIR_SKIPS";

/// The variable that names a folder for what the tests of a run find out of the machine.
pub const FOLDER: &str = "EVENAIR_TESTS";

/// The first field of a line: what is skipped.
pub const EFFECT: [&str; 2] = ["test", "part"];

/// Something that the machine lacks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Missing {
    /// The name of an entry of [`crate::NEEDS`].
    pub need: &'static str,
    /// What was tried, and how it went.
    pub details: String,
}

impl Missing {
    /// A need of the list, and how it went.
    ///
    /// # Panics
    /// If the list has no such need.
    pub fn new(need: &'static str, details: impl Display) -> Self {
        assert!(!crate::remedy(need).is_empty(), "NEEDS lacks \"{need}\"");
        Self { need, details: details.to_string() }
    }

    /// Counts the calling test as skipped, for this; the caller returns.
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

/// Says that a part of the calling test was left out; the rest of it counts.
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
        // Not by eprintln!, which libtest holds back.
        std::io::stderr().write_all(line.as_bytes())
    };
    written.expect("a skip can be recorded");
}

/// Finds something out once a run of `cargo xtask test`, which has a process for each test.
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
    // Whole or not at all: other tests read it meanwhile.
    let draft = folder.join(format!("{name}.{}", std::process::id()));
    if fs::write(&draft, text).is_ok() {
        let _ = fs::rename(draft, kept);
    }
    found
}
