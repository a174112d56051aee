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
//! The letter gives neither the frame's length nor the unit of `q`; both are the host's.
//!
//! # Example
//! ```
//! use evenair_laws::backoff::virtual_queue::{VirtualQueue, VirtualQueueParams};
//! let mut law = VirtualQueue::new(VirtualQueueParams::lee12());
//! law.on_frame(0.0); // 1 + 500/1
//! assert!((law.aggressiveness() - 0.01 * 501.0).abs() < 1e-12);
//! ```

use crate::{BadParameter, check};

/// Parameters of both laws.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct VirtualQueueParams {
    /// b: aggressiveness per unit of queue.
    pub weight: f64,
    /// V: how much the utility counts.
    pub utility: f64,
    /// The least virtual queue.
    pub least: f64,
}

impl VirtualQueueParams {
    /// [Lee12] section IV: b = 0.01, V = 500, `vq_min` = 1.
    pub const fn lee12() -> Self {
        Self { weight: 0.01, utility: 500.0, least: 1.0 }
    }

    /// Checks the parameters.
    ///
    /// # Errors
    /// Names the first one outside its range.
    pub fn validated(self) -> Result<Self, BadParameter> {
        let Self { weight, utility, least } = self;
        check("b", weight, weight > 0.0 && weight.is_finite(), "above 0")?;
        check("V", utility, utility > 0.0 && utility.is_finite(), "above 0")?;
        check("vq_min", least, least > 0.0 && least.is_finite(), "above 0")?;
        Ok(self)
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

/// A virtual queue.
#[derive(Clone, Debug, PartialEq)]
pub struct VirtualQueue {
    params: VirtualQueueParams,
    queue: f64,
}

impl VirtualQueue {
    /// The least queue.
    pub const fn new(params: VirtualQueueParams) -> Self {
        Self { params, queue: params.least }
    }

    /// [Lee12] eq. (2), at the end of a frame in which so much was served.
    pub fn on_frame(&mut self, service: f64) {
        let next = self.queue + self.params.arrivals(self.queue) - service;
        self.queue = next.max(self.params.least);
    }

    /// `b·vq`.
    pub fn aggressiveness(&self) -> f64 {
        self.params.aggressiveness(self.queue)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unserved_it_grows_like_a_root() {
        // [Lee12]: √(2Vt), after a first frame that takes it to 501
        let mut law = VirtualQueue::new(VirtualQueueParams::lee12());
        (0..10_000).for_each(|_| law.on_frame(0.0));
        let expected = libm::sqrt(501.0 * 501.0 + 2.0 * 500.0 * 9_999.0);
        assert!((law.queue / expected - 1.0).abs() < 1e-3, "{} {expected}", law.queue);
    }

    #[test]
    fn the_step_of_the_machine_is_the_drift_and_it_stops_at_its_least() {
        let params = VirtualQueueParams::lee12();
        let mut law = VirtualQueue { params, queue: 300.0 };
        law.on_frame(4.0);
        assert!((law.queue - 300.0 - params.drift(params.arrivals(300.0), 4.0)).abs() < 1e-12);
        law.on_frame(1e6);
        assert!((law.queue - 1.0).abs() < 1e-12);
    }
}
