//! The files of a release, in target/release-archive: static programs, packages for Debian, the wheel, the source, the manual, a
//! bill of materials for each program, and the sums of all. Programs, packages and wheel run once in a place without Rust
//! (`trial.rs`). Nothing is uploaded.

use crate::bundle::{bring_what_goes_beside, bytes_of, compress, elf, pack};
use crate::metadata::Metadata;
use crate::run::{cargo_command, root, succeed, target};
use crate::tally::Tally;
use crate::{deb, docs, play, sbom, trial, wheel};
use anyhow::{Context, Result, ensure};
use evenair_needs::Missing;
use std::collections::BTreeSet;
use std::env::consts::ARCH;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// An architecture of Linux: its word in names, and the number that an ELF file has for it (`e_machine`, elf.h).
const MACHINES: [(&str, u16); 2] = [("x86_64", 62), ("aarch64", 183)];

/// The features of the programs: all that the command can do.
const FEATURES: &str = "live,parquet,play";

/// The commit that is released, and where its files go.
struct Release {
    version: String,
    /// The name with which all files begin: evenair-0.1.0.
    name: String,
    commit: String,
    /// When the commit was made, in seconds since 1970: the time of all files in archives.
    seconds: String,
    folder: PathBuf,
    /// Where files lie before they are packed.
    stage: PathBuf,
}

pub(crate) fn run() -> Result<Tally> {
    let release = Release::of_commit()?;
    let (mut missing, mut rows) = (Vec::new(), Vec::new());
    release.step("playground", &mut rows, || playground(&mut missing))?;
    let mut programs = Vec::new();
    for (machine, number) in machines() {
        let step = || release.program(machine, number, &mut missing);
        programs.extend(release.step(&format!("program for {machine}"), &mut rows, step)?);
    }
    release.step("bills of materials", &mut rows, || release.bills(&programs))?;
    release.step("packages for Debian", &mut rows, || release.packages(&programs, &mut missing))?;
    release.step("source", &mut rows, || release.source())?;
    release.step("manual", &mut rows, || release.manual(&programs, &mut missing))?;
    release.step("wheel", &mut rows, || release.take(wheel::build_alone()?, &mut missing))?;
    release.sums()?;
    println!("{} of commit {}, in {}:\n", release.name, release.commit, release.folder.display());
    println!("| file | size [MB] | CPU time of its step [s] |\n|---|---|---|\n{}", rows.join("\n"));
    Ok(Tally::skipped(&missing, false))
}

