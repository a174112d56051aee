//! What is said and what is written.

use anyhow::{Context, Result};
use evenair_scenario::Resolved;
use std::io::Write;
use std::path::Path;

pub(crate) fn print(text: &str) -> Result<()> {
    Ok(std::io::stdout().lock().write_all(text.as_bytes())?)
}

pub(crate) fn write_file(path: &Path, contents: &str) -> Result<()> {
    std::fs::write(path, contents).with_context(|| format!("cannot write {}", path.display()))
}

pub(crate) fn resolved(scenario: &Resolved) -> Result<String> {
    scenario.to_toml().context("the scenario cannot be written as TOML")
}

/// To the terminal, not into what is read by programs.
pub(crate) fn warn(scenario: &Resolved) {
    for warning in scenario.warnings() {
        let _ = writeln!(std::io::stderr().lock(), "warning: {warning}");
    }
}

/// To the terminal: what the theory leaves out of a scenario.
pub(crate) fn warn_of_shapers(scenario: &Resolved) {
    let settings = scenario.settings();
    if settings.gateway.is_some() || settings.source_limit.is_some() {
        let what =
            "warning: the theory knows neither gateways nor limited sources; it says what is so without them";
        let _ = writeln!(std::io::stderr().lock(), "{what}");
    }
}

pub(crate) fn schema() -> Result<()> {
    print(&format!("{:#}\n", evenair_scenario::schema()))
}
