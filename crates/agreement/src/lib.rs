//! The references for evenair: closed forms, an independent slot-level DCF, and recorded results of ns-2.
//!
//! The quick form of every check runs with the tests; `cargo run --release -p evenair-agreement --example validation`
//! prints the long form, tables of docs/notes (single-cell, theory, ns-2, tcp, vegas-fast-bbr).
#![forbid(unsafe_code)]

pub mod aggregates;
pub mod bianchi;
pub mod cell;
pub mod ideal;
pub mod kernel;
pub mod ns2;
pub mod ns3;
pub mod recorded;
pub mod shaping;
pub mod slots;
pub mod tcp;
pub mod vegas;
