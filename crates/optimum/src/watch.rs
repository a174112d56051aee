//! Observers of a solver at work.

use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};

/// An observer of a solver: it may no longer want an answer, and may want to know how far the work is.
#[derive(Clone, Copy, Debug)]
pub struct Watch<'a> {
    /// Set when no answer is wanted any more: the solver at work ends within a step.
    pub stop: &'a AtomicBool,
    /// The solver reports here the share of its work that is done, as far as it can estimate: never less than
    /// before.
    pub done: Option<&'a Done>,
}

impl<'a> From<&'a AtomicBool> for Watch<'a> {
    fn from(stop: &'a AtomicBool) -> Self {
        Self { stop, done: None }
    }
}

/// How far some work is.
#[derive(Debug)]
pub struct Done {
    share: AtomicU32,
    /// The bits of a number.
    gap: AtomicU64,
}

/// The resolution of the share.
const PARTS: f64 = 1e6;

impl Default for Done {
    fn default() -> Self {
        Self::new()
    }
}

impl Done {
    /// Nothing is.
    pub const fn new() -> Self {
        Self { share: AtomicU32::new(0), gap: AtomicU64::new(f64::INFINITY.to_bits()) }
    }

    /// The share that is done, from zero to one.
    pub fn share(&self) -> f64 {
        f64::from(self.share.load(Ordering::Relaxed)) / PARTS
    }

    /// An upper bound on the distance from the optimum, over the objective's scale. It is only an estimate
    /// while the heaviest independent set that a search found may not be the heaviest. None where nothing was
    /// found yet, or the problem is solved by way of others.
    pub fn gap(&self) -> Option<f64> {
        Some(f64::from_bits(self.gap.load(Ordering::Relaxed))).filter(|gap| gap.is_finite())
    }

    pub(crate) fn reach(&self, share: f64) {
        self.share.fetch_max((share.clamp(0.0, 1.0) * PARTS) as u32, Ordering::Relaxed);
    }

    pub(crate) fn come_within(&self, gap: f64) {
        self.gap.store(gap.to_bits(), Ordering::Relaxed);
    }
}
