//! Quantities: integer-nanosecond time, rates, sizes, powers and probabilities.
//!
//! Nothing here depends on anything, and nothing here reads a clock. Time is integer nanoseconds, so that two
//! machines agree on every instant; a bare `f64` of seconds crosses no public boundary of evenair except through
//! the explicitly named conversions below.
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

mod power;
mod probability;
mod rate;
mod text;
mod time;

pub use power::Dbm;
#[cfg(feature = "serde")]
pub use probability::percent;
pub use probability::{NotAProbability, Probability};
pub use rate::{Bytes, Rate, Volume};
pub use text::{Amount, Decibels, Frequency, Length, PacketCount};
pub use time::{Duration, Instant};
