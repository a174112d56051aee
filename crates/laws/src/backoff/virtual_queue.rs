//! Optimal CSMA: aggressiveness in proportion to a queue, real or virtual.
//!
//! # Law
//! A transmitter backs off and holds so that `p·μ = exp(b·q)`. In oCSMA `q` is the MAC's own queue, fed by a source that knows
//! its utility: `q ← [q + A − S]⁺`, `A = V/q`. VQ-oCSMA keeps a queue that nobody sees in its place,
//! `vq ← max(vq + V/vq − S, vq_min)`, so that the real queue may be TCP's and run empty.
//!
//! # Source
//! [Lee12] eq. (1), (2), Alg. 1 (L2 to L4).
//!
//! # Symbols
//! `b` → [`VirtualQueueParams::weight`]; `V` → [`VirtualQueueParams::utility`]; `vq_min` → [`VirtualQueueParams::least`]; `S`:
//! what was served in a frame, in the unit of the queue.
//!
//! # Signals
//! The own link's service, frame by frame.
//!
//! # Deviations
//! The letter gives neither the frame's length nor the unit of `q`: [`VirtualQueueParams::frame`], 10 ms, and packets are ours.
//! Of `p` and `μ` it is `p` that adapts, as its section II reads: `μ` is the packet's airtime. The virtual queue runs from
//! the start, not from the first TCP packet that finds the queue empty.
//! A machine and its fluid form, not a word of the language yet: what an 802.11 MAC makes of it is still to be built.
//!
//! # Example
//! ```
//! use evenair_laws::Parameters;
//! use evenair_laws::backoff::virtual_queue::VirtualQueueParams;
//! use evenair_laws::backoff::{BackoffLaw, LinkRole, LinkView};
//! let mut law = VirtualQueueParams::lee12().begin(&LinkRole::data(Default::default()));
//! law.on_update(&LinkView::default()); // nothing was served: 1 + 500/1
//! assert!((law.aggressiveness().unwrap() - 0.01 * 501.0).abs() < 1e-12);
//! ```

use super::{Access, BackoffLaw, Draw, Holding, LinkRole, LinkView, OnFailure, Scope, Surroundings, When};
use crate::{BadParameter, Parameters, check, check_time};
use evenair_units::Duration;

/// Parameters of both laws.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(default, deny_unknown_fields)
)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct VirtualQueueParams {
    /// b: aggressiveness per unit of queue.
    #[cfg_attr(feature = "serde", serde(rename = "b"))]
    pub weight: f64,
    /// V: how much the utility counts.
    #[cfg_attr(feature = "serde", serde(rename = "v"))]
    pub utility: f64,
    /// The least virtual queue.
    #[cfg_attr(feature = "serde", serde(rename = "vq_min"))]
    pub least: f64,
    /// A frame of the letter: how often the queue is updated.
    #[cfg_attr(feature = "serde", serde(rename = "interval"))]
    pub frame: Duration,
}

impl VirtualQueueParams {
    /// [Lee12] section IV: b = 0.01, V = 500, `vq_min` = 1.
    pub const fn lee12() -> Self {
        Self { weight: 0.01, utility: 500.0, least: 1.0, frame: Duration::from_millis(10) }
    }

    /// `A = V/q`: what a utility-based source sends in a frame, with log utility ([Lee12] section II).
    pub fn arrivals(&self, queue: f64) -> f64 {
        self.utility / queue
    }

    /// `b·q`, the logarithm of `p·μ`.
    pub fn aggressiveness(&self, queue: f64) -> f64 {
        self.weight * queue
    }

    /// The fluid face of (1) and of (2): `q̇ = A − S` per frame. The bound, 0 or [`Self::least`], is the host's to keep.
    pub fn drift(&self, arrivals: f64, service: f64) -> f64 {
        arrivals - service
    }
}

impl Default for VirtualQueueParams {
    fn default() -> Self {
        Self::lee12()
    }
}

impl Parameters for VirtualQueueParams {
    type Surroundings = Surroundings;
    type Place = LinkRole;
    type Law = VirtualQueue;

    fn validated(self) -> Result<Self, BadParameter> {
        let Self { weight, utility, least, frame } = self;
        check("b", weight, weight > 0.0 && weight.is_finite(), "above 0")?;
        check("v", utility, utility > 0.0 && utility.is_finite(), "above 0")?;
        check("vq_min", least, least > 0.0 && least.is_finite(), "above 0")?;
        check_time("interval", frame)?;
        Ok(self)
    }

    fn begin(&self, role: &LinkRole) -> VirtualQueue {
        VirtualQueue { params: *self, queue: self.least, holding: role.surroundings.holding }
    }
}

/// A virtual queue, at one link.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct VirtualQueue {
    params: VirtualQueueParams,
    queue: f64,
    holding: Holding,
}

impl VirtualQueue {
    /// [Lee12] eq. (2), at the end of a frame in which so much was served.
    fn on_frame(&mut self, service: f64) {
        let next = self.queue + self.params.arrivals(self.queue) - service;
        self.queue = next.max(self.params.least);
    }
}

impl BackoffLaw for VirtualQueue {
    fn scope(&self) -> Scope {
        Scope::NextHop
    }

    fn update_interval(&self) -> Option<Duration> {
        Some(self.params.frame)
    }

    fn on_update(&mut self, link: &LinkView) {
        self.on_frame(link.service.packets as f64);
    }

    /// `1/p = μ·exp(−b·vq)`, `μ` the packet's airtime.
    fn access(&self) -> Access {
        let factor = libm::exp(-self.params.aggressiveness(self.queue));
        let draw = Draw::ExponentialOfFrame { factor, slotted: false };
        Access { draw, on_failure: OnFailure::Redraw, when: When::BeforeFrame, holding: self.holding }
    }

    /// `b·vq`.
    fn aggressiveness(&self) -> Option<f64> {
        Some(self.params.aggressiveness(self.queue))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::conformance::drift;

    #[test]
    fn unserved_it_grows_like_a_root() {
        // [Lee12]: √(2Vt), after a first frame that takes it to 501
        let mut law = VirtualQueueParams::lee12().begin(&LinkRole::data(Surroundings::default()));
        (0..10_000).for_each(|_| law.on_frame(0.0));
        let expected = libm::sqrt(501.0 * 501.0 + 2.0 * 500.0 * 9_999.0);
        assert!((law.queue / expected - 1.0).abs() < 1e-3, "{} {expected}", law.queue);
    }

    #[test]
    fn the_step_of_the_machine_is_the_drift_and_it_stops_at_its_least() {
        let params = VirtualQueueParams::lee12();
        let mut law = VirtualQueue { params, queue: 300.0, holding: Holding::Packet };
        let per_frame = params.drift(params.arrivals(300.0), 4.0);
        drift(&law, |law| law.queue, &[(1.0, &|law| law.on_frame(4.0))], per_frame, 1e-12);
        law.on_frame(1e6);
        assert!((law.queue - 1.0).abs() < 1e-12);
    }

    #[test]
    fn the_ratio_of_holding_to_back_off_is_the_exponential_of_the_queue() {
        // [Lee12] Alg. 1: p·μ = exp(b·q); at vq = 501, b = 0.01 the mean back-off is e^-5.01 of the airtime.
        let mut law = VirtualQueueParams::lee12().begin(&LinkRole::data(Surroundings::default()));
        law.on_update(&LinkView::default());
        let Draw::ExponentialOfFrame { factor, .. } = law.access().draw else { panic!("{law:?}") };
        assert!((1.0 / factor / libm::exp(5.01) - 1.0).abs() < 1e-12);
    }
}
