//! Physical layers: which rates there are, and how long a frame is on the air.

use evenair_laws::backoff::PhysicalLayer;
use evenair_units::{Bytes, Duration, Rate};
use std::fmt;

/// Which physical layer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PhyStandard {
    /// 802.11b, DSSS and HR/DSSS: 1, 2, 5.5 and 11 Mb/s (IEEE 802.11-2016 clauses 15 and 16).
    B,
    /// 802.11a, OFDM at 5 GHz, 20 MHz wide: 6 to 54 Mb/s (clause 17).
    A,
    /// 802.11g without stations of 802.11b: OFDM at 2.4 GHz, short slots (clause 18).
    G,
    /// 802.11g beside stations of 802.11b: OFDM and DSSS at 2.4 GHz, long slots (clause 18).
    Mixed,
}

/// How a DATA frame is modulated: all that its airtime depends on beside its size. A DSSS or OFDM physical layer has one
/// modulation and coding per rate (clauses 16.2.3.4 and 17.3.4.3); spatial streams, widths and guard intervals join here.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Mode {
    rate: Rate,
}

impl Mode {
    /// The modulation that has this rate.
    pub const fn at(rate: Rate) -> Self {
        Self { rate }
    }

    /// Bits of payload per second.
    #[inline]
    pub const fn rate(self) -> Rate {
        self.rate
    }
}

impl PhyStandard {
    /// The kind of layer that contention depends on.
    pub const fn layer(self) -> PhysicalLayer {
        match self {
            Self::B => PhysicalLayer::Dsss,
            Self::A | Self::G | Self::Mixed => PhysicalLayer::Ofdm,
        }
    }
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
    /// Which preamble, of DSSS only.
    pub preamble: Preamble,
    /// Round the payload up to whole microseconds, as the standard does for 802.11b and ns-2 does not.
    pub whole_micros: bool,
}

/// A rate that the physical layer does not have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
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

const fn rates<const N: usize>(kbps: [u64; N]) -> [Rate; N] {
    let mut rates = [Rate::from_bps(0); N];
    let mut i = 0;
    while i < N {
        rates[i] = Rate::from_kbps(kbps[i]);
        i += 1;
    }
    rates
}

const B_RATES: [Rate; 4] = rates([1_000, 2_000, 5_500, 11_000]);
/// Those of [`PhyStandard::Mixed`], DSSS first: no rate is both.
const MIXED_RATES: [Rate; 12] =
    rates([1_000, 2_000, 5_500, 11_000, 6_000, 9_000, 12_000, 18_000, 24_000, 36_000, 48_000, 54_000]);
const OFDM_RATES: [Rate; 8] = rates([6_000, 9_000, 12_000, 18_000, 24_000, 36_000, 48_000, 54_000]);
/// The rates that every OFDM station must have (clause 17.2.3.4), and answers with.
const OFDM_MANDATORY: [Rate; 3] = rates([6_000, 12_000, 24_000]);
/// One OFDM symbol (table 17-5).
const SYMBOL: Duration = Duration::from_micros(4);
/// SERVICE and tail bits around the payload (clause 17.4.3).
const SERVICE_AND_TAIL_BITS: u64 = 16 + 6;

impl Phy {
    /// 802.11b, by the standard.
    pub const fn b(preamble: Preamble) -> Self {
        Self { standard: PhyStandard::B, preamble, whole_micros: true }
    }

    /// 802.11b with long preambles.
    pub const fn b_long() -> Self {
        Self::b(Preamble::Long)
    }

    /// 802.11a.
    pub const fn a() -> Self {
        Self { standard: PhyStandard::A, ..Self::b_long() }
    }

    /// 802.11g without stations of 802.11b.
    pub const fn g() -> Self {
        Self { standard: PhyStandard::G, ..Self::b_long() }
    }

    /// 802.11g beside stations of 802.11b.
    pub const fn mixed(preamble: Preamble) -> Self {
        Self { standard: PhyStandard::Mixed, ..Self::b(preamble) }
    }

    /// The physical layer of the stations of 802.11b in this one.
    pub const fn of_b(self) -> Self {
        Self { standard: PhyStandard::B, ..self }
    }

