//! Real Linux TCP over simulated air: [`emulate`] runs a network of `netsim` in real time, with a network
//! namespace and a TUN device for each of its nodes.
//!
//! A packet that a node's kernel sends is read from the node's device and put into the network at the instant
//! of reading. A packet that leaves the network is written to its destination's device at its instant; its
//! lateness is part of the result.
#![cfg(target_os = "linux")]
#![forbid(unsafe_code)]

mod address;
mod capture;
mod drive;
mod emulation;
mod gateway;
mod hosts;
mod lateness;
pub mod packet;
mod programs;
mod rehearsal;
mod routes;
mod scheduling;
mod traffic;

pub use address::Addresses;
pub use emulation::{Emulated, Options, Problem, emulate};
pub use programs::{NotStarted, Program};
