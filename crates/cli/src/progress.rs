//! Progress bars: on a terminal only, and not with `--quiet`.

use crate::terminal;
use evenair_study::Progress;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

const WAITING: &str = "{spinner} {msg}, {elapsed}";
const WORKING: &str = "{spinner} {msg:32} [{bar:32}] {percent} %, {eta} left";

fn shown(template: &str, what: &str) -> ProgressBar {
    let bar = ProgressBar::new(0);
    if terminal::is_quiet() {
        bar.set_draw_target(ProgressDrawTarget::hidden());
    }
    bar.set_style(style(template));
    bar.set_message(what.to_string());
    bar.enable_steady_tick(Duration::from_millis(200));
    bar
}

fn style(template: &str) -> ProgressStyle {
    ProgressStyle::with_template(template).expect("the template is right").progress_chars("=> ")
}

/// One bar over all that a command does, by work: a long run counts as much as it is long, and moves while it is under way.
pub(crate) struct Bar {
    bar: ProgressBar,
    /// Work that is announced and not started.
    ahead: Mutex<f64>,
}

/// Steps of the bar per unit of work.
const STEPS: f64 = 1e6;

fn steps(work: f64) -> u64 {
    (work * STEPS).round() as u64
}

impl Bar {
    pub(crate) fn new(what: &str) -> Self {
        Self { bar: shown(WAITING, what), ahead: Mutex::new(0.0) }
    }

    /// Prints something above the bar.
    pub(crate) fn aside<T>(&self, print: impl FnOnce() -> T) -> T {
        self.bar.suspend(print)
    }
}

impl Progress for Bar {
    fn expected(&self, work: f64) {
        *self.ahead.lock().unwrap_or_else(PoisonError::into_inner) += work;
        self.bar.inc_length(steps(work));
    }

    fn stage(&self, what: &str) {
        self.bar.set_message(what.to_string());
    }

    fn started(&self, _: usize, _: usize) {}

    fn started_work(&self, missing: f64, all: f64) {
        let mut ahead = self.ahead.lock().unwrap_or_else(PoisonError::into_inner);
        let announced = all.min(*ahead);
        *ahead -= announced;
        self.bar.inc_length(steps(all - announced));
        self.bar.set_style(style(WORKING));
        if missing < all {
            // The speed of earlier work does not predict this machine's.
            self.bar.inc(steps(all - missing));
            self.bar.reset_eta();
        }
    }

    fn advanced(&self, work: f64) {
        self.bar.inc(steps(work));
    }

    fn finished_one(&self) {}
}

impl Drop for Bar {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}

/// How long something of unknown length has taken so far; a bar, once it is known how much of it is done.
pub(crate) struct Waiting {
    bar: ProgressBar,
    what: String,
}

impl Waiting {
    pub(crate) fn new(what: &str) -> Self {
        Self { bar: shown(WAITING, what), what: what.into() }
    }

    /// Reports the done share, and the largest gap between the found value and the optimum.
    pub(crate) fn reached(&self, share: f64, gap: Option<f64>) {
        if let Some(gap) = gap {
            self.bar.set_message(format!("{}, within {gap:.0e}", self.what));
        }
        if share > 0.0 {
            self.bar.set_length(STEPS as u64);
            self.bar.set_style(style(WORKING));
            self.bar.set_position(steps(share));
        }
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bar_shows_once_share_is_known() {
        let waiting = Waiting::new("solving");
        waiting.reached(0.0, None);
        assert_eq!((waiting.bar.length(), waiting.bar.message()), (Some(0), "solving".into()));
        waiting.reached(0.25, Some(0.031));
        assert_eq!((waiting.bar.position(), waiting.bar.length()), (steps(0.25), Some(steps(1.0))));
        assert_eq!(waiting.bar.message(), "solving, within 3e-2");
    }

    #[test]
    fn bar_is_full_when_all_work_is_done() {
        let bar = Bar::new("two sweeps");
        bar.expected(30.0);
        bar.expected(10.0);
        assert_eq!(bar.bar.length(), Some(steps(40.0)));
        bar.started_work(20.0, 30.0);
        assert_eq!(bar.bar.position(), steps(10.0), "a third of it was kept");
        bar.advanced(20.0);
        assert_eq!((bar.bar.position(), bar.bar.length()), (steps(30.0), Some(steps(40.0))));
        bar.started_work(10.0, 10.0);
        bar.started_work(5.0, 5.0); // more seeds, for a precision
        bar.advanced(15.0);
        assert_eq!((bar.bar.position(), bar.bar.length()), (steps(45.0), Some(steps(45.0))));
    }
}
