//! The files of a release, in target/release-archive: static programs, the package for Debian, the wheel, the source, the manual, a
//! bill of materials for each program, and the sums of all. Programs and wheel run once in a place without Rust. Nothing is uploaded.

use crate::bundle::{bring_what_goes_beside, bytes_of, compress, elf, pack};
use crate::metadata::Metadata;
use crate::run::{cargo_command, root, succeed, succeeds, target};
use crate::tally::Tally;
use crate::{deb, docs, sbom, wheel};
use anyhow::{Context, Result, ensure};
use evenair_needs::{Missing, find};
use std::env::consts::ARCH;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

/// An architecture of Linux: its word in names, and the number that an ELF file has for it (`e_machine`, elf.h).
const MACHINES: [(&str, u16); 2] = [("x86_64", 62), ("aarch64", 183)];

/// The features of the programs: all that the command can do.
const FEATURES: &str = "live,parquet";

/// Commands that run in an empty root: each world, each live command, files written. The live commands' own tests cover their work
/// on the kernel.
const TRIALS: &[&str] = &[
    "--version",
    "run chen10/a --set duration=2s --set warmup=1s --out /result",
    "plot /result goodput --out /goodput.png",
    "solve chen10/a",
    "list laws cubic",
    "emulate --help",
    "doctor --help",
    "gateway --help",
    "multiconn keygen /relay.key",
    "cc --help",
];

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
    let release = Release::of_commit()?;
    let mut missing = Vec::new();
    timed("programs", || release.programs(&mut missing))?;
    timed("the package for Debian", || release.take(deb::build()?, &mut missing))?;
    timed("the wheel", || release.take(wheel::build_alone()?, &mut missing))?;
    timed("the source", || release.source())?;
    timed("the manual", || release.manual(&mut missing))?;
    release.sums()?;
    Ok(Tally::skipped(&missing, false))
}

