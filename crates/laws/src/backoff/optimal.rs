//! Optimal CSMA: aggressiveness in proportion to the real queue, oCSMA.
//!
//! # Law
//! Time is in frames. At the end of each a transmitter reads its queue, `q ← [q + A − S]⁺`, and sets back-off
//! and holding time so that `p·μ = exp(b·q)`. With a source of known utility (`A = V/q`, [`UtilityBased`])
//! the links' shares maximise `Σ log x` plus an entropy with a weight that decreases with `b·V`.
//!
//! # Source
//! [Lee12] eq. (1), Alg. 1 (L1, L2); its rendering on 802.11 hardware (L6) is ours.
//!
//! # Symbols
//! `b` → [`OptimalParams::weight`] \[1/unit of queue\]; `q` → [`LinkView::backlog`]; a frame → [`OptimalParams::frame`];
//! `p`, `μ` → [`Intensity`].
//!
//! # Signals
//! The backlog of the own queue, frame by frame: it is the real queue that drives it.
//!
//! # Deviations
//! - The letter gives neither the frame's length nor the unit of `q`: 10 ms and packets are ours. In packets the letter's
//!   `b` makes a real queue of 256 kB count `b·q = 2.5`, in bytes 2560; and with 10 ms and its `V` a link that shares 6 Mb/s
//!   with three others has `b·q = 3`, within reach of 802.11's windows. studies/lee12/open-points sweeps it.
//! - Of `p` and `μ` it is `p` that adapts, "for a given μ" (section II); `μ` is the packet's airtime. Both are parameters.
//! - `μ` is not below a packet's airtime, since a packet is not sent in pieces: where it would be, the back-off makes up.
//! - Queues of TCP acknowledgements run the same law (section IV: "through the same MAC scheme").
//!
//! # Example
//! ```
//! use evenair_laws::Parameters;
//! use evenair_laws::backoff::{BackoffLaw, LinkRole, LinkView, OptimalParams};
//! use evenair_units::Volume;
//! let mut law = OptimalParams::lee12().begin(&LinkRole::data(Default::default()));
//! let backlog = Volume { packets: 250, bytes: 266_000 }; // TCP's whole window of 256 kB
//! law.on_update(&LinkView { backlog, ..LinkView::default() });
//! assert!((law.aggressiveness().unwrap() - 2.5).abs() < 1e-12);
//! ```
//!
//! [`UtilityBased`]: crate::rate::UtilityBased

use super::{Access, BackoffLaw, Intensity, LinkRole, LinkView, QueueMeasure, Scope, Space, Surroundings};
use crate::{BadParameter, Parameters, check, check_interval};
use evenair_units::{Bytes, Duration, Volume};

/// Parameters of the law.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(default, deny_unknown_fields)
)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct OptimalParams {
    /// b: aggressiveness per unit of queue.
    #[cfg_attr(feature = "serde", serde(rename = "b"))]
    pub weight: f64,
    /// A frame of the letter: the interval between two readings of the queue.
    #[cfg_attr(feature = "serde", serde(rename = "interval"))]
    pub frame: Duration,
    /// The unit of a queue.
    pub measure: QueueMeasure,
    /// Send dummy packets when the queue is empty.
    pub dummies: bool,
    /// How `p·μ` is rendered.
    #[cfg_attr(feature = "serde", serde(flatten))]
    pub intensity: Intensity,
}

impl OptimalParams {
    /// [Lee12] section IV: b = 0.01.
    pub const fn lee12() -> Self {
        Self {
            weight: 0.01,
            frame: Duration::from_millis(10),
            measure: QueueMeasure::Packets,
            dummies: false,
            intensity: Intensity::lee12(),
        }
    }
}

impl Default for OptimalParams {
    fn default() -> Self {
        Self::lee12()
    }
}

impl Parameters for OptimalParams {
    type Surroundings = Surroundings;
    type Place = LinkRole;
    type Law = Optimal;

    fn validated(self) -> Result<Self, BadParameter> {
        check("b", self.weight, self.weight > 0.0 && self.weight.is_finite(), "above 0")?;
        check_interval("interval", self.frame)?;
        Ok(Self { intensity: self.intensity.validated()?, ..self })
    }

    fn resolve(&mut self, surroundings: &Surroundings) {
        self.intensity.resolve(surroundings);
    }

    fn begin(&self, role: &LinkRole) -> Optimal {
        let mut params = *self;
        params.resolve(&role.surroundings);
        Optimal { params, role: *role, queue: 0.0 }
    }
}

/// The law's state at one link.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Optimal {
    params: OptimalParams,
    role: LinkRole,
    /// `q`, as of the last frame's end.
    queue: f64,
}

impl BackoffLaw for Optimal {
    fn scope(&self) -> Scope {
        Scope::NextHop
    }

