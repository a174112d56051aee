//! The wheel for users, in target/wheels: built by the backend of `pip install .`, for every Linux since
//! glibc 2.17 (zig links against that, with any glibc on this machine). It runs where there is nothing else,
//! and passes its tests on the oldest and the newest Python, clusters' engines among them.

use crate::python::{OLDEST, at_root, environment, interpreters};
use crate::run::{root, succeed};
use crate::tally::Tally;
use anyhow::{Context, Result, ensure};
use evenair_needs::Missing;
use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// One version of each, so that an old commit is built as it was.
const TOOLS: [&str; 2] = ["maturin==1.16.0", "ziglang==0.17.1"];
/// The test of it in an empty environment.
const ALONE: &str = "import evenair, shutil; assert not shutil.which('cargo'); \
    print(evenair.run('chen10/a', duration='2 s', warmup='1 s'), evenair.solve('chen10/a'))";

pub(crate) fn run() -> Result<Tally> {
    let wheel = match build_alone()? {
        Ok(wheel) => wheel,
        Err(lack) => return Ok(Tally::skipped(&[lack], true)),
    };
    let found = interpreters();
    let ends = [found.first_key_value(), found.last_key_value()].map(|end| end.context("there is one"));
    let [oldest, newest] = ends;
    let (oldest, newest) = (oldest?, newest?);
    for (minor, program) in [oldest, newest].into_iter().skip(usize::from(oldest == newest)) {
        let python = environment(&format!("wheel-python3.{minor}"), program, &["pip".into()])?;
        test(*minor, &python.context("no venv and pip in the oldest Python")?, &wheel)?;
    }
    Ok(Tally::passed())
}

/// Builds the wheel, and runs a scenario on the oldest Python where there is nothing else. Without tools there is none.
pub(crate) fn build_alone() -> Result<Result<PathBuf, Missing>> {
    let found = interpreters();
    let Some((_, first)) = found.first_key_value() else {
        return Ok(Err(Missing::new("python3", format!("no version from 3.{OLDEST} on"))));
    };
    let Some(tools) = tools()? else {
        return Ok(Err(Missing::new("Python packages", TOOLS.join(", "))));
    };
    let wheel = build(&tools)?;
    alone(first, &wheel)?;
    Ok(Ok(wheel))
}

/// A Python with maturin and zig; none, if they cannot be had.
pub(crate) fn tools() -> Result<Option<PathBuf>> {
    let found = interpreters();
    let Some((_, newest)) = found.last_key_value() else { return Ok(None) };
    environment("wheel-tools", newest, &TOOLS.map(String::from))
}

fn build(python: &Path) -> Result<PathBuf> {
    let folder = root().join("target/wheels");
    if folder.exists() {
        fs::remove_dir_all(&folder).with_context(|| folder.display().to_string())?;
    }
    let tools = python.parent().context("a program lies in a folder")?.to_path_buf();
    let others = env::var_os("PATH").unwrap_or_default();
    let path = env::join_paths([tools].into_iter().chain(env::split_paths(&others)))?;
    let arguments = ["-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation", "--wheel-dir"];
    let mut pip = at_root(python);
    pip.args(arguments).arg(&folder).arg(".").env("PATH", path).env("MATURIN_PEP517_ARGS", options()?);
    succeed(&mut pip)?;
    let mut wheels = folder.read_dir().with_context(|| folder.display().to_string())?;
    let wheel = wheels.find_map(|entry| Some(entry.ok()?.path())).context("pip built no wheel")?;
    println!("{} ({:.1} MB)", wheel.display(), fs::metadata(&wheel)?.len() as f64 / 1e6);
    Ok(wheel)
}

/// The backend's options: on Linux the tag of the oldest glibc that Rust's own libraries run on.
///
/// zig would link an unwinder of its own. glibc unwinds threads that an interpreter stops at its end, with libgcc's, which breaks in
/// frames that know another: hence libgcc's here, too, as every Linux has it.
fn options() -> Result<String> {
    if !cfg!(target_os = "linux") {
        return Ok("--locked".into());
    }
    let found = Command::new("cc").arg("-print-file-name=libgcc_s.so.1").output().context("cc")?;
    let unwinder = String::from_utf8(found.stdout)?;
    let unwinder = unwinder.trim();
    ensure!(Path::new(unwinder).is_file(), "cc finds no libgcc_s.so.1");
    Ok(format!("--locked --zig --compatibility manylinux_2_17 -- -C link-arg={unwinder}"))
}

/// Installs the wheel where there is no Rust, no other package, no index and no variable, and runs a scenario.
fn alone(python: &Path, wheel: &Path) -> Result<()> {
    let folder = root().join("target/wheel-alone");
    succeed(at_root(python).args(["-m", "venv", "--clear"]).arg(&folder))?;
    let bare = |arguments: &[&str]| {
        let mut command = Command::new(folder.join("bin/python"));
        command.args(arguments).current_dir(&folder).env_clear().env("PATH", "/usr/bin:/bin");
        command
    };
    succeed(bare(&["-m", "pip", "install", "--quiet", "--no-index"]).arg(wheel))?;
    succeed(&mut bare(&["-c", ALONE]))
}

/// Installs the wheel and runs all tests, examples in docstrings and notebooks among them.
fn test(minor: u32, python: &Path, wheel: &Path) -> Result<()> {
    println!("Python 3.{minor}");
    let wanted = format!("{}[test]", wheel.display());
    succeed(at_root(python).args(["-m", "pip", "install", "--quiet", &wanted]))?;
    // The same version may have been installed before, of another commit.
    let again = ["-m", "pip", "install", "--quiet", "--force-reinstall", "--no-deps"];
    succeed(at_root(python).args(again).arg(wheel))?;
    succeed(at_root(python).args(["-m", "pytest"]))
}
