#![doc = include_str!("../README.md")]
//!
//! # How to read it
//! [`Desk`] answers requests, each a JSON object, with JSON; `page/worker.js` asks them. Read `desk` for what can be asked, `running`
//! for a run in slices of simulated time, `describe` for what the page draws before it, `edit` for changes of a scenario's text.
//!
//! The module's own exports are three (`exports`), with C's calling convention: text goes in and text comes out. Bindings that a tool
//! generates would save a hundred bytes of JavaScript and need that tool, of one version with its crate, wherever the page is built.
#![deny(unsafe_code)] // `exports` alone may name its functions for the linker

mod describe;
mod desk;
mod edit;
#[cfg(target_family = "wasm")]
mod exports;
mod library;
mod running;

pub use desk::{Desk, Request};
pub use edit::Edit;
