//! The files of a release, in target/release-archive: static programs, packages for Debian, the wheel, the source, the manual, a
//! bill of materials for each program, and the sums of all. Programs, packages and wheel run once in a place without Rust
//! (`trial.rs`). Nothing is uploaded. Steps that are done are kept until another commit is released (`steps.rs`).

use crate::bundle::{bring_what_goes_beside, compress, elf, pack};
use crate::metadata::Metadata;
use crate::run::{cargo_command, git, root, succeed, target};
use crate::steps::{Steps, files};
use crate::tally::Tally;
use crate::{deb, docs, play, sbom, trial, wheel};
use anyhow::{Context, Result, ensure};
use evenair_needs::Missing;
use std::env::consts::ARCH;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// An architecture of Linux: its word in names, and the number that an ELF file has for it (`e_machine`, elf.h).
const MACHINES: [(&str, u16); 2] = [("x86_64", 62), ("aarch64", 183)];

const SUMS: &str = "SHA256SUMS";

/// The features of the programs: all that the command can do.
const FEATURES: &str = "live,parquet,play";

/// The commit that is released, and where its files go.
struct Release {
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
    let (release, version) = Release::of_commit()?;
    let mut steps = Steps::resumed(&release.folder, &release.stage.join("steps.toml"), &release.commit)?;
    steps.take("playground", playground)?;
    let [own, other] = machines();
    release.of_machine(own, &mut steps)?;
    steps.take("source", || release.source())?;
    steps.take("manual", || release.manual(own.0))?;
    release.of_machine(other, &mut steps)?;
    steps.take("wheel", || release.keep(wheel::build_alone()?))?;
    release.sums()?;
    println!("{} of commit {}, in {}:\n", release.name, release.commit, release.folder.display());
    println!("{}", steps.table(&version));
    Ok(Tally::skipped(steps.missing(), false))
}

