//! Watching a sweep, and the runs in it, from outside.

use evenair_optimum::Failure;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, Ordering};

/// Where a sweep reports how far it is; from several threads at once.
///
/// Work is counted in simulated seconds of flows: the relative cost of runs, as far as it is known before they start.
pub trait Progress: Sync {
    /// So much work is ahead, and will be started in parts.
    fn expected(&self, _work: f64) {}
    /// Begins the next stage, of this name.
    fn stage(&self, _what: &str) {}
    /// A number of runs are to be done, of so many in all.
    fn started(&self, missing: usize, all: usize);
    /// The same in work.
    fn started_work(&self, _missing: f64, _all: f64) {}
    /// So much more of one run is done. That of a run adds up to its work by the time at which it is finished; that of a run
    /// that fails or is stopped does not.
    fn advanced(&self, _work: f64) {}
    /// One more run is done.
    fn finished_one(&self);
}

/// Reports nothing.
impl Progress for () {
    fn started(&self, _: usize, _: usize) {}
    fn finished_one(&self) {}
}

/// Steps in which a run's progress is told.
const STEP: f64 = 1e-3;

/// One run as its watchers see it.
pub(crate) struct Watched<'a> {
    stop: &'a AtomicBool,
    progress: &'a dyn Progress,
    /// The worth of all the work together.
    work: f64,
    /// How much of the run they know to be done.
    told: f64,
}

impl<'a> Watched<'a> {
    pub(crate) fn new(stop: &'a AtomicBool, progress: &'a dyn Progress, work: f64) -> Self {
        Self { stop, progress, work, told: 0.0 }
    }

    /// The switch that ends it early.
    pub(crate) const fn stop(&self) -> &'a AtomicBool {
        self.stop
    }

    /// The run has come so far; whether it is to go on.
    pub(crate) fn reached(&mut self, share: f64) -> ControlFlow<()> {
        if share - self.told >= STEP {
            self.tell(share);
        }
        if self.stop.load(Ordering::Relaxed) { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }

    /// The run is done.
    pub(crate) fn finish(mut self) {
        self.tell(1.0);
        self.progress.finished_one();
    }

    fn tell(&mut self, share: f64) {
        self.progress.advanced((share - self.told) * self.work);
        self.told = share;
    }
}

/// Why a run gave no record.
#[derive(Debug)]
pub(crate) enum NoRecord {
    /// It was told to stop.
    Stopped,
    /// The fault that was noticed.
    Failed(String),
}

impl From<String> for NoRecord {
    fn from(why: String) -> Self {
        Self::Failed(why)
    }
}

impl From<Failure> for NoRecord {
    fn from(failure: Failure) -> Self {
        if failure == Failure::Stopped { Self::Stopped } else { Self::Failed(failure.to_string()) }
    }
}
