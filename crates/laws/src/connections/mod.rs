//! Connection laws: how many TCP connections a flow keeps open.

pub mod rtt_proportional;

pub use rtt_proportional::{RttProportional, RttProportionalParams};
