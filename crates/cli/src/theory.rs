//! The commands of the theory.

mod compare;
mod fluid;
mod solve;

pub(crate) use compare::compare;
pub(crate) use fluid::fluid;
pub(crate) use solve::solve;

use evenair_scenario::Resolved;
use std::io::Write;

/// To the terminal: what the theory leaves out of a scenario.
fn warn_of_shapers(scenario: &Resolved) {
    let settings = scenario.settings();
    if settings.gateway.is_some() || settings.source_limit.is_some() {
        let what =
            "warning: the theory knows neither gateways nor limited sources; it says what is so without them";
        let _ = writeln!(std::io::stderr().lock(), "{what}");
    }
}

fn row(cells: &[&str]) -> Vec<String> {
    cells.iter().map(ToString::to_string).collect()
}
