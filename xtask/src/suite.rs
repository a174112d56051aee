//! Suites: tests of several crates with one choice of features, in the profile that users build.

use crate::metadata::{Metadata, Program, built_tests};
use crate::pool::{self, Job};
use crate::run::{cargo_command, root};
use crate::tally::Tally;
use anyhow::{Context, Result, ensure};
use std::collections::BTreeSet;
use std::process::Command;
use std::thread::available_parallelism;

type Wanted = Box<dyn Fn(&Program, &str) -> bool>;

/// Tests that are built and run together.
pub(crate) struct Suite {
    /// Cargo's options: packages and features.
    pub(crate) options: Vec<String>,
    /// Which tests of a program are wanted, by the program's target and the test's name.
    pub(crate) wanted: Wanted,
    /// How many run at once.
    pub(crate) at_once: usize,
    /// Whether examples in documentation are tests, too.
    pub(crate) documentation: bool,
}

/// The fast crates of the release profile, which a build in pieces cuts into more.
const OPTIMISED: [&str; 7] = ["units", "laws", "topology", "des", "wifi", "tcp", "netsim"];

/// Cargo's options for a build that the next one only updates where a change requires it: kept beside that of
/// the profile.
fn in_pieces() -> impl Iterator<Item = String> {
    let pieces = OPTIMISED.map(|name| format!("profile.release.package.evenair-{name}.codegen-units=16"));
    std::iter::once("profile.release.incremental=true".to_string())
        .chain(pieces)
        .map(|setting| format!("--config={setting}"))
}

/// Theory and packets: the crates that the README's first command builds, and their tests.
pub(crate) const PACKETS: [&str; 17] = [
    "evenair-agreement",
    "evenair-cli",
    "evenair-study",
    "evenair-wasm",
    "evenair-results",
    "evenair-scenario",
    "evenair-netsim",
    "evenair-fluid",
    "evenair-optimum",
    "evenair-wifi",
    "evenair-tcp",
    "evenair-service",
    "evenair-laws",
    "evenair-topology",
    "evenair-des",
    "evenair-units",
    "xtask",
];

/// Everything that wants the kernel of this machine, then crates of theory and packets that have tests of their own in a build with
/// all features.
pub(crate) const LIVE_AND_ABOVE: [&str; 10] = [
    "evenair-access",
    "evenair-gateway",
    "evenair-linux",
    "evenair-multiconn",
    "evenair-kernel",
    "evenair-emulator",
    "evenair-operator",
    "evenair-needs",
    "evenair-cli",
    "evenair-results",
];
/// End-to-end tests of the command that a build with all features need not run again. All others run there: what is compiled with
/// these features alone runs nowhere else.
const RAN_BEFORE: [&str; 13] = [
    "begin::",
    "captures::",
    "claims::",
    "command::",
    "documents::",
    "lists::",
    "messages::",
    "networks::",
    "play::",
    "plots::",
    "studies::",
    "sweeps::",
    "terminal::",
];
/// Tests among them that also run live commands.
const RUN_AGAIN: [&str; 3] = [
    "documents::page::",
    "documents::every_example_of_the_helps_runs",
    "documents::every_command_of_the_documents_runs",
];
/// Tests that nothing may run beside. Laws that come and go in the kernel wait for all its processors, and
/// hold up the namespaces of others in that time.
const ALONE: [&str; 1] = ["laws_that_come_and_go_leave_nothing"];

pub(crate) fn packages(names: &[impl AsRef<str>]) -> Vec<String> {
    names.iter().map(|name| format!("--package={}", name.as_ref())).collect()
}

/// The options of a build with the live commands.
pub(crate) fn live_options() -> Vec<String> {
    let mut options = packages(&LIVE_AND_ABOVE);
    options.push("--features=evenair-cli/live,evenair-cli/parquet".into());
    options
}

fn processors() -> usize {
    available_parallelism().map_or(1, usize::from)
}

impl Suite {
    pub(crate) fn packets() -> Self {
        let options = packages(&PACKETS);
        Self { options, wanted: Box::new(|_, _| true), at_once: processors(), documentation: true }
    }

    pub(crate) fn live() -> Self {
        let wanted = |program: &Program, name: &str| {
            let begins = |list: &[&str]| list.iter().any(|begin| name.starts_with(begin));
            let is_of_the_command = program.kind == "test" && program.folder.ends_with("cli");
            !is_of_the_command || !begins(&RAN_BEFORE) || begins(&RUN_AGAIN)
        };
        // They wait for the kernel's clock more than they compute.
        let wanted = Box::new(wanted);
        Self { options: live_options(), wanted, at_once: 3 * processors(), documentation: false }
    }

