//! Every microsecond of a frame exchange: slots, inter-frame spaces, preambles, airtimes, time-outs.

use evenair_units::{Bytes, Duration, Rate};
use std::fmt;

/// Which physical layer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PhyStandard {
    /// 802.11b, DSSS and HR/DSSS: 1, 2, 5.5 and 11 Mb/s (IEEE 802.11-2016 clauses 15 and 16).
    B,
}

/// The preamble of 802.11b.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Preamble {
    /// 144 µs of preamble and 48 µs of header.
    Long,
    /// 72 µs and 24 µs; not for 1 Mb/s.
    Short,
}

/// How a frame's duration is computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Phy {
    /// Which physical layer.
    pub standard: PhyStandard,
    /// Which preamble.
    pub preamble: Preamble,
    /// Round the payload up to whole microseconds, as the standard does and ns-2 does not.
    pub whole_micros: bool,
}

/// A rate that the physical layer does not have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnsupportedRate {
    /// The rate that was asked for.
    pub rate: Rate,
    /// The rates that there are.
    pub allowed: &'static [Rate],
}

impl fmt::Display for UnsupportedRate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} is not a rate of this physical layer; it has ", self.rate)?;
        for (i, rate) in self.allowed.iter().enumerate() {
            write!(f, "{}{rate}", if i == 0 { "" } else { ", " })?;
        }
        Ok(())
    }
}

impl std::error::Error for UnsupportedRate {}

const B_RATES: [Rate; 4] =
    [Rate::from_kbps(1_000), Rate::from_kbps(2_000), Rate::from_kbps(5_500), Rate::from_kbps(11_000)];

impl Phy {
    /// 802.11b with long preambles, by the standard.
    pub const fn b_long() -> Self {
        Self { standard: PhyStandard::B, preamble: Preamble::Long, whole_micros: true }
    }

    /// The rates of this physical layer with this preamble.
    pub fn rates(&self) -> &'static [Rate] {
        match (self.standard, self.preamble) {
            (PhyStandard::B, Preamble::Long) => &B_RATES,
            (PhyStandard::B, Preamble::Short) => &B_RATES[1..],
        }
    }

    /// Accepts a rate of this physical layer.
    ///
    /// # Errors
    /// Lists the rates that there are. Short preambles exclude 1 Mb/s (IEEE 802.11-2016 clause 16.2.2.3).
    pub fn checked(&self, rate: Rate) -> Result<Rate, UnsupportedRate> {
        let allowed = self.rates();
        if allowed.contains(&rate) { Ok(rate) } else { Err(UnsupportedRate { rate, allowed }) }
    }

    /// Preamble and header: what precedes the first bit of a frame.
    pub const fn preamble_time(&self) -> Duration {
        match (self.standard, self.preamble) {
            (PhyStandard::B, Preamble::Long) => Duration::from_micros(144 + 48),
            (PhyStandard::B, Preamble::Short) => Duration::from_micros(72 + 24),
        }
    }

    /// Airtime of a frame of `size` MAC bytes, header and checksum included (IEEE 802.11-2016 clause 16.2.3.5,
    /// 16.3.4: `TXTIME = preamble + header + ⌈8·LENGTH/RATE⌉`).
    pub const fn airtime(&self, size: Bytes, rate: Rate) -> Duration {
        let payload = if self.whole_micros { rate.whole_micros_for(size) } else { rate.time_for(size) };
        Duration::from_nanos(self.preamble_time().as_nanos() + payload.as_nanos())
    }
}

/// The times that channel access runs on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MacTiming {
    /// How frame durations are computed.
    pub phy: Phy,
    /// One slot.
    pub slot: Duration,
    /// Short inter-frame space.
    pub sifs: Duration,
    /// Distributed inter-frame space.
    pub difs: Duration,
    /// Extended inter-frame space, counted from the end of a frame that was not decoded.
    pub eifs: Duration,
    /// Airtime of an acknowledgement at the basic rate.
    pub ack: Duration,
    /// From the end of a DATA frame to the moment at which a missing acknowledgement is a failure.
    pub ack_timeout: Duration,
    /// How long after a frame's first energy arrives a station can still begin to transmit: clear channel assessment
    /// and the turnaround of its own transmitter.
    pub sensing_delay: Duration,
    /// Bytes that the MAC adds to a packet: header, checksum and logical link control.
    pub overhead: Bytes,
    /// Rate of control frames.
    pub basic_rate: Rate,
}

/// Size of an ACK frame (IEEE 802.11-2016 clause 9.3.1.4).
const ACK_BYTES: Bytes = Bytes::new(14);

