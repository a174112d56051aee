//! The interface of runs in real time, over sockets of this machine's kernel.

use evenair_netsim::{NetworkSpec, RunResult, RunSpec, Watchers};
use evenair_results::LiveRecord;
use std::fmt;

/// Lets networks pass in real time. A study knows that there is such a world, and not how it is made.
pub trait Live: fmt::Debug + Send + Sync {
    /// One run; nothing, if a watcher tells it to stop.
    ///
    /// # Errors
    /// If the machine does not do it; the message says why.
    fn run(
        &self,
        network: &NetworkSpec,
        run: RunSpec,
        watchers: &mut Watchers<'_>,
    ) -> Result<Option<(RunResult, LiveRecord)>, String>;

    /// The kernel, so that a run over another is not taken for this one's.
    fn kernel(&self) -> String;
}
