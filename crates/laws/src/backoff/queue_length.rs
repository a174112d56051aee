//! Queue-length CSMA: aggressiveness in proportion to how much waits.
//!
//! # Law
//! `ρ = QueLEN`, the scheduler that [QCSMA] compares its own with. Or `ρ = ε·b·Q`, the scheduler of the
//! classic scheme with message passing; its sources send at `p/(ε ΣQ)`:
//! [`utility_based`](crate::rate::utility_based) with the sum of the queues on the path and `V = p/ε` per
//! unit of time. The mean back-off is `exp(−ρ)/b`, rendered on ideal CSMA and on 802.11 as queueing-delay
//! CSMA's is ([`contention`](super::contention)).
//!
//! # Source
//! [QCSMA] eq. (8), (9), and the bullets that follow it; section IV-C.
//!
//! # Symbols
//! `QueLEN`, `Q` → [`LinkView::backlog`] \[packets\]; `b` → one over the time that the link's own packet needs \[packets/s\];
//! `ε` → [`QueueLengthParams::epsilon`] \[s\]; a factor of our own → [`QueueLengthParams::scale`].
//!
//! # Signals
//! The own queue's backlog.
//!
//! # Deviations
//! - The paper leaves its update period open: [`QueueLengthParams::interval`], 10 ms, is ours, as for
//!   queueing-delay CSMA. `ρ` stops at 700.
//! - An empty queue is silent; with [`QueueLengthParams::dummies`] it contends, as the paper's model has it.
//! - It has no drift of its own: its state is the queue's, which drifts by arrivals less services, [QCSMA]
//!   eq. (9) divided by ε.
//!
//! # Example
//! ```
//! use evenair_laws::Parameters;
//! use evenair_laws::backoff::queue_length::QueueLengthParams;
//! use evenair_laws::backoff::{BackoffLaw, LinkRole, LinkView};
//! use evenair_units::Volume;
//! let mut law = QueueLengthParams::qcsma().begin(&LinkRole::data(Default::default()));
//! law.on_update(&LinkView { backlog: Volume { packets: 3, bytes: 3_120 }, ..LinkView::default() });
//! assert!((law.aggressiveness().unwrap() - 3.0).abs() < 1e-12);
//! ```

use super::contention::{
    AGGRESSIVENESS_MAX, BackoffForm, CapacityUnit, Contention, QueuesOf, check_window_max,
};
use super::{Access, BackoffLaw, Dcf, LinkRole, LinkView, Scope, Surroundings};
use crate::{BadParameter, Parameters, check, check_interval};
use evenair_units::{Bytes, Duration};

/// Parameters of the law.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(default, deny_unknown_fields)
)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct QueueLengthParams {
    /// The factor of the aggressiveness; 1 is the paper's.
    pub scale: f64,
    /// ε of the classic scheme: the price of a queue, per packet that waits [s]. The aggressiveness is then ε times the link's
    /// capacity times its queue; without it, the queue's packets alone.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "Option::is_none"))]
    pub epsilon: Option<f64>,
    /// The interval between two readings of the queue.
    pub interval: Duration,
    /// The unit of the link's capacity.
    pub capacity: CapacityUnit,
    /// Exponential back-offs, or contention windows; by default the former on ideal CSMA, the latter on 802.11.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "Option::is_none"))]
    pub form: Option<BackoffForm>,
    /// Window that failures end at [slots]; by default the physical layer's.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "Option::is_none"))]
    pub window_max: Option<u32>,
    /// Send dummy packets when a queue of data is empty.
    pub dummies: bool,
    /// A queue for each next hop, or one for the node.
    pub queues: QueuesOf,
}

impl QueueLengthParams {
    /// [QCSMA] section IV-C: `ρ = QueLEN`; every 10 ms.
    pub const fn qcsma() -> Self {
        Self {
            scale: 1.0,
            epsilon: None,
            interval: Duration::from_millis(10),
            capacity: CapacityUnit::Exchange,
            form: None,
            window_max: None,
            dummies: false,
            queues: QueuesOf::PerNextHop,
        }
    }

    /// The fluid face: `ρ` of a queue of `backlog` packets at a link of this capacity, [QCSMA] eq. (8) with `λ = ε·Q`.
    pub fn aggressiveness(&self, capacity: f64, backlog: f64) -> f64 {
        self.scale * self.epsilon.map_or(1.0, |epsilon| epsilon * capacity) * backlog
    }
}

impl Default for QueueLengthParams {
    fn default() -> Self {
        Self::qcsma()
    }
}

impl Parameters for QueueLengthParams {
    type Surroundings = Surroundings;
    type Place = LinkRole;
    type Law = QueueLength;

    fn validated(self) -> Result<Self, BadParameter> {
        check("scale", self.scale, self.scale >= 0.0 && self.scale.is_finite(), "0 or more, and finite")?;
        let epsilon = self.epsilon.unwrap_or(0.0);
        check("epsilon", epsilon, epsilon >= 0.0 && epsilon.is_finite(), "0 or more, and finite")?;
        check_interval("interval", self.interval)?;
        check_window_max(self.window_max)?;
        Ok(self)
    }

    fn resolve(&mut self, surroundings: &Surroundings) {
        self.form.get_or_insert(BackoffForm::of(surroundings));
        self.window_max.get_or_insert(Dcf::of(surroundings.physical_layer).window_max);
    }

    fn begin(&self, role: &LinkRole) -> QueueLength {
        let mut params = *self;
        params.resolve(&role.surroundings);
        let contention = Contention::new(role, self.capacity, self.form, self.window_max);
        let dummy = (self.dummies && !role.acknowledgements_only).then_some(role.packet.size);
        QueueLength { params, contention, dummy, aggressiveness: 0.0 }
    }
}

