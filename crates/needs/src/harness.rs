//! The main program of tests that run before their process has a second thread, because they enter
//! namespaces.
//!
//! It accepts libtest's `--list` and `--exact NAME`, so that one runner runs all tests.

use crate::Missing;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::ExitCode;
use std::time::Instant;

/// The outcome of a test that did not panic.
pub trait Outcome {
    /// Returns the need that the machine lacked, if any.
    fn missing(self) -> Option<Missing>;
}

impl Outcome for () {
    fn missing(self) -> Option<Missing> {
        None
    }
}

impl Outcome for Result<(), Missing> {
    fn missing(self) -> Option<Missing> {
        self.err()
    }
}

/// A test and its name. It fails by a panic.
pub type Test<O> = (&'static str, fn() -> O);

/// Runs the tests that the arguments name: by their whole name after `--exact`, otherwise by a part of
/// it; all without a name. `prepare` is called once, before the first, and `around` calls each, in a
/// namespace of its own. A test that lacks something is counted as skipped.
#[expect(clippy::print_stdout, reason = "this is the main program of tests, which reports how they went")]
pub fn main<O: Outcome>(
    tests: &[Test<O>],
    prepare: impl FnOnce() -> Result<(), Missing>,
    around: impl Fn(fn() -> O) -> O,
) -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let has = |option: &str| arguments.iter().any(|word| word == option);
    let names: Vec<&String> =
        arguments.iter().filter(|word| !word.starts_with('-') && *word != "terse").collect();
    let is_wanted = |test: &&Test<O>| {
        let fits = |name: &&String| {
            if has("--exact") { test.0 == name.as_str() } else { test.0.contains(name.as_str()) }
        };
        names.is_empty() || names.iter().any(fits)
    };
    let wanted: Vec<&Test<O>> = tests.iter().filter(is_wanted).collect();
    if has("--list") {
        wanted.iter().for_each(|(name, _)| println!("{name}: test"));
        return ExitCode::SUCCESS;
    }
    if wanted.is_empty() {
        return ExitCode::SUCCESS;
    }
    if let Err(missing) = prepare() {
        for (name, _) in &wanted {
            println!("test {name} ... skipped: {missing}");
            missing.skip();
        }
        return ExitCode::SUCCESS;
    }
    let failed = wanted.iter().filter(|test| !passes(test, &around)).count();
    println!("{} tests, {failed} failed", wanted.len());
    if failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

#[expect(
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "as above, and with the time that each took"
)]
fn passes<O: Outcome>((name, test): &Test<O>, around: &impl Fn(fn() -> O) -> O) -> bool {
    let begin = Instant::now();
    let outcome = catch_unwind(AssertUnwindSafe(|| around(*test).missing()));
    let word = match &outcome {
        Ok(None) => "ok".to_owned(),
        Ok(Some(missing)) => {
            missing.skip();
            format!("skipped: {missing}")
        }
        Err(_) => "FAILED".to_owned(),
    };
    println!("test {name} ... {word} ({:.2} s)", begin.elapsed().as_secs_f64());
    outcome.is_ok()
}
