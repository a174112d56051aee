#![doc = include_str!("../README.md")]
//!
//! # How to read it
//! The families are [`backoff`], [`window`], [`connections`], [`rate`], [`rates`], [`gateway`] and [`marking`]. The host owns clocks, queues, sockets
//! and randomness, so the same law runs in a fluid model, in the packet simulator and on a live machine.
//!
//! Each family has a trait, an enum of parameters that files are read into (feature `serde`; `schemars` for
//! their schema), and an enum of states, `Any…`, both with a box for laws of one's own ([`OwnLaw`]).
//! `conformance` has the tests that every law of a family must pass. All calls between a law and its host can
//! be recorded and replayed ([`tape`]).
#![no_std]
#![forbid(unsafe_code)]
#![warn(
    clippy::disallowed_methods,
    reason = "laws are pure: no clock, no environment, no platform's exp and log"
)]

extern crate alloc;
#[cfg(test)]
extern crate std;

pub mod backoff;
pub mod conformance;
pub mod connections;
mod family;
pub mod flow;
pub mod gateway;
pub mod marking;
#[cfg(test)]
mod ranges;
pub mod rate;
pub mod rates;
pub mod tape;
pub mod window;

pub use family::{Family, OwnLaw, Parameters};

use core::fmt;

/// A parameter outside the values for which its law is defined.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BadParameter {
    /// The parameter's name, as in the scenario language.
    pub name: &'static str,
    /// The value given.
    pub value: f64,
    /// The values that would be accepted.
    pub allowed: &'static str,
}

impl fmt::Display for BadParameter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} = {} is not allowed: {}", self.name, self.value, self.allowed)
    }
}

impl core::error::Error for BadParameter {}

/// Accepts a length of time that is not zero.
pub(crate) fn check_time(name: &'static str, time: evenair_units::Duration) -> Result<(), BadParameter> {
    check(name, time.as_secs_f64(), !time.is_zero(), "longer than no time")
}

/// Accepts how often a law decides: every so often, and not more often than anything can have changed.
pub(crate) fn check_interval(name: &'static str, time: evenair_units::Duration) -> Result<(), BadParameter> {
    let least = evenair_units::Duration::from_micros(10);
    let allowed =
        "at least 10 us: a slot of 802.11 takes 9 us or more, and within one there is nothing new to see";
    check(name, time.as_secs_f64(), time >= least, allowed)
}

/// Accepts `value` if `holds`, for the laws' parameter checks.
pub(crate) fn check(
    name: &'static str,
    value: f64,
    holds: bool,
    allowed: &'static str,
) -> Result<(), BadParameter> {
    if holds { Ok(()) } else { Err(BadParameter { name, value, allowed }) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use evenair_units::Duration;
    use std::string::ToString;

    #[test]
    fn bad_parameter_is_named_with_value_and_range() {
        let bad = check_interval("interval", Duration::from_nanos(9_999)).unwrap_err();
        assert_eq!(
            bad.to_string(),
            "interval = 0.000009999 is not allowed: at least 10 us: a slot of 802.11 takes 9 us or more, \
             and within one there is nothing new to see"
        );
        assert_eq!(check_interval("interval", Duration::from_micros(10)), Ok(()));
        assert_eq!(check_time("window", Duration::ZERO).unwrap_err().name, "window");
        assert_eq!(check_time("window", Duration::from_nanos(1)), Ok(()));
    }
}
