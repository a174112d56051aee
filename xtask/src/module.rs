//! The Python module as the tests' build left it, laid out as a wheel installs it: all tests on the newest Python, a run on the oldest.

use crate::python::{OLDEST, at_root, environment, extra, interpreters};
use crate::run::{root, succeed, target};
use crate::tally::Tally;
use crate::tests::build_module;
use anyhow::{Context, Result};
use evenair_needs::Missing;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// One version, so that a new check of mypy's does not break an old commit.
const MYPY: &str = "mypy==2.4.1";
/// Runs tests on all processors.
const SPREAD: &str = "pytest-xdist==3.8.0";
/// The packages of the oldest Python's tests: none.
const SMOKE: &str = "import evenair; assert evenair.run('chen10/a', duration='2 s', warmup='1 s').flows['goodput_pps'][0] > 0";

pub(crate) fn run() -> Result<Tally> {
    let found = interpreters();
    let (Some((oldest, first)), Some((newest, last))) = (found.first_key_value(), found.last_key_value())
    else {
        return Ok(Tally::lacks("python3", format!("no version from 3.{OLDEST} on")));
    };
    build_module()?;
    stub()?;
    let module = laid_out()?;
    println!("Python 3.{oldest}");
    succeed(at_root(first).args(["-c", SMOKE]).env("PYTHONPATH", &module))?;
    println!("Python 3.{newest}");
    let mut packages = extra("test", &["ray"])?; // a quarter of a gigabyte: `cargo xtask wheel` has it
    packages.extend([MYPY, SPREAD].map(String::from));
    let Some(python) = environment("module-python", last, &packages)? else {
        return Ok(Tally::lacks("Python packages", packages.join(", ")));
    };
    let report = root().join("target/module/tests.xml");
    let mut tests = at_root(&python);
    tests
        .args(["-m", "pytest", "--quiet", "--numprocesses=auto", "--durations=5", "--junit-xml"])
        .arg(&report);
    succeed(tests.env("PYTHONPATH", &module).env("EVENAIR", target().join("release/evenair")))?;
    succeed(at_root(&python).args(["-m", "mypy"]))?;
    counted(&fs::read_to_string(&report).with_context(|| report.display().to_string())?)
}

/// The counts of pytest's report in the form of `JUnit`. A test is skipped for lack of a package, which its
/// message names.
fn counted(report: &str) -> Result<Tally> {
    let number = |name: &str| -> Result<usize> {
        let text = report.split(&format!(" {name}=\"")).nth(1).and_then(|rest| rest.split('"').next());
        text.and_then(|text| text.parse().ok()).with_context(|| format!("pytest's report has no {name}"))
    };
    let messages = report
        .split("<skipped ")
        .skip(1)
        .filter_map(|rest| rest.split("message=\"").nth(1)?.split('"').next());
    let missing = |message: &str| {
        let need = if message.contains("&apos;ray&apos;") || message.contains("'ray'") {
            "ray"
        } else {
            "Python packages"
        };
        Missing::new(need, message)
    };
    let missing: Vec<Missing> = messages.map(missing).collect();
    let skipped = number("skipped")?;
    Ok(Tally { passed: number("tests")? - skipped, skipped, ..Tally::skipped(&missing, true) })
}

/// Compares the stub with the library's description of itself.
fn stub() -> Result<()> {
    let library = target().join("release/lib_evenair.so");
    let stub = root().join("python/evenair/_evenair.pyi");
    succeed(Command::new(target().join("release/evenair-stub")).arg(library).arg(stub))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn skips_of_pytest_are_counted() {
        let report = r#"<testsuite name="pytest" errors="0" failures="0" skipped="2" tests="204"><testcase name="a">
            <skipped type="pytest.skip" message="could not import 'ray': No module named 'ray'">x</skipped></testcase>
            <testcase name="b"><skipped type="pytest.skip" message="could not import 'dask'">y</skipped></testcase>"#;
        let tally = counted(report).unwrap();
        assert_eq!((tally.passed, tally.skipped), (202, 2));
        let needs: Vec<&str> = tally.skips.iter().map(|skip| skip.need.as_str()).collect();
        assert_eq!(needs, ["ray", "Python packages"]);
    }
}
