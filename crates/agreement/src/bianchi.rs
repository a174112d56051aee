//! Bianchi's model of a saturated cell, with a finite number of attempts.
//!
//! G. Bianchi, "Performance Analysis of the IEEE 802.11 Distributed Coordination Function", JSAC 2000; the finite
//! retry limit after H. Wu et al., INFOCOM 2002. A station's counter is decremented once per slot, be it idle, a success
//! or a collision.

use crate::cell::Exchange;

/// Saturation throughput of `stations` stations \[packets/s\], windows up to 1023, seven attempts.
///
/// A success takes its frames, the spaces between them and a DIFS; a collision its first frame and EIFS, as the stations
/// that hear it wait.
pub fn throughput_pps(exchange: &Exchange, stations: u32) -> f64 {
    let n = f64::from(stations);
    let tau = attempt_probability(stations, exchange.window_min);
    let idle = (1.0 - tau).powf(n);
    let success = n * tau * (1.0 - tau).powf(n - 1.0);
    let collision = 1.0 - idle - success;
    let timing = &exchange.timing;
    let (slot, success_s) = (timing.slot.as_secs_f64(), exchange.success().as_secs_f64());
    let collision_s = (exchange.first_frame() + timing.eifs).as_secs_f64();
    success / (idle * slot + success * success_s + collision * collision_s)
}

/// τ: the probability that a station transmits in a slot, by bisection on its fixed point.
fn attempt_probability(stations: u32, window_min: u32) -> f64 {
    let (mut low, mut high): (f64, f64) = (1e-9, 0.5);
    for _ in 0..200 {
        let tau = f64::midpoint(low, high);
        let p = 1.0 - (1.0 - tau).powf(f64::from(stations) - 1.0);
        // Attempts per packet over slots per packet: each attempt k waits CW_k/2 slots and takes one more.
        let (mut attempts, mut slots, mut reach) = (0.0, 0.0, 1.0);
        for k in 0..7 {
            let window = f64::from((((window_min + 1) << k) - 1).min(1023));
            attempts += reach;
            slots += reach * (window / 2.0 + 1.0);
            reach *= p;
        }
        if attempts / slots > tau { low = tau } else { high = tau }
    }
    low
}

#[cfg(test)]
mod tests {
    use super::*;
    use evenair_units::{Bytes, Rate};

    #[test]
    fn a_station_alone_is_arithmetic() {
        // One exchange and 15.5 slots: exact.
        let exchange = Exchange::b(Bytes::new(1000), Rate::from_kbps(11_000), false);
        let expected = 1.0 / (exchange.success().as_secs_f64() + 15.5 * 20e-6);
        assert!((throughput_pps(&exchange, 1) / expected - 1.0).abs() < 1e-9);
    }

    #[test]
    fn bianchis_own_example() {
        // J-SAC 2000, table II and figure 6 (FHSS at 1 Mb/s, W = 32, m = 5): τ and throughput of the basic
        // access at n = 10 are near 0.037 and 0.83 of the channel's bits; our window stops at 1023 = 32·2^5 −
        // 1, as Bianchi's does.
        let tau = attempt_probability(10, 31);
        assert!((tau - 0.0370).abs() < 0.0008, "{tau}");
    }
}
