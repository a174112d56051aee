//! Utility-based congestion control: the source of optimal CSMA, driven by its utility and its first queue.
//!
//! # Law
//! In each frame `A = V/q` packets, for a logarithmic utility, where `q` is the queue of the flow's first
//! link, or the sum of those on its path.
//!
//! # Source
//! [Lee12] section II (L3). Over the sum of its path's queues it is also the source of [QCSMA] section II-C's classic scheme with
//! message passing, `x = p/(ε ΣQ)`, eq. (9): `V` is `p/ε` times the frame.
//!
//! # Symbols
//! `V` → [`UtilityBasedParams::utility`]; the frame → [`UtilityBasedParams::frame`]; `q` → [`FlowView::first_backlog`] or
//! [`FlowView::path_backlog`] \[packets\], by [`UtilityBasedParams::queue`].
//!
//! # Signals
//! The backlog of the flow's first link, or of all on its path.
//!
//! # Deviations
//! The letter gives neither a frame's length nor the unit of `q`: 10 ms and packets are ours, as in
//! [`virtual_queue`](crate::backoff::virtual_queue). A queue counts as one packet at least, as its virtual
//! one does. In an interval in which the host does not know the backlog the rate is held. The letter's flows
//! have one link. For a flow of several hops a parameter selects the queue; only the sum is the price of its
//! whole path.
//!
//! # Example
//! ```
//! use evenair_laws::Parameters;
//! use evenair_laws::flow::{FlowRole, FlowView};
//! use evenair_laws::rate::{RateLaw, UtilityBasedParams};
//! use evenair_units::{Bytes, Rate, Volume};
//! let mut law = UtilityBasedParams::lee12().begin(&FlowRole { payload: Bytes::new(1000) });
//! // V = 500 over 250 packets that wait: two packets of 8000 bits per 10 ms.
//! let first_backlog = Some(Volume { packets: 250, bytes: 260_000 });
//! let rate = law.on_interval(&FlowView { first_backlog, ..FlowView::default() });
//! assert_eq!(rate, Rate::from_kbps(1_600));
//! ```

use super::RateLaw;
use crate::flow::{FlowRole, FlowView, Signal};
use crate::{BadParameter, Parameters, check, check_interval};
use alloc::vec::Vec;
use evenair_units::{Bytes, Duration, Rate};

/// The least queue that a rate is computed from \[packets\].
const LEAST: f64 = 1.0;

/// The queue that a source reads.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "kebab-case"))]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub enum SeenQueue {
    /// That of its first link.
    #[default]
    FirstLink,
    /// The prices of all links on its path, added up.
    PathSum,
}

/// Parameters of the law.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(default, deny_unknown_fields)
)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct UtilityBasedParams {
    /// V: how much the utility counts.
    #[cfg_attr(feature = "serde", serde(rename = "v"))]
    pub utility: f64,
    /// A frame of the letter: how often the rate is set.
    #[cfg_attr(feature = "serde", serde(rename = "interval"))]
    pub frame: Duration,
    /// Which queue is the price.
    pub queue: SeenQueue,
}

impl UtilityBasedParams {
    /// [Lee12] section IV: V = 500.
    pub const fn lee12() -> Self {
        Self { utility: 500.0, frame: Duration::from_millis(10), queue: SeenQueue::FirstLink }
    }

    /// The fluid face, [Lee12] section II: `A = V/q` \[packets per frame\].
    pub fn arrivals(&self, queue: f64) -> f64 {
        self.utility / queue
    }
}

impl Default for UtilityBasedParams {
    fn default() -> Self {
        Self::lee12()
    }
}

impl Parameters for UtilityBasedParams {
    type Surroundings = ();
    type Place = FlowRole;
    type Law = UtilityBased;

    fn validated(self) -> Result<Self, BadParameter> {
        check("v", self.utility, self.utility > 0.0 && self.utility.is_finite(), "above 0")?;
        check_interval("interval", self.frame)?;
        Ok(self)
    }

    /// An empty queue.
    fn begin(&self, flow: &FlowRole) -> UtilityBased {
        UtilityBased { params: *self, payload: flow.payload, queue: 0.0 }
    }
}

