//! QUIC-TCP, a window law that keeps `p` packets of each flow in the network's queues. It has nothing to do with the IETF
//! protocol QUIC.
//!
//! # Law
//! `ẇ = −κ·(d/D)·w^(1−2ρ)·v` with `v = w − x·d − p`, the packets that wait beyond those wanted, and `D = d + q` the round trip
//! with its queueing delay. ρ = 1 is Mo and Walrand's law, ρ = ½ close to FAST's.
//!
//! # Source
//! [QCSMA] eq. (10), (15), (17).
//!
//! # Symbols
//! `p` → [`QuicTcpParams::target`] \[packets\]; `κ` → [`QuicTcpParams::gain`]; `ρ` → [`QuicTcpParams::shape`]; `d` and `D` in
//! any unit of time, since only their ratio counts.
//!
//! # Signals
//! The least and the average round-trip time.
//!
//! # Deviations
//! How often (17) is applied is not said: once per round trip, as FAST does. The text of (15), (17) and (26) is damaged; this
//! is the reading under which the paper's proof closes.
//!
//! # Example
//! ```
//! use evenair_laws::window::quic_tcp::QuicTcpParams;
//! let law = QuicTcpParams { target: 200.0, gain: 1.5, shape: 0.5 };
//! // 300 packets in a round trip of which two thirds is queueing: as many wait as are wanted.
//! assert!(law.drift(300.0, 1.0 / 3.0).abs() < 1e-9);
//! ```

use crate::{BadParameter, check};

/// Parameters of the law.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct QuicTcpParams {
    /// p: how many packets wait at the equilibrium; the flow's weight \[packets\].
    pub target: f64,
    /// κ.
    pub gain: f64,
    /// ρ, from 0 to 1.
    pub shape: f64,
}

impl QuicTcpParams {
    /// Checks the parameters.
    ///
    /// # Errors
    /// Names the first one outside its range.
    pub fn validated(self) -> Result<Self, BadParameter> {
        let Self { target, gain, shape } = self;
        check("target", target, target > 0.0 && target.is_finite(), "above 0")?;
        check("gain", gain, gain > 0.0 && gain.is_finite(), "above 0")?;
        check("shape", shape, (0.0..=1.0).contains(&shape), "from 0 to 1")?;
        Ok(self)
    }

    /// `v`: by how many packets more wait than are wanted; `share` is `d/D`, the part of the round trip that is not queueing.
    pub fn excess(&self, window: f64, share: f64) -> f64 {
        window - share * window - self.target
    }

    /// The fluid face, [QCSMA] eq. (15).
    pub fn drift(&self, window: f64, share: f64) -> f64 {
        -self.gain * share * libm::pow(window, 1.0 - 2.0 * self.shape) * self.excess(window, share)
    }

    /// [QCSMA] eq. (17): the window after one round trip, at least one packet.
    pub fn next(&self, window: f64, share: f64) -> f64 {
        (window + self.drift(window, share)).max(1.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rho_of_one_is_mo_and_walrands_law() {
        // ẇ = −κ d v/(D w)
        let law = QuicTcpParams { target: 3.0, gain: 0.7, shape: 1.0 };
        let (window, share) = (12.0, 0.6);
        let expected = -0.7 * share * law.excess(window, share) / window;
        assert!((law.drift(window, share) - expected).abs() < 1e-12);
    }

    #[test]
    fn too_few_that_wait_open_the_window_and_too_many_close_it() {
        for shape in [0.0, 0.5, 1.0] {
            let law = QuicTcpParams { target: 5.0, gain: 0.1, shape }.validated().unwrap();
            assert!(law.next(10.0, 0.9) > 10.0, "one waits");
            assert!(law.next(20.0, 0.5) < 20.0, "ten wait");
            assert!((law.next(10.0, 0.5) - 10.0).abs() < 1e-12, "five wait");
        }
        assert!(QuicTcpParams { target: 5.0, gain: 0.1, shape: 1.5 }.validated().is_err());
    }
}
