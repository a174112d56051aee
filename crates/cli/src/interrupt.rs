//! Ctrl-C.
//!
//! Work longer than a moment takes [`STOP`]: runs check it every 100 ms of simulated time, solvers and integrators before each of
//! their steps. They then return an error that names the kept results. Where a step may take seconds, the program does not wait
//! for it ([`unless_stopped`]).

use anyhow::{Result, bail};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::{Duration, Instant};

/// Set by Ctrl-C: all work ends within moments.
pub(crate) static STOP: AtomicBool = AtomicBool::new(false);

pub(crate) fn watch() {
    // A second Ctrl-C ends the program at once; finished runs are whole files either way.
    let _ = ctrlc::set_handler(|| {
        if STOP.swap(true, Ordering::Relaxed) {
            std::process::exit(130);
        }
    });
}

/// How often [`STOP`] is looked at, and how long the work is given to end by itself.
const LOOK: Duration = Duration::from_millis(50);
const GRACE: Duration = Duration::from_millis(200);

/// Returns the result of some work. Work that does not end within moments after a stop is abandoned, since the process ends; so
/// it must not write anything. `kept` names the results that are kept then.
pub(crate) fn unless_stopped<T: Send + 'static>(
    kept: &str,
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T> {
    within(None, kept, || (), work)
}

/// The same, with `look_on` called every moment, and within a time of this machine's clock, if one is given.
pub(crate) fn within<T: Send + 'static>(
    limit: Option<Duration>,
    kept: &str,
    look_on: impl Fn(),
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T> {
    let (give, take) = channel();
    let worker = std::thread::spawn(move || give.send(work()));
    let begun = Instant::now();
    let is_late = || limit.is_some_and(|limit| begun.elapsed() > limit);
    let mut patience = LOOK;
    loop {
        match take.recv_timeout(patience) {
            Ok(result) => return Ok(result),
            Err(RecvTimeoutError::Timeout) if is_late() => {
                let limit = limit.unwrap_or_default().as_secs_f64();
                bail!("not done after the {limit} s of --time-limit; {kept}")
            }
            Err(RecvTimeoutError::Timeout) if patience == GRACE => bail!("stopped; {kept}"),
            Err(RecvTimeoutError::Timeout) if STOP.load(Ordering::Relaxed) => patience = GRACE,
            Err(RecvTimeoutError::Timeout) => look_on(),
            Err(RecvTimeoutError::Disconnected) => {
                std::panic::resume_unwind(worker.join().expect_err("it gave nothing"))
            }
        }
    }
}

/// The result of work that is done in one piece.
pub(crate) const NOTHING: &str = "nothing is kept";