/// The law's state at one link.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct QueueLength {
    params: QueueLengthParams,
    contention: Contention,
    dummy: Option<Bytes>,
    aggressiveness: f64,
}

impl BackoffLaw for QueueLength {
    fn scope(&self) -> Scope {
        self.params.queues.scope()
    }

    fn update_interval(&self) -> Option<Duration> {
        Some(self.params.interval)
    }

    fn on_update(&mut self, link: &LinkView) {
        let rho = self.params.aggressiveness(self.contention.capacity(), link.backlog.packets as f64);
        self.aggressiveness = rho.min(AGGRESSIVENESS_MAX);
        debug_assert!((0.0..=AGGRESSIVENESS_MAX).contains(&self.aggressiveness));
    }

    fn access(&self) -> Access {
        self.contention.access(self.aggressiveness)
    }

    fn dummy_packet(&self) -> Option<Bytes> {
        self.dummy
    }

    /// `ρ`.
    fn aggressiveness(&self) -> Option<f64> {
        Some(self.aggressiveness)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::backoff::Draw;
    use crate::ranges::{NOT_NEGATIVE, assert_range};
    use evenair_units::Volume;

    fn ideal() -> Surroundings {
        Surroundings { is_ideal: true, ..Surroundings::default() }
    }

    fn begin(params: QueueLengthParams, mac: Surroundings) -> QueueLength {
        params.validated().unwrap().begin(&LinkRole::data(mac))
    }

    fn backlog(packets: u64) -> LinkView {
        LinkView { backlog: Volume { packets, bytes: packets * 1040 }, ..LinkView::default() }
    }

    #[test]
    fn a_packet_more_is_one_more() {
        let mut law = begin(QueueLengthParams::qcsma(), ideal());
        let mut mean = |packets| {
            law.on_update(&backlog(packets));
            let Draw::Exponential { mean, .. } = law.access().draw else { panic!("{law:?}") };
            mean.as_secs_f64()
        };
        assert!((mean(2) / mean(3) - core::f64::consts::E).abs() < 1e-4);
        assert!((mean(0) - 1.0 / begin(QueueLengthParams::qcsma(), ideal()).contention.capacity()) < 1e-9);
    }

    /// [QCSMA] section II-C: `ρ = ε·b·Q`, so that the shares of time are those of eq. (8) at the prices `λ = ε·Q`.
    #[test]
    fn the_classic_scheme_prices_a_queue() {
        let params = QueueLengthParams { epsilon: Some(1e-4), ..QueueLengthParams::qcsma() };
        let mut law = begin(params, ideal());
        law.on_update(&backlog(40));
        let price = 1e-4 * 40.0;
        let expected = price * law.contention.capacity();
        assert!((law.aggressiveness - expected).abs() < 1e-12);
        assert!((law.aggressiveness - 3.0).abs() < 0.01, "0.004 s at 750 packets/s");
    }

    #[test]
    fn long_queue_leaves_80211_one_slot() {
        let mut law = begin(QueueLengthParams::qcsma(), Surroundings::default());
        law.on_update(&backlog(5)); // 133·exp(−5) = 0.9
        assert_eq!(law.access().draw, Draw::Slots { window: 0, end_included: true });
        law.on_update(&backlog(2_000));
        assert!((law.aggressiveness - AGGRESSIVENESS_MAX).abs() < 1e-12);
        let scaled = QueueLengthParams { scale: 0.01, ..QueueLengthParams::qcsma() };
        let mut law = begin(scaled, Surroundings::default());
        law.on_update(&backlog(200)); // ρ = 2
        assert_eq!(law.access().draw, Draw::Slots { window: 18, end_included: true });
    }

    /// [QCSMA] section III-C: "each wireless transmitter node read its queue length".
    #[test]
    fn queues_are_the_links_or_the_nodes() {
        let of = |queues| {
            begin(QueueLengthParams { queues, ..Default::default() }, Surroundings::default()).scope()
        };
        assert_eq!(begin(QueueLengthParams::default(), Surroundings::default()).scope(), Scope::NextHop);
        assert_eq!((of(QueuesOf::PerNextHop), of(QueuesOf::PerNode)), (Scope::NextHop, Scope::Node));
    }

    #[test]
    fn each_parameter_has_its_range() {
        let params = QueueLengthParams::qcsma();
        let (good, bad) = NOT_NEGATIVE;
        assert_range("scale", |scale| QueueLengthParams { scale, ..params }, good, bad);
        let epsilon = |epsilon| QueueLengthParams { epsilon: Some(epsilon), ..params };
        assert_range("epsilon", epsilon, good, bad);
        let interval = |us| QueueLengthParams { interval: Duration::from_micros(us), ..params };
        assert_range("interval", interval, &[10], &[0, 9]);
        let window = |window| QueueLengthParams { window_max: Some(window), ..params };
        assert_range("window_max", window, &[1, 65_535], &[0, 65_536]);
    }

    #[test]
    fn defaults_are_the_macs() {
        let mut params = QueueLengthParams::qcsma();
        params.resolve(&ideal());
        assert_eq!((params.form, params.window_max), (Some(BackoffForm::Exponential), Some(1023)));
    }

    #[test]
    fn only_links_of_data_send_dummies() {
        let data = LinkRole::data(ideal());
        let answers = LinkRole { acknowledgements_only: true, ..data };
        let params = QueueLengthParams { dummies: true, ..QueueLengthParams::qcsma() };
        assert_eq!(params.begin(&data).dummy_packet(), Some(data.packet.size));
        assert_eq!(params.begin(&answers).dummy_packet(), None);
        assert_eq!(QueueLengthParams::qcsma().begin(&data).dummy_packet(), None);
    }
}
