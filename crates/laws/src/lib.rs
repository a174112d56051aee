//! Control laws, one file each, as pure state machines.
//!
//! A law decides and nothing else: how long a transmitter backs off ([`backoff`]), how large a TCP window grows
//! ([`window`]), how many connections a flow opens ([`connections`]), what a queue drops ([`marking`]). Facts and the
//! time come in as arguments, a decision goes out as data; the host owns clocks, queues, sockets and randomness. So
//! the same law runs in a fluid model, in the packet simulator and on a live machine.
#![no_std]
#![forbid(unsafe_code)]
#![warn(
    clippy::disallowed_methods,
    reason = "laws are pure: no clock, no environment, no platform's exp and log"
)]

#[cfg(test)]
extern crate std;

pub mod backoff;
pub mod connections;
pub mod marking;
pub mod window;

use core::fmt;

/// A parameter outside the values for which its law is defined.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BadParameter {
    /// The parameter's name, as in the scenario language.
    pub name: &'static str,
    /// The value given.
    pub value: f64,
    /// What would be accepted.
    pub allowed: &'static str,
}

impl fmt::Display for BadParameter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} = {} is not allowed: {}", self.name, self.value, self.allowed)
    }
}

impl core::error::Error for BadParameter {}

/// Accepts `value` if `holds`, for the laws' parameter checks.
pub(crate) fn check(
    name: &'static str,
    value: f64,
    holds: bool,
    allowed: &'static str,
) -> Result<(), BadParameter> {
    if holds { Ok(()) } else { Err(BadParameter { name, value, allowed }) }
}
