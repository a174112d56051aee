//! Watching a sweep, and the runs in it, from outside.

use evenair_optimum::Failure;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, Ordering};

/// Where a sweep reports how far it is; from several threads at once.
pub trait Progress: Sync {
    /// So many runs are to be done, of so many in all.
    fn started(&self, missing: usize, all: usize);
    /// So much more of one run is done. The shares of a run add up to one by the time at which it is finished; those of a run
    /// that fails or is stopped do not.
    fn advanced(&self, _share: f64) {}
    /// One more run is done.
    fn finished_one(&self);
}

/// Nobody is told.
impl Progress for () {
    fn started(&self, _: usize, _: usize) {}
    fn finished_one(&self) {}
}

/// Steps in which a run's progress is told.
const STEP: f64 = 1e-3;

/// One run, as those see it who watch.
pub(crate) struct Watched<'a> {
    stop: &'a AtomicBool,
    progress: &'a dyn Progress,
    /// How much of the run they know to be done.
    told: f64,
}

impl<'a> Watched<'a> {
    pub(crate) fn new(stop: &'a AtomicBool, progress: &'a dyn Progress) -> Self {
        Self { stop, progress, told: 0.0 }
    }

    /// What sets an end to it.
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
        self.progress.advanced(share - self.told);
        self.told = share;
    }
}

/// Why a run gave no record.
#[derive(Debug)]
pub(crate) enum NoRecord {
    /// It was told to stop.
    Stopped,
    /// What is not right.
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