/// The law's state for one flow.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct UtilityBased {
    params: UtilityBasedParams,
    payload: Bytes,
    /// `q` as last seen \[packets\].
    queue: f64,
}

impl RateLaw for UtilityBased {
    fn interval(&self) -> Duration {
        self.params.frame
    }

    fn needs(&self) -> Vec<Signal> {
        let queue = match self.params.queue {
            SeenQueue::FirstLink => Signal::FirstBacklog,
            SeenQueue::PathSum => Signal::PathBacklog,
        };
        [queue].into()
    }

    fn on_interval(&mut self, flow: &FlowView) -> Rate {
        let seen = match self.params.queue {
            SeenQueue::FirstLink => flow.first_backlog,
            SeenQueue::PathSum => flow.path_backlog,
        };
        if let Some(backlog) = seen {
            self.queue = backlog.packets as f64;
        }
        let packets_per_s = self.params.arrivals(self.queue.max(LEAST)) / self.params.frame.as_secs_f64();
        // The cast saturates.
        Rate::from_bps((packets_per_s * self.payload.bits() as f64) as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use evenair_units::Volume;

    /// [QCSMA] section II-C: `x = p/(ε ΣQ)` with p = 4 and ε = 40 µs, over 250 packets on the path: 400 packets/s.
    #[test]
    fn sum_of_queues_is_price_of_message_passing() {
        let (weight, epsilon, frame) = (4.0, 40e-6, Duration::from_millis(10));
        let utility = weight / epsilon * frame.as_secs_f64();
        let params = UtilityBasedParams { utility, frame, queue: SeenQueue::PathSum };
        let mut law = params.begin(&FlowRole { payload: Bytes::new(1000) });
        let path_backlog = Some(Volume { packets: 250, bytes: 250_000 });
        let rate = law.on_interval(&FlowView { path_backlog, ..FlowView::default() });
        assert!((rate.as_bps() as f64 / 8000.0 - weight / (epsilon * 250.0)).abs() < 0.01, "{rate}");
    }

    /// For any queue, a frame's worth of the rate is `V/q` packets.
    #[test]
    fn a_frame_of_the_machine_is_the_fluid_arrival() {
        let params = UtilityBasedParams::lee12();
        let mut law = params.begin(&FlowRole { payload: Bytes::new(1000) });
        for packets in [1, 7, 100, 5_000] {
            let first_backlog = Some(Volume { packets, bytes: packets * 1040 });
            let rate = law.on_interval(&FlowView { first_backlog, ..FlowView::default() });
            let per_frame = rate.as_bps() as f64 * params.frame.as_secs_f64() / 8000.0;
            assert!((per_frame / params.arrivals(packets as f64) - 1.0).abs() < 1e-4, "{packets}");
        }
        assert_eq!(law.on_interval(&FlowView::default()).as_bps(), 80_000, "held: V/5000 in 10 ms");
    }

    /// Two hops with 50 and 200 packets: V/50 or V/250 a frame.
    #[test]
    fn source_reads_its_first_queue_or_all() {
        let waiting = |packets| Some(Volume { packets, bytes: packets * 1040 });
        let view = FlowView { first_backlog: waiting(50), path_backlog: waiting(250), ..FlowView::default() };
        let rate = |queue| {
            let params = UtilityBasedParams { queue, ..UtilityBasedParams::lee12() };
            let mut law = params.begin(&FlowRole { payload: Bytes::new(1000) });
            (law.needs(), law.on_interval(&view))
        };
        assert_eq!(rate(SeenQueue::FirstLink), ([Signal::FirstBacklog].into(), Rate::from_kbps(8_000)));
        assert_eq!(rate(SeenQueue::PathSum), ([Signal::PathBacklog].into(), Rate::from_kbps(1_600)));
    }

    #[test]
    fn runs_once_a_frame_and_checks_its_parameters() {
        let params = UtilityBasedParams::lee12();
        let frame = Duration::from_millis(30);
        let with = UtilityBasedParams { frame, ..params };
        assert_eq!(with.begin(&FlowRole { payload: Bytes::new(1000) }).interval(), frame);
        let (good, bad) = crate::ranges::POSITIVE;
        crate::ranges::assert_range("v", |utility| UtilityBasedParams { utility, ..params }, good, bad);
    }
}
