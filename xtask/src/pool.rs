//! Runs tests, each a process of its own, several at once.

use crate::run::with_seed;
use crate::tally::{Skip, Tally};
use anyhow::{Context, Result};
use evenair_needs::{EFFECT, FOLDER, SKIPS};
use std::fs::{self, File};
use std::io::{IsTerminal as _, Write as _};
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// A test that takes longer hangs.
const LONGEST: Duration = Duration::from_secs(600);
/// The interval between two checks of a test that has taken some time.
const LOOK: Duration = Duration::from_millis(20);

/// The words of a program that ran one test: libtest's, and those of `evenair_needs::harness`.
const RAN: [&str; 2] = ["ok. 1 passed; 0 failed;", "1 tests, 0 failed"];
/// libtest's words for a test with `#[ignore]`.
const IGNORED: &str = "; 1 ignored;";

/// A test.
pub(crate) struct Job {
    pub(crate) name: String,
    /// The program and its arguments.
    pub(crate) words: Vec<String>,
    pub(crate) folder: PathBuf,
    /// Lower ranks begin earlier.
    pub(crate) rank: u32,
    /// Whether it runs one test of a program, which prints how many it ran.
    pub(crate) is_single: bool,
}

/// How a test ended.
struct Done {
    status: Option<ExitStatus>,
    output: String,
    skips: Vec<Skip>,
    time: Duration,
}

/// Tests that wait for a worker. Tests may be added while others run.
#[derive(Default)]
pub(crate) struct Queue {
    waiting: Mutex<Waiting>,
    changed: Condvar,
}

#[derive(Default)]
struct Waiting {
    jobs: Vec<Job>,
    added: usize,
    is_closed: bool,
}

impl Queue {
    /// Adds tests. Those of a lower rank begin earlier, those of one rank in their order.
    pub(crate) fn add(&self, jobs: impl IntoIterator<Item = Job>) {
        let mut waiting = self.lock();
        let before = waiting.jobs.len();
        waiting.jobs.extend(jobs);
        waiting.added += waiting.jobs.len() - before;
        waiting.jobs.sort_by_key(|job| job.rank);
        self.changed.notify_all();
    }

    /// The next test and its number; waits for one until the queue is closed.
    fn next(&self) -> Option<(usize, Job)> {
        let mut waiting = self.lock();
        while waiting.jobs.is_empty() && !waiting.is_closed {
            waiting = self.changed.wait(waiting).unwrap_or_else(PoisonError::into_inner);
        }
        if waiting.jobs.is_empty() {
            return None;
        }
        let number = waiting.added - waiting.jobs.len();
        Some((number, waiting.jobs.remove(0)))
    }

    fn close(&self) {
        self.lock().is_closed = true;
        self.changed.notify_all();
    }

