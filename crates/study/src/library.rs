//! The scenarios and studies that come with evenair.

use evenair_scenario::{Resolved, ScenarioError};
use evenair_service::meant::did_you_mean;
use std::path::{Path, PathBuf};

include!(concat!(env!("OUT_DIR"), "/library.rs"));

fn find(list: &[(&'static str, &'static str)], id: &str) -> Option<&'static str> {
    list.iter().find(|(name, _)| *name == id).map(|(_, text)| *text)
}

/// The text of a scenario by its id, e.g. `chen10/a`.
pub fn builtin_scenario(id: &str) -> Option<&'static str> {
    find(SCENARIOS, id)
}

/// The text of a study by its id, e.g. `chen10/fig-4-2`.
pub fn study_text(id: &str) -> Option<&'static str> {
    find(STUDIES, id)
}

/// Ids of all scenarios.
pub fn scenario_ids() -> impl Iterator<Item = &'static str> {
    SCENARIOS.iter().map(|(id, _)| *id)
}

/// Ids of all studies.
pub fn study_ids() -> impl Iterator<Item = &'static str> {
    STUDIES.iter().map(|(id, _)| *id)
}

/// Reads a scenario with `changes` applied: a file, looked for in `folder` if there is one, or a built-in one by its id.
///
/// # Errors
/// If there is none of that name, with those that it resembles; else as [`Resolved::parse`].
pub fn scenario(name: &str, folder: Option<&Path>, changes: &[String]) -> Result<Resolved, ScenarioError> {
    found(name, folder, changes, (Resolved::load, Resolved::parse))
}

/// The same, also of a network without flows: to be looked at.
///
/// # Errors
/// As [`scenario`], but for a want of flows.
pub fn network(name: &str, folder: Option<&Path>, changes: &[String]) -> Result<Resolved, ScenarioError> {
    found(name, folder, changes, (Resolved::load_network, Resolved::parse_network))
}

/// The readers of a file and of a text.
type Readers = (
    fn(&Path, &[String]) -> Result<Resolved, ScenarioError>,
    fn(&str, &str, &[String]) -> Result<Resolved, ScenarioError>,
);

/// The file of a scenario in a folder, if it is there.
pub(crate) fn beside(name: &str, folder: Option<&Path>) -> Option<PathBuf> {
    let mut files =
        folder.into_iter().flat_map(|folder| [folder.join(name), folder.join(format!("{name}.toml"))]);
    files.find(|path| path.exists() && !path.is_dir())
}

fn found(
    name: &str,
    folder: Option<&Path>,
    changes: &[String],
    (load, parse): Readers,
) -> Result<Resolved, ScenarioError> {
    if let Some(path) = beside(name, folder) {
        return load(&path, changes);
    }
    if let Some(text) = builtin_scenario(name) {
        return parse(&format!("{name}.toml"), text, changes);
    }
    let error =
        |message: String| ScenarioError { file: name.into(), at: None, key: None, message, change: None };
    if folder.is_some_and(|folder| folder.join(name).is_dir()) {
        return Err(error(
            "this is a folder; name a scenario's file in it, or the id of a built-in one".into(),
        ));
    }
    if study_text(name).is_some() {
        return Err(error(format!("this is a study: evenair study {name} runs it")));
    }
    let place =
        if folder.is_some() { "no such file, and no built-in scenario" } else { "no built-in scenario" };
    let meant =
        did_you_mean(name, scenario_ids()).unwrap_or_else(|| "evenair list scenarios shows them".into());
    let message = format!("there is {place} of that id; {meant}");
    Err(error(message))
}
