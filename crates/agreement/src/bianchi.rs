//! Bianchi's model of a saturated cell, with a finite number of attempts.
//!
//! G. Bianchi, "Performance Analysis of the IEEE 802.11 Distributed Coordination Function", JSAC 2000; the finite
//! retry limit after H. Wu et al., INFOCOM 2002. A station's counter is decremented once per slot, be it idle, a success
//! or a collision.

use crate::aggregates::{self, Cell};
use crate::cell::Exchange;
use evenair_units::{Bytes, Duration};
use evenair_wifi::{MissedBlockAck, Mode};

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

/// Saturation goodput \[Mb/s\] of a cell of stations that send full aggregates and never give a packet up.
///
/// After a missing block acknowledgement the next frame of a station is the data again, or a block ack request, which resets the
/// window when it is answered: then of all attempts one in `1 / (1 − p)` is data. No EIFS follows a collision, as none of frames
/// of one power is detected; of stations that announce their frames it takes an RTS.
pub fn of_aggregates(cell: &Cell) -> f64 {
    let (timing, limits) = (cell.timing(), cell.aggregation.expect("a cell that aggregates"));
    let full = limits.full(&timing, aggregates::PACKET, cell.mode);
    let aifs = timing.sifs + timing.slot * 3;
    let answer = full.exchange - timing.difs - full.frame; // SIFS and acknowledgement
    // 24 bytes (IEEE 802.11-2016 clause 9.3.1.8).
    let request = timing.phy.airtime(Bytes::new(24), Mode::at(timing.control(cell.mode)));
    let announces = cell.rts_threshold.is_some();
    let rts = if announces { timing.request(cell.mode) } else { Duration::ZERO };
    let cts = if announces { timing.sifs * 2 + timing.clearance(cell.mode) } else { Duration::ZERO };
    let seconds = |time: Duration| time.as_secs_f64();
    let collided_frame = if announces { rts } else { full.frame };
    let tau = fixed_point(|tau| {
        let p = collision_probability(tau, cell.stations);
        // Attempts per success over slots per success; 60 attempts are as good as any number.
        let window = |k: i32| f64::from(16 << k.min(6)) - 1.0;
        let slots: f64 = (0..60).map(|k| p.powi(k) * window(k) / 2.0).sum();
        let attempts = 1.0 / (1.0 - p);
        attempts / (attempts + slots)
    });
    let n = f64::from(cell.stations);
    let asks = limits.after_missed == MissedBlockAck::Request && !announces && full.packets > 1;
    let of_data = if asks { 1.0 - collision_probability(tau, cell.stations) } else { 1.0 };
    let idle = (1.0 - tau).powf(n);
    let success = n * tau * (1.0 - tau).powf(n - 1.0);
    // Collisions of requests alone: of those that attempt, all ask, and they are two or more.
    let asking = tau * (1.0 - of_data);
    let requests = (1.0 - tau + asking).powf(n) - idle - n * asking * (1.0 - tau).powf(n - 1.0);
    let collisions = 1.0 - idle - success - requests;
    let mean_s = idle * seconds(timing.slot)
        + success * of_data * seconds(rts + cts + full.frame + answer + aifs)
        + success * (1.0 - of_data) * seconds(request + answer + aifs)
        + collisions * seconds(collided_frame + aifs)
        + requests * seconds(request + aifs);
    success * of_data * f64::from(full.packets) * aggregates::PAYLOAD_BITS / mean_s / 1e6
}

/// The probability that another of so many stations attempts in the same slot.
fn collision_probability(tau: f64, stations: u32) -> f64 {
    1.0 - (1.0 - tau).powf(f64::from(stations) - 1.0)
}

/// τ: the probability that a station transmits in a slot.
fn attempt_probability(stations: u32, window_min: u32) -> f64 {
    fixed_point(|tau| {
        let p = collision_probability(tau, stations);
        // Attempts per packet over slots per packet: each attempt k waits CW_k/2 slots and takes one more.
        let (mut attempts, mut slots, mut reach) = (0.0, 0.0, 1.0);
        for k in 0..7 {
            let window = f64::from((((window_min + 1) << k) - 1).min(1023));
            attempts += reach;
            slots += reach * (window / 2.0 + 1.0);
            reach *= p;
        }
        attempts / slots
    })
}

/// The τ that a falling function gives back, by bisection.
fn fixed_point(of: impl Fn(f64) -> f64) -> f64 {
    let (mut low, mut high): (f64, f64) = (1e-9, 0.5);
    for _ in 0..200 {
        let tau = f64::midpoint(low, high);
        if of(tau) > tau { low = tau } else { high = tau }
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
