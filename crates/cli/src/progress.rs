//! Progress bars, on a terminal only.

use evenair_study::Progress;
use indicatif::{ProgressBar, ProgressStyle};

/// A bar over the runs of a sweep, those under way in it by what they have done.
pub(crate) struct Bar(ProgressBar);

/// The length of one run on the bar.
const RUN: f64 = 1e6;

impl Bar {
    pub(crate) fn new(label: &str) -> Self {
        let bar = ProgressBar::no_length();
        let style = "{msg:32} [{bar:32}] {percent} %, {eta} left";
        bar.set_style(
            ProgressStyle::with_template(style).expect("the template is right").progress_chars("=> "),
        );
        bar.set_message(label.to_string());
        Self(bar)
    }

    /// Says what it is doing now.
    pub(crate) fn tell(&self, what: String) {
        self.0.set_message(what);
    }

    pub(crate) fn clear(&self) {
        self.0.finish_and_clear();
    }
}

/// How long something of unknown length has taken so far.
pub(crate) struct Waiting(ProgressBar);

impl Waiting {
    pub(crate) fn new(what: String) -> Self {
        let bar = ProgressBar::new_spinner();
        bar.set_style(
            ProgressStyle::with_template("{spinner} {msg}, {elapsed}").expect("the template is right"),
        );
        bar.set_message(what);
        bar.enable_steady_tick(std::time::Duration::from_millis(200));
        Self(bar)
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        self.0.finish_and_clear();
    }
}

impl Progress for Bar {
    fn started(&self, missing: usize, all: usize) {
        self.0.set_length(all as u64 * RUN as u64);
        self.0.set_position((all - missing) as u64 * RUN as u64);
        self.0.reset_eta();
    }

    fn advanced(&self, share: f64) {
        self.0.inc((share * RUN) as u64);
    }

    fn finished_one(&self) {}
}
