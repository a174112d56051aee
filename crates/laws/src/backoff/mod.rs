//! Back-off laws: how long a transmitter waits before it takes the medium, and how long it keeps it.
//!
//! A law answers with data ([`Access`]), which any MAC of evenair executes: the distribution to draw from,
//! the reaction to a failure, when to draw a back-off at all, and how long to hold the medium. The MAC draws
//! the sample.

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
pub use contention::{BackoffForm, CapacityUnit, QueuesOf};
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
    /// The interval between two updates of the law; none, if it needs no updates.
    fn update_interval(&self) -> Option<Duration> {
        None
    }
    /// The link, once per interval.
    fn on_update(&mut self, _link: &LinkView) {}
    /// The answer to the MAC; the host reads it again after each update.
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
    /// The logarithm of the divisor of its mean back-off, for laws that have such a number.
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
        /// Aggressiveness in proportion to a virtual queue ([Lee12]'s VQ-oCSMA).
        VirtualQueue(VirtualQueueParams => VirtualQueue),
    }
}

impl Default for BackoffParams {
    fn default() -> Self {
        DcfParams::default().into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Parameters;
    use evenair_units::Volume;

    fn link() -> LinkRole {
        LinkRole::data(Surroundings::default())
    }

    #[test]
    fn law_updates_at_its_interval() {
        let interval = Duration::from_millis(30);
        let laws: [BackoffParams; 5] = [
            AdaptiveParams { interval, ..AdaptiveParams::default() }.into(),
            QueueingDelayParams { interval, ..QueueingDelayParams::default() }.into(),
            QueueLengthParams { interval, ..QueueLengthParams::default() }.into(),
            OptimalParams { frame: interval, ..OptimalParams::default() }.into(),
            VirtualQueueParams { frame: interval, ..VirtualQueueParams::default() }.into(),
        ];
        for law in laws {
            assert_eq!(law.begin(&link()).update_interval(), Some(interval), "{law:?}");
        }
    }

    #[test]
    fn law_of_windows_needs_no_updates() {
        for law in [BackoffParams::from(DcfParams::default()), EdcaParams::default().into()] {
            let law = law.begin(&link());
            assert_eq!(law.update_interval(), None);
            assert_eq!(
                (law.drop_probability(), law.dummy_packet(), law.aggressiveness()),
                (None, None, None)
            );
        }
    }

    /// Two packets wait, and none is served: α times 2 · 8000 bit at 11 Mb/s ([Chen10] Alg. 1 line 3), the packets
    /// ([QCSMA] section IV-C), b times the packets ([Lee12] eq. (1)).
    #[test]
    fn law_has_its_aggressiveness() {
        let backlog = Volume { packets: 2, bytes: 2_000 };
        let view =
            LinkView { backlog, data_rate: evenair_units::Rate::from_kbps(11_000), ..LinkView::default() };
        let laws: [(BackoffParams, f64); 3] = [
            (AdaptiveParams::default().into(), 0.1 * 16_000.0 / 11e6),
            (QueueLengthParams::default().into(), 2.0),
            (OptimalParams::default().into(), 0.02),
        ];
        for (params, expected) in laws {
            let mut law = params.begin(&link());
            law.on_update(&view);
            assert!((law.aggressiveness().unwrap() - expected).abs() < 1e-12, "{law:?}");
        }
    }

    #[test]
    fn dummies_are_sent_where_they_are_wanted() {
        let surroundings = Surroundings::default();
        let wanted = OptimalParams { dummies: true, ..OptimalParams::default() };
        assert_eq!(wanted.begin(&link()).dummy_packet(), Some(surroundings.packet.payload));
        assert_eq!(OptimalParams::default().begin(&link()).dummy_packet(), None);
    }
}
