//! The two MACs.

pub mod dcf;
mod draw;
pub mod ideal;
