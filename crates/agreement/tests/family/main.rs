//! The truths of all laws of a family: they pass its suite, files hold their parameters, tapes what passes.

mod conformance;
mod files;
mod ranges;
mod tape;
