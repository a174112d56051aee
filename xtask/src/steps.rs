//! The steps of a long task that makes files. A call of the same commit takes up the task where an earlier call stopped.

use crate::bundle::bytes_of;
use anyhow::{Context, Result};
use evenair_needs::Missing;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// The steps of a commit.
#[derive(Debug)]
pub(crate) struct Steps {
    /// Where the files go.
    folder: PathBuf,
    /// Where the record lies.
    record: PathBuf,
    done: Done,
    /// The needs that this machine lacks.
    missing: Vec<Missing>,
}

/// The record of steps that are done.
#[derive(Debug, Default, Serialize, Deserialize)]
struct Done {
    commit: String,
    #[serde(default)]
    steps: Vec<Step>,
}

/// A step that is done.
#[derive(Debug, Serialize, Deserialize)]
struct Step {
    name: String,
    /// The processor time of its processes \[s\].
    seconds: f64,
    /// Whether nothing was missing for it.
    is_whole: bool,
    /// The names of its files.
    files: Vec<String>,
}

impl Steps {
    /// The steps that an earlier call took for this commit. Without such a call the folder is emptied.
    pub(crate) fn resumed(folder: &Path, record: &Path, commit: &str) -> Result<Self> {
        let text = fs::read_to_string(record).unwrap_or_default();
        let mut done: Done = toml::from_str(&text).unwrap_or_default();
        if done.commit != commit {
            done = Done { commit: commit.into(), steps: Vec::new() };
            if folder.exists() {
                fs::remove_dir_all(folder).with_context(|| folder.display().to_string())?;
            }
        }
        for parent in [Some(folder), record.parent()].into_iter().flatten() {
            fs::create_dir_all(parent).with_context(|| parent.display().to_string())?;
        }
        Ok(Self { folder: folder.into(), record: record.into(), done, missing: Vec::new() })
    }

    /// Takes a step, unless it is done. A step that lacked something is taken again by the next call.
    pub(crate) fn take(&mut self, name: &str, run: impl FnOnce() -> Result<Vec<Missing>>) -> Result<()> {
        if let Some(at) = self.done.steps.iter().position(|step| step.name == name) {
            let step = &self.done.steps[at];
            let places: Vec<PathBuf> = step.files.iter().map(|file| self.folder.join(file)).collect();
            if step.is_whole && places.iter().all(|file| file.exists()) {
                println!("{name}: done before");
                return Ok(());
            }
            self.done.steps.remove(at);
            for file in places.iter().filter(|file| file.exists()) {
                fs::remove_file(file).with_context(|| file.display().to_string())?;
            }
        }
        let (before, start) = (files(&self.folder)?, seconds_of_children()?);
        let missing = run().with_context(|| name.to_string())?;
        let seconds = seconds_of_children()? - start;
        println!("{name}: {seconds:.0} s");
        let names = |file: &PathBuf| Some(file.file_name()?.to_string_lossy().into_owned());
        let files = files(&self.folder)?.difference(&before).filter_map(names).collect();
        self.done.steps.push(Step { name: name.into(), seconds, is_whole: missing.is_empty(), files });
        self.missing.extend(missing);
        fs::write(&self.record, toml::to_string(&self.done)?)
            .with_context(|| self.record.display().to_string())
    }

    /// The needs that steps of this call lacked.
    pub(crate) fn missing(&self) -> &[Missing] {
        &self.missing
    }

    /// A table of the files, their sizes and the times of their steps, in Markdown.
    pub(crate) fn table(&self, version: &str) -> String {
        let mut table = String::from("| file | size [MB] | CPU time of its step [s] |\n|---|---|---|\n");
        for step in &self.done.steps {
            for file in &step.files {
                let size = bytes_of(&self.folder.join(file)).unwrap_or_default() as f64 / 1e6;
                let name = file.replace(version, "VERSION");
                table += &format!("| `{name}` | {size:.2} | {:.0} |\n", step.seconds);
            }
        }
        table
    }
}

/// The files in a folder, by name.
pub(crate) fn files(folder: &Path) -> Result<BTreeSet<PathBuf>> {
    folder.read_dir()?.map(|entry| Ok(entry?.path())).collect()
}

/// The processor time of all processes that this one has waited for \[s\] (proc(5): ticks of 10 ms).
fn seconds_of_children() -> Result<f64> {
    let text = fs::read_to_string("/proc/self/stat").context("a release is made on Linux")?;
    let fields: Vec<&str> = text.rsplit(')').next().unwrap_or_default().split_whitespace().collect();
    let ticks = fields.get(13..15).context("/proc/self/stat")?.iter().map(|field| field.parse::<f64>());
    Ok(ticks.sum::<Result<f64, _>>()? / 100.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_are_taken_once_for_each_commit() {
        let place = tempfile::tempdir().unwrap();
        let (folder, record) = (place.path().join("files"), place.path().join("stage/steps.toml"));
        let call = |commit: &str, missing: &dyn Fn() -> Vec<Missing>| {
            let mut steps = Steps::resumed(&folder, &record, commit).unwrap();
            let mut taken = Vec::new();
            for name in ["one", "two"] {
                let run = || {
                    taken.push(name);
                    fs::write(folder.join(format!("{name}-1.2.3")), "12345").unwrap();
                    Ok(if name == "two" { missing() } else { Vec::new() })
                };
                steps.take(name, run).unwrap();
            }
            (taken, steps.table("1.2.3"))
        };
        let lacks = || vec![Missing::new("root", "nothing is installed")];
        assert_eq!(call("a", &lacks).0, ["one", "two"]);
        assert_eq!(call("a", &Vec::new).0, ["two"], "a step that lacked something is tried again");
        let (taken, table) = call("a", &Vec::new);
        assert!(taken.is_empty());
        assert!(table.contains("| `one-VERSION` | 0.00 | 0 |"), "{table}");
        assert_eq!(call("b", &Vec::new).0, ["one", "two"]);
        fs::remove_file(folder.join("one-1.2.3")).unwrap();
        assert_eq!(call("b", &Vec::new).0, ["one"], "a step whose file is missing is taken again");
    }
}
