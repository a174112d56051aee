//! Ctrl-C.

use std::sync::atomic::{AtomicBool, Ordering};

/// Set by Ctrl-C: sweeps stop before their next run.
pub(crate) static STOP: AtomicBool = AtomicBool::new(false);

pub(crate) fn watch() {
    // A second Ctrl-C ends the program at once; finished runs are whole files either way.
    let _ = ctrlc::set_handler(|| {
        if STOP.swap(true, Ordering::Relaxed) {
            std::process::exit(130);
        }
    });
}
