#![doc = include_str!("../README.md")]
//!
//! # How to read it
//! Read [`queue`] for how ties in time are settled (they decide physics), and [`stream`] for why adding a node to a
//! scenario changes no other node's draws.
#![forbid(unsafe_code)]

pub mod ahead;
mod calendar;
pub mod fingerprint;
pub mod queue;
pub mod stream;

pub use fingerprint::Fingerprint;
pub use queue::{Phase, Place, Queue};
pub use stream::{Stream, unit_of};
