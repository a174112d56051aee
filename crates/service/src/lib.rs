//! The base that programs with files of an operator share.
//!
//! - [`document`]: TOML files. A mistake has file, line, column and key.
//! - [`meant`]: the likely meaning of an unknown word.
//! - [`mod@file`]: files that are replaced whole and survive a power cut.
//! - [`law`]: control laws by name, with keys set one by one.
//! - [`metrics`]: Prometheus' text format.
//!
//! [`document`] and [`meant`] do no I/O, so a program in a browser reads the same files with the same messages. Local sockets
//! and notices to the service manager are in `evenair-linux`.

pub mod document;
pub mod file;
mod key;
pub mod law;
pub mod meant;
pub mod metrics;
mod mistake;

pub use key::{KeyPath, Step};
pub use mistake::{Mistake, quoted};
