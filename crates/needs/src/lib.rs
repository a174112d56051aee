//! What evenair's tests, documents and live commands need of a machine, in one list, and how a test without it is counted.
//!
//! `evenair doctor`, `cargo xtask needs`, `.ci/run` and the tests read [`NEEDS`]. A test that lacks something calls [`skip`] and returns:
//! `cargo xtask test` then counts it as skipped, with the remedy, and never as passed.

pub mod harness;
mod list;
mod record;

pub use list::{NEEDS, Need, Remedy, find, find_all, remedy};
pub use record::{EFFECT, FOLDER, Missing, SKIPS, once, skip, skip_part};
