//! The crates that can be used alone: `cargo package` builds each from nothing but its own files.

use crate::Outcome;
use crate::run::{cargo_command, root, succeed};
use anyhow::{Context, Result};
use cargo_metadata::MetadataCommand;

pub(crate) fn run() -> Result<Outcome> {
    let metadata = MetadataCommand::new().current_dir(root()).no_deps().exec().context("cargo metadata")?;
    // A crate that is packaged has a README. All go together, because they depend on each other.
    let packaged = metadata.packages.iter().filter(|package| package.readme.is_some());
    let names: Vec<String> = packaged.map(|package| format!("--package={}", package.name)).collect();
    // Not yet committed files count as they lie there, as for every other part.
    let mut package = cargo_command();
    package.args(["package", "--quiet", "--locked", "--allow-dirty"]).args(names);
    succeed(&mut package)?;
    Ok(Outcome::Passed)
}
