//! The stub of the module's library, `python/evenair/_evenair.pyi`: what the library says of itself, in its feature `stubs`.

use crate::run::root;
use anyhow::{Context, Result, bail};
use std::fs;
use std::path::Path;

const HEAD: &str = "# Made from crates/python: `EVENAIR_BLESS=1 cargo xtask module` makes it anew.\n\n";

/// Compares the stub with the library, or writes it, where `EVENAIR_BLESS` is set.
pub(crate) fn check(library: &Path) -> Result<()> {
    let module =
        pyo3_introspection::introspect_cdylib(library, "_evenair").context("the module's library")?;
    let made = pyo3_introspection::module_stub_files(&module).into_values().next();
    let made = HEAD.to_string() + &made.context("the library says nothing of itself")?;
    let path = root().join("python/evenair/_evenair.pyi");
    if std::env::var_os("EVENAIR_BLESS").is_some() {
        fs::write(path, made)?;
    } else if fs::read_to_string(&path).ok().as_ref() != Some(&made) {
        bail!(
            "{} is not what crates/python says: EVENAIR_BLESS=1 cargo xtask module writes it",
            path.display()
        );
    }
    Ok(())
}