impl MacTiming {
    /// 802.11b by the standard.
    ///
    /// MAC overhead is 24 bytes of header, 4 of checksum, 8 of LLC and SNAP. The time-out is `SIFS + slot +
    /// RxPHYStartDelay` (clause 10.3.2.9), the delay being the preamble. The sensing delay is aCCATime, of which the
    /// standard says "less than 15 µs"; the 5 µs turnaround is taken to run out at the slot boundary, as the slot's
    /// own sum in clause 15.3.3 supposes. docs/validation.md shows how results depend on it.
    pub const fn b(preamble: Preamble, basic_rate: Rate) -> Self {
        let phy = Phy { standard: PhyStandard::B, preamble, whole_micros: true };
        let (slot, sifs) = (Duration::from_micros(20), Duration::from_micros(10));
        let difs = Duration::from_nanos(sifs.as_nanos() + 2 * slot.as_nanos());
        let ack = phy.airtime(ACK_BYTES, basic_rate);
        // Clause 10.3.2.3.7: EIFS = SIFS + AckTxTime + DIFS, the ACK at the lowest mandatory rate.
        let slowest = match preamble {
            Preamble::Long => Rate::from_kbps(1_000),
            Preamble::Short => Rate::from_kbps(2_000),
        };
        let slow_ack = phy.airtime(ACK_BYTES, slowest);
        Self {
            phy,
            slot,
            sifs,
            difs,
            eifs: Duration::from_nanos(sifs.as_nanos() + slow_ack.as_nanos() + difs.as_nanos()),
            ack,
            ack_timeout: Duration::from_nanos(
                sifs.as_nanos() + slot.as_nanos() + phy.preamble_time().as_nanos(),
            ),
            sensing_delay: Duration::from_micros(15),
            overhead: Bytes::new(24 + 4 + 8),
            basic_rate,
        }
    }

    /// What ns-2 2.35 makes of it: 34 bytes of MAC overhead, no rounding, a time-out that covers the whole
    /// acknowledgement and twice 2 µs of propagation, no sensing delay, and always the long preamble's EIFS.
    #[must_use]
    pub const fn ns2(self) -> Self {
        let phy = Phy { whole_micros: false, ..self.phy };
        let ack = phy.airtime(ACK_BYTES, self.basic_rate);
        Self {
            phy,
            ack,
            ack_timeout: Duration::from_nanos(2_000 + self.sifs.as_nanos() + ack.as_nanos() + 2_000),
            sensing_delay: Duration::ZERO,
            overhead: Bytes::new(34),
            ..self
        }
    }

    /// Airtime of a DATA frame that carries a packet of `size` network-layer bytes.
    pub fn data(&self, size: Bytes, rate: Rate) -> Duration {
        self.phy.airtime(size + self.overhead, rate)
    }

    /// One whole exchange that nobody disturbs, back-off left out: DIFS, DATA, SIFS, ACK.
    pub fn exchange(&self, size: Bytes, rate: Rate) -> Duration {
        self.difs + self.data(size, rate) + self.sifs + self.ack
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MBPS: [u64; 4] = [1_000, 2_000, 5_500, 11_000];

    #[test]
    fn durations_of_a_1000_byte_packet_at_every_rate_and_preamble() {
        // (1000 + 36)·8 = 8288 bits: 8288, 4144, 1506.9 → 1507, 753.45 → 754 µs after the preamble.
        let expected_us = [8288, 4144, 1507, 754];
        for (kbps, payload_us) in MBPS.into_iter().zip(expected_us) {
            for (preamble, head_us) in [(Preamble::Long, 192), (Preamble::Short, 96)] {
                let timing = MacTiming::b(preamble, Rate::from_kbps(2_000));
                let data = timing.data(Bytes::new(1000), Rate::from_kbps(kbps));
                assert_eq!(data, Duration::from_micros(head_us + payload_us), "{kbps} kb/s, {preamble:?}");
            }
        }
    }

    #[test]
    fn acknowledgement_time_out_and_eifs_of_the_standard() {
        let long = MacTiming::b(Preamble::Long, Rate::from_kbps(1_000));
        assert_eq!(long.ack, Duration::from_micros(192 + 112));
        assert_eq!(long.difs, Duration::from_micros(50));
        assert_eq!(long.eifs, Duration::from_micros(10 + 304 + 50));
        assert_eq!(long.ack_timeout, Duration::from_micros(10 + 20 + 192));
        let short = MacTiming::b(Preamble::Short, Rate::from_kbps(11_000));
        // 112 bits / 11 Mb/s = 10.2 → 11 µs
        assert_eq!(short.ack, Duration::from_micros(96 + 11));
    }

    #[test]
    fn ns2_rounds_nothing_and_waits_longer() {
        let timing = MacTiming::b(Preamble::Long, Rate::from_kbps(1_000)).ns2();
        // 1074·8/11 = 781.0909 µs
        assert_eq!(timing.data(Bytes::new(1040), Rate::from_kbps(11_000)).as_nanos(), 192_000 + 781_091);
        assert_eq!(timing.ack_timeout, Duration::from_micros(318));
        assert_eq!(timing.eifs, Duration::from_micros(364));
    }

    #[test]
    fn unknown_rates_are_named() {
        let phy = Phy::b_long();
        assert!(phy.checked(Rate::from_kbps(11_000)).is_ok());
        let error = phy.checked(Rate::from_kbps(54_000)).unwrap_err();
        assert_eq!(
            error.to_string(),
            "54 Mbps is not a rate of this physical layer; it has 1 Mbps, 2 Mbps, 5.5 Mbps, 11 Mbps"
        );
        let short = Phy { preamble: Preamble::Short, ..phy };
        assert!(short.checked(Rate::from_kbps(1_000)).is_err());
    }
}
