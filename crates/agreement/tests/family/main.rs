//! Tests of all laws of a family: they pass its suite, files hold their parameters, tapes their calls.

mod conformance;
mod files;
mod ranges;
mod tape;
