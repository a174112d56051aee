//! `cargo xtask test`: everything that CI checks, in one local command.
//!
//! Parts are named by the property they prove; `cargo xtask PART` runs one of them. Theory and packets are
//! always tested. Live commands, the Python module and the site are due where their sources have changed:
//! `passed.rs` remembers. The rest is for releases.
#![allow(clippy::print_stdout, reason = "a task runner prints its progress")]

mod beside;
mod bundle;
mod changed;
mod citations;
mod compiler;
mod deb;
mod dependencies;
mod dist;
mod docs;
mod figures;
mod foreign;
mod labels;
mod links;
mod metadata;
mod minimum;
mod module;
mod mutants;
mod packages;
mod packaging;
mod parts;
mod passed;
mod play;
mod pool;
mod python;
mod recipe;
mod release;
mod routers;
mod run;
mod sanitizer;
mod sbom;
mod steps;
mod suite;
mod tables;
mod tally;
mod tests;
mod tidy;
mod trial;
mod wheel;
mod words;

use anyhow::{Context as _, Result, bail};
use beside::groups;
use evenair_needs::{NEEDS, Remedy, find};
use parts::{PARTS, Part, When};
use passed::Passed;
use std::collections::BTreeSet;
use std::process::ExitCode;
use std::time::{Duration, Instant};
use tally::Tally;

/// Which parts `cargo xtask test` runs.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Extent {
    /// Those that are always due.
    Ordinary,
    /// Those, and the others for which something has changed since they passed.
    Due,
    /// All but those for releases.
    All,
    Everything,
}

const HELP: &str = "\
cargo xtask test               theory and packets: the parts below that are marked *
cargo xtask test --due         these, and the parts marked + where what they stand on has changed: CI
cargo xtask test --all         all parts that are marked
cargo xtask test --everything  all parts, and property tests from new seeds: before a release
cargo xtask test --changed     the tests of the crates of theory and packets with changes since the last commit, and of those above;
                               not the documents' examples, studies' quick claims, and comparisons with other simulators
cargo xtask test --changed REF the same, since a commit
    --may-lack NEED            with any of these: fail on tests that are skipped, but for lack of this; may be given again
cargo xtask needs              what tests use beyond Rust, Python and a C compiler: what is here, and how to get the rest
cargo xtask needs --packages   packages of Debian with what is missing
cargo xtask dist OPTIONS       the command, optimised by a profile of its own runs; cargo's options after it
";

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("xtask: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<()> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match words[..] {
        ["test", ref options @ ..] => test(options),
        ["dist", ref options @ ..] => dist::run(options),
        ["needs"] => {
            needs();
            Ok(())
        }
        ["needs", "--packages"] => {
            println!("{}", missing_packages().into_iter().collect::<Vec<_>>().join(" "));
            Ok(())
        }
        [] | ["help" | "--help"] => {
            help();
            Ok(())
        }
        [name] if PARTS.iter().any(|part| part.name == name) => {
            let part = PARTS.iter().find(|part| part.name == name).expect("it was found");
            let mut end = End::default();
            end.run(part, &mut Passed::read()?)?;
            end.tell(&[])
        }
        _ => {
            help();
            bail!("there is no part \"{}\"", words.join(" "))
        }
    }
}

/// The result of a part, and the time that it took.
#[allow(clippy::disallowed_methods, reason = "a task runner may look at the clock")]
fn done(part: &Part) -> (Tally, Duration) {
    let name = part.name;
    println!("== {name}");
    let start = Instant::now();
    let tally = (part.run)().map_or_else(
        |error| {
            println!("{name}: {error:#}");
            Tally::failed(name)
        },
        |tally| tally.of(name),
    );
    let time = start.elapsed();
    println!("== {name}: {} in {:.1} s", tally.line(), time.as_secs_f64());
    (tally, time)
}

fn help() {
    print!("{HELP}");
    for part in &PARTS {
        let mark = match part.when {
            When::Always => '*',
            When::Due => '+',
            When::Release => ' ',
        };
        println!("cargo xtask {:16} {mark} {}", part.name, part.proves);
    }
}

fn needs() {
    for need in NEEDS {
        let found = match need.remedy {
            Remedy::Package(_) => find(need.name).map_or("missing", |_| "here"),
            Remedy::Words(_) => "", // printed by the tests that try it
        };
        println!("{:24} {found:8} {} ({})", need.name, need.gives, evenair_needs::remedy(need.name));
    }
}

/// Packages that have the programs that are missing.
fn missing_packages() -> BTreeSet<&'static str> {
    let package = |need: &evenair_needs::Need| match need.remedy {
        Remedy::Package(package) if find(need.name).is_none() => Some(package),
        _ => None,
    };
    NEEDS.iter().filter_map(package).collect()
}