    /// The rates of this physical layer with this preamble.
    pub fn rates(&self) -> &'static [Rate] {
        match (self.standard, self.preamble) {
            (PhyStandard::B, Preamble::Long) => &B_RATES,
            (PhyStandard::B, Preamble::Short) => &B_RATES[1..],
            (PhyStandard::A | PhyStandard::G, _) => &OFDM_RATES,
            (PhyStandard::Mixed, Preamble::Long) => &MIXED_RATES,
            (PhyStandard::Mixed, Preamble::Short) => &MIXED_RATES[1..],
        }
    }

    /// Whether a frame of this rate is DSSS, which every station of 802.11b and 802.11g decodes; OFDM, if it is not.
    pub const fn is_dsss(&self, rate: Rate) -> bool {
        match self.standard {
            PhyStandard::B => true,
            PhyStandard::A | PhyStandard::G => false,
            PhyStandard::Mixed => matches!(rate.as_bps(), 1_000_000 | 2_000_000 | 5_500_000 | 11_000_000),
        }
    }

    /// The mandatory rates of the modulation that a frame of this rate has: control frames may use them unless the scenario
    /// says otherwise.
    pub fn mandatory(&self, rate: Rate) -> &'static [Rate] {
        match (self.is_dsss(rate), self.preamble) {
            (true, Preamble::Long) => &B_RATES[..2],
            (true, Preamble::Short) => &B_RATES[1..2],
            (false, _) => &OFDM_MANDATORY,
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

    /// Preamble and header, which precede the first bit of a frame of this rate: from a frame's first energy to the moment at
    /// which its receiver knows that it has begun (aRxPHYStartDelay, clauses 15.3.3, 16.3.4, 17.4.4).
    pub const fn preamble_time(&self, rate: Rate) -> Duration {
        match (self.is_dsss(rate), self.preamble) {
            (true, Preamble::Long) => Duration::from_micros(144 + 48),
            (true, Preamble::Short) => Duration::from_micros(72 + 24),
            // Training symbols 16 µs, SIGNAL 4 µs (clause 17.4.3).
            (false, _) => Duration::from_micros(16 + 4),
        }
    }

    /// The longest of these times.
    pub fn start_delay(&self) -> Duration {
        self.preamble_time(self.rates()[0])
    }

    /// Airtime of a frame of `size` MAC bytes, header and checksum included. 802.11b: `preamble + header +
    /// ⌈8·LENGTH/RATE⌉` (IEEE 802.11-2016 clause 16.3.4). OFDM: whole symbols after the preamble (clause 17.4.3), and
    /// for 802.11g the signal extension of 6 µs (clause 18.3.2.4).
    pub const fn airtime(&self, size: Bytes, rate: Rate) -> Duration {
        let payload_ns = if self.is_dsss(rate) {
            let payload = if self.whole_micros { rate.whole_micros_for(size) } else { rate.time_for(size) };
            payload.as_nanos()
        } else {
            let bits_per_symbol = rate.as_bps() * SYMBOL.as_nanos() / 1_000_000_000;
            let symbols = (size.bits() + SERVICE_AND_TAIL_BITS).div_ceil(bits_per_symbol);
            symbols * SYMBOL.as_nanos()
        };
        let extension_ns = match self.standard {
            PhyStandard::G | PhyStandard::Mixed if !self.is_dsss(rate) => 6_000,
            _ => 0,
        };
        Duration::from_nanos(self.preamble_time(rate).as_nanos() + payload_ns + extension_ns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_1500_byte_packet_over_802_11a() {
        // 1536 MAC bytes are 12288 bits, 12310 with SERVICE and tail: 513 symbols of 24 bits at 6 Mb/s, 57 of 216 at 54.
        let size = Bytes::new(1536);
        assert_eq!(Phy::a().airtime(size, Rate::from_kbps(6_000)), Duration::from_micros(20 + 513 * 4));
        assert_eq!(Phy::a().airtime(size, Rate::from_kbps(54_000)), Duration::from_micros(20 + 57 * 4));
        assert_eq!(Phy::g().airtime(size, Rate::from_kbps(54_000)), Duration::from_micros(20 + 57 * 4 + 6));
        // 100 bytes: 822 bits are 34.25 symbols of 24.
        assert_eq!(
            Phy::a().airtime(Bytes::new(100), Rate::from_kbps(6_000)),
            Duration::from_micros(20 + 35 * 4)
        );
        // An acknowledgement, 134 bits: 6 symbols at 6 Mb/s, 2 at 24.
        assert_eq!(Phy::a().airtime(Bytes::new(14), Rate::from_kbps(6_000)), Duration::from_micros(44));
        assert_eq!(Phy::a().airtime(Bytes::new(14), Rate::from_kbps(24_000)), Duration::from_micros(28));
    }

    #[test]
    fn contention_depends_on_the_kind_of_layer() {
        let layers = [PhyStandard::B, PhyStandard::A, PhyStandard::G].map(PhyStandard::layer);
        assert_eq!(layers, [PhysicalLayer::Dsss, PhysicalLayer::Ofdm, PhysicalLayer::Ofdm]);
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
        assert!(Phy::b(Preamble::Short).checked(Rate::from_kbps(1_000)).is_err());
        assert!(Phy::a().checked(Rate::from_kbps(54_000)).is_ok());
    }

    #[test]
    fn a_mixed_cell_has_the_frames_of_both() {
        let (mixed, size) = (Phy::mixed(Preamble::Long), Bytes::new(1536));
        for kbps in [1_000, 2_000, 5_500, 11_000] {
            let rate = Rate::from_kbps(kbps);
            assert_eq!(mixed.airtime(size, rate), Phy::b_long().airtime(size, rate), "{kbps} kb/s");
        }
        for kbps in [6_000, 12_000, 54_000] {
            let rate = Rate::from_kbps(kbps);
            assert_eq!(mixed.airtime(size, rate), Phy::g().airtime(size, rate), "{kbps} kb/s");
        }
        assert_eq!(mixed.start_delay(), Duration::from_micros(192));
        assert!(Phy::mixed(Preamble::Short).checked(Rate::from_kbps(1_000)).is_err());
    }
}