    /// Tests of some packages of theory and packets, compiled in pieces: those that are wanted.
    pub(crate) fn of(names: &BTreeSet<String>, wanted: impl Fn(&Program, &str) -> bool + 'static) -> Self {
        let chosen: Vec<&str> = PACKETS.iter().copied().filter(|name| names.contains(*name)).collect();
        let options = packages(&chosen).into_iter().chain(in_pieces()).collect();
        Self { options, wanted: Box::new(wanted), documentation: false, ..Self::packets() }
    }

    /// Builds the tests and runs each as soon as its program is built.
    pub(crate) fn run(&self) -> Result<Tally> {
        let mut build = self.cargo(&["test", "--no-run", "--lib", "--bins", "--tests"]);
        build.arg("--quiet");
        let (mut alone, mut after) = (Vec::new(), Vec::new());
        let mut tally = pool::run(self.at_once, |queue| {
            built_tests(&mut build, |program| {
                let is_alone = |job: &Job| ALONE.iter().any(|name| job.name.ends_with(name));
                let (lonely, others): (Vec<Job>, Vec<Job>) =
                    self.tests_of(&program)?.into_iter().partition(is_alone);
                alone.extend(lonely);
                if program.runs_its_package() {
                    after.extend(others);
                } else {
                    queue.add(others);
                }
                Ok(())
            })?;
            queue.add(after);
            // Cargo builds examples when it has built all else.
            queue.add(self.documentation.then(|| self.examples()));
            Ok(())
        })?;
        tally.add(pool::run(1, |queue| {
            queue.add(alone);
            Ok(())
        })?);
        ensure!(tally.count() > 0, "cargo built no tests");
        Ok(tally)
    }

    fn cargo(&self, words: &[&str]) -> Command {
        let mut cargo = cargo_command();
        cargo.args(words).args(["--release", "--locked"]).args(&self.options);
        cargo
    }

    fn tests_of(&self, program: &Program) -> Result<Vec<Job>> {
        let mut list = Command::new(&program.path);
        list.args(["--list", "--format", "terse"]).current_dir(&program.folder);
        let output = list.output().with_context(|| program.path.display().to_string())?;
        ensure!(output.status.success(), "{}: --list fails", program.path.display());
        let text = String::from_utf8(output.stdout)?;
        let names = text.lines().filter_map(|line| line.strip_suffix(": test"));
        let names = names.filter(|name| (self.wanted)(program, name));
        let package = program.folder.strip_prefix(root()).unwrap_or(&program.folder).display().to_string();
        let job = |name: &str| {
            let mut words = vec![program.path.display().to_string(), name.into(), "--exact".into()];
            words.push("--test-threads=1".into());
            let kind = if program.kind == "lib" { String::new() } else { format!("{} ", program.target) };
            Job {
                name: format!("{} {kind}{name}", package.trim_start_matches("crates/")),
                words,
                folder: program.folder.clone(),
                rank: rank(&package, &program.kind),
                is_single: true,
            }
        };
        Ok(names.map(job).collect())
    }

    /// The examples in the documentation, as one test: with the same choice of packages, hence of features, nothing is built twice.
    fn examples(&self) -> Job {
        let cargo = self.cargo(&["test", "--doc", "--quiet"]);
        let words = std::iter::once(cargo.get_program()).chain(cargo.get_args());
        let words = words.map(|word| word.to_string_lossy().into_owned());
        let name = "examples in documentation".into();
        Job { name, words: words.collect(), folder: root(), rank: 0, is_single: false }
    }
}

/// Long tests begin first, so that no processor waits for one in the end: they are those of whole commands and worlds.
fn rank(package: &str, kind: &str) -> u32 {
    match (package, kind) {
        ("crates/agreement", _) => 0,
        (_, "test") => 1,
        ("crates/optimum" | "crates/netsim", _) => 2,
        _ => 3,
    }
}

/// The crates that a suite stands on, as git's paths.
pub(crate) fn stands_on(names: &[&str]) -> Result<Vec<String>> {
    let names: BTreeSet<String> = names.iter().map(ToString::to_string).collect();
    let folders = Metadata::of_workspace()?.closure(&names, false)?;
    Ok(folders.into_values().map(|folder| folder.display().to_string()).collect())
}
