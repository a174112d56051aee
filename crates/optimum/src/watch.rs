//! Observers of a solver at work.

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

/// An observer of a solver: it may no longer want an answer, and may want to know how far the work is.
#[derive(Clone, Copy, Debug)]
pub struct Watch<'a> {
    /// Set when no answer is wanted any more: the solver at work ends within a step.
    pub stop: &'a AtomicBool,
    /// Where the solver says how much of its work is done, as far as it can know: never less than before.
    pub done: Option<&'a Done>,
}

impl<'a> From<&'a AtomicBool> for Watch<'a> {
    fn from(stop: &'a AtomicBool) -> Self {
        Self { stop, done: None }
    }
}

/// The share of some work that is done.
#[derive(Debug, Default)]
pub struct Done(AtomicU32);

/// Parts that are told apart.
const PARTS: f64 = 1e6;

impl Done {
    /// Nothing is.
    pub const fn new() -> Self {
        Self(AtomicU32::new(0))
    }

    /// The share, from zero to one.
    pub fn share(&self) -> f64 {
        f64::from(self.0.load(Ordering::Relaxed)) / PARTS
    }

    pub(crate) fn reach(&self, share: f64) {
        self.0.fetch_max((share.clamp(0.0, 1.0) * PARTS) as u32, Ordering::Relaxed);
    }
}
