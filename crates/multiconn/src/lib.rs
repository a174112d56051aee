//! One byte stream over several TCP connections, as many as a law of [`evenair_laws::connections`] says.
#![cfg(target_os = "linux")]
#![forbid(unsafe_code)]

pub mod control;
pub mod probe;