/// Does a step and says how long it took.
#[allow(clippy::disallowed_methods, reason = "a task runner may look at the clock")]
fn timed<T>(step: &str, run: impl FnOnce() -> Result<T>) -> Result<T> {
    let start = Instant::now();
    let done = run().with_context(|| step.to_string())?;
    println!("{step}: {:.0} s", start.elapsed().as_secs_f64());
    Ok(done)
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
            name: format!("evenair-{version}"),
            commit: git(&["rev-parse", "HEAD"])?,
            seconds: git(&["show", "--no-patch", "--format=%ct"])?,
            folder,
            stage,
        })
    }

    /// The programs and their archives. This machine's own program writes manual pages and completions.
    fn programs(&self, missing: &mut Vec<Missing>) -> Result<()> {
        let Some(python) = wheel::tools()? else {
            missing.push(Missing::new("Python packages", "no programs: zig compiles their parts in C"));
            return Ok(());
        };
        let installed = Command::new("rustup").args(["target", "list", "--installed"]).output();
        let installed = String::from_utf8(installed.context("rustup")?.stdout)?;
        let beside = self.stage.join("beside");
        let mut machines = MACHINES;
        machines.sort_by_key(|(machine, _)| *machine != ARCH);
        for (machine, number) in machines {
            let triple = format!("{machine}-unknown-linux-musl");
            if !installed.lines().any(|line| line == triple) {
                missing.push(Missing::new("static targets", format!("no program for {triple}")));
                continue;
            }
            let program = self.build(&python, machine, &triple)?;
            ensure!(elf(&fs::read(&program)?) == Some((number, false)), "{}: not static", program.display());
            if machine == ARCH {
                bring_what_goes_beside(&program, &beside)?;
            }
            ensure!(
                beside.exists(),
                "the target {ARCH}-unknown-linux-musl, whose program writes the manual pages, is missing"
            );
            let archive = self.archive(machine, &program, &beside)?;
            missing.extend(if machine == ARCH { alone(&archive)? } else { emulated(machine, &program)? });
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
        Ok(std::path::absolute(target().join(triple).join("dist/evenair"))?)
    }

    /// An archive that is unpacked into /usr/local, and the bill of its materials.
    fn archive(&self, machine: &str, program: &Path, beside: &Path) -> Result<PathBuf> {
        let name = format!("{}-{machine}-linux", self.name);
        let folder = self.stage.join(&name);
        fs::create_dir_all(folder.join("bin"))?;
        succeed(Command::new("cp").arg("--recursive").arg(beside).arg(folder.join("share")))?;
        fs::copy(program, folder.join("bin/evenair"))?;
        let triple = format!("{machine}-unknown-linux-musl");
        let bill = sbom::written(&triple, FEATURES, &self.commit, &self.seconds)?;
        fs::write(self.folder.join(format!("{name}.cdx.json")), bill)?;
        pack(&folder, &name, &self.seconds, &self.folder)
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

    /// The site, which opens from the disk.
    fn manual(&self, missing: &mut Vec<Missing>) -> Result<()> {
        let tally = docs::site()?;
        if tally.skips.is_empty() {
            let name = format!("{}-manual", self.name);
            pack(&root().join("target/site"), &name, &self.seconds, &self.folder)?;
        } else {
            missing.push(Missing::new("Python packages", "the manual is not built"));
        }
        Ok(())
    }

    /// The sums of all files, and their sizes for the reader.
    fn sums(&self) -> Result<()> {
        let mut files: Vec<PathBuf> =
            self.folder.read_dir()?.map(|entry| Ok(entry?.path())).collect::<Result<_>>()?;
        files.sort();
        let names = files.iter().filter_map(|file| file.file_name());
        let sums = Command::new("sha256sum").current_dir(&self.folder).args(names).output()?;
        ensure!(sums.status.success(), "sha256sum failed");
        fs::write(self.folder.join("SHA256SUMS"), sums.stdout)?;
        println!("{} of commit {}, in {}:", self.name, self.commit, self.folder.display());
        for file in files {
            let name = file.file_name().unwrap_or_default().display();
            println!("{:10.2} MB  {name}", bytes_of(&file)? as f64 / 1e6);
        }
        Ok(())
    }
}

/// Tries another machine's program in an emulator. Returns the need that this machine lacks.
fn emulated(machine: &str, program: &Path) -> Result<Option<Missing>> {
    let Some(emulator) = find("qemu-aarch64").filter(|_| machine == "aarch64") else {
        return Ok(Some(Missing::new("qemu-aarch64", format!("the program for {machine} is not tried"))));
    };
    let run = TRIALS[1].split(' ').take_while(|word| *word != "--out");
    succeed(Command::new(emulator).arg(program).args(run))?;
    Ok(None)
}

/// Unpacks an archive into an empty root and tries its program there. Returns the need that the machine lacks.
fn alone(archive: &Path) -> Result<Option<Missing>> {
    let room = tempfile::tempdir()?;
    let local = room.path().join("usr/local");
    fs::create_dir_all(&local)?;
    let mut unpack = Command::new("tar");
    unpack.args(["--extract", "--strip-components=1", "--file"]).arg(archive).arg("--directory").arg(&local);
    succeed(&mut unpack)?;
    let entered = || {
        let mut enter = Command::new("unshare");
        enter.args(["--map-root-user", "--root"]).arg(room.path()).arg("/usr/local/bin/evenair");
        enter.env_clear().env("HOME", "/");
        enter
    };
    if !succeeds(Command::new("unshare").args(["--map-root-user", "--root", "/", "true"])) {
        return Ok(Some(Missing::new("user namespaces", "the program is not tried in an empty root")));
    }
    for trial in TRIALS {
        let output = entered().args(trial.split(' ')).output().context("unshare")?;
        let told = String::from_utf8_lossy(&output.stderr);
        ensure!(output.status.success(), "evenair {trial} fails in an empty root: {told}");
    }
    for file in ["result/flows.csv", "goodput.png", "relay.key"] {
        ensure!(bytes_of(&room.path().join(file))? > 0, "no {file} in the empty root");
    }
    Ok(None)
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
