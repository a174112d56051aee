//! `evenair-stub LIBRARY STUB`: compares the stub of the Python module, `python/evenair/_evenair.pyi`, with the library's
//! description of itself in its feature `stubs`; writes it, where `EVENAIR_BLESS` is set.

use anyhow::{Context, Result, bail};
use std::fs;
use std::path::PathBuf;

const HEAD: &str = "# Made from crates/python: `EVENAIR_BLESS=1 cargo xtask module` writes it.\n\n";

fn main() -> Result<()> {
    let words: Vec<PathBuf> = std::env::args_os().skip(1).map(PathBuf::from).collect();
    let [library, stub] = &words[..] else { bail!("usage: evenair-stub LIBRARY STUB") };
    let module =
        pyo3_introspection::introspect_cdylib(library, "_evenair").context("the module's library")?;
    let made = pyo3_introspection::module_stub_files(&module).into_values().next();
    let made = HEAD.to_string() + &made.context("the library has no description of itself")?;
    if std::env::var_os("EVENAIR_BLESS").is_some() {
        fs::write(stub, made)?;
    } else if fs::read_to_string(stub).ok().as_ref() != Some(&made) {
        bail!("{} differs from crates/python: EVENAIR_BLESS=1 cargo xtask module writes it", stub.display());
    }
    Ok(())
}
