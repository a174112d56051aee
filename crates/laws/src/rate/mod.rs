//! Rate laws: how fast a source may send.
//!
//! They are called as connection laws are, when their flow starts and once per interval. In a packet world a
//! flow with `traffic = "rated"` has one. [`tfrc`] is none of them: its input are reports of its receiver.

pub mod tfrc;
pub mod utility_based;

pub use utility_based::{SeenQueue, UtilityBased, UtilityBasedParams};

use crate::family::family;
use crate::flow::{FlowRole, FlowView, Signal};
use alloc::vec::Vec;
use evenair_units::{Duration, Rate};

/// A law of a source's rate.
pub trait RateLaw {
    /// The law of a user's own is put in its place; built-in laws are made for theirs.
    fn begin(&mut self, _flow: &FlowRole) {}
    /// How often the law runs.
    fn interval(&self) -> Duration;
    /// The signals that it needs, as of [`ConnectionLaw::needs`](crate::connections::ConnectionLaw::needs); of datagrams there are no
    /// round trips.
    fn needs(&self) -> Vec<Signal> {
        Vec::new()
    }
    /// The flow after one more interval, of no length where it starts; gives the rate of its payload.
    fn on_interval(&mut self, flow: &FlowView) -> Rate;
}

family! {
    /// Which rate law, with its parameters.
    parameters RateParams,
    /// A rate law's state at one flow.
    state AnyRate: RateLaw,
    /// A rate law of a user's own.
    own OwnRate: OwnRateLaw,
    place () => FlowRole,
    tape RateTold => RateAnswer,
    default None,
    told {
        OnInterval: on_interval(flow: &FlowView) -> Rate;
    }
    asked {
        interval() -> Duration;
        needs() -> Vec<Signal>;
    }
    laws {
        /// As much as a logarithmic utility wants at the queue's price ([Lee12]'s UBC).
        UtilityBased(UtilityBasedParams => UtilityBased),
    }
}
