//! Back-off laws: how long a transmitter waits before it takes the medium, and how long it keeps it.
//!
//! A law answers with data ([`Access`]), which any MAC of evenair executes: which distribution to draw from, what
//! happens after a failure, when a back-off is drawn at all, how long the medium is held. The MAC draws the sample.

mod access;
pub mod adaptive;
pub mod contention;
pub mod dcf;
pub mod edca;
mod intensity;
pub mod optimal;
mod place;
pub mod queue_length;
pub mod queueing_delay;
#[cfg(test)]
#[allow(
    unreachable_pub,
    reason = "CONTRIBUTING's recipe makes it a law of the family; here only its tests run"
)]
#[path = "../../../../docs/recipes/patient.rs"]
mod recipe;
pub mod virtual_queue;

pub use access::{Access, Draw, Holding, OnFailure, Space, When};
pub use adaptive::{AckPriority, Adaptive, AdaptiveParams, BackoffUnit, QueueMeasure};
pub use contention::{BackoffForm, CapacityUnit};
pub use dcf::{Dcf, DcfParams};
pub use edca::{Category, CategoryParams, Edca, EdcaParams};
pub use intensity::{Adapts, Execution, Intensity};
pub use optimal::{Optimal, OptimalParams};
pub use place::{FullPacket, LinkRole, LinkView, PhysicalLayer, Rendering, Scope, Surroundings};
pub use queue_length::{QueueLength, QueueLengthParams};
pub use queueing_delay::{QueueingDelay, QueueingDelayParams};
pub use virtual_queue::{Links, UtilityQueue, VirtualQueue, VirtualQueueParams, WhileEmpty};

use crate::family::family;
use evenair_units::{Bytes, Duration, Probability};

/// A back-off law, at one queue.
pub trait BackoffLaw {
    /// The law of a user's own is put in its place; built-in laws are made for theirs.
    fn begin(&mut self, _role: &LinkRole) {}
    /// The owner of a queue, and of a state of the law.
    fn scope(&self) -> Scope;
    /// How often the law wants to see its link; never, if it does not look.
    fn update_interval(&self) -> Option<Duration> {
        None
    }
    /// The link, once per interval.
    fn on_update(&mut self, _link: &LinkView) {}
    /// The answer to the MAC; the host asks again after each update.
    fn access(&self) -> Access;
    /// The inter-frame space before its countdowns; it never changes.
    fn space(&self) -> Space {
        Space::Difs
    }
    /// The probability with which an arrival is dropped; none, if that is left to the queue's marking law.
    fn drop_probability(&self) -> Option<Probability> {
        None
    }
    /// The dummies that an empty queue sends, if it does.
    fn dummy_packet(&self) -> Option<Bytes> {
        None
    }
    /// The logarithm of what divides its mean back-off, for laws that have such a number.
    fn aggressiveness(&self) -> Option<f64> {
        None
    }
}

family! {
    /// Which back-off law, with its parameters.
    parameters BackoffParams,
    /// A back-off law's state at one queue.
    state AnyBackoff: BackoffLaw,
    /// A back-off law of a user's own.
    own OwnBackoff: OwnBackoffLaw,
    place Surroundings => LinkRole,
    tape BackoffTold => BackoffAnswer,
    default None,
    told {
        OnUpdate: on_update(link: &LinkView);
    }
    asked {
        scope() -> Scope;
        update_interval() -> Option<Duration>;
        access() -> Access;
        space() -> Space;
        drop_probability() -> Option<Probability>;
        dummy_packet() -> Option<Bytes>;
        aggressiveness() -> Option<f64>;
    }
    laws {
        /// The contention window of 802.11 ([Chen10]'s L-CSMA).
        Dcf(DcfParams => Dcf),
        /// The contention windows, spaces and bursts of 802.11's access categories.
        Edca(EdcaParams => Edca),
        /// Aggressiveness in proportion to the backlog ([Chen10]'s A-CSMA).
        Adaptive(AdaptiveParams => Adaptive),
        /// Aggressiveness in proportion to how long the queue takes ([QCSMA]).
        QueueingDelay(QueueingDelayParams => QueueingDelay),
        /// Aggressiveness in proportion to the queue's packets ([QCSMA]'s baseline, and its classic scheme).
        QueueLength(QueueLengthParams => QueueLength),
        /// Aggressiveness in proportion to the real queue ([Lee12]'s oCSMA).
        Optimal(OptimalParams => Optimal),
        /// Aggressiveness in proportion to a queue that nobody sees ([Lee12]'s VQ-oCSMA).
        VirtualQueue(VirtualQueueParams => VirtualQueue),
    }
}

impl Default for BackoffParams {
    fn default() -> Self {
        DcfParams::default().into()
    }
}