    fn lock(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Runs the tests that `fill` adds to the queue, `at_once` at a time, from the first that it adds.
pub(crate) fn run(at_once: usize, fill: impl FnOnce(&Queue) -> Result<()>) -> Result<Tally> {
    let folder = tempfile::tempdir().context("a folder for the tests' findings")?;
    let (queue, tally) = (Queue::default(), Mutex::new(Tally::default()));
    let work = || -> Result<()> {
        while let Some((number, job)) = queue.next() {
            let done = one(&job, folder.path(), number)?;
            let mut tally = tally.lock().unwrap_or_else(PoisonError::into_inner);
            count(&job, done, &mut tally);
            progress(&tally, queue.lock().added);
        }
        Ok(())
    };
    std::thread::scope(|scope| -> Result<()> {
        let workers: Vec<_> = (0..at_once).map(|_| scope.spawn(work)).collect();
        let filled = fill(&queue);
        queue.close();
        workers.into_iter().try_for_each(|worker| worker.join().expect("a worker does not panic"))?;
        filled
    })?;
    if std::io::stderr().is_terminal() {
        eprint!("\r\x1b[K");
    }
    Ok(tally.into_inner().unwrap_or_else(PoisonError::into_inner))
}

fn progress(tally: &Tally, all: usize) {
    if std::io::stderr().is_terminal() {
        eprint!("\r\x1b[K{} of {all} tests, {} failed", tally.count(), tally.failed.len());
        let _ = std::io::stderr().flush();
    }
}

fn count(job: &Job, done: Done, tally: &mut Tally) {
    let is_skipped = done.skips.iter().any(|skip| skip.is_whole);
    let has_run = !job.is_single || is_skipped || RAN.iter().any(|words| done.output.contains(words));
    if !has_run && done.output.contains(IGNORED) {
        return; // a program of another test's
    }
    tally.times.push((job.name.clone(), done.time));
    if let Some(how) = failure(done.status, has_run) {
        println!("---- {} {how}\n{}\n     {}", job.name, done.output.trim_end(), job.words.join(" "));
        tally.failed.push(job.name.clone());
    } else if is_skipped {
        tally.skipped += 1;
    } else {
        tally.passed += 1;
    }
    tally.skips.extend(done.skips);
}

/// How a test failed; nothing for one that passed. Success without a run is a failure, too.
fn failure(status: Option<ExitStatus>, has_run: bool) -> Option<String> {
    match status {
        None => Some(format!("took more than {} s", LONGEST.as_secs())),
        Some(status) if !status.success() => {
            Some(status.signal().map_or("failed".into(), |signal| format!("was ended by signal {signal}")))
        }
        Some(_) => (!has_run).then(|| "was not run by its program".into()),
    }
}

#[allow(clippy::disallowed_methods, reason = "a task runner may look at the clock")]
fn one(job: &Job, folder: &Path, number: usize) -> Result<Done> {
    let (skips, output) = (folder.join(format!("skips-{number}")), folder.join(format!("output-{number}")));
    let mut command = Command::new(&job.words[0]);
    command.args(&job.words[1..]).current_dir(&job.folder).env("CARGO_MANIFEST_DIR", &job.folder);
    with_seed(&mut command).env(SKIPS, &skips).env(FOLDER, folder).stdin(Stdio::null());
    let file = File::create(&output).context("a file for a test's output")?;
    command.stdout(file.try_clone()?).stderr(file);
    command.process_group(0); // so that the children of a hanging test end with it
    let start = Instant::now();
    let mut child = command.spawn().with_context(|| job.words[0].clone())?;
    let status = waited(&mut child, start)?;
    Ok(Done {
        status,
        output: String::from_utf8_lossy(&fs::read(&output)?).into_owned(),
        skips: fs::read_to_string(&skips)
            .unwrap_or_default()
            .lines()
            .filter_map(|line| skip(&job.name, line))
            .collect(),
        time: start.elapsed(),
    })
}

/// Waits for the end; nothing, if it has not come in time and was forced.
#[allow(clippy::disallowed_methods, reason = "a task runner may sleep")]
fn waited(child: &mut Child, start: Instant) -> Result<Option<ExitStatus>> {
    let mut pause = Duration::from_micros(500);
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status));
        }
        if start.elapsed() > LONGEST {
            let _ = Command::new("kill").args(["-9", "--", &format!("-{}", child.id())]).status();
            child.wait()?;
            return Ok(None);
        }
        std::thread::sleep(pause);
        pause = (pause * 2).min(LOOK);
    }
}

/// A line that a test has left.
pub(crate) fn skip(test: &str, line: &str) -> Option<Skip> {
    let mut fields = line.split('\t');
    let (effect, need, details) = (fields.next()?, fields.next()?, fields.next()?);
    Some(Skip {
        what: test.into(),
        need: need.into(),
        details: details.into(),
        is_whole: effect == EFFECT[0],
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn test_that_did_not_run_is_no_pass() {
        let of = |output: &str| {
            let mut tally = Tally::default();
            let job = Job {
                name: "a test".into(),
                words: Vec::new(),
                folder: PathBuf::new(),
                rank: 0,
                is_single: true,
            };
            let status = Some(ExitStatus::from_raw(0));
            count(&job, Done { status, output: output.into(), skips: Vec::new(), time: LOOK }, &mut tally);
            (tally.passed, tally.failed.len())
        };
        let result = |counts: &str| format!("test result: ok. {counts}; 0 measured; 7 filtered out");
        assert_eq!(of(&result("1 passed; 0 failed; 0 ignored")), (1, 0));
        assert_eq!(of("test a ... ok (0.01 s)\n1 tests, 0 failed"), (1, 0));
        assert_eq!(of(&result("0 passed; 0 failed; 0 ignored")), (0, 1));
        assert_eq!(of(&result("0 passed; 0 failed; 1 ignored")), (0, 0));
        assert_eq!(of(""), (0, 1));
    }
}
