//! Window laws as congestion controls of the Linux kernel (QUIC-TCP, FAST and Vegas, by eBPF), to be loaded in a second and gone in
//! a second.
//!
//! # How to read it
//! `bpf/` has the laws in C, one file each, in fixed point; `evenair-laws` is the truth, and `tests/law.rs` lays the two side by side.
//! clang has made `objects/` of them, which are part of this crate and named by their digests. [`law`] knows the laws, and their
//! parameters; `object` reads an object; [`load()`] hands it to the kernel; [`pins`] keeps it there; [`sockets`] looks at those who
//! use it.
//!
//! The law sets the window and nothing else: slow start, loss recovery and time-outs are the kernel's.
#![cfg(target_os = "linux")]
#![forbid(unsafe_code)]

mod bytes;
mod elf;
pub mod law;
mod load;
mod object;
pub mod pins;
pub mod sockets;
mod trouble;
mod types;

pub use bytes::Malformed;
pub use load::{Loaded, Wanted, check, load};
pub use trouble::Trouble;
