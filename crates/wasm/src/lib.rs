#![doc = include_str!("../README.md")]
//!
//! # How to read it
//! [`Desk`] answers requests, each a JSON object, with JSON; `page/worker.js` asks them. Read `desk` for the requests, `running`
//! for a run in slices of simulated time, `describe` for the network as the page draws it, `edit` for changes of a scenario's text.
//!
//! The module exports five functions (`exports`) with C's calling convention: text goes in and text comes out. Generated bindings would
//! save ten lines of JavaScript, and need their generator, of the version of its crate, wherever the page is built.
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
