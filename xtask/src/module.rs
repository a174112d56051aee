//! The Python module as the tests' build left it, laid out as a wheel installs it: all tests on the newest Python, a run on the oldest.

use crate::python::{OLDEST, at_root, environment, extra, interpreters};
use crate::run::{cargo_command, root, succeed, target};
use crate::tally::Tally;
use crate::tests;
use anyhow::{Context, Result};
use std::fs;
use std::path::{Path, PathBuf};

/// One version, so that a new check of mypy's does not break an old commit.
const MYPY: &str = "mypy==2.4.1";
/// The packages of the oldest Python's tests: none.
const SMOKE: &str = "import evenair; assert evenair.run('chen10/a', duration='2 s', warmup='1 s').flows['goodput_pps'][0] > 0";

pub(crate) fn run() -> Result<Tally> {
    let found = interpreters();
    let (Some((oldest, first)), Some((newest, last))) = (found.first_key_value(), found.last_key_value())
    else {
        return Ok(Tally::lacks("python3", format!("no version from 3.{OLDEST} on")));
    };
    tests::build_module()?;
    stub()?;
    let module = laid_out()?;
    println!("Python 3.{oldest}");
    succeed(at_root(first).args(["-c", SMOKE]).env("PYTHONPATH", &module))?;
    println!("Python 3.{newest}");
    let mut packages = extra("test", &["ray"])?; // a quarter of a gigabyte: `cargo xtask wheel` has it
    packages.push(MYPY.into());
    let Some(python) = environment("module-python", last, &packages)? else {
        return Ok(Tally::lacks("Python packages", packages.join(", ")));
    };
    let program = target().join("release/evenair");
    succeed(
        at_root(&python)
            .args(["-m", "pytest", "--durations=5"])
            .env("PYTHONPATH", &module)
            .env("EVENAIR", program),
    )?;
    succeed(at_root(&python).args(["-m", "mypy"]))?;
    Ok(Tally::passed())
}

/// Compares the stub with what the library says of itself.
fn stub() -> Result<()> {
    let library = target().join("release/lib_evenair.so");
    let stub = root().join("python/evenair/_evenair.pyi");
    let mut made = cargo_command();
    made.args(["run", "--quiet", "--release", "--locked", "--package", "evenair-stub", "--"]);
    succeed(made.arg(library).arg(stub))
}

/// A folder with the package and its library.
fn laid_out() -> Result<PathBuf> {
    let folder = root().join("target/module");
    let package = folder.join("evenair");
    if package.exists() {
        fs::remove_dir_all(&package)?;
    }
    fs::create_dir_all(&package)?;
    for entry in fs::read_dir(root().join("python/evenair"))? {
        let path = entry?.path();
        if path.is_file() {
            copy(&path, &package.join(path.file_name().context("a file has a name")?))?;
        }
    }
    copy(&target().join("release/lib_evenair.so"), &package.join("_evenair.abi3.so"))?;
    Ok(folder)
}

fn copy(from: &Path, to: &Path) -> Result<()> {
    fs::copy(from, to).with_context(|| from.display().to_string())?;
    Ok(())
}
