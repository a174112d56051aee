//! The list of programs and abilities that evenair's tests, documents and live commands need, and the
//! way in which a test without one is counted.
//!
//! `evenair doctor`, `cargo xtask needs`, `.ci/run` and the tests read [`NEEDS`]. A test that lacks
//! something calls [`skip`] and returns. `cargo xtask test` then counts it as skipped, with the remedy,
//! and never as passed.

pub mod harness;
mod list;
mod record;

pub use list::{NEEDS, Need, Remedy, find, find_all, remedy};
pub use record::{EFFECT, FOLDER, Missing, SKIPS, once, skip, skip_part};
