//! One call from Python into a computation: without the interpreter's lock, stopped by Ctrl-C, and by an exception in a
//! law.

use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use rayon::ThreadPoolBuilder;
use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// How often the interpreter is asked for signals.
const LOOK: Duration = Duration::from_millis(50);
/// How long work that was told to stop is waited for: runs, solvers and integrators look at the flag in their every step.
const STOPPING_TIME_MAX: Duration = Duration::from_secs(2);

thread_local! {
    /// The call that this thread works for.
    static CURRENT: RefCell<Option<Arc<Session>>> = const { RefCell::new(None) };
}

/// The state that a call's threads share.
#[derive(Default)]
pub(crate) struct Session {
    /// Set where the work is to end early.
    pub(crate) stop: AtomicBool,
    error: Mutex<Option<PyErr>>,
    all: AtomicUsize,
    done: AtomicUsize,
}

impl Session {
    fn fail(&self, error: PyErr) {
        self.stop.store(true, Ordering::Relaxed);
        self.error.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
    }

    fn take_error(&self) -> Option<PyErr> {
        self.error.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

impl evenair_study::Progress for Session {
    fn started(&self, missing: usize, all: usize) {
        self.all.store(all, Ordering::Relaxed);
        self.done.store(all - missing, Ordering::Relaxed);
    }

    fn finished_one(&self) {
        self.done.fetch_add(1, Ordering::Relaxed);
    }
}

/// A law has raised an exception: the call that this thread works for ends with it.
pub(crate) fn fail(py: Python<'_>, error: PyErr) {
    CURRENT.with_borrow(|current| match current {
        Some(session) => session.fail(error),
        None => error.write_unraisable(py, None),
    });
}

/// Whether the call that this thread works for is to end: laws are no longer asked.
pub(crate) fn is_ending() -> bool {
    CURRENT.with_borrow(|current| current.as_ref().is_some_and(|s| s.stop.load(Ordering::Relaxed)))
}

/// A call's work on this thread while the interpreter waits, such as reading a scenario: laws' exceptions end it.
pub(crate) fn guard<T>(work: impl FnOnce() -> PyResult<T>) -> PyResult<T> {
    let session = Arc::new(Session::default());
    let before = CURRENT.replace(Some(Arc::clone(&session)));
    let result = work();
    CURRENT.set(before);
    match session.take_error() {
        Some(error) => Err(error),
        None => result,
    }
}

/// Runs a long computation on threads of its own, and handles signals and progress while it runs. `progress` is called
/// with how many runs are done, and of how many.
///
/// The threads live as long as the call: a process that forks between calls copies none of them.
pub(crate) fn conduct<T: Send + 'static>(
    py: Python<'_>,
    threads: Option<usize>,
    progress: Option<&Bound<'_, PyAny>>,
    work: impl FnOnce(&Session) -> PyResult<T> + Send + 'static,
) -> PyResult<T> {
    let session = Arc::new(Session::default());
    let (for_pool, for_work) = (Arc::clone(&session), Arc::clone(&session));
    let mut threads_of_pool = Vec::new();
    let pool = ThreadPoolBuilder::new()
        .num_threads(threads.unwrap_or(0))
        .start_handler(move |_| CURRENT.set(Some(Arc::clone(&for_pool))))
        .spawn_handler(|thread| {
            // The interpreter knows the thread from its beginning to its end: to be made known costs more than to call a law.
            let known = || Python::attach(|py| py.detach(|| thread.run()));
            let thread = std::thread::Builder::new().name("evenair".into()).spawn(known)?;
            threads_of_pool.push(thread);
            Ok(())
        })
        .build()
        .map_err(|e| PyRuntimeError::new_err(e.to_string()))?;
    let (send, mut receive) = channel();
    pool.spawn(move || {
        let result = catch_unwind(AssertUnwindSafe(|| work(&for_work)));
        let _ = send.send(result); // nobody waits any more, if the call was interrupted
    });
    let mut shown = 0;
    let result = loop {
        let answers = &mut receive;
        match py.detach(move || answers.recv_timeout(LOOK)) {
            Ok(result) => break result,
            Err(RecvTimeoutError::Disconnected) => return Err(PyRuntimeError::new_err("a thread was lost")),
            Err(RecvTimeoutError::Timeout) => (),
        }
        if let Err(error) = look(py, &session, progress, &mut shown) {
            session.fail(error);
            let answers = &mut receive;
            let _ = py.detach(move || answers.recv_timeout(STOPPING_TIME_MAX));
            return Err(session.take_error().unwrap_or_else(|| PyRuntimeError::new_err("interrupted")));
        }
    };
    // None is left that an interpreter which ends would have to stop.
    drop(pool);
    py.detach(|| threads_of_pool.into_iter().for_each(|thread| drop(thread.join())));
    if let Some(error) = session.take_error() {
        return Err(error);
    }
    tell(&session, progress, &mut shown)?;
    result.unwrap_or_else(|panic| resume_unwind(panic))
}

fn look(
    py: Python<'_>,
    session: &Session,
    progress: Option<&Bound<'_, PyAny>>,
    shown: &mut usize,
) -> PyResult<()> {
    py.check_signals()?;
    tell(session, progress, shown)
}

/// Tells of progress, where there is any.
fn tell(session: &Session, progress: Option<&Bound<'_, PyAny>>, shown: &mut usize) -> PyResult<()> {
    let (done, all) = (session.done.load(Ordering::Relaxed), session.all.load(Ordering::Relaxed));
    if let Some(progress) = progress
        && done != *shown
    {
        *shown = done;
        progress.call1((done, all))?;
    }
    Ok(())
}
