//! The MACs.

pub mod dcf;
mod draw;
pub mod edca;
pub mod ideal;