    fn update_interval(&self) -> Option<Duration> {
        Some(self.params.frame)
    }

    /// [Lee12] eq. (1): the queue itself, which has done the sum.
    fn on_update(&mut self, link: &LinkView) {
        self.queue = self.params.measure.count(link.backlog, &self.role);
    }

    /// [Lee12] Alg. 1 line 3.
    fn access(&self) -> Access {
        self.params.intensity.access(self.params.weight * self.queue, &self.role)
    }

    fn space(&self) -> Space {
        self.params.intensity.space()
    }

    fn dummy_packet(&self) -> Option<Bytes> {
        self.params.dummies.then_some(self.role.surroundings.packet.payload)
    }

    /// `b·q`.
    fn aggressiveness(&self) -> Option<f64> {
        Some(self.params.weight * self.queue)
    }
}

impl QueueMeasure {
    /// So much traffic, in packets, or in bytes over those of a full data packet.
    pub(super) fn count(self, volume: Volume, role: &LinkRole) -> f64 {
        match self {
            Self::Packets => volume.packets as f64,
            Self::Bytes => volume.bytes as f64 / f64::from(role.surroundings.packet.size.count()).max(1.0),
        }
    }
}

/// The law's fluid face, [Lee12] eq. (1) per frame: `q̇ = A − S`. The bound at zero is the host's to keep.
pub fn drift(arrivals: f64, service: f64) -> f64 {
    arrivals - service
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::backoff::{Draw, Execution, PhysicalLayer};
    use crate::ranges::{POSITIVE, assert_range};

    fn queue(packets: u64) -> LinkView {
        LinkView { backlog: Volume { packets, bytes: packets * 1000 }, ..LinkView::default() }
    }

    fn begin(params: OptimalParams) -> Optimal {
        params.validated().unwrap().begin(&LinkRole::data(Surroundings::default()))
    }

    #[test]
    fn holding_over_back_off_is_exponential_in_queue() {
        // [Lee12] Alg. 1: p·μ = exp(b·q); q = 100, b = 0.01: the mean back-off is e^-1 of the packet's airtime.
        let mut law = begin(OptimalParams::lee12());
        law.on_update(&queue(100));
        let factor = libm::exp(-1.0);
        assert_eq!(law.access().draw, Draw::ExponentialOfFrame { factor, slotted: false });
        law.on_update(&queue(0));
        assert_eq!(law.access().draw, Draw::ExponentialOfFrame { factor: 1.0, slotted: false });
    }

    #[test]
    fn bytes_are_counted_in_full_packets() {
        let mut law = begin(OptimalParams { measure: QueueMeasure::Bytes, ..OptimalParams::lee12() });
        let acks = Volume { packets: 104, bytes: 4_160 }; // of 1040 bytes is a packet
        law.on_update(&LinkView { backlog: acks, ..LinkView::default() });
        assert!((law.queue - 4.0).abs() < 1e-12);
    }

    /// Frame by frame the host's queue does the sum of (1), and the machine's exponent takes `b` times the drift's step.
    #[test]
    fn the_machine_follows_the_drift_of_its_queue() {
        let mut law = begin(OptimalParams::lee12());
        let mut q = 40.0;
        law.on_update(&queue(40));
        for (arrivals, service) in [(5_u32, 2_u32), (0, 7), (6, 6), (0, 50)] {
            let before = law.aggressiveness().unwrap();
            let step = drift(arrivals.into(), service.into());
            let next = (q + step).max(0.0);
            law.on_update(&queue(next as u64));
            assert!((law.aggressiveness().unwrap() - before - 0.01 * (next - q)).abs() < 1e-12);
            q = next;
        }
        assert!(law.aggressiveness().unwrap().abs() < 1e-12, "never below zero");
    }

    #[test]
    fn each_parameter_has_its_range() {
        let params = OptimalParams::lee12();
        let (good, bad) = POSITIVE;
        assert_range("b", |weight| OptimalParams { weight, ..params }, good, bad);
        let interval = |us| OptimalParams { frame: Duration::from_micros(us), ..params };
        assert_range("interval", interval, &[10], &[0, 9]);
        let aifsn = |aifsn| OptimalParams { intensity: Intensity { aifsn, ..params.intensity }, ..params };
        assert_range("aifsn", aifsn, &[1, 15], &[0, 16]);
    }

    #[test]
    fn resolved_parameters_fill_open_values() {
        let ofdm = Surroundings { physical_layer: PhysicalLayer::Ofdm, ..Surroundings::default() };
        let mut params = OptimalParams::default();
        params.intensity.execution = Execution::Hardware;
        let law = params.begin(&LinkRole::data(ofdm));
        assert_ne!(law.params, params);
        params.resolve(&ofdm);
        assert_eq!(law.params, params);
    }
}
