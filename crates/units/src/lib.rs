#![doc = include_str!("../README.md")]
//!
//! # How to read it
//! Time is integer nanoseconds, so that two machines agree on every instant. A bare `f64` of seconds
//! crosses no public boundary of evenair except through the explicitly named conversions of [`Instant`]
//! and [`Duration`].
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

#[cfg(feature = "serde")]
mod message;
mod power;
mod printable;
mod probability;
mod rate;
mod text;
mod time;

#[cfg(feature = "serde")]
pub use message::plain_message;
pub use power::Dbm;
pub use printable::{is_printable, printable};
#[cfg(feature = "serde")]
pub use probability::percent;
pub use probability::{NotAProbability, Probability};
pub use rate::{Bytes, Rate, Volume};
pub use text::{Amount, Decibels, Doppler, Frequency, Length, PacketCount, Speed};
pub use time::{Duration, Instant};
