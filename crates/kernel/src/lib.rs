//! Window laws as congestion controls of the Linux kernel (QUIC-TCP, FAST and Vegas, by eBPF), loaded and
//! unloaded within a second.
//!
//! # How to read it
//! `bpf/` has the laws in C, one file each, in fixed point. `evenair-laws` is the reference, and
//! `tests/law.rs` compares the two. clang has built `objects/` from them, which are part of this crate and
//! named by their digests. [`law`] has the laws and their parameters, and `object` reads an object.
//! [`load()`] passes it to the kernel, and [`pins`] keeps it there. [`sockets`] lists the sockets that use
//! it.
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
