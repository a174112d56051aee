//! The stand-in for `conic.rs` in WebAssembly, where there is no second solver.

use super::{Failure, Problem, Solution};
use std::sync::atomic::AtomicBool;

impl Problem {
    /// Fails: Clarabel is not in this build.
    ///
    /// # Errors
    /// Always.
    pub fn solve_by_cones(&self) -> Result<Solution, Failure> {
        self.solve_by_cones_unless(&AtomicBool::new(false))
    }

    /// Fails: Clarabel is not in this build.
    ///
    /// # Errors
    /// Always.
    pub fn solve_by_cones_unless(&self, stop: &AtomicBool) -> Result<Solution, Failure> {
        self.check()?;
        self.by_clarabel(stop)
    }

    #[allow(clippy::unused_self, reason = "it has the form of the method that it stands in for")]
    pub(super) fn by_clarabel(&self, _stop: &AtomicBool) -> Result<Solution, Failure> {
        Err(Failure::Malformed("it needs Clarabel, which a browser does not have: use evenair solve".into()))
    }
}
