//! The cost of many connections to the host that keeps them: [Chen10]'s model of memory and processor time (C12).
//!
//! It is no law: it computes the cost of any course of `n` over time.
//!
//! # Source
//! [Chen10] section 5.3.5, eq. (5.44) to (5.50).
//!
//! # Symbols
//! `M` → [`HostCosts::memory`]; `D_e`, `D_c`, `D_p` → [`HostCosts::establish`], [`HostCosts::close`], [`HostCosts::packet`];
//! `n(t_k)` → `connections`; `Thr·R` → `packets`.
//!
//! # Deviations
//! `n(t_k)` is sampled at least once per update interval `d`: an unchanged number costs nothing, so the sum
//! of (5.49) is the same.
//!
//! # Example
//! ```
//! use evenair_laws::connections::HostCosts;
//! let costs = HostCosts::chen10();
//! // Ten connections for 200 s at 150 packets/s: opened once, closed once.
//! assert!((costs.efficiency([10.0; 40], 150.0 * 200.0) - 0.98987).abs() < 1e-5);
//! assert!((costs.memory_of(10.0) - 5120.0).abs() < 1e-9);
//! ```

use evenair_units::{Bytes, Duration};

/// The cost of connections to a host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HostCosts {
    /// Processor time to open a connection: the socket and the handshake.
    pub establish: Duration,
    /// Processor time to close one.
    pub close: Duration,
    /// Processor time to send a data packet.
    pub packet: Duration,
    /// Memory that a connection holds: its control block.
    pub memory: Bytes,
}

impl HostCosts {
    /// [Chen10] section 5.3.5, on a Pentium 4 of 3.2 GHz: 12 µs + 406 µs, 12 µs, 14 µs for 1000 bytes; 512 bytes.
    pub const fn chen10() -> Self {
        Self {
            establish: Duration::from_micros(418),
            close: Duration::from_micros(12),
            packet: Duration::from_micros(14),
            memory: Bytes::new(512),
        }
    }

    /// [Chen10] eq. (5.44), and (5.45) of a mean number: the memory that so many connections hold \[bytes\].
    pub fn memory_of(&self, connections: f64) -> f64 {
        connections * f64::from(self.memory.count())
    }

    /// [Chen10] eq. (5.46), (5.47), (5.48): the processor time of a change of the number of connections \[s\].
    pub fn management_s(&self, before: f64, after: f64) -> f64 {
        let opened = (after - before).max(0.0);
        let closed = (before - after).max(0.0);
        opened * self.establish.as_secs_f64() + closed * self.close.as_secs_f64()
    }

    /// [Chen10] eq. (5.50), η: the share of the processor time, (5.49), that goes into data; from no connection through the
    /// numbers given, in order, to none, while so many packets are sent. None at all has nothing to be efficient about: one.
    pub fn efficiency(&self, connections: impl IntoIterator<Item = f64>, packets: f64) -> f64 {
        let (mut before, mut management_s) = (0.0, 0.0);
        for after in connections.into_iter().chain([0.0]) {
            management_s += self.management_s(before, after);
            before = after;
        }
        let data_s = packets * self.packet.as_secs_f64();
        debug_assert!(management_s >= 0.0 && data_s >= 0.0, "no work takes less than no time");
        if management_s > 0.0 { data_s / (data_s + management_s) } else { 1.0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn opening_costs_35_times_as_much_as_closing() {
        let costs = HostCosts::chen10();
        assert!((costs.management_s(3.0, 7.0) - 4.0 * 418e-6).abs() < 1e-15); // (5.46)
        assert!((costs.management_s(7.0, 3.0) - 4.0 * 12e-6).abs() < 1e-15); // (5.47)
        assert!(costs.management_s(7.0, 7.0).abs() < 1e-15); // (5.48)
    }

    #[test]
    fn connections_hold_their_control_blocks() {
        assert!((HostCosts::chen10().memory_of(2.5) - 2.5 * 512.0).abs() < 1e-12); // (5.44), (5.45)
    }

    #[test]
    fn user_two_of_table_6_5() {
        // 149 packets/s for 200 s are 0.417 s of data. To leave 94.0 % it opens and closes 62 connections (62·430 µs): one or
        // two per update of 5 s.
        let swings = (0..41).map(|k| if k % 2 == 0 { 18.0 } else { 16.0 });
        let costs = HostCosts::chen10();
        let efficiency = costs.efficiency(swings, 149.0 * 200.0);
        let by_hand = 0.4172 / (0.4172 + (18.0 + 20.0 * 2.0) * 430e-6);
        assert!((efficiency - by_hand).abs() < 1e-12, "{efficiency} {by_hand}");
        assert!((efficiency - 0.9436).abs() < 1e-4);
        assert!((costs.efficiency([], 0.0) - 1.0).abs() < 1e-15);
    }
}