/// The machines, with this one first: its program writes the manual and its pages.
fn machines() -> [(&'static str, u16); 2] {
    let mut machines = MACHINES;
    machines.sort_by_key(|(machine, _)| *machine != ARCH);
    machines
}

/// The simulator for browsers, which the programs hold.
fn playground() -> Result<Vec<Missing>> {
    let lack = || Missing::new("the browsers' target", "the programs lack the playground");
    Ok(play::build()?.map_or_else(|| vec![lack()], |_| Vec::new()))
}

/// Rust's name of a machine's target without libraries.
fn triple(machine: &str) -> String {
    format!("{machine}-unknown-linux-musl")
}

/// Where cargo builds the program for a machine.
fn program_of(machine: &str) -> Result<PathBuf> {
    Ok(std::path::absolute(target().join(triple(machine)).join("dist/evenair"))?)
}

impl Release {
    /// The last commit, and its version; nothing may have changed since.
    fn of_commit() -> Result<(Self, String)> {
        // The record of parts that passed, which a release writes, too, is no matter of the files.
        let changed =
            git(&["status", "--porcelain", "--untracked-files=no", "--", ".", ":!xtask/passed.toml"])?;
        ensure!(changed.is_empty(), "a release is of a commit; commit these first:\n{changed}");
        let metadata = Metadata::of_workspace()?;
        let command = metadata.packages.iter().find(|package| package.name == "evenair-cli");
        let version = command.context("the workspace has no command")?.version.clone();
        let release = Self {
            name: format!("evenair-{version}"),
            commit: git(&["rev-parse", "HEAD"])?,
            seconds: git(&["show", "--no-patch", "--format=%ct"])?,
            folder: root().join("target/release-archive"),
            stage: std::path::absolute(target().join("release-stage"))?,
        };
        Ok((release, version))
    }

    /// The files of a machine: archive, bill of materials, package.
    fn of_machine(&self, (machine, number): (&str, u16), steps: &mut Steps) -> Result<()> {
        steps.take(&format!("program for {machine}"), || self.program(machine, number))?;
        if !self.archive_of(machine).exists() {
            return Ok(());
        }
        steps.take(&format!("bill of materials for {machine}"), || {
            let bill = sbom::written(&triple(machine), FEATURES, &self.commit, &self.seconds)?;
            let file = self.folder.join(format!("{}-{machine}-linux.cdx.json", self.name));
            fs::write(&file, bill).with_context(|| file.display().to_string())?;
            Ok(Vec::new())
        })?;
        steps.take(&format!("package for {machine}"), || {
            let package = match deb::of_static_program(&triple(machine))? {
                Ok(package) => package,
                Err(lack) => return Ok(vec![lack]),
            };
            let mut missing: Vec<Missing> = trial::package(machine, &package)?.into_iter().collect();
            missing.extend(self.keep(Ok(package))?);
            Ok(missing)
        })
    }

    /// The name of a machine's archive.
    fn archive_of(&self, machine: &str) -> PathBuf {
        self.folder.join(format!("{}-{machine}-linux.tar.gz", self.name))
    }

    /// A program, tried, and its archive.
    fn program(&self, machine: &str, number: u16) -> Result<Vec<Missing>> {
        let triple = triple(machine);
        let installed = Command::new("rustup").args(["target", "list", "--installed"]).output();
        let installed = String::from_utf8(installed.context("rustup")?.stdout)?;
        if !installed.lines().any(|line| line == triple) {
            return Ok(vec![Missing::new("static targets", format!("no program for {triple}"))]);
        }
        let Some(python) = wheel::tools()? else {
            return Ok(vec![Missing::new("Python packages", "no programs: zig compiles their parts in C")]);
        };
        self.build(&python, machine, &triple)?;
        let program = program_of(machine)?;
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
        if folder.exists() {
            fs::remove_dir_all(&folder)?;
        }
        fs::create_dir_all(folder.join("bin"))?;
        succeed(Command::new("cp").arg("--recursive").arg(beside).arg(folder.join("share")))?;
        fs::copy(&program, folder.join("bin/evenair"))?;
        let archive = pack(&folder, &name, &self.seconds, &self.folder)?;
        Ok(trial::archive(machine, &archive)?.into_iter().collect())
    }

    /// Builds the command for a machine without any library. Rust brings musl and a linker; zig compiles the C of `ring`.
    fn build(&self, python: &Path, machine: &str, triple: &str) -> Result<()> {
        let compiler = self.stage.join(format!("cc-{machine}"));
        // zig has other names of targets than those that cargo's scripts give it, and checks of its own that Rust's linker cannot find
        // where a crate is not optimised.
        let script = format!(
            "#!/bin/sh\nfor word; do shift; case $word in --target=*) ;; *) set -- \"$@\" \"$word\";; esac; done\n\
            exec '{}' -m ziglang cc -target {machine}-linux-musl -fno-sanitize=undefined \"$@\"\n",
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
        succeed(cargo.env("CARGO_ENCODED_RUSTFLAGS", flags.join("\x1f")))
    }

    /// Copies a file that another part built, or returns the need for lack of which it was not.
    fn keep(&self, built: Result<PathBuf, Missing>) -> Result<Vec<Missing>> {
        match built {
            Ok(file) => {
                let name = file.file_name().context("a file has a name")?;
                fs::copy(&file, self.folder.join(name)).with_context(|| file.display().to_string())?;
                Ok(Vec::new())
            }
            Err(lack) => Ok(vec![lack]),
        }
    }

    /// The source as git has it, from which cargo reads the workspace.
    fn source(&self) -> Result<Vec<Missing>> {
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
        compress(&tar)?;
        Ok(Vec::new())
    }

    /// The site, which opens from the disk, by this machine's program.
    fn manual(&self, machine: &str) -> Result<Vec<Missing>> {
        if !self.archive_of(machine).exists() {
            let lack = "the manual is not built: a program writes its pages";
            return Ok(vec![Missing::new("static targets", lack)]);
        }
        let tally = docs::site_of(&program_of(machine)?)?;
        if !tally.skips.is_empty() {
            return Ok(vec![Missing::new("Python packages", "the manual is not built")]);
        }
        let name = format!("{}-manual", self.name);
        pack(&root().join("target/site"), &name, &self.seconds, &self.folder)?;
        Ok(Vec::new())
    }

    /// The sums of all files.
    fn sums(&self) -> Result<()> {
        let files = files(&self.folder)?;
        let names = files.iter().filter_map(|file| file.file_name()).filter(|name| *name != SUMS);
        let sums = Command::new("sha256sum").current_dir(&self.folder).args(names).output()?;
        ensure!(sums.status.success(), "sha256sum failed");
        Ok(fs::write(self.folder.join(SUMS), sums.stdout)?)
    }
}

fn write_program(file: &Path, script: &str) -> Result<()> {
    fs::write(file, script)?;
    succeed(Command::new("chmod").arg("+x").arg(file))
}