/// The machines, with this one first: its program writes the manual pages.
fn machines() -> [(&'static str, u16); 2] {
    let mut machines = MACHINES;
    machines.sort_by_key(|(machine, _)| *machine != ARCH);
    machines
}

/// The processor time of all processes that this one has waited for \[s\] (proc(5): ticks of 10 ms).
fn seconds_of_children() -> Result<f64> {
    let text = fs::read_to_string("/proc/self/stat").context("a release is made on Linux")?;
    let fields: Vec<&str> = text.rsplit(')').next().unwrap_or_default().split_whitespace().collect();
    let ticks = fields.get(13..15).context("/proc/self/stat")?.iter().map(|field| field.parse::<f64>());
    Ok(ticks.sum::<Result<f64, _>>()? / 100.0)
}

/// The simulator for browsers, which the programs hold.
fn playground(missing: &mut Vec<Missing>) -> Result<()> {
    if play::build()?.is_none() {
        missing.push(Missing::new("the browsers' target", "the programs lack the playground"));
    }
    Ok(())
}

/// A program that was built.
struct Built {
    machine: &'static str,
    triple: String,
}

impl Built {
    fn program(&self) -> Result<PathBuf> {
        built_for(&self.triple)
    }
}

/// Where cargo puts a released program for a target.
fn built_for(triple: &str) -> Result<PathBuf> {
    Ok(std::path::absolute(target().join(triple).join("dist/evenair"))?)
}

impl Release {
    /// The last commit; nothing may have changed since.
    fn of_commit() -> Result<Self> {
        let changed = git(&["status", "--porcelain", "--untracked-files=no"])?;
        ensure!(changed.is_empty(), "a release is of a commit; commit these first:\n{changed}");
        let metadata = Metadata::of_workspace()?;
        let command = metadata.packages.iter().find(|package| package.name == "evenair-cli");
        let version = &command.context("the workspace has no command")?.version;
        let (folder, stage) =
            (root().join("target/release-archive"), std::path::absolute(target().join("release-stage"))?);
        for empty in [&folder, &stage] {
            if empty.exists() {
                fs::remove_dir_all(empty).with_context(|| empty.display().to_string())?;
            }
            fs::create_dir_all(empty)?;
        }
        Ok(Self {
            version: version.clone(),
            name: format!("evenair-{version}"),
            commit: git(&["rev-parse", "HEAD"])?,
            seconds: git(&["show", "--no-patch", "--format=%ct"])?,
            folder,
            stage,
        })
    }

    /// Takes a step and adds a row for each file that it makes.
    fn step<T>(&self, step: &str, rows: &mut Vec<String>, run: impl FnOnce() -> Result<T>) -> Result<T> {
        let (before, start) = (self.files()?, seconds_of_children()?);
        let done = run().with_context(|| step.to_string())?;
        let seconds = seconds_of_children()? - start;
        println!("{step}: {seconds:.0} s");
        for file in self.files()?.difference(&before) {
            let name = file.file_name().unwrap_or_default().to_string_lossy();
            let name = name.replace(&self.version, "VERSION");
            rows.push(format!("| `{name}` | {:.2} | {seconds:.0} |", bytes_of(file)? as f64 / 1e6));
        }
        Ok(done)
    }

    /// The files so far, by name.
    fn files(&self) -> Result<BTreeSet<PathBuf>> {
        self.folder.read_dir()?.map(|entry| Ok(entry?.path())).collect()
    }

    /// A program, tried, and its archive. None without the tools or the target.
    fn program(
        &self,
        machine: &'static str,
        number: u16,
        missing: &mut Vec<Missing>,
    ) -> Result<Option<Built>> {
        let triple = format!("{machine}-unknown-linux-musl");
        let installed = Command::new("rustup").args(["target", "list", "--installed"]).output();
        let installed = String::from_utf8(installed.context("rustup")?.stdout)?;
        if !installed.lines().any(|line| line == triple) {
            missing.push(Missing::new("static targets", format!("no program for {triple}")));
            return Ok(None);
        }
        let Some(python) = wheel::tools()? else {
            missing.push(Missing::new("Python packages", "no programs: zig compiles their parts in C"));
            return Ok(None);
        };
        let program = self.build(&python, machine, &triple)?;
        ensure!(elf(&fs::read(&program)?) == Some((number, false)), "{}: not static", program.display());
        let beside = root().join(deb::SHARE);
        if machine == ARCH {
            if beside.exists() {
                fs::remove_dir_all(&beside)?;
            }
            bring_what_goes_beside(&program, &beside)?;
        }
        ensure!(beside.exists(), "{ARCH}-unknown-linux-musl, whose program writes the manual, is missing");
        let name = format!("{}-{machine}-linux", self.name);
        let folder = self.stage.join(&name);
        fs::create_dir_all(folder.join("bin"))?;
        succeed(Command::new("cp").arg("--recursive").arg(beside).arg(folder.join("share")))?;
        fs::copy(&program, folder.join("bin/evenair"))?;
        let archive = pack(&folder, &name, &self.seconds, &self.folder)?;
        missing.extend(trial::archive(machine, &archive)?);
        Ok(Some(Built { machine, triple }))
    }

    /// The bill of materials of each program.
    fn bills(&self, programs: &[Built]) -> Result<()> {
        for Built { machine, triple } in programs {
            let bill = sbom::written(triple, FEATURES, &self.commit, &self.seconds)?;
            fs::write(self.folder.join(format!("{}-{machine}-linux.cdx.json", self.name)), bill)?;
        }
        Ok(())
    }

    /// A package of each program, tried.
    fn packages(&self, programs: &[Built], missing: &mut Vec<Missing>) -> Result<()> {
        for Built { machine, triple } in programs {
            let package = deb::of_static_program(triple)?;
            if let Ok(package) = &package {
                missing.extend(trial::package(machine, package)?);
            }
            self.take(package, missing)?;
        }
        Ok(())
    }

    /// Builds the command for a machine without any library. Rust brings musl and a linker; zig compiles the C of `ring`.
    fn build(&self, python: &Path, machine: &str, triple: &str) -> Result<PathBuf> {
        let compiler = self.stage.join(format!("cc-{machine}"));
        // zig has other names of targets than those that cargo's scripts give it.
        let script = format!(
            "#!/bin/sh\nfor word; do shift; case $word in --target=*) ;; *) set -- \"$@\" \"$word\";; esac; done\n\
            exec '{}' -m ziglang cc -target {machine}-linux-musl \"$@\"\n",
            python.display()
        );
        write_program(&compiler, &script)?;
        let archiver = self.stage.join("ar");
        write_program(&archiver, &format!("#!/bin/sh\nexec '{}' -m ziglang ar \"$@\"\n", python.display()))?;
        let (lower, upper) = (triple.replace('-', "_"), triple.replace('-', "_").to_uppercase());
        let mut cargo = cargo_command();
        cargo.args([
            "rustc",
            "--locked",
            "--profile",
            "dist",
            "--package",
            "evenair-cli",
            "--bin",
            "evenair",
        ]);
        cargo.args(["--features", FEATURES, "--target", triple, "--", "-Cstrip=symbols"]);
        cargo.env(format!("CC_{lower}"), compiler).env(format!("AR_{lower}"), archiver);
        cargo.env(format!("CARGO_TARGET_{upper}_LINKER"), "rust-lld");
        // The program holds no paths of this machine.
        let places = [Some((root(), "")), std::env::home_dir().map(|home| (home, "~"))];
        let flags = places
            .into_iter()
            .flatten()
            .map(|(place, word)| format!("--remap-path-prefix={}={word}", place.display()));
        let flags: Vec<String> = flags.collect();
        succeed(cargo.env("CARGO_ENCODED_RUSTFLAGS", flags.join("\x1f")))?;
        built_for(triple)
    }

    /// Copies a file that another part built; None was skipped for lack of something.
    fn take(&self, built: Result<PathBuf, Missing>, missing: &mut Vec<Missing>) -> Result<()> {
        match built {
            Ok(file) => {
                let name = file.file_name().context("a file has a name")?;
                fs::copy(&file, self.folder.join(name)).with_context(|| file.display().to_string())?;
            }
            Err(lack) => missing.push(lack),
        }
        Ok(())
    }

    /// The source as git has it, from which cargo reads the workspace.
    fn source(&self) -> Result<()> {
        let name = format!("{}-source", self.name);
        let tar = self.folder.join(format!("{name}.tar"));
        let mut archive = Command::new("git");
        archive.current_dir(root()).args(["archive", "--format=tar", "HEAD"]);
        archive.arg(format!("--prefix={name}/")).arg("--output").arg(&tar);
        succeed(&mut archive)?;
        succeed(Command::new("tar").arg("--extract").arg("--file").arg(&tar).arg("-C").arg(&self.stage))?;
        let mut metadata = cargo_command();
        metadata.args(["metadata", "--format-version=1", "--locked", "--no-deps"]).stdout(Stdio::null());
        succeed(metadata.current_dir(self.stage.join(&name)))?;
        compress(&tar)
    }

    /// The site, which opens from the disk, by this machine's program.
    fn manual(&self, programs: &[Built], missing: &mut Vec<Missing>) -> Result<()> {
        let Some(own) = programs.iter().find(|built| built.machine == ARCH) else {
            missing
                .push(Missing::new("static targets", "the manual is not built: a program writes its pages"));
            return Ok(());
        };
        let tally = docs::site_of(&own.program()?)?;
        if tally.skips.is_empty() {
            let name = format!("{}-manual", self.name);
            pack(&root().join("target/site"), &name, &self.seconds, &self.folder)?;
        } else {
            missing.push(Missing::new("Python packages", "the manual is not built"));
        }
        Ok(())
    }

    /// The sums of all files.
    fn sums(&self) -> Result<()> {
        let files = self.files()?;
        let names = files.iter().filter_map(|file| file.file_name());
        let sums = Command::new("sha256sum").current_dir(&self.folder).args(names).output()?;
        ensure!(sums.status.success(), "sha256sum failed");
        Ok(fs::write(self.folder.join("SHA256SUMS"), sums.stdout)?)
    }
}

fn write_program(file: &Path, script: &str) -> Result<()> {
    fs::write(file, script)?;
    succeed(Command::new("chmod").arg("+x").arg(file))
}

/// Git's answer.
fn git(arguments: &[&str]) -> Result<String> {
    let output = Command::new("git").current_dir(root()).args(arguments).output().context("git")?;
    ensure!(output.status.success(), "git {} failed", arguments.join(" "));
    Ok(String::from_utf8(output.stdout)?.trim().to_string())
}