fn test(options: &[&str]) -> Result<()> {
    let (mut extent, mut since, mut may_lack, mut is_strict) = (Extent::Ordinary, None, Vec::new(), false);
    let mut words = options.iter().peekable();
    while let Some(word) = words.next() {
        match *word {
            "--due" => extent = Extent::Due,
            "--all" => extent = Extent::All,
            "--everything" => extent = Extent::Everything,
            "--changed" => {
                since = Some(words.next_if(|word| !word.starts_with('-')).copied().unwrap_or("HEAD"));
            }
            "--may-lack" => {
                is_strict = true;
                let need = *words.next().context("--may-lack wants a need: cargo xtask needs lists them")?;
                may_lack.push(need.to_string());
            }
            _ => bail!("cargo xtask test has no option {word}; cargo xtask help lists them"),
        }
    }
    if let Some(unknown) = may_lack.iter().find(|need| !NEEDS.iter().any(|known| known.name == **need)) {
        bail!("--may-lack {unknown}: no such need; cargo xtask needs lists them");
    }
    if extent == Extent::Everything {
        println!("property tests: PROPTEST_RNG_SEED={}", run::draw_seed());
    }
    let mut end = End::default();
    if let Some(since) = since {
        end.changed(since)?;
    } else {
        end.parts(extent)?;
    }
    end.tell(&may_lack)?;
    let unexpected = end.tally.unexpected(&may_lack);
    if is_strict && !unexpected.is_empty() {
        unexpected.iter().for_each(|skip| {
            println!("this machine should have {}: {}: {}", skip.need, skip.what, skip.details);
        });
        bail!("{} skips that may not be", unexpected.len());
    }
    Ok(())
}

/// All that came of a run.
#[derive(Default)]
struct End {
    tally: Tally,
    times: Vec<(&'static str, Duration, String)>,
    due: Vec<&'static str>,
}

impl End {
    fn parts(&mut self, extent: Extent) -> Result<()> {
        let mut passed = Passed::read()?;
        let mut wanted = Vec::new();
        for part in &PARTS {
            let is_wanted = match part.when {
                When::Always => true,
                When::Due => extent >= Extent::All || passed.is_due(part)?,
                When::Release => extent == Extent::Everything,
            };
            if is_wanted && part.when == When::Due && extent == Extent::Ordinary {
                self.due.push(part.name);
            } else if is_wanted {
                wanted.push(part);
            }
        }
        let names: Vec<&str> = wanted.iter().map(|part| part.name).collect();
        for group in groups(&names) {
            let group: Vec<&'static Part> = group.iter().map(|&at| wanted[at]).collect();
            self.run_together(&group, &mut passed)?;
        }
        Ok(())
    }

    /// Runs a part, and beside it the others, one after the other.
    #[allow(clippy::disallowed_methods, reason = "a task runner may wait")]
    fn run_together(&mut self, parts: &[&'static Part], passed: &mut Passed) -> Result<()> {
        let Some((first, others)) = parts.split_first() else { return Ok(()) };
        if others.is_empty() {
            return self.run(first, passed);
        }
        let done = std::thread::scope(|scope| {
            let first = scope.spawn(|| done(first));
            // The first part's build takes cargo's lock first.
            std::thread::sleep(Duration::from_secs(2));
            let mut all: Vec<(Tally, Duration)> = others.iter().map(|part| done(part)).collect();
            all.insert(0, first.join().expect("a part does not panic"));
            all
        });
        parts.iter().zip(done).try_for_each(|(part, done)| self.conclude(part, done, passed))
    }

    fn changed(&mut self, since: &str) -> Result<()> {
        let parts = PARTS.iter().filter(|part| ["tidy", "formatting"].contains(&part.name));
        // Beside the build, which has a processor idle while the first crates are compiled.
        let (checks, tally) = std::thread::scope(|scope| {
            let checks = scope.spawn(|| parts.map(|part| (part, done(part))).collect::<Vec<_>>());
            let tally = changed::run(since);
            (checks.join().expect("a part does not panic"), tally)
        });
        let mut passed = Passed::read()?;
        checks.into_iter().try_for_each(|(part, done)| self.conclude(part, done, &mut passed))?;
        self.tally.add(tally?);
        Ok(())
    }

    /// Runs a part; if it fails, the others still run.
    fn run(&mut self, part: &'static Part, passed: &mut Passed) -> Result<()> {
        self.conclude(part, done(part), passed)
    }

    fn conclude(
        &mut self,
        part: &'static Part,
        (tally, time): (Tally, Duration),
        passed: &mut Passed,
    ) -> Result<()> {
        let name = part.name;
        if tally.failed.is_empty() && part.when != When::Always {
            passed.remember(part)?;
        }
        self.times.push((name, time, tally.line()));
        self.tally.add(tally);
        Ok(())
    }

    fn tell(&self, may_lack: &[String]) -> Result<()> {
        println!("\nparts:");
        for (name, time, line) in &self.times {
            println!("{:8.1} s  {name:14} {line}", time.as_secs_f64());
        }
        if !self.tally.times.is_empty() {
            print!("the slowest tests:\n{}", self.tally.slowest());
        }
        if !self.due.is_empty() {
            println!(
                "not run, though their sources have changed: {} (cargo xtask test --due)",
                self.due.join(", ")
            );
        }
        for need in may_lack {
            println!("may be lacking here: {need}");
        }
        print!("{}", self.tally.details());
        println!("{}", self.tally.line());
        if self.tally.failed.is_empty() { Ok(()) } else { bail!("{} failed", self.tally.failed.len()) }
    }
}
