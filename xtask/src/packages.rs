//! The crates that can be used alone: `cargo package` builds each from nothing but its own files.

use crate::metadata::Metadata;
use crate::run::{cargo_command, succeed};
use crate::tally::Tally;
use anyhow::{Context, Result};
use std::path::PathBuf;

pub(crate) fn run() -> Result<Tally> {
    let metadata = Metadata::of_workspace()?;
    // A crate that is packaged has a README. All go together, because they depend on each other.
    let packaged = metadata.packages.iter().filter(|package| package.readme.is_some());
    let packaged: Vec<_> = packaged.collect();
    let unpacked = packaged.iter().map(|package| format!("{}-{}", package.name, package.version));
    forget_unpacked(&unpacked.collect::<Vec<_>>())?;
    let names: Vec<String> = packaged.iter().map(|package| format!("--package={}", package.name)).collect();
    // Not yet committed files count as they lie there, as for every other part.
    let mut package = cargo_command();
    package.args(["package", "--quiet", "--locked", "--allow-dirty"]).args(names);
    succeed(&mut package)?;
    Ok(Tally::passed())
}

/// Removes the unpacked copies of these packages from earlier runs.
///
/// `cargo package` hands the crates to each other through a registry in `target/package`, and unpacks them below cargo's
/// home, under a name made of that registry's path and the crate's version. A second clone in the same place would be
/// built against the first one's files, however old they are. A registry in a folder has no host, so that its name
/// begins with the dash that follows one.
fn forget_unpacked(packages: &[String]) -> Result<()> {
    let Some(home) = cargo_home() else { return Ok(()) };
    let Ok(registries) = std::fs::read_dir(home.join("registry/src")) else { return Ok(()) };
    for registry in registries {
        let registry = registry?;
        if !registry.file_name().to_string_lossy().starts_with('-') {
            continue;
        }
        for package in packages {
            let unpacked = registry.path().join(package);
            if unpacked.exists() {
                std::fs::remove_dir_all(&unpacked)
                    .with_context(|| format!("removing {}", unpacked.display()))?;
            }
        }
    }
    Ok(())
}

fn cargo_home() -> Option<PathBuf> {
    std::env::var_os("CARGO_HOME").map(PathBuf::from).or_else(|| Some(std::env::home_dir()?.join(".cargo")))
}
