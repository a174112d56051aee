//! Connection laws: how many TCP connections a flow keeps open.

pub mod iimd;
pub mod rtt_proportional;
pub mod utility;

pub use iimd::{Iimd, IimdParams};
pub use rtt_proportional::{RttProportional, RttProportionalParams, Unsampled};
pub use utility::for_utility;
