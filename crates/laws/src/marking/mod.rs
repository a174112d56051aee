//! Marking laws: which arrivals a queue refuses.

pub mod droptail;
pub mod proportional;

pub use droptail::DropTail;
pub use proportional::Proportional;
