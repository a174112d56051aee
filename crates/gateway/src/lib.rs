//! The mesh gateway on Linux: limits the rate of every subscriber behind one edge router fairly.
//!
//! The daemon reads the counters of the kernel's queues, passes them to a law of
//! [`evenair_laws::gateway`], and sets the rates that the law returns. This crate decides about no
//! rate. Changes of the kernel are data ([`Change`]): one module prints them, another applies them, and
//! tests apply them to a kernel in memory.
//!
//! # How to read it
//! The operator writes [`config`] and [`subscribers`].
#![cfg(target_os = "linux")]
#![forbid(unsafe_code)]

mod backlogs;
mod class_table;
pub mod config;
mod confine;
pub mod control;
mod daemon;
mod discovered;
mod diverted;
mod files;
mod gateway;
pub mod handles;
pub mod kernel;
mod linux;
pub mod log;
mod lowering;
#[cfg(test)]
mod memory;
pub mod page;
pub mod plan;
mod prefix;
mod reconcile;
pub mod record;
pub mod replay;
pub mod run;
mod sensor;
mod share;
mod side;
pub mod state;
pub mod status;
pub mod subscribers;
pub mod tree;
mod uci;

pub use config::Config;
pub use daemon::{Daemon, Kept};
pub use evenair_service::Mistake;
pub use files::{Meaning, OperatorFiles};
pub use gateway::{Counted, Gateway, Memory};
pub use linux::{Linux, Past};
pub use plan::Change;
pub use prefix::Prefix;
pub use reconcile::TABLE;
pub use side::Side;
pub use subscribers::{Subscriber, Subscribers};
