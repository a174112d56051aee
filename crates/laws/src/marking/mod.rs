//! Marking laws: which packets a queue refuses or gives up.

pub mod codel;
pub mod droptail;
pub mod fred;
pub mod pie;
pub mod proportional;
pub mod red;

pub use codel::{Codel, CodelParams};
pub use droptail::DropTail;
pub use fred::{Fred, FredParams};
pub use pie::{Pie, PieParams};
pub use proportional::Proportional;
pub use red::{Red, RedParams};

use crate::family::family;
use evenair_units::{Bytes, Duration, Instant, Probability, Rate, Volume};

/// The queue that a law's state is made for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct QueueRole {
    /// The largest packet, network-layer size.
    #[cfg_attr(feature = "serde", serde(with = "crate::tape::exact"))]
    pub full_packet: Bytes,
    /// The rate at which its packets are sent.
    #[cfg_attr(feature = "serde", serde(with = "crate::tape::exact"))]
    pub rate: Rate,
}

/// A marking law's view of its queue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct QueueView {
    /// The packets that wait beside the one that comes or leaves; the one in service does not wait.
    pub waiting: Volume,
    /// The flow of that packet: one number for each flow and direction.
    pub flow: u32,
    /// Its network-layer size.
    #[cfg_attr(feature = "serde", serde(with = "crate::tape::exact"))]
    pub size: Bytes,
}

impl QueueView {
    /// So much waits; of the packet nothing is known.
    pub const fn of(waiting: Volume) -> Self {
        Self { waiting, flow: 0, size: Bytes::new(0) }
    }
}

/// The fate of a packet that is about to leave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Verdict {
    /// It is sent.
    Send,
    /// It is dropped, and the host calls the law for the next one.
    Drop,
}

/// A law of which packets a queue gives up.
pub trait MarkingLaw {
    /// The law of a user's own is put in its place; built-in laws are made for theirs.
    fn begin(&mut self, _queue: &QueueRole) {}
    /// A packet comes; gives the probability with which it is refused.
    fn on_arrival(&mut self, _now: Instant, _queue: &QueueView) -> Probability {
        Probability::ZERO
    }
    /// The outcome of an arrival: queued, refused by this law, or refused for lack of room. The host reports
    /// every arrival, whether or not it consulted the law. An arrival that the host marked instead of
    /// refusing is reported twice: as refused, then as accepted.
    fn after_arrival(&mut self, _now: Instant, _queue: &QueueView, _accepted: bool) {}
    /// A packet that has been here for `sojourn` is about to leave.
    fn on_departure(&mut self, _now: Instant, _sojourn: Duration, _queue: &QueueView) -> Verdict {
        Verdict::Send
    }
    /// A waiting packet was dropped without a call of the law: by the discipline, or to make room for
    /// another.
    fn on_removal(&mut self, _now: Instant, _queue: &QueueView) {}
}

family! {
    /// Which marking law, with its parameters.
    parameters MarkingParams,
    /// A marking law's state at one queue.
    state AnyMarking: MarkingLaw,
    /// A marking law of a user's own.
    own OwnMarking: OwnMarkingLaw,
    place () => QueueRole,
    tape MarkingTold => MarkingAnswer,
    default None,
    told {
        OnArrival: on_arrival(now: Instant, queue: &QueueView) -> Probability;
        AfterArrival: after_arrival(now: Instant, queue: &QueueView, accepted: bool);
        OnDeparture: on_departure(now: Instant, sojourn: Duration, queue: &QueueView) -> Verdict;
        OnRemoval: on_removal(now: Instant, queue: &QueueView);
    }
    asked {}
    laws {
        /// An arrival at a full queue is refused.
        DropTail(DropTail => DropTail),
        /// Arrivals are refused with a probability in proportion to the queue.
        Proportional(Proportional => Proportional),
        /// A packet that has waited too long is dropped when it leaves (RFC 8289).
        Codel(CodelParams => Codel),
        /// Arrivals are refused with a probability that grows with the average queue (Floyd and Jacobson).
        Red(RedParams => Red),
        /// That, for flows that hold more than their share of the queue alone (Lin and Morris).
        Fred(FredParams => Fred),
        /// Arrivals are refused so that the delay stays near a target (RFC 8033).
        Pie(PieParams => Pie),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{OwnLaw, Parameters};
    use evenair_units::Rate;

    const ROLE: QueueRole = QueueRole { full_packet: Bytes::new(1000), rate: Rate::from_kbps(1_000) };

    /// A law without answers.
    #[derive(Clone, Debug)]
    struct Silent;

    impl MarkingLaw for Silent {}

    impl OwnLaw for Silent {
        fn identity(&self) -> alloc::string::String {
            "silent".into()
        }
    }

    #[test]
    fn law_without_answers_refuses_nothing() {
        let mut law = MarkingParams::from(OwnMarking::new(Silent)).begin(&ROLE);
        let queue = QueueView::of(Volume { packets: 9, bytes: 9_000 });
        assert_eq!(law.on_arrival(Instant::ZERO, &queue), Probability::ZERO);
        assert_eq!(law.on_departure(Instant::ZERO, Duration::from_secs(9), &queue), Verdict::Send);
    }

    #[test]
    fn laws_without_state_are_their_parameters() {
        let laws: [MarkingParams; 2] = [DropTail::packets(3).into(), Proportional { per_packet: 0.5 }.into()];
        let queue = QueueView::of(Volume { packets: 3, bytes: 3_000 });
        // A queue of three is full; three packets by a half each are more than certain.
        for params in laws {
            assert_eq!(params.begin(&ROLE).on_arrival(Instant::ZERO, &queue), Probability::ONE, "{params:?}");
        }
    }
}
