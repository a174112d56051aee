//! Ctrl-C.
//!
//! Whoever works for longer than a moment is handed [`STOP`]: runs look at it every 100 ms of simulated time, solvers and integrators
//! before each of their steps. What they then give is an error that says what is kept.

use std::sync::atomic::{AtomicBool, Ordering};

/// Set by Ctrl-C: whatever is at work ends within moments, wherever it is.
pub(crate) static STOP: AtomicBool = AtomicBool::new(false);

pub(crate) fn watch() {
    // A second Ctrl-C ends the program at once; finished runs are whole files either way.
    let _ = ctrlc::set_handler(|| {
        if STOP.swap(true, Ordering::Relaxed) {
            std::process::exit(130);
        }
    });
}
